//! A file written from encoded rows is the file written from built ones, byte for byte.

use super::sample::{id, prefix, sensors, sensors_table, streams, table};
use super::{disk, path};
use crate::encoding::plain::{PlainRow, is_plain};
use crate::encoding::row::{EncodedRow, Stamp, encode_row};
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Liveness;
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::sstable::meta::FileId;
use crate::sstable::writer::{SsTableWriter, WriterOptions};
use proptest::prelude::*;
use std::sync::Arc;

const STAMP: Stamp = Stamp { timestamp: 77, now: 3 };

/// The file of `fragments`, and how many rows were pushed as encoded: all that are plain, in runs of at most `most`.
fn file(table: &TableSchema, fragments: &[Fragment], most: usize) -> (Vec<u8>, usize) {
    let env = disk();
    let options = WriterOptions::of(table, FileId(7), 1_000_000);
    let mut writer = SsTableWriter::create(Arc::clone(&env), &path(), table, options).unwrap();
    let encode = |fragment: &Fragment| {
        let mut bytes = Vec::new();
        if let Fragment::Row(row) = fragment {
            encode_row(row, STAMP, &mut bytes);
        }
        let row = EncodedRow::parse(&bytes).ok();
        row.is_some_and(|row| is_plain(&row, &row.times(STAMP).unwrap())).then_some(bytes)
    };
    let bytes: Vec<_> = fragments.iter().map(encode).collect();
    let (mut at, mut encoded) = (0, 0);
    while let Some(fragment) = fragments.get(at) {
        let run = bytes[at..].iter().map_while(|bytes| bytes.as_deref()).take(most);
        let rows: Vec<_> = run.map(|bytes| PlainRow::parse(bytes, STAMP).unwrap()).collect();
        match rows.len() {
            0 => writer.push(fragment).unwrap(),
            _ => writer.push_plain(&rows).unwrap(),
        }
        encoded += rows.len();
        at += rows.len().max(1);
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
    fn encoded_rows_make_the_same_file(
        mut fragments in streams(), chosen in prop_oneof![Just(u64::MAX), any::<u64>()], most in 1..40usize,
    ) {
        prop_assume!(!fragments.is_empty());
        for (i, fragment) in fragments.iter_mut().enumerate() {
            if let Fragment::Row(row) = fragment && chosen >> (i % 64) & 1 == 1 {
                at_once(row);
            }
        }
        prop_assert_eq!(file(&table(), &fragments, most).0, file(&table(), &fragments, 0).0);
    }
}

#[test]
fn all_rows_of_a_time_series_go_as_encoded() {
    let fragments = sensors(3, 3000);
    for most in [1, 100, 5000] {
        let (bytes, encoded) = file(&sensors_table(), &fragments, most);
        assert_eq!(encoded, 9000);
        assert!(bytes == file(&sensors_table(), &fragments, 0).0);
    }
}

#[test]
fn runs_of_long_values_are_cut_where_single_rows_are() {
    let key = DecoratedKey::new(&1i32.to_be_bytes());
    let mut fragments = vec![Fragment::Partition { key, deletion: None }];
    for i in 0..600i32 {
        let text = vec![b'x'; i as usize * 7919 % 1500];
        let life = Liveness::new(5);
        let clustering = Clustering::new(Bytes::new(&prefix(i, Some(0))));
        let cells = vec![(id("t"), Cell::live(life, Bytes::new(&text)))];
        fragments.push(Fragment::Row(Row { liveness: Some(life), cells, ..Row::new(clustering) }));
    }
    let (bytes, encoded) = file(&table(), &fragments, 1000);
    assert_eq!(encoded, 600);
    assert!(bytes == file(&table(), &fragments, 0).0);
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
    for (schema, rows) in [
        (sensors_table(), [second.clone(), first.clone()]),
        (sensors_table(), [first.clone(), first.clone()]),
        (table(), [first, second]),
    ] {
        for at_once in [1, 2] {
            let options = WriterOptions::of(&schema, FileId(7), 1_000_000);
            let mut writer = SsTableWriter::create(disk(), &path(), &schema, options).unwrap();
            writer.push(&fragments[0]).unwrap();
            assert!(rows.chunks(at_once).any(|rows| writer.push_plain(rows).is_err()));
        }
    }
}
