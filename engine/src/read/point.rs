//! One row by its full key: no slices, no merge of streams.
//!
//! The versions of the row and the deletions over its place are collected from every source, newest first. A file is not
//! opened if the row found so far cannot change any more: it exists by its marker, has a cell of every column that is asked for, and all
//! of that is newer than anything in the file. Then neither values nor deletions of the file could win.

use crate::error::Result;
use crate::model::clustering::ClusteringRange;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::{merge_deletion, merge_rows, shadow};
use crate::model::row::Row as ModelRow;
use crate::model::token::hash128;
use crate::read::batch::{Batch, Row};
use crate::read::builder::{BatchBuilder, PartitionHead};
use crate::read::query::{Projection, TombstoneLimits};
use crate::read::resolve::Resolver;
use crate::read::snapshot::Snapshot;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

/// The row of partition `key` at `clustering` (byte-comparable, all columns) as it is seen at second `now`.
///
/// # Errors
/// `Corrupt` or `Io` if a file cannot be read.
pub fn read_row(
    snapshot: &Snapshot,
    key: &DecoratedKey,
    clustering: &[u8],
    columns: &Arc<Projection>,
    now: i64,
) -> Result<Option<Row>> {
    let view = snapshot.view();
    let schema = columns.schema();
    let with_statics = !columns.statics().is_empty();
    let range = ClusteringRange::prefix(clustering);
    let mut found = Found { clustering, row: None, statics: None, partition: None, deletion: None };
    let mut items = Vec::new();
    for memtable in view.memtables() {
        let Some(partition) = memtable.get(key.token, &key.key) else { continue };
        found.add_partition(partition.deletion(snapshot.seq()));
        if with_statics {
            found.add_static(partition.static_row(snapshot.seq())?);
        }
        items.clear();
        partition.read(&range, false, snapshot.seq(), 8, &mut items)?;
        found.add(items.drain(..).map(Ok))?;
    }
    let mut files: Vec<&Arc<SsTable>> = view.files.iter().filter(|file| file.meta().covers(key)).collect();
    files.sort_unstable_by_key(|file| std::cmp::Reverse(file.meta().max_timestamp));
    let hash = if files.is_empty() { (0, 0) } else { hash128(&key.key) };
    for file in files {
        if !with_statics && found.is_complete(columns, file.meta().max_timestamp, now) {
            break; // so are all that follow
        }
        let meta = file.meta();
        let concerns = meta.has_partition_deletion
            || (with_statics && meta.has_static)
            || meta.clustering.as_ref().is_some_and(|own| own.start < range.end && range.start < own.end);
        if !concerns || !file.may_contain_hashed(key, hash)? {
            continue;
        }
        let Some(partition) = file.partition(key)? else { continue };
        found.add_partition(partition.deletion());
        if with_statics {
            found.add_static(partition.static_row()?);
        }
        found.add(partition.cursor(&range, false)?)?;
    }
    let mut resolver = Resolver::new(schema, TombstoneLimits::default(), now);
    let Some(mut row) = found.row else { return Ok(None) };
    shadow(&mut row, found.deletion);
    let Some(row) = resolver.row(row) else { return Ok(None) };
    let statics = found.statics.and_then(|mut statics| {
        shadow(&mut statics, found.partition);
        resolver.static_row(statics)
    });
    let head = Arc::new(PartitionHead::new(columns, key.clone(), statics, now)?);
    let mut builder = BatchBuilder::new(&head);
    builder.push(row)?;
    let batch: Option<Batch> = builder.finish()?;
    Ok(batch.map(|batch| Row::new(&Arc::new(batch), 0)))
}

/// What was found of the row.
struct Found<'a> {
    clustering: &'a [u8],
    row: Option<ModelRow>,
    statics: Option<ModelRow>,
    /// The strongest deletion of the partition so far: it covers the static row, too.
    partition: Option<Deletion>,
    /// The strongest deletion of the partition or of a range over the row, so far.
    deletion: Option<Deletion>,
}

impl Found<'_> {
    /// Adds a source's items around the row's place, in clustering order.
    fn add(&mut self, items: impl Iterator<Item = Result<Fragment>>) -> Result<()> {
        let mut open = None;
        for item in items {
            match item? {
                Fragment::Bound(bound) if bound.at.cmp_row(self.clustering).is_lt() => open = bound.deletion,
                Fragment::Row(row) => {
                    self.row = Some(match self.row.take() {
                        Some(other) => merge_rows(other, row),
                        None => row,
                    });
                }
                _ => {}
            }
        }
        self.deletion = merge_deletion(self.deletion, open);
        Ok(())
    }

    fn add_partition(&mut self, deletion: Option<Deletion>) {
        self.partition = merge_deletion(self.partition, deletion);
        self.deletion = merge_deletion(self.deletion, deletion);
    }

    fn add_static(&mut self, row: Option<ModelRow>) {
        if let Some(row) = row {
            self.statics = Some(match self.statics.take() {
                Some(other) => merge_rows(other, row),
                None => row,
            });
        }
    }

    /// Whether nothing written up to `older` (micros) can change what is seen of the row.
    fn is_complete(&self, columns: &Projection, older: i64, now: i64) -> bool {
        // All that is older is deleted.
        if self.deletion.is_some_and(|deletion| deletion.timestamp >= older) {
            return true;
        }
        let Some(row) = &self.row else { return false };
        row.liveness.is_some_and(|life| life.timestamp > older && life.is_live(now))
            && columns.regulars().iter().all(|(id, _)| row.cell(*id).is_some_and(|c| c.timestamp > older))
    }
}
