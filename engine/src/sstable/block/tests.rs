//! Whole blocks: whatever the model can say goes in and comes out, places are found, runs are copied, damage is noticed.

mod damage;
mod example;
mod sample;

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;

use crate::encoding::compress::Codec;
use crate::model::clustering::Bound;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::row::Row;
use crate::sstable::block::builder::BlockBuilder;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::block::seek::SeekBound;
use crate::sstable::block::summary::{BlockSummary, ColumnZone, Zone};
use crate::sstable::layout::BlockSchema;
use sample::{Sample, samples};

fn push(builder: &mut BlockBuilder, fragment: &Fragment) {
    match fragment {
        Fragment::Partition { key, deletion } => builder.begin_partition(&key.key, *deletion),
        Fragment::Static(row) => builder.push_static(row),
        Fragment::Row(row) => builder.push_row(row),
        Fragment::Bound(bound) => builder.push_bound(bound),
    }
    .unwrap();
}

fn build(sample: &Sample, codec: Codec) -> (Vec<u8>, BlockSummary) {
    let mut builder = BlockBuilder::new(sample.schema.clone(), codec);
    // Twice, since a builder is used again for the next block.
    let mut first = Vec::new();
    for _ in 0..2 {
        first.clear();
        sample.fragments.iter().for_each(|fragment| push(&mut builder, fragment));
        builder.finish(&mut first, sample.open.is_some(), sample.open).unwrap();
    }
    let mut second = vec![1, 2, 3];
    sample.fragments.iter().for_each(|fragment| push(&mut builder, fragment));
    let summary = builder.finish(&mut second, sample.open.is_some(), sample.open).unwrap();
    assert_eq!(second.split_off(3), first, "the same contents give the same bytes");
    (first, summary)
}

fn open(bytes: &[u8], schema: &Arc<BlockSchema>) -> crate::error::Result<DecodedBlock> {
    DecodedBlock::open(Box::new(bytes.to_vec()), schema.clone())
}

fn read(block: &DecodedBlock) -> crate::error::Result<Vec<Fragment>> {
    let projection = Projection::all(block.schema());
    let mut fragments = Vec::new();
    for p in 0..block.partitions() {
        let partition = block.partition(p);
        let key = DecoratedKey::new(partition.key);
        fragments.push(Fragment::Partition { key, deletion: partition.deletion });
        for i in partition.items {
            assert_eq!(block.partition_of(i), p);
            fragments.push(match block.kind(i) {
                ItemKind::Row => Fragment::Row(block.to_row(i, &projection)?),
                ItemKind::Static => Fragment::Static(block.to_row(i, &projection)?),
                ItemKind::Bound => Fragment::Bound(block.bound(i)?),
            });
        }
    }
    Ok(fragments)
}

/// Equality that looks at the raw values of clusterings too, which `==` does not.
fn assert_same(found: &[Fragment], expected: &[Fragment]) {
    let raws = |fragments: &[Fragment]| {
        let mut raws = Vec::new();
        for fragment in fragments {
            if let Fragment::Row(row) | Fragment::Static(row) = fragment {
                raws.push(row.clustering.raw().map(<[u8]>::to_vec));
                let paths = row.complex.iter().flat_map(|complex| &complex.cells);
                raws.extend(paths.map(|(path, _)| path.raw().map(<[u8]>::to_vec)));
            }
        }
        raws
    };
    assert_eq!(found, expected);
    assert_eq!(raws(found), raws(expected));
}

/// The zone of fragments, computed the plain way.
fn zone_of(sample: &Sample) -> Zone {
    let mut zone = Zone::default();
    let life = |zone: &mut Zone, life: Liveness| {
        zone.min_timestamp = zone.min_timestamp.min(life.timestamp);
        zone.max_timestamp = zone.max_timestamp.max(life.timestamp);
        if life.ttl != 0 {
            zone.min_local = zone.min_local.min(life.expiry);
        }
        zone.max_local = zone.max_local.max(if life.ttl == 0 { NEVER } else { life.expiry });
    };
    let deletion = |zone: &mut Zone, deletion: Deletion| {
        life(zone, Liveness { timestamp: deletion.timestamp, ttl: 1, expiry: deletion.local });
    };
    sample.open.into_iter().for_each(|open| {
        zone.range_tombstones += 1;
        deletion(&mut zone, open);
    });
    for fragment in &sample.fragments {
        let row = match fragment {
            Fragment::Partition { deletion: found, .. } => {
                zone.partition_tombstones += u64::from(found.is_some());
                found.iter().for_each(|found| deletion(&mut zone, *found));
                continue;
            }
            Fragment::Bound(bound) => {
                zone.range_tombstones += u64::from(bound.deletion.is_some());
                bound.deletion.iter().for_each(|found| deletion(&mut zone, *found));
                continue;
            }
            Fragment::Static(row) => {
                zone.static_rows += 1;
                row
            }
            Fragment::Row(row) => row,
        };
        row.liveness.iter().for_each(|found| life(&mut zone, *found));
        zone.row_tombstones += u64::from(row.deletion.is_some());
        row.deletion.iter().for_each(|found| deletion(&mut zone, *found));
        for complex in &row.complex {
            zone.complex_tombstones += u64::from(complex.deletion.is_some());
            complex.deletion.iter().for_each(|found| deletion(&mut zone, *found));
        }
        for cell in row.all_cells() {
            zone.cells += 1;
            if cell.is_tombstone() {
                zone.cell_tombstones += 1;
                deletion(&mut zone, Deletion::new(cell.timestamp, cell.local));
            } else {
                life(&mut zone, cell.life());
            }
        }
    }
    zone
}

