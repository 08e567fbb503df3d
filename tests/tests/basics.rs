//! The store as a whole, small: write, read, flush, reopen, delete, expire.

use skep_engine::model::time::{Date, Timestamp};
use skep_engine::{CqlType, Db, KeyRange, ManualClock, Schema, Select, SyncMode, Table, With, row};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A directory of its own, gone when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skep-basics-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn readings() -> Schema {
    Schema::table("readings")
        .partition_key("sensor", CqlType::Text)
        .partition_key("day", CqlType::Date)
        .clustering_desc("ts", CqlType::Timestamp)
        .static_column("site", CqlType::Text)
        .column("temperature", CqlType::Double)
        .column("status", CqlType::Int)
}

fn day(n: i32) -> Date {
    Date::from_days_since_epoch(20_000 + n)
}

fn at(n: i64) -> Timestamp {
    Timestamp::from_millis(20_000 * 86_400_000 + n * 1000)
}

fn temperatures(db: &Db, range: impl Into<KeyRange<'static>>) -> Vec<f64> {
    let table = db.table("readings").unwrap();
    let rows = table.slice(&row!["s", day(0)], range).rows().unwrap();
    rows.map(|row| row.unwrap().get("temperature").unwrap()).collect()
}

#[test]
fn rows_are_read_from_memory_from_files_and_after_reopening() {
    let dir = Dir::new("reopen");
    let db = Db::builder(&dir.0).sync(SyncMode::Batch).open().unwrap();
    let table = db.create_table(readings()).unwrap();
    for n in 0..100 {
        table.insert(&row!["s", day(0), at(n), None::<&str>, n as f64, 0]).unwrap();
        if n == 50 {
            db.flush().unwrap();
        }
    }
    let expected: Vec<f64> = (0..100).rev().map(f64::from).collect();
    assert_eq!(temperatures(&db, ..), expected);
    assert_eq!(temperatures(&db, at(49)..at(53)), [52.0, 51.0, 50.0, 49.0]);
    drop((table, db));
    let db = Db::open(&dir.0).unwrap();
    assert_eq!(temperatures(&db, ..), expected);
    let row = db.table("readings").unwrap().get(&row!["s", day(0), at(7)]).unwrap().unwrap();
    assert_eq!(
        (row.get::<f64>("temperature").unwrap(), row.get::<Option<String>>("site").unwrap()),
        (7.0, None)
    );
    assert!(db.verify().unwrap().is_ok());
}

#[test]
fn what_is_only_in_the_log_is_replayed() {
    let dir = Dir::new("replay");
    let db = Db::builder(&dir.0).open().unwrap();
    let table = db.create_table(readings()).unwrap();
    table.insert(&row!["s", day(0), at(1), "attic", 1.5]).unwrap();
    // The process dies: nothing is closed. (Its lock goes with it.)
    db.sync().unwrap();
    let copy = Dir::new("replay-copy");
    copy_tree(&dir.0, &copy.0);
    let again = Db::open(&copy.0).unwrap();
    assert_eq!(temperatures(&again, ..), [1.5]);
    assert_eq!(again.stats().replayed_records, 1);
}

