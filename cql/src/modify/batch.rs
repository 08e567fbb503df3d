//! BEGIN BATCH ... APPLY BATCH.

use crate::answer::{Outcome, Run};
use crate::error::{CqlError, Result};
use crate::modify::attributes::Attributes;
use crate::modify::execute::{InBatch, eval_context, execute};
use crate::modify::statement::{Context, Modification};
use crate::syntax::ast;
use crate::syntax::ast::BatchKind;
use crate::term::{Preparing, Scope};
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
        Self::of(batch.kind, attributes, statements.collect::<Result<_>>()?)
    }

    /// A batch of prepared statements, as drivers send them.
    ///
    /// # Errors
    /// `Invalid` for statements that cannot be together.
    pub fn of(kind: BatchKind, attributes: Attributes, statements: Vec<Modification>) -> Result<Self> {
        let made = Self { kind, attributes, statements };
        made.validate()?;
        Ok(made)
    }

    /// The statements.
    #[must_use]
    pub fn statements(&self) -> &[Modification] {
        &self.statements
    }

    fn validate(&self) -> Result<()> {
        let fail = |text: &str| Err(CqlError::invalid(text));
        let conditional = self.statements.iter().any(Modification::is_conditional);
        let counters = self.statements.iter().filter(|s| s.table.is_counter()).count();
        if self.attributes.has_ttl() {
            return fail("Global TTL on the BATCH statement is not supported.");
        }
        if self.attributes.has_timestamp() {
            if conditional {
                return fail("Cannot provide custom timestamp for conditional BATCH");
            }
            if self.kind == BatchKind::Counter {
                return fail("Cannot provide custom timestamp for counter BATCH");
            }
            if self.statements.iter().any(|statement| statement.attributes.has_timestamp()) {
                return fail("Timestamp must be set either on BATCH or individual statements");
            }
            if counters > 0 {
                return fail("Cannot provide custom timestamp for a BATCH containing counters");
            }
        }
        if self.kind == BatchKind::Counter && counters < self.statements.len() {
            return fail("Cannot include non-counter statement in a counter batch");
        }
        if counters > 0 && counters < self.statements.len() {
            return fail("Counter and non-counter mutations cannot exist in the same batch");
        }
        if self.kind == BatchKind::Logged && counters > 0 {
            return fail("Cannot include a counter statement in a logged batch");
        }
        let id = |statement: &Modification| statement.table.schema.id;
        if conditional && self.statements.windows(2).any(|pair| id(&pair[0]) != id(&pair[1])) {
            return fail("Batch with conditions cannot span multiple tables");
        }
        Ok(())
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
