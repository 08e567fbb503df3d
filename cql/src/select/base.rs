//! Write times and TTLs of a view's columns: those of the base's cells.
//!
//! A view's rows are written at the times of the writes that made them (`derive::view`), so that `writetime` and `ttl` are looked up in the row of
//! the base, in the snapshot that the view is read in. That is a read of a row of the base for each row and function shown.

use crate::catalog::{Catalog, TableInfo};
use crate::error::Result;
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::reconcile::resolve;
use skep_engine::model::row::Row;
use skep_engine::{Batch, Snapshot, TableSchema, TableSnapshot};
use std::sync::Arc;

/// The base of a view, as it is when the view is read.
#[derive(Debug)]
pub(crate) struct BaseRows {
    base: TableSnapshot,
    view: Arc<TableSchema>,
}

impl BaseRows {
    /// The base of `view`; None if there is none any more.
    ///
    /// # Errors
    /// What the store fails with.
    pub(crate) fn of(snapshot: &Snapshot, view: &TableInfo) -> Result<Option<Self>> {
        let Some(definition) = &view.view else { return Ok(None) };
        let picture = Catalog::of(snapshot.db()).picture()?;
        let Some(base) = picture.table(view.keyspace(), &definition.base) else { return Ok(None) };
        Ok(Some(Self { base: snapshot.of(&base.table)?, view: Arc::clone(&view.schema) }))
    }

    /// The base's definition.
    pub(crate) fn schema(&self) -> &TableSchema {
        self.base.schema()
    }

    /// The row of the base from which row `row` of `batch`, rows of the view, was made. `place` tells where a column of the view stands in it.
    ///
    /// # Errors
    /// What reading fails with.
    pub(crate) fn row(
        &self,
        batch: &Batch,
        row: usize,
        place: impl Fn(&str) -> Option<usize>,
    ) -> Result<Option<Row>> {
        let of_partition = key::partition_wires(&self.view, &batch.key().key)?;
        let wire = |name: &str| -> Result<Option<Bytes>> {
            let mut keys = self.view.partition_key().iter().zip(&of_partition);
            if let Some((_, wire)) = keys.find(|(column, _)| column.name == name) {
                return Ok(Some(wire.clone()));
            }
            Ok(place(name).map(|place| batch.wire(place, row)).transpose()?.flatten())
        };
        let wires = |columns: &[skep_engine::model::schema::Column]| {
            columns.iter().map(|column| wire(&column.name)).collect::<Result<Option<Vec<Bytes>>>>()
        };
        let schema = self.base.schema();
        let (Some(keys), Some(clustering)) = (wires(schema.partition_key())?, wires(schema.clustering())?)
        else {
            return Ok(None);
        };
        let at = key::clustering(schema, &clustering)?;
        let stored = self.base.stored_row(&key::partition_key(schema, &keys)?, &at)?;
        Ok(stored.and_then(|row| resolve(row, self.base.now())))
    }
}
