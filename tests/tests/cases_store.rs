//! What users of other engines ran into, each tried here: expiry of whole files, crashes and full disks, space, memory, stalls.
//! The numbers are those of the list of cases that the project keeps; even ones are for others to try.
//!
//! Elsewhere: 77 and 83 in `corrupt.rs`, 81 in `crash.rs`, 109 in `kill.rs`. 97 needs levels.

use skep_engine::env::sim::CrashMode;
use skep_engine::{Db, ErrorKind, Options, SyncMode, Table, Timestamp, With, row};
use skep_tests::store::{Store, at, contents, durable, everything, kv, open, r, rows, t};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A directory of its own on the real disk, gone when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skep-cases-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn point(store: &Store, table: &Table, val: f64) {
    let ts = Timestamp::from_millis(store.now() / 1000);
    table.insert(&row!["s", 1, ts, val]).unwrap();
}

fn windows_of(store: &Store, table: &Table, count: usize) {
    for n in 0..count {
        point(store, table, n as f64);
        table.flush().unwrap();
        store.pass(60);
    }
}

/// Files that a compaction or flush left unfinished.
fn temporaries(store: &Store) -> Vec<PathBuf> {
    let names = contents(&store.disk).into_keys();
    names.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")).collect()
}

#[test]
fn case_35_a_jump_of_the_clock_drops_nothing_until_it_is_confirmed() {
    let store = Store::default();
    let table = store.create(r().ttl(Duration::from_secs(86_400)));
    windows_of(&store, &table, 10);
    let year = 365 * 86_400;
    let now = store.now();
    store.pass(year);
    store.db.tick().unwrap();
    assert!(!store.files("r").is_empty(), "expired by the clock, but the clock is not believed");
    let blocked = table.stats().blocked.join("\n");
    assert!(blocked.contains("clock") && blocked.contains("confirm"), "{blocked}");
    store.disk.clock().set_micros(now);
    assert_eq!(table.scan().count().unwrap(), 10, "after the clock returned all is there");
    store.pass(year);
    store.db.confirm_clock();
    store.db.tick().unwrap();
    assert!(store.files("r").is_empty());
}

#[test]
fn case_39_a_point_in_the_future_does_not_stop_current_windows() {
    let store = Store::default();
    let table = store.create(r());
    let future = store.now() + 7 * 86_400_000_000;
    let with = at(future).ttl(Duration::from_secs(30 * 86_400));
    table.insert_with(&row!["s", 1, Timestamp::from_millis(future / 1000), 99.0], with).unwrap();
    for _ in 0..5 {
        for n in 0..6 {
            point(&store, &table, f64::from(n));
            table.flush().unwrap();
            store.pass(10);
        }
        store.db.tick().unwrap();
    }
    // One future file, the active window's, and the last two minutes'.
    assert!(store.files("r").len() <= 10, "{} files", store.files("r").len());
    store.pass(200);
    store.db.tick().unwrap();
    assert_eq!(store.files("r").len(), 1, "only the future window is left");
    assert_eq!(rows(table.scan().columns(&["val"])).unwrap(), ["99.0"]);
}

