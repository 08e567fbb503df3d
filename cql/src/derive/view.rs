//! Rows of a materialized view, as a function of the base's rows.
//!
//! A row of the base gives one row of the view, or none: if the column that the view has in its key beside the base's key is null, or if the
//! view's WHERE leaves the key out. The view's row lives as long as the base's (a column that the view does not have may keep it), but no
//! longer than the column in its key.
//!
//! What the view's partition key has of the base's clustering stands there in its one form (`catalog::form`): the base's rows are found by value,
//! and a partition only by its bytes.
//!
//! All that is written into a view bears the time of the write that caused it, drawn from the store's clock, not the base's timestamps: the
//! latest writer knows the whole row, so the latest is right.

use crate::catalog::TableInfo;
use crate::catalog::form::one_form;
use crate::catalog::store::Picture;
use crate::error::{CqlError, Result};
use crate::function::CallContext;
use crate::syntax::ast::{Comparison, Expr, Left, Relation, Right, TypeName};
use crate::term::{EvalContext, Markers, Preparing, Scope, Term, TypeNames};
use crate::value::{Bound, ColumnSpec};
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::Clustering;
use skep_engine::model::compare::compare;
use skep_engine::model::life::{Deletion, Liveness};
use skep_engine::model::reconcile::resolve;
use skep_engine::model::row::{Complex, Row};
use skep_engine::{ColumnKind, CqlType, TableSchema, WriteBatch};
use std::cmp::Ordering;
use std::sync::Arc;

/// Where a key column of the view comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The base's partition-key column of this place.
    Partition(usize),
    /// Its clustering column of this place.
    Clustering(usize),
    /// A regular column.
    Regular(ColumnId),
}

/// How rows of a view are made.
#[derive(Debug)]
pub struct ViewPlan {
    base: Arc<TableSchema>,
    view: Arc<TableSchema>,
    /// For each key column of the view, partition key first.
    key: Vec<Origin>,
    /// The view's other columns: number in the base and in the view, by the latter.
    columns: Vec<(ColumnId, ColumnId)>,
    /// What WHERE says of key columns.
    tests: Vec<Test>,
}

/// A test of WHERE, of columns of the base's key.
#[derive(Debug)]
struct Test {
    columns: Vec<(Origin, CqlType)>,
    comparison: Comparison,
    /// Each with a value for each column; none if nothing fulfils the test.
    values: Vec<Vec<Bytes>>,
}

/// A row of the view.
#[derive(Debug)]
struct ViewRow {
    key: Bytes,
    row: Row,
}

struct Types<'a>(&'a Picture);

impl TypeNames for Types<'_> {
    fn resolve(&self, name: &TypeName, keyspace: &str) -> Result<CqlType> {
        let keyspace = self.0.keyspace(keyspace);
        keyspace.ok_or_else(|| CqlError::invalid("the view's keyspace is gone"))?.resolver().resolve(name)
    }
}

impl ViewPlan {
    /// Of `view` over `base`.
    ///
    /// # Errors
    /// `ServerError` or `Invalid` for a definition that does not fit the base.
    pub fn new(picture: &Picture, base: &TableInfo, view: &TableInfo) -> Result<Self> {
        let (schema, of) = (Arc::clone(&view.schema), Arc::clone(&base.schema));
        let origin = |name: &str| origin(&of, name);
        let keys = schema.partition_key().iter().chain(schema.clustering());
        let key = keys.map(|column| origin(&column.name)).collect::<Result<Vec<_>>>()?;
        let mut columns = Vec::new();
        for column in schema.regulars() {
            // A column that the base has dropped meanwhile has no values.
            if let Some(source) = of.column(&column.name) {
                columns.push((source.id, column.id));
            }
        }
        columns.sort_by_key(|(_, of_view)| *of_view);
        let mut tests = Vec::new();
        for relation in view.view.iter().flat_map(|def| &def.relations) {
            if relation.comparison != Comparison::IsNot {
                tests.push(test(picture, base, relation)?);
            }
        }
        Ok(Self { base: of, view: schema, key, columns, tests })
    }

