//! The rows that a write changes, before and after it.
//!
//! A deletion of a range or partition changes all rows that were in it; a row that is written is changed even if what is there wins.

use crate::error::Result;
use crate::mutation::{Change, PartitionWrites};
use skep_engine::TableSnapshot;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::fragment::Fragment;
use skep_engine::model::life::Deletion;
use skep_engine::model::reconcile::{drop_column, merge_deletion, merge_rows, shadow};
use skep_engine::model::row::Row;
use std::collections::BTreeSet;

/// Gives each row of a partition that `part` changes to `take`: as it is stored before (`table`), and as it will be stored. Both hold what is
/// deleted and has expired too.
///
/// # Errors
/// What reading fails with, and what `take` does.
pub fn each_changed(
    table: &TableSnapshot,
    part: &PartitionWrites,
    take: &mut dyn FnMut(&Row, &Row) -> Result<()>,
) -> Result<()> {
    let mut places = BTreeSet::new();
    for change in &part.changes {
        match change {
            Change::Row(row) => {
                places.insert(row.clustering.clone());
            }
            Change::Range(range, _) => places_in(table, &part.key, range, &mut places)?,
            Change::Partition(_) => places_in(table, &part.key, &ClusteringRange::all(), &mut places)?,
            Change::Static(_) => {}
        }
    }
    for place in places {
        let (before, hidden) = stored(table, &part.key, &place)?;
        let after = changed(&before, hidden, &part.changes);
        take(&before, &after)?;
    }
    Ok(())
}

fn places_in(
    table: &TableSnapshot,
    key: &Bytes,
    range: &ClusteringRange,
    places: &mut BTreeSet<Clustering>,
) -> Result<()> {
    for item in table.fragments(key, range)? {
        if let Fragment::Row(row) = item? {
            places.insert(row.clustering);
        }
    }
    Ok(())
}

/// A row as it is stored, with the strongest deletion of its partition or of a range over it.
///
/// # Errors
/// What reading fails with.
pub fn stored(table: &TableSnapshot, key: &Bytes, place: &Clustering) -> Result<(Row, Option<Deletion>)> {
    let mut row = Row::new(place.clone());
    let mut hidden = None;
    for candidate in table.candidates(key, Some(place))? {
        hidden =
            merge_deletion(hidden, merge_deletion(candidate.partition_deletion, candidate.range_deletion));
        if let Some(version) = candidate.row {
            row = merge_rows(row, version);
        }
    }
    for dropped in table.schema().dropped() {
        drop_column(&mut row, dropped.column.id, dropped.timestamp);
    }
    shadow(&mut row, hidden);
    Ok((row, hidden))
}

/// The row after `changes`; `hidden` is the deletion that reaches it from outside of it.
fn changed(before: &Row, mut hidden: Option<Deletion>, changes: &[Change]) -> Row {
    let mut row = before.clone();
    for change in changes {
        match change {
            Change::Row(written) if written.clustering == row.clustering => {
                row = merge_rows(row, written.clone());
            }
            Change::Range(range, deletion) if range.contains(row.clustering.order()) => {
                hidden = merge_deletion(hidden, Some(*deletion));
            }
            Change::Partition(deletion) => hidden = merge_deletion(hidden, Some(*deletion)),
            _ => {}
        }
    }
    shadow(&mut row, hidden);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_engine::model::cell::{Cell, ColumnId};
    use skep_engine::model::clustering::Bound;
    use skep_engine::model::life::Liveness;

    fn row(at: u8, timestamp: i64) -> Row {
        let mut row = Row::new(Clustering::new(Bytes::new(&[at])));
        row.liveness = Some(Liveness::new(timestamp));
        row.cells = vec![(ColumnId(2), Cell::live(Liveness::new(timestamp), Bytes::new(&[at])))];
        row
    }

    #[test]
    fn a_write_below_a_deletion_changes_nothing_and_one_above_brings_the_row() {
        let empty = Row::new(Clustering::new(Bytes::new(&[1])));
        let deleted = Some(Deletion::new(5, 0));
        assert!(changed(&empty, deleted, &[Change::Row(row(1, 5))]).is_empty());
        assert_eq!(changed(&empty, deleted, &[Change::Row(row(1, 6))]), row(1, 6));
        assert!(changed(&empty, None, &[Change::Row(row(2, 6))]).is_empty(), "another row");
    }

    #[test]
    fn deletions_of_the_same_write_count_whatever_their_order() {
        let range = ClusteringRange { start: Bound::before(&[1]), end: Bound::after(&[1]) };
        let gone = Change::Range(range, Deletion::new(7, 0));
        let changes = [gone, Change::Row(row(1, 7))];
        assert!(changed(&row(1, 3), None, &changes).is_empty(), "of one time the deletion wins");
        assert!(changed(&row(1, 8), None, &[Change::Partition(Deletion::new(7, 0))]).liveness.is_some());
    }
}
