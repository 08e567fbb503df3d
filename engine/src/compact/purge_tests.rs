//! The purge rule case by case, and held against a model in which nothing is ever purged.

use super::*;
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering};
use crate::model::life::Liveness;
use crate::model::reconcile::resolve;
use crate::model::row::Complex;
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions};
use crate::model::types::CqlType;
use crate::read::merge::Merge;
use proptest::prelude::*;
use std::collections::BTreeMap;

const GRACE: i64 = 10;

fn schema() -> TableSchema {
    let columns = [
        ("k", CqlType::Int, ColumnKind::PartitionKey),
        ("c", CqlType::Int, ColumnKind::Clustering(Order::Asc)),
        ("s", CqlType::Int, ColumnKind::Static),
        ("v", CqlType::Int, ColumnKind::Regular),
    ];
    let columns = columns.map(|(name, ty, kind)| (name.to_owned(), ty, kind)).to_vec();
    let options = TableOptions { gc_grace_seconds: GRACE as u32, ..TableOptions::default() };
    TableSchema::new(TableId(1), "ks", "t", columns, options).unwrap()
}

struct From(Option<i64>);

impl Outside for From {
    fn min_timestamp(&self, _: &DecoratedKey) -> Option<i64> {
        self.0
    }
}

fn key() -> DecoratedKey {
    DecoratedKey::new(b"k")
}

fn head(deletion: Option<Deletion>) -> Fragment {
    Fragment::Partition { key: key(), deletion }
}

fn row_with(change: impl FnOnce(&mut Row)) -> Fragment {
    let mut row = Row::new(Clustering::new(Bytes::new(&[0x40, 1])));
    change(&mut row);
    Fragment::Row(row)
}

/// What is left at second `now` of a partition with the oldest write outside at `outside`.
fn purge(
    schema: &TableSchema,
    now: i64,
    outside: Option<i64>,
    fragments: &[Fragment],
) -> (Vec<Fragment>, Purged) {
    let mut purge = Purge::new(schema, now, From(outside));
    let mut out = Vec::new();
    for fragment in fragments {
        let push = |fragment| {
            out.push(fragment);
            Ok::<(), ()>(())
        };
        purge.push(fragment.clone(), &mut { push }).unwrap();
    }
    (out, purge.purged())
}

/// Every kind of thing that a purge may drop, written at 100 and deleted or expired at second 50.
fn kinds() -> Vec<(&'static str, Vec<Fragment>)> {
    let deletion = Some(Deletion::new(100, 50));
    let id = ColumnId(3);
    let bound = |at, deletion| Fragment::Bound(RangeBound { at, deletion });
    let expired = Cell::live(Liveness::expiring(100, 5, 50), Bytes::EMPTY);
    let complex = |deletion, cells| Complex { column: id, deletion, cells };
    let element = |cell: &Cell| vec![(Clustering::EMPTY, cell.clone())];
    let tombstone = Cell::tombstone(100, 50);
    vec![
        ("partition", vec![head(deletion)]),
        ("range", vec![head(None), bound(Bound::bottom(), deletion), bound(Bound::top(), None)]),
        ("row", vec![head(None), row_with(|row| row.deletion = deletion)]),
        ("marker", vec![head(None), row_with(|row| row.liveness = Some(Liveness::expiring(100, 5, 50)))]),
        ("cell", vec![head(None), row_with(|row| row.cells = vec![(id, tombstone.clone())])]),
        ("expired cell", vec![head(None), row_with(|row| row.cells = vec![(id, expired.clone())])]),
        ("collection", vec![head(None), row_with(|row| row.complex = vec![complex(deletion, vec![])])]),
        ("element", vec![head(None), row_with(|row| row.complex = vec![complex(None, element(&tombstone))])]),
    ]
}

#[test]
fn every_kind_goes_after_grace_if_nothing_outside_is_as_old() {
    for (kind, fragments) in kinds() {
        let left = |now, outside| purge(&schema(), now, outside, &fragments).0;
        assert!(left(50 + GRACE + 1, None).is_empty(), "{kind}: goes");
        assert!(left(50 + GRACE + 1, Some(101)).is_empty(), "{kind}: what is newer outside is not hidden");
        let same = |left: Vec<Fragment>| left.len() == fragments.len();
        assert!(same(left(50 + GRACE, None)), "{kind}: not within grace");
        assert!(same(left(50 + GRACE + 1, Some(100))), "{kind}: hides what is as old");
        assert!(same(left(50 + GRACE + 1, Some(i64::MIN))), "{kind}: hides what is older");
    }
}

