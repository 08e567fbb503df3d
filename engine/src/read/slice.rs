//! The rows of one partition in one range of clusterings, from all sources, as batches.
//!
//! Sources hold pieces (a block's items, a chunk from memory). [`Slice`] works through them segment by segment in the direction
//! of reading. Where one source's piece ends before any other begins, or a good part of it does, that part stands alone: a file's is
//! handed out as columns ([`lanes`](crate::read::lanes)), which is the usual case for time series, where the
//! memtable is newer than all files. Where pieces overlap, everything up to the first end of one of them is merged row by row
//! ([`merge`](crate::read::merge)).
//!
//! # Invariants
//! 1. Segments do not overlap and leave nothing out: a segment takes all items of all sources up to its end.
//! 2. While any source has a range deletion open, or the partition is deleted, nothing is handed out unmerged.

use crate::error::Result;
use crate::memtable::plain_rows::PlainRows;
use crate::model::fragment::Fragment;
use crate::model::life::Deletion;
use crate::read::batch::{BATCH_ROWS, Batch};
use crate::read::builder::{BatchBuilder, PartitionHead};
use crate::read::lanes::{LaneMap, batch_of_run};
use crate::read::merge::Merge;
use crate::read::resolve::Resolver;
use crate::read::source::{Part, Place, Run, Source};
use std::cmp::Ordering;
use std::sync::Arc;

/// Items that make it worth while to hand out a part of a piece alone.
const WORTHWHILE: usize = 16;

/// Reads one range of one partition. See the module's page.
pub(crate) struct Slice {
    head: Arc<PartitionHead>,
    sources: Vec<Source>,
    deletion: Option<Deletion>,
    reverse: bool,
    merge: Option<Merge<Part>>,
    alone: Option<(Run, Arc<LaneMap>)>,
    /// Rows out of memory that stand alone.
    plain: Option<PlainRows>,
    /// Made when the first row has to be built: most slices are handed out as columns.
    builder: Option<BatchBuilder>,
}

impl Slice {
    /// Over `sources` of the partition of `head`, whose merged deletion is `deletion`.
    pub(crate) fn new(
        head: &Arc<PartitionHead>,
        sources: Vec<Source>,
        deletion: Option<Deletion>,
        reverse: bool,
    ) -> Self {
        let head = head.clone();
        Self { head, sources, deletion, reverse, merge: None, alone: None, plain: None, builder: None }
    }

    /// The next rows that a reader sees, at most `want`; `None` at the end.
    ///
    /// # Errors
    /// What a source fails with; `Invalid` if too many tombstones were met.
    pub(crate) fn next_batch(&mut self, want: usize, resolver: &mut Resolver) -> Result<Option<Batch>> {
        let want = want.min(BATCH_ROWS);
        loop {
            if self.built() >= want {
                return self.finish();
            }
            if let Some(merge) = &mut self.merge {
                let Some(item) = merge.next().transpose()? else {
                    for (source, open) in self.sources.iter_mut().zip(merge.open_deletions()) {
                        source.open = open;
                    }
                    self.merge = None;
                    continue;
                };
                match item {
                    Fragment::Row(row) => {
                        if let Some(row) = resolver.row(row) {
                            let head = &self.head;
                            self.builder.get_or_insert_with(|| BatchBuilder::new(head)).push(row)?;
                        }
                    }
                    Fragment::Bound(_) => resolver.bound(),
                    Fragment::Partition { .. } | Fragment::Static(_) => {}
                }
                resolver.check()?;
                continue;
            }
            if let Some(rows) = &mut self.plain {
                match rows.next_row()? {
                    Some(row) => {
                        let head = &self.head;
                        let builder = self.builder.get_or_insert_with(|| BatchBuilder::new(head));
                        resolver.plain_row(&row, builder)?;
                        resolver.check()?;
                    }
                    None => self.plain = None,
                }
                continue;
            }
            if self.alone.is_some() {
                // Rows that were built stand before it.
                if self.built() > 0 {
                    return self.finish();
                }
                if let Some(batch) = self.hand_out(want, resolver)? {
                    return Ok(Some(batch));
                }
                continue;
            }
            if !self.next_segment()? {
                return self.finish();
            }
        }
    }

    /// Rows in the batch being built.
    fn built(&self) -> usize {
        self.builder.as_ref().map_or(0, BatchBuilder::len)
    }

