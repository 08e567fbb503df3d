//! skep, through its public API: the table `readings`, newest row first, in time windows of one day.
//!
//! The store runs on a clock of its own that follows the rows: a batch arrives 250 to 1000 us after its newest row was
//! sampled. Rows live seven days from the second of their sample: the table's default TTL, and for rows that come in
//! late over midnight what is left of it, so that one moment separates the older day from the younger one. Expiry is
//! that moment: W7 moves the clock there and lets the store look for files that it can delete.
//!
//! `skep` writes atomic batches, `skep-appender` the bulk path, whose batches are the appender's own.

use crate::data::{self, DAY_MS, MIDNIGHT, Rng, Row};
use crate::engine::{Config, Durability, Engine};
use skep::{Appender, CqlType, Date, Db, ManualClock, Options, RowRef, Schema, Select, SyncMode, Table};
use skep::{Timestamp, With, WriteBatch, row};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
const TTL: Duration = Duration::from_secs(7 * 86_400);
/// Longest wait for background work.
const PATIENCE: Duration = Duration::from_secs(600);
/// Last second of the older day.
const LAST_SECOND: i64 = MIDNIGHT / 1000 - 1;

struct Skep {
    db: Db,
    readings: Table,
    clock: ManualClock,
    /// Newest arrival so far, micros: the clock never goes back.
    arrived: AtomicI64,
    jitter: Mutex<Rng>,
    batches: Mutex<Vec<WriteBatch>>,
    appender: Option<Mutex<Option<Appender>>>,
    places: Places,
}

/// Where the columns stand in a row that was read.
struct Places {
    ts: usize,
    temperature: usize,
    humidity: usize,
    pressure: usize,
    status: usize,
}

impl Places {
    fn of(table: &Table) -> Self {
        let schema = table.schema();
        let place = |name: &str| schema.declared().position(|column| column.name == name).unwrap();
        Self {
            ts: place("ts"),
            temperature: place("temperature"),
            humidity: place("humidity"),
            pressure: place("pressure"),
            status: place("status"),
        }
    }

    fn row(&self, sensor: u32, row: RowRef<'_>) -> Row {
        Row {
            sensor,
            ts: row.get::<Timestamp>(self.ts).unwrap().as_millis(),
            temperature: row.get(self.temperature).unwrap(),
            humidity: row.get(self.humidity).unwrap(),
            pressure: row.get(self.pressure).unwrap(),
            status: row.get(self.status).unwrap(),
        }
    }
}

pub fn open_batches(dir: &Path, config: Config) -> Box<dyn Engine> {
    Box::new(open(dir, config))
}

pub fn open_appender(dir: &Path, config: Config) -> Box<dyn Engine> {
    let mut skep = open(dir, config);
    skep.appender = Some(Mutex::new(None));
    Box::new(skep)
}

fn open(dir: &Path, config: Config) -> Skep {
    // A fresh store begins before the first row, a reopened one after the last.
    let start = if dir.exists() { MIDNIGHT + DAY_MS } else { MIDNIGHT - DAY_MS } * 1000;
    let clock = ManualClock::new(start);
    let options = Options {
        sync: match config.durability {
            Durability::Os => SyncMode::Periodic(Duration::from_secs(1)),
            Durability::Fsync => SyncMode::Batch,
        },
        memtable_bytes: config.write_buffer_bytes,
        cache_bytes: config.cache_bytes,
        // The clock runs a thousand times faster than the rows come; the others flush by size alone, too.
        memtable_age: None,
        ..Options::default()
    };
    std::fs::create_dir_all(dir).unwrap();
    let db = Db::builder(dir).options(options).clock(Arc::new(clock.clone())).open().unwrap();
    let schema = Schema::table("readings")
        .partition_key("sensor_id", CqlType::Text)
        .partition_key("day", CqlType::Date)
        .clustering_desc("ts", CqlType::Timestamp)
        .column("temperature", CqlType::Double)
        .column("humidity", CqlType::Double)
        .column("pressure", CqlType::Double)
        .column("status", CqlType::Int)
        .ttl(TTL)
        // Nothing is deleted by hand and there is no other replica to tell.
        .gc_grace(Duration::ZERO)
        .time_windows(DAY)
        .if_not_exists();
    let readings = db.create_table(schema).unwrap();
    let places = Places::of(&readings);
    Skep {
        db,
        readings,
        clock,
        arrived: AtomicI64::new(start),
        jitter: Mutex::new(Rng(8)),
        batches: Mutex::default(),
        appender: None,
        places,
    }
}

fn text(id: &[u8; 11]) -> &str {
    std::str::from_utf8(id).unwrap()
}

/// The date `day` days after 1970.
fn date(day: u32) -> Date {
    Date::from_days_since_epoch(day as i32)
}

impl Skep {
    /// Moves the clock to the arrival of `rows`; its second.
    fn arrive(&self, rows: &[Row]) -> i64 {
        let newest = rows.iter().map(|row| row.ts).max().unwrap_or_default();
        let delay = 250 + self.jitter.lock().unwrap().below(751) as i64;
        // A pause of a second at midnight: a moment when one day has expired and the other has not.
        let pause = if newest < MIDNIGHT { 0 } else { 1_000_000 };
        let arrival = newest * 1000 + delay + pause;
        let now = self.arrived.fetch_max(arrival, Ordering::Relaxed).max(arrival);
        self.clock.set_micros(now);
        now.div_euclid(1_000_000)
    }

