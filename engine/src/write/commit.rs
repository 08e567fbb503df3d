//! The commit of a batch: log, apply, publish.
//!
//! Called by `Db::write` for every batch; calls the commit log and the memtables.
//!
//! ```text
//! admit        wait a little if memtables fill faster than they flush            (budget)
//! -- one batch at a time from here ---------------------------------------------
//! stamp        give the batch its timestamp: the clock's micros, strictly increasing
//! log          one record, handed to the operating system                         (commitlog)
//! apply        each operation into its table's memtable, under one sequence number (memtable)
//! publish      readers see the sequence number: the whole batch at once
//! seal         a memtable that is full goes to the flush queue
//! -- others go on from here -----------------------------------------------------
//! sync         SyncMode::Batch only: wait until the record is on the disk
//! ```
//!
//! # Invariants
//! 1. Records stand in the log in the order of their sequence numbers.
//! 2. Under `SyncMode::Batch` a sequence number is published only after the sync that covers its record: nobody reads
//!    what a power cut could still take back.
//! 3. A batch that fails before its record is complete changes nothing.
//!
//! # Threads
//! Any number of writers. While one of them syncs, the others append; the next sync covers all of them ([`GroupSync`]). A
//! leader that also writes for its followers was not needed: appending and applying a batch takes less time than handing it to
//! another thread.

use crate::commitlog::{CommitLog, Logged};
use crate::encoding::mutation::BatchReader;
use crate::encoding::mutation_encoder::BatchEncoder;
use crate::encoding::row::Stamp;
use crate::env::UniqueMicros;
use crate::error::{Error, ErrorKind, Result};
use crate::memtable::Memtable;
use crate::memtable::pins::Pins;
use crate::memtable::pool::Pool;
use crate::memtable::writer::MemtableWriter;
use crate::model::position::LogPosition;
use crate::model::token::Token;
use crate::options::SyncMode;
use crate::view::TableView;
use crate::write::batch::WriteBatch;
use crate::write::budget::Budget;
use crate::write::group::GroupSync;
use crate::write::health::Health;
use crate::write::queue::{FlushQueue, FlushTask};
use crate::write::tables::{TableState, Tables};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

/// The write side of an open store.
#[derive(Debug)]
pub struct Committer {
    state: Mutex<State>,
    group: GroupSync,
    log: Option<Arc<CommitLog>>,
    sync: SyncMode,
    stamps: UniqueMicros,
    visible: Arc<AtomicU64>,
    opened: Instant,
    /// Second of the last write, by the clock; `i64::MIN` before the first.
    last_second: AtomicI64,
    /// The tables.
    pub tables: Arc<Tables>,
    /// Which sequence numbers readers hold on to.
    pub pins: Arc<Pins>,
    /// Memory of memtables.
    pub budget: Arc<Budget>,
    /// Memory of memtables that were flushed.
    pub pool: Arc<Pool>,
    /// Whether writes are taken.
    pub health: Arc<Health>,
    /// Sealed memtables on their way to files.
    pub queue: Arc<FlushQueue>,
}

#[derive(Debug)]
struct State {
    /// Last sequence number given out.
    seq: u64,
    /// End of the last record.
    written: LogPosition,
}

/// The components a [`Committer`] works with.
#[derive(Debug)]
pub struct Parts {
    /// The log; `None` under `SyncMode::Off`.
    pub log: Option<Arc<CommitLog>>,
    /// When a write is acknowledged.
    pub sync: SyncMode,
    /// Timestamps.
    pub stamps: UniqueMicros,
    /// Highest published sequence number, shared with `pins`.
    pub visible: Arc<AtomicU64>,
    /// Readers' pins.
    pub pins: Arc<Pins>,
    /// The tables.
    pub tables: Arc<Tables>,
    /// Memory limit of memtables, bytes.
    pub memtable_bytes: usize,
    /// End of the log at open.
    pub written: LogPosition,
}

impl Committer {
    /// The write side over `parts`; sequence numbers go on from the visible one.
    pub fn new(parts: Parts) -> Self {
        let seq = parts.visible.load(Ordering::Acquire);
        Self {
            state: Mutex::new(State { seq, written: parts.written }),
            group: GroupSync::new(seq),
            log: parts.log,
            sync: parts.sync,
            stamps: parts.stamps,
            visible: parts.visible,
            opened: Instant::now(),
            last_second: AtomicI64::new(i64::MIN),
            tables: parts.tables,
            pins: parts.pins,
            budget: Arc::new(Budget::new(parts.memtable_bytes)),
            pool: Arc::new(Pool::new(parts.memtable_bytes / 2)),
            health: Arc::new(Health::default()),
            queue: Arc::new(FlushQueue::default()),
        }
    }