#[test]
fn an_expired_cell_that_stays_loses_its_value_but_not_its_rank() {
    let cell = Cell::live(Liveness::expiring(100, 5, 50), Bytes::new(b"value"));
    let id = ColumnId(3);
    let stream = [head(None), row_with(|row| row.cells = vec![(id, cell.clone())])];
    let (left, purged) = purge(&schema(), 50, None, &stream);
    let Fragment::Row(row) = &left[1] else { panic!() };
    let left = row.cells[0].1.clone();
    assert_eq!(left, Cell { value: None, ..cell.clone() });
    assert_eq!((purged.values, purged.gained()), (1, true));
    // A cell of the same write time that expires later beats it as it beat the value; a tombstone beats both.
    let rival = Cell::live(Liveness::expiring(100, 60, 105), Bytes::EMPTY);
    let tombstone = Cell::tombstone(100, 1);
    for form in [cell.clone(), left] {
        use crate::model::reconcile::compare_cells;
        assert!(compare_cells(&rival, &form).is_gt() && compare_cells(&tombstone, &form).is_gt());
        assert!(compare_cells(&form, &Cell::live(Liveness::new(100), Bytes::new(b"z"))).is_gt());
    }
    // Before it expires nothing happens to it.
    assert_eq!(purge(&schema(), 49, None, &stream).0, stream);
}

#[test]
fn dropped_columns_go_by_their_write_time() {
    let schema = schema().drop_column("v", 100).unwrap();
    let cell = |timestamp| (ColumnId(3), Cell::live(Liveness::new(timestamp), Bytes::EMPTY));
    let stream = |timestamp| [head(None), row_with(|row| row.cells = vec![cell(timestamp)])];
    assert!(purge(&schema, 0, Some(0), &stream(100)).0.is_empty());
    assert_eq!(purge(&schema, 0, Some(0), &stream(101)).0, stream(101));
    let purge = Purge::new(&schema, 60, Nothing);
    assert!(purge.leaves_alone(50, 101) && !purge.leaves_alone(50, 100) && !purge.leaves_alone(49, 101));
}

#[test]
fn adjoining_range_deletions_stay_consistent_when_one_of_them_goes() {
    let bound = |ck: u8, deletion| Fragment::Bound(RangeBound { at: Bound::before(&[0x40, ck]), deletion });
    let (old, new) = (Some(Deletion::new(100, 50)), Some(Deletion::new(200, 55)));
    let stream = [head(None), bound(1, old), bound(2, new), bound(3, old), bound(4, None)];
    let (left, purged) = purge(&schema(), 50 + GRACE + 1, None, &stream);
    assert_eq!(left, [head(None), bound(2, new), bound(3, None)]);
    assert_eq!(purged.tombstones, 2);
}

/// One write to one partition: what kind, where, write time and second, TTL.
#[derive(Clone, Copy, Debug)]
struct Write {
    kind: u8,
    ck: u8,
    timestamp: i64,
    ttl: i32,
}

fn source_of(write: Write, now: i64) -> Vec<Fragment> {
    let place = |ck: u8| Clustering::new(Bytes::new(&[0x40, ck]));
    let deletion = Some(Deletion::new(write.timestamp, now));
    let life = match write.ttl {
        0 => Liveness::new(write.timestamp),
        ttl => Liveness::expiring(write.timestamp, ttl, now + i64::from(ttl)),
    };
    let mut row = Row::new(place(write.ck));
    let cell = || (ColumnId(3), Cell::live(life, Bytes::new(&[write.timestamp as u8, write.ttl as u8])));
    match write.kind {
        0 => return vec![head(deletion)],
        1 => {
            let bound = |at, deletion| Fragment::Bound(RangeBound { at, deletion });
            let (from, to) = (Bound::before(&[0x40, write.ck]), Bound::after(&[0x40, write.ck + 2]));
            return vec![head(None), bound(from, deletion), bound(to, None)];
        }
        2 => row.deletion = deletion,
        3 => row.cells = vec![(ColumnId(3), Cell::tombstone(write.timestamp, now))],
        4 => {
            row.liveness = Some(life);
            row.cells = vec![cell()];
        }
        5 => row.cells = vec![cell()],
        6 => row.complex = vec![Complex { column: ColumnId(9), deletion, cells: vec![] }],
        7 => {
            row.complex =
                vec![Complex { column: ColumnId(9), deletion: None, cells: vec![(place(1), cell().1)] }]
        }
        _ => {
            let row = Row { clustering: Clustering::EMPTY, cells: vec![(ColumnId(2), cell().1)], ..row };
            return vec![head(None), Fragment::Static(row)];
        }
    }
    vec![head(None), Fragment::Row(row)]
}

