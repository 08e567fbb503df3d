//! Times reads through [`Table`], as a program makes them, over two days of 200 sensors; then a compaction of two files whose rows
//! alternate. Processor time of this thread and of the process, so that a busy machine does not count.
//!
//! `cargo run --release -p skep-engine --example table_speed [part of a name]`

#![allow(
    clippy::disallowed_methods,
    reason = "a measuring program reads the processor time of its thread, and cleans up"
)]

use skep_engine::{CqlType, Date, Db, Schema, Table, Timestamp, row};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SENSORS: usize = 200;
const ROWS: i64 = 2_000_000;
const DAY_MILLIS: i64 = 86_400_000;
const FIRST_DAY: i32 = 20_500;
const PER_PARTITION: i64 = ROWS / SENSORS as i64 / 2;
const STEP_MILLIS: i64 = DAY_MILLIS / PER_PARTITION;

fn schema(name: &str) -> Schema {
    Schema::table(name)
        .partition_key("sensor", CqlType::Text)
        .partition_key("day", CqlType::Date)
        .clustering_desc("ts", CqlType::Timestamp)
        .column("temperature", CqlType::Double)
        .column("humidity", CqlType::Double)
        .column("pressure", CqlType::Double)
        .column("status", CqlType::Int)
}

fn millis(day: i32, n: i64) -> i64 {
    i64::from(FIRST_DAY + day) * DAY_MILLIS + n * STEP_MILLIS
}

/// Nanoseconds that this thread has run.
fn thread_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

/// Runs `work`, which returns how many things it did, for half a second; prints nanoseconds of this thread for each.
fn time(what: &str, mut work: impl FnMut() -> Result<u64>) -> Result<()> {
    if std::env::args().nth(1).is_some_and(|part| !what.contains(&part)) {
        return Ok(());
    }
    for _ in 0..20_000 {
        if work()? > 50 {
            break;
        }
    }
    let (start, cpu, mut count) = (Instant::now(), thread_nanos(), 0);
    while start.elapsed() < Duration::from_millis(700) {
        for _ in 0..16 {
            count += work()?;
        }
    }
    let nanos = (thread_nanos() - cpu) as f64 / count as f64;
    println!("{what:44} {nanos:10.1} ns of CPU   {:8.3} M/s", 1000.0 / nanos);
    Ok(())
}

fn fill(db: &Db, table: &Table, ids: &[String], places: impl Iterator<Item = i64> + Clone) -> Result<()> {
    let (schema, mut batch, mut x) = (table.schema(), db.batch(), 7u64);
    for day in 0..2 {
        for n in places.clone() {
            for id in ids {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let value = 20.0 + ((x >> 40) % 1000) as f64 / 100.0;
                let date = Date::from_days_since_epoch(FIRST_DAY + day);
                let ts = Timestamp::from_millis(millis(day, n));
                batch.insert(
                    &schema,
                    &row![id.as_str(), date, ts, value, value * 2.0, 1013.25, (x >> 60) as i32],
                )?;
                if batch.len() == 100 {
                    db.write(&mut batch)?;
                }
            }
        }
    }
    db.write(&mut batch)?;
    db.flush()?;
    Ok(())
}

