//! Whole compactions on a disk in memory, held against the merge of all fragments without any shortcut.

use super::*;
use crate::compact::outside::{Asked, Both, FilesOutside};
use crate::compact::purge::Nothing;
use crate::compact::task::{Reason, task};
use crate::encoding::order::encode_component;
use crate::env::sim::{Failure, SimDisk};
use crate::env::{Random, sstable_path};
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering};
use crate::model::fragment::RangeBound;
use crate::model::key::TokenRange;
use crate::model::life::{Deletion, Liveness};
use crate::model::row::Row;
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions};
use crate::model::types::CqlType;
use crate::sstable::cache::BlockCache;
use crate::sstable::writer::{SsTableWriter, WriterOptions};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

const GRACE: i64 = 10;
const STATIC: ColumnId = ColumnId(2);
const VALUE: ColumnId = ColumnId(3);
const DIR: &str = "/t";

fn schema() -> TableSchema {
    let columns = [
        ("k", CqlType::Int, ColumnKind::PartitionKey),
        ("c", CqlType::Int, ColumnKind::Clustering(Order::Asc)),
        ("s", CqlType::Blob, ColumnKind::Static),
        ("v", CqlType::Blob, ColumnKind::Regular),
    ];
    let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
    let options = TableOptions { gc_grace_seconds: GRACE as u32, ..TableOptions::default() };
    TableSchema::new(TableId(1), "ks", "t", columns, options).unwrap()
}

struct Store {
    disk: SimDisk,
    env: Arc<dyn Env>,
    schema: TableSchema,
    cache: Arc<BlockCache>,
    next: AtomicU64,
    pace: Pace,
}

impl Store {
    fn new() -> Self {
        let disk = SimDisk::new(1);
        let env = disk.env();
        env.create_dir_all(Path::new(DIR)).unwrap();
        let pace = Pace::new(Arc::clone(&env), None);
        let cache = Arc::new(BlockCache::new(1 << 20));
        Self { disk, env, schema: schema(), cache, next: AtomicU64::new(1), pace }
    }

    fn next_id(&self) -> Result<FileId> {
        Ok(FileId(self.next.fetch_add(1, Ordering::Relaxed)))
    }

    fn open(&self, meta: FileMeta) -> Arc<SsTable> {
        let path = sstable_path(Path::new(DIR), meta.id.0);
        SsTable::open(Arc::clone(&self.env), &path, Arc::new(meta), Arc::clone(&self.cache))
    }

    fn write(&self, fragments: &[Fragment]) -> Option<Arc<SsTable>> {
        let id = self.next_id().unwrap();
        let path = sstable_path(Path::new(DIR), id.0);
        let options = WriterOptions::of(&self.schema, id, 0);
        let mut writer = SsTableWriter::create(Arc::clone(&self.env), &path, &self.schema, options).unwrap();
        fragments.iter().for_each(|fragment| writer.push(fragment).unwrap());
        writer.finish().unwrap().map(|meta| self.open(meta))
    }

    fn run(
        &self,
        task: &Task,
        inputs: &[Arc<SsTable>],
        now: i64,
        outside: &(dyn Outside + Sync),
    ) -> Result<Outcome> {
        run(&Job {
            env: &self.env,
            directory: Path::new(DIR),
            schema: &self.schema,
            task,
            inputs: inputs.to_vec(),
            outside,
            now_seconds: now,
            next_id: &|| self.next_id(),
            reserved_bytes: 0,
            pace: &self.pace,
            cancel: &Cancel::new(),
            progress: &Progress::default(),
        })
    }

    fn scan(&self, files: &[FileMeta]) -> Vec<Vec<Fragment>> {
        let scan = |meta: &FileMeta| scan(&self.open(meta.clone()));
        files.iter().map(scan).collect()
    }

    fn names(&self) -> Vec<String> {
        self.env.list_dir(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name).collect()
    }
}

fn scan(table: &Arc<SsTable>) -> Vec<Fragment> {
    table.scan(TokenRange::ALL).unwrap().map(|fragment| fragment.unwrap()).collect()
}

fn all_of(inputs: &[Arc<SsTable>], kind: TaskKind) -> Task {
    task(kind, inputs.iter().map(|input| input.id()).collect(), Reason::Requested { files: inputs.len() })
}

