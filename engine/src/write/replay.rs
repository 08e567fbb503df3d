//! The log's records into memtables, when a store is opened.
//!
//! `db/open` hands on runs of records as the log is read. Partitions do not depend on each other: they are divided into
//! *shares*, and a thread for each share goes through the run and applies what falls into it, in the log's order. The caller's
//! thread meanwhile reads the next run, and then has a smaller share. Each share
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
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Payload of a run, bytes, below which other threads are not worth their start.
const SMALL: usize = 64 << 10;

/// Where a key may stand: see [`place`].
const PLACES: u64 = 1 << 32;

/// What reading a run costs, in places: the part of the work on it that applying all of it takes, about.
const READING: u64 = PLACES / 20;

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
    /// The first has the tables' own memtables.
    is_first: bool,
    /// Places of its keys, out of [`PLACES`].
    places: Range<u64>,
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
            Mutex::new(Share {
                is_first: number == 0,
                places: places(number as u64, threads as u64),
                targets,
            })
        };
        Ok(Self { commit, shares: (0..threads).map(share).collect(), tables, bytes: 0 })
    }

    /// Applies a run of records, and calls `ahead` meanwhile, which reads the next one.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no batch, with the index of that record in the run. The replay cannot go on then.
    pub fn apply(&mut self, records: &[Logged<'_>], ahead: &mut dyn FnMut()) -> RunResult {
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
            ahead();
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
        let mut token = Token::MIN;
        loop {
            let op = reader.next_wanted(|table, key| {
                if current.as_ref().is_none_or(|current| current.id != table) {
                    let target = self.targets.get(&table);
                    *current = target.map(|target| Current { id: table, target, writer: None });
                }
                current.as_ref().is_some_and(|current| current.target.flushed < record.position)
                    && self.has(key)
            });
            let (Some(op), Some(current)) = (op.transpose()?, current.as_mut()) else { return Ok(()) };
            let writer = match &mut current.writer {
                Some(writer) => writer,
                none => none.insert(self.memtable(commit, current.target).writer()),
            };
            if !op.same_partition {
                token = Token::of(&op.key);
            }
            writer.apply(seq, stamp, &op.key, token, &op.body)?;
        }
    }

    fn memtable<'s>(&self, commit: &Committer, target: &'s Target) -> &'s Memtable {
        target.memtable.get_or_init(|| match self.is_first {
            true => Arc::clone(&target.table.view().active),
            false => Arc::new(Memtable::new(Arc::clone(&commit.pins), commit.now_micros())),
        })
    }

    #[inline]
    fn has(&self, key: &[u8]) -> bool {
        self.places.contains(&place(key))
    }
}

/// The places of one of `of` shares: the last one's are fewer, since the caller's thread, which reads, comes to it last.
fn places(number: u64, of: u64) -> Range<u64> {
    let size = if of == 1 { PLACES } else { (PLACES + READING) / of };
    let end = if number + 1 == of { PLACES } else { (number + 1) * size };
    number * size..end
}

/// The place of a partition by a hash of its key. Not its token: that costs more, and only the share that has the key needs it.
#[inline]
fn place(key: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let add = |hash: u64, word: u64| {
        let product = (hash ^ word).wrapping_mul(ODD);
        product ^ (product >> 32)
    };
    let (words, rest) = key.as_chunks::<8>();
    let hash = words.iter().fold(key.len() as u64, |hash, word| add(hash, u64::from_le_bytes(*word)));
    let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    add(hash, rest).wrapping_mul(ODD) >> 32
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
