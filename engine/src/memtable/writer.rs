//! The writing side of a memtable: operations into their partitions.
//!
//! The commit takes a [`MemtableWriter`] for each batch and table. Batches come back to the same partitions again and
//! again (sensors that report every second), so that those written last are remembered by token: finding one there takes
//! no lock and no search.
//!
//! # Threads
//! A writer holds the memtable's writing lock as long as it lives; readers never take it.

use crate::encoding::mutation::OpBody;
use crate::encoding::row::Stamp;
use crate::error::Result;
use crate::memtable::partition::{Change, MemPartition};
use crate::memtable::{Memtable, add};
use crate::model::token::Token;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// The most partitions that are remembered.
const MOST: usize = 1024;
/// The fewest that there is room for, once there is any.
const LEAST: usize = 8;

/// The partitions written last, each where its token says. As many places as a small multiple of the partitions, so that a
/// small memtable stays small.
#[derive(Debug, Default)]
pub(super) struct Recent(Vec<Option<Arc<MemPartition>>>);

impl Recent {
    #[inline]
    fn find(&self, token: Token, key: &[u8]) -> Option<&MemPartition> {
        let partition = self.0.get(self.place(token))?.as_deref()?;
        partition.is(token, key).then_some(partition)
    }

    /// The number of places is a power of two, or none.
    #[inline]
    fn place(&self, token: Token) -> usize {
        token.0 as usize & self.0.len().wrapping_sub(1)
    }

    /// Remembers one of `count` partitions. Returns the bytes that this took.
    fn remember(&mut self, partition: Arc<MemPartition>, count: usize) -> usize {
        let wanted = count.min(MOST).next_power_of_two().saturating_mul(4).clamp(LEAST, MOST);
        let grown = wanted.saturating_sub(self.0.len());
        if grown > 0 {
            self.0 = vec![None; wanted]; // places depend on their number; what was written last comes back soon
        }
        let place = self.place(partition.key().token);
        self.0[place] = Some(partition);
        grown * size_of::<Option<Arc<MemPartition>>>()
    }
}

/// Takes in operations for one memtable.
#[derive(Debug)]
pub struct MemtableWriter<'a> {
    pub(super) table: &'a Memtable,
    pub(super) recent: MutexGuard<'a, Recent>,
}

impl MemtableWriter<'_> {
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
        let (mut change, pins) = (Change::NONE, &*self.table.pins);
        let result = match self.recent.find(token, key) {
            Some(partition) => partition.apply(seq, stamp, body, pins, &mut change),
            None => self.look_up(token, key).apply(seq, stamp, body, pins, &mut change),
        };
        self.note(&change, result)
    }

    /// Finds or adds a partition, and remembers it.
    #[cold]
    fn look_up(&mut self, token: Token, key: &[u8]) -> Arc<MemPartition> {
        let table = self.table;
        let partition = table.get(token, key).unwrap_or_else(|| {
            let partition = table.partitions.add(token, key);
            add(&table.partition_count, 1);
            add(&table.memory_bytes, partition.bare_bytes());
            partition
        });
        let count = table.partition_count();
        add(&table.memory_bytes, self.recent.remember(Arc::clone(&partition), count));
        partition
    }

    #[inline]
    fn note(&self, change: &Change, result: Result<bool>) -> Result<()> {
        let table = self.table;
        let (before, after) = change.memory;
        if before != after {
            add(&table.memory_bytes, after.wrapping_sub(before));
        }
        let times = &change.times;
        if result? {
            add(&table.row_count, 1);
        }
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
        Ok(())
    }
}
