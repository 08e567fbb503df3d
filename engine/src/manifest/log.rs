//! The manifest open for writing: one call, one atomic and durable change of the live set.
//!
//! Schema changes, flushes, compactions and drops of expired files all end in [`Manifest::apply`]. It appends to the file that
//! `CURRENT` names; when that has grown far beyond what it says, a fresh file takes over.
//!
//! # Invariants
//! 1. The version in memory is what the disk would give after a crash, but for the one change whose `apply` has not returned.
//! 2. `CURRENT` names a manifest that was complete and synced, name included, before `CURRENT` was replaced.
//! 3. An older manifest is removed only after the new `CURRENT` is durable.
//! 4. Once it cannot be known what the disk would give (a failed sync that no fresh manifest could make up for), nothing is applied
//!    any more. The outcome of that last change is open: nothing that its edits name may be deleted.
//!
//! # Threads
//! `&mut self`: the owner keeps it behind a lock. Versions are shared freely.

use std::path::PathBuf;
use std::sync::Arc;

use crate::env::{DataDir, Env, RootEntry, WritableFile, is_temporary, parse_root};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::current::Current;
use crate::manifest::directory::write_layout;
use crate::manifest::edit::{Edit, encode_edits};
use crate::manifest::load::{framer, header, load};
use crate::manifest::version::Version;

/// A manifest below this size, bytes, is never replaced by a fresh one.
const SWITCH_BYTES: u64 = 1 << 20;
/// How many times the size of its snapshot a manifest may have before it is replaced.
const SWITCH_FACTOR: u64 = 4;
/// A snapshot is written in records of about this many bytes.
const SNAPSHOT_RECORD: usize = 64 << 10;

/// The manifest of an open store.
pub struct Manifest {
    env: Arc<dyn Env>,
    dir: DataDir,
    /// The file that is appended to, and what `CURRENT` says at least.
    current: Current,
    file: Box<dyn WritableFile>,
    /// Bytes up to the end of the last record.
    bytes: u64,
    /// At which size the snapshot's is looked at again.
    switch_at: u64,
    version: Arc<Version>,
    /// Why nothing can be applied any more.
    failed: Option<String>,
}

impl std::fmt::Debug for Manifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (current, bytes) = (&self.current, &self.bytes);
        f.debug_struct("Manifest").field("current", current).field("bytes", bytes).finish_non_exhaustive()
    }
}

impl Manifest {
    /// Makes a store without tables: the directory, `FORMAT`, a manifest, `CURRENT`, in this order and durably. The caller has
    /// asked [`inspect`](crate::manifest::directory::inspect), and holds the lock.
    ///
    /// # Errors
    /// From the disk; repeating the call goes on where it was cut short.
    pub fn create(env: Arc<dyn Env>, dir: &DataDir) -> Result<Self> {
        env.create_dir_all(dir.root())?;
        write_layout(&*env, dir)?;
        let version = Arc::new(Version::default());
        let (file, bytes) = write_fresh(&*env, dir, 1, &version)?;
        let current = Current { number: 1, bytes };
        current.write(&*env, dir)?;
        Ok(Self {
            env,
            dir: dir.clone(),
            current,
            file,
            bytes,
            switch_at: SWITCH_BYTES,
            version,
            failed: None,
        })
    }

    /// Opens the manifest of an existing store for writing; the caller holds the lock. Cuts off a torn end, makes durable what
    /// was read, and removes what an unfinished change of manifests left.
    ///
    /// # Errors
    /// As [`load`], and from the disk.
    pub fn open(env: Arc<dyn Env>, dir: &DataDir) -> Result<Self> {
        let loaded = load(&*env, dir)?;
        if loaded.torn_bytes > 0 {
            env.truncate(&loaded.path, loaded.bytes)?;
        }
        let mut file = env.open_append(&loaded.path)?;
        if loaded.bytes != loaded.current.bytes {
            // A record may have been read from memory that a killed process had not synced yet.
            file.sync()?;
        }
        remove_left_overs(&*env, dir, loaded.current.number)?;
        Ok(Self {
            env,
            dir: dir.clone(),
            current: loaded.current,
            file,
            bytes: loaded.bytes,
            switch_at: SWITCH_BYTES,
            version: Arc::new(loaded.version),
            failed: None,
        })
    }

    /// The live set.
    pub fn version(&self) -> &Arc<Version> {
        &self.version
    }

    /// The file that is appended to.
    pub fn path(&self) -> PathBuf {
        self.dir.manifest(self.current.number)
    }

    /// Length of that file, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Applies all edits in order, or none: one record, synced, then the version in memory is replaced.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, `Invalid` if the edits do not fit, as [`Version::apply`]; `NoSpace` and `Io` from the disk. In
    /// all these cases nothing has changed, now and after a crash, and the call may be repeated. `Closed`: invariant 4.
    pub fn apply(&mut self, edits: &[Edit]) -> Result<()> {
        self.check_writable()?;
        if edits.is_empty() {
            return Ok(());
        }
        let mut next = (*self.version).clone();
        edits.iter().try_for_each(|edit| next.apply(edit))?;
        self.switch_if_long()?;
        let mut record = self.frame(edits)?;
        if let Err(error) = self.file.append(&record) {
            // No whole record was written. On a full disk a fresh file would need even more space. Any other failure may mean that the
            // file takes no more appends: then a fresh one helps.
            if error.kind() == ErrorKind::NoSpace || self.switch().is_err() {
                return Err(self.check_writable().err().unwrap_or(error));
            }
            record = self.frame(edits)?;
            self.file.append(&record)?;
        }
        if let Err(error) = self.file.sync() {
            return Err(self.after_failed_sync(error));
        }
        self.bytes += record.len() as u64;
        self.version = Arc::new(next);
        Ok(())
    }

