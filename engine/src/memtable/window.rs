//! One look at a partition: what a reader copies under the lock, and what it makes of it without.
//!
//! A read is a series of windows, each of at most a few hundred rows: [`Window::fill`] runs under the partition's lock and
//! only copies bytes, [`Window::for_each`] decodes and merges them afterwards. The next window goes on where this one
//! ended. In between the writer may have changed the partition; what a reader sees as of its sequence number stays the
//! same.
//!
//! # Invariants
//! 1. A window ends between two rows, never between versions of one: these might be merged before the next look.

use crate::encoding::plain::PlainRow;
use crate::encoding::row::{EncodedRow, Stamp};
use crate::error::Result;
use crate::memtable::contents::Contents;
use crate::memtable::entry::Entry;
use crate::memtable::plain_rows::PlainRows;
use crate::memtable::ranges::{Point, Timeline};
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound, RangeTombstone};
use crate::model::life::Deletion;
use crate::model::reconcile::merge_rows;
use crate::model::row::Row;
use std::cmp::Ordering;
use std::ops::Range;

/// Most rows in a window.
pub(super) const MOST_ROWS: usize = 256;
/// Bytes of rows at which a window is full.
const MOST_BYTES: usize = 256 * 1024;
/// Versions that are looked at in one window, those that the reader does not see included.
const MOST_VERSIONS: usize = 4096;
/// Most places in a window at which the range deletion in force changes.
const MOST_POINTS: usize = 256;

/// A copied version: where its bytes end, and its batch's times.
#[derive(Debug)]
struct Version {
    end: usize,
    stamp: Stamp,
    /// The first version of its row in this window.
    is_first: bool,
    is_plain: bool,
}

/// What comes next in a window without range deletions.
#[derive(Debug)]
pub(super) enum Found {
    /// Plain rows of one version each, as many as there are, at least one: what [`Window::plain_rows`] takes.
    Plain(Run),
    /// Any other row.
    Row(Row),
}

/// Versions of a window, and where the bytes of the first begin.
#[derive(Debug)]
pub(super) struct Run {
    versions: Range<usize>,
    begin: usize,
}

/// A copy of a part of a partition. Its buffers serve one look after the other.
#[derive(Debug)]
pub(super) struct Window {
    reverse: bool,
    /// What it covers of the range that was asked for.
    covered: ClusteringRange,
    /// It covers all of it.
    complete: bool,
    bytes: Vec<u8>,
    versions: Vec<Version>,
    /// The range deletion in force where `covered` starts, as far as it is settled.
    opening: Option<Deletion>,
    points: Vec<Point>,
    recent: Vec<RangeTombstone>,
    /// The version that [`Window::next_rows`] looks at next, and where its bytes begin.
    next: (usize, usize),
}

impl Window {
    /// An empty window for reading in one direction.
    pub(super) fn new(reverse: bool) -> Self {
        Self {
            reverse,
            covered: ClusteringRange { start: Bound::top(), end: Bound::bottom() },
            complete: false,
            bytes: Vec::new(),
            versions: Vec::new(),
            opening: None,
            points: Vec::new(),
            recent: Vec::new(),
            next: (0, 0),
        }
    }

    /// Copies what stands first in `range` as of `seq`, `most_rows` rows at most.
    pub(super) fn fill(&mut self, contents: &Contents, range: &ClusteringRange, seq: u64, most_rows: usize) {
        self.covered = range.clone();
        self.complete = true;
        self.bytes.clear();
        self.versions.clear();
        self.points.clear();
        self.recent.clear();
        self.opening = None;
        self.next = (0, 0);
        let ranges = contents.rest.as_ref().map(|rest| &rest.ranges);
        if let Some(ranges) = ranges {
            let (start, end) = (&range.start, &range.end);
            ranges.settled().between(start, end, self.reverse, MOST_POINTS + 1, &mut self.points);
            if self.points.len() > MOST_POINTS
                && let Some((place, _)) = self.points.pop()
            {
                self.cut(place);
            }
        }
        self.copy_rows(contents, seq, most_rows);
        if let Some(ranges) = ranges {
            let covered = &self.covered;
            self.points.retain(|(place, _)| *place > covered.start && *place < covered.end);
            self.opening = ranges.settled().at(&covered.start);
            ranges.recent(&covered.start, &covered.end, seq, &mut self.recent);
        }
    }

