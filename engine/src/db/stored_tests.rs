//! Rows as they are stored, keys and rows as bytes: what layers above read and write.

use crate::db::{Db, Schema, Table};
use crate::encoding::{key, path};
use crate::env::sim::SimDisk;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::{Clustering, ClusteringRange};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::reconcile::resolve;
use crate::model::row::{Complex, Row};
use crate::read::column::CellRef;
use crate::read::explain::{RuledOut, SourceName};
use crate::read::page::PageState;
use crate::write::times::Times;
use crate::{CqlType, KeyRange, Null, With, row};
use std::time::Duration;

struct Store {
    db: Db,
    disk: SimDisk,
    t: Table,
}

fn store() -> Store {
    let disk = SimDisk::new(1);
    let db = Db::builder("/store").env(disk.env()).background(false).open().unwrap();
    let schema = Schema::table("t")
        .partition_key("p", CqlType::Int)
        .clustering_desc("c", CqlType::Int)
        .static_column("s", CqlType::Text)
        .column("v", CqlType::Int)
        .column("tags", CqlType::Set(Box::new(CqlType::Text)));
    let t = db.create_table(schema).unwrap();
    Store { db, disk, t }
}

fn int(value: i32) -> [u8; 4] {
    value.to_be_bytes()
}

fn place(t: &Table, c: i32) -> Clustering {
    key::clustering(&t.schema(), &[int(c)]).unwrap()
}

fn at(timestamp: i64) -> With {
    With::DEFAULT.timestamp(timestamp)
}

#[test]
fn stored_rows_show_what_a_reader_does_not_see() {
    let Store { db, disk, t } = store();
    t.insert_with(&row![1, 1, "s", 10], at(10).ttl(Duration::from_secs(5))).unwrap();
    db.flush().unwrap();
    t.insert_named(&[("p", 1.into()), ("c", 2.into()), ("v", Null.into())], at(20)).unwrap();
    t.insert_with(&row![1, 3, None::<&str>, 30], at(30)).unwrap();
    db.flush().unwrap();
    let mut batch = db.batch();
    batch.delete_range(&t, &row![1], &KeyRange::from(3..), at(30)).unwrap();
    db.write(&mut batch).unwrap();
    disk.clock().advance(Duration::from_secs(10));

    let now = t.snapshot();
    let key = int(1);
    let v = t.schema().column("v").unwrap().id;
    let first = now.stored_row(&key, &place(&t, 1)).unwrap().unwrap();
    assert_eq!(first.cell(v).map(|cell| (cell.timestamp, cell.ttl)), Some((10, 5)));
    assert_eq!(resolve(first, now.now()), None, "it has expired");
    let second = now.stored_row(&key, &place(&t, 2)).unwrap().unwrap();
    assert!(second.cell(v).unwrap().is_tombstone() && second.liveness.unwrap().timestamp == 20);
    assert_eq!(now.stored_row(&key, &place(&t, 3)).unwrap(), None, "a range deletion covers it");
    assert!(now.stored_static(&key).unwrap().is_some());
    assert_eq!(now.stored_static(&int(2)).unwrap(), None);

    let fragments = now.fragments(&key, &ClusteringRange::all()).unwrap();
    assert!(fragments.statics.is_some() && fragments.deletion.is_none());
    let items: Vec<_> = fragments.map(Result::unwrap).collect();
    let rows = items.iter().filter_map(|item| match item {
        Fragment::Row(row) => Some(row.clustering.clone()),
        _ => None,
    });
    assert_eq!(rows.collect::<Vec<_>>(), [place(&t, 2), place(&t, 1)]);
    let bounds = items.iter().filter(|item| matches!(item, Fragment::Bound(_))).count();
    assert_eq!(bounds, 2);
}

#[test]
fn many_rows_of_memory_and_file_are_merged_in_order() {
    let Store { db, t, .. } = store();
    for c in (0..3000).step_by(2) {
        t.insert(&row![1, c, None::<&str>, c]).unwrap();
    }
    db.flush().unwrap();
    for c in (0..3000).step_by(3) {
        t.insert(&row![1, c, None::<&str>, c]).unwrap();
    }
    let found = t.snapshot().fragments(&int(1), &ClusteringRange::all()).unwrap();
    let schema = t.schema();
    let values = found.map(|item| match item.unwrap() {
        Fragment::Row(row) => {
            let wires = key::clustering_wires(&schema, &row.clustering).unwrap();
            i32::from_be_bytes((&*wires[0]).try_into().unwrap())
        }
        other => panic!("{other:?}"),
    });
    let wanted: Vec<i32> = (0..3000).rev().filter(|c| c % 2 == 0 || c % 3 == 0).collect();
    assert_eq!(values.collect::<Vec<_>>(), wanted);
}

#[test]
fn every_source_tells_its_version() {
    let Store { db, t, .. } = store();
    t.insert_with(&row![1, 1, "old", 10], at(10)).unwrap();
    db.flush().unwrap();
    t.insert_with(&row![2, 1, None::<&str>, 10], at(10)).unwrap();
    db.flush().unwrap();
    let mut batch = db.batch();
    batch.delete_range(&t, &row![1], &KeyRange::from(0..2), at(5)).unwrap();
    batch.delete(&t, &row![1], at(3)).unwrap();
    db.write(&mut batch).unwrap();
    db.flush().unwrap();
    t.update(&[("p", 1.into()), ("c", 1.into()), ("v", 20.into())], at(20)).unwrap();

    let now = t.snapshot();
    let found = now.candidates(&int(1), Some(&place(&t, 1))).unwrap();
    let v = t.schema().column("v").unwrap().id;
    let versions: Vec<_> = found
        .iter()
        .map(|c| {
            let cell = c.row.as_ref().and_then(|row| row.cell(v)).map(|cell| cell.timestamp);
            let deleted = |d: Option<crate::model::life::Deletion>| d.map(|d| d.timestamp);
            (cell, deleted(c.range_deletion), deleted(c.partition_deletion))
        })
        .collect();
    assert_eq!(
        versions,
        [(Some(20), None, None), (Some(10), None, None), (None, None, None), (None, Some(5), Some(3))]
    );
    assert_eq!(found[0].source, SourceName::Memtable(0));
    assert_eq!(found[2].ruled_out, Some(RuledOut::KeyRange));
    assert!(found[2].is_silent() && !found[3].is_silent());
    let outside = now.candidates(&int(1), Some(&place(&t, 2))).unwrap();
    assert_eq!(outside[3].range_deletion, None, "the range ends before it");
    let statics = now.candidates(&int(1), None).unwrap();
    let rows: Vec<_> = statics.iter().map(|c| c.row.is_some()).collect();
    assert_eq!(rows, [false, true, false, false]);
}

