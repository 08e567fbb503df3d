//! Runs a generated workload against a store and shows how cost grows with its size.
//!
//! ```text
//! cargo run --release -p skep-benches --example workload -- --rows 100M --sensors 2000
//! ```
//!
//! The stream of readings is written as fast as the store takes it. Every tenth of the way, writing stops and the same
//! reads are timed, so that a figure that grows with the store is seen to grow: ingest since the last line, newest
//! rows, an hour's slice, a point read, a point that is not there, opening, disk, memory. At the end come the latencies
//! of all operations.

use hdrhistogram::Histogram;
use skep_benches::fixture::args;
use skep_benches::readings::{Reading, Readings};
use skep_benches::rng::Rng;
use skep_benches::store::Store;
use skep_engine::model::time::Timestamp;
use skep_engine::{Options, SyncMode, row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HOUR_MS: i64 = 3_600_000;
const USAGE: &str = "options: --rows N[k|M|G] --sensors N --batch N (0: appender) --late PERCENT --steps N --reads N \
                     --sync periodic|batch|off --memtable-mib N --cache-mib N --dir PATH";

struct Settings {
    rows: u64,
    sensors: u32,
    batch: usize,
    late: u64,
    steps: u64,
    reads: u64,
    dir: PathBuf,
    options: Options,
}

/// `100M`, `5k`, `1_000`.
fn number(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    let (digits, factor) = match text.chars().last()? {
        'k' => (&text[..text.len() - 1], 1_000),
        'M' => (&text[..text.len() - 1], 1_000_000),
        'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text.as_str(), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

impl Settings {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self {
            rows: 10_000_000,
            sensors: 1000,
            batch: 100,
            late: 5,
            steps: 10,
            reads: 2000,
            dir: "bench-data".into(),
            options: Options::default(),
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
            let n = number(&value).ok_or_else(|| format!("{name} {value}: not a number"));
            match name.as_str() {
                "--rows" => settings.rows = n?.max(1),
                "--sensors" => settings.sensors = u32::try_from(n?).map_err(|e| e.to_string())?.max(1),
                "--batch" => settings.batch = n? as usize,
                "--late" => settings.late = n?,
                "--steps" => settings.steps = n?.max(1),
                "--reads" => settings.reads = n?,
                "--memtable-mib" => settings.options.memtable_bytes = (n? as usize) << 20,
                "--cache-mib" => settings.options.cache_bytes = (n? as usize) << 20,
                "--dir" => settings.dir = value.into(),
                "--sync" => {
                    settings.options.sync = match value.as_str() {
                        "periodic" => SyncMode::Periodic(Duration::from_secs(1)),
                        "batch" => SyncMode::Batch,
                        "off" => SyncMode::Off,
                        _ => return Err(format!("--sync {value}: periodic, batch or off")),
                    }
                }
                _ => return Err(format!("unknown option {name}\n{USAGE}")),
            }
        }
        Ok(settings)
    }
}

/// Latencies by operation, nanoseconds.
#[derive(Default)]
struct Latencies(BTreeMap<&'static str, Histogram<u64>>);

impl Latencies {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(name, start.elapsed());
        result
    }

    fn add(&mut self, name: &'static str, took: Duration) {
        let histogram =
            self.0.entry(name).or_insert_with(|| Histogram::new(3).expect("three digits are supported"));
        histogram.saturating_record(took.as_nanos() as u64);
    }

    /// Mean microseconds.
    fn mean(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, Histogram::mean) / 1000.0
    }
}

/// Rows that reads look for: a sample of all that were written, of constant size.
struct Sample {
    rng: Rng,
    seen: u64,
    rows: Vec<Reading>,
}

impl Sample {
    fn offer(&mut self, row: &Reading) {
        self.seen += 1;
        if self.rows.len() < 10_000 {
            self.rows.push(*row);
        } else if let Some(place) = self.rows.get_mut(self.rng.below(self.seen) as usize) {
            *place = *row;
        }
    }

    fn pick(&mut self) -> Reading {
        self.rows[self.rng.below(self.rows.len() as u64) as usize]
    }
}

fn ingest(
    store: &mut Store,
    stream: &mut Readings,
    rows: u64,
    batch: usize,
    sample: &mut Sample,
    all: &mut Latencies,
) {
    let mut left = rows;
    if batch == 0 {
        let mut appender = store.readings.appender();
        for row in stream.by_ref().take(rows as usize) {
            sample.offer(&row);
            store.arrive(&row);
            appender.append(&args(&row, store.name(row.sensor))).expect("the store takes writes");
        }
        appender.finish().expect("the store takes writes");
        return;
    }
    let mut buffer = Vec::with_capacity(batch);
    while left > 0 {
        buffer.clear();
        buffer.extend(stream.by_ref().take(batch.min(left as usize)));
        buffer.iter().for_each(|row| sample.offer(row));
        left -= buffer.len() as u64;
        all.time("write a batch", || store.write(&buffer));
    }
}

/// The same reads at every size of the store.
fn reads(store: &Store, count: u64, sample: &mut Sample, step: &mut Latencies) {
    let table = &store.readings;
    for _ in 0..count {
        let row = sample.pick();
        let (sensor, day, ts) = store.place(&row);
        let key = row![sensor, day, ts];
        let found = step.time("point read", || table.get(&key).expect("the store reads"));
        let status: i32 = found.expect("every row is kept").get("status").expect("an int");
        assert_eq!(status, row.status, "{row:?}");
        let absent = format!("nobody-{}", row.ts);
        let key = row![absent.as_str(), day, ts];
        assert!(step.time("absent point", || table.get(&key).expect("the store reads")).is_none());
        let partition = row![sensor, day];
        step.time("latest 100", || {
            let rows = table.slice(&partition, ..).limit(100).rows().expect("the store reads");
            assert!(rows.inspect(|row| assert!(row.is_ok(), "{row:?}")).count() > 0);
        });
    }
    for _ in 0..count / 20 {
        let row = sample.pick();
        let (sensor, day, _) = store.place(&row);
        let times = Timestamp::from_millis(row.ts)..Timestamp::from_millis(row.ts + HOUR_MS);
        step.time("slice of an hour", || {
            let rows = table.slice(&row![sensor, day], times).rows().expect("the store reads");
            assert!(rows.inspect(|row| assert!(row.is_ok(), "{row:?}")).count() > 0);
        });
    }
}

fn disk_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    entries
        .map(|entry| entry.path())
        .map(|path| if path.is_dir() { disk_bytes(&path) } else { size(&path) })
        .sum()
}