    fn copy_rows(&mut self, contents: &Contents, seq: u64, most_rows: usize) {
        let Some(seen) = contents.seen(seq) else { return };
        let (rows, chunks) = (&contents.rows, &contents.chunks);
        let from = rows.bound(&self.covered.start, chunks);
        let to = rows.bound(&self.covered.end, chunks);
        let (mut taken, mut looked_at) = (0, 0);
        let mut last: Option<Entry> = None;
        let (mut is_first, mut stopped) = (true, false);
        let Self { reverse, bytes, versions, .. } = self;
        // Little more than usual rows need: most of the cost of growing is saved.
        bytes.reserve(most_rows * 48);
        versions.reserve(most_rows);
        rows.walk(from, to, *reverse, |entry| {
            let begins = match *reverse {
                false => !entry.is_same(),
                true => last.is_none_or(|last| !last.is_same()),
            };
            if begins {
                if taken >= most_rows || bytes.len() >= MOST_BYTES || looked_at >= MOST_VERSIONS {
                    stopped = true;
                    return false;
                }
                is_first = true;
            }
            looked_at += 1;
            last = Some(*entry);
            if entry.seq <= seen {
                bytes.extend_from_slice(entry.bytes(chunks));
                versions.push(Version {
                    end: bytes.len(),
                    stamp: entry.stamp(),
                    is_first,
                    is_plain: entry.is_plain(),
                });
                taken += usize::from(is_first);
                is_first = false;
            }
            true
        });
        if stopped && let Some(last) = last {
            let clustering = last.clustering(chunks);
            self.cut(if self.reverse { Bound::before(clustering) } else { Bound::after(clustering) });
        }
    }

    fn cut(&mut self, place: Bound) {
        self.complete = false;
        match self.reverse {
            false => self.covered.end = place,
            true => self.covered.start = place,
        }
    }

    /// What the next window has to look at of `range`, if anything.
    pub(super) fn rest(&self, range: &ClusteringRange) -> Option<ClusteringRange> {
        match (self.complete, self.reverse) {
            (true, _) => None,
            (false, false) => {
                Some(ClusteringRange { start: self.covered.end.clone(), end: range.end.clone() })
            }
            (false, true) => {
                Some(ClusteringRange { start: range.start.clone(), end: self.covered.start.clone() })
            }
        }
    }

