//! Five days of readings through the front door: one batch for what arrives in a minute, the clock following the data.

use super::hives::{DAYS, FIRST_DAY, Hives, MINUTES_A_DAY, Truth};
use super::show::{Show, bytes, grouped, per_second, time};
use super::tables::Apiary;
use crate::failure::Outcome;
use skep::{Db, ManualClock, Timestamp};
use std::time::{Duration, Instant};

/// How long compaction may take to catch up.
const PATIENCE: Duration = Duration::from_secs(120);

/// What ingest took, measured.
#[derive(Clone, Debug)]
pub(super) struct Ingest {
    /// Until the last write was acknowledged.
    pub(super) writing: Duration,
    /// Until all was in files and compacted.
    pub(super) settled: Duration,
    /// Bytes that flushes wrote.
    pub(super) flushed_bytes: u64,
    /// Bytes that compactions wrote.
    pub(super) compacted_bytes: u64,
    /// Compactions.
    pub(super) compactions: u64,
    /// Flushes.
    pub(super) flushes: u64,
    /// How long writes waited for memory.
    pub(super) stalled: Duration,
    /// Live files and their bytes, of all tables.
    pub(super) files: usize,
    pub(super) file_bytes: u64,
    /// Bytes on disk for each row of `hive_measurements`.
    pub(super) bytes_per_row: f64,
}

impl Ingest {
    /// Bytes written to files for each byte of a flush.
    pub(super) fn write_amplification(&self) -> f64 {
        (self.flushed_bytes + self.compacted_bytes) as f64 / self.flushed_bytes.max(1) as f64
    }
}

/// Midnight (UTC) at the start of a day of the tour, micros since the epoch.
pub(super) fn midnight_micros(day: i64) -> i64 {
    (i64::from(FIRST_DAY) + day) * MINUTES_A_DAY * 60_000_000
}

/// Streams everything that `hives` has to tell into the store.
pub(super) fn run(show: &Show, db: &Db, clock: &ManualClock, apiary: &Apiary) -> Outcome<(Ingest, Truth)> {
    let count = apiary.names.len();
    let mut hives = Hives::new(count);
    let total = count as u64 * (DAYS * MINUTES_A_DAY) as u64;
    let mut progress = show.progress(total);
    let (mut arrived, mut batch) = (Vec::new(), db.batch());
    let started = Instant::now();
    for minute in 0..DAYS * MINUTES_A_DAY {
        let now = midnight_micros(0) + minute * 60_000_000;
        clock.set_micros(now);
        arrived.clear();
        hives.minute(minute, &mut arrived);
        for reading in &arrived {
            apiary.put(&mut batch, reading)?;
        }
        db.write(&mut batch)?;
        if minute % 16 == 15 {
            let place = || Timestamp::from_millis(now / 1000).to_string()[..16].to_owned();
            progress.at(hives.truth().rows, place);
        }
    }
    let writing = started.elapsed();
    progress.finish();
    db.flush()?;
    db.wait_idle(PATIENCE)?;
    let (stats, readings) = (db.stats(), apiary.readings.stats());
    let ingest = Ingest {
        writing,
        settled: started.elapsed(),
        flushed_bytes: stats.flushed_bytes,
        compacted_bytes: stats.compaction_written_bytes,
        compactions: stats.compactions,
        flushes: stats.flushes,
        stalled: stats.stalled,
        files: stats.files,
        file_bytes: stats.file_bytes,
        bytes_per_row: readings.bytes_per_row,
    };
    tell(show, &ingest, hives.truth())?;
    Ok((ingest, hives.truth().clone()))
}

fn tell(show: &Show, ingest: &Ingest, truth: &Truth) -> Outcome {
    let late = truth.late as f64 * 100.0 / truth.rows.max(1) as f64;
    show.line(format!(
        "{} readings in {}: {} rows/s on one thread; {late:.1} % of them arrived late, {} went into both tables",
        grouped(truth.rows),
        time(ingest.writing),
        grouped(per_second(truth.rows, ingest.writing)),
        grouped(truth.alerts),
    ))?;
    show.line(format!(
        "{} flushes wrote {}, {} compactions wrote {}; all settled after {}",
        ingest.flushes,
        bytes(ingest.flushed_bytes),
        ingest.compactions,
        bytes(ingest.compacted_bytes),
        time(ingest.settled),
    ))?;
    show.line(format!(
        "{} files, {}: {:.1} bytes a row with its key, its write time and its TTL",
        ingest.files,
        bytes(ingest.file_bytes),
        ingest.bytes_per_row
    ))
}
