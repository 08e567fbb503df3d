//! The power goes at every single I/O call of a history; the store is opened again and compared with the model.
//!
//! Under `SyncMode::Batch` nothing acknowledged may be missing, and the call that was under way when the power went has
//! happened wholly or not at all. `SKEP_CRASH_STRIDE=1` cuts at every call (the default in CI is every third).

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use skep_engine::env::sim::{CrashMode, Failure, SimDisk};
use skep_engine::{Db, ErrorKind, Options, SyncMode};
use skep_tests::model::Table as Model;
use skep_tests::op::{Op, Run, Shape, any_op};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

const MODES: [CrashMode; 6] = [
    CrashMode::LoseAll,
    CrashMode::KeepAll,
    CrashMode::Torn,
    CrashMode::ZeroTail,
    CrashMode::GarbageTail,
    CrashMode::Mixed,
];

fn open(disk: &SimDisk, sync: SyncMode) -> skep_engine::Result<Db> {
    let options = Options {
        sync,
        memtable_bytes: 16 << 10,
        segment_bytes: 4096,
        log_limit_bytes: 8192,
        ..Options::default()
    };
    Db::builder("/db").options(options).env(disk.env()).clock(Arc::new(disk.clock())).background(false).open()
}

/// The same history every time: `seed` chooses it.
fn history(seed: u8, len: usize) -> (Shape, Vec<Op>) {
    let shape = Shape {
        descending: vec![seed % 2 == 1],
        statics: usize::from(seed.is_multiple_of(3)),
        regulars: 2,
        windows: seed.is_multiple_of(2),
        no_grace: seed % 3 == 1,
        ttl: 0,
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let op = any_op();
    let ops = (0..len).map(|_| op.new_tree(&mut runner).unwrap().current()).collect();
    (shape, ops)
}

/// Runs the history until the power goes. Returns the models that the store may now agree with.
fn run_until_cut(disk: &SimDisk, sync: SyncMode, shape: &Shape, ops: &[Op]) -> Option<Vec<Model>> {
    let Ok(db) = open(disk, sync) else { return None };
    let clock = disk.clock();
    if db.create_table(shape.schema()).is_err() {
        return None;
    }
    let mut run = Run::opened(shape.clone(), db, clock);
    let mut models = vec![run.model.clone()];
    for op in ops {
        let before = run.model.clone();
        let done = match op {
            Op::Reopen => run.db.close().and_then(|()| open(disk, sync)).map(|db| run.replace(db)),
            Op::Crash => Ok(()),
            op => run.apply(op),
        };
        match done {
            Ok(()) => models.push(run.model.clone()),
            Err(_) => {
                // Under way when the power went: it happened, or it did not.
                let mut after = run;
                after.model = before.clone();
                after.assume(op);
                return Some(match sync {
                    SyncMode::Batch => vec![before, after.model],
                    _ => models.into_iter().chain([after.model]).collect(),
                });
            }
        }
    }
    Some(match sync {
        SyncMode::Batch => vec![run.model.clone()],
        _ => models,
    })
}

/// Which of `models` the store agrees with.
fn agrees(run: &mut Run, models: &[Model], what: &str) -> usize {
    let mut last = String::new();
    for (n, model) in models.iter().enumerate().rev() {
        run.model = model.clone();
        match catch_unwind(AssertUnwindSafe(|| run.check(n as u64))) {
            Ok(()) => return n,
            Err(panic) => {
                last = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            }
        }
    }
    panic!("{what}: the store agrees with no state of the history: {last}");
}

fn cut_everywhere(sync: SyncMode, seed: u8, len: usize) {
    let (shape, ops) = history(seed, len);
    let whole = SimDisk::new(u64::from(seed));
    run_until_cut(&whole, sync, &shape, &ops).expect("without a cut the history runs through");
    let calls = whole.calls();
    let stride: u64 = std::env::var("SKEP_CRASH_STRIDE").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {})); // disagreement with one of several states is no failure
    let result = catch_unwind(AssertUnwindSafe(|| {
        for cut in (u64::from(seed) % stride..calls).step_by(stride as usize) {
            let disk = SimDisk::new(u64::from(seed));
            disk.crash_at(cut);
            let models = run_until_cut(&disk, sync, &shape, &ops);
            let mode = MODES[(cut % MODES.len() as u64) as usize];
            disk.restart(mode);
            // Every other time the power goes again while the store recovers.
            if cut % 2 == 0 {
                disk.crash_at(cut % 23);
                drop(open(&disk, sync));
                disk.restart(MODES[(cut / 2 % MODES.len() as u64) as usize]);
            }
            let what = format!("{sync:?}, seed {seed}, cut at call {cut} of {calls}, {mode:?}");
            let db = open(&disk, sync).unwrap_or_else(|error| panic!("{what}: does not open: {error}"));
            let Some(models) = models else { continue };
            let mut run = match db.table("t") {
                Ok(_) => Run::opened(shape.clone(), db, disk.clock()),
                Err(error) => panic!("{what}: {error}"),
            };
            agrees(&mut run, &models, &what);
            run.db.flush().unwrap_or_else(|error| panic!("{what}: flush: {error}"));
            run.table.compact().unwrap_or_else(|error| panic!("{what}: compact: {error}"));
            let model = run.model.clone();
            agrees(&mut run, &[model], &format!("{what}, after flush and compaction"));
            let report = run.db.verify().unwrap();
            assert!(report.is_ok(), "{what}: {:?}", report.problems);
        }
    }));
    std::panic::set_hook(quiet);
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn nothing_acknowledged_is_lost_under_batch() {
    (0..3).for_each(|seed| cut_everywhere(SyncMode::Batch, seed, 40));
}

