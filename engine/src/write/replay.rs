//! The log's records into memtables, when a store is opened.
//!
//! `db/open` hands on runs of records as the log is read. Partitions do not depend on each other: the ring is divided into
//! *shares*, and a thread for each share goes through the run and applies what falls into it, in the log's order. Each share
//! has memtables of its own, as a memtable takes one writer; they are put together when a table is sealed, and at the end.
//!
//! # Invariants
//! 1. All operations on a partition are applied by one share, in the order of their sequence numbers.
//! 2. Between two runs every record so far is applied whole: only then a table is sealed, and the end of the last record is the
//!    log position that its memtable reaches.
//!
//! # Not here
//! Flushing: what is sealed here waits in the queue for `db/open`.

use crate::commitlog::Logged;
use crate::encoding::mutation::BatchReader;
use crate::error::{Error, Result};
use crate::memtable::Memtable;
use crate::memtable::writer::MemtableWriter;
use crate::model::position::LogPosition;
use crate::model::schema::TableId;
use crate::model::token::Token;
use crate::write::commit::Committer;
use crate::write::tables::TableState;
use parking_lot::Mutex;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Payload of a run, bytes, below which other threads are not worth their start.
const SMALL: usize = 64 << 10;

/// What came of a run of records: an error with the index of the record that it is about.
pub type RunResult = std::result::Result<(), (usize, Error)>;

/// A replay of the log that is going on.
#[derive(Debug)]
pub struct Replay<'a> {
    commit: &'a Committer,
    tables: Vec<Arc<TableState>>,
    shares: Vec<Mutex<Share>>,
    /// Memory of the memtables of all shares, as the budget has it.
    bytes: usize,
}

/// What falls into one part of the ring.
#[derive(Debug)]
struct Share {
    /// From 0 on, of so many shares.
    number: u64,
    of: u64,
    targets: HashMap<TableId, Target>,
}

#[derive(Debug)]
struct Target {
    table: Arc<TableState>,
    /// Everything up to here is in files.
    flushed: LogPosition,
    /// Made when something comes; the first share's is the table's own.
    memtable: OnceCell<Arc<Memtable>>,
}

impl<'a> Replay<'a> {
    /// A replay into the tables of `commit`, each of which has everything up to its position in `flushed` in files, on
    /// `threads` threads at most, the caller's included.
    ///
    /// # Errors
    /// `NotFound` if one of `flushed` is not a table of `commit`.
    pub fn new(
        commit: &'a Committer,
        flushed: &HashMap<TableId, LogPosition>,
        threads: usize,
    ) -> Result<Self> {
        let tables = flushed.keys().map(|id| commit.tables.get(*id)).collect::<Result<Vec<_>>>()?;
        let threads = threads.max(1);
        let share = |number| {
            let target = |table: &Arc<TableState>| {
                let flushed = flushed.get(&table.id()).copied().unwrap_or(LogPosition::START);
                let target = Target { table: Arc::clone(table), flushed, memtable: OnceCell::new() };
                (table.id(), target)
            };
            let targets = tables.iter().map(target).collect();
            Mutex::new(Share { number: number as u64, of: threads as u64, targets })
        };
        Ok(Self { commit, shares: (0..threads).map(share).collect(), tables, bytes: 0 })
    }

