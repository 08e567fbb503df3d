//! The order of a partition's rows: fixed-size entries in leaves that grow at either end.
//!
//! An [`Entry`] says where a version of a row stands (its first clustering bytes as a number), when it was written, and
//! where its bytes are. Entries are sorted by clustering, versions of one row by arrival. They live in leaves of about
//! a hundred, rings (`VecDeque`) in which the front is as cheap as the back: steady ingest appends to the last leaf
//! of an ascending table and puts in front of the first leaf of a descending one. Late rows and random order cost
//! a binary search and a move inside one leaf.
//!
//! # Invariants
//! 1. No leaf is empty, and all versions of one row stand in one leaf.
//! 2. An entry's `is_same` holds if and only if the entry before it is of the same row.
//! 3. `Leaf::first` equals the leaf's first entry.

use crate::encoding::row::{EncodedRow, Stamp};
use crate::memtable::chunks::Chunks;
use crate::model::clustering::Bound;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Entries at which the outermost leaf gives way to a new one; inside leaves take more, so that late rows do not split
/// every leaf that ingest has filled.
const FULL: usize = 120;
/// Entries at which a leaf is split.
const SPLIT: usize = 192;
/// Entries up to which a leaf's memory doubles; beyond it grows in small steps.
const DOUBLING: usize = 128;
/// Length that says: all of the chunk.
const WHOLE_CHUNK: u32 = (1 << 22) - 1;
const PLAIN: u32 = 1 << 22;
const SAME: u32 = 1 << 23;
/// Clustering bytes that an entry holds: one, and eight as a number.
const HELD: usize = 9;

/// One version of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Bytes 1 to 8 of the clustering, big-endian, zeros where it is shorter. Byte 0 is the first component's head,
    /// nearly always the same, so that these are a whole timestamp.
    prefix: u64,
    timestamp: i64,
    /// Sequence number, counted from the partition's base.
    pub(super) seq: u32,
    now: u32,
    place: u32,
    /// Byte 0 of the clustering (8 bits), `SAME` and `PLAIN` (a bit each), length of the row (22 bits).
    meta: u32,
}

impl Entry {
    /// An entry for a row stored at `place`. `now` is the stamp's second, which fits in 32 bits.
    #[inline]
    pub(super) fn new(row: EncodedRow<'_>, place: u32, seq: u32, timestamp: i64, now: u32) -> Self {
        let (head, prefix) = split(row.clustering);
        let length = u32::try_from(row.bytes.len()).unwrap_or(WHOLE_CHUNK).min(WHOLE_CHUNK);
        Self { prefix, timestamp, seq, now, place, meta: u32::from(head) << 24 | length }
    }

    /// The times of its batch.
    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { timestamp: self.timestamp, now: i64::from(self.now) }
    }

    /// Whether the entry before it is of the same row.
    #[inline]
    pub(super) fn is_same(&self) -> bool {
        self.meta & SAME != 0
    }

    /// Whether the row is known to be plain ([`is_plain`](crate::encoding::plain::is_plain)).
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.meta & PLAIN != 0
    }

    /// Says that the row is plain.
    #[inline]
    pub(super) fn set_plain(&mut self) {
        self.meta |= PLAIN;
    }

    pub(super) fn set_same(&mut self, same: bool) {
        self.meta = if same { self.meta | SAME } else { self.meta & !SAME };
    }

    /// The encoded row.
    #[inline]
    pub(super) fn bytes<'a>(&self, chunks: &'a Chunks) -> &'a [u8] {
        let length = self.meta & WHOLE_CHUNK;
        chunks.get(self.place, (length != WHOLE_CHUNK).then_some(length as usize))
    }

    /// Its clustering. What is stored was parsed before, so that there always is one.
    #[inline]
    pub(super) fn clustering<'a>(&self, chunks: &'a Chunks) -> &'a [u8] {
        EncodedRow::parse(self.bytes(chunks)).map_or(&[], |row| row.clustering)
    }

    #[inline]
    fn held(&self) -> (u8, u64) {
        ((self.meta >> 24) as u8, self.prefix)
    }
}

#[inline]
fn split(clustering: &[u8]) -> (u8, u64) {
    if let Some(&[head, rest @ ..]) = clustering.first_chunk::<HELD>() {
        return (head, u64::from_be_bytes(rest));
    }
    let mut bytes = [0; HELD];
    bytes[..clustering.len()].copy_from_slice(clustering);
    let [head, rest @ ..] = bytes;
    (head, u64::from_be_bytes(rest))
}

/// A clustering to look for.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    held: (u8, u64),
    clustering: &'a [u8],
}

impl<'a> Probe<'a> {
    #[inline]
    pub(super) fn new(clustering: &'a [u8]) -> Self {
        Self { held: split(clustering), clustering }
    }

    /// How an entry stands to the clustering.
    #[inline]
    pub(super) fn compare(&self, entry: &Entry, chunks: &Chunks) -> Ordering {
        entry.held().cmp(&self.held).then_with(|| entry.clustering(chunks).cmp(self.clustering))
    }
}

