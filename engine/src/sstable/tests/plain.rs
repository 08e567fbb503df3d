//! A file written from encoded rows is the file written from built ones, byte for byte.

use super::sample::{sensors, sensors_table, streams, table};
use super::{disk, path};
use crate::encoding::plain::{PlainRow, is_plain};
use crate::encoding::row::{EncodedRow, Stamp, encode_row};
use crate::model::fragment::Fragment;
use crate::model::life::Liveness;
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::sstable::meta::FileId;
use crate::sstable::writer::{SsTableWriter, WriterOptions};
use proptest::prelude::*;
use std::sync::Arc;

const STAMP: Stamp = Stamp { timestamp: 77, now: 3 };

/// The file of `fragments`, and how many rows were pushed as encoded: all that are plain, if it is so `wanted`.
fn file(table: &TableSchema, fragments: &[Fragment], wanted: bool) -> (Vec<u8>, usize) {
    let env = disk();
    let options = WriterOptions::of(table, FileId(7), 1_000_000);
    let mut writer = SsTableWriter::create(Arc::clone(&env), &path(), table, options).unwrap();
    let mut encoded = 0;
    for fragment in fragments {
        let mut bytes = Vec::new();
        if let Fragment::Row(row) = fragment {
            encode_row(row, STAMP, &mut bytes);
            let row = EncodedRow::parse(&bytes).unwrap();
            if wanted && is_plain(&row, &row.times(STAMP).unwrap()) {
                writer.push_plain(&PlainRow::parse(&bytes, STAMP).unwrap()).unwrap();
                encoded += 1;
                continue;
            }
        }
        writer.push(fragment).unwrap();
    }
    writer.finish().unwrap().unwrap();
    (env.read(&path()).unwrap(), encoded)
}

/// The row as it would be if it had been inserted at once: its tombstones, and TTLs of single cells, stay.
fn at_once(row: &mut Row) {
    let life = row.cells.first().map_or(Liveness::new(5), |(_, cell)| cell.life());
    row.liveness = Some(life);
    row.deletion = None;
    row.complex.clear();
    row.cells.iter_mut().for_each(|(_, cell)| cell.timestamp = life.timestamp);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn encoded_rows_make_the_same_file(mut fragments in streams(), chosen in any::<u64>()) {
        prop_assume!(!fragments.is_empty());
        for (i, fragment) in fragments.iter_mut().enumerate() {
            if let Fragment::Row(row) = fragment && chosen >> (i % 64) & 1 == 1 {
                at_once(row);
            }
        }
        prop_assert_eq!(file(&table(), &fragments, true).0, file(&table(), &fragments, false).0);
    }
}

#[test]
fn all_rows_of_a_time_series_go_as_encoded() {
    let fragments = sensors(3, 3000);
    let (bytes, encoded) = file(&sensors_table(), &fragments, true);
    assert_eq!(encoded, 9000);
    assert!(bytes == file(&sensors_table(), &fragments, false).0);
}

#[test]
fn an_encoded_row_out_of_order_or_of_another_type_is_refused() {
    let fragments = sensors(1, 2);
    let mut encoded = [Vec::new(), Vec::new()];
    for (fragment, bytes) in fragments[1..].iter().zip(&mut encoded) {
        let Fragment::Row(row) = fragment else { panic!("a row") };
        encode_row(row, STAMP, bytes);
    }
    let [first, second] = encoded.each_ref().map(|bytes| PlainRow::parse(bytes, STAMP).unwrap());
    for (schema, rows) in [(sensors_table(), [&second, &first]), (table(), [&first, &second])] {
        let options = WriterOptions::of(&schema, FileId(7), 1_000_000);
        let mut writer = SsTableWriter::create(disk(), &path(), &schema, options).unwrap();
        writer.push(&fragments[0]).unwrap();
        assert!(rows.iter().any(|row| writer.push_plain(row).is_err()));
    }
}
