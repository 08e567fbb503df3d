//! Many rows, fast, and an aggregate over columns. `cargo run --release --example bulk_ingest`.

use skep::{CqlType, Db, Schema, SyncMode, Timestamp, row};
use std::time::{Duration, Instant};

const ROWS: i64 = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("skep-bulk-{}", std::process::id()));
    // The input can be read again, so that this store needs no log. (What is acknowledged is then safe after `flush`.)
    let db = Db::builder(&dir).sync(SyncMode::Off).open()?;
    let readings = db.create_table(
        Schema::table("readings")
            .partition_key("sensor", CqlType::Int)
            .clustering("ts", CqlType::Timestamp)
            .column("value", CqlType::Double),
    )?;

    // The appender collects rows into batches. Partition by partition, in clustering order, is the fastest.
    let started = Instant::now();
    let mut appender = readings.appender();
    for n in 0..ROWS {
        let ts = Timestamp::from_millis(1_781_222_400_000 + n % 20_000 * 1000);
        appender.append(&row![(n / 20_000) as i32, ts, (n * 7919 % 1000) as f64])?;
    }
    let rows = appender.finish()?;
    db.flush()?; // to files
    db.wait_idle(Duration::from_secs(60))?; // and until compaction has nothing left to do
    println!("{rows} rows in {:?}", started.elapsed());
    let stats = readings.stats();
    println!("{} files, {:.1} bytes a row", stats.files, stats.bytes_per_row);

    // Totals: of whole columns, or of the index alone where it suffices.
    println!("the average is {:?}", readings.scan().average("value")?);
    assert_eq!((readings.scan().count()?, readings.scan().sum("value")?), (ROWS as u64, 499.5 * ROWS as f64));

    // Up to 1024 rows at once for sums of your own: a column of numbers is a slice.
    let mut squares = 0.0;
    for batch in readings.slice(&row![3], ..).columns(&["value"]).batches()? {
        let batch = batch?;
        let values = batch.column(0).and_then(|column| column.doubles(batch.len()));
        let (values, _reversed) = values.expect("every row has a value");
        squares += values.iter().map(|value| value * value).sum::<f64>();
    }
    println!("the root of the mean square of sensor 3 is {:.1}", (squares / 20_000.0).sqrt());

    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
