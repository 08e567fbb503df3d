//! Damage: every byte of every file of a small store is changed, every file is cut at every length.
//!
//! What may come of it is an error that names the file, or the right rows: those of the undamaged store, for the tail of the
//! log's last segment those after some prefix of the writes. No panic, no hang, no wrong row.
//!
//! `SKEP_CORRUPT_BITS=8` changes each bit of each byte (CI: one bit of each).

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use skep_engine::encoding::checksum::put_checksum;
use skep_engine::env::sim::{CrashMode, SimDisk};
use skep_engine::sstable::cache::BlockCache;
use skep_engine::sstable::reader::SsTable;
use skep_engine::{CqlType, Db, Error, ErrorKind, Options, Schema, Value, row};
use skep_tests::op::{Op, Run, Shape, any_op};
use skep_tests::store::{Store, at, contents, durable, everything, open, rows, t};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// Longest time for one damaged store; beyond it the test says which one hangs, and ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of a log segment before its first record.
const LOG_HEADER: u64 = 40;

/// A killed store with every kind of file, and what its tables hold.
struct Sample {
    disk: SimDisk,
    options: Options,
    /// All rows after each write that is only in the log; the last is what the store holds.
    states: Vec<Vec<String>>,
    /// Where in the log these writes end, and where the first begins.
    ends: Vec<u64>,
}

fn collections() -> Schema {
    Schema::table("c")
        .partition_key("p", CqlType::Text)
        .clustering_desc("at", CqlType::Timestamp)
        .static_column("tags", CqlType::Set(Box::new(CqlType::Text)))
        .column("list", CqlType::List(Box::new(CqlType::Int)))
        .column("map", CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Double)))
        .column("blob", CqlType::Blob)
}

fn write_collections(store: &Store, n: i32) {
    let texts = |names: &[&str]| names.iter().map(|name| Value::Text((*name).to_owned())).collect();
    let map = vec![
        (Value::Text("x".into()), Value::Double(f64::from(n))),
        (Value::Text("y".into()), Value::Double(0.5)),
    ];
    let args = row![
        "p",
        skep_engine::Timestamp::from_millis(i64::from(n)),
        Value::Set(texts(&["a", "b"])),
        Value::List(vec![Value::Int(n), Value::Int(-n)]),
        Value::Map(map),
        vec![n as u8; 5],
    ];
    store.table("c").insert(&args).unwrap();
}

fn sample() -> Sample {
    let shape = Shape {
        descending: vec![false, true],
        statics: 1,
        regulars: 2,
        windows: false,
        no_grace: false,
        ttl: 0,
    };
    let options = Options { segment_bytes: 64 << 10, log_limit_bytes: 128 << 10, ..durable() };
    let mut store = Store::new(options.clone(), false);
    let mut run = Run::new(shape, store.db.clone(), store.disk.clock());
    store.create(collections());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut next = || loop {
        let op = any_op().new_tree(&mut runner).unwrap().current();
        if matches!(op, Op::Write { .. } | Op::Static { .. } | Op::DeleteRow { .. } | Op::DeleteRange { .. })
        {
            return op;
        }
    };
    for file in 0..2 {
        (0..12).for_each(|_| run.apply(&next()).unwrap());
        write_collections(&store, file);
        if file == 0 {
            run.apply(&Op::DeletePartition { key: 3, at: None }).unwrap();
        }
        store.db.flush().unwrap();
    }
    // In order: the length of the manifest is known from now on. What follows is in the log alone.
    store.reopen();
    run.replace(store.db.clone());
    let mut states = vec![everything(&store.db).unwrap()];
    let mut ends = vec![LOG_HEADER];
    let log_bytes = |store: &Store| {
        let files = contents(&store.disk).into_iter();
        files.filter(|(path, _)| path.starts_with("/db/commitlog")).map(|(_, bytes)| bytes.len() as u64).sum()
    };
    for n in 0..6 {
        match n {
            3 => write_collections(&store, 9),
            _ => run.apply(&next()).unwrap(),
        }
        states.push(everything(&store.db).unwrap());
        ends.push(log_bytes(&store));
    }
    run.check(1);
    assert!(states.last().unwrap().len() > 10);
    store.disk.restart(CrashMode::KeepAll);
    Sample { disk: store.disk, options, states, ends }
}

/// What a damaged store answers.
enum Answer {
    Rows(Vec<String>),
    Refused(Error),
}

impl Sample {
    fn last(&self) -> &Vec<String> {
        self.states.last().unwrap()
    }