    /// Commits a batch and returns the timestamp (micros) that its operations without one of their own got.
    ///
    /// # Errors
    /// `Closed` after a failed sync or close; `NoSpace`, `Io` from the log, in which case nothing was written; `NotFound`
    /// for a dropped table; `Busy` if a column was dropped after the batch was filled; `Invalid` for a batch over half a log segment.
    pub fn commit(&self, batch: &mut WriteBatch) -> Result<i64> {
        let (encoder, client, drops) = batch.encoder();
        if encoder.is_empty() {
            return Ok(client.unwrap_or_else(|| self.stamps.next_micros()));
        }
        self.budget.admit()?;
        let mut state = self.state.lock();
        self.health.check()?;
        let mut views: Vec<(Arc<TableState>, Arc<TableView>)> = Vec::with_capacity(encoder.tables().len());
        for id in encoder.tables() {
            let table = self.tables.get(*id)?;
            table.check()?;
            let view = table.view();
            let made_by = drops.iter().find(|(of, _)| of == id).map(|(_, drops)| *drops);
            if made_by.is_some_and(|drops| drops != view.schema.drops()) {
                return Err(dropped_meanwhile(&view));
            }
            views.push((table, view));
        }
        let drawn = self.stamps.next_micros();
        let stamp = Stamp { timestamp: client.unwrap_or(drawn), now: drawn.div_euclid(1_000_000) };
        let stamp = encoder.set_stamp(stamp);
        if let Some(log) = &self.log {
            state.written = log.append(encoder.bytes(), encoder.tables())?;
        }
        state.seq += 1;
        let seq = state.seq;
        self.last_second.store(stamp.now, Ordering::Relaxed);
        views
            .iter()
            .filter(|(_, view)| view.active.is_empty())
            .for_each(|(table, _)| table.set_first_write(self.seconds_open()));
        let before: usize = views.iter().map(|(_, view)| view.active.memory_bytes()).sum();
        apply(encoder, seq, stamp, &views).map_err(|error| self.health.stop(&error))?;
        let after: usize = views.iter().map(|(_, view)| view.active.memory_bytes()).sum();
        self.budget.resize(before, after);
        if self.sync != SyncMode::Batch {
            self.visible.store(seq, Ordering::SeqCst);
        }
        if self.budget.is_flush_due() {
            self.seal_largest(&state);
        }
        drop(state);
        if self.sync == SyncMode::Batch {
            self.sync_through(seq)?;
        }
        Ok(stamp.timestamp)
    }

    /// Waits until everything up to sequence number `seq` is on the disk and published.
    fn sync_through(&self, seq: u64) -> Result<()> {
        self.group.through(seq, || {
            let covered = self.state.lock().seq;
            self.sync_log()?;
            self.visible.fetch_max(covered, Ordering::SeqCst);
            Ok(covered)
        })
    }

    /// Puts everything written so far on the disk. A failure stops all writing.
    ///
    /// # Errors
    /// `Closed`, with the cause.
    pub fn sync(&self) -> Result<()> {
        let seq = self.state.lock().seq;
        self.health.check()?;
        match self.sync {
            SyncMode::Off => Ok(()),
            SyncMode::Batch => self.sync_through(seq),
            SyncMode::Periodic(_) => self.sync_log(),
        }
    }

    /// Makes sure that everything up to sequence number `seq` is published before it is put into files, which readers
    /// see without regard to sequence numbers.
    ///
    /// # Errors
    /// `Closed`, if the sync that this needs under `SyncMode::Batch` fails.
    pub fn sync_before_flush(&self, seq: u64) -> Result<()> {
        match self.sync {
            SyncMode::Batch => {
                let last = self.state.lock().seq;
                self.sync_through(seq.min(last))
            }
            SyncMode::Periodic(_) | SyncMode::Off => Ok(()),
        }
    }

    /// Seals the memtables of all tables in one moment, between two batches, and returns the views of that moment: what
    /// they hold beside their (empty) active memtables is one point in time over all tables.
    pub fn seal_all(&self) -> Vec<Arc<TableView>> {
        let state = self.state.lock();
        let tables = self.tables.all();
        tables.iter().for_each(|table| self.seal_locked(&state, table));
        tables.iter().map(|table| table.view()).collect()
    }

