//! The engine running: the handle, what it owns, and how the parts are wired.
//!
//! ```text
//! Db, Table            what a program holds: cheap clones, Send + Sync          mod, table, appender, query, moment
//! open                 lock, manifest, log replay, clean-up                     builder, open
//! flush, compact       the background work and its installation                 flush, compactor, worker
//! ddl                  schema changes                                           ddl, change, schema
//! locks, attachment    what layers above need: partitions to themselves, a place for their state
//! snapshot, backup     a point in time in memory, and as a directory            snapshot, backup
//! stats, verify        what it is doing; whether all is well                    stats, verify
//! ```
//! Nobody imports this module, and only it starts threads (worker).

pub mod schema;
pub mod builder;
pub(crate) mod catalog;
pub(crate) mod open;
pub(crate) mod files;
pub(crate) mod flush;
pub(crate) mod compactor;
pub(crate) mod worker;
pub mod ddl;
pub mod change;
pub mod table;
pub mod appender;
pub mod locks;
pub mod attachment;
pub mod counter;
pub mod page;
pub mod query;
pub mod moment;
pub mod snapshot;
pub mod backup;
pub mod stats;
pub mod verify;

pub use builder::Builder;
pub use schema::Schema;
pub use table::Table;

use crate::db::catalog::Catalog;
use crate::db::compactor::Compactor;
use crate::db::stats::Counters;
use crate::db::worker::Workers;
use crate::env::{DataDir, Env, LockGuard};
use crate::error::{Error, ErrorKind, Result};
use crate::model::position::LogPosition;
use crate::model::schema::{TableId, TableSchema};
use crate::model::time::Timestamp;
use crate::options::Options;
use crate::sstable::cache::BlockCache;
use crate::sstable::meta::FileMeta;
use crate::sstable::reader::SsTable;
use crate::write::batch::WriteBatch;
use crate::write::commit::Committer;
use crate::write::tables::TableState;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The keyspace of tables that name none; made on first open.
pub const DEFAULT_KEYSPACE: &str = "main";

/// An open store. Clones share it; it closes with [`Db::close`], or when the last clone (of it or of a [`Table`]) goes.
///
/// ```
/// use skep_engine::{CqlType, Db, Schema, row};
/// # let dir = std::env::temp_dir().join(format!("skep-doc-db-{}", std::process::id()));
/// let db = Db::open(&dir)?;
/// let users = db.create_table(
///     Schema::table("users").partition_key("id", CqlType::Int).column("name", CqlType::Text),
/// )?;
/// users.insert(&row![1, "Maja"])?;
/// let row = users.get(&row![1])?.expect("just written");
/// assert_eq!(row.get::<String>("name")?, "Maja");
/// # drop(row);
/// db.close()?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Db {
    pub(crate) inner: Arc<Inner>,
    /// Its drop, with the last clone, closes the store. (`Inner` cannot do that: its threads hold it, too.)
    /// `None` for a handle that does not count.
    _open: Option<Arc<Open>>,
}

/// Closes the store when the last handle goes.
#[derive(Debug)]
pub(crate) struct Open(Arc<Inner>);

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.0.close(); // whoever wants the error calls `Db::close`
    }
}

/// What all handles of a store share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: DataDir,
    pub(crate) options: Options,
    pub(crate) read_only: bool,
    pub(crate) background: bool,
    pub(crate) lock: Mutex<Option<Box<dyn LockGuard>>>,
    pub(crate) manifest: Mutex<Catalog>,
    pub(crate) commit: Committer,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) next_file: AtomicU64,
    pub(crate) compactor: Compactor,
    pub(crate) workers: Workers,
    pub(crate) counters: Counters,
    pub(crate) locks: locks::Locks,
    pub(crate) attachments: attachment::Attachments,
    /// Counts schema changes.
    pub(crate) epoch: AtomicU64,
    /// Segments of earlier runs, and the tables whose memtables still hold writes from there.
    pub(crate) replayed: Mutex<Replayed>,
    /// Background failures by table.
    pub(crate) failures: Mutex<HashMap<TableId, String>>,
    pub(crate) closed: AtomicBool,
    pub(crate) opened: stats::Opened,
}

/// What is left of the log of earlier runs.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// The last of their segments; 0 if there is none.
    pub(crate) last_segment: u64,
    /// Tables that have writes from there which are in no file yet.
    pub(crate) dirty: BTreeSet<TableId>,
}

