//! Opening a store, and recovering what a crash left.
//!
//! ```text
//! look       is this a store of this version, an empty directory, or something foreign? (foreign ones stay untouched)
//! lock       an OS lock on DIR/LOCK, for the life of the process: of one who writes, or of any number who only read
//! manifest   the live set: schema, files, and how far each table's log is flushed
//! replay     log records past that position into memtables; a full one is flushed as usual
//! clean      files that no manifest record names: unfinished flushes and compactions
//! threads    flush, compaction, time
//! ```
//! Nothing here depends on how the last process ended: a clean close is a crash with an empty log.

use crate::commitlog::{CommitLog, LogOptions, ReplaySummary, replay};
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
use crate::write::tables::Tables;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

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

    /// Replays the log into memtables. Each record goes to the tables that have not flushed past it.
    fn replay_log(&self, version: &Version) -> Result<ReplaySummary> {
        let flushed: HashMap<TableId, LogPosition> =
            version.tables.iter().map(|(id, table)| (*id, table.flushed)).collect();
        let mut dirty = BTreeSet::new();
        let summary = replay(&*self.env, &self.dir, self.options.replay, &mut |position, payload| {
            let wanted = |id: TableId| flushed.get(&id).is_some_and(|upto| *upto < position);
            let touched = self.commit.replay(payload, position, &wanted)?;
            dirty.extend(touched);
            if !self.commit.queue.is_empty() && !self.read_only {
                self.run_pending()?;
            }
            Ok(())
        })?;
        // A table that flushed on the way may have come after; what is in its memtable now decides.
        dirty.retain(|id| self.commit.tables.get(*id).is_ok_and(|table| !table.view().active.is_empty()));
        *self.replayed.lock() = Replayed { last_segment: summary.last_segment, dirty: dirty.clone() };
        if dirty.is_empty() && summary.last_segment > 0 && !self.read_only {
            self.manifest.lock().protect()?;
            crate::commitlog::remove_replayed(&*self.env, &self.dir, summary.last_segment)?;
            self.replayed.lock().last_segment = 0;
        }
        Ok(summary)
    }

    /// Removes what an interrupted flush, compaction or drop left: temporary files, files no record names, directories
    /// of tables that are gone.
    fn remove_leftovers(&self, version: &Version) -> Result<()> {
        for temporary in
            self.env.list_dir(self.dir.root())?.into_iter().filter(|e| !e.is_dir && is_temporary(&e.name))
        {
            self.env.remove(&self.dir.root().join(temporary.name))?;
        }
        if !self.env.exists(&self.dir.data())? {
            return Ok(());
        }
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
