//! One row by its full key: no slices, no merge of streams.
//!
//! A row that one file alone has, with nothing deleted about it, is handed out as a view of the file's block. Otherwise
//! the versions of the row and the deletions over its place are collected from every source, newest first. A file is not
//! opened if the row found so far cannot change any more: it exists by its marker, has a cell of every column that is asked for, and all
//! of that is newer than anything in the file. Then neither values nor deletions of the file could win.

use crate::error::Result;
use crate::memtable::Memtable;
use crate::model::clustering::ClusteringRange;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::{merge_deletion, merge_rows, shadow};
use crate::model::row::Row as ModelRow;
use crate::model::token::hash128;
use crate::read::batch::{Batch, Row};
use crate::read::builder::{BatchBuilder, PartitionHead};
use crate::read::lanes::{LaneMap, batch_of_run};
use crate::read::query::{Projection, TombstoneLimits};
use crate::read::resolve::{Counts, Resolver};
use crate::read::snapshot::Snapshot;
use crate::read::source::Run;
use crate::sstable::point::{Found as FoundInFile, SoughtRow};
use crate::sstable::reader::SsTable;
use crate::view::TableView;
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
    read_row_at(snapshot.view(), snapshot.seq(), key, clustering, columns, now)
}

/// [`read_row`] of a view, for a reader that has pinned `seq` before it took the view and holds the pin.
pub(crate) fn read_row_at(
    view: &TableView,
    seq: u64,
    key: &DecoratedKey,
    clustering: &[u8],
    columns: &Arc<Projection>,
    now: i64,
) -> Result<Option<Row>> {
    match read_alone(view, key, clustering, columns, now)? {
        Some(row) => Ok(row),
        None => read_merged(view, seq, key, clustering, columns, now),
    }
}

/// The usual case: no memtable has the partition, one file at most has the row, and nothing is deleted or expired. The row is then a view of
/// a block's lanes. `None` if that is not so.
fn read_alone(
    view: &TableView,
    key: &DecoratedKey,
    clustering: &[u8],
    columns: &Arc<Projection>,
    now: i64,
) -> Result<Option<Option<Row>>> {
    let has = |memtable: &Memtable| !memtable.is_empty() && memtable.get(key.token, &key.key).is_some();
    if !columns.statics().is_empty() || view.memtables().any(|memtable| has(memtable)) {
        return Ok(None);
    }
    let (mut sought, mut found) = (None, None);
    for file in view.files.iter().filter(|file| file.meta().covers(key)) {
        let (sought, hash) = sought
            .get_or_insert_with(|| (SoughtRow::new(columns.schema(), key, clustering), hash128(&key.key)));
        let meta = file.meta();
        let concerns = meta.has_partition_deletion
            || meta.clustering.as_ref().is_some_and(|own| own.contains(clustering));
        if !concerns || !file.may_contain_hashed(key, *hash)? {
            continue;
        }
        match file.find_row(sought)? {
            FoundInFile::Nothing => {}
            FoundInFile::Row { block, partition, item } if found.is_none() => {
                found = Some(Run { block, partition, items: item..item + 1 });
            }
            FoundInFile::Row { .. } | FoundInFile::Unclear => return Ok(None),
        }
    }
    let Some(run) = found else { return Ok(Some(None)) };
    let lanes = LaneMap::shared(columns, run.block.schema());
    let head = Arc::new(PartitionHead::new(columns, key.clone(), None, now)?);
    // A damaged lane is met again by the merge, which knows the file.
    let batch = batch_of_run(&head, &run, &lanes, false, &mut Counts::default()).unwrap_or_default();
    Ok(batch.map(|batch| Some(Row::new(&Arc::new(batch), 0))))
}

/// The row out of all its versions.
fn read_merged(
    view: &TableView,
    seq: u64,
    key: &DecoratedKey,
    clustering: &[u8],
    columns: &Arc<Projection>,
    now: i64,
) -> Result<Option<Row>> {
    let schema = columns.schema();
    let with_statics = !columns.statics().is_empty();
    let range = ClusteringRange::prefix(clustering);
    let mut found = Found { clustering, row: None, statics: None, partition: None, deletion: None };
    let mut items = Vec::new();
    for memtable in view.memtables() {
        let Some(partition) = memtable.get(key.token, &key.key) else { continue };
        found.add_partition(partition.deletion(seq));
        if with_statics {
            found.add_static(partition.static_row(seq)?);
        }
        items.clear();
        partition.read(&range, false, seq, 8, &mut items)?;
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