impl Db {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { _open: Some(Arc::new(Open(Arc::clone(&inner)))), inner }
    }

    /// Opens the store in a directory with default settings, making it where there is none.
    ///
    /// # Errors
    /// As [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Opens the store in a directory with settings: `Db::builder("data").memtable_bytes(8 << 20).open()?`.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref().to_path_buf())
    }

    /// Opens an existing store without changing a byte of it.
    ///
    /// # Errors
    /// As [`Builder::open`]; `Busy` while a writer has it open (open a snapshot of it instead).
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).read_only().open()
    }

    /// Commits a batch: all of it or nothing, durably as the sync mode says, visible to readers all at once. Returns the
    /// timestamp (micros) of the operations that had none of their own. The batch is left empty and can be filled again.
    ///
    /// # Errors
    /// `Closed` after a failed sync or [`Db::close`]; `NoSpace` while the disk is full; `NotFound` for a dropped table;
    /// `Invalid` for a batch larger than half a log segment. After an error the batch is as it was.
    #[inline]
    pub fn write(&self, batch: &mut WriteBatch) -> Result<i64> {
        self.inner.write(batch)
    }

    /// Writes all memtables to files and waits for it.
    ///
    /// # Errors
    /// The error of a flush that failed.
    pub fn flush(&self) -> Result<()> {
        self.inner.flush(None)
    }

    /// Puts everything written so far on the disk, whatever the sync mode.
    ///
    /// # Errors
    /// `Closed`: a failed sync stops writing.
    pub fn sync(&self) -> Result<()> {
        self.inner.check_writable()?;
        self.inner.commit.sync()
    }

    /// Does what is due now, on this thread: syncs the log, flushes aged memtables, drops expired files, compacts until
    /// nothing is left to do. For stores without background threads, and after moving an injected clock.
    ///
    /// # Errors
    /// The first error; other work is still done.
    pub fn tick(&self) -> Result<()> {
        let inner = &self.inner;
        inner.check_writable()?;
        let mut first = inner.commit.sync();
        inner.keep_time();
        if !inner.background {
            first = first.and(inner.run_pending());
        }
        first.and(inner.compact_all())
    }

    /// Waits until no flush and no compaction is running or due.
    ///
    /// # Errors
    /// The error of a flush or compaction that failed; `Busy` if `patience` ends first.
    pub fn wait_idle(&self, patience: Duration) -> Result<()> {
        let end = Instant::now().checked_add(patience);
        if !self.inner.commit.queue.wait_idle(None, patience) {
            self.inner.first_failure()?;
            return Err(Error::new(ErrorKind::Busy, "flushes are still under way"));
        }
        self.inner.wait_compacted(end)
    }

    /// Flushes, syncs, stops the threads and gives the directory free. Handles that are left refuse writes with
    /// `Closed`; reads through them go on and show the store as it was, until another opening removes files that they need.
    ///
    /// # Errors
    /// The error of the last flush or sync; the store is closed all the same, and what is only in the log is replayed
    /// when it is opened again.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }

    /// Whether it was closed: by [`Db::close`], for this handle and all others.
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Acquire)
    }

    /// The directory.
    pub fn path(&self) -> PathBuf {
        self.inner.dir.root().to_path_buf()
    }

    /// Whether it was opened to be read only.
    pub fn is_read_only(&self) -> bool {
        self.inner.read_only
    }

    /// The clock's time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_micros().div_euclid(1000))
    }

    /// The clock's time, micros since the epoch.
    pub fn now_micros(&self) -> i64 {
        self.inner.env.now_micros()
    }

    /// A write timestamp (micros) later than all that this store has drawn before; commits draw theirs from the same sequence.
    pub fn next_micros(&self) -> i64 {
        self.inner.commit.next_micros()
    }

    /// A number that grows with every change of the schema that this process makes: of keyspaces, types, tables, columns,
    /// options. What was derived from the schema under the same number is still right.
    pub fn schema_epoch(&self) -> u64 {
        self.inner.epoch.load(Ordering::Acquire)
    }

    /// Says that the clock is right although it is far ahead of the last write, so that expired files may be dropped.
    pub fn confirm_clock(&self) {
        self.inner.compactor.confirm_clock(self.inner.now_seconds());
        self.inner.workers.wake();
    }
}

impl Inner {
    pub(crate) fn now_seconds(&self) -> i64 {
        self.env.now_micros().div_euclid(1_000_000)
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.read_only {
            return Err(Error::closed("the store was opened read-only"));
        }
        self.commit.health.check()
    }

