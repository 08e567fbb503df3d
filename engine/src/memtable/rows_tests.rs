//! Rows in and out of order, over versions.

use super::*;
use crate::encoding::row::{EncodedRow, Stamp, encode_row};
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::row::Row;
use proptest::prelude::*;

#[derive(Default)]
struct Index {
    rows: Rows,
    chunks: Chunks,
    model: Vec<Vec<u8>>,
    count: u32,
}

impl Index {
    fn add(&mut self, clustering: &[u8]) {
        let mut bytes = Vec::new();
        encode_row(&Row::new(Clustering::new(Bytes::new(clustering))), Stamp::default(), &mut bytes);
        let pool = Pool::new(0);
        let place = self.chunks.push(&bytes, &pool).unwrap();
        let row = EncodedRow::parse(&bytes).unwrap();
        let probe = Probe::new(clustering);
        let (spot, same) = self.rows.place(&probe, &self.chunks);
        assert_eq!(spot, self.rows.behind(&probe, &self.chunks), "the short way leads to the same place");
        let spot = self.rows.make_room(spot, same, &pool);
        let count = self.count;
        self.rows.insert(spot, || {
            let mut entry = Entry::new(row, place, count, 0, 0);
            entry.set_same(same);
            entry
        });
        self.count += 1;
        let place = self.model.partition_point(|other| other[..] <= *clustering);
        self.model.insert(place, clustering.to_vec());
    }

    fn read(&self, start: &Bound, end: &Bound, reverse: bool) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let (from, to) = (self.rows.bound(start, &self.chunks), self.rows.bound(end, &self.chunks));
        self.rows.walk(from, to, reverse, |entry| {
            found.push(entry.clustering(&self.chunks).to_vec());
            true
        });
        found
    }

    fn check(&self) {
        assert_eq!(self.read(&Bound::bottom(), &Bound::top(), false), self.model);
        let mut last: Option<Entry> = None;
        let ends = (Spot { leaf: 0, at: 0 }, Spot { leaf: self.rows.leaves.len(), at: 0 });
        self.rows.walk(ends.0, ends.1, false, |entry| {
            let same =
                last.is_some_and(|last| last.clustering(&self.chunks) == entry.clustering(&self.chunks));
            assert_eq!(entry.is_same(), same, "invariant 2");
            assert!(!same || last.is_some_and(|last| last.seq < entry.seq), "versions by arrival");
            last = Some(*entry);
            true
        });
        for leaf in &self.rows.leaves {
            let first = leaf.entries.front().expect("invariant 1");
            assert!(!first.is_same(), "invariant 1");
            assert_eq!((first.held(), first.place), (leaf.first.held(), leaf.first.place), "invariant 3");
        }
    }

    fn fill(&self) -> f64 {
        self.model.len() as f64 * size_of::<Entry>() as f64 / self.rows.memory_bytes() as f64
    }
}

fn time(at: u64) -> Vec<u8> {
    [&[0x40][..], &at.to_be_bytes()].concat()
}

#[test]
fn an_entry_takes_half_a_cache_line() {
    assert_eq!(size_of::<Entry>(), 32);
}

#[test]
fn both_ends_and_late_rows_keep_leaves_full() {
    for descending in [false, true] {
        let mut index = Index::default();
        let mut state = 7u64;
        for i in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let late = if state >> 33 & 31 < 2 { (state >> 40) % 60 } else { 0 };
            let at = (i * 2).saturating_sub(late * 2 + u64::from(late > 0));
            index.add(&time(if descending { u64::MAX - at } else { at }));
        }
        index.check();
        assert!(index.fill() > 0.85, "leaves are {} full", index.fill());
    }
}

#[test]
fn random_order_keeps_leaves_half_full() {
    let mut index = Index::default();
    for i in 0..20_000u64 {
        index.add(&time(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    }
    index.check();
    assert!(index.fill() > 0.6, "leaves are {} full", index.fill());
}

#[test]
fn many_versions_of_one_row_stay_in_one_leaf() {
    let mut index = Index::default();
    for i in 0..3000 {
        index.add(&time(if i % 3 == 0 { i } else { 500 }));
    }
    index.check();
    let end = index.rows.behind(&Probe::new(&time(500)), &index.chunks);
    assert_eq!(index.rows.run(end), 2000);
}

proptest! {
    #[test]
    fn any_clusterings_in_any_order_are_found(
        rows in prop::collection::vec(prop::collection::vec(1..4u8, 0..12), 0..700),
        ranges in prop::collection::vec((prop::collection::vec(1..4u8, 0..12), any::<bool>(), prop::collection::vec(1..4u8, 0..12), any::<bool>(), any::<bool>()), 8),
    ) {
        let mut index = Index::default();
        for row in &rows {
            index.add(row);
        }
        index.check();
        for (start, start_after, end, end_after, reverse) in ranges {
            let bound = |prefix: &[u8], after| if after { Bound::after(prefix) } else { Bound::before(prefix) };
            let (start, end) = (bound(&start, start_after), bound(&end, end_after));
            let inside = |row: &&Vec<u8>| start.cmp_row(row) == Ordering::Less && end.cmp_row(row) == Ordering::Greater;
            let mut wanted: Vec<_> = index.model.iter().filter(inside).cloned().collect();
            if reverse {
                wanted.reverse();
            }
            prop_assert_eq!(index.read(&start, &end, reverse), wanted);
        }
    }
}
