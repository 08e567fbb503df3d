//! What a written row costs: processor time of all threads, by phase and by thread, and the memory it takes.
//!
//! `cargo run --release -p skep-engine --example write_speed [rows]`. The rows are those of a sensor table: 200 sensors
//! in turn, batches of 100 rows over 100 partitions, four values a row, newest first, a file for each day.
//!
//! ```text
//! encode     rows into a batch, nothing committed
//! batches    the same through `Db::write`, until every file is written
//! appender   the same through `Table::appender`
//! ```

#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clocks of the system itself")]

use skep_engine::model::time::{Date, Timestamp};
use skep_engine::{CqlType, Db, Schema, Table, row};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::time::{Duration, Instant};

const SENSORS: usize = 200;
const BATCH: usize = 100;
const DAY_MILLIS: i64 = 86_400_000;

type Outcome = Result<(), Box<dyn Error>>;

/// One row of the workload.
struct Reading<'a> {
    sensor: &'a str,
    day: Date,
    at: Timestamp,
    temperature: f64,
    humidity: f64,
}

/// Gives `rows` readings to `take`, in the order in which they come.
fn readings(rows: usize, mut take: impl FnMut(Reading<'_>) -> Outcome) -> Outcome {
    let sensors: Vec<String> = (0..SENSORS).map(|i| format!("sensor-{i:04}")).collect();
    let mut noise = 7u64;
    for i in 0..rows {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let millis = 1_772_323_200_000 + (i / SENSORS) as i64 * 1000 + (noise >> 62) as i64;
        take(Reading {
            sensor: &sensors[i % SENSORS],
            day: Date::from_days_since_epoch((millis / DAY_MILLIS) as i32),
            at: Timestamp::from_millis(millis),
            temperature: (2000 + (noise >> 40) % 100) as f64 / 100.0,
            humidity: (5500 + (noise >> 32) % 50) as f64 / 100.0,
        })?;
    }
    Ok(())
}

/// Nanoseconds on the processor of each thread of this process, by name; nothing where the system does not tell.
fn threads() -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for task in read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let name = read_to_string(task.path().join("comm")).unwrap_or_default();
        let times_of = read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let nanos: u64 = times_of.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
        *times.entry(name.trim().to_owned()).or_insert(0) += nanos;
    }
    times
}

/// The most memory that this process ever had, MiB.
fn peak_mib() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// Times from its start on.
struct Clock {
    wall: Instant,
    threads: BTreeMap<String, u64>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), threads: threads() }
    }

    fn print(&self, phase: &str, rows: usize) {
        let wall = self.wall.elapsed();
        let spent = threads().into_iter().map(|(name, nanos)| {
            let before = self.threads.get(&name).copied().unwrap_or(0);
            (name, nanos.saturating_sub(before) as f64 / rows as f64)
        });
        let spent: Vec<(String, f64)> = spent.filter(|(_, nanos)| *nanos >= 0.5).collect();
        let total: f64 = spent.iter().map(|(_, nanos)| nanos).sum();
        println!("{phase}: {total:.0} ns of processor a row, {:.0} rows/s", rows as f64 / wall.as_secs_f64());
        for (thread, nanos) in spent {
            println!("    {thread:<16} {nanos:>6.0} ns");
        }
    }
}

fn create(db: &Db, name: &str) -> Result<Table, Box<dyn Error>> {
    let schema = Schema::table(name)
        .partition_key("sensor", CqlType::Text)
        .partition_key("day", CqlType::Date)
        .clustering_desc("ts", CqlType::Timestamp)
        .column("temperature", CqlType::Double)
        .column("humidity", CqlType::Double)
        .column("pressure", CqlType::Double)
        .column("status", CqlType::Int)
        .time_windows(Duration::from_secs(86_400));
    Ok(db.create_table(schema)?)
}

fn run(dir: &Path, rows: usize) -> Outcome {
    let db = Db::open(dir)?;
    let table = create(&db, "batches")?;
    let schema = table.schema();
    let mut batch = db.batch();

    let clock = Clock::start();
    readings(rows, |r| {
        batch.insert(&schema, &row![r.sensor, r.day, r.at, r.temperature, r.humidity, 1013.25, 0])?;
        if batch.len() == BATCH {
            batch.clear();
        }
        Ok(())
    })?;
    clock.print("encode", rows);
    batch.clear();

    let clock = Clock::start();
    readings(rows, |r| {
        batch.insert(&schema, &row![r.sensor, r.day, r.at, r.temperature, r.humidity, 1013.25, 0])?;
        if batch.len() == BATCH {
            db.write(&mut batch)?;
        }
        Ok(())
    })?;
    db.write(&mut batch)?;
    clock.print("batches, written", rows);
    db.flush()?;
    clock.print("batches, flushed", rows);
    println!(
        "{} rows in {} files, {:.2} bytes a row",
        table.stats().rows,
        table.stats().files,
        table.stats().bytes_per_row
    );
    println!("peak memory {} MiB", peak_mib());

    let table = create(&db, "appender")?;
    let clock = Clock::start();
    let mut appender = table.appender();
    readings(rows, |r| {
        Ok(appender.append(&row![r.sensor, r.day, r.at, r.temperature, r.humidity, 1013.25, 0])?)
    })?;
    appender.finish()?;
    clock.print("appender, written", rows);
    db.flush()?;
    clock.print("appender, flushed", rows);
    println!("peak memory {} MiB", peak_mib());
    db.close()?;
    Ok(())
}

fn main() -> Outcome {
    let rows = std::env::args().nth(1).map_or(Ok(2_000_000), |rows| rows.parse())?;
    let dir = std::env::temp_dir().join(format!("skep-write-speed-{}", std::process::id()));
    let done = run(&dir, rows);
    std::fs::remove_dir_all(&dir)?;
    done
}
