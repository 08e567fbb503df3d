//! Tables and streams of fragments to test files with: everything that a stream can hold, in partitions over many blocks.

use crate::encoding::order::encode_component;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::{Deletion, Liveness};
use crate::model::row::{Complex, Row};
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use crate::model::types::CqlType;
use proptest::prelude::*;

/// (k int, c1 int, c2 text DESC; s text static; a double, b int, m set<int>, t text).
pub(crate) fn table() -> TableSchema {
    let columns = [
        ("k", CqlType::Int, ColumnKind::PartitionKey),
        ("c1", CqlType::Int, ColumnKind::Clustering(Order::Asc)),
        ("c2", CqlType::Text, ColumnKind::Clustering(Order::Desc)),
        ("s", CqlType::Text, ColumnKind::Static),
        ("a", CqlType::Double, ColumnKind::Regular),
        ("b", CqlType::Int, ColumnKind::Regular),
        ("m", CqlType::Set(Box::new(CqlType::Int)), ColumnKind::Regular),
        ("t", CqlType::Text, ColumnKind::Regular),
    ];
    let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
    TableSchema::new(TableId(9), "ks", "t", columns, TableOptions::default()).unwrap()
}

/// (sensor text, at timestamp; temperature double, humidity double, pressure double, status int).
pub(crate) fn sensors_table() -> TableSchema {
    let columns = [
        ("sensor", CqlType::Text, ColumnKind::PartitionKey),
        ("at", CqlType::Timestamp, ColumnKind::Clustering(Order::Asc)),
        ("temperature", CqlType::Double, ColumnKind::Regular),
        ("humidity", CqlType::Double, ColumnKind::Regular),
        ("pressure", CqlType::Double, ColumnKind::Regular),
        ("status", CqlType::Int, ColumnKind::Regular),
    ];
    let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
    TableSchema::new(TableId(3), "ks", "sensors", columns, TableOptions::default()).unwrap()
}

/// The clustering prefix of `c1` and perhaps `c2`.
pub(crate) fn prefix(c1: i32, c2: Option<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    encode_component(&c1.to_be_bytes(), &CqlType::Int, false, &mut out).unwrap();
    if let Some(c2) = c2 {
        encode_component(&[b'a' + c2 % 20], &CqlType::Text, true, &mut out).unwrap();
    }
    out
}

pub(crate) fn id(name: &str) -> ColumnId {
    table().column(name).unwrap().id
}

/// What a random row or bound is made from.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Row { c1: i32, c2: u8, dice: u64, text: usize },
    Bound { c1: Option<i32>, c2: Option<u8>, after: bool, deletion: Option<Deletion> },
}

fn any_deletion() -> impl Strategy<Value = Deletion> {
    (-50i64..2_000_000_000, 0i64..4_000_000).prop_map(|(timestamp, local)| Deletion::new(timestamp, local))
}

fn any_item() -> impl Strategy<Value = Item> {
    prop_oneof![
        6 => (0..8i32, any::<u8>(), any::<u64>(), prop_oneof![Just(0usize), Just(3), 500..6000usize])
            .prop_map(|(c1, c2, dice, text)| Item::Row { c1, c2, dice, text }),
        1 => (prop::option::weighted(0.9, 0..8i32), prop::option::of(any::<u8>()), any::<bool>(), prop::option::weighted(0.7, any_deletion()))
            .prop_map(|(c1, c2, after, deletion)| Item::Bound { c1, c2: c1.and(c2), after, deletion }),
    ]
}

/// A random stream of the table of [`table`].
pub(crate) fn streams() -> impl Strategy<Value = Vec<Fragment>> {
    let statics = prop::option::weighted(0.4, any::<u64>());
    let partition = (
        any::<u8>(),
        prop::option::weighted(0.3, any_deletion()),
        statics,
        prop::collection::vec(any_item(), 0..60),
    );
    prop::collection::vec(partition, 1..8).prop_map(|partitions| {
        let mut parts: Vec<_> = partitions
            .into_iter()
            .map(|(key, deletion, statics, items)| {
                (DecoratedKey::new(&i32::from(key).to_be_bytes()), deletion, statics, items)
            })
            .collect();
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        parts.dedup_by(|a, b| a.0 == b.0);
        let mut out = Vec::new();
        for (key, deletion, statics, items) in parts {
            let items = ordered(items.iter().map(item).collect());
            if deletion.is_none() && statics.is_none() && items.is_empty() {
                continue;
            }
            out.push(Fragment::Partition { key, deletion });
            if let Some(dice) = statics {
                let mut row = Row::new(Clustering::EMPTY);
                row.cells.push((id("s"), cell(dice, b"static")));
                out.push(Fragment::Static(row));
            }
            out.extend(items);
        }
        out
    })
}

fn order(one: &Fragment, other: &Fragment) -> std::cmp::Ordering {
    match (one, other) {
        (Fragment::Row(one), Fragment::Row(other)) => one.clustering.cmp(&other.clustering),
        (Fragment::Bound(one), Fragment::Bound(other)) => one.at.cmp(&other.at),
        (Fragment::Bound(bound), Fragment::Row(row)) => bound.at.cmp_row(row.clustering.order()),
        (Fragment::Row(row), Fragment::Bound(bound)) => bound.at.cmp_row(row.clustering.order()).reverse(),
        _ => std::cmp::Ordering::Equal,
    }
}

