//! Blocks to test with: random ones that use everything, and the time series that the format is made for.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::encoding::bytes::put_u32;
use crate::encoding::order::{comes_back, encode_component};
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::row::{Complex, Row};
use crate::model::types::CqlType;
use crate::sstable::layout::{BlockSchema, ClusteringColumn, DataColumn};

/// A block's contents in order, the deletion open at its begin, and bounds worth seeking.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) schema: Arc<BlockSchema>,
    pub(super) fragments: Vec<Fragment>,
    pub(super) open: Option<Deletion>,
    pub(super) bounds: Vec<Bound>,
}

/// Draws decisions from random bytes, and zeros when they run out.
struct Dice<'a>(std::slice::Iter<'a, u64>);

impl Dice<'_> {
    fn raw(&mut self) -> u64 {
        self.0.next().copied().unwrap_or(0)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.raw() % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == n - 1
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

fn list(ty: CqlType) -> CqlType {
    CqlType::List(Box::new(ty))
}

fn key_types() -> Vec<CqlType> {
    use CqlType::*;
    vec![
        Timestamp,
        Int,
        Bigint,
        Text,
        Tinyint,
        Smallint,
        Boolean,
        Date,
        Time,
        Double,
        Float,
        Blob,
        Inet,
        Uuid,
        Timeuuid,
        Varint,
        Decimal,
        list(Int).freeze(),
        Tuple(vec![Int, Text]),
        Vector(Box::new(Float), 2),
    ]
}

fn column_types() -> Vec<CqlType> {
    use CqlType::*;
    let mut types = key_types();
    let udt = crate::model::types::UdtType {
        keyspace: "k".into(),
        name: "u".into(),
        fields: vec![("x".into(), Int), ("y".into(), Text)],
    };
    types.extend([
        Counter,
        Duration,
        list(Int),
        list(Text),
        Set(Box::new(Text)),
        Set(Box::new(Decimal)),
        Map(Box::new(Int), Box::new(Double)),
        Map(Box::new(Varint), Box::new(Text)),
        Udt(Arc::new(udt)),
    ]);
    types
}

/// A valid value of `ty` in wire form, from a small pool so that values meet again.
fn wire(ty: &CqlType, dice: &mut Dice<'_>) -> Vec<u8> {
    if ty.allows_empty() && dice.one_in(9) {
        return Vec::new();
    }
    let n = dice.pick(&[0, 1, 2, 3, 4, 5, 250, u64::MAX, 1 << 63, i64::MAX as u64]);
    let float = dice.pick(&[0.0, -0.0, 20.5, 20.51, -7.25, f64::NAN, f64::INFINITY, 1e300]);
    match ty.unfrozen() {
        CqlType::Tinyint => vec![n as u8],
        CqlType::Boolean => vec![n as u8 & 1],
        CqlType::Smallint => (n as u16).to_be_bytes().to_vec(),
        CqlType::Int | CqlType::Date => (n as u32).to_be_bytes().to_vec(),
        CqlType::Time => (n % 86_400_000_000_000).to_be_bytes().to_vec(),
        CqlType::Bigint | CqlType::Counter | CqlType::Timestamp => n.to_be_bytes().to_vec(),
        CqlType::Double => float.to_be_bytes().to_vec(),
        CqlType::Float => (float as f32).to_be_bytes().to_vec(),
        CqlType::Inet => vec![n as u8; 4],
        CqlType::Timeuuid => {
            let mut uuid = [n as u8; 16];
            (uuid[6], uuid[8]) = (0x10 | n as u8 & 15, 0x80 | n as u8 & 63);
            uuid.to_vec()
        }
        CqlType::Uuid => {
            let mut uuid = [n as u8; 16];
            (uuid[6], uuid[8]) = (0x40 | n as u8 & 15, 0x80 | n as u8 & 63);
            uuid.to_vec()
        }
        CqlType::Varint => [&vec![0; dice.below(3) as usize][..], &[1, n as u8]].concat(),
        // 1, 1.0, 1.00: one place, three values.
        CqlType::Decimal => {
            let scale = dice.below(3) as u32;
            [scale.to_be_bytes(), (10i32.pow(scale) * (n as i32 % 4)).to_be_bytes()].concat()
        }
        CqlType::Duration => vec![0, 0, n as u8 & 0x7e],
        CqlType::List(_) => [1u32.to_be_bytes(), 4u32.to_be_bytes(), (n as u32).to_be_bytes()].concat(),
        CqlType::Tuple(_) => {
            let short = [4u32.to_be_bytes(), (n as u32).to_be_bytes()].concat();
            if dice.one_in(2) { [&short[..], &[255; 4]].concat() } else { short }
        }
        CqlType::Vector(..) => [1.5f32.to_be_bytes(), (n as f32).to_be_bytes()].concat(),
        CqlType::Text | CqlType::Ascii => "word ".repeat(n as usize % 9).into_bytes(),
        _ => vec![n as u8; n as usize % 40],
    }
}

fn clustering(types: &[(CqlType, bool)], dice: &mut Dice<'_>) -> Clustering {
    let wires: Vec<_> = types.iter().map(|(ty, _)| wire(ty, dice)).collect();
    clustering_of(types, &wires)
}

pub(super) fn clustering_of(types: &[(CqlType, bool)], wires: &[Vec<u8>]) -> Clustering {
    let (mut order, mut raw, mut faithful) = (Vec::new(), Vec::new(), true);
    for ((ty, desc), wire) in types.iter().zip(wires) {
        encode_component(wire, ty, *desc, &mut order).unwrap();
        faithful &= comes_back(wire, ty).unwrap();
        put_u32(&mut raw, wire.len() as u32);
        raw.extend_from_slice(wire);
    }
    let order = Bytes::from(order);
    if faithful { Clustering::new(order) } else { Clustering::with_raw(order, raw.into()) }
}

fn bound(types: &[(CqlType, bool)], dice: &mut Dice<'_>) -> Bound {
    let count = dice.below(types.len() as u64 + 1) as usize;
    let prefix = clustering(&types[..count], dice);
    if dice.one_in(2) { Bound::after(prefix.order()) } else { Bound::before(prefix.order()) }
}

fn life(dice: &mut Dice<'_>) -> Liveness {
    let timestamp = match dice.below(8) {
        0 => dice.raw() as i64,
        n => 1_700_000_000_000_000 + n as i64 * 250,
    };
    match dice.below(4) {
        0 => Liveness::expiring(timestamp, 60, timestamp.div_euclid(1_000_000) + 60),
        1 if dice.one_in(4) => Liveness::expiring(timestamp, dice.raw() as i32 | 1, dice.raw() as i64),
        _ => Liveness::new(timestamp),
    }
}

fn deletion(dice: &mut Dice<'_>) -> Deletion {
    match dice.below(3) {
        0 => Deletion::new(0, 0),
        1 => Deletion::new(dice.raw() as i64, dice.raw() as i64),
        n => Deletion::new(1_700_000_000_000_000 + n as i64, 1_700_000_000),
    }
}

fn cell(ty: &CqlType, shared: &Liveness, dice: &mut Dice<'_>) -> Cell {
    match dice.below(8) {
        0 => {
            let deletion = deletion(dice);
            Cell::tombstone(deletion.timestamp, deletion.local)
        }
        1 => Cell::live(life(dice), Bytes::from(wire(ty, dice))),
        _ => Cell::live(*shared, Bytes::from(wire(ty, dice))),
    }
}

fn row(columns: &[DataColumn], statics: bool, clustering: Clustering, dice: &mut Dice<'_>) -> Row {
    let shared = life(dice);
    let mut row = Row::new(clustering);
    row.liveness = (!statics && !dice.one_in(3)).then_some(shared);
    row.deletion = (!statics && dice.one_in(6)).then(|| deletion(dice));
    for column in columns {
        if dice.one_in(4) {
            continue;
        }
        let Some(path) = column.path_type() else {
            row.cells.push((column.id, cell(column.cell_type(), &shared, dice)));
            continue;
        };
        let mut complex = Complex { column: column.id, ..Complex::default() };
        complex.deletion = dice.one_in(4).then(|| deletion(dice));
        for _ in 0..dice.below(4) {
            let path = clustering_of(&[(path.clone(), false)], &[wire(path, dice)]);
            complex.cells.push((path, cell(column.cell_type(), &shared, dice)));
        }
        complex.cells.sort_by(|a, b| a.0.cmp(&b.0));
        complex.cells.dedup_by(|a, b| a.0 == b.0);
        if complex.deletion.is_some() || !complex.cells.is_empty() {
            row.complex.push(complex);
        }
    }
    row
}

fn sample(seed: &[u64]) -> Sample {
    let dice = &mut Dice(seed.iter());
    let types: Vec<_> = (0..dice.below(4)).map(|_| (dice.pick(&key_types()), dice.one_in(2))).collect();
    let mut next = 0;
    let mut columns = |dice: &mut Dice<'_>, count| {
        let column = |_| {
            next += 1 + dice.below(3) as u32;
            DataColumn { id: ColumnId(next), ty: dice.pick(&column_types()) }
        };
        (0..count).map(column).collect::<Vec<_>>()
    };
    let count = if types.is_empty() { 0 } else { dice.below(3) };
    let statics = columns(dice, count);
    let count = dice.below(6);
    let regulars = columns(dice, count);
    let clusterings =
        types.iter().map(|(ty, desc)| ClusteringColumn { ty: ty.clone(), desc: *desc }).collect();
    let schema = Arc::new(BlockSchema::new(clusterings, statics.clone(), regulars.clone()));
    let mut fragments = Vec::new();
    let mut bounds = vec![Bound::bottom(), Bound::top()];
    for p in 0..1 + dice.below(4) {
        let key = DecoratedKey::new(format!("partition {p}").as_bytes());
        fragments.push(Fragment::Partition { key, deletion: dice.one_in(4).then(|| deletion(dice)) });
        if !statics.is_empty() && dice.one_in(2) {
            fragments.push(Fragment::Static(row(&statics, true, Clustering::EMPTY, dice)));
        }
        let mut items = Vec::new();
        for _ in 0..dice.below(30) {
            if !types.is_empty() && dice.one_in(5) {
                let at = bound(&types, dice);
                items.push(Fragment::Bound(RangeBound {
                    at,
                    deletion: dice.one_in(2).then(|| deletion(dice)),
                }));
            } else {
                let place = clustering(&types, dice);
                items.push(Fragment::Row(row(&regulars, false, place, dice)));
            }
        }
        items.sort_by(order);
        items.dedup_by(|a, b| order(a, b).is_eq());
        for item in &items {
            match item {
                Fragment::Bound(bound) => bounds.push(bound.at.clone()),
                Fragment::Row(row) if dice.one_in(2) => bounds.push(Bound::after(row.clustering.order())),
                Fragment::Row(row) => bounds.push(Bound::before(row.clustering.order())),
                _ => {}
            }
        }
        bounds.extend((0..4).map(|_| bound(&types, dice)));
        fragments.append(&mut items);
    }
    let open = dice.one_in(3).then(|| deletion(dice));
    Sample { schema, fragments, open, bounds }
}

