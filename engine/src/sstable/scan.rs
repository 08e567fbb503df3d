//! All fragments of a file's partitions within a range of tokens: what compactions and whole-table reads merge.
//!
//! Fragments one by one through the iterator. A caller that can use more at once looks ahead: [`Scan::peek_block`] for a block
//! that can be copied or passed over whole, [`Scan::peek_run`] for the rest of a partition in its block.

use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::cell::ColumnId;
use crate::model::clustering::Bound;
use crate::model::fragment::Fragment;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::token::Token;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::blocks::BlockRef;
use crate::sstable::reader::SsTable;
use std::ops::Range;
use std::sync::Arc;

/// A pass over a file. After an error it ends.
pub struct Scan {
    table: Arc<SsTable>,
    tokens: TokenRange,
    projection: Projection,
    next: Option<BlockRef>,
    current: Option<Current>,
}

struct Current {
    block: Arc<DecodedBlock>,
    entry: BlockRef,
    /// The partition that is read, or is to begin.
    partition: usize,
    /// Its items that are still to be read; `None` before its beginning was told.
    items: Option<Range<usize>>,
}

impl Scan {
    pub(super) fn new(table: &Arc<SsTable>, tokens: TokenRange) -> Result<Self> {
        let least = DecoratedKey { token: tokens.first, key: Bytes::EMPTY };
        let next = match table.search(&least, &Bound::bottom())? {
            Some(block) if block.last.token < tokens.first => block.next(table)?,
            Some(block) => Some(block),
            None => table.first_block()?,
        };
        let next = next.filter(|block| block.first.token <= tokens.last);
        let projection = Projection::all(table.layout()?);
        Ok(Self { table: Arc::clone(table), tokens, projection, next, current: None })
    }

    /// Restricts rows to these columns; the lanes of others are not decoded.
    pub fn project(&mut self, columns: &[ColumnId]) -> Result<()> {
        self.projection = Projection::of(self.table.layout()?, columns);
        Ok(())
    }

    /// The file.
    pub fn table(&self) -> &Arc<SsTable> {
        &self.table
    }

    /// The tokens that were asked for.
    pub fn tokens(&self) -> TokenRange {
        self.tokens
    }

    /// The next block, if nothing of it was read yet and the one before is read to its end.
    pub fn peek_block(&mut self) -> Option<&BlockRef> {
        self.drop_finished();
        if self.current.is_some() { None } else { self.next.as_ref() }
    }

    /// Passes over the block that [`Scan::peek_block`] told of. The fragments that follow belong to the partition that it ended with,
    /// without saying so again, or begin another.
    ///
    /// # Errors
    /// `Corrupt` if the next index page is damaged.
    pub fn pass_block(&mut self) -> Result<()> {
        if let Some(block) = self.next.take() {
            self.next = self.after(&block)?;
        }
        Ok(())
    }

    /// The items of the current partition, the beginning of which was told, that are left in its block: block and items.
    pub fn peek_run(&self) -> Option<(&Arc<DecodedBlock>, Range<usize>)> {
        let current = self.current.as_ref()?;
        let items = current.items.clone().filter(|items| !items.is_empty())?;
        Some((&current.block, items))
    }

    /// Passes over the first `count` items that [`Scan::peek_run`] told of.
    pub fn pass_items(&mut self, count: usize) {
        if let Some(items) = self.current.as_mut().and_then(|current| current.items.as_mut()) {
            items.start = items.end.min(items.start + count);
        }
    }

    fn after(&self, block: &BlockRef) -> Result<Option<BlockRef>> {
        Ok(block.next(&self.table)?.filter(|next| next.first.token <= self.tokens.last))
    }

    /// Leaves the current block if it is read to its end.
    fn drop_finished(&mut self) {
        if let Some(current) = &self.current
            && current.items.as_ref().is_some_and(Range::is_empty)
            && current.partition + 1 == current.block.partitions()
        {
            self.current = None;
        }
    }

    fn step(&mut self) -> Result<Option<Fragment>> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(entry) = self.next.take() else { return Ok(None) };
                let block = self.table.peek_block(&entry)?;
                self.next = self.after(&entry)?;
                // A partition that goes on was told in its first block, or lies before the range.
                let items = entry.continues.then(|| match self.tokens.contains(entry.first.token) {
                    true => block.partition(0).items,
                    false => 0..0,
                });
                self.current = Some(Current { block, entry, partition: 0, items });
                continue;
            };
            if let Some(items) = &mut current.items {
                if let Some(i) = items.next() {
                    return Self::item(&current.block, i, &self.projection)
                        .map(Some)
                        .map_err(|error| self.table.place_error(error, current.entry.offset));
                }
                current.partition += 1;
                current.items = None;
            }
            if current.partition == current.block.partitions() {
                self.current = None;
                continue;
            }
            let partition = current.block.partition(current.partition);
            let token = Token::of(partition.key);
            if token > self.tokens.last {
                (self.current, self.next) = (None, None);
                return Ok(None);
            }
            if token < self.tokens.first {
                current.partition += 1;
                continue;
            }
            let key = DecoratedKey { token, key: Bytes::new(partition.key) };
            let deletion = partition.deletion;
            current.items = Some(partition.items);
            return Ok(Some(Fragment::Partition { key, deletion }));
        }
    }

    fn item(block: &DecodedBlock, i: usize, projection: &Projection) -> Result<Fragment> {
        Ok(match block.kind(i) {
            ItemKind::Bound => Fragment::Bound(block.bound(i)?),
            ItemKind::Static => Fragment::Static(block.to_row(i, projection)?),
            ItemKind::Row => Fragment::Row(block.to_row(i, projection)?),
        })
    }
}

impl Iterator for Scan {
    type Item = Result<Fragment>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if item.is_err() {
            (self.current, self.next) = (None, None);
        }
        item.transpose()
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("table", &self.table).field("tokens", &self.tokens).finish()
    }
}
