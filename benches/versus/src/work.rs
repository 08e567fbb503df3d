//! The workloads W1 to W9, run against one engine in a process of its own.
//!
//! Answers are checked while they are timed, as far as that is cheap: W5's rows against the input, W3 for count and
//! order, W6 and W7 for row counts, W4 for not being empty.

use crate::args::Args;
use crate::data::{self, DAY_MS, MIDNIGHT, Rng, Row};
use crate::engine::{Config, Durability, Engine, peer};
use crate::sys;
use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub type Metrics = BTreeMap<String, f64>;
const MIB: f64 = 1048576.0;
const HOUR_MS: i64 = 3_600_000;
const LATEST: usize = 100;
const WRITERS: usize = 8;

/// Nanosecond samples of one operation, and how to read them.
#[derive(Default)]
pub struct Latencies(Vec<u64>);

impl Latencies {
    pub fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = operation();
        self.0.push(start.elapsed().as_nanos() as u64);
        result
    }
    /// Microseconds at quantile `q`.
    pub fn micros(&mut self, q: f64) -> f64 {
        self.0.sort_unstable();
        self.0[((self.0.len() - 1) as f64 * q) as usize] as f64 / 1000.0
    }
    fn per_second(&self) -> f64 {
        self.0.len() as f64 / (self.0.iter().sum::<u64>() as f64 / 1e9)
    }
}

/// Calls `operation` until `count` calls or `cap` are through; calls a second.
fn rate(count: usize, cap: Duration, mut operation: impl FnMut(usize)) -> f64 {
    let start = Instant::now();
    let mut done = 0;
    while done < count && (done % 16 != 0 || start.elapsed() < cap) {
        operation(done);
        done += 1;
    }
    done as f64 / start.elapsed().as_secs_f64()
}

struct Bench<'a> {
    args: &'a Args,
    rows: &'a [Row],
    extra: &'a [Row],
    cap: Duration,
    metrics: Metrics,
}