    /// Files with `part` in their path.
    fn files(&self, part: &str) -> Vec<(PathBuf, u64)> {
        let files = contents(&self.disk).into_iter().map(|(path, bytes)| (path, bytes.len() as u64));
        let files: Vec<_> = files.filter(|(path, _)| path.to_string_lossy().contains(part)).collect();
        assert!(!files.is_empty(), "a file {part}");
        files
    }

    fn read(&self, disk: &SimDisk) -> (Answer, Option<Db>) {
        match open(disk, &self.options, false) {
            Err(error) => (Answer::Refused(error), None),
            Ok(db) => match everything(&db) {
                Ok(rows) => (Answer::Rows(rows), Some(db)),
                Err(error) => (Answer::Refused(error), Some(db)),
            },
        }
    }

    /// Damages a copy of `path` by `damage`, for each number of `places`, and judges the answers by `judge`.
    fn damage_each(
        &self,
        path: &Path,
        places: impl Iterator<Item = u64>,
        damage: impl Fn(&SimDisk, u64),
        judge: impl Fn(&SimDisk, &Answer, Option<&Db>, u64),
    ) {
        let (progress, watched) = mpsc::channel::<u64>();
        let name = path.display().to_string();
        let watch = std::thread::spawn(move || {
            let mut last = 0;
            loop {
                match watched.recv_timeout(PATIENCE) {
                    Ok(place) => last = place,
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        eprintln!("{name}, damaged at {last}: the store hangs");
                        std::process::abort();
                    }
                }
            }
        });
        for place in places {
            progress.send(place).unwrap();
            let disk = self.disk.fork(place);
            damage(&disk, place);
            let one = catch_unwind(AssertUnwindSafe(|| {
                let (answer, db) = self.read(&disk);
                if let Answer::Refused(error) = &answer {
                    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
                    assert_eq!(error.file(), Some(path), "{error}");
                }
                judge(&disk, &answer, db.as_ref(), place);
            }));
            if let Err(panic) = one {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                panic!("{} damaged at {place}: {text}", path.display());
            }
        }
        drop(progress);
        watch.join().unwrap();
    }

    fn flip_each(&self, path: &Path, len: u64, judge: impl Fn(&SimDisk, &Answer, Option<&Db>, u64)) {
        let bits: u64 =
            std::env::var("SKEP_CORRUPT_BITS").ok().and_then(|bits| bits.parse().ok()).unwrap_or(1);
        let mask = |place: u64| 1u8 << ((place / bits + place % bits) % 8);
        let flip = |disk: &SimDisk, place: u64| disk.flip(path, place / bits, mask(place)).unwrap();
        self.damage_each(path, 0..len * bits, flip, judge);
    }

    fn cut_each(&self, path: &Path, len: u64, judge: impl Fn(&SimDisk, &Answer, Option<&Db>, u64)) {
        let cut = |disk: &SimDisk, place: u64| disk.env().truncate(path, place).unwrap();
        self.damage_each(path, 0..len, cut, judge);
    }
}

fn refused(_: &SimDisk, answer: &Answer, _: Option<&Db>, _: u64) {
    assert!(matches!(answer, Answer::Refused(_)), "the damage was not noticed");
}

#[test]
fn a_damaged_format_current_or_manifest_is_refused() {
    let sample = sample();
    for part in ["FORMAT", "CURRENT", "MANIFEST-"] {
        for (path, len) in sample.files(part) {
            sample.flip_each(&path, len, refused);
            sample.cut_each(&path, len, refused);
        }
    }
}

#[test]
fn a_cut_manifest_is_refused_also_of_a_store_that_was_killed_after_a_flush() {
    let store = Store::new(durable(), false);
    store.create(collections());
    // The flush names its file in the manifest and lets the log go: without that record the rows would be gone.
    write_collections(&store, 1);
    store.db.flush().unwrap();
    let states = vec![everything(&store.db).unwrap()];
    store.disk.restart(CrashMode::KeepAll);
    let sample = Sample { disk: store.disk, options: durable(), states, ends: Vec::new() };
    for (path, len) in sample.files("MANIFEST-") {
        sample.cut_each(&path, len, refused);
    }
}

#[test]
fn what_stands_in_the_lock_file_does_not_matter() {
    let sample = sample();
    let right = |_: &SimDisk, answer: &Answer, _: Option<&Db>, _: u64| match answer {
        Answer::Rows(rows) => assert_eq!(rows, sample.last()),
        Answer::Refused(error) => panic!("{error}"),
    };
    for (path, len) in sample.files("LOCK") {
        sample.flip_each(&path, len, right);
        sample.cut_each(&path, len, right);
    }
}