    /// Adds to `batch` what turns the view's row of `before` into that of `after`, which are one row of partition `partition` of the base as stored.
    /// `timestamp` is the write's time (micros), `now` its second.
    ///
    /// # Errors
    /// The engine's, for keys that are too long.
    pub fn put(
        &self,
        partition: &Bytes,
        (before, after): (&Row, &Row),
        (timestamp, now): (i64, i64),
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let old = self.row(partition, before, timestamp, now)?;
        let new = self.row(partition, after, timestamp, now)?;
        let moved = |row: &ViewRow| {
            new.as_ref().is_none_or(|new| new.key != row.key || new.row.clustering != row.row.clustering)
        };
        if let Some(old) = old.as_ref().filter(|old| moved(old)) {
            let mut gone = Row::new(old.row.clustering.clone());
            gone.deletion = Some(Deletion::new(timestamp, now));
            batch.put_row(&self.view, &old.key, false, &gone)?;
        }
        let Some(mut new) = new else { return Ok(()) };
        let old = old.filter(|old| !moved_to(old, &new));
        if let Some(old) = &old {
            if old.row == new.row {
                return Ok(());
            }
            self.clear(&old.row, &mut new.row, timestamp, now);
        }
        Ok(batch.put_row(&self.view, &new.key, false, &new.row)?)
    }

