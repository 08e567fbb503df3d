//! The reader: partitions one after the other, rows of each as batches, limits and pages over all of them.
//!
//! A [`Reader`] is over one partition, a list of them in the caller's order, or the partitions of a range of tokens; see
//! [`read`](crate::read) for the ways in. It holds its view and its pin for as long as it lives.
//!
//! # Invariants
//! 1. Batches come in the order of partitions, rows of a partition in clustering order or its reverse.
//! 2. The union of all pages is the unpaged result, as long as nothing is written in between.

use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::clustering::ClusteringRange;
use crate::model::key::DecoratedKey;
use crate::read::aggregate::Zones;
use crate::read::batch::{BATCH_ROWS, Batch, Row};
use crate::read::explain::Explain;
use crate::read::gather::Gather;
use crate::read::page::{Limits, PageState, Place};
use crate::read::partition::{LaneMaps, OpenPartition};
use crate::read::query::Query;
use crate::read::resolve::{Counts, Resolver, TombstoneWarning};
use crate::read::scan::Keys;
use crate::read::snapshot::Snapshot;
use crate::sstable::cache::Looks;
use std::sync::Arc;

/// Reads rows. See the module's page.
pub struct Reader {
    snapshot: Snapshot,
    query: Query,
    ranges: Vec<ClusteringRange>,
    keys: Keys,
    limits: Limits,
    resolver: Resolver,
    maps: LaneMaps,
    open: Option<OpenPartition>,
    /// Where the last batch of a page ended.
    last: Option<(Bytes, Place)>,
    /// The state that the page began with, until its partition is met.
    resume: Option<PageState>,
    explain: Option<Explain>,
    zones: Option<Arc<Zones>>,
}

impl Reader {
    pub(crate) fn new(snapshot: Snapshot, mut keys: Keys, query: Query, now: i64) -> Result<Self> {
        let schema = &snapshot.view().schema;
        let resume = query.page.clone();
        if let Some(state) = &resume {
            state.check(schema, &query)?;
            keys.resume_at(&state.key);
        }
        let resolver = Resolver::new(schema, query.tombstones, now);
        let (ranges, limits) = (query.normal_ranges(), Limits::new(&query));
        let maps = LaneMaps::default();
        let (open, last, explain, zones) = (None, None, None, None);
        Ok(Self { snapshot, query, ranges, keys, limits, resolver, maps, open, last, resume, explain, zones })
    }

    /// What was asked.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Has blocks added up in `zones` where the index suffices, instead of handing out their rows.
    pub(crate) fn add_up_in(&mut self, zones: &Arc<Zones>) {
        self.zones = Some(zones.clone());
    }

    /// Notes that an aggregate was answered by the index for so many blocks.
    pub(crate) fn note_blocks_from_index(&mut self, blocks: u64) {
        if let Some(explain) = &mut self.explain {
            explain.blocks_from_index += blocks;
        }
    }

    /// Has the reader record what it looks at; see [`Reader::explain`].
    #[must_use]
    pub fn explained(mut self) -> Self {
        self.explain = Some(Explain::default());
        self
    }

