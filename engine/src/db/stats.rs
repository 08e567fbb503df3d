//! What a store and its tables are doing: counters and figures.

use crate::commitlog::ReplaySummary;
use crate::compact::expired::Blocked;
use crate::compact::history::Record;
use crate::compact::job::Running;
use crate::db::table::Table;
use crate::db::{Db, Inner};
use crate::options::Options;
use crate::sstable::meta::FileMeta;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts of background work since opening.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    flushes: AtomicU64,
    flushed_files: AtomicU64,
    flushed_bytes: AtomicU64,
    flush_nanos: AtomicU64,
}

impl Counters {
    pub(crate) fn flushed(&self, files: u64, bytes: u64, nanos: u64) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.flushed_files.fetch_add(files, Ordering::Relaxed);
        self.flushed_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.flush_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// What opening found, set once.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    nanos: AtomicU64,
    records: AtomicU64,
    log_bytes: AtomicU64,
    notes: parking_lot::Mutex<Vec<String>>,
}

impl Opened {
    pub(crate) fn set(&self, summary: &ReplaySummary, nanos: u64) {
        self.nanos.store(nanos, Ordering::Relaxed);
        self.records.store(summary.records, Ordering::Relaxed);
        self.log_bytes.store(summary.bytes, Ordering::Relaxed);
        let torn = summary.torn.iter().map(|t| {
            format!(
                "segment {} ended torn at byte {}: {} bytes dropped",
                t.segment, t.offset, t.dropped_bytes
            )
        });
        let skipped = summary
            .skipped
            .iter()
            .map(|s| format!("segment {}: bytes {} to {} skipped, {}", s.segment, s.from, s.to, s.why));
        *self.notes.lock() = torn.chain(skipped).collect();
    }
}

/// Figures of a whole store. Sizes in bytes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DbStats {
    /// Number of tables.
    pub tables: usize,
    /// Number of live SSTables.
    pub files: usize,
    /// Bytes of live SSTables.
    pub file_bytes: u64,
    /// Memory of memtables, active and sealed.
    pub memtable_bytes: usize,
    /// Memtables that wait for their flush or are being flushed.
    pub memtables_waiting: usize,
    /// Bytes of the commit log's segments of this run.
    pub log_bytes: u64,
    /// Flushes since opening.
    pub flushes: u64,
    /// Bytes they wrote.
    pub flushed_bytes: u64,
    /// Time they took.
    pub flush_time: Duration,
    /// Compactions since opening.
    pub compactions: u64,
    /// Bytes they read.
    pub compaction_read_bytes: u64,
    /// Bytes they wrote.
    pub compaction_written_bytes: u64,
    /// Writes that had to wait for memory, and how long in all.
    pub stalls: u64,
    /// See `stalls`.
    pub stalled: Duration,
    /// Memory of the block cache.
    pub cache_bytes: u64,
    /// Blocks and index pages in the block cache.
    pub cache_entries: usize,
    /// Lookups that the cache answered.
    pub cache_hits: u64,
    /// Lookups that it did not.
    pub cache_misses: u64,
    /// How long opening took.
    pub open_time: Duration,
    /// Log records that were replayed on opening, and their bytes.
    pub replayed_records: u64,
    /// See `replayed_records`.
    pub replayed_bytes: u64,
    /// What recovery had to leave out: torn ends, skipped damage.
    pub recovery_notes: Vec<String>,
    /// Background failures that are current, by table.
    pub failures: Vec<String>,
}

/// Figures of one table. Sizes in bytes; rows and cells as stored, several versions of one counted apart.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TableStats {
    /// `keyspace.table`.
    pub name: String,
    /// Live SSTables.
    pub files: usize,
    /// Their bytes.
    pub file_bytes: u64,
    /// Partitions in SSTables; one that is in several counts in each.
    pub partitions: u64,
    /// Rows in SSTables.
    pub rows: u64,
    /// Cells in SSTables.
    pub cells: u64,
    /// Tombstones of all kinds in SSTables.
    pub tombstones: u64,
    /// Memory of memtables.
    pub memtable_bytes: usize,
    /// Row versions in memtables.
    pub memtable_rows: u64,
    /// Bytes on disk for each row in SSTables.
    pub bytes_per_row: f64,
    /// Least and greatest write time in SSTables, micros.
    pub timestamps: Option<(i64, i64)>,
    /// Expired files that something keeps, and what.
    pub blocked: Vec<String>,
    /// Damaged files that compaction leaves alone until the store is opened again.
    pub set_aside: Vec<PathBuf>,
    /// The current background failure.
    pub failure: Option<String>,
}