    /// Applies a run of records.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no batch, with the index of that record in the run. The replay cannot go on then.
    pub fn apply(&mut self, records: &[Logged<'_>]) -> RunResult {
        let first = self.commit.count_replayed(records)?;
        let (commit, shares, next) = (self.commit, &self.shares, AtomicUsize::new(0));
        let failed = Mutex::new(Vec::new());
        let work = || {
            while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = share.lock().apply(commit, records, first) {
                    failed.lock().push(error);
                }
            }
        };
        let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
        let helpers = if bytes < SMALL { 0 } else { shares.len() - 1 };
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                // Where no thread is to be had, the others do its part.
                let name = "skep-replay".to_owned();
                drop(std::thread::Builder::new().name(name).spawn_scoped(scope, work));
            }
            work();
        });
        if let Some(error) = failed.into_inner().into_iter().min_by_key(|(record, _)| *record) {
            return Err(error);
        }
        let before = self.bytes;
        self.bytes = self.tables.iter().map(|table| self.memory_bytes(table)).sum();
        self.commit.budget.resize(before, self.bytes);
        Ok(())
    }

    /// Seals the largest table if memory is full. Otherwise nothing is sealed: flushing would hold up opening, and what fits into
    /// memory is flushed later, by the store's own thread. Returns whether something was sealed.
    pub fn seal_if_full(&mut self) -> bool {
        if !self.commit.budget.is_full() {
            return false;
        }
        let largest = self.tables.iter().max_by_key(|table| self.memory_bytes(table)).cloned();
        let Some(table) = largest.filter(|table| self.memory_bytes(table) > 0) else { return false };
        self.bytes -= self.memory_bytes(&table);
        self.put_together(&table);
        self.commit.seal(&table);
        true
    }

    /// Ends the replay: the tables' active memtables have everything then.
    pub fn finish(self) {
        for table in &self.tables {
            self.put_together(table);
            if !table.view().active.is_empty() {
                table.set_first_write(self.commit.seconds_open());
            }
        }
    }

    /// Memory of a table's memtables in all shares.
    fn memory_bytes(&self, table: &TableState) -> usize {
        let of = |share: &Mutex<Share>| {
            let share = share.lock();
            share.targets.get(&table.id()).and_then(|target| target.memtable.get()).map(|m| m.memory_bytes())
        };
        self.shares.iter().filter_map(of).sum()
    }

    /// Moves what the shares have of a table into its active memtable.
    fn put_together(&self, table: &TableState) {
        let active = table.view().active.clone();
        for share in &self.shares {
            let part = share.lock().targets.get_mut(&table.id()).and_then(|target| target.memtable.take());
            if let Some(part) = part.filter(|part| !Arc::ptr_eq(part, &active)) {
                active.absorb(&part);
            }
        }
    }
}

/// Where the operations that are being applied go.
struct Current<'s> {
    id: TableId,
    target: &'s Target,
    /// Kept from record to record.
    writer: Option<MemtableWriter<'s>>,
}

impl Share {
    /// Applies what falls into this share of records, the first of which has sequence number `first`. An error comes with the
    /// index of its record.
    fn apply(&self, commit: &Committer, records: &[Logged<'_>], first: u64) -> RunResult {
        let mut current = None;
        for ((index, record), seq) in records.iter().enumerate().zip(first..) {
            let done = self.apply_record(commit, record, seq, &mut current);
            done.map_err(|error| (index, error))?;
        }
        Ok(())
    }

    fn apply_record<'s>(
        &'s self,
        commit: &Committer,
        record: &Logged<'_>,
        seq: u64,
        current: &mut Option<Current<'s>>,
    ) -> Result<()> {
        let mut reader = BatchReader::new(record.payload)?;
        let stamp = reader.stamp();
        let mut token = Token::of(&[]);
        let (mut last_key, mut is_mine): (&[u8], bool) = (&[], self.has(token));
        loop {
            let op = reader.next_wanted(|table, key| {
                if current.as_ref().is_none_or(|current| current.id != table) {
                    let target = self.targets.get(&table);
                    *current = target.map(|target| Current { id: table, target, writer: None });
                }
                if current.as_ref().is_none_or(|current| current.target.flushed >= record.position) {
                    return false;
                }
                if !std::ptr::eq(last_key, key) {
                    (last_key, token) = (key, Token::of(key));
                    is_mine = self.has(token);
                }
                is_mine
            });
            let (Some(op), Some(current)) = (op.transpose()?, current.as_mut()) else { return Ok(()) };
            let writer = match &mut current.writer {
                Some(writer) => writer,
                none => none.insert(self.memtable(commit, current.target).writer()),
            };
            writer.apply(seq, stamp, op.key, token, &op.body)?;
        }
    }

    fn memtable<'s>(&self, commit: &Committer, target: &'s Target) -> &'s Memtable {
        target.memtable.get_or_init(|| match self.number {
            0 => Arc::clone(&target.table.view().active),
            _ => Arc::new(Memtable::new(Arc::clone(&commit.pins), commit.now_micros())),
        })
    }

    /// Whether a token falls into this share: shares are equal parts of the ring.
    #[inline]
    fn has(&self, token: Token) -> bool {
        // Its upper 32 bits are a fraction of 2^32.
        let place = token.0.cast_unsigned() >> 32;
        (place * self.of) >> 32 == self.number
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
