//! One source of one partition's rows, as a slice works with it: a piece at a time.
//!
//! A [`Source`] is a file or a memtable, in one range of clusterings, in one direction. It always has at most one *piece* in hand: what a
//! file has of the range in one block, or a chunk of rows out of memory. [`slice`](crate::read::slice) looks where pieces begin
//! and end, and takes whole ones or parts of them: those of several sources for a merge, or a file's alone to hand it out as
//! columns.
//!
//! # Invariants
//! 1. Pieces come in the direction of reading, and none is empty.
//! 2. [`Source::open`] is the range deletion in force in this source just before its piece, in the direction of reading.

use crate::error::Result;
use crate::memtable::plain_rows::PlainRows;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::life::Deletion;
use crate::read::lanes::LaneMap;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection as BlockProjection;
use crate::sstable::block::seek::SeekBound;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a chunk read from memory at first, and at most: a slice of few rows copies few.
const CHUNK: std::ops::RangeInclusive<usize> = 32..=1024;

/// Items of one partition in one block.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The block.
    pub(crate) block: Arc<DecodedBlock>,
    /// The partition's number in it.
    pub(crate) partition: usize,
    /// The items.
    pub(crate) items: Range<usize>,
}

impl Run {
    /// Takes the first `count` items off it, in the direction of reading.
    pub(crate) fn split_off(&mut self, count: usize, reverse: bool) -> Self {
        let count = count.min(self.items.len());
        let mut taken = self.clone();
        match reverse {
            false => {
                taken.items.end = self.items.start + count;
                self.items.start += count;
            }
            true => {
                taken.items.start = self.items.end - count;
                self.items.end -= count;
            }
        }
        taken
    }
}

/// What gives a file's items of one partition and range, block by block in the direction of reading.
pub(crate) trait RunReader {
    /// The next block's items; never none of them.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the block cannot be read.
    fn next_run(&mut self) -> Result<Option<Run>>;

    /// The range deletion in force over the whole range, asked where there is no item in it.
    ///
    /// # Errors
    /// As [`RunReader::next_run`].
    fn deletion_without_items(&mut self) -> Result<Option<Deletion>>;

    /// A place before which, in the direction of reading, there is no item and no range deletion in force; `None` if it is not
    /// known without reading a block.
    ///
    /// # Errors
    /// As [`RunReader::next_run`].
    fn floor(&mut self) -> Result<Option<Bound>> {
        Ok(None)
    }

    /// Looks up what [`RunReader::floor`] has gone without, so that it may tell better; `false` if there is nothing to look up.
    ///
    /// # Errors
    /// As [`RunReader::next_run`].
    fn ask(&mut self) -> Result<bool> {
        Ok(false)
    }
}

/// What gives a memtable's rows and bounds of one partition.
pub(crate) trait ItemReader {
    /// Appends the first items of `range` in the direction of reading, some `max` of them; whether there are more. Bounds say
    /// what is in force from them on in that direction; a deletion in force where the range begins is a bound there.
    ///
    /// # Errors
    /// `Corrupt` if a stored row cannot be decoded.
    fn read(
        &self,
        range: &ClusteringRange,
        reverse: bool,
        max: usize,
        out: &mut Vec<Fragment>,
    ) -> Result<bool>;

    /// The first rows of `range` as they are encoded, some `max` at most, and whether there are more; `None` unless all
    /// are plain.
    fn read_plain(&self, range: &ClusteringRange, reverse: bool, max: usize) -> Option<(PlainRows, bool)>;
}

/// A place of an item in its partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A row's.
    Row(Clustering),
    /// A bound's.
    Bound(Bound),
}

impl Place {
    /// In clustering order.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Row(a), Self::Row(b)) => a.cmp(b),
            (Self::Bound(a), Self::Bound(b)) => a.cmp(b),
            (Self::Bound(a), Self::Row(b)) => a.cmp_row(b.order()),
            (Self::Row(a), Self::Bound(b)) => b.cmp_row(a.order()).reverse(),
        }
    }

    /// The bound just before it in the direction of reading.
    pub(crate) fn before(&self, reverse: bool) -> Bound {
        match self {
            Self::Bound(bound) => bound.clone(),
            Self::Row(row) if reverse => Bound::after(row.order()),
            Self::Row(row) => Bound::before(row.order()),
        }
    }

    /// The bound just behind it in the direction of reading.
    pub(crate) fn behind(&self, reverse: bool) -> Bound {
        self.before(!reverse)
    }
}

/// A file or memtable of one partition. See the module's page.
pub(crate) struct Source {
    kind: Kind,
    reverse: bool,
    /// See invariant 2.
    pub(crate) open: Option<Deletion>,
    started: bool,
}

