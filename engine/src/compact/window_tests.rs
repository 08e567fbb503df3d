//! Which windows are compacted, and when.

use super::*;
use crate::compact::strategy::{major as major_all, pick as pick_all};
use crate::compact::testing::{Table, card, expiring, inputs, options};
use crate::sstable::meta::FileId;

const MIB: u64 = 1 << 20;
const DAY: i64 = 86_400;
const HOUR: i64 = 3_600;

fn table(files: Vec<FileMeta>) -> Table {
    let pairs = [
        ("class", "TimeWindowCompactionStrategy"),
        ("compaction_window_unit", "HOURS"),
        ("compaction_window_size", "1"),
    ];
    Table::new(options(&pairs), files)
}

#[test]
fn the_newest_window_with_data_is_compacted_by_size() {
    let files = |n| (1..=n).map(|id| card(id, MIB, 10 * HOUR, 10 * HOUR + 9)).collect();
    let mut table = table(files(3));
    table.now = 1_000 * HOUR;
    assert!(pick_all(&table.input()).is_empty(), "imported history: the clock closes nothing");
    table.files = files(4).into_iter().map(Arc::new).collect();
    let tasks = pick_all(&table.input());
    assert_eq!(inputs(&tasks), [[1, 2, 3, 4]]);
    assert!(
        tasks[0].reason.to_string().ends_with("in the active window from second 36000"),
        "{}",
        tasks[0].reason
    );
}

#[test]
fn a_closed_window_becomes_one_file_and_is_then_left_alone() {
    let files = vec![
        card(1, 900 * MIB, HOUR, HOUR + 9),
        card(2, MIB, HOUR + 10, 2 * HOUR - 1),
        card(3, MIB, 2 * HOUR, 2 * HOUR + 1),
    ];
    let mut table = table(files);
    table.now = 2 * HOUR + 1;
    let tasks = pick_all(&table.input());
    assert_eq!(inputs(&tasks), [[2, 1]]);
    assert_eq!(tasks[0].reason.to_string(), "the window from second 3600 is closed and has 2 files");
    table.settle(1);
    assert_eq!(table.files.len(), 2);
}

#[test]
fn after_an_alter_every_closed_window_is_compacted_at_once() {
    let mut files: Vec<_> =
        (0..8).map(|i| card(i + 1, MIB, (i as i64 / 4) * HOUR, (i as i64 / 4) * HOUR + 5)).collect();
    files.push(card(9, MIB, 5 * HOUR, 5 * HOUR));
    let mut table = table(files);
    table.now = 5 * HOUR;
    assert_eq!(inputs(&pick_all(&table.input())), [[5, 6, 7, 8], [1, 2, 3, 4]]);
    table.settle(2);
    assert_eq!(table.files.len(), 3);
}

#[test]
fn a_crowded_window_is_closed_in_steps_of_the_smallest_files() {
    let mut files: Vec<_> = (1..=40).map(|id| card(id, 1_000 - id, 0, 5)).collect();
    files.push(card(99, MIB, HOUR, HOUR));
    let mut table = table(files);
    table.now = HOUR;
    assert_eq!(inputs(&pick_all(&table.input()))[0], (9..=40).rev().collect::<Vec<_>>());
    table.settle(2);
    assert_eq!(table.files.len(), 2);
}

#[test]
fn data_from_the_future_neither_stalls_nor_closes_the_present() {
    let mut files: Vec<_> = (1..=3).map(|id| card(id, MIB, 10 * HOUR, 10 * HOUR + 9)).collect();
    files.push(card(7, MIB, 10 * HOUR + 7 * DAY, 10 * HOUR + 7 * DAY));
    let mut table = table(files);
    table.now = 10 * HOUR + 10;
    assert!(pick_all(&table.input()).is_empty(), "the clock's window is still active");
    table.now = 11 * HOUR;
    assert_eq!(inputs(&pick_all(&table.input())), [[1, 2, 3]], "and then it closes");
    table.settle(1);
    assert!(table.files.iter().any(|f| f.id == FileId(7)), "the future is its own window");
}

