//! One exact row of a file, without a cursor.
//!
//! A point read asks each file for the block and item of one row. One search in the index names the only block that can have
//! it, since blocks are sorted by their first position ([`SsTable::block_of_row`]); the item is found on the clustering lanes
//! ([`SsTable::item_of_row`]). Nothing is built: the caller uses the block's lanes as they are. In two steps, so that it can have a look
//! at other lanes in between, whose way from memory is then shared. Called by [`read::point`](crate::read::point).
//!
//! # Invariants
//! 1. [`Found::Nothing`] and [`Found::Block`] are told only where no deletion of the file can concern the row. A partition deletion shows in
//!    the file's card. A range deletion over the row begins in the block that is looked at, or before it and is then noted there as open;
//!    a block with any deletion is [`Found::Unclear`].
//!
//! # Not here
//! Whether the row has expired, and what other sources say: that is for the caller.

use crate::encoding::order::{decode_component, long_component};
use crate::error::Result;
use crate::model::clustering::Bound;
use crate::model::key::DecoratedKey;
use crate::model::schema::{ColumnKind, Order, TableSchema};
use crate::model::types::CqlType;
use crate::sstable::block::decoded::DecodedBlock;
use crate::sstable::layout::LaneKind;
use crate::sstable::partition::find_in_block;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

/// A row that is looked for, made ready once for all files.
#[derive(Clone, Debug)]
pub struct SoughtRow<'a> {
    key: &'a DecoratedKey,
    clustering: &'a [u8],
    /// Just before the row.
    at: Bound,
    /// The row's place, if the table has one clustering column and its lanes are of integers.
    number: Option<i64>,
}

impl<'a> SoughtRow<'a> {
    /// The row of partition `key` at `clustering` (byte-comparable, all columns) in a table.
    pub fn new(schema: &TableSchema, key: &'a DecoratedKey, clustering: &'a [u8]) -> Self {
        let number = match schema.clustering() {
            [column] => {
                let descending = column.kind == ColumnKind::Clustering(Order::Desc);
                long_component(clustering, &column.ty, descending)
                    .or_else(|| number_of(clustering, &column.ty, descending))
            }
            _ => None,
        };
        Self { key, clustering, at: Bound::before(clustering), number }
    }
}

/// The number that a component stands for, if its type is one of integers.
#[cold]
fn number_of(component: &[u8], ty: &CqlType, descending: bool) -> Option<i64> {
    let LaneKind::Int(width) = LaneKind::of(ty) else { return None };
    let mut wire = Vec::with_capacity(8);
    decode_component(component, ty, descending, &mut wire).ok()?;
    width.parse(&wire)
}

/// What a file can have of a row.
#[derive(Clone, Debug)]
pub enum Found {
    /// Nothing at all.
    Nothing,
    /// The row is in this block, or not in the file.
    Block(RowBlock),
    /// Perhaps a deletion: a cursor can tell.
    Unclear,
}

/// The one block of a file that can have a row; it has no deletions.
#[derive(Clone, Debug)]
pub struct RowBlock {
    /// The block.
    pub block: Arc<DecodedBlock>,
    /// The number of the row's partition there.
    pub partition: usize,
    /// Where it begins in the file, bytes.
    offset: u64,
}

impl SsTable {
    /// Looks for the block of a row. Neither the filter nor the card's ranges are asked: that is for the caller.
    ///
    /// # Errors
    /// `Corrupt`, with file and offset, if the file is damaged.
    #[inline]
    pub fn block_of_row(&self, sought: &SoughtRow<'_>) -> Result<Found> {
        if self.meta().has_partition_deletion {
            return Ok(Found::Unclear);
        }
        let Some(entry) = self.search(sought.key, &sought.at)? else { return Ok(Found::Nothing) };
        let (is_first, is_last) = (entry.first == *sought.key, entry.last == *sought.key);
        if !is_last && entry.last < *sought.key {
            return Ok(Found::Nothing);
        }
        let block = self.load_block(&entry)?;
        if !block.has_no_deletions() {
            return Ok(Found::Unclear);
        }
        let partition = match (is_first, is_last) {
            (true, _) => 0,
            (false, true) => block.partitions() - 1,
            (false, false) => match find_in_block(&block, sought.key) {
                Some(partition) => partition,
                None => return Ok(Found::Nothing),
            },
        };
        Ok(Found::Block(RowBlock { block, partition, offset: entry.offset }))
    }

    /// About where the row should be among the block's items, if that can be guessed.
    #[inline]
    pub fn likely_item(&self, found: &RowBlock, sought: &SoughtRow<'_>) -> Option<usize> {
        found.block.likely_item(&found.block.items_of(found.partition), sought.number)
    }

    /// The number of the row among the items of the block that [`SsTable::block_of_row`] gave; `None` if it is not there.
    ///
    /// # Errors
    /// As [`SsTable::block_of_row`].
    #[inline]
    pub fn item_of_row(&self, found: &RowBlock, sought: &SoughtRow<'_>) -> Result<Option<usize>> {
        let items = found.block.items_of(found.partition);
        let item = found.block.find_row(items, sought.clustering, sought.number);
        item.map_err(|error| self.place_error(error, found.offset))
    }
}
