//! Whole files: what was pushed comes back in every way of reading it.

mod copying;
mod damage;
mod example;
mod plain;
mod point;
mod sample;

use super::block::builder::FULL_ITEMS;
use super::cache::BlockCache;
use super::cursor::SsCursor;
use super::meta::{FileId, FileMeta};
use super::reader::SsTable;
use super::writer::{SsTableWriter, WriterOptions};
use crate::annotate::first_gap;
use crate::env::Env;
use crate::env::sim::SimDisk;
use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::model::token::Token;
use proptest::prelude::*;
use sample::{ranges, sensors, sensors_table, streams, table};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn path() -> PathBuf {
    PathBuf::from("data/0000000007.sst")
}

pub(super) fn disk() -> Arc<dyn Env> {
    let env = SimDisk::new(1).env();
    env.create_dir_all(Path::new("data")).unwrap();
    env
}

pub(super) fn write(env: &Arc<dyn Env>, table: &TableSchema, fragments: &[Fragment]) -> FileMeta {
    let options = WriterOptions::of(table, FileId(7), 1_000_000);
    let mut writer = SsTableWriter::create(Arc::clone(env), &path(), table, options).unwrap();
    fragments.iter().for_each(|fragment| writer.push(fragment).unwrap());
    writer.finish().unwrap().unwrap()
}

pub(super) fn open(env: &Arc<dyn Env>, meta: FileMeta) -> Arc<SsTable> {
    SsTable::open(Arc::clone(env), &path(), Arc::new(meta), Arc::new(BlockCache::new(1 << 20)))
}

pub(super) fn scan(table: &Arc<SsTable>, tokens: TokenRange) -> Result<Vec<Fragment>> {
    table.scan(tokens)?.collect()
}

/// The rows and bounds of each partition.
fn partitions(fragments: &[Fragment]) -> Vec<(DecoratedKey, Option<Deletion>, Vec<Fragment>)> {
    let mut out: Vec<(DecoratedKey, Option<Deletion>, Vec<Fragment>)> = Vec::new();
    for fragment in fragments {
        match fragment {
            Fragment::Partition { key, deletion } => out.push((key.clone(), *deletion, Vec::new())),
            other => out.last_mut().unwrap().2.push(other.clone()),
        }
    }
    out
}

/// What a cursor should yield, computed from all items.
fn expected(items: &[Fragment], range: &ClusteringRange, reverse: bool) -> Vec<Fragment> {
    let mut out = Vec::new();
    if range.is_empty() {
        return out;
    }
    let mut open = None;
    let mut before: Vec<(Fragment, Option<Deletion>)> = Vec::new();
    let mut at_start = None;
    for item in items {
        match item {
            Fragment::Row(row) if range.contains(row.clustering.order()) => before.push((item.clone(), open)),
            Fragment::Bound(bound) => {
                if bound.at <= range.start {
                    at_start = bound.deletion;
                } else if bound.at < range.end {
                    before.push((item.clone(), open));
                }
                if bound.at < range.end {
                    open = bound.deletion;
                }
            }
            _ => {}
        }
    }
    let bound = |at: &Bound, deletion| Fragment::Bound(RangeBound { at: at.clone(), deletion });
    let at_end = open;
    if reverse {
        out.extend(at_end.map(|deletion| bound(&range.end, Some(deletion))));
        for (item, open) in before.iter().rev() {
            out.push(match item {
                Fragment::Bound(own) => bound(&own.at, *open),
                other => other.clone(),
            });
        }
        out.extend(at_start.map(|_| bound(&range.start, None)));
    } else {
        out.extend(at_start.map(|deletion| bound(&range.start, Some(deletion))));
        out.extend(before.into_iter().map(|(item, _)| item));
        out.extend(at_end.map(|_| bound(&range.end, None)));
    }
    out
}

fn collect(mut cursor: SsCursor) -> Vec<Fragment> {
    std::iter::from_fn(|| SsCursor::next(&mut cursor).unwrap()).collect()
}