enum Kind {
    File {
        reader: Box<dyn RunReader + Send>,
        lanes: Arc<LaneMap>,
        run: Option<Run>,
    },
    Memory {
        reader: Box<dyn ItemReader + Send>,
        /// What was not read yet.
        range: ClusteringRange,
        more: bool,
        /// Items of the next chunk.
        max: usize,
        /// The range deletion in force behind the items read so far.
        in_force: Option<Deletion>,
        /// What was read and not taken yet: one of the two is empty.
        items: VecDeque<Fragment>,
        plain: Option<PlainRows>,
    },
}

impl Source {
    /// A file's partition; `reader` gives the range and direction.
    pub(crate) fn file(reader: Box<dyn RunReader + Send>, lanes: Arc<LaneMap>, reverse: bool) -> Self {
        Self { kind: Kind::File { reader, lanes, run: None }, reverse, open: None, started: false }
    }

    /// A memtable's partition, of which some `want` rows will be read.
    pub(crate) fn memory(
        reader: Box<dyn ItemReader + Send>,
        range: ClusteringRange,
        reverse: bool,
        want: u64,
    ) -> Self {
        let max = usize::try_from(want).unwrap_or(usize::MAX).clamp(*CHUNK.start(), *CHUNK.end());
        let items = VecDeque::new();
        let kind = Kind::Memory { reader, range, more: true, max, in_force: None, items, plain: None };
        Self { kind, reverse, open: None, started: false }
    }

    /// Where the next piece begins at the earliest, while there is none in hand; `None` if only [`Source::fill`] can tell.
    pub(crate) fn floor(&mut self) -> Result<Option<Bound>> {
        match &mut self.kind {
            Kind::File { reader, run: None, .. } => reader.floor(),
            _ => Ok(None),
        }
    }

    /// A better floor than the last, for what costs less than [`Source::fill`]; `None` if there is none.
    pub(crate) fn better_floor(&mut self) -> Result<Option<Bound>> {
        match &mut self.kind {
            Kind::File { reader, run: None, .. } => {
                if reader.ask()? {
                    reader.floor()
                } else {
                    Ok(None)
                }
            }
            _ => Ok(None),
        }
    }

    /// Makes sure of a piece in hand; `false` at the end.
    pub(crate) fn fill(&mut self) -> Result<bool> {
        match &mut self.kind {
            Kind::File { reader, run, .. } => {
                if run.is_none() {
                    *run = reader.next_run()?;
                    if !self.started {
                        self.started = true;
                        self.open = match run {
                            Some(Run { block, partition, items }) => {
                                let edge = if self.reverse { items.end } else { items.start };
                                block.deletion_before(*partition, edge)?
                            }
                            None => reader.deletion_without_items()?,
                        };
                    }
                }
                Ok(run.is_some())
            }
            Kind::Memory { items, plain, more, .. } => {
                if !items.is_empty() || plain.is_some() || !*more {
                    return Ok(!items.is_empty() || plain.is_some());
                }
                self.read_chunk()?;
                self.fill()
            }
        }
    }

    fn read_chunk(&mut self) -> Result<()> {
        let Kind::Memory { reader, range, more, max, in_force, items, plain } = &mut self.kind else {
            return Ok(());
        };
        if in_force.is_none()
            && let Some((rows, has_more)) = reader.read_plain(range, self.reverse, *max)
        {
            if let Some(last) = rows.last()? {
                match self.reverse {
                    false => range.start = Bound::after(last.order()),
                    true => range.end = Bound::before(last.order()),
                }
            }
            (*more, *max) = (has_more, (*max * 4).min(*CHUNK.end()));
            *plain = Some(rows);
            return Ok(());
        }
        let mut chunk = Vec::new();
        *more = reader.read(range, self.reverse, *max, &mut chunk)?;
        *max = (*max * 4).min(*CHUNK.end());
        let near = if self.reverse { &range.end } else { &range.start };
        let continues = matches!(chunk.first(), Some(Fragment::Bound(bound)) if bound.at == *near);
        if in_force.is_some() && !continues {
            // The deletion that was in force ends just where this chunk begins.
            items.push_back(Fragment::Bound(RangeBound { at: near.clone(), deletion: None }));
            *in_force = None;
        }
        if let Some(last) = chunk.last() {
            let place = place_of(last).behind(self.reverse);
            match self.reverse {
                false => range.start = place,
                true => range.end = place,
            }
        }
        let last_bound = chunk.iter().rev().find_map(|item| match item {
            Fragment::Bound(bound) => Some(bound.deletion),
            _ => None,
        });
        *in_force = last_bound.unwrap_or(*in_force);
        items.extend(chunk);
        Ok(())
    }

    /// Where the piece begins, in the direction of reading.
    pub(crate) fn first(&self) -> Result<Option<Place>> {
        match &self.kind {
            Kind::File { run: Some(run), .. } => {
                let item = if self.reverse { run.items.end - 1 } else { run.items.start };
                place_in(&run.block, item).map(Some)
            }
            Kind::File { .. } => Ok(None),
            Kind::Memory { plain: Some(rows), .. } => Ok(rows.first()?.map(Place::Row)),
            Kind::Memory { items, .. } => Ok(items.front().map(place_of)),
        }
    }