fn place(ck: i32) -> Clustering {
    let mut bytes = Vec::new();
    encode_component(&ck.to_be_bytes(), &CqlType::Int, false, &mut bytes).unwrap();
    Clustering::new(Bytes::from(bytes))
}

fn merge(sources: Vec<Vec<Fragment>>) -> Vec<Fragment> {
    let streams = sources.into_iter().map(|s| s.into_iter().map(Ok));
    Merge::streams(streams).map(|f| f.unwrap()).collect()
}

/// What the inputs come to without any shortcut.
fn row_path(
    schema: &TableSchema,
    sources: Vec<Vec<Fragment>>,
    now: i64,
    outside: &(dyn Outside + Sync),
) -> Vec<Fragment> {
    let mut purge = Purge::new(schema, now, outside);
    let mut left = Vec::new();
    for fragment in merge(sources) {
        let mut push = |fragment| {
            left.push(fragment);
            Ok::<(), ()>(())
        };
        purge.push(fragment, &mut push).unwrap();
    }
    left
}

/// Without the values of cells that have expired: a block that was copied may still have them.
fn without_expired_values(mut fragments: Vec<Fragment>, now: i64) -> Vec<Fragment> {
    for fragment in &mut fragments {
        if let Fragment::Row(row) | Fragment::Static(row) = fragment {
            row.cells
                .iter_mut()
                .filter(|(_, cell)| cell.local <= now)
                .for_each(|(_, cell)| cell.value = None);
        }
    }
    fragments
}

fn blob(random: &mut Random, length: u64) -> Bytes {
    Bytes::from((0..length).map(|_| random.next_u64() as u8).collect::<Vec<_>>())
}

/// A file's worth of random writes: rows in runs, sometimes of values so large that a few fill a block, and deletions
/// of every kind, at seconds 0 to 40.
fn random_source(random: &mut Random, deletions: bool) -> Vec<Fragment> {
    let mut parts = Vec::new();
    for _ in 0..1 + random.below(6) {
        let key = DecoratedKey::new(&(random.below(4) as i32).to_be_bytes());
        let head = |deletion| Fragment::Partition { key: key.clone(), deletion };
        let second = random.below(40) as i64;
        let deletion = Deletion::new(second * 1_000_000, second);
        let from = random.below(60) as i32;
        match random.below(10) {
            0 if deletions => parts.push(vec![head(Some(deletion))]),
            1 if deletions => {
                let bound = |at, deletion| Fragment::Bound(RangeBound { at, deletion });
                let (start, end) =
                    (Bound::before(place(from).order()), Bound::after(place(from + 9).order()));
                parts.push(vec![head(None), bound(start, Some(deletion)), bound(end, None)]);
            }
            2 => {
                let mut row = Row::new(Clustering::EMPTY);
                row.cells = vec![(STATIC, Cell::live(Liveness::new(deletion.timestamp), blob(random, 9)))];
                parts.push(vec![head(None), Fragment::Static(row)]);
            }
            _ => {
                let large = random.below(2) == 0;
                for ck in from..from + random.below(25) as i32 {
                    let mut row = Row::new(place(ck));
                    let timestamp = second * 1_000_000 + random.below(3) as i64;
                    let life = match random.below(6) {
                        0 if deletions => Liveness::expiring(timestamp, 5, second + 5),
                        _ => Liveness::new(timestamp),
                    };
                    row.liveness = Some(life);
                    let length = if large { 3_000 } else { random.below(20) };
                    row.cells = vec![(VALUE, Cell::live(life, blob(random, length)))];
                    match random.below(40) {
                        0 if deletions => row = Row { deletion: Some(deletion), ..Row::new(place(ck)) },
                        1 if deletions => row.cells = vec![(VALUE, Cell::tombstone(timestamp, second))],
                        2 => row.liveness = None,
                        _ => {}
                    }
                    parts.push(vec![head(None), Fragment::Row(row)]);
                }
            }
        }
    }
    merge(parts)
}

/// A source per file: the least write time there, whatever the partition.
struct Least(Option<i64>);

