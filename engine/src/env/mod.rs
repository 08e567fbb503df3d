//! The only door to files, time and randomness.
//!
//! Everything above this module asks an [`Env`] instead of the operating system, so that one and the same
//! engine runs on a real disk ([`OsEnv`]) and on `sim::SimDisk`, which forgets what was not synced and fails
//! where a test tells it to. A user who wants to move time sets a [`ManualClock`] on the real one.
//!
//! # Invariants
//! 1. A file's data survives a crash from the moment [`WritableFile::sync`] (or its [`Syncer`]) returned.
//! 2. A file's *name* survives from the moment [`Env::sync_dir`] of its directory returned. Directories made by
//!    [`Env::create_dir_all`] are synced into their parents by that call.
//! 3. An append that failed leaves the file as it was, or the file takes no more appends.
//! 4. After a failed sync nothing is promised about the bytes that were to be synced: the system may have
//!    dropped them, and a later sync may succeed without them. The owner of the file must stop using it.
//!
//! # Threads
//! An environment and its readable files are shared freely. A writable file belongs to one thread at a time; its
//! [`Syncer`] may be used by another while the first appends.
//!
//! # Not here
//! No asynchronous calls: the engine's threads are few and block. No positioned writes: every format of skep is
//! written once from front to back.

#[expect(clippy::disallowed_methods, reason = "here is where time comes from")]
mod clock;
#[expect(unsafe_code, reason = "mapping a file into memory has no safe interface")]
mod mmap;
mod names;
#[expect(clippy::disallowed_methods, reason = "this is the door to the file system")]
mod os;
mod random;
#[expect(
    clippy::disallowed_methods,
    reason = "ids of list elements follow the machine's clock, not the injected one"
)]
pub mod timeuuid;
#[cfg(any(test, feature = "sim"))]
pub mod sim;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

pub use clock::{Clock, ManualClock, SystemClock, UniqueMicros};
pub use names::{
    DataDir, RootEntry, check_keyspace_name, check_snapshot_name, check_table_name, is_temporary, parse_root,
    parse_segment, parse_sstable, parse_table_dir, sstable_path, temporary,
};
pub use os::OsEnv;
pub use random::Random;

/// Files, time and randomness. Shared as `Arc<dyn Env>`.
///
/// All file operations return [`ErrorKind::NotFound`] for a missing file, [`ErrorKind::AlreadyExists`] where a
/// name is taken, [`ErrorKind::NoSpace`] for a full disk and [`ErrorKind::Io`] for every other refusal, with the
/// path and the operation in the message.
pub trait Env: Send + Sync + fmt::Debug {
    /// Opens `path` for writing, empty: a file that exists is truncated.
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>>;
    /// Opens an existing file for writing, positioned at its end.
    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>>;
    /// Opens a finished file for reading. The file must not be truncated or overwritten while it is open;
    /// removing it is allowed and leaves it readable here.
    fn open_read(&self, path: &Path) -> Result<Arc<dyn ReadableFile>>;
    /// Reads a whole file into memory.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;
    /// Whether `path` names a file or a directory.
    fn exists(&self, path: &Path) -> Result<bool>;
    /// The length of a file in bytes.
    fn len(&self, path: &Path) -> Result<u64>;
    /// Renames a file or directory within its directory, atomically; a file that holds the new name is replaced.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the two paths lie in different directories: such a move is not atomic over a
    /// crash on every file system, and nothing in skep needs it.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Creates `dir` and its missing parents, and makes the new names durable.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;
    /// Removes a directory with everything in it. Not atomic.
    fn remove_dir_all(&self, dir: &Path) -> Result<()>;
    /// The entries of a directory, sorted by name.
    fn list_dir(&self, dir: &Path) -> Result<Vec<DirEntry>>;
    /// Makes every create, rename, link and remove in `dir` so far survive a crash.
    fn sync_dir(&self, dir: &Path) -> Result<()>;
    /// Gives the finished file `from` a second name; where the file system has no links, copies and syncs it.
    /// A copy is not atomic: link into a directory that gets its final name afterwards.
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()>;
    /// Cuts a file that nobody has open to `len_bytes` and syncs it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the file is shorter.
    fn truncate(&self, path: &Path, len_bytes: u64) -> Result<()>;
    /// Takes the exclusive lock on `path` (created if missing, its directory must exist) without waiting, and
    /// writes the own process id into it. The lock ends with the guard or with the process.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if another process, or this one, holds it, with the holder's process id.
    fn lock(&self, path: &Path) -> Result<Box<dyn LockGuard>>;
    /// Takes the lock on `path` for reading: any number may hold it so at a time, but none beside the exclusive lock. Writes nothing, so
    /// that it works where nothing can be written. `None` if the file is missing: who writes makes it first.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if another process, or this one, holds the exclusive lock, with the holder's process id.
    fn lock_shared(&self, path: &Path) -> Result<Option<Box<dyn LockGuard>>>;
    /// Bytes that this process may still write on the file system of `path`; `None` if unknown.
    fn free_space(&self, path: &Path) -> Result<Option<u64>>;
    /// The clock behind [`Env::now_micros`].
    fn clock(&self) -> Arc<dyn Clock>;
    /// Microseconds since 1970-01-01T00:00:00Z, of the injected clock. May go back.
    fn now_micros(&self) -> i64;
    /// Nanoseconds since some fixed moment, of a clock that never goes back: for durations.
    fn monotonic_nanos(&self) -> u64;
    /// 64 random bits.
    fn random_u64(&self) -> u64;