#[test]
fn case_41_expired_files_go_though_nothing_is_written_or_read() {
    let store = Store::default();
    let table = store.create(r());
    windows_of(&store, &table, 5);
    assert!(!store.files("r").is_empty());
    store.pass(3600);
    store.db.tick().unwrap();
    assert!(store.files("r").is_empty());
    assert!(!contents(&store.disk).keys().any(|path| path.extension().is_some_and(|e| e == "sst")));

    let options = Options { expiry_check: Duration::from_millis(20), ..durable() };
    let store = Store::new(options, true);
    let table = store.create(r());
    windows_of(&store, &table, 5);
    store.pass(3600);
    let end = Instant::now() + Duration::from_secs(20);
    while !store.files("r").is_empty() {
        assert!(Instant::now() < end, "{:?}", table.stats());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn case_43_late_data_gets_files_of_its_own_and_expires() {
    let store = Store::default();
    let table = store.create(r());
    let day = 86_400_000_000;
    for n in 0..20i64 {
        point(&store, &table, n as f64);
        for late in [3, 30] {
            let micros = store.now() - late * day + n;
            let ts = Timestamp::from_millis(micros / 1000);
            table.insert_with(&row!["late", late as i32, ts, n as f64], at(micros)).unwrap();
        }
    }
    let before = table.scan().count().unwrap();
    table.flush().unwrap();
    assert_eq!(store.files("r").len(), 3, "one file for each window");
    assert_eq!(table.scan().count().unwrap(), before);
    table.compact().unwrap();
    assert_eq!(store.files("r").len(), 3);
    assert_eq!(table.scan().count().unwrap(), before);
    store.pass(120);
    store.db.tick().unwrap();
    assert!(store.files("r").is_empty(), "late data expires with the rest");
}

#[test]
fn case_45_after_a_change_of_strategy_compaction_goes_on_at_once() {
    let windows = [
        ("class", "TimeWindowCompactionStrategy"),
        ("compaction_window_unit", "MINUTES"),
        ("compaction_window_size", "1"),
    ];
    let tiered = [("class", "SizeTieredCompactionStrategy")];
    for (from, to) in [(&tiered[..], &windows[..]), (&windows[..], &tiered[..])] {
        let store = Store::default();
        let table = store.create(t().compaction(from.iter().copied()));
        for n in 0..8 {
            table.insert(&row![n, 1, n]).unwrap();
            table.flush().unwrap();
        }
        assert_eq!(store.files("t").len(), 8);
        let owned = to.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let map = owned.collect();
        store.db.alter_table("t").unwrap().options(|options| options.compaction = map).apply().unwrap();
        store.pass(120);
        store.db.tick().unwrap();
        assert_eq!(store.files("t").len(), 1, "to {to:?}");
        assert_eq!(table.scan().count().unwrap(), 8);
    }
}

#[test]
fn case_47_a_file_lives_as_long_as_its_longest_lived_row() {
    for immortal in [false, true] {
        let store = Store::default();
        let table = store.create(r().ttl(Duration::ZERO));
        let ttl = |seconds| With::DEFAULT.ttl(Duration::from_secs(seconds));
        table.insert_with(&row!["s", 1, Timestamp::from_millis(1), 1.0], ttl(10)).unwrap();
        table.insert_with(&row!["s", 1, Timestamp::from_millis(2), 2.0], ttl(1000)).unwrap();
        if immortal {
            table.insert(&row!["s", 1, Timestamp::from_millis(3), 3.0]).unwrap();
        }
        table.flush().unwrap();
        store.pass(20);
        store.db.tick().unwrap();
        assert_eq!(table.scan().count().unwrap(), if immortal { 2 } else { 1 });
        store.pass(2000);
        store.db.tick().unwrap();
        assert_eq!(table.scan().count().unwrap(), u64::from(immortal));
        assert_eq!(store.files("r").is_empty(), !immortal);
    }
}

#[test]
fn case_49_what_cannot_be_purged_is_not_compacted_again_and_again() {
    let eager = [("class", "SizeTieredCompactionStrategy"), ("unchecked_tombstone_compaction", "true")];
    let store = Store::default();
    let table = store.create(t().gc_grace(Duration::ZERO).compaction(eager));
    for ck in 0..2000 {
        table.insert(&row![1, ck, ck]).unwrap();
    }
    table.flush().unwrap();
    // Tombstones over rows of the other file, of which nothing can go.
    for ck in 0..50 {
        table.insert(&row![1, ck, skep_engine::Null]).unwrap();
    }
    table.flush().unwrap();
    store.pass(2 * 86_400);
    for _ in 0..100 {
        store.pass(5);
        store.db.tick().unwrap();
    }
    let count = table.compactions().len();
    assert!(count <= 2, "{count} compactions in 500 s: {:?}", table.compactions());
}

/// Every length and kind of tail of a segment is tried by the commit log's own tests; here the whole store says what was lost.
#[test]
fn case_75_a_torn_log_keeps_what_stands_before_the_tear_and_says_what_was_dropped() {
    let mut store = Store::default();
    let table = store.create(t());
    let mut ends = Vec::new();
    let log = |store: &Store| {
        let files = contents(&store.disk);
        let (path, bytes) = files.iter().rfind(|(path, _)| path.starts_with("/db/commitlog")).unwrap();
        (path.clone(), bytes.len() as u64)
    };
    for n in 0..6 {
        table.insert(&row![1, n, n]).unwrap();
        ends.push(log(&store).1);
    }
    drop(table);
    store.disk.restart(CrashMode::KeepAll);
    let (path, len) = log(&store);
    for cut in ends[2]..=len {
        for tail in [&b""[..], &[0; 100], b"garbage that is no record at all, but long enough to look at"] {
            let disk = store.disk.fork(cut);
            disk.env().truncate(&path, cut).unwrap();
            disk.env().open_append(&path).unwrap().append(tail).unwrap();
            let db = open(&disk, &store.options, false).unwrap();
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(everything(&db).unwrap().len(), whole, "cut at {cut}");
            let dropped = cut - ends[whole - 1] + tail.len() as u64;
            let notes = db.stats().recovery_notes;
            match dropped {
                0 => assert!(notes.is_empty(), "{notes:?}"),
                _ => {
                    let text = format!("ended torn at byte {}: {dropped} bytes dropped", ends[whole - 1]);
                    assert!(notes.iter().any(|note| note.contains(&text)), "{notes:?}, expected {text}");
                }
            }
        }
    }
    store.db = open(&store.disk, &store.options, false).unwrap();
    assert_eq!(everything(&store.db).unwrap().len(), 6);
}

#[test]
fn case_79_the_counts_are_the_same_after_closing_while_everything_runs() {
    let dir = Dir::new("counts");
    let options = Options { memtable_bytes: 256 << 10, ..Options::default() };
    let reopen = || Db::builder(&dir.0).options(options.clone()).open().unwrap();
    let db = reopen();
    let (large, small) = (db.create_table(t()).unwrap(), db.create_table(kv()).unwrap());
    let mut appender = large.appender();
    for n in 0..40_000 {
        appender.append(&row![n % 50, n, n]).unwrap();
        if n % 50 == 0 {
            small.insert(&row![n.to_string(), n]).unwrap();
        }
    }
    appender.finish().unwrap();
    drop((large, small));
    db.close().unwrap();
    drop(db);
    for _ in 0..2 {
        let db = reopen();
        let counts = ["t", "kv"].map(|name| db.table(name).unwrap().scan().count().unwrap());
        assert_eq!(counts, [40_000, 800]);
    }
}

#[test]
fn case_85_a_full_disk_is_an_error_with_its_file_and_heals_with_the_next_write() {
    let store = Store::default();
    let table = store.create(kv());
    let pad = "x".repeat(1000);
    let used = |store: &Store| contents(&store.disk).values().map(|bytes| bytes.len() as u64).sum::<u64>();
    for round in 0..2 {
        store.disk.set_capacity(Some(used(&store) + 5000));
        let mut written = 0;
        let error = loop {
            match table.insert(&row![format!("{round} {written} {pad}"), 1]) {
                Ok(_) => written += 1,
                Err(error) => break error,
            }
            assert!(written < 100);
        };
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(error.file().is_some() && error.to_string().contains("heals without reopening"), "{error}");
        assert!(table.get(&row![format!("{round} 0 {pad}")]).unwrap().is_some(), "reads go on");
        let again = table.insert(&row![format!("{round} again {pad}"), 1]).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::NoSpace);
        store.disk.set_capacity(None);
        table.insert(&row![format!("{round} healed {pad}"), 1]).unwrap();
    }
    store.db.flush().unwrap();
    store.verify();
}

#[test]
fn case_87_and_99_a_compaction_without_space_is_refused_first_and_leaves_nothing_behind() {
    let mut store = Store::default();
    let table = store.create(kv());
    for file in 0..4 {
        for n in 0..100 {
            table.insert(&row![format!("{file} {n} {}", "x".repeat(100)), n]).unwrap();
        }
        table.flush().unwrap();
    }
    let before = store.files("kv");
    let used: u64 = contents(&store.disk).values().map(|bytes| bytes.len() as u64).sum();
    store.disk.set_capacity(Some(used + 2000));
    for _ in 0..10 {
        let error = table.compact().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(error.message().contains("bytes"), "the number is given: {error}");
        assert!(table.stats().failure.unwrap().contains("free"));
        assert_eq!((store.files("kv"), temporaries(&store)), (before.clone(), Vec::new()));
    }
    assert_eq!(table.scan().count().unwrap(), 400);
    drop(table);
    store.kill();
    assert_eq!((store.files("kv"), temporaries(&store)), (before, Vec::new()));
    store.disk.set_capacity(None);
    store.table("kv").compact().unwrap();
    assert_eq!(store.files("kv").len(), 1);
    assert_eq!(store.table("kv").stats().failure, None);
}

#[test]
fn case_89_what_is_no_store_is_named_and_not_touched() {
    let dir = Dir::new("foreign");
    let content = |path: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut todo = vec![path.to_path_buf()];
        while let Some(path) = todo.pop() {
            match path.is_dir() {
                true => todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
                false => found.push((path.clone(), std::fs::read(&path).unwrap())),
            }
        }
        found.sort();
        found
    };
    let table = "data/ks/t-0f35b1a0f1f011eeb1a5d9e3b1b5b6c7";
    let (data, toc) = (format!("{table}/nb-1-big-Data.db"), format!("{table}/nb-1-big-TOC.txt"));
    let foreign: [&[(&str, &str)]; 4] = [
        &[("notes.txt", "mine")],
        &[(&data, "bytes"), (&toc, "Data.db\n"), ("commitlog/CommitLog-7-1.log", "log")],
        &[("FORMAT", "skep store, layout 0\n"), ("CURRENT", "MANIFEST-000001 24 00000000\n")],
        &[("FORMAT", "another program's\n")],
    ];
    for files in foreign {
        let _ = std::fs::remove_dir_all(&dir.0);
        for (name, text) in files {
            let path = dir.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let before = content(&dir.0);
        for error in [Db::open(&dir.0).unwrap_err(), Db::open_read_only(&dir.0).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.file().is_some(), "{error}");
        }
        assert_eq!(content(&dir.0), before);
    }
    std::fs::remove_dir_all(&dir.0).unwrap();
    std::fs::write(&dir.0, "a text file").unwrap();
    let error = Db::open(&dir.0).unwrap_err();
    assert_eq!(error.file(), Some(dir.0.as_path()), "{error}");
    assert_eq!(std::fs::read(&dir.0).unwrap(), b"a text file");
    std::fs::remove_file(&dir.0).unwrap();
}