fn main() -> Result<()> {
    let dir = std::env::temp_dir().join("skep-table-speed");
    let _ = std::fs::remove_dir_all(&dir);
    let db = Db::builder(&dir).cache_bytes(512 << 20).background(false).memtable_bytes(256 << 20).open()?;
    let ids: Vec<String> = (0..SENSORS).map(|i| format!("sensor-{i:04}")).collect();
    let table = db.create_table(schema("readings").time_windows(Duration::from_secs(86400)))?;
    fill(&db, &table, &ids, 0..PER_PARTITION)?;
    table.compact()?;
    println!("{:?}", table.stats());
    reads(&table, &ids)?;
    merge(&db, &ids)?;
    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn reads(table: &Table, ids: &[String]) -> Result<()> {
    let mut turn = 0i64;
    let mut next = || {
        turn += 7919;
        let day = (turn / 3 % 2) as i32;
        (ids[turn as usize % ids.len()].as_str(), day, turn / 5 % PER_PARTITION)
    };
    let date = |day: i32| Date::from_days_since_epoch(FIRST_DAY + day);
    let at = |day, n| Timestamp::from_millis(millis(day, n));
    time("point read", || {
        let (id, day, n) = next();
        let row = table.get(&row![id, date(day), at(day, n)])?.ok_or("a row is missing")?;
        black_box(row.get::<f64>("temperature")?);
        Ok(1)
    })?;
    time("point read, absent row", || {
        let (id, day, n) = next();
        black_box(table.get(&row![id, date(day), Timestamp::from_millis(millis(day, n) + 1)])?.is_none());
        Ok(1)
    })?;
    time("point read, absent partition", || {
        let (_, day, n) = next();
        black_box(table.get(&row!["sensor-none", date(day + 5), at(day, n)])?.is_none());
        Ok(1)
    })?;
    time("latest 100 as a batch", || {
        let (id, day, _) = next();
        let mut sum = 0.0;
        for batch in table.slice(&row![id, date(day)], ..).limit(100).batches()? {
            let batch = batch?;
            sum += batch.column(3).and_then(|c| c.doubles(batch.len())).map_or(0.0, |(v, _)| v.iter().sum());
        }
        black_box(sum);
        Ok(1)
    })?;
    time("latest 100 as rows", || {
        let (id, day, _) = next();
        let mut sum = 0.0;
        for row in table.slice(&row![id, date(day)], ..).limit(100).rows()? {
            sum += row?.get::<f64>(3)?;
        }
        black_box(sum);
        Ok(1)
    })?;
    time("one hour as rows, 5 values, a row", || {
        let (id, day, n) = next();
        let (from, to) = (at(day, n), at(day, n + PER_PARTITION / 24));
        let (mut rows, mut sum) = (0, 0.0);
        for row in table.slice(&row![id, date(day)], from..to).rows()? {
            let row = row?;
            sum += row.get::<f64>(3)? + row.get::<f64>(4)? + row.get::<f64>(5)?;
            black_box((row.get::<Timestamp>(2)?, row.get::<i32>(6)?));
            rows += 1;
        }
        black_box(sum);
        Ok(rows)
    })?;
    time("one hour as columns, a row", || {
        let (id, day, n) = next();
        let (from, to) = (at(day, n), at(day, n + PER_PARTITION / 24));
        let (mut rows, mut sum) = (0, 0.0);
        for batch in table.slice(&row![id, date(day)], from..to).batches()? {
            let batch = batch?;
            for column in 3..6 {
                let doubles = batch.column(column).and_then(|c| c.doubles(batch.len()));
                sum += doubles.map_or(0.0, |(values, _)| values.iter().sum::<f64>());
            }
            rows += batch.len() as u64;
        }
        black_box(sum);
        Ok(rows)
    })
}

/// Two files that have every other row each, then by runs.
fn merge(db: &Db, ids: &[String]) -> Result<()> {
    for (name, run) in [("merge_alternating", 1), ("merge_runs_of_10", 10)] {
        if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
            continue;
        }
        let table = db.create_table(schema(name))?;
        fill(db, &table, ids, (0..PER_PARTITION).filter(move |n| n / run % 2 == 0))?;
        fill(db, &table, ids, (0..PER_PARTITION).filter(move |n| n / run % 2 == 1))?;
        let (start, cpu) = (Instant::now(), thread_nanos());
        table.compact()?;
        let nanos = (thread_nanos() - cpu) as f64 / ROWS as f64;
        println!(
            "{name:44} {nanos:10.1} ns of CPU a row   {:8.3} M/s   (wall {:?}, {} files)",
            1000.0 / nanos,
            start.elapsed(),
            table.stats().files
        );
    }
    Ok(())
}
