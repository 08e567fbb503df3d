//! BEGIN BATCH ... APPLY BATCH.

use crate::answer::{Outcome, Run};
use crate::error::{CqlError, Result};
use crate::modify::attributes::Attributes;
use crate::modify::execute::{InBatch, eval_context, execute, execute_each};
use crate::modify::statement::{Context, Modification};
use crate::syntax::ast;
use crate::syntax::ast::BatchKind;
use crate::term::{Preparing, Scope};
use crate::value::Bound;
use skep_engine::Db;

/// A prepared batch.
#[derive(Clone, Debug)]
pub struct BatchPlan {
    kind: BatchKind,
    attributes: Attributes,
    statements: Vec<Modification>,
}

impl BatchPlan {
    /// Prepares a batch.
    ///
    /// # Errors
    /// Those of its statements; `Invalid` for statements that cannot be together.
    pub fn prepare(batch: &ast::Batch, cx: &mut Context<'_>) -> Result<Self> {
        let scope = Scope { types: cx.catalog, keyspace: "", table: None };
        // Markers are numbered by the text, where the batch's USING stands first.
        let attributes =
            Attributes::prepare(&batch.using, None, &mut Preparing { scope, markers: cx.markers })?;
        let statements = batch.statements.iter().map(|statement| Modification::prepare(statement, cx));
        let statements = statements.collect::<Result<Vec<_>>>()?;
        validate(batch.kind, &attributes, &statements.iter().collect::<Vec<_>>())?;
        Ok(Self { kind: batch.kind, attributes, statements })
    }

    /// The statements.
    #[must_use]
    pub fn statements(&self) -> &[Modification] {
        &self.statements
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`execute`].
    pub fn run(&self, db: &Db, run: &mut Run<'_>) -> Result<Outcome> {
        let timestamp = self.attributes.timestamp(&eval_context(run))?;
        let statements: Vec<&Modification> = self.statements.iter().collect();
        execute(db, &statements, Some(InBatch { kind: self.kind, timestamp }), run)
    }
}

/// Runs a batch of statements that were prepared apart, as drivers and programs send them.
///
/// # Errors
/// `Invalid` for statements that cannot be together; else as [`execute`].
pub fn run_each(
    db: &Db,
    kind: BatchKind,
    each: &[(&Modification, &[Bound])],
    run: &mut Run<'_>,
) -> Result<Outcome> {
    let statements: Vec<_> = each.iter().map(|(statement, _)| *statement).collect();
    validate(kind, &Attributes::default(), &statements)?;
    execute_each(db, each, Some(InBatch { kind, timestamp: None }), run)
}

/// Refuses statements that cannot be together.
fn validate(kind: BatchKind, attributes: &Attributes, statements: &[&Modification]) -> Result<()> {
    let fail = |text: &str| Err(CqlError::invalid(text));
    let conditional = statements.iter().any(|statement| statement.is_conditional());
    let counters = statements.iter().filter(|s| s.table.is_counter()).count();
    if attributes.has_ttl() {
        return fail("Global TTL on the BATCH statement is not supported.");
    }
    if attributes.has_timestamp() {
        if conditional {
            return fail("Cannot provide custom timestamp for conditional BATCH");
        }
        if kind == BatchKind::Counter {
            return fail("Cannot provide custom timestamp for counter BATCH");
        }
        if statements.iter().any(|statement| statement.attributes.has_timestamp()) {
            return fail("Timestamp must be set either on BATCH or individual statements");
        }
        if counters > 0 {
            return fail("Cannot provide custom timestamp for a BATCH containing counters");
        }
    }
    if kind == BatchKind::Counter && counters < statements.len() {
        return fail("Cannot include non-counter statement in a counter batch");
    }
    if counters > 0 && counters < statements.len() {
        return fail("Counter and non-counter mutations cannot exist in the same batch");
    }
    if kind == BatchKind::Logged && counters > 0 {
        return fail("Cannot include a counter statement in a logged batch");
    }
    let id = |statement: &Modification| statement.table.schema.id;
    if conditional && statements.windows(2).any(|pair| id(pair[0]) != id(pair[1])) {
        return fail("Batch with conditions cannot span multiple tables");
    }
    Ok(())
}
