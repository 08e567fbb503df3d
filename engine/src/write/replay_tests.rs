//! Replay on several threads against one record after the other.

use super::*;
use crate::encoding::mutation_encoder::BatchEncoder;
use crate::encoding::row::{Place, RowEncoder, RowHead, Stamp};
use crate::env::{ManualClock, UniqueMicros};
use crate::error::ErrorKind;
use crate::memtable::pins::Pins;
use crate::model::bytes::Bytes;
use crate::model::cell::ColumnId;
use crate::model::clustering::{Bound, Clustering};
use crate::model::schema::{ColumnKind, Order, TableOptions, TableSchema};
use crate::model::types::CqlType;
use crate::options::SyncMode;
use crate::view::TableView;
use crate::write::commit::Parts;
use crate::write::tables::Tables;
use proptest::prelude::*;
use std::sync::atomic::AtomicU64;

const TABLES: [TableId; 2] = [TableId(1), TableId(2)];
const PLENTY: usize = 1 << 30;

fn committer(memtable_bytes: usize) -> Committer {
    let clock = Arc::new(ManualClock::new(0));
    let visible = Arc::new(AtomicU64::new(0));
    let pins = Arc::new(Pins::new(Arc::clone(&visible)));
    let tables = Arc::new(Tables::default());
    for id in TABLES {
        let columns = [
            ("k", CqlType::Blob, ColumnKind::PartitionKey),
            ("c", CqlType::Int, ColumnKind::Clustering(Order::Asc)),
            ("v", CqlType::Blob, ColumnKind::Regular),
        ];
        let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
        let schema = TableSchema::new(id, "ks", "t", columns, TableOptions::default()).unwrap();
        let active = Arc::new(Memtable::new(Arc::clone(&pins), 0));
        let view = TableView {
            schema: Arc::new(schema),
            active,
            sealed: Vec::new(),
            files: Vec::new(),
            flushed_seq: 0,
        };
        tables.insert(Arc::new(TableState::new(id, view)));
    }
    let stamps = UniqueMicros::new(clock);
    Committer::new(Parts {
        log: None,
        sync: SyncMode::Off,
        stamps,
        visible,
        pins,
        tables,
        memtable_bytes,
        written: LogPosition::START,
    })
}

/// One operation: table, partition, kind or row, size of the row.
type Op = (usize, u8, u8, usize);

fn record(ops: &[Op], second: i64) -> Vec<u8> {
    let mut batch = BatchEncoder::default();
    batch.set_stamp(Stamp { timestamp: second * 1_000_000, now: second });
    for &(table, key, kind, size) in ops {
        let (table, key) = (TABLES[table], &[key][..]);
        let place = Clustering::new(Bytes::new(&[kind]));
        match kind {
            0 => batch.delete_partition(table, key, None),
            1 => batch.delete_range(table, key, &Bound::bottom(), &Bound::after(place.order()), None),
            _ => {
                let head = RowHead { marker: true, ..RowHead::default() };
                let cells = |row: &mut RowEncoder<'_>| {
                    row.value(ColumnId(0), &vec![second as u8; size]);
                    Ok(())
                };
                let is_static = kind == 2;
                let place = if is_static { Clustering::EMPTY } else { place };
                batch.row_with(table, key, is_static, Place::of(&place), &head, cells).unwrap();
            }
        }
    }
    batch.bytes().to_vec()
}

fn logged(records: &[Vec<u8>]) -> Vec<Logged<'_>> {
    let at = |offset: usize| LogPosition { segment: 1, offset: offset as u64 };
    records.iter().enumerate().map(|(i, payload)| Logged { position: at(i + 1), payload }).collect()
}

fn nothing_flushed() -> HashMap<TableId, LogPosition> {
    TABLES.iter().map(|id| (*id, LogPosition::START)).collect()
}

fn contents(memtable: &Memtable) -> Vec<String> {
    memtable.flush_iter().map(|fragment| format!("{:?}", fragment.unwrap())).collect()
}

fn counts(memtable: &Memtable) -> (usize, usize, String) {
    (memtable.partition_count(), memtable.row_count(), format!("{:?}", memtable.times()))
}

