//! EXPLAIN SELECT: the plan in words, then the statement is run, and what it looked at and met is told.
//!
//! Rows are read as the statement reads them, all pages' worth unless the client asks for pages: then one page. They are counted and thrown away.

use crate::answer::{Parameters, ResultSet, Run};
use crate::error::Result;
use crate::explain::columns;
use crate::function::CallContext;
use crate::select::{Finder, SelectPlan};
use crate::story::{Line, amounts, line, sources, things};
use crate::term::EvalContext;
use crate::value::ColumnSpec;
use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use std::sync::Arc;

/// The columns of the answer.
#[must_use]
pub fn answer_columns(plan: &SelectPlan) -> Arc<[ColumnSpec]> {
    let texts = ["phase", "step", "detail"].map(|name| (name, CqlType::Text));
    columns(plan.table().keyspace(), plan.table().name(), &texts)
}

/// Runs a SELECT and tells how.
///
/// # Errors
/// As [`SelectPlan::run`].
pub fn explain(plan: &SelectPlan, run: &mut Run<'_>, finder: &dyn Finder) -> Result<ResultSet> {
    let cx = EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } };
    // The answer to EXPLAIN itself is never paged: the plan is shown, and run, as without pages.
    let parameters =
        Parameters { page_size: None, paging_state: None, tracing: false, ..run.parameters.clone() };
    let mut inner = Run::new(run.binds, run.now_micros, &parameters);
    inner.story = Some(Box::default());
    let mut rows = Vec::new();
    let mut add = |phase: &str, lines: Vec<Line>| {
        let text = |text: &str| Some(Bytes::new(text.as_bytes()));
        rows.extend(lines.iter().map(|(step, detail)| vec![text(phase), text(step), text(detail)]));
    };
    add("plan", plan.told(&cx, &inner)?);
    let answer = plan.run(&mut inner, finder)?;
    let story = inner.story.take().unwrap_or_default();
    add("source", sources(&story));
    add("read", amounts(&story));
    add("result", vec![line("rows", things(answer.rows.len() as u64, "row"))]);
    add("result", inner.warnings.iter().map(|warning| line("warning", warning.as_str())).collect());
    Ok(ResultSet { columns: answer_columns(plan), rows, paging_state: None })
}
