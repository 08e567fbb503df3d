//! The cells of one column on their way into a block.
//!
//! The block builder hands in the cell of each row that has one, or runs of cells of a decoded column; gaps are filled late.
//! What states mean is explained in [`column`](mod@crate::sstable::block::column), which reads them.

use crate::error::Result;
use crate::model::cell::Cell;
use crate::model::life::{Deletion, Liveness};
use crate::model::row::Complex;
use crate::sstable::block::column::{ColumnData, OwnLives, state};
use crate::sstable::block::life::{expiry_residual, life_of, second_from, second_residual};
use crate::sstable::block::place::PlaceBuilder;
use crate::sstable::block::summary::Zone;
use crate::sstable::block::values::{SparseInts, Values};
use crate::sstable::layout::{DataColumn, LaneKind};

/// What a cell with a life of its own weighs, beside its bytes.
const OWN_WEIGHT: usize = 16;

/// Cells of one column on their way into a block.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    pub(crate) multicell: bool,
    /// Per row, or per element of a collection.
    pub(crate) states: SparseInts,
    pub(crate) values: Values,
    pub(crate) own: OwnLives,
    /// Elements per row.
    pub(crate) cells: SparseInts,
    pub(crate) paths: Option<PlaceBuilder>,
}

impl ColumnBuilder {
    pub(crate) fn new(column: &DataColumn) -> Self {
        Self {
            multicell: column.ty.is_multicell(),
            states: SparseInts::default(),
            values: Values::new(LaneKind::of(column.cell_type())),
            own: OwnLives::default(),
            cells: SparseInts::default(),
            paths: column.path_type().map(|ty| PlaceBuilder::new(ty, false)),
        }
    }

    /// Says that rows up to number `rows` (exclusive) without a cell so far have none.
    #[inline]
    pub(crate) fn pad(&mut self, rows: usize) {
        if self.multicell { self.cells.pad(rows, 0) } else { self.states.pad(rows, state::ABSENT) }
    }

    /// Whether no row has a cell here.
    pub(crate) fn is_absent(&self) -> bool {
        self.values.len() == 0 && self.own.ttls.is_empty() && !self.has_shared_empty()
    }

    fn has_shared_empty(&self) -> bool {
        self.states.nonzero().is_some_and(|states| states.contains(&state::EMPTY))
    }

    /// Appends the cell of the next row, whose life is `reference`, or the next element. Returns its weight.
    #[inline]
    pub(crate) fn push_cell(&mut self, cell: &Cell, reference: &Liveness, zone: &mut Zone) -> Result<usize> {
        zone.cells += 1;
        let Some(value) = &cell.value else {
            zone.cell_tombstones += 1;
            zone.note_deletion(Deletion::new(cell.timestamp, cell.local));
            self.states.push(state::TOMBSTONE);
            let second = second_residual(cell.timestamp, cell.local);
            self.own.push(cell.timestamp, cell.ttl, second, reference);
            return Ok(OWN_WEIGHT);
        };
        let bytes = if matches!(self.values, Values::Bytes(_)) { value.len() } else { 0 };
        let stored = self.values.push_wire(value)?;
        let shares = cell.timestamp == reference.timestamp
            && cell.ttl == reference.ttl
            && (cell.ttl == 0 || cell.local == reference.expiry);
        if shares {
            self.states.push(if stored { state::LIVE } else { state::EMPTY });
            return Ok(bytes);
        }
        zone.note_life(cell.timestamp, cell.ttl, cell.local);
        self.states.push(if stored { state::OWN } else { state::OWN_EMPTY });
        let second = expiry_residual(cell.timestamp, cell.ttl, cell.local);
        self.own.push(cell.timestamp, cell.ttl, second, reference);
        Ok(bytes + OWN_WEIGHT)
    }

