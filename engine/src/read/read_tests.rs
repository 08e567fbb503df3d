//! Whole reads over real memtables and files, against brute force; and cases that other engines got wrong.

use super::*;
use crate::encoding::mutation::OpBody;
use crate::encoding::row::{EncodedRow, Stamp, encode_row};
use crate::env::Env;
use crate::env::sim::SimDisk;
use crate::memtable::Memtable;
use crate::memtable::pins::Pins;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::fragment::RangeTombstone;
use crate::model::life::{Deletion, Liveness};
use crate::model::reconcile::{merge_rows, resolve as resolve_row, shadow};
use crate::model::row::Row as ModelRow;
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use crate::model::types::CqlType;
use crate::read::aggregate::totals;
use crate::read::batch::Row;
use crate::read::explain::RuledOut;
use crate::read::file::FileReader;
use crate::read::page::PageState;
use crate::read::point::read_row;
use crate::read::query::Projection;
use crate::read::source::RunReader;
use crate::read::testing::{Part, any_part, model_rows, translate, translate_bound, translate_part};
use crate::sstable::cache::{BlockCache, Looks};
use crate::sstable::meta::FileId;
use crate::sstable::reader::SsTable;
use crate::sstable::writer::{SsTableWriter, WriterOptions};
use crate::view::TableView;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const ST: ColumnId = ColumnId(5);
const V: ColumnId = ColumnId(3);

/// `t (pk int, ck tinyint, s set<tinyint>, v int, w int, st int static, PRIMARY KEY (pk, ck))`: ids in this order.
fn schema(order: Order) -> Arc<TableSchema> {
    let column = |name: &str, ty, kind| (name.to_owned(), ty, kind);
    let columns = vec![
        column("pk", CqlType::Int, ColumnKind::PartitionKey),
        column("ck", CqlType::Tinyint, ColumnKind::Clustering(order)),
        column("s", CqlType::Set(Box::new(CqlType::Tinyint)), ColumnKind::Regular),
        column("v", CqlType::Int, ColumnKind::Regular),
        column("w", CqlType::Int, ColumnKind::Regular),
        column("st", CqlType::Int, ColumnKind::Static),
    ];
    Arc::new(TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap())
}

/// A table with what a store has around it.
struct Store {
    visible: Arc<AtomicU64>,
    pins: Arc<Pins>,
    env: Arc<dyn Env>,
    cache: Arc<BlockCache>,
    view: Arc<TableView>,
}

fn key(pk: u8) -> DecoratedKey {
    DecoratedKey::new(&i32::from(pk).to_be_bytes())
}

impl Store {
    fn new(schema: Arc<TableSchema>) -> Self {
        let visible = Arc::new(AtomicU64::new(0));
        let pins = Arc::new(Pins::new(visible.clone()));
        let active = Arc::new(Memtable::new(pins.clone(), 0));
        let view = TableView { schema, active, sealed: Vec::new(), files: Vec::new(), flushed_seq: 0 };
        let env = SimDisk::new(1).env();
        Self { visible, pins, env, cache: Arc::new(BlockCache::new(1 << 20)), view: Arc::new(view) }
    }

    fn apply(&self, pk: u8, body: &OpBody<'_>) {
        let seq = self.visible.load(SeqCst) + 1;
        let key = key(pk);
        self.view.active.apply(seq, STAMP, &key.key, key.token, body).unwrap();
        self.visible.store(seq, SeqCst);
    }

    fn put(&self, pk: u8, row: &ModelRow, statics: bool) {
        let mut bytes = Vec::new();
        encode_row(row, STAMP, &mut bytes);
        let encoded = EncodedRow::parse(&bytes).unwrap();
        self.apply(pk, &if statics { OpBody::Static(encoded) } else { OpBody::Row(encoded) });
    }

    fn put_part(&self, pk: u8, part: &Part) {
        part.rows.iter().for_each(|row| self.put(pk, row, false));
        part.ranges.iter().for_each(|range| self.apply(pk, &OpBody::Range(range.clone())));
        part.deletion.iter().for_each(|deletion| self.apply(pk, &OpBody::Partition(*deletion)));
    }