#[test]
fn rows_and_deletions_are_written_as_they_are_given() {
    let Store { db, t, .. } = store();
    let schema = t.schema();
    let key = key::partition_key(&schema, &[int(7)]).unwrap();
    let (v, tags) = (schema.column("v").unwrap().id, schema.column("tags").unwrap().id);
    let element = |name: &str| path::of(name.as_bytes(), &CqlType::Text).unwrap();
    let row_at = |c: i32, times: Times| {
        let mut row = Row::new(place(&t, c));
        row.liveness = Some(times.liveness());
        row.cells = vec![(v, times.cell(Bytes::new(&int(c))))];
        let cells = vec![
            (element("a"), times.cell(Bytes::EMPTY)),
            (element("b"), Times::new(Some(77), 0).cell(Bytes::EMPTY)),
        ];
        row.complex = vec![Complex { column: tags, deletion: None, cells }];
        row
    };
    let mut batch = db.batch();
    for c in 0..4 {
        batch.put_row(&schema, &key, false, &row_at(c, Times::new(None, 0))).unwrap();
    }
    batch.put_row(&schema, &key, false, &row_at(4, Times::new(Some(99), 100))).unwrap();
    let written = db.write(&mut batch).unwrap();
    let range = key::slice(
        &schema,
        &[] as &[[u8; 4]],
        std::ops::Bound::Unbounded,
        std::ops::Bound::Excluded(&[int(2)]),
    );
    batch.put_range_deletion(&schema, &key, &range.unwrap()[0], Some(Times::new(None, 0).deletion()));
    db.write(&mut batch).unwrap();

    let snapshot = db.snapshot();
    let table = snapshot.of(&t).unwrap();
    let mut reader = table
        .partitions(vec![DecoratedKey::new(&key)])
        .columns(&["c", "v", "tags"])
        .with_lives()
        .reader()
        .unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    let wires: Vec<_> = (0..batch.len()).map(|row| batch.wire(0, row).unwrap().unwrap()).collect();
    assert_eq!(wires, [4, 3, 2].map(|c| Bytes::new(&int(c))));
    let lives: Vec<_> = (0..3).map(|row| batch.column(1).unwrap().life(row).unwrap().timestamp).collect();
    assert_eq!(lives, [99, written, written]);
    let CellRef::Complex(elements) = batch.cell(2, 0) else { panic!("a set") };
    let elements: Vec<_> = elements
        .iter()
        .map(|(at, cell)| (path::wire(at, &CqlType::Text).unwrap(), cell.timestamp, cell.ttl))
        .collect();
    assert_eq!(elements, [(Bytes::new(b"a"), 99, 100), (Bytes::new(b"b"), 77, 0)]);
    assert_eq!(&*batch.wire(2, 1).unwrap().unwrap(), b"\0\0\0\x02\0\0\0\x01a\0\0\0\x01b");

    let behind = PageState::behind(&schema, false, &key, Some(&place(&t, 4)), (1, 1));
    let state = PageState::from_bytes(&behind.to_bytes()).unwrap();
    let rest = table.partitions(vec![DecoratedKey::new(&key)]).resume(state).rows().unwrap();
    assert_eq!(rest.count(), 2);
    let done = PageState::behind(&schema, false, &key, None, (3, 3));
    assert_eq!(table.scan().resume(done).rows().unwrap().count(), 0);

    let mut twisted = row_at(5, Times::new(None, 0));
    twisted.complex[0].cells.reverse();
    let error = db.batch().put_row(&schema, &key, false, &twisted).unwrap_err();
    assert!(error.to_string().contains("out of order"));
    let twice = Row { cells: vec![(v, Cell::tombstone(1, 1)), (v, Cell::tombstone(2, 1))], ..Row::default() };
    assert!(db.batch().put_row(&schema, &key, false, &twice).is_err());
}

#[test]
fn a_partition_deletion_is_told_and_hides() {
    let Store { db, t, .. } = store();
    let schema = t.schema();
    t.insert(&row![1, 1, "s", 1]).unwrap();
    let mut batch = db.batch();
    batch.put_partition_deletion(&schema, &int(1), None);
    db.write(&mut batch).unwrap();
    let mut fragments = t.snapshot().fragments(&int(1), &ClusteringRange::all()).unwrap();
    assert!(fragments.deletion.is_some() && fragments.statics.is_none());
    assert!(fragments.next().is_none());
    assert!(db.now_micros() <= db.next_micros());
    let (a, b) = (db.next_micros(), db.next_micros());
    assert!(a < b && t.insert(&row![1, 1]).unwrap() > b);
    assert_eq!(disk_second(&db), db.snapshot().now());
}

fn disk_second(db: &Db) -> i64 {
    db.inner.env.clock().now_micros().div_euclid(1_000_000)
}
