//! One column of a batch: values of all its rows, as numbers where the type is one.
//!
//! A [`Column`] either shares a decoded block's column (no value is copied), owns a lane that was filled row by row, or holds
//! one value for all rows (partition key, static columns). [`Column::cell`] gives a row's value as [`CellRef`], from which
//! [`FromCell`](crate::read::get::FromCell) makes what the caller wants.

use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::life::Liveness;
use crate::model::types::CqlType;
use crate::sstable::block::column::ColumnData;
use crate::sstable::block::place::PlaceLane;
use crate::sstable::block::values::Lane;
use crate::sstable::layout::LaneKind;
use std::sync::Arc;

/// A value as a batch holds it, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellRef<'a> {
    /// No value.
    Null,
    /// Of an integer type, date, time, timestamp or boolean.
    Int(i64),
    /// Of a double.
    Double(f64),
    /// Of a float.
    Float(f32),
    /// In wire serialisation: all other types, and the empty value of any.
    Bytes(&'a [u8]),
    /// Elements of a non-frozen collection or user type, by path; never none.
    Complex(&'a [(Clustering, Cell)]),
}

/// A column of a [`Batch`](crate::read::batch::Batch).
#[derive(Clone, Debug)]
pub struct Column {
    ty: CqlType,
    values: Values,
    lives: Option<Vec<Option<Liveness>>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// No row has a value.
    Null,
    /// All rows have this one (wire form).
    One(Bytes),
    /// A value for each row; those that are not valid are null.
    Owned { lane: Lane, valid: Option<Vec<bool>> },
    /// A value for each row, in wire form: where a lane of numbers would not do.
    Wires(Vec<Option<Bytes>>),
    /// A collection for each row, the empty one being null.
    Complex(Vec<Vec<(Clustering, Cell)>>),
    /// Rows of a block: row `i` of the batch is row `rows.at(i)` of the block's column.
    Block { column: Arc<ColumnData>, rows: Rows },
    /// Clustering values of a block: row `i` is item `items.at(i)`.
    Place { places: Arc<PlaceLane>, items: Rows },
}

/// Rows or items of a block in the order of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) first: usize,
    pub(crate) backward: bool,
}

impl Rows {
    /// The row or item that row `i` of the batch is; beyond all there are if the batch has no such row, and backward.
    #[inline]
    pub(crate) fn at(self, i: usize) -> usize {
        if self.backward { self.first.wrapping_sub(i) } else { self.first.wrapping_add(i) }
    }
}

impl Column {
    pub(crate) fn new(ty: &CqlType, values: Values, lives: Option<Vec<Option<Liveness>>>) -> Self {
        Self { ty: ty.clone(), values, lives }
    }

    /// The column's type.
    pub fn ty(&self) -> &CqlType {
        &self.ty
    }

    /// Whether its values are a block's.
    pub(crate) fn is_of_block(&self) -> bool {
        matches!(self.values, Values::Block { .. } | Values::Place { .. })
    }

    /// Whether no row has a value.
    pub fn is_null(&self) -> bool {
        matches!(self.values, Values::Null)
    }

