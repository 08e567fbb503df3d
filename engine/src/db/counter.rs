//! Counters: exact sums by reading and writing under a lock.
//!
//! On one machine a counter needs no shards: an increment takes its partition's lock, reads the sum, and writes the new
//! one, as one batch like any other. (Cassandra's counters are built for replicas that count apart.)

use crate::db::table::Table;
use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::types::CqlType;
use crate::write::batch::With;

impl Table {
    /// Adds `delta` (which may be negative) to a counter column of the row that `key` names, and returns the new sum.
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
        if key.len() != parts + schema.clustering().len() {
            return Err(
                Error::invalid("the whole primary key is needed to add to a counter").in_table(self.name())
            );
        }
        let mut partition = Vec::new();
        crate::encoding::bind::partition_key(&schema, &key[..parts], &mut partition)?;
        let _alone = self.db().lock_partitions(&[(self.id(), &partition)]);
        let old = match self.get(key)? {
            Some(row) => row.get::<Option<i64>>(column)?.unwrap_or(0),
            None => 0,
        };
        let sum = old.wrapping_add(delta);
        let names = schema.partition_key().iter().chain(schema.clustering()).map(|c| c.name.as_str());
        let mut columns: Vec<(&str, Arg<'_>)> = names.zip(key.iter().cloned()).collect();
        columns.push((column, Arg::Int(sum)));
        self.update(&columns, With::DEFAULT)?;
        Ok(sum)
    }
}
