//! The fragments of some consecutive blocks of a file: one input of a merge inside a [`Segment`](crate::compact::segments::Segment).
//!
//! Unlike a scan of the file it begins with a partition also where the first block only continues one, since the
//! merge has to know which partition it is in.

use crate::compact::progress::Progress;
use crate::error::Result;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::blocks::BlockRef;
use crate::sstable::reader::SsTable;
use std::ops::Range;
use std::sync::Arc;

/// A pass over some blocks. After an error it ends.
pub(crate) struct BlockStream<'a> {
    table: &'a SsTable,
    projection: Arc<Projection>,
    progress: &'a Progress,
    /// The next block, and how many are left with it.
    next: Option<BlockRef>,
    left: u64,
    /// The current block, its partition, and the items of that are still to be read; `None` before its beginning.
    current: Option<(Arc<DecodedBlock>, usize, Option<Range<usize>>)>,
    first: bool,
}

impl<'a> BlockStream<'a> {
    /// Reads `blocks` blocks of `table` from `first` on, and counts them as done.
    pub(crate) fn new(
        table: &'a SsTable,
        projection: Arc<Projection>,
        progress: &'a Progress,
        first: BlockRef,
        blocks: u64,
    ) -> Self {
        Self { table, projection, progress, next: Some(first), left: blocks, current: None, first: true }
    }

    fn step(&mut self) -> Result<Option<Fragment>> {
        loop {
            let Some((block, partition, items)) = &mut self.current else {
                let Some(entry) = self.next.take().filter(|_| self.left > 0) else { return Ok(None) };
                let block = self.table.peek_block(&entry)?;
                self.left -= 1;
                self.next = if self.left > 0 { entry.next(self.table)? } else { None };
                self.progress.add_read(entry.length.into(), entry.summary.items as u64);
                let told = entry.continues && !std::mem::take(&mut self.first);
                self.first = false;
                let items = told.then(|| block.partition(0).items);
                self.current = Some((block, 0, items));
                continue;
            };
            if let Some(items) = items {
                if let Some(i) = items.next() {
                    return item(block, i, &self.projection).map(Some);
                }
                *partition += 1;
            }
            if *partition == block.partitions() {
                self.current = None;
                continue;
            }
            let found = block.partition(*partition);
            let fragment =
                Fragment::Partition { key: DecoratedKey::new(found.key), deletion: found.deletion };
            *items = Some(found.items);
            return Ok(Some(fragment));
        }
    }
}

fn item(block: &DecodedBlock, i: usize, projection: &Projection) -> Result<Fragment> {
    Ok(match block.kind(i) {
        ItemKind::Bound => Fragment::Bound(block.bound(i)?),
        ItemKind::Static => Fragment::Static(block.to_row(i, projection)?),
        ItemKind::Row => Fragment::Row(block.to_row(i, projection)?),
    })
}

impl Iterator for BlockStream<'_> {
    type Item = Result<Fragment>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().map_err(|error| match error.file() {
            Some(_) => error,
            None => error.in_file(self.table.path()),
        });
        if item.is_err() {
            (self.current, self.next) = (None, None);
        }
        item.transpose()
    }
}