#[test]
fn a_damaged_log_is_refused_or_loses_the_newest_writes_alone() {
    let sample = sample();
    let notes = |db: Option<&Db>| db.unwrap().stats().recovery_notes;
    for (path, len) in sample.files("commitlog") {
        sample.flip_each(&path, len, |_, answer, db, _| {
            if let Answer::Rows(rows) = answer {
                assert!(sample.states.contains(rows), "these rows never were: {rows:?}");
                assert!(notes(db).iter().any(|note| note.contains("torn at byte")), "lost without a word");
            }
        });
        sample.cut_each(&path, len, |_, answer, db, place| {
            let Answer::Rows(rows) = answer else { panic!("a torn end is what a crash leaves") };
            assert!(sample.states.contains(rows), "these rows never were: {rows:?}");
            // A log that ends with a whole record looks like one that ended there.
            assert!(!notes(db).is_empty() || sample.ends.contains(&place), "lost without a word");
        });
    }
}

/// A damaged SSTable: reads fail or are right, verify finds it, and compaction does not turn damage into rows.
fn judge_sstable(sample: &Sample, answer: &Answer, db: Option<&Db>, path: &Path, place: u64) {
    let db = db.expect("SSTables are not read on opening");
    if let Answer::Rows(rows) = answer {
        assert_eq!(rows, sample.last());
    }
    // The engine's own tests verify a file with each of its bytes changed; here some will do, for time.
    if place.is_multiple_of(4) {
        let report = db.verify().unwrap();
        assert!(report.problems.iter().any(|error| error.file() == Some(path)), "verify finds nothing");
    }
    if !place.is_multiple_of(16) {
        return;
    }
    for table in db.tables() {
        if let Err(error) = table.compact() {
            assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(path)), "{error}");
            assert!(table.stats().failure.is_some(), "the failure is not reported");
            assert!(db.files(&table.name()).unwrap().iter().any(|file| file == path), "the input is gone");
        }
    }
    match everything(db) {
        Ok(rows) => assert_eq!(&rows, sample.last(), "after compaction"),
        Err(error) => assert_eq!(error.file(), Some(path), "{error}"),
    }
}

#[test]
fn a_changed_byte_of_an_sstable_is_an_error_or_does_no_harm() {
    let sample = sample();
    for (path, len) in sample.files(".sst") {
        sample.flip_each(&path, len, |_, answer, db, place| judge_sstable(&sample, answer, db, &path, place));
    }
}

#[test]
fn a_cut_sstable_is_an_error() {
    let sample = sample();
    for (path, len) in sample.files(".sst") {
        sample.cut_each(&path, len, |disk, answer, db, place| {
            refused(disk, answer, db, place);
            judge_sstable(&sample, answer, db, &path, place);
        });
    }
}

#[test]
fn a_missing_file_is_named() {
    let sample = sample();
    for part in ["FORMAT", "CURRENT", "MANIFEST-", ".sst"] {
        for (path, _) in sample.files(part) {
            let disk = sample.disk.fork(1);
            disk.env().remove(&path).unwrap();
            let (answer, _) = sample.read(&disk);
            let Answer::Refused(error) = answer else { panic!("{} is not missed", path.display()) };
            assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(path.as_path())), "{error}");
        }
    }
}

/// Ten files, a byte changed in one: everything else goes on.
#[test]
fn case_83_one_bad_block_stops_neither_other_keys_nor_writes_nor_compaction_of_other_files() {
    let mut store = Store::default();
    let table = store.create(t());
    for pk in 0..10 {
        for ck in 0..50 {
            table.insert(&row![pk, ck, pk * ck]).unwrap();
        }
        table.flush().unwrap();
    }
    let bad = store.files("t")[3].clone();
    drop(table);
    store.db.close().unwrap();
    store.disk.flip(&bad, 60, 1).unwrap();
    store.db = open(&store.disk, &store.options, false).unwrap();
    let table = store.table("t");
    for pk in (0..10).filter(|pk| *pk != 3) {
        assert_eq!(rows(table.slice(&row![pk], ..)).unwrap().len(), 50);
    }
    let error = rows(table.slice(&row![3], ..)).unwrap_err();
    assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(bad.as_path())), "{error}");
    assert!(error.offset().is_some() && error.table() == Some("main.t"), "{error}");
    table.insert(&row![4, 100, 1]).unwrap();
    let error = table.compact().unwrap_err();
    assert_eq!(error.file(), Some(bad.as_path()), "{error}");
    assert!(table.stats().failure.unwrap().contains(&bad.display().to_string()));
    assert_eq!(store.files("t").len(), 11, "the inputs stay, nothing is put out");
    table.compact().unwrap();
    assert_eq!(store.files("t").len(), 2, "the damaged file is set aside, the others are compacted");
    assert!(store.files("t").contains(&bad));
    assert_eq!(rows(table.slice(&row![4], ..)).unwrap().len(), 51);
    assert!(table.get(&row![3, 1]).is_err());
    let report = store.db.verify().unwrap();
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].file(), Some(bad.as_path()));
    let aside = table.stats().set_aside;
    assert_eq!(aside, [bad], "the file is reported as set aside");
}

