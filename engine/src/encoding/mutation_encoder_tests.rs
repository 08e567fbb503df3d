//! Batches written and read back.

use super::*;
use crate::encoding::mutation::BatchReader;
use crate::encoding::plain::is_plain;
use crate::error::{Error, ErrorKind};
use crate::model::bytes::Bytes;
use crate::model::cell::ColumnId;
use crate::model::clustering::Clustering;
use proptest::prelude::*;

const STAMP: Stamp = Stamp { timestamp: 7_000_000, now: 7 };

fn example() -> BatchEncoder {
    let mut batch = BatchEncoder::default();
    let place = Clustering::new(Bytes::new(&[5]));
    let head = RowHead { marker: true, ..RowHead::default() };
    for (table, key) in [(1, b"a"), (1, b"a"), (1, b"b"), (2, b"b")] {
        let row = |row: &mut RowEncoder<'_>| {
            row.value(ColumnId(0), &[9]);
            Ok(())
        };
        batch.row_with(TableId(table), key, false, Place::of(&place), &head, row).unwrap();
    }
    batch.delete_partition(TableId(2), b"c", None);
    batch.delete_partition(TableId(2), b"c", Some(Deletion::new(-3, 1)));
    batch.delete_range(TableId(2), b"c", &Bound::bottom(), &Bound::top(), None);
    batch.delete_range(TableId(2), b"c", &Bound::top(), &Bound::bottom(), None);
    batch.row(TableId(2), b"c", true, &Row::new(Clustering::EMPTY));
    for key in [&b"hive-9/east"[..], b"hive-10/east", b"hive-11/east"] {
        batch.delete_partition(TableId(2), key, None);
    }
    batch
}

#[test]
fn operations_come_back_with_their_table_key_and_times() {
    let mut batch = example();
    batch.set_stamp(STAMP);
    let ops: Vec<_> = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap).collect();
    let places: Vec<_> = ops.iter().map(|op| (op.table.0, &op.key[..])).collect();
    let (a, b, c) = (&b"a"[..], &b"b"[..], &b"c"[..]);
    assert_eq!(places[..8], [(1, a), (1, a), (1, b), (2, b), (2, c), (2, c), (2, c), (2, c)]);
    assert_eq!(places[8..], [(2, &b"hive-9/east"[..]), (2, b"hive-10/east"), (2, b"hive-11/east")]);
    let same: Vec<_> = ops.iter().map(|op| op.same_partition).collect();
    let expected = [false, true, false, false, false, true, true, true, false, false, false];
    assert_eq!(same, expected);
    assert!(matches!(&ops[0].body, OpBody::Row(row)
        if row.decode(STAMP).unwrap().liveness.unwrap().timestamp == STAMP.timestamp));
    assert!(matches!(ops[4].body, OpBody::Partition(d) if d == Deletion::new(STAMP.timestamp, STAMP.now)));
    assert!(matches!(ops[5].body, OpBody::Partition(d) if d == Deletion::new(-3, 1)));
    assert!(matches!(&ops[6].body, OpBody::Range(r) if r.deletion.timestamp == STAMP.timestamp));
    assert!(matches!(ops[7].body, OpBody::Static(_)));
    assert_eq!((batch.len(), ops.len()), (11, 11), "an empty range adds nothing");
    assert_eq!(batch.tables(), [TableId(1), TableId(2)]);
}

#[test]
fn what_is_not_wanted_is_passed_over() {
    let batch = example();
    let all: Vec<_> = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap).collect();
    let wanted =
        [(1, &b"a"[..]), (1, b"b"), (2, b"b"), (2, b"c"), (3, b"a"), (2, b"hive-11/east"), (2, b"hive")];
    for (table, key) in wanted {
        let mut reader = BatchReader::new(batch.bytes()).unwrap();
        let (mut found, mut asked) = (Vec::new(), 0);
        let mut is_wanted = |of, on: &[u8]| {
            asked += 1;
            of == TableId(table) && on == key
        };
        while let Some(op) = reader.next_wanted(&mut is_wanted) {
            found.push(format!("{:?}", op.unwrap()));
        }
        let wanted = all.iter().filter(|op| op.table == TableId(table) && op.key == key);
        assert_eq!(found, wanted.map(|op| format!("{op:?}")).collect::<Vec<_>>());
        assert_eq!(asked, 7, "once for operations in a row on one partition");
    }
}