#[test]
fn case_91_a_failing_compaction_is_its_tables_own_affair() {
    let mut store = Store::default();
    let (a, b) = (store.create(t()), store.create(kv()));
    for n in 0..4 {
        for ck in 0..50 {
            a.insert(&row![n, ck, ck]).unwrap();
        }
        b.insert(&row![n.to_string(), n]).unwrap();
        store.db.flush().unwrap();
    }
    drop((a, b));
    store.db.close().unwrap();
    let bad = contents(&store.disk)
        .into_keys()
        .find(|path| path.to_string_lossy().contains("/t-") && path.extension().is_some_and(|e| e == "sst"));
    store.disk.flip(&bad.unwrap(), 50, 1).unwrap();
    store.db = open(&store.disk, &store.options, false).unwrap();
    let (a, b) = (store.table("t"), store.table("kv"));
    assert!(store.db.tick().is_err(), "the failure is reported");
    assert!(a.stats().failure.unwrap().contains("checksum"), "{:?}", a.stats().failure);
    assert_eq!(b.stats().failure, None);
    assert_eq!(store.files("kv").len(), 1, "the other table was compacted");
    a.insert(&row![100, 1, 1]).unwrap();
    store.db.flush().unwrap();
    assert!(a.get(&row![100, 1]).unwrap().is_some());
    assert_eq!(b.scan().count().unwrap(), 4);
    drop((a, b));
    store.reopen();
    assert_eq!(store.table("kv").scan().count().unwrap(), 4);
}

