//! One run of a SELECT: what is read, how much of it, and which of the `loops` makes rows of it.
//!
//! Rows as they come, filtered or not, until the page or the limit is full; groups, which are whole before they count; everything in one
//! group, for aggregates without GROUP BY; or rows of several partitions that have to be sorted.
//!
//! # Pages
//! A page's state is the engine's: the place of the last row that was used, with the rows (or groups) that LIMIT and PER PARTITION LIMIT have
//! counted. It names no snapshot: the next page sees what has been written since, behind that place. A state is only given if another
//! row was seen, so that no page is empty but the only one.

use crate::answer::{ResultSet, Run};
use crate::error::{Code, CqlError, Result};
use crate::function::{CallContext, json};
use crate::rails::{Rail, Rails};
use crate::restrict::Partitions as Keys;
use crate::select::base::BaseRows;
use crate::select::count::{Counted, Limits, limit, paging_state};
use crate::select::finder::Finder;
use crate::select::loops::Page;
use crate::select::pump::{Partitions, Pump, Source};
use crate::select::restate::restate;
use crate::select::{Grouping, SelectPlan};
use crate::story;
use crate::term::EvalContext;
use crate::value::Wire;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::key::DecoratedKey;
use skep_engine::read::resolve::TombstoneWarning;
use skep_engine::{PageState, TableSnapshot};
use std::sync::Arc;

impl SelectPlan {
    /// Runs the statement.
    ///
    /// # Errors
    /// For values that do not fit, for a paging state of another statement, for too many tombstones, and what the store fails with.
    pub fn run(&self, run: &mut Run<'_>, finder: &dyn Finder) -> Result<ResultSet> {
        self.page(run, finder).map_err(|error| self.counted(error))
    }

    /// Counts what the guard rail of tombstones has refused.
    pub(crate) fn counted(&self, error: CqlError) -> CqlError {
        if error.code() == Code::ReadFailure {
            Rails::of(self.table.table.db()).refuse(Rail::Tombstones);
        }
        error
    }

