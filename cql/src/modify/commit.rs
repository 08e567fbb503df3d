//! The end of every write: what is derived from it is added, then all of it is committed as one.

use crate::answer::Run;
use crate::catalog::TableInfo;
use crate::derive;
use crate::error::Result;
use crate::mutation::Mutations;
use skep_engine::{Db, Snapshot, WriteBatch};

/// Whether writes to a table need its state before them, and so the partition's lock and a known timestamp: for its views.
#[must_use]
pub fn needs_state(table: &TableInfo) -> bool {
    !table.views.is_empty()
}

/// Commits `mutations`; `state` is the timestamp (micros) and the store before the write, where a statement needed them.
///
/// # Errors
/// The engine's; nothing was written then.
pub fn commit(
    db: &Db,
    mutations: &Mutations,
    state: Option<(i64, &Snapshot)>,
    run: &mut Run<'_>,
) -> Result<()> {
    if mutations.is_empty() {
        return Ok(());
    }
    let mut batch = WriteBatch::new();
    mutations.put(&mut batch)?;
    for (table, amounts) in run.trace.iter().flat_map(|_| mutations.amounts()).collect::<Vec<_>>() {
        run.trace(|| format!("Writing to {table}: {amounts}"));
    }
    let stated = batch.len();
    derive::add(db, mutations, state, &mut batch)?;
    if batch.len() > stated {
        run.trace(|| {
            format!("Operations for indexes and views in the same commit: {}", batch.len() - stated)
        });
    }
    if let Some((timestamp, _)) = state {
        batch.set_timestamp(timestamp)?;
    }
    let (operations, bytes) = (batch.len(), batch.size_bytes());
    let written = db.write(&mut batch)?;
    run.trace(|| format!("Committed {operations} operations, {bytes} bytes, at timestamp {written}"));
    Ok(())
}
