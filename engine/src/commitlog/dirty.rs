//! Which tables still need which segment.
//!
//! A segment may go once every table that wrote in it has flushed past its last record there. Kept per segment and table as the
//! highest offset, which is exact enough: a table flushes everything up to a position.

use std::collections::BTreeMap;

use crate::model::position::LogPosition;
use crate::model::schema::TableId;

/// One segment, as far as its life is concerned.
#[derive(Clone, Debug, Default)]
struct Segment {
    bytes: u64,
    /// Highest offset of each table that has not flushed past it.
    dirty: BTreeMap<TableId, u64>,
}

/// All segments of a log by number.
#[derive(Debug, Default)]
pub(super) struct Segments(BTreeMap<u64, Segment>);

impl Segments {
    /// Segment `id` is `bytes` long now.
    pub(super) fn set_bytes(&mut self, id: u64, bytes: u64) {
        self.0.entry(id).or_default().bytes = bytes;
    }

    /// `table` has a record that ends at `position`. Positions of a table only grow.
    pub(super) fn touch(&mut self, table: TableId, position: LogPosition) {
        self.0.entry(position.segment).or_default().dirty.insert(table, position.offset);
    }

    /// Everything of `table` up to `upto` is in SSTables.
    pub(super) fn mark_flushed(&mut self, table: TableId, upto: LogPosition) {
        for (&id, segment) in self.0.range_mut(..=upto.segment) {
            let flushed =
                segment.dirty.get(&table).is_some_and(|&offset| LogPosition { segment: id, offset } <= upto);
            if flushed {
                segment.dirty.remove(&table);
            }
        }
    }

    /// Takes out the segments that nobody needs, except `active`: number and bytes of each.
    pub(super) fn take_clean(&mut self, active: Option<u64>) -> Vec<(u64, u64)> {
        let clean = self.0.iter().filter(|(id, segment)| segment.dirty.is_empty() && Some(**id) != active);
        let clean: Vec<(u64, u64)> = clean.map(|(id, segment)| (*id, segment.bytes)).collect();
        clean.iter().for_each(|(id, _)| {
            self.0.remove(id);
        });
        clean
    }

    /// Bytes of all segments.
    pub(super) fn total_bytes(&self) -> u64 {
        self.0.values().map(|segment| segment.bytes).sum()
    }

    /// The number of segments.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// In the oldest segment that is needed, the table whose last record there comes first, and that record's position.
    pub(super) fn oldest_dirty(&self) -> Option<(TableId, LogPosition)> {
        let (&segment, dirty) =
            self.0.iter().map(|(id, segment)| (id, &segment.dirty)).find(|(_, dirty)| !dirty.is_empty())?;
        let (&table, &offset) = dirty.iter().min_by_key(|(_, offset)| **offset)?;
        Some((table, LogPosition { segment, offset }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TableId = TableId(1);
    const B: TableId = TableId(2);

    fn at(segment: u64, offset: u64) -> LogPosition {
        LogPosition { segment, offset }
    }

    fn segments() -> Segments {
        let mut segments = Segments::default();
        for id in 1..=3 {
            segments.set_bytes(id, 100);
        }
        segments.touch(A, at(1, 50));
        segments.touch(B, at(1, 90));
        segments.touch(A, at(2, 50));
        segments
    }

    #[test]
    fn a_segment_goes_when_the_last_table_has_flushed_past_it() {
        let mut segments = segments();
        segments.mark_flushed(A, at(2, 49));
        assert_eq!(segments.take_clean(Some(3)), []);
        assert_eq!(segments.oldest_dirty(), Some((B, at(1, 90))));
        segments.mark_flushed(B, at(1, 89));
        assert_eq!(segments.take_clean(Some(3)), []);
        segments.mark_flushed(B, at(1, 90));
        assert_eq!(segments.take_clean(Some(3)), [(1, 100)]);
        assert_eq!(segments.oldest_dirty(), Some((A, at(2, 50))));
        segments.mark_flushed(A, at(2, 50));
        assert_eq!(segments.take_clean(None), [(2, 100), (3, 100)]);
        assert_eq!((segments.oldest_dirty(), segments.total_bytes()), (None, 0));
    }

    #[test]
    fn a_segment_between_two_needed_ones_goes_too() {
        let mut segments = segments();
        segments.touch(B, at(3, 10));
        segments.mark_flushed(A, at(3, 0));
        assert_eq!(segments.take_clean(Some(3)), [(2, 100)]);
        assert_eq!(segments.oldest_dirty(), Some((B, at(1, 90))));
    }
}