impl Outside for Least {
    fn min_timestamp(&self, _: &DecoratedKey) -> Option<i64> {
        self.0
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_compaction_equals_the_row_by_row_merge(
        seed: u64,
        files in 1usize..5,
        deletions: bool,
        now in 0i64..70,
        outside in proptest::option::of(0i64..45),
    ) {
        let random = &mut Random::new(seed);
        let store = Store::new();
        let inputs: Vec<_> = (0..files).filter_map(|_| store.write(&random_source(random, deletions))).collect();
        let outside = Least(outside.map(|second| second * 1_000_000));
        let task = Task { target_bytes: 1 << (10 + seed % 10), ..all_of(&inputs, TaskKind::Merge) };
        let outcome = store.run(&task, &inputs, now, &outside).unwrap();
        let outputs = store.scan(&outcome.outputs);
        prop_assert!(outputs.iter().all(|file| !file.is_empty()));
        let written: Vec<_> = outputs.into_iter().flatten().collect();
        let expected = row_path(&store.schema, inputs.iter().map(scan).collect(), now, &outside);
        prop_assert_eq!(
            without_expired_values(written, now),
            without_expired_values(expected, now),
        );
        let rows: u64 = outcome.outputs.iter().map(|meta| meta.rows).sum();
        prop_assert_eq!(outcome.record.rows_written, rows);
    }

    #[test]
    fn a_split_keeps_everything_and_puts_each_window_into_a_file(seed: u64, files in 1usize..3) {
        let random = &mut Random::new(seed);
        let store = Store::new();
        let inputs: Vec<_> = (0..files).filter_map(|_| store.write(&random_source(random, true))).collect();
        let windows = Windows::new(7, 1_000_000);
        let outcome = store.run(&all_of(&inputs, TaskKind::Split(windows)), &inputs, 0, &Least(Some(0))).unwrap();
        for meta in &outcome.outputs {
            prop_assert_eq!(windows.of(meta.min_timestamp), windows.of(meta.max_timestamp));
        }
        let expected = merge(inputs.iter().map(scan).collect());
        prop_assert_eq!(merge(store.scan(&outcome.outputs)), expected);
    }
}

/// Rows `from..to` of some partitions, written in order at second 1.
fn series(partitions: i32, from: i32, to: i32) -> Vec<Fragment> {
    let mut keys: Vec<_> = (0..partitions).map(|k| DecoratedKey::new(&k.to_be_bytes())).collect();
    keys.sort();
    let mut fragments = Vec::new();
    for key in keys {
        fragments.push(Fragment::Partition { key, deletion: None });
        for ck in from..to {
            let mut row = Row::new(place(ck));
            row.liveness = Some(Liveness::new(1_000_000 + i64::from(ck)));
            fragments.push(Fragment::Row(row));
        }
    }
    fragments
}

#[test]
fn runs_that_do_not_overlap_are_copied_block_by_block() {
    let store = Store::new();
    let inputs: Vec<_> =
        (0..3).filter_map(|i| store.write(&series(3, i * 10_240, (i + 1) * 10_240))).collect();
    let outcome = store.run(&all_of(&inputs, TaskKind::Merge), &inputs, 100, &Nothing).unwrap();
    // 90 full blocks; two of three runs of a partition begin with one that continues the partition only here.
    assert!(outcome.record.blocks_copied >= 80, "{} of 90 blocks", outcome.record.blocks_copied);
    assert_eq!(outcome.outputs.len(), 1);
    assert_eq!(outcome.outputs[0].rows, 3 * 30_720);
    assert_eq!(outcome.outputs[0].ancestors, [FileId(1), FileId(2), FileId(3)]);
    assert_eq!(store.scan(&outcome.outputs)[0], series(3, 0, 30_720));
    let late = store.write(&series(1, 5_000, 5_001)).unwrap();
    let all = [store.open(outcome.outputs[0].clone()), late];
    let outcome = store.run(&all_of(&all, TaskKind::Merge), &all, 100, &Nothing).unwrap();
    assert_eq!(store.scan(&outcome.outputs)[0], series(3, 0, 30_720));
    assert!(outcome.record.blocks_copied >= 80, "one late row unpacks one block");
}

#[test]
fn interleaved_rows_come_in_order_whatever_the_clustering() {
    let cases = [
        (CqlType::Int, Order::Asc),
        (CqlType::Int, Order::Desc),
        (CqlType::Text, Order::Asc),
        (CqlType::Text, Order::Desc),
    ];
    for (ty, order) in cases {
        let columns = [
            ("k", CqlType::Int, ColumnKind::PartitionKey),
            ("c", ty.clone(), ColumnKind::Clustering(order)),
            ("v", CqlType::Double, ColumnKind::Regular),
            ("w", CqlType::Blob, ColumnKind::Regular),
        ];
        let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
        let schema = TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap();
        let store = Store { schema, ..Store::new() };
        let row = |n: i32, version: i64| {
            let wire =
                if ty == CqlType::Int { n.to_be_bytes().to_vec() } else { format!("{n:05}").into_bytes() };
            let mut bytes = Vec::new();
            encode_component(&wire, &ty, order == Order::Desc, &mut bytes).unwrap();
            let mut row = Row::new(Clustering::new(Bytes::from(bytes)));
            let life = Liveness::new(1_000_000 + version);
            row.liveness = (n % 1009 != 0).then_some(life);
            row.cells = vec![(ColumnId(2), Cell::live(life, Bytes::new(&f64::from(n).to_be_bytes())))];
            if n % 3 == version as i32 {
                row.cells.push((ColumnId(3), Cell::live(life, Bytes::new(&wire))));
            }
            row
        };
        // Rows by turns, in runs, and in two files at once with one column each of their own.
        let is_in = |file: i32, n: i32| match n / 100 % 3 {
            0 => n % 2 == file,
            1 => n / 11 % 2 == file,
            _ => file == n % 2 || n % 5 == 0,
        };
        let source = |file: i32, partitions: std::ops::Range<i32>| {
            let mut keys: Vec<_> = partitions.map(|k| DecoratedKey::new(&k.to_be_bytes())).collect();
            keys.sort();
            let mut rows: Vec<_> =
                (0..3000).filter(|n| is_in(file, *n)).map(|n| row(n, i64::from(file))).collect();
            rows.sort_by(|a, b| a.clustering.cmp(&b.clustering));
            let rows = || rows.iter().cloned().map(Fragment::Row);
            let head = |key| Fragment::Partition { key, deletion: None };
            keys.into_iter().flat_map(|key| std::iter::once(head(key)).chain(rows())).collect::<Vec<_>>()
        };
        let sources = vec![source(0, 0..2), source(1, 0..3)];
        let inputs: Vec<_> = sources.iter().filter_map(|source| store.write(source)).collect();
        let outcome = store.run(&all_of(&inputs, TaskKind::Merge), &inputs, 100, &Nothing).unwrap();
        let expected = row_path(&store.schema, sources, 100, &Nothing);
        assert_eq!(store.scan(&outcome.outputs), [expected]);
    }
}

#[test]
fn expired_files_go_unread_and_an_empty_result_leaves_no_file() {
    let store = Store::new();
    let deleted = Some(Deletion::new(5, 0));
    let key = DecoratedKey::new(b"kkkk");
    let input = store.write(&[Fragment::Partition { key, deletion: deleted }]).unwrap();
    let outcome = store
        .run(&all_of(&[Arc::clone(&input)], TaskKind::Merge), &[Arc::clone(&input)], 100, &Nothing)
        .unwrap();
    assert!(outcome.outputs.is_empty() && outcome.record.purged.tombstones == 1);
    assert_eq!(store.names(), ["0000000001.sst"]);
    store.disk.fail_from(store.disk.calls(), Failure::Io);
    let outcome =
        store.run(&all_of(&[Arc::clone(&input)], TaskKind::DropExpired), &[input], 100, &Nothing).unwrap();
    assert_eq!((outcome.removed, outcome.record.bytes_read), (vec![FileId(1)], 0));
}

#[test]
fn whatever_call_fails_no_output_stays() {
    for call in 0.. {
        let store = Store::new();
        let random = &mut Random::new(7);
        let inputs: Vec<_> = (0..3).filter_map(|_| store.write(&random_source(random, true))).collect();
        let before = store.names();
        let task = Task { target_bytes: 4_096, ..all_of(&inputs, TaskKind::Merge) };
        store.disk.fail_at(store.disk.calls() + call, Failure::Io);
        match store.run(&task, &inputs, 20, &Least(Some(0))) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                store.disk.heal();
                assert_eq!(store.names(), before, "at call {call}");
            }
            Ok(outcome) => {
                assert!(
                    outcome.outputs.len() > 1 && call > 10,
                    "{} outputs, {call} calls",
                    outcome.outputs.len()
                );
                return;
            }
        }
    }
}

