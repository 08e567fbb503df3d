//! Years in a moment: a clock of your own, for tests, simulations and replays. `cargo run --example manual_clock`.

use skep::{CqlType, Db, ManualClock, Schema, Timestamp, With, row};
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("skep-clock-{}", std::process::id()));
    let start = Timestamp::parse("2026-01-01 00:00Z")?;
    let clock = ManualClock::new(start.as_millis() * 1000); // microseconds
    // Without background threads everything happens inside of calls, so that a test is the same each time.
    let db = Db::builder(&dir).clock(Arc::new(clock.clone())).background(false).open()?;
    let sessions = db.create_table(
        Schema::table("sessions")
            .partition_key("user", CqlType::Text)
            .column("token", CqlType::Text)
            .ttl(Duration::from_secs(3600))
            .gc_grace(Duration::ZERO), // expired rows need not be kept for other replicas
    )?;
    let there = |user: &str| Ok::<bool, skep::Error>(sessions.get(&row![user])?.is_some());

    sessions.insert(&row!["maja", "m-1"])?; // lives an hour, as the table says
    sessions.insert_with(&row!["willi", "w-1"], With::DEFAULT.ttl(Duration::from_secs(60)))?;
    clock.advance(Duration::from_secs(59));
    assert!(there("maja")? && there("willi")?);
    clock.advance(Duration::from_secs(1));
    assert!(there("maja")? && !there("willi")?, "gone at the second, with nothing done");

    db.flush()?;
    println!("{} files hold both rows", sessions.stats().files);
    clock.advance(Duration::from_secs(3600));
    db.tick()?; // what the threads would do: here, drop the file in which everything has expired
    println!("{} files an hour later", sessions.stats().files);
    assert_eq!(sessions.stats().files, 0);

    // A write of an old time loses against a newer one, whatever comes first.
    sessions.insert(&row!["flip", "new"])?;
    sessions.insert_with(&row!["flip", "old"], With::DEFAULT.timestamp(db.now_micros() - 1_000_000))?;
    let row = sessions.get(&row!["flip"])?.expect("written above");
    assert_eq!(row.get::<&str>("token")?, "new");

    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
