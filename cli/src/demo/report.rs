//! What remains of the tour: the figures that were measured, the claims that were checked, where to look next.

use super::checks::Checks;
use super::crash::Crash;
use super::expiry::Expiry;
use super::hives::Truth;
use super::queries::{Timing, timings_table};
use super::show::{Show, align_right, bytes, grouped, new_table, per_second, time};
use super::stream::Ingest;
use crate::failure::Outcome;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `verify` found in the store of the tour.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    pub(super) rows: u64,
    /// What is wrong, in words.
    pub(super) problems: Vec<String>,
    pub(super) took: Duration,
}

/// Everything that was measured.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) hives: usize,
    pub(super) truth: Truth,
    pub(super) ingest: Ingest,
    pub(super) timings: Vec<Timing>,
    pub(super) crash: Crash,
    pub(super) expiry: Expiry,
    pub(super) verified: Verified,
    pub(super) checks: Checks,
    pub(super) took: Duration,
    /// The directory, and a file of the store to look into; `None` if they are gone afterwards.
    pub(super) left: Option<(PathBuf, Option<PathBuf>)>,
}

impl Report {
    /// For a person. `story` says that the latencies were shown already.
    pub(super) fn print(&self, show: &Show, story: bool) -> Outcome {
        show.title("Report")?;
        let mut table = new_table(&["what", "measured", "which is"]);
        table.add_rows(self.figures());
        align_right(&mut table, [1]);
        show.print(table.to_string())?;
        if !story {
            show.print(timings_table(&self.timings).to_string())?;
        }
        for (claim, held) in self.checks.iter() {
            show.print(format!("  [{}] {claim}", if *held { "ok" } else { "BROKEN" }))?;
        }
        for problem in &self.verified.problems {
            show.print(format!("  verify: {problem}"))?;
        }
        self.where_next(show)
    }

    fn figures(&self) -> Vec<[String; 3]> {
        let (ingest, crash, expiry) = (&self.ingest, &self.crash, &self.expiry);
        let line = |what: &str, measured: String, is: String| [what.to_owned(), measured, is];
        let slowest = self.timings.iter().filter(|t| t.rows <= 3000).max_by_key(|t| t.p99);
        vec![
            line(
                "ingest",
                format!("{} rows/s", grouped(per_second(self.truth.rows, ingest.writing))),
                format!(
                    "{} rows of {} hives, until acknowledged",
                    grouped(self.truth.rows),
                    grouped(self.hives as u64)
                ),
            ),
            line(
                "all in files and compacted",
                format!("{} rows/s", grouped(per_second(self.truth.rows, ingest.settled))),
                format!("after {}; writes waited {} for memory", time(ingest.settled), time(ingest.stalled)),
            ),
            line(
                "bytes a row on disk",
                format!("{:.2}", ingest.bytes_per_row),
                format!("{} in {} files", bytes(ingest.file_bytes), ingest.files),
            ),
            line(
                "write amplification",
                format!("{:.2}", ingest.write_amplification()),
                format!(
                    "{} flushed, {} by {} compactions; without the log",
                    bytes(ingest.flushed_bytes),
                    bytes(ingest.compacted_bytes),
                    ingest.compactions
                ),
            ),
            line(
                "slowest narrow query, p99",
                slowest.map_or_else(String::new, |t| time(t.p99)),
                slowest.map_or_else(String::new, |t| t.question.to_owned()),
            ),
            line(
                "recovery after kill -9",
                time(crash.recovery),
                format!(
                    "{} of the log replayed, {} rows in all",
                    bytes(crash.replayed_bytes),
                    grouped(crash.found)
                ),
            ),
            line(
                "acknowledged rows lost",
                grouped(crash.lost),
                format!("of {}, at {} rows/s", grouped(crash.acknowledged), grouped(crash.rows_per_second)),
            ),
            line(
                "expired and dropped",
                format!("{} rows", grouped(expiry.rows_before - expiry.rows_after.min(expiry.rows_before))),
                format!(
                    "{} files in {}, {} written; {} -> {}",
                    expiry.files_before - expiry.files_after.min(expiry.files_before),
                    time(expiry.took),
                    bytes(expiry.written),
                    bytes(expiry.disk_before),
                    bytes(expiry.disk_after)
                ),
            ),
            line(
                "verify",
                match self.verified.problems.len() + self.crash.problems {
                    0 => "all well".to_owned(),
                    n => format!("{n} problems"),
                },
                format!(
                    "{} rows, {} blocks, {} files read in {}",
                    grouped(self.verified.rows),
                    grouped(self.verified.blocks),
                    self.verified.files,
                    time(self.verified.took)
                ),
            ),
            line("the whole tour", time(self.took), String::new()),
        ]
    }