fn copy_tree(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn deletions_and_expiry_hide_rows_before_and_after_flush_and_compaction() {
    let dir = Dir::new("delete");
    let clock = ManualClock::new(20_000 * 86_400_000_000);
    let db = Db::builder(&dir.0).clock(Arc::new(clock.clone())).background(false).open().unwrap();
    let table = db.create_table(readings()).unwrap();
    for n in 0..10 {
        table.insert(&row!["s", day(0), at(n), None::<&str>, n as f64]).unwrap();
    }
    db.flush().unwrap();
    table.delete(&row!["s", day(0), at(3)]).unwrap();
    table.delete_range(&row!["s", day(0)], at(5)..=at(7)).unwrap();
    table
        .insert_with(
            &row!["s", day(0), at(20), None::<&str>, 20.0],
            With::DEFAULT.ttl(Duration::from_secs(60)),
        )
        .unwrap();
    let expected = [20.0, 9.0, 8.0, 4.0, 2.0, 1.0, 0.0];
    assert_eq!(temperatures(&db, ..), expected);
    db.flush().unwrap();
    assert_eq!(temperatures(&db, ..), expected);
    clock.advance(Duration::from_secs(60));
    assert_eq!(temperatures(&db, ..), expected[1..]);
    table.compact().unwrap();
    assert_eq!(temperatures(&db, ..), expected[1..]);
    assert_eq!(table.stats().files, 1);
    table.delete(&row!["s", day(0)]).unwrap();
    assert_eq!(temperatures(&db, ..), []);
}

#[test]
fn a_batch_is_seen_whole_and_a_snapshot_stands_still() {
    let dir = Dir::new("batch");
    let db = Db::open(&dir.0).unwrap();
    let table = db.create_table(readings()).unwrap();
    let other = db
        .create_table(Schema::table("other").partition_key("k", CqlType::Int).column("v", CqlType::Int))
        .unwrap();
    let before = db.snapshot();
    let mut batch = db.batch();
    batch.insert(&table.schema(), &row!["s", day(0), at(1), "x", 1.0]).unwrap();
    batch.insert(&other.schema(), &row![1, 2]).unwrap();
    assert!(
        batch.insert(&other.schema(), &row!["no integer"]).is_err(),
        "refused, and the batch is as before"
    );
    assert_eq!(batch.len(), 3);
    let first = db.write(&mut batch).unwrap();
    assert!(db.now_micros() >= first - 1_000_000 && batch.is_empty());
    db.flush().unwrap();
    assert!(before.table("other").unwrap().get(&row![1]).unwrap().is_none());
    assert!(before.table("readings").unwrap().scan().rows().unwrap().next().is_none());
    let after = db.snapshot();
    assert!(after.table("other").unwrap().get(&row![1]).unwrap().is_some());
    assert_eq!(after.table("readings").unwrap().scan().rows().unwrap().count(), 1);
}

#[test]
fn pages_give_every_row_once() {
    let dir = Dir::new("pages");
    let db = Db::open(&dir.0).unwrap();
    let table = db.create_table(readings()).unwrap();
    for n in 0..23 {
        table.insert(&row!["s", day((n % 2) as i32), at(n), None::<&str>, n as f64]).unwrap();
    }
    for size in 1..30 {
        let mut seen = Vec::new();
        let mut state = None;
        loop {
            let select = table.buckets([row!["s", day(0)], row!["s", day(1)]], ..).newest_first();
            let select = match state.take() {
                Some(state) => select.resume(state),
                None => select,
            };
            let page = select.page(size).unwrap();
            assert!(page.rows.len() as u64 <= size);
            seen.extend(page.rows.iter().map(|row| row.get::<f64>("temperature").unwrap()));
            match page.next {
                Some(next) => state = Some(next),
                None => break,
            }
        }
        let odd = (0..23).rev().filter(|n| n % 2 == 1);
        let even = (0..23).rev().filter(|n| n % 2 == 0);
        assert_eq!(seen, odd.chain(even).map(f64::from).collect::<Vec<_>>());
    }
}

#[test]
fn totals_are_those_of_the_rows() {
    let dir = Dir::new("totals");
    let db = Db::open(&dir.0).unwrap();
    let table = db.create_table(readings()).unwrap();
    for n in 0..5000 {
        let status = (n % 2 == 0).then_some(n as i32);
        table.insert(&row!["s", day(0), at(n), None::<&str>, n as f64 / 4.0, status]).unwrap();
    }
    let check = || {
        let all = || table.scan();
        assert_eq!(all().count().unwrap(), 5000);
        assert_eq!(all().sum("temperature").unwrap(), 4999.0 * 5000.0 / 8.0);
        assert_eq!(all().range("status").unwrap(), Some((0.0, 4998.0)));
        assert_eq!(all().average("status").unwrap(), Some(2499.0));
        let some = || table.slice(&row!["s", day(0)], at(10)..at(14));
        assert_eq!(some().sum("status").unwrap(), 22.0);
        assert_eq!(some().count().unwrap(), 4);
        assert!(table.scan().sum("sensor").is_err());
        assert_eq!(table.slice(&row!["none", day(0)], ..).average("temperature").unwrap(), None);
    };
    check();
    db.flush().unwrap();
    check();
    assert!(table.scan().totals(&["temperature"]).unwrap().blocks_from_index > 0);
}

#[test]
fn counters_are_exact_across_threads() {
    let dir = Dir::new("counters");
    let db = Db::open(&dir.0).unwrap();
    let table = db
        .create_table(
            Schema::table("hits").partition_key("page", CqlType::Text).column("n", CqlType::Counter),
        )
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..250).for_each(|_| {
                    table.add(&row!["home"], "n", 1).unwrap();
                })
            });
        }
    });
    assert_eq!(table.add(&row!["home"], "n", 0).unwrap(), 1000);
}

