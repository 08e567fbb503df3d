//! One partition as a reader works through it: range after range, each a slice over all sources.

use crate::error::Result;
use crate::memtable::partition::MemPartition;
use crate::model::clustering::ClusteringRange;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::read::batch::Batch;
use crate::read::builder::PartitionHead;
use crate::read::gather::Gathered;
use crate::read::lanes::LaneMap;
use crate::read::query::Projection;
use crate::read::resolve::Resolver;
use crate::read::slice::Slice;
use crate::read::source::{ItemReader, Run, RunReader, Source};
use crate::sstable::cursor::SsCursor;
use crate::sstable::layout::BlockSchema;
use std::collections::VecDeque;
use std::sync::Arc;

/// A memtable's partition as a pinned reader sees it.
struct MemoryReader {
    partition: Arc<MemPartition>,
    seq: u64,
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
}

impl RunReader for SsCursor {
    fn next_run(&mut self) -> Result<Option<Run>> {
        Ok(SsCursor::next_run(self)?.map(|run| {
            let partition = run.block.partition_of(run.items.start);
            Run { block: run.block, partition, items: run.items }
        }))
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
    pub(crate) fn of(&mut self, columns: &Projection, layout: &Arc<BlockSchema>) -> Arc<LaneMap> {
        if let Some((_, lanes)) = self.0.iter().find(|(known, _)| Arc::ptr_eq(known, layout)) {
            return lanes.clone();
        }
        let lanes = Arc::new(LaneMap::new(columns, layout));
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
        Ok(Self { head, gathered, ranges, slice: None, reverse, seq, has_rows: false })
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
                let cursor = file.cursor(&range, self.reverse)?;
                sources.push(Source::file(Box::new(cursor), lanes, self.reverse));
            }
            self.slice = Some(Slice::new(&self.head, sources, self.gathered.deletion, self.reverse));
        }
    }
}
