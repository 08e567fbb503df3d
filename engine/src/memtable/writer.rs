//! The writing side of a memtable: operations into their partitions.
//!
//! The commit takes a [`MemtableWriter`] for each batch and table. Batches come back to the same partitions again and
//! again (sensors that report every second), so that those written last are remembered by a hash of their key: finding one there takes
//! no lock, no token and no search.
//!
//! # Threads
//! A writer holds the memtable's writing lock as long as it lives; readers never take it.

use crate::encoding::mutation::OpBody;
use crate::encoding::row::{EncodedRow, Stamp};
use crate::encoding::row_times::RowTimes;
use crate::error::Result;
use crate::memtable::partition::{Change, MemPartition};
use crate::memtable::{Memtable, add};
use crate::model::token::Token;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// The most places for partitions that are remembered.
const MOST: usize = 4096;
/// The fewest, once there are any.
const LEAST: usize = 8;
/// Places in a row in which a partition may stand.
const TRIED: usize = 4;

/// A partition that was written lately, and the hash of its key.
#[derive(Clone, Debug, Default)]
struct Place {
    hash: u64,
    partition: Option<Arc<MemPartition>>,
}

/// The partitions written last, each at or behind the place that its key's hash says. At least twice as many places as partitions, so that
/// nearly all are found, unless there are very many; and few in a small memtable.
#[derive(Debug, Default)]
pub(super) struct Recent(Vec<Place>);

impl Recent {
    #[inline]
    fn find(&self, key: &[u8]) -> Option<&MemPartition> {
        let hash = quick_hash(key);
        for place in self.places(hash) {
            let place = self.0.get(place)?;
            let partition = place.partition.as_deref()?;
            if place.hash == hash && partition.is(key) {
                return Some(partition);
            }
        }
        None
    }

    /// Where a partition may stand. The number of places is a power of two, or none.
    #[inline]
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.0.len().wrapping_sub(1);
        (0..TRIED).map(move |i| (hash as usize).wrapping_add(i) & mask)
    }

    /// Remembers one of `count` partitions. Returns the bytes that this took.
    fn remember(&mut self, partition: Arc<MemPartition>, count: usize) -> usize {
        let wanted = count.min(MOST).next_power_of_two().saturating_mul(4).clamp(LEAST, MOST);
        let grown = wanted.saturating_sub(self.0.len());
        if grown > 0 {
            self.0 = vec![Place::default(); wanted]; // places depend on their number; what was written last comes back soon
        }
        let hash = quick_hash(&partition.key().key);
        let is_free = |place: &usize| self.0[*place].partition.is_none();
        // Among many one makes way, not always the same.
        let other = || (hash >> 32) as usize % TRIED;
        let free = self.places(hash).find(is_free).or_else(|| self.places(hash).nth(other()));
        if let Some(place) = free {
            self.0[place] = Place { hash, partition: Some(partition) };
        }
        grown * size_of::<Place>()
    }
}

/// A hash for the places of [`Recent`], a fraction of the token's cost. Keys made to collide cost a look into the map of partitions each.
#[inline]
fn quick_hash(key: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        product as u64 ^ (product >> 64) as u64
    };
    let (words, rest) = key.as_chunks::<8>();
    let mut hash = words.iter().fold(key.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    if !rest.is_empty() {
        let last = match key.last_chunk::<8>() {
            Some(last) => u64::from_le_bytes(*last), // over what was taken already, instead of byte by byte
            None => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        hash = mix(hash, last);
    }
    hash
}

/// Takes in operations for one memtable. What it counts is the memtable's when it is dropped.
#[derive(Debug)]
pub struct MemtableWriter<'a> {
    table: &'a Memtable,
    recent: MutexGuard<'a, Recent>,
    /// Rows added.
    rows: usize,
    /// Bytes added, wrapping around below zero.
    bytes: usize,
}

impl<'a> MemtableWriter<'a> {
    pub(super) fn new(table: &'a Memtable, recent: MutexGuard<'a, Recent>) -> Self {
        Self { table, recent, rows: 0, bytes: 0 }
    }

    /// Takes in one operation of the batch with sequence number `seq`, which never falls. Readers see it once `seq` is published.
    ///
    /// # Errors
    /// `Corrupt` if the operation is not well-formed: nothing has changed then. `Busy` if the partition can hold no more.
    #[inline]
    pub fn apply(
        &mut self,
        seq: u64,
        stamp: Stamp,
        key: &[u8],
        token: Token,
        body: &OpBody<'_>,
    ) -> Result<()> {
        let mut change = Change::NONE;
        let shared = self.table.shared();
        let result = match self.recent.find(key) {
            Some(partition) => partition.apply(seq, stamp, body, shared, &mut change),
            None => self.look_up(token, key).apply(seq, stamp, body, shared, &mut change),
        };
        let (before, after) = change.memory;
        self.bytes = self.bytes.wrapping_add(after.wrapping_sub(before));
        self.rows += usize::from(result?);
        self.note_times(&change.times);
        Ok(())
    }

    /// Takes in a row that its batch has encoded and that nobody has to check: its times are given to
    /// [`MemtableWriter::note_times`], `plain` says whether it [is plain](crate::encoding::plain::is_plain). Else like
    /// [`MemtableWriter::apply`].
    ///
    /// # Errors
    /// `Busy` if the partition can hold no more.
    #[inline]
    pub fn put_row(
        &mut self,
        seq: u64,
        stamp: Stamp,
        key: &[u8],
        row: EncodedRow<'_>,
        plain: bool,
    ) -> Result<()> {
        let shared = self.table.shared();
        let (is_new, bytes) = match self.recent.find(key) {
            Some(partition) => partition.put_row(seq, stamp, row, plain, shared)?,
            None => self.look_up(Token::of(key), key).put_row(seq, stamp, row, plain, shared)?,
        };
        self.bytes = self.bytes.wrapping_add(bytes);
        self.rows += usize::from(is_new);
        Ok(())
    }

    /// Finds or adds a partition, and remembers it.
    #[cold]
    fn look_up(&mut self, token: Token, key: &[u8]) -> Arc<MemPartition> {
        let table = self.table;
        let partition = table.get(token, key).unwrap_or_else(|| {
            let partition = table.partitions.add(token, key);
            add(&table.partition_count, 1);
            self.bytes = self.bytes.wrapping_add(partition.bare_bytes());
            partition
        });
        let taken = self.recent.remember(Arc::clone(&partition), table.partition_count());
        self.bytes = self.bytes.wrapping_add(taken);
        partition
    }

    /// Notes between which times something lies that comes in.
    #[inline]
    pub fn note_times(&self, times: &RowTimes) {
        let table = self.table;
        let lower = |bound: &AtomicI64, value| {
            if value < bound.load(Relaxed) {
                bound.store(value, Relaxed);
            }
        };
        let raise = |bound: &AtomicI64, value| {
            if value > bound.load(Relaxed) {
                bound.store(value, Relaxed);
            }
        };
        lower(&table.min_timestamp, times.min_timestamp);
        raise(&table.max_timestamp, times.max_timestamp);
        lower(&table.min_local, times.min_local);
        raise(&table.max_local, times.max_local);
    }
}

impl Drop for MemtableWriter<'_> {
    fn drop(&mut self) {
        add(&self.table.row_count, self.rows);
        add(&self.table.memory_bytes, self.bytes);
    }
}
