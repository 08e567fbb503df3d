//! Sensors by the day: buckets, the latest 100, data that goes by itself. `cargo run --example sensors`.

use skep::{CqlType, Db, Schema, Timestamp, row};
use std::time::{Duration, SystemTime};

const MINUTE: i64 = 60_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("skep-sensors-{}", std::process::id()));
    let db = Db::open(&dir)?;
    let day_long = Duration::from_secs(86_400);
    let readings = db.create_table(
        Schema::table("readings")
            .partition_key("sensor", CqlType::Text) // a partition is one day of one sensor,
            .partition_key("day", CqlType::Date) //    so that none grows without bound
            .clustering_desc("ts", CqlType::Timestamp) // newest first
            .column("temperature", CqlType::Double)
            .ttl(90 * day_long) // a row lives 90 days,
            .time_windows(day_long), // in files of one day, which are dropped whole
    )?;

    // Two days of a reading a minute, up to now.
    let now = Timestamp::from(SystemTime::now()).as_millis();
    for minute in (0..2 * 1440).rev() {
        let ts = Timestamp::from_millis(now - minute * MINUTE);
        readings.insert(&row!["hive-7", ts.date(), ts, 35.0 + (minute % 60) as f64 / 100.0])?;
    }

    // The latest 100, today's and, shortly after midnight, yesterday's: buckets oldest first, rows newest first.
    let today = Timestamp::from_millis(now).date();
    let buckets = || (today - 2).through(today).map(|day| row!["hive-7", day]);
    let latest: Vec<_> =
        readings.buckets(buckets(), ..).newest_first().limit(100).rows()?.collect::<Result<_, _>>()?;
    println!("{} rows, the newest of {}", latest.len(), latest[0].get::<Timestamp>("ts")?);
    assert_eq!((latest.len(), latest[0].get::<Timestamp>("ts")?.as_millis()), (100, now));

    // The last 48 hours over three buckets.
    let since = Timestamp::from_millis(now - 2 * 1440 * MINUTE);
    let rows = readings.buckets(buckets(), since..).newest_first().rows()?.count();
    println!("{rows} rows in the last 48 hours");
    assert_eq!(rows, 2 * 1440);

    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