    /// The rows built so far.
    fn finish(&mut self) -> Result<Option<Batch>> {
        self.builder.as_mut().map_or(Ok(None), BatchBuilder::finish)
    }

    /// Hands out the part that stands alone, or has it merged if it is not fit for that.
    fn hand_out(&mut self, want: usize, resolver: &mut Resolver) -> Result<Option<Batch>> {
        let Some((mut run, lanes)) = self.alone.take() else { return Ok(None) };
        let items = run.items.clone();
        if items.len() > want {
            let mut rest = run.clone();
            match self.reverse {
                false => (run.items.end, rest.items.start) = (items.start + want, items.start + want),
                true => (run.items.start, rest.items.end) = (items.end - want, items.end - want),
            }
            self.alone = Some((rest, lanes.clone()));
        }
        let batch = batch_of_run(&self.head, &run, &lanes, self.reverse, &mut resolver.counts)?;
        if batch.is_none() {
            run.items = items;
            self.alone = None;
            self.start_merge(vec![(None, Part::Run(run, lanes, self.reverse))]);
        }
        Ok(batch)
    }

    /// Merges these parts, each with the number of its source; the deletions that are open in sources count in any case.
    fn start_merge(&mut self, parts: Vec<(Option<usize>, Part)>) {
        let mut inputs: Vec<_> =
            self.sources.iter().map(|source| (Part::Items(Vec::new().into_iter()), source.open)).collect();
        for (source, part) in parts {
            match source.and_then(|source| inputs.get_mut(source)) {
                Some(input) => input.0 = part,
                // A part that stood alone: nothing is open anywhere.
                None => inputs.push((part, None)),
            }
        }
        self.merge = Some(Merge::rows(inputs, self.deletion, self.reverse));
    }

    /// Takes the first `count` items of a source's piece, before which no other source has any.
    fn take_alone(&mut self, source: usize, count: usize) {
        let part = self.sources[source].take(count);
        let open = self.deletion.is_some() || self.sources.iter().any(|source| source.open.is_some());
        match part {
            Part::Run(run, lanes, _) if !open && lanes.is_fit() && run.block.has_no_deletions() => {
                self.alone = Some((run, lanes));
            }
            Part::Plain(rows) if !open => self.plain = Some(rows),
            part => self.start_merge(vec![(Some(source), part)]),
        }
    }

    /// Begins the next segment; `false` if there is nothing left.
    fn next_segment(&mut self) -> Result<bool> {
        if let [source] = self.sources.as_mut_slice() {
            let filled = source.fill()?;
            if filled {
                self.take_alone(0, usize::MAX);
            }
            return Ok(filled);
        }
        let mut pieces: Vec<(usize, Place)> = Vec::with_capacity(self.sources.len());
        for (i, source) in self.sources.iter_mut().enumerate() {
            if source.fill()?
                && let Some(place) = source.first()?
            {
                pieces.push((i, place));
            }
        }
        let reverse = self.reverse;
        let directed = |order: Ordering| if reverse { order.reverse() } else { order };
        pieces.sort_by(|a, b| directed(a.1.compare(&b.1)));
        let Some(&(first, _)) = pieces.first() else { return Ok(false) };
        let alone = match pieces.get(1) {
            None => Some(usize::MAX),
            Some((_, second)) => {
                let source = &self.sources[first];
                let ends_before = source.last()?.is_some_and(|last| directed(last.compare(second)).is_lt());
                let count =
                    if ends_before { usize::MAX } else { source.count_before(&second.before(reverse))? };
                (count >= WORTHWHILE).then_some(count)
            }
        };
        if let Some(count) = alone {
            self.take_alone(first, count);
            return Ok(true);
        }
        let mut nearest: Option<(usize, Place)> = None;
        for &(i, _) in &pieces {
            let Some(last) = self.sources[i].last()? else { continue };
            if nearest.as_ref().is_none_or(|(_, place)| directed(last.compare(place)).is_lt()) {
                nearest = Some((i, last));
            }
        }
        let Some((nearest, end)) = nearest else { return Ok(false) };
        let end = end.behind(reverse);
        let mut parts = Vec::with_capacity(pieces.len());
        for (i, _) in pieces {
            let count = if i == nearest { usize::MAX } else { self.sources[i].count_before(&end)? };
            if count > 0 {
                parts.push((Some(i), self.sources[i].take(count)));
            }
        }
        self.start_merge(parts);
        Ok(true)
    }
}

#[cfg(test)]
#[path = "slice_tests.rs"]
mod tests;
