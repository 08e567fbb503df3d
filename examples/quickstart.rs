//! A store, a table, a row: `cargo run --example quickstart`.

use skep::{CqlType, Date, Db, Schema, Timestamp, row};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("skep-quickstart-{}", std::process::id()));
    let db = Db::open(&dir)?; // a directory; it is made if it does not exist

    // Columns in the order in which `row![...]` gives their values.
    let readings = db.create_table(
        Schema::table("readings")
            .partition_key("sensor", CqlType::Text)
            .clustering("ts", CqlType::Timestamp)
            .column("temperature", CqlType::Double)
            .column("status", CqlType::Int),
    )?;

    let noon = Date::parse("2026-06-12")?.start().as_millis() + 12 * 3_600_000;
    for minute in 0..10i32 {
        let ts = Timestamp::from_millis(noon + i64::from(minute) * 60_000);
        readings.insert(&row!["attic", ts, 21.0 + f64::from(minute) / 10.0, 0])?;
    }

    // One row by its whole primary key.
    let key = row!["attic", Timestamp::from_millis(noon)];
    let first = readings.get(&key)?.expect("written above");
    println!("at noon: {} degrees", first.get::<f64>("temperature")?);

    // A range of one partition, in both directions.
    let from = Timestamp::parse("2026-06-12 12:05Z")?;
    for row in readings.slice(&row!["attic"], from..).reverse().limit(3).rows()? {
        let row = row?;
        println!("{} {:.1}", row.get::<Timestamp>("ts")?, row.get::<f64>("temperature")?);
    }

    readings.delete(&key)?;
    assert!(readings.get(&key)?.is_none());

    // What was written is still there after closing and opening again.
    db.close()?;
    let db = Db::open(&dir)?;
    let left = db.table("readings")?.scan().rows()?.count();
    println!("{left} rows after opening again");
    assert_eq!(left, 9);

    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
