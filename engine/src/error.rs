//! Errors, told apart by what the caller should do about them.
//!
//! Everything in the engine that can fail returns [`Result`]. An [`Error`] says what was attempted, where
//! (file, byte offset, table) and what helps; [`Error::kind`] is the part a program branches on. A new kind is
//! added only where a caller would act differently.
//!
//! # Not here
//! Errors hold strings and numbers, never types of other modules: that keeps this module below all others.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for a result with the engine's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller should do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong (a type, a name, a limit): fix the call.
    Invalid,
    /// The named thing (keyspace, table, column, snapshot, file) does not exist.
    NotFound,
    /// The thing to be created exists already.
    AlreadyExists,
    /// Somebody else holds the store, or a wait took too long: try again later.
    Busy,
    /// Stored bytes are not what was written: restore or salvage; the file and the offset are given.
    Corrupt,
    /// The operating system refused a file operation; the cause is the source.
    Io,
    /// The disk is full: free space and repeat the call, no reopening needed.
    NoSpace,
    /// Written by another version of skep, or something this build cannot do.
    Unsupported,
    /// The store takes no more writes: it was closed, or a sync failed; the message says which.
    Closed,
}

/// An error of the engine: kind, message, and place. Cheap to move (one pointer).
#[derive(Debug, thiserror::Error)]
#[error("{}", self.render())]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<PathBuf>,
    offset: Option<u64>,
    table: Option<String>,
    hint: Option<String>,
    source: Option<io::Error>,
}

impl Error {
    /// An error of `kind` with a one-sentence `message` (no full stop at the end).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            file: None,
            offset: None,
            table: None,
            hint: None,
            source: None,
        }))
    }

    /// The caller made a mistake; `message` says which.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Something named does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Bytes of `file` at `offset` are not what was written there.
    pub fn corrupt(file: impl AsRef<Path>, offset: u64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message).at(file, offset)
    }

    /// A decoder met bytes it cannot read; callers that know the file add it with [`Error::at`].
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// The operating system refused `operation` on `path`. A full disk becomes [`ErrorKind::NoSpace`].
    pub fn io(operation: &str, path: impl AsRef<Path>, source: io::Error) -> Self {
        let full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let kind = if full { ErrorKind::NoSpace } else { ErrorKind::Io };
        let mut error = Self::new(kind, format!("cannot {operation}: {source}"));
        error.0.file = Some(path.as_ref().to_path_buf());
        error.0.source = Some(source);
        if full {
            error.0.hint = Some("free some space and try again; the store heals without reopening".into());
        }
        error
    }

    /// The store was closed or stopped; `message` gives the cause.
    pub fn closed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Closed, message)
    }

    /// Adds the place in a file.
    #[must_use]
    pub fn at(mut self, file: impl AsRef<Path>, offset: u64) -> Self {
        self.0.file = Some(file.as_ref().to_path_buf());
        self.0.offset = Some(offset);
        self
    }

    /// Adds the file, keeping an offset that is already there.
    #[must_use]
    pub fn in_file(mut self, file: impl AsRef<Path>) -> Self {
        self.0.file = Some(file.as_ref().to_path_buf());
        self
    }

    /// Adds the table (`keyspace.table`).
    #[must_use]
    pub fn in_table(mut self, table: impl Into<String>) -> Self {
        self.0.table = Some(table.into());
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// A copy for a second reader: everything but the source's identity is kept.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let inner = &*self.0;
        Self(Box::new(Inner {
            kind: inner.kind,
            message: inner.message.clone(),
            file: inner.file.clone(),
            offset: inner.offset,
            table: inner.table.clone(),
            hint: inner.hint.clone(),
            source: inner.source.as_ref().map(|s| io::Error::new(s.kind(), s.to_string())),
        }))
    }

    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message alone, without place and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file concerned, if one is.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The byte offset in [`Error::file`], if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The table concerned (`keyspace.table`), if known.
    pub fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// The operating system's error behind this one.
    pub fn io_source(&self) -> Option<&io::Error> {
        self.0.source.as_ref()
    }

    fn render(&self) -> String {
        use fmt::Write as _;
        let inner = &*self.0;
        let mut text = String::new();
        if let Some(table) = &inner.table {
            let _ = write!(text, "{table}: ");
        }
        if let Some(file) = &inner.file {
            let _ = write!(text, "{}", file.display());
            if let Some(offset) = inner.offset {
                let _ = write!(text, " at byte {offset}");
            }
            text.push_str(": ");
        }
        text.push_str(&inner.message);
        if let Some(hint) = &inner.hint {
            let _ = write!(text, " ({hint})");
        }
        text
    }
}

impl From<io::Error> for Error {
    /// For programs that use `?` on files of their own beside the store's.
    fn from(source: io::Error) -> Self {
        let mut error = Self::new(ErrorKind::Io, source.to_string());
        error.0.source = Some(source);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_table_file_offset_and_hint() {
        let error = Error::corrupt("a.sst", 17, "checksum is wrong").in_table("ks.t").hint("run skep verify");
        assert_eq!(error.to_string(), "ks.t: a.sst at byte 17: checksum is wrong (run skep verify)");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn a_full_disk_is_told_from_other_refusals() {
        let full = Error::io("write", "f", io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.kind(), ErrorKind::NoSpace);
        let denied = Error::io("write", "f", io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(denied.kind(), ErrorKind::Io);
    }
}
