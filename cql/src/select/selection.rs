//! What a SELECT shows: its selectors over rows of the engine's batches, and over groups of them.
//!
//! `selector` knows what a selector means; here it meets rows. A [`Selection`] says which columns have to be read, and once it is told where
//! they stand ([`Selection::bind`]) gives the values of a row, or, through a [`Group`], of many rows together.

use crate::catalog::TableInfo;
use crate::error::Result;
use crate::function::Accumulator;
use crate::select::base::BaseRows;
use crate::select::totals::Total;
use crate::selector::{CellLife, RowValues, Selector, Uses};
use crate::syntax::ast::{Expr, Select};
use crate::term::{EvalContext, Preparing};
use crate::value::{ColumnSpec, Wire};
use skep_engine::encoding::path;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::Cell;
use skep_engine::model::clustering::Clustering;
use skep_engine::model::life::Liveness;
use skep_engine::read::column::CellRef;
use skep_engine::{Batch, BatchColumn, ColumnKind, CqlType, Projection, TableSchema};
use std::ops::Range;
use std::sync::Arc;

/// The place of a column that is not read.
const UNREAD: usize = usize::MAX;

/// The selectors of a SELECT.
#[derive(Debug)]
pub(crate) struct Selection {
    selectors: Vec<Selector>,
    /// The result's columns.
    specs: Vec<ColumnSpec>,
    uses: Uses,
    places: Places,
    /// Where the columns stand, if nothing but columns is selected.
    direct: Option<Vec<usize>>,
    plain: Option<Plain>,
    totals: Option<Vec<Total>>,
}

/// For each of the schema's columns, where it stands in what is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    of: Vec<usize>,
    types: Vec<CqlType>,
    names: Vec<String>,
}

/// Plain columns: what is read for them alone, and which of that each column of the result is.
#[derive(Debug)]
pub(crate) struct Plain {
    projection: Arc<Projection>,
    places: Vec<usize>,
}

impl Plain {
    /// What is read.
    pub(crate) fn projection(&self) -> &Arc<Projection> {
        &self.projection
    }

    /// For each column of the result, its place in that.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }
}

impl Places {
    fn new(schema: &TableSchema, columns: &Projection) -> Self {
        let place = |name: &str| columns.position(name).unwrap_or(UNREAD);
        Self {
            of: schema.columns().iter().map(|column| place(&column.name)).collect(),
            types: schema.columns().iter().map(|column| column.ty.clone()).collect(),
            names: schema.columns().iter().map(|column| column.name.clone()).collect(),
        }
    }
}

