//! Throughput of the write path.
use skep_engine::*;
use std::time::Instant;
fn main() {
    let dir = std::env::temp_dir().join("skep-smoke");
    let _ = std::fs::remove_dir_all(&dir);
    let rows: usize = std::env::args().nth(1).map_or(2_000_000, |s| s.parse().unwrap());
    let db = Db::open(&dir).unwrap();
    let t = db
        .create_table(
            Schema::table("readings")
                .partition_key("sensor", CqlType::Text)
                .partition_key("day", CqlType::Date)
                .clustering_desc("ts", CqlType::Timestamp)
                .column("temperature", CqlType::Double)
                .column("humidity", CqlType::Double)
                .column("pressure", CqlType::Double)
                .column("status", CqlType::Int)
                .time_windows(std::time::Duration::from_secs(86400)),
        )
        .unwrap();
    let ids: Vec<String> = (0..200).map(|i| format!("sensor-{i:04}")).collect();
    let schema = t.schema();
    let start = Instant::now();
    let mut batch = db.batch();
    let base = 1_772_323_200_000i64;
    let mut x = 7u64;
    for i in 0..rows {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let ts = base + (i as i64 / 200) * 1000 + (x >> 62) as i64;
        let day = model::time::Date::from_days_since_epoch((ts / 86_400_000) as i32);
        let v = 20.0 + ((x >> 40) % 100) as f64 / 100.0;
        batch
            .insert(
                &schema,
                &row![
                    ids[i % 200].as_str(),
                    day,
                    model::time::Timestamp::from_millis(ts),
                    (v * 100.0).round() / 100.0,
                    55.25,
                    1013.25,
                    0
                ],
            )
            .unwrap();
        if batch.len() == 100 {
            db.write(&mut batch).unwrap();
        }
    }
    db.write(&mut batch).unwrap();
    let loaded = start.elapsed();
    db.flush().unwrap();
    let total = start.elapsed();
    let s = t.stats();
    println!(
        "{rows} rows: load {:.0} rows/s, flushed {:.0} rows/s; {} files {} rows {:.2} B/row",
        rows as f64 / loaded.as_secs_f64(),
        rows as f64 / total.as_secs_f64(),
        s.files,
        s.rows,
        s.bytes_per_row
    );
    println!("{:?}", db.stats());
    db.close().unwrap();
    let start = Instant::now();
    let db = Db::open(&dir).unwrap();
    println!("reopen {:?}; {:?}", start.elapsed(), db.table("readings").unwrap().stats());
    let r = db.verify().unwrap();
    println!("{r:?}");
}