impl Bench<'_> {
    fn put(&mut self, name: &str, value: f64) {
        self.metrics.insert(name.into(), value);
    }

    fn config(&self, durability: Durability) -> Config {
        config(self.args, durability)
    }

    fn open(&self, dir: &Path, durability: Durability) -> Box<dyn Engine> {
        (peer(&self.args.peer).open)(dir, self.config(durability))
    }

    /// A sensor and day that have rows.
    fn random_partition(&self, rng: &mut Rng) -> (u32, u32) {
        let sensor = data::sensor_number(rng.below(self.args.sensors as u64) as usize);
        (sensor, data::day_of(MIDNIGHT) - rng.below(2) as u32)
    }

    /// W1: batched ingest in arrival order, then quiescence.
    fn ingest(&mut self, dir: &Path) -> Box<dyn Engine> {
        sys::reset_peak_rss();
        let (rss, io, cpu) = (sys::rss_bytes(), sys::io(), sys::own_cpu());
        let start = Instant::now();
        let mut db = self.open(dir, Durability::Os);
        let mut batches = Latencies::default();
        for batch in self.rows.chunks(self.args.batch) {
            batches.time(|| db.write(batch));
        }
        let loaded = start.elapsed().as_secs_f64();
        db.settle();
        let wall = start.elapsed().as_secs_f64();
        let peak = sys::peak_rss_bytes().saturating_sub(rss);
        let cpu = sys::own_cpu() - cpu;
        sys::sync(); // So that write-back of this phase is counted in it.
        let (after, n) = (sys::io(), self.rows.len() as f64);
        let to_disk = (after.to_disk - io.to_disk) as f64;
        self.put("w1_rows_s", n / loaded);
        self.put("w1_settled_rows_s", n / wall);
        self.put("w1_wall_s", wall);
        self.put("w1_cpu_us_row", cpu * 1e6 / n);
        self.put("w1_batch_p99_us", batches.micros(0.99));
        self.put("w1_batch_max_ms", batches.micros(1.0) / 1000.0);
        self.put("w1_bytes_row", sys::disk_bytes(dir) as f64 / n);
        self.put("w1_to_disk_row", to_disk / n);
        self.put("w1_written_row", (after.written - io.written) as f64 / n);
        self.put("w1_peak_rss_mib", peak as f64 / MIB);
        db
    }

    /// W8 after a clean close: open and read one row, page cache warm then cold.
    fn reopen(&mut self, db: Box<dyn Engine>, dir: &Path) -> Box<dyn Engine> {
        db.close();
        let probe = self.rows[self.rows.len() / 2];
        let timed_open = || {
            let start = Instant::now();
            let db = self.open(dir, Durability::Os);
            assert_eq!(db.get(probe.sensor, probe.ts), Some(probe));
            (db, start.elapsed().as_secs_f64() * 1000.0)
        };
        let (db, warm) = timed_open();
        db.close();
        sys::evict(dir);
        let (db, cold) = timed_open();
        self.put("w8_open_clean_ms", warm);
        self.put("w8_open_cold_ms", cold);
        db
    }

    /// W3: newest 100 rows of a random partition, cold then warm.
    fn latest(&mut self, db: &dyn Engine) {
        let mut rng = Rng(3);
        let mut out = Vec::with_capacity(LATEST);
        let (mut cold, mut warm) = (Latencies::default(), Latencies::default());
        let partitions = self.rows.len() / self.args.sensors / 2;
        for i in 0..self.args.sensors.min(200) {
            let sensor = data::sensor_number((i * 37) % self.args.sensors);
            let day = data::day_of(MIDNIGHT) - (i % 2) as u32;
            out.clear();
            cold.time(|| db.latest(sensor, day, LATEST, &mut out));
            assert_eq!(out.len(), LATEST.min(partitions));
            assert!(out.iter().all(|r| r.sensor == sensor && r.day() == day));
            assert!(out.windows(2).all(|w| w[0].ts > w[1].ts), "newest first");
        }
        let start = Instant::now();
        for i in 0..20_000 {
            let (sensor, day) = self.random_partition(&mut rng);
            out.clear();
            warm.time(|| db.latest(sensor, day, LATEST, &mut out));
            if i % 16 == 0 && start.elapsed() > self.cap {
                break;
            }
        }
        self.put("w3_cold_p50_us", cold.micros(0.5));
        self.put("w3_cold_p99_us", cold.micros(0.99));
        self.put("w3_ops_s", warm.per_second());
        self.put("w3_p50_us", warm.micros(0.5));
        self.put("w3_p99_us", warm.micros(0.99));
    }

    /// W4: one hour of a random sensor, all columns decoded.
    fn slices(&mut self, db: &dyn Engine) {
        let mut rng = Rng(4);
        let seconds = (self.rows.len() / self.args.sensors / 2) as i64;
        let room = (seconds * 1000 - HOUR_MS).max(1) as u64;
        let (mut rows, mut sum) = (0u64, 0.0);
        let start = Instant::now();
        while start.elapsed() < self.cap {
            let (sensor, _) = self.random_partition(&mut rng);
            let from = MIDNIGHT + rng.below(room) as i64;
            db.range(sensor, from, from + HOUR_MS, &mut |row| {
                rows += 1;
                sum += black_box(row).temperature;
            });
        }
        assert!(rows > 0 && black_box(sum).is_finite());
        self.put("w4_rows_s", rows as f64 / start.elapsed().as_secs_f64());
        self.column_slices(db, room);
    }

    /// W4 in the engine's columnar form, where it has one.
    fn column_slices(&mut self, db: &dyn Engine, room: u64) {
        let mut rng = Rng(4);
        let (mut rows, mut sum) = (0, 0.0);
        let start = Instant::now();
        while start.elapsed() < self.cap {
            let (sensor, _) = self.random_partition(&mut rng);
            let from = MIDNIGHT + rng.below(room) as i64;
            let Some((count, part)) = db.range_columns(sensor, from, from + HOUR_MS) else { return };
            rows += count;
            sum += part;
        }
        assert!(rows > 0 && black_box(sum).is_finite());
        self.put("w4_columns_rows_s", rows as f64 / start.elapsed().as_secs_f64());
    }

    /// W5: one existing row by key, and a row of a partition that is not there.
    fn points(&mut self, db: &dyn Engine) {
        let mut rng = Rng(5);
        let (mut hits, mut misses) = (Latencies::default(), Latencies::default());
        let hit = rate(200_000, self.cap, |_| {
            let row = self.rows[rng.below(self.rows.len() as u64) as usize];
            assert_eq!(hits.time(|| db.get(row.sensor, row.ts)), Some(row));
        });
        let miss = rate(200_000, self.cap, |_| {
            let row = self.rows[rng.below(self.rows.len() as u64) as usize];
            assert_eq!(misses.time(|| db.get(row.sensor + 1, row.ts)), None);
        });
        self.put("w5_hit_ops_s", hit);
        self.put("w5_hit_p50_us", hits.micros(0.5));
        self.put("w5_miss_ops_s", miss);
        self.put("w5_miss_p50_us", misses.micros(0.5));
    }

    /// W6: whole table, one column summed; the faster of two passes.
    fn scan(&mut self, db: &dyn Engine) {
        let truth: f64 = self.rows.iter().map(|row| row.temperature).sum();
        let best_of_two = |sum: &dyn Fn() -> Option<(u64, f64)>| {
            let mut best = f64::MAX;
            for _ in 0..2 {
                let start = Instant::now();
                let (rows, sum) = sum()?;
                best = best.min(start.elapsed().as_secs_f64());
                assert_eq!(rows, self.rows.len() as u64);
                assert!((sum - truth).abs() <= truth.abs() * 1e-9, "{sum} instead of {truth}");
            }
            Some(self.rows.len() as f64 / best)
        };
        let rates = [best_of_two(&|| Some(db.sum())), best_of_two(&|| db.sum_decoded())];
        for (name, rate) in ["w6_rows_s", "w6_decoded_rows_s"].into_iter().zip(rates) {
            if let Some(rate) = rate {
                self.put(name, rate);
            }
        }
    }

    /// W7: expire the older half, then give its space back.
    fn expire(&mut self, db: &mut dyn Engine, dir: &Path) {
        let sensors: Vec<u32> = (0..self.args.sensors).map(data::sensor_number).collect();
        let (before, io) = (sys::disk_bytes(dir) as f64, sys::io());
        let start = Instant::now();
        db.expire(&sensors, MIDNIGHT);
        let hidden = start.elapsed().as_secs_f64();
        db.reclaim();
        let wall = start.elapsed().as_secs_f64();
        sys::sync();
        let left = self.rows.iter().filter(|r| r.ts >= MIDNIGHT).count();
        assert_eq!(db.sum().0, left as u64, "rows left after expiry");
        let after = sys::disk_bytes(dir) as f64;
        let wrote = sys::io().to_disk.saturating_sub(io.to_disk) as f64;
        self.put("w7_expire_s", hidden);
        self.put("w7_wall_s", wall);
        self.put("w7_reclaimed_pct", (before - after) / before * 100.0);
        self.put("w7_to_disk_mib", wrote / MIB);
    }

    /// W9: one writer of new batches beside one reader of newest-100 slices.
    fn concurrent(&mut self, db: &dyn Engine) {
        let stop = AtomicBool::new(false);
        let (written, seconds, mut reads) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut rng, mut reads) = (Rng(9), Latencies::default());
                let mut out = Vec::with_capacity(LATEST);
                while !stop.load(Ordering::Relaxed) {
                    let sensor = rng.below(self.args.sensors as u64) as usize;
                    let sensor = data::sensor_number(sensor);
                    out.clear();
                    reads.time(|| db.latest(sensor, data::day_of(MIDNIGHT), LATEST, &mut out));
                    assert!(!out.is_empty());
                }
                reads
            });
            let (start, mut written) = (Instant::now(), 0);
            for batch in self.extra.chunks(self.args.batch) {
                if start.elapsed() > 2 * self.cap {
                    break;
                }
                db.write(batch);
                written += batch.len();
            }
            let seconds = start.elapsed().as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            (written, seconds, reader.join().unwrap())
        });
        self.put("w9_writer_rows_s", written as f64 / seconds);
        self.put("w9_reader_ops_s", reads.0.len() as f64 / seconds);
        self.put("w9_reader_p50_us", reads.micros(0.5));
        self.put("w9_reader_p99_us", reads.micros(0.99));
    }

    /// The workloads on the rows that W1 loads into `dir`.
    fn loaded(&mut self, dir: &Path, timed: &dyn Fn(&str, Instant)) {
        let args = self.args;
        let step = Instant::now();
        let db = self.ingest(dir);
        timed("W1", step);
        if peer(&args.peer).ingest_only {
            return db.close();
        }
        let step = Instant::now();
        let mut db = self.reopen(db, dir);
        let reads: [(&str, fn(&mut Self, &dyn Engine)); 4] =
            [("W3", Self::latest), ("W4", Self::slices), ("W5", Self::points), ("W6", Self::scan)];
        for (name, run) in reads {
            if args.wants(name) {
                run(self, &*db);
            }
        }
        timed("W3-W6", step);
        let step = Instant::now();
        if args.wants("W7") {
            self.expire(&mut *db, dir);
            timed("W7", step);
        }
        let step = Instant::now();
        if args.wants("W9") {
            self.concurrent(&*db);
            timed("W9", step);
        }
        db.close();
        fs::remove_dir_all(dir).unwrap();
    }

    /// W2 and the fsynced variants: small writes into fresh databases.
    fn small_writes(&mut self, dir: &Path) {
        let long = 4 * self.cap;
        let db = self.open(&dir.join("single"), Durability::Os);
        let rows = self.rows;
        let mut lat = Latencies::default();
        let ops = rate(self.args.single, long, |i| lat.time(|| db.write(&rows[i..=i])));
        self.put("w2_ops_s", ops);
        self.put("w2_p99_us", lat.micros(0.99));
        db.close();

        let db = self.open(&dir.join("fsync"), Durability::Fsync);
        let mut lat = Latencies::default();
        let ops = rate(self.args.synced, long, |i| lat.time(|| db.write(&rows[i..=i])));
        self.put("w2_fsync_ops_s", ops);
        self.put("w2_fsync_p99_us", lat.micros(0.99));
        self.eight_writers(&*db);
        db.close();

        let db = self.open(&dir.join("fsync-batch"), Durability::Fsync);
        let batch = self.args.batch;
        let batches: Vec<&[Row]> = rows.chunks_exact(batch).take(1000).collect();
        let per_second = rate(batches.len(), long, |i| db.write(batches[i]));
        self.put("w1_fsync_rows_s", per_second * batch as f64);
        db.close();
    }

    /// W2 with fsync and eight threads, each of which puts rows of its own.
    fn eight_writers(&mut self, db: &dyn Engine) {
        let (rows, each) = (self.rows, (self.args.synced / 2).max(1));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for part in rows[self.args.synced..].chunks(each).take(WRITERS) {
                scope.spawn(move || part.chunks(1).for_each(|row| db.write(row)));
            }
        });
        let written = each * WRITERS;
        self.put("w2_fsync8_ops_s", written as f64 / start.elapsed().as_secs_f64());
    }

    /// W8 after `kill -9`: a child fills the log and is killed.
    fn crash(&mut self, dir: &Path) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(self.args.child("crash", &self.args.peer, dir))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "ready");
        child.kill().unwrap();
        child.wait().unwrap();
        let killed_mib = sys::disk_bytes(dir) as f64 / MIB;
        let first = self.rows[0];
        let start = Instant::now();
        let db = self.open(dir, Durability::Os);
        let found = db.get(first.sensor, first.ts);
        let open_ms = start.elapsed().as_secs_f64() * 1000.0;
        self.put("w8_killed_mib", killed_mib);
        self.put("w8_open_killed_ms", open_ms);
        self.put("w8_killed_ms_mib", open_ms / killed_mib);
        let kept = if found.is_some() { db.sum().0 } else { 0 };
        self.put("w8_rows_kept_pct", kept as f64 / self.args.crash as f64 * 100.0);
        db.close();
    }
}

