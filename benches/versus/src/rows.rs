//! The measurements: name in the samples, label in the report, which way is better, and what skep sets out to reach.

/// Which way a measurement is better; `Neither` gets no ratio.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Up,
    Down,
    Neither,
}
use Better::{Down, Neither, Up};

/// What skep is to reach. "Best" is the best of the other engines in the same run.
#[derive(Clone, Copy)]
pub enum Target {
    None,
    /// At least so many times better than the best.
    Times(f64),
    /// At least so many times better than the best of another measurement.
    TimesOf(&'static str, f64),
    /// At least so many times better than one named engine.
    TimesPeer(&'static str, f64),
    /// At least so many times skep's own figure of another measurement.
    TimesOwn(&'static str, f64),
    AtMost(f64),
    AtLeast(f64),
}
use Target::{AtLeast, AtMost, Times, TimesOf, TimesOwn, TimesPeer};

pub struct Measurement {
    pub name: &'static str,
    pub label: &'static str,
    pub better: Better,
    pub target: Target,
}

const fn row(name: &'static str, label: &'static str, better: Better, target: Target) -> Measurement {
    Measurement { name, label, better, target }
}

/// The report's rows.
pub const ROWS: &[Measurement] = &[
    row("w1_rows_s", "W1 ingest, rows/s while loading", Up, Target::None),
    row("w1_settled_rows_s", "W1 ingest, rows/s until quiet", Up, Times(3.0)),
    row("w1_wall_s", "W1 wall until quiet, s", Down, Target::None),
    row("w1_cpu_us_row", "W1 CPU, us/row (all threads)", Down, AtMost(0.5)),
    row("w1_batch_p99_us", "W1 batch of rows p99, us", Down, Target::None),
    row("w1_batch_max_ms", "W1 longest batch stall, ms", Down, AtMost(7.0)),
    row("w1_bytes_row", "W1 disk, bytes/row", Down, AtMost(4.8)),
    row("w1_to_disk_row", "W1 written to disk, bytes/row", Down, Target::None),
    row("w1_written_row", "W1 write calls, bytes/row", Down, AtMost(55.0)),
    row("w1_peak_rss_mib", "W1 peak RSS of the engine, MiB", Down, AtMost(120.0)),
    row("w1_fsync_rows_s", "W1 fsync per batch, rows/s", Up, Times(1.3)),
    row("w2_ops_s", "W2 single puts, no fsync, ops/s", Up, Times(3.0)),
    row("w2_p99_us", "W2 single put p99, us", Down, Target::None),
    row("w2_fsync_ops_s", "W2 single puts, fsync each, ops/s", Up, Times(1.0)),
    row("w2_fsync_p99_us", "W2 fsynced put p99, us", Down, Target::None),
    row("w2_fsync8_ops_s", "W2 the same, 8 writers at once, ops/s", Up, TimesOwn("w2_fsync_ops_s", 4.0)),
    row("w3_cold_p50_us", "W3 latest 100, cold p50, us", Down, AtMost(60.0)),
    row("w3_cold_p99_us", "W3 latest 100, cold p99, us", Down, Target::None),
    row("w3_ops_s", "W3 latest 100, warm, ops/s", Up, Times(4.0)),
    row("w3_p50_us", "W3 latest 100, warm p50, us", Down, Target::None),
    row("w3_p99_us", "W3 latest 100, warm p99, us", Down, Target::None),
    row("w4_rows_s", "W4 one-hour slices, rows/s", Up, Times(5.0)),
    row("w4_columns_rows_s", "W4 the same as columns, rows/s", Up, TimesOf("w4_rows_s", 15.0)),
    row("w5_hit_ops_s", "W5 point read of a row, ops/s", Up, Times(3.0)),
    row("w5_hit_p50_us", "W5 point read of a row, p50, us", Down, Target::None),
    row("w5_miss_ops_s", "W5 point read, absent partition, ops/s", Up, Times(4.0)),
    row("w5_miss_p50_us", "W5 absent partition, p50, us", Down, Target::None),
    row("w6_rows_s", "W6 full scan, sum one column, rows/s", Up, Target::None),
    row("w6_decoded_rows_s", "W6 the same, every value read, rows/s", Up, TimesOf("w6_rows_s", 20.0)),
    row("w7_expire_s", "W7 expire half: until invisible, s", Down, AtMost(0.000_05)),
    row("w7_wall_s", "W7 expire half: until reclaimed, s", Down, AtMost(0.02)),
    row("w7_reclaimed_pct", "W7 disk space given back, %", Up, AtLeast(45.0)),
    row("w7_to_disk_mib", "W7 written to disk, MiB", Down, AtMost(0.0625)),
    row("w8_open_clean_ms", "W8 open after clean close, ms", Down, AtMost(2.0)),
    row("w8_open_cold_ms", "W8 the same, page cache cold, ms", Down, Target::None),
    row("w8_open_killed_ms", "W8 open after kill -9, ms", Down, Target::None),
    row("w8_killed_mib", "W8 files at the kill, MiB", Neither, Target::None),
    row("w8_killed_ms_mib", "W8 open after kill -9, ms per MiB of files", Down, TimesPeer("rocksdb", 4.0)),
    row("w8_rows_kept_pct", "W8 rows kept after the kill, %", Up, AtLeast(100.0)),
    row("w9_writer_rows_s", "W9 writer beside a reader, rows/s", Up, Times(2.5)),
    row("w9_reader_ops_s", "W9 reader beside a writer, ops/s", Up, Times(2.0)),
    row("w9_reader_p50_us", "W9 reader p50, us", Down, Target::None),
    row("w9_reader_p99_us", "W9 reader p99, us", Down, AtMost(22.0)),
    row("run_wall_s", "wall of the engine's whole run, s", Neither, Target::None),
    row("run_others_cpu", "noise: cores used by others", Neither, Target::None),
    row("run_stolen_cpu", "noise: cores stolen by the host", Neither, Target::None),
];

/// What the ordered appender is to reach; the rest is the same engine.
pub const APPENDER: &[Measurement] =
    &[row("w1_settled_rows_s", "W1 ingest, rows/s until quiet (appender)", Up, Times(4.0))];
