//! Counts, least and greatest values and sums of columns, without making rows where that can be avoided.
//!
//! [`totals`] drives a [`Reader`] and adds up its batches, columns of numbers as slices. Blocks of which the index already says
//! everything are never read: every one of its rows must be asked for and seen, nothing in it dead, and no other source may
//! have anything between its first and last row. `ZoneRuns` stands between such a file's cursor and the slice, and takes
//! these blocks out.
//!
//! # Not here
//! Averages and the CQL types of results: the caller has count and sum. A sum of integers is exact; one of floats is added in the order in which
//! blocks and rows come, and may differ in the last digits from run to run.

use crate::error::{Error, Result};
use crate::model::clustering::ClusteringRange;
use crate::model::life::Deletion;
use crate::read::batch::Batch;
use crate::read::column::{CellRef, Column};
use crate::read::lanes::LaneMap;
use crate::read::reader::Reader;
use crate::read::source::{Run, RunReader};
use crate::sstable::block::summary::ColumnZone;
use crate::sstable::cursor::SsCursor;
use crate::sstable::index::BlockEntry;
use parking_lot::Mutex;
use std::sync::Arc;

/// What was found of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColumnTotals {
    /// Values that are not null.
    pub count: u64,
    /// Least and greatest integer (date, time, boolean), and the sum; `None` without integers.
    pub ints: Option<(i64, i64, i128)>,
    /// Least and greatest float that is not NaN, and the sum of all, NaN if one is; `None` without floats.
    pub floats: Option<(f64, f64, f64)>,
    /// Values that are no numbers: of other types, and empty ones. They are in `count`.
    pub others: u64,
}

impl ColumnTotals {
    fn add_ints(&mut self, count: u64, (min, max, sum): (i64, i64, i128)) {
        self.count += count;
        let (least, greatest, total) = self.ints.unwrap_or((i64::MAX, i64::MIN, 0));
        self.ints = Some((least.min(min), greatest.max(max), total.saturating_add(sum)));
    }

    fn add_floats(&mut self, count: u64, (min, max, sum): (f64, f64, f64)) {
        self.count += count;
        let (least, greatest, total) = self.floats.unwrap_or((f64::INFINITY, f64::NEG_INFINITY, 0.0));
        self.floats = Some((least.min(min), greatest.max(max), total + sum));
    }

    fn add_zone(&mut self, zone: &ColumnZone) {
        match *zone {
            ColumnZone::Ints { count, min, max, sum } => self.add_ints(count, (min, max, sum)),
            ColumnZone::Floats { count, nans, min, max, sum } => {
                let sum = if nans > 0 { f64::NAN } else { sum };
                self.add_floats(count, (min, max, sum));
            }
        }
    }

    fn add_column(&mut self, batch: &Batch, at: usize) {
        let rows = batch.len();
        let Some(column) = batch.column(at) else { return };
        if let Some((values, _)) = column.ints(rows) {
            let (mut min, mut max) = (i64::MAX, i64::MIN);
            for &value in values {
                (min, max) = (min.min(value), max.max(value));
            }
            self.add_ints(rows as u64, (min, max, sum_of_ints(values)));
        } else if let Some((values, _)) = column.doubles(rows) {
            let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
            for &value in values {
                (min, max) = (min.min(value), max.max(value));
            }
            let sum = sum_of(values);
            self.add_floats(rows as u64, (min, max, sum));
        } else {
            for row in 0..rows {
                match column.cell(row) {
                    CellRef::Null => {}
                    CellRef::Int(value) => self.add_ints(1, (value, value, value.into())),
                    CellRef::Double(value) => self.add_floats(1, (value, value, value)),
                    CellRef::Float(value) => self.add_floats(1, (value.into(), value.into(), value.into())),
                    CellRef::Bytes(_) | CellRef::Complex(_) => {
                        self.count += 1;
                        self.others += 1;
                    }
                }
            }
        }
    }
}

impl Column {
    /// The sum of the values of the first `rows` rows of a column of numbers without a gap ([`Column::doubles`] and its likes); `None` for
    /// any other. Floats are added in several running sums at once, which is several times faster than one after the other and may
    /// differ in the last digits.
    pub fn sum(&self, rows: usize) -> Option<f64> {
        if let Some((values, _)) = self.doubles(rows) {
            return Some(sum_of(values));
        }
        if let Some((values, _)) = self.floats(rows) {
            return Some(sum_of(values));
        }
        self.ints(rows).map(|(values, _)| sum_of_ints(values) as f64)
    }
}

/// Running sums of [`sum_of`]: as many as an addition takes cycles until the next can use its result, times two for a vector's width.
const SUMS: usize = 8;

fn sum_of<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    let (chunks, rest) = values.as_chunks::<SUMS>();
    let mut sums = [0.0; SUMS];
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += value.into();
        }
    }
    sums.into_iter().chain(rest.iter().map(|&value| value.into())).sum()
}

/// The exact sum of at most 2^31 integers: two halves of 32 bits are added faster than 128 bits.
fn sum_of_ints(values: &[i64]) -> i128 {
    let (mut low, mut high) = (0i64, 0i64);
    for &value in values {
        low += value & 0xffff_ffff;
        high += value >> 32;
    }
    (i128::from(high) << 32) + i128::from(low)
}

