//! Rows that a reader takes from a memtable as they are encoded.
//!
//! Where a window holds nothing but plain rows of one version each and no range deletion, nothing has to be merged: the read path gets the
//! copied bytes and fills its columns from them. That is what reading the latest rows of a time series meets; everything else
//! comes as fragments ([`MemPartition::read`](crate::memtable::partition::MemPartition::read)).

use crate::encoding::plain::PlainRow;
use crate::encoding::row::{EncodedRow, Stamp};
use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Plain rows in the direction of reading. A clone shares the bytes.
#[derive(Clone, Debug)]
pub struct PlainRows {
    held: Arc<Held>,
    rows: Range<usize>,
}

#[derive(Debug)]
struct Held {
    bytes: Vec<u8>,
    /// Where each row ends, and its batch's times.
    ends: Vec<(usize, Stamp)>,
}

impl PlainRows {
    /// Of rows one behind the other in `bytes`, each with its end and its batch's times.
    pub(super) fn new(bytes: Vec<u8>, ends: Vec<(usize, Stamp)>) -> Self {
        let rows = 0..ends.len();
        Self { held: Arc::new(Held { bytes, ends }), rows }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn bytes(&self, at: usize) -> (&[u8], Stamp) {
        let begin =
            at.checked_sub(1).and_then(|before| self.held.ends.get(before)).map_or(0, |(end, _)| *end);
        let Some(&(end, stamp)) = self.held.ends.get(at) else { return (&[], Stamp::default()) };
        (self.held.bytes.get(begin..end).unwrap_or(&[]), stamp)
    }

    fn order(&self, at: usize) -> Result<&[u8]> {
        EncodedRow::parse(self.bytes(at).0).map(|row| row.clustering)
    }

    /// The clustering of the first row, if there is one.
    ///
    /// # Errors
    /// `Corrupt` if a row cannot be read, which was checked when it came in; so below.
    pub fn first(&self) -> Result<Option<Clustering>> {
        self.place(self.rows.start)
    }

    /// The clustering of the last row, if there is one.
    ///
    /// # Errors
    /// As [`PlainRows::first`].
    pub fn last(&self) -> Result<Option<Clustering>> {
        self.place(self.rows.end.wrapping_sub(1))
    }

    fn place(&self, at: usize) -> Result<Option<Clustering>> {
        if !self.rows.contains(&at) {
            return Ok(None);
        }
        Ok(Some(Clustering::new(Bytes::new(self.order(at)?))))
    }

    /// How many rows stand before `end` in the direction of reading.
    ///
    /// # Errors
    /// As [`PlainRows::first`].
    pub fn count_before(&self, end: &Bound, reverse: bool) -> Result<usize> {
        let (mut low, mut high) = (self.rows.start, self.rows.end);
        // What `cmp_row` says of a row that stands before the bound.
        let before = if reverse { Ordering::Less } else { Ordering::Greater };
        while low < high {
            let middle = low + (high - low) / 2;
            match end.cmp_row(self.order(middle)?) == before {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low - self.rows.start)
    }

    /// Takes the first `count` rows, all if there are fewer.
    #[must_use]
    pub fn take(&mut self, count: usize) -> Self {
        let middle = self.rows.start + count.min(self.rows.len());
        let taken = Self { held: Arc::clone(&self.held), rows: self.rows.start..middle };
        self.rows.start = middle;
        taken
    }

    /// The next rows, at most `count`.
    ///
    /// # Errors
    /// As [`PlainRows::first`].
    pub fn next_rows(&mut self, count: usize) -> Result<Vec<PlainRow<'_>>> {
        let end = self.rows.start + count.min(self.rows.len());
        let rows = std::mem::replace(&mut self.rows.start, end)..end;
        let parse = |at| {
            let (bytes, stamp) = self.bytes(at);
            PlainRow::parse(bytes, stamp)
        };
        rows.map(parse).collect()
    }

    /// The next row, `None` after the last.
    ///
    /// # Errors
    /// As [`PlainRows::first`].
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<PlainRow<'_>>> {
        let Some(at) = self.rows.next() else { return Ok(None) };
        let (bytes, stamp) = self.bytes(at);
        PlainRow::parse(bytes, stamp).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::row::{RowEncoder, RowHead};

    fn rows(orders: &[u8]) -> PlainRows {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let stamp = Stamp { timestamp: 7, now: 0 };
        for &order in orders {
            let clustering = Clustering::new(Bytes::new(&[order]));
            let head = RowHead { marker: true, ..RowHead::default() };
            let _ = RowEncoder::begin(&mut bytes, &clustering, &head, stamp);
            ends.push((bytes.len(), stamp));
        }
        PlainRows::new(bytes, ends)
    }

    #[test]
    fn rows_before_a_bound_are_counted_in_both_directions() {
        let (forward, backward) = (rows(&[1, 3, 5]), rows(&[5, 3, 1]));
        for (bound, before, behind) in [
            (Bound::before(&[3]), 1, 2),
            (Bound::after(&[3]), 2, 1),
            (Bound::bottom(), 0, 3),
            (Bound::top(), 3, 0),
        ] {
            assert_eq!(forward.count_before(&bound, false).unwrap(), before, "{bound:?}");
            assert_eq!(backward.count_before(&bound, true).unwrap(), behind, "{bound:?}");
        }
    }

    #[test]
    fn a_part_is_taken_from_the_front() {
        let mut rest = rows(&[1, 2, 3]);
        let mut taken = rest.take(2);
        assert_eq!((taken.len(), rest.len()), (2, 1));
        assert_eq!(taken.last().unwrap(), Some(Clustering::new(Bytes::new(&[2]))));
        assert_eq!(taken.next_row().unwrap().unwrap().clustering, [1]);
        assert_eq!(taken.first().unwrap(), Some(Clustering::new(Bytes::new(&[2]))));
        let mut several = rest.clone();
        assert_eq!(several.next_rows(7).unwrap().len(), 1);
        assert!(several.is_empty() && several.next_rows(7).unwrap().is_empty());
        assert_eq!(rest.take(9).first().unwrap(), Some(Clustering::new(Bytes::new(&[3]))));
        assert!(rest.is_empty() && rest.first().unwrap().is_none() && rest.last().unwrap().is_none());
    }
}