    fn seal(&mut self) {
        let mut view = (*self.view).clone();
        view.sealed.push(view.active);
        view.active = Arc::new(Memtable::new(self.pins.clone(), 0));
        self.view = Arc::new(view);
    }

    /// Flushes the sealed memtables and then the active one, each into a file.
    fn flush(&mut self) {
        self.seal();
        let mut view = (*self.view).clone();
        for memtable in std::mem::take(&mut view.sealed) {
            let id = FileId(view.files.len() as u64 + 1);
            let path = PathBuf::from(format!("{}.sst", id.0));
            let options = WriterOptions::of(&view.schema, id, 0);
            let mut writer = SsTableWriter::create(self.env.clone(), &path, &view.schema, options).unwrap();
            memtable.flush_iter().for_each(|item| writer.push(&item.unwrap()).unwrap());
            let Some(meta) = writer.finish().unwrap() else { continue };
            view.files.push(SsTable::open(self.env.clone(), &path, Arc::new(meta), self.cache.clone()));
        }
        view.flushed_seq = self.visible.load(SeqCst);
        self.view = Arc::new(view);
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.pins, || self.view.clone())
    }
}

const STAMP: Stamp = Stamp { timestamp: 3, now: 1 };

type Wires = Vec<Option<Vec<u8>>>;

/// All rows of all pages, the page state going through its bytes.
fn pages(query: &Query, mut read: impl FnMut(Query) -> Reader) -> Vec<Wires> {
    let mut rows = Vec::new();
    let mut query = query.clone();
    loop {
        let mut reader = read(query.clone());
        let before = rows.len();
        while let Some(batch) = reader.next_batch().unwrap() {
            for row in 0..batch.len() {
                let wire = |column| batch.wire(column, row).unwrap().map(|wire| wire.to_vec());
                rows.push((0..batch.columns().len()).map(wire).collect());
            }
        }
        let Some(state) = reader.page_state() else { return rows };
        assert_eq!(rows.len() - before, query.page_rows.unwrap() as usize, "every page but the last is full");
        query.page = Some(PageState::from_bytes(&state.to_bytes()).unwrap());
    }
}

fn int(value: i32) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

/// What `SELECT pk, ck, v, st` says of a partition, by brute force.
fn model(
    pk: u8,
    parts: &[Part],
    statics: &[ModelRow],
    range: &ClusteringRange,
    now: i64,
    desc: bool,
) -> Vec<Wires> {
    let deletion = parts.iter().filter_map(|part| part.deletion).max();
    let merged = statics.iter().cloned().reduce(merge_rows).and_then(|mut row| {
        shadow(&mut row, deletion);
        resolve_row(row, now)
    });
    let value = |row: &ModelRow, id| row.cell(id).and_then(|cell| cell.value.as_ref()).map(|v| v.to_vec());
    let st = merged.as_ref().and_then(|row| value(row, ST));
    let all: Vec<ModelRow> = model_rows(parts).into_iter().filter_map(|row| resolve_row(row, now)).collect();
    if all.is_empty() && merged.is_some() && *range == ClusteringRange::all() {
        return vec![vec![int(pk.into()), None, None, st]];
    }
    let rows = all.into_iter().filter(|row| range.contains(row.clustering.order()));
    let wires = |row: ModelRow| {
        let tag = row.clustering.order()[1];
        let ck = vec![if desc { !tag ^ 0x80 } else { tag ^ 0x80 }];
        vec![int(pk.into()), Some(ck), value(&row, V), st.clone()]
    };
    rows.map(wires).collect()
}

fn any_static() -> impl Strategy<Value = ModelRow> {
    (0..8i64, 0..3u8, 0..3i64).prop_map(|(timestamp, kind, n)| {
        let value = Bytes::new(&(n as i32).to_be_bytes());
        let cell = match kind {
            0 => Cell::live(Liveness::new(timestamp), value),
            1 => Cell::live(Liveness::expiring(timestamp, 1 + n as i32, 9 + n), value),
            _ => Cell::tombstone(timestamp, n),
        };
        ModelRow { cells: vec![(ST, cell)], ..ModelRow::new(Clustering::EMPTY) }
    })
}

