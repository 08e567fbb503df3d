//! Finds, from index entries alone, which blocks of a compaction's inputs overlap and which stand by themselves.
//!
//! The blocks of all inputs are swept in order; what overlaps becomes one [`Segment`]. A segment of one input needs no merging:
//! its blocks can be copied unread or taken over lane by lane. [`crate::compact::job`] does the one or the other.
//!
//! A block that holds the end of one large partition and the beginning of the next would join nearly everything, since the rows of
//! other inputs stand between the two. Where such a block overlaps something, it is taken apart into its partitions.
//!
//! # Invariants
//! 1. Segments come in order, and hold every block of every input once, each input's in order.
//! 2. Nothing in one segment is hidden by anything in another: a block's extent covers all that its deletions reach. A
//!    partition deletion reaches the whole partition; a range deletion that is in force where a block begins joins the
//!    block to the one before.
//! 3. Where a segment begins, no range deletion is in force.

use crate::error::{Error, Result};
use crate::model::clustering::Bound;
use crate::model::key::DecoratedKey;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::blocks::{BlockRef, Blocks};
use crate::sstable::reader::SsTable;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Items that a block must have for each of its partitions to be taken apart: below, merging row by row is cheaper.
const LARGE_PARTITION: usize = 64;

/// A place in the order of partitions and rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    key: DecoratedKey,
    at: Bound,
}

/// Consecutive blocks of one input, or consecutive partitions of one block.
#[derive(Clone, Debug)]
pub(crate) enum Stretch {
    /// So many blocks from this one on.
    Blocks(BlockRef, u64),
    /// Some partitions of this block.
    Partitions(BlockRef, Arc<DecodedBlock>, Range<usize>),
}

/// What one input has in a segment.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Number of the input.
    pub(crate) source: usize,
    /// In order.
    pub(crate) stretches: Vec<Stretch>,
}

/// Blocks that overlap.
#[derive(Debug)]
pub(crate) struct Segment {
    /// By input, each at most once.
    pub(crate) parts: Vec<Part>,
    /// Earliest expiry or deletion second in any of the blocks.
    pub(crate) min_local: i64,
    /// Earliest write time in any of the blocks.
    pub(crate) min_timestamp: i64,
}

/// The sweep over all inputs.
pub(crate) struct Segments {
    sources: Vec<Source>,
}

struct Source {
    table: Arc<SsTable>,
    blocks: Blocks,
    /// What comes next; empty at the end alone.
    waiting: VecDeque<Unit>,
    /// Where the last unit that was made ends.
    last: Option<Position>,
}

/// A block or one partition of it, and from where to where it reaches.
struct Unit {
    block: BlockRef,
    piece: Option<(Arc<DecodedBlock>, usize)>,
    start: Position,
    end: Position,
}

impl Segments {
    /// Sweeps over the blocks of the inputs.
    ///
    /// # Errors
    /// `Corrupt` if an index is damaged; so for [`Segments::next`].
    pub(crate) fn new(inputs: &[Arc<SsTable>]) -> Result<Self> {
        let sources = inputs.iter().map(|table| {
            let (blocks, waiting) = (table.blocks()?, VecDeque::new());
            let mut source = Source { table: Arc::clone(table), blocks, waiting, last: None };
            source.look_ahead()?;
            Ok(source)
        });
        Ok(Self { sources: sources.collect::<Result<_>>()? })
    }

    /// The next segment.
    pub(crate) fn next(&mut self) -> Result<Option<Segment>> {
        loop {
            let starts = self.sources.iter().enumerate();
            let first = starts.filter_map(|(i, s)| s.waiting.front().map(|unit| (&unit.start, i))).min();
            let Some((_, first)) = first else { return Ok(None) };
            let end = self.sources[first].waiting.front().map(|unit| unit.end.clone());
            let Some(end) = end else { return Ok(None) };
            if self.touching(&end, Some(first)).is_some() && self.sources[first].take_apart()? {
                continue;
            }
            return self.grow(first).map(Some);
        }
    }

    /// The segment that begins with what comes next of input `first`.
    fn grow(&mut self, first: usize) -> Result<Segment> {
        let mut segment = Segment { parts: Vec::new(), min_local: i64::MAX, min_timestamp: i64::MAX };
        let mut end = self.take(first, &mut segment)?;
        while let Some(i) = self.touching(&end, None) {
            let alone = segment.parts.iter().all(|part| part.source == i);
            if alone || !self.sources[i].take_apart()? {
                end = end.max(self.take(i, &mut segment)?);
            }
        }
        Ok(segment)
    }

