//! Merging against a plain model, in both directions.

use super::*;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering};
use crate::model::life::Liveness;
use crate::read::testing::{Part, any_part, model_deletion_at, model_rows, place};
use proptest::prelude::*;

fn merged(parts: &[Part], reverse: bool) -> Vec<Fragment> {
    let partition = parts.iter().fold(None, |d, part| merge_deletion(d, part.deletion));
    let inputs: Vec<_> =
        parts.iter().map(|part| (part.fragments(reverse).into_iter().map(Ok), None)).collect();
    Merge::rows(inputs, partition, reverse).collect::<Result<_>>().expect("no source fails")
}

fn rows(fragments: Vec<Fragment>) -> Vec<Row> {
    let row = |fragment| match fragment {
        Fragment::Row(row) => Some(row),
        _ => None,
    };
    fragments.into_iter().filter_map(row).collect()
}

/// What bounds say is in force at a row's place.
fn deletion_at(fragments: &[Fragment], order: &[u8]) -> Option<Deletion> {
    let mut before = fragments.iter().filter_map(|fragment| match fragment {
        Fragment::Bound(bound) if bound.at.cmp_row(order).is_lt() => Some(bound),
        _ => None,
    });
    before.next_back().and_then(|bound| bound.deletion)
}

proptest! {
    #[test]
    fn a_merge_is_what_brute_force_finds_in_both_directions(parts in prop::collection::vec(any_part([1, 2], Some(3)), 0..6)) {
        let forward = merged(&parts, false);
        prop_assert_eq!(rows(forward.clone()), model_rows(&parts));
        let partition = parts.iter().fold(None, |d, part| merge_deletion(d, part.deletion));
        for ck in 0..20 {
            let order = [0x40, ck];
            let in_force = merge_deletion(deletion_at(&forward, &order), partition);
            prop_assert_eq!(in_force, model_deletion_at(&parts, &order));
        }
        let mut backward = merged(&parts, true);
        backward.reverse();
        prop_assert_eq!(backward, forward);
    }

    #[test]
    fn streams_merge_partition_by_partition(
        all in prop::collection::vec(prop::collection::btree_map(0..4u8, any_part([1, 2], Some(3)), 0..4), 0..5)
    ) {
        let key = |k: u8| DecoratedKey::new(&[k]);
        let stream = |parts: &std::collections::BTreeMap<u8, Part>| {
            let mut parts: Vec<_> = parts.iter().map(|(k, part)| (key(*k), part)).collect();
            parts.sort_by(|a, b| a.0.cmp(&b.0));
            let fragments = parts.into_iter().flat_map(|(key, part)| {
                let head = Fragment::Partition { key, deletion: part.deletion };
                std::iter::once(head).chain(part.fragments(false))
            });
            fragments.map(Ok).collect::<Vec<_>>().into_iter()
        };
        let got: Vec<Fragment> = Merge::streams(all.iter().map(stream)).collect::<Result<_>>().unwrap();
        let mut keys: Vec<u8> = all.iter().flat_map(|parts| parts.keys().copied()).collect();
        keys.sort_by_key(|k| key(*k));
        keys.dedup();
        let mut expected = Vec::new();
        for k in keys {
            let parts: Vec<Part> = all.iter().filter_map(|parts| parts.get(&k).cloned()).collect();
            let deletion = parts.iter().fold(None, |d, part| merge_deletion(d, part.deletion));
            expected.push(Fragment::Partition { key: key(k), deletion });
            expected.extend(merged(&parts, false));
        }
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn overlapping_deletions_read_the_same_backwards() {
    // ck 0, 2, 4, 5, 6 with [1, 3], (4, 8] and (0, 1] deleted later: 0 and 4 stay.
    let row = |ck| Row { liveness: Some(Liveness::new(1)), ..Row::new(place(ck)) };
    let range =
        |start, end| crate::model::fragment::RangeTombstone { start, end, deletion: Deletion::new(2, 0) };
    let (before, after) = (|ck| Bound::before(&[0x40, ck]), |ck| Bound::after(&[0x40, ck]));
    let data = Part { rows: [0, 2, 4, 5, 6].map(row).into(), ..Part::default() };
    let deletions = [range(before(1), after(3)), range(after(4), after(8)), range(after(0), after(1))];
    let mut parts: Vec<Part> =
        deletions.map(|r| Part { ranges: vec![r], ..Part::default() }).into_iter().collect();
    parts.push(data);
    let places =
        |reverse| rows(merged(&parts, reverse)).into_iter().map(|r| r.clustering).collect::<Vec<_>>();
    assert_eq!(places(false), [place(0), place(4)]);
    assert_eq!(places(true), [place(4), place(0)]);
}

#[test]
fn a_static_row_is_merged_before_the_rows() {
    let cell = |timestamp, value| (ColumnId(5), Cell::live(Liveness::new(timestamp), Bytes::new(&[value])));
    let stream = |timestamp, value, deletion| {
        let statics = Row { cells: vec![cell(timestamp, value)], ..Row::new(Clustering::EMPTY) };
        let row = Row { liveness: Some(Liveness::new(timestamp)), ..Row::new(place(value)) };
        let key = DecoratedKey::new(b"k");
        vec![Ok(Fragment::Partition { key, deletion }), Ok(Fragment::Static(statics)), Ok(Fragment::Row(row))]
            .into_iter()
    };
    let deleted = Some(Deletion::new(1, 0));
    let merge = Merge::streams([stream(1, 1, None), stream(3, 3, None), stream(2, 2, deleted)]);
    let items: Vec<_> = merge.collect::<Result<_>>().unwrap();
    assert!(matches!(&items[0], Fragment::Partition { deletion, .. } if *deletion == deleted));
    assert!(matches!(&items[1], Fragment::Static(row) if row.cells == [cell(3, 3)]));
    assert_eq!(rows(items).into_iter().map(|r| r.clustering).collect::<Vec<_>>(), [place(2), place(3)]);
}

#[test]
fn an_error_ends_a_merge() {
    let good = vec![Ok(Fragment::Row(Row { liveness: Some(Liveness::new(1)), ..Row::new(place(1)) }))];
    let bad = vec![Err(crate::error::Error::malformed("broken"))];
    let mut merge = Merge::rows([(good.into_iter(), None), (bad.into_iter(), None)], None, false);
    assert!(merge.next().is_some_and(|item| item.is_err()) && merge.next().is_none());
}
