//! One partition in a memtable: a key, a lock, and behind it the `Contents`.
//!
//! The read path gets it from [`Memtable`](crate::memtable::Memtable) and reads rows and deletions as of its sequence
//! number. Flushes read it through [`Flush`](crate::memtable::flush::Flush).
//!
//! # Threads
//! One writer at a time (the commit's leader), any number of readers. A reader holds the lock for one
//! `Window` only, a copy of some hundred rows, so that neither waits long for the other. `seq` is the number of
//! a pin that is held during the whole read; of batches above it nothing is seen.

use crate::encoding::mutation::OpBody;
use crate::encoding::row::{EncodedRow, Stamp};
use crate::encoding::row_times::RowTimes;
use crate::error::{Error, Result};
use crate::memtable::contents::{Contents, Shared};
use crate::memtable::plain_rows::PlainRows;
use crate::memtable::pool::Pool;
use crate::memtable::window::{MOST_ROWS, Window};
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::merge_rows;
use crate::model::row::Row;
use parking_lot::RwLock;

/// A partition as one memtable knows it.
#[derive(Debug)]
pub struct MemPartition {
    key: DecoratedKey,
    contents: RwLock<Contents>,
}

/// What an operation changed. Filled in place, since a copy right after would wait for what was just written.
#[derive(Debug)]
pub(super) struct Change {
    /// Bytes held before and after.
    pub(super) memory: (usize, usize),
    /// Times of what came in.
    pub(super) times: RowTimes,
}

impl Change {
    /// No change so far.
    pub(super) const NONE: Self = Self { memory: (0, 0), times: RowTimes::NONE };
}

impl MemPartition {
    pub(super) fn new(key: DecoratedKey) -> Self {
        Self { key, contents: RwLock::default() }
    }

    /// Bytes that it takes without contents, with what the allocator and the maps of partitions add.
    pub(super) fn bare_bytes(&self) -> usize {
        const MAPS: usize = 48;
        size_of::<Self>() + 2 * size_of::<usize>() + 8 + MAPS + self.key.key.heap_bytes()
    }

    /// Whether it is the partition with this key.
    #[inline]
    pub(super) fn is(&self, key: &[u8]) -> bool {
        *self.key.key == *key
    }

    /// Gives its memory to a pool. Nobody reads it any more.
    pub(super) fn recycle(mut self, pool: &Pool) {
        self.contents.get_mut().recycle(pool);
    }

    /// The partition's key.
    pub fn key(&self) -> &DecoratedKey {
        &self.key
    }

    /// Takes in an operation. Returns whether it made a row.
    #[inline]
    pub(super) fn apply(
        &self,
        seq: u64,
        stamp: Stamp,
        body: &OpBody<'_>,
        shared: Shared<'_>,
        change: &mut Change,
    ) -> Result<bool> {
        let mut contents = self.contents.write();
        change.memory.0 = contents.memory_bytes();
        let times = &mut change.times;
        let result = match body {
            OpBody::Row(row) => contents.add_row(seq, stamp, *row, shared, times),
            OpBody::Static(row) => contents.add_static(seq, stamp, row.bytes, shared.pins).map(|of_row| {
                *times = of_row;
                false
            }),
            OpBody::Partition(deletion) => {
                contents.delete(seq, *deletion, shared.pins);
                times.add(deletion.timestamp, deletion.local);
                Ok(false)
            }
            OpBody::Range(range) if range.start >= range.end => {
                Err(Error::malformed("a range's bounds are wrong"))
            }
            OpBody::Range(range) => {
                contents.delete_range(seq, range.clone(), shared.pins);
                times.add(range.deletion.timestamp, range.deletion.local);
                Ok(false)
            }
        };
        change.memory.1 = contents.memory_bytes();
        result
    }

    /// Takes in a row that is known to be well-formed, and whether it is plain. Returns whether the row is new, and the bytes that
    /// are held now beyond those before (wrapping around for fewer).
    #[inline]
    pub(super) fn put_row(
        &self,
        seq: u64,
        stamp: Stamp,
        row: EncodedRow<'_>,
        plain: bool,
        shared: Shared<'_>,
    ) -> Result<(bool, usize)> {
        let mut contents = self.contents.write();
        let before = contents.memory_bytes();
        let is_new = contents.put_row(seq, stamp, row, plain, shared)?;
        Ok((is_new, contents.memory_bytes().wrapping_sub(before)))
    }

    /// The deletion of the whole partition, if there is one.
    pub fn deletion(&self, seq: u64) -> Option<Deletion> {
        self.contents.read().deletion(seq)
    }

