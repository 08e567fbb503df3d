//! What is derived from a table: its secondary indexes and materialized views.
//!
//! ```text
//! entry    what an index holds of a row       lookup  what is read from it
//! state    a row before and after a write     view    a row of a view as a function of the base's
//! fill     filling an index or view that was just made
//! ```
//! Rows derived from a write go into the same [`WriteBatch`] as the write: they become visible with it and are one record of the log with it, so that
//! nothing can come between table, indexes and views. (In Cassandra views follow later, and may be lost.)
//!
//! # Invariants
//! 1. An index holds an entry for each row that has the value; it may hold more. What it names is held against the row, and entries that
//!    are wrong are removed when they are met.
//! 2. A view's row is a function of the base's row. Both are written under the lock of the base's partition.
//! 3. Derived rows are written at the commit's own time, which only grows, whatever timestamp the statement names: what was derived later
//!    wins. Their expiry is that of what they were derived from.

pub mod entry;
pub mod lookup;
pub mod state;
pub mod view;
pub mod fill;

pub use lookup::Indexes;

use crate::catalog::{Catalog, TableInfo};
use crate::derive::entry::IndexTable;
use crate::derive::view::ViewPlan;
use crate::error::Result;
use crate::mutation::Mutations;
use skep_engine::{Db, Snapshot, WriteBatch};
use std::sync::Arc;

/// Adds what `mutations` mean for indexes and views to `batch`. `state` is the time (micros) of the write and the store before it, which tables with
/// views need.
///
/// # Errors
/// What reading the store fails with, and the engine's for a batch that is too large.
pub fn add(
    db: &Db,
    mutations: &Mutations,
    state: Option<(i64, &Snapshot)>,
    batch: &mut WriteBatch,
) -> Result<()> {
    let concerned = |table: &Arc<TableInfo>| !table.indexes.is_empty() || !table.views.is_empty();
    if !mutations.partitions().iter().any(|part| concerned(&part.table)) {
        return Ok(());
    }
    let picture = Catalog::of(db).picture()?;
    let second = db.now_micros().div_euclid(1_000_000);
    for part in mutations.partitions() {
        for index in &part.table.indexes {
            if let Some(table) = IndexTable::of(&picture, &part.table, index) {
                table.put(part, second, batch)?;
            }
        }
        let Some((timestamp, snapshot)) = state.filter(|_| !part.table.views.is_empty()) else { continue };
        let views = part.table.views.iter().filter_map(|name| picture.table(part.table.keyspace(), name));
        let views =
            views.map(|view| ViewPlan::new(&picture, &part.table, view)).collect::<Result<Vec<_>>>()?;
        let table = snapshot.of(&part.table.table)?;
        let now = snapshot.now();
        state::each_changed(&table, part, &mut |before, after| {
            views.iter().try_for_each(|view| view.put(&part.key, (before, after), (timestamp, now), batch))
        })?;
    }
    Ok(())
}
