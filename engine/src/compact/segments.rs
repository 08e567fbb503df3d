//! Finds, from index entries alone, which blocks of a compaction's inputs overlap and which stand by themselves.
//!
//! The blocks of all inputs are swept in order; what overlaps becomes one [`Segment`]. A segment of one input needs no merging:
//! its blocks can be copied unread or taken over lane by lane. [`crate::compact::job`] does the one or the other.
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
use crate::sstable::block::summary::Zone;
use crate::sstable::blocks::{BlockRef, Blocks};
use std::iter::Peekable;

/// A place in the order of partitions and rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    key: DecoratedKey,
    at: Bound,
}

/// Consecutive blocks of one input.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Number of the input.
    pub(crate) source: usize,
    /// The first block.
    pub(crate) first: BlockRef,
    /// How many.
    pub(crate) blocks: u64,
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
    /// Whether there is nothing but rows: no static rows, no deletions of partitions or ranges.
    pub(crate) rows_only: bool,
}

/// The sweep over all inputs.
pub(crate) struct Segments {
    sources: Vec<Source>,
}

struct Source {
    blocks: Peekable<Blocks>,
    /// From where to where the next block reaches.
    next: Option<(Position, Position)>,
    /// Where the block before it ends.
    last: Option<Position>,
}

impl Segments {
    /// Sweeps over the blocks of the inputs, given in any order of inputs.
    ///
    /// # Errors
    /// `Corrupt` if an index is damaged; so for [`Segments::next`].
    pub(crate) fn new(inputs: Vec<Blocks>) -> Result<Self> {
        let sources = inputs.into_iter().map(|blocks| {
            let mut source = Source { blocks: blocks.peekable(), next: None, last: None };
            source.look_ahead()?;
            Ok(source)
        });
        Ok(Self { sources: sources.collect::<Result<_>>()? })
    }

    /// The next segment.
    pub(crate) fn next(&mut self) -> Result<Option<Segment>> {
        let starts = self.sources.iter().enumerate();
        let first = starts.filter_map(|(i, s)| s.next.as_ref().map(|(start, _)| (start, i))).min();
        let Some((_, first)) = first else { return Ok(None) };
        let mut segment =
            Segment { parts: Vec::new(), min_local: i64::MAX, min_timestamp: i64::MAX, rows_only: true };
        let mut end = self.take(first, &mut segment)?;
        loop {
            let touches = |s: &Source| s.next.as_ref().is_some_and(|(start, _)| *start <= end);
            let Some(i) = self.sources.iter().position(touches) else { return Ok(Some(segment)) };
            end = end.max(self.take(i, &mut segment)?);
        }
    }

    /// Puts the next block of an input into the segment; where it ends.
    fn take(&mut self, i: usize, segment: &mut Segment) -> Result<Position> {
        let source = &mut self.sources[i];
        let (block, (_, end)) = match (source.blocks.next(), source.next.take()) {
            (Some(block), Some(extent)) => (block?, extent),
            _ => return Err(Error::invalid("a block was taken that is not there")),
        };
        segment.min_local = segment.min_local.min(block.zone().min_local);
        segment.min_timestamp = segment.min_timestamp.min(block.zone().min_timestamp);
        let zone = block.zone();
        segment.rows_only &=
            !block.open && zone.partition_tombstones + zone.range_tombstones + zone.static_rows == 0;
        source.last = Some(end.clone());
        source.look_ahead()?;
        match segment.parts.iter_mut().find(|part| part.source == i) {
            Some(part) => part.blocks += 1,
            None => segment.parts.push(Part { source: i, first: block, blocks: 1 }),
        }
        Ok(end)
    }
}

impl Source {
    fn look_ahead(&mut self) -> Result<()> {
        self.next = match self.blocks.peek() {
            None => None,
            Some(Err(error)) => return Err(error.duplicate()),
            Some(Ok(block)) => {
                let block = block.clone();
                Some(self.extent(&block))
            }
        };
        Ok(())
    }

    /// From where to where a block reaches (invariant 2).
    fn extent(&self, block: &BlockRef) -> (Position, Position) {
        let (first, last) = (block.first.clone(), block.last.clone());
        if deletes_partitions(block.zone()) {
            return (Position { key: first, at: Bound::bottom() }, Position { key: last, at: Bound::top() });
        }
        let start = match (&self.last, block.open) {
            (Some(before), true) => before.clone(),
            _ => Position { key: first, at: block.summary.first.clone() },
        };
        (start, Position { key: last, at: block.summary.last.clone() })
    }
}

fn deletes_partitions(zone: &Zone) -> bool {
    zone.partition_tombstones > 0
}