#[test]
fn files_over_several_windows_are_split_first_and_come_to_rest() {
    let mut table = table(vec![card(1, 40 * MIB, 0, 5 * HOUR), card(2, MIB, HOUR, HOUR + 5)]);
    table.now = 5 * HOUR;
    let tasks = pick_all(&table.input());
    assert_eq!((inputs(&tasks), tasks.len()), (vec![vec![1]], 1));
    assert!(matches!(tasks[0].kind, TaskKind::Split(_)));
    table.settle(10);
    assert_eq!(table.files.len(), 6, "one file a window");
}

#[test]
fn on_request_each_window_becomes_one_file() {
    let mut table = table(vec![
        card(1, MIB, 0, 5),
        card(2, MIB, 1, 6),
        card(3, MIB, HOUR, HOUR),
        card(4, MIB, HOUR, HOUR + 1),
        card(5, MIB, HOUR - 1, HOUR),
    ]);
    table.now = HOUR + 2;
    table.busy.insert(FileId(3));
    assert_eq!(inputs(&major_all(&table.input())), [vec![5], vec![1, 2], vec![4]]);
}

#[test]
fn single_files_are_compacted_for_their_tombstones_only_if_asked_for() {
    let mut file = card(1, MIB, 0, 5);
    file.drop_times.add(1, 90);
    let mut table = table(vec![file]);
    table.now = 10 * DAY;
    assert!(pick_all(&table.input()).is_empty());
    let asked = [("class", "TimeWindowCompactionStrategy"), ("tombstone_threshold", "0.2")];
    table.options = options(&asked);
    assert_eq!(pick_all(&table.input())[0].kind, TaskKind::Tombstones);
}

#[test]
fn a_year_of_sensors_keeps_one_file_a_window_and_drops_expired_ones() {
    let ttl = 30 * DAY;
    let mut table = table(Vec::new());
    table.options = options(&[
        ("class", "TimeWindowCompactionStrategy"),
        ("compaction_window_unit", "DAYS"),
        ("compaction_window_size", "1"),
    ]);
    table.gc_grace = DAY as u32;
    let mut dropped = 0;
    for flush in 0..365 * 12 {
        let from = flush * 2 * HOUR;
        let to = from + 2 * HOUR - 1;
        table.now = to;
        table.add(expiring(0, 64 * MIB, from, to, ttl));
        if flush % 20 == 7 && from > 3 * DAY {
            // Late readings, of which the flush made a file in their own window. They expire later than that window.
            let late = from - 2 * DAY;
            let file = expiring(0, MIB, late, late, ttl);
            table.add(FileMeta { max_local: to + ttl, ..file });
        }
        while let Some(task) = pick_all(&table.input()).into_iter().next() {
            if task.kind == TaskKind::DropExpired {
                dropped += task.inputs.len();
            }
            table.run(&task);
        }
        let today = to / DAY;
        let mut windows: Vec<_> = table.files.iter().map(|f| f.max_timestamp / 1_000_000 / DAY).collect();
        windows.sort_unstable();
        let active = windows.iter().filter(|w| **w == today).count();
        assert!(active <= 9, "{active} files in the active window");
        windows.retain(|w| *w < today);
        assert!(windows.windows(2).all(|pair| pair[0] < pair[1]), "one file a closed window: {windows:?}");
        // TTL, grace, the length of a window, and two days for late readings that the window took in.
        let oldest = windows.first().copied().unwrap_or(today);
        assert!(today - oldest <= 34, "window {oldest} is still there in window {today}");
    }
    assert!((329..=334).contains(&dropped), "{dropped} windows expired");
    let flushed = 365 * 12 * 64 * MIB;
    let amplification = table.merged_bytes as f64 / flushed as f64;
    assert!(amplification < 3.0, "by size, to close, and for late readings; found {amplification}");
}
