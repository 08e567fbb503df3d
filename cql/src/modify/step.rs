//! One execution of one statement, up to the point where nothing depends on what is stored: keys, rows and times.
//!
//! All statements of a run become steps first, so that a bad value in the last one stops the first one too, and all partitions are known
//! before any is locked.

use crate::error::{CqlError, Result};
use crate::modify::apply::{Inputs, apply};
use crate::modify::builder::RowBuilder;
use crate::modify::operation::{Operation, Source};
use crate::modify::statement::{Kind, Modification, Target};
use crate::modify::times::Times;
use crate::mutation::{Change, Mutations};
use crate::restrict::{Extent, Where};
use crate::term::EvalContext;
use crate::value::Bound;
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::row::Row;
use skep_engine::model::schema::Column;

/// Gives the row at a clustering (None: the static row) of a partition as it is stored.
pub type Stored<'a> = dyn FnMut(&Bytes, Option<&Clustering>) -> Result<Option<Row>> + 'a;

/// Which rows of the partitions.
#[derive(Debug)]
pub enum Rows {
    /// These, and the static row where the statement has operations on it.
    Named(Vec<Clustering>),
    /// All in these ranges, to be deleted.
    Ranges(Vec<ClusteringRange>),
    /// None but the static one.
    Static,
    /// All: the partitions are deleted.
    All,
}

/// A statement with its values.
#[derive(Debug)]
pub struct Step<'a> {
    /// The statement.
    pub statement: &'a Modification,
    /// Values of its terms.
    pub inputs: Inputs<'a>,
    /// Timestamp (micros) that it names.
    pub timestamp: Option<i64>,
    /// TTL in seconds, 0 none.
    pub ttl: i32,
    /// Serialised partition keys.
    pub keys: Vec<Bytes>,
    /// Rows in each of these.
    pub rows: Rows,
}

impl<'a> Step<'a> {
    /// Evaluates what `statement` needs of `eval`; `now` is the second of the run.
    ///
    /// # Errors
    /// `Invalid` for values that cannot be keys or times.
    pub fn new(statement: &'a Modification, eval: &'a EvalContext<'a>, now: i64) -> Result<Self> {
        let json = match &statement.json {
            Some(json) => json.values(eval)?,
            None => Vec::new(),
        };
        let inputs = Inputs { eval, json };
        let (keys, rows) = match &statement.target {
            Target::Row { partition, clustering } => {
                let schema = &statement.table.schema;
                let wires = key_wires(partition, schema.partition_key(), &inputs)?;
                let keys = vec![key::partition_key(schema, &wires)?];
                let rows = match clustering {
                    None => Rows::Static,
                    Some(clustering) => {
                        let wires = key_wires(clustering, schema.clustering(), &inputs)?;
                        Rows::Named(vec![key::clustering(schema, &wires)?])
                    }
                };
                (keys, rows)
            }
            Target::Where(found) => {
                let keys = found.partition_keys(eval)?.into_iter().map(|key| key.key).collect();
                (keys, rows_of(statement, found, eval)?)
            }
        };
        let timestamp = statement.attributes.timestamp(eval)?;
        let default = statement.table.schema.options.default_time_to_live;
        let default = if statement.kind == Kind::Delete { 0 } else { default };
        let ttl = statement.attributes.ttl(default, now, eval)?;
        Ok(Self { statement, inputs, timestamp, ttl, keys, rows })
    }

    /// Adds what the step writes to `out`: all but counting. `stored` gives the row at a clustering (None: the static row) of a partition as it
    /// is stored, for statements that read; `now` is the second at which that is read. `slices` are the times of deletions of partitions and
    /// ranges.
    ///
    /// # Errors
    /// As [`apply`], and those of `stored`.
    pub fn write(
        &self,
        (times, slices): (Times, Times),
        now: i64,
        stored: &mut Stored<'_>,
        out: &mut Mutations,
    ) -> Result<()> {
        let statement = self.statement;
        let reads = statement.reads();
        let mut fill = |key: &Bytes, at: Option<&Clustering>, operations: &[Operation]| -> Result<Row> {
            let before = if reads { stored(key, at)? } else { None };
            let place = at.cloned().unwrap_or(Clustering::EMPTY);
            let mut row = RowBuilder::new(place, times, before.as_ref(), now);
            if statement.kind == Kind::Insert && at.is_some() {
                row.mark();
            }
            if self.deletes_rows() {
                row.delete();
            }
            operations.iter().try_for_each(|operation| apply(operation, &self.inputs, &mut row))?;
            Ok(row.finish())
        };
        for key in &self.keys {
            let mut changes = Vec::new();
            match &self.rows {
                Rows::Named(rows) => {
                    for clustering in rows {
                        let row = fill(key, Some(clustering), &statement.regulars)?;
                        changes.push(Change::Row(row));
                    }
                }
                Rows::Ranges(ranges) => {
                    if !statement.regulars.is_empty() || !statement.statics.is_empty() {
                        return Err(no_ranges_of_columns());
                    }
                    let deletion = slices.deletion();
                    changes.extend(ranges.iter().map(|range| Change::Range(range.clone(), deletion)));
                }
                Rows::All => changes.push(Change::Partition(slices.deletion())),
                Rows::Static if !statement.regulars.is_empty() => return Err(no_ranges_of_columns()),
                Rows::Static => {}
            }
            // However many rows IN names, the static row is written once; where it names none, nothing is.
            let none = matches!(&self.rows, Rows::Named(rows) if rows.is_empty());
            if !statement.statics.is_empty() && !none {
                changes.push(Change::Static(fill(key, None, &statement.statics)?));
            }
            let writes = |change: &Change| match change {
                Change::Row(row) | Change::Static(row) => !row.is_empty(),
                Change::Range(range, _) => !range.is_empty(),
                Change::Partition(_) => true,
            };
            if changes.iter().any(writes) {
                let table = &statement.table;
                out.partition(table, key).extend(changes.into_iter().filter(writes));
            }
        }
        Ok(())
    }

    /// The rows named are deleted as a whole.
    fn deletes_rows(&self) -> bool {
        let statement = self.statement;
        statement.kind == Kind::Delete && statement.regulars.is_empty() && statement.statics.is_empty()
    }
}

fn rows_of(statement: &Modification, found: &Where, eval: &EvalContext<'_>) -> Result<Rows> {
    let columns = !statement.regulars.is_empty() || !statement.statics.is_empty();
    let deletes = statement.kind == Kind::Delete && !columns;
    Ok(match found.extent() {
        // The only row of a partition is the partition.
        Extent::Rows if deletes && statement.table.schema.clustering().is_empty() => Rows::All,
        Extent::Rows => Rows::Named(found.clusterings(eval)?),
        Extent::Ranges => Rows::Ranges(found.ranges(eval)?),
        Extent::Partitions if deletes => Rows::All,
        Extent::Partitions => Rows::Static,
    })
}

fn key_wires(sources: &[Source], columns: &[Column], inputs: &Inputs<'_>) -> Result<Vec<Bytes>> {
    let wire = |(source, column): (&Source, &Column)| match inputs.value(source)? {
        Bound::Value(value) => Ok(value),
        Bound::Null => {
            Err(CqlError::invalid(format!("Invalid null value in condition for column {}", column.name)))
        }
        Bound::Unset => Err(CqlError::invalid(format!("Invalid unset value for column {}", column.name))),
    };
    sources.iter().zip(columns).map(wire).collect()
}

fn no_ranges_of_columns() -> CqlError {
    CqlError::invalid("Range deletions are not supported for specific columns")
        .hint("name the whole primary key, or delete whole rows")
}
