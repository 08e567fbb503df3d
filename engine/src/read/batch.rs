//! What reads return: up to 1024 rows of one partition, column by column; and [`Row`], a handle on one of them.
//!
//! A [`Batch`] is immutable and shared: a row is a reference count and a number, and stays valid for as long as it is held,
//! whatever becomes of the files. Whoever works on many rows takes [`Batch::column`] and its slices of numbers; whoever works on one
//! takes [`Row::get`].

use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::key::DecoratedKey;
use crate::model::life::Liveness;
use crate::model::schema::ColumnKind;
use crate::model::value::Value;
use crate::read::builder::PartitionHead;
use crate::read::column::{CellRef, Column};
use crate::read::get::{FromCell, value_of, wire_of};
use crate::read::query::Projection;
use crate::sstable::block::decoded::DecodedBlock;
use std::fmt;
use std::sync::Arc;

/// The most rows of a batch.
pub const BATCH_ROWS: usize = 1024;

/// Where a batch's last row stands: only the next page needs to know it.
#[derive(Clone, Debug)]
pub(crate) enum Last {
    /// Its clustering; empty for a row of static columns alone.
    Place(Clustering),
    /// It is this item of a block.
    Item(Arc<DecodedBlock>, usize),
}

/// Rows of one partition.
#[derive(Clone, Debug)]
pub struct Batch {
    columns: Arc<Projection>,
    key: DecoratedKey,
    values: Vec<Column>,
    rows: usize,
    last: Last,
    now: i64,
}

impl Batch {
    /// A batch of `rows` rows, the last of which stands at `last`.
    pub(crate) fn new(head: &PartitionHead, values: Vec<Column>, rows: usize, last: Last) -> Self {
        Self { columns: head.columns.clone(), key: head.key.clone(), values, rows, last, now: head.now }
    }

    /// The batch of one row of partition `key`, which stands at `last`.
    #[inline]
    pub(crate) fn of_row(
        columns: &Arc<Projection>,
        key: &DecoratedKey,
        values: Vec<Column>,
        last: Clustering,
        now: i64,
    ) -> Self {
        Self { columns: Arc::clone(columns), key: key.clone(), values, rows: 1, last: Last::Place(last), now }
    }

    /// Number of rows, at least one.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row; reads return no such batch.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The columns that were asked for.
    pub fn columns(&self) -> &Arc<Projection> {
        &self.columns
    }

    /// The partition.
    pub fn key(&self) -> &DecoratedKey {
        &self.key
    }

    /// Column `i` of the result.
    pub fn column(&self, i: usize) -> Option<&Column> {
        self.values.get(i)
    }

    /// A column by name.
    pub fn column_by_name(&self, name: &str) -> Option<&Column> {
        self.values.get(self.columns.position(name)?)
    }

    /// The value of column `column` in row `row`; null where there is none.
    #[inline]
    pub fn cell(&self, column: usize, row: usize) -> CellRef<'_> {
        match self.values.get(column) {
            Some(values) if row < self.rows => values.cell(row),
            _ => CellRef::Null,
        }
    }

    /// Handles on all rows, in order.
    pub fn rows(self: &Arc<Self>) -> impl ExactSizeIterator<Item = Row> + DoubleEndedIterator {
        let batch = self.clone();
        (0..self.rows).map(move |index| Row { batch: batch.clone(), index })
    }

    /// The rows, borrowed: nothing is counted for each, so this is the fastest way over rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> + DoubleEndedIterator {
        (0..self.rows).map(move |index| RowRef { batch: self, index })
    }

    /// The wire form of a value, `None` for null.
    ///
    /// # Errors
    /// `Corrupt` if stored bytes are no value of the column's type.
    pub fn wire(&self, column: usize, row: usize) -> Result<Option<Bytes>> {
        match self.values.get(column) {
            Some(values) => wire_of(self.cell(column, row), values.ty()),
            None => Ok(None),
        }
    }

    /// Whether it was handed out as it stands in a block.
    pub(crate) fn is_of_block(&self) -> bool {
        self.values.iter().any(Column::is_of_block)
    }

    /// The clustering of the last row; empty for a row of static columns alone.
    ///
    /// # Errors
    /// `Corrupt` if the block that it is in has a damaged clustering.
    pub(crate) fn last(&self) -> Result<Clustering> {
        match &self.last {
            Last::Place(place) => Ok(place.clone()),
            Last::Item(block, item) => block.clustering(*item),
        }
    }
}

/// One row of a result. Cheap to clone.
#[derive(Clone)]
pub struct Row {
    batch: Arc<Batch>,
    index: usize,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// Names a column of a result: its name, or its place among the columns that were asked for.
pub trait ColumnIndex {
    /// The column's place.
    ///
    /// # Errors
    /// `NotFound` if the result has no such column.
    fn place(&self, columns: &Projection) -> Result<usize>;
}

impl ColumnIndex for usize {
    #[inline]
    fn place(&self, columns: &Projection) -> Result<usize> {
        if *self < columns.len() { Ok(*self) } else { Err(no_column(*self, columns)) }
    }
}

#[cold]
fn no_column(place: usize, columns: &Projection) -> Error {
    Error::not_found(format!("no column {place}: the result has {}", columns.len()))
}

impl ColumnIndex for &str {
    fn place(&self, columns: &Projection) -> Result<usize> {
        columns.position(self).ok_or_else(|| Error::not_found(format!("no column {self} in the result")))
    }
}

impl Row {
    /// Row `index` of `batch`; null everywhere if it has fewer.
    pub fn new(batch: &Arc<Batch>, index: usize) -> Self {
        Self { batch: batch.clone(), index }
    }