impl Selection {
    /// Holds the selectors against the table.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub(crate) fn prepare(select: &Select, table: &Arc<TableInfo>, cx: &mut Preparing<'_>) -> Result<Self> {
        let schema = &table.schema;
        let mut uses = Uses::default();
        let mut selectors = Vec::new();
        let mut specs = Vec::new();
        if select.selectors.is_empty() {
            let all =
                (0..schema.columns().len()).filter_map(|place| Selector::of_column(schema, place, &mut uses));
            selectors.extend(all);
            specs.extend(selectors.iter().map(|selector| selector.spec(schema)));
        }
        for (expr, alias) in &select.selectors {
            let selector = Selector::prepare(expr, schema, &mut uses, cx)?;
            let mut spec = selector.spec(schema);
            if let Some(alias) = alias {
                spec.name.clone_from(&alias.text);
            }
            specs.push(spec);
            selectors.push(selector);
        }
        if table.is_view() && !uses.lives.is_empty() {
            // They tell the base's row, whose lives are shown.
            let keys = schema
                .columns()
                .iter()
                .enumerate()
                .filter(|(_, column)| matches!(column.kind, ColumnKind::Clustering(_)));
            for (place, _) in keys {
                if !uses.columns.contains(&place) {
                    uses.columns.push(place);
                }
            }
        }
        let plain = plain(&selectors, schema)?;
        let totals = totals(&selectors, &uses, schema);
        Ok(Self { selectors, specs, uses, places: Places::default(), direct: None, plain, totals })
    }

    /// Whether there is an aggregate among them.
    pub(crate) fn is_aggregate(&self) -> bool {
        !self.uses.aggregates.is_empty()
    }

    /// Whether write times or TTLs are shown.
    pub(crate) fn reads_lives(&self) -> bool {
        !self.uses.lives.is_empty()
    }

    /// The columns that are needed, by their places in the schema's columns, in the order in which they are named.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        self.uses.columns.iter().chain(&self.uses.lives).copied()
    }

    /// Tells where the columns stand in what is read.
    pub(crate) fn bind(&mut self, schema: &TableSchema, columns: &Projection) {
        self.places = Places::new(schema, columns);
        let place = |selector: &Selector| self.places.of.get(selector.column()?).copied();
        self.direct = self.selectors.iter().map(place).collect();
    }

    /// The result's columns.
    pub(crate) fn specs(&self) -> &[ColumnSpec] {
        &self.specs
    }

    /// The columns, if nothing but columns is selected.
    pub(crate) fn plain(&self) -> Option<&Plain> {
        self.plain.as_ref()
    }

    /// The aggregates, if all of them are such as the engine can add up.
    pub(crate) fn totals(&self) -> Option<&[Total]> {
        self.totals.as_deref()
    }

    /// The values of a row.
    ///
    /// # Errors
    /// What reading or a function fails with.
    pub(crate) fn row(
        &self,
        batch: &Batch,
        row: usize,
        base: Option<&BaseRows>,
        cx: &EvalContext<'_>,
    ) -> Result<Vec<Wire>> {
        if let Some(places) = &self.direct {
            let mut values = Vec::with_capacity(places.len());
            for place in places {
                values.push(batch.wire(*place, row)?);
            }
            return Ok(values);
        }
        let row = BatchRow { batch, row, places: &self.places, aggregates: &[], now: seconds(cx), base };
        self.selectors.iter().map(|selector| selector.eval(&row, cx)).collect()
    }

    /// A group without rows.
    pub(crate) fn start(&self, base: Option<Arc<BaseRows>>) -> Group<'_> {
        let states = self.uses.aggregates.iter().filter_map(|aggregate| aggregate.function.start());
        Group { selection: self, states: states.collect(), first: None, base }
    }
}

/// The columns' places, if all selectors are columns.
fn plain(selectors: &[Selector], schema: &Arc<TableSchema>) -> Result<Option<Plain>> {
    let Some(columns) = selectors.iter().map(Selector::column).collect::<Option<Vec<usize>>>() else {
        return Ok(None);
    };
    let mut read: Vec<usize> = Vec::new();
    let mut places = Vec::with_capacity(columns.len());
    for column in columns {
        let place = read.iter().position(|other| *other == column).unwrap_or_else(|| {
            read.push(column);
            read.len() - 1
        });
        places.push(place);
    }
    let names: Vec<&str> = read
        .iter()
        .filter_map(|place| schema.columns().get(*place))
        .map(|column| column.name.as_str())
        .collect();
    Ok(Some(Plain { projection: Projection::of(schema, &names)?, places }))
}

/// The selectors as totals, if all are.
fn totals(selectors: &[Selector], uses: &Uses, schema: &TableSchema) -> Option<Vec<Total>> {
    let total = |selector: &Selector| {
        let aggregate = uses.aggregates.get(selector.aggregate()?)?;
        if aggregate.counts_rows() {
            return Some(Total::Rows);
        }
        let column = aggregate.column()?;
        let total = match aggregate.function.name.as_str() {
            "count" => Total::Values(column),
            "min" => Total::Extreme(column, false),
            "max" => Total::Extreme(column, true),
            "sum" => Total::Sum(column),
            "avg" => Total::Mean(column),
            _ => return None,
        };
        total.is_exact(&schema.columns().get(column)?.ty).then_some(total)
    };
    (!selectors.is_empty()).then(|| selectors.iter().map(total).collect::<Option<Vec<_>>>())?
}

/// Rows that are shown as one.
pub(crate) struct Group<'a> {
    selection: &'a Selection,
    states: Vec<Box<dyn Accumulator>>,
    /// The first row, from which everything comes that is no aggregate.
    first: Option<(Arc<Batch>, usize)>,
    base: Option<Arc<BaseRows>>,
}

