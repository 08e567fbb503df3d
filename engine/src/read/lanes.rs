//! Rows handed out as they stand in a block, without being built one by one.
//!
//! Where only one file has anything to say about a run of items, and nothing in the run is dead, a batch of it is a handful of
//! references to the block's lanes. [`LaneMap`] says, once for each file and read, which column of the result is which of the
//! file's; [`batch_of_run`] checks a run and makes the batch, or says that the run has to be merged row by row.
//!
//! What makes a run unfit: deletions of any kind in the block; rows or values that have expired, or values with a life of their own;
//! tombstones and empty numbers in a column that is asked for; non-frozen collections; a column that was
//! dropped at some time, or whose type has changed since the file was written. Tombstones of columns that are not asked for are
//! not looked at, nor counted.

use crate::error::Result;
use crate::model::life::Liveness;
use crate::model::schema::ColumnKind;
use crate::model::types::CqlType;
use crate::read::batch::{Batch, Last};
use crate::read::builder::PartitionHead;
use crate::read::column::{Column, Rows, Values};
use crate::read::query::Projection;
use crate::read::resolve::Counts;
use crate::read::source::Run;
use crate::sstable::block::column::{ColumnData, state};
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection as BlockProjection;
use crate::sstable::layout::{BlockSchema, LaneKind};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Where the columns of a result are in the blocks of one file.
#[derive(Debug)]
pub(crate) struct LaneMap {
    /// For each column of the result: what it is in the file.
    columns: Vec<LaneOf>,
    /// Every column of the file: whether a row exists depends on all of them.
    projection: BlockProjection,
    /// Regular columns of the file that were never dropped: a value of one makes a row exist. Without collections, whose
    /// states are those of elements.
    regulars: Vec<usize>,
    fit: bool,
}

/// What a column of the result is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneOf {
    /// Partition key or static column.
    Head,
    /// The clustering column of this number.
    Clustering(usize),
    /// The regular column in this slot.
    Slot(usize),
    /// Added after the file was written.
    Absent,
}

/// How many lane maps a thread keeps for its next reads.
const RECENT: usize = 8;

/// A map, and what it is of: held weakly, so that an address cannot mean another one.
type RecentMap = (Weak<Projection>, Weak<BlockSchema>, Arc<LaneMap>);

thread_local! {
    /// The maps that this thread made last: nearly all of its reads ask for the same columns of files with the same layout.
    static RECENT_MAPS: RefCell<Vec<RecentMap>> = const { RefCell::new(Vec::new()) };
}

impl LaneMap {
    /// [`LaneMap::new`], or the one that this thread has made before.
    pub(crate) fn shared(columns: &Arc<Projection>, file: &Arc<BlockSchema>) -> Arc<Self> {
        let known = RECENT_MAPS.try_with(|maps| {
            let mut maps = maps.borrow_mut();
            let is_of = |(of_columns, of_file, _): &RecentMap| {
                std::ptr::eq(of_columns.as_ptr(), Arc::as_ptr(columns))
                    && std::ptr::eq(of_file.as_ptr(), Arc::as_ptr(file))
            };
            if let Some((_, _, map)) = maps.iter().find(|map| is_of(map)) {
                return Arc::clone(map);
            }
            let map = Arc::new(Self::new(columns, file));
            if maps.len() == RECENT {
                maps.remove(0);
            }
            maps.push((Arc::downgrade(columns), Arc::downgrade(file), Arc::clone(&map)));
            map
        });
        // Without a thread's storage (it is ending) there is nothing to share.
        known.unwrap_or_else(|_| Arc::new(Self::new(columns, file)))
    }

    /// For a result of `columns` out of files written with `file`.
    pub(crate) fn new(columns: &Projection, file: &BlockSchema) -> Self {
        let schema = columns.schema();
        let keys = schema.partition_key().len();
        let mut fit = file.clustering().len() == schema.clustering().len();
        let lanes = columns.columns().enumerate().map(|(at, column)| match column.kind {
            ColumnKind::PartitionKey | ColumnKind::Static => LaneOf::Head,
            ColumnKind::Clustering(_) => LaneOf::Clustering(columns.schema_index(at) - keys),
            ColumnKind::Regular => match file.slot(column.id) {
                None => LaneOf::Absent,
                Some(slot) => {
                    let stored = &file.columns()[slot].ty;
                    fit &= LaneKind::of(stored) == LaneKind::of(&column.ty)
                        && !stored.is_multicell()
                        && !column.ty.is_multicell()
                        && schema.dropped_at(column.id).is_none();
                    LaneOf::Slot(slot)
                }
            },
        });
        let columns = lanes.collect();
        let kept = |slot: &usize| {
            let column = &file.columns()[*slot];
            schema.dropped_at(column.id).is_none() && !column.ty.is_multicell()
        };
        let regulars = file.slots(false).filter(kept).collect();
        Self { columns, projection: BlockProjection::all(file), regulars, fit }
    }

    /// The columns to read of a row that is built.
    pub(crate) fn projection(&self) -> &BlockProjection {
        &self.projection
    }

    /// What column `at` of the result is in the file.
    #[inline]
    pub(crate) fn lane(&self, at: usize) -> LaneOf {
        self.columns.get(at).copied().unwrap_or(LaneOf::Absent)
    }

