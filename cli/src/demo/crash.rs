//! Killing a writer in the middle of writing, and opening what it left.
//!
//! The writer is this program, started a second time with a hidden option. It writes batches into a store of its own and prints,
//! after each batch that the store acknowledged, how many rows that makes. The parent reads along, sends SIGKILL, opens the store
//! and looks for every row that was acknowledged.
//!
//! # Not here
//! A power cut: a killed process leaves the page cache alone. That is tested on a simulated disk that forgets what was not synced.

use super::checks::Checks;
use super::show::{Show, bytes, grouped, per_second, time};
use super::tables;
use crate::failure::{Failure, Outcome};
use skep::{CqlType, Db, ErrorKind, Schema, Timestamp, row};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Rows of a batch.
const BATCH: u64 = 100;
/// Hives that the writer writes of, in turn.
const HIVES: u64 = 50;
/// The writer's first reading: 2024-06-12T00:00:00Z.
const START_MS: i64 = 19_886 * 86_400_000;
/// Rows after which a writer that nobody kills gives up.
const ENOUGH: u64 = 100_000_000;

/// Reading number `n` of the writer: hive, time (milliseconds) and temperature. Known to both sides.
fn reading(n: u64) -> (u64, i64, f64) {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    (n % HIVES, START_MS + (n / HIVES) as i64 * 1000, 30.0 + mixed as f64 / 100.0)
}

/// The number of the reading of a hive at a time, if the writer has such a one.
fn number(hive: u64, at_ms: i64) -> Option<u64> {
    let second = u64::try_from(at_ms - START_MS).ok()? / 1000;
    Some(second * HIVES + hive)
}

/// The child: writes until it is killed.
pub(super) fn write_until_killed(dir: &Path) -> Outcome {
    // Small memtables, so that flushes and compactions are under way when the end comes.
    let db = Db::builder(dir).memtable_bytes(12 << 20).open()?;
    let readings = db.create_table(tables::readings())?;
    let progress =
        Schema::table("progress").partition_key("id", CqlType::Int).column("rows", CqlType::Bigint);
    let progress = db.create_table(progress)?;
    let (readings, progress) = (readings.schema(), progress.schema());
    let names: Vec<String> = (0..HIVES).map(|n| format!("hive-{n:04}")).collect();
    let mut batch = db.batch();
    let mut out = std::io::stdout();
    for first in (0..ENOUGH).step_by(BATCH as usize) {
        for n in first..first + BATCH {
            let (hive, at_ms, temperature) = reading(n);
            let at = Timestamp::from_millis(at_ms);
            let name = names[hive as usize].as_str();
            batch.insert(&readings, &row![name, at.date(), at, temperature, 60.0, "ok"])?;
        }
        // The same batch counts itself in another table: either both are there afterwards or neither.
        batch.insert(&progress, &row![0, (first + BATCH) as i64])?;
        db.write(&mut batch)?;
        writeln!(out, "{}", first + BATCH)?;
    }
    Ok(())
}

/// What was killed and what was found, measured.
#[derive(Clone, Debug)]
pub(super) struct Crash {
    /// Rows acknowledged before the end.
    pub(super) acknowledged: u64,
    /// Rows found afterwards: a batch that was in the log but not yet acknowledged may be among them.
    pub(super) found: u64,
    /// Acknowledged rows that were not found, or not as they were written.
    pub(super) lost: u64,
    /// How the writer ended.
    pub(super) ended: String,
    /// How long opening took, log replay included.
    pub(super) recovery: Duration,
    /// Records of the log that were replayed, and their bytes.
    pub(super) replayed_records: u64,
    pub(super) replayed_bytes: u64,
    /// Rows that were in files before.
    pub(super) rows_in_files: u64,
    /// Rows a second that the writer had acknowledged, its start included.
    pub(super) rows_per_second: u64,
    /// What verify found wrong.
    pub(super) problems: usize,
}

