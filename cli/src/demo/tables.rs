//! The tables of the tour, and the one line each that says why they look as they do.

use super::hives::{ALERT, Reading};
use super::show::Show;
use crate::failure::Outcome;
use skep::{CqlType, Db, Schema, Table, TableSchema, Timestamp, WriteBatch, row};
use std::sync::Arc;
use std::time::Duration;

/// One day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);
/// How many days a reading lives.
pub(super) const TTL_DAYS: i64 = 90;

/// The tables, and the hives' names.
pub(super) struct Apiary {
    pub(super) readings: Table,
    pub(super) alerts: Table,
    pub(super) names: Vec<String>,
    /// Their definitions, which no one changes here: asked for once instead of for each row.
    schemas: [Arc<TableSchema>; 2],
}

impl Apiary {
    /// Creates the tables for `hives` hives.
    pub(super) fn create(db: &Db, hives: usize) -> Outcome<Self> {
        let (readings, alerts) = (db.create_table(readings())?, db.create_table(alerts())?);
        Ok(Self {
            schemas: [readings.schema(), alerts.schema()],
            readings,
            alerts,
            names: (0..hives).map(|n| format!("hive-{n:04}")).collect(),
        })
    }

    /// Adds a reading to a batch; one of high humidity goes into both tables, and the batch keeps them together.
    pub(super) fn put(&self, batch: &mut WriteBatch, reading: &Reading) -> Outcome {
        let at = Timestamp::from_millis(reading.at_ms);
        let (day, name) = (at.date(), self.names[reading.hive].as_str());
        let (temperature, humidity) = (reading.temperature as f64 / 100.0, reading.humidity as f64 / 100.0);
        batch.insert(&self.schemas[0], &row![name, day, at, temperature, humidity, reading.status])?;
        if reading.humidity > ALERT {
            batch.insert(&self.schemas[1], &row![day, at, name, humidity])?;
        }
        Ok(())
    }
}

/// The readings: what is asked for together lies together.
pub(super) fn readings() -> Schema {
    let ttl = u32::try_from(TTL_DAYS).unwrap_or_default();
    Schema::table("hive_measurements")
        .partition_key("hive_id", CqlType::Text)
        .partition_key("day_bucket", CqlType::Date)
        .clustering_desc("event_ts", CqlType::Timestamp)
        .column("temperature_c", CqlType::Double)
        .column("humidity_pct", CqlType::Double)
        .column("sensor_status", CqlType::Text)
        .ttl(DAY * ttl)
        .gc_grace(Duration::ZERO)
        .time_windows(DAY)
}

/// The same data a second time, in the order of another question.
fn alerts() -> Schema {
    let ttl = u32::try_from(TTL_DAYS).unwrap_or_default();
    Schema::table("humidity_alerts")
        .partition_key("day_bucket", CqlType::Date)
        .clustering_desc("event_ts", CqlType::Timestamp)
        .clustering("hive_id", CqlType::Text)
        .column("humidity_pct", CqlType::Double)
        .ttl(DAY * ttl)
        .gc_grace(Duration::ZERO)
        .time_windows(DAY)
}

/// Tells what was created and why.
pub(super) fn explain(show: &Show) -> Outcome {
    show.lines(&[
        "hive_measurements (hive_id, day_bucket, event_ts, temperature_c, humidity_pct, sensor_status)",
        "  PRIMARY KEY ((hive_id, day_bucket), event_ts)   one hive's day is one partition: 1440 rows, never more",
        "  CLUSTERING ORDER BY (event_ts DESC)             newest first on disk: \"the latest 100\" is the first 100",
        "  default_time_to_live = 90 days                  nobody deletes readings one by one",
        "  TimeWindowCompactionStrategy, 1 DAYS            files hold one day each, so a day expires as whole files",
        "  gc_grace_seconds = 0                            one machine: no replica could bring deleted rows back",
        "humidity_alerts (day_bucket, event_ts, hive_id, humidity_pct)",
        "  PRIMARY KEY ((day_bucket), event_ts, hive_id)   \"which hives were above 80 % in the last hour?\" is another",
        "                                                  question, so it gets its own table, written in the same batch",
    ])
}