    /// An input, other than `but`, that has something at or before `end`.
    fn touching(&self, end: &Position, but: Option<usize>) -> Option<usize> {
        let touches = |s: &Source| s.waiting.front().is_some_and(|unit| unit.start <= *end);
        (0..self.sources.len()).find(|&i| Some(i) != but && touches(&self.sources[i]))
    }

    /// Puts what comes next of an input into the segment; where that ends.
    fn take(&mut self, i: usize, segment: &mut Segment) -> Result<Position> {
        let source = &mut self.sources[i];
        let Some(unit) = source.waiting.pop_front() else {
            return Err(Error::invalid("a block was taken that is not there"));
        };
        source.look_ahead()?;
        segment.min_local = segment.min_local.min(unit.block.zone().min_local);
        segment.min_timestamp = segment.min_timestamp.min(unit.block.zone().min_timestamp);
        let place = segment.parts.iter().position(|part| part.source == i).unwrap_or_else(|| {
            segment.parts.push(Part { source: i, stretches: Vec::new() });
            segment.parts.len() - 1
        });
        let stretches = &mut segment.parts[place].stretches;
        match (unit.piece, stretches.last_mut()) {
            (None, Some(Stretch::Blocks(_, count))) => *count += 1,
            (None, _) => stretches.push(Stretch::Blocks(unit.block, 1)),
            (Some((_, p)), Some(Stretch::Partitions(block, _, range)))
                if block.number() == unit.block.number() && range.end == p =>
            {
                range.end = p + 1;
            }
            (Some((decoded, p)), _) => stretches.push(Stretch::Partitions(unit.block, decoded, p..p + 1)),
        }
        Ok(unit.end)
    }
}

impl Source {
    fn look_ahead(&mut self) -> Result<()> {
        if self.waiting.is_empty()
            && let Some(block) = self.blocks.next()
        {
            let block = block?;
            let (start, end) = self.extent(&block);
            self.last = Some(end.clone());
            self.waiting.push_back(Unit { block, piece: None, start, end });
        }
        Ok(())
    }

    /// From where to where a block reaches (invariant 2).
    fn extent(&self, block: &BlockRef) -> (Position, Position) {
        let (first, last) = (block.first.clone(), block.last.clone());
        if block.zone().partition_tombstones > 0 {
            return (Position { key: first, at: Bound::bottom() }, Position { key: last, at: Bound::top() });
        }
        let start = match (&self.last, block.open) {
            (Some(before), true) => before.clone(),
            _ => Position { key: first, at: block.summary.first.clone() },
        };
        (start, Position { key: last, at: block.summary.last.clone() })
    }

    /// Replaces the block that comes next by its partitions, if it has several large ones; whether it did.
    fn take_apart(&mut self) -> Result<bool> {
        let large = |unit: &&Unit| {
            let summary = &unit.block.summary;
            let several = unit.piece.is_none() && summary.partitions > 1;
            several && summary.items >= LARGE_PARTITION * summary.partitions
        };
        if self.waiting.front().filter(large).is_none() {
            return Ok(false);
        }
        let Some(unit) = self.waiting.pop_front() else { return Ok(false) };
        let decoded = self.table.peek_block(&unit.block)?;
        for p in 0..decoded.partitions() {
            let (mut start, end) = piece_extent(&decoded, p)?;
            if p == 0 && unit.block.open {
                start = unit.start.clone();
            }
            self.last = Some(end.clone());
            let piece = Some((Arc::clone(&decoded), p));
            self.waiting.push_back(Unit { block: unit.block.clone(), piece, start, end });
        }
        Ok(true)
    }
}

/// From where to where partition `p` of a block reaches in it.
fn piece_extent(block: &DecodedBlock, p: usize) -> Result<(Position, Position)> {
    let partition = block.partition(p);
    let key = DecoratedKey::new(partition.key);
    let at = |bound| Position { key: key.clone(), at: bound };
    let items = partition.items;
    if partition.deletion.is_some() || items.is_empty() {
        return Ok((at(Bound::bottom()), at(Bound::top())));
    }
    let start = match block.kind(items.start) {
        ItemKind::Static => Bound::bottom(),
        ItemKind::Bound => block.bound(items.start)?.at,
        ItemKind::Row => Bound::before(block.clustering(items.start)?.order()),
    };
    let end = match block.kind(items.end - 1) {
        ItemKind::Static => Bound::bottom(),
        ItemKind::Bound => block.bound(items.end - 1)?.at,
        ItemKind::Row => Bound::after(block.clustering(items.end - 1)?.order()),
    };
    Ok((at(start), at(end)))
}
