//! The real disk, clock and randomness.
//!
//! # Threads
//! [`OsEnv`] is stateless but for its random generator. The process-wide table of held locks makes
//! [`Env::lock`] exclusive within the process also where the system's own locks belong to a whole process (NFS).
//!
//! # Not here
//! On Windows a directory cannot be synced; its file system journals names by itself, so `sync_dir` does nothing there.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::error::{Error, ErrorKind, Result};

use super::mmap::MappedFile;
use super::{
    Clock, DirEntry, Env, LockGuard, Random, ReadableFile, Syncer, SystemClock, WritableFile, being_read,
    check_same_dir, locked, parent, refused,
};

/// The operating system's files, with a clock that may be replaced.
#[derive(Debug)]
pub struct OsEnv {
    clock: Arc<dyn Clock>,
    /// Where [`Env::monotonic_nanos`] counts from.
    started: Instant,
    random: Mutex<Random>,
}

impl OsEnv {
    /// The real disk and the system's clock.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// The real disk and a clock of one's own, such as a [`ManualClock`](super::ManualClock).
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, started: Instant::now(), random: Mutex::new(Random::from_system()) }
    }
}

impl Default for OsEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for OsEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|e| refused("create the file", path, e))?;
        Ok(Box::new(OsFile::new(file, path, 0)))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        // Not the system's append mode, which on Windows could not be cut back after a failed append.
        let mut file =
            OpenOptions::new().write(true).open(path).map_err(|e| refused("open the file", path, e))?;
        let len = file.seek(SeekFrom::End(0)).map_err(|e| refused("find the end of the file", path, e))?;
        Ok(Box::new(OsFile::new(file, path, len)))
    }

    fn open_read(&self, path: &Path) -> Result<Arc<dyn ReadableFile>> {
        let file = File::open(path).map_err(|e| refused("open the file", path, e))?;
        let mapped = MappedFile::new(&file, path).map_err(|e| refused("map the file", path, e))?;
        Ok(Arc::new(mapped))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        fs::read(path).map_err(|e| refused("read the file", path, e))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        path.try_exists().map_err(|e| refused("look for the file", path, e))
    }

    fn len(&self, path: &Path) -> Result<u64> {
        fs::metadata(path).map(|meta| meta.len()).map_err(|e| refused("look up the file's length", path, e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        check_same_dir(from, to)?;
        fs::rename(from, to).map_err(|e| refused(&format!("rename it to {}", to.display()), from, e))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|e| refused("remove the file", path, e))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        // Outermost first, each synced into its parent before something is put into it.
        let missing: Vec<&Path> = dir
            .ancestors()
            .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.is_dir())
            .collect();
        for new in missing.into_iter().rev() {
            match fs::create_dir(new) {
                // Another thread may have been faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && new.is_dir() => {}
                made => made.map_err(|e| refused("create the directory", new, e))?,
            }
            self.sync_dir(&parent(new))?;
        }
        Ok(())
    }

    fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        fs::remove_dir_all(dir).map_err(|e| refused("remove the directory", dir, e))
    }

    fn list_dir(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let failed = |e| refused("list the directory", dir, e);
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let meta = match entry.metadata() {
                Ok(meta) => meta,
                // Removed by another thread since the listing began.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            let len = if meta.is_dir() { 0 } else { meta.len() };
            entries.push(DirEntry { name, is_dir: meta.is_dir(), len });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        if cfg!(windows) {
            return Ok(());
        }
        let synced = File::open(dir).and_then(|handle| handle.sync_all());
        synced.map_err(|e| refused("sync the directory", dir, e))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        let Err(error) = fs::hard_link(from, to) else { return Ok(()) };
        let error = refused(&format!("link it to {}", to.display()), from, error);
        match error.kind() {
            // Those a copy would meet as well. All others mean that there are no links here, or no more of them.
            ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::NoSpace => Err(error),
            _ => copy(from, to),
        }
    }

    fn truncate(&self, path: &Path, len_bytes: u64) -> Result<()> {
        let failed = |e| refused("truncate the file", path, e);
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if len_bytes > len {
            return Err(too_short(path, len, len_bytes));
        }
        file.set_len(len_bytes).and_then(|()| file.sync_all()).map_err(failed)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn LockGuard>> {
        OsLock::take(path).map(|lock| Box::new(lock) as Box<dyn LockGuard>)
    }

    fn lock_shared(&self, path: &Path) -> Result<Option<Box<dyn LockGuard>>> {
        Ok(OsLock::share(path)?.map(|lock| Box::new(lock) as Box<dyn LockGuard>))
    }

    fn free_space(&self, path: &Path) -> Result<Option<u64>> {
        match fs4::available_space(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(refused("ask for the free space", path, error)),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    fn now_micros(&self) -> i64 {
        self.clock.now_micros()
    }

    fn monotonic_nanos(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn random_u64(&self) -> u64 {
        self.random.lock().next_u64()
    }
}

/// The error of [`Env::truncate`] for a file of `len` bytes, fewer than the `wanted` ones.
pub(super) fn too_short(path: &Path, len: u64, wanted: u64) -> Error {
    Error::invalid(format!("cannot truncate to {wanted} bytes: the file has {len}")).in_file(path)
}

/// Copies a file that must not exist yet, and syncs the copy; leaves nothing behind on failure.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(|e| refused("open the file", from, e))?;
    let target = OpenOptions::new().write(true).create_new(true).open(to);
    let mut target = target.map_err(|e| refused("create the copy", to, e))?;
    let copied = io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
    copied.map_err(|e| {
        // The first error is the one to report; a left-over copy is the lesser evil.
        let _ = fs::remove_file(to);
        refused(&format!("copy {}", from.display()), to, e)
    })
}

/// The open file, shared by its writer and its syncers.
#[derive(Debug)]
struct Handle {
    file: File,
    path: PathBuf,
}

impl Syncer for Handle {
    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|e| refused("sync the file", &self.path, e))
    }
}

/// A file that is being written.
#[derive(Debug)]
struct OsFile {
    handle: Arc<Handle>,
    /// Bytes in the file, and where the next ones go.
    len: u64,
    /// A failed append could not be undone: what follows `len` is unknown.
    torn: bool,
}

impl OsFile {
    fn new(file: File, path: &Path, len: u64) -> Self {
        Self { handle: Arc::new(Handle { file, path: path.to_path_buf() }), len, torn: false }
    }
}

impl WritableFile for OsFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let path = &self.handle.path;
        if self.torn {
            let message = "cannot append: an earlier append failed and could not be undone";
            return Err(Error::new(ErrorKind::Io, message).at(path, self.len));
        }
        let mut file = &self.handle.file;
        if let Err(error) = file.write_all(bytes) {
            // A part may have been written: take it back (invariant 3 of `env`).
            let undone = file.set_len(self.len).and_then(|()| file.seek(SeekFrom::Start(self.len)));
            self.torn = undone.is_err();
            return Err(refused("append to the file", path, error));
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.handle.sync()
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::clone(&self.handle) as Arc<dyn Syncer>
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.handle.path
    }
}

