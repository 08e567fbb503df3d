//! A whole store of readings behind the public API, on a clock that follows the rows.

use crate::files::Directory;
use crate::fixture::{args, date};
use crate::readings::{Reading, START_MS, sensor_name};
use skep_engine::{CqlType, Db, ManualClock, Options, Schema, Table, WriteBatch};
use skep_engine::{Date, Timestamp};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An open store with the table `readings`.
#[derive(Debug)]
pub struct Store {
    /// The store.
    pub db: Db,
    /// Its table.
    pub readings: Table,
    /// Its clock.
    pub clock: ManualClock,
    names: Vec<String>,
    batch: WriteBatch,
}

impl Store {
    /// Opens the store in `path` for sensors numbered below `sensors`.
    pub fn open(path: &Path, options: Options, sensors: u32) -> Self {
        let clock = ManualClock::new(START_MS * 1000);
        let db = Db::builder(path)
            .options(options)
            .clock(Arc::new(clock.clone()))
            .open()
            .expect("the store opens");
        let schema = Schema::table("readings")
            .partition_key("sensor", CqlType::Text)
            .partition_key("day", CqlType::Date)
            .clustering_desc("ts", CqlType::Timestamp)
            .column("temperature", CqlType::Double)
            .column("humidity", CqlType::Double)
            .column("pressure", CqlType::Double)
            .column("status", CqlType::Int)
            .time_windows(Duration::from_secs(86_400))
            .if_not_exists();
        let readings = db.create_table(schema).expect("the definition is right");
        Self { db, readings, clock, names: (0..sensors).map(sensor_name).collect(), batch: WriteBatch::new() }
    }

    /// A fresh store in `directory` that holds `rows`, flushed.
    pub fn with_rows(directory: &Directory, options: Options, sensors: u32, rows: &[Reading]) -> Self {
        let mut store = Self::open(directory.path(), options, sensors);
        rows.chunks(100).for_each(|rows| store.write(rows));
        store.settle();
        store
    }

    /// The text id of a sensor.
    pub fn name(&self, sensor: u32) -> &str {
        &self.names[sensor as usize]
    }

    /// Lets the clock show a moment after the sample of `newest`.
    pub fn arrive(&self, newest: &Reading) {
        self.clock.set_micros(newest.ts * 1000 + 500);
    }

    /// Writes `rows` as one batch.
    pub fn write(&mut self, rows: &[Reading]) {
        let Some(newest) = rows.last() else { return };
        self.arrive(newest);
        let schema = self.readings.schema();
        for row in rows {
            self.batch
                .insert(&schema, &args(row, &self.names[row.sensor as usize]))
                .expect("the row is right");
        }
        self.db.write(&mut self.batch).expect("the store takes writes");
        self.batch.clear();
    }

    /// Waits until everything is in files and nothing is left to compact.
    pub fn settle(&self) {
        self.db.flush().expect("flushes succeed");
        self.db.wait_idle(Duration::from_secs(600)).expect("background work succeeds");
    }

    /// The partition that `row` is in, and its place there.
    pub fn place(&self, row: &Reading) -> (&str, Date, Timestamp) {
        (self.name(row.sensor), date(row), Timestamp::from_millis(row.ts))
    }
}
