//! The row encoding: every row comes back, and no bytes panic.

use super::*;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::{Liveness, NEVER};
use crate::model::row::{Complex, Row};
use proptest::prelude::*;
use std::sync::Arc;

const STAMP: Stamp = Stamp { timestamp: 1_700_000_000_000_000, now: 1_700_000_000 };

fn round_trip(row: &Row, stamp: Stamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_row(row, stamp, &mut bytes);
    let encoded = EncodedRow::parse(&bytes).unwrap();
    assert_eq!(encoded.clustering, row.clustering.order());
    let decoded = encoded.decode(stamp).unwrap();
    assert_eq!(&decoded, row);
    assert_eq!(decoded.clustering.raw(), row.clustering.raw());
    bytes
}

fn sensor_row(life: Liveness) -> Row {
    let mut row = Row::new(Clustering::new(Bytes::new(&[0x80, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0])));
    row.liveness = Some(life);
    let doubles = [20.5f64, 55.25, 1013.25].map(|v| Bytes::new(&v.to_be_bytes()));
    let values = doubles.into_iter().chain([Bytes::new(&0i32.to_be_bytes())]);
    row.cells = (3..).map(ColumnId).zip(values.map(|v| Cell::live(life, v))).collect();
    row
}

#[test]
fn a_sensor_row_written_now_is_small() {
    let bytes = round_trip(&sensor_row(Liveness::new(STAMP.timestamp)), STAMP);
    // 1 flags, 1 + 9 clustering, 4 heads, doubles of 3, 3 and 3 bytes, an int of 1.
    assert!(bytes.len() <= 25, "{} bytes", bytes.len());
    let with_ttl = Liveness::expiring(STAMP.timestamp, 60, STAMP.now + 60);
    assert_eq!(round_trip(&sensor_row(with_ttl), STAMP).len(), bytes.len() + 1);
}

#[test]
fn the_row_writer_and_the_general_encoder_agree() {
    let row = sensor_row(Liveness::new(STAMP.timestamp));
    let mut bytes = Vec::new();
    let head = RowHead { marker: true, ..RowHead::default() };
    let mut encoder = RowEncoder::begin(&mut bytes, &row.clustering, &head, STAMP);
    row.cells.iter().for_each(|(id, cell)| encoder.value(*id, cell.value.as_ref().unwrap()));
    assert_eq!(bytes, round_trip(&row, STAMP));
}

#[test]
fn a_stamp_known_only_later_gives_all_times() {
    let mut bytes = Vec::new();
    let ttl = RowHead { marker: true, ttl: 5, ..RowHead::default() };
    let mut encoder = RowEncoder::begin(&mut bytes, &Clustering::EMPTY, &ttl, Stamp::default());
    encoder.value(ColumnId(0), &[1]);
    encoder.tombstone(ColumnId(40));
    let row = EncodedRow::parse(&bytes).unwrap().decode(STAMP).unwrap();
    assert_eq!(row.liveness, Some(Liveness::expiring(STAMP.timestamp, 5, STAMP.now + 5)));
    assert_eq!(row.cells[1], (ColumnId(40), Cell::tombstone(STAMP.timestamp, STAMP.now)));
}

#[test]
fn an_overwritten_collection_is_deleted_one_microsecond_below_the_commit() {
    let mut row = Row::new(Clustering::EMPTY);
    let cell = Cell::live(Liveness::new(Stamp::UNSET.timestamp), Bytes::new(b"v"));
    let path = Clustering::new(Bytes::new(b"p"));
    row.complex =
        vec![Complex { column: ColumnId(0), deletion: Some(Stamp::BELOW_UNSET), cells: vec![(path, cell)] }];
    let mut bytes = Vec::new();
    encode_row(&row, Stamp::UNSET, &mut bytes);
    let row = EncodedRow::parse(&bytes).unwrap().decode(STAMP).unwrap();
    assert_eq!(row.complex[0].deletion, Some(Deletion::new(STAMP.timestamp - 1, STAMP.now)));
    assert_eq!(row.complex[0].cells[0].1.timestamp, STAMP.timestamp);
}