fn merge(sources: &[Vec<Fragment>]) -> Vec<Fragment> {
    let streams = sources.iter().map(|s| s.clone().into_iter().map(Ok));
    Merge::streams(streams).map(|f| f.unwrap()).collect()
}

/// What a reader sees: static and other rows, by place.
fn seen(sources: &[Vec<Fragment>], now: i64) -> BTreeMap<(bool, Clustering), Row> {
    let rows = merge(sources).into_iter().filter_map(|fragment| match fragment {
        Fragment::Static(row) => resolve(row, now).map(|row| ((false, row.clustering.clone()), row)),
        Fragment::Row(row) => resolve(row, now).map(|row| ((true, row.clustering.clone()), row)),
        _ => None,
    });
    rows.collect()
}

fn least_timestamp(source: &[Fragment]) -> Option<i64> {
    let of_row = |row: &Row| {
        let cells = row.all_cells().map(|c| c.timestamp);
        let deletions = row.deletion.iter().chain(row.complex.iter().flat_map(|c| &c.deletion));
        cells.chain(deletions.map(|d| d.timestamp)).chain(row.liveness.map(|l| l.timestamp)).min()
    };
    let times = source.iter().filter_map(|fragment| match fragment {
        Fragment::Partition { deletion, .. } => deletion.map(|d| d.timestamp),
        Fragment::Bound(bound) => bound.deletion.map(|d| d.timestamp),
        Fragment::Static(row) | Fragment::Row(row) => of_row(row),
    });
    times.min()
}

#[derive(Clone, Debug)]
enum Step {
    Write(Write),
    /// Compacts the sources whose bits are set.
    Compact(u32),
    Advance(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (0u8..9, 0u8..5, 0i64..12, prop_oneof![Just(0), 1i32..25])
        .prop_map(|(kind, ck, timestamp, ttl)| Step::Write(Write { kind, ck, timestamp, ttl }));
    let step = prop_oneof![
        4 => write,
        2 => any::<u32>().prop_map(Step::Compact),
        1 => (0i64..30).prop_map(Step::Advance),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Compactions of random subsets at random times never change what a reader sees, now or later. (All writes come
    /// first: a late write older than a purged tombstone is what gc_grace_seconds allows for.)
    #[test]
    fn no_compaction_is_ever_seen_by_a_reader(steps in steps()) {
        let schema = schema();
        let mut sources: Vec<Vec<Fragment>> = Vec::new();
        let mut now = 0;
        for step in &steps {
            if let Step::Write(write) = step {
                sources.push(source_of(*write, now));
                now += 1;
            }
        }
        let model = sources.clone();
        for step in &steps {
            match step {
                Step::Write(_) => continue,
                Step::Advance(seconds) => now += seconds,
                Step::Compact(bits) => {
                    let picked = |i: usize| bits >> (i % 32) & 1 == 1;
                    let (inputs, rest): (Vec<_>, Vec<_>) =
                        std::mem::take(&mut sources).into_iter().enumerate().partition(|(i, _)| picked(*i));
                    sources = rest.into_iter().map(|(_, s)| s).collect();
                    let inputs: Vec<_> = inputs.into_iter().map(|(_, s)| s).collect();
                    let outside = sources.iter().filter_map(|s| least_timestamp(s)).min();
                    let (left, _) = purge(&schema, now, outside, &merge(&inputs));
                    if !left.is_empty() {
                        sources.push(left);
                    }
                }
            }
            for later in [now, now + 5, now + 40] {
                prop_assert_eq!(seen(&sources, later), seen(&model, later), "at second {}", later);
            }
        }
    }

    /// While everything is within gc_grace_seconds, late writes are reconciled as if nothing had been compacted.
    #[test]
    fn within_grace_late_writes_meet_everything_they_would_have_met(steps in steps()) {
        let patient = TableOptions { gc_grace_seconds: 1_000_000, ..TableOptions::default() };
        let schema = schema().with_options(patient);
        let mut sources: Vec<Vec<Fragment>> = Vec::new();
        let mut model = Vec::new();
        let mut now = 0;
        for step in &steps {
            match step {
                Step::Write(write) => {
                    sources.push(source_of(*write, now));
                    model.push(source_of(*write, now));
                }
                Step::Advance(seconds) => now += seconds,
                Step::Compact(_) => sources = vec![purge(&schema, now, None, &merge(&sources)).0],
            }
            prop_assert_eq!(seen(&sources, now), seen(&model, now));
        }
    }
}