/// What was found in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Rows.
    pub rows: u64,
    /// Each column that the query asked for, in its order.
    pub columns: Vec<ColumnTotals>,
    /// Blocks that were answered for by the index.
    pub blocks_from_index: u64,
}

/// Adds up what `reader` would hand out. Limits hold: then the rows themselves are read, the index cannot tell which of a block's come
/// first.
///
/// # Errors
/// `Invalid` for a page; those of [`Reader::next_batch`].
pub fn totals(mut reader: Reader) -> Result<Totals> {
    add_up(&mut reader)
}

/// [`totals`] for a caller that asks the reader for its counts and warning afterwards.
///
/// # Errors
/// As [`totals`].
pub fn add_up(reader: &mut Reader) -> Result<Totals> {
    let query = reader.query();
    if query.page_rows.is_some() {
        return Err(Error::invalid("totals are of all rows: a page has no meaning for them"));
    }
    let limited = query.limit.is_some() || query.per_partition_limit.is_some();
    let columns = query.columns.len();
    // A write time before a column's drop hides values and even rows, which the index does not know.
    let indexed = !limited && query.columns.schema().dropped().is_empty();
    let zones = Arc::new(Zones(Mutex::new(Totals {
        columns: vec![ColumnTotals::default(); columns],
        ..Totals::default()
    })));
    if indexed {
        reader.add_up_in(&zones);
    }
    let mut sums = vec![ColumnTotals::default(); columns];
    let mut rows = 0;
    while let Some(batch) = reader.next_batch()? {
        rows += batch.len() as u64;
        for (at, sum) in sums.iter_mut().enumerate() {
            sum.add_column(&batch, at);
        }
    }
    let mut totals = zones.0.lock().clone();
    reader.note_blocks_from_index(totals.blocks_from_index);
    totals.rows += rows;
    for (total, sum) in totals.columns.iter_mut().zip(sums) {
        let count = total.count + sum.count;
        sum.ints.iter().for_each(|ints| total.add_ints(0, *ints));
        sum.floats.iter().for_each(|floats| total.add_floats(0, *floats));
        total.count = count;
        total.others += sum.others;
    }
    Ok(totals)
}

/// Totals of the blocks that were taken out.
#[derive(Debug)]
pub(crate) struct Zones(Mutex<Totals>);

impl Zones {
    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.0.lock().rows
    }
}

/// A file's cursor without the blocks of which the index says everything.
pub(crate) struct ZoneRuns {
    cursor: SsCursor,
    zones: Arc<Zones>,
    lanes: Arc<LaneMap>,
    /// Where other sources have something.
    others: Vec<ClusteringRange>,
    /// The reader's second.
    now: i64,
}

impl ZoneRuns {
    pub(crate) fn new(
        cursor: SsCursor,
        zones: Arc<Zones>,
        lanes: Arc<LaneMap>,
        others: Vec<ClusteringRange>,
        now: i64,
    ) -> Self {
        Self { cursor, zones, lanes, others, now }
    }

    /// Adds up the next block and passes over it, if the index suffices.
    fn take_block(&mut self) -> Result<bool> {
        let Some((entry, true)) = self.cursor.peek_block()? else { return Ok(false) };
        if !answers(entry, &self.lanes, &self.others, self.now) {
            return Ok(false);
        }
        let mut totals = self.zones.0.lock();
        totals.rows += entry.summary.rows as u64;
        totals.blocks_from_index += 1;
        for (at, total) in totals.columns.iter_mut().enumerate() {
            if let Some(zone) = self.lanes.slot(at).and_then(|slot| entry.column(slot)) {
                total.add_zone(zone);
            }
        }
        drop(totals);
        self.cursor.pass_block()?;
        Ok(true)
    }
}

impl RunReader for ZoneRuns {
    fn next_run(&mut self) -> Result<Option<Run>> {
        while self.take_block()? {}
        RunReader::next_run(&mut self.cursor)
    }

    fn deletion_without_items(&mut self) -> Result<Option<Deletion>> {
        // After blocks were taken out nothing was open: a block with a range deletion at its beginning is none of them.
        self.cursor.deletion_without_items()
    }
}

/// Whether the index's entry of a block says all that totals need of it.
fn answers(entry: &BlockEntry, lanes: &LaneMap, others: &[ClusteringRange], now: i64) -> bool {
    let (summary, zone) = (&entry.summary, entry.zone());
    let clean = lanes.is_fit() && !entry.open && !zone.has_tombstones() && zone.static_rows == 0;
    let lasting = zone.min_local > now;
    let alone = || {
        let apart = |other: &ClusteringRange| other.end < summary.first || summary.last < other.start;
        others.iter().all(apart)
    };
    // Fewer values than rows may mean nulls or empty values, which the index does not tell apart.
    let full = |at| match lanes.slot(at).map(|slot| entry.column(slot)) {
        Some(Some(ColumnZone::Ints { count, .. } | ColumnZone::Floats { count, .. })) => {
            *count == summary.rows as u64
        }
        _ => false,
    };
    clean && lasting && summary.rows == summary.items && alone() && (0..lanes.len()).all(full)
}
