//! Which files the size-tiered strategy picks.

use super::*;
use crate::compact::history::Record;
use crate::compact::purge::Purged;
use crate::compact::strategy::{major, pick as pick_all};
use crate::compact::testing::{MICROS, Table, card, inputs, options};
use crate::model::key::DecoratedKey;
use crate::model::token::Token;
use crate::sstable::drop_times::DropTimes;
use std::time::Duration;

const MIB: u64 = 1 << 20;
const CLASS: (&str, &str) = ("class", "SizeTieredCompactionStrategy");

fn table(sizes: &[u64]) -> Table {
    let files = sizes.iter().zip(1..).map(|(size, id)| card(id, *size, 0, 10)).collect();
    Table::new(options(&[CLASS]), files)
}

#[test]
fn files_bucket_by_the_average_and_small_ones_together() {
    let files: Vec<_> = [1, 3 * MIB, 49 * MIB, 100 * MIB, 120 * MIB, 149 * MIB, 400 * MIB]
        .into_iter()
        .zip(1..)
        .map(|(size, id)| Arc::new(card(id, size, 0, 1)))
        .collect();
    let found = buckets(&TieredOptions::default(), &files);
    let ids: Vec<Vec<u64>> = found.iter().map(|b| b.iter().map(|f| f.id.0).collect()).collect();
    assert_eq!(ids, [vec![1, 2, 3], vec![4, 5, 6], vec![7]]);
}

#[test]
fn four_files_of_a_size_are_merged_and_three_are_not() {
    assert!(pick_all(&table(&[MIB; 3]).input()).is_empty());
    let tasks = pick_all(&table(&[MIB; 4]).input());
    assert_eq!(inputs(&tasks), [[1, 2, 3, 4]]);
    assert_eq!(tasks[0].kind, TaskKind::Merge);
    assert_eq!(tasks[0].reason.to_string(), "4 files of about 1048576 bytes (min_threshold is 4)");
}

#[test]
fn the_fullest_bucket_comes_first_then_the_smaller_one() {
    let mut sizes = vec![60 * MIB; 4];
    sizes.extend([MIB; 4]);
    sizes.extend([1_000 * MIB; 5]);
    let tasks = pick_all(&table(&sizes).input());
    assert_eq!(inputs(&tasks), [vec![9, 10, 11, 12, 13], vec![5, 6, 7, 8], vec![1, 2, 3, 4]]);
}

#[test]
fn at_most_max_threshold_files_and_never_busy_ones() {
    let mut table = table(&[MIB; 40]);
    assert_eq!(inputs(&pick_all(&table.input()))[0].len(), 32);
    table.busy.extend((1..=37).map(FileId));
    assert!(pick_all(&table.input()).is_empty(), "three are left");
}

#[test]
fn switched_off_it_only_compacts_on_request() {
    let mut table = table(&[MIB; 8]);
    table.options = options(&[CLASS, ("enabled", "false")]);
    assert!(pick_all(&table.input()).is_empty());
    assert_eq!(inputs(&major(&table.input())), [(1..=8).collect::<Vec<_>>()]);
    table.files.clear();
    assert!(major(&table.input()).is_empty());
}

#[test]
fn many_flushes_leave_few_files_and_write_each_byte_few_times() {
    let mut table = table(&[]);
    for second in 0..4_096 {
        table.now = second;
        table.add(card(0, 64 * MIB, second, second));
        table.settle(20);
    }
    assert!(table.files.len() <= 18, "three of each of six tiers, found {}", table.files.len());
    let amplification = table.merged_bytes as f64 / (4_096.0 * (64 * MIB) as f64);
    assert!((4.0..=6.5).contains(&amplification), "log4(4096) = 6, found {amplification}");
}

/// A file of which `share` percent were deleted at second 1.
fn with_tombstones(id: u64, share: u64) -> FileMeta {
    let mut drop_times = DropTimes::default();
    drop_times.add(1, share);
    FileMeta { cells: 100 - share, tombstones: share, drop_times, ..card(id, MIB, 50, 60) }
}

#[test]
fn a_file_of_many_droppable_tombstones_is_compacted_alone_once_it_is_old() {
    let mut table = Table::new(options(&[CLASS]), vec![with_tombstones(1, 21)]);
    table.now = 60 + 86_399;
    assert!(pick_all(&table.input()).is_empty(), "too young");
    table.now += 1;
    let tasks = pick_all(&table.input());
    assert_eq!((tasks[0].kind, inputs(&tasks)), (TaskKind::Tombstones, vec![vec![1]]));
    table.files = vec![Arc::new(with_tombstones(1, 20))];
    assert!(pick_all(&table.input()).is_empty(), "exactly the threshold is not over it");
    table.files = vec![Arc::new(with_tombstones(1, 90))];
    table.gc_grace = 864_000;
    assert!(pick_all(&table.input()).is_empty(), "within gc_grace_seconds");
}

#[test]
fn older_overlapping_data_keeps_a_file_from_being_tried_unless_unchecked() {
    let older = card(2, 900 * MIB, 0, 5);
    let mut table = Table::new(options(&[CLASS]), vec![with_tombstones(1, 90), older.clone()]);
    table.now = 1_000_000;
    assert!(pick_all(&table.input()).is_empty());
    table.options = options(&[CLASS, ("unchecked_tombstone_compaction", "true")]);
    assert_eq!(inputs(&pick_all(&table.input())), [[1]]);

    // An older file over the lower half of the ring leaves the other half free; a newer one leaves all.
    table.options = options(&[CLASS]);
    let middle = DecoratedKey { token: Token(0), key: vec![1].into() };
    table.files[1] = Arc::new(FileMeta { last: middle, ..older });
    let tasks = pick_all(&table.input());
    let Reason::Droppable { ratio, .. } = tasks[0].reason else { panic!() };
    assert!((0.44..0.46).contains(&ratio), "{ratio}");
    table.files[1] = Arc::new(card(2, 900 * MIB, 61, 70));
    assert_eq!(inputs(&pick_all(&table.input())), [[1]]);
}

#[test]
fn a_rewrite_without_gain_is_not_repeated_within_the_interval() {
    let eager = [CLASS, ("tombstone_compaction_interval", "0"), ("unchecked_tombstone_compaction", "true")];
    let mut table = Table::new(options(&eager), vec![with_tombstones(1, 90), card(2, 900 * MIB, 0, 5)]);
    let mut rewrites = 0;
    for tick in 0..100 {
        table.now = 1_000_000 + tick;
        let Some(task) = pick_all(&table.input()).pop() else { continue };
        rewrites += 1;
        table.run(&task);
        let outputs = vec![FileId(table.next)];
        table.history.record(Record {
            task,
            outputs,
            bytes_read: 1,
            bytes_written: 1,
            rows_read: 1,
            rows_written: 1,
            blocks_copied: 0,
            purged: Purged { kept: 90, ..Purged::default() },
            ended: table.now,
            duration: Duration::ZERO,
            error: None,
        });
    }
    assert_eq!(rewrites, 1);
    assert_eq!(table.history.records().count(), 1);
    assert_eq!(table.files[1].created_micros, 1_000_000 * MICROS);
}
