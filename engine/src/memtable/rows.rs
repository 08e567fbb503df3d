//! The order of a partition's rows: fixed-size entries in leaves that grow at either end.
//!
//! An `Entry` says where a version of a row stands (its first clustering bytes as a number), when it was written, and
//! where its bytes are. Entries are sorted by clustering, versions of one row by arrival. They live in leaves of about
//! a hundred, rings (`VecDeque`) in which the front is as cheap as the back: steady ingest appends to the last leaf
//! of an ascending table and puts in front of the first leaf of a descending one. Late rows and random order cost
//! a binary search and a move inside one leaf.
//!
//! # Invariants
//! 1. No leaf is empty, and all versions of one row stand in one leaf.
//! 2. An entry's `is_same` holds if and only if the entry before it is of the same row.
//! 3. `Leaf::first` equals the leaf's first entry.

use crate::memtable::chunks::Chunks;
use crate::memtable::entry::{BoundProbe, Entry, Probe};
use crate::memtable::pool::Pool;
use crate::model::clustering::Bound;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Entries at which the outermost leaf gives way to a new one; inside leaves take more, so that late rows do not split
/// every leaf that ingest has filled.
const FULL: usize = 120;
/// Entries at which a leaf is split.
const SPLIT: usize = 192;
/// Entries for which a full leaf has room. Up to here its memory doubles; beyond it grows in small steps.
const USUAL: usize = 128;
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
    /// The last entry at either end came to the front: the next one probably will, too.
    grows_at_front: bool,
}

impl Rows {
    /// Where the next version of `probe`'s row goes, behind all that it has; and whether it has any.
    #[inline]
    pub(super) fn place(&self, probe: &Probe<'_>, chunks: &Chunks) -> (Spot, bool) {
        // Steady ingest is one comparison away.
        if self.grows_at_front {
            let first = self.leaves.front().map(|leaf| &leaf.first);
            if first.is_some_and(|first| probe.compare(first, chunks).is_gt()) {
                return (Spot { leaf: 0, at: 0 }, false);
            }
        } else if let Some(leaf) = self.leaves.back()
            && leaf.entries.back().is_some_and(|last| probe.compare(last, chunks).is_lt())
        {
            return (Spot { leaf: self.leaves.len() - 1, at: leaf.entries.len() }, false);
        }
        let spot = self.behind(probe, chunks);
        (spot, self.before(spot).is_some_and(|other| probe.compare(other, chunks).is_eq()))
    }

    /// The place behind all versions of `probe`'s row and all rows before it.
    pub(super) fn behind(&self, probe: &Probe<'_>, chunks: &Chunks) -> Spot {
        self.find(|entry| probe.compare(entry, chunks) != Ordering::Greater)
    }

    /// The place of a bound.
    #[inline]
    pub(super) fn bound(&self, bound: &Bound, chunks: &Chunks) -> Spot {
        let probe = BoundProbe::new(bound);
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

    /// Makes room for an entry at `spot`, which is behind its row's other versions (`same` if it has any). Returns the place for
    /// [`Rows::insert`], which has to follow at once: a new leaf is empty until then.
    #[inline]
    pub(super) fn make_room(&mut self, spot: Spot, same: bool, pool: &Pool) -> Spot {
        match self.leaves.get(spot.leaf) {
            Some(leaf) if leaf.entries.len() < leaf.entries.capacity().min(FULL) => spot,
            _ => self.make_more_room(spot, same, pool),
        }
    }

    #[cold]
    fn make_more_room(&mut self, mut spot: Spot, same: bool, pool: &Pool) -> Spot {
        let Some(leaf) = self.leaves.get(spot.leaf) else { return self.new_leaf(spot.leaf, pool) };
        let length = leaf.entries.len();
        if length >= FULL {
            let outermost = spot.at == 0 && spot.leaf == 0
                || spot.at == length && spot.leaf + 1 == self.leaves.len() && !same;
            if outermost {
                return self.new_leaf(if spot.at == 0 { 0 } else { spot.leaf + 1 }, pool);
            }
            if length >= SPLIT {
                spot = self.split(spot);
            }
        }
        self.grow(spot.leaf, pool);
        spot
    }

    /// Puts the entry that `make` makes before `spot`, where there is room. It is made where it stays: a copy right behind
    /// its making would wait for it.
    #[inline(always)]
    pub(super) fn insert(&mut self, spot: Spot, make: impl Fn() -> Entry) {
        let last = spot.leaf + 1 == self.leaves.len();
        let leaf = &mut self.leaves[spot.leaf];
        if spot.at == 0 {
            leaf.first = make();
            leaf.entries.push_front(make());
            self.grows_at_front = spot.leaf == 0;
        } else if spot.at == leaf.entries.len() {
            leaf.entries.push_back(make());
            self.grows_at_front &= !last;
        } else {
            leaf.entries.insert(spot.at, make());
        }
    }

    /// Sees to it that a leaf has room for one more.
    fn grow(&mut self, leaf: usize, pool: &Pool) {
        let entries = &mut self.leaves[leaf].entries;
        let before = entries.capacity();
        if entries.len() < before {
            return;
        }
        if before * 2 == USUAL {
            let mut usual = pool.leaf(USUAL);
            usual.extend(entries.drain(..));
            *entries = usual;
        } else {
            // Beyond its usual size a leaf holds late rows, or the many versions of one row.
            entries.reserve_exact(if before < USUAL { before.max(4) } else { (before / 8).max(16) });
        }
        self.held += (entries.capacity() - before) * size_of::<Entry>();
    }

    /// An empty leaf, whose first entry is to follow.
    fn new_leaf(&mut self, at: usize, pool: &Pool) -> Spot {
        let entries = match self.leaves.len() {
            0 => VecDeque::with_capacity(4),
            1 => VecDeque::with_capacity(32),
            // Who has filled two fills more.
            _ => pool.leaf(USUAL),
        };
        self.add_leaf(at, Leaf { first: Entry::default(), entries });
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

    /// Takes out the leaves that a pool keeps, and the rest with them.
    pub(super) fn take_leaves(&mut self) -> impl Iterator<Item = VecDeque<Entry>> {
        let leaves = std::mem::take(self).leaves.into_iter().map(|leaf| leaf.entries);
        leaves.filter(|entries| entries.capacity() == USUAL)
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
        entries.shrink_to(USUAL);
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
    pub(super) fn rewrite(&mut self, chunks: &mut Chunks, pool: &Pool) -> crate::error::Result<()> {
        let mut fresh = Chunks::default();
        let entries = self.leaves.iter().flat_map(|leaf| &leaf.entries);
        let places =
            entries.map(|entry| fresh.push(entry.bytes(chunks), pool)).collect::<Result<Vec<_>, _>>()?;
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
