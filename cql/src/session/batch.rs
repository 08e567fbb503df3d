//! Batches of prepared statements: one write, one record of the log, visible as a whole.

use crate::answer::{Parameters, Run};
use crate::error::{CqlError, Result};
use crate::modify::batch::run_each;
use crate::session::overtaken;
use crate::session::overtaken::Failed;
use crate::session::plan::{Planned, Prepared};
use crate::session::values::{Values, wrong_number};
use crate::session::{Answer, Query, Session};
use crate::syntax::ast::BatchKind;
use crate::value::Bound;
use std::sync::Arc;

/// Statements that write, to be run together; made by [`Session::batch`].
#[derive(Debug)]
pub struct Batch<'s> {
    session: &'s Session,
    kind: BatchKind,
    statements: Vec<Bindings>,
}

/// A statement of a batch, with its values and the plan for which they were bound.
#[derive(Debug)]
struct Bindings {
    prepared: Prepared,
    planned: Arc<Planned>,
    binds: Vec<Bound>,
}

impl Session {
    /// An empty batch, logged as CQL calls it. (All batches are atomic here; the kinds differ in what may be in them.)
    pub fn batch(&self) -> Batch<'_> {
        Batch { session: self, kind: BatchKind::Logged, statements: Vec::new() }
    }
}

impl Batch<'_> {
    /// Of another kind: a counter batch holds increments and nothing else.
    #[must_use]
    pub fn kind(self, kind: BatchKind) -> Self {
        Self { kind, ..self }
    }

    /// Adds an INSERT, UPDATE or DELETE with its values.
    ///
    /// # Errors
    /// `Invalid` for another statement; those of preparing it, and of values that do not fit.
    pub fn add(&mut self, query: impl Query, values: impl Values) -> Result<&mut Self> {
        let prepared = query.prepared(self.session)?;
        let planned = prepared.planned(self.session.catalog())?;
        if planned.modification().is_none() {
            return Err(CqlError::invalid(
                "Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.",
            ));
        }
        let binds = values.bind(&planned.binds)?;
        if binds.len() != planned.binds.len() {
            return Err(wrong_number(planned.binds.len(), binds.len()));
        }
        self.statements.push(Bindings { prepared, planned, binds });
        Ok(self)
    }

    /// Statements in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// Runs it. It is empty afterwards and can be filled again; after an error it is as it was.
    ///
    /// # Errors
    /// `Invalid` for statements that cannot be together, what is wrong with the values, those of the commit. Nothing is written then.
    pub fn run(&mut self) -> Result<Answer> {
        self.run_with(&Parameters::default())
    }

    /// Runs it with a client's wishes: its timestamp holds for statements that have none.
    ///
    /// # Errors
    /// As [`Batch::run`].
    pub fn run_with(&mut self, parameters: &Parameters) -> Result<Answer> {
        let answer = overtaken::repeat(self.session.catalog(), || self.run_once(parameters))?;
        self.statements.clear();
        Ok(answer)
    }

    fn run_once(&self, parameters: &Parameters) -> std::result::Result<Answer, Failed> {
        let session = self.session;
        let _writing = session.catalog().writing();
        // Read first: of plans that are made meanwhile, one may be older.
        let epoch = session.catalog().epoch();
        let mut plans = Vec::with_capacity(self.statements.len());
        for statement in &self.statements {
            let planned = statement.prepared.planned(session.catalog())?;
            planned.check_same_types(&statement.planned)?;
            plans.push(planned);
        }
        let mut each = Vec::with_capacity(plans.len());
        for (planned, statement) in plans.iter().zip(&self.statements) {
            let modification = planned.modification().ok_or_else(|| CqlError::invalid("not a write"))?;
            each.push((modification, statement.binds.as_slice()));
        }
        let mut run = Run::new(&[], session.db().now_micros(), parameters);
        let outcome = run_each(session.db(), self.kind, &each, &mut run);
        let outcome = outcome.map_err(|error| Failed::by_plan(error, epoch))?;
        Ok(Answer { outcome, warnings: run.warnings, trace: run.trace })
    }
}
