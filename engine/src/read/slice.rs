//! The rows of one partition in one range of clusterings, from all sources, as batches.
//!
//! Sources hold pieces (a block's items, a chunk from memory). [`Slice`] works through them segment by segment in the direction
//! of reading. Where one source's piece ends before any other begins, or a good part of it does, that part stands alone: a file's is
//! handed out as columns ([`lanes`](crate::read::lanes)), which is the usual case for time series, where the
//! memtable is newer than all files. Where pieces overlap, everything up to the first end of one of them is put in order column by
//! column ([`weave`](crate::read::weave)) if it is all live and no row comes twice, else merged row by row
//! ([`merge`](crate::read::merge)). A file of which the index says that its rows come later is not read before it is their turn.
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
use crate::read::lanes::{LaneMap, batch_of_run, live_cells};
use crate::read::merge::Merge;
use crate::read::resolve::Resolver;
use crate::read::source::{Part, Parts, Place, Run, Source};
use crate::read::weave::Weave;
use std::cmp::Ordering;
use std::sync::Arc;

/// Items that make it worth while to hand out a part of a piece alone.
const WORTHWHILE: usize = 16;
/// Rows of a block up to which it costs less to copy them to their neighbours than to hand out a batch of them.
const SHORT: usize = 32;

/// Reads one range of one partition. See the module's page.
pub(crate) struct Slice {
    head: Arc<PartitionHead>,
    sources: Vec<Source>,
    deletion: Option<Deletion>,
    reverse: bool,
    merge: Option<Merge<Part>>,
    weave: Option<Weave>,
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
        Self {
            head,
            sources,
            deletion,
            reverse,
            merge: None,
            weave: None,
            alone: None,
            plain: None,
            builder: None,
        }
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
            if let Some(weave) = &mut self.weave {
                match weave.next(want - self.builder.as_ref().map_or(0, BatchBuilder::len))? {
                    Some((run, lanes)) => {
                        if !self.copy(&run, &lanes, resolver)? {
                            self.start_merge(vec![(None, Part::Run(run, lanes, self.reverse))]);
                        }
                    }
                    None => {
                        let left = self.weave.take().map(Weave::into_parts).unwrap_or_default();
                        if !left.is_empty() {
                            self.start_merge(left);
                        }
                    }
                }
                continue;
            }
            if let Some(rows) = &mut self.plain {
                let head = &self.head;
                let builder = self.builder.get_or_insert_with(|| BatchBuilder::new(head));
                resolver.plain_rows(rows, want, builder)?;
                self.plain.take_if(|rows| rows.is_empty());
                continue;
            }
            if let Some((run, lanes)) = self.alone.take() {
                if let Some(batch) = self.hand_out(run, lanes, want, resolver)? {
                    return Ok(Some(batch));
                }
                continue;
            }
            if !self.next_segment(resolver.now())? {
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
        self.builder.take().map_or(Ok(None), BatchBuilder::finish)
    }

    /// Hands out what may come next of a part that stands alone, or has it copied or merged if it is not fit for that.
    fn hand_out(
        &mut self,
        mut run: Run,
        lanes: Arc<LaneMap>,
        want: usize,
        resolver: &mut Resolver,
    ) -> Result<Option<Batch>> {
        let built = self.built();
        let (room, count) = (want - built, run.items.len().min(want - built));
        if built > 0 && count > SHORT {
            // Rows that were built stand before it.
            self.alone = Some((run, lanes));
            return self.finish();
        }
        let next = run.split_off(count, self.reverse);
        if !run.items.is_empty() {
            self.alone = Some((run, Arc::clone(&lanes)));
        }
        let short = built > 0 || (count < SHORT.min(room) && self.sources.len() > 1);
        if short && self.copy(&next, &lanes, resolver)? {
            return Ok(None);
        }
        if !short
            && let Some(batch) = batch_of_run(&self.head, &next, &lanes, self.reverse, &mut resolver.counts)?
        {
            return Ok(Some(batch));
        }
        let parts = [Some((next, lanes)), self.alone.take()].into_iter().flatten();
        let reverse = self.reverse;
        self.start_merge(parts.map(|(run, lanes)| (None, Part::Run(run, lanes, reverse))).collect());
        Ok(None)
    }

    /// Appends the rows of a run to the batch being built; `false` if they have to be merged.
    fn copy(&mut self, run: &Run, lanes: &LaneMap, resolver: &mut Resolver) -> Result<bool> {
        let Some((rows, cells)) = live_cells(run, lanes, resolver.now())? else { return Ok(false) };
        resolver.counts.live_rows += rows.len() as u64;
        resolver.counts.live_cells += cells;
        let head = &self.head;
        self.builder.get_or_insert_with(|| BatchBuilder::new(head)).push_run(run, lanes, self.reverse)?;
        Ok(true)
    }