/// Sorted, each place once, and no range deletion left open.
fn ordered(mut items: Vec<Fragment>) -> Vec<Fragment> {
    items.sort_by(order);
    items.dedup_by(|a, b| order(a, b).is_eq());
    let mut open = None;
    items.retain(|item| {
        let Fragment::Bound(bound) = item else { return true };
        let changes = bound.deletion != open;
        open = bound.deletion;
        changes
    });
    if open.is_some() {
        if let Some(Fragment::Bound(last)) = items.last_mut()
            && last.at == Bound::top()
        {
            last.deletion = None;
        } else {
            items.push(Fragment::Bound(RangeBound { at: Bound::top(), deletion: None }));
        }
    }
    items
}

fn cell(dice: u64, value: &[u8]) -> Cell {
    let timestamp = (dice >> 8) as i64 % 1_000_000_000;
    match dice % 6 {
        0 => Cell::tombstone(timestamp, timestamp / 1000),
        1 => Cell::live(Liveness::expiring(timestamp, 60, timestamp / 1_000_000 + 60), Bytes::new(value)),
        _ => Cell::live(Liveness::new(timestamp), Bytes::new(value)),
    }
}

fn item(item: &Item) -> Fragment {
    match *item {
        Item::Bound { c1, c2, after, deletion } => {
            let prefix = c1.map_or(Vec::new(), |c1| prefix(c1, c2));
            let at = if after { Bound::after(&prefix) } else { Bound::before(&prefix) };
            Fragment::Bound(RangeBound { at, deletion })
        }
        Item::Row { c1, c2, dice, text } => {
            let mut row = Row::new(Clustering::new(Bytes::new(&prefix(c1, Some(c2)))));
            let bit = |n: u32| dice >> (40 + n) & 1 == 1;
            row.liveness = bit(0).then(|| cell(dice | 1 << 9, b"x").life());
            row.deletion = (bit(1) && bit(2)).then(|| Deletion::new(dice as i64 % 1000, 7));
            if bit(3) {
                row.cells.push((id("a"), cell(dice, &(dice as i32 as f64 / 100.0).to_be_bytes())));
            }
            if bit(4) {
                row.cells.push((id("b"), cell(dice >> 3, &(dice as i32).to_be_bytes())));
            }
            if text > 0 {
                let value: Vec<u8> =
                    (0..text).map(|i| b'a' + ((dice >> (i % 48) & 0xff) as usize * i % 26) as u8).collect();
                row.cells.push((id("t"), cell(dice >> 5, &value)));
            }
            row.cells.sort_by_key(|cell| cell.0);
            if bit(5) {
                let path = |n: i32| {
                    let mut out = Vec::new();
                    encode_component(&n.to_be_bytes(), &CqlType::Int, false, &mut out).unwrap();
                    Clustering::new(Bytes::new(&out))
                };
                let cells = (0..(dice % 4) as i32).map(|n| (path(n), cell(dice >> n, b""))).collect();
                let deletion = bit(6).then(|| Deletion::new(3, 4));
                let complex = Complex { column: id("m"), deletion, cells };
                if deletion.is_some() || !complex.cells.is_empty() {
                    row.complex.push(complex);
                }
            }
            if row.is_empty() {
                row.liveness = Some(Liveness::new(5));
            }
            Fragment::Row(row)
        }
    }
}

/// A range, often between items or empty.
pub(crate) fn ranges() -> impl Strategy<Value = ClusteringRange> {
    let bound = (prop::option::weighted(0.8, -1..9i32), prop::option::of(any::<u8>()), any::<bool>());
    let bound = bound.prop_map(|(c1, c2, after)| {
        let prefix = c1.map_or(Vec::new(), |c1| prefix(c1, c2));
        if after { Bound::after(&prefix) } else { Bound::before(&prefix) }
    });
    (bound.clone(), bound).prop_map(|(start, end)| ClusteringRange { start, end })
}

/// `rows` rows a second apart for each of `sensors` sensors, the values walking.
pub(crate) fn sensors(sensors: u32, rows: u32) -> Vec<Fragment> {
    let table = sensors_table();
    let ids = ["humidity", "pressure", "status", "temperature"].map(|name| table.column(name).unwrap().id);
    let mut keys: Vec<_> =
        (0..sensors).map(|i| DecoratedKey::new(format!("sensor-{i:04}").as_bytes())).collect();
    keys.sort();
    let mut out = Vec::new();
    let mut noise = 1u64;
    for key in keys {
        out.push(Fragment::Partition { key, deletion: None });
        let mut walk = [5000i64, 10_130, 0, 2050];
        for i in 0..i64::from(rows) {
            let mut dice = || {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (noise >> 33) as i64
            };
            let at = 1_700_000_000_000 + i * 1000 + dice() % 16;
            let written = at * 1000 + 300 + dice() % 800;
            [0, 1, 3].iter().for_each(|&c: &usize| walk[c] += dice() % 7 - 3);
            walk[2] = i64::from(dice() % 100 == 0);
            let mut order = Vec::new();
            encode_component(&at.to_be_bytes(), &CqlType::Timestamp, false, &mut order).unwrap();
            let mut row = Row::new(Clustering::new(Bytes::new(&order)));
            let life = Liveness::new(written);
            row.liveness = Some(life);
            for (c, id) in ids.iter().enumerate() {
                let value = match c {
                    2 => Bytes::new(&(walk[c] as i32).to_be_bytes()),
                    _ => Bytes::new(&(walk[c] as f64 / 100.0).to_be_bytes()),
                };
                row.cells.push((*id, Cell::live(life, value)));
            }
            row.cells.sort_by_key(|cell| cell.0);
            out.push(Fragment::Row(row));
        }
    }
    out
}
