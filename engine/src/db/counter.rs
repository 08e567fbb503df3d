//! Counters: exact sums by reading and writing under a lock.
//!
//! On one machine a counter needs no shards: an increment takes its partition's lock, reads the sum, and writes the new
//! one, as one batch like any other. (Cassandra's counters are built for replicas that count apart.)

use crate::db::table::Table;
use crate::encoding::bind;
use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::bytes::Bytes;
use crate::model::cell::ColumnId;
use crate::model::clustering::Clustering;
use crate::model::row::Row;
use crate::model::schema::ColumnKind;
use crate::model::types::CqlType;
use crate::write::times::Times;

impl Table {
    /// Adds `delta` (which may be negative) to a counter column of the row that `key` names (for a static one the partition's key is enough),
    /// and returns the new sum.
    /// A counter begins at 0 and wraps around at 64 bits, as in Cassandra.
    ///
    /// # Errors
    /// `NotFound` for an unknown column, `Invalid` for one that is no counter or a key that is not whole; else as
    /// [`Db::write`](crate::Db::write).
    pub fn add(&self, key: &[Arg<'_>], column: &str, delta: i64) -> Result<i64> {
        let schema = self.schema();
        let known = schema.column(column);
        let known = known.ok_or_else(|| {
            Error::not_found(format!("Undefined column name {column}")).in_table(self.name())
        })?;
        if known.ty != CqlType::Counter {
            return Err(Error::invalid(format!("column {column} of type {} is no counter", known.ty))
                .in_table(self.name()));
        }
        let parts = schema.partition_key().len();
        let is_static = known.kind == ColumnKind::Static;
        let whole = parts + schema.clustering().len();
        if key.len() != whole && !(is_static && key.len() == parts) {
            return Err(
                Error::invalid("the whole primary key is needed to add to a counter").in_table(self.name())
            );
        }
        let (mut partition, mut scratch) = (Vec::new(), Vec::new());
        bind::partition_key(&schema, &key[..parts], &mut partition)?;
        let place = match is_static {
            true => Clustering::EMPTY,
            false => bind::clustering(&schema, &key[parts..], &mut scratch)?,
        };
        let _alone = self.db().lock_partitions(&[(self.id(), &partition)]);
        let old = match is_static {
            true => stored(self.snapshot().stored_static(&partition)?.as_ref(), known.id),
            false => match self.get(key)? {
                Some(row) => row.get::<Option<i64>>(column)?.unwrap_or(0),
                None => 0,
            },
        };
        let sum = old.wrapping_add(delta);
        let mut row = Row::new(place);
        row.cells = vec![(known.id, Times::default().cell(Bytes::new(&sum.to_be_bytes())))];
        let mut batch = self.db().batch();
        batch.put_row(&schema, &partition, is_static, &row)?;
        self.db().write(&mut batch)?;
        Ok(sum)
    }
}

/// The counter in a stored row.
fn stored(row: Option<&Row>, id: ColumnId) -> i64 {
    let value = row.and_then(|row| row.cell(id)).and_then(|cell| cell.value.as_deref());
    value.and_then(|wire| wire.try_into().ok()).map_or(0, i64::from_be_bytes)
}