    /// The next rows, all of one partition; `None` at the end of the page.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a file cannot be read, `Invalid` if too many tombstones were met; the table is named.
    #[inline]
    pub fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let before = self.explain.as_ref().map(|_| Looks::of_thread());
        let found = self.find_batch();
        if let (Some(explain), Some(before)) = (&mut self.explain, before) {
            explain.looks.add(Looks::of_thread().since(before));
        }
        found.map_err(|error| error.in_table(self.snapshot.view().schema.full_name()))
    }

    fn find_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        loop {
            if self.limits.left_in_page() == 0 {
                return Ok(None);
            }
            let Some(open) = &mut self.open else {
                match self.keys.next(self.snapshot.view())? {
                    Some(key) => self.open_partition(key)?,
                    None => return Ok(None),
                }
                continue;
            };
            if self.limits.partition_is_full() {
                self.open = None;
                continue;
            }
            let want = usize::try_from(self.limits.left()).unwrap_or(usize::MAX).min(BATCH_ROWS);
            let key = open.head.key.key.clone();
            if let Some(batch) = open.next_batch(want, &mut self.maps, &mut self.resolver)? {
                if self.query.page_rows.is_some() {
                    self.last = Some((key, Place::Row(Bytes::new(batch.last()?.order()))));
                }
                return Ok(Some(self.hand_out(batch)));
            }
            let alone = !open.has_rows && open.head.has_statics() && self.query.is_unrestricted();
            let batch = if alone { Some(open.head.static_only()?) } else { None };
            self.open = None;
            if let Some(batch) = batch {
                self.resolver.counts.live_rows += 1;
                self.last = Some((key, Place::Static));
                return Ok(Some(self.hand_out(batch)));
            }
        }
    }

    fn hand_out(&mut self, batch: Batch) -> Arc<Batch> {
        self.limits.take(batch.len() as u64);
        if let Some(explain) = &mut self.explain {
            match batch.is_of_block() {
                true => explain.column_batches += 1,
                false => explain.row_batches += 1,
            }
        }
        Arc::new(batch)
    }

    fn open_partition(&mut self, key: DecoratedKey) -> Result<()> {
        let resumed = self.resume.take().filter(|state| state.key == key.key);
        if resumed.is_none() {
            self.limits.next_partition();
        }
        let ranges = match &resumed {
            Some(state) => state.narrow(&self.ranges),
            None => self.ranges.clone(),
        };
        let columns = &self.query.columns;
        let has_statics = !columns.schema().statics().is_empty();
        let statics = has_statics && (!columns.statics().is_empty() || self.query.is_unrestricted());
        let (now, seq) = (self.resolver.now(), self.snapshot.seq());
        // Who wants to know what was looked at wants it of all files, and totals have to know which others there are.
        let late = self.explain.is_none() && self.zones.is_none();
        let gather = Gather { view: self.snapshot.view(), seq, now, ranges: &ranges, statics, late };
        let gathered = gather.find(&key, self.explain.as_mut())?;
        if let Some(explain) = &mut self.explain {
            explain.partitions += 1;
        }
        let direction = (self.query.reverse, seq);
        let mut open = OpenPartition::new(columns, key, gathered, ranges, direction, &mut self.resolver)?;
        open.has_rows = resumed.is_some();
        if let Some(zones) = &self.zones {
            open.add_up_in(zones);
        }
        self.open = Some(open);
        Ok(())
    }

    /// Where the next page begins; `None` if this one did not end early for being full.
    pub fn page_state(&self) -> Option<PageState> {
        let (key, place) = self.last.clone()?;
        if self.limits.left_in_page() > 0 || self.limits.is_done() {
            return None;
        }
        let (rows, partition_rows) = self.limits.counts();
        let table = self.query.columns.schema().id;
        Some(PageState { table, reverse: self.query.reverse, key, place, rows, partition_rows })
    }

    /// What was met so far.
    pub fn counts(&self) -> Counts {
        self.resolver.counts
    }

    /// The warning that the result should carry, if many tombstones were met.
    pub fn warning(&self) -> Option<TombstoneWarning> {
        self.resolver.warning()
    }

    /// What the reader looked at, if it was [`explained`](Reader::explained).
    pub fn explain(&self) -> Option<Explain> {
        let explain = self.explain.clone()?;
        Some(Explain { counts: self.resolver.counts, ..explain })
    }

    /// All rows that are left of the page, one by one.
    pub fn rows(self) -> Rows {
        Rows { reader: self, batch: None, next: 0 }
    }
}

/// Rows of a [`Reader`], one by one.
pub struct Rows {
    reader: Reader,
    batch: Option<Arc<Batch>>,
    next: usize,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = self.reader.snapshot.view().schema.full_name();
        f.debug_struct("Rows").field("table", &table).finish_non_exhaustive()
    }
}

impl Rows {
    /// The reader, for its page state and counts.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    #[inline]
    fn next(&mut self) -> Option<Result<Row>> {
        loop {
            if let Some(batch) = &self.batch
                && self.next < batch.len()
            {
                self.next += 1;
                return Some(Ok(Row::new(batch, self.next - 1)));
            }
            match self.reader.next_batch() {
                Ok(Some(batch)) => (self.batch, self.next) = (Some(batch), 0),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