#[test]
fn keys_are_stored_by_what_differs_from_the_one_before() {
    let mut batch = BatchEncoder::default();
    let mut at = batch.size_bytes();
    let mut added = |table, key: &[u8]| {
        batch.delete_partition(TableId(table), key, None);
        let bytes = batch.bytes()[at..].to_vec();
        at += bytes.len();
        bytes
    };
    // The last byte is the deletion's.
    assert_eq!(added(7, b"s1x"), b"\x02\x07\x03s1x\x00");
    assert_eq!(added(7, b"s2x"), b"\x16\x01\x012\x00");
    assert_eq!(added(7, b"s2x"), b"\x0e\x00");
    assert_eq!(added(7, b"s23x"), b"\x16\x02\x013\x00");
    assert_eq!(added(7, b"other"), b"\x06\x00\x05other\x00");
    assert_eq!(added(8, b"others"), b"\x02\x08\x06others\x00", "of another table: whole");
    assert_eq!(added(7, b"others"), b"\x02\x07\x06others\x00", "the key before is another table's");
}

#[test]
fn heads_that_no_writer_makes_are_refused() {
    let first = b"\x02\x07\x03s1x\x00";
    let read = |operations: &[&[u8]]| {
        let bytes = [BatchEncoder::default().bytes(), &operations.concat()].concat();
        let read: Result<Vec<_>> = BatchReader::new(&bytes).unwrap().map(|op| op.map(drop)).collect();
        read.map_err(|error| error.kind())
    };
    assert!(read(&[first, b"\x36\x00\x00\x00"]).is_ok(), "all of it from the end of the key before");
    for second in [
        &b"\x46\x00\x01x\x00"[..], // more bytes at the end than the key before has
        b"\x26\x02\x01x\x00",      // more at both ends together
        b"\x06\x04\x01x\x00",      // more at the start
        b"\x1e\x00",               // the same key, but for an end
        b"\x12\x07\x03s1x\x00",    // another table's key, but for an end
        b"\x0a\x07\x00",           // another table's key, the same
    ] {
        assert_eq!(read(&[first, second]).unwrap_err(), ErrorKind::Corrupt, "{second:?}");
    }
    for alone in [&b"\x06\x00\x01x\x00"[..], b"\x0e\x00"] {
        assert_eq!(read(&[alone]).unwrap_err(), ErrorKind::Corrupt, "{alone:?}");
    }
}

#[test]
fn a_cleared_batch_begins_anew() {
    let mut batch = example();
    batch.clear();
    assert_eq!(batch.bytes(), BatchEncoder::default().bytes());
}

#[test]
fn rows_of_all_lengths_come_back_and_one_that_fails_leaves_no_trace() {
    let (mut batch, head) = (BatchEncoder::default(), RowHead { marker: true, ..RowHead::default() });
    let place = Clustering::new(Bytes::new(&[5]));
    let lengths = [0, 100, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 20_000];
    for length in lengths {
        let row = |row: &mut RowEncoder<'_>| {
            row.value(ColumnId(0), &vec![7; length]);
            Ok(())
        };
        batch.row_with(TableId(1), b"a", false, Place::of(&place), &head, row).unwrap();
        let before = batch.bytes().to_vec();
        let fails = |row: &mut RowEncoder<'_>| {
            row.value(ColumnId(0), &[1; 200]);
            Err(Error::invalid("no"))
        };
        batch.row_with(TableId(2), b"b", false, Place::of(&place), &head, fails).unwrap_err();
        assert_eq!((batch.bytes(), batch.tables()), (&before[..], &[TableId(1)][..]));
    }
    let ops = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap);
    let found = ops.map(|op| match op.body {
        OpBody::Row(row) => row.decode(STAMP).unwrap().cells[0].1.value.as_ref().unwrap().len(),
        _ => panic!("a row"),
    });
    assert_eq!(found.collect::<Vec<_>>(), lengths);
}

/// A statement that [`BatchEncoder::row_with`] takes: table, key, static, row's head, clustering kept as given, cells and whether they fail.
#[derive(Clone, Debug)]
struct Statement {
    place: (u32, u8),
    is_static: bool,
    head: RowHead,
    raw: bool,
    cells: Vec<Option<usize>>,
    fails: bool,
}

