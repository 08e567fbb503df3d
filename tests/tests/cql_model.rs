//! CQL against the model: random statements (INSERT, UPDATE, DELETE, BATCH, conditions; timestamps, TTL, static columns, ranges) on random tables, with
//! flushes, compactions and crashes in between, and random SELECTs (slices, IN, both directions, limits, groups, filters, pages).
//!
//! `PROPTEST_CASES=10000 cargo test --release -p skep-tests --test cql_model` is the long run.

use proptest::prelude::*;
use skep_engine::env::sim::{CrashMode, SimDisk};
use skep_engine::{Db, Options, SyncMode};
use skep_tests::cql::CqlRun;
use skep_tests::cql::write::{Step, any_step};
use skep_tests::op::{Op, Shape, any_shape};
use skep_tests::store;

fn open(disk: &SimDisk) -> Db {
    let options = Options {
        sync: SyncMode::Batch,
        memtable_bytes: 16 << 10,
        segment_bytes: 4096,
        log_limit_bytes: 8192,
        ..Options::default()
    };
    store::open(disk, &options, false).unwrap()
}

fn run(shape: Shape, steps: &[(Step, u16)], seed: u64) {
    let disk = SimDisk::new(seed);
    let mut run = CqlRun::new(shape, open(&disk), disk.clock());
    for (n, (step, form)) in steps.iter().enumerate() {
        match step {
            Step::One(Op::Reopen) => {
                run.run.db.close().unwrap();
                run.replace(open(&disk));
            }
            Step::One(Op::Crash) => {
                disk.restart(CrashMode::Mixed);
                run.replace(open(&disk));
            }
            step => run.step(step, *form),
        }
        if n % 4 == 0 {
            run.check(seed.wrapping_add(n as u64));
        }
    }
    run.check(seed);
    run.maintain(&Op::Flush);
    run.check(seed.wrapping_add(1));
    run.maintain(&Op::Compact);
    run.check(seed.wrapping_add(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn statements_answer_as_the_model(
        shape in any_shape(),
        steps in prop::collection::vec((any_step(), any::<u16>()), 1..60),
        seed in any::<u64>(),
    ) {
        run(shape, &steps, seed);
    }
}
