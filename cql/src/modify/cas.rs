//! Conditional writes: what is read for them, whether they apply, and what a client is told if not.
//!
//! The conditions of a statement or batch are on one partition. All of them look at the state before the write, under the partition's lock, so
//! that conditional writes of a partition happen one after the other.
//!
//! What is read follows Cassandra, because an answer shows it: all regular columns if a row is written, else those of the conditions; all static
//! columns if one of them is written, else those of the conditions. A row without conditions on its regular columns stands for the partition: the
//! first live row is read then.

use crate::answer::ResultSet;
use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::modify::condition::{Condition, column_wire};
use crate::modify::operation::spec;
use crate::modify::statement::{Conditions, Kind, Target};
use crate::modify::step::{Rows, Step};
use crate::term::EvalContext;
use crate::value::{ColumnSpec, Wire};
use skep_engine::TableSnapshot;
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::ColumnId;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::fragment::Fragment;
use skep_engine::model::reconcile::resolve;
use skep_engine::model::row::Row;
use skep_engine::model::schema::Column;
use skep_engine::{ColumnKind, CqlType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Timestamps further in the future than this (a year, micros) are meant so by whoever wrote them: a conditional write does not go above them.
const FAR_AHEAD: i64 = 366 * 86_400 * 1_000_000;

/// What must hold for one row.
#[derive(Debug)]
enum Demand<'a> {
    Exists,
    NotExists,
    Columns(Vec<(&'a Condition, &'a EvalContext<'a>)>),
}

/// The conditions of a statement or batch.
#[derive(Debug)]
pub struct Request<'a> {
    table: Arc<TableInfo>,
    key: Bytes,
    rows: BTreeMap<Clustering, Demand<'a>>,
    statics: Option<Demand<'a>>,
    updates_rows: bool,
    updates_statics: bool,
    /// Columns of conditions in the order of an answer, each once; None for all of the table's.
    shown: Option<Vec<Column>>,
    condition_columns: Vec<ColumnId>,
    in_batch: bool,
}

/// The state of the partition before the write.
#[derive(Debug)]
pub struct Current {
    rows: BTreeMap<Clustering, Row>,
    statics: Option<Row>,
    /// The newest timestamp met, dead or alive.
    newest: i64,
}

impl<'a> Request<'a> {
    /// The conditions of `steps`.
    ///
    /// # Errors
    /// `Invalid` for IN, for steps on several partitions, and for conditions that exclude each other.
    pub fn new(steps: &'a [Step<'a>], in_batch: bool) -> Result<Self> {
        let Some(first) = steps.first() else {
            return Err(CqlError::invalid("A conditional batch is empty"));
        };
        let mut request = Self {
            table: Arc::clone(&first.statement.table),
            key: Bytes::EMPTY,
            rows: BTreeMap::new(),
            statics: None,
            updates_rows: false,
            updates_statics: false,
            shown: Some(Vec::new()),
            condition_columns: Vec::new(),
            in_batch,
        };
        for (i, step) in steps.iter().enumerate() {
            request.add(step, i == 0)?;
        }
        Ok(request)
    }

    fn add(&mut self, step: &'a Step<'a>, is_first: bool) -> Result<()> {
        let statement = step.statement;
        let what = if statement.kind == Kind::Delete { "deletions" } else { "updates" };
        if let Target::Where(found) = &statement.target {
            if found.has_key_in() {
                return Err(CqlError::invalid(match self.in_batch {
                    true => "Batch with conditions cannot span multiple partitions (you cannot use IN on the partition key)"
                        .to_owned(),
                    false => format!("IN on the partition key is not supported with conditional {what}"),
                }));
            }
            if found.has_clustering_in() {
                let text =
                    format!("IN on the clustering key columns is not supported with conditional {what}");
                return Err(CqlError::invalid(text));
            }
        }
        let Some(key) = step.keys.first() else { return Ok(()) };
        if is_first {
            self.key = key.clone();
        } else if self.key != *key {
            return Err(CqlError::invalid("Batch with conditions cannot span multiple partitions"));
        }
        self.updates_rows |= statement.updates_rows();
        // Static columns are read for the sake of conditional statements alone.
        self.updates_statics |= statement.is_conditional() && !statement.statics.is_empty();
        self.condition_columns.extend(statement.condition_columns().map(|column| column.id));
        let clustering = match &step.rows {
            Rows::Named(rows) => rows.first().cloned(),
            // A DELETE of a row by the partition key alone, where there are no clustering columns.
            Rows::All if self.table.schema.clustering().is_empty() => Some(Clustering::EMPTY),
            _ => None,
        };
        match &statement.conditions {
            Conditions::None => {}
            Conditions::Exists | Conditions::NotExists => {
                self.shown = None;
                let not = matches!(statement.conditions, Conditions::NotExists);
                self.demand_existence(clustering, !not)?;
            }
            Conditions::Columns(conditions) => {
                if let Some(shown) = &mut self.shown {
                    for column in statement.condition_columns() {
                        if !shown.iter().any(|known| known.id == column.id) {
                            shown.push(column.clone());
                        }
                    }
                }
                for condition in conditions {
                    let place = if condition.is_static() { None } else { clustering.clone() };
                    self.demand(place, condition, step.inputs.eval)?;
                }
            }
        }
        Ok(())
    }

    fn demand_existence(&mut self, clustering: Option<Clustering>, wanted: bool) -> Result<()> {
        let demand = if wanted { Demand::Exists } else { Demand::NotExists };
        let before = match &clustering {
            Some(clustering) => self.rows.get(clustering),
            None => self.statics.as_ref(),
        };
        match before {
            None => {
                match clustering {
                    Some(clustering) => drop(self.rows.insert(clustering, demand)),
                    None => self.statics = Some(demand),
                }
                Ok(())
            }
            Some(Demand::Columns(_)) => {
                let not = if wanted { "" } else { "NOT " };
                Err(CqlError::invalid(format!(
                    "Cannot mix IF conditions and IF {not}EXISTS for the same row"
                )))
            }
            Some(before) if matches!(before, Demand::Exists) == wanted => Ok(()),
            Some(_) => {
                Err(CqlError::invalid("Cannot mix IF EXISTS and IF NOT EXISTS conditions for the same row"))
            }
        }
    }

    fn demand(
        &mut self,
        clustering: Option<Clustering>,
        condition: &'a Condition,
        eval: &'a EvalContext<'a>,
    ) -> Result<()> {
        let demand = match clustering {
            Some(clustering) => self.rows.entry(clustering).or_insert_with(|| Demand::Columns(Vec::new())),
            None => self.statics.get_or_insert_with(|| Demand::Columns(Vec::new())),
        };
        match demand {
            Demand::Columns(all) => {
                all.push((condition, eval));
                Ok(())
            }
            _ => Err(CqlError::invalid("Cannot mix IF conditions and IF NOT EXISTS for the same row")),
        }
    }

    /// Reads what the conditions need.
    ///
    /// # Errors
    /// `Corrupt` or `Io` from files.
    pub fn read(&self, snapshot: &TableSnapshot) -> Result<Current> {
        let mut current = Current { rows: BTreeMap::new(), statics: None, newest: i64::MIN };
        let now = snapshot.now();
        if self.rows.is_empty() {
            let mut all = snapshot.fragments(&self.key, &ClusteringRange::all())?;
            current.take_head(all.statics.take(), all.deletion.map(|deletion| deletion.timestamp));
            for item in all {
                if let Fragment::Row(row) = item? {
                    current.newest = current.newest.max(newest(&row));
                    if let Some(row) = self.seen(row, now, false) {
                        current.rows.insert(row.clustering.clone(), row);
                        break;
                    }
                }
            }
        }
        for clustering in self.rows.keys() {
            let mut place = snapshot.fragments(&self.key, &ClusteringRange::prefix(clustering.order()))?;
            current.take_head(place.statics.take(), place.deletion.map(|deletion| deletion.timestamp));
            for item in place {
                match item? {
                    Fragment::Row(row) => {
                        current.newest = current.newest.max(newest(&row));
                        if let Some(row) = self.seen(row, now, false) {
                            current.rows.insert(clustering.clone(), row);
                        }
                    }
                    Fragment::Bound(bound) => {
                        let deleted = bound.deletion.map_or(i64::MIN, |deletion| deletion.timestamp);
                        current.newest = current.newest.max(deleted);
                    }
                    Fragment::Static(_) | Fragment::Partition { .. } => {}
                }
            }
        }
        current.statics = current.statics.take().and_then(|row| self.seen(row, now, true));
        Ok(current)
    }

    /// What is seen of a stored row, in the columns that are read.
    fn seen(&self, mut row: Row, now: i64, is_static: bool) -> Option<Row> {
        let all = if is_static { self.updates_statics } else { self.updates_rows };
        if !all {
            row.cells.retain(|(column, _)| self.condition_columns.contains(column));
            row.complex.retain(|complex| self.condition_columns.contains(&complex.column));
        }
        resolve(row, now)
    }

    /// Whether all conditions hold.
    ///
    /// # Errors
    /// Those of [`Condition::holds`].
    pub fn holds(&self, current: &Current) -> Result<bool> {
        let test = |demand: &Demand<'_>, row: Option<&Row>| -> Result<bool> {
            match demand {
                Demand::Exists => Ok(row.is_some()),
                Demand::NotExists => Ok(row.is_none()),
                Demand::Columns(conditions) => {
                    for (condition, eval) in conditions {
                        if !condition.holds(row, eval)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                }
            }
        };
        if let Some(demand) = &self.statics
            && !test(demand, current.statics.as_ref())?
        {
            return Ok(false);
        }
        for (clustering, demand) in &self.rows {
            if !test(demand, current.rows.get(clustering))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The timestamp (micros) of the write, if the store's clock gave `drawn`: above all that was read, unless that lies far in the future.
    pub fn timestamp(&self, current: &Current, drawn: i64) -> i64 {
        match current.newest.checked_add(1) {
            Some(above) if above > drawn && above.saturating_sub(drawn) <= FAR_AHEAD => above,
            _ => drawn,
        }
    }

    /// The answer if the conditions hold: `[applied]` true.
    pub fn applied(&self) -> ResultSet {
        let columns: Arc<[ColumnSpec]> = Arc::from([self.applied_spec()]);
        ResultSet { columns, rows: vec![vec![Some(Bytes::new(&[1]))]], paging_state: None }
    }

    /// The answer if they do not: `[applied]` false with the rows that were read.
    ///
    /// # Errors
    /// `Corrupt` for stored values that are none of their type.
    pub fn refused(&self, current: &Current) -> Result<ResultSet> {
        let schema = &self.table.schema;
        let mut shown: Vec<&Column> = Vec::new();
        match &self.shown {
            None => shown.extend(schema.columns()),
            Some(columns) => {
                if self.in_batch {
                    shown.extend(schema.partition_key().iter().chain(schema.clustering()));
                }
                shown.extend(columns);
            }
        }
        let keys = key::partition_wires(schema, &self.key)?;
        let mut rows: Vec<Vec<Wire>> = Vec::new();
        let mut show = |row: Option<&Row>| -> Result<()> {
            let clustering = match row {
                Some(row) => key::clustering_wires(schema, &row.clustering)?,
                None => Vec::new(),
            };
            let (mut key, mut place) = (keys.iter(), clustering.into_iter());
            let mut values: Vec<Wire> = vec![Some(Bytes::new(&[0]))];
            for column in &shown {
                values.push(match column.kind {
                    ColumnKind::PartitionKey => key.next().cloned(),
                    ColumnKind::Clustering(_) => place.next(),
                    ColumnKind::Static => wire_of(column, current.statics.as_ref())?,
                    ColumnKind::Regular => wire_of(column, row)?,
                });
            }
            rows.push(values);
            Ok(())
        };
        for row in current.rows.values() {
            show(Some(row))?;
        }
        if current.rows.is_empty() && current.statics.is_some() {
            show(None)?;
        }
        let mut columns = vec![self.applied_spec()];
        if rows.is_empty() {
            rows.push(vec![Some(Bytes::new(&[0]))]);
        } else {
            columns.extend(shown.iter().map(|column| spec(schema, &column.name, column.ty.clone())));
        }
        Ok(ResultSet { columns: columns.into(), rows, paging_state: None })
    }

    fn applied_spec(&self) -> ColumnSpec {
        spec(&self.table.schema, "[applied]", CqlType::Boolean)
    }
}

impl Current {
    fn take_head(&mut self, statics: Option<Row>, deleted: Option<i64>) {
        self.newest = self.newest.max(deleted.unwrap_or(i64::MIN));
        if let Some(row) = statics {
            self.newest = self.newest.max(newest(&row));
            self.statics = Some(row);
        }
    }
}

fn wire_of(column: &Column, row: Option<&Row>) -> Result<Wire> {
    row.map_or(Ok(None), |row| column_wire(column, row))
}

/// The newest timestamp in a stored row.
fn newest(row: &Row) -> i64 {
    let cells = row.all_cells().map(|cell| cell.timestamp);
    let deletions = row.complex.iter().filter_map(|complex| complex.deletion).chain(row.deletion);
    let marker = row.liveness.map(|life| life.timestamp);
    cells.chain(deletions.map(|deletion| deletion.timestamp)).chain(marker).max().unwrap_or(i64::MIN)
}
