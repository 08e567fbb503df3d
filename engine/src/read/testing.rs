//! What the tests of this directory share: sources made of small parts, and the naive model to hold a read against.

use crate::encoding::order::encode_component;
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::{Bound, Clustering};
use crate::model::fragment::{Fragment, RangeBound, RangeTombstone};
use crate::model::life::{Deletion, Liveness};
use crate::model::reconcile::{merge_deletion, merge_rows, shadow};
use crate::model::row::{Complex, Row};
use crate::model::types::CqlType;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A clustering of one byte-comparable component.
pub(crate) fn place(ck: u8) -> Clustering {
    Clustering::new(Bytes::new(&[0x40, ck]))
}

/// What one source holds of one partition, unsorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) deletion: Option<Deletion>,
    pub(crate) rows: Vec<Row>,
    pub(crate) ranges: Vec<RangeTombstone>,
}

impl Part {
    /// As an input of a merge: equal rows merged, range deletions disjoint.
    pub(crate) fn fragments(&self, reverse: bool) -> Vec<Fragment> {
        let mut rows: BTreeMap<Clustering, Row> = BTreeMap::new();
        for row in &self.rows {
            let row = row.clone();
            let merged = match rows.remove(&row.clustering) {
                Some(other) => merge_rows(other, row),
                None => row,
            };
            rows.insert(merged.clustering.clone(), merged);
        }
        let mut bounds: Vec<Bound> =
            self.ranges.iter().flat_map(|r| [r.start.clone(), r.end.clone()]).collect();
        bounds.sort();
        bounds.dedup();
        let mut items: Vec<Fragment> = rows.into_values().map(Fragment::Row).collect();
        let mut open = None;
        for at in bounds {
            let covering = self.ranges.iter().filter(|r| r.start <= at && at < r.end);
            let deletion = covering.map(|r| r.deletion).max();
            if deletion != open {
                open = deletion;
                items.push(Fragment::Bound(RangeBound { at, deletion }));
            }
        }
        items.sort_by(super::merge::compare_places);
        if reverse {
            items.reverse();
            // What a bound states is then in force from it on in the direction of reading.
            let mut before = None;
            for item in items.iter_mut().rev() {
                if let Fragment::Bound(RangeBound { deletion, .. }) = item {
                    std::mem::swap(deletion, &mut before);
                }
            }
        }
        items
    }
}

/// The merged rows of all parts by brute force, in clustering order.
pub(crate) fn model_rows(parts: &[Part]) -> Vec<Row> {
    let mut rows: BTreeMap<Clustering, Row> = BTreeMap::new();
    for row in parts.iter().flat_map(|p| p.rows.iter().cloned()) {
        let merged = match rows.remove(&row.clustering) {
            Some(other) => merge_rows(other, row),
            None => row,
        };
        rows.insert(merged.clustering.clone(), merged);
    }
    let rows = rows.into_values().map(|mut row| {
        let deletion = model_deletion_at(parts, row.clustering.order());
        shadow(&mut row, deletion);
        row
    });
    rows.filter(|row| !row.is_empty()).collect()
}

/// The strongest partition or range deletion at a place.
pub(crate) fn model_deletion_at(parts: &[Part], order: &[u8]) -> Option<Deletion> {
    parts.iter().fold(None, |strongest, part| {
        let contains = |r: &&RangeTombstone| r.start.cmp_row(order).is_lt() && r.end.cmp_row(order).is_gt();
        let range = part.ranges.iter().filter(contains).map(|r| r.deletion).max();
        merge_deletion(strongest, merge_deletion(part.deletion, range))
    })
}

pub(crate) fn any_deletion() -> impl Strategy<Value = Deletion> {
    (0..6i64, 0..2i64).prop_map(|(t, l)| Deletion::new(t, l))
}

fn any_cell() -> impl Strategy<Value = Cell> {
    (0..8i64, 0..4u8, 0..3i64, 0..3u8).prop_map(|(timestamp, kind, n, value)| match kind {
        0 | 1 => Cell::live(Liveness::new(timestamp), Bytes::new(&i32::from(value).to_be_bytes())),
        2 => {
            let life = Liveness::expiring(timestamp, 1 + n as i32, 9 + n);
            Cell::live(life, Bytes::new(&i32::from(value).to_be_bytes()))
        }
        _ => Cell::tombstone(timestamp, n),
    })
}