fn order(a: &Fragment, b: &Fragment) -> std::cmp::Ordering {
    match (a, b) {
        (Fragment::Row(a), Fragment::Row(b)) => a.clustering.cmp(&b.clustering),
        (Fragment::Bound(a), Fragment::Bound(b)) => a.at.cmp(&b.at),
        (Fragment::Bound(a), Fragment::Row(b)) => a.at.cmp_row(b.clustering.order()),
        (Fragment::Row(a), Fragment::Bound(b)) => b.at.cmp_row(a.clustering.order()).reverse(),
        _ => unreachable!("only rows and bounds are sorted"),
    }
}

/// Random blocks of random schemas.
pub(super) fn samples() -> impl Strategy<Value = Sample> {
    vec(any::<u64>(), 0..2000).prop_map(|seed| sample(&seed))
}

/// One partition of a sensor: a row a second, three decimal readings and a status.
pub(super) fn sensors(rows: i64) -> Sample {
    let column = |id, ty| DataColumn { id: ColumnId(id), ty };
    let time = ClusteringColumn { ty: CqlType::Timestamp, desc: false };
    let regulars = vec![
        column(2, CqlType::Double),
        column(3, CqlType::Double),
        column(4, CqlType::Double),
        column(5, CqlType::Int),
    ];
    let schema = Arc::new(BlockSchema::new(vec![time], vec![], regulars));
    let mut fragments = vec![Fragment::Partition { key: DecoratedKey::new(b"sensor-7"), deletion: None }];
    for i in 0..rows {
        let noise = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let at = 1_700_000_000_000 + 1000 * i + (noise % 17) as i64;
        let place = clustering_of(&[(CqlType::Timestamp, false)], &[at.to_be_bytes().to_vec()]);
        let life = Liveness { timestamp: 1000 * at + 300 + (noise % 400) as i64, ttl: 0, expiry: NEVER };
        let reading =
            |k: i64| ((2050 + k * 700 + i % 90 + (noise >> k) as i64 % 5) as f64 / 100.0).to_be_bytes();
        let mut row = Row::new(place);
        row.liveness = Some(life);
        for k in 0..3 {
            row.cells.push((ColumnId(2 + k as u32), Cell::live(life, Bytes::new(&reading(k)))));
        }
        let status = if noise.is_multiple_of(50) { 3i32 } else { 0 };
        row.cells.push((ColumnId(5), Cell::live(life, Bytes::new(&status.to_be_bytes()))));
        fragments.push(Fragment::Row(row));
    }
    Sample { schema, fragments, open: None, bounds: vec![] }
}
