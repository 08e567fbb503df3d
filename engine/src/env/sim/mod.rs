//! A disk in memory that forgets what was not synced, and fails where it is told to.
//!
//! Tests run the engine on [`SimDisk::env`], inject failures by the number of a call, cut the power with
//! [`SimDisk::restart`] and open the store again on what survived. Everything follows from the seed and the
//! sequence of calls. `state` holds files and directories, `crash` says what a power cut leaves of
//! them, `faults` which call fails.
//!
//! # What is modelled
//! * Bytes appended since the last sync of a file survive in part, or in a damaged form ([`CrashMode`]).
//! * Names made, moved or removed since the last sync of their directory survive in part: per directory, a
//!   prefix of the changes in their order; a rename is one change.
//! * The call during which the power goes may have taken effect or not, like all that was not synced.
//! * After a failed sync of a file, nothing that was not durable before ever becomes so.
//! * A removed file stays readable and writable by those who have it open.
//! * A lock ends with the power.
//!
//! # Not here
//! Bytes that were synced never change by themselves: [`SimDisk::flip`] does that. A sector is not atomic: a torn
//! append may end at any byte. Renames within a directory are never reordered, as on every journaling file system.
//! One root directory; `..` is refused.
//!
//! # Threads
//! One mutex over the whole disk; the order in which threads get it is the order of the calls.

mod crash;
mod faults;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Error, Result};

use self::faults::{Effect, Fate};
use self::state::{NodeId, State};
use super::{
    Clock, DirEntry, Env, LockGuard, ManualClock, Random, ReadableFile, Syncer, WritableFile, check_same_dir,
};

pub use crash::CrashMode;
pub use faults::Failure;

/// What the clock of a new disk shows: 2024-01-01T00:00:00Z in microseconds.
pub const FIRST_MICROS: i64 = 1_704_067_200_000_000;

/// The disk, its faults and its clock. Clones are the same disk; [`SimDisk::fork`] makes another one.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    clock: ManualClock,
}

impl SimDisk {
    /// An empty disk, whose choices follow from `seed`. Its clock shows [`FIRST_MICROS`].
    pub fn new(seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(seed))), clock: ManualClock::new(FIRST_MICROS) }
    }

    /// The machine as it runs now. Ends with the next [`SimDisk::restart`]: all its calls fail from then on.
    pub fn env(&self) -> Arc<dyn Env> {
        let epoch = self.state.lock().epoch;
        Arc::new(SimEnv { disk: self.clone(), epoch })
    }

    /// The clock that all environments of this disk show.
    pub fn clock(&self) -> ManualClock {
        self.clock.clone()
    }

    /// Another disk with the same files, durable and not, and the same time, whose choices follow from `seed`.
    /// Cheap: file contents are shared until one side changes them. Faults and locks stay behind.
    pub fn fork(&self, seed: u64) -> Self {
        let mut state = self.state.lock().clone();
        state.random = Random::new(seed);
        state.detach();
        Self { state: Arc::new(Mutex::new(state)), clock: ManualClock::new(self.clock.now_micros()) }
    }

    /// Calls since the disk was made or last restarted. The next one has this number (the first is 0).
    pub fn calls(&self) -> u64 {
        self.state.lock().faults.calls()
    }

    /// Lets call number `call` fail with `failure`, without effect.
    pub fn fail_at(&self, call: u64, failure: Failure) {
        self.state.lock().faults.fail_at(call, failure);
    }

    /// Lets every call from number `call` on fail with `failure`, until [`SimDisk::heal`].
    pub fn fail_from(&self, call: u64, failure: Failure) {
        self.state.lock().faults.fail_from(call, failure);
    }

    /// Cuts the power at call number `call`: it and every later one fails until [`SimDisk::restart`]. That call
    /// itself may survive, like all that was not synced.
    pub fn crash_at(&self, call: u64) {
        self.state.lock().faults.crash_at(call);
    }

    /// Takes back every injected failure, but not a power cut that has happened.
    pub fn heal(&self) {
        self.state.lock().faults.heal();
    }

    /// Lets the disk hold `bytes` of file contents; `None`, the default, is without limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity = bytes;
    }

    /// Cuts the power (if it is not off already), decides by `mode` what survives of that which was not synced, and
    /// starts the machine again: without locks and injected failures, counting calls from 0.
    pub fn restart(&self, mode: CrashMode) -> Arc<dyn Env> {
        self.state.lock().crash(mode);
        self.env()
    }

    /// Damages a byte of a file where it lies, durably: `mask` is XORed to it. Files open for reading keep
    /// the old byte.
    ///
    /// # Errors
    /// `NotFound` for a missing file, `Invalid` if it has no such byte.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) -> Result<()> {
        self.state.lock().flip(path, offset, mask)
    }

    /// Every file and its content as a running program sees them, by path.
    pub fn dump(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.state.lock().dump()
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").field("calls", &self.calls()).finish_non_exhaustive()
    }
}

