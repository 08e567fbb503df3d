//! Where a flush is split by time window.

use super::*;
use crate::encoding::plain::is_plain;
use crate::encoding::row::{EncodedRow, Stamp, encode_row};
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::{Bound, Clustering};
use crate::model::life::Liveness;
use crate::model::reconcile::merge_rows;
use crate::read::merge::Merge;
use proptest::prelude::*;

#[derive(Default)]
struct Kept(Vec<Fragment>);

impl Sink for Kept {
    fn push(&mut self, fragment: Fragment) -> Result<()> {
        self.0.push(fragment);
        Ok(())
    }
}

fn split(windows: Windows, stream: &[Fragment]) -> Vec<Vec<Fragment>> {
    let mut splitter = Splitter::new(windows, || Ok(Kept::default()));
    stream.iter().for_each(|f| splitter.push(f.clone()).unwrap());
    splitter.into_writers().into_iter().map(|kept| kept.0).collect()
}

/// The same with plain rows as a memtable holds them.
fn split_encoded(windows: Windows, stream: &[Fragment]) -> Vec<Vec<Fragment>> {
    let stamp = Stamp { timestamp: 3, now: 0 };
    let mut splitter = Splitter::new(windows, || Ok(Kept::default()));
    let encode = |fragment: &Fragment| {
        let mut bytes = Vec::new();
        if let Fragment::Row(row) = fragment {
            encode_row(row, stamp, &mut bytes);
        }
        let row = EncodedRow::parse(&bytes).ok();
        row.is_some_and(|row| is_plain(&row, &row.times(stamp).unwrap())).then_some(bytes)
    };
    let encoded: Vec<_> = stream.iter().map(encode).collect();
    let mut at = 0;
    while let Some(fragment) = stream.get(at) {
        let run = encoded[at..].iter().map_while(|bytes| bytes.as_deref());
        let rows: Vec<_> = run.map(|bytes| PlainRow::parse(bytes, stamp).unwrap()).collect();
        match rows.len() {
            0 => splitter.push(fragment.clone()).unwrap(),
            _ => splitter.push_plain(&rows).unwrap(),
        }
        at += rows.len().max(1);
    }
    splitter.into_writers().into_iter().map(|kept| kept.0).collect()
}

fn merge(streams: Vec<Vec<Fragment>>) -> Vec<Fragment> {
    let streams = streams.into_iter().map(|s| s.into_iter().map(Ok));
    Merge::streams(streams).map(|f| f.unwrap()).collect()
}

fn times(fragment: &Fragment) -> Vec<i64> {
    match fragment {
        Fragment::Partition { deletion, .. } => deletion.iter().map(|d| d.timestamp).collect(),
        Fragment::Bound(bound) => bound.deletion.iter().map(|d| d.timestamp).collect(),
        Fragment::Static(row) | Fragment::Row(row) => {
            write_times(row).map_or(Vec::new(), |(least, greatest)| vec![least, greatest])
        }
    }
}

/// Write times in 40 windows of 10 microseconds, most of them in the first few.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0i64..40, 1 => 0i64..400]
}

fn row() -> impl Strategy<Value = Row> {
    let cells = proptest::collection::btree_map(0u32..4, time(), 0..4);
    let complex = (proptest::option::of(time()), proptest::collection::btree_map(0u8..4, time(), 0..3));
    (0u8..20, proptest::option::of(time()), proptest::option::of(time()), cells, complex).prop_map(
        |(ck, life, deletion, cells, (whole, elements))| {
            let mut row = Row::new(Clustering::new(Bytes::new(&[0x40, ck])));
            row.liveness = life.map(Liveness::new);
            row.deletion = deletion.map(|t| Deletion::new(t, 0));
            let cell = |t| Cell::live(Liveness::new(t), Bytes::new(b"v"));
            row.cells = cells.into_iter().map(|(id, t)| (ColumnId(id), cell(t))).collect();
            let path = |p| Clustering::new(Bytes::new(&[0x40, p]));
            let complex = Complex {
                column: ColumnId(9),
                deletion: whole.map(|t| Deletion::new(t, 0)),
                cells: elements.into_iter().map(|(p, t)| (path(p), cell(t))).collect(),
            };
            if complex.deletion.is_some() || !complex.cells.is_empty() {
                row.complex.push(complex);
            }
            // What the row's own deletions hide is not in a sorted stream.
            merge_rows(row.clone(), row)
        },
    )
}

