//! A finished file mapped into memory: the one place in skep with `unsafe`.
//!
//! # Not here
//! A disk that fails while a mapped page is fetched ends the process with a signal (SIGBUS on unix), as in every
//! program that maps files; checksums catch bytes that are wrong, not bytes that cannot be had.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::ReadableFile;

/// A read-only mapping of a whole file.
#[derive(Debug)]
pub(super) struct MappedFile {
    /// Absent for an empty file, which cannot be mapped on every system.
    map: Option<Mmap>,
    path: PathBuf,
}

impl MappedFile {
    /// Maps all of `file`, which was opened by the name `path`.
    pub(super) fn new(file: &File, path: &Path) -> io::Result<Self> {
        let map = if file.metadata()?.len() == 0 {
            None
        } else {
            // SAFETY: the bytes of a mapping must not change while it is borrowed. Only SSTables are opened by way of
            // `Env::open_read`; skep writes one under a temporary name, syncs it, and from then on neither
            // writes to it nor truncates it: it is only ever linked, renamed and removed, which leaves the mapped
            // pages alone. The store's directory is locked against other processes of skep.
            Some(unsafe { Mmap::map(file)? })
        };
        Ok(Self { map, path: path.to_path_buf() })
    }
}

impl ReadableFile for MappedFile {
    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
