//! One run of a SELECT: limits and pages, and the loops over rows, groups and sorted partitions.
//!
//! There are four loops. Rows as they come, filtered or not, until the page or the limit is full; groups, which are whole before they count;
//! everything in one group, for aggregates without GROUP BY; and rows of several partitions that have to be sorted. All read through
//! [`Pump`], so that they stop and go on in the same way.
//!
//! # Pages
//! A page's state is the engine's: the place of the last row that was used, with the rows (or groups) that LIMIT and PER PARTITION LIMIT have
//! counted. It names no snapshot: the next page sees what has been written since, behind that place. A state is only given if another
//! row was seen, so that no page is empty but the only one.

use crate::answer::{ResultSet, Run};
use crate::error::{Code, CqlError, Result};
use crate::function::{CallContext, json};
use crate::restrict::Partitions as Keys;
use crate::select::finder::Finder;
use crate::select::group::GroupColumns;
use crate::select::pump::{Partitions, Pump, Source};
use crate::select::restate::restate;
use crate::select::selection::Group;
use crate::select::{Grouping, SelectPlan};
use crate::term::{EvalContext, Term};
use crate::value::{Bound, Wire};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::key::DecoratedKey;
use skep_engine::read::resolve::TombstoneWarning;
use skep_engine::{Batch, PageState, TableSnapshot};
use std::ops::Range;
use std::sync::Arc;

/// What limits say for one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// LIMIT.
    pub(crate) rows: Option<u64>,
    /// PER PARTITION LIMIT.
    pub(crate) per_partition: Option<u64>,
    /// Rows (or groups) of a page.
    pub(crate) page: Option<u64>,
}

/// What has been counted, of all pages.
#[derive(Clone, Debug, Default)]
struct Counted {
    rows: u64,
    of_partition: u64,
    partition: Option<Bytes>,
    /// Of this page.
    of_page: u64,
}

impl Counted {
    fn resumed(state: Option<&PageState>) -> Self {
        let Some(state) = state else { return Self::default() };
        let (rows, of_partition) = state.counts();
        Self { rows, of_partition, partition: Some(Bytes::new(state.partition())), of_page: 0 }
    }

    /// Notes the partition of a row.
    fn enter(&mut self, key: &DecoratedKey) {
        if self.partition.as_ref() != Some(&key.key) {
            self.partition = Some(key.key.clone());
            self.of_partition = 0;
        }
    }

    fn add(&mut self, rows: u64) {
        self.rows += rows;
        self.of_partition += rows;
        self.of_page += rows;
    }

    fn numbers(&self) -> (u64, u64) {
        (self.rows, self.of_partition)
    }
}

/// Rows of a page and where the next one begins.
type Page = (Vec<Vec<Wire>>, Option<PageState>);

