//! INSERT, UPDATE, DELETE and BATCH.
//!
//! `session` prepares a statement once ([`prepare`]) and runs the plan with the values of its markers ([`ModifyPlan::run`]).
//!
//! ```text
//! statement    what is written where, under which conditions; checked against the schema
//!   operation    what happens to one column       attributes  USING       condition  IF       json  INSERT JSON
//! step         one execution: keys, rows and times of a statement
//!   apply        operations on a row (builder), in the times of the statement (times)
//! execute      steps, locks, conditions (cas), counters (counter), guard rails (guard)
//! commit       everything into one write batch
//! fast         a plain prepared INSERT by a shorter way
//! ```

pub mod times;
pub mod builder;
pub mod operation;
pub mod apply;
pub mod attributes;
pub mod condition;
pub mod json;
pub mod statement;
pub mod step;
pub mod counter;
pub mod guard;
pub mod commit;
pub mod cas;
pub mod execute;
pub mod fast;
pub mod batch;

pub use batch::BatchPlan;
pub use statement::{Context, Modification};

use crate::answer::{Outcome, Run};
use crate::error::Result;
use crate::modify::execute::execute;
use crate::modify::fast::FastInsert;
use crate::syntax::ast::Statement;
use skep_engine::Db;

/// A statement that writes, ready to run any number of times, in any thread.
#[derive(Debug)]
pub enum ModifyPlan {
    /// One statement.
    One(Box<Modification>, Option<FastInsert>),
    /// A batch.
    Batch(Box<BatchPlan>),
}

/// Prepares an INSERT, UPDATE, DELETE or BATCH.
///
/// # Errors
/// What is wrong with it, in Cassandra's words.
pub fn prepare(statement: &Statement, cx: &mut Context<'_>) -> Result<ModifyPlan> {
    if let Statement::Batch(batch) = statement {
        return Ok(ModifyPlan::Batch(Box::new(BatchPlan::prepare(batch, cx)?)));
    }
    let made = Modification::prepare(statement, cx)?;
    let fast = FastInsert::of(&made);
    Ok(ModifyPlan::One(Box::new(made), fast))
}

impl ModifyPlan {
    /// Runs it: [`Outcome::Void`], or the `[applied]` rows of conditions.
    ///
    /// # Errors
    /// What is wrong with the values, in Cassandra's words; the commit's. Nothing is written then.
    pub fn run(&self, db: &Db, run: &mut Run<'_>) -> Result<Outcome> {
        match self {
            Self::One(_, Some(fast)) if run.trace.is_none() => fast.run(db, run),
            Self::One(statement, _) => execute(db, &[statement], None, run),
            Self::Batch(batch) => batch.run(db, run),
        }
    }

    /// The one statement that it is.
    #[must_use]
    pub fn statement(&self) -> Option<&Modification> {
        match self {
            Self::One(statement, _) => Some(statement),
            Self::Batch(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
