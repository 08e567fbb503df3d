//! Batches filled row by row, for rows that several sources had a part in.
//!
//! [`PartitionHead`] is what all batches of a partition share: its key's values and static columns. [`BatchBuilder`] takes resolved
//! rows; [`lanes`](crate::read::lanes) is the way around it for rows that can be handed out as they stand in a block.

use crate::encoding::key::{each_value, partition_wires};
use crate::encoding::order::long_component;
use crate::encoding::plain::{PlainCell, PlainRow};
use crate::encoding::plain_run::PlainRun;
use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::key::DecoratedKey;
use crate::model::life::Liveness;
use crate::model::row::Row;
use crate::model::schema::{Column as SchemaColumn, ColumnKind, Order, TableSchema};
use crate::model::types::CqlType;
use crate::read::batch::{Batch, Last};
use crate::read::column::{Column, Rows, Values};
use crate::read::column_builder::ColumnBuilder;
use crate::read::lanes::{LaneMap, LaneOf, lives_of};
use crate::read::query::Projection;
use crate::read::source::Run;
use std::sync::Arc;

/// What all rows of a partition have in common.
#[derive(Debug)]
pub(crate) struct PartitionHead {
    pub(crate) columns: Arc<Projection>,
    pub(crate) key: DecoratedKey,
    key_values: Vec<Bytes>,
    statics: Option<Row>,
    pub(crate) now: i64,
}

impl PartitionHead {
    /// Of partition `key` with the resolved static row `statics`, for a reader at second `now`.
    pub(crate) fn new(
        columns: &Arc<Projection>,
        key: DecoratedKey,
        statics: Option<Row>,
        now: i64,
    ) -> Result<Self> {
        let key_values = partition_wires(columns.schema(), &key.key)?;
        Ok(Self { columns: columns.clone(), key, key_values, statics, now })
    }

    /// The columns of the key and the static ones for a batch of `rows` rows; for the others what `other` makes, given the
    /// column's position in the result and, for clustering columns, its number.
    pub(crate) fn columns_with(
        &self,
        rows: usize,
        mut other: impl FnMut(usize, Option<usize>) -> Result<Column>,
    ) -> Result<Vec<Column>> {
        let keys = self.columns.schema().partition_key().len();
        let mut columns = Vec::with_capacity(self.columns.len());
        for (at, column) in self.columns.columns().enumerate() {
            let index = self.columns.schema_index(at);
            columns.push(match column.kind {
                ColumnKind::PartitionKey => {
                    let value = self.key_values.get(index).cloned();
                    Column::new(&column.ty, value.map_or(Values::Null, Values::One), None)
                }
                ColumnKind::Clustering(_) => other(at, Some(index - keys))?,
                ColumnKind::Regular => other(at, None)?,
                ColumnKind::Static => self.static_column(at, rows),
            });
        }
        Ok(columns)
    }

    fn static_column(&self, at: usize, rows: usize) -> Column {
        let column = self.columns.columns().nth(at);
        let Some((column, row)) = column.zip(self.statics.as_ref()) else {
            let ty = column.map_or(&CqlType::Blob, |column| &column.ty);
            return Column::new(ty, Values::Null, None);
        };
        let with_lives = |life: Option<Liveness>| self.columns.lives().then(|| vec![life; rows]);
        if let Some(complex) = row.complex(column.id) {
            let life = complex.cells.iter().map(|(_, cell)| cell.life()).max_by_key(|life| life.timestamp);
            let values = Values::Complex(vec![complex.cells.clone(); rows]);
            return Column::new(&column.ty, values, with_lives(life));
        }
        match row.cell(column.id) {
            Some(Cell { value: Some(value), .. }) => {
                let life = row.cell(column.id).map(Cell::life);
                Column::new(&column.ty, Values::One(value.clone()), with_lives(life))
            }
            _ => Column::new(&column.ty, Values::Null, with_lives(None)),
        }
    }

    /// The one row of a partition that has static columns alone: its clustering and regular columns are null.
    pub(crate) fn static_only(&self) -> Result<Batch> {
        let null = |at: usize, _| {
            let ty = self.columns.column(at).map_or(&CqlType::Blob, |column| &column.ty);
            Ok(Column::new(ty, Values::Null, None))
        };
        Ok(Batch::new(self, self.columns_with(1, null)?, 1, Last::Place(Clustering::EMPTY)))
    }

