//! What a write changes: per table and partition, as rows and deletions of the storage model.
//!
//! `modify` makes [`Mutations`] from statements; whoever derives rows from others (indexes, views) reads them and adds its own; they end in one
//! [`WriteBatch`], so that a statement or batch becomes visible as a whole and is one record of the log.
//!
//! # Invariants
//! 1. Times that nobody needs to know are [`Stamp::UNSET`](skep_engine::encoding::row::Stamp::UNSET)'s and are filled in by the commit. Changes
//!    of one partition may then not be merged here; the memtable does it.
//! 2. The changes of a partition stand in the order of the statements that made them; the order means nothing to a reader.

use crate::catalog::TableInfo;
use crate::error::Result;
use crate::story::things;
use skep_engine::WriteBatch;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::ClusteringRange;
use skep_engine::model::life::Deletion;
use skep_engine::model::row::Row;
use skep_engine::model::schema::TableId;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// One change of a partition.
#[derive(Clone, Debug)]
pub enum Change {
    /// Writes into a row, or deletes it.
    Row(Row),
    /// Writes into the static row.
    Static(Row),
    /// Deletes a range of rows.
    Range(ClusteringRange, Deletion),
    /// Deletes the partition.
    Partition(Deletion),
}

/// What happens to one partition of one table.
#[derive(Clone, Debug)]
pub struct PartitionWrites {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Serialised partition key.
    pub key: Bytes,
    /// The changes.
    pub changes: Vec<Change>,
}

/// Everything that a statement or batch writes.
#[derive(Clone, Debug, Default)]
pub struct Mutations {
    parts: Vec<PartitionWrites>,
    places: HashMap<(TableId, Bytes), usize>,
}

impl Mutations {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The changes of the partition `key`, to add to.
    pub fn partition(&mut self, table: &Arc<TableInfo>, key: &Bytes) -> &mut Vec<Change> {
        let parts = &mut self.parts;
        let place = *self.places.entry((table.schema.id, key.clone())).or_insert_with(|| {
            parts.push(PartitionWrites { table: Arc::clone(table), key: key.clone(), changes: Vec::new() });
            parts.len() - 1
        });
        &mut self.parts[place].changes
    }

    /// The partitions, in the order in which they were first written.
    #[must_use]
    pub fn partitions(&self) -> &[PartitionWrites] {
        &self.parts
    }

    /// No change at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.changes.is_empty())
    }

    /// What is written, by table, in the order in which they were first written.
    #[must_use]
    pub fn amounts(&self) -> Vec<(String, Amounts)> {
        let mut all: Vec<(String, Amounts)> = Vec::new();
        for part in &self.parts {
            let name = part.table.full_name();
            let place = all.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                all.push((name, Amounts::default()));
                all.len() - 1
            });
            part.changes.iter().for_each(|change| all[place].1.add(change));
        }
        all
    }

    /// Puts all of it into `batch`.
    ///
    /// # Errors
    /// The engine's, for rows that are not of their table.
    pub fn put(&self, batch: &mut WriteBatch) -> Result<()> {
        for part in &self.parts {
            let schema = &part.table.schema;
            for change in &part.changes {
                match change {
                    Change::Row(row) => batch.put_row(schema, &part.key, false, row)?,
                    Change::Static(row) => batch.put_row(schema, &part.key, true, row)?,
                    Change::Range(range, deletion) => {
                        batch.put_range_deletion(schema, &part.key, range, Some(*deletion));
                    }
                    Change::Partition(deletion) => {
                        batch.put_partition_deletion(schema, &part.key, Some(*deletion));
                    }
                }
            }
        }
        Ok(())
    }
}

/// How much is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Rows written into.
    pub rows: u64,
    /// Cells with a value.
    pub live: u64,
    /// Deletions of all kinds: cells, collections, rows, ranges, partitions.
    pub tombstones: u64,
}

impl Amounts {
    fn add(&mut self, change: &Change) {
        match change {
            Change::Row(row) | Change::Static(row) => {
                let cells = row.all_cells().count() as u64;
                let live = row.all_cells().filter(|cell| cell.value.is_some()).count() as u64;
                let collections =
                    row.complex.iter().filter(|complex| complex.deletion.is_some()).count() as u64;
                self.rows += 1;
                self.live += live;
                self.tombstones += cells - live + collections + u64::from(row.deletion.is_some());
            }
            Change::Range(..) | Change::Partition(_) => self.tombstones += 1,
        }
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, tombstones) = (things(self.rows, "row"), things(self.tombstones, "tombstone"));
        write!(f, "{rows}, {}, {tombstones}", things(self.live, "live cell"))
    }
}
