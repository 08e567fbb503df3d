//! CQL in process: `cargo run --example cql`.

use skep::cql::{FromRow, Named};
use skep::{Db, OpenSession, Timestamp};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("skep-cql-{}", std::process::id()));
    let db = Db::open(&dir)?;
    let s = db.session()?;

    s.execute(
        "CREATE KEYSPACE IF NOT EXISTS apiary WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        (),
    )?;
    s.execute("USE apiary", ())?;
    s.execute(
        "CREATE TABLE readings (hive text, day date, ts timestamp, temperature double, tags set<text>,
             PRIMARY KEY ((hive, day), ts)) WITH CLUSTERING ORDER BY (ts DESC)",
        (),
    )?;

    // Prepared once, run often. `None` leaves a column alone, `skep::Null` deletes it.
    let insert =
        s.prepare("INSERT INTO readings (hive, day, ts, temperature) VALUES (?, ?, ?, ?) USING TTL 86400")?;
    let noon = Timestamp::parse("2026-06-12 12:00Z")?;
    let day = noon.date();
    for minute in 0..10i32 {
        let ts = Timestamp::from_millis(noon.as_millis() + i64::from(minute) * 60_000);
        let temperature = (minute != 3).then_some(34.0 + f64::from(minute) / 10.0);
        s.execute(&insert, ("H123", day, ts, temperature))?;
    }

    // Rows as tuples; a query reads as many as are taken.
    let q = s.prepare("SELECT ts, temperature FROM readings WHERE hive = ? AND day = ? LIMIT 3")?;
    for row in s.query(&q, ("H123", day))? {
        let (ts, temperature): (Timestamp, Option<f64>) = row?.into()?;
        println!("{ts} {temperature:?}");
    }

    // Named markers, rows of a type of one's own.
    let mean = "SELECT floor(ts, 5m) AS slot, avg(temperature) AS mean FROM readings
                WHERE hive = :hive AND day = :day GROUP BY hive, day, floor(ts, 5m)";
    for row in s.query(mean, Named(&[("hive", &"H123"), ("day", &day)]))? {
        let Mean { slot, mean } = row?.into()?;
        println!("{slot} {mean:.2}");
    }

    // A condition: it is only written if it holds.
    let first = s.execute(
        "INSERT INTO readings (hive, day, ts, tags) VALUES (?, ?, ?, ?) IF NOT EXISTS",
        ("H123", day, noon, vec!["swarm"]),
    )?;
    assert!(!first.applied());

    // An error says where.
    let text = "SELECT ts FROM readings WHERE hive = 'H123' AND";
    if let Err(error) = s.prepare(text) {
        println!("{}", error.render(text));
    }

    drop(s);
    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

struct Mean {
    slot: Timestamp,
    mean: f64,
}

impl FromRow for Mean {
    fn from_row(row: &skep::cql::Row) -> skep::cql::Result<Self> {
        Ok(Self { slot: row.get("slot")?, mean: row.get("mean")? })
    }
}
