//! Reconciliation: its three laws, and each rule by an example.

use super::*;
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::life::NEVER;
use proptest::prelude::*;

fn live(timestamp: i64, value: u8) -> Cell {
    Cell::live(Liveness::new(timestamp), Bytes::new(&[value]))
}

fn expiring(timestamp: i64, ttl: i32, expiry: i64, value: u8) -> Cell {
    Cell::live(Liveness::expiring(timestamp, ttl, expiry), Bytes::new(&[value]))
}

/// `winner` wins whichever comes first.
fn wins(winner: &Cell, loser: &Cell) {
    assert_eq!(compare_cells(winner, loser), Ordering::Greater, "{winner:?} should beat {loser:?}");
    assert_eq!(compare_cells(loser, winner), Ordering::Less);
}

#[test]
fn cells_are_decided_by_timestamp_kind_expiry_and_value_in_this_order() {
    wins(&live(2, 0), &live(1, 9));
    wins(&live(2, 0), &Cell::tombstone(1, 9));
    wins(&live(1, 9), &live(1, 8));
    wins(&expiring(1, 5, 6, 0), &live(1, 9));
    wins(&Cell::tombstone(1, 0), &live(1, 9));
    wins(&Cell::tombstone(1, 0), &expiring(1, 5, 6, 9));
    wins(&expiring(1, 5, 7, 0), &expiring(1, 5, 6, 9));
    wins(&expiring(1, 5, 7, 0), &expiring(1, 6, 7, 9));
    wins(&expiring(1, 5, 7, 1), &expiring(1, 5, 7, 0));
    wins(&Cell::tombstone(1, 3), &Cell::tombstone(1, 2));
}

#[test]
fn an_expiring_marker_supersedes_a_plain_one_of_the_same_microsecond() {
    let (plain, expiring) = (Liveness::new(5), Liveness::expiring(5, 1, 6));
    assert_eq!(merge_liveness(Some(plain), Some(expiring)), Some(expiring));
    assert_eq!(merge_liveness(Some(expiring), Some(plain)), Some(expiring));
    assert_eq!(merge_liveness(Some(Liveness::new(6)), Some(expiring)), Some(Liveness::new(6)));
}

#[test]
fn a_row_deletion_hides_what_is_as_old_as_itself() {
    let mut old = Row::new(Clustering::EMPTY);
    old.liveness = Some(Liveness::new(5));
    old.cells = vec![(ColumnId(1), live(5, 1)), (ColumnId(2), live(6, 2))];
    let mut deleted = Row::new(Clustering::EMPTY);
    deleted.deletion = Some(Deletion::new(5, 1));
    let row = merge_rows(old, deleted);
    assert_eq!((row.liveness, row.cells.len(), row.deletion.is_some()), (None, 1, true));
}

#[test]
fn a_row_made_by_update_lives_as_long_as_a_cell_and_one_by_insert_as_its_marker() {
    let mut row = Row::new(Clustering::EMPTY);
    row.cells = vec![(ColumnId(1), expiring(1, 5, 6, 1))];
    assert!(resolve(row.clone(), 5).is_some() && resolve(row.clone(), 6).is_none());
    row.liveness = Some(Liveness::new(1));
    assert!(resolve(row, 6).is_some_and(|row| row.cells.is_empty()));
}

#[test]
fn cells_from_before_a_columns_drop_are_ignored_and_later_ones_stay() {
    let mut row = Row::new(Clustering::EMPTY);
    row.cells = vec![(ColumnId(1), live(5, 1)), (ColumnId(2), live(5, 2))];
    drop_column(&mut row, ColumnId(1), 5);
    drop_column(&mut row, ColumnId(2), 4);
    assert_eq!(row.cells.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [2]);
}

fn any_cell() -> impl Strategy<Value = Cell> {
    (0..3i64, 0..3u8, 0..3i64, 0..3u8).prop_map(|(timestamp, kind, n, value)| match kind {
        0 => live(timestamp, value),
        1 => expiring(timestamp, 1 + n as i32, 5 + n, value),
        _ => Cell::tombstone(timestamp, n),
    })
}

fn any_deletion() -> impl Strategy<Value = Option<Deletion>> {
    prop::option::of((0..3i64, 0..2i64).prop_map(|(t, l)| Deletion::new(t, l)))
}

fn any_row() -> impl Strategy<Value = Row> {
    let liveness = prop::option::of((0..3i64, 0..3i32).prop_map(|(timestamp, ttl)| Liveness {
        timestamp,
        ttl,
        expiry: if ttl == 0 { NEVER } else { 5 + i64::from(ttl) },
    }));
    let cells = prop::collection::btree_map(0..3u32, any_cell(), 0..3);
    let elements = prop::collection::btree_map(1..4u8, any_cell(), 0..3);
    (liveness, any_deletion(), cells, prop::option::of((any_deletion(), elements))).prop_map(
        |(liveness, deletion, cells, complex)| {
            let complex = complex.map(|(deletion, elements)| Complex {
                column: ColumnId(9),
                deletion,
                cells: elements.into_iter().map(|(p, c)| (Clustering::new(Bytes::new(&[p])), c)).collect(),
            });
            let row = Row {
                clustering: Clustering::EMPTY,
                liveness,
                deletion,
                cells: cells.into_iter().map(|(id, cell)| (ColumnId(id), cell)).collect(),
                complex: complex.into_iter().collect(),
            };
            normal(row)
        },
    )
}

/// Rows of a source never hold what their own deletions cover.
fn normal(row: Row) -> Row {
    merge_rows(row.clone(), row)
}

proptest! {
    #[test]
    fn merging_rows_is_commutative_associative_and_idempotent(a in any_row(), b in any_row(), c in any_row()) {
        let ab = merge_rows(a.clone(), b.clone());
        prop_assert_eq!(&ab, &merge_rows(b.clone(), a.clone()));
        prop_assert_eq!(merge_rows(ab.clone(), c.clone()), merge_rows(a.clone(), merge_rows(b, c)));
        prop_assert_eq!(merge_rows(ab.clone(), a), ab);
    }

    #[test]
    fn shadowing_commutes_with_merging(a in any_row(), b in any_row(), deletion in any_deletion()) {
        let mut late = merge_rows(a.clone(), b.clone());
        shadow(&mut late, deletion);
        let (mut a, mut b) = (a, b);
        shadow(&mut a, deletion);
        shadow(&mut b, deletion);
        let mut early = merge_rows(a, b);
        shadow(&mut early, deletion);
        prop_assert_eq!(early, late);
    }
}