    /// Ends the manifest in order: `CURRENT` gets its final length, so that the loss of its end would be noticed.
    ///
    /// # Errors
    /// From the disk; the manifest is good all the same. `Closed` if it had failed before.
    pub fn close(&self) -> Result<()> {
        self.check_writable()?;
        let current = Current { bytes: self.bytes, ..self.current };
        if current == self.current { Ok(()) } else { current.write(&*self.env, &self.dir) }
    }

    /// Has `CURRENT` say how long the manifest is now, so that the loss of its end would be noticed also after a crash: before the log goes
    /// that could make up for the loss.
    ///
    /// # Errors
    /// As [`Manifest::close`].
    pub fn protect(&mut self) -> Result<()> {
        self.close()?;
        self.current.bytes = self.bytes;
        Ok(())
    }

    fn check_writable(&self) -> Result<()> {
        match &self.failed {
            None => Ok(()),
            Some(cause) => Err(closed(cause)),
        }
    }

    fn frame(&self, edits: &[Edit]) -> Result<Vec<u8>> {
        let mut record = Vec::new();
        let framer = framer(self.current.number);
        let open = framer.begin(&mut record);
        encode_edits(edits, &mut record);
        framer.finish(&mut record, open)?;
        Ok(record)
    }

    /// The record may be durable or not. In a fresh file it certainly is not; without one, the outcome is open.
    fn after_failed_sync(&mut self, error: Error) -> Error {
        match self.switch() {
            Ok(()) => error,
            Err(_) => closed(self.failed.get_or_insert_with(|| error.to_string())),
        }
    }

    /// Goes over to a fresh file if this one is long and mostly history.
    fn switch_if_long(&mut self) -> Result<()> {
        if self.bytes <= self.switch_at {
            return Ok(());
        }
        let mut snapshot = Vec::new();
        encode_edits(&self.version.snapshot(), &mut snapshot);
        self.switch_at = SWITCH_BYTES.max(snapshot.len() as u64 * SWITCH_FACTOR);
        if self.bytes > self.switch_at {
            // Failing is no harm as long as the old file is good: the change goes there, and the next one tries again.
            let _ = self.switch();
        }
        self.check_writable()
    }

    /// Writes the version into a fresh manifest and lets it take over (invariants 2 and 3).
    fn switch(&mut self) -> Result<()> {
        let number = self.current.number.saturating_add(1);
        let (file, bytes) = write_fresh(&*self.env, &self.dir, number, &self.version)?;
        let fresh = Current { number, bytes };
        if let Err(error) = fresh.write(&*self.env, &self.dir) {
            let old = Current::read(&*self.env, &self.dir).is_ok_and(|current| current == self.current);
            if old {
                drop(file);
                // Left over, it is removed by the next opening.
                let _ = self.env.remove(&self.dir.manifest(number));
            } else {
                // The name was changed but not synced: a crash may bring the old one back.
                self.failed = Some(error.to_string());
            }
            return Err(error);
        }
        let old = std::mem::replace(&mut self.file, file);
        drop(old);
        // As above.
        let _ = self.env.remove(&self.path());
        self.current = fresh;
        self.bytes = bytes;
        Ok(())
    }
}

fn closed(cause: &str) -> Error {
    Error::closed(format!("the manifest takes no more changes since a sync failed: {cause}"))
        .hint("close the store and open it again; whether the last change took effect shows then")
}

/// Writes manifest `number` with a snapshot of `version`, and makes it and its name durable.
fn write_fresh(
    env: &dyn Env,
    dir: &DataDir,
    number: u64,
    version: &Version,
) -> Result<(Box<dyn WritableFile>, u64)> {
    let path = dir.manifest(number);
    let mut content = header(number);
    let framer = framer(number);
    let mut scratch = Vec::new();
    let edits = version.snapshot();
    let mut edits = edits.iter().peekable();
    while edits.peek().is_some() {
        let open = framer.begin(&mut content);
        let start = content.len();
        while let Some(edit) = edits.next_if(|_| content.len() - start < SNAPSHOT_RECORD) {
            edit.encode(&mut content, &mut scratch);
        }
        framer.finish(&mut content, open)?;
    }
    let mut file = env.create(&path)?;
    let done = file.append(&content).and_then(|()| file.sync()).and_then(|()| env.sync_dir(dir.root()));
    match done {
        Ok(()) => Ok((file, content.len() as u64)),
        Err(error) => {
            drop(file);
            // The first error is the one to report; an unnamed manifest is removed by the next opening.
            let _ = env.remove(&path);
            Err(error)
        }
    }
}

/// Removes manifests other than `number` and unfinished files.
fn remove_left_overs(env: &dyn Env, dir: &DataDir, number: u64) -> Result<()> {
    let old = |name: &str| match parse_root(name) {
        Some(RootEntry::Manifest(other)) => other != number,
        Some(_) => false,
        None => is_temporary(name) && parse_root(name.trim_end_matches(".tmp")).is_some(),
    };
    let entries = env.list_dir(dir.root())?;
    let left: Vec<_> = entries.iter().filter(|entry| !entry.is_dir && old(&entry.name)).collect();
    if left.is_empty() {
        return Ok(());
    }
    // An old manifest may be there because the new CURRENT is not durable yet (invariant 3).
    env.sync_dir(dir.root())?;
    left.into_iter().try_for_each(|entry| env.remove(&dir.root().join(&entry.name)))
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