    /// Where the piece ends.
    pub(crate) fn last(&self) -> Result<Option<Place>> {
        match &self.kind {
            Kind::File { run: Some(run), .. } => {
                let item = if self.reverse { run.items.start } else { run.items.end - 1 };
                place_in(&run.block, item).map(Some)
            }
            Kind::File { .. } => Ok(None),
            Kind::Memory { plain: Some(rows), .. } => Ok(rows.last()?.map(Place::Row)),
            Kind::Memory { items, .. } => Ok(items.back().map(place_of)),
        }
    }

    /// How many items of the piece stand before `end`.
    pub(crate) fn count_before(&self, end: &Bound) -> Result<usize> {
        match &self.kind {
            Kind::File { run: Some(Run { block, items, .. }), .. } => {
                let at = block.seek(items.clone(), &SeekBound::new(block.schema(), end)?)?;
                Ok(if self.reverse { items.end - at } else { at - items.start })
            }
            Kind::File { .. } => Ok(0),
            Kind::Memory { plain: Some(rows), .. } => rows.count_before(end, self.reverse),
            Kind::Memory { items, .. } => {
                let end = Place::Bound(end.clone());
                Ok(items.partition_point(|item| {
                    let order = place_of(item).compare(&end);
                    if self.reverse { order == Ordering::Greater } else { order == Ordering::Less }
                }))
            }
        }
    }

    /// Takes the first `count` items of the piece.
    pub(crate) fn take(&mut self, count: usize) -> Part {
        match &mut self.kind {
            Kind::File { run: in_hand, lanes, .. } => {
                let Some(mut run) = in_hand.take() else { return Part::Items(Vec::new().into_iter()) };
                if count < run.items.len() {
                    let taken = run.split_off(count, self.reverse);
                    *in_hand = Some(run);
                    run = taken;
                }
                Part::Run(run, lanes.clone(), self.reverse)
            }
            Kind::Memory { plain, .. } if plain.is_some() => {
                let taken = plain.as_mut().map(|rows| rows.take(count));
                plain.take_if(|rows| rows.is_empty());
                taken.map_or_else(|| Part::Items(Vec::new().into_iter()), Part::Plain)
            }
            Kind::Memory { items, .. } if count >= items.len() => {
                Part::Items(Vec::from(std::mem::take(items)).into_iter())
            }
            Kind::Memory { items, .. } => Part::Items(items.drain(..count).collect::<Vec<_>>().into_iter()),
        }
    }
}

/// A part of a piece: an input of a merge.
pub(crate) enum Part {
    /// Items of a block, and whether they come backwards.
    Run(Run, Arc<LaneMap>, bool),
    /// Rows as memory has them.
    Plain(PlainRows),
    /// Rows and bounds.
    Items(std::vec::IntoIter<Fragment>),
}

/// Parts, each with the number of its source, if that may have a deletion open.
pub(crate) type Parts = Vec<(Option<usize>, Part)>;

impl Iterator for Part {
    type Item = Result<Fragment>;

    #[inline]
    fn next(&mut self) -> Option<Result<Fragment>> {
        match self {
            Self::Items(items) => items.next().map(Ok),
            Self::Plain(rows) => match rows.next_row().transpose()? {
                Ok(row) => Some(row.decode().map(Fragment::Row)),
                Err(error) => Some(Err(error)),
            },
            Self::Run(run, lanes, reverse) => {
                let item = if *reverse { run.items.next_back() } else { run.items.next() }?;
                Some(fragment(run, lanes.projection(), item, *reverse))
            }
        }
    }
}

/// Item `item` of a run, a bound with what is in force behind it in the direction of reading.
fn fragment(run: &Run, projection: &BlockProjection, item: usize, reverse: bool) -> Result<Fragment> {
    if run.block.kind(item) == ItemKind::Row {
        return run.block.to_row(item, projection).map(Fragment::Row);
    }
    let mut bound = run.block.bound(item)?;
    if reverse {
        bound.deletion = run.block.deletion_before(run.partition, item)?;
    }
    Ok(Fragment::Bound(bound))
}

fn place_in(block: &DecodedBlock, item: usize) -> Result<Place> {
    match block.kind(item) {
        ItemKind::Bound => block.bound(item).map(|bound| Place::Bound(bound.at)),
        _ => block.clustering(item).map(Place::Row),
    }
}

fn place_of(item: &Fragment) -> Place {
    match item {
        Fragment::Bound(bound) => Place::Bound(bound.at.clone()),
        Fragment::Row(row) | Fragment::Static(row) => Place::Row(row.clustering.clone()),
        Fragment::Partition { .. } => Place::Bound(Bound::bottom()),
    }
}