    /// Whether the partition has a static row that is seen.
    pub(crate) fn has_statics(&self) -> bool {
        self.statics.is_some()
    }
}

/// Types and directions (true: DESC) of the clustering columns.
pub(crate) fn clustering_types(schema: &TableSchema) -> impl Iterator<Item = (&CqlType, bool)> {
    schema.clustering().iter().map(|column| (&column.ty, column.kind == ColumnKind::Clustering(Order::Desc)))
}

fn push_null(column: Option<&mut ColumnBuilder>) {
    match column {
        Some(column) if column.is_complex() => column.push_complex(Vec::new()),
        Some(column) => column.push(None, None),
        None => {}
    }
}

/// Appends nulls until there are `rows` rows.
fn pad(column: &mut ColumnBuilder, rows: usize) {
    while column.len() < rows {
        push_null(Some(column));
    }
}

/// A batch being filled.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    head: Arc<PartitionHead>,
    /// A builder for each column of the result that differs from row to row, by its position.
    columns: Vec<Option<ColumnBuilder>>,
    /// Position of each clustering column in the result.
    clusterings: Vec<Option<usize>>,
    wants_clustering: bool,
    rows: usize,
    last: Last,
}

impl BatchBuilder {
    pub(crate) fn new(head: &Arc<PartitionHead>) -> Self {
        let projection = &head.columns;
        let keys = projection.schema().partition_key().len();
        let mut clusterings = vec![None; projection.schema().clustering().len()];
        let builder = |(at, column): (usize, &SchemaColumn)| match column.kind {
            ColumnKind::PartitionKey | ColumnKind::Static => None,
            ColumnKind::Regular => Some(ColumnBuilder::new(&column.ty, projection.lives())),
            ColumnKind::Clustering(_) => {
                clusterings[projection.schema_index(at) - keys] = Some(at);
                Some(ColumnBuilder::new(&column.ty, false))
            }
        };
        let columns = projection.columns().enumerate().map(builder).collect();
        let wants_clustering = clusterings.iter().any(Option::is_some);
        Self {
            head: head.clone(),
            columns,
            clusterings,
            wants_clustering,
            rows: 0,
            last: Last::Place(Clustering::EMPTY),
        }
    }

    /// Number of rows so far.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Appends the values of a row's clustering columns.
    #[inline]
    fn push_clustering(&mut self, clustering: &Clustering) -> Result<()> {
        if !self.wants_clustering {
            return Ok(());
        }
        let Self { head, columns, clusterings, .. } = self;
        if let ([Some(at)], [column]) = (clusterings.as_slice(), head.columns.schema().clustering())
            && clustering.raw().is_none()
            && let descending = column.kind == ColumnKind::Clustering(Order::Desc)
            && let Some(number) = long_component(clustering.order(), &column.ty, descending)
            && let Some(lane) = columns[*at].as_mut()
        {
            lane.push_long(number);
            return Ok(());
        }
        let mut places = clusterings.iter();
        each_value(clustering, clustering_types(head.columns.schema()), |wire| {
            let at = places.next().copied().flatten();
            if let Some(column) = at.and_then(|at| columns[at].as_mut()) {
                column.push(Some(wire), None);
            }
            Ok(())
        })
    }

