//! Two memtables of a table put together.
//!
//! The replay of the log fills several at once, each with the partitions of its share of the ring, since a memtable takes
//! one writer at a time. What they hold is moved, not copied: partitions are behind pointers.

use crate::memtable::{Memtable, add};
use std::sync::atomic::Ordering::Relaxed;

impl Memtable {
    /// Takes over everything that `other` holds, which is given up for it. No partition may be in both, and nobody writes
    /// to `other` any more.
    pub fn absorb(&self, other: &Memtable) {
        let _alone = self.writer();
        self.partitions.enter_all(&other.partitions);
        add(&self.memory_bytes, other.memory_bytes());
        add(&self.partition_count, other.partition_count());
        add(&self.row_count, other.row_count());
        let times = other.times();
        self.min_timestamp.fetch_min(times.min_timestamp, Relaxed);
        self.max_timestamp.fetch_max(times.max_timestamp, Relaxed);
        self.min_local.fetch_min(times.min_local, Relaxed);
        self.max_local.fetch_max(times.max_local, Relaxed);
    }
}