/// A child that does not outlive the tour, whatever goes wrong in it.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills a writer after about `rows` acknowledged rows and recovers its store.
pub(super) fn run(show: &Show, dir: &Path, rows: u64, checks: &mut Checks) -> Outcome<Crash> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let started = Instant::now();
    let child = Command::new(&program)
        .args(["demo", "--crash-writer"])
        .arg(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::io("start", &program, &error))?;
    show.line(format!("process {} writes batches of {BATCH} rows into {}", child.id(), dir.display()))?;
    let mut writer = Writer(child);
    let pipe = writer.0.stdout.take().ok_or_else(|| Failure::new("the writer has no pipe"))?;
    let mut acknowledged = 0;
    let mut killed = None;
    for line in BufReader::new(pipe).lines() {
        let line = line.map_err(|error| Failure::new(format!("cannot read from the writer: {error}")))?;
        let Ok(count) = line.parse::<u64>() else { continue };
        if acknowledged == 0 {
            let refused = Db::open(dir).err().filter(|error| error.kind() == ErrorKind::Busy);
            checks.add("a store in use is refused to everybody else", refused.is_some());
            if let Some(error) = refused {
                show.line(format!("opening it here meanwhile is refused: {error}"))?;
            }
        }
        acknowledged = count;
        if killed.is_none() && acknowledged >= rows {
            writer.0.kill().map_err(|error| Failure::new(format!("cannot kill the writer: {error}")))?;
            killed = Some(started.elapsed());
        }
    }
    let ended =
        writer.0.wait().map_err(|error| Failure::new(format!("cannot wait for the writer: {error}")))?;
    let Some(lived) = killed else {
        return Err(Failure::new(format!("the writer ended by itself ({ended}) after {acknowledged} rows")));
    };
    show.line(format!("{} rows acknowledged in {}, then: {ended}", grouped(acknowledged), time(lived)))?;
    let crash = recover(dir, acknowledged, ended.to_string(), per_second(acknowledged, lived), checks)?;
    tell(show, &crash)?;
    Ok(crash)
}

fn recover(dir: &Path, acknowledged: u64, ended: String, rate: u64, checks: &mut Checks) -> Outcome<Crash> {
    let opened = Instant::now();
    let db = Db::builder(dir).must_exist().open()?;
    let recovery = opened.elapsed();
    let stats = db.stats();
    let readings = db.table("hive_measurements")?;
    let rows_in_files = readings.stats().rows;
    let mut seen = vec![false; acknowledged as usize];
    let mut found = 0;
    for row in readings.scan().columns(&["hive_id", "event_ts", "temperature_c"]).rows()? {
        let row = row?;
        found += 1;
        let hive = row.get::<&str>(0)?.trim_start_matches("hive-").parse().unwrap_or(HIVES);
        let n = number(hive, row.get::<Timestamp>(1)?.as_millis());
        if let Some(n) = n.filter(|n| reading(*n).2 == row.get::<f64>(2).unwrap_or(f64::NAN))
            && let Some(place) = usize::try_from(n).ok().and_then(|n| seen.get_mut(n))
        {
            *place = true;
        }
    }
    let lost = seen.iter().filter(|seen| !**seen).count() as u64;
    let counted = db.table("progress")?.get(&row![0])?.map(|row| row.get::<i64>("rows")).transpose()?;
    checks.add("every acknowledged row is there after kill -9", lost == 0);
    checks.add(
        "the last batch is there as a whole, in both tables, or not at all",
        counted == Some(found as i64),
    );
    let problems = db.verify()?.problems.len();
    db.close()?;
    Ok(Crash {
        acknowledged,
        found,
        lost,
        ended,
        recovery,
        replayed_records: stats.replayed_records,
        replayed_bytes: stats.replayed_bytes,
        rows_in_files,
        rows_per_second: rate,
        problems,
    })
}

fn tell(show: &Show, crash: &Crash) -> Outcome {
    show.line(format!(
        "opened again in {}: {} rows were in files, {} records ({}) of the log were replayed",
        time(crash.recovery),
        grouped(crash.rows_in_files),
        grouped(crash.replayed_records),
        bytes(crash.replayed_bytes),
    ))?;
    show.line(format!(
        "of {} acknowledged rows {} are missing; {} rows that were in the log, but not yet acknowledged, came back too",
        grouped(crash.acknowledged),
        grouped(crash.lost),
        grouped(crash.found.saturating_sub(crash.acknowledged)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_found_by_hive_and_time() {
        for n in [0, 1, HIVES - 1, HIVES, 12_345] {
            let (hive, at_ms, _) = reading(n);
            assert_eq!(number(hive, at_ms), Some(n));
        }
        assert_eq!(number(0, START_MS - 1), None);
    }
}
