//! Plain rows of every make-up, against the same rows built and pushed one by one.

use super::*;
use crate::encoding::order::encode_component;
use crate::encoding::row::{Stamp, encode_row};
use crate::model::cell::ColumnId;
use crate::model::reconcile::resolve;
use crate::model::schema::{TableId, TableOptions};
use proptest::prelude::*;

const STAMP: Stamp = Stamp { timestamp: 1_000_000, now: 1 };

/// `t (pk int, ts timestamp, a double, b int, c text, d float, e smallint, f bigint, PRIMARY KEY (pk, ts))`, newest first.
fn schema() -> Arc<TableSchema> {
    let column = |name: &str, ty, kind| (name.to_owned(), ty, kind);
    let regular = |name, ty| column(name, ty, ColumnKind::Regular);
    let columns = vec![
        column("pk", CqlType::Int, ColumnKind::PartitionKey),
        column("ts", CqlType::Timestamp, ColumnKind::Clustering(Order::Desc)),
        regular("a", CqlType::Double),
        regular("b", CqlType::Int),
        regular("c", CqlType::Text),
        regular("d", CqlType::Float),
        regular("e", CqlType::Smallint),
        regular("f", CqlType::Bigint),
    ];
    Arc::new(TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap())
}

/// The cell of column `id`: a value of its type, the empty value, one with a TTL of its own, or a tombstone.
fn cell(id: u32, kind: u8, number: i16, row: Liveness) -> Cell {
    let wire = match id {
        2 => f64::from(number).to_be_bytes().to_vec(),
        3 => i32::from(number).to_be_bytes().to_vec(),
        4 => vec![b'x'; usize::from(number.unsigned_abs() % 40)],
        5 => f32::from(number).to_be_bytes().to_vec(),
        6 => number.to_be_bytes().to_vec(),
        _ => i64::from(number).to_be_bytes().to_vec(),
    };
    match kind {
        0 => Cell::tombstone(row.timestamp, 1),
        1 => Cell::live(Liveness::expiring(row.timestamp, 5, 6), Bytes::new(&wire)),
        2 => Cell::live(row, Bytes::EMPTY),
        _ => Cell::live(row, Bytes::new(&wire)),
    }
}

proptest! {
    #[test]
    fn plain_rows_pushed_in_step_are_what_they_are_one_by_one(
        rows in prop::collection::vec(
            (any::<i64>(), any::<bool>(), prop::collection::btree_map(2..8u32, (0..40u8, any::<i16>()), 0..7)), 1..20),
        uniform in any::<bool>(),
        names in prop::sample::subsequence(vec!["pk", "ts", "a", "b", "c", "d", "e", "f"], 0..=8),
        lives in any::<bool>(),
        split in any::<prop::sample::Index>(),
        now in 2..9i64,
    ) {
        let mut columns = Projection::of(&schema(), &names).unwrap();
        if lives {
            columns = columns.with_lives();
        }
        let head = Arc::new(PartitionHead::new(&columns, DecoratedKey::new(&[0, 0, 0, 1]), None, now).unwrap());
        let first: Vec<u32> = rows[0].2.keys().copied().collect();
        let encode = |(ts, expiring, cells): &(i64, bool, std::collections::BTreeMap<u32, (u8, i16)>)| {
            let mut order = Vec::new();
            encode_component(&ts.to_be_bytes(), &CqlType::Timestamp, true, &mut order).unwrap();
            let life = if *expiring { Liveness::expiring(STAMP.timestamp, 90, 91) } else { Liveness::new(STAMP.timestamp) };
            let mut row = Row::new(Clustering::new(Bytes::from(order)));
            row.liveness = Some(life);
            let ids = if uniform { first.clone() } else { cells.keys().copied().collect() };
            row.cells = ids.iter().map(|id| {
                let (kind, number) = cells.get(id).copied().unwrap_or((9, 7));
                (ColumnId(*id), cell(*id, kind, number, life))
            }).collect();
            let mut bytes = Vec::new();
            encode_row(&row, STAMP, &mut bytes);
            (row, bytes)
        };
        let encoded: Vec<(Row, Vec<u8>)> = rows.iter().map(encode).collect();
        let plain: Vec<_> = encoded.iter().map(|(_, bytes)| PlainRow::parse(bytes, STAMP).unwrap()).collect();
        let (mut in_step, mut single) = (BatchBuilder::new(&head), BatchBuilder::new(&head));
        let split = split.index(plain.len());
        let (mut live, mut dead) = (0, 0);
        for part in [&plain[..split], &plain[split..]] {
            in_step.reserve(part.len());
            let counts = in_step.push_plain(part, now).unwrap();
            (live, dead) = (live + counts.0, dead + counts.1);
        }
        let all: u64 = encoded.iter().map(|(row, _)| row.cells.len() as u64).sum();
        let mut seen = 0;
        for (row, _) in &encoded {
            let row = resolve(row.clone(), now).unwrap();
            seen += row.cells.len() as u64;
            single.push(row).unwrap();
        }
        prop_assert_eq!((live, dead), (seen, all - seen));
        let (in_step, single) = (in_step.finish().unwrap().unwrap(), single.finish().unwrap().unwrap());
        prop_assert_eq!(in_step.len(), single.len());
        prop_assert_eq!(in_step.last().unwrap(), single.last().unwrap());
        for at in 0..names.len() {
            for row in 0..single.len() {
                prop_assert_eq!(in_step.wire(at, row).unwrap(), single.wire(at, row).unwrap(), "column {} row {}", at, row);
                let life = |batch: &Batch| batch.column(at).unwrap().life(row);
                prop_assert_eq!(life(&in_step), life(&single), "column {} row {}", at, row);
            }
        }
    }
}