type Layer = BTreeMap<u8, (Part, Option<ModelRow>)>;

fn any_layers() -> impl Strategy<Value = Vec<Layer>> {
    let content = (any_part([3, 4], Some(2)), prop::option::of(any_static()));
    prop::collection::vec(prop::collection::btree_map(0..4u8, content, 0..4), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn reads_are_what_brute_force_finds_page_by_page(
        layers in any_layers(),
        (desc, reverse) in any::<(bool, bool)>(),
        (files, sealed) in (0..5usize, any::<bool>()),
        now in 8..13i64,
        (from, n) in (0..14u8, 0..14u8),
        (limit, per_partition) in (prop::option::of(1..9u64), prop::option::of(1..4u64)),
        page_rows in prop::option::of(1..6u64),
    ) {
        let mut store = Store::new(schema(if desc { Order::Desc } else { Order::Asc }));
        let mut contents: BTreeMap<u8, (Vec<Part>, Vec<ModelRow>)> = BTreeMap::new();
        for (i, layer) in layers.into_iter().enumerate() {
            for (pk, (part, statics)) in layer {
                let part = translate_part(part, desc);
                store.put_part(pk, &part);
                statics.iter().for_each(|row| store.put(pk, row, true));
                let entry = contents.entry(pk).or_default();
                entry.0.push(part);
                entry.1.extend(statics);
            }
            if i < files { store.flush() } else if sealed { store.seal() }
        }
        let bound = |at: u8, after: bool| {
            translate_bound(&if after { Bound::after(&[0x40, at]) } else { Bound::before(&[0x40, at]) }, desc)
        };
        let range = match n {
            0..5 => ClusteringRange { start: bound(from, false), end: bound(from + n, true) },
            _ => ClusteringRange::all(),
        };
        let mut query = Query::new(Projection::of(&store.view.schema, &["pk", "ck", "v", "st"]).unwrap());
        query.ranges = vec![range.clone()];
        (query.reverse, query.limit, query.per_partition_limit, query.page_rows) = (reverse, limit, per_partition, page_rows);
        let expected = |pk: u8| {
            let nothing = (Vec::new(), Vec::new());
            let (parts, statics) = contents.get(&pk).unwrap_or(&nothing);
            let mut rows = model(pk, parts, statics, &range, now, desc);
            if reverse {
                rows.reverse();
            }
            rows.truncate(per_partition.unwrap_or(u64::MAX) as usize);
            rows
        };
        let limited = |mut rows: Vec<Wires>| {
            rows.truncate(limit.unwrap_or(u64::MAX) as usize);
            rows
        };
        for pk in 0..4u8 {
            let got = pages(&query, |query| read_partition(store.snapshot(), key(pk), query, now).unwrap());
            prop_assert_eq!(got, limited(expected(pk)));
        }
        let buckets = [2, 0, 3];
        let got = pages(&query, |query| read_partitions(store.snapshot(), buckets.map(key), query, now).unwrap());
        prop_assert_eq!(got, limited(buckets.into_iter().flat_map(expected).collect()));
        let mut tokens: Vec<u8> = (0..4).collect();
        tokens.sort_by_key(|pk| key(*pk));
        let got = pages(&query, |query| read_tokens(store.snapshot(), TokenRange::ALL, query, now).unwrap());
        prop_assert_eq!(got, limited(tokens.into_iter().flat_map(expected).collect()));
        (query.limit, query.per_partition_limit, query.page_rows) = (None, None, None);
        query.columns = Projection::of(&store.view.schema, &["v"]).unwrap();
        let got = totals(read_tokens(store.snapshot(), TokenRange::ALL, query.clone(), now).unwrap()).unwrap();
        let all = contents.iter().flat_map(|(pk, (parts, statics))| model(*pk, parts, statics, &range, now, desc));
        let all: Vec<Option<i64>> = all.map(|row| {
            let value = row[2].as_ref().map(|wire| i32::from_be_bytes(wire[..].try_into().unwrap()));
            value.map(i64::from)
        }).collect();
        let values: Vec<i64> = all.iter().flatten().copied().collect();
        let ints = values.iter().min().zip(values.iter().max()).map(|(min, max)| (*min, *max, values.iter().sum::<i64>().into()));
        prop_assert_eq!((got.rows, got.columns[0].count, got.columns[0].ints), (all.len() as u64, values.len() as u64, ints));
        query.columns = Projection::of(&store.view.schema, &["pk", "ck", "v", "st"]).unwrap();
        for (pk, (parts, statics)) in &contents {
            for row in model(*pk, parts, statics, &ClusteringRange::all(), now, desc) {
                let Some(ck) = row[1].clone() else { continue };
                let at = if desc { 100 - ck[0] } else { ck[0] };
                let order = translate(&[0x40, at], desc);
                let found = read_row(&store.snapshot(), &key(*pk), &order, &query.columns, now).unwrap().unwrap();
                let wire = |i| found.batch().wire(i, found.index()).unwrap().map(|wire| wire.to_vec());
                prop_assert_eq!((0..4).map(wire).collect::<Wires>(), row);
            }
            for ck in 0..14 {
                let order = translate(&[0x40, ck], desc);
                let found = read_row(&store.snapshot(), &key(*pk), &order, &query.columns, now).unwrap();
                let there = model_rows(parts).into_iter().any(|row| row.clustering.order() == &*order && resolve_row(row, now).is_some());
                prop_assert_eq!(found.is_some(), there);
            }
            // Without statics a row may come straight out of a file; a slice of this row alone says the same, write times included.
            query.columns = Projection::of(&store.view.schema, &["v", "ck", "pk"]).unwrap().with_lives();
            for ck in 0..14 {
                let order = translate(&[0x40, ck], desc);
                query.ranges = vec![ClusteringRange::prefix(&order)];
                let sliced = read_partition(store.snapshot(), key(*pk), query.clone(), now).unwrap().rows().next().transpose().unwrap();
                let found = read_row(&store.snapshot(), &key(*pk), &order, &query.columns, now).unwrap();
                let told = |row: Row| {
                    let wires: Vec<_> = (0..3).map(|i| row.batch().wire(i, row.index()).unwrap()).collect();
                    (wires, row.writetime(0).unwrap(), row.ttl(0).unwrap())
                };
                prop_assert_eq!(found.map(told), sliced.map(told));
            }
            query.columns = Projection::of(&store.view.schema, &["pk", "ck", "v", "st"]).unwrap();
        }
    }
}

fn live(ck: u8, value: i32, life: Liveness) -> ModelRow {
    let mut row = ModelRow::new(Clustering::new(translate(&[0x40, ck], false)));
    row.liveness = Some(life);
    row.cells = vec![(V, Cell::live(life, Bytes::new(&value.to_be_bytes())))];
    row
}

fn values(store: &Store, pk: u8, reverse: bool, now: i64) -> Vec<i32> {
    let mut query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
    query.reverse = reverse;
    let reader = read_partition(store.snapshot(), key(pk), query, now).unwrap();
    reader.rows().map(|row| row.unwrap().get("v").unwrap()).collect()
}

#[test]
fn the_newest_row_is_found_in_memory_or_in_a_file_whichever_has_it() {
    let mut store = Store::new(schema(Order::Asc));
    for ck in 0..15 {
        store.put(1, &live(ck, ck.into(), Liveness::new(5)), false);
        if ck == 9 {
            store.flush();
        }
        assert_eq!(values(&store, 1, true, 9).first(), Some(&ck.into()));
    }
}

#[test]
fn a_file_is_not_looked_up_before_it_is_the_turn_of_its_rows() {
    let mut store = Store::new(schema(Order::Asc));
    (0..3).for_each(|ck| store.put(1, &live(ck, ck.into(), Liveness::new(5)), false));
    store.flush();
    (3..6).for_each(|ck| store.put(1, &live(ck, ck.into(), Liveness::new(5)), false));
    let looks_for = |limit| {
        let mut query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
        (query.reverse, query.limit) = (true, Some(limit));
        let before = Looks::of_thread();
        let reader = read_partition(store.snapshot(), key(1), query, 9).unwrap();
        assert_eq!(reader.rows().map(Result::unwrap).count() as u64, limit);
        let looks = Looks::of_thread().since(before);
        (looks.pages_cached + looks.pages_read, looks.blocks_cached + looks.blocks_read)
    };
    assert_eq!(looks_for(3), (0, 0), "all of them are in memory");
    let (pages, blocks) = looks_for(4);
    assert!(pages > 0 && blocks > 0, "one is in the file");
}

#[test]
fn a_file_that_turns_out_not_to_have_the_partition_gives_nothing() {
    let mut store = Store::new(schema(Order::Asc));
    [1, 3].iter().for_each(|&pk| store.put(pk, &live(0, 0, Liveness::new(5)), false));
    store.flush();
    let (file, all) = (&store.view.files[0], ClusteringRange::all());
    for (pk, has) in [(1, true), (2, false)] {
        for reverse in [false, true] {
            let mut reader = FileReader::unasked(file, &key(pk), &all, reverse);
            assert!(reader.floor().unwrap().is_some(), "the file's range tells");
            assert!(reader.ask().unwrap() && !reader.ask().unwrap(), "it is asked once");
            assert_eq!(reader.floor().unwrap().is_some(), has);
            assert_eq!(reader.next_run().unwrap().is_some(), has);
            assert!(reader.next_run().unwrap().is_none());
            assert_eq!(reader.deletion_without_items().unwrap(), None);
        }
    }
}

#[test]
fn a_row_and_its_value_go_in_the_very_second_of_expiry() {
    let mut store = Store::new(schema(Order::Asc));
    store.put(1, &live(0, 0, Liveness::expiring(9_000_000, 1, 10)), false);
    for _ in 0..2 {
        assert_eq!((values(&store, 1, false, 9), values(&store, 1, false, 10)), (vec![0], vec![]));
        store.flush();
    }
}

#[test]
fn a_deletion_over_many_blocks_reads_the_same_in_both_directions() {
    let mut store = Store::new(schema(Order::Asc));
    for ck in 0..100 {
        store.put(1, &live(ck, ck.into(), Liveness::new(5)), false);
    }
    store.flush();
    let (start, end) = (translate(&[0x40, 10], false), translate(&[0x40, 90], false));
    let deletion = Deletion::new(6, 6);
    let range = RangeTombstone { start: Bound::after(&start), end: Bound::before(&end), deletion };
    store.apply(1, &OpBody::Range(range));
    for _ in 0..2 {
        let forward = values(&store, 1, false, 9);
        assert_eq!(forward, (0..=10).chain(90..100).collect::<Vec<_>>());
        assert_eq!(values(&store, 1, true, 9), forward.into_iter().rev().collect::<Vec<_>>());
        store.flush();
    }
}

#[test]
fn a_reader_sees_nothing_that_was_committed_after_its_snapshot() {
    let store = Store::new(schema(Order::Asc));
    store.put(1, &live(0, 0, Liveness::new(5)), false);
    let snapshot = store.snapshot();
    store.put(1, &live(0, 7, Liveness::new(6)), false);
    store.put(1, &live(1, 1, Liveness::new(6)), false);
    let query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
    let reader = read_partition(snapshot, key(1), query, 9).unwrap();
    let got: Vec<i32> = reader.rows().map(|row| row.unwrap().get(0).unwrap()).collect();
    assert_eq!(got, [0]);
}

#[test]
fn pages_go_on_behind_the_last_row_whatever_is_written_between() {
    let mut store = Store::new(schema(Order::Asc));
    for ck in [1, 3, 5, 7] {
        store.put(1, &live(ck, ck.into(), Liveness::new(5)), false);
    }
    let mut query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
    (query.page_rows, query.limit) = (Some(2), Some(5));
    let mut got: Vec<i32> = Vec::new();
    for written in [4, 0, 9] {
        let mut rows = read_partition(store.snapshot(), key(1), query.clone(), 9).unwrap().rows();
        got.extend(rows.by_ref().map(|row| row.unwrap().get::<i32>(0).unwrap()));
        query.page = rows.reader().page_state();
        store.put(1, &live(written, written.into(), Liveness::new(6)), false);
        store.flush();
    }
    assert_eq!((got, query.page), (vec![1, 3, 4, 5, 7], None));
    query.page = Some(PageState {
        table: TableId(9),
        reverse: false,
        key: Bytes::EMPTY,
        place: page::Place::End,
        rows: 0,
        partition_rows: 0,
    });
    assert!(read_partition(store.snapshot(), key(1), query, 9).is_err(), "the state of another table");
}

#[test]
fn sources_are_ruled_out_for_a_reason_and_expired_files_only_where_they_hide_nothing() {
    let mut store = Store::new(schema(Order::Asc));
    let expiring = |ck, timestamp| live(ck, 1, Liveness::expiring(timestamp, 1, 10));
    store.put(1, &live(1, 1, Liveness::new(50)), false);
    store.flush();
    store.put(1, &expiring(1, 60), false);
    store.flush();
    store.put(1, &expiring(2, 40), false);
    store.flush();
    let explain = |store: &Store, range: ClusteringRange| {
        let mut query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
        query.ranges = vec![range];
        let mut reader = read_partition(store.snapshot(), key(1), query, 20).unwrap().explained();
        while reader.next_batch().unwrap().is_some() {}
        let explain = reader.explain().unwrap();
        assert_eq!(explain.counts.live_rows, 0, "the expired value still hides the older one");
        explain.considered.iter().map(|considered| considered.ruled_out).collect::<Vec<_>>()
    };
    let (not_there, expired) = (Some(RuledOut::NotThere), Some(RuledOut::Expired));
    assert_eq!(explain(&store, ClusteringRange::all()), [not_there, None, None, expired]);
    let order = translate(&[0x40, 9], false);
    let elsewhere = Some(RuledOut::Clustering);
    assert_eq!(
        explain(&store, ClusteringRange::prefix(&order)),
        [not_there, elsewhere, elsewhere, elsewhere]
    );
    store.apply(1, &OpBody::Partition(Deletion::new(50, 20)));
    let deleted = Some(RuledOut::Deleted);
    assert_eq!(explain(&store, ClusteringRange::all()), [None, deleted, None, deleted]);
}

#[test]
fn totals_come_from_the_index_where_nothing_else_is_between() {
    let mut store = Store::new(schema(Order::Asc));
    for ck in 0..20 {
        store.put(1, &live(ck, ck.into(), Liveness::new(5)), false);
    }
    store.flush();
    store.put(1, &live(30, 100, Liveness::new(6)), false);
    let read = |now| {
        let query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
        totals(read_tokens(store.snapshot(), TokenRange::ALL, query, now).unwrap()).unwrap()
    };
    let sums = (21, Some((0, 100, 190 + 100)), 1);
    assert_eq!((read(9).rows, read(9).columns[0].ints, read(9).blocks_from_index), sums);
    store.put(1, &live(7, 1000, Liveness::new(6)), false);
    let sums = (21, Some((0, 1000, 190 - 7 + 1000 + 100)), 0);
    assert_eq!((read(9).rows, read(9).columns[0].ints, read(9).blocks_from_index), sums);
}

#[test]
fn totals_leave_out_what_has_expired_in_a_block() {
    let mut store = Store::new(schema(Order::Asc));
    store.put(1, &live(1, 1, Liveness::new(5)), false);
    store.put(1, &live(2, 2, Liveness::expiring(5, 1, 10)), false);
    store.flush();
    let read = |now| {
        let query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
        let totals = totals(read_tokens(store.snapshot(), TokenRange::ALL, query, now).unwrap()).unwrap();
        (totals.rows, totals.columns[0].ints, totals.blocks_from_index)
    };
    assert_eq!((read(9), read(10)), ((2, Some((1, 2, 3)), 1), (1, Some((1, 1, 1)), 0)));
    let mut query = Query::new(Projection::of(&store.view.schema, &["v"]).unwrap());
    query.limit = Some(1);
    let total =
        |query: &Query| totals(read_tokens(store.snapshot(), TokenRange::ALL, query.clone(), 9).unwrap());
    let limited = total(&query).unwrap();
    assert_eq!((limited.rows, limited.columns[0].ints), (1, Some((1, 1, 1))));
    query.page_rows = Some(1);
    assert!(total(&query).is_err());
}