    /// Appends the elements of the next row. Returns their weight.
    pub(crate) fn push_complex(
        &mut self,
        complex: &Complex,
        reference: &Liveness,
        zone: &mut Zone,
    ) -> Result<usize> {
        let mut weight = 0;
        self.cells.push((complex.cells.len() + usize::from(complex.deletion.is_some())) as i64);
        if let Some(deletion) = complex.deletion {
            zone.complex_tombstones += 1;
            zone.note_deletion(deletion);
            self.states.push(state::COMPLEX);
            let second = second_residual(deletion.timestamp, deletion.local);
            self.own.push(deletion.timestamp, 0, second, reference);
            self.paths.iter_mut().for_each(PlaceBuilder::push_zero);
            weight += OWN_WEIGHT;
        }
        for (path, cell) in &complex.cells {
            if let Some(paths) = &mut self.paths {
                weight += paths.push_path(path)?;
            }
            weight += self.push_cell(cell, reference, zone)?;
        }
        Ok(weight)
    }

    /// Appends the cells of rows `rows` of a decoded column. `references` are those rows' lives. Returns the weight.
    pub(crate) fn push_range(
        &mut self,
        from: &ColumnData,
        rows: std::ops::Range<usize>,
        reference: impl Fn(usize) -> Liveness,
        zone: &mut Zone,
    ) -> Result<usize> {
        if from.is_absent() {
            return Ok(0); // padded later
        }
        let mut weight = 0;
        let elements = match from.elements() {
            Some(elements) => {
                let starts = &elements.starts[rows.start..=rows.end];
                self.cells.extend(starts.windows(2).map(|pair| i64::from(pair[1] - pair[0])));
                let range = starts[0] as usize..starts[starts.len() - 1] as usize;
                if let Some(paths) = &mut self.paths {
                    weight += paths.extend_from(&elements.paths, range.clone())?;
                }
                range
            }
            None => rows.clone(),
        };
        match from.states() {
            None => self.states.pad(self.states.len() + elements.len(), state::LIVE),
            Some(states) => {
                self.states.extend(states[elements.clone()].iter().map(|&state| state.into()));
                self.push_own_lives(from, rows, reference, zone);
                let own = from.own_index(elements.start)..from.own_index(elements.end);
                weight += OWN_WEIGHT * own.len();
            }
        }
        let tallied = from.states().map_or(elements.len(), |states| {
            let other = [state::ABSENT as u8, state::COMPLEX as u8];
            states[elements.clone()].iter().filter(|state| !other.contains(state)).count()
        });
        zone.cells += tallied as u64;
        let values = from.value_index(elements.start)..from.value_index(elements.end);
        weight += self.values.extend_from(&from.values, values)?;
        Ok(weight)
    }

    /// Appends the value of row `row` of a dense column. Returns its weight.
    #[inline]
    pub(crate) fn push_value(&mut self, from: &ColumnData, row: usize, zone: &mut Zone) -> Result<usize> {
        zone.cells += 1;
        self.states.push(state::LIVE);
        self.values.extend_from(&from.values, row..row + 1)
    }

    fn push_own_lives(
        &mut self,
        from: &ColumnData,
        rows: std::ops::Range<usize>,
        reference: impl Fn(usize) -> Liveness,
        zone: &mut Zone,
    ) {
        for row in rows {
            let reference = reference(row);
            for element in from.element_range(row) {
                let Some(own) = from.own_life(element, reference.timestamp) else { continue };
                match from.state(element) {
                    state @ (state::TOMBSTONE | state::COMPLEX) => {
                        let tombstones = match state {
                            state::COMPLEX => &mut zone.complex_tombstones,
                            _ => &mut zone.cell_tombstones,
                        };
                        *tombstones += 1;
                        let local = second_from(own.timestamp, own.second);
                        zone.note_deletion(Deletion::new(own.timestamp, local));
                    }
                    _ => {
                        let life = life_of(own.timestamp, own.ttl, own.second);
                        zone.note_life(life.timestamp, life.ttl, life.expiry);
                    }
                }
                self.own.push(own.timestamp, own.ttl, own.second, &reference);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.values.clear();
        self.own = OwnLives::default();
        self.cells.clear();
        self.paths.iter_mut().for_each(PlaceBuilder::clear);
    }
}
