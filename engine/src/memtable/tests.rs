//! The memtable against a plain model.

use super::*;
use crate::encoding::row::{EncodedRow, encode_row};
use crate::error::ErrorKind;
use crate::memtable::pins::Pin;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound, RangeTombstone};
use crate::model::life::{Deletion, Liveness};
use crate::model::reconcile::{merge_rows, shadow};
use crate::model::row::Row;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A memtable with what a commit has around it.
struct Store {
    visible: Arc<AtomicU64>,
    pins: Arc<Pins>,
    table: Memtable,
}

impl Store {
    fn new() -> Self {
        let visible = Arc::new(AtomicU64::new(0));
        let pins = Arc::new(Pins::new(Arc::clone(&visible)));
        let table = Memtable::new(Arc::clone(&pins), 0);
        Self { visible, pins, table }
    }

    /// Applies one operation as a batch of its own and publishes it.
    fn commit(&self, stamp: Stamp, key: &[u8], op: &Op) {
        let seq = self.visible.load(SeqCst) + 1;
        self.apply(seq, stamp, key, op).unwrap();
        self.visible.store(seq, SeqCst);
    }

    fn apply(&self, seq: u64, stamp: Stamp, key: &[u8], op: &Op) -> Result<()> {
        let mut bytes = Vec::new();
        let body = match op {
            Op::Row(row) | Op::Static(row) => {
                encode_row(row, stamp, &mut bytes);
                let encoded = EncodedRow::parse(&bytes).unwrap();
                if matches!(op, Op::Row(_)) { OpBody::Row(encoded) } else { OpBody::Static(encoded) }
            }
            Op::Partition(deletion) => OpBody::Partition(*deletion),
            Op::Range(range) => OpBody::Range(range.clone()),
        };
        self.table.apply(seq, stamp, key, Token::of(key), &body)
    }