pub(crate) fn any_row(columns: [u32; 2], complex: Option<u32>) -> impl Strategy<Value = Row> {
    let liveness = prop::option::of((0..8i64, 0..3i32).prop_map(|(timestamp, ttl)| match ttl {
        0 => Liveness::new(timestamp),
        _ => Liveness::expiring(timestamp, ttl, 9 + i64::from(ttl)),
    }));
    let deletion = prop::option::weighted(0.15, any_deletion());
    let cells = prop::collection::btree_map(0..2usize, any_cell(), 0..3);
    let elements = prop::collection::btree_map(1..4u8, any_cell(), 0..3);
    let set = prop::option::weighted(0.3, (prop::option::of(any_deletion()), elements));
    (0..12u8, liveness, deletion, cells, set).prop_map(move |(ck, liveness, deletion, cells, set)| {
        let set = set.zip(complex).map(|((deletion, elements), column)| Complex {
            column: ColumnId(column),
            deletion,
            cells: elements.into_iter().map(|(p, cell)| (place(p), cell)).collect(),
        });
        let row = Row {
            clustering: place(ck),
            liveness,
            deletion,
            cells: cells.into_iter().map(|(i, cell)| (ColumnId(columns[i]), cell)).collect(),
            complex: set.into_iter().collect(),
        };
        // No source holds what a row's own deletions cover, nor an empty collection.
        let mut row = merge_rows(row.clone(), row);
        row.complex.retain(|c| c.deletion.is_some() || !c.cells.is_empty());
        row
    })
}

pub(crate) fn any_range() -> impl Strategy<Value = RangeTombstone> {
    (0..12u8, 0..6u8, any::<bool>(), any::<bool>(), any_deletion()).prop_map(|(from, n, a, b, deletion)| {
        let bound = |ck: u8, after: bool| match after {
            true => Bound::after(&[0x40, ck]),
            false => Bound::before(&[0x40, ck]),
        };
        let (start, mut end) = (bound(from, a), bound(from + n, b));
        if end <= start {
            end = Bound::after(&[0x40, from + n + 1]);
        }
        RangeTombstone { start, end, deletion }
    })
}

pub(crate) fn any_part(columns: [u32; 2], complex: Option<u32>) -> impl Strategy<Value = Part> {
    let rows =
        prop::collection::vec(any_row(columns, complex).prop_filter("not empty", |r| !r.is_empty()), 0..10);
    let ranges = prop::collection::vec(any_range(), 0..4);
    (prop::option::weighted(0.2, any_deletion()), rows, ranges).prop_map(|(deletion, rows, ranges)| Part {
        deletion,
        rows,
        ranges,
    })
}

/// The tests' places are one byte behind 0x40; a tinyint's component is longer and keeps their order.
pub(crate) fn translate(order: &[u8], desc: bool) -> Bytes {
    let mut out = Vec::new();
    for pair in order.chunks_exact(2) {
        let value = if desc { 100 - pair[1] } else { pair[1] };
        encode_component(&[value], &CqlType::Tinyint, desc, &mut out).unwrap();
    }
    Bytes::from(out)
}

pub(crate) fn translate_bound(bound: &Bound, desc: bool) -> Bound {
    let prefix = translate(bound.prefix(), desc);
    if bound.is_after() { Bound::after(&prefix) } else { Bound::before(&prefix) }
}

pub(crate) fn translate_part(mut data: Part, desc: bool) -> Part {
    for row in &mut data.rows {
        row.clustering = Clustering::new(translate(row.clustering.order(), desc));
        for complex in &mut row.complex {
            for (path, cell) in &mut complex.cells {
                *path = Clustering::new(translate(path.order(), false));
                cell.value = cell.value.as_ref().map(|_| Bytes::EMPTY);
            }
        }
    }
    for range in &mut data.ranges {
        range.start = translate_bound(&range.start, desc);
        range.end = translate_bound(&range.end, desc);
    }
    data
}
