//! Walking over a file's blocks by the index, without reading the blocks.

use crate::error::Result;
use crate::sstable::index::{BlockEntry, IndexPage};
use crate::sstable::reader::SsTable;
use std::ops::Deref;
use std::sync::Arc;

/// A block's index entry, which keeps its index page alive.
#[derive(Clone, Debug)]
pub struct BlockRef {
    page: Arc<IndexPage>,
    place: usize,
}

impl BlockRef {
    /// Entry `place` of `page`, which has so many.
    pub(super) fn new(page: Arc<IndexPage>, place: usize) -> Self {
        Self { page, place }
    }

    /// Number of the block in its file.
    pub fn number(&self) -> u64 {
        self.page.first_block + self.place as u64
    }

    /// The block after this one.
    ///
    /// # Errors
    /// `Corrupt` if the next index page is damaged; so for [`BlockRef::before`].
    pub fn next(&self, table: &SsTable) -> Result<Option<Self>> {
        if self.place + 1 < self.page.entries.len() {
            return Ok(Some(Self { page: Arc::clone(&self.page), place: self.place + 1 }));
        }
        table.block_at(self.number() + 1)
    }

    /// The block before this one.
    pub fn before(&self, table: &SsTable) -> Result<Option<Self>> {
        match (self.place.checked_sub(1), self.number().checked_sub(1)) {
            (Some(place), _) => Ok(Some(Self { page: Arc::clone(&self.page), place })),
            (None, Some(number)) => table.block_at(number),
            (None, None) => Ok(None),
        }
    }
}

impl Deref for BlockRef {
    type Target = BlockEntry;
    fn deref(&self) -> &BlockEntry {
        &self.page.entries[self.place]
    }
}

/// The entries of a file's blocks in order: what aggregates and compactions decide by.
#[derive(Debug)]
pub struct Blocks {
    table: Arc<SsTable>,
    next: Option<BlockRef>,
}

impl Blocks {
    pub(super) fn new(table: Arc<SsTable>, next: Option<BlockRef>) -> Self {
        Self { table, next }
    }
}

impl Iterator for Blocks {
    type Item = Result<BlockRef>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.next.take()?;
        match block.next(&self.table) {
            Ok(next) => {
                self.next = next;
                Some(Ok(block))
            }
            Err(error) => Some(Err(error)),
        }
    }
}
