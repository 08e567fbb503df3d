//! Memtables: what was written lately, in memory, in the order in which it will be on disk.
//!
//! Each table has one [`Memtable`] that takes writes, and while it is flushed, sealed ones before it. The commit applies
//! batches that are in the log already; readers and flushes take what they need.
//!
//! ```text
//! Memtable --> shards (by token) --> MemPartition: lock --> contents
//!                                                             rows      entries of 32 bytes, in clustering order
//!                                                             chunks    the encoded rows they refer to
//!                                                             ranges    range deletions, as disjoint pieces
//!                                                             statics, deletions of the partition
//! ```
//!
//! In reading order: [`pins`] says as of when readers read; [`pool`] where memory comes from; `chunks`, `entry` and `rows` hold rows, `versions` merges those that
//! nobody can tell apart, `ranges` the range deletions; `contents` puts them together, `window` reads them, `plain_rows` hands them on as they are;
//! [`partition`] is what others see of it, [`shards`] finds partitions, [`writer`] writes, `absorb` puts two together, [`flush`] streams everything.
//!
//! # Invariants
//! 1. A reader that holds a pin of `seq` sees all batches up to `seq` and nothing of later ones.
//! 2. Deletions remove nothing here: they only hide, since an older reader may still see what they cover.
//! 3. Memory is counted as it is allocated, so that limits hold.
//!
//! # Threads
//! One [`MemtableWriter`] at a time, in ascending `seq`; everything else from any thread at any time.
//!
//! # Not here
//! When to flush, and which log positions a memtable covers: its owner knows.

pub mod pins;
pub mod pool;
mod chunks;
mod entry;
mod rows;
mod versions;
mod ranges;
mod contents;
pub mod plain_rows;
mod window;
pub mod partition;
pub mod shards;
pub mod flush;
pub mod writer;
mod absorb;

use crate::encoding::mutation::OpBody;
use crate::encoding::row::Stamp;
use crate::encoding::row_times::RowTimes;
use crate::error::Result;
use crate::memtable::contents::Shared;
use crate::memtable::flush::Flush;
use crate::memtable::partition::MemPartition;
use crate::memtable::pins::Pins;
use crate::memtable::pool::Pool;
use crate::memtable::shards::{InOrder, Partitions};
use crate::memtable::writer::{MemtableWriter, Recent};
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::token::Token;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

/// The recent writes of one table.
#[derive(Debug)]
pub struct Memtable {
    pins: Arc<Pins>,
    pool: Arc<Pool>,
    created_micros: i64,
    partitions: Partitions,
    recent: Mutex<Recent>,
    // Written by the one writer only, hence without read-modify-write.
    memory_bytes: AtomicUsize,
    partition_count: AtomicUsize,
    row_count: AtomicUsize,
    min_timestamp: AtomicI64,
    max_timestamp: AtomicI64,
    min_local: AtomicI64,
    max_local: AtomicI64,
}

impl Memtable {
    /// An empty memtable made at `created_micros`, of a store whose readers register in `pins`; its memory comes from the system.
    pub fn new(pins: Arc<Pins>, created_micros: i64) -> Self {
        Self::with_pool(pins, Arc::new(Pool::new(0)), created_micros)
    }

    /// Like [`Memtable::new`], with memory from a pool, to which it goes in the end.
    pub fn with_pool(pins: Arc<Pins>, pool: Arc<Pool>, created_micros: i64) -> Self {
        let RowTimes { min_timestamp, max_timestamp, min_local, max_local } = RowTimes::NONE;
        Self {
            pins,
            pool,
            created_micros,
            partitions: Partitions::new(),
            recent: Mutex::default(),
            memory_bytes: AtomicUsize::new(0),
            partition_count: AtomicUsize::new(0),
            row_count: AtomicUsize::new(0),
            min_timestamp: AtomicI64::new(min_timestamp),
            max_timestamp: AtomicI64::new(max_timestamp),
            min_local: AtomicI64::new(min_local),
            max_local: AtomicI64::new(max_local),
        }
    }

    /// Takes in one operation of a batch: see [`MemtableWriter::apply`].
    ///
    /// # Errors
    /// As [`MemtableWriter::apply`].
    pub fn apply(&self, seq: u64, stamp: Stamp, key: &[u8], token: Token, body: &OpBody<'_>) -> Result<()> {
        self.writer().apply(seq, stamp, key, token, body)
    }

    /// The writing side, locked for one writer.
    #[inline]
    pub fn writer(&self) -> MemtableWriter<'_> {
        MemtableWriter::new(self, self.recent.lock())
    }

    #[inline]
    fn shared(&self) -> Shared<'_> {
        Shared { pins: &self.pins, pool: &self.pool }
    }

    /// The partition with a key.
    #[inline]
    pub fn get(&self, token: Token, key: &[u8]) -> Option<Arc<MemPartition>> {
        self.partitions.with(token, key, Arc::clone)
    }

    /// The partitions of a range of tokens in token order, those after `after` if it is given.
    pub fn partitions(&self, tokens: TokenRange, after: Option<&DecoratedKey>) -> InOrder {
        self.partitions.range(tokens, after)
    }

    /// Everything, in token order, for the writer of an SSTable.
    pub fn flush_iter(&self) -> Flush {
        Flush::new(self.partitions.sorted())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Relaxed)
    }

    /// Nothing was written to it.
    pub fn is_empty(&self) -> bool {
        self.partition_count() == 0
    }

    /// Number of partitions.
    pub fn partition_count(&self) -> usize {
        self.partition_count.load(Relaxed)
    }

    /// Number of rows, deleted ones included.
    pub fn row_count(&self) -> usize {
        self.row_count.load(Relaxed)
    }

    /// When it was made, micros.
    pub fn created_micros(&self) -> i64 {
        self.created_micros
    }

    /// Between which times all that it holds or held lies.
    pub fn times(&self) -> RowTimes {
        RowTimes {
            min_timestamp: self.min_timestamp.load(Relaxed),
            max_timestamp: self.max_timestamp.load(Relaxed),
            min_local: self.min_local.load(Relaxed),
            max_local: self.max_local.load(Relaxed),
        }
    }
}

impl Drop for Memtable {
    fn drop(&mut self) {
        *self.recent.get_mut() = Recent::default();
        self.partitions.take_unshared().for_each(|partition| partition.recycle(&self.pool));
    }
}

/// Adds to a counter that one thread alone writes; wraps, so that a negative number can be added.
#[inline]
fn add(counter: &AtomicUsize, value: usize) {
    counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed);
}

#[cfg(test)]
mod tests;
