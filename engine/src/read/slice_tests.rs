//! Slices over memtables and files against a plain model.

use super::*;
use crate::encoding::compress::Codec;
use crate::memtable::plain_rows::PlainRows;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::key::DecoratedKey;
use crate::model::life::Liveness;
use crate::model::reconcile::{merge_deletion, resolve};
use crate::model::row::Row;
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use crate::model::types::CqlType;
use crate::read::column::CellRef;
use crate::read::query::{Projection, TombstoneLimits};
use crate::read::source::{ItemReader, RunReader};
use crate::read::testing::{
    Part as Data, any_part, model_rows, place, translate, translate_bound, translate_part,
};
use crate::sstable::block::builder::BlockBuilder;
use crate::sstable::block::decoded::DecodedBlock;
use crate::sstable::block::seek::SeekBound;
use crate::sstable::layout::BlockSchema;
use proptest::prelude::*;

/// `t (pk int, ck tinyint, s set<tinyint>, v int, w int, PRIMARY KEY (pk, ck))`: ids 0, 1, 2, 3, 4.
fn schema(order: Order) -> Arc<TableSchema> {
    let column = |name: &str, ty, kind| (name.to_owned(), ty, kind);
    let columns = vec![
        column("pk", CqlType::Int, ColumnKind::PartitionKey),
        column("ck", CqlType::Tinyint, ColumnKind::Clustering(order)),
        column("s", CqlType::Set(Box::new(CqlType::Tinyint)), ColumnKind::Regular),
        column("v", CqlType::Int, ColumnKind::Regular),
        column("w", CqlType::Int, ColumnKind::Regular),
    ];
    Arc::new(TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap())
}

/// A part as the blocks of a file, `size` items each.
struct FileRuns {
    blocks: Vec<Arc<DecodedBlock>>,
    range: ClusteringRange,
    reverse: bool,
    next: usize,
    /// Only the range is known, as of a file of which the index was not asked.
    unasked: bool,
    data: Data,
}

impl FileRuns {
    fn new(data: &Data, schema: &TableSchema, size: usize, range: &ClusteringRange, reverse: bool) -> Self {
        let file = Arc::new(BlockSchema::of(schema));
        let mut open = None;
        let mut blocks = Vec::new();
        for (i, items) in data.fragments(false).chunks(size).enumerate() {
            let mut builder = BlockBuilder::new(file.clone(), Codec::None);
            builder.begin_partition(b"key", None).unwrap();
            let before = open;
            for item in items {
                match item {
                    Fragment::Row(row) => builder.push_row(row).unwrap(),
                    Fragment::Bound(bound) => {
                        builder.push_bound(bound).unwrap();
                        open = bound.deletion;
                    }
                    _ => {}
                }
            }
            let mut bytes = Vec::new();
            builder.finish(&mut bytes, i > 0, before).unwrap();
            blocks.push(Arc::new(DecodedBlock::open(Box::new(bytes), file.clone()).unwrap()));
        }
        let next = if reverse { blocks.len() } else { 0 };
        let unasked = data.ranges.is_empty();
        Self { blocks, range: range.clone(), reverse, next, unasked, data: data.clone() }
    }
}

impl RunReader for FileRuns {
    fn next_run(&mut self) -> Result<Option<Run>> {
        self.unasked = false;
        loop {
            let block = match self.reverse {
                false => self.blocks.get(self.next),
                true => self.next.checked_sub(1).and_then(|i| self.blocks.get(i)),
            };
            let Some(block) = block else { return Ok(None) };
            self.next = if self.reverse { self.next - 1 } else { self.next + 1 };
            let bound = |bound| SeekBound::new(block.schema(), bound);
            let start = block.seek(0..block.items(), &bound(&self.range.start)?)?;
            let end = block.seek(start..block.items(), &bound(&self.range.end)?)?;
            if start < end {
                return Ok(Some(Run { block: block.clone(), partition: 0, items: start..end }));
            }
        }
    }

    fn deletion_without_items(&mut self) -> Result<Option<Deletion>> {
        let covers = |r: &&crate::model::fragment::RangeTombstone| {
            r.start <= self.range.start && self.range.end <= r.end
        };
        Ok(self.data.ranges.iter().filter(covers).map(|r| r.deletion).max())
    }

    fn ask(&mut self) -> Result<bool> {
        Ok(std::mem::take(&mut self.unasked))
    }

    fn floor(&mut self) -> Result<Option<Bound>> {
        if self.unasked {
            return Ok(Some(if self.reverse { self.range.end.clone() } else { self.range.start.clone() }));
        }
        let block = match self.reverse {
            false => self.blocks.get(self.next),
            true => self.next.checked_sub(1).and_then(|i| self.blocks.get(i)),
        };
        let Some(block) = block.filter(|block| block.has_no_deletions() && block.bound_count() == 0) else {
            return Ok(None);
        };
        Ok(Some(match self.reverse {
            false => Bound::before(block.clustering(0)?.order()),
            true => Bound::after(block.clustering(block.items() - 1)?.order()),
        }))
    }
}

