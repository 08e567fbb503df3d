//! Opening a store, and recovering what a crash left.
//!
//! ```text
//! look       is this a store of this version, an empty directory, or something foreign? (foreign ones stay untouched)
//! lock       an OS lock on DIR/LOCK, for the life of the process: of one who writes, or of any number who only read
//! manifest   the live set: schema, files, and how far each table's log is flushed
//! replay     log records past that position into memtables, several shares of the ring at once; a full one is flushed as usual
//! clean      files that no manifest record names: unfinished flushes and compactions
//! threads    flush, compaction, time
//! ```
//! Nothing here depends on how the last process ended: a clean close is a crash with an empty log.

use crate::commitlog::{CommitLog, LogOptions, ReplaySummary, replay_runs};
use crate::db::attachment::Attachments;
use crate::db::builder::Builder;
use crate::db::catalog::Catalog;
use crate::db::compactor::Compactor;
use crate::db::locks::Locks;
use crate::db::stats::{Counters, Opened};
use crate::db::worker::Workers;
use crate::db::{Db, Inner, Replayed};
use crate::env::{DataDir, Env, OsEnv, UniqueMicros, is_temporary, parse_sstable};
use crate::error::{Error, Result};
use crate::manifest::directory::{Found, inspect};
use crate::manifest::version::Version;
use crate::memtable::pins::Pins;
use crate::model::position::LogPosition;
use crate::model::schema::TableId;
use crate::options::{Options, SyncMode};
use crate::sstable::cache::BlockCache;
use crate::write::commit::{Committer, Parts};
use crate::write::replay::Replay;
use crate::write::tables::Tables;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Runs of log records that make up the memory for memtables: it is looked at after each.
const RUNS_IN_MEMORY: usize = 16;
/// Payload of the longest run, bytes.
const LONGEST_RUN: usize = 4 << 20;
/// Threads that replay the log at most: each goes through the whole log for its share.
const MOST_REPLAY_THREADS: usize = 4;

impl Builder {
    /// Opens the store: takes its lock, reads the manifest, replays the log.
    ///
    /// # Errors
    /// `Busy` while another process has it open, `NotFound` where there is none (and none is to be made), `Unsupported`
    /// for a directory that is no store of this version, `Corrupt` for a damaged one, `Invalid` for wrong settings.
    pub fn open(self) -> Result<Db> {
        self.options.validate()?;
        let env: Arc<dyn Env> = match (&self.env, &self.clock) {
            (Some(env), _) => Arc::clone(env),
            (None, Some(clock)) => Arc::new(OsEnv::with_clock(Arc::clone(clock))),
            (None, None) => Arc::new(OsEnv::new()),
        };
        open(self, env)
    }
}

/// Opens what `builder` describes on `env`.
fn open(builder: Builder, env: Arc<dyn Env>) -> Result<Db> {
    let started = env.monotonic_nanos();
    let dir = DataDir::new(&builder.path);
    let options = builder.options;
    let exists = matches!(inspect(&*env, &dir)?, Found::Store);
    if !exists && !options.create {
        let text = format!("there is no store in {}", dir.root().display());
        return Err(Error::not_found(text).hint("check the path"));
    }
    if !exists {
        env.create_dir_all(dir.root())?;
    }
    // Without the file nobody writes here, nor ever did since the store was put here: there is nothing to be locked out from.
    let lock = match builder.read_only {
        true => env.lock_shared(&dir.lock())?,
        false => Some(env.lock(&dir.lock())?),
    };
    let manifest = Catalog::open(&env, &dir, builder.read_only)?;
    let version = manifest.version();
    let log = match options.sync {
        _ if builder.read_only => None,
        SyncMode::Off => None,
        SyncMode::Periodic(_) | SyncMode::Batch => {
            let log =
                LogOptions { segment_bytes: options.segment_bytes, limit_bytes: options.log_limit_bytes };
            Some(Arc::new(CommitLog::open(Arc::clone(&env), &dir, log, version.next.segment)?))
        }
    };
    let commit = committer(&env, &options, builder.read_only, log);
    let inner = Arc::new(Inner {
        dir,
        read_only: builder.read_only,
        background: builder.background && !builder.read_only,
        lock: Mutex::new(lock),
        commit,
        cache: Arc::new(BlockCache::new(options.cache_bytes)),
        next_file: AtomicU64::new(version.next.file),
        compactor: Compactor::default(),
        workers: Workers::default(),
        counters: Counters::default(),
        locks: Locks::default(),
        attachments: Attachments::default(),
        epoch: AtomicU64::new(1),
        replayed: Mutex::new(Replayed::default()),
        failures: Mutex::new(HashMap::new()),
        closed: AtomicBool::new(false),
        opened: Opened::default(),
        manifest: Mutex::new(manifest),
        options,
        env,
    });
    inner.open_tables(&version);
    if !inner.read_only {
        inner.remove_leftovers(&version)?;
    }
    let summary = inner.replay_log(&version)?;
    inner.opened.set(&summary, inner.env.monotonic_nanos().saturating_sub(started));
    if inner.background {
        Workers::start(&inner)?;
    }
    Ok(Db::new(inner))
}