fn check_summary(sample: &Sample, summary: &BlockSummary) {
    let expiring = summary.zone.expiring;
    assert_eq!(summary.zone, Zone { expiring, ..zone_of(sample) });
    let expiring_life = |row: &Row| {
        row.liveness.is_some_and(|life| life.is_expiring())
            || row.all_cells().any(|cell| cell.value.is_some() && cell.is_expiring())
    };
    let any = sample
        .fragments
        .iter()
        .any(|f| matches!(f, Fragment::Row(row) | Fragment::Static(row) if expiring_life(row)));
    assert_eq!(expiring > 0, any);
    let rows =
        || sample.fragments.iter().filter_map(|f| if let Fragment::Row(row) = f { Some(row) } else { None });
    assert_eq!(summary.rows, rows().count());
    let partitions = sample.fragments.iter().filter(|f| matches!(f, Fragment::Partition { .. })).count();
    assert_eq!(summary.partitions, partitions);
    assert_eq!(summary.items, sample.fragments.len() - partitions);
    for (slot, zone) in &summary.columns {
        {
            let (ColumnZone::Ints { count, .. } | ColumnZone::Floats { count, .. }) = zone;
            let id = sample.schema.columns()[*slot].id;
            let has_value =
                |row: &&Row| row.cell(id).is_some_and(|c| c.value.as_ref().is_some_and(|v| !v.is_empty()));
            let statics = sample
                .fragments
                .iter()
                .filter_map(|f| if let Fragment::Static(row) = f { Some(row) } else { None });
            assert_eq!(*count, rows().chain(statics).filter(has_value).count() as u64);
        }
    }
}

/// How an item stands to a bound, by the model's own comparisons.
fn standing(fragment: &Fragment, bound: &Bound) -> Ordering {
    match fragment {
        Fragment::Row(row) => bound.cmp_row(row.clustering.order()).reverse(),
        Fragment::Bound(own) => own.at.cmp(bound),
        _ => Ordering::Less,
    }
}

fn check_seeks(block: &DecodedBlock, sample: &Sample, fragments: &[Fragment]) {
    let items: Vec<_> = fragments.iter().filter(|f| !matches!(f, Fragment::Partition { .. })).collect();
    for bound in &sample.bounds {
        let sought = SeekBound::new(block.schema(), bound).unwrap();
        for p in 0..block.partitions() {
            let range = block.partition(p).items;
            let expected =
                range.clone().find(|&i| standing(items[i], bound) != Ordering::Less).unwrap_or(range.end);
            assert_eq!(block.seek(range, &sought).unwrap(), expected);
        }
    }
}

fn check_deletions(block: &DecodedBlock, sample: &Sample, fragments: &[Fragment]) {
    let (mut p, mut i, mut open) = (0usize, 0, None);
    for fragment in fragments {
        if let Fragment::Partition { .. } = fragment {
            open = if p == 0 { sample.open } else { None };
            p += 1;
            continue;
        }
        assert_eq!(block.deletion_before(p - 1, i).unwrap(), open);
        if let Fragment::Bound(bound) = fragment {
            open = bound.deletion;
        }
        i += 1;
    }
}