/// A disk's environment between two restarts.
#[derive(Debug)]
struct SimEnv {
    disk: SimDisk,
    epoch: u64,
}

impl SimEnv {
    /// Runs one numbered call. When the power goes during it, it is carried out (not durably) and fails.
    fn call<T>(
        &self,
        what: &str,
        path: &Path,
        effect: Effect,
        run: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.disk.state.lock();
        call(&mut state, self.epoch, what, path, effect, run)
    }

    fn writer(&self, node: NodeId, path: &Path) -> Box<dyn WritableFile> {
        let disk = self.disk.clone();
        Box::new(SimFile(Arc::new(OpenFile { disk, epoch: self.epoch, node, path: path.to_path_buf() })))
    }
}

/// Runs one numbered call on a locked disk; see [`SimEnv::call`].
fn call<T>(
    state: &mut State,
    epoch: u64,
    what: &str,
    path: &Path,
    effect: Effect,
    run: impl FnOnce(&mut State) -> Result<T>,
) -> Result<T> {
    if epoch != state.epoch {
        return Err(faults::power_is_off(what, path));
    }
    match state.faults.next(what, path, effect)? {
        Fate::Runs => run(state),
        Fate::Dies => {
            if effect != Effect::Sync {
                // Its result is of no interest: the caller is gone.
                let _ = run(state);
            }
            Err(faults::power_is_off(what, path))
        }
    }
}