    /// The value of row `i`; null beyond the batch's rows.
    #[inline]
    pub fn cell(&self, i: usize) -> CellRef<'_> {
        match &self.values {
            Values::Owned { lane, valid } => match valid {
                Some(valid) if !valid.get(i).copied().unwrap_or(false) => CellRef::Null,
                _ => lane_cell(lane, i),
            },
            Values::Block { column, rows } => column_cell(column, rows.at(i)),
            Values::Place { places, items } if places.is_empty_value(items.at(i)) => CellRef::Bytes(&[]),
            Values::Place { places, items } => lane_cell(places.values(), items.at(i)),
            Values::Null => CellRef::Null,
            Values::One(wire) => wire_cell(wire, &self.ty),
            Values::Wires(wires) => match wires.get(i) {
                Some(Some(wire)) => wire_cell(wire, &self.ty),
                _ => CellRef::Null,
            },
            Values::Complex(rows) => match rows.get(i) {
                Some(elements) if !elements.is_empty() => CellRef::Complex(elements),
                _ => CellRef::Null,
            },
        }
    }

    /// The value of row `i` as an integer, where every row has one in a lane of integers: the short way to it. `None` says
    /// nothing: [`Column::cell`] has to be asked.
    #[inline]
    pub(crate) fn int(&self, i: usize) -> Option<i64> {
        match self.in_lane(i)? {
            (Lane::Ints(_, values), at) => values.get(at).copied(),
            _ => None,
        }
    }

    /// The same for doubles.
    #[inline]
    pub(crate) fn double(&self, i: usize) -> Option<f64> {
        match self.in_lane(i)? {
            (Lane::Doubles(values), at) => values.get(at).copied(),
            _ => None,
        }
    }

    /// The same for single floats.
    #[inline]
    pub(crate) fn float(&self, i: usize) -> Option<f32> {
        match self.in_lane(i)? {
            (Lane::Floats(values), at) => values.get(at).copied(),
            _ => None,
        }
    }

    /// The lane of all values, if there is one without gaps, and where row `i`'s value is in it.
    #[inline(always)] // a call for each value costs more than all else
    fn in_lane(&self, i: usize) -> Option<(&Lane, usize)> {
        match &self.values {
            Values::Block { column, rows } if column.is_flat() => Some((column.values(), rows.at(i))),
            Values::Place { places, items } if places.has_no_empty_value() => {
                Some((places.values(), items.at(i)))
            }
            Values::Owned { lane, valid: None } => Some((lane, i)),
            _ => None,
        }
    }

    /// The values of the first `rows` rows as numbers without a gap: the numbers, and whether they stand in the reverse
    /// order of the rows. `None` if the column is not of integers (dates, times, booleans included) or has nulls.
    pub fn ints(&self, rows: usize) -> Option<(&[i64], bool)> {
        match self.slice(rows)? {
            (Lane::Ints(_, values), first, backward) => Some((values.get(first..first + rows)?, backward)),
            _ => None,
        }
    }

    /// The same for doubles.
    pub fn doubles(&self, rows: usize) -> Option<(&[f64], bool)> {
        match self.slice(rows)? {
            (Lane::Doubles(values), first, backward) => Some((values.get(first..first + rows)?, backward)),
            _ => None,
        }
    }

    /// The same for single floats.
    pub fn floats(&self, rows: usize) -> Option<(&[f32], bool)> {
        match self.slice(rows)? {
            (Lane::Floats(values), first, backward) => Some((values.get(first..first + rows)?, backward)),
            _ => None,
        }
    }

    fn slice(&self, rows: usize) -> Option<(&Lane, usize, bool)> {
        let within = |lane, at: Rows| match at.backward {
            true => Some((lane, (at.first + 1).checked_sub(rows)?, true)),
            false => Some((lane, at.first, false)),
        };
        match &self.values {
            Values::Owned { lane, valid: None } => Some((lane, 0, false)),
            Values::Block { column, rows: at } if column.is_dense() => within(column.values(), *at),
            Values::Place { places, items } if places.has_no_empty_value() => within(places.values(), *items),
            _ => None,
        }
    }

    /// When the value of row `i` was written and until when it lives, if the read asked for it and there is a value.
    pub fn life(&self, i: usize) -> Option<Liveness> {
        self.lives.as_ref()?.get(i).copied().flatten()
    }
}

#[inline]
fn lane_cell(lane: &Lane, i: usize) -> CellRef<'_> {
    match lane {
        Lane::Ints(_, values) => values.get(i).map_or(CellRef::Null, |&value| CellRef::Int(value)),
        Lane::Doubles(values) => values.get(i).map_or(CellRef::Null, |&value| CellRef::Double(value)),
        Lane::Floats(values) => values.get(i).map_or(CellRef::Null, |&value| CellRef::Float(value)),
        Lane::Bytes(values) if i < values.len() => CellRef::Bytes(values.get(i)),
        Lane::Bytes(_) => CellRef::Null,
    }
}

#[inline]
fn column_cell(column: &ColumnData, row: usize) -> CellRef<'_> {
    match column.value_of(row) {
        Some(value) => lane_cell(column.values(), value),
        None => CellRef::Null,
    }
}

#[inline]
fn wire_cell<'a>(wire: &'a [u8], ty: &CqlType) -> CellRef<'a> {
    let number = match LaneKind::of(ty) {
        LaneKind::Int(width) => width.parse(wire).map(CellRef::Int),
        LaneKind::Double => wire.try_into().ok().map(|wire| CellRef::Double(f64::from_be_bytes(wire))),
        LaneKind::Float => wire.try_into().ok().map(|wire| CellRef::Float(f32::from_be_bytes(wire))),
        LaneKind::Bytes => None,
    };
    number.unwrap_or(CellRef::Bytes(wire))
}
