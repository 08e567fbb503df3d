//! The one place where two versions of the same thing are compared.
//!
//! Reads, flushes, memtable inserts and compactions all call these functions, so that they cannot disagree. Each is
//! commutative, associative and idempotent (property-tested), hence the order in which sources are merged plays no
//! part. Whether an expiring cell has expired yet plays no part either: the winner never depends on the clock.
//!
//! The rules are Apache Cassandra 5.0's (`Cells.reconcile`, `LivenessInfo.supersedes`, `DeletionTime.supersedes`).

use crate::model::cell::{Cell, ColumnId};
use crate::model::life::{Deletion, Liveness, covered};
use crate::model::row::{Complex, Row};
use std::cmp::Ordering;

/// Which of two cells of one column (and path) wins: `Greater` if `a` does, `Equal` if they are the same.
///
/// 1. the higher write timestamp; 2. a tombstone or expiring cell before a plain one; of those a tombstone before an
///    expiring one; of two of a kind the later local time; then the smaller TTL; 3. the greater value by unsigned bytes.
#[inline]
pub fn compare_cells(a: &Cell, b: &Cell) -> Ordering {
    a.timestamp.cmp(&b.timestamp).then_with(|| compare_tied_cells(a, b))
}

fn compare_tied_cells(a: &Cell, b: &Cell) -> Ordering {
    // An expired cell whose value a compaction dropped still counts as expiring: it has a TTL, a tombstone has none.
    let rank = |cell: &Cell| match cell.is_expiring() {
        true => 1,
        false => 2 * i32::from(cell.is_tombstone()),
    };
    rank(a)
        .cmp(&rank(b))
        .then_with(|| a.local.cmp(&b.local))
        .then_with(|| b.ttl.cmp(&a.ttl))
        .then_with(|| a.value.as_deref().cmp(&b.value.as_deref()))
}

/// Keeps in `a` the winner of `a` and `b`.
#[inline]
pub fn merge_cell(a: &mut Cell, b: Cell) {
    if compare_cells(a, &b) == Ordering::Less {
        *a = b;
    }
}

/// Which of two row markers wins: the higher timestamp; then an expiring one; then the later expiry; then the smaller TTL.
pub fn compare_liveness(a: &Liveness, b: &Liveness) -> Ordering {
    let rank = |life: &Liveness| life.is_expiring();
    a.timestamp
        .cmp(&b.timestamp)
        .then_with(|| rank(a).cmp(&rank(b)))
        .then_with(|| a.expiry.cmp(&b.expiry))
        .then_with(|| b.ttl.cmp(&a.ttl))
}

/// The winner of two row markers, either of which may be missing.
pub fn merge_liveness(a: Option<Liveness>, b: Option<Liveness>) -> Option<Liveness> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if compare_liveness(&a, &b) == Ordering::Less { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The stronger of two deletions, either of which may be missing: the higher timestamp, then the later local time.
#[inline]
pub fn merge_deletion(a: Option<Deletion>, b: Option<Deletion>) -> Option<Deletion> {
    a.max(b) // `None` is less than any deletion, and deletions compare by timestamp, then local time
}

/// Merges two versions of one row. What the merged row deletion covers is dropped.
pub fn merge_rows(a: Row, b: Row) -> Row {
    let deletion = merge_deletion(a.deletion, b.deletion);
    let mut row = Row {
        clustering: a.clustering,
        liveness: merge_liveness(a.liveness, b.liveness),
        deletion,
        cells: merge_sorted(a.cells, b.cells, |x, y| x.0.cmp(&y.0), |x, y| merge_cell(&mut x.1, y.1)),
        complex: merge_sorted(a.complex, b.complex, |x, y| x.column.cmp(&y.column), merge_complex),
    };
    if deletion.is_some() {
        shadow_contents(&mut row, deletion);
    }
    row
}

/// Merges the elements of a collection; what the merged complex deletion covers is dropped.
pub fn merge_complex(a: &mut Complex, b: Complex) {
    a.deletion = merge_deletion(a.deletion, b.deletion);
    let cells = std::mem::take(&mut a.cells);
    a.cells = merge_sorted(cells, b.cells, |x, y| x.0.cmp(&y.0), |x, y| merge_cell(&mut x.1, y.1));
    let deletion = a.deletion;
    if deletion.is_some() {
        a.cells.retain(|(_, cell)| !covered(deletion, cell.timestamp));
    }
}

/// Drops from `row` what `deletion` (of the partition or a range) covers: liveness, cells, and deletions that it outranks.
pub fn shadow(row: &mut Row, deletion: Option<Deletion>) {
    if deletion.is_none() {
        return;
    }
    if row.deletion <= deletion {
        row.deletion = None;
    }
    shadow_contents(row, deletion);
}

/// Drops what `deletion` covers inside `row`; the row's own deletion stays.
fn shadow_contents(row: &mut Row, deletion: Option<Deletion>) {
    if row.liveness.is_some_and(|life| covered(deletion, life.timestamp)) {
        row.liveness = None;
    }
    row.cells.retain(|(_, cell)| !covered(deletion, cell.timestamp));
    row.complex.retain_mut(|complex| {
        if complex.deletion <= deletion {
            complex.deletion = None;
        }
        complex.cells.retain(|(_, cell)| !covered(deletion, cell.timestamp));
        complex.deletion.is_some() || !complex.cells.is_empty()
    });
}

/// Drops cells of a column that were written at or before the column's drop (`dropped_at`, micros).
pub fn drop_column(row: &mut Row, column: ColumnId, dropped_at: i64) {
    row.cells.retain(|(id, cell)| *id != column || cell.timestamp > dropped_at);
    row.complex.retain_mut(|complex| {
        if complex.column == column {
            complex.cells.retain(|(_, cell)| cell.timestamp > dropped_at);
            complex.deletion = complex.deletion.filter(|d| d.timestamp > dropped_at);
        }
        complex.deletion.is_some() || !complex.cells.is_empty()
    });
}

/// What a reader at second `now` sees of a merged row, or `None` if there is no row for it: expired and deleted cells go,
/// and the row exists while its marker or any cell is live. A static row is one with `is_static`, which has no marker.
pub fn resolve(mut row: Row, now: i64) -> Option<Row> {
    row.liveness = row.liveness.filter(|life| life.is_live(now));
    row.deletion = None;
    row.cells.retain(|(_, cell)| cell.is_live(now));
    row.complex.retain_mut(|complex| {
        complex.deletion = None;
        complex.cells.retain(|(_, cell)| cell.is_live(now));
        !complex.cells.is_empty()
    });
    (row.liveness.is_some() || !row.cells.is_empty() || !row.complex.is_empty()).then_some(row)
}

/// Merges two sorted lists; equal elements are combined.
fn merge_sorted<T>(
    mut a: Vec<T>,
    b: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    combine: impl Fn(&mut T, T),
) -> Vec<T> {
    if b.is_empty() {
        return a;
    }
    if a.is_empty() {
        return b;
    }
    // The usual case: both versions have the same columns.
    if a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| compare(x, y) == Ordering::Equal) {
        a.iter_mut().zip(b).for_each(|(x, y)| combine(x, y));
        return a;
    }
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => compare(x, y),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return merged,
        };
        match order {
            Ordering::Less => merged.extend(a.next()),
            Ordering::Greater => merged.extend(b.next()),
            Ordering::Equal => {
                let mut x = a.next().expect("peeked above");
                combine(&mut x, b.next().expect("peeked above"));
                merged.push(x);
            }
        }
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
