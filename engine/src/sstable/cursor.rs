//! Rows and range bounds of one partition of a file, within a range, in either direction.
//!
//! The index names the first block, a binary search in its clustering lanes the first item; from there items follow each other,
//! block by block. Row by row through [`SsCursor::next`], or in runs of one block, whose columns are then used as they are,
//! through [`SsCursor::next_run`].
//!
//! # Invariants
//! 1. Every range deletion that reaches into the range is told: one in force where reading begins as a bound at that edge, one
//!    still in force where it ends is ended by a bound at the other edge.
//! 2. A bound says what is in force **from it on in the direction of reading** (what a merge of sources expects).
//! 3. A block is read only if the index does not rule out that it has items in the range.

use crate::error::Result;
use crate::model::cell::ColumnId;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::block::seek::SeekBound;
use crate::sstable::blocks::BlockRef;
use crate::sstable::index::BlockEntry;
use crate::sstable::partition::find_in_block;
use crate::sstable::reader::SsTable;
use std::ops::Range;
use std::sync::Arc;

/// Says of a block that its rows need not be read.
pub type SkipBlock = Box<dyn Fn(&BlockEntry) -> bool + Send>;

/// Items of one block that follow each other inside the range.
#[derive(Clone, Debug)]
pub struct Run {
    /// The block.
    pub block: Arc<DecodedBlock>,
    /// What the index knows of it.
    pub entry: BlockRef,
    /// The items, rows and bounds; to be read from the end in a backward cursor.
    pub items: Range<usize>,
    /// The range deletion in force before the first of them that is read, in the direction of reading.
    pub open: Option<Deletion>,
}

/// Position in a partition. See the module's page.
pub struct SsCursor {
    table: Arc<SsTable>,
    key: DecoratedKey,
    range: ClusteringRange,
    start: SeekBound,
    end: SeekBound,
    reverse: bool,
    /// The columns wanted; all if it is not said by the time a row is read.
    projection: Option<Projection>,
    skip: Option<SkipBlock>,
    /// The block to read next.
    next: Option<BlockRef>,
    current: Option<Current>,
    /// In force at the position, in the direction of reading.
    open: Option<Deletion>,
    /// A block was read, so that the deletion in force at the beginning is known.
    begun: bool,
    /// The bound at the edge where reading began, not yet told.
    edge: Option<RangeBound>,
}

/// The block that is being read.
struct Current {
    block: Arc<DecodedBlock>,
    entry: BlockRef,
    partition: usize,
    /// Items that are still to be read.
    items: Range<usize>,
}

impl SsCursor {
    pub(super) fn new(
        table: Arc<SsTable>,
        key: DecoratedKey,
        first: BlockRef,
        range: &ClusteringRange,
        reverse: bool,
    ) -> Result<Self> {
        let layout = table.layout()?;
        let (start, end) = (SeekBound::new(layout, &range.start)?, SeekBound::new(layout, &range.end)?);
        let near = if reverse { &range.end } else { &range.start };
        let next = match range.is_empty() {
            true => None,
            false if !reverse && *near == Bound::bottom() => Some(first),
            false => {
                table.search(&key, near)?.filter(|block| block.number() > first.number()).or(Some(first))
            }
        };
        let mut cursor = Self {
            table,
            key,
            range: range.clone(),
            start,
            end,
            reverse,
            projection: None,
            skip: None,
            next,
            current: None,
            open: None,
            begun: false,
            edge: None,
        };
        if !reverse {
            cursor.skip_block_that_ends_before()?;
        }
        Ok(cursor)
    }

    /// Forwards: the block found begins before the range; if it also ends before it, the range begins with the next.
    fn skip_block_that_ends_before(&mut self) -> Result<()> {
        if let Some(block) = &self.next
            && block.last == self.key
            && block.summary.last <= self.range.start
        {
            let after = block.next(&self.table)?;
            self.next = after.filter(|block| block.continues && block.first == self.key);
        }
        Ok(())
    }

    /// The partition.
    pub(crate) fn key(&self) -> &DecoratedKey {
        &self.key
    }

    /// Whether it reads backwards.
    pub(crate) fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// Restricts rows to these columns; the lanes of others are not decoded.
    pub fn project(&mut self, columns: &[ColumnId]) -> Result<()> {
        self.projection = Some(Projection::of(self.table.layout()?, columns));
        Ok(())
    }

    /// Leaves out blocks of which `skip` says so: by time, by expiry, by value. It is asked only of blocks that lie in the range whole
    /// and have no range deletion. It is for the caller to know that what is left out hides nothing elsewhere.
    pub fn skip_blocks(&mut self, skip: SkipBlock) {
        self.skip = Some(skip);
    }

