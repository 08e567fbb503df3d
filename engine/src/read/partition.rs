//! One partition as a reader works through it: range after range, each a slice over all sources.

use crate::error::Result;
use crate::memtable::partition::MemPartition;
use crate::memtable::plain_rows::PlainRows;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::read::aggregate::{ZoneRuns, Zones};
use crate::read::batch::Batch;
use crate::read::builder::PartitionHead;
use crate::read::file::FileReader;
use crate::read::gather::Gathered;
use crate::read::lanes::LaneMap;
use crate::read::query::Projection;
use crate::read::resolve::Resolver;
use crate::read::slice::Slice;
use crate::read::source::{ItemReader, RunReader, Source};
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
            let Gathered { memory, files, waiting, .. } = &self.gathered;
            let mut sources = Vec::with_capacity(memory.len() + files.len() + waiting.len());
            for partition in memory {
                let reader = Box::new(MemoryReader { partition: partition.clone(), seq: self.seq });
                sources.push(Source::memory(reader, range.clone(), self.reverse, want as u64));
            }
            for file in files {
                let lanes = maps.of(&self.head.columns, file.table().layout()?);
                let reader: Box<dyn RunReader + Send> = match &self.zones {
                    Some(zones) if self.gathered.deletion.is_none() => {
                        let cursor = file.cursor(&range, self.reverse)?;
                        let others = self.extents(file, &range)?;
                        Box::new(ZoneRuns::new(cursor, zones.clone(), lanes.clone(), others, self.head.now))
                    }
                    _ => Box::new(FileReader::new(file.clone(), &range, self.reverse)),
                };
                sources.push(Source::file(reader, lanes, self.reverse));
            }
            for table in waiting {
                let lanes = maps.of(&self.head.columns, table.layout()?);
                let reader = Box::new(FileReader::unasked(table, &self.head.key, &range, self.reverse));
                sources.push(Source::file(reader, lanes, self.reverse));
            }
            self.slice = Some(Slice::new(&self.head, sources, self.gathered.deletion, self.reverse));
        }
    }
}