    fn where_next(&self, show: &Show) -> Outcome {
        show.title("Where to look next")?;
        let (dir, file) = match &self.left {
            Some((dir, file)) => (dir.as_path(), file.as_deref()),
            None => {
                show.print(
                    "  The store is removed now. `skep demo hives` leaves one in the directory hives, then:",
                )?;
                (Path::new("hives"), None)
            }
        };
        let store = dir.join("hives");
        let file = file.map_or_else(|| "FILE.sst".to_owned(), |file| file.display().to_string());
        let lines = [
            (format!("skep stats {}", store.display()), "its tables, files and log"),
            (format!("skep inspect sstable {file}"), "a file, down to its bytes with --hex"),
            (format!("skep verify {}", dir.join("crash").display()), "the store that was killed"),
        ];
        for (command, what) in lines {
            show.print(format!("  {command}"))?;
            show.print(format!("      {what}"))?;
        }
        show.print("  examples/sensors.rs is this table in a program of your own; docs/src is the book on how it works")
    }

    /// For a program. Times are in microseconds, sizes in bytes.
    pub(super) fn json(&self) -> Value {
        let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
        let (ingest, crash, expiry) = (&self.ingest, &self.crash, &self.expiry);
        let queries: Vec<Value> = self
            .timings
            .iter()
            .map(|t| {
                json!({
                    "question": t.question, "rows": t.rows, "repetitions": t.repetitions, "answer": t.answer,
                    "first_us": micros(t.first), "p50_us": micros(t.p50), "p99_us": micros(t.p99),
                })
            })
            .collect();
        let checks: Vec<Value> =
            self.checks.iter().map(|(claim, held)| json!({"claim": claim, "held": held})).collect();
        json!({
            "hives": self.hives,
            "rows": self.truth.rows,
            "late_rows": self.truth.late,
            "alert_rows": self.truth.alerts,
            "ingest": {
                "writing_us": micros(ingest.writing),
                "settled_us": micros(ingest.settled),
                "rows_per_second": per_second(self.truth.rows, ingest.writing),
                "settled_rows_per_second": per_second(self.truth.rows, ingest.settled),
                "flushes": ingest.flushes,
                "flushed_bytes": ingest.flushed_bytes,
                "compactions": ingest.compactions,
                "compacted_bytes": ingest.compacted_bytes,
                "write_amplification": ingest.write_amplification(),
                "stalled_us": micros(ingest.stalled),
            },
            "disk": {
                "files": ingest.files,
                "file_bytes": ingest.file_bytes,
                "bytes_per_row": ingest.bytes_per_row,
            },
            "queries": queries,
            "crash": {
                "acknowledged": crash.acknowledged,
                "found": crash.found,
                "lost": crash.lost,
                "ended": crash.ended,
                "recovery_us": micros(crash.recovery),
                "replayed_records": crash.replayed_records,
                "replayed_bytes": crash.replayed_bytes,
                "rows_in_files": crash.rows_in_files,
                "rows_per_second": crash.rows_per_second,
                "problems": crash.problems,
            },
            "expiry": {
                "rows_before": expiry.rows_before,
                "rows_after": expiry.rows_after,
                "files_before": expiry.files_before,
                "files_after": expiry.files_after,
                "disk_bytes_before": expiry.disk_before,
                "disk_bytes_after": expiry.disk_after,
                "bytes_written": expiry.written,
                "bytes_read": expiry.read,
                "took_us": micros(expiry.took),
            },
            "verify": {
                "files": self.verified.files,
                "bytes": self.verified.bytes,
                "blocks": self.verified.blocks,
                "rows": self.verified.rows,
                "problems": self.verified.problems,
                "took_us": micros(self.verified.took),
            },
            "checks": checks,
            "took_us": micros(self.took),
            "dir": self.left.as_ref().map(|(dir, _)| dir.display().to_string()),
        })
    }
}
