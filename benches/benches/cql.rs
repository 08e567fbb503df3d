//! CQL over the engine's own calls: what parsing and preparing cost, and how much a prepared insert, slice or aggregate adds to the
//! engine's. Pairs of the same name (`.../engine`, `.../cql`) are what `docs/src/performance.md` compares.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::files::Directory;
use skep_benches::readings::Readings;
use skep_cql::syntax::parse;
use skep_cql::{OpenSession, Session};
use skep_engine::{CqlType, Date, Db, Schema, Table, Timestamp, row};
use std::hint::black_box;

const SENSORS: u32 = 20;
const ROWS: usize = 100_000;
const SLICE: usize = 100;

const INSERT: &str =
    "INSERT INTO readings (sensor, day, ts, temperature, humidity, status) VALUES (?, ?, ?, ?, ?, ?)";
const SELECT: &str =
    "SELECT ts, temperature, humidity, status FROM readings WHERE sensor = ? AND day = ? LIMIT 100";

struct Fixture {
    db: Db,
    table: Table,
    session: Session,
    day: Date,
    _directory: Directory,
}

fn fixture(name: &str) -> Fixture {
    let directory = Directory::new(name);
    let _ = std::fs::remove_dir_all(directory.path());
    let db = Db::open(directory.path()).expect("a new store opens");
    let schema = Schema::table("readings")
        .partition_key("sensor", CqlType::Int)
        .partition_key("day", CqlType::Date)
        .clustering_desc("ts", CqlType::Timestamp)
        .column("temperature", CqlType::Double)
        .column("humidity", CqlType::Double)
        .column("status", CqlType::Int);
    let table = db.create_table(schema).expect("a new table");
    let session = db.session().expect("a session");
    Fixture { db, table, session, day: Date::from_days_since_epoch(20_000), _directory: directory }
}

fn texts(c: &mut Criterion) {
    let fixture = fixture("cql-texts");
    let mut group = c.benchmark_group("cql");
    for (name, text) in [("insert", INSERT), ("select", SELECT)] {
        group.bench_function(format!("parse/{name}"), |b| {
            b.iter(|| parse(black_box(text)).expect("it is CQL"))
        });
        let mut n = 0;
        group.bench_function(format!("prepare/{name}"), |b| {
            b.iter(|| {
                // Another text each time: the session keeps the plans of those it has seen.
                n += 1;
                fixture.session.prepare(&format!("{text} /* {n} */")).expect("it fits the table")
            });
        });
    }
    group.finish();
}

fn writes(c: &mut Criterion) {
    let mut group = c.benchmark_group("cql");
    group.throughput(Throughput::Elements(1));
    for name in ["engine", "cql"] {
        let fixture = fixture(&format!("cql-insert-{name}"));
        let insert = fixture.session.prepare(INSERT).expect("it fits the table");
        let mut n: i64 = 0;
        group.bench_function(format!("insert/{name}"), |b| {
            b.iter(|| {
                n += 1;
                let (sensor, ts) = ((n % 20) as i32, Timestamp::from_millis(n));
                match name {
                    "engine" => {
                        let row = row![sensor, fixture.day, ts, 21.5, 60.25, 0];
                        fixture.table.insert(&row).expect("a write");
                    }
                    _ => {
                        let values = (sensor, fixture.day, ts, 21.5, 60.25, 0);
                        fixture.session.execute(&insert, values).expect("a write");
                    }
                }
            });
        });
    }
    group.finish();
}

fn reads(c: &mut Criterion) {
    let fixture = fixture("cql-reads");
    for reading in Readings::new(SENSORS, 0).take(ROWS) {
        let row = row![
            reading.sensor as i32,
            fixture.day,
            Timestamp::from_millis(reading.ts),
            reading.temperature,
            reading.humidity,
            reading.status
        ];
        fixture.table.insert(&row).expect("a write");
    }
    fixture.db.flush().expect("a flush");
    let mut group = c.benchmark_group("cql");
    group.throughput(Throughput::Elements(SLICE as u64));
    let columns = ["ts", "temperature", "humidity", "status"];
    let mut sensor = 0;
    let mut next = move || {
        sensor = (sensor + 1) % SENSORS as i32;
        sensor
    };
    group.bench_function("slice/engine", |b| {
        b.iter(|| {
            let slice =
                fixture.table.slice(&row![next(), fixture.day], ..).columns(&columns).limit(SLICE as u64);
            let mut sum = 0.0;
            for row in slice.rows().expect("a slice") {
                let row = row.expect("a row");
                let values: (Timestamp, f64, f64, i32) = (
                    row.get(0).expect("ts"),
                    row.get(1).expect("temperature"),
                    row.get(2).expect("humidity"),
                    row.get(3).expect("status"),
                );
                sum += black_box(values).1;
            }
            sum
        });
    });
    let select = fixture.session.prepare(SELECT).expect("it fits the table");
    group.bench_function("slice/cql", |b| {
        b.iter(|| {
            let mut sum = 0.0;
            for row in fixture.session.query(&select, (next(), fixture.day)).expect("a query") {
                let values: (Timestamp, f64, f64, i32) = row.expect("a row").into().expect("four values");
                sum += black_box(values).1;
            }
            sum
        });
    });
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("sum/engine", |b| {
        b.iter(|| fixture.table.scan().sum("temperature").expect("a sum"));
    });
    for (name, text) in [
        ("sum", "SELECT sum(temperature) FROM readings"),
        ("sum of a filter", "SELECT sum(temperature) FROM readings WHERE status = 0 ALLOW FILTERING"),
        ("groups", "SELECT sensor, day, avg(temperature), max(humidity) FROM readings GROUP BY sensor, day"),
    ] {
        let select = fixture.session.prepare(text).expect("it fits the table");
        group.bench_function(format!("{name}/cql"), |b| {
            b.iter(|| fixture.session.execute(&select, ()).expect("an aggregate"));
        });
    }
    group.finish();
}

criterion_group!(benches, texts, writes, reads);
criterion_main!(benches);
