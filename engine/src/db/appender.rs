//! Bulk ingest: rows in, batches out.

use crate::db::table::Table;
use crate::error::Result;
use crate::model::arg::Arg;
use crate::model::schema::TableSchema;
use crate::write::batch::WriteBatch;
use crate::write::times::With;
use std::sync::Arc;

/// Bytes of a batch at which it is committed: large enough that the commit's own cost vanishes, small enough that a
/// reader never waits long for a partition.
const BATCH_BYTES: usize = 64 << 10;

/// Writes many rows of one table fast: they are collected and committed in batches. Rows become visible and durable with
/// their batch; [`Appender::finish`] commits the last one. An appender that is dropped commits what it holds and forgets
/// an error.
///
/// Rows in clustering order, partition by partition, are the fastest; any order is right.
#[derive(Debug)]
pub struct Appender {
    table: Table,
    schema: Arc<TableSchema>,
    batch: WriteBatch,
    rows: u64,
}

impl Appender {
    pub(crate) fn new(table: Table) -> Self {
        let schema = table.schema();
        Self { table, schema, batch: WriteBatch::new(), rows: 0 }
    }

    /// Adds a row, its columns in declared order.
    ///
    /// # Errors
    /// As [`Table::insert`](crate::Table::insert). A refused row is not added; after an error of the commit the rows are kept and
    /// go with the next.
    #[inline]
    pub fn append(&mut self, args: &[Arg<'_>]) -> Result<()> {
        self.append_with(args, With::DEFAULT)
    }

    /// Adds a row with a TTL or timestamp.
    ///
    /// # Errors
    /// As [`Appender::append`].
    #[inline]
    pub fn append_with(&mut self, args: &[Arg<'_>], with: With) -> Result<()> {
        self.batch.insert_with(&self.schema, args, with)?;
        self.rows += 1;
        match self.batch.size_bytes() >= BATCH_BYTES {
            true => self.commit(),
            false => Ok(()),
        }
    }

    /// Commits the rows added so far.
    ///
    /// # Errors
    /// As [`Db::write`](crate::Db::write).
    pub fn commit(&mut self) -> Result<()> {
        self.table.inner().write(&mut self.batch)?;
        self.schema = self.table.schema();
        Ok(())
    }

    /// Number of rows added.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Commits the rest and returns the number of rows added.
    ///
    /// # Errors
    /// As [`Db::write`](crate::Db::write).
    pub fn finish(mut self) -> Result<u64> {
        self.commit()?;
        Ok(self.rows)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        let _ = self.commit();
    }
}

impl Table {
    /// An appender for bulk ingest.
    pub fn appender(&self) -> Appender {
        Appender::new(self.clone())
    }
}
