//! A run of statements, one or a batch of them: from their steps to one commit.
//!
//! ```text
//! steps        terms, keys, rows, times of every statement: errors end it here, before anything is locked
//! lock         the partitions of statements that read: conditions, counters, positions in lists, tables with views
//! conditions   held against the state before
//! write        every step into one set of mutations, counters last
//! commit       what is derived is added; one write batch, visible as a whole
//! ```

use crate::answer::{Outcome, Run};
use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::function::CallContext;
use crate::modify::attributes::checked_timestamp;
use crate::modify::cas::Request;
use crate::modify::commit::{commit, needs_state};
use crate::modify::counter::Counts;
use crate::modify::guard;
use crate::modify::statement::Modification;
use crate::modify::step::Step;
use crate::modify::times::Times;
use crate::mutation::Mutations;
use crate::story::things;
use crate::syntax::ast::BatchKind;
use crate::term::EvalContext;
use crate::value::Bound;
use skep_engine::Db;
use skep_engine::Snapshot;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::Clustering;
use skep_engine::model::reconcile::resolve;
use skep_engine::model::row::Row;
use skep_engine::model::schema::TableId;
use std::sync::Arc;

/// The batch that statements are in.
#[derive(Clone, Copy, Debug)]
pub struct InBatch {
    /// Its kind.
    pub kind: BatchKind,
    /// Its USING TIMESTAMP, micros.
    pub timestamp: Option<i64>,
}

/// What terms are evaluated with.
pub fn eval_context<'a>(run: &Run<'a>) -> EvalContext<'a> {
    EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } }
}

/// Runs `statements`, all of one batch or just one.
///
/// # Errors
/// What is wrong with the values, in Cassandra's words; the commit's. Nothing is written then.
pub fn execute(
    db: &Db,
    statements: &[&Modification],
    batch: Option<InBatch>,
    run: &mut Run<'_>,
) -> Result<Outcome> {
    let each: Vec<_> = statements.iter().map(|statement| (*statement, run.binds)).collect();
    execute_each(db, &each, batch, run)
}

/// Runs statements that were prepared apart, each with the values of its own markers.
///
/// # Errors
/// As [`execute`].
pub fn execute_each(
    db: &Db,
    each: &[(&Modification, &[Bound])],
    batch: Option<InBatch>,
    run: &mut Run<'_>,
) -> Result<Outcome> {
    let statements: Vec<&Modification> = each.iter().map(|(statement, _)| *statement).collect();
    let evals: Vec<_> = each.iter().map(|(_, binds)| EvalContext { binds, ..eval_context(run) }).collect();
    let mut steps = Vec::with_capacity(statements.len());
    for (statement, eval) in statements.iter().zip(&evals) {
        steps.push(Step::new(statement, eval, run.now_micros.div_euclid(1_000_000))?);
    }
    let asked = run.parameters.timestamp.map(checked_timestamp).transpose()?;
    let given = batch.and_then(|batch| batch.timestamp).or(asked);
    let is_conditional = statements.iter().any(|statement| statement.is_conditional());
    let needs_time =
        |s: &Modification| s.reads() || s.counts() || s.is_conditional() || needs_state(&s.table);
    let request = if is_conditional { Some(Request::new(&steps, batch.is_some())?) } else { None };
    let mut mutations = Mutations::new();
    if !statements.iter().any(|statement| needs_time(statement)) {
        for step in &steps {
            let times = match step.timestamp.or(given) {
                Some(timestamp) => Times::at(timestamp, None, step.ttl),
                None => Times::of_commit(step.ttl),
            };
            step.write((times, times), 0, &mut |_, _| Ok(None), &mut mutations)?;
        }
        if let Some(batch) = batch {
            guard::check(&mutations, batch.kind, run)?;
        }
        commit(db, &mutations, None, run)?;
        return Ok(Outcome::Void);
    }

    let keys: Vec<(TableId, &[u8])> = steps
        .iter()
        .flat_map(|step| step.keys.iter().map(|key| (step.statement.table.schema.id, &key[..])))
        .collect();
    let _alone = db.lock_partitions(&keys);
    run.trace(|| {
        format!("Holding {} alone, to read before the write", things(keys.len() as u64, "partition"))
    });
    let state = State { snapshot: db.snapshot() };
    // Derived rows have the clock's time, which only grows, whatever time the statement takes.
    let clock = db.next_micros();
    let mut drawn = clock;
    let second = clock.div_euclid(1_000_000);
    let mut outcome = Outcome::Void;
    if let Some(request) = &request {
        let current = request.read(&state.snapshot.of(&statements[0].table.table)?)?;
        if !request.holds(&current)? {
            run.trace(|| "Conditions do not hold: nothing is written".to_owned());
            return Ok(Outcome::Rows(request.refused(&current)?));
        }
        drawn = request.timestamp(&current, drawn);
        run.trace(|| {
            format!("Conditions hold; the write is given timestamp {drawn}, later than all in its partition")
        });
        outcome = Outcome::Rows(request.applied());
    }
    let mut counts = Counts::default();
    let now = state.snapshot.now();
    for step in &steps {
        let timestamp = match is_conditional || step.statement.table.is_counter() {
            // The client's wish is for writes that depend on nothing.
            true => step.timestamp.unwrap_or(drawn),
            false => step.timestamp.or(given).unwrap_or(drawn),
        };
        let times = Times::at(timestamp, Some(second), step.ttl);
        // Beside conditions, a deletion of a partition or range leaves alone what the same batch writes.
        let slices = match is_conditional && batch.is_some() {
            true => Times::at(timestamp.saturating_sub(1).max(i64::MIN + 1), Some(second), step.ttl),
            false => times,
        };
        let table = &step.statement.table;
        let mut stored = |key: &Bytes, at: Option<&Clustering>| state.stored(table, key, at);
        step.write((times, slices), now, &mut stored, &mut mutations)?;
        counts.add(step)?;
    }
    let times = Times::at(drawn, Some(second), 0);
    let live = |table: &Arc<TableInfo>, key: &Bytes, at: Option<&Clustering>| {
        Ok(state.stored(table, key, at)?.and_then(|row| resolve(row, now)))
    };
    counts.write(times, live, &mut mutations)?;
    if let Some(batch) = batch
        && !is_conditional
    {
        guard::check(&mutations, batch.kind, run)?;
    }
    commit(db, &mutations, Some((clock, &state.snapshot)), run)?;
    Ok(outcome)
}

/// The store as the run found it.
struct State {
    snapshot: Snapshot,
}

impl State {
    /// A row as it is stored; the static one without a clustering.
    fn stored(&self, table: &TableInfo, key: &Bytes, at: Option<&Clustering>) -> Result<Option<Row>> {
        let table = self.snapshot.of(&table.table)?;
        let row = match at {
            Some(clustering) => table.stored_row(key, clustering),
            None => table.stored_static(key),
        };
        row.map_err(CqlError::from)
    }
}