    fn page(&self, run: &mut Run<'_>, finder: &dyn Finder) -> Result<ResultSet> {
        let cx = EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } };
        let limits = self.limits(&cx, run)?;
        self.warn_of_aggregation(run, &cx)?;
        let resume = match &run.parameters.paging_state {
            Some(bytes) => Some(paging_state(bytes)?),
            None => None,
        };
        let index = self.restrictions.index().filter(|_| self.restrictions.is_key_range());
        // One moment for the table, its indexes, and what it is a view of.
        let shows_lives_of_view = self.table.is_view() && self.selection.reads_lives();
        let all = (index.is_some() || shows_lives_of_view).then(|| self.table.table.db().snapshot());
        let table = match &all {
            Some(all) => all.of(&self.table.table)?,
            None => self.table.table.snapshot(),
        };
        if run.trace.is_some() {
            for (step, detail) in self.told(&cx, run)? {
                run.trace(|| format!("Plan: {step}: {detail}"));
            }
        }
        let Some(source) = self.source(&table, &cx)? else {
            let rows = match self.grouping {
                Grouping::All => vec![self.selection.start(None).finish(&cx)?],
                _ => Vec::new(),
            };
            return self.result((rows, None));
        };
        let source = Source { explained: run.is_explained(), ..source };
        if let (Grouping::All, Some(row)) = (self.grouping, self.totals(&source, run, &cx)?) {
            self.trace_story(run);
            return self.result((vec![row], None));
        }
        let filter = self.restrictions.filter(&cx)?;
        let filtered = filter.is_some();
        let source = self.limited(source, limits, filtered, resume.as_ref());
        let counted = Counted::resumed(resume.as_ref());
        let found = match (index, &all) {
            (Some(index), Some(all)) => {
                let from = resume.as_ref().map(|state| DecoratedKey::new(state.partition()));
                finder.find(all, &self.table, index, &index.lookup(&cx)?, from.as_ref())?
            }
            _ => None,
        };
        let mut pump = match found {
            Some(found) => Pump::of_found(source, filter, resume, found)?,
            None => Pump::new(source, filter, resume)?,
        };
        if let Some(all) = all.as_ref().filter(|_| shows_lives_of_view) {
            pump.base = BaseRows::of(all, &self.table)?.map(Arc::new);
        }
        let page = match self.grouping {
            Grouping::All => (vec![self.one_group(&mut pump, &cx)?], None),
            Grouping::Columns(_) if self.order.sort.is_empty() => {
                self.groups(&mut pump, limits, counted, &cx)?
            }
            Grouping::None if self.order.sort.is_empty() => self.rows(&mut pump, limits, counted, &cx)?,
            _ => (self.sorted(&mut pump, limits, &cx)?, None),
        };
        for warning in pump.warnings() {
            self.warn_of(Some(warning), pump.source(), run, &cx);
        }
        if run.is_explained() {
            run.tell(Some(&pump.story()));
            self.trace_story(run);
        }
        self.result(page)
    }

    /// What was looked at and met, as lines of the trace.
    fn trace_story(&self, run: &mut Run<'_>) {
        let Some(story) = run.story.clone().filter(|_| run.trace.is_some()) else { return };
        for (step, detail) in story::sources_in_short(&story).into_iter().chain(story::amounts(&story)) {
            run.trace(|| format!("Sources: {step}: {detail}"));
        }
        // The words of Cassandra's own traces.
        let (live, tombstones) = (story.counts.live_rows, story.counts.tombstones);
        run.trace(|| format!("Read {live} live rows and {tombstones} tombstone cells"));
    }

    fn result(&self, (rows, state): Page) -> Result<ResultSet> {
        let rows = match &self.json {
            None => rows,
            Some(json_columns) => {
                let text = |row: &Vec<Wire>| {
                    let columns = json_columns
                        .iter()
                        .zip(row)
                        .map(|(column, value)| (column.name.as_str(), &column.ty, value));
                    Ok(vec![Some(Bytes::new(json::row(columns)?.as_bytes()))])
                };
                rows.iter().map(text).collect::<Result<_>>()?
            }
        };
        let paging_state = state.map(|state| state.to_bytes());
        Ok(ResultSet { columns: Arc::clone(&self.columns), rows, paging_state })
    }

    /// The limits of this run, and whether it is paged.
    pub(crate) fn limits(&self, cx: &EvalContext<'_>, run: &Run<'_>) -> Result<Limits> {
        let rows = limit(self.limit.as_ref(), cx)?;
        let per_partition = limit(self.per_partition_limit.as_ref(), cx)?;
        let page = run.parameters.page_size.filter(|rows| *rows > 0).map(|rows| rows as u64);
        let aggregated = !matches!(self.grouping, Grouping::None);
        // A limit that a page can hold makes pages needless.
        let page = page.filter(|page| aggregated || rows.is_none_or(|rows| rows > *page));
        if page.is_some() && !self.order.sort.is_empty() {
            return Err(CqlError::invalid(
                "Cannot page queries with both ORDER BY and a IN restriction on the partition key; you must either remove \
                 the ORDER BY or the IN and sort client side, or disable paging for this query",
            ));
        }
        Ok(Limits { rows, per_partition, page })
    }

    fn warn_of_aggregation(&self, run: &mut Run<'_>, _cx: &EvalContext<'_>) -> Result<()> {
        if matches!(self.grouping, Grouping::None) {
            return Ok(());
        }
        if !self.restrictions.restricts_partition_key() {
            run.warn("Aggregation query used without partition key");
        } else if self.restrictions.has_key_in() {
            run.warn("Aggregation query used on multiple partition keys (IN restriction)");
        }
        Ok(())
    }

    /// Gives on a warning about tombstones.
    pub(crate) fn warn_of(
        &self,
        warning: Option<TombstoneWarning>,
        source: &Source,
        run: &mut Run<'_>,
        cx: &EvalContext<'_>,
    ) {
        if let Some(warning) = warning {
            let partition = source.first_key();
            Rails::of(self.table.table.db()).warn(Rail::Tombstones);
            run.warn(warning.text(&restate(&self.restrictions, &source.columns, partition.as_ref(), cx)));
        }
    }

    /// What is read; None if the restrictions leave nothing to read.
    pub(crate) fn source(&self, snapshot: &TableSnapshot, cx: &EvalContext<'_>) -> Result<Option<Source>> {
        let partitions = match self.restrictions.partitions(cx)? {
            Keys::Keys(keys) if keys.is_empty() => None,
            Keys::Keys(keys) => Some(Partitions::Keys(keys)),
            Keys::Tokens(tokens) => tokens.map(Partitions::Tokens),
        };
        let ranges = self.restrictions.ranges(cx)?;
        let Some(partitions) = partitions.filter(|_| !ranges.is_empty()) else { return Ok(None) };
        Ok(Some(Source {
            snapshot: snapshot.clone(),
            partitions,
            ranges,
            columns: Arc::clone(&self.projection),
            reverse: self.order.reverse,
            limit: None,
            per_partition: self.distinct.then_some(1),
            explained: false,
        }))
    }

    /// The source with the limits that the engine can count: those of rows, if none is filtered out or grouped.
    fn limited(&self, source: Source, limits: Limits, filtered: bool, resume: Option<&PageState>) -> Source {
        if filtered || !matches!(self.grouping, Grouping::None) {
            return source;
        }
        let sorted = !self.order.sort.is_empty();
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let per_partition = least(source.per_partition, limits.per_partition);
        if sorted {
            return Source { per_partition: least(per_partition, limits.rows), ..source };
        }
        let before = resume.map_or(0, |state| state.counts().0);
        // One more row than the page holds tells whether there is a next page.
        let page = limits.page.map(|page| before.saturating_add(page).saturating_add(1));
        Source { limit: least(limits.rows, page), per_partition, ..source }
    }
}