/// A part as a memtable gives it.
struct MemoryItems(Data);

impl ItemReader for MemoryItems {
    fn read(
        &self,
        range: &ClusteringRange,
        reverse: bool,
        max: usize,
        out: &mut Vec<Fragment>,
    ) -> Result<bool> {
        let mut cut = self.0.clone();
        cut.rows.retain(|row| range.contains(row.clustering.order()));
        for r in &mut cut.ranges {
            r.start = r.start.clone().max(range.start.clone());
            r.end = r.end.clone().min(range.end.clone());
        }
        cut.ranges.retain(|r| r.start < r.end);
        let items = cut.fragments(reverse);
        let near = if reverse { &range.end } else { &range.start };
        let edge = matches!(items.first(), Some(Fragment::Bound(bound)) if bound.at == *near);
        let count = items.len().min(max.min(3) + usize::from(edge));
        out.extend_from_slice(&items[..count]);
        Ok(count < items.len())
    }

    /// Nothing here is kept encoded; tests of whole stores read plain rows.
    fn read_plain(&self, _: &ClusteringRange, _: bool, _: usize) -> Option<(PlainRows, bool)> {
        None
    }
}

struct Setup {
    order: Order,
    reverse: bool,
    lives: bool,
    names: &'static [&'static str],
    size: usize,
    now: i64,
}

fn read(
    setup: &Setup,
    parts: &[(Data, bool)],
    range: &ClusteringRange,
    want: usize,
) -> (Vec<Arc<Batch>>, Resolver) {
    let schema = schema(setup.order);
    let mut columns = Projection::of(&schema, setup.names).unwrap();
    if setup.lives {
        columns = columns.with_lives();
    }
    let key = DecoratedKey::new(&7i32.to_be_bytes());
    let head = Arc::new(PartitionHead::new(&columns, key, None, setup.now).unwrap());
    let lanes = Arc::new(LaneMap::new(&columns, &BlockSchema::of(&schema)));
    let reverse = setup.reverse;
    let sources = parts.iter().map(|(data, memory)| match memory {
        true => Source::memory(Box::new(MemoryItems(data.clone())), range.clone(), reverse, 5),
        false => {
            let runs = FileRuns::new(data, &schema, setup.size, range, reverse);
            Source::file(Box::new(runs), lanes.clone(), reverse)
        }
    });
    let deletion = parts.iter().fold(None, |d, (data, _)| merge_deletion(d, data.deletion));
    let mut slice = Slice::new(&head, sources.collect(), deletion, reverse);
    let mut resolver = Resolver::new(&schema, TombstoneLimits::default(), setup.now);
    let mut batches = Vec::new();
    while let Some(batch) = slice.next_batch(want, &mut resolver).unwrap() {
        assert!(!batch.is_empty() && batch.len() <= want);
        batches.push(Arc::new(batch));
    }
    (batches, resolver)
}

/// What a batch says of a row, to hold against the model's row; numbers say the same when they are asked for by their type.
fn seen(batch: &Batch, i: usize, names: &[&str]) -> Vec<Option<Vec<u8>>> {
    let place = |name: &&str| batch.columns().position(name).unwrap();
    let row = batch.iter().nth(i).unwrap();
    for name in names.iter().filter(|name| ["v", "w"].contains(*name)) {
        let wire = batch.wire(place(name), i).unwrap();
        let number = wire.map(|wire| i32::from_be_bytes(wire[..].try_into().unwrap()));
        assert_eq!(row.get::<Option<i32>>(place(name)).unwrap(), number);
        assert_eq!(row.get::<Option<i64>>(*name).unwrap(), number.map(i64::from));
    }
    names.iter().map(|name| batch.wire(place(name), i).unwrap().map(|wire| wire.to_vec())).collect()
}

/// The batches hold what the rows of `model` do, and end with the last of them.
fn assert_same(batches: &[Arc<Batch>], model: &[Row], names: &[&str], desc: bool) {
    let got: Vec<_> = batches.iter().flat_map(|b| (0..b.len()).map(|i| seen(b, i, names))).collect();
    let wanted: Vec<_> = model.iter().map(|row| expected(row, names, desc)).collect();
    assert_eq!(got, wanted);
    if let (Some(batch), Some(row)) = (batches.last(), model.last()) {
        assert_eq!(batch.last().unwrap(), row.clustering);
    }
}