impl Group<'_> {
    /// Takes rows of one batch.
    ///
    /// # Errors
    /// What reading or a function fails with.
    pub(crate) fn push(
        &mut self,
        batch: &Arc<Batch>,
        rows: Range<usize>,
        cx: &EvalContext<'_>,
    ) -> Result<()> {
        let selection = self.selection;
        for (aggregate, state) in selection.uses.aggregates.iter().zip(&mut self.states) {
            let place = aggregate.column().and_then(|column| selection.places.of.get(column));
            if let Some(column) = place.and_then(|place| batch.column(*place))
                && push_numbers(&mut **state, column, batch.len(), &rows)?
            {
                continue;
            }
            for row in rows.clone() {
                match place {
                    Some(place) => state.push(&[batch.wire(*place, row)?])?,
                    None if aggregate.counts_rows() => state.push(&[])?,
                    None => {
                        let places = &selection.places;
                        let (now, base) = (seconds(cx), self.base.as_deref());
                        let values = BatchRow { batch, row, places, aggregates: &[], now, base };
                        state.push(&aggregate.args(&values, cx)?)?;
                    }
                }
            }
        }
        self.first.get_or_insert_with(|| (Arc::clone(batch), rows.start));
        Ok(())
    }

    /// The values of the group; of one without rows, nulls and what aggregates have for none.
    ///
    /// # Errors
    /// What reading or a function fails with.
    pub(crate) fn finish(&mut self, cx: &EvalContext<'_>) -> Result<Vec<Wire>> {
        let results = self.states.iter().map(|state| state.finish()).collect::<Result<Vec<Wire>>>()?;
        let selectors = &self.selection.selectors;
        match &self.first {
            Some((batch, row)) => {
                let places = &self.selection.places;
                let (now, base) = (seconds(cx), self.base.as_deref());
                let row = BatchRow { batch, row: *row, places, aggregates: &results, now, base };
                selectors.iter().map(|selector| selector.eval(&row, cx)).collect()
            }
            None => {
                let row = NoRow { aggregates: &results };
                selectors.iter().map(|selector| selector.eval(&row, cx)).collect()
            }
        }
    }
}

/// Pushes rows of a column of numbers all at once; false if that cannot be.
fn push_numbers(
    state: &mut dyn Accumulator,
    column: &BatchColumn,
    all: usize,
    rows: &Range<usize>,
) -> Result<bool> {
    // What stands backward in its block has its last row first.
    let within = |backward: bool| match backward {
        true => all - rows.end..all - rows.start,
        false => rows.clone(),
    };
    if let Some((numbers, backward)) = column.ints(all) {
        return numbers.get(within(backward)).map_or(Ok(false), |numbers| state.push_ints(numbers));
    }
    if let Some((numbers, backward)) = column.doubles(all) {
        return numbers
            .get(within(backward))
            .map_or(Ok(false), |numbers| state.push_doubles(numbers, backward));
    }
    Ok(false)
}

/// A selector outside of what is shown: the function of GROUP BY.
#[derive(Debug)]
pub(crate) struct Output {
    selector: Selector,
    uses: Uses,
    places: Places,
}

impl Output {
    /// Holds `expr` against the table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn prepare(expr: &Expr, table: &TableInfo, cx: &mut Preparing<'_>) -> Result<Self> {
        let mut uses = Uses::default();
        let selector = Selector::prepare(expr, &table.schema, &mut uses, cx)?;
        Ok(Self { selector, uses, places: Places::default() })
    }

    /// The name of an aggregate in it.
    pub(crate) fn aggregate(&self) -> Option<&str> {
        self.uses.aggregates.first().map(|aggregate| aggregate.function.name.as_str())
    }

    /// Whether its values are in order where those of its column are: then equal ones stand together.
    pub(crate) fn is_monotone(&self) -> bool {
        self.selector.name().starts_with("system.floor(")
    }

    /// The columns that it needs.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        self.uses.columns.iter().chain(&self.uses.lives).copied()
    }

    /// Tells where the columns stand in what is read.
    pub(crate) fn bind(&mut self, schema: &TableSchema, columns: &Projection) {
        self.places = Places::new(schema, columns);
    }

    /// Its value for a row.
    ///
    /// # Errors
    /// What reading or a function fails with.
    pub(crate) fn value(&self, batch: &Batch, row: usize, cx: &EvalContext<'_>) -> Result<Wire> {
        let (now, base) = (seconds(cx), None);
        let row = BatchRow { batch, row, places: &self.places, aggregates: &[], now, base };
        self.selector.eval(&row, cx)
    }
}