/// Files that this process has locked, by their canonical paths.
static HELD: Mutex<BTreeMap<PathBuf, Held>> = Mutex::new(BTreeMap::new());

/// How a file is locked. The file is open, and therefore locked, as long as this lives.
#[derive(Debug)]
enum Held {
    Alone { _file: File },
    Shared { _file: File, readers: usize },
}

/// A held lock, or a share of one. The last to be dropped closes the file, which releases the system's lock.
#[derive(Debug)]
struct OsLock {
    path: PathBuf,
    canonical: PathBuf,
}

impl OsLock {
    fn canonical(path: &Path) -> Result<PathBuf> {
        let name = path.file_name().unwrap_or_default();
        let dir = fs::canonicalize(parent(path)).map_err(|e| refused("lock the file", path, e))?;
        Ok(dir.join(name))
    }

    fn take(path: &Path) -> Result<Self> {
        let failed = |e| refused("lock the file", path, e);
        let canonical = Self::canonical(path)?;
        let mut held = HELD.lock();
        // Before opening it: where locks belong to the process, closing a second handle would end the first's lock.
        match held.get(&canonical) {
            None => {}
            Some(Held::Alone { .. }) => return Err(locked(path, Some(std::process::id()))),
            Some(Held::Shared { .. }) => return Err(being_read(path)),
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            // What the file says is of the last who held it alone.
            Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => return Err(being_read(path)),
            Err(TryLockError::WouldBlock) => return Err(locked(path, holder(path))),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let pid = format!("{}\n", std::process::id());
        file.set_len(0).and_then(|()| file.write_all(pid.as_bytes())).map_err(failed)?;
        held.insert(canonical.clone(), Held::Alone { _file: file });
        Ok(Self { path: path.to_path_buf(), canonical })
    }

    fn share(path: &Path) -> Result<Option<Self>> {
        let failed = |e| refused("lock the file", path, e);
        let canonical = Self::canonical(path)?;
        let mut held = HELD.lock();
        match held.get_mut(&canonical) {
            Some(Held::Alone { .. }) => return Err(locked(path, Some(std::process::id()))),
            Some(Held::Shared { readers, .. }) => *readers += 1,
            None => {
                let file = match File::open(path) {
                    Ok(file) => file,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(failed(error)),
                };
                match file.try_lock_shared() {
                    Ok(()) => {}
                    Err(TryLockError::WouldBlock) => return Err(locked(path, holder(path))),
                    Err(TryLockError::Error(error)) => return Err(failed(error)),
                }
                held.insert(canonical.clone(), Held::Shared { _file: file, readers: 1 });
            }
        }
        Ok(Some(Self { path: path.to_path_buf(), canonical }))
    }
}

/// The process that holds a lock alone, as it wrote itself. Not readable where locks are mandatory, not yet written if the holder is only
/// just starting.
fn holder(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok())
}

impl LockGuard for OsLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OsLock {
    fn drop(&mut self) {
        // The file is closed under the table's lock, or another thread could find the name free and the file still locked.
        let mut held = HELD.lock();
        match held.get_mut(&self.canonical) {
            Some(Held::Shared { readers, .. }) if *readers > 1 => *readers -= 1,
            _ => drop(held.remove(&self.canonical)),
        }
    }
}