#[test]
fn counters_are_only_added_to_and_deleted() {
    let dir = Dir::new("counter-rules");
    let db = Db::open(&dir.0).unwrap();
    let schema = Schema::table("hits")
        .partition_key("page", CqlType::Text)
        .clustering("day", CqlType::Int)
        .static_column("all", CqlType::Counter)
        .column("n", CqlType::Counter);
    let table = db.create_table(schema).unwrap();
    let error = table.insert(&row!["home", 1, None::<i64>, 5i64]).unwrap_err().to_string();
    assert!(error.contains("only added to and deleted"), "{error}");
    let five = [("page", "home".into()), ("day", 1.into()), ("n", 5i64.into())];
    assert!(table.update(&five, With::DEFAULT).is_err());
    assert_eq!(table.add(&row!["home", 1], "n", 5).unwrap(), 5);
    assert_eq!(table.add(&row!["home", 1], "n", -7).unwrap(), -2);
    assert_eq!(table.add(&row!["home"], "all", 3).unwrap(), 3);
    assert_eq!(table.add(&row!["home", 9], "all", 1).unwrap(), 4);
    assert!(table.add(&row!["home"], "n", 1).is_err());
    table.delete_columns(&row!["home", 1], &["n"]).unwrap();
    assert_eq!(table.add(&row!["home", 1], "n", 1).unwrap(), 1);
    assert!(db.alter_table("hits").unwrap().add_column("v", CqlType::Int).unwrap().apply().is_err());
}

#[test]
fn a_second_opening_is_refused_with_the_holders_pid() {
    let dir = Dir::new("lock");
    let db = Db::open(&dir.0).unwrap();
    let error = Db::open(&dir.0).unwrap_err();
    assert_eq!(error.kind(), skep_engine::ErrorKind::Busy);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert!(Db::open_read_only(&dir.0).is_err());
    db.close().unwrap();
    assert!(Db::open_read_only(&dir.0).unwrap().create_table(readings()).is_err());
    Db::open(&dir.0).unwrap();
}

#[test]
fn reading_writes_nothing_and_many_may_read() {
    let dir = Dir::new("read-only");
    let db = Db::open(&dir.0).unwrap();
    let table = db.create_table(readings()).unwrap();
    table.insert(&row!["s", day(0), at(1), "x", 1.0]).unwrap();
    db.close().unwrap();
    let lock = dir.0.join("LOCK");
    std::fs::write(&lock, "old").unwrap();
    let first = Db::open_read_only(&dir.0).unwrap();
    let second = Db::open_read_only(&dir.0).unwrap();
    assert_eq!((temperatures(&first, ..), temperatures(&second, ..)), (vec![1.0], vec![1.0]));
    assert_eq!(Db::open(&dir.0).unwrap_err().kind(), skep_engine::ErrorKind::Busy);
    drop((first, second));
    assert_eq!(std::fs::read(&lock).unwrap(), b"old");
    // As on a file system that takes no writes, to which a store was copied.
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(temperatures(&Db::open_read_only(&dir.0).unwrap(), ..), [1.0]);
    assert!(!lock.exists());
    Db::open(&dir.0).unwrap();
}

