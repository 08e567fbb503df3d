//! What goes into the run of a statement beside its text, and what comes out.
//!
//! The statement kinds (`select`, `modify`, `schema`, `explain`) take a [`Run`] and give an [`Outcome`]; `session` makes the one and hands out
//! the other. Nothing here does anything.

use crate::value::{Bound, ColumnSpec, Wire};
use skep_engine::Explain;
use std::sync::Arc;

/// What a client says about one run of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Rows per page of a SELECT; None: all rows at once.
    pub page_size: Option<usize>,
    /// Where to go on: [`ResultSet::paging_state`] of the page before.
    pub paging_state: Option<Vec<u8>>,
    /// Timestamp (micros) of a write that has no USING TIMESTAMP.
    pub timestamp: Option<i64>,
    /// Whether a trace is wanted with the answer.
    pub tracing: bool,
}

/// One run of a prepared statement.
#[derive(Debug)]
pub struct Run<'a> {
    /// The bind markers' values, as many as there are markers.
    pub binds: &'a [Bound],
    /// The time of the store's clock (micros) when the statement began: all of it happens at this moment.
    pub now_micros: i64,
    /// The client's wishes.
    pub parameters: &'a Parameters,
    /// Warnings, in the order in which they arose.
    pub warnings: Vec<String>,
    /// Lines of the trace; None if none is wanted.
    pub trace: Option<Vec<String>>,
    /// What its reads looked at; None if nobody asks.
    pub story: Option<Box<Explain>>,
}

impl<'a> Run<'a> {
    /// A run that has not begun.
    #[must_use]
    pub fn new(binds: &'a [Bound], now_micros: i64, parameters: &'a Parameters) -> Self {
        let (warnings, trace) = (Vec::new(), parameters.tracing.then(Vec::new));
        let story = parameters.tracing.then(Box::default);
        Self { binds, now_micros, parameters, warnings, trace, story }
    }

    /// Whether reads are to record what they look at.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.story.is_some()
    }

    /// Adds what a read looked at.
    pub fn tell(&mut self, read: Option<&Explain>) {
        if let (Some(story), Some(read)) = (&mut self.story, read) {
            story.add(read);
        }
    }

    /// Adds a warning; one that was given already is not repeated.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Adds a line to the trace, if one is wanted; `line` is only made then.
    pub fn trace(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.trace {
            lines.push(line());
        }
    }
}

/// What a statement came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing to say: a write, TRUNCATE, a schema statement that changed nothing.
    Void,
    /// Rows: of SELECT, of conditional writes, of DESCRIBE.
    Rows(ResultSet),
    /// USE.
    Keyspace(String),
    /// The schema has changed.
    Schema(SchemaChange),
}

/// Rows, or a page of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultSet {
    /// The columns.
    pub columns: Arc<[ColumnSpec]>,
    /// The rows; each has a value for each column.
    pub rows: Vec<Vec<Wire>>,
    /// Where the next page begins; None after the last.
    pub paging_state: Option<Vec<u8>>,
}

/// What has happened to a thing of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// CREATE.
    Created,
    /// ALTER, and what an index or view does to its table.
    Updated,
    /// DROP.
    Dropped,
}

/// A thing of the schema as drivers know it; indexes count as changes of their table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A keyspace.
    Keyspace,
    /// A table or a view, by name.
    Table(String),
    /// A user type, by name.
    Type(String),
}

/// A change of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    /// What has happened.
    pub change: Change,
    /// To what.
    pub target: Target,
    /// In which keyspace.
    pub keyspace: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_stands_once_and_a_trace_only_where_it_is_wanted() {
        let parameters = Parameters::default();
        let mut run = Run::new(&[], 0, &parameters);
        run.warn("a");
        run.warn("b");
        run.warn("a");
        assert_eq!(run.warnings, ["a", "b"]);
        run.trace(|| unreachable!("nobody asked"));
        let traced = Parameters { tracing: true, ..parameters };
        let mut run = Run::new(&[], 0, &traced);
        run.trace(|| "one".to_owned());
        assert_eq!(run.trace.as_deref(), Some(&["one".to_owned()][..]));
    }
}
