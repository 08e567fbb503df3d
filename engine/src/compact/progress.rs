//! How far a compaction has come: its streams count, whoever wants to know looks.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far a compaction has come; other threads may look at any time.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    read: AtomicU64,
    items: AtomicU64,
}

impl Progress {
    /// Bytes of all inputs.
    pub fn total_bytes(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Bytes of the inputs' blocks that were read.
    pub fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Rows and range bounds that were read.
    pub fn items(&self) -> u64 {
        self.items.load(Ordering::Relaxed)
    }

    /// Says how many bytes its inputs have.
    pub(crate) fn expect(&self, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    /// Counts a block. (Plain counters: nothing else is published by them.)
    pub(crate) fn add_read(&self, bytes: u64, items: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
        self.items.fetch_add(items, Ordering::Relaxed);
    }
}