    /// The static row, if something was written into it.
    ///
    /// # Errors
    /// `Corrupt` if a stored row cannot be decoded, which was checked when it came in.
    pub fn static_row(&self, seq: u64) -> Result<Option<Row>> {
        let contents = self.contents.read();
        let mut merged: Option<Row> = None;
        for version in contents.statics().iter().filter(|version| version.seq <= seq) {
            let row = EncodedRow::parse(&version.bytes)?.decode(version.stamp)?;
            merged = Some(match merged {
                Some(merged) => merge_rows(merged, row),
                None => row,
            });
        }
        Ok(merged)
    }

    /// Appends rows and range deletions of `range` to `out`, in clustering order or backwards, about `max_items` at most, and
    /// returns whether there may be more. To go on, the caller narrows `range` past the last item (after the
    /// row, or to the bound's place) and calls again.
    ///
    /// Rows are merged over their versions. Nothing is hidden by deletions: the caller merges sources first. A range
    /// deletion comes as bounds at which the one in force changes; **each states what is in force from it on in the direction
    /// of reading**. One in force at the edge where reading begins comes as a bound at that edge, one in force at the far
    /// edge ends there, and a change right behind the last row comes with it. These three may exceed `max_items`: every call
    /// gets on, and pages put together lack no bound (one at a page's beginning may repeat what is in force).
    ///
    /// # Errors
    /// `Corrupt` if a stored row cannot be decoded, which was checked when it came in.
    pub fn read(
        &self,
        range: &ClusteringRange,
        reverse: bool,
        seq: u64,
        max_items: usize,
        out: &mut Vec<Fragment>,
    ) -> Result<bool> {
        let (near, far) = match reverse {
            false => (&range.start, &range.end),
            true => (&range.end, &range.start),
        };
        let mut page = Page { near, reverse, left: max_items.max(1), out };
        let mut window = Window::new(reverse);
        let mut in_force = None;
        let mut rest = (!range.is_empty()).then(|| range.clone());
        while let Some(part) = rest {
            let most_rows = page.left.saturating_add(1).min(MOST_ROWS);
            window.fill(&self.contents.read(), &part, seq, most_rows);
            if !window.for_each(&mut in_force, |fragment| page.take(fragment))? {
                return Ok(true);
            }
            rest = window.rest(range).filter(|rest| !rest.is_empty());
        }
        if in_force.is_some() {
            out.push(Fragment::Bound(RangeBound { at: far.clone(), deletion: None }));
        }
        Ok(false)
    }

    /// The first rows of `range` as they are encoded, `max_rows` at most, and whether there may be more; `None` if they are not
    /// all plain, or there is none: then [`MemPartition::read`] has to be asked. To go on, the caller narrows `range` past the last row.
    pub fn read_plain(
        &self,
        range: &ClusteringRange,
        reverse: bool,
        seq: u64,
        max_rows: usize,
    ) -> Option<(PlainRows, bool)> {
        if range.is_empty() {
            return None;
        }
        let mut window = Window::new(reverse);
        window.fill(&self.contents.read(), range, seq, max_rows.clamp(1, MOST_ROWS));
        let rows = window.take_plain()?;
        let more = window.rest(range).is_some_and(|rest| !rest.is_empty());
        Some((rows, more))
    }

    /// Fills `window` for a flush: with all versions of the next rows of `range`.
    pub(super) fn look(&self, range: &ClusteringRange, most_rows: usize, window: &mut Window) {
        window.fill(&self.contents.read(), range, u64::MAX, most_rows);
    }
}

/// What one call of [`MemPartition::read`] has room for.
struct Page<'a> {
    near: &'a Bound,
    reverse: bool,
    left: usize,
    out: &'a mut Vec<Fragment>,
}

impl Page<'_> {
    fn take(&mut self, fragment: Fragment) -> bool {
        let is_near = matches!(&fragment, Fragment::Bound(bound) if bound.at == *self.near);
        if self.left == 0 && !is_near && !self.is_right_behind(&fragment) {
            return false;
        }
        self.left = self.left.saturating_sub(usize::from(!is_near));
        self.out.push(fragment);
        true
    }

    /// Whether it is a bound with nothing between it and the row before it.
    fn is_right_behind(&self, fragment: &Fragment) -> bool {
        match (self.out.last(), fragment) {
            (Some(Fragment::Row(row)), Fragment::Bound(RangeBound { at, .. })) => {
                at.prefix() == row.clustering.order() && at.is_after() != self.reverse
            }
            _ => false,
        }
    }
}