#[test]
fn case_93_writers_go_on_at_the_logs_limit_and_too_large_writes_are_refused() {
    let dir = Dir::new("limit");
    let options = Options {
        segment_bytes: 64 << 10,
        log_limit_bytes: 128 << 10,
        memtable_bytes: 64 << 20,
        sync: SyncMode::Periodic(Duration::from_secs(1)),
        ..Options::default()
    };
    let db = Db::builder(&dir.0).options(options).open().unwrap();
    let (idle, table) = (db.create_table(t()).unwrap(), db.create_table(kv()).unwrap());
    idle.insert(&row![1, 1, 1]).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let table = &table;
            scope.spawn(move || {
                for n in 0..100 {
                    // Over a third of a segment: the rest of it is wasted.
                    table.insert(&row![format!("{writer} {n} {}", "x".repeat(24 << 10)), n]).unwrap();
                }
            });
        }
    });
    let error = table.insert(&row!["x".repeat(40 << 10), 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("segment"), "{error}");
    db.wait_idle(Duration::from_secs(20)).unwrap();
    assert_eq!(table.scan().count().unwrap(), 400);
    assert!(idle.get(&row![1, 1]).unwrap().is_some());
}

#[test]
fn case_95_back_pressure_comes_in_small_steps_and_is_counted() {
    let dir = Dir::new("pressure");
    let options = Options { memtable_bytes: 128 << 10, ..Options::default() };
    let db = Db::builder(&dir.0).options(options).open().unwrap();
    let table = db.create_table(kv()).unwrap();
    let mut longest = Duration::ZERO;
    for n in 0..5000 {
        let begin = Instant::now();
        table.insert(&row![format!("{n} {}", "x".repeat(200)), n]).unwrap();
        longest = longest.max(begin.elapsed());
    }
    assert!(longest < Duration::from_secs(10), "one write took {longest:?}");
    let stats = db.stats();
    assert!(stats.stalls > 0 && stats.stalled > Duration::ZERO, "{stats:?}");
    assert!(stats.memtable_bytes <= 256 << 10, "{stats:?}");
    assert_eq!(table.scan().count().unwrap(), 5000);
}