    fn partition(&self, key: &[u8]) -> Arc<MemPartition> {
        self.table.get(Token::of(key), key).unwrap()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Row(Row),
    Static(Row),
    Partition(Deletion),
    Range(RangeTombstone),
}

fn place(at: u64) -> Clustering {
    Clustering::new(Bytes::new(&[&[0x40][..], &at.to_be_bytes()].concat()))
}

fn row(at: u64, timestamp: i64, value: &[u8]) -> Row {
    let life = Liveness::new(timestamp);
    Row {
        liveness: Some(life),
        cells: vec![(ColumnId(1), Cell::live(life, Bytes::new(value)))],
        ..Row::new(place(at))
    }
}

fn stamp(timestamp: i64) -> Stamp {
    Stamp { timestamp, now: timestamp / 1_000_000 }
}

fn read(partition: &MemPartition, seq: u64) -> Vec<Fragment> {
    let mut out = Vec::new();
    assert!(!partition.read(&ClusteringRange::all(), false, seq, usize::MAX, &mut out).unwrap());
    out
}

fn values(fragments: &[Fragment]) -> Vec<Vec<u8>> {
    let value = |fragment: &Fragment| match fragment {
        Fragment::Row(row) => row.cells[0].1.value.as_ref().map(|value| value.to_vec()),
        _ => None,
    };
    fragments.iter().filter_map(value).collect()
}

#[test]
fn memory_goes_round_unless_a_reader_holds_on_to_it() {
    let (pins, pool) = (Arc::new(Pins::new(Arc::default())), Arc::new(Pool::new(1 << 20)));
    let fill = || {
        let table = Memtable::with_pool(Arc::clone(&pins), Arc::clone(&pool), 0);
        for i in 0..2000u64 {
            let mut bytes = Vec::new();
            encode_row(&row(i, 1, &i.to_be_bytes()), stamp(1), &mut bytes);
            let row = EncodedRow::parse(&bytes).unwrap();
            let key: &[u8] = if i % 2 == 0 { b"a" } else { b"b" };
            table.apply(i + 1, stamp(1), key, Token::of(key), &OpBody::Row(row)).unwrap();
        }
        table
    };
    let table = fill();
    let (rows, held) = (read(&table.get(Token::of(b"a"), b"a").unwrap(), u64::MAX), table.memory_bytes());
    assert_eq!((rows.len(), pool.free_bytes()), (1000, 0));
    drop(table);
    let free = pool.free_bytes();
    assert!(free > held / 3 && free <= held, "{free} of {held} bytes are kept");

    let again = fill();
    assert_eq!((pool.free_bytes(), again.memory_bytes()), (0, held), "the same memory serves again");
    let reader = again.get(Token::of(b"a"), b"a").unwrap();
    assert_eq!(read(&reader, u64::MAX), rows);
    drop(again);
    assert!(pool.free_bytes() < free, "a reader keeps its partition");
    assert_eq!(read(&reader, u64::MAX), rows);
}

#[test]
fn a_row_overwritten_for_ever_stays_small_and_an_old_reader_keeps_its_version() {
    let store = Store::new();
    let mut early = None;
    let mut most = 0;
    for i in 0..30_000u64 {
        store.commit(stamp(i as i64), b"k", &Op::Row(row(1, i as i64, &i.to_be_bytes())));
        if i == 700 {
            early = Some(store.pins.pin());
        }
        most = most.max(store.table.memory_bytes());
    }
    assert!(most < 16 * 1024, "{most} bytes for one row");
    assert_eq!(store.table.row_count(), 1);
    let partition = store.partition(b"k");
    let now = read(&partition, store.pins.pin().seq());
    assert_eq!(values(&now), [29_999u64.to_be_bytes().to_vec()]);
    let early = early.unwrap();
    assert_eq!(values(&read(&partition, early.seq())), [700u64.to_be_bytes().to_vec()]);
}

#[test]
fn a_batch_of_many_versions_of_one_row_is_bounded_too() {
    let store = Store::new();
    for i in 0..5000 {
        store.apply(1, stamp(i), b"k", &Op::Row(row(1, i, &i.to_be_bytes()))).unwrap();
        store
            .apply(1, stamp(i), b"k", &Op::Static(Row { clustering: Clustering::EMPTY, ..row(1, i, b"s") }))
            .unwrap();
    }
    assert!(store.table.memory_bytes() < 16 * 1024);
    let partition = store.partition(b"k");
    assert_eq!(read(&partition, 0), []);
    assert_eq!(partition.static_row(0).unwrap(), None);
    assert_eq!(values(&read(&partition, 1)), [4999i64.to_be_bytes().to_vec()]);
    assert_eq!(partition.static_row(1).unwrap().unwrap().liveness, Some(Liveness::new(4999)));
}

#[test]
fn malformed_operations_are_refused() {
    let store = Store::new();
    let mut bytes = Vec::new();
    encode_row(&row(1, 5, b"value"), stamp(5), &mut bytes);
    let cut = EncodedRow::parse(&bytes[..bytes.len() - 2]).unwrap();
    let (start, end) = (Bound::top(), Bound::bottom());
    let backwards = RangeTombstone { start, end, deletion: Deletion::new(1, 1) };
    for body in [OpBody::Row(cut), OpBody::Static(cut), OpBody::Range(backwards)] {
        let error = store.table.apply(1, stamp(5), b"k", Token::of(b"k"), &body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    assert_eq!(store.table.flush_iter().count(), 0, "a partition without contents is not flushed");
}

#[test]
fn times_before_the_epoch_are_kept() {
    let store = Store::new();
    let early = Stamp { timestamp: -9, now: -1 };
    let written = Row { liveness: Some(Liveness::expiring(-9, 10, 9)), ..Row::new(place(3)) };
    store.commit(early, b"k", &Op::Row(written.clone()));
    assert_eq!(read(&store.partition(b"k"), 1), [Fragment::Row(written)]);
    let wanted = RowTimes { min_timestamp: -9, max_timestamp: -9, min_local: 9, max_local: 9 };
    assert_eq!(store.table.times(), wanted);
}

#[test]
fn a_flush_leaves_out_what_the_memtable_itself_deletes() {
    let store = Store::new();
    let range = |from: u64, to: u64, timestamp| {
        let (start, end) = (Bound::before(place(from).order()), Bound::after(place(to).order()));
        Op::Range(RangeTombstone { start, end, deletion: Deletion::new(timestamp, 1) })
    };
    for at in 0..10 {
        store.commit(stamp(10), b"k", &Op::Row(row(at, 10, b"old")));
    }
    store.commit(stamp(20), b"k", &range(2, 4, 20));
    store.commit(stamp(15), b"k", &range(4, 6, 15));
    store.commit(stamp(30), b"k", &Op::Row(row(3, 30, b"new")));
    store.commit(stamp(5), b"k", &range(8, 9, 5));
    store.commit(stamp(7), b"k", &Op::Partition(Deletion::new(7, 0)));
    let flushed: Vec<_> = store.table.flush_iter().map(Result::unwrap).collect();
    let bound = |at: Bound, deletion: Option<i64>| {
        Fragment::Bound(RangeBound { at, deletion: deletion.map(|timestamp| Deletion::new(timestamp, 1)) })
    };
    let (before, after) = (|at| Bound::before(place(at).order()), |at| Bound::after(place(at).order()));
    let old = |at| Fragment::Row(row(at, 10, b"old"));
    let wanted = [
        Fragment::Partition { key: DecoratedKey::new(b"k"), deletion: Some(Deletion::new(7, 0)) },
        old(0),
        old(1),
        bound(before(2), Some(20)),
        Fragment::Row(row(3, 30, b"new")),
        bound(after(4), Some(15)),
        bound(after(6), None),
        old(7),
        old(8),
        old(9),
    ];
    assert_eq!(flushed, wanted);
}

#[test]
fn ten_thousand_range_deletions_can_be_paged_both_ways() {
    let store = Store::new();
    let _early = store.pins.pin();
    for i in 0..10_000u64 {
        let at = i.wrapping_mul(7919) % 10_000 * 4;
        let (start, end) = (Bound::before(place(at).order()), Bound::after(place(at + 2).order()));
        store.commit(
            stamp(i as i64),
            b"k",
            &Op::Range(RangeTombstone { start, end, deletion: Deletion::new(1, 1) }),
        );
        if i == 5000 {
            drop(store.pins.pin());
        }
    }
    for reverse in [false, true] {
        let found = pages(&store.partition(b"k"), &ClusteringRange::all(), reverse, 10_000, 100);
        assert_eq!(found.len(), 20_000);
    }
}

/// All pages of a read, as one.
fn pages(
    partition: &MemPartition,
    range: &ClusteringRange,
    reverse: bool,
    seq: u64,
    size: usize,
) -> Vec<Fragment> {
    let mut all: Vec<Fragment> = Vec::new();
    let mut rest = range.clone();
    loop {
        let mut page = Vec::new();
        let more = partition.read(&rest, reverse, seq, size, &mut page).unwrap();
        assert!(page.len() <= size + 3);
        let last = match page.last() {
            Some(Fragment::Row(row)) if reverse => Bound::before(row.clustering.order()),
            Some(Fragment::Row(row)) => Bound::after(row.clustering.order()),
            Some(Fragment::Bound(bound)) => bound.at.clone(),
            _ => rest.start.clone(),
        };
        let in_force = |fragments: &[Fragment]| {
            fragments
                .iter()
                .rev()
                .find_map(|f| if let Fragment::Bound(b) = f { Some(b.deletion) } else { None })
                .flatten()
        };
        let before = in_force(&all);
        let repeats = matches!(page.first(), Some(Fragment::Bound(bound)) if bound.deletion == before);
        all.extend(page.into_iter().skip(usize::from(repeats)));
        if !more {
            return all;
        }
        if reverse {
            rest.end = last;
        } else {
            rest.start = last;
        }
        assert!(!rest.is_empty());
    }
}

/// Everything that was written, with sequence numbers: the model.
#[derive(Default)]
struct Model(Vec<(u64, Op)>);

impl Model {
    fn seen(&self, seq: u64) -> impl Iterator<Item = &Op> {
        self.0.iter().filter(move |(s, _)| *s <= seq).map(|(_, op)| op)
    }

    fn rows(&self, seq: u64) -> BTreeMap<Vec<u8>, Row> {
        let mut rows: BTreeMap<Vec<u8>, Row> = BTreeMap::new();
        for op in self.seen(seq) {
            if let Op::Row(row) = op {
                let merged = match rows.remove(row.clustering.order()) {
                    Some(old) => merge_rows(old, row.clone()),
                    None => row.clone(),
                };
                rows.insert(row.clustering.order().to_vec(), merged);
            }
        }
        rows.retain(|_, row| !row.is_empty());
        rows
    }

    fn statics(&self, seq: u64) -> Option<Row> {
        let rows =
            self.seen(seq).filter_map(|op| if let Op::Static(row) = op { Some(row.clone()) } else { None });
        rows.reduce(merge_rows)
    }

    fn deletion(&self, seq: u64) -> Option<Deletion> {
        self.seen(seq)
            .filter_map(|op| if let Op::Partition(deletion) = op { Some(*deletion) } else { None })
            .max()
    }

    fn ranges(&self, seq: u64) -> Vec<RangeTombstone> {
        self.seen(seq)
            .filter_map(|op| if let Op::Range(range) = op { Some(range.clone()) } else { None })
            .collect()
    }

    /// Rows and bounds of a range in clustering order, where `floor` outranks range deletions.
    fn read(&self, range: &ClusteringRange, seq: u64, floor: Option<Deletion>) -> Vec<Fragment> {
        let ranges = self.ranges(seq);
        let mut places: BTreeSet<Bound> = [range.start.clone(), range.end.clone()].into();
        places.extend(ranges.iter().flat_map(|r| [r.start.clone(), r.end.clone()]));
        places.retain(|place| range.start <= *place && *place <= range.end);
        let rows: Vec<Row> =
            self.rows(seq).into_values().filter(|row| range.contains(row.clustering.order())).collect();
        let mut rows = rows.into_iter().peekable();
        let (mut found, mut before) = (Vec::new(), None);
        for at in places {
            while let Some(row) = rows.next_if(|row| at.cmp_row(row.clustering.order()).is_gt()) {
                found.push(Fragment::Row(row));
            }
            let covers = |r: &&RangeTombstone| r.start <= at && at < r.end && at < range.end;
            let deletion = ranges.iter().filter(covers).map(|r| r.deletion).max();
            let deletion = deletion.filter(|_| deletion > floor);
            if deletion != before {
                found.push(Fragment::Bound(RangeBound { at, deletion }));
            }
            before = deletion;
        }
        found
    }

    /// The same backwards: bounds say what was in force before them.
    fn read_backwards(&self, range: &ClusteringRange, seq: u64) -> Vec<Fragment> {
        let mut before = None;
        let mut found = self.read(range, seq, None);
        for fragment in &mut found {
            if let Fragment::Bound(bound) = fragment {
                before = std::mem::replace(&mut bound.deletion, before);
            }
        }
        found.reverse();
        found
    }

    fn flush(&self, key: &[u8]) -> Vec<Fragment> {
        let deletion = self.deletion(u64::MAX);
        let mut found = vec![Fragment::Partition { key: DecoratedKey::new(key), deletion }];
        let mut fixed = self.statics(u64::MAX).unwrap_or_default();
        shadow(&mut fixed, deletion);
        found.extend((!fixed.is_empty()).then_some(Fragment::Static(fixed)));
        let mut in_force = deletion;
        for mut fragment in self.read(&ClusteringRange::all(), u64::MAX, deletion) {
            match &mut fragment {
                Fragment::Bound(bound) => in_force = bound.deletion.max(deletion),
                Fragment::Row(row) => {
                    shadow(row, in_force);
                    if row.is_empty() {
                        continue;
                    }
                }
                _ => {}
            }
            found.push(fragment);
        }
        if found.len() == 1 && deletion.is_none() {
            found.clear();
        }
        found
    }
}

fn any_bound() -> impl Strategy<Value = Bound> {
    let some = (0..24u64, any::<bool>()).prop_map(|(at, after)| match after {
        true => Bound::after(place(at).order()),
        false => Bound::before(place(at).order()),
    });
    prop_oneof![8 => some, 1 => Just(Bound::bottom()), 1 => Just(Bound::top())]
}

fn any_row() -> impl Strategy<Value = Row> {
    let cell = (0..4u32, 0..40i64, prop::option::weighted(0.8, any::<u8>()), prop::bool::weighted(0.2));
    let cells = prop::collection::btree_map(0..4u32, cell, 0..4);
    let extras = (prop::option::of(0..40i64), prop::option::weighted(0.1, (0..40i64, 0..9i64)));
    (prop_oneof![3 => 0..24u64, 2 => Just(5u64)], cells, extras).prop_map(
        |(at, cells, (liveness, deletion))| {
            let cell = |(timestamp, value, expiring): (i64, Option<u8>, bool)| match value {
                Some(value) if expiring => {
                    Cell::live(Liveness::expiring(timestamp, 7, timestamp + 7), Bytes::new(&[value]))
                }
                Some(value) => Cell::live(Liveness::new(timestamp), Bytes::new(&[value])),
                None => Cell::tombstone(timestamp, timestamp),
            };
            let cells = cells
                .into_iter()
                .map(|(id, (_, time, value, expiring))| (ColumnId(id), cell((time, value, expiring))));
            let row = Row {
                liveness: liveness.map(Liveness::new),
                deletion: deletion.map(|(timestamp, local)| Deletion::new(timestamp, local)),
                cells: cells.collect(),
                ..Row::new(place(at))
            };
            // As a reader merges it: a row of its own deletion and older cells is written by nobody.
            merge_rows(row.clone(), Row::new(row.clustering))
        },
    )
}

fn any_op() -> impl Strategy<Value = Op> {
    let deletion = (0..40i64, 0..5i64).prop_map(|(timestamp, local)| Deletion::new(timestamp, local));
    let range = (any_bound(), any_bound(), deletion.clone()).prop_filter_map("empty", |(a, b, deletion)| {
        let (start, end) = if a < b { (a, b) } else { (b, a) };
        (start < end).then_some(Op::Range(RangeTombstone { start, end, deletion }))
    });
    let fixed =
        any_row().prop_map(|row| Op::Static(Row { clustering: Clustering::EMPTY, deletion: None, ..row }));
    prop_oneof![20 => any_row().prop_map(Op::Row), 2 => fixed, 4 => range, 1 => deletion.prop_map(Op::Partition)]
}

/// What a test does next.
#[derive(Clone, Debug)]
enum Step {
    Batch(Vec<Op>),
    Pin,
    Unpin(prop::sample::Index),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec(any_op(), 1..6).prop_map(Step::Batch),
        1 => Just(Step::Pin),
        1 => any::<prop::sample::Index>().prop_map(Step::Unpin),
    ]
}

fn check(store: &Store, model: &Model, pin: &Pin, range: &ClusteringRange, size: usize) {
    let partition = store.partition(b"k");
    let seq = pin.seq();
    assert_eq!(partition.deletion(seq), model.deletion(seq));
    assert_eq!(partition.static_row(seq).unwrap(), model.statics(seq));
    assert_eq!(
        pages(&partition, range, false, seq, size),
        model.read(range, seq, None),
        "at {seq} in {range:?}"
    );
    assert_eq!(
        pages(&partition, range, true, seq, size),
        model.read_backwards(range, seq),
        "back at {seq} in {range:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn every_reader_sees_what_the_model_says(
        steps in prop::collection::vec(any_step(), 1..60),
        reads in prop::collection::vec((any_bound(), any_bound(), 1..20usize), 4),
    ) {
        let store = Store::new();
        let mut model = Model::default();
        let mut pins = Vec::new();
        for (seq, step) in (1..).zip(steps) {
            match step {
                Step::Batch(ops) => {
                    for op in ops {
                        store.apply(seq, stamp(20), b"k", &op).unwrap();
                        model.0.push((seq, op));
                    }
                    store.visible.store(seq, SeqCst);
                }
                Step::Pin => pins.push(store.pins.pin()),
                Step::Unpin(which) if !pins.is_empty() => drop(pins.swap_remove(which.index(pins.len()))),
                Step::Unpin(_) => {}
            }
        }
        if !model.0.is_empty() {
            pins.push(store.pins.pin());
            for pin in &pins {
                for (a, b, size) in &reads {
                    let range = ClusteringRange { start: a.min(b).clone(), end: a.max(b).clone() };
                    check(&store, &model, pin, &range, *size);
                }
                check(&store, &model, pin, &ClusteringRange::all(), 7);
            }
            let flushed: Vec<_> = store.table.flush_iter().map(Result::unwrap).collect();
            prop_assert_eq!(flushed, model.flush(b"k"));
        }
    }
}

#[test]
fn readers_beside_the_writer_see_whole_batches() {
    const ROWS: u64 = 40;
    const BATCHES: u64 = 3000;
    let store = Store::new();
    // Each batch writes its number into all rows of two partitions, rows in another order each time.
    std::thread::scope(|scope| {
        for reverse in [false, true] {
            let store = &store;
            scope.spawn(move || {
                let mut newest = 0;
                while newest < BATCHES {
                    let pin = store.pins.pin();
                    newest = pin.seq();
                    for key in [b"a", b"b"] {
                        let Some(partition) = store.table.get(Token::of(key), key) else { continue };
                        let mut out = Vec::new();
                        partition
                            .read(&ClusteringRange::all(), reverse, newest, usize::MAX, &mut out)
                            .unwrap();
                        let wanted = if newest == 0 { 0 } else { ROWS as usize };
                        assert_eq!(values(&out), vec![newest.to_be_bytes().to_vec(); wanted]);
                    }
                }
            });
        }
        for seq in 1..=BATCHES {
            for i in 0..ROWS {
                let at = (i * 7 + seq) % ROWS;
                for key in [b"a", b"b"] {
                    let op = Op::Row(row(at, seq as i64, &seq.to_be_bytes()));
                    store.apply(seq, stamp(seq as i64), key, &op).unwrap();
                }
            }
            store.visible.store(seq, SeqCst);
        }
    });
    assert!(store.table.memory_bytes() < 256 * 1024, "{}", store.table.memory_bytes());
}

#[test]
fn sensor_rows_take_at_most_twice_their_bytes() {
    let store = Store::new();
    let (sensors, rows) = (50u64, 1000u64);
    for i in 0..rows {
        for sensor in 0..sensors {
            let timestamp = 1_700_000_000_000_000 + i as i64 * 1000;
            let life = Liveness::new(timestamp);
            let cells = [20.0, 50.0, 1013.0, 3.0].iter().zip(0..).map(|(base, id)| {
                let value = ((base + (i * 7 % 100) as f64 / 10.0) * 10.0).round() / 10.0;
                (ColumnId(id), Cell::live(life, Bytes::new(&value.to_be_bytes())))
            });
            let row = Row {
                liveness: Some(life),
                cells: cells.collect(),
                ..Row::new(place(1_700_000_000_000 + i))
            };
            store.commit(stamp(timestamp), format!("sensor-{sensor:03}").as_bytes(), &Op::Row(row));
        }
    }
    let per_row = store.table.memory_bytes() as f64 / (rows * sensors) as f64;
    assert!(per_row <= 102.0, "{per_row} bytes a row");
}