    /// Counts `records` of the log as written and published; returns the sequence number of the first. Nobody reads while the
    /// store is being opened, so that they may be published before they are applied.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no batch, with their index.
    pub(super) fn count_replayed(&self, records: &[Logged<'_>]) -> std::result::Result<u64, (usize, Error)> {
        for (index, record) in records.iter().enumerate() {
            let stamp = BatchReader::new(record.payload).map_err(|error| (index, error))?.stamp();
            // Later writes must win over these, also when the clock went back; a client's far-off timestamp must not drag
            // the clock along.
            self.stamps.observe(stamp.timestamp.min(stamp.now.saturating_add(1).saturating_mul(1_000_000)));
            self.last_second.fetch_max(stamp.now, Ordering::Relaxed);
        }
        let mut state = self.state.lock();
        let first = state.seq + 1;
        state.seq += records.len() as u64;
        state.written = records.last().map_or(state.written, |last| last.position);
        self.visible.store(state.seq, Ordering::SeqCst);
        self.group.set_synced(state.seq);
        Ok(first)
    }

    fn sync_log(&self) -> Result<()> {
        match &self.log {
            Some(log) => log.sync().map_err(|error| self.health.stop(&error)),
            None => Ok(()),
        }
    }

    /// The clock's time, micros.
    pub(super) fn now_micros(&self) -> i64 {
        self.stamps.now_micros()
    }

    /// Whole seconds since the store was opened, by the machine's monotonic clock.
    pub fn seconds_open(&self) -> i64 {
        i64::try_from(self.opened.elapsed().as_secs()).unwrap_or(i64::MAX)
    }

    /// The commit log, unless the store has none.
    pub fn log(&self) -> Option<&Arc<CommitLog>> {
        self.log.as_ref()
    }

    /// The second of the last write by this store's clock, of earlier runs as far as the log was replayed.
    pub fn last_write_second(&self) -> Option<i64> {
        Some(self.last_second.load(Ordering::Relaxed)).filter(|second| *second != i64::MIN)
    }

    /// Makes all later timestamps greater than `micros`, which this store drew in an earlier run.
    pub fn observe(&self, micros: i64) {
        self.stamps.observe(micros);
    }

    /// A timestamp later than all before it, micros.
    pub fn next_micros(&self) -> i64 {
        self.stamps.next_micros()
    }

    /// Seals a table's memtable, if it holds anything, and puts it into the flush queue.
    pub fn seal(&self, table: &Arc<TableState>) {
        let state = self.state.lock();
        self.seal_locked(&state, table);
    }

    /// Replaces a table's view while nothing is being written, giving `change` the end of the log: what truncation
    /// and schema changes need. The memory of the memtables that drop out of the view is given back.
    pub fn change_view(
        &self,
        table: &TableState,
        change: impl FnOnce(&TableView, LogPosition) -> Result<TableView>,
    ) -> Result<()> {
        let state = self.state.lock();
        let old = table.view();
        let next = change(&old, state.written)?;
        if !Arc::ptr_eq(&old.active, &next.active) {
            let bytes = old.active.memory_bytes();
            self.budget.seal(bytes);
            self.budget.free(bytes);
        }
        table.change(|_| next);
        Ok(())
    }

    /// Runs `during` while no batch is being committed.
    pub fn paused<T>(&self, during: impl FnOnce(LogPosition) -> T) -> T {
        let state = self.state.lock();
        during(state.written)
    }

    /// An empty memtable for a table of this store.
    pub(crate) fn new_memtable(&self, created_micros: i64) -> Arc<Memtable> {
        Arc::new(Memtable::with_pool(Arc::clone(&self.pins), Arc::clone(&self.pool), created_micros))
    }

    fn seal_largest(&self, state: &State) {
        let largest = self.tables.all().into_iter().max_by_key(|table| table.view().active.memory_bytes());
        if let Some(table) = largest {
            self.seal_locked(state, &table);
        }
    }

    fn seal_locked(&self, state: &State, table: &Arc<TableState>) {
        let view = table.view();
        if view.active.is_empty() {
            return;
        }
        let memtable = Arc::clone(&view.active);
        let bytes = memtable.memory_bytes();
        let fresh = self.new_memtable(self.stamps.now_micros());
        table.set_first_write(i64::MAX);
        table.change(|view| {
            let mut sealed = view.sealed.clone();
            sealed.push(Arc::clone(&view.active));
            TableView { active: Arc::clone(&fresh), sealed, ..view.clone() }
        });
        self.budget.seal(bytes);
        let task =
            FlushTask { table: Arc::clone(table), memtable, bytes, upto: state.written, last_seq: state.seq };
        self.queue.push(task);
    }
}

#[cold]
fn dropped_meanwhile(view: &TableView) -> Error {
    Error::new(ErrorKind::Busy, "a column was dropped after the batch was filled")
        .in_table(view.schema.full_name())
        .hint("fill the batch again from the table's definition as it is now")
}

/// Applies the operations of a batch to the active memtables of `views`, one for each of its tables.
///
/// # Errors
/// `Busy` if a partition can hold no more.
fn apply(
    batch: &BatchEncoder,
    seq: u64,
    stamp: Stamp,
    views: &[(Arc<TableState>, Arc<TableView>)],
) -> Result<()> {
    let mut writer: Option<(usize, MemtableWriter<'_>)> = None;
    for mark in batch.marks() {
        let (table, key) = batch.marked_key(mark);
        let (_, writer) = match &mut writer {
            Some(writer) if writer.0 == table => writer,
            other => {
                *other = None; // counts before the next one begins, which may be of the same memtable again
                let fresh = views[table].1.active.writer();
                fresh.note_times(&batch.times(table));
                other.insert((table, fresh))
            }
        };
        match batch.marked_row(mark) {
            Some((row, plain)) => writer.put_row(seq, stamp, key, row, plain)?,
            None => writer.apply(seq, stamp, key, Token::of(key), &batch.marked_body(mark)?)?,
        }
    }
    Ok(())
}