fn config(args: &Args, durability: Durability) -> Config {
    Config { durability, cache_bytes: args.cache_mib << 20, write_buffer_bytes: args.write_buffer_mib << 20 }
}

/// Every workload against `args.peer`, in fresh directories below `dir`.
pub fn run(args: &Args, dir: &Path) -> Metrics {
    let total = args.rows + args.rows / 2;
    let all = data::generate(total, args.sensors, args.rows);
    assert!(all.last().unwrap().ts < MIDNIGHT + DAY_MS, "too many rows a sensor for two days");
    let (rows, extra) = all.split_at(args.rows);
    let cap = Duration::from_millis(args.cap_ms as u64);
    let mut bench = Bench { args, rows, extra, cap, metrics: Metrics::new() };
    let timed = |name: &str, start: Instant| {
        eprintln!("    {name}: {:.1} s", start.elapsed().as_secs_f64());
    };
    if ["W1", "W3", "W4", "W5", "W6", "W7", "W9"].iter().any(|name| args.wants(name)) {
        bench.loaded(&dir.join("main"), &timed);
    }
    if peer(&args.peer).ingest_only {
        return bench.metrics;
    }
    let step = Instant::now();
    if args.wants("W2") {
        bench.small_writes(dir);
        timed("W2", step);
    }
    let step = Instant::now();
    if args.wants("W8") {
        bench.crash(&dir.join("crash"));
        timed("W8", step);
    }
    bench.metrics
}

/// The process that W8 kills: fills the log, says so and waits.
pub fn fill_and_wait(args: &Args, dir: &Path) -> ! {
    let rows = data::generate(args.crash, args.sensors, args.rows);
    let db = (peer(&args.peer).open)(dir, config(args, Durability::Os));
    for batch in rows.chunks(args.batch) {
        db.write(batch);
    }
    println!("ready");
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}