impl Db {
    /// The settings that the store was opened with.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Figures of the store.
    pub fn stats(&self) -> DbStats {
        let inner = &self.inner;
        let views: Vec<_> = inner.commit.tables.all().iter().map(|table| table.view()).collect();
        let files = || views.iter().flat_map(|view| view.files.iter());
        let (stalls, stalled) = inner.commit.budget.stalls();
        let (cache_hits, cache_misses) = inner.cache.hits_and_misses();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let compactions = inner.compactor.totals();
        DbStats {
            tables: views.len(),
            files: files().count(),
            file_bytes: files().map(|file| file.meta().size_bytes).sum(),
            memtable_bytes: inner.commit.budget.used(),
            memtables_waiting: inner.commit.queue.len(),
            log_bytes: inner.commit.log().map_or(0, |log| log.total_bytes()),
            flushes: get(&inner.counters.flushes),
            flushed_bytes: get(&inner.counters.flushed_bytes),
            flush_time: Duration::from_nanos(get(&inner.counters.flush_nanos)),
            compactions: compactions.count,
            compaction_read_bytes: compactions.read_bytes,
            compaction_written_bytes: compactions.written_bytes,
            stalls,
            stalled: Duration::from_micros(stalled),
            cache_bytes: inner.cache.used_bytes(),
            cache_entries: inner.cache.entries(),
            cache_hits,
            cache_misses,
            open_time: Duration::from_nanos(get(&inner.opened.nanos)),
            replayed_records: get(&inner.opened.records),
            replayed_bytes: get(&inner.opened.log_bytes),
            recovery_notes: inner.opened.notes.lock().clone(),
            failures: inner.failures.lock().values().cloned().collect(),
        }
    }
}

impl Table {
    /// Figures of the table.
    pub fn stats(&self) -> TableStats {
        let view = self.state().view();
        let metas = || view.files.iter().map(|file| file.meta());
        let memtables = || view.sealed.iter().chain([&view.active]);
        let file_bytes: u64 = metas().map(|meta| meta.size_bytes).sum();
        let rows: u64 = metas().map(|meta| meta.rows).sum();
        let aside = self.inner().compactor.set_aside(self.state().id());
        let set_aside = view.files.iter().filter(|file| aside.contains(&file.meta().id));
        let timestamps = metas().map(|m| m.min_timestamp).min().zip(metas().map(|m| m.max_timestamp).max());
        TableStats {
            name: view.schema.full_name(),
            files: view.files.len(),
            file_bytes,
            partitions: metas().map(|meta| meta.partitions).sum(),
            rows,
            cells: metas().map(|meta| meta.cells).sum(),
            tombstones: metas().map(|meta| meta.tombstones).sum(),
            memtable_bytes: memtables().map(|memtable| memtable.memory_bytes()).sum(),
            memtable_rows: memtables().map(|memtable| memtable.row_count() as u64).sum(),
            bytes_per_row: file_bytes as f64 / rows.max(1) as f64,
            timestamps,
            blocked: self.inner().blocked(self.state()),
            set_aside: set_aside.map(|file| file.path().to_path_buf()).collect(),
            failure: self.inner().failures.lock().get(&self.state().id()).cloned(),
        }
    }
}

impl Table {
    /// The compactions of the table since the store was opened, oldest first: what was done, why, and what came of it.
    pub fn compactions(&self) -> Vec<Record> {
        self.inner().compactor.history(self.state().id())
    }

    /// The compactions of the table that are under way.
    pub fn running_compactions(&self) -> Vec<Running> {
        self.inner().compactor.running(self.state().id())
    }

    /// How many compactions of the table are due and not begun.
    pub fn pending_compactions(&self) -> usize {
        self.inner().compactor.pending(self.inner(), self.state())
    }

    /// Expired files that something keeps: what, and until when if that is known.
    pub fn blockers(&self) -> Vec<Blocked> {
        self.inner().compactor.blockers(self.inner(), self.state())
    }

    /// The live SSTables with what is known about them.
    pub fn live_files(&self) -> Vec<(PathBuf, Arc<FileMeta>)> {
        let view = self.state().view();
        view.files.iter().map(|file| (file.path().to_path_buf(), Arc::clone(file.meta()))).collect()
    }
}

impl Inner {
    /// Expired files that something keeps, in words.
    pub(crate) fn blocked(&self, table: &crate::write::tables::TableState) -> Vec<String> {
        self.compactor.blocked(self, table)
    }
}
