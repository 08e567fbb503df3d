//! Finding rows by an index: what the room that keeps the indexes offers to SELECT.
//!
//! A [`Finder`] names partitions, and rows in them, that may fulfil what an index is asked for; SELECT reads them and holds each row against the
//! whole filter, so that stale entries do no harm. Without a finder for an index, all partitions are read and filtered: slower, with the
//! same result.

use crate::catalog::TableInfo;
use crate::error::Result;
use crate::restrict::IndexUse;
use crate::restrict::index::Lookup;
use skep_engine::Snapshot;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::key::DecoratedKey;
use std::sync::Arc;

/// A partition with rows that an index names.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The partition.
    pub key: DecoratedKey,
    /// The rows; None: any of them.
    pub rows: Option<Vec<Clustering>>,
}

/// Partitions in the order of their tokens, each once.
pub type FoundRows = Box<dyn Iterator<Item = Result<Found>> + Send>;

/// Reads indexes.
pub trait Finder: Sync {
    /// The partitions that `index` of `table` names for `lookup`, from the partition `from` (included) on; None if this index cannot be read.
    ///
    /// # Errors
    /// What the store fails with.
    fn find(
        &self,
        snapshot: &Snapshot,
        table: &Arc<TableInfo>,
        index: &IndexUse,
        lookup: &Lookup,
        from: Option<&DecoratedKey>,
    ) -> Result<Option<FoundRows>>;
}

/// Reads no index.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIndexes;

impl Finder for NoIndexes {
    fn find(
        &self,
        _: &Snapshot,
        _: &Arc<TableInfo>,
        _: &IndexUse,
        _: &Lookup,
        _: Option<&DecoratedKey>,
    ) -> Result<Option<FoundRows>> {
        Ok(None)
    }
}

impl Found {
    /// Its rows among `ranges`.
    pub(crate) fn among(&self, ranges: &[ClusteringRange]) -> Vec<ClusteringRange> {
        let Some(rows) = &self.rows else { return ranges.to_vec() };
        let points = rows.iter().map(|row| ClusteringRange::prefix(row.order()));
        let within = points.flat_map(|point| {
            ranges.iter().map(move |range| point.intersect(range)).filter(|range| !range.is_empty())
        });
        within.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_engine::model::bytes::Bytes;
    use skep_engine::model::clustering::Bound;

    #[test]
    fn found_rows_outside_the_asked_ranges_are_left_out() {
        let row = |at: u8| Clustering::new(Bytes::new(&[0x80, at]));
        let range = ClusteringRange { start: Bound::after(&[0x80, 1]), end: Bound::top() };
        let found = Found { key: DecoratedKey::new(b"k"), rows: Some(vec![row(1), row(2)]) };
        assert_eq!(found.among(std::slice::from_ref(&range)), [ClusteringRange::prefix(&[0x80, 2])]);
        assert_eq!(Found { rows: None, ..found }.among(std::slice::from_ref(&range)), [range]);
    }
}