impl Env for SimEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let node = self.call("create the file", path, Effect::Grow, |state| {
            let node = state.create(path)?;
            state.open(node);
            Ok(node)
        })?;
        Ok(self.writer(node, path))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let node = self.call("open the file", path, Effect::Read, |state| {
            let node = state.find_file("open the file", path)?;
            state.open(node);
            Ok(node)
        })?;
        Ok(self.writer(node, path))
    }

    fn open_read(&self, path: &Path) -> Result<Arc<dyn ReadableFile>> {
        let bytes = self.call("open the file", path, Effect::Read, |state| {
            let node = state.find_file("open the file", path)?;
            state.content(node, path)
        })?;
        Ok(Arc::new(SimReadable { bytes, path: path.to_path_buf() }))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.call("read the file", path, Effect::Read, |state| {
            let node = state.find_file("read the file", path)?;
            state.content(node, path).map(|bytes| bytes.to_vec())
        })
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.call("look for the file", path, Effect::Read, |state| state.exists(path))
    }

    fn len(&self, path: &Path) -> Result<u64> {
        self.call("look up the file's length", path, Effect::Read, |state| {
            let node = state.find_file("look up the file's length", path)?;
            state.content(node, path).map(|bytes| bytes.len() as u64)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        check_same_dir(from, to)?;
        self.call("rename the file", from, Effect::Write, |state| state.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.call("remove the file", path, Effect::Write, |state| state.remove(path))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        let mut ancestors: Vec<&Path> = dir.ancestors().filter(|path| path.file_name().is_some()).collect();
        ancestors.reverse();
        for new in ancestors {
            let made = self.call("create the directory", new, Effect::Grow, |state| state.make_dir(new))?;
            if made {
                self.sync_dir(new.parent().unwrap_or(Path::new("")))?;
            }
        }
        Ok(())
    }

    fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        self.call("remove the directory", dir, Effect::Write, |state| state.remove_dir_all(dir))
    }

    fn list_dir(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        self.call("list the directory", dir, Effect::Read, |state| state.list(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.call("sync the directory", dir, Effect::Sync, |state| state.sync_dir(dir))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.call("link the file", from, Effect::Grow, |state| state.link(from, to))
    }

    fn truncate(&self, path: &Path, len_bytes: u64) -> Result<()> {
        self.call("truncate the file", path, Effect::Write, |state| state.truncate(path, len_bytes))?;
        self.call("sync the file", path, Effect::Sync, |state| {
            let node = state.find_file("sync the file", path)?;
            state.sync(node, path)
        })
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn LockGuard>> {
        self.call("lock the file", path, Effect::Grow, |state| state.lock(path))?;
        Ok(Box::new(SimLock { disk: self.disk.clone(), epoch: self.epoch, path: path.to_path_buf() }))
    }

    fn lock_shared(&self, path: &Path) -> Result<Option<Box<dyn LockGuard>>> {
        let there = self.call("lock the file", path, Effect::Read, |state| state.lock_shared(path))?;
        let lock = || SimLock { disk: self.disk.clone(), epoch: self.epoch, path: path.to_path_buf() };
        Ok(there.then(|| Box::new(lock()) as Box<dyn LockGuard>))
    }

    fn free_space(&self, _path: &Path) -> Result<Option<u64>> {
        Ok(self.disk.state.lock().free_space())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.disk.clock())
    }

    fn now_micros(&self) -> i64 {
        self.disk.clock.now_micros()
    }

    fn monotonic_nanos(&self) -> u64 {
        let passed = self.disk.clock.now_micros().saturating_sub(FIRST_MICROS).max(0).unsigned_abs();
        let mut state = self.disk.state.lock();
        state.latest_nanos = state.latest_nanos.max(passed.saturating_mul(1_000));
        state.latest_nanos
    }

    fn random_u64(&self) -> u64 {
        self.disk.state.lock().random.next_u64()
    }
}

/// An open file, shared by its writer and its syncers; the last of them closes it.
struct OpenFile {
    disk: SimDisk,
    epoch: u64,
    node: NodeId,
    path: PathBuf,
}

impl Syncer for OpenFile {
    fn sync(&self) -> Result<()> {
        let mut state = self.disk.state.lock();
        let done = call(&mut state, self.epoch, "sync the file", &self.path, Effect::Sync, |state| {
            state.sync(self.node, &self.path)
        });
        if done.is_err() && self.epoch == state.epoch {
            state.doubt(self.node);
        }
        done
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut state = self.disk.state.lock();
        if self.epoch == state.epoch {
            state.close(self.node);
        }
    }
}

/// A file that is being written.
struct SimFile(Arc<OpenFile>);

impl WritableFile for SimFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let OpenFile { disk, epoch, node, path } = &*self.0;
        let mut state = disk.state.lock();
        call(&mut state, *epoch, "append to the file", path, Effect::Grow, |state| {
            state.append(*node, path, bytes)
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.0.sync()
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::clone(&self.0) as Arc<dyn Syncer>
    }

    fn len(&self) -> u64 {
        let state = self.0.disk.state.lock();
        state.content(self.0.node, &self.0.path).map_or(0, |bytes| bytes.len() as u64)
    }

    fn path(&self) -> &Path {
        &self.0.path
    }
}

/// A file's content at the moment it was opened.
struct SimReadable {
    bytes: Arc<Vec<u8>>,
    path: PathBuf,
}

impl ReadableFile for SimReadable {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A held lock.
#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    epoch: u64,
    path: PathBuf,
}

impl LockGuard for SimLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.state.lock();
        if self.epoch == state.epoch {
            state.unlock(&self.path);
        }
    }
}

/// The error for a path this disk has no place for.
fn bad_path(path: &Path) -> Error {
    Error::invalid("the simulated disk takes plain UTF-8 paths without '..'").in_file(path)
}

#[cfg(test)]
mod tests;