    #[inline]
    pub(crate) fn write(&self, batch: &mut WriteBatch) -> Result<i64> {
        if self.read_only {
            self.check_writable()?;
        }
        let timestamp = self.commit.commit(batch)?;
        batch.clear();
        if !self.background && !self.commit.queue.is_empty() {
            // A flush that fails is tried again by the next write; this one is in the log and in memory.
            let _ = self.run_pending();
        }
        Ok(timestamp)
    }

    /// Seals and flushes one table, or all, and waits.
    pub(crate) fn flush(&self, table: Option<&Arc<TableState>>) -> Result<()> {
        self.check_writable()?;
        self.flush_anyway(table)
    }

    fn flush_anyway(&self, table: Option<&Arc<TableState>>) -> Result<()> {
        let tables = table.map_or_else(|| self.commit.tables.all(), |table| vec![Arc::clone(table)]);
        tables.iter().for_each(|table| self.commit.seal(table));
        let id = table.map(|table| table.id());
        if !self.background {
            self.run_pending()?;
        }
        // A flush that failed once is tried again after a pause; give it that chance before reporting it.
        if self.commit.queue.wait_idle(id, Duration::from_secs(600)) {
            return match (table, self.commit.log()) {
                (None, Some(log)) => log.trim(),
                _ => Ok(()),
            };
        }
        self.first_failure()?;
        Err(Error::new(ErrorKind::Busy, "the flush is still under way"))
    }

    /// Age of memtables, size of the log.
    pub(crate) fn keep_time(&self) {
        if let Some(log) = self.commit.log()
            && log.over_limit()
            && let Some((id, _)) = log.oldest_dirty()
            && let Ok(table) = self.commit.tables.get(id)
        {
            self.commit.seal(&table);
        }
        self.seal_aged();
        self.commit.pool.age();
    }

    fn seal_aged(&self) {
        let Some(age) = self.options.memtable_age else { return };
        let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        // By the machine's own seconds: a clock that is injected may run a thousand times faster than flushes do.
        let now = self.commit.seconds_open();
        for table in self.commit.tables.all() {
            if now.saturating_sub(table.first_write()) >= age {
                self.commit.seal(&table);
            }
        }
    }

    /// Tells the log that a table is in files up to `position`.
    pub(crate) fn log_flushed(&self, id: TableId, position: LogPosition) -> Result<()> {
        self.manifest.lock().protect()?;
        if let Some(log) = self.commit.log() {
            log.mark_flushed(id, position)?;
        }
        self.replayed_flushed(id)
    }

    /// Removes the segments of earlier runs when the last table with writes from there is in files.
    pub(crate) fn replayed_flushed(&self, id: TableId) -> Result<()> {
        let mut replayed = self.replayed.lock();
        replayed.dirty.remove(&id);
        if replayed.dirty.is_empty() && replayed.last_segment > 0 {
            crate::commitlog::remove_replayed(&*self.env, &self.dir, replayed.last_segment)?;
            replayed.last_segment = 0;
        }
        Ok(())
    }

    /// A handle of a file that the manifest names. Nothing is read before its first use.
    pub(crate) fn open_file(&self, schema: &Arc<TableSchema>, meta: &Arc<FileMeta>) -> Arc<SsTable> {
        let path = self.file_path(schema, meta.id).unwrap_or_else(|_| self.dir.root().to_path_buf());
        SsTable::open(Arc::clone(&self.env), &path, Arc::clone(meta), Arc::clone(&self.cache))
    }

    pub(crate) fn set_failure(&self, table: &TableState, error: Option<&Error>) {
        let mut failures = self.failures.lock();
        match error {
            Some(error) => failures.insert(table.id(), error.to_string()),
            None => failures.remove(&table.id()),
        };
    }

    /// Fails with the oldest background failure, if one is current.
    pub(crate) fn first_failure(&self) -> Result<()> {
        self.commit.health.check()?;
        match self.failures.lock().values().next() {
            Some(text) => Err(Error::new(ErrorKind::Io, text.clone())),
            None => Ok(()),
        }
    }

    pub(crate) fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let healthy = self.commit.health.check().is_ok();
        let mut result = Ok(());
        if healthy && !self.read_only {
            result = self.flush_anyway(None);
            result = result.and(self.commit.sync());
        }
        self.commit.health.close();
        self.compactor.cancel();
        self.commit.queue.close();
        self.workers.stop();
        if let Some(log) = self.commit.log() {
            result = result.and(log.close());
        }
        if healthy {
            result = result.and(self.manifest.lock().close());
        }
        *self.lock.lock() = None;
        self.attachments.clear();
        result
    }
}
