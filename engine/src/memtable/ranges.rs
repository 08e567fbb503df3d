//! Range deletions of one partition: as they came, and as disjoint pieces.
//!
//! A [`Timeline`] holds the pieces: at each place where the deletion in force changes, what is in force from there on. A
//! [`RangeLog`] keeps the deletions that not every reader may see yet as they came, with their sequence numbers, and
//! settles the others into a timeline from time to time, so that ten thousand of them are as quick to read as a few.
//!
//! # Threads
//! Part of a partition's contents, under its lock; a reader's own timeline is not shared.

use crate::model::clustering::Bound;
use crate::model::fragment::RangeTombstone;
use crate::model::life::Deletion;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// Unsettled range deletions at which settling is tried.
const SETTLE_AT: usize = 16;
/// What a place in a timeline takes, nodes of the tree included, bytes.
const POINT_BYTES: usize = 96;

/// A place and what is in force from it on.
pub(super) type Point = (Bound, Option<Deletion>);

/// Disjoint pieces of range deletions.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    points: BTreeMap<Bound, Option<Deletion>>,
    /// Bytes that the bounds hold on the heap.
    heap: usize,
}

impl Timeline {
    /// Pieces of which `opening` is in force from `start` on and `points` follow.
    pub(super) fn new(start: &Bound, opening: Option<Deletion>, points: Vec<Point>) -> Self {
        let mut points: BTreeMap<_, _> = points.into_iter().collect();
        points.insert(start.clone(), opening);
        Self { points, heap: 0 }
    }

    /// What is in force from `place` on.
    pub(super) fn at(&self, place: &Bound) -> Option<Deletion> {
        self.points.range((Unbounded, Included(place))).next_back().and_then(|(_, deletion)| *deletion)
    }

    /// What is in force up to `place`.
    fn up_to(&self, place: &Bound) -> Option<Deletion> {
        self.points.range((Unbounded, Excluded(place))).next_back().and_then(|(_, deletion)| *deletion)
    }

    /// Adds a deletion: where a stronger one is in force nothing changes.
    pub(super) fn paint(&mut self, start: &Bound, end: &Bound, deletion: Deletion) {
        if start >= end {
            return;
        }
        let (opening, rest) = (self.at(start), self.at(end));
        self.set(start, opening);
        self.set(end, rest);
        for (_, in_force) in self.points.range_mut((Included(start), Excluded(end))) {
            *in_force = (*in_force).max(Some(deletion));
        }
        let mut before = self.up_to(start);
        let mut needless = Vec::new();
        for (place, in_force) in self.points.range((Included(start), Included(end))) {
            if *in_force == before {
                needless.push(place.clone());
            }
            before = *in_force;
        }
        for place in needless {
            self.points.remove(&place);
            self.heap = self.heap.saturating_sub(heap_bytes(&place));
        }
    }

    fn set(&mut self, place: &Bound, deletion: Option<Deletion>) {
        if self.points.insert(place.clone(), deletion).is_none() {
            self.heap += heap_bytes(place);
        }
    }

    /// All places, ascending.
    pub(super) fn into_points(self) -> Vec<Point> {
        self.points.into_iter().collect()
    }

    /// At most `limit` places strictly between two bounds, the first ones in the direction of reading, in that order.
    pub(super) fn between(
        &self,
        start: &Bound,
        end: &Bound,
        reverse: bool,
        limit: usize,
        out: &mut Vec<Point>,
    ) {
        out.clear();
        if start >= end || self.points.is_empty() {
            return;
        }
        let inside = self.points.range((Excluded(start), Excluded(end)));
        let copy = |(place, deletion): (&Bound, &Option<Deletion>)| (place.clone(), *deletion);
        match reverse {
            false => out.extend(inside.take(limit).map(copy)),
            true => out.extend(inside.rev().take(limit).map(copy)),
        }
    }

    fn memory_bytes(&self) -> usize {
        self.points.len() * POINT_BYTES + self.heap
    }
}

/// Bytes on the heap of a bound: those of its byte string, which is in place up to 22 bytes.
fn heap_bytes(bound: &Bound) -> usize {
    match bound.as_bytes().len() {
        0..=22 => 0,
        length => length + 16,
    }
}