/// Resident memory in MiB, where the system tells.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() / 1024
}

fn print_latencies(all: &Latencies) {
    println!(
        "\n{:<18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}",
        "latency, us", "count", "p50", "p90", "p99", "p99.9", "max"
    );
    for (name, histogram) in &all.0 {
        let at = |q: f64| histogram.value_at_quantile(q) as f64 / 1000.0;
        println!(
            "{name:<18} {:>9} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>10.1}",
            histogram.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            histogram.max() as f64 / 1000.0,
        );
    }
}

fn run(settings: &Settings) {
    let dir = settings.dir.join("workload");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&settings.dir).expect("the directory can be made");
    let open = || Store::open(&dir, settings.options.clone(), settings.sensors);
    let mut store = open();
    let mut stream = Readings::new(settings.sensors, settings.late);
    let mut sample = Sample { rng: Rng(7), seen: 0, rows: Vec::new() };
    let mut all = Latencies::default();
    println!(
        "{:>12} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "rows",
        "rows/s",
        "point us",
        "absent us",
        "latest us",
        "hour us",
        "open ms",
        "B/row",
        "MiB disk",
        "MiB RSS"
    );
    for step in 0..settings.steps {
        let rows = settings.rows * (step + 1) / settings.steps - settings.rows * step / settings.steps;
        let start = Instant::now();
        ingest(&mut store, &mut stream, rows, settings.batch, &mut sample, &mut all);
        store.settle();
        let rate = rows as f64 / start.elapsed().as_secs_f64();
        let now = store.db.now_micros();
        store.db.close().expect("the store closes");
        let opening = Instant::now();
        store = open();
        let opened = opening.elapsed();
        store.clock.set_micros(now);
        let mut step = Latencies::default();
        reads(&store, settings.reads, &mut sample, &mut step);
        let bytes = disk_bytes(&dir);
        println!(
            "{:>12} {rate:>10.0} {:>10.2} {:>10.2} {:>10.2} {:>9.1} {:>9.2} {:>9.2} {:>9} {:>9}",
            sample.seen,
            step.mean("point read"),
            step.mean("absent point"),
            step.mean("latest 100"),
            step.mean("slice of an hour"),
            opened.as_secs_f64() * 1000.0,
            bytes as f64 / sample.seen as f64,
            bytes >> 20,
            resident_mib(),
        );
        for (name, histogram) in step.0 {
            match all.0.get_mut(name) {
                Some(sum) => sum.add(histogram).expect("the same settings"),
                None => drop(all.0.insert(name, histogram)),
            }
        }
    }
    print_latencies(&all);
    drop(store);
    let _ = std::fs::remove_dir_all(&dir);
}

fn main() {
    match Settings::parse(std::env::args().skip(1)) {
        Ok(settings) => run(&settings),
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    }
}