#[test]
fn doubles_come_back_to_the_bit() {
    for value in
        [0.0, -0.0, 1.5, 0.1 + 0.2, f64::NAN, -f64::NAN, f64::MAX, f64::MIN_POSITIVE, 1e12, 1e300, -20.53]
    {
        let mut row = Row::new(Clustering::EMPTY);
        let life = Liveness::new(1);
        row.cells = vec![(ColumnId(0), Cell::live(life, Bytes::new(&value.to_be_bytes())))];
        round_trip(&row, STAMP);
    }
}

fn any_life() -> impl Strategy<Value = Liveness> {
    let timestamp = prop_oneof![Just(STAMP.timestamp), any::<i64>()];
    let expiry = prop_oneof![Just(None), (0..=u32::MAX).prop_map(Some)];
    (timestamp, prop_oneof![Just(0), 1..i32::MAX], expiry).prop_map(|(timestamp, ttl, expiry)| Liveness {
        timestamp,
        ttl,
        expiry: match ttl {
            0 => NEVER,
            _ => expiry.map_or(STAMP.now + i64::from(ttl), i64::from),
        },
    })
}

fn any_cell() -> impl Strategy<Value = Cell> {
    let value = prop_oneof![
        any::<i32>().prop_map(|v| v.to_be_bytes().to_vec()),
        any::<i64>().prop_map(|v| v.to_be_bytes().to_vec()),
        (-2000i32..2000).prop_map(|v| (f64::from(v) / 100.0).to_be_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop_oneof![
        (any_life(), value).prop_map(|(life, value)| Cell::live(life, Bytes::from(value))),
        (any::<i64>(), any::<i64>()).prop_map(|(t, l)| Cell::tombstone(t, l)),
        Just(Cell::tombstone(STAMP.timestamp, STAMP.now)),
    ]
}

fn any_deletion() -> impl Strategy<Value = Option<Deletion>> {
    prop::option::of(
        (any::<i64>(), prop_oneof![Just(STAMP.now), any::<i64>()]).prop_map(|(t, l)| Deletion::new(t, l)),
    )
}

fn any_key() -> impl Strategy<Value = Clustering> {
    (prop::collection::vec(any::<u8>(), 0..200), prop::option::of(prop::collection::vec(any::<u8>(), 0..9)))
        .prop_map(|(order, raw)| match raw {
            Some(raw) => Clustering::with_raw(Bytes::from(order), Arc::from(raw)),
            None => Clustering::new(Bytes::from(order)),
        })
}

prop_compose! {
    fn any_row()(
        clustering in any_key(),
        liveness in prop::option::of(any_life()),
        deletion in any_deletion(),
        cells in prop::collection::btree_map(0..100u32, any_cell(), 0..6),
        complex in prop::collection::btree_map(
            any::<u32>(), (any_deletion(), prop::collection::btree_map(any_key(), any_cell(), 0..4)), 0..3),
    ) -> Row {
        Row {
            clustering, liveness, deletion,
            cells: cells.into_iter().map(|(id, cell)| (ColumnId(id), cell)).collect(),
            complex: complex.into_iter().map(|(id, (deletion, cells))| Complex {
                column: ColumnId(id), deletion, cells: cells.into_iter().collect(),
            }).collect(),
        }
    }
}

proptest! {
    #[test]
    fn every_row_comes_back(row in any_row()) {
        round_trip(&row, STAMP);
    }

    #[test]
    fn damaged_rows_are_errors_or_other_rows_never_panics(row in any_row(), at: prop::sample::Index, bit in 0..8u8) {
        let mut bytes = round_trip(&row, STAMP);
        let place = at.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let _ = EncodedRow::parse(&bytes).and_then(|row| row.decode(STAMP));
        let _ = EncodedRow::parse(&bytes[..place]).and_then(|row| row.decode(STAMP));
    }

    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>) {
        let _ = EncodedRow::parse(&bytes).and_then(|row| row.decode(STAMP));
    }
}