fn committer(
    env: &Arc<dyn Env>,
    options: &Options,
    read_only: bool,
    log: Option<Arc<CommitLog>>,
) -> Committer {
    let visible = Arc::new(AtomicU64::new(0));
    Committer::new(Parts {
        log,
        sync: options.sync,
        stamps: UniqueMicros::new(env.clock()),
        pins: Arc::new(Pins::new(Arc::clone(&visible))),
        visible,
        tables: Arc::new(Tables::default()),
        // A store that is only read cannot flush: the whole log goes into memory.
        memtable_bytes: if read_only { usize::MAX } else { options.memtable_bytes },
        written: LogPosition::START,
    })
}

impl Inner {
    fn open_tables(&self, version: &Version) {
        for table in version.tables.values() {
            let files = table.files.values().map(|meta| self.open_file(&table.schema, meta)).collect();
            let newest = table.files.values().map(|meta| meta.created_micros).max();
            self.commit.observe(newest.unwrap_or(i64::MIN));
            self.add_table(Arc::clone(&table.schema), files);
        }
    }

    /// Replays the log into memtables. Each record goes to the tables that have not flushed past it. A store that is only read
    /// has all the memory it needs: it cannot flush.
    fn replay_log(&self, version: &Version) -> Result<ReplaySummary> {
        let flushed: HashMap<TableId, LogPosition> =
            version.tables.iter().map(|(id, table)| (*id, table.flushed)).collect();
        let mut applied = Replay::new(&self.commit, &flushed, self.replay_threads())?;
        let run_bytes = (self.options.memtable_bytes / RUNS_IN_MEMORY).min(LONGEST_RUN);
        let summary =
            replay_runs(&*self.env, &self.dir, self.options.replay, run_bytes, &mut |records, ahead| {
                applied.apply(records, ahead).map_err(|(index, error)| match records.get(index) {
                    Some(bad) => error.at(self.dir.segment(bad.position.segment), bad.position.offset),
                    None => error,
                })?;
                while applied.seal_if_full() {
                    self.run_pending()?;
                }
                Ok(())
            })?;
        applied.finish();
        let tables = self.commit.tables.all().into_iter();
        let dirty: BTreeSet<_> =
            tables.filter(|table| !table.view().active.is_empty()).map(|table| table.id()).collect();
        *self.replayed.lock() = Replayed { last_segment: summary.last_segment, dirty: dirty.clone() };
        if dirty.is_empty() && summary.last_segment > 0 && !self.read_only {
            self.manifest.lock().protect()?;
            crate::commitlog::remove_replayed(&*self.env, &self.dir, summary.last_segment)?;
            self.replayed.lock().last_segment = 0;
        }
        Ok(summary)
    }

    /// Shares of the ring that are replayed side by side.
    fn replay_threads(&self) -> usize {
        // A store that was asked to do everything inside the caller's calls gets no threads here either.
        let alone = !self.background && !self.read_only;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if alone { 1 } else { cores.min(MOST_REPLAY_THREADS) }
    }

    /// Removes what an interrupted flush, compaction or drop left: temporary files, files no record names, directories
    /// of tables that are gone.
    fn remove_leftovers(&self, version: &Version) -> Result<()> {
        for temporary in
            self.env.list_dir(self.dir.root())?.into_iter().filter(|e| !e.is_dir && is_temporary(&e.name))
        {
            self.env.remove(&self.dir.root().join(temporary.name))?;
        }
        // A copy may lack directories that held nothing: the tables' are made below.
        self.env.create_dir_all(&self.dir.data())?;
        let live: BTreeSet<_> = version
            .tables
            .values()
            .filter_map(|table| {
                self.dir.table(&table.schema.keyspace, &table.schema.name, table.schema.id).ok()
            })
            .collect();
        for keyspace in self.env.list_dir(&self.dir.data())?.into_iter().filter(|e| e.is_dir) {
            let keyspace = self.dir.data().join(keyspace.name);
            for table in self.env.list_dir(&keyspace)?.into_iter().filter(|e| e.is_dir) {
                let table = keyspace.join(table.name);
                if !live.contains(&table) {
                    self.env.remove_dir_all(&table)?;
                }
            }
        }
        for table in version.tables.values() {
            let dir = self.dir.table(&table.schema.keyspace, &table.schema.name, table.schema.id)?;
            if !self.env.exists(&dir)? {
                self.env.create_dir_all(&dir)?;
            }
            for entry in self.env.list_dir(&dir)?.into_iter().filter(|e| !e.is_dir) {
                let named = |n: u64| table.files.keys().any(|id| id.0 == n);
                let stray = match parse_sstable(&entry.name) {
                    Some(number) => !named(number),
                    None => is_temporary(&entry.name),
                };
                if stray {
                    self.env.remove(&dir.join(&entry.name))?;
                }
            }
        }
        Ok(())
    }
}
