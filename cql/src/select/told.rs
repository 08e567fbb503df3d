//! The plan of a SELECT in words, with the values of a run: for EXPLAIN and traces.

use crate::answer::Run;
use crate::error::Result;
use crate::restrict::Partitions as Keys;
use crate::select::count::Limits;
use crate::select::{Grouping, SelectPlan};
use crate::story::{Line, line, things};
use crate::term::EvalContext;
use skep_engine::TokenRange;

/// Partitions that are named one by one.
const MAX_NAMED: usize = 3;

impl SelectPlan {
    /// What is going to be done, step by step. `run` is the one that it is done in.
    ///
    /// # Errors
    /// For values that do not fit.
    pub(crate) fn told(&self, cx: &EvalContext<'_>, run: &Run<'_>) -> Result<Vec<Line>> {
        let told = self.restrictions.told(cx);
        let limits = self.limits(cx, run)?;
        let conditions = |texts: &[String]| texts.join(" AND ");
        let mut lines = vec![line("table", self.table_text())];
        let index = self.restrictions.index().filter(|_| self.restrictions.is_key_range());
        let whole = match self.restrictions.partitions(cx)? {
            Keys::Keys(keys) => {
                let tokens: Vec<String> =
                    keys.iter().take(MAX_NAMED).map(|key| key.token.0.to_string()).collect();
                let more = if keys.len() > MAX_NAMED { ", ..." } else { "" };
                let (partitions, tokens) = (things(keys.len() as u64, "partition"), tokens.join(", "));
                let asked = conditions(&told.partitions);
                lines
                    .push(line("partitions", format!("{partitions} by key: {asked} (token {tokens}{more})")));
                false
            }
            Keys::Tokens(None) => {
                lines.push(line("partitions", "none: no token is in the range"));
                false
            }
            Keys::Tokens(Some(tokens)) => {
                let range = match tokens == TokenRange::ALL {
                    true => "all partitions, in the order of their tokens".to_owned(),
                    false => format!(
                        "those with tokens from {} to {}: {}",
                        tokens.first.0,
                        tokens.last.0,
                        conditions(&told.partitions)
                    ),
                };
                match index {
                    Some(index) => {
                        let name = &index.index.name;
                        let column = &index.index.column;
                        lines.push(line(
                            "index",
                            format!(
                                "{name} on {column} names the partitions and rows; each is held against WHERE"
                            ),
                        ));
                        lines.push(line("partitions", format!("of {range}, those that the index names")));
                    }
                    None => lines.push(line("partitions", range)),
                }
                index.is_none()
            }
        };
        lines.push(line("rows", self.rows_text(&told.rows, cx)?));
        if !told.filter.is_empty() {
            let cost = if whole { ": everything is read, and rows that fail it are left out" } else { "" };
            lines.push(line("filter", format!("{}{cost}", conditions(&told.filter))));
        }
        lines.push(line("columns", self.columns_text()));
        lines.push(line("order", self.order_text()));
        if let Some(text) = self.grouping_text(told.filter.is_empty()) {
            lines.push(line("aggregate", text));
        }
        lines.extend(limit_texts(limits, run.parameters.page_size));
        Ok(lines)
    }

    fn table_text(&self) -> String {
        match &self.table.view {
            Some(view) => format!("{}, a materialized view of {}", self.table.full_name(), view.base),
            None => self.table.full_name(),
        }
    }

    fn rows_text(&self, asked: &[String], cx: &EvalContext<'_>) -> Result<String> {
        if self.distinct {
            return Ok("the first of each partition (DISTINCT)".to_owned());
        }
        if asked.is_empty() {
            return Ok("all of each partition".to_owned());
        }
        let ranges = self.restrictions.ranges(cx)?.len() as u64;
        Ok(format!("{} of the clustering: {}", things(ranges, "range"), asked.join(" AND ")))
    }

    fn columns_text(&self) -> String {
        let names: Vec<&str> = self.projection.columns().map(|column| column.name.as_str()).collect();
        let lives = if self.selection.reads_lives() { ", with write times and TTLs" } else { "" };
        match names.is_empty() {
            true => format!("none is read{lives}"),
            false => format!("{}{lives}", names.join(", ")),
        }
    }

    fn order_text(&self) -> String {
        let schema = &self.table.schema;
        if !self.order.sort.is_empty() {
            let columns = self.order.sort.iter().filter_map(|by| schema.columns().get(by.column));
            let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
            return format!("sorted in memory by {}: rows of several partitions", names.join(", "));
        }
        match self.order.reverse {
            true => "the reverse of clustering order, as stored; nothing is sorted".to_owned(),
            false => "as stored; nothing is sorted".to_owned(),
        }
    }

    fn grouping_text(&self, unfiltered: bool) -> Option<String> {
        Some(match self.grouping {
            Grouping::None => return None,
            Grouping::All if self.selection.totals().is_some() && unfiltered && !self.distinct => {
                "one group, from the zone maps of the index where whole blocks count and nothing overlaps; other blocks are \
                 read"
                    .to_owned()
            }
            Grouping::All => "one group, streamed: every row is read, none is kept".to_owned(),
            Grouping::Columns(columns) => {
                let clustering = self.table.schema.clustering().iter().take(columns.prefix);
                let mut names = vec!["the partition key".to_owned()];
                names.extend(clustering.map(|column| column.name.clone()));
                if let Some(last) = names.last_mut().filter(|_| columns.in_function) {
                    *last = format!("a function of {last}");
                }
                format!("groups by {}, streamed: one is open at a time", names.join(", "))
            }
        })
    }
}

fn limit_texts(limits: Limits, page_size: Option<usize>) -> Vec<Line> {
    let mut lines = Vec::new();
    let counted = |step: &str, rows: Option<u64>| rows.map(|rows| line(step, rows.to_string()));
    lines.extend(counted("limit", limits.rows));
    lines.extend(counted("limit per partition", limits.per_partition));
    match (limits.page, page_size) {
        (Some(rows), _) => lines.push(line("paging", format!("{} a page", things(rows, "row")))),
        (None, Some(_)) => lines.push(line("paging", "the limit fits into one page")),
        (None, None) => lines.push(line("paging", "all rows at once")),
    }
    lines
}