    /// The same row, borrowed.
    #[inline]
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef { batch: &self.batch, index: self.index }
    }

    /// The value of a column.
    ///
    /// # Errors
    /// `NotFound` without such a column; `Invalid` if its type is not `T`'s, or the value is null and `T` no `Option`.
    #[inline]
    pub fn get<'a, T: FromCell<'a>>(&'a self, column: impl ColumnIndex) -> Result<T> {
        self.as_ref().get(column)
    }

    /// The value of column `i`, `None` for null or without such a column.
    ///
    /// # Errors
    /// `Corrupt` if stored bytes are no value of the column's type.
    pub fn value(&self, i: usize) -> Result<Option<Value>> {
        self.as_ref().value(i)
    }

    /// Microsecond at which a column's value was written; `None` for null. Of a collection the latest of its elements'.
    ///
    /// # Errors
    /// `NotFound` without such a column; `Invalid` for a key column, or if the read did not ask for times
    /// ([`Projection::with_lives`]).
    pub fn writetime(&self, column: impl ColumnIndex) -> Result<Option<i64>> {
        self.as_ref().writetime(column)
    }

    /// Seconds that a column's value still lives; `None` for null and for what does not expire.
    ///
    /// # Errors
    /// As [`Row::writetime`].
    pub fn ttl(&self, column: impl ColumnIndex) -> Result<Option<i64>> {
        self.as_ref().ttl(column)
    }

    /// The batch that the row is in.
    pub fn batch(&self) -> &Arc<Batch> {
        &self.batch
    }

    /// The row's number in its batch.
    pub fn index(&self) -> usize {
        self.index
    }
}

/// A row of a batch, borrowed: what [`Batch::iter`] gives to those who look at each row once.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    batch: &'a Batch,
    index: usize,
}

impl<'a> RowRef<'a> {
    /// As [`Row::get`].
    ///
    /// # Errors
    /// As [`Row::get`].
    #[inline(always)] // a call costs more than the value, and what its neighbours look at need not be looked at again
    pub fn get<T: FromCell<'a>>(self, column: impl ColumnIndex) -> Result<T> {
        let place = column.place(&self.batch.columns)?;
        if self.index < self.batch.rows
            && let Some(value) = T::at_once(&self.batch.values[place], self.index)
        {
            return Ok(value);
        }
        self.get_cell(place)
    }

    /// The long way to a value: what is null, no number, or of another type.
    #[inline(never)]
    fn get_cell<T: FromCell<'a>>(self, place: usize) -> Result<T> {
        let ty = self.batch.values[place].ty();
        T::from_cell(self.batch.cell(place, self.index), ty).map_err(|error| self.name_column(error, place))
    }

    #[cold]
    fn name_column(self, error: Error, place: usize) -> Error {
        let name = self.batch.columns.column(place).map_or("?", |column| &column.name);
        Error::new(error.kind(), format!("column {name}: {}", error.message()))
    }

    /// As [`Row::value`].
    ///
    /// # Errors
    /// As [`Row::value`].
    pub fn value(self, i: usize) -> Result<Option<Value>> {
        match self.batch.values.get(i) {
            Some(values) => value_of(self.batch.cell(i, self.index), values.ty()),
            None => Ok(None),
        }
    }

    /// As [`Row::writetime`].
    ///
    /// # Errors
    /// As [`Row::writetime`].
    pub fn writetime(self, column: impl ColumnIndex) -> Result<Option<i64>> {
        Ok(self.life(column)?.map(|life| life.timestamp))
    }

    /// As [`Row::ttl`].
    ///
    /// # Errors
    /// As [`Row::writetime`].
    pub fn ttl(self, column: impl ColumnIndex) -> Result<Option<i64>> {
        let life = self.life(column)?.filter(Liveness::is_expiring);
        Ok(life.map(|life| life.expiry.saturating_sub(self.batch.now)))
    }

    fn life(self, column: impl ColumnIndex) -> Result<Option<Liveness>> {
        let place = column.place(&self.batch.columns)?;
        let kind = self.batch.columns.column(place).map(|column| (column.kind, &column.name));
        if let Some((ColumnKind::PartitionKey | ColumnKind::Clustering(_), name)) = kind {
            let text = format!("Cannot use selection function writetime or ttl on PRIMARY KEY part {name}");
            return Err(Error::invalid(text));
        }
        if !self.batch.columns.lives() {
            return Err(Error::invalid("this read did not ask for write times").hint("Select::with_lives"));
        }
        Ok(self.batch.values[place].life(self.index))
    }
}

impl fmt::Debug for RowRef<'_> {
    /// The columns with their values as CQL text: `Row {"ts": 2026-06-12 14:03:00.000Z, "temperature": 34.9}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Row ")?;
        let mut map = f.debug_map();
        for (i, column) in self.batch.columns.columns().enumerate() {
            match self.value(i) {
                Ok(Some(value)) => map.entry(&column.name, &format_args!("{value}")),
                Ok(None) => map.entry(&column.name, &format_args!("null")),
                Err(error) => map.entry(&column.name, &format_args!("<{error}>")),
            };
        }
        map.finish()
    }
}