#[test]
fn snapshots_on_disk_are_stores_of_their_own() {
    let dir = Dir::new("backup");
    let db = Db::open(&dir.0).unwrap();
    let table = db.create_table(readings()).unwrap();
    table.insert(&row!["s", day(0), at(1), "x", 1.0]).unwrap();
    db.flush().unwrap();
    table.insert(&row!["s", day(0), at(2), "x", 2.0]).unwrap();
    db.create_snapshot("monday").unwrap();
    db.truncate("readings").unwrap();
    assert_eq!(temperatures(&db, ..), []);
    let snapshot = Db::open_snapshot(&dir.0, "monday").unwrap();
    assert_eq!(temperatures(&snapshot, ..), [2.0, 1.0]);
    assert_eq!(db.list_snapshots().unwrap().len(), 1);
    drop(snapshot);
    db.delete_snapshot("monday").unwrap();
    assert!(db.list_snapshots().unwrap().is_empty());
}

/// An empty table in a store whose clock stands still.
fn still(name: &str) -> (Dir, Db, Table) {
    let dir = Dir::new(name);
    let db = Db::builder(&dir.0).clock(Arc::new(ManualClock::at(at(0)))).open().unwrap();
    let table = db.create_table(readings()).unwrap();
    (dir, db, table)
}

