//! One exact row of a file, without a cursor.
//!
//! A point read asks each file for the block and item of one row. One search in the index names the only block that can have
//! it, since blocks are sorted by their first position; the item is found on the clustering lanes. Nothing is built: the caller
//! uses the block's lanes as they are. Called by [`read::point`](crate::read::point).
//!
//! # Invariants
//! 1. [`Found::Nothing`] and [`Found::Row`] are told only where no deletion of the file can concern the row. A partition deletion shows in
//!    the file's card. A range deletion over the row begins in the block that is looked at, or before it and is then noted there as open;
//!    a block with any deletion is [`Found::Unclear`].
//!
//! # Not here
//! Whether the row has expired, and what other sources say: that is for the caller.

use crate::encoding::order::decode_component;
use crate::error::Result;
use crate::model::clustering::Bound;
use crate::model::key::DecoratedKey;
use crate::model::schema::{ColumnKind, Order, TableSchema};
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
            [column] => match LaneKind::of(&column.ty) {
                LaneKind::Int(width) => {
                    let descending = column.kind == ColumnKind::Clustering(Order::Desc);
                    let mut wire = Vec::with_capacity(8);
                    let taken = decode_component(clustering, &column.ty, descending, &mut wire);
                    taken.ok().and_then(|_| width.parse(&wire))
                }
                _ => None,
            },
            _ => None,
        };
        Self { key, clustering, at: Bound::before(clustering), number }
    }
}

/// What a file has of a row.
#[derive(Clone, Debug)]
pub enum Found {
    /// Nothing at all.
    Nothing,
    /// The row.
    Row {
        /// The block that it is in, which has no deletions.
        block: Arc<DecodedBlock>,
        /// The number of its partition there.
        partition: usize,
        /// Its number among the block's items.
        item: usize,
    },
    /// Perhaps a deletion: a cursor can tell.
    Unclear,
}

impl SsTable {
    /// Looks for a row. Neither the filter nor the card's ranges are asked: that is for the caller.
    ///
    /// # Errors
    /// `Corrupt`, with file and offset, if the file is damaged.
    pub fn find_row(&self, sought: &SoughtRow<'_>) -> Result<Found> {
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
        let items = block.partition(partition).items;
        let item = block.find_row(items, sought.clustering, sought.number);
        Ok(match item.map_err(|error| self.place_error(error, entry.offset))? {
            Some(item) => Found::Row { block, partition, item },
            None => Found::Nothing,
        })
    }
}
