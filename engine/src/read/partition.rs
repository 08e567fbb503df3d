//! One partition as a reader works through it: range after range, each a slice over all sources.

use crate::error::{Error, Result};
use crate::memtable::partition::MemPartition;
use crate::memtable::plain_rows::PlainRows;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::read::aggregate::{ZoneRuns, Zones};
use crate::read::batch::Batch;
use crate::read::builder::PartitionHead;
use crate::read::gather::Gathered;
use crate::read::lanes::LaneMap;
use crate::read::query::Projection;
use crate::read::resolve::Resolver;
use crate::read::slice::Slice;
use crate::read::source::{ItemReader, Run, RunReader, Source};
use crate::sstable::cursor::SsCursor;
use crate::sstable::index::BlockEntry;
use crate::sstable::layout::BlockSchema;
use crate::sstable::partition::SsPartition;
use std::collections::VecDeque;
use std::sync::Arc;

/// A memtable's partition as a pinned reader sees it.
pub(crate) struct MemoryReader {
    pub(crate) partition: Arc<MemPartition>,
    pub(crate) seq: u64,
}

impl ItemReader for MemoryReader {
    fn read(
        &self,
        range: &ClusteringRange,
        reverse: bool,
        max: usize,
        out: &mut Vec<Fragment>,
    ) -> Result<bool> {
        self.partition.read(range, reverse, self.seq, max, out)
    }

    fn read_plain(&self, range: &ClusteringRange, reverse: bool, max: usize) -> Option<(PlainRows, bool)> {
        self.partition.read_plain(range, reverse, self.seq, max)
    }
}

/// A file's partition that is looked up and read only when it is its turn: the newest rows of a series are all in one file, and no
/// other is asked for a block.
enum LazyCursor {
    Waiting(SsPartition, ClusteringRange, bool),
    Open(Box<SsCursor>),
}

impl LazyCursor {
    fn cursor(&mut self) -> Result<&mut SsCursor> {
        if let Self::Waiting(partition, range, reverse) = self {
            *self = Self::Open(Box::new(partition.cursor(range, *reverse)?));
        }
        match self {
            Self::Open(cursor) => Ok(cursor),
            Self::Waiting(..) => Err(Error::invalid("a file was not opened")),
        }
    }
}

impl RunReader for LazyCursor {
    fn next_run(&mut self) -> Result<Option<Run>> {
        RunReader::next_run(self.cursor()?)
    }

    fn deletion_without_items(&mut self) -> Result<Option<Deletion>> {
        self.cursor()?.deletion_without_items()
    }

    fn floor(&mut self) -> Result<Option<Bound>> {
        if let Self::Waiting(partition, range, reverse) = self {
            let meta = partition.table().meta();
            let own = match reverse {
                false => floor_of(partition.start(), partition.key(), false),
                true => None,
            };
            let of_file = || match (&meta.clustering, meta.has_range_deletion) {
                (Some(all), false) => Some(if *reverse { all.end.clone() } else { all.start.clone() }),
                _ => None,
            };
            let within = |floor: &Bound| if *reverse { *floor <= range.end } else { *floor >= range.start };
            if let Some(floor) = own.or_else(of_file).filter(within) {
                return Ok(Some(floor));
            }
        }
        self.cursor()?.floor()
    }
}

/// Where the first item of partition `key` in a block stands at the earliest, or the last one at the latest, if the index tells and no range
/// deletion of it reaches beyond.
fn floor_of(entry: &BlockEntry, key: &DecoratedKey, reverse: bool) -> Option<Bound> {
    let (edge, place) = match reverse {
        false => (&entry.first, &entry.summary.first),
        true => (&entry.last, &entry.summary.last),
    };
    (edge == key && !entry.open && entry.zone().range_tombstones == 0).then(|| place.clone())
}

impl RunReader for SsCursor {
    fn next_run(&mut self) -> Result<Option<Run>> {
        Ok(SsCursor::next_run(self)?.map(|run| {
            let partition = run.block.partition_of(run.items.start);
            Run { block: run.block, partition, items: run.items }
        }))
    }

    fn floor(&mut self) -> Result<Option<Bound>> {
        let (key, reverse) = (self.key().clone(), self.is_reverse());
        Ok(self.peek_block()?.and_then(|(entry, _)| floor_of(entry, &key, reverse)))
    }

    fn deletion_without_items(&mut self) -> Result<Option<Deletion>> {
        Ok(match SsCursor::next(self)? {
            Some(Fragment::Bound(edge)) => edge.deletion,
            _ => None,
        })
    }
}

/// Lane maps of the layouts met in a read: nearly always one.
#[derive(Debug, Default)]
pub(crate) struct LaneMaps(Vec<(Arc<BlockSchema>, Arc<LaneMap>)>);

impl LaneMaps {
    pub(crate) fn of(&mut self, columns: &Arc<Projection>, layout: &Arc<BlockSchema>) -> Arc<LaneMap> {
        if let Some((_, lanes)) = self.0.iter().find(|(known, _)| Arc::ptr_eq(known, layout)) {
            return lanes.clone();
        }
        let lanes = LaneMap::shared(columns, layout);
        self.0.push((layout.clone(), lanes.clone()));
        lanes
    }
}