    /// The view's row for a stored row of the base.
    fn row(&self, partition: &Bytes, stored: &Row, timestamp: i64, now: i64) -> Result<Option<ViewRow>> {
        let Some(row) = resolve(stored.clone(), now) else { return Ok(None) };
        let of_partition = key::partition_wires(&self.base, partition)?;
        let of_clustering = key::clustering_wires(&self.base, &row.clustering)?;
        let wire = |origin: Origin| match origin {
            Origin::Partition(place) => of_partition.get(place).cloned(),
            Origin::Clustering(place) => of_clustering.get(place).cloned(),
            Origin::Regular(column) => row.cell(column).and_then(|cell| cell.value.clone()),
        };
        let Some(mut wires) = self.key.iter().map(|origin| wire(*origin)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if !self.tests.iter().all(|test| test.holds(&wire)) {
            return Ok(None);
        }
        let limit = self.key.iter().find_map(|origin| match origin {
            Origin::Regular(column) => row.cell(*column).map(Cell::life),
            _ => None,
        });
        let life = |of: Liveness| {
            let least = match limit {
                Some(limit) if limit.expiry < of.expiry => limit,
                _ => of,
            };
            Liveness { timestamp, ..least }
        };
        let keys = self.view.partition_key().len();
        for ((wire, origin), column) in wires.iter_mut().zip(&self.key).zip(self.view.partition_key()) {
            // The base may keep another of the ways in which it was written after a compaction.
            if matches!(origin, Origin::Clustering(_)) {
                *wire = one_form(wire, &column.ty)?;
            }
        }
        let mut made = Row::new(key::clustering(&self.view, &wires[keys..])?);
        let lives = row.liveness.into_iter().chain(row.all_cells().map(Cell::life));
        made.liveness = lives.max_by_key(|life| life.expiry).map(life);
        for (of_base, of_view) in &self.columns {
            if let Some(Cell { value: Some(value), .. }) = row.cell(*of_base)
                && let Some(cell) = row.cell(*of_base)
            {
                made.cells.push((*of_view, Cell::live(life(cell.life()), value.clone())));
            }
            if let Some(complex) = row.complex(*of_base) {
                let cell = |(at, cell): &(Clustering, Cell)| {
                    Some((at.clone(), Cell::live(life(cell.life()), cell.value.clone()?)))
                };
                let cells = complex.cells.iter().filter_map(cell).collect();
                made.complex.push(Complex { column: *of_view, deletion: None, cells });
            }
        }
        Ok(Some(ViewRow { key: key::partition_key(&self.view, &wires[..keys])?, row: made }))
    }

    /// Adds to `new` the removal of what `old` had and it has not. Both are one row of the view.
    fn clear(&self, old: &Row, new: &mut Row, timestamp: i64, now: i64) {
        for (column, _) in &old.cells {
            if new.cell(*column).is_none() {
                let at = new.cells.partition_point(|(other, _)| other < column);
                new.cells.insert(at, (*column, Cell::tombstone(timestamp, now)));
            }
        }
        let below = Deletion::new(timestamp - 1, now);
        for complex in &old.complex {
            match new.complex.iter_mut().find(|other| other.column == complex.column) {
                Some(other) if same_elements(other, complex) => {}
                Some(other) => other.deletion = Some(below),
                None => {
                    let at = new.complex.partition_point(|other| other.column < complex.column);
                    let gone = Complex { column: complex.column, deletion: Some(below), cells: Vec::new() };
                    new.complex.insert(at, gone);
                }
            }
        }
    }
}

/// Whether two rows of a view stand at different places.
fn moved_to(old: &ViewRow, new: &ViewRow) -> bool {
    old.key != new.key || old.row.clustering != new.row.clustering
}

/// Whether all elements of `old` are in `new` too: then nothing has to be deleted.
fn same_elements(new: &Complex, old: &Complex) -> bool {
    old.cells.iter().all(|(at, _)| new.cells.binary_search_by(|(other, _)| other.cmp(at)).is_ok())
}

fn origin(base: &TableSchema, name: &str) -> Result<Origin> {
    let gone = || CqlError::invalid(format!("the view's table {} has no column {name}", base.full_name()));
    let column = base.column(name).ok_or_else(gone)?;
    let place =
        |columns: &[skep_engine::model::schema::Column]| columns.iter().position(|c| c.id == column.id);
    match column.kind {
        ColumnKind::PartitionKey => place(base.partition_key()).map(Origin::Partition).ok_or_else(gone),
        ColumnKind::Clustering(_) => place(base.clustering()).map(Origin::Clustering).ok_or_else(gone),
        _ => Ok(Origin::Regular(column.id)),
    }
}

/// Holds a relation of a view's WHERE against the base.
fn test(picture: &Picture, base: &TableInfo, relation: &Relation) -> Result<Test> {
    let names = match &relation.left {
        Left::Column(name) => vec![name],
        Left::Columns(names) => names.iter().collect(),
        Left::Element(..) | Left::Token(_) => return Err(unsupported(relation)),
    };
    let mut columns = Vec::new();
    let mut receivers = Vec::new();
    for name in names {
        let column = base.column(&name.text)?;
        columns.push((origin(&base.schema, &name.text)?, column.ty.clone()));
        receivers.push(ColumnSpec {
            keyspace: base.keyspace().to_owned(),
            table: base.name().to_owned(),
            name: name.text.clone(),
            ty: column.ty.clone(),
        });
    }
    let mut markers = Markers::default();
    let types = Types(picture);
    let scope = Scope { types: &types, keyspace: base.keyspace(), table: Some(&base.schema) };
    let mut cx = Preparing { scope, markers: &mut markers };
    let mut value = |exprs: &[Expr]| -> Result<Option<Vec<Bytes>>> {
        let mut wires = Vec::new();
        for (expr, receiver) in exprs.iter().zip(&receivers) {
            let eval = EvalContext { binds: &[], call: CallContext { now_micros: 0 } };
            match Term::prepare(expr, receiver, &mut cx)?.eval(&eval)? {
                Bound::Value(wire) => wires.push(wire),
                // Nothing compares to null: the test never holds.
                _ => return Ok(None),
            }
        }
        if wires.len() == receivers.len() { Ok(Some(wires)) } else { Err(unsupported(relation)) }
    };
    let is_tuple = matches!(relation.left, Left::Columns(_));
    let mut row = |expr: &Expr| match expr {
        Expr::Tuple(exprs) if is_tuple => value(exprs),
        one => value(std::slice::from_ref(one)),
    };
    let values = match &relation.right {
        Right::Term(expr) => row(expr)?.into_iter().collect(),
        Right::List(exprs) => exprs.iter().filter_map(|expr| row(expr).transpose()).collect::<Result<_>>()?,
        Right::Marker(_) => return Err(unsupported(relation)),
    };
    match relation.comparison {
        Comparison::Eq
        | Comparison::Lt
        | Comparison::Le
        | Comparison::Gt
        | Comparison::Ge
        | Comparison::In => Ok(Test { columns, comparison: relation.comparison, values }),
        _ => Err(unsupported(relation)),
    }
}

fn unsupported(relation: &Relation) -> CqlError {
    CqlError::invalid("A materialized view restricts key columns by comparison with constants")
        .at(relation.place)
}

impl Test {
    fn holds(&self, wire: &dyn Fn(Origin) -> Option<Bytes>) -> bool {
        let order = |wanted: &Vec<Bytes>| -> Option<Ordering> {
            for ((origin, ty), wanted) in self.columns.iter().zip(wanted) {
                match compare(&wire(*origin)?, wanted, ty) {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(Ordering::Equal)
        };
        self.values.iter().filter_map(order).any(|order| match self.comparison {
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Ge => order.is_ge(),
            _ => order.is_eq(),
        })
    }
}
