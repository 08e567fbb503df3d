//! The loops of a SELECT: rows as they come, groups, everything in one group, and sorted partitions.
//!
//! All read through [`Pump`], which gives runs of rows of one batch, so that they stop and go on in the same way. Groups end where the first
//! row stands that does not belong to them, which is found by growing steps and halves: rows of a group stand together.

use crate::error::{CqlError, Result};
use crate::select::count::{Counted, Limits};
use crate::select::group::GroupColumns;
use crate::select::pump::Pump;
use crate::select::selection::Group;
use crate::select::{Grouping, SelectPlan};
use crate::term::EvalContext;
use crate::value::Wire;
use skep_engine::model::bytes::Bytes;
use skep_engine::{Batch, PageState};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a page and where the next one begins.
pub(crate) type Page = (Vec<Vec<Wire>>, Option<PageState>);

impl SelectPlan {
    /// Rows as they come.
    pub(crate) fn rows(
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
                rows.push(self.selection.row(&batch, row, pump.base.as_deref(), cx)?);
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
    pub(crate) fn one_group(&self, pump: &mut Pump, cx: &EvalContext<'_>) -> Result<Vec<Wire>> {
        let mut group = self.selection.start(pump.base.clone());
        while let Some((batch, run)) = pump.next()? {
            group.push(&batch, run, cx)?;
        }
        group.finish(cx)
    }

    /// Groups one after the other.
    pub(crate) fn groups(
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
                let mut group = self.selection.start(pump.base.clone());
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
    pub(crate) fn sorted(
        &self,
        pump: &mut Pump,
        limits: Limits,
        cx: &EvalContext<'_>,
    ) -> Result<Vec<Vec<Wire>>> {
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
                        let mut group = self.selection.start(pump.base.clone());
                        group.push(&batch, at..end, cx)?;
                        rows.push((key, Vec::new()));
                        open = Some((id, group));
                    }
                    false => rows.push((key, self.selection.row(&batch, at, pump.base.as_deref(), cx)?)),
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