    /// Gives the rows and changes of the range deletion in force to `take`, in the direction of reading, until it
    /// refuses one; then returns false. `in_force` is carried from window to window.
    ///
    /// # Errors
    /// `Corrupt` if a row cannot be decoded.
    pub(super) fn for_each(
        &mut self,
        in_force: &mut Option<Deletion>,
        mut take: impl FnMut(Fragment) -> bool,
    ) -> Result<bool> {
        let changes = self.changes(*in_force);
        let mut changes = changes.into_iter().peekable();
        let passed = if self.reverse { Ordering::Greater } else { Ordering::Less };
        let mut versions = self.versions.iter().peekable();
        let mut begin = 0;
        while let Some(version) = versions.next() {
            let encoded = EncodedRow::parse(&self.bytes[begin..version.end])?;
            while let Some(point) = changes.next_if(|(at, _)| at.cmp_row(encoded.clustering) == passed) {
                if !take_change(point, in_force, &mut take) {
                    return Ok(false);
                }
            }
            let mut row = encoded.decode(version.stamp)?;
            begin = version.end;
            while let Some(version) = versions.next_if(|version| !version.is_first) {
                let older = EncodedRow::parse(&self.bytes[begin..version.end])?.decode(version.stamp)?;
                row = merge_rows(row, older);
                begin = version.end;
            }
            if !row.is_empty() && !take(Fragment::Row(row)) {
                return Ok(false);
            }
        }
        for point in changes {
            if !take_change(point, in_force, &mut take) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether no range deletion touches it.
    pub(super) fn has_no_ranges(&self) -> bool {
        self.opening.is_none() && self.points.is_empty() && self.recent.is_empty()
    }

    /// The rows as they were copied, if all are plain ones of one version and no range deletion touches them. The window
    /// is empty afterwards, but for what it covers.
    pub(super) fn take_plain(&mut self) -> Option<PlainRows> {
        let plain = |version: &Version| version.is_plain && version.is_first;
        if self.versions.is_empty() || !self.has_no_ranges() || !self.versions.iter().all(plain) {
            return None;
        }
        let ends = self.versions.drain(..).map(|version| (version.end, version.stamp)).collect();
        Some(PlainRows::new(std::mem::take(&mut self.bytes), ends))
    }

    /// The rows of a run.
    ///
    /// # Errors
    /// `Corrupt` if one cannot be read.
    pub(super) fn plain_rows(&self, run: &Run) -> Result<Vec<PlainRow<'_>>> {
        let mut begin = run.begin;
        let mut rows = Vec::with_capacity(run.versions.len());
        for version in &self.versions[run.versions.clone()] {
            rows.push(PlainRow::parse(&self.bytes[begin..version.end], version.stamp)?);
            begin = version.end;
        }
        Ok(rows)
    }

    /// What comes next in a window that [`Window::has_no_ranges`], read forwards; what [`Window::for_each`] gives at once.
    ///
    /// # Errors
    /// `Corrupt` if a row cannot be decoded.
    pub(super) fn next_rows(&mut self) -> Result<Option<Found>> {
        let (start, begin) = self.next;
        let Some(first) = self.versions.get(start) else { return Ok(None) };
        let behind = self.versions[start + 1..].iter().map(|version| version.is_first).chain([true]);
        let is_plain = |(version, is_last): &(&Version, bool)| version.is_plain && *is_last;
        let count = self.versions[start..].iter().zip(behind).take_while(is_plain).count();
        if count > 0 {
            let versions = start..start + count;
            self.next = (versions.end, self.versions[versions.end - 1].end);
            return Ok(Some(Found::Plain(Run { versions, begin })));
        }
        let mut row = EncodedRow::parse(&self.bytes[begin..first.end])?.decode(first.stamp)?;
        let (mut next, mut begin) = (start + 1, first.end);
        while let Some(version) = self.versions.get(next).filter(|version| !version.is_first) {
            let other = EncodedRow::parse(&self.bytes[begin..version.end])?.decode(version.stamp)?;
            row = merge_rows(row, other);
            (next, begin) = (next + 1, version.end);
        }
        self.next = (next, begin);
        Ok(Some(Found::Row(row)))
    }

    /// Where the deletion in force may change, in the direction of reading, and to what; the near edge first.
    fn changes(&mut self, in_force: Option<Deletion>) -> Vec<Point> {
        let mut points = std::mem::take(&mut self.points);
        if self.opening.is_none() && points.is_empty() && self.recent.is_empty() && in_force.is_none() {
            return Vec::new();
        }
        if self.reverse {
            points.reverse();
        }
        let ClusteringRange { start, end } = &self.covered;
        if !self.recent.is_empty() {
            let mut line = Timeline::new(start, self.opening, points);
            for range in self.recent.drain(..) {
                line.paint((&range.start).max(start), (&range.end).min(end), range.deletion);
            }
            points = line.into_points();
            // What holds from the far edge on is the next window's to say.
            points.retain(|(place, _)| place < end);
        } else {
            points.insert(0, (start.clone(), self.opening));
        }
        if points.first().is_none_or(|(place, _)| place != start) {
            points.insert(0, (start.clone(), None));
        }
        if self.reverse {
            // Backwards, what held before a place is what comes.
            let mut place = end.clone();
            for point in points.iter_mut().rev() {
                std::mem::swap(&mut point.0, &mut place);
            }
            points.reverse();
        }
        points
    }
}

/// Gives a change to `take`, unless nothing changes by it; false if it was refused.
fn take_change(
    (at, deletion): Point,
    in_force: &mut Option<Deletion>,
    take: &mut impl FnMut(Fragment) -> bool,
) -> bool {
    if *in_force == deletion {
        return true;
    }
    *in_force = deletion;
    take(Fragment::Bound(RangeBound { at, deletion }))
}
