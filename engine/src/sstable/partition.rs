//! One partition in one file: found by the index, read by cursors.
//!
//! Finding it costs a search in the directory and in one index page; a block is read only where the index cannot tell whether the
//! partition is there, or where a deletion or static row is asked for.

use crate::error::Result;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::row::Row;
use crate::model::token::Token;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::blocks::BlockRef;
use crate::sstable::cursor::SsCursor;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

/// A partition of a file.
#[derive(Clone, Debug)]
pub struct SsPartition {
    table: Arc<SsTable>,
    key: DecoratedKey,
    /// The block that it begins in.
    start: BlockRef,
    deletion: Option<Deletion>,
}

impl SsPartition {
    /// Looks for `key` in the index of `table`, and in a block if need be.
    pub(super) fn find(table: &Arc<SsTable>, key: &DecoratedKey) -> Result<Option<Self>> {
        if !table.meta().covers(key) {
            return Ok(None);
        }
        let Some(start) = Self::first_block(table, key)? else { return Ok(None) };
        let certain = start.first == *key || start.last == *key;
        let mut deletion = None;
        if !certain || start.zone().partition_tombstones > 0 {
            let block = table.load_block(&start)?;
            match find_in_block(&block, key) {
                Some(p) => deletion = block.partition(p).deletion,
                None => return Ok(None),
            }
        }
        Ok(Some(Self { table: Arc::clone(table), key: key.clone(), start, deletion }))
    }

    /// The block in which the partition begins if it is in the file.
    fn first_block(table: &SsTable, key: &DecoratedKey) -> Result<Option<BlockRef>> {
        let bottom = Bound::bottom();
        let next = match table.search(key, &bottom)? {
            // A range deletion from the bottom on begins it, and its static row ends the one before.
            Some(block) if block.continues && block.first == *key => return block.before(table),
            Some(block) if block.first == *key || block.last >= *key => return Ok(Some(block)),
            Some(block) => block.next(table)?,
            None => table.first_block()?,
        };
        // It may begin a block, behind the bottom: its first row.
        Ok(next.filter(|block| block.first == *key))
    }

    /// The partition's key.
    pub fn key(&self) -> &DecoratedKey {
        &self.key
    }

    /// The block that it begins in.
    pub(crate) fn start(&self) -> &BlockRef {
        &self.start
    }

    /// The file.
    pub fn table(&self) -> &Arc<SsTable> {
        &self.table
    }

    /// Deletion of the whole partition.
    pub fn deletion(&self) -> Option<Deletion> {
        self.deletion
    }

    /// The static row.
    ///
    /// # Errors
    /// `Corrupt` if the block is damaged.
    pub fn static_row(&self) -> Result<Option<Row>> {
        if self.start.zone().static_rows == 0 {
            return Ok(None);
        }
        let block = self.table.load_block(&self.start)?;
        let Some(p) = find_in_block(&block, &self.key) else { return Ok(None) };
        let items = block.partition(p).items;
        if items.is_empty() || block.kind(items.start) != ItemKind::Static {
            return Ok(None);
        }
        let row = block.to_row(items.start, &Projection::all(block.schema()));
        row.map(Some).map_err(|error| self.table.place_error(error, self.start.offset))
    }

    /// Reads the rows and bounds in `range`, backwards if `reverse`.
    ///
    /// # Errors
    /// `Corrupt` if the file is damaged, `Invalid` or `Corrupt` if the range's bounds are not of the table.
    pub fn cursor(&self, range: &ClusteringRange, reverse: bool) -> Result<SsCursor> {
        SsCursor::new(Arc::clone(&self.table), self.key.clone(), self.start.clone(), range, reverse)
    }
}

/// The number of partition `key` in `block`.
pub(super) fn find_in_block(block: &DecodedBlock, key: &DecoratedKey) -> Option<usize> {
    let (mut low, mut high) = (0, block.partitions());
    // Long partitions are alone in their blocks: then nothing is hashed.
    for p in [0, high.saturating_sub(1)] {
        if low < high && *block.partition(p).key == *key.key {
            return Some(p);
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        let bytes = block.partition(middle).key;
        if *bytes == *key.key {
            return Some(middle);
        }
        match (Token::of(bytes), bytes) < (key.token, &key.key) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    None
}
