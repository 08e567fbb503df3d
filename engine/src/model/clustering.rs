//! Where a row stands in its partition, and where ranges of rows begin and end.
//!
//! Clustering values are compared as one byte string: `encoding::order` turns each value into bytes whose unsigned
//! order is the order of the values (complemented for DESC columns), and a clustering is the concatenation. No
//! component begins with byte 0x00 or 0xff, so that `prefix 00` stands before, and `prefix ff` after, every row that
//! begins with `prefix`. This module only handles such bytes; it does not know how they are made.

use crate::model::bytes::Bytes;
use std::cmp::Ordering;
use std::sync::Arc;

/// The clustering values of a row in byte-comparable form; empty for tables without clustering columns and for
/// static rows. Compared by [`Clustering::order`] alone.
#[derive(Clone, Debug, Default)]
pub struct Clustering {
    order: Bytes,
    raw: Option<Arc<[u8]>>,
}

impl Clustering {
    /// No clustering values.
    pub const EMPTY: Self = Self { order: Bytes::EMPTY, raw: None };

    /// From byte-comparable bytes that decode to exactly the values that were written.
    #[inline]
    pub fn new(order: Bytes) -> Self {
        Self { order, raw: None }
    }

    /// From byte-comparable bytes, and the values as they were written (per value a `u32` LE length and the wire
    /// bytes) where the former does not give them back: decimal 1.0 and 1.00 are one place, written differently.
    pub fn with_raw(order: Bytes, raw: Arc<[u8]>) -> Self {
        Self { order, raw: Some(raw) }
    }

    /// The byte-comparable bytes.
    #[inline]
    pub fn order(&self) -> &[u8] {
        &self.order
    }

    /// The values as written, when [`Clustering::order`] does not decode to them.
    pub fn raw(&self) -> Option<&[u8]> {
        self.raw.as_deref()
    }

    /// Bytes on the heap that this value holds on to.
    pub fn heap_bytes(&self) -> usize {
        self.order.heap_bytes() + self.raw.as_ref().map_or(0, |raw| raw.len())
    }
}

impl PartialEq for Clustering {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Clustering {}

impl PartialOrd for Clustering {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Clustering {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

/// A place between rows: just before or just after all rows whose clustering begins with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound(Bytes);

impl Bound {
    /// Before every row whose clustering begins with `prefix` (byte-comparable, whole components).
    pub fn before(prefix: &[u8]) -> Self {
        Self::closed(prefix, 0x00)
    }

    /// After every row whose clustering begins with `prefix` (byte-comparable, whole components).
    pub fn after(prefix: &[u8]) -> Self {
        Self::closed(prefix, 0xff)
    }

    fn closed(prefix: &[u8], last: u8) -> Self {
        // Nearly all are short enough to need no allocation.
        let mut short = [0; 22];
        if let Some(bytes) = short.get_mut(..=prefix.len()) {
            bytes[..prefix.len()].copy_from_slice(prefix);
            bytes[prefix.len()] = last;
            return Self(Bytes::new(bytes));
        }
        let mut bytes = Vec::with_capacity(prefix.len() + 1);
        bytes.extend_from_slice(prefix);
        bytes.push(last);
        Self(Bytes::from(bytes))
    }

    /// Before all rows of the partition.
    pub fn bottom() -> Self {
        Self::before(&[])
    }

    /// After all rows of the partition.
    pub fn top() -> Self {
        Self::after(&[])
    }

    /// From bytes as [`Bound::as_bytes`] gave them; `None` if they do not end in 0x00 or 0xff.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        matches!(bytes.last(), Some(0x00 | 0xff)).then(|| Self(Bytes::new(bytes)))
    }

    /// How this bound stands to a row, given by its byte-comparable clustering: never equal. (A plain comparison
    /// of bytes will not do: `prefix 00` is longer, hence greater, than a row that is just `prefix`.)
    #[inline]
    pub fn cmp_row(&self, row: &[u8]) -> Ordering {
        let prefix = self.prefix();
        // Most pairs differ in their first eight bytes, which are compared as one number.
        if let (Some(own), Some(other)) = (prefix.first_chunk::<8>(), row.first_chunk::<8>())
            && own != other
        {
            return u64::from_be_bytes(*own).cmp(&u64::from_be_bytes(*other));
        }
        match row.len() >= prefix.len() && row[..prefix.len()] == *prefix {
            true if self.is_after() => Ordering::Greater,
            true => Ordering::Less,
            false => prefix.cmp(row),
        }
    }

    /// The bytes to compare with other bounds: the prefix and 0x00 or 0xff.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The prefix, in whole components.
    #[inline]
    pub fn prefix(&self) -> &[u8] {
        &self.0[..self.0.len() - 1]
    }

    /// Stands after what begins with the prefix (else before it).
    #[inline]
    pub fn is_after(&self) -> bool {
        self.0.last() == Some(&0xff)
    }
}

/// A contiguous range of rows of one partition, from one bound to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusteringRange {
    /// Where it begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
}

impl ClusteringRange {
    /// All rows.
    pub fn all() -> Self {
        Self { start: Bound::bottom(), end: Bound::top() }
    }

    /// The rows that begin with `prefix` (byte-comparable, whole components).
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { start: Bound::before(prefix), end: Bound::after(prefix) }
    }

    /// No row can be in it.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Whether a row stands in it, by its byte-comparable clustering.
    #[inline]
    pub fn contains(&self, order: &[u8]) -> bool {
        self.start.cmp_row(order) == Ordering::Less && self.end.cmp_row(order) == Ordering::Greater
    }

    /// The part that both have.
    pub fn intersect(&self, other: &Self) -> Self {
        Self { start: (&self.start).max(&other.start).clone(), end: (&self.end).min(&other.end).clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_stand_around_all_that_has_their_prefix() {
        let (before, after) = (Bound::before(&[0x40, 7]), Bound::after(&[0x40, 7]));
        for row in [&[0x40, 7][..], &[0x40, 7, 0x40, 0], &[0x40, 7, 0xfe, 9]] {
            assert_eq!((before.cmp_row(row), after.cmp_row(row)), (Ordering::Less, Ordering::Greater));
        }
        assert_eq!(before.cmp_row(&[0x40, 6, 0xfe]), Ordering::Greater);
        assert_eq!(after.cmp_row(&[0x40, 8]), Ordering::Less);
        assert!(Bound::bottom() < before && before < after && after < Bound::top());
    }

    #[test]
    fn a_range_contains_by_bytes() {
        let range = ClusteringRange { start: Bound::after(&[5, 1]), end: Bound::after(&[5, 3]) };
        assert!(!range.contains(&[5, 1]) && range.contains(&[5, 2]) && range.contains(&[5, 3]));
        assert!(!range.contains(&[5, 4]));
        assert!(ClusteringRange { start: Bound::after(&[5, 3]), end: Bound::after(&[5, 1]) }.is_empty());
    }
}