/// Rows of a cursor read in runs, with the range deletion in force at each.
fn collect_runs(mut cursor: SsCursor, reverse: bool) -> Vec<(Fragment, Option<Deletion>)> {
    let mut out = Vec::new();
    while let Some(run) = cursor.next_run().unwrap() {
        let mut open = run.open;
        let items: Vec<_> = if reverse { run.items.rev().collect() } else { run.items.collect() };
        let projection = crate::sstable::block::rows::Projection::all(run.block.schema());
        for i in items {
            if run.block.kind(i) == crate::sstable::block::decoded::ItemKind::Bound {
                let p = run.block.partition_of(i);
                open = match reverse {
                    true => run.block.deletion_before(p, i).unwrap(),
                    false => run.block.bound(i).unwrap().deletion,
                };
            } else {
                out.push((Fragment::Row(run.block.to_row(i, &projection).unwrap()), open));
            }
        }
    }
    out
}

/// Rows of a stream with the range deletion in force, by its bounds in the direction of reading.
fn rows_with_deletions(fragments: &[Fragment]) -> Vec<(Fragment, Option<Deletion>)> {
    let mut open = None;
    let mut out = Vec::new();
    for fragment in fragments {
        match fragment {
            Fragment::Bound(bound) => open = bound.deletion,
            row => out.push((row.clone(), open)),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn what_was_pushed_comes_back(fragments in streams(), tokens in any::<[i64; 2]>()) {
        prop_assume!(!fragments.is_empty());
        let (env, schema) = (disk(), table());
        let meta = write(&env, &schema, &fragments);
        let file = open(&env, meta.clone());
        prop_assert_eq!(&scan(&file, TokenRange::ALL).unwrap(), &fragments);
        let verified = file.verify().unwrap();
        let keys: Vec<_> = partitions(&fragments);
        prop_assert_eq!(verified.partitions, keys.len() as u64);
        prop_assert_eq!(meta.partitions, keys.len() as u64);
        let rows = fragments.iter().filter(|f| matches!(f, Fragment::Row(_) | Fragment::Static(_))).count() as u64;
        prop_assert_eq!((meta.rows, verified.rows), (rows, rows));
        prop_assert_eq!(meta.has_partition_deletion, keys.iter().any(|key| key.1.is_some()));
        prop_assert_eq!(&file.stored_schema().unwrap(), &schema);
        let annotations = file.dump().unwrap();
        prop_assert_eq!(first_gap(&annotations, 0, meta.size_bytes), None);
        let alone = SsTable::open_alone(Arc::clone(&env), &path(), Arc::new(BlockCache::new(0))).unwrap();
        prop_assert_eq!(&**alone.meta(), &meta);
        prop_assert_eq!(file.statistics().unwrap().partition_items.total(), keys.len() as u64);
        let tokens = TokenRange { first: Token(tokens[0].min(tokens[1])), last: Token(tokens[0].max(tokens[1])) };
        let mut inside = false;
        let part: Vec<_> = fragments.iter().filter(|fragment| {
            if let Fragment::Partition { key, .. } = fragment {
                inside = tokens.contains(key.token);
            }
            inside
        }).cloned().collect();
        prop_assert_eq!(scan(&file, tokens).unwrap(), part);
    }

    #[test]
    fn cursors_find_what_a_filter_of_all_items_finds(
        fragments in streams(),
        ranges in prop::collection::vec(ranges(), 1..12),
    ) {
        prop_assume!(!fragments.is_empty());
        let env = disk();
        let meta = write(&env, &table(), &fragments);
        let file = open(&env, meta);
        for (key, deletion, items) in partitions(&fragments) {
            prop_assert!(file.may_contain(&key).unwrap());
            let partition = file.partition(&key).unwrap().expect("was pushed");
            prop_assert_eq!(partition.deletion(), deletion);
            let row = items.iter().find_map(|item| if let Fragment::Static(row) = item { Some(row.clone()) } else { None });
            prop_assert_eq!(partition.static_row().unwrap(), row);
            for range in ranges.iter().chain([&ClusteringRange::all()]) {
                for reverse in [false, true] {
                    let wanted = expected(&items, range, reverse);
                    let found = collect(partition.cursor(range, reverse).unwrap());
                    prop_assert_eq!(&found, &wanted, "{:?} reverse {}", range, reverse);
                    let runs = collect_runs(partition.cursor(range, reverse).unwrap(), reverse);
                    prop_assert_eq!(runs, rows_with_deletions(&wanted));
                }
            }
        }
        for absent in 300..340i32 {
            prop_assert!(file.partition(&DecoratedKey::new(&absent.to_be_bytes())).unwrap().is_none());
        }
    }
}

#[test]
fn a_time_series_takes_under_five_bytes_a_row_index_included() {
    let (env, schema) = (disk(), sensors_table());
    let fragments = sensors(4, 10_000);
    let meta = write(&env, &schema, &fragments);
    let each = meta.size_bytes as f64 / 40_000.0;
    assert!(each < 5.2, "{each} bytes a row");
    let file = open(&env, meta);
    let blocks: Vec<_> = file.blocks().unwrap().collect::<Result<_>>().unwrap();
    let data: u64 = blocks.iter().map(|block| u64::from(block.length)).sum();
    let index = (file.meta().size_bytes - data) as f64 / blocks.len() as f64;
    assert!(index < 220.0, "{index} bytes beside each block");
    file.verify().unwrap();
}

#[test]
fn zone_maps_answer_for_whole_blocks_and_skipped_ones_are_not_read() {
    let (env, schema) = (disk(), sensors_table());
    let fragments = sensors(1, 5000);
    let file = open(&env, write(&env, &schema, &fragments));
    let key = file.meta().first.clone();
    let partition = file.partition(&key).unwrap().unwrap();
    let mut cursor = partition.cursor(&ClusteringRange::all(), false).unwrap();
    let mut rows = 0;
    while let Some((entry, whole)) = cursor.peek_block().unwrap() {
        assert!(whole);
        rows += entry.summary.rows;
        cursor.pass_block().unwrap();
    }
    assert_eq!(rows, 5000);
    let before = file.blocks().unwrap().count();
    assert_eq!(before, 5);
    let mut cursor = partition.cursor(&ClusteringRange::all(), true).unwrap();
    let limit = 1_700_000_000_000_000 + 2_000_000_000;
    cursor.skip_blocks(Box::new(move |entry| entry.zone().min_timestamp > limit));
    let found = collect(cursor);
    assert_eq!(found.len(), 2048, "two of five blocks begin before the limit");
}

#[test]
fn a_static_row_is_found_at_the_end_of_a_block_before_a_deletion_from_the_bottom() {
    let schema = table();
    let mut keys = [1i32, 2].map(|n| DecoratedKey::new(&n.to_be_bytes()));
    keys.sort();
    let row = |c1| {
        let mut row = Row::new(Clustering::new(sample::prefix(c1, Some(1)).into()));
        row.liveness = Some(Liveness::new(1));
        row
    };
    let mut fixed = Row::new(Clustering::default());
    fixed.cells.push((sample::id("s"), Cell::live(Liveness::new(7), Bytes::new(b"kept"))));
    let bound = |at, deletion| Fragment::Bound(RangeBound { at, deletion });
    let mut boundaries = 0;
    for rows in FULL_ITEMS as i32 - 4..FULL_ITEMS as i32 + 2 {
        let env = disk();
        let mut fragments = vec![Fragment::Partition { key: keys[0].clone(), deletion: None }];
        fragments.extend((0..rows).map(|c1| Fragment::Row(row(c1))));
        let deletion = Some(Deletion::new(5, 6));
        fragments.push(Fragment::Partition { key: keys[1].clone(), deletion });
        fragments.push(Fragment::Static(fixed.clone()));
        fragments.push(bound(Bound::bottom(), Some(Deletion::new(6, 7))));
        fragments.push(bound(Bound::before(&sample::prefix(9, None)), None));
        fragments.push(Fragment::Row(row(10)));
        let file = open(&env, write(&env, &schema, &fragments));
        boundaries += usize::from(file.blocks().unwrap().any(|block| {
            let block = block.unwrap();
            block.continues && block.summary.first == Bound::bottom()
        }));
        let partition = file.partition(&keys[1]).unwrap().unwrap();
        assert_eq!(partition.static_row().unwrap(), Some(fixed.clone()), "behind {rows} rows");
        assert_eq!(partition.deletion(), deletion);
        let items = &fragments[fragments.len() - 3..];
        for reverse in [false, true] {
            let found = collect(partition.cursor(&ClusteringRange::all(), reverse).unwrap());
            assert_eq!(
                rows_with_deletions(&found),
                rows_with_deletions(&expected(items, &ClusteringRange::all(), reverse))
            );
        }
    }
    assert_eq!(boundaries, 1, "one of these files has a block that begins with the deletion");
}

#[test]
fn streams_out_of_order_are_refused_and_leave_no_file() {
    let (env, schema) = (disk(), table());
    let key = |n: i32| DecoratedKey::new(&n.to_be_bytes());
    let mut keys = [key(1), key(2)];
    keys.sort();
    let row = |c1| {
        Fragment::Row(Row {
            liveness: Some(Liveness::new(1)),
            ..Row::new(Clustering::new(sample::prefix(c1, Some(1)).into()))
        })
    };
    let part = |n: usize| Fragment::Partition { key: keys[n].clone(), deletion: None };
    let bound =
        |c1, deletion| Fragment::Bound(RangeBound { at: Bound::before(&sample::prefix(c1, None)), deletion });
    let open = Some(Deletion::new(1, 1));
    for bad in [
        vec![row(1)],
        vec![part(1), row(1), part(0)],
        vec![part(0), row(1), part(0)],
        vec![part(0), row(2), row(1)],
        vec![part(0), row(2), row(2)],
        vec![part(0), row(2), bound(2, open)],
        vec![part(0), row(2), Fragment::Static(Row::default())],
        vec![part(0), bound(2, open), part(1)],
    ] {
        let options = WriterOptions::of(&schema, FileId(1), 0);
        let mut writer = SsTableWriter::create(Arc::clone(&env), &path(), &schema, options).unwrap();
        let failed = bad.iter().any(|fragment| writer.push(fragment).is_err());
        assert!(failed, "{bad:?}");
        assert!(writer.push(&part(1)).is_err(), "used after an error");
        drop(writer);
        assert!(env.list_dir(Path::new("data")).unwrap().is_empty());
    }
}

#[test]
fn nothing_pushed_is_no_file_and_an_obsolete_file_goes_with_its_last_handle() {
    let (env, schema) = (disk(), table());
    let options = WriterOptions::of(&schema, FileId(1), 0);
    let mut writer = SsTableWriter::create(Arc::clone(&env), &path(), &schema, options).unwrap();
    writer.push(&Fragment::Partition { key: DecoratedKey::new(b"0000"), deletion: None }).unwrap();
    assert_eq!(writer.finish().unwrap(), None);
    assert!(env.list_dir(Path::new("data")).unwrap().is_empty());
    let deleted =
        Fragment::Partition { key: DecoratedKey::new(&[0; 4]), deletion: Some(Deletion::new(5, 6)) };
    let meta = write(&env, &schema, &[deleted]);
    assert_eq!((meta.min_timestamp, meta.min_local, meta.max_local), (5, 6, 6));
    assert_ne!(meta.max_local, NEVER);
    assert!(meta.fully_expired(7));
    let file = open(&env, meta);
    let partition = file.partition(&DecoratedKey::new(&[0; 4])).unwrap().unwrap();
    file.mark_obsolete();
    drop(file);
    assert!(env.exists(&path()).unwrap());
    assert_eq!(partition.deletion(), Some(Deletion::new(5, 6)));
    drop(partition);
    assert!(!env.exists(&path()).unwrap());
}