    /// The next row or bound; `None` at the end.
    ///
    /// # Errors
    /// `Corrupt`, with file and offset, if the file is damaged; so for all below.
    #[expect(
        clippy::should_implement_trait,
        reason = "an Option in a Result reads better with `?` than the reverse"
    )]
    pub fn next(&mut self) -> Result<Option<Fragment>> {
        loop {
            if let Some(edge) = self.edge.take() {
                return Ok(Some(Fragment::Bound(edge)));
            }
            if let Some(current) = &mut self.current
                && let Some(i) = if self.reverse { current.items.next_back() } else { current.items.next() }
            {
                let fragment = self.item(i);
                return match (fragment, &self.current) {
                    (Err(error), Some(current)) => Err(self.table.place_error(error, current.entry.offset)),
                    (fragment, _) => fragment.map(Some),
                };
            }
            if !self.advance()? {
                return Ok(self.closing_bound().map(Fragment::Bound));
            }
        }
    }

    fn item(&mut self, i: usize) -> Result<Fragment> {
        let Some(current) = &self.current else {
            return Err(crate::error::Error::invalid("no block is open"));
        };
        if current.block.kind(i) != ItemKind::Bound {
            let projection = self.projection.get_or_insert_with(|| Projection::all(current.block.schema()));
            return Ok(Fragment::Row(current.block.to_row(i, projection)?));
        }
        let mut bound = current.block.bound(i)?;
        if self.reverse {
            bound.deletion = current.block.deletion_before(current.partition, i)?;
        }
        self.open = bound.deletion;
        Ok(Fragment::Bound(bound))
    }

    /// The next items of one block, as many as lie in the range; `None` at the end. Does not go with [`SsCursor::next`] in the same
    /// block: what one has passed, the other does not give again. Bounds at the range's edges are not told; see [`Run::open`].
    pub fn next_run(&mut self) -> Result<Option<Run>> {
        loop {
            if let Some(current) = &mut self.current
                && !current.items.is_empty()
            {
                let items = current.items.clone();
                current.items = items.end..items.end;
                let Current { block, entry, partition, .. } = current;
                let far = if self.reverse { items.start } else { items.end };
                let near = if self.reverse { items.end } else { items.start };
                let at = |i| block.deletion_before(*partition, i);
                let placed = |error| self.table.place_error(error, entry.offset);
                let open = at(near).map_err(placed)?;
                self.open = at(far).map_err(placed)?;
                self.edge = None;
                let (block, entry) = (Arc::clone(block), entry.clone());
                return Ok(Some(Run { block, entry, items, open }));
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }

    /// The block that is read next, before it is: its entry, and whether all of it lies in this partition and the range, so that its
    /// zone map answers for it.
    pub fn peek_block(&mut self) -> Result<Option<(&BlockEntry, bool)>> {
        self.drop_skipped()?;
        let busy =
            self.edge.is_some() || self.current.as_ref().is_some_and(|current| !current.items.is_empty());
        if busy {
            return Ok(None);
        }
        let Some(block) = &self.next else { return Ok(None) };
        Ok(Some((block, self.is_whole(block))))
    }

    /// Passes over the block that [`SsCursor::peek_block`] told of.
    pub fn pass_block(&mut self) -> Result<()> {
        if let Some(block) = self.next.take() {
            self.next = self.neighbour(&block)?;
        }
        Ok(())
    }

    fn is_whole(&self, block: &BlockEntry) -> bool {
        block.first == self.key
            && block.last == self.key
            && self.range.start <= block.summary.first
            && block.summary.last <= self.range.end
    }

    fn drop_skipped(&mut self) -> Result<()> {
        let Some(skip) = self.skip.take() else { return Ok(()) };
        let mut result = Ok(());
        while let Some(block) = &self.next
            && block.zone().range_tombstones == 0
            && self.is_whole(block)
            && skip(block)
            && result.is_ok()
        {
            result = self.pass_block();
        }
        self.skip = Some(skip);
        result
    }

    /// The block after `block` in the direction of reading, if it may have items of the range.
    fn neighbour(&self, block: &BlockRef) -> Result<Option<BlockRef>> {
        if self.reverse {
            if !block.continues || block.first != self.key {
                return Ok(None);
            }
            let before = block.before(&self.table)?;
            return Ok(before.filter(|before| before.summary.last > self.range.start));
        }
        if block.last != self.key {
            return Ok(None);
        }
        let after = block.next(&self.table)?;
        Ok(after.filter(|after| {
            after.continues && after.first == self.key && after.summary.first < self.range.end
        }))
    }

    /// Opens the next block; `false` if there is none.
    fn advance(&mut self) -> Result<bool> {
        self.drop_skipped()?;
        let Some(entry) = self.next.take() else {
            self.current = None;
            return Ok(false);
        };
        let block = self.table.load_block(&entry)?;
        let Some(partition) = find_in_block(&block, &self.key) else { return Ok(false) };
        let all = block.partition(partition).items;
        let placed = |error| self.table.place_error(error, entry.offset);
        let end = block.seek(all.clone(), &self.end).map_err(placed)?;
        let mut start = block.seek(all.clone(), &self.start).map_err(placed)?.min(end);
        // A bound at the very start of the range holds behind it: it is told as the deletion in force there.
        if start < end
            && block.kind(start) == ItemKind::Bound
            && block.bound(start).map_err(placed)?.at == self.range.start
        {
            start += 1;
        }
        if !self.begun {
            self.begun = true;
            let (i, at) = if self.reverse { (end, &self.range.end) } else { (start, &self.range.start) };
            self.open = block.deletion_before(partition, i).map_err(placed)?;
            self.edge = self.open.map(|deletion| RangeBound { at: at.clone(), deletion: Some(deletion) });
        }
        let done = if self.reverse { start > first_item(&block, &all) } else { end < all.end };
        self.next = if done { None } else { self.neighbour(&entry)? };
        self.current = Some(Current { block, entry, partition, items: start..end });
        Ok(true)
    }

    fn closing_bound(&mut self) -> Option<RangeBound> {
        self.open.take()?;
        let at: &Bound = if self.reverse { &self.range.start } else { &self.range.end };
        Some(RangeBound { at: at.clone(), deletion: None })
    }
}

/// The first item of a partition that is not its static row.
fn first_item(block: &DecodedBlock, items: &Range<usize>) -> usize {
    let is_static = !items.is_empty() && block.kind(items.start) == ItemKind::Static;
    items.start + usize::from(is_static)
}

impl Iterator for SsCursor {
    type Item = Result<Fragment>;

    fn next(&mut self) -> Option<Self::Item> {
        SsCursor::next(self).transpose()
    }
}

impl std::fmt::Debug for SsCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SsCursor").field("key", &self.key).field("reverse", &self.reverse).finish()
    }
}