#[test]
fn case_101_updates_do_not_make_a_table_of_constant_size_grow() {
    for windows in [false, true] {
        let store = Store::new(Options { memtable_bytes: 128 << 10, ..durable() }, false);
        let schema = if windows { kv().time_windows(Duration::from_secs(60)) } else { kv() };
        let table = store.create(schema);
        let pad: String = (0..100).map(|n| char::from(b'a' + (n * 7 % 26) as u8)).collect();
        let mut once = 0;
        for round in 0..20 {
            for n in 0..300 {
                table.insert(&row![format!("{n} {pad}"), n, round]).unwrap();
            }
            table.flush().unwrap();
            store.db.tick().unwrap();
            store.pass(3);
            if round == 0 {
                once = table.stats().file_bytes;
            }
        }
        let bytes = table.stats().file_bytes;
        // Size-tiered: up to min_threshold - 1 files of each of a few sizes.
        assert!(bytes < 8 * once, "{bytes} bytes for what takes {once}");
        assert_eq!(table.scan().count().unwrap(), 300);
    }
}

#[test]
fn case_103_a_nearly_empty_store_is_small() {
    let store = Store::default();
    store.create(kv()).insert(&row!["k", 1]).unwrap();
    store.db.close().unwrap();
    let bytes: usize = contents(&store.disk).values().map(Vec::len).sum();
    assert!(bytes < 16 << 10, "{bytes} bytes");
}

