//! Plain rows are what decoding gives, and only rows of one time with a marker are plain.

use super::*;
use crate::encoding::row::encode_row;
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::life::Deletion;
use crate::model::row::Complex;
use proptest::prelude::*;

const STAMP: Stamp = Stamp { timestamp: 5_000_000, now: 5 };

fn plain(row: &Row) -> bool {
    let mut bytes = Vec::new();
    encode_row(row, STAMP, &mut bytes);
    let row = EncodedRow::parse(&bytes).unwrap();
    is_plain(&row, &row.times(STAMP).unwrap())
}

fn marked(timestamp: i64) -> Row {
    Row { liveness: Some(Liveness::new(timestamp)), ..Row::new(Clustering::new(Bytes::new(&[7]))) }
}

#[test]
fn only_a_row_of_one_time_with_a_marker_is_plain() {
    let row = marked(5_000_000);
    let cell = |timestamp| (ColumnId(1), Cell::live(Liveness::new(timestamp), Bytes::new(&[1])));
    assert!(plain(&row) && plain(&marked(-3)));
    assert!(plain(&Row { cells: vec![cell(5_000_000)], ..row.clone() }));
    assert!(!plain(&Row { cells: vec![cell(5_000_001)], ..row.clone() }), "a cell of another time");
    assert!(!plain(&Row { liveness: None, cells: vec![cell(5_000_000)], ..row.clone() }), "no marker");
    assert!(!plain(&Row { deletion: Some(Deletion::new(5_000_000, 5)), ..row.clone() }));
    let complex = Complex { column: ColumnId(2), ..Complex::default() };
    assert!(!plain(&Row { complex: vec![complex], ..row.clone() }));
    let as_written = Clustering::with_raw(Bytes::new(&[7]), [1u8, 0, 0, 0, 9][..].into());
    assert!(!plain(&Row { clustering: as_written, ..row }), "a clustering that its order does not give back");
}

#[test]
fn what_is_not_plain_is_refused() {
    let mut bytes = Vec::new();
    encode_row(&Row { liveness: None, ..marked(1) }, STAMP, &mut bytes);
    assert!(PlainRow::parse(&bytes, STAMP).is_err());
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<[u8; 8]>().prop_map(Vec::from),
        (-100_000..100_000i64).prop_map(|n| n.to_be_bytes().to_vec()),
        (-100_000..100_000i32).prop_map(|n| (f64::from(n) / 100.0).to_be_bytes().to_vec()),
        any::<[u8; 4]>().prop_map(Vec::from),
        (-1000..1000i32).prop_map(|n| n.to_be_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}

fn cell(life: Liveness) -> impl Strategy<Value = Cell> {
    prop_oneof![
        4 => value().prop_map(move |wire| Cell::live(life, wire.into())),
        1 => (-9..9i64).prop_map(move |local| Cell::tombstone(life.timestamp, local)),
        1 => value().prop_map(move |wire| {
            Cell::live(Liveness::expiring(life.timestamp, 60, 65), wire.into())
        }),
    ]
}

fn rows() -> impl Strategy<Value = Row> {
    let timestamp = prop_oneof![Just(5_000_000), any::<i64>()];
    (timestamp, 0..3i32, prop_oneof![Just(8u32), Just(500)]).prop_flat_map(|(timestamp, ttl, columns)| {
        let life = match ttl {
            0 => Liveness::new(timestamp),
            _ => Liveness::expiring(timestamp, ttl, 7),
        };
        let place = prop::collection::vec(any::<u8>(), 0..12);
        let cells = prop::collection::btree_map(0..columns, cell(life), 0..6);
        (place, cells).prop_map(move |(place, cells)| {
            let cells = cells.into_iter().map(|(id, cell)| (ColumnId(id), cell)).collect();
            Row { liveness: Some(life), cells, ..Row::new(Clustering::new(place.into())) }
        })
    })
}

/// The cell that a walk gave, as decoding gives it.
fn whole(cell: PlainCell<'_>, life: Liveness) -> Cell {
    match cell {
        PlainCell::Eight(number) => Cell::live(life, Bytes::new(&number.to_be_bytes())),
        PlainCell::Four(number) => Cell::live(life, Bytes::new(&number.to_be_bytes())),
        PlainCell::Bytes(bytes) => Cell::live(life, Bytes::new(bytes)),
        PlainCell::Other(cell) => cell,
    }
}

proptest! {
    #[test]
    fn walking_gives_what_decoding_gives(row in rows()) {
        prop_assert!(plain(&row));
        let mut bytes = Vec::new();
        encode_row(&row, STAMP, &mut bytes);
        let plain = PlainRow::parse(&bytes, STAMP).unwrap();
        let decoded = plain.decode().unwrap();
        prop_assert_eq!(plain.clustering, decoded.clustering.order());
        prop_assert_eq!(Some(plain.life), decoded.liveness);
        let mut cells = Vec::new();
        let mut walk = plain.cells();
        while let Some((column, cell)) = walk.next_cell().unwrap() {
            cells.push((column, whole(cell, plain.life)));
        }
        prop_assert_eq!(cells, decoded.cells);
    }

    #[test]
    fn damage_is_an_error_where_decoding_finds_one(row in rows(), at: prop::sample::Index, flip in 1..=255u8) {
        let mut bytes = Vec::new();
        encode_row(&row, STAMP, &mut bytes);
        let place = at.index(bytes.len());
        bytes[place] ^= flip;
        let Ok(plain) = PlainRow::parse(&bytes, STAMP) else { return Ok(()) };
        let mut walk = plain.cells();
        let walked = loop {
            match walk.next_cell() {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        prop_assert_eq!(walked, plain.decode().is_ok());
    }
}