/// A bound to look for.
struct BoundProbe<'a> {
    held: (u8, u64),
    bound: &'a Bound,
}

impl BoundProbe<'_> {
    #[inline]
    fn is_after(&self, entry: &Entry, chunks: &Chunks) -> bool {
        let prefix = self.bound.prefix();
        if prefix.is_empty() {
            return self.bound.is_after();
        }
        match entry.held().cmp(&self.held) {
            // What begins with the prefix, filled up with zeros, is not less than it.
            Ordering::Less => true,
            Ordering::Greater if prefix.len() >= HELD => false,
            _ => self.bound.cmp_row(entry.clustering(chunks)) == Ordering::Greater,
        }
    }
}

#[derive(Debug)]
struct Leaf {
    first: Entry,
    entries: VecDeque<Entry>,
}

/// A place between entries: before entry `at` of leaf `leaf`, or behind that leaf's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    leaf: usize,
    at: usize,
}

impl Spot {
    /// The place behind the entry that stands here.
    #[inline]
    pub(super) fn next(self) -> Self {
        Self { at: self.at + 1, ..self }
    }
}

/// All entries of a partition.
#[derive(Debug, Default)]
pub(super) struct Rows {
    leaves: VecDeque<Leaf>,
    /// Bytes allocated for entries.
    held: usize,
}

impl Rows {
    /// The place behind all versions of `probe`'s row and all rows before it.
    #[inline]
    pub(super) fn behind(&self, probe: &Probe<'_>, chunks: &Chunks) -> Spot {
        self.find(|entry| probe.compare(entry, chunks) != Ordering::Greater)
    }

    /// The place of a bound.
    #[inline]
    pub(super) fn bound(&self, bound: &Bound, chunks: &Chunks) -> Spot {
        let probe = BoundProbe { held: split(bound.prefix()), bound };
        self.find(|entry| probe.is_after(entry, chunks))
    }

    /// The place before the first entry for which `before` is false; it is true for all entries up to some place.
    #[inline]
    fn find(&self, before: impl Fn(&Entry) -> bool) -> Spot {
        let last = self.leaves.len().wrapping_sub(1);
        let Some(leaf) = self.leaves.get(last) else { return Spot { leaf: 0, at: 0 } };
        if leaf.entries.back().is_some_and(&before) {
            return Spot { leaf: last, at: leaf.entries.len() };
        }
        let leaf = match before(&leaf.first) {
            true => last,
            // Steady ingest of a descending table: in front of everything.
            false if !self.leaves.front().is_some_and(|leaf| before(&leaf.first)) => {
                return Spot { leaf: 0, at: 0 };
            }
            false => self.leaves.partition_point(|leaf| before(&leaf.first)).saturating_sub(1),
        };
        Spot { leaf, at: self.leaves[leaf].entries.partition_point(before) }
    }

    /// The entry before a place.
    #[inline]
    pub(super) fn before(&self, spot: Spot) -> Option<&Entry> {
        self.leaves.get(spot.leaf)?.entries.get(spot.at.checked_sub(1)?)
    }

    /// Puts `entry` at `spot`, which is behind its row's other versions. Returns the place before it.
    #[inline(always)] // as below
    pub(super) fn insert(&mut self, spot: Spot, entry: Entry) -> Spot {
        let Some(leaf) = self.leaves.get_mut(spot.leaf) else { return self.new_leaf(spot.leaf, entry) };
        let length = leaf.entries.len();
        if length >= FULL {
            let outermost = spot.at == 0 && spot.leaf == 0
                || spot.at == length && spot.leaf + 1 == self.leaves.len() && !entry.is_same();
            if outermost {
                return self.new_leaf(if spot.at == 0 { 0 } else { spot.leaf + 1 }, entry);
            }
            if length >= SPLIT {
                let spot = self.split(spot);
                return self.insert_in_leaf(spot, entry);
            }
        }
        self.insert_in_leaf(spot, entry)
    }

    #[inline(always)] // so that the entry goes from registers to its place, not through memory
    fn insert_in_leaf(&mut self, spot: Spot, entry: Entry) -> Spot {
        let leaf = &mut self.leaves[spot.leaf];
        let capacity = leaf.entries.capacity();
        if leaf.entries.len() == capacity {
            // Beyond its usual size a leaf holds late rows, or the many versions of one row.
            let more = if capacity < DOUBLING { capacity.max(4) } else { (capacity / 8).max(16) };
            leaf.entries.reserve_exact(more);
            self.held += (leaf.entries.capacity() - capacity) * size_of::<Entry>();
        }
        if spot.at == 0 {
            leaf.first = entry;
            leaf.entries.push_front(entry);
        } else if spot.at == leaf.entries.len() {
            leaf.entries.push_back(entry);
        } else {
            leaf.entries.insert(spot.at, entry);
        }
        spot
    }

