//! A prepared statement: its text and tree, and a plan made for the schema as it is.
//!
//! The tree stays; the plan is made anew when the schema has changed since.

use crate::answer::{Outcome, Run};
use crate::error::{Code, CqlError, Result};
use crate::value::ColumnSpec;
use std::sync::Arc;

/// A statement that was read and planned. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prepared(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    text: String,
    first: Arc<Planned>,
}

/// A plan, with what is known of its values and rows.
#[derive(Debug)]
pub(crate) struct Planned {
    plan: Plan,
    pub(crate) binds: Vec<ColumnSpec>,
    key: Vec<usize>,
    columns: Arc<[ColumnSpec]>,
}

/// What is done.
#[derive(Debug)]
enum Plan {
    /// USE.
    Use(String),
}

impl Prepared {
    pub(crate) fn new(text: &str, _keyspace: &str) -> Result<Self> {
        let plan = match text.strip_prefix("USE ") {
            Some(name) => Plan::Use(name.to_owned()),
            None => return Err(CqlError::new(Code::ServerError, "not there yet")),
        };
        let first = Planned { plan, binds: Vec::new(), key: Vec::new(), columns: Arc::from([]) };
        Ok(Self(Arc::new(Inner { text: text.to_owned(), first: Arc::new(first) })))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The bind markers: names and types, in the order of the text.
    #[must_use]
    pub fn binds(&self) -> &[ColumnSpec] {
        &self.0.first.binds
    }

    /// Which bind markers are the partition key's columns, in the order of the key; empty if not all of them are.
    #[must_use]
    pub fn key_indexes(&self) -> &[usize] {
        &self.0.first.key
    }

    /// The columns of its rows; empty if it gives none.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.0.first.columns
    }

    /// The plan for the schema as it is.
    pub(crate) fn planned(&self) -> Result<Arc<Planned>> {
        Ok(Arc::clone(&self.0.first))
    }
}

impl Planned {
    pub(crate) fn run(&self, _run: &mut Run<'_>) -> Result<Outcome> {
        match &self.plan {
            Plan::Use(name) => Ok(Outcome::Keyspace(name.clone())),
        }
    }
}