#[cfg(target_os = "linux")]
#[test]
fn case_105_files_take_no_descriptors() {
    let dir = Dir::new("descriptors");
    let db = Db::builder(&dir.0).background(false).open().unwrap();
    let table =
        db.create_table(t().compaction([("class", "SizeTieredCompactionStrategy"), ("enabled", "false")]));
    let table = table.unwrap();
    for n in 0..200 {
        table.insert(&row![n, 1, n]).unwrap();
        table.flush().unwrap();
    }
    assert_eq!(table.scan().count().unwrap(), 200);
    let ours = std::fs::read_dir("/proc/self/fd").unwrap().filter(|entry| {
        let target = std::fs::read_link(entry.as_ref().unwrap().path());
        target.is_ok_and(|target| target.starts_with(&dir.0))
    });
    let count = ours.count();
    assert!(count < 10, "{count} descriptors for {} files", db.stats().files);
    table.compact().unwrap();
    assert_eq!((db.stats().files, table.scan().count().unwrap()), (1, 200));
}

#[test]
fn case_107_memory_stays_within_the_settings() {
    let options = Options { memtable_bytes: 256 << 10, cache_bytes: 128 << 10, ..durable() };
    let store = Store::new(options, false);
    let table = store.create(kv().compression_none());
    for n in 0..3000 {
        table.insert(&row![format!("{n} {}", "x".repeat(300)), n]).unwrap();
        assert!(store.db.stats().memtable_bytes <= 256 << 10);
    }
    store.db.flush().unwrap();
    for n in 0..3000 {
        assert!(table.get(&row![format!("{n} {}", "x".repeat(300))]).unwrap().is_some());
        assert!(store.db.stats().cache_bytes <= 128 << 10, "{:?}", store.db.stats());
    }
}

#[test]
fn case_111_snapshots_beside_writes_and_compactions_each_have_one_point_in_time() {
    let dir = Dir::new("backup");
    let options = Options { memtable_bytes: 64 << 10, ..Options::default() };
    let db = Db::builder(&dir.0).options(options).open().unwrap();
    let (a, b) = (db.create_table(t()).unwrap(), db.create_table(kv()).unwrap());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut batch = db.batch();
            let mut n = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                n += 1;
                batch.insert(&a.schema(), &row![1, 1, n]).unwrap();
                batch.insert(&a.schema(), &row![n % 100, 2, n]).unwrap();
                batch.insert(&b.schema(), &row!["k", n]).unwrap();
                db.write(&mut batch).unwrap();
                if n % 200 == 0 {
                    db.flush().unwrap();
                }
            }
        });
        for round in 0..8 {
            std::thread::sleep(Duration::from_millis(20));
            let name = format!("s{round}");
            db.create_snapshot(&name).unwrap();
            if round % 3 == 0 {
                a.compact().unwrap();
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    for info in db.list_snapshots().unwrap() {
        let snapshot = Db::open_snapshot(&dir.0, &info.name).unwrap();
        let first = snapshot.table("t").unwrap().get(&row![1, 1]).unwrap();
        let second = snapshot.table("kv").unwrap().get(&row!["k"]).unwrap();
        let first = first.map(|row| row.get::<i32>("v").unwrap());
        let second = second.map(|row| row.get::<i32>("a").unwrap());
        assert_eq!(first, second, "snapshot {}", info.name);
        assert!(snapshot.verify().unwrap().is_ok());
    }
    assert_eq!(db.list_snapshots().unwrap().len(), 8);
}

/// Found by case 93: such a key fills a block before its row comes.
#[test]
fn partition_keys_larger_than_a_block_survive_compaction() {
    for size in [3000, 15_000, 24 << 10] {
        let store = Store::default();
        let table = store.create(kv());
        for file in 0..4 {
            for n in 0..10 {
                table.insert(&row![format!("{file} {n} {}", "x".repeat(size)), n]).unwrap();
            }
            table.flush().unwrap();
        }
        table.compact().unwrap();
        store.verify();
        assert_eq!(table.scan().count().unwrap(), 40);
        assert!(table.get(&row![format!("2 7 {}", "x".repeat(size))]).unwrap().is_some());
    }
}
