//! Two tables that never disagree, and a reader that sees one moment. `cargo run --example batch_and_snapshot`.

use skep::{CqlType, Db, Schema, WriteBatch, row};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("skep-batch-{}", std::process::id()));
    let db = Db::open(&dir)?;
    // One table for each question: "whom does Maja follow?" and "who follows Willi?".
    let following = db.create_table(
        Schema::table("following").partition_key("who", CqlType::Text).clustering("whom", CqlType::Text),
    )?;
    let followers = db.create_table(
        Schema::table("followers").partition_key("whom", CqlType::Text).clustering("who", CqlType::Text),
    )?;

    // Both rows or none, also if the power fails in between; and readers see them together.
    let mut batch = WriteBatch::new();
    for (who, whom) in [("maja", "willi"), ("maja", "flip"), ("flip", "willi")] {
        batch.insert(&following, &row![who, whom])?;
        batch.insert(&followers, &row![whom, who])?;
    }
    db.write(&mut batch)?; // leaves the batch empty, to be filled again

    // A snapshot stands still, whatever is written meanwhile.
    let before = db.snapshot();
    batch.insert(&following, &row!["willi", "maja"])?;
    batch.insert(&followers, &row!["maja", "willi"])?;
    db.write(&mut batch)?;

    let names =
        |table: skep::Select| -> skep::Result<Vec<String>> { table.rows()?.map(|row| row?.get(1)).collect() };
    println!("Willi's followers: {:?}", names(followers.slice(&row!["willi"], ..))?);
    assert_eq!(names(followers.slice(&row!["willi"], ..))?, ["flip", "maja"]);
    assert_eq!(names(followers.slice(&row!["maja"], ..))?, ["willi"]);
    assert!(names(before.table("followers")?.slice(&row!["maja"], ..))?.is_empty());

    // A snapshot on disk: hard links, so that it takes no time and no space. It is a store of its own.
    db.create_snapshot("friends")?;
    db.truncate("following")?;
    let friends = Db::open_snapshot(&dir, "friends")?;
    println!("{} rows in the snapshot", friends.table("following")?.scan().rows()?.count());
    assert_eq!(friends.table("following")?.scan().rows()?.count(), 4);

    friends.close()?;
    db.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