    /// A random (version 4) UUID in its 16 wire bytes (RFC 9562, section 5.4).
    fn random_uuid(&self) -> [u8; 16] {
        let bits = (u128::from(self.random_u64()) << 64) | u128::from(self.random_u64());
        let mut bytes = bits.to_be_bytes();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        bytes
    }
}

/// A file that grows at its end. Writes reach the operating system at each call; there is no buffer here.
pub trait WritableFile: Send {
    /// Appends all of `bytes`, or none of them (invariant 3).
    fn append(&mut self, bytes: &[u8]) -> Result<()>;
    /// Returns when everything appended so far survives a crash. See invariant 4 for a failure.
    fn sync(&mut self) -> Result<()>;
    /// A handle by which another thread can sync this file while this one appends.
    fn syncer(&self) -> Arc<dyn Syncer>;
    /// Bytes in the file.
    fn len(&self) -> u64;
    /// Whether the file holds no byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The name it was opened by.
    fn path(&self) -> &Path;
}

/// Syncs a [`WritableFile`] from any thread; keeps the file open as long as it lives.
pub trait Syncer: Send + Sync {
    /// Returns when everything appended before the call survives a crash. See invariant 4 for a failure.
    fn sync(&self) -> Result<()>;
}

/// A finished file, whole, as bytes: memory-mapped on a real disk.
pub trait ReadableFile: Send + Sync {
    /// The whole content.
    fn bytes(&self) -> &[u8];
    /// Length in bytes.
    fn len(&self) -> u64 {
        self.bytes().len() as u64
    }
    /// Whether the file holds no byte.
    fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
    /// The name it was opened by.
    fn path(&self) -> &Path;
}

/// Holds a lock taken by [`Env::lock`] until dropped.
pub trait LockGuard: Send + Sync + fmt::Debug {
    /// The locked file.
    fn path(&self) -> &Path;
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The last component of the path. Bytes that are not UTF-8 are replaced, which no name of skep's survives.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Length of a file in bytes; 0 for a directory.
    pub len: u64,
}

/// Replaces `path` by a file with `contents`, atomically and durably: after a crash it holds the old contents or
/// the new, and the new from the moment this returns. Goes over [`temporary`]`(path)`.
pub fn replace_file(env: &dyn Env, path: &Path, contents: &[u8]) -> Result<()> {
    let scratch = temporary(path);
    let mut file = env.create(&scratch)?;
    file.append(contents)?;
    file.sync()?;
    drop(file);
    env.rename(&scratch, path)?;
    env.sync_dir(&parent(path))
}

/// The directory that holds `path`; `.` for a bare name.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The error for a refused `operation` on `path`, by what the caller should do.
fn refused(operation: &str, path: &Path, source: io::Error) -> Error {
    let kind = match source.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
        _ => return Error::io(operation, path, source),
    };
    Error::new(kind, format!("cannot {operation}: {source}")).in_file(path)
}

/// Refuses a rename between directories (see [`Env::rename`]).
fn check_same_dir(from: &Path, to: &Path) -> Result<()> {
    if from.parent() == to.parent() {
        return Ok(());
    }
    Err(Error::invalid(format!("cannot rename to {}: it lies in another directory", to.display()))
        .in_file(from))
}

/// The error for a lock that `pid` (if known) holds.
fn locked(path: &Path, pid: Option<u32>) -> Error {
    let holder = match pid {
        Some(pid) if pid == std::process::id() => format!("this process ({pid})"),
        Some(pid) => format!("process {pid}"),
        None => "another process".to_string(),
    };
    Error::new(ErrorKind::Busy, format!("locked by {holder}"))
        .in_file(path)
        .hint("a store is open in one process at a time; close it there, or use that handle")
}

/// The error for a lock that others hold for reading.
fn being_read(path: &Path) -> Error {
    Error::new(ErrorKind::Busy, "the store is open for reading, in this process or another one")
        .in_file(path)
        .hint("close it there before it is opened for writing")
}

#[cfg(test)]
mod tests;