#[test]
fn periodic_loses_the_newest_writes_only_and_in_order() {
    (0..2).for_each(|seed| cut_everywhere(SyncMode::Periodic(Duration::from_secs(1)), seed, 30));
}

#[test]
fn without_a_log_a_state_of_the_history_remains() {
    cut_everywhere(SyncMode::Off, 1, 30);
}

/// Every call of a history fails once, one after the other; the store says so or gets over it, and goes on.
#[test]
fn an_error_at_any_call_is_reported_and_nothing_acknowledged_is_lost() {
    let (shape, ops) = history(4, 30);
    let whole = SimDisk::new(9);
    run_until_cut(&whole, SyncMode::Batch, &shape, &ops).unwrap();
    for failure in [Failure::Io, Failure::NoSpace, Failure::Sync] {
        for call in (0..whole.calls()).step_by(5) {
            let disk = SimDisk::new(9);
            disk.fail_at(call, failure);
            let models = run_until_cut(&disk, SyncMode::Batch, &shape, &ops);
            disk.heal();
            let what = format!("{failure:?} at call {call}");
            let again = disk.fork(9);
            again.restart(CrashMode::KeepAll);
            let db = open(&again, SyncMode::Batch)
                .unwrap_or_else(|error| panic!("{what}: does not open: {error}"));
            let Some(models) = models else { continue };
            let mut run = Run::opened(shape.clone(), db, again.clock());
            agrees(&mut run, &models, &what);
        }
    }
}

#[test]
fn a_failed_sync_stops_writing_with_its_cause_and_reading_goes_on() {
    let disk = SimDisk::new(1);
    let (shape, _) = history(0, 0);
    let mut run = Run::new(shape, open(&disk, SyncMode::Batch).unwrap(), disk.clock());
    let write = |n: i32| Op::Write {
        key: n,
        place: vec![n, 0],
        marker: true,
        cells: vec![(0, Some(n))],
        times: skep_tests::op::Times { at: None, ttl: None },
    };
    run.apply(&write(1)).unwrap();
    disk.fail_from(disk.calls(), Failure::Sync);
    assert!(run.apply(&write(2)).is_err());
    disk.heal();
    let error = run.apply(&write(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.message().contains("sync"), "{error}");
    run.check(0);
}

#[test]
fn a_full_disk_heals_without_reopening() {
    let disk = SimDisk::new(2);
    let (shape, _) = history(0, 0);
    let mut run =
        Run::new(shape, open(&disk, SyncMode::Periodic(Duration::from_secs(1))).unwrap(), disk.clock());
    let used: u64 = disk.dump().values().map(|bytes| bytes.len() as u64).sum();
    disk.set_capacity(Some(used + 3000));
    let mut refused = None;
    for n in 0..2000 {
        let op = Op::Write {
            key: n % 4,
            place: vec![n, 0],
            marker: true,
            cells: vec![(0, Some(n))],
            times: skep_tests::op::Times { at: None, ttl: None },
        };
        if let Err(error) = run.apply(&op) {
            refused = Some(error);
            break;
        }
    }
    assert_eq!(refused.expect("3000 bytes do not hold 2000 rows").kind(), ErrorKind::NoSpace);
    run.check(1);
    disk.set_capacity(None);
    let op = Op::Write {
        key: 1,
        place: vec![9999, 0],
        marker: true,
        cells: vec![(0, Some(1))],
        times: skep_tests::op::Times { at: None, ttl: None },
    };
    run.apply(&op).unwrap();
    run.apply(&Op::Flush).unwrap();
    run.check(2);
}
