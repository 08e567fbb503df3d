//! The shape of a block: which items belong to which partition, what each is, and when it was written.
//!
//! Checked when a block is opened (partitions, kinds) or when first used (lives); everything else is held against it.

use std::ops::Range;

use crate::encoding::int_lane::narrow_codes;
use crate::error::{Error, Result};
use crate::model::life::{Liveness, NEVER};
use crate::sstable::block::builder::kind;
use crate::sstable::block::directory::Directory;
use crate::sstable::block::life::life_of;
use crate::sstable::block::values::SparseInts;
use crate::sstable::layout::lane_id;

/// Kinds of items, where not all are marked rows.
pub(super) struct Kinds {
    pub(super) kinds: Vec<u8>,
    /// Per item its number among the items of its kind (rows with and without marker being one).
    pub(super) numbers: Vec<u32>,
    pub(super) bounds: usize,
}

impl Kinds {
    /// Checks kinds against partitions: a static row only comes first in one.
    pub(super) fn new(codes: &[i64], starts: &[u32]) -> Result<Self> {
        let kinds = narrow_codes(codes, 4, "kinds of items")?;
        let mut numbers = Vec::with_capacity(kinds.len());
        let mut next = [0u32; 3];
        for (i, &code) in kinds.iter().enumerate() {
            let group = code.saturating_sub(1) as usize;
            if i64::from(code) == kind::STATIC && starts.binary_search(&(i as u32)).is_err() {
                return Err(Error::malformed("a static row of a block is not the first of its partition"));
            }
            numbers.push(next[group]);
            next[group] += 1;
        }
        let kinds = kinds.iter().map(|&code| code as u8).collect();
        Ok(Self { kinds, numbers, bounds: next[2] as usize })
    }

    /// Rows, and static rows.
    pub(super) fn rows(&self) -> [usize; 2] {
        let statics = self.kinds.iter().filter(|&&code| i64::from(code) == kind::STATIC).count();
        [self.kinds.len() - statics - self.bounds, statics]
    }
}

/// Where each partition's items begin: sums of the ITEMS lane, which must give `items`.
pub(super) fn read_starts(
    directory: &Directory,
    block: &[u8],
    partitions: usize,
    items: usize,
) -> Result<Vec<u32>> {
    let counts = directory.ints_or_zeros(block, lane_id::ITEMS, partitions)?;
    sums(&counts, items, "items of partitions")
}

/// Running sums from 0 on, whose last must be `total`.
pub(super) fn sums(counts: &[i64], total: usize, what: &str) -> Result<Vec<u32>> {
    let mut sums = Vec::with_capacity(counts.len() + 1);
    let mut sum = 0u64;
    sums.push(0);
    for &count in counts {
        // A negative count is a huge one here, and the sum stays below 2^33 at each step.
        sum = sum.saturating_add(count as u64);
        if sum > total as u64 {
            break;
        }
        sums.push(sum as u32);
    }
    if sum != total as u64 {
        return Err(Error::malformed(format!("{what} are {sum} in all, {total} expected")));
    }
    Ok(sums)
}

/// Write times and lives of all items.
#[derive(Debug)]
pub struct Lives {
    /// Write time of each item, micros; of a row without marker, and of a bound, no more than a reference.
    pub timestamps: Vec<i64>,
    /// TTL of each, seconds; `None` if none has one.
    pub ttls: Option<Vec<i64>>,
    expiries: Option<Vec<i64>>,
    soonest: i64,
}

impl Lives {
    /// From lanes of equal length.
    pub(super) fn new(timestamps: Vec<i64>, ttls: Option<Vec<i64>>, expiries: Option<Vec<i64>>) -> Self {
        let mut lives = Self { timestamps, ttls, expiries, soonest: NEVER };
        if lives.ttls.is_some() {
            lives.soonest = (0..lives.timestamps.len()).map(|i| lives.of(i).expiry).min().unwrap_or(NEVER);
        }
        lives
    }

    /// Whether all items are seen at second `now`, without a look at each: nothing in the block expires before.
    #[inline]
    pub fn all_live(&self, now: i64) -> bool {
        now < self.soonest
    }

    /// Bytes that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        let lanes = 1 + usize::from(self.ttls.is_some()) + usize::from(self.expiries.is_some());
        8 * lanes * self.timestamps.len()
    }

    /// The life of item `i`.
    #[inline]
    pub fn of(&self, i: usize) -> Liveness {
        let Some(ttls) = &self.ttls else { return Liveness::new(self.timestamps[i]) };
        let residual = self.expiries.as_ref().map_or(0, |expiries| expiries[i]);
        life_of(self.timestamps[i], ttls[i] as i32, residual)
    }

    /// Appends TTLs and expiries of items `items`, as they are stored.
    pub(super) fn extend_into(&self, items: Range<usize>, ttls: &mut SparseInts, expiries: &mut SparseInts) {
        for (from, to) in [(&self.ttls, ttls), (&self.expiries, expiries)] {
            match from {
                Some(values) => to.extend(values[items.clone()].iter().copied()),
                None => to.pad(to.len() + items.len(), 0),
            }
        }
    }
}