    /// The file's slot of column `at` of the result, if it is a regular one that the file has.
    pub(crate) fn slot(&self, at: usize) -> Option<usize> {
        match self.columns.get(at) {
            Some(LaneOf::Slot(slot)) => Some(*slot),
            _ => None,
        }
    }

    /// Number of columns of the result.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether columns of the file can be handed out at all.
    pub(crate) fn is_fit(&self) -> bool {
        self.fit
    }
}

/// The rows of `run` as a batch, or `None` if they have to be built one by one. What is seen is added to `counts`.
///
/// # Errors
/// `Corrupt` if a lane is damaged.
pub(crate) fn batch_of_run(
    head: &Arc<PartitionHead>,
    run: &Run,
    lanes: &LaneMap,
    reverse: bool,
    counts: &mut Counts,
) -> Result<Option<Batch>> {
    let block = &run.block;
    let Some((rows, cells)) = live_cells(run, lanes, head.now)? else { return Ok(None) };
    counts.live_rows += rows.len() as u64;
    counts.live_cells += cells;
    let from = |range: &Range<usize>| Rows {
        first: if reverse { range.end - 1 } else { range.start },
        backward: reverse,
    };
    let (items, rows) = (from(&run.items), from(&rows));
    let count = run.items.len();
    let columns = head.columns_with(count, |at, clustering| {
        let ty = head.columns.column(at).map_or(&CqlType::Blob, |column| &column.ty);
        if let Some(column) = clustering {
            let places = Arc::clone(block.shared_place(column)?);
            return Ok(Column::new(ty, Values::Place { places, items }, None));
        }
        let Some(slot) = lanes.slot(at) else {
            let lives = head.columns.lives().then(|| vec![None; count]);
            return Ok(Column::new(ty, Values::Null, lives));
        };
        let lives = match head.columns.lives() {
            true => Some(lives_of(block, block.column(slot)?, items, rows, count)?),
            false => None,
        };
        let column = Arc::clone(block.shared_column(slot)?);
        Ok(Column::new(ty, Values::Block { column, rows }, lives))
    })?;
    let last = Last::Item(Arc::clone(block), items.at(count - 1));
    Ok(Some(Batch::new(head, columns, count, last)))
}

/// The numbers of the run's rows in the block's columns and how many values they have in the columns of the result, if all of them are
/// seen at second `now`.
///
/// # Errors
/// As [`batch_of_run`].
pub(crate) fn live_cells(run: &Run, lanes: &LaneMap, now: i64) -> Result<Option<(Range<usize>, u64)>> {
    let Some(rows) = live_rows(run, lanes, now)? else { return Ok(None) };
    let mut cells = 0;
    for at in 0..lanes.columns.len() {
        if let Some(slot) = lanes.slot(at) {
            match live_values(run.block.column(slot)?, &rows) {
                Some(count) => cells += count as u64,
                None => return Ok(None),
            }
        }
    }
    Ok(Some((rows, cells)))
}

/// The numbers of the run's rows in the block's columns, if all of them are seen at second `now` and nothing in the block is
/// deleted.
pub(crate) fn live_rows(run: &Run, lanes: &LaneMap, now: i64) -> Result<Option<Range<usize>>> {
    let (block, items) = (&run.block, &run.items);
    if !lanes.fit || !block.has_no_deletions() {
        return Ok(None);
    }
    let first = block.number(items.start);
    let rows = first..first + items.len();
    if !block.all_rows_marked() {
        if items.clone().any(|item| block.kind(item) != ItemKind::Row) {
            return Ok(None);
        }
        // A row without a marker is there by a cell: look for a column that all rows have.
        let unmarked = items.clone().any(|item| !block.is_marked(item));
        if unmarked && !any_column_everywhere(block, &lanes.regulars, &rows)? {
            return Ok(None);
        }
    }
    if !block.all_live(items.clone(), now)? {
        return Ok(None);
    }
    Ok(Some(rows))
}

fn any_column_everywhere(block: &DecodedBlock, slots: &[usize], rows: &Range<usize>) -> Result<bool> {
    for &slot in slots {
        let column = block.column(slot)?;
        if column.is_dense() || (!column.is_absent() && live_values(column, rows) == Some(rows.len())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many of `rows` have a value, if each has a value with the life of its row, or no cell.
pub(crate) fn live_values(column: &ColumnData, rows: &Range<usize>) -> Option<usize> {
    if column.is_dense() {
        return Some(rows.len());
    }
    if column.is_absent() {
        return Some(0);
    }
    let mut count = 0;
    for row in rows.clone() {
        match column.state(row) {
            state::LIVE => count += 1,
            state::ABSENT => {}
            _ => return None,
        }
    }
    Some(count)
}

/// The lives of the values of a column whose values all share their row's.
pub(crate) fn lives_of(
    block: &DecodedBlock,
    column: &ColumnData,
    items: Rows,
    rows: Rows,
    count: usize,
) -> Result<Vec<Option<Liveness>>> {
    let lives = block.lives()?;
    Ok((0..count).map(|i| column.value_of(rows.at(i)).map(|_| lives.of(items.at(i)))).collect())
}