    /// Makes room for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.columns.iter_mut().flatten().for_each(|column| column.reserve(rows));
    }

    /// Appends plain rows that are seen at second `now`, dead cells as nulls. Returns how many of their cells live and
    /// how many do not.
    ///
    /// # Errors
    /// `Corrupt` if one cannot be decoded or its clustering is not of this table.
    pub(crate) fn push_plain(&mut self, rows: &[PlainRow<'_>], now: i64) -> Result<(u64, u64)> {
        for row in rows {
            self.push_clustering(&Clustering::new(Bytes::new(row.clustering)))?;
        }
        let (mut live, mut dead) = (0, 0);
        let (before, regulars) = (self.rows, self.head.columns.regulars());
        let columns = &mut self.columns;
        let place =
            |id| regulars.binary_search_by_key(&id, |(column, _)| *column).ok().map(|i| regulars[i].1);
        let mut run = PlainRun::new(rows);
        while let Some(id) = run.column() {
            live += match place(id).and_then(|at| columns[at].as_mut()) {
                Some(column) => {
                    pad(column, before);
                    column.push_run(&mut run, rows)
                }
                None => run.take_wires(|_| true),
            } as u64;
        }
        for (i, (row, mut cells)) in rows.iter().zip(run.into_cells()).enumerate() {
            while let Some((id, cell)) = cells.next_cell()? {
                match &cell {
                    PlainCell::Other(cell) if !cell.is_live(now) => dead += 1,
                    _ => live += 1,
                }
                let Some(column) = place(id).and_then(|at| columns[at].as_mut()) else { continue };
                pad(column, before + i);
                match cell {
                    PlainCell::Eight(number) => column.push(Some(&number.to_be_bytes()), Some(row.life)),
                    PlainCell::Four(number) => column.push(Some(&number.to_be_bytes()), Some(row.life)),
                    PlainCell::Bytes(wire) => column.push(Some(wire), Some(row.life)),
                    PlainCell::Other(cell) if cell.is_live(now) => {
                        column.push(cell.value.as_deref(), Some(cell.life()));
                    }
                    PlainCell::Other(_) => column.push(None, None),
                }
            }
        }
        self.rows += rows.len();
        for &(_, at) in regulars {
            columns[at].as_mut().into_iter().for_each(|column| pad(column, self.rows));
        }
        if let Some(last) = rows.last() {
            self.last = Last::Place(Clustering::new(Bytes::new(last.clustering)));
        }
        Ok((live, dead))
    }

    /// Appends a resolved row.
    ///
    /// # Errors
    /// `Corrupt` if its clustering is not of this table.
    pub(crate) fn push(&mut self, mut row: Row) -> Result<()> {
        self.push_clustering(&row.clustering)?;
        let mut cells = row.cells.iter().peekable();
        for &(id, at) in self.head.columns.regulars() {
            let Some(column) = self.columns[at].as_mut() else { continue };
            while cells.next_if(|(other, _)| *other < id).is_some() {}
            if let Ok(i) = row.complex.binary_search_by_key(&id, |complex| complex.column) {
                column.push_complex(std::mem::take(&mut row.complex[i].cells));
                continue;
            }
            match cells.peek().filter(|(other, _)| *other == id) {
                Some((_, cell)) => column.push(cell.value.as_deref(), Some(cell.life())),
                None => push_null(Some(column)),
            }
        }
        self.rows += 1;
        self.last = Last::Place(row.clustering);
        Ok(())
    }

    /// Appends the rows of a run, all of which are seen ([`live_cells`](crate::read::lanes::live_cells)), column by column.
    ///
    /// # Errors
    /// `Corrupt` if a lane is damaged.
    pub(crate) fn push_run(&mut self, run: &Run, lanes: &LaneMap, reverse: bool) -> Result<()> {
        let (block, count) = (&run.block, run.items.len());
        let Some(end) = run.items.end.checked_sub(1).filter(|_| count > 0) else { return Ok(()) };
        let items = Rows { first: if reverse { end } else { run.items.start }, backward: reverse };
        let rows = Rows { first: block.number(items.first), backward: reverse };
        let lives = self.head.columns.lives();
        for (at, column) in self.columns.iter_mut().enumerate() {
            let Some(column) = column else { continue };
            match lanes.lane(at) {
                LaneOf::Clustering(k) => column.extend_places(block.place(k)?, items, count),
                LaneOf::Slot(slot) => {
                    let data = block.column(slot)?;
                    let lives = if lives { Some(lives_of(block, data, items, rows, count)?) } else { None };
                    column.extend_rows(data, rows, count, lives);
                }
                LaneOf::Head | LaneOf::Absent => (0..count).for_each(|_| push_null(Some(column))),
            }
        }
        self.rows += count;
        self.last = Last::Item(Arc::clone(block), items.at(count - 1));
        Ok(())
    }

    /// The batch, if it has rows.
    pub(crate) fn finish(mut self) -> Result<Option<Batch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let columns = self.head.columns_with(self.rows, |at, _| {
            let column = self.columns.get_mut(at).and_then(Option::take).map(ColumnBuilder::finish);
            let ty = self.head.columns.column(at).map_or(&CqlType::Blob, |column| &column.ty);
            Ok(column.unwrap_or_else(|| Column::new(ty, Values::Null, None)))
        })?;
        Ok(Some(Batch::new(&self.head, columns, self.rows, self.last)))
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;
