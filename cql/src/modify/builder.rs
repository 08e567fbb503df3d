//! A row that the operations of one statement fill.
//!
//! Several operations may reach one cell (`SET m['a'] = 1, m['a'] = 2`): they have one timestamp, so that they tie, and the rules of
//! `model::reconcile` decide. An operation on a list sees what those before it in the statement did ([`RowBuilder::live_elements`]).

use crate::modify::times::Times;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::Clustering;
use skep_engine::model::life::Deletion;
use skep_engine::model::reconcile::{merge_cell, merge_complex, merge_deletion};
use skep_engine::model::row::{Complex, Row};

/// A row in the making.
#[derive(Debug)]
pub struct RowBuilder<'a> {
    row: Row,
    times: Times,
    /// The row as it is stored before the statement, for operations that read.
    stored: Option<&'a Row>,
    /// The second at which it is read.
    now: i64,
}

impl<'a> RowBuilder<'a> {
    /// An empty row at `clustering`, written with `times`; `stored` is what is there, as read at second `now`.
    pub fn new(clustering: Clustering, times: Times, stored: Option<&'a Row>, now: i64) -> Self {
        Self { row: Row::new(clustering), times, stored, now }
    }

    /// The finished row.
    pub fn finish(self) -> Row {
        self.row
    }

    /// The times of the statement.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Gives the row the marker of an INSERT.
    pub fn mark(&mut self) {
        self.row.liveness = Some(self.times.life());
    }

    /// Deletes the row.
    pub fn delete(&mut self) {
        self.row.deletion = Some(self.times.deletion());
    }

    /// Writes a column of one cell.
    pub fn set(&mut self, column: ColumnId, value: Bytes) {
        self.put(column, self.times.cell(value));
    }

    /// Deletes a column of one cell.
    pub fn unset(&mut self, column: ColumnId) {
        self.put(column, self.times.tombstone());
    }

    fn put(&mut self, column: ColumnId, cell: Cell) {
        match self.row.cells.binary_search_by_key(&column, |(id, _)| *id) {
            Ok(place) => merge_cell(&mut self.row.cells[place].1, cell),
            Err(place) => self.row.cells.insert(place, (column, cell)),
        }
    }

    /// Writes an element of a column of many.
    pub fn set_element(&mut self, column: ColumnId, path: Clustering, value: Bytes) {
        self.put_element(column, path, self.times.cell(value));
    }

    /// Deletes an element.
    pub fn unset_element(&mut self, column: ColumnId, path: Clustering) {
        self.put_element(column, path, self.times.tombstone());
    }

    fn put_element(&mut self, column: ColumnId, path: Clustering, cell: Cell) {
        let cells = &mut self.complex(column).cells;
        // Elements usually come in order.
        if cells.last().is_none_or(|(last, _)| *last < path) {
            return cells.push((path, cell));
        }
        match cells.binary_search_by(|(at, _)| at.cmp(&path)) {
            Ok(place) => merge_cell(&mut cells[place].1, cell),
            Err(place) => cells.insert(place, (path, cell)),
        }
    }

    /// Deletes all elements that are as old as the statement, or older.
    pub fn delete_elements(&mut self, column: ColumnId) {
        self.put_deletion(column, Some(self.times.deletion()));
    }

    /// Deletes all elements that are older than the statement: the first half of an overwrite.
    pub fn overwrite_elements(&mut self, column: ColumnId) {
        self.put_deletion(column, self.times.deletion_below());
    }

    fn put_deletion(&mut self, column: ColumnId, deletion: Option<Deletion>) {
        if deletion.is_some() {
            let complex = self.complex(column);
            complex.deletion = merge_deletion(complex.deletion, deletion);
        }
    }

    fn complex(&mut self, column: ColumnId) -> &mut Complex {
        let complex = &mut self.row.complex;
        let place = complex.binary_search_by_key(&column, |c| c.column).unwrap_or_else(|place| {
            complex.insert(place, Complex { column, ..Complex::default() });
            place
        });
        &mut self.row.complex[place]
    }

    /// The live elements of a column: stored ones, with what the statement has done so far.
    pub fn live_elements(&self, column: ColumnId) -> Vec<(Clustering, Cell)> {
        let stored = self.stored.and_then(|row| row.complex(column));
        let mut elements = stored.cloned().unwrap_or_default();
        if let Some(pending) = self.row.complex(column) {
            merge_complex(&mut elements, pending.clone());
        }
        elements.cells.retain(|(_, cell)| cell.is_live(self.now));
        elements.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMN: ColumnId = ColumnId(3);

    fn path(byte: u8) -> Clustering {
        Clustering::new(Bytes::new(&[byte]))
    }

    #[test]
    fn of_two_values_for_one_cell_the_greater_stays() {
        let mut row = RowBuilder::new(Clustering::EMPTY, Times::of_commit(0), None, 0);
        row.set_element(COLUMN, path(2), Bytes::new(&[7]));
        row.set_element(COLUMN, path(1), Bytes::new(&[1]));
        row.set_element(COLUMN, path(2), Bytes::new(&[5]));
        let row = row.finish();
        let values: Vec<_> = row.complex[0].cells.iter().map(|(_, cell)| cell.value.clone()).collect();
        assert_eq!(values, [Some(Bytes::new(&[1])), Some(Bytes::new(&[7]))]);
    }

    #[test]
    fn an_operation_sees_those_before_it() {
        let cell = Times::at(5, Some(0), 0).cell(Bytes::new(&[9]));
        let mut stored = Row::new(Clustering::EMPTY);
        let cells = vec![(path(1), cell.clone()), (path(2), cell)];
        stored.complex.push(Complex { column: COLUMN, deletion: None, cells });
        let mut row = RowBuilder::new(Clustering::EMPTY, Times::at(6, Some(0), 0), Some(&stored), 0);
        assert_eq!(row.live_elements(COLUMN).len(), 2);
        row.unset_element(COLUMN, path(1));
        let left = row.live_elements(COLUMN);
        assert_eq!((left.len(), &left[0].0), (1, &path(2)));
        // An older statement takes nothing away.
        let mut row = RowBuilder::new(Clustering::EMPTY, Times::at(4, Some(0), 0), Some(&stored), 0);
        row.unset_element(COLUMN, path(1));
        assert_eq!(row.live_elements(COLUMN).len(), 2);
    }
}