/// Copies the block in runs of `run` items; what comes out must be what went in, summary included.
fn check_copy(block: &DecodedBlock, sample: &Sample, run: usize, summary: &BlockSummary, bytes: &[u8]) {
    let mut builder = BlockBuilder::new(sample.schema.clone(), Codec::Lz4);
    for p in 0..block.partitions() {
        let partition = block.partition(p);
        builder.begin_partition(partition.key, partition.deletion).unwrap();
        let mut start = partition.items.start;
        while start < partition.items.end {
            let end = (start + run).min(partition.items.end);
            builder.push_rows_from(block, start..end).unwrap();
            start = end;
        }
    }
    let mut copy = Vec::new();
    let copied = builder.finish(&mut copy, sample.open.is_some(), sample.open).unwrap();
    assert_eq!(format!("{copied:?}"), format!("{summary:?}"), "as text, since NaN is not equal to itself");
    assert!(copy == bytes, "the copy differs from the block");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn whatever_the_model_says_comes_back(sample in samples(), run in 1usize..20, lz4: bool) {
        let (bytes, summary) = build(&sample, if lz4 { Codec::Lz4 } else { Codec::None });
        let block = open(&bytes, &sample.schema).unwrap();
        let fragments = read(&block).unwrap();
        assert_same(&fragments, &sample.fragments);
        prop_assert_eq!(block.open_deletion(), sample.open);
        check_summary(&sample, &summary);
        check_seeks(&block, &sample, &fragments);
        check_deletions(&block, &sample, &fragments);
        if lz4 {
            check_copy(&block, &sample, run, &summary, &bytes);
        }
    }

    #[test]
    fn a_projection_gives_the_wanted_columns_alone(sample in samples(), wanted: u16) {
        let (bytes, _) = build(&sample, Codec::Lz4);
        let block = open(&bytes, &sample.schema).unwrap();
        let all = read(&block).unwrap();
        let ids: Vec<_> = sample.schema.columns().iter().map(|c| c.id).filter(|id| wanted >> (id.0 % 16) & 1 == 1).collect();
        let projection = Projection::of(&sample.schema, &ids);
        let items = all.iter().filter(|f| !matches!(f, Fragment::Partition { .. }));
        for (i, fragment) in items.enumerate() {
            if let Fragment::Row(row) | Fragment::Static(row) = fragment {
                let mut expected = row.clone();
                expected.cells.retain(|(id, _)| ids.contains(id));
                expected.complex.retain(|complex| ids.contains(&complex.column));
                prop_assert_eq!(block.to_row(i, &projection).unwrap(), expected);
            }
        }
    }
}

#[test]
fn a_builder_says_when_it_is_full_and_refuses_what_does_not_fit() {
    let sample = sample::sensors(3000);
    let mut builder = BlockBuilder::new(sample.schema.clone(), Codec::Lz4);
    assert!(builder.push_row(&Row::default()).is_err(), "no partition yet");
    let mut builder = BlockBuilder::new(sample.schema.clone(), Codec::Lz4);
    let mut pushed = 0;
    for fragment in &sample.fragments {
        push(&mut builder, fragment);
        if builder.is_full() {
            break;
        }
        pushed += 1;
    }
    assert_eq!(pushed, 1024, "a partition and 1023 rows are not full yet");
    let mut bad = sample
        .fragments
        .iter()
        .find_map(|f| if let Fragment::Row(row) = f { Some(row.clone()) } else { None })
        .unwrap();
    bad.cells[0].0 = crate::model::cell::ColumnId(77);
    assert!(builder.push_row(&bad).unwrap_err().message().contains("column 77"));
    assert!(BlockBuilder::new(sample.schema, Codec::Lz4).finish(&mut Vec::new(), false, None).is_err());
}

#[test]
fn plain_rows_are_known_without_decoding_and_columns_are_slices() {
    let sample = sample::sensors(1000);
    let (bytes, summary) = build(&sample, Codec::Lz4);
    let block = open(&bytes, &sample.schema).unwrap();
    assert!(block.all_rows_marked() && !block.has_row_ttls() && block.has_no_deletions());
    let temperature = block.double_column(0).unwrap().unwrap();
    assert!(block.column(0).unwrap().is_dense() && temperature.len() == 1000);
    assert_eq!(block.int_column(3).unwrap().unwrap().len(), 1000);
    assert_eq!(block.int_column(0).unwrap(), None);
    let Some((3, ColumnZone::Ints { count: 1000, min, max, sum })) = summary.columns.last() else {
        panic!("{summary:?}")
    };
    let status = block.int_column(3).unwrap().unwrap();
    assert_eq!((min, max), (status.iter().min().unwrap(), status.iter().max().unwrap()));
    assert_eq!(*sum, status.iter().map(|&s| i128::from(s)).sum::<i128>());
    assert!(bytes.len() < 6 * 1000, "about five bytes a row, not {}", bytes.len());
    let before = block.memory_bytes();
    block.lives().unwrap();
    assert!(block.memory_bytes() >= before + 8000);
}
