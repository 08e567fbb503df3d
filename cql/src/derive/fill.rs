//! Filling an index or a view that was just made, so that it is whole when CREATE returns.
//!
//! The definition comes first: from then on every write keeps the index or view up to date. Statements that were planned before that are waited
//! for ([`Catalog::settle`]); then what was there before is gone through. A view's rows are made partition by partition under the partition's
//! lock; of an index entries are added, which do no harm if a write has outrun them.
//!
//! Until all is done the definition is marked as unfinished. A store that is opened with such a mark (the process was killed) does it again.

use crate::catalog::store::Picture;
use crate::catalog::{Catalog, TableInfo, definition};
use crate::derive::entry::IndexTable;
use crate::derive::state::stored;
use crate::derive::view::ViewPlan;
use crate::error::Result;
use skep_engine::model::clustering::ClusteringRange;
use skep_engine::model::fragment::Fragment;
use skep_engine::model::key::DecoratedKey;
use skep_engine::model::row::Row;
use skep_engine::read::query::TombstoneLimits;
use skep_engine::{SchemaChange, TableSnapshot, WriteBatch};
use std::sync::Arc;

/// Rows after which what was made is committed.
const STEP: usize = 256;

/// Fills the index `name` of a table.
///
/// # Errors
/// What the store fails with; `Invalid` for a value that is too long to be indexed. The index is not whole then.
pub fn index(catalog: &Catalog, keyspace: &str, table: &str, name: &str) -> Result<()> {
    catalog.settle();
    let picture = catalog.picture()?;
    let base = catalog.table(keyspace, table)?;
    let Some(index) = base.indexes.iter().find(|index| index.name == name) else { return Ok(()) };
    let Some(of) = IndexTable::of(&picture, &base, index) else { return Ok(()) };
    let snapshot = base.table.snapshot();
    let mut batch = WriteBatch::new();
    for key in keys(&snapshot)? {
        let fragments = snapshot.fragments(&key.key, &ClusteringRange::all())?;
        if let Some(row) = &fragments.statics {
            of.put_row(&key.key, (row, true), snapshot.now(), &mut batch)?;
        }
        for item in fragments {
            if let Fragment::Row(row) = item? {
                of.put_row(&key.key, (&row, false), snapshot.now(), &mut batch)?;
            }
            commit(catalog, &mut batch, STEP)?;
        }
    }
    commit(catalog, &mut batch, 1)
}

/// Fills the view `name`.
///
/// # Errors
/// What the store fails with. The view is not whole then.
pub fn view(catalog: &Catalog, keyspace: &str, name: &str) -> Result<()> {
    catalog.settle();
    let picture = catalog.picture()?;
    let view = catalog.table(keyspace, name)?;
    let Some(def) = &view.view else { return Ok(()) };
    let base = catalog.table(keyspace, &def.base)?;
    let plan = ViewPlan::new(&picture, &base, &view)?;
    for key in keys(&base.table.snapshot())? {
        partition(catalog, &base, &plan, &key)?;
    }
    Ok(())
}

fn partition(catalog: &Catalog, base: &Arc<TableInfo>, plan: &ViewPlan, key: &DecoratedKey) -> Result<()> {
    let db = catalog.db();
    let _alone = db.lock_partitions(&[(base.schema.id, &key.key)]);
    let snapshot = base.table.snapshot();
    let (timestamp, now) = (db.next_micros(), snapshot.now());
    let mut batch = WriteBatch::new();
    for item in snapshot.fragments(&key.key, &ClusteringRange::all())? {
        if let Fragment::Row(row) = item? {
            let (row, _) = stored(&snapshot, &key.key, &row.clustering)?;
            plan.put(&key.key, (&Row::new(row.clustering.clone()), &row), (timestamp, now), &mut batch)?;
        }
        commit(catalog, &mut batch, STEP)?;
    }
    commit(catalog, &mut batch, 1)
}

fn commit(catalog: &Catalog, batch: &mut WriteBatch, least: usize) -> Result<()> {
    if batch.len() >= least {
        catalog.db().write(batch)?;
        batch.clear();
    }
    Ok(())
}

/// The partitions of a table, in the order of tokens.
fn keys(table: &TableSnapshot) -> Result<Vec<DecoratedKey>> {
    let none = TombstoneLimits { warn: u64::MAX, refuse: u64::MAX };
    let first = table.schema().partition_key().first().map_or("", |column| column.name.as_str());
    let mut reader = table.scan().columns(&[first]).per_partition_limit(1).tombstone_limits(none).reader()?;
    let mut keys = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        keys.push(batch.key().clone());
    }
    Ok(keys)
}

/// Finishes what a killed process left unfinished. A store that is only read stays as it is.
///
/// # Errors
/// As [`index`] and [`view`].
pub fn finish(catalog: &Catalog) -> Result<()> {
    if catalog.db().is_read_only() {
        return Ok(());
    }
    let picture: Arc<Picture> = catalog.picture()?;
    for keyspace in picture.keyspaces.values() {
        for table in keyspace.tables.values() {
            if !definition::is_unfinished(&table.schema) {
                continue;
            }
            if table.is_view() {
                view(catalog, &keyspace.name, table.name())?;
            }
            for unfinished in table
                .indexes
                .iter()
                .filter(|index| definition::is_index_unfinished(&table.schema, &index.name))
            {
                index(catalog, &keyspace.name, table.name(), &unfinished.name)?;
            }
            done(catalog, &keyspace.name, table.name())?;
        }
    }
    Ok(())
}

/// Takes the marks off a table.
///
/// # Errors
/// The engine's.
pub fn done(catalog: &Catalog, keyspace: &str, name: &str) -> Result<()> {
    catalog.change(|picture| {
        let Some(table) = picture.table(keyspace, name) else { return Ok(()) };
        let mut options = table.schema.options.clone();
        definition::take_marks(&mut options);
        catalog.db().change_schema(SchemaChange::new().put_table(table.schema.with_options(options)))?;
        Ok(())
    })
}