    #[cold]
    fn new_leaf(&mut self, at: usize, entry: Entry) -> Spot {
        let capacity = if self.leaves.is_empty() { 4 } else { 32 };
        let mut entries = VecDeque::with_capacity(capacity);
        entries.push_back(entry);
        self.add_leaf(at, Leaf { first: entry, entries });
        Spot { leaf: at, at: 0 }
    }

    fn add_leaf(&mut self, at: usize, leaf: Leaf) {
        self.held += leaf.entries.capacity() * size_of::<Entry>();
        let before = self.leaves.capacity();
        if before == 0 {
            // Most partitions of many tables stay with one.
            self.leaves.reserve_exact(1);
        }
        self.leaves.insert(at, leaf);
        self.held += (self.leaves.capacity() - before) * size_of::<Leaf>();
    }

    /// Splits the leaf of `spot` between two rows near its middle, if it has two; returns the place that is now `spot`.
    #[cold]
    fn split(&mut self, spot: Spot) -> Spot {
        let entries = &mut self.leaves[spot.leaf].entries;
        let middle = entries.len() / 2;
        let is_start = |&at: &usize| !entries[at].is_same();
        let Some(middle) = (middle..entries.len()).find(is_start).or((1..middle).rev().find(is_start)) else {
            return spot;
        };
        let before = entries.capacity();
        let moved = entries.split_off(middle);
        entries.shrink_to(DOUBLING);
        self.held -= (before - entries.capacity()) * size_of::<Entry>();
        let Some(&first) = moved.front() else { return spot };
        self.add_leaf(spot.leaf + 1, Leaf { first, entries: moved });
        // At the seam: a version belongs to the row on its left, and so may stay there.
        match spot.at > middle {
            true => Spot { leaf: spot.leaf + 1, at: spot.at - middle },
            false => spot,
        }
    }

    /// Number of versions of the row whose last version stands before `end`.
    #[inline]
    pub(super) fn run(&self, end: Spot) -> usize {
        let Some(leaf) = self.leaves.get(end.leaf) else { return 0 };
        let before = leaf.entries.range(..end.at.min(leaf.entries.len()));
        let same = before.rev().take_while(|entry| entry.is_same()).count();
        (same + 1).min(end.at)
    }

    /// The `count` entries before `end`, all of one leaf.
    pub(super) fn versions(&self, end: Spot, count: usize) -> Vec<Entry> {
        let entries = &self.leaves[end.leaf].entries;
        entries.range(end.at - count..end.at).copied().collect()
    }

    /// Puts `versions` (fewer) in place of the `count` entries before `end`.
    pub(super) fn replace(&mut self, end: Spot, count: usize, versions: &[Entry]) {
        let leaf = &mut self.leaves[end.leaf];
        let start = end.at - count;
        for (i, entry) in versions.iter().enumerate() {
            leaf.entries[start + i] = *entry;
            leaf.entries[start + i].set_same(i > 0);
        }
        leaf.entries.drain(start + versions.len()..end.at);
        if let Some(&first) = leaf.entries.front() {
            leaf.first = first;
        }
    }

    /// Shows every entry, to be changed in anything but its order.
    pub(super) fn for_each_mut(&mut self, mut change: impl FnMut(&mut Entry)) {
        for leaf in &mut self.leaves {
            leaf.entries.iter_mut().for_each(&mut change);
            if let Some(&first) = leaf.entries.front() {
                leaf.first = first;
            }
        }
    }

    /// Moves all rows to chunks without dead bytes.
    ///
    /// # Errors
    /// As [`Chunks::push`]; nothing has changed then.
    pub(super) fn rewrite(&mut self, chunks: &mut Chunks) -> crate::error::Result<()> {
        let mut fresh = Chunks::default();
        let entries = self.leaves.iter().flat_map(|leaf| &leaf.entries);
        let places = entries.map(|entry| fresh.push(entry.bytes(chunks))).collect::<Result<Vec<_>, _>>()?;
        let mut places = places.into_iter();
        self.for_each_mut(|entry| entry.place = places.next().unwrap_or(entry.place));
        *chunks = fresh;
        Ok(())
    }

    /// Walks from `from` to `to`, backwards if `reverse`, while `see` returns true.
    #[inline]
    pub(super) fn walk(&self, from: Spot, to: Spot, reverse: bool, mut see: impl FnMut(&Entry) -> bool) {
        let leaves = from.leaf..(to.leaf + 1).min(self.leaves.len());
        let part = |leaf: usize| {
            let length = self.leaves[leaf].entries.len();
            let start = if leaf == from.leaf { from.at.min(length) } else { 0 };
            let end = if leaf == to.leaf { to.at.min(length) } else { length };
            self.leaves[leaf].entries.range(start.min(end)..end)
        };
        if reverse {
            leaves.rev().flat_map(|leaf| part(leaf).rev()).all(&mut see);
        } else {
            leaves.flat_map(part).all(&mut see);
        }
    }

    /// Bytes allocated.
    #[inline]
    pub(super) fn memory_bytes(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