impl SelectPlan {
    /// Runs the statement.
    ///
    /// # Errors
    /// For values that do not fit, for a paging state of another statement, for too many tombstones, and what the store fails with.
    pub fn run(&self, run: &mut Run<'_>, finder: &dyn Finder) -> Result<ResultSet> {
        let cx = EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } };
        let limits = self.limits(&cx, run)?;
        self.warn_of_aggregation(run, &cx)?;
        let resume = match &run.parameters.paging_state {
            Some(bytes) => Some(paging_state(bytes)?),
            None => None,
        };
        let index = self.restrictions.index().filter(|_| self.restrictions.is_key_range());
        // One moment for the table and its indexes.
        let all = index.map(|_| self.table.table.db().snapshot());
        let table = match &all {
            Some(all) => all.of(&self.table.table)?,
            None => self.table.table.snapshot(),
        };
        let Some(source) = self.source(&table, &cx)? else {
            let rows = match self.grouping {
                Grouping::All => vec![self.selection.start().finish(&cx)?],
                _ => Vec::new(),
            };
            return self.result((rows, None));
        };
        if let (Grouping::All, Some(row)) = (self.grouping, self.totals(&source, run, &cx)?) {
            run.trace(|| "Aggregates taken from the index where whole blocks count".to_owned());
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
        run.trace(|| {
            let counts = pump.counts();
            format!("Read {} live rows and {} tombstone cells", counts.live_rows, counts.tombstones)
        });
        self.result(page)
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

    /// Rows as they come.
    fn rows(
        &self,
        pump: &mut Pump,
        limits: Limits,
        mut counted: Counted,
        cx: &EvalContext<'_>,
    ) -> Result<Page> {
        let mut rows = Vec::new();
        let mut last: Option<(Arc<Batch>, usize)> = None;
        let left =
            |limit: Option<u64>, counted: u64| limit.map_or(u64::MAX, |limit| limit.saturating_sub(counted));
        while left(limits.rows, counted.rows) > 0 {
            let Some((batch, run)) = pump.next()? else { break };
            let before = counted.numbers();
            counted.enter(batch.key());
            let of_partition = left(limits.per_partition, counted.of_partition);
            if of_partition == 0 {
                pump.skip_partition()?;
                continue;
            }
            let of_page = left(limits.page, counted.of_page);
            if of_page == 0 {
                return Ok((rows, state_behind(pump, last.as_ref(), before)?));
            }
            let wanted = of_partition.min(of_page).min(left(limits.rows, counted.rows));
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(run.len());
            rows.reserve(wanted);
            for row in run.start..run.start + wanted {
                rows.push(self.selection.row(&batch, row, cx)?);
            }
            counted.add(wanted as u64);
            if limits.page.is_some() {
                last = Some((batch, run.start + wanted - 1));
            }
            if wanted == run.len() || left(limits.rows, counted.rows) == 0 {
                continue;
            }
            // Rows of the run are left: over PER PARTITION LIMIT, or for the next page.
            if wanted as u64 == of_partition {
                pump.skip_partition()?;
                continue;
            }
            return Ok((rows, state_behind(pump, last.as_ref(), counted.numbers())?));
        }
        Ok((rows, None))
    }

    /// Everything in one group.
    fn one_group(&self, pump: &mut Pump, cx: &EvalContext<'_>) -> Result<Vec<Wire>> {
        let mut group = self.selection.start();
        while let Some((batch, run)) = pump.next()? {
            group.push(&batch, run, cx)?;
        }
        group.finish(cx)
    }

    /// Groups one after the other.
    fn groups(
        &self,
        pump: &mut Pump,
        limits: Limits,
        mut counted: Counted,
        cx: &EvalContext<'_>,
    ) -> Result<Page> {
        let mut rows = Vec::new();
        let mut open: Option<(GroupId, Group<'_>)> = None;
        let mut last: Option<(Arc<Batch>, usize)> = None;
        while let Some((batch, run)) = pump.next()? {
            let mut at = run.start;
            while at < run.end {
                let id = self.group_id(&batch, at, cx)?;
                let end = self.group_end(&batch, at..run.end, &id, cx)?;
                if let Some((current, group)) = &mut open {
                    if *current == id {
                        group.push(&batch, at..end, cx)?;
                        last = Some((Arc::clone(&batch), end - 1));
                        at = end;
                        continue;
                    }
                    rows.push(group.finish(cx)?);
                    counted.add(1);
                    open = None;
                }
                if limits.rows.is_some_and(|limit| counted.rows >= limit) {
                    return Ok((rows, None));
                }
                let before = counted.numbers();
                counted.enter(batch.key());
                if limits.per_partition.is_some_and(|limit| counted.of_partition >= limit) {
                    pump.skip_partition()?;
                    break;
                }
                if limits.page.is_some_and(|page| counted.of_page >= page) {
                    return Ok((rows, state_behind(pump, last.as_ref(), before)?));
                }
                let mut group = self.selection.start();
                group.push(&batch, at..end, cx)?;
                open = Some((id, group));
                last = Some((Arc::clone(&batch), end - 1));
                at = end;
            }
        }
        if let Some((_, group)) = &mut open {
            rows.push(group.finish(cx)?);
        }
        Ok((rows, None))
    }

    /// Where the group `id`, to which the first of `rows` belongs, ends among them.
    fn group_end(
        &self,
        batch: &Batch,
        rows: Range<usize>,
        id: &GroupId,
        cx: &EvalContext<'_>,
    ) -> Result<usize> {
        let belongs = |row: usize| Ok::<_, CqlError>(self.group_id(batch, row, cx)? == *id);
        if matches!(self.grouping, Grouping::Columns(GroupColumns { prefix: 0, .. })) {
            return Ok(rows.end);
        }
        if self.group_function.as_ref().is_some_and(|function| !function.is_monotone()) {
            let mut end = rows.start + 1;
            while end < rows.end && belongs(end)? {
                end += 1;
            }
            return Ok(end);
        }
        // Rows of a group stand together: steps of growing length, then halves.
        let (mut inside, mut step) = (rows.start, 1);
        while inside + step < rows.end && belongs(inside + step)? {
            inside += step;
            step *= 2;
        }
        let mut outside = rows.end.min(inside + step);
        while inside + 1 < outside {
            let middle = inside + (outside - inside) / 2;
            if belongs(middle)? { inside = middle } else { outside = middle }
        }
        Ok(inside + 1)
    }

    /// Which group a row belongs to.
    fn group_id(&self, batch: &Batch, row: usize, cx: &EvalContext<'_>) -> Result<GroupId> {
        let Grouping::Columns(columns) = self.grouping else {
            return Ok(GroupId { partition: Bytes::EMPTY, prefix: Vec::new() });
        };
        let partition = batch.key().key.clone();
        let mut prefix: Vec<Wire> = Vec::with_capacity(columns.prefix);
        let plain = columns.prefix - usize::from(columns.in_function);
        for place in self.clustering_places.iter().take(plain) {
            prefix.push(batch.wire(*place, row)?);
        }
        if let Some(function) = &self.group_function {
            prefix.push(function.value(batch, row, cx)?);
        }
        Ok(GroupId { partition, prefix })
    }

    /// Rows (or groups) of several partitions, sorted.
    fn sorted(&self, pump: &mut Pump, limits: Limits, cx: &EvalContext<'_>) -> Result<Vec<Vec<Wire>>> {
        let mut rows: Vec<(Vec<Wire>, Vec<Wire>)> = Vec::new();
        let mut open: Option<(GroupId, Group<'_>)> = None;
        let mut counted = Counted::default();
        let grouped = !matches!(self.grouping, Grouping::None);
        while let Some((batch, run)) = pump.next()? {
            let mut at = run.start;
            while at < run.end {
                let id = self.group_id(&batch, at, cx)?;
                let end = if grouped { self.group_end(&batch, at..run.end, &id, cx)? } else { at + 1 };
                if grouped && let Some((current, group)) = &mut open {
                    if *current == id {
                        group.push(&batch, at..end, cx)?;
                        at = end;
                        continue;
                    }
                    if let Some(last) = rows.last_mut() {
                        last.1 = group.finish(cx)?;
                    }
                    open = None;
                }
                counted.enter(batch.key());
                if limits.per_partition.is_some_and(|limit| counted.of_partition >= limit) {
                    pump.skip_partition()?;
                    break;
                }
                counted.add(1);
                let mut key = Vec::with_capacity(self.sort_places.len());
                for place in &self.sort_places {
                    key.push(batch.wire(*place, at)?);
                }
                match grouped {
                    true => {
                        let mut group = self.selection.start();
                        group.push(&batch, at..end, cx)?;
                        rows.push((key, Vec::new()));
                        open = Some((id, group));
                    }
                    false => rows.push((key, self.selection.row(&batch, at, cx)?)),
                }
                at = end;
            }
        }
        if let (Some((_, group)), Some(last)) = (&mut open, rows.last_mut()) {
            last.1 = group.finish(cx)?;
        }
        // Stable: equal rows stay in the order of the keys' values.
        rows.sort_by(|left, right| self.order.compare(&left.0, &right.0));
        let limit = limits.rows.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        rows.truncate(limit);
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }
}

/// The partition and the first clustering values that the rows of a group share.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GroupId {
    partition: Bytes,
    prefix: Vec<Wire>,
}

/// The state behind the last row of a page.
fn state_behind(
    pump: &Pump,
    last: Option<&(Arc<Batch>, usize)>,
    counts: (u64, u64),
) -> Result<Option<PageState>> {
    last.map(|(batch, row)| pump.state(batch, *row, counts)).transpose()
}

/// The value of a LIMIT; None without one, or if it is unset.
fn limit(term: Option<&Term>, cx: &EvalContext<'_>) -> Result<Option<u64>> {
    let Some(term) = term else { return Ok(None) };
    match term.eval(cx)? {
        Bound::Unset => Ok(None),
        Bound::Null => Err(CqlError::invalid("Invalid null value of limit")),
        Bound::Value(wire) => {
            let number = <[u8; 4]>::try_from(&wire[..]).map(i32::from_be_bytes);
            let number = number.map_err(|_| CqlError::invalid("Invalid limit value"))?;
            match u64::try_from(number) {
                Ok(number) if number > 0 => Ok(Some(number)),
                _ => Err(CqlError::invalid("LIMIT must be strictly positive")),
            }
        }
    }
}

/// A paging state as a client sent it.
fn paging_state(bytes: &[u8]) -> Result<PageState> {
    PageState::from_bytes(bytes).map_err(|error| CqlError::new(Code::Protocol, error.message().to_owned()))
}
