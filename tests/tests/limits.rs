//! What a store must stand: rows that are overwritten for ever, schemas at the edge of what can be stored, endless waits.

use skep_engine::{CqlType, Db, ErrorKind, Schema, SyncMode, row};
use std::path::PathBuf;
use std::time::Duration;

/// A directory of its own, gone when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skep-limits-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_row_that_is_overwritten_for_ever_does_not_use_up_the_memory_budget() {
    let dir = Dir::new("hot");
    let db =
        Db::builder(&dir.0).sync(SyncMode::Off).memtable_bytes(256 << 10).background(false).open().unwrap();
    let status = db
        .create_table(
            Schema::table("status")
                .partition_key("device", CqlType::Int)
                .clustering("part", CqlType::Int)
                .static_column("seen", CqlType::Int)
                .column("state", CqlType::Text),
        )
        .unwrap();
    for n in 0..20_000 {
        status.insert(&row![1, 1, n, "still running"]).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(db.stats().memtable_bytes, 0, "everything is in files");
    assert_eq!(status.get(&row![1, 1]).unwrap().unwrap().get::<i32>("seen").unwrap(), 19_999);
    // A memtable of 128 KiB takes thousands of these rows; one flush for each write was the fault.
    assert!(db.stats().flushes < 100, "{} flushes", db.stats().flushes);
}

#[test]
fn a_type_that_could_not_be_read_back_is_refused_before_it_is_stored() {
    let dir = Dir::new("types");
    let deep = || (0..40).fold(CqlType::Int, |ty, _| CqlType::List(Box::new(ty)).freeze());
    let db = Db::open(&dir.0).unwrap();
    let table = |name: &str| Schema::table(name).partition_key("k", CqlType::Int);
    db.create_table(table("plain")).unwrap();
    let refused = [
        db.create_table(table("deep").column("v", deep())).unwrap_err(),
        db.create_table(table("flat").column("v", CqlType::Vector(Box::new(CqlType::Int), 0))).unwrap_err(),
        db.create_table(table("long").column(&"v".repeat(70_000), CqlType::Int)).unwrap_err(),
        db.alter_table("plain").unwrap().add_column("v", deep()).unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.kind() == ErrorKind::Invalid), "{refused:?}");
    db.close().unwrap();
    assert_eq!(Db::open(&dir.0).unwrap().tables().len(), 1);
}

#[test]
fn one_may_wait_for_ever_for_background_work() {
    let dir = Dir::new("wait");
    let db = Db::open(&dir.0).unwrap();
    let table = db.create_table(Schema::table("t").partition_key("k", CqlType::Int)).unwrap();
    table.insert(&row![1]).unwrap();
    db.flush().unwrap();
    db.wait_idle(Duration::MAX).unwrap();
}

#[test]
fn a_key_that_makes_no_sense_is_refused_even_where_only_its_partition_counts() {
    let dir = Dir::new("key");
    let db = Db::open(&dir.0).unwrap();
    let table = db
        .create_table(
            Schema::table("t")
                .partition_key("k", CqlType::Int)
                .clustering("c", CqlType::Int)
                .static_column("s", CqlType::Int),
        )
        .unwrap();
    table.delete_columns(&row![1], &["s"]).unwrap();
    table.delete_columns(&row![1, 2], &["s"]).unwrap();
    assert!(table.delete_columns(&row![1, 2, 3], &["s"]).is_err(), "a value too many");
    assert!(table.delete_columns(&row![1, "two"], &["s"]).is_err(), "no integer");
}