    /// What is left of the life of a row of the older day that arrives in second `now` of the younger one.
    fn late(row: &Row, now: i64) -> Option<With> {
        let late = now - LAST_SECOND;
        let left = || TTL - Duration::from_secs(late as u64);
        (row.ts < MIDNIGHT && late > 0).then(|| With::DEFAULT.ttl(left()))
    }

    fn append(&self, appender: &Mutex<Option<Appender>>, rows: &[Row]) {
        let mut appender = appender.lock().unwrap();
        let appender = appender.get_or_insert_with(|| self.readings.appender());
        // TTLs count from the commit: what belongs to the older day is committed in it.
        let before = self.arrived.load(Ordering::Relaxed);
        if before < MIDNIGHT * 1000 && rows.iter().any(|row| row.ts >= MIDNIGHT) {
            appender.commit().unwrap();
        }
        let now = self.arrive(rows);
        for r in rows {
            let id = data::sensor_id(r.sensor);
            let ts = Timestamp::from_millis(r.ts);
            let args = row![text(&id), date(r.day()), ts, r.temperature, r.humidity, r.pressure, r.status];
            match Self::late(r, now) {
                Some(with) => {
                    appender.append_with(&args, with).unwrap();
                    appender.commit().unwrap();
                }
                None => appender.append(&args).unwrap(),
            }
        }
    }

    /// Hands every row of `select` to `visit`.
    fn each(&self, select: Select, sensor: u32, visit: &mut dyn FnMut(&Row)) {
        for batch in select.batches().unwrap() {
            for row in batch.unwrap().iter() {
                visit(&self.places.row(sensor, row));
            }
        }
    }

    /// Row count and sum of `temperature`, out of whole columns.
    fn add_up(&self, select: Select) -> (u64, f64) {
        let (mut rows, mut sum) = (0, 0.0);
        for batch in select.batches().unwrap() {
            let batch = batch.unwrap();
            rows += batch.len() as u64;
            let column = batch.column_by_name("temperature").unwrap();
            sum += column.sum(batch.len()).unwrap_or_else(|| {
                // Rows without a value do not occur; were they to, the values stand row by row.
                batch.rows().map(|row| row.get::<f64>("temperature").unwrap()).sum()
            });
        }
        (rows, sum)
    }

    /// Hands in what the appender holds back.
    fn finish(&self) {
        if let Some(appender) = &self.appender
            && let Some(appender) = appender.lock().unwrap().take()
        {
            appender.finish().unwrap();
        }
    }
}

impl Engine for Skep {
    fn write(&self, rows: &[Row]) {
        if let Some(appender) = &self.appender {
            return self.append(appender, rows);
        }
        let now = self.arrive(rows);
        let mut batch = self.batches.lock().unwrap().pop().unwrap_or_default();
        let schema = self.readings.schema();
        for r in rows {
            let id = data::sensor_id(r.sensor);
            let ts = Timestamp::from_millis(r.ts);
            let args = row![text(&id), date(r.day()), ts, r.temperature, r.humidity, r.pressure, r.status];
            let with = Self::late(r, now).unwrap_or(With::DEFAULT);
            batch.insert_with(&schema, &args, with).unwrap();
        }
        self.db.write(&mut batch).unwrap();
        batch.clear();
        self.batches.lock().unwrap().push(batch);
    }

    fn settle(&mut self) {
        self.finish();
        self.db.flush().unwrap();
        self.db.wait_idle(PATIENCE).unwrap();
    }

    fn latest(&self, sensor: u32, day: u32, limit: usize, out: &mut Vec<Row>) {
        let id = data::sensor_id(sensor);
        let slice = self.readings.slice(&row![text(&id), date(day)], ..).limit(limit as u64);
        self.each(slice, sensor, &mut |row| out.push(*row));
    }

    fn range(&self, sensor: u32, from: i64, to: i64, visit: &mut dyn FnMut(&Row)) {
        let id = data::sensor_id(sensor);
        let times = Timestamp::from_millis(from)..Timestamp::from_millis(to);
        self.each(self.readings.slice(&row![text(&id), date(data::day_of(from))], times), sensor, visit);
    }

    fn get(&self, sensor: u32, ts: i64) -> Option<Row> {
        let id = data::sensor_id(sensor);
        let key = row![text(&id), date(data::day_of(ts)), Timestamp::from_millis(ts)];
        self.readings.get(&key).unwrap().map(|row| self.places.row(sensor, row.as_ref()))
    }

    fn range_columns(&self, sensor: u32, from: i64, to: i64) -> Option<(u64, f64)> {
        let id = data::sensor_id(sensor);
        let times = Timestamp::from_millis(from)..Timestamp::from_millis(to);
        Some(self.add_up(self.readings.slice(&row![text(&id), date(data::day_of(from))], times)))
    }

    fn sum(&self) -> (u64, f64) {
        let totals = self.readings.scan().totals(&["temperature"]).unwrap();
        let (_, _, sum) = totals.columns[0].floats.unwrap();
        (totals.rows, sum)
    }

    fn sum_decoded(&self) -> Option<(u64, f64)> {
        Some(self.add_up(self.readings.scan().columns(&["temperature"])))
    }

    fn expire(&mut self, _sensors: &[u32], cutoff: i64) {
        let moment = (cutoff / 1000 + TTL.as_secs() as i64) * 1_000_000;
        self.arrived.store(moment, Ordering::Relaxed);
        self.clock.set_micros(moment);
    }

    fn reclaim(&mut self) {
        self.db.tick().unwrap();
        self.db.wait_idle(PATIENCE).unwrap();
    }

    fn close(self: Box<Self>) {
        self.finish();
        self.db.close().unwrap();
    }
}
