//! Many threads on a real disk: writers, readers, flushes, compactions, snapshots, truncation, drop and close at once.
//!
//! A checker in each reader: numbers never fall, a batch is seen whole, what was acknowledged before a read began is in it.
//! `SKEP_CONCURRENT_SECONDS=600` is the long run (default 2 for each test).
#![allow(clippy::needless_range_loop, reason = "the index is the name of a writer")]

use skep_engine::{CqlType, Db, ErrorKind, Options, Schema, SyncMode, Table, row};
use skep_tests::store::{kv, t};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// A directory of its own, gone when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skep-concurrent-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self, sync: SyncMode) -> Db {
        let options = Options {
            sync,
            memtable_bytes: 256 << 10,
            segment_bytes: 256 << 10,
            log_limit_bytes: 1 << 20,
            ..Options::default()
        };
        Db::builder(&self.0).options(options).open().unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn patience() -> Duration {
    let seconds = std::env::var("SKEP_CONCURRENT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}

const PERIODIC: SyncMode = SyncMode::Periodic(Duration::from_millis(100));
const WRITERS: usize = 3;

/// The number at `writer` in the three places where each of its batches puts it.
fn numbers(tables: [&skep_engine::TableSnapshot; 2], writer: i32) -> [i32; 3] {
    let [first, second] = tables;
    let in_first = |key: i32| {
        let row = first.get(&row![key, 0]).unwrap();
        row.map_or(0, |row| row.get::<i32>("v").unwrap())
    };
    let row = second.get(&row![writer.to_string()]).unwrap();
    let in_second = row.map_or(0, |row| row.get::<i32>("a").unwrap());
    [in_first(writer), in_first(1000 + writer), in_second]
}

#[test]
fn readers_see_whole_batches_and_time_never_runs_backwards() {
    let dir = Dir::new("history");
    let db = dir.open(PERIODIC);
    let (first, second) = (db.create_table(t()).unwrap(), db.create_table(kv()).unwrap());
    let other_schema = Schema::table("other").partition_key("k", CqlType::Int).column("v", CqlType::Int);
    let other = db.create_table(other_schema).unwrap();
    let acked: [AtomicI32; WRITERS] = Default::default();
    let stop = AtomicBool::new(false);
    let running = || !stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, first, second, acked, running) = (&db, &first, &second, &acked, &running);
            scope.spawn(move || {
                let key = writer as i32;
                let mut batch = db.batch();
                for n in 1.. {
                    if !running() {
                        return;
                    }
                    batch.insert(&first.schema(), &row![key, 0, n]).unwrap();
                    batch.insert(&first.schema(), &row![1000 + key, 0, n]).unwrap();
                    batch.insert(&second.schema(), &row![key.to_string(), n]).unwrap();
                    // Rows that grow in number, so that memtables fill.
                    batch.insert(&first.schema(), &row![2000 + key, n, n]).unwrap();
                    db.write(&mut batch).unwrap();
                    acked[writer].store(n, Ordering::Release);
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = [0; WRITERS];
                while running() {
                    let floor: Vec<i32> = acked.iter().map(|n| n.load(Ordering::Acquire)).collect();
                    let snapshot = db.snapshot();
                    let tables = [&snapshot.table("t").unwrap(), &snapshot.table("kv").unwrap()];
                    for writer in 0..WRITERS {
                        let found = numbers(tables, writer as i32);
                        assert!(found.iter().all(|n| *n == found[0]), "half a batch of {writer}: {found:?}");
                        assert!(found[0] >= seen[writer], "back from {} to {}", seen[writer], found[0]);
                        assert!(found[0] >= floor[writer], "{} was acknowledged: {found:?}", floor[writer]);
                        seen[writer] = found[0];
                        let rows = tables[0].slice(&row![2000 + writer as i32], ..).reverse().limit(1).rows();
                        let newest =
                            rows.unwrap().next().map_or(0, |row| row.unwrap().get::<i32>("v").unwrap());
                        assert_eq!(newest, found[0], "the slice and the point disagree in one snapshot");
                    }
                    // The same picture a second time.
                    for writer in 0..WRITERS {
                        assert_eq!(numbers(tables, writer as i32), [seen[writer]; 3], "the snapshot moved");
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut seen = [0; WRITERS];
            while running() {
                // Without a snapshot: of two reads the later sees no less.
                for writer in 0..WRITERS {
                    for table in ["t", "kv"] {
                        let n = match table {
                            "t" => first
                                .get(&row![writer as i32, 0])
                                .unwrap()
                                .map(|row| row.get::<i32>("v").unwrap()),
                            _ => second
                                .get(&row![writer.to_string()])
                                .unwrap()
                                .map(|row| row.get::<i32>("a").unwrap()),
                        };
                        assert!(
                            n.unwrap_or(0) >= seen[writer],
                            "{table}: back from {} to {n:?}",
                            seen[writer]
                        );
                        seen[writer] = n.unwrap_or(0);
                    }
                }
            }
        });
        scope.spawn(|| {
            while running() {
                db.flush().unwrap();
                std::thread::sleep(Duration::from_millis(15));
            }
        });
        scope.spawn(|| {
            while running() {
                first.compact().unwrap();
                second.compact().unwrap();
                std::thread::sleep(Duration::from_millis(40));
            }
        });
        scope.spawn(|| {
            let mut n = 0;
            while running() {
                n += 1;
                for k in 0..50 {
                    other.insert(&row![k, n]).unwrap();
                }
                if n % 2 == 0 {
                    other.flush().unwrap();
                }
                db.truncate("other").unwrap();
                assert_eq!(other.scan().count().unwrap(), 0, "truncated, and nobody else writes here");
            }
        });
        std::thread::sleep(patience());
        stop.store(true, Ordering::Relaxed);
    });
    drop((first, second, other));
    db.close().unwrap();
    drop(db);
    let db = dir.open(PERIODIC);
    let snapshot = db.snapshot();
    let tables = [&snapshot.table("t").unwrap(), &snapshot.table("kv").unwrap()];
    for (writer, acked) in acked.iter().enumerate() {
        let last = acked.load(Ordering::Relaxed);
        assert_eq!(numbers(tables, writer as i32), [last; 3]);
        let rows = tables[0].slice(&row![2000 + writer as i32], ..).count().unwrap();
        assert_eq!(rows, last as u64);
    }
    assert!(db.verify().unwrap().is_ok());
}

fn walk(table: &Table, size: u64, reverse: bool) -> Vec<i32> {
    let (mut found, mut state) = (Vec::new(), None);
    loop {
        let select = table.slice(&row![1], ..);
        let select = if reverse { select.reverse() } else { select };
        let select = match state.take() {
            Some(state) => select.resume(state),
            None => select,
        };
        let page = select.page(size).unwrap();
        found.extend(page.rows.iter().map(|row| row.get::<i32>("ck").unwrap()));
        match page.next {
            Some(next) => state = Some(next),
            None => return found,
        }
    }
}

#[test]
fn pages_under_writes_neither_skip_nor_repeat() {
    let dir = Dir::new("pages");
    let db = dir.open(PERIODIC);
    let table = db.create_table(t()).unwrap();
    let standing: Vec<i32> = (0..1000).filter(|ck| ck % 2 == 0).collect();
    for ck in &standing {
        table.insert(&row![1, *ck, 0]).unwrap();
    }
    let stop = AtomicBool::new(false);
    let running = || !stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if !running() {
                    return;
                }
                let ck = n * 7 % 500 * 2;
                table.insert(&row![1, ck, n]).unwrap();
                table.insert(&row![1, ck + 1, n]).unwrap();
                match n % 3 {
                    0 => table.delete(&row![1, (ck + 20) % 1000 + 1]).unwrap(),
                    1 => table.delete_range(&row![1], ck + 1..=ck + 1).unwrap(),
                    _ => 0,
                };
            }
        });
        scope.spawn(|| {
            while running() {
                table.compact().unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        for reverse in [false, true] {
            let (table, standing, running) = (&table, &standing, &running);
            scope.spawn(move || {
                for size in (1..100).cycle().step_by(13) {
                    if !running() {
                        return;
                    }
                    let mut found = walk(table, size, reverse);
                    if reverse {
                        found.reverse();
                    }
                    assert!(
                        found.windows(2).all(|pair| pair[0] < pair[1]),
                        "out of order or twice: {found:?}"
                    );
                    found.retain(|ck| ck % 2 == 0);
                    assert_eq!(&found, standing, "pages of {size}");
                }
            });
        }
        std::thread::sleep(patience());
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_dropped_table_is_read_to_the_end_by_who_has_begun() {
    let dir = Dir::new("drop");
    let db = dir.open(PERIODIC);
    for round in 0..5 {
        let table = db.create_table(t()).unwrap();
        for n in 0..3000 {
            table.insert(&row![n % 10, n, n]).unwrap();
            if n % 1000 == 500 {
                table.flush().unwrap();
            }
        }
        let mut rows = table.scan().rows().unwrap();
        let begun: Vec<_> = rows.by_ref().take(10).map(Result::unwrap).collect();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        match table.scan().count() {
                            Ok(count) => assert!(count == 3000 || count == 0, "{count} rows of 3000"),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
                        }
                    }
                });
            }
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5 * round));
                db.drop_table("t").unwrap();
            });
        });
        assert_eq!(begun.len() + rows.map(Result::unwrap).count(), 3000);
        let error = table.insert(&row![1, 1, 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert_eq!(db.table("t").unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(db.create_table(t()).unwrap().scan().count().unwrap(), 0);
}

#[test]
fn closing_under_writes_gives_closed_and_loses_nothing_acknowledged() {
    let dir = Dir::new("close");
    for round in 0..4u64 {
        let db = dir.open(if round % 2 == 0 { PERIODIC } else { SyncMode::Batch });
        let table = db.create_table(t().if_not_exists()).unwrap();
        let before = table.scan().count().unwrap();
        let counts: Vec<u64> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let table = &table;
                    scope.spawn(move || {
                        for n in 0.. {
                            if let Err(error) = table.insert(&row![writer, n + (round as i32) * 1_000_000, n])
                            {
                                assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                                return n as u64;
                            }
                        }
                        0
                    })
                })
                .collect();
            scope.spawn(|| {
                while let Ok(count) = table.scan().count() {
                    assert!(count >= before);
                    if table.insert(&row![99, 0, 0]).is_err() {
                        return;
                    }
                }
            });
            scope.spawn(|| while db.flush().is_ok() && table.compact().is_ok() {});
            std::thread::sleep(Duration::from_millis(150));
            db.close().unwrap();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        drop((table, db));
        let db = dir.open(PERIODIC);
        let table = db.table("t").unwrap();
        for (writer, count) in counts.iter().enumerate() {
            let of_round = (round as i32) * 1_000_000..(round as i32 + 1) * 1_000_000;
            assert_eq!(table.slice(&row![writer as i32], of_round).count().unwrap(), *count);
        }
        db.close().unwrap();
    }
}

#[test]
fn eight_writers_under_batch_share_syncs_and_lose_nothing() {
    let dir = Dir::new("batch");
    let db = dir.open(SyncMode::Batch);
    let table = db.create_table(t()).unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let table = &table;
            scope.spawn(move || {
                for n in 0..100 {
                    table.insert(&row![writer, n, n]).unwrap();
                    let row = table.get(&row![writer, n]).unwrap();
                    assert_eq!(row.expect("acknowledged, so visible").get::<i32>("v").unwrap(), n);
                }
            });
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(table.scan().count().unwrap(), 800);
    drop(table);
    db.close().unwrap();
    drop(db);
    assert_eq!(dir.open(PERIODIC).table("t").unwrap().scan().count().unwrap(), 800);
}