fn seconds(cx: &EvalContext<'_>) -> i64 {
    cx.call.now_micros.div_euclid(1_000_000)
}

/// A row of a batch.
struct BatchRow<'a> {
    batch: &'a Batch,
    row: usize,
    places: &'a Places,
    aggregates: &'a [Wire],
    /// The statement's second.
    now: i64,
    /// What it is a row of a view of.
    base: Option<&'a BaseRows>,
}

impl RowValues for BatchRow<'_> {
    fn value(&self, column: usize) -> Result<Wire> {
        let place = self.places.of.get(column).copied().unwrap_or(UNREAD);
        Ok(self.batch.wire(place, self.row)?)
    }

    fn lives(&self, column: usize) -> Result<Vec<CellLife>> {
        let place = self.places.of.get(column).copied().unwrap_or(UNREAD);
        if let Some(base) = self.base {
            return self.base_lives(base, column);
        }
        if let CellRef::Complex(cells) = self.batch.cell(place, self.row) {
            return self.lives_of_many(cells, column);
        }
        let life = self.batch.column(place).and_then(|values| values.life(self.row));
        Ok(life.map(|life| self.life(Bytes::EMPTY, life)).into_iter().collect())
    }

    fn aggregate(&self, index: usize) -> Result<Wire> {
        Ok(self.aggregates.get(index).cloned().flatten())
    }
}

impl BatchRow<'_> {
    fn life(&self, key: Bytes, life: Liveness) -> CellLife {
        let left = |expiry: i64| i32::try_from(expiry.saturating_sub(self.now)).ok();
        let ttl = if life.is_expiring() { left(life.expiry) } else { None };
        CellLife { key, timestamp: life.timestamp, ttl }
    }

    fn lives_of_many(&self, cells: &[(Clustering, Cell)], column: usize) -> Result<Vec<CellLife>> {
        let ty = match self.places.types.get(column) {
            Some(CqlType::Set(key) | CqlType::Map(key, _)) => (**key).clone(),
            Some(CqlType::Udt(_)) => CqlType::Smallint,
            _ => CqlType::Timeuuid,
        };
        cells.iter().map(|(path, cell)| Ok(self.life(path::wire(path, &ty)?, cell.life()))).collect()
    }

    /// The lives in the row from which this one of a view was made.
    fn base_lives(&self, base: &BaseRows, column: usize) -> Result<Vec<CellLife>> {
        let place = |name: &str| {
            let column = self.places.names.iter().position(|known| known == name)?;
            self.places.of.get(column).copied()
        };
        let Some(row) = base.row(self.batch, self.row, place)? else { return Ok(Vec::new()) };
        let name = self.places.names.get(column);
        let Some(of_base) = name.and_then(|name| base.schema().column(name)) else { return Ok(Vec::new()) };
        match row.complex(of_base.id) {
            Some(complex) => self.lives_of_many(&complex.cells, column),
            None => Ok(row
                .cell(of_base.id)
                .map(|cell| self.life(Bytes::EMPTY, cell.life()))
                .into_iter()
                .collect()),
        }
    }
}

/// The row of a group without rows.
struct NoRow<'a> {
    aggregates: &'a [Wire],
}

impl RowValues for NoRow<'_> {
    fn value(&self, _: usize) -> Result<Wire> {
        Ok(None)
    }

    fn lives(&self, _: usize) -> Result<Vec<CellLife>> {
        Ok(Vec::new())
    }

    fn aggregate(&self, index: usize) -> Result<Wire> {
        Ok(self.aggregates.get(index).cloned().flatten())
    }
}
