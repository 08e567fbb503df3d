//! Target `row_roundtrip`: the encoding of rows and batches.

use super::Choices;
use skep_engine::encoding::mutation::{BatchReader, OpBody};
use skep_engine::encoding::mutation_encoder::BatchEncoder;
use skep_engine::encoding::row::{EncodedRow, Stamp, encode_row};
use skep_engine::error::ErrorKind;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::{Bound, Clustering};
use skep_engine::model::life::{Deletion, Liveness, MAX_EXPIRY};
use skep_engine::model::row::{Complex, Row};
use skep_engine::model::schema::TableId;

/// A row comes back as it was; whatever is decoded from any bytes can be encoded and decoded again.
pub(super) fn row_roundtrip(data: &[u8]) {
    let mut choices = Choices::new(data);
    let stamp = Stamp { timestamp: choices.i64().max(i64::MIN + 1), now: i64::from(choices.u8()) };
    any_row(choices.rest(), stamp);
    any_batch(choices.rest());
    let row = row(&mut choices, stamp);
    assert_eq!(through_bytes(&row, stamp), row);
    let mut bytes = batch(&mut choices, &row, stamp);
    any_batch(&bytes);
    choices.damage(&mut bytes);
    any_batch(&bytes);
}

fn through_bytes(row: &Row, stamp: Stamp) -> Row {
    let mut bytes = Vec::new();
    encode_row(row, stamp, &mut bytes);
    let parsed = EncodedRow::parse(&bytes).expect("what was encoded is parsed");
    assert_eq!((parsed.clustering, parsed.bytes), (row.clustering.order(), &bytes[..]));
    let again = parsed.decode(stamp).expect("what was encoded is decoded");
    assert_eq!(again.clustering.raw(), row.clustering.raw());
    again
}

fn any_row(bytes: &[u8], stamp: Stamp) {
    let decoded = EncodedRow::parse(bytes).and_then(|parsed| parsed.decode(stamp));
    match decoded {
        Ok(row) => assert_eq!(through_bytes(&row, stamp), row),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
    }
}

fn any_batch(bytes: &[u8]) {
    let Ok(reader) = BatchReader::new(bytes) else { return };
    let stamp = reader.stamp();
    for op in reader.flatten() {
        match op.body {
            OpBody::Row(encoded) | OpBody::Static(encoded) => any_row(encoded.bytes, stamp),
            OpBody::Range(range) => assert!(range.start < range.end),
            OpBody::Partition(_) => {}
        }
    }
}

fn batch(choices: &mut Choices<'_>, row: &Row, stamp: Stamp) -> Vec<u8> {
    let mut batch = BatchEncoder::default();
    for _ in 0..1 + choices.below(4) {
        let (table, key) = (TableId(u32::from(choices.u8() % 3)), choices.bytes(9));
        match choices.below(4) {
            0 => batch.row(table, key, false, row),
            1 => batch.row(table, key, true, row),
            2 => batch.delete_partition(table, key, choices.bool().then(|| deletion(choices))),
            _ => {
                let (start, end) = (Bound::before(choices.bytes(4)), Bound::after(choices.bytes(4)));
                batch.delete_range(table, key, &start, &end, choices.bool().then(|| deletion(choices)));
            }
        }
    }
    batch.set_stamp(stamp);
    let operations = BatchReader::new(batch.bytes()).expect("what was encoded is read");
    assert_eq!(operations.filter(|op| op.is_ok()).count(), batch.len());
    batch.bytes().to_vec()
}

fn row(choices: &mut Choices<'_>, stamp: Stamp) -> Row {
    let order = choices.shared(12);
    let clustering = match choices.u8() {
        0 => Clustering::with_raw(order, choices.bytes(9).into()),
        _ => Clustering::new(order),
    };
    let mut row = Row::new(clustering);
    row.liveness = choices.bool().then(|| life(choices, stamp));
    row.deletion = choices.bool().then(|| deletion(choices));
    let mut column = 0;
    for _ in 0..choices.below(6) {
        row.cells.push((ColumnId(column), cell(choices, stamp)));
        column += 1 + u32::from(choices.u8() % 40);
    }
    for _ in 0..choices.below(3) {
        let mut complex = Complex { column: ColumnId(column), ..Complex::default() };
        complex.deletion = choices.bool().then(|| deletion(choices));
        for path in 0..1 + choices.u8() % 3 {
            let cell = cell(choices, stamp);
            complex.cells.push((Clustering::new(Bytes::new(&[0x80, path])), cell));
        }
        row.complex.push(complex);
        column += 1;
    }
    row
}

fn timestamp(choices: &mut Choices<'_>, stamp: Stamp) -> i64 {
    if choices.bool() { stamp.timestamp } else { choices.i64().max(i64::MIN + 1) }
}

fn second(choices: &mut Choices<'_>) -> i64 {
    choices.i64().rem_euclid(MAX_EXPIRY + 1)
}

fn life(choices: &mut Choices<'_>, stamp: Stamp) -> Liveness {
    let timestamp = timestamp(choices, stamp);
    match choices.below(3) {
        0 => Liveness::expiring(timestamp, 1 + i32::from(choices.u8()), second(choices)),
        1 => {
            let ttl = 1 + i32::from(choices.u8());
            Liveness::expiring(timestamp, ttl, stamp.now + i64::from(ttl))
        }
        _ => Liveness::new(timestamp),
    }
}

fn deletion(choices: &mut Choices<'_>) -> Deletion {
    Deletion::new(choices.i64().max(i64::MIN + 1), second(choices))
}

fn cell(choices: &mut Choices<'_>, stamp: Stamp) -> Cell {
    match choices.below(5) {
        0 => Cell::tombstone(timestamp(choices, stamp), second(choices)),
        1 => Cell::live(life(choices, stamp), Bytes::new(&choices.i64().to_be_bytes())),
        2 => Cell::live(Liveness::new(stamp.timestamp), Bytes::new(&(choices.i64() as i32).to_be_bytes())),
        3 => {
            let number = choices.i64() as f64 / [1.0, 100.0, 1e4, 1e6][choices.below(4)];
            Cell::live(life(choices, stamp), Bytes::new(&number.to_be_bytes()))
        }
        _ => Cell::live(life(choices, stamp), choices.shared(20)),
    }
}
