//! The short way: the engine's batches as they are, for statements that select plain columns.
//!
//! Nothing is copied and no value is built: a column of a batch may still be the decoded block's. Who takes rows of Rust values or Arrow
//! record batches out of a statement asks for these first ([`SelectPlan::batches`]).

use crate::answer::Run;
use crate::error::Result;
use crate::function::CallContext;
use crate::rails::{Rail, Rails};
use crate::select::pump::{Source, read_error};
use crate::select::restate::restate;
use crate::select::{Grouping, SelectPlan};
use crate::term::EvalContext;
use skep_engine::model::key::DecoratedKey;
use skep_engine::{Batch, Reader};
use std::sync::Arc;

/// Batches of a statement that selects plain columns.
pub struct Batches {
    plan: Arc<SelectPlan>,
    reader: Option<Reader>,
    partition: Option<DecoratedKey>,
}

impl SelectPlan {
    /// The batches of the statement, if it selects plain columns of unfiltered rows and is not paged; None if [`SelectPlan::run`] has to
    /// do it.
    ///
    /// # Errors
    /// For values that do not fit, and what the store fails with.
    pub fn batches(self: &Arc<Self>, run: &mut Run<'_>) -> Result<Option<Batches>> {
        let plain = self.json.is_none() && self.grouping == Grouping::None && self.order.sort.is_empty();
        let Some(columns) = self.selection.plain().filter(|_| plain && !self.restrictions.needs_filter())
        else {
            return Ok(None);
        };
        let cx = EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } };
        let limits = self.limits(&cx, run)?;
        if limits.page.is_some() || run.parameters.paging_state.is_some() {
            return Ok(None);
        }
        let Some(source) = self.source(&self.table.table.snapshot(), &cx)? else {
            return Ok(Some(Batches { plan: Arc::clone(self), reader: None, partition: None }));
        };
        let per_partition = match (source.per_partition, limits.per_partition) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let partition = source.first_key();
        let source =
            Source { columns: Arc::clone(columns.projection()), limit: limits.rows, per_partition, ..source };
        Ok(Some(Batches { plan: Arc::clone(self), reader: Some(source.select(None).reader()?), partition }))
    }
}

impl Batches {
    /// The next batch.
    ///
    /// # Errors
    /// What the store fails with; too many tombstones.
    pub fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        match &mut self.reader {
            Some(reader) => reader.next_batch().map_err(|error| self.plan.counted(read_error(error))),
            None => Ok(None),
        }
    }

    /// For each column of the result, which column of the batches it is.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        self.plan.selection.plain().map_or(&[], |columns| columns.places())
    }

    /// Adds the warnings that the reading came to.
    pub fn warn(&self, run: &mut Run<'_>) {
        let Some(reader) = &self.reader else { return };
        if let Some(warning) = reader.warning() {
            let cx = EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } };
            let columns = &reader.query().columns;
            Rails::of(self.plan.table.table.db()).warn(Rail::Tombstones);
            run.warn(warning.text(&restate(&self.plan.restrictions, columns, self.partition.as_ref(), &cx)));
        }
    }
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("places", &self.places()).finish_non_exhaustive()
    }
}