/// One file of many blocks: only the reads of the damaged one fail.
#[test]
fn a_bad_block_makes_reads_of_its_range_fail_and_no_others() {
    let store = Store::default();
    let schema = Schema::table("b").partition_key("p", CqlType::Int).clustering("c", CqlType::Int);
    let table = store.create(schema.column("v", CqlType::Blob).compression_none());
    let blob = |c: i32| -> Vec<u8> { (0..200).map(|i| (c.wrapping_mul(31) ^ i) as u8).collect() };
    for c in 0..2000 {
        table.insert_with(&row![1, c, blob(c)], at(i64::from(c))).unwrap();
    }
    table.flush().unwrap();
    let file = store.files("b")[0].clone();
    store.db.close().unwrap();
    let len = contents(&store.disk)[&file].len() as u64;
    store.disk.flip(&file, len / 2, 4).unwrap();
    let db = open(&store.disk, &store.options, false).unwrap();
    let table = db.table("b").unwrap();
    let read = |c: i32| {
        table.get(&row![1, c]).map(|row| assert_eq!(row.unwrap().get::<Vec<u8>>("v").unwrap(), blob(c)))
    };
    let lost: Vec<i32> = (0..2000).filter(|c| read(*c).is_err()).collect();
    assert!(!lost.is_empty() && lost.len() < 1000, "{} rows of 2000 are unreadable", lost.len());
    assert!(lost.windows(2).all(|pair| pair[1] == pair[0] + 1), "one range: {lost:?}");
    let (first, last) = (lost[0], lost[lost.len() - 1]);
    assert_eq!(rows(table.slice(&row![1], ..first)).unwrap().len() as i32, first);
    assert_eq!(rows(table.slice(&row![1], last + 1..).reverse()).unwrap().len() as i32, 1999 - last);
    assert!(rows(table.slice(&row![1], ..)).is_err());
    assert!(table.scan().sum("c").is_err() || lost.is_empty());
    assert_eq!(db.verify().unwrap().problems.len(), 1);
}

/// Bytes that no writer of ours made, under a checksum that is right: what is not understood is never skipped.
#[test]
fn case_15_a_block_that_is_not_understood_stops_its_compaction_and_loses_nothing() {
    let store = Store::default();
    let table = store.create(t().compression_none());
    for ck in 0..20 {
        table.insert(&row![1, ck, ck]).unwrap();
    }
    table.delete_range(&row![1], 3..7).unwrap();
    table.flush().unwrap();
    table.insert(&row![1, 5, 55]).unwrap();
    table.flush().unwrap();
    let files = store.files("t");
    let path = files[0].clone();
    let file = SsTable::open_alone(store.disk.env(), &path, Arc::new(BlockCache::new(0))).unwrap();
    let block = file.first_block().unwrap().unwrap();
    let (start, end) = (block.offset as usize, block.offset as usize + block.length as usize);
    store.disk.restart(CrashMode::KeepAll);
    let good = contents(&store.disk)[&path].clone();
    let mut refused = 0;
    for place in start..end - 4 {
        for mask in [1, 0x80, 0xff] {
            let disk = store.disk.fork(1);
            let mut block = good[start..end - 4].to_vec();
            block[place - start] ^= mask;
            put_checksum(&mut block, 0);
            for (offset, byte) in (start..end).zip(block) {
                if good[offset] != byte {
                    disk.flip(&path, offset as u64, good[offset] ^ byte).unwrap();
                }
            }
            let db = open(&disk, &store.options, false).unwrap();
            let read = everything(&db);
            let compacted = db.table("t").unwrap().compact();
            if let Err(error) = &read {
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
                assert_eq!(error.file(), Some(path.as_path()), "{error}");
                let error = compacted.as_ref().expect_err("compaction skips what a read refuses");
                assert_eq!(error.file(), Some(path.as_path()), "{error}");
            }
            if compacted.is_err() {
                refused += 1;
                assert_eq!(db.files("t").unwrap(), files, "inputs stay");
                let outputs = contents(&disk).into_keys().filter(|path| path.parent() == files[0].parent());
                assert_eq!(outputs.count(), files.len(), "nothing is put out");
            }
        }
    }
    assert!(refused > 20, "{refused} blocks were refused");
}