#[test]
fn the_last_word_on_the_direction_counts_for_buckets_too() {
    let (_dir, db, table) = still("direction");
    for n in 0..4 {
        table.insert(&row!["s", day((n / 2) as i32), at(n), None::<&str>, n as f64]).unwrap();
    }
    let all = || table.buckets(day(0).through(day(1)).map(|day| row!["s", day]), ..);
    let read = |select: Select| -> Vec<f64> {
        select.rows().unwrap().map(|row| row.unwrap().get("temperature").unwrap()).collect()
    };
    assert_eq!(read(all().newest_first().newest_first()), [3.0, 2.0, 1.0, 0.0]);
    assert_eq!(read(all().newest_first().oldest_first()), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(read(all().oldest_first().newest_first()), [3.0, 2.0, 1.0, 0.0]);
    db.close().unwrap();
}

#[test]
fn less_than_a_second_of_ttl_is_not_for_ever() {
    let (_dir, db, table) = still("ttl");
    let with = With::DEFAULT.ttl(Duration::from_millis(10));
    table.insert_with(&row!["s", day(0), at(0), None::<&str>, 1.0], with).unwrap();
    let rows: Vec<_> = table.scan().with_lives().rows().unwrap().map(Result::unwrap).collect();
    let left: Vec<_> = rows.iter().map(|row| row.ttl("temperature").unwrap()).collect();
    assert_eq!(left, [Some(1)]);
    db.close().unwrap();
}

#[test]
fn what_a_slip_of_the_pen_gets_to_read() {
    let (_dir, db, table) = still("slip");
    table.insert(&row!["s", day(0), at(0), None::<&str>, 1.5]).unwrap();
    let error = db.table("raedings").unwrap_err().to_string();
    assert!(error.ends_with(&format!("(there is {})", table.name())), "{error}");
    let error = table.scan().columns(&["temprature"]).count().unwrap_err().to_string();
    assert!(error.contains("Undefined column name temprature (the columns are sensor, day, ts, "), "{error}");
    let error = table.insert(&row!["s", "2024-06-12", at(0)]).unwrap_err().to_string();
    assert!(error.contains("column day: text '2024-06-12' is no value of type date (Date::parse"), "{error}");
    let error = table.insert(&row!["s", day(0)]).unwrap_err().to_string();
    assert!(error.ends_with("(every column of the primary key needs a value)"), "{error}");
    let error = Db::open_snapshot(db.path(), "before").unwrap_err().to_string();
    assert!(error.starts_with("there is no snapshot before in "), "{error}");
    let row = table.get(&row!["s", day(0), at(0)]).unwrap().unwrap();
    let text = format!("{row:?}");
    assert!(text.contains(r#""temperature": 1.5"#) && text.len() < 300, "{text}");
    db.close().unwrap();
}

#[test]
fn counts_and_totals_keep_to_limits() {
    let (_dir, db, table) = still("limited-count");
    for n in 0..50 {
        table.insert(&row!["s", day(n / 10), at(i64::from(n)), "x", f64::from(n)]).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(table.scan().count().unwrap(), 50);
    assert_eq!(table.scan().limit(7).count().unwrap(), 7);
    assert_eq!(table.scan().limit(70).count().unwrap(), 50);
    assert_eq!(table.scan().per_partition_limit(3).count().unwrap(), 15);
    let first: f64 = table.slice(&row!["s", day(0)], ..).limit(2).sum("temperature").unwrap();
    assert_eq!(first, 9.0 + 8.0, "the newest come first");
    assert!(format!("{:?}", table.scan().rows().unwrap()).contains("main.readings"));
}

/// Partitions that take several blocks, share blocks, or do both, in several files.
#[test]
fn partitions_of_all_sizes_are_scanned_and_their_rows_got_one_by_one() {
    let dir = Dir::new("sizes");
    let db = Db::open(&dir.0).unwrap();
    let schema = Schema::table("sizes")
        .partition_key("p", CqlType::Int)
        .clustering_desc("at", CqlType::Timestamp)
        .column("v", CqlType::Double)
        .column("w", CqlType::Int);
    let table = db.create_table(schema).unwrap();
    let sizes = [1, 700, 1500, 5000, 3, 2, 1024, 2048, 1, 900, 130];
    let time = |n: i64| Timestamp::from_millis(1_700_000_000_000 + 1000 * n + n % 3);
    for file in 0..2 {
        let mut batch = db.batch();
        for (p, size) in (0..).zip(sizes) {
            for n in (file..size).step_by(2) {
                let v = n as f64 / 100.0;
                batch.insert(&table, &row![p, time(n), v, (n % 7 > 0).then_some(n as i32)]).unwrap();
            }
        }
        db.write(&mut batch).unwrap();
        for _ in 0..2 {
            let (mut seen, mut sum) = (std::collections::BTreeMap::<i32, i64>::new(), 0.0);
            for batch in table.scan().batches().unwrap() {
                let batch = batch.unwrap();
                *seen.entry(batch.iter().next().unwrap().get(0).unwrap()).or_default() += batch.len() as i64;
                let values = batch.column_by_name("v").unwrap();
                sum += values.sum(batch.len()).unwrap();
                assert!(batch.len() < 7 || batch.column_by_name("w").unwrap().sum(batch.len()).is_none());
            }
            let written = |size: i64| if file == 0 { (size + 1) / 2 } else { size };
            let expected = (0..).zip(sizes).map(|(p, size)| (p, written(size))).collect();
            assert_eq!(seen, expected);
            let all = sizes.iter().flat_map(|size| (0..*size).filter(|n| file == 1 || n % 2 == 0));
            assert!((sum - all.map(|n| n as f64 / 100.0).sum::<f64>()).abs() < 1e-6);
            for (p, size) in (0..).zip(sizes) {
                for n in (0..size + 2).step_by(if size > 50 { 17 } else { 1 }) {
                    let row = table.get(&row![p, time(n)]).unwrap();
                    assert_eq!(row.is_some(), n < size && (file == 1 || n % 2 == 0), "{p} {n}");
                    let Some(row) = row else { continue };
                    assert_eq!(row.get::<Timestamp>(1).unwrap(), time(n));
                    assert_eq!(row.get::<f64>("v").unwrap(), n as f64 / 100.0);
                    let w = (n % 7 > 0).then_some(n as i32);
                    assert_eq!((row.get::<i32>(0).unwrap(), row.get::<Option<i32>>("w").unwrap()), (p, w));
                }
                assert!(table.get(&row![100 + p, time(0)]).unwrap().is_none());
            }
            db.flush().unwrap();
        }
    }
}