    /// Merges these parts, each with the number of its source; the deletions that are open in sources count in any case.
    fn start_merge(&mut self, parts: Parts) {
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
        let open = self.is_open();
        match part {
            Part::Run(run, lanes, _) if !open && lanes.is_fit() && run.block.has_no_deletions() => {
                self.alone = Some((run, lanes));
            }
            Part::Plain(rows) if !open => self.plain = Some(rows),
            part => self.start_merge(vec![(Some(source), part)]),
        }
    }

    /// Whether a deletion is in force that hides rows of other sources.
    fn is_open(&self) -> bool {
        self.deletion.is_some() || self.sources.iter().any(|source| source.open.is_some())
    }

    /// Begins the next segment, for a reader at second `now`; `false` if there is nothing left.
    fn next_segment(&mut self, now: i64) -> Result<bool> {
        if let [source] = self.sources.as_mut_slice() {
            let filled = source.fill()?;
            if filled {
                self.take_alone(0, usize::MAX);
            }
            return Ok(filled);
        }
        let reverse = self.reverse;
        let directed = |order: Ordering| if reverse { order.reverse() } else { order };
        // Sources by where their pieces begin, or where they begin at the earliest if they were not read.
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.sources.len());
        for (source, of) in self.sources.iter_mut().enumerate() {
            if let Some(floor) = of.floor()? {
                pieces.push(Piece { source, first: Place::Bound(floor), read: false });
            } else if of.fill()?
                && let Some(first) = of.first()?
            {
                pieces.push(Piece { source, first, read: true });
            }
        }
        loop {
            pieces.sort_by(|a, b| directed(a.first.compare(&b.first)));
            let Some(first) = pieces.first() else { return Ok(false) };
            if !first.read {
                self.read(&mut pieces, 0)?;
                continue;
            }
            let source = &self.sources[first.source];
            let Some(second) = pieces.get(1) else {
                self.take_alone(first.source, usize::MAX);
                return Ok(true);
            };
            let ends_before =
                source.last()?.is_some_and(|last| directed(last.compare(&second.first)).is_lt());
            let count = match ends_before {
                true => usize::MAX,
                false => source.count_before(&second.first.before(reverse))?,
            };
            if count >= WORTHWHILE {
                self.take_alone(first.source, count);
                return Ok(true);
            }
            let mut nearest: Option<(usize, Place)> = None;
            for piece in pieces.iter().filter(|piece| piece.read) {
                let Some(last) = self.sources[piece.source].last()? else { continue };
                if nearest.as_ref().is_none_or(|(_, place)| directed(last.compare(place)).is_lt()) {
                    nearest = Some((piece.source, last));
                }
            }
            let Some((nearest, end)) = nearest else { return Ok(false) };
            let begins_before = |piece: &Piece| directed(piece.first.compare(&end)).is_le();
            if let Some(unread) = pieces.iter().position(|piece| !piece.read && begins_before(piece)) {
                self.read(&mut pieces, unread)?;
                continue;
            }
            let end = end.behind(reverse);
            let mut parts = Vec::with_capacity(pieces.len());
            for Piece { source, .. } in pieces.into_iter().filter(|piece| piece.read) {
                let count =
                    if source == nearest { usize::MAX } else { self.sources[source].count_before(&end)? };
                if count > 0 {
                    parts.push((Some(source), self.sources[source].take(count)));
                }
            }
            match !self.is_open() && Weave::fits(&parts, now)? {
                true => self.weave = Some(Weave::new(parts, reverse)),
                false => self.start_merge(parts),
            }
            return Ok(true);
        }
    }

    /// Reads the source of `pieces[at]`: where its piece really begins, if it has one; or finds that it begins later.
    fn read(&mut self, pieces: &mut Vec<Piece>, at: usize) -> Result<()> {
        let source = &mut self.sources[pieces[at].source];
        if let Some(floor) = source.better_floor()? {
            pieces[at].first = Place::Bound(floor);
            return Ok(());
        }
        let first = if source.fill()? { source.first()? } else { None };
        match first {
            Some(first) => (pieces[at].first, pieces[at].read) = (first, true),
            None => drop(pieces.remove(at)),
        }
        Ok(())
    }
}

/// The next piece of a source.
struct Piece {
    source: usize,
    /// Where it begins, or a place before which it does not.
    first: Place,
    /// It is in hand.
    read: bool,
}

#[cfg(test)]
#[path = "slice_tests.rs"]
mod tests;