fn statements() -> impl Strategy<Value = Statement> {
    let head = (
        any::<bool>(),
        prop::option::of(1..9i64),
        0..3i32,
        prop::option::of(5..9i64),
        prop::option::of(1..9i64),
    );
    let head = head.prop_map(|(marker, timestamp, ttl, expiry, deletion)| {
        let deletion = deletion.map(|at| Deletion::new(at, at));
        RowHead { marker, timestamp, ttl, expiry, deletion }
    });
    let cells = prop::collection::vec(prop::option::of(0..140usize), 0..4);
    let rare = || prop::bool::weighted(0.2);
    ((1..3u32, 0..5u8), rare(), head, rare(), cells, rare()).prop_map(
        |(place, is_static, head, raw, cells, fails)| Statement { place, is_static, head, raw, cells, fails },
    )
}

/// Partition keys that are alike in several ways, of different lengths.
const KEYS: [&[u8]; 5] =
    [b"", b"sensor-0041/2026-06-12", b"sensor-0042/2026-06-12", b"sensor-42/2026-06-12", b"s"];

proptest! {
    #[test]
    fn what_was_noted_while_writing_is_what_reading_finds(statements in prop::collection::vec(statements(), 0..30), stamp in 0..20i64) {
        let mut batch = BatchEncoder::default();
        for Statement { place: (table, key), is_static, head, raw, cells, fails } in &statements {
            let order = Bytes::new(&[5, *key]);
            let clustering = if *raw { Clustering::with_raw(order, [1].into()) } else { Clustering::new(order) };
            let written = batch.row_with(TableId(*table), &[*key], *is_static, Place::of(&clustering), head, |row| {
                for (column, length) in (0..).zip(cells) {
                    match length {
                        Some(length) => row.value(ColumnId(column), &vec![7; *length]),
                        None => row.tombstone(ColumnId(column)),
                    }
                }
                if *fails { Err(Error::invalid("no")) } else { Ok(()) }
            });
            prop_assert_eq!(written.is_err(), *fails);
            if head.deletion.is_some() && !fails {
                batch.delete_partition(TableId(*table), KEYS[usize::from(*key)], head.deletion);
            }
        }
        let stamp = batch.set_stamp(Stamp { timestamp: stamp, now: stamp });
        let read: Vec<_> = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!((read.len(), batch.len()), (batch.marks().len(), batch.marks().len()));
        let mut times = vec![RowTimes::NONE; batch.tables().len()];
        for (read, mark) in read.iter().zip(batch.marks()) {
            let (table, key) = batch.marked_key(mark);
            prop_assert_eq!((read.table, &read.key[..]), (batch.tables()[table], key));
            match (&read.body, batch.marked_row(mark)) {
                (OpBody::Row(read), Some((row, plain))) => {
                    prop_assert_eq!((read.bytes, read.clustering), (row.bytes, row.clustering));
                    let of_row = read.times(stamp).unwrap();
                    prop_assert_eq!(plain, is_plain(read, &of_row));
                    if of_row != RowTimes::NONE {
                        times[table].add(of_row.min_timestamp, of_row.min_local);
                        times[table].add(of_row.max_timestamp, of_row.max_local);
                    }
                }
                (_, Some(_)) => panic!("only rows are known"),
                (_, None) => {}
            }
            prop_assert_eq!(format!("{:?}", read.body), format!("{:?}", batch.marked_body(mark).unwrap()));
        }
        for (table, times) in times.iter().enumerate() {
            prop_assert_eq!(batch.times(table), *times);
        }
    }

    #[test]
    fn damaged_batches_never_panic(at: prop::sample::Index, flip in 1..=255u8) {
        let mut bytes = example().bytes().to_vec();
        let place = at.index(bytes.len());
        bytes[place] ^= flip;
        for bytes in [&bytes[..], &bytes[..place]] {
            let Ok(reader) = BatchReader::new(bytes) else { continue };
            let stamp = reader.stamp();
            for op in reader.flatten() {
                if let OpBody::Row(row) | OpBody::Static(row) = op.body {
                    let _ = row.decode(stamp);
                }
            }
        }
    }
}
