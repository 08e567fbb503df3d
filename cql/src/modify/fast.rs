//! A plain INSERT of one row, by a shorter way.
//!
//! Most writes of a time series are one prepared INSERT: markers for the key and for columns of one cell, into a table from which nothing is
//! derived. Such a statement needs no step, no mutations and no lock: the values go from the markers into an encoded row, in buffers that each
//! thread keeps.

use crate::answer::{Outcome, Run};
use crate::error::{CqlError, Result};
use crate::modify::attributes::{Attributes, checked_timestamp};
use crate::modify::execute::eval_context;
use crate::modify::operation::{Action, Source};
use crate::modify::statement::{Kind, Modification, Target};
use crate::term::{EvalContext, Term};
use crate::value::Bound;
use skep_engine::encoding::key;
use skep_engine::encoding::row::RowHead;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::ColumnId;
use skep_engine::model::validate::validate;
use skep_engine::{CqlType, Db, Error, TableSchema, WriteBatch};
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// A value of the row.
#[derive(Clone, Debug)]
enum Input {
    /// A marker of a type without parts: its bytes go into the row as they are bound.
    Plain(usize, CqlType),
    /// Any other term.
    Term(Term),
}

impl Input {
    fn of(term: &Term) -> Self {
        let has_parts = |ty: &CqlType| {
            let ty = ty.unfrozen();
            ty.is_collection() || matches!(ty, CqlType::Tuple(_) | CqlType::Udt(_) | CqlType::Vector(..))
        };
        match term.as_marker() {
            Some((index, ty)) if !has_parts(ty) => Self::Plain(index, ty.clone()),
            _ => Self::Term(term.clone()),
        }
    }

    /// The value; a bound one is borrowed.
    #[inline]
    fn value<'a>(&self, eval: &EvalContext<'a>) -> Result<Cow<'a, Bound>> {
        match self {
            Self::Plain(index, ty) => {
                let bound = eval.binds.get(*index);
                let bound = bound.ok_or_else(|| CqlError::invalid("Invalid amount of bind variables"))?;
                if let Bound::Value(value) = bound {
                    validate(value, ty).map_err(|error| CqlError::invalid(error.message()))?;
                }
                Ok(Cow::Borrowed(bound))
            }
            Self::Term(term) => term.eval(eval).map(Cow::Owned),
        }
    }
}

/// A prepared INSERT that nothing is special about.
#[derive(Clone, Debug)]
pub struct FastInsert {
    schema: Arc<TableSchema>,
    attributes: Attributes,
    /// Values of the partition key, then of the clustering.
    keys: Vec<Input>,
    partition: usize,
    /// Columns by ascending number.
    columns: Vec<(ColumnId, Input)>,
}

#[derive(Default)]
struct Buffers {
    batch: WriteBatch,
    wires: Vec<Bytes>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl FastInsert {
    /// The short way of a statement, if it has one.
    #[must_use]
    pub fn of(statement: &Modification) -> Option<Self> {
        let table = &statement.table;
        let plain = statement.kind == Kind::Insert
            && !statement.is_conditional()
            && statement.json.is_none()
            && statement.statics.is_empty()
            && table.views.is_empty()
            && table.indexes.is_empty();
        let Target::Row { partition, clustering: Some(clustering) } = &statement.target else { return None };
        let term = |source: &Source| match source {
            Source::Term(term) => Some(Input::of(term)),
            Source::Json(_) => None,
        };
        let column = |operation: &crate::modify::operation::Operation| match &operation.action {
            Action::Set(source) if !operation.column.ty.is_multicell() => {
                Some((operation.column.id, term(source)?))
            }
            _ => None,
        };
        let columns = statement.regulars.iter().map(column).collect::<Option<Vec<_>>>().filter(|_| plain)?;
        Some(Self {
            schema: Arc::clone(&table.schema),
            attributes: statement.attributes.clone(),
            keys: partition.iter().chain(clustering).map(term).collect::<Option<_>>()?,
            partition: partition.len(),
            columns,
        })
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`ModifyPlan::run`](crate::modify::ModifyPlan::run).
    pub fn run(&self, db: &Db, run: &Run<'_>) -> Result<Outcome> {
        BUFFERS.with(|buffers| match buffers.try_borrow_mut() {
            Ok(mut buffers) => self.run_with(&mut buffers, db, run),
            Err(_) => self.run_with(&mut Buffers::default(), db, run),
        })
    }

    fn run_with(&self, buffers: &mut Buffers, db: &Db, run: &Run<'_>) -> Result<Outcome> {
        let eval = &eval_context(run);
        let Buffers { batch, wires } = buffers;
        let key = self.key(wires, eval)?;
        let (timestamp, ttl) = self.times(eval, run)?;
        let head = RowHead { marker: true, timestamp, ttl, ..RowHead::default() };
        let clustering = key::clustering(&self.schema, &wires[self.partition..])?;
        batch.clear();
        let mut failed = None;
        let written = batch.put_row_with(&self.schema, &key, &clustering, &head, |row| {
            for (column, input) in &self.columns {
                match input.value(eval) {
                    Ok(value) => match &*value {
                        Bound::Value(value) => row.value(*column, value),
                        Bound::Null => row.tombstone(*column),
                        Bound::Unset => {}
                    },
                    Err(error) => {
                        failed = Some(error);
                        return Err(Error::invalid("a value does not fit"));
                    }
                }
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error);
        }
        written?;
        db.write(batch)?;
        Ok(Outcome::Void)
    }

    fn key(&self, wires: &mut Vec<Bytes>, eval: &EvalContext<'_>) -> Result<Bytes> {
        wires.clear();
        let columns = self.schema.partition_key().iter().chain(self.schema.clustering());
        for (input, column) in self.keys.iter().zip(columns) {
            match &*input.value(eval)? {
                Bound::Value(value) => wires.push(value.clone()),
                Bound::Null => {
                    let text = format!("Invalid null value in condition for column {}", column.name);
                    return Err(CqlError::invalid(text));
                }
                Bound::Unset => {
                    return Err(CqlError::invalid(format!("Invalid unset value for column {}", column.name)));
                }
            }
        }
        Ok(key::partition_key(&self.schema, &wires[..self.partition])?)
    }

    /// Timestamp (micros) and TTL (seconds).
    fn times(&self, eval: &EvalContext<'_>, run: &Run<'_>) -> Result<(Option<i64>, i32)> {
        let now = run.now_micros.div_euclid(1_000_000);
        let ttl = self.attributes.ttl(self.schema.options.default_time_to_live, now, eval)?;
        let timestamp = match self.attributes.timestamp(eval)? {
            Some(timestamp) => Some(timestamp),
            None => run.parameters.timestamp.map(checked_timestamp).transpose()?,
        };
        Ok((timestamp, ttl))
    }
}