/// A partition being read.
pub(crate) struct OpenPartition {
    pub(crate) head: Arc<PartitionHead>,
    gathered: Gathered,
    /// Ranges that were not begun, in the direction of reading.
    ranges: VecDeque<ClusteringRange>,
    slice: Option<Slice>,
    reverse: bool,
    seq: u64,
    /// A row was seen, or an earlier page had one: the static row does not stand for itself.
    pub(crate) has_rows: bool,
    /// Takes the totals of blocks that need not be read.
    zones: Option<Arc<Zones>>,
    /// Rows in `zones` when this partition began.
    zone_rows: u64,
}

impl OpenPartition {
    /// `ranges` are disjoint and in clustering order.
    pub(crate) fn new(
        columns: &Arc<Projection>,
        key: DecoratedKey,
        mut gathered: Gathered,
        ranges: Vec<ClusteringRange>,
        (reverse, seq): (bool, u64),
        resolver: &mut Resolver,
    ) -> Result<Self> {
        let statics = gathered.statics.take().and_then(|row| resolver.static_row(row));
        let head = Arc::new(PartitionHead::new(columns, key, statics, resolver.now())?);
        let mut ranges = VecDeque::from(ranges);
        if reverse {
            ranges.make_contiguous().reverse();
        }
        let (zones, zone_rows) = (None, 0);
        Ok(Self { head, gathered, ranges, slice: None, reverse, seq, has_rows: false, zones, zone_rows })
    }

    /// Has blocks added up in `zones` where the index suffices, instead of giving their rows.
    pub(crate) fn add_up_in(&mut self, zones: &Arc<Zones>) {
        (self.zones, self.zone_rows) = (Some(zones.clone()), zones.rows());
    }

    /// Where the other sources of the partition have anything in `range`.
    fn extents(&self, of: &SsPartition, range: &ClusteringRange) -> Result<Vec<ClusteringRange>> {
        let mut extents = Vec::new();
        for partition in &self.gathered.memory {
            let mut ends = Vec::new();
            for reverse in [false, true] {
                // Two, since a bound at the edge comes on top.
                partition.read(range, reverse, self.seq, 1, &mut ends)?;
            }
            let places = ends.iter().map(|item| match item {
                Fragment::Row(row) | Fragment::Static(row) => {
                    let order = row.clustering.order();
                    ClusteringRange { start: Bound::before(order), end: Bound::after(order) }
                }
                Fragment::Bound(bound) => ClusteringRange { start: bound.at.clone(), end: bound.at.clone() },
                Fragment::Partition { .. } => ClusteringRange::all(),
            });
            extents.extend(
                places.reduce(|a, b| ClusteringRange { start: a.start.min(b.start), end: a.end.max(b.end) }),
            );
        }
        let files = self.gathered.files.iter().filter(|file| !Arc::ptr_eq(file.table(), of.table()));
        extents.extend(files.filter_map(|file| file.table().meta().clustering.clone()));
        Ok(extents)
    }

    /// At most `want` more rows; `None` at the end.
    pub(crate) fn next_batch(
        &mut self,
        want: usize,
        maps: &mut LaneMaps,
        resolver: &mut Resolver,
    ) -> Result<Option<Batch>> {
        loop {
            if let Some(slice) = &mut self.slice {
                if let Some(batch) = slice.next_batch(want, resolver)? {
                    self.has_rows = true;
                    return Ok(Some(batch));
                }
                self.slice = None;
                self.has_rows |= self.zones.as_ref().is_some_and(|zones| zones.rows() > self.zone_rows);
            }
            let Some(range) = self.ranges.pop_front().filter(|_| !self.gathered.is_empty()) else {
                return Ok(None);
            };
            let mut sources = Vec::with_capacity(self.gathered.memory.len() + self.gathered.files.len());
            for partition in &self.gathered.memory {
                let reader = Box::new(MemoryReader { partition: partition.clone(), seq: self.seq });
                sources.push(Source::memory(reader, range.clone(), self.reverse, want as u64));
            }
            for file in &self.gathered.files {
                let lanes = maps.of(&self.head.columns, file.table().layout()?);
                let reader: Box<dyn RunReader + Send> = match &self.zones {
                    Some(zones) if self.gathered.deletion.is_none() => {
                        let cursor = file.cursor(&range, self.reverse)?;
                        let others = self.extents(file, &range)?;
                        Box::new(ZoneRuns::new(cursor, zones.clone(), lanes.clone(), others, self.head.now))
                    }
                    _ => Box::new(LazyCursor::Waiting(file.clone(), range.clone(), self.reverse)),
                };
                sources.push(Source::file(reader, lanes, self.reverse));
            }
            self.slice = Some(Slice::new(&self.head, sources, self.gathered.deletion, self.reverse));
        }
    }
}