/// The active memtables after `records` were applied one by one.
fn one_by_one(records: &[Logged<'_>], flushed: &HashMap<TableId, LogPosition>) -> Vec<Arc<Memtable>> {
    let commit = committer(PLENTY);
    let mut replay = Replay::new(&commit, flushed, 1).unwrap();
    records.iter().for_each(|record| replay.apply(std::slice::from_ref(record), &mut || ()).unwrap());
    replay.finish();
    TABLES.iter().map(|id| commit.tables.get(*id).unwrap().view().active.clone()).collect()
}

fn batches() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let size = prop_oneof![3 => 0..100usize, 1 => Just(9_000)];
    let op = (0..2usize, 0..12u8, prop_oneof![1 => 0..3u8, 6 => 3..9u8], size);
    let batch = prop::collection::vec(op, 1..6);
    prop::collection::vec(batch, 1..60)
        .prop_map(|batches| batches.iter().enumerate().map(|(i, ops)| record(ops, 1 + i as i64)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn shares_and_runs_of_any_size_give_the_same_memtables(
        records in batches(),
        threads in 1..5usize,
        run in 1..60usize,
        flushed in (0..60u64, 0..60u64),
    ) {
        let records = logged(&records);
        let at = |offset| LogPosition { segment: 1, offset };
        let flushed = HashMap::from([(TABLES[0], at(flushed.0)), (TABLES[1], at(flushed.1))]);
        let commit = committer(PLENTY);
        let mut replay = Replay::new(&commit, &flushed, threads).unwrap();
        let mut reads = 0;
        records.chunks(run).for_each(|run| replay.apply(run, &mut || reads += 1).unwrap());
        prop_assert_eq!(reads, records.chunks(run).count());
        prop_assert!(!replay.seal_if_full());
        replay.finish();
        for (id, expected) in TABLES.iter().zip(one_by_one(&records, &flushed)) {
            let table = commit.tables.get(*id).unwrap();
            let found = &table.view().active;
            prop_assert_eq!(contents(found), contents(&expected));
            prop_assert_eq!(counts(found), counts(&expected));
            prop_assert_eq!(table.first_write() == i64::MAX, found.is_empty());
        }
        let views = TABLES.map(|id| commit.tables.get(id).unwrap().view());
        let memory: usize = views.iter().map(|view| view.active.memory_bytes()).sum();
        prop_assert_eq!(commit.budget.active(), memory);
        prop_assert_eq!(commit.pins.visible(), records.len() as u64);
        prop_assert_eq!(commit.paused(|end| end), records.last().unwrap().position);
    }

    #[test]
    fn a_sealed_memtable_has_its_table_up_to_its_position(records in batches(), threads in 1..5usize, run in 1..9usize) {
        let records = logged(&records);
        let commit = committer(60_000);
        let mut replay = Replay::new(&commit, &nothing_flushed(), threads).unwrap();
        let mut flushed = nothing_flushed();
        for run in records.chunks(run) {
            replay.apply(run, &mut || ()).unwrap();
            while replay.seal_if_full() {
                let task = commit.queue.try_next().unwrap();
                let id = task.table.id();
                prop_assert_eq!(task.upto, run.last().unwrap().position);
                let upto: Vec<_> = records.iter().copied().filter(|record| record.position <= task.upto).collect();
                let expected = one_by_one(&upto, &flushed).swap_remove(TABLES.iter().position(|of| *of == id).unwrap());
                prop_assert_eq!(contents(&task.memtable), contents(&expected));
                flushed.insert(id, task.upto);
                commit.budget.free(task.bytes);
                commit.queue.done(&task);
            }
            prop_assert!(commit.budget.used() < 60_000);
        }
        replay.finish();
        let rest = one_by_one(&records, &flushed);
        for (id, expected) in TABLES.iter().zip(rest) {
            prop_assert_eq!(contents(&commit.tables.get(*id).unwrap().view().active), contents(&expected));
        }
    }
}

#[test]
fn a_record_that_is_no_batch_is_named() {
    let big: Vec<Op> = (0..9).map(|key| (0, key, 5, 9_000)).collect();
    let mut records: Vec<_> = (1..5).map(|second| record(&big, second)).collect();
    let len = records[2].len();
    records[2].truncate(len - 1);
    records[3][0] = 77; // as if by another version
    for threads in 1..4 {
        let commit = committer(PLENTY);
        let mut replay = Replay::new(&commit, &nothing_flushed(), threads).unwrap();
        let (index, error) = replay.apply(&logged(&records[..3]), &mut || ()).unwrap_err();
        assert_eq!((index, error.kind()), (2, ErrorKind::Corrupt));
        let mut replay = Replay::new(&commit, &nothing_flushed(), threads).unwrap();
        let (index, error) = replay.apply(&logged(&records), &mut || ()).unwrap_err();
        assert_eq!((index, error.kind()), (3, ErrorKind::Unsupported));
    }
}

#[test]
fn shares_cover_all_places_once_and_keys_spread_over_them() {
    for of in 1..5 {
        let shares: Vec<_> = (0..of).map(|number| places(number, of)).collect();
        assert_eq!((shares[0].start, shares[of as usize - 1].end), (0, PLACES));
        assert!(shares.windows(2).all(|two| two[0].end == two[1].start && two[0].start < two[0].end));
    }
    let keys = |make: &dyn Fn(u32) -> Vec<u8>| (0..1000).filter(|n| place(&make(*n)) < PLACES / 2).count();
    for lower in [
        keys(&|n| n.to_be_bytes().to_vec()),
        keys(&|n| format!("sensor-{n:04}").into_bytes()),
        keys(&|n| format!("{n:04}, and then what all keys have in common").into_bytes()),
        keys(&|n| vec![7; n as usize]),
    ] {
        assert!((400..600).contains(&lower), "{lower} of 1000");
    }
}
