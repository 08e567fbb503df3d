//! Random tables and random steps against the model, on the simulated disk: after each step that moves data, everything that
//! can be read is compared.
//!
//! `PROPTEST_CASES=100000 cargo test --release -p skep-tests --test model` is the long run.

use proptest::prelude::*;
use skep_engine::env::sim::{CrashMode, SimDisk};
use skep_engine::{Db, Options, SyncMode};
use skep_tests::op::{Op, Run, Shape, any_op, any_shape};
use std::sync::Arc;

fn open(disk: &SimDisk, memtable_bytes: usize) -> Db {
    let options = Options {
        sync: SyncMode::Batch,
        memtable_bytes,
        segment_bytes: 4096,
        log_limit_bytes: 8192,
        ..Options::default()
    };
    Db::builder("/db")
        .options(options)
        .env(disk.env())
        .clock(Arc::new(disk.clock()))
        .background(false)
        .open()
        .unwrap()
}

fn run(shape: Shape, ops: &[Op], memtable_bytes: usize, seed: u64) {
    let disk = SimDisk::new(seed);
    let mut run = Run::new(shape, open(&disk, memtable_bytes), disk.clock());
    for (n, op) in ops.iter().enumerate() {
        match op {
            Op::Reopen => {
                run.db.close().unwrap();
                run.replace(open(&disk, memtable_bytes));
            }
            Op::Crash => {
                disk.restart(CrashMode::Mixed);
                run.replace(open(&disk, memtable_bytes));
            }
            op => run.apply(op).unwrap(),
        }
        if !matches!(op, Op::Write { .. } | Op::Static { .. }) || n % 8 == 0 {
            run.check(seed.wrapping_add(n as u64));
        }
    }
    run.check(seed);
    run.db.flush().unwrap();
    run.check(seed);
    run.table.compact().unwrap();
    run.check(seed);
    let report = run.db.verify().unwrap();
    assert!(report.is_ok(), "{:?}", report.problems);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_store_answers_as_the_model(
        shape in any_shape(),
        ops in prop::collection::vec(any_op(), 1..120),
        small in any::<bool>(),
        seed in any::<u64>(),
    ) {
        run(shape, &ops, if small { 16 << 10 } else { 1 << 20 }, seed);
    }
}