/// All range deletions of a partition.
#[derive(Debug, Default)]
pub(super) struct RangeLog {
    settled: Timeline,
    recent: Vec<(u64, RangeTombstone)>,
    recent_heap: usize,
    /// Number of recent ones at which settling is tried next.
    next: usize,
}

impl RangeLog {
    /// Adds the deletion made by batch `seq`. `oldest` gives the sequence number that all readers see.
    pub(super) fn add(&mut self, seq: u64, range: RangeTombstone, oldest: impl FnOnce() -> u64) {
        self.recent_heap += heap_bytes(&range.start) + heap_bytes(&range.end);
        self.recent.push((seq, range));
        if self.recent.len() >= self.next.max(SETTLE_AT) {
            self.settle(oldest());
        }
    }

    fn settle(&mut self, oldest: u64) {
        let settled = &mut self.settled;
        self.recent.retain(|(seq, range)| {
            let keep = *seq > oldest;
            if !keep {
                settled.paint(&range.start, &range.end, range.deletion);
            }
            keep
        });
        self.recent_heap =
            self.recent.iter().map(|(_, range)| heap_bytes(&range.start) + heap_bytes(&range.end)).sum();
        // While a reader holds them up, trying each time would cost as much as there are.
        self.next = self.recent.len() * 2;
    }

    /// The pieces that everybody sees.
    pub(super) fn settled(&self) -> &Timeline {
        &self.settled
    }

    /// Copies the other deletions that a reader of `seq` sees and that reach into the range.
    pub(super) fn recent(&self, start: &Bound, end: &Bound, seq: u64, out: &mut Vec<RangeTombstone>) {
        let seen =
            self.recent.iter().filter(|(s, range)| *s <= seq && range.start < *end && *start < range.end);
        out.extend(seen.map(|(_, range)| range.clone()));
    }

    /// Bytes allocated, roughly where the tree is concerned.
    pub(super) fn memory_bytes(&self) -> usize {
        let recent = self.recent.capacity() * size_of::<(u64, RangeTombstone)>();
        self.settled.memory_bytes() + recent + self.recent_heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound(at: u8) -> Bound {
        Bound::before(&[at])
    }

    #[test]
    fn overlapping_deletions_become_disjoint_pieces() {
        let mut line = Timeline::default();
        line.paint(&bound(2), &bound(6), Deletion::new(5, 0));
        line.paint(&bound(4), &bound(9), Deletion::new(3, 0));
        line.paint(&bound(9), &bound(9), Deletion::new(99, 0));
        line.paint(&bound(3), &bound(4), Deletion::new(5, 0));
        let (five, three) = (Some(Deletion::new(5, 0)), Some(Deletion::new(3, 0)));
        assert_eq!(line.into_points(), [(bound(2), five), (bound(6), three), (bound(9), None)]);
    }

    #[test]
    fn many_deletions_settle_unless_a_reader_is_older() {
        let mut log = RangeLog::default();
        for seq in 1..=1000u64 {
            let start = Bound::before(&[1, (seq / 256) as u8, seq as u8]);
            let end = Bound::after(start.prefix());
            log.add(seq, RangeTombstone { start, end, deletion: Deletion::new(1, 1) }, || seq.min(500));
        }
        assert_eq!(log.recent.len(), 500);
        assert!(log.settled.points.len() <= 1000);
        let mut seen = Vec::new();
        log.recent(&Bound::bottom(), &Bound::top(), 700, &mut seen);
        assert_eq!(seen.len(), 200);
    }

    proptest! {
        #[test]
        fn each_place_has_the_strongest_deletion(ranges in prop::collection::vec((0..12u8, 0..12u8, 0..5i64, 0..2i64), 0..20)) {
            let mut line = Timeline::default();
            for &(start, end, timestamp, local) in &ranges {
                line.paint(&bound(start), &bound(end), Deletion::new(timestamp, local));
            }
            for place in 0..12u8 {
                let covering = ranges.iter().filter(|(start, end, ..)| *start <= place && place < *end);
                let strongest = covering.map(|&(_, _, timestamp, local)| Deletion::new(timestamp, local)).max();
                prop_assert_eq!(line.at(&bound(place)), strongest);
            }
            let points = line.into_points();
            prop_assert!(points.first().is_none_or(|(_, deletion)| deletion.is_some()));
            prop_assert!(points.windows(2).all(|pair| pair[0].1 != pair[1].1), "a place where nothing changes");
        }
    }
}
