//! What the index keeps of a block: where it begins and ends, and between which times and values its contents lie.
//!
//! Readers skip blocks by it, aggregates are answered from it, compaction decides by it whether a block may be copied
//! unread. Built by the block builder as rows come in, finished from the lanes.

use crate::model::clustering::Bound;
use crate::model::life::{Deletion, NEVER};
use crate::sstable::block::values::Values;

/// A finished block's contents, in brief.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSummary {
    /// Partitions that have something in it, one that began earlier included.
    pub partitions: usize,
    /// Rows, static rows and bounds.
    pub items: usize,
    /// Rows without static ones.
    pub rows: usize,
    /// Where the first partition's items begin here: before its first row, or at its bound; the bottom if it has no items or
    /// begins with its static row.
    pub first: Bound,
    /// Where the last partition's items end here: after its last row, or at its bound.
    pub last: Bound,
    /// Times of everything in it.
    pub zone: Zone,
    /// Values of numeric columns of single cells: the column's slot and its zone. Columns without values are left out.
    pub columns: Vec<(usize, ColumnZone)>,
}

/// Write times and ends of life of everything in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Earliest write timestamp of a cell, marker or deletion, micros; `i64::MAX` if there is nothing.
    pub min_timestamp: i64,
    /// Latest one; `i64::MIN` if there is nothing.
    pub max_timestamp: i64,
    /// Earliest second of an expiry or deletion; [`NEVER`] if there is none.
    pub min_local: i64,
    /// Latest one, [`NEVER`] if something lives for ever; `i64::MIN` if there is nothing.
    pub max_local: i64,
    /// Values and tombstones of cells, those of collections included.
    pub cells: u64,
    /// Cell tombstones.
    pub cell_tombstones: u64,
    /// Deletions of whole collections.
    pub complex_tombstones: u64,
    /// Row deletions.
    pub row_tombstones: u64,
    /// Bounds at which a range deletion begins or changes.
    pub range_tombstones: u64,
    /// Partition deletions, one repeated from an earlier block included.
    pub partition_tombstones: u64,
    /// Static rows.
    pub static_rows: u64,
    /// Markers and cells with a TTL; a row's cells that share its life count once.
    pub expiring: u64,
}

impl Default for Zone {
    fn default() -> Self {
        Self {
            min_timestamp: i64::MAX,
            max_timestamp: i64::MIN,
            min_local: NEVER,
            max_local: i64::MIN,
            cells: 0,
            cell_tombstones: 0,
            complex_tombstones: 0,
            row_tombstones: 0,
            range_tombstones: 0,
            partition_tombstones: 0,
            static_rows: 0,
            expiring: 0,
        }
    }
}

impl Zone {
    /// Whether anything in the block deletes.
    pub fn has_tombstones(&self) -> bool {
        self.cell_tombstones
            + self.complex_tombstones
            + self.row_tombstones
            + self.range_tombstones
            + self.partition_tombstones
            > 0
    }

    #[inline]
    pub(crate) fn note_timestamp(&mut self, timestamp: i64) {
        self.min_timestamp = self.min_timestamp.min(timestamp);
        self.max_timestamp = self.max_timestamp.max(timestamp);
    }

    #[inline]
    fn note_second(&mut self, second: i64) {
        self.min_local = self.min_local.min(second);
        self.max_local = self.max_local.max(second);
    }

    /// A marker's or cell's life.
    #[inline]
    pub(crate) fn note_life(&mut self, timestamp: i64, ttl: i32, expiry: i64) {
        self.note_timestamp(timestamp);
        if ttl == 0 {
            self.max_local = NEVER;
        } else {
            self.expiring += 1;
            self.note_second(expiry);
        }
    }

    /// A deletion of any kind; the caller counts it.
    pub(crate) fn note_deletion(&mut self, deletion: Deletion) {
        self.note_timestamp(deletion.timestamp);
        self.note_second(deletion.local);
    }
}

/// The values of one numeric column in a block; live ones only, and those that have expired since included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnZone {
    /// Integers, dates and times.
    Ints {
        /// Number of values; empty ones and tombstones do not count.
        count: u64,
        /// Least one.
        min: i64,
        /// Greatest one.
        max: i64,
        /// Their sum, exact.
        sum: i128,
    },
    /// Doubles and single floats.
    Floats {
        /// Number of values, NaN included.
        count: u64,
        /// How many are NaN; they are not in the next three.
        nans: u64,
        /// Least one; positive infinity if there is none.
        min: f64,
        /// Greatest one; negative infinity if there is none.
        max: f64,
        /// Their sum in the order of the rows.
        sum: f64,
    },
}

impl ColumnZone {
    /// The zone of `values`; `None` if they are not numbers, or none at all.
    pub(crate) fn of(values: &Values) -> Option<Self> {
        if values.len() == 0 {
            return None;
        }
        match values {
            Values::Ints(_, values) => {
                let (mut min, mut max, mut sum) = (i64::MAX, i64::MIN, 0i128);
                for &value in values {
                    min = min.min(value);
                    max = max.max(value);
                    sum += i128::from(value);
                }
                Some(Self::Ints { count: values.len() as u64, min, max, sum })
            }
            Values::Doubles(values) => Some(Self::of_floats(values.iter().copied())),
            Values::Floats(values) => Some(Self::of_floats(values.iter().map(|&value| value.into()))),
            Values::Bytes(_) => None,
        }
    }

    fn of_floats(values: impl ExactSizeIterator<Item = f64>) -> Self {
        let count = values.len() as u64;
        let (mut nans, mut min, mut max, mut sum) = (0, f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for value in values {
            if value.is_nan() {
                nans += 1;
                continue;
            }
            min = if value < min { value } else { min };
            max = if value > max { value } else { max };
            sum += value;
        }
        Self::Floats { count, nans, min, max, sum }
    }
}