/// A sorted stream of a few partitions: what a merge of one-row streams makes of random parts.
fn stream() -> impl Strategy<Value = Vec<Fragment>> {
    let range = (0u8..20, 1u8..6, time());
    let partition = (
        proptest::option::of(time()),
        proptest::option::of(row()),
        proptest::collection::vec(row(), 0..8),
        proptest::collection::vec(range, 0..4),
    );
    proptest::collection::vec(partition, 0..4).prop_map(|partitions| {
        let mut parts = Vec::new();
        for (number, (deletion, statics, rows, ranges)) in partitions.into_iter().enumerate() {
            let head = |deletion| Fragment::Partition { key: DecoratedKey::new(&[number as u8]), deletion };
            parts.push(vec![head(deletion.map(|t| Deletion::new(t, 0)))]);
            if let Some(mut row) = statics {
                row.clustering = Clustering::EMPTY;
                parts.push(vec![head(None), Fragment::Static(row)]);
            }
            parts.extend(rows.into_iter().map(|row| vec![head(None), Fragment::Row(row)]));
            for (from, length, t) in ranges {
                let (start, end) = (Bound::before(&[0x40, from]), Bound::after(&[0x40, from + length]));
                let open = RangeBound { at: start, deletion: Some(Deletion::new(t, 0)) };
                let close = RangeBound { at: end, deletion: None };
                parts.push(vec![head(None), Fragment::Bound(open), Fragment::Bound(close)]);
            }
        }
        merge(parts)
    })
}

proptest! {
    #[test]
    fn the_parts_merge_to_the_whole_and_keep_to_their_window(stream in stream()) {
        let windows = Windows::new(10, 1);
        let parts = split(windows, &stream);
        prop_assert!(parts.len() <= MAX_WINDOWS + 1);
        prop_assert_eq!(&split_encoded(windows, &stream), &parts, "plain rows go the same way");
        for part in &parts {
            let begins = matches!(part.first(), Some(Fragment::Partition { .. }));
            prop_assert!(begins);
            let mut open = None;
            for fragment in part {
                match fragment {
                    Fragment::Partition { .. } => prop_assert_eq!(open, None),
                    Fragment::Bound(bound) => {
                        prop_assert_ne!(open, bound.deletion);
                        open = bound.deletion;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(open, None);
            let found: std::collections::BTreeSet<_> =
                part.iter().flat_map(times).map(|t| windows.of(t)).collect();
            prop_assert!(found.len() == 1 || parts.len() == MAX_WINDOWS + 1);
        }
        // Partitions that hold nothing are in no file.
        let mut whole = stream.clone();
        let empty = |i: usize| {
            matches!(&stream[i], Fragment::Partition { deletion: None, .. })
                && !matches!(stream.get(i + 1), Some(Fragment::Static(_) | Fragment::Row(_) | Fragment::Bound(_)))
        };
        let mut i = 0;
        whole.retain(|_| { i += 1; !empty(i - 1) });
        prop_assert_eq!(merge(parts), whole);
    }
}

#[test]
fn more_windows_than_writers_share_the_last_one_and_every_pass_takes_some_out() {
    let windows = Windows::new(10, 1);
    let key = DecoratedKey::new(b"k");
    let mut stream = vec![Fragment::Partition { key, deletion: None }];
    for ck in 0..100u8 {
        let mut row = Row::new(Clustering::new(Bytes::new(&[0x40, ck])));
        row.liveness = Some(Liveness::new(i64::from(ck) * 10));
        stream.push(Fragment::Row(row));
    }
    let mut rounds = 0;
    let mut files = 0;
    while stream.len() > 1 {
        rounds += 1;
        let mut parts = split(windows, &stream);
        files += parts.len().min(MAX_WINDOWS);
        stream = if parts.len() > MAX_WINDOWS { parts.pop().unwrap() } else { Vec::new() };
    }
    assert_eq!((rounds, files), (4, 100));
}

#[test]
fn an_error_of_the_writer_is_passed_on() {
    let mut splitter =
        Splitter::new(Windows::new(1, 1), || Err::<Kept, _>(crate::error::Error::closed("no more files")));
    let deletion = Some(Deletion::new(5, 0));
    let error = splitter.push(Fragment::Partition { key: DecoratedKey::new(b"k"), deletion }).unwrap_err();
    assert_eq!(error.message(), "no more files");
    assert!(splitter.into_writers().is_empty());
}
