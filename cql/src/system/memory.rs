//! A disk that is a map in memory: where the tables of the system keyspaces are kept.
//!
//! They are made from what the process knows and gone with it, so that nothing is ever synced or reopened: everything "survives" at once.
//!
//! # Threads
//! One mutex over the map; it is held for a copy of bytes at most.

use parking_lot::Mutex;
use skep_engine::env::{Clock, DirEntry, Env, LockGuard, ReadableFile, Syncer, WritableFile};
use skep_engine::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Content of a file; shared with those who have it open.
type Content = Arc<Mutex<Vec<u8>>>;

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Content>,
    dirs: BTreeSet<PathBuf>,
}

/// Files in memory, with the clock of the store that they tell about.
#[derive(Debug)]
pub(crate) struct MemoryEnv {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    started: Instant,
    drawn: AtomicU64,
}

impl MemoryEnv {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::default(), clock, started: Instant::now(), drawn: AtomicU64::new(0) }
    }

    fn file(&self, path: &Path) -> Result<Content> {
        let state = self.state.lock();
        state.files.get(path).cloned().ok_or_else(|| missing(path))
    }

    fn open(&self, path: &Path, content: Content) -> Box<dyn WritableFile> {
        Box::new(MemoryFile { path: path.to_path_buf(), content })
    }
}

fn missing(path: &Path) -> Error {
    Error::not_found("there is no such file in memory").in_file(path)
}

impl Env for MemoryEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let content = Content::default();
        self.state.lock().files.insert(path.to_path_buf(), Arc::clone(&content));
        Ok(self.open(path, content))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(self.open(path, self.file(path)?))
    }

    fn open_read(&self, path: &Path) -> Result<Arc<dyn ReadableFile>> {
        let bytes = self.read(path)?;
        Ok(Arc::new(Finished { path: path.to_path_buf(), bytes }))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        Ok(self.file(path)?.lock().clone())
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let state = self.state.lock();
        Ok(state.files.contains_key(path) || state.dirs.contains(path))
    }

    fn len(&self, path: &Path) -> Result<u64> {
        Ok(self.file(path)?.lock().len() as u64)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(content) = state.files.remove(from) {
            state.files.insert(to.to_path_buf(), content);
            return Ok(());
        }
        if !state.dirs.contains(from) {
            return Err(missing(from));
        }
        let moved =
            |path: &PathBuf| path.strip_prefix(from).map_or_else(|_| path.clone(), |rest| to.join(rest));
        state.dirs = state.dirs.iter().map(moved).collect();
        state.files = state.files.iter().map(|(path, content)| (moved(path), Arc::clone(content))).collect();
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.state.lock().files.remove(path).map(|_| ()).ok_or_else(|| missing(path))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.state.lock().dirs.extend(dir.ancestors().map(Path::to_path_buf));
        Ok(())
    }

    fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        let mut state = self.state.lock();
        state.files.retain(|path, _| !path.starts_with(dir));
        state.dirs.retain(|path| !path.starts_with(dir));
        Ok(())
    }

    fn list_dir(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let state = self.state.lock();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let within = |path: &Path| path.parent() == Some(dir);
        let files = state.files.iter().filter(|(path, _)| within(path)).map(|(path, content)| DirEntry {
            name: name(path),
            is_dir: false,
            len: content.lock().len() as u64,
        });
        let dirs = state.dirs.iter().filter(|path| within(path)).map(|path| DirEntry {
            name: name(path),
            is_dir: true,
            len: 0,
        });
        let mut entries: Vec<_> = files.chain(dirs).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn sync_dir(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        let content = self.file(from)?;
        self.state.lock().files.insert(to.to_path_buf(), content);
        Ok(())
    }

    fn truncate(&self, path: &Path, len_bytes: u64) -> Result<()> {
        let content = self.file(path)?;
        let mut bytes = content.lock();
        match usize::try_from(len_bytes) {
            Ok(len) if len <= bytes.len() => bytes.truncate(len),
            _ => return Err(Error::invalid("the file is shorter").in_file(path)),
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn LockGuard>> {
        // Only the one store that this disk was made for ever asks.
        Ok(Box::new(Lock(path.to_path_buf())))
    }

    fn lock_shared(&self, path: &Path) -> Result<Option<Box<dyn LockGuard>>> {
        Ok(Some(self.lock(path)?))
    }

    fn free_space(&self, _: &Path) -> Result<Option<u64>> {
        Ok(None)
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
        // A counter through splitmix64: distinct is all that names of files need.
        let mut z = self.drawn.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[derive(Debug)]
struct Lock(PathBuf);

impl LockGuard for Lock {
    fn path(&self) -> &Path {
        &self.0
    }
}

struct MemoryFile {
    path: PathBuf,
    content: Content,
}

impl WritableFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let mut content = self.content.lock();
        if content.try_reserve(bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::NoSpace, "no memory is left").in_file(&self.path));
        }
        content.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(Nothing)
    }

    fn len(&self) -> u64 {
        self.content.lock().len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

struct Nothing;

impl Syncer for Nothing {
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

struct Finished {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl ReadableFile for Finished {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_engine::{CqlType, Db, ManualClock, Schema, row};

    #[test]
    fn a_store_lives_on_it() {
        let env = Arc::new(MemoryEnv::new(Arc::new(ManualClock::new(1_000_000))));
        let db = Db::builder("/system").env(env).background(false).open().unwrap();
        let schema = Schema::table("t").partition_key("k", CqlType::Int).column("v", CqlType::Text);
        let table = db.create_table(schema).unwrap();
        table.insert(&row![1, "a"]).unwrap();
        db.flush().unwrap();
        table.insert(&row![2, "b"]).unwrap();
        db.flush().unwrap();
        table.compact().unwrap();
        assert_eq!(table.scan().rows().unwrap().count(), 2);
        db.truncate("t").unwrap();
        assert_eq!(table.scan().rows().unwrap().count(), 0);
        db.close().unwrap();
    }
}
