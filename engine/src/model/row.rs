//! A row: clustering, liveness, deletion, cells.
//!
//! The same type stands for rows on their way into an SSTable, out of one, and through a merge. A static row is a
//! `Row` with an empty clustering.

use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::{Deletion, Liveness};

/// One row of a partition as one source knows it: versions, not yet what a reader sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Place in the partition; empty for the static row.
    pub clustering: Clustering,
    /// The marker that INSERT writes and UPDATE does not.
    pub liveness: Option<Liveness>,
    /// Deletion of the whole row.
    pub deletion: Option<Deletion>,
    /// Single-cell columns, by ascending id, each at most once.
    pub cells: Vec<(ColumnId, Cell)>,
    /// Non-frozen collections and user types, by ascending id, each at most once.
    pub complex: Vec<Complex>,
}

/// The cells of one non-frozen collection or user type in one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complex {
    /// Which column.
    pub column: ColumnId,
    /// Deletion of all older elements (a complex deletion).
    pub deletion: Option<Deletion>,
    /// Elements by ascending path, each path at most once: map key, set element, list cell id (timeuuid) or
    /// number of the user type's field (smallint), in the same byte-comparable form as a clustering of one column.
    pub cells: Vec<(Clustering, Cell)>,
}

impl Row {
    /// An empty row at `clustering`.
    pub fn new(clustering: Clustering) -> Self {
        Self { clustering, ..Self::default() }
    }

    /// Nothing in it: no liveness, deletion or cell.
    pub fn is_empty(&self) -> bool {
        self.liveness.is_none() && self.deletion.is_none() && self.cells.is_empty() && self.complex.is_empty()
    }

    /// The cell of a single-cell column.
    pub fn cell(&self, column: ColumnId) -> Option<&Cell> {
        self.cells.binary_search_by_key(&column, |(id, _)| *id).ok().map(|i| &self.cells[i].1)
    }

    /// The elements of a non-frozen column.
    pub fn complex(&self, column: ColumnId) -> Option<&Complex> {
        self.complex.binary_search_by_key(&column, |c| c.column).ok().map(|i| &self.complex[i])
    }

    /// Every cell, those of collections too.
    pub fn all_cells(&self) -> impl Iterator<Item = &Cell> {
        let elements = self.complex.iter().flat_map(|c| c.cells.iter().map(|(_, cell)| cell));
        self.cells.iter().map(|(_, cell)| cell).chain(elements)
    }
}
