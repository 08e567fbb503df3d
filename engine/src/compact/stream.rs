//! The fragments of one input inside a [`Segment`](crate::compact::segments::Segment): of consecutive blocks, or of some partitions of one.
//!
//! Unlike a scan of the file it begins with a partition also where the first block only continues one, since the
//! merge has to know which partition it is in.

use crate::compact::job::Progress;
use crate::compact::segments::Stretch;
use crate::error::Result;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::blocks::BlockRef;
use crate::sstable::reader::SsTable;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A pass over some stretches of a file. After an error it ends.
pub(crate) struct BlockStream<'a> {
    table: &'a SsTable,
    projection: Arc<Projection>,
    progress: &'a Progress,
    stretches: VecDeque<Stretch>,
    current: Option<Current>,
    /// Nothing was told yet.
    first: bool,
}

/// Partitions of a block that are still to be read.
struct Current {
    block: Arc<DecodedBlock>,
    partitions: Range<usize>,
    /// What is left of the first of them; `None` before its beginning was told.
    items: Option<Range<usize>>,
}

impl<'a> BlockStream<'a> {
    /// Reads `stretches` of `table`, and counts them as done.
    pub(crate) fn new(
        table: &'a SsTable,
        projection: Arc<Projection>,
        progress: &'a Progress,
        stretches: Vec<Stretch>,
    ) -> Self {
        Self { table, projection, progress, stretches: stretches.into(), current: None, first: true }
    }

    fn step(&mut self) -> Result<Option<Fragment>> {
        loop {
            let Some(current) = &mut self.current else {
                if !self.next_block()? {
                    return Ok(None);
                }
                continue;
            };
            if let Some(items) = &mut current.items {
                if let Some(i) = items.next() {
                    return item(&current.block, i, &self.projection).map(Some);
                }
                current.items = None;
                current.partitions.start += 1;
            }
            if current.partitions.is_empty() {
                self.current = None;
                continue;
            }
            let found = current.block.partition(current.partitions.start);
            let fragment =
                Fragment::Partition { key: DecoratedKey::new(found.key), deletion: found.deletion };
            current.items = Some(found.items);
            return Ok(Some(fragment));
        }
    }

    /// Makes the next block current; `false` at the end.
    fn next_block(&mut self) -> Result<bool> {
        let Some(stretch) = self.stretches.pop_front() else { return Ok(false) };
        let (entry, block, partitions) = match stretch {
            Stretch::Partitions(entry, block, range) => (entry, block, range),
            Stretch::Blocks(entry, count) => {
                if count > 1
                    && let Some(next) = entry.next(self.table)?
                {
                    self.stretches.push_front(Stretch::Blocks(next, count - 1));
                }
                let block = self.table.peek_block(&entry)?;
                let partitions = 0..block.partitions();
                (entry, block, partitions)
            }
        };
        count_read(self.progress, &entry, &block, &partitions);
        let told = partitions.start == 0 && entry.continues && !self.first;
        self.first = false;
        let items = told.then(|| block.partition(0).items);
        self.current = Some(Current { block, partitions, items });
        Ok(true)
    }
}

/// Counts partitions of a block as read; its bytes with the first.
pub(crate) fn count_read(
    progress: &Progress,
    entry: &BlockRef,
    block: &DecodedBlock,
    partitions: &Range<usize>,
) {
    let bytes = if partitions.start == 0 { entry.length.into() } else { 0 };
    let items: usize = partitions.clone().map(|p| block.partition(p).items.len()).sum();
    progress.add_read(bytes, items as u64);
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
            self.current = None;
            self.stretches.clear();
        }
        item.transpose()
    }
}