fn expected(row: &Row, names: &[&str], desc: bool) -> Vec<Option<Vec<u8>>> {
    let value = |name: &&str| match *name {
        "pk" => Some(7i32.to_be_bytes().to_vec()),
        "ck" => {
            let tag = row.clustering.order()[1];
            Some(vec![if desc { !tag ^ 0x80 } else { tag ^ 0x80 }])
        }
        "s" => row.complex(ColumnId(2)).map(|set| {
            let mut wire = (set.cells.len() as i32).to_be_bytes().to_vec();
            for (path, _) in &set.cells {
                wire.extend_from_slice(&1i32.to_be_bytes());
                wire.push(path.order()[1] ^ 0x80);
            }
            wire
        }),
        name => {
            let id = ColumnId(if name == "v" { 3 } else { 4 });
            row.cell(id).and_then(|cell| cell.value.as_ref()).map(|value| value.to_vec())
        }
    };
    names.iter().map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_slice_is_what_brute_force_finds(
        parts in prop::collection::vec((any_part([3, 4], Some(2)), any::<bool>()), 0..5),
        (desc, reverse, lives) in any::<(bool, bool, bool)>(),
        wide in any::<bool>(),
        (from, n) in (0..14u8, 0..14u8),
        (size, want) in (1..6usize, 1..8usize),
        now in 8..13i64,
    ) {
        let names: &[&str] = if wide { &["w", "s", "pk", "ck", "v"] } else { &["ck", "v"] };
        let order = if desc { Order::Desc } else { Order::Asc };
        let setup = Setup { order, reverse, lives, names, size, now };
        let parts: Vec<_> = parts.into_iter().map(|(part, memory)| (translate_part(part, desc), memory)).collect();
        let bound = |at: u8, after: bool| {
            let bound = if after { Bound::after(&[0x40, at]) } else { Bound::before(&[0x40, at]) };
            translate_bound(&bound, desc)
        };
        let range = match n {
            13 => ClusteringRange::all(),
            _ => ClusteringRange { start: bound(from, false), end: bound(from + n, true) },
        };
        let (batches, resolver) = read(&setup, &parts, &range, want);
        let data: Vec<Data> = parts.iter().map(|(data, _)| data.clone()).collect();
        let model = model_rows(&data).into_iter().filter(|row| range.contains(row.clustering.order()));
        let mut model: Vec<Row> = model.filter_map(|row| resolve(row, now)).collect();
        if reverse {
            model.reverse();
        }
        assert_same(&batches, &model, names, desc);
        prop_assert_eq!(resolver.counts.live_rows, model.len() as u64);
        if lives {
            let v = batches.first().map(|b| b.columns().position("v").unwrap());
            let got: Vec<_> = batches.iter().flat_map(|b| b.rows().map(|row| row.batch().column(v.unwrap()).unwrap().life(row.index()))).collect();
            let wanted: Vec<_> = model.iter().map(|row| row.cell(ColumnId(3)).map(Cell::life)).collect();
            prop_assert_eq!(got, wanted);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn live_rows_of_several_files_are_what_brute_force_finds(
        files in prop::collection::vec(
            (prop::collection::btree_map(0..90u8, prop::option::weighted(0.9, 0..9i32), 0..40), 0..3u8, 0..90u8), 1..5),
        (desc, reverse, lives) in any::<(bool, bool, bool)>(),
        apart in any::<bool>(),
        (from, n) in (0..40u8, 0..60u8),
        (size, want) in (1..90usize, 1..90usize),
        memory in prop::option::weighted(0.3, 0..4usize),
    ) {
        let names: &[&str] = &["ck", "w", "pk", "v"];
        let setup = Setup { order: if desc { Order::Desc } else { Order::Asc }, reverse, lives, names, size, now: 9 };
        let count = files.len() as u8;
        let parts: Vec<_> = files.into_iter().enumerate().map(|(i, (rows, kind, middle))| {
            // All over the partition, or in one place of it; no row twice, or many.
            let mut data = Data::default();
            for (ck, value) in rows {
                let ck = if kind == 0 { ck } else { middle.saturating_add(ck / 9).min(89) };
                let ck = if apart { ck / count * count + i as u8 } else { ck };
                let life = Liveness::new(i as i64);
                let cell = |value: i32| (ColumnId(3), Cell::live(life, Bytes::new(&value.to_be_bytes())));
                let row = Row { liveness: Some(life), cells: value.map(cell).into_iter().collect(), ..Row::new(place(ck)) };
                data.rows.retain(|other| other.clustering != row.clustering);
                data.rows.push(row);
            }
            (translate_part(data, desc), memory == Some(i))
        }).collect();
        let bound = |at: u8, after: bool| {
            translate_bound(&if after { Bound::after(&[0x40, at]) } else { Bound::before(&[0x40, at]) }, desc)
        };
        let range = match n {
            50.. => ClusteringRange::all(),
            _ => ClusteringRange { start: bound(from, false), end: bound(from + n, true) },
        };
        let (batches, resolver) = read(&setup, &parts, &range, want);
        let data: Vec<Data> = parts.iter().map(|(data, _)| data.clone()).collect();
        let mut model = model_rows(&data);
        model.retain(|row| range.contains(row.clustering.order()));
        if reverse {
            model.reverse();
        }
        assert_same(&batches, &model, names, desc);
        prop_assert_eq!(resolver.counts.live_rows, model.len() as u64);
        prop_assert_eq!(resolver.counts.live_cells, model.iter().map(|row| row.cells.len() as u64).sum::<u64>());
        if lives {
            let got: Vec<_> = batches.iter().flat_map(|b| b.rows().map(|row| row.batch().column(3).unwrap().life(row.index()))).collect();
            let wanted: Vec<_> = model.iter().map(|row| row.cell(ColumnId(3)).map(Cell::life)).collect();
            prop_assert_eq!(got, wanted);
        }
    }
}

fn plain(ck: u8, value: i32) -> Row {
    let mut row = Row::new(Clustering::new(translate(&[0x40, ck], false)));
    row.liveness = Some(Liveness::new(5));
    row.cells = vec![(ColumnId(3), Cell::live(Liveness::new(5), Bytes::new(&value.to_be_bytes())))];
    row
}

fn data(places: std::ops::Range<u8>) -> Data {
    Data { rows: places.map(|ck| plain(ck, ck.into())).collect(), ..Data::default() }
}

#[test]
fn disjoint_files_are_handed_out_as_columns_in_both_directions() {
    let parts = [(data(40..80), false), (data(0..40), false), (data(80..85), true)];
    for reverse in [false, true] {
        let setup = Setup { order: Order::Asc, reverse, lives: false, names: &["v"], size: 50, now: 9 };
        let (batches, resolver) = read(&setup, &parts, &ClusteringRange::all(), 100);
        let lengths: Vec<_> = batches.iter().map(|batch| batch.len()).collect();
        assert_eq!(lengths, if reverse { [5, 40, 40] } else { [40, 40, 5] });
        assert_eq!(resolver.counts.live_cells, 85);
        let file = &batches[1];
        let (numbers, backward) = file.column(0).and_then(|column| column.ints(file.len())).unwrap();
        assert_eq!((numbers[0], backward), (40, reverse));
        assert_eq!(file.cell(0, 0), CellRef::Int(if reverse { 79 } else { 40 }));
        let (cut, _) = read(&setup, &parts, &ClusteringRange::all(), 12);
        let beyond = crate::read::batch::Row::new(&cut[1], 12);
        assert_eq!(
            beyond.get::<Option<i32>>(0).unwrap(),
            None,
            "the next row of the block is another batch's"
        );
        assert_eq!(beyond.value(0).unwrap(), None);
    }
}

#[test]
fn rows_of_updates_alone_are_handed_out_too_where_all_have_a_value() {
    let mut updates = data(0..20);
    updates.rows.iter_mut().for_each(|row| row.liveness = None);
    let setup =
        Setup { order: Order::Asc, reverse: false, lives: true, names: &["ck", "v", "w"], size: 50, now: 9 };
    let (batches, _) = read(&setup, &[(updates, false)], &ClusteringRange::all(), 100);
    assert_eq!(batches.len(), 1);
    let row = batches[0].rows().next_back().unwrap();
    assert_eq!(row.get::<i32>("v").unwrap(), 19);
    assert_eq!(row.get::<Option<i32>>("w").unwrap(), None);
    assert_eq!(row.get::<i8>(0).unwrap(), 19);
    assert_eq!((row.writetime("v").unwrap(), row.ttl("v").unwrap()), (Some(5), None));
    assert!(row.get::<i32>("w").unwrap_err().to_string().contains("column w: a null"));
    assert!(row.get::<String>("v").is_err() && row.get::<i32>("x").is_err());
}

#[test]
fn too_many_tombstones_refuse_a_slice() {
    let mut dead = data(0..20);
    dead.rows.iter_mut().for_each(|row| row.cells[0].1 = Cell::tombstone(6, 6));
    let schema = schema(Order::Asc);
    let columns = Projection::all(&schema);
    let head = PartitionHead::new(&columns, DecoratedKey::new(&[0, 0, 0, 1]), None, 9).unwrap();
    let lanes = Arc::new(LaneMap::new(&columns, &BlockSchema::of(&schema)));
    let runs = FileRuns::new(&dead, &schema, 50, &ClusteringRange::all(), false);
    let source = Source::file(Box::new(runs), lanes, false);
    let mut slice = Slice::new(&Arc::new(head), vec![source], None, false);
    let mut resolver = Resolver::new(&schema, TombstoneLimits { warn: 1, refuse: 10 }, 9);
    assert!(slice.next_batch(100, &mut resolver).is_err());
}
