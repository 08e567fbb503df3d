//! Ninety days later: the oldest days expire, and go as whole files.

use super::checks::Checks;
use super::hives::{DAYS, Truth};
use super::queries;
use super::show::{Show, bytes, grouped, time};
use super::stream::midnight_micros;
use super::tables::{Apiary, TTL_DAYS};
use crate::failure::{Failure, Outcome};
use skep::{Db, ManualClock, Timestamp};
use std::path::Path;
use std::time::{Duration, Instant};

/// Days whose readings have expired when the clock has moved.
const EXPIRED_DAYS: i64 = 2;

/// What expiry did, measured.
#[derive(Clone, Debug)]
pub(super) struct Expiry {
    /// Rows that a scan saw before the clock moved and after, with the same files.
    pub(super) rows_before: u64,
    pub(super) rows_after: u64,
    /// Live files before and after.
    pub(super) files_before: usize,
    pub(super) files_after: usize,
    /// Bytes of the directory of files before and after.
    pub(super) disk_before: u64,
    pub(super) disk_after: u64,
    /// Bytes of files that were written for it: by flushes and compactions, and in the manifest.
    pub(super) written: u64,
    /// Bytes of files that were read for it.
    pub(super) read: u64,
    /// How long it took.
    pub(super) took: Duration,
}

/// Moves the clock and lets the store do what is due.
pub(super) fn run(
    show: &Show,
    db: &Db,
    clock: &ManualClock,
    apiary: &Apiary,
    truth: &Truth,
    checks: &mut Checks,
) -> Outcome<Expiry> {
    let (rows_before, _) = queries::sum(apiary.readings.scan())?;
    let data = db.path().join("data");
    let (stats, disk_before) = (db.stats(), size_of(&data)?);
    let manifest_before = manifest_bytes(&db.path())?;

    // Half a minute before the third day's first readings expire.
    clock.set_micros(midnight_micros(EXPIRED_DAYS + TTL_DAYS) - 30_000_000);
    let (rows_after, _) = queries::sum(apiary.readings.scan())?;
    let now = Timestamp::from_millis(db.now_micros() / 1000);
    show.line(format!(
        "the clock now says {now}: what was written in the first two days is {TTL_DAYS} days old"
    ))?;
    show.line(format!(
        "a scan sees {} rows instead of {}, before any file has changed: reads go by the clock",
        grouped(rows_after),
        grouped(rows_before)
    ))?;
    let live: u64 = truth.arrived.iter().skip(EXPIRED_DAYS as usize).sum();
    checks.add("rows are invisible from the second in which they expire, and no others", rows_after == live);

    db.tick()?;
    let doubted = db.stats().files == stats.files;
    checks.add("a clock that jumped drops nothing until it is confirmed", doubted);
    let ahead = TTL_DAYS + EXPIRED_DAYS - DAYS;
    show.line(format!("a wrong clock must not delete data: {ahead} days ahead of the newest write, db.tick() drops nothing yet"))?;

    let started = Instant::now();
    db.confirm_clock();
    db.tick()?;
    db.wait_idle(Duration::from_secs(60))?;
    let took = started.elapsed();
    let after = db.stats();
    let written = (after.flushed_bytes - stats.flushed_bytes)
        + (after.compaction_written_bytes - stats.compaction_written_bytes)
        + manifest_bytes(&db.path())?.saturating_sub(manifest_before);
    let expiry = Expiry {
        rows_before,
        rows_after,
        files_before: stats.files,
        files_after: after.files,
        disk_before,
        disk_after: size_of(&data)?,
        written,
        read: after.compaction_read_bytes - stats.compaction_read_bytes,
        took,
    };
    show.line(format!(
        "db.confirm_clock(): {} of {} files dropped in {}: {} read, {} written (the note in the manifest)",
        expiry.files_before - expiry.files_after.min(expiry.files_before),
        expiry.files_before,
        time(expiry.took),
        bytes(expiry.read),
        bytes(expiry.written)
    ))?;
    show.line(format!(
        "files: {} before, {} after; beside them {} of log and manifest",
        bytes(expiry.disk_before),
        bytes(expiry.disk_after),
        bytes(size_of(&db.path())?.saturating_sub(expiry.disk_after))
    ))?;
    let (still, _) = queries::sum(apiary.readings.scan())?;
    checks.add("dropping expired files changes no answer", still == rows_after);
    checks.add("expired days went as whole files", expiry.files_after < expiry.files_before);
    checks.add("and next to nothing was read or written for it", expiry.read + expiry.written < 64 << 10);
    Ok(expiry)
}

/// Bytes of all files below a directory.
pub(super) fn size_of(dir: &Path) -> Outcome<u64> {
    sizes(dir, &|_| true)
}

/// Bytes of the manifest's files, which stand in the store's directory.
fn manifest_bytes(dir: &Path) -> Outcome<u64> {
    sizes(dir, &|name| name.to_ascii_lowercase().starts_with("manifest"))
}

fn sizes(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Outcome<u64> {
    let failed = |error: std::io::Error| Failure::io("look into", dir, &error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(meta) = entry.metadata() else { continue }; // removed meanwhile
        if meta.is_dir() {
            bytes += sizes(&entry.path(), wanted)?;
        } else if wanted(&entry.file_name().to_string_lossy()) {
            bytes += meta.len();
        }
    }
    Ok(bytes)
}
