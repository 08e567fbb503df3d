//! A file of a partition as a slice reads it: looked up and opened when it is its turn.
//!
//! The newest rows of a series are all in memory or in one file; what the others cost then is all there is to save. So a file of which
//! nothing but rows is asked is taken as it is after its filter ([`gather`](crate::read::gather)): its range of clusterings tells where it
//! begins at the earliest. When that comes up the index is asked, which knows the place in this partition, and only when that comes up
//! a block is read.

use crate::error::Result;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::read::source::{Run, RunReader};
use crate::sstable::cursor::SsCursor;
use crate::sstable::index::BlockEntry;
use crate::sstable::partition::SsPartition;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

/// A file's part of a partition, within a range. See the module's page.
pub(crate) struct FileReader {
    state: State,
    range: ClusteringRange,
    reverse: bool,
}

enum State {
    /// The index was not asked.
    Unasked(Arc<SsTable>, DecoratedKey),
    /// It has the partition; no block was looked for.
    Found(SsPartition),
    Open(Box<SsCursor>),
    /// It does not have the partition.
    Absent,
}

impl FileReader {
    /// Of a partition that was found.
    pub(crate) fn new(partition: SsPartition, range: &ClusteringRange, reverse: bool) -> Self {
        Self { state: State::Found(partition), range: range.clone(), reverse }
    }

    /// Of a partition that `table` may have.
    pub(crate) fn unasked(
        table: &Arc<SsTable>,
        key: &DecoratedKey,
        range: &ClusteringRange,
        reverse: bool,
    ) -> Self {
        Self { state: State::Unasked(Arc::clone(table), key.clone()), range: range.clone(), reverse }
    }

    /// The cursor, opened if it was not; `None` if the file does not have the partition.
    fn cursor(&mut self) -> Result<Option<&mut SsCursor>> {
        self.ask()?;
        if let State::Found(partition) = &self.state {
            self.state = State::Open(Box::new(partition.cursor(&self.range, self.reverse)?));
        }
        Ok(match &mut self.state {
            State::Open(cursor) => Some(cursor),
            _ => None,
        })
    }

    /// Where its rows begin in the direction of reading, if all of the file lies behind that in the range.
    fn floor_of_file(&self, table: &SsTable) -> Option<Bound> {
        let meta = table.meta();
        let all = meta.clustering.as_ref().filter(|_| !meta.has_range_deletion)?;
        Some(if self.reverse { all.end.clone() } else { all.start.clone() })
            .filter(|floor| self.is_within(floor))
    }

    fn is_within(&self, floor: &Bound) -> bool {
        if self.reverse { *floor <= self.range.end } else { *floor >= self.range.start }
    }
}

impl RunReader for FileReader {
    fn next_run(&mut self) -> Result<Option<Run>> {
        self.cursor()?.map_or(Ok(None), RunReader::next_run)
    }

    fn deletion_without_items(&mut self) -> Result<Option<Deletion>> {
        self.cursor()?.map_or(Ok(None), RunReader::deletion_without_items)
    }

    fn floor(&mut self) -> Result<Option<Bound>> {
        if let State::Unasked(table, _) = &self.state {
            if let Some(floor) = self.floor_of_file(table) {
                return Ok(Some(floor));
            }
            self.ask()?;
        }
        if let State::Found(partition) = &self.state {
            let own = match self.reverse {
                false => floor_of(partition.start(), partition.key(), false),
                true => None,
            };
            let floor =
                own.filter(|floor| self.is_within(floor)).or_else(|| self.floor_of_file(partition.table()));
            if floor.is_some() {
                return Ok(floor);
            }
        }
        self.cursor()?.map_or(Ok(None), RunReader::floor)
    }

    fn ask(&mut self) -> Result<bool> {
        let State::Unasked(table, key) = &self.state else { return Ok(false) };
        self.state = table.partition(key)?.map_or(State::Absent, State::Found);
        Ok(true)
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
