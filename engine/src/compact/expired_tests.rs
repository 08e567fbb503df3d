//! Which files may go whole, and what keeps the others.

use super::*;
use crate::compact::strategy::pick;
use crate::compact::task::TaskKind;
use crate::compact::testing::{MICROS, Table, card, expiring, options};
use crate::model::clustering::ClusteringRange;
use crate::model::key::DecoratedKey;
use crate::model::token::Token;

fn find_in(files: &[FileMeta], now: i64) -> Expired {
    let files: Vec<_> = files.iter().cloned().map(Arc::new).collect();
    find(&files, &BTreeSet::new(), None, now, 10, false)
}

fn droppable(files: &[FileMeta], now: i64) -> Vec<u64> {
    find_in(files, now).droppable.iter().map(|id| id.0).collect()
}

#[test]
fn a_file_goes_a_grace_period_after_its_last_expiry_not_its_first() {
    // Written at seconds 0..=100, with a TTL of 1000: the last thing expires at 1100, and grace is 10.
    let file = expiring(1, 1, 0, 100, 1_000);
    assert!(droppable(std::slice::from_ref(&file), 1_110).is_empty());
    assert_eq!(droppable(&[file], 1_111), [1]);
    assert!(droppable(&[card(1, 1, 0, 100)], i64::MAX).is_empty(), "something in it lives for ever");
}

#[test]
fn what_it_may_hide_keeps_it_and_is_named_with_the_time_it_frees() {
    let file = expiring(1, 1, 50, 100, 10);
    let older = expiring(2, 1, 100, 5_000, 10_000);
    let found = find_in(&[file.clone(), older], 2_000);
    assert!(found.droppable.is_empty());
    let by = Blocker::File { id: FileId(2), min_timestamp: 100 * MICROS };
    let expected = Blocked { file: FileId(1), max_timestamp: 100 * MICROS, by, frees_at: Some(15_011) };
    assert_eq!(found.blocked, std::slice::from_ref(&expected));
    let text = expected.to_string();
    assert!(text.contains("file 2 holds data") && text.ends_with("free from second 15011 on"), "{text}");
    // At that very second it is free, and both go.
    assert_eq!(droppable(&[file.clone(), expiring(2, 1, 100, 5_000, 10_000)], 15_011), [1, 2]);

    assert_eq!(droppable(&[file.clone(), card(2, 1, 101, 200)], 2_000), [1], "newer data is not hidden");
    let blocked = find_in(&[file, card(2, 1, 0, 1)], 2_000).blocked;
    assert_eq!(blocked[0].frees_at, None, "data without TTL frees only by a compaction");
}

#[test]
fn only_data_of_the_same_partitions_and_places_keeps_it() {
    let key = |token: i64| DecoratedKey { token: Token(token), key: vec![1].into() };
    let file = FileMeta { last: key(0), ..expiring(1, 1, 50, 100, 10) };
    let apart = FileMeta { first: key(1), ..card(2, 1, 0, 10) };
    assert_eq!(droppable(&[file.clone(), apart.clone()], 2_000), [1]);
    assert!(droppable(&[file, FileMeta { first: key(0), ..apart }], 2_000).is_empty());

    let at = |file: FileMeta, prefix: u8| FileMeta {
        clustering: Some(ClusteringRange::prefix(&[0x40, prefix])),
        ..file
    };
    let (old, other) = (at(expiring(1, 1, 50, 100, 10), 3), at(card(2, 1, 0, 10), 4));
    assert_eq!(droppable(&[old.clone(), other.clone()], 2_000), [1]);
    assert!(
        droppable(&[FileMeta { has_partition_deletion: true, ..old.clone() }, other.clone()], 2_000)
            .is_empty()
    );
    assert!(droppable(&[old.clone(), FileMeta { has_static: true, ..other.clone() }], 2_000).is_empty());
    assert!(droppable(&[old, at(other, 3)], 2_000).is_empty());
}

#[test]
fn expired_files_do_not_keep_each_other_but_memtables_and_compactions_do() {
    let files: Vec<_> = [expiring(1, 1, 50, 100, 10), expiring(2, 1, 0, 60, 10)].map(Arc::new).into();
    let none = BTreeSet::new();
    assert_eq!(find(&files, &none, None, 2_000, 10, false).droppable, [FileId(1), FileId(2)]);

    let memtable = |second: i64| Some(Unflushed { min_timestamp: second * MICROS });
    let found = find(&files, &none, memtable(60), 2_000, 10, false);
    assert!(found.droppable.is_empty());
    assert!(matches!(found.blocked[1].by, Blocker::Memtable { .. }));
    assert_eq!(find(&files, &none, memtable(61), 2_000, 10, false).droppable, [FileId(2)]);

    let busy = BTreeSet::from([FileId(1)]);
    let found = find(&files, &busy, None, 2_000, 10, false);
    assert_eq!((found.droppable, found.blocked[0].by), (vec![FileId(2)], Blocker::Busy));
    // Asked for, it goes whatever it hides.
    assert_eq!(find(&files, &none, memtable(0), 2_000, 10, true).droppable, [FileId(1), FileId(2)]);
}

#[test]
fn every_strategy_drops_expired_files_also_when_switched_off() {
    for class in ["SizeTieredCompactionStrategy", "TimeWindowCompactionStrategy"] {
        let mut table = Table::new(options(&[("class", class), ("enabled", "false")]), Vec::new());
        table.add(expiring(1, 1, 50, 100, 10));
        table.now = 2_000;
        let tasks = pick(&table.input());
        assert_eq!(tasks[0].kind, TaskKind::DropExpired);
        assert!(tasks[0].reason.to_string().starts_with("everything expired by second 110"));
        let mut input = table.input();
        input.clock_believed = false;
        assert!(pick(&input).is_empty(), "not on the word of a clock that jumped");
    }
}

#[test]
fn a_clock_that_jumps_is_not_believed_until_confirmed_or_written_by() {
    let month = Duration::from_secs(30 * 86_400);
    let year = 365 * 86_400;
    let mut guard = ClockGuard::default();
    assert_eq!(guard.check(1_000, Some(900), month), ClockVerdict::Believed);
    assert_eq!(guard.check(1_010 + 30 * 86_400 - 10, Some(900), month), ClockVerdict::Believed);
    let last = 1_000 + 30 * 86_400;
    let jump = guard.check(1_000 + year, Some(900), month);
    assert_eq!(jump, ClockVerdict::Jumped { now: 1_000 + year, last });
    assert!(jump.to_string().contains("28944000 s ahead"), "{jump}");
    // Asking again does not wear it down; going back is fine.
    assert_eq!(guard.check(1_010 + year, Some(900), month), ClockVerdict::Jumped { now: 1_010 + year, last });
    assert_eq!(guard.check(2_000, Some(900), month), ClockVerdict::Believed);
    assert_eq!(
        guard.check(1_000 + year, Some(900 + year), month),
        ClockVerdict::Believed,
        "writes go on there"
    );
    let mut guard = ClockGuard::default();
    assert!(matches!(guard.check(year, Some(900), month), ClockVerdict::Jumped { .. }));
    guard.confirm(year);
    assert_eq!(guard.check(year + 10, Some(900), month), ClockVerdict::Believed);
    assert_eq!(ClockGuard::default().check(year, None, month), ClockVerdict::Believed, "an empty store");
}
