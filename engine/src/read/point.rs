//! One row by its full key: no slices, no merge of streams.
//!
//! A row that one file alone has, with nothing deleted about it, is taken out of the file's block as it stands. Otherwise
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
use crate::read::row::{are_dense, row_of_item};
use crate::read::snapshot::Snapshot;
use crate::read::source::Run;
use crate::sstable::point::{Found as FoundInFile, RowBlock, SoughtRow};
use crate::sstable::reader::SsTable;
use crate::view::TableView;
use std::sync::Arc;

/// The key of a row that is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowKey<'a> {
    pub(crate) partition: &'a DecoratedKey,
    /// The [`hash128`] of the partition's key.
    pub(crate) hash: (u64, u64),
    /// Byte-comparable, all columns.
    pub(crate) clustering: &'a [u8],
}

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
    let row = RowKey { partition: key, hash: hash128(&key.key), clustering };
    read_row_at(snapshot.view(), snapshot.seq(), &row, columns, || now)
}

/// [`read_row`] of a view, for a reader that has pinned `seq` before it took the view and holds the pin. The second is asked for once
/// there is something to see.
pub(crate) fn read_row_at(
    view: &TableView,
    seq: u64,
    key: &RowKey<'_>,
    columns: &Arc<Projection>,
    now: impl Fn() -> i64,
) -> Result<Option<Row>> {
    let partition = key.partition;
    let has =
        |memtable: &Memtable| !memtable.is_empty() && memtable.get(partition.token, &partition.key).is_some();
    if !view.memtables().any(|memtable| has(memtable))
        && let Some(row) = read_in_files(view, key, columns, &now)?
    {
        return Ok(row);
    }
    read_merged(view, seq, key, columns, now())
}

/// The usual case: no memtable has the partition (which is for the caller to know), one file at most has the row, and nothing is deleted or
/// expired. `None` if that is not so.
///
/// # Errors
/// As [`read_row`].
pub(crate) fn read_in_files(
    view: &TableView,
    key: &RowKey<'_>,
    columns: &Arc<Projection>,
    now: impl Fn() -> i64,
) -> Result<Option<Option<Row>>> {
    if !columns.statics().is_empty() {
        return Ok(None);
    }
    let (mut sought, mut found) = (None, None);
    for file in &view.files {
        let meta = file.meta();
        let concerns = meta.covers(key.partition)
            && (meta.has_partition_deletion
                || meta.clustering.as_ref().is_some_and(|own| own.contains(key.clustering)));
        if !concerns || !file.filter_admits(key.hash)? {
            continue;
        }
        let sought =
            sought.get_or_insert_with(|| SoughtRow::new(columns.schema(), key.partition, key.clustering));
        let candidate = match file.block_of_row(sought)? {
            FoundInFile::Nothing => continue,
            FoundInFile::Block(candidate) => candidate,
            FoundInFile::Unclear => return Ok(None),
        };
        let lanes = LaneMap::shared(columns, candidate.block.schema());
        let dense = are_dense(&candidate.block, &lanes, file.likely_item(&candidate, sought));
        let Some(item) = file.item_of_row(&candidate, sought)? else { continue };
        if found.is_some() {
            return Ok(None);
        }
        found = Some((candidate, item, lanes, dense));
    }
    let Some((RowBlock { block, partition, .. }, item, lanes, dense)) = found else { return Ok(Some(None)) };
    let now = now();
    let place = (key.partition, key.clustering);
    // A damaged lane is met again by the merge, which knows the file.
    let row = row_of_item(columns, place, (&block, item), (&lanes, dense), now).unwrap_or_default();
    if row.is_some() || block.is_marked(item) {
        return Ok(row.map(Some));
    }
    // A row without marker is there if any of its cells is.
    let run = Run { block, partition, items: item..item + 1 };
    let head = Arc::new(PartitionHead::new(columns, key.partition.clone(), None, now)?);
    let batch = batch_of_run(&head, &run, &lanes, false, &mut Counts::default()).unwrap_or_default();
    Ok(batch.map(|batch| Some(Row::new(&Arc::new(batch), 0))))
}

/// The row out of all its versions.
fn read_merged(
    view: &TableView,
    seq: u64,
    &RowKey { partition: key, hash, clustering }: &RowKey<'_>,
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