#[test]
fn without_enough_space_or_when_cancelled_nothing_is_begun() {
    let store = Store::new();
    let input = store.write(&series(1, 0, 5_000)).unwrap();
    let used: u64 = store.disk.dump().values().map(|file| file.len() as u64).sum();
    let size = input.meta().size_bytes;
    let most = size + size / 32 + SPARE_BYTES;
    store.disk.set_capacity(Some(used + most - 1));
    let task = all_of(&[Arc::clone(&input)], TaskKind::Merge);
    let error = store.run(&task, &[Arc::clone(&input)], 0, &Nothing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(error.message().contains(&format!("may need {most} bytes")), "{error}");
    assert!(error.message().contains(&format!("{} bytes are free", most - 1)), "{error}");
    assert_eq!(store.names().len(), 1);
    store.disk.set_capacity(Some(used + most));
    assert!(store.run(&task, &[Arc::clone(&input)], 0, &Nothing).is_ok());

    let cancel = Cancel::new();
    cancel.cancel();
    let progress = Progress::default();
    let job = Job {
        env: &store.env,
        directory: Path::new(DIR),
        schema: &store.schema,
        task: &task,
        inputs: vec![input],
        outside: &Nothing,
        now_seconds: 0,
        next_id: &|| store.next_id(),
        reserved_bytes: 0,
        pace: &store.pace,
        cancel: &cancel,
        progress: &progress,
    };
    let names = store.names();
    assert_eq!(run(&job).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(store.names(), names);
    assert_eq!((progress.total_bytes(), progress.read_bytes()), (size, 0));
    let fresh = Cancel::new();
    let job = Job { cancel: &fresh, ..job };
    store.disk.set_capacity(None);
    run(&job).unwrap();
    assert!((1..=size).contains(&progress.read_bytes()));
    assert_eq!(progress.items(), 5_000);
    let error = run(&Job { inputs: Vec::new(), ..job }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_damaged_block_stops_the_compaction_with_its_file_named() {
    let store = Store::new();
    let inputs = [store.write(&series(1, 0, 3_000)).unwrap(), store.write(&series(1, 1_500, 4_500)).unwrap()];
    let block = inputs[1].first_block().unwrap().unwrap();
    store.disk.flip(inputs[1].path(), block.offset + 40, 1).unwrap();
    let fresh = inputs.each_ref().map(|input| store.open((**input.meta()).clone()));
    let error = store.run(&all_of(&fresh, TaskKind::Merge), &fresh, 0, &Nothing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.file() == Some(inputs[1].path()) && error.offset() == Some(block.offset), "{error}");
    assert_eq!(store.names().len(), 2);
}

#[test]
fn files_outside_keep_what_still_hides_something_in_them() {
    let store = Store::new();
    let old = store.write(&series(1, 0, 10)).unwrap();
    let key = DecoratedKey::new(&0i32.to_be_bytes());
    let other = DecoratedKey::new(&77i32.to_be_bytes());
    let deletion = Some(Deletion::new(50_000_000, 50));
    let mut heads = [key.clone(), other].map(|key| Fragment::Partition { key, deletion });
    heads.sort_by_key(|head| match head {
        Fragment::Partition { key, .. } => key.clone(),
        _ => unreachable!("only partitions are made above"),
    });
    let deleting = store.write(&heads).unwrap();
    let live = [old, Arc::clone(&deleting)];
    let files = FilesOutside::new(&live, &[Arc::clone(deleting.meta())]);
    let outside = Both(files, Asked(|_: &DecoratedKey| None));
    let task = all_of(&[Arc::clone(&deleting)], TaskKind::Tombstones);
    let outcome = store.run(&task, &[Arc::clone(&deleting)], 1_000, &outside).unwrap();
    // The filter of the older file knows that the other partition is not there.
    assert_eq!(store.scan(&outcome.outputs)[0], [Fragment::Partition { key, deletion }]);
    assert_eq!((outcome.record.purged.tombstones, outcome.record.purged.kept), (1, 1));
    // Memtables keep it as well, asked by a function.
    let memtable = Both(FilesOutside::new(&[], &[]), Asked(|_: &DecoratedKey| Some(0)));
    let kept = store.run(&task, &[Arc::clone(&deleting)], 1_000, &memtable).unwrap();
    assert_eq!(kept.record.purged.kept, 2);
    let all = FilesOutside::new(&live, &live.each_ref().map(|file| Arc::clone(file.meta())));
    let outcome = store.run(&all_of(&live, TaskKind::Merge), &live, 1_000, &all).unwrap();
    assert!(outcome.outputs.is_empty(), "together both go");
}
