//! Memory of memtables that are in files by now, kept for those that follow.
//!
//! A page that the system hands out anew costs more than filling it with rows, and a memtable needs as much memory as the one before it. So what a
//! flushed memtable held in pieces of the usual sizes goes into the store's [`Pool`], and partitions that grow take it from there.
//!
//! # Invariants
//! 1. A pool holds no more than it was made for: half of what memtables may use, which is what one of them grows to.
//!
//! # Threads
//! One lock, taken once in some hundred rows.

use crate::memtable::entry::Entry;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Free memory of one store's memtables.
#[derive(Debug)]
pub struct Pool {
    most_bytes: usize,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    chunks: Stack<Vec<u8>>,
    leaves: Stack<VecDeque<Entry>>,
    bytes: usize,
}

/// Pieces of one size; the one given last is taken first.
#[derive(Debug)]
struct Stack<T> {
    pieces: Vec<T>,
    /// The fewest there were since [`Pool::age`].
    fewest: usize,
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), fewest: 0 }
    }
}

impl<T> Stack<T> {
    fn take(&mut self) -> Option<T> {
        let piece = self.pieces.pop();
        self.fewest = self.fewest.min(self.pieces.len());
        piece
    }

    /// Takes out those that have not been needed since the last call.
    fn age(&mut self) -> Vec<T> {
        let idle = self.pieces.drain(..self.fewest).collect();
        self.fewest = self.pieces.len();
        idle
    }
}

impl Pool {
    /// A pool that keeps `most_bytes` at most, 0 for none at all.
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, free: Mutex::default() }
    }

    /// Gives back to the system what nobody has needed since the last call.
    pub fn age(&self) {
        let mut free = self.free.lock();
        let (chunks, leaves) = (free.chunks.age(), free.leaves.age());
        free.bytes -= chunks.iter().map(Vec::capacity).sum::<usize>();
        free.bytes -= leaves.iter().map(leaf_bytes).sum::<usize>();
    }

    /// Bytes that it holds.
    pub fn free_bytes(&self) -> usize {
        self.free.lock().bytes
    }

    /// An empty chunk of `capacity` bytes.
    pub(super) fn chunk(&self, capacity: usize) -> Vec<u8> {
        let mut free = self.free.lock();
        let Some(chunk) = free.chunks.take() else {
            drop(free);
            return Vec::with_capacity(capacity);
        };
        free.bytes -= chunk.capacity();
        debug_assert_eq!(chunk.capacity(), capacity, "all chunks of a pool have one size");
        chunk
    }

    /// An empty leaf for `capacity` entries.
    pub(super) fn leaf(&self, capacity: usize) -> VecDeque<Entry> {
        let mut free = self.free.lock();
        let Some(leaf) = free.leaves.take() else {
            drop(free);
            return VecDeque::with_capacity(capacity);
        };
        free.bytes -= leaf_bytes(&leaf);
        debug_assert_eq!(leaf.capacity(), capacity, "all leaves of a pool have one size");
        leaf
    }

    /// Keeps what there is room for of chunks and leaves of the usual sizes.
    pub(super) fn give(
        &self,
        chunks: impl IntoIterator<Item = Vec<u8>>,
        leaves: impl IntoIterator<Item = VecDeque<Entry>>,
    ) {
        let mut free = self.free.lock();
        for mut chunk in chunks {
            if free.bytes + chunk.capacity() <= self.most_bytes {
                chunk.clear();
                free.bytes += chunk.capacity();
                free.chunks.pieces.push(chunk);
            }
        }
        for mut leaf in leaves {
            if free.bytes + leaf_bytes(&leaf) <= self.most_bytes {
                leaf.clear();
                free.bytes += leaf_bytes(&leaf);
                free.leaves.pieces.push(leaf);
            }
        }
    }
}

fn leaf_bytes(leaf: &VecDeque<Entry>) -> usize {
    leaf.capacity() * size_of::<Entry>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_what_it_may_and_gives_back_what_nobody_needs() {
        let pool = Pool::new(2500);
        let leaf = || VecDeque::with_capacity(16);
        let leaf_bytes = leaf_bytes(&leaf());
        pool.give((0..3).map(|i| vec![i; 1000]), [leaf(), leaf()]);
        assert_eq!(pool.free_bytes(), 2000, "the third chunk is too much, and a leaf of {leaf_bytes} bytes");
        assert_eq!((pool.chunk(1000).len(), pool.free_bytes()), (0, 1000));
        pool.give([], [leaf()]);
        pool.age();
        assert_eq!(pool.free_bytes(), 1000 + leaf_bytes, "nothing has been idle for a whole period");
        pool.leaf(16);
        pool.age();
        assert_eq!(pool.free_bytes(), 0, "the chunk has");
        assert_eq!((pool.chunk(1000).capacity(), pool.leaf(16).capacity()), (1000, 16));
    }

    #[test]
    fn one_for_nothing_keeps_nothing() {
        let pool = Pool::new(0);
        pool.give([vec![0; 100]], []);
        assert_eq!(pool.free_bytes(), 0);
    }
}
