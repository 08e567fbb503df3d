//! The log as a whole: replay of every cut and flip, failures and crashes at every call.

use super::segment::{HEADER_BYTES, Header, framer};
use super::*;
use crate::annotate::{first_gap, render};
use crate::env::sim::{CrashMode, Failure, SimDisk};
use crate::env::{DataDir, Env};
use crate::error::{ErrorKind, Result};
use crate::model::position::LogPosition;
use crate::model::schema::TableId;
use crate::options::ReplayMode;
use std::path::PathBuf;
use std::sync::Arc;

const A: TableId = TableId(1);
const B: TableId = TableId(2);
const SMALL: LogOptions = LogOptions { segment_bytes: 256, limit_bytes: 512 };

fn dir() -> DataDir {
    DataDir::new("/store")
}

fn open(env: &Arc<dyn Env>) -> CommitLog {
    CommitLog::open(Arc::clone(env), &dir(), SMALL, 1).unwrap()
}

/// A payload with its position.
type Placed = (LogPosition, Vec<u8>);

/// All payloads with their positions, and the summary.
fn read(env: &Arc<dyn Env>, mode: ReplayMode) -> Result<(Vec<Placed>, ReplaySummary)> {
    let mut found = Vec::new();
    let summary = replay(&**env, &dir(), mode, &mut |at, payload| {
        found.push((at, payload.to_vec()));
        Ok(())
    })?;
    Ok((found, summary))
}

fn payload(number: u32) -> Vec<u8> {
    format!("payload {number:04} {}", "x".repeat(number as usize % 40)).into_bytes()
}

fn number(payload: &[u8]) -> u32 {
    let number = std::str::from_utf8(&payload[8..12]).unwrap().parse().unwrap();
    assert_eq!(payload, self::payload(number), "a payload is whole");
    number
}

/// Three segments of whole, synced records: the payloads with their positions.
fn three_segments(env: &Arc<dyn Env>) -> Vec<Placed> {
    let log = open(env);
    let mut written = Vec::new();
    for n in 0.. {
        let at = log.append(&payload(n), &[A]).unwrap();
        written.push((at, payload(n)));
        if at.segment == 3 && at.offset > 150 {
            break;
        }
    }
    log.sync().unwrap();
    written
}

#[test]
fn what_was_appended_is_replayed_in_order_with_its_positions() {
    let env = SimDisk::new(1).env();
    let written = three_segments(&env);
    let (found, summary) = read(&env, ReplayMode::Strict).unwrap();
    assert_eq!(found, written);
    let bytes = written.iter().map(|(_, payload)| payload.len() as u64).sum();
    let records = written.len() as u64;
    let expected = ReplaySummary { segments: 3, last_segment: 3, records, bytes, ..ReplaySummary::default() };
    assert_eq!(summary, expected);
    // Reading changed nothing, and what the callback returns ends it.
    assert_eq!(read(&env, ReplayMode::Strict).unwrap().0, written);
    let stop =
        replay(&*env, &dir(), ReplayMode::Strict, &mut |_, _| Err(crate::error::Error::invalid("stop")));
    assert_eq!(stop.unwrap_err().message(), "stop");
}

#[test]
fn a_group_is_one_write_into_one_segment() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    let log = open(&env);
    log.append(&payload(0), &[A]).unwrap();
    let before = disk.calls();
    let payloads: Vec<Vec<u8>> = (1..4).map(payload).collect();
    let entries: Vec<Entry<'_>> = payloads.iter().map(|payload| Entry { payload, tables: &[A, B] }).collect();
    let mut positions = Vec::new();
    log.append_group(&entries, &mut positions).unwrap();
    assert_eq!(disk.calls() - before, 1);
    assert_eq!(positions.len(), 3);
    assert!(positions.is_sorted() && positions.iter().all(|at| at.segment == 1));
    // Larger than a segment: still whole, still one segment, which holds nothing else.
    let payloads: Vec<Vec<u8>> = (10..30).map(payload).collect();
    let entries: Vec<Entry<'_>> = payloads.iter().map(|payload| Entry { payload, tables: &[A] }).collect();
    log.append_group(&entries, &mut positions).unwrap();
    assert!(positions[3..].iter().all(|at| at.segment == 2));
    assert_eq!(log.append(&payload(1), &[A]).unwrap().segment, 3);
    assert_eq!(read(&env, ReplayMode::Strict).unwrap().0.len(), 25);
}

#[test]
fn payloads_over_half_a_segment_are_refused_with_the_limit() {
    let env = SimDisk::new(1).env();
    let log = open(&env);
    assert_eq!(log.max_payload_bytes(), 128);
    let error = log.append(&[7; 129], &[A]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("129 bytes is over the limit of 128 bytes"), "{error}");
    assert_eq!(log.append(&[], &[A]).unwrap_err().kind(), ErrorKind::Invalid);
    // Nothing of a group with one such payload is appended.
    let entries = [Entry { payload: b"good", tables: &[A] }, Entry { payload: &[7; 129], tables: &[A] }];
    assert!(log.append_group(&entries, &mut Vec::new()).is_err());
    log.append(&[7; 128], &[A]).unwrap();
    assert_eq!(read(&env, ReplayMode::Strict).unwrap().1.records, 1);
}

#[test]
fn an_idle_table_is_named_and_its_flush_lets_the_log_go() {
    let env = SimDisk::new(1).env();
    let log = open(&env);
    let idle = log.append(&payload(0), &[B]).unwrap();
    let mut busy = idle;
    while !log.over_limit() {
        busy = log.append(&payload(1), &[A]).unwrap();
    }
    let files = || env.list_dir(&dir().commitlog()).unwrap().len();
    assert_eq!((files(), log.segment_count()), (3, 3));
    assert_eq!(log.oldest_dirty(), Some((B, idle)));
    // The segment in the middle goes, the first stays for the idle table.
    log.mark_flushed(A, busy).unwrap();
    assert_eq!((files(), log.oldest_dirty()), (2, Some((B, idle))));
    log.mark_flushed(B, idle).unwrap();
    assert_eq!((files(), log.over_limit(), log.oldest_dirty()), (1, false, None));
    log.close().unwrap();
    assert_eq!(files(), 0);
}

#[test]
fn a_log_at_rest_is_trimmed_to_nothing_and_goes_on() {
    let env = SimDisk::new(1).env();
    let log = open(&env);
    let files = || env.list_dir(&dir().commitlog()).unwrap().len();
    let first = log.append(&payload(0), &[A, B]).unwrap();
    log.mark_flushed(A, first).unwrap();
    log.trim().unwrap();
    assert_eq!(files(), 1, "B still needs it");
    log.mark_flushed(B, first).unwrap();
    log.trim().unwrap();
    assert_eq!((files(), log.segment_count(), log.is_synced()), (0, 0, true));
    log.trim().unwrap();
    let second = log.append(&payload(1), &[A]).unwrap();
    assert!(second > first && second.segment > first.segment);
    log.close().unwrap();
    assert_eq!(read(&env, ReplayMode::Strict).unwrap().0.len(), 1);
}

#[test]
fn a_dropped_table_keeps_nothing_and_close_keeps_what_is_needed() {
    let env = SimDisk::new(1).env();
    let log = open(&env);
    log.append(&payload(0), &[A, B]).unwrap();
    log.forget_table(B).unwrap();
    assert_eq!(log.oldest_dirty().unwrap().0, A);
    log.close().unwrap();
    let (found, summary) = read(&env, ReplayMode::Strict).unwrap();
    assert_eq!((found.len(), summary.last_segment), (1, 1));
    // The next log is numbered above what is there, and above what the manifest says.
    assert_eq!(open(&env).append(&payload(1), &[A]).unwrap().segment, 2);
    let log = CommitLog::open(Arc::clone(&env), &dir(), SMALL, 9).unwrap();
    assert_eq!(log.append(&payload(1), &[A]).unwrap().segment, 9);
    remove_replayed(&*env, &dir(), 2).unwrap();
    assert_eq!(read(&env, ReplayMode::Strict).unwrap().1.segments, 1);
}

#[test]
fn every_cut_of_every_segment_is_a_torn_tail_or_an_error_with_segment_and_offset() {
    let disk = SimDisk::new(1);
    let written = three_segments(&disk.env());
    for segment in 1..=3 {
        let path = dir().segment(segment);
        let len = disk.env().len(&path).unwrap();
        for cut in 0..len {
            let env = disk.fork(cut).env();
            env.truncate(&path, cut).unwrap();
            let kept: Vec<_> =
                written.iter().filter(|(at, _)| at.segment != segment || at.offset <= cut).cloned().collect();
            if segment < 3 {
                let error = read(&env, ReplayMode::Strict).unwrap_err();
                assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(&*path)));
                assert!(error.offset().unwrap() <= cut, "{error}");
                assert!(error.to_string().contains("salvage"), "{error}");
                let (found, summary) = read(&env, ReplayMode::Salvage).unwrap();
                assert_eq!(found, kept);
                assert_eq!((summary.skipped.len(), summary.skipped[0].segment), (1, segment));
            } else {
                let (found, summary) = read(&env, ReplayMode::Strict).unwrap();
                assert_eq!(found, kept);
                let end = kept.last().filter(|(at, _)| at.segment == 3).map_or(0, |(at, _)| at.offset);
                let end = if cut >= HEADER_BYTES as u64 { end.max(HEADER_BYTES as u64) } else { 0 };
                let torn = TornTail { segment, offset: end, dropped_bytes: cut - end };
                let expected = if cut == end && cut > 0 { vec![] } else { vec![torn] };
                assert_eq!(summary.torn, expected, "cut at {cut}");
            }
        }
    }
}

#[test]
fn every_flip_is_found_and_salvage_keeps_all_other_records() {
    let disk = SimDisk::new(1);
    let written = three_segments(&disk.env());
    for segment in 1..=3 {
        let path = dir().segment(segment);
        let len = disk.env().len(&path).unwrap();
        for at in 0..len {
            let fork = disk.fork(at);
            fork.flip(&path, at, 1 << (at % 8)).unwrap();
            let env = fork.env();
            // `None` behind the last one, where the mark of the two full segments stands.
            let hit = written.iter().position(|(end, _)| end.segment == segment && at < end.offset);
            let kept: Vec<_> = match at < HEADER_BYTES as u64 {
                true => written.clone(),
                false => written
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| Some(*i) != hit)
                    .map(|(_, w)| w.clone())
                    .collect(),
            };
            let (found, summary) = read(&env, ReplayMode::Salvage).unwrap();
            assert_eq!(found, kept, "flip at {at} of segment {segment}");
            match read(&env, ReplayMode::Strict) {
                // The very last record: nobody can tell it from one that a crash tore.
                Ok((found, strict)) => {
                    assert_eq!((segment, hit), (3, None));
                    assert_eq!((found, strict.torn.len()), (kept, 1));
                }
                Err(error) => {
                    assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(&*path)));
                    assert!(error.offset().unwrap() <= at);
                    assert_eq!(summary.skipped.len(), 1);
                }
            }
        }
    }
}

#[test]
fn beginning_a_segment_waits_for_no_sync() {
    let disk = SimDisk::new(1);
    let log = open(&disk.env());
    let mut calls = vec![];
    for n in 0..20 {
        let before = disk.calls();
        log.append(&payload(n), &[A]).unwrap();
        calls.push(disk.calls() - before);
    }
    // Create the file, write its header, append.
    assert!(calls.iter().all(|calls| [1, 3].contains(calls)), "{calls:?}");
    assert_eq!(calls.iter().filter(|calls| **calls == 3).count(), log.segment_count());
    // The full segments, the directory, the mark, the active segment; then all is done.
    let before = disk.calls();
    log.sync().unwrap();
    assert_eq!(disk.calls() - before, log.segment_count() as u64 - 1 + 3);
    log.sync().unwrap();
    assert_eq!(disk.calls() - before, log.segment_count() as u64 - 1 + 3);
}

#[test]
fn what_stands_behind_a_hole_is_left_out_unless_it_was_synced() {
    let disk = SimDisk::new(1);
    let log = open(&disk.env());
    let mut written = Vec::new();
    for n in 0..20 {
        written.push((log.append(&payload(n), &[A]).unwrap(), payload(n)));
    }
    let first: Vec<_> = written.iter().filter(|(at, _)| at.segment == 1).cloned().collect();
    let end = first[first.len() - 1].0.offset;
    for cut in [end - 1, end - 30, HEADER_BYTES as u64, 3] {
        let env = disk.fork(cut).env();
        env.truncate(&dir().segment(1), cut).unwrap();
        let (found, summary) = read(&env, ReplayMode::Strict).unwrap();
        assert_eq!(found, first[..found.len()]);
        assert_eq!(summary.torn.len() as u64, summary.segments, "{:?}", summary.torn);
        assert!(found.last().is_none_or(|(at, _)| at.offset <= cut));
        // Salvage keeps what it can get.
        let (kept, summary) = read(&env, ReplayMode::Salvage).unwrap();
        assert_eq!(kept.len(), written.len() - (first.len() - found.len()));
        assert!(summary.skipped.is_empty());
        // A later run is not behind that hole, however often it is replayed.
        let next = open(&env);
        next.append(&payload(500), &[A]).unwrap();
        next.sync().unwrap();
        let (again, _) = read(&env, ReplayMode::Strict).unwrap();
        assert_eq!((again.len(), number(&again[found.len()].1)), (found.len() + 1, 500));
    }
    log.sync().unwrap();
    let env = disk.env();
    env.truncate(&dir().segment(1), end - 1).unwrap();
    assert_eq!(read(&env, ReplayMode::Strict).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_segment_that_was_removed_unsynced_takes_nothing_along() {
    for mode in [CrashMode::LoseAll, CrashMode::Torn, CrashMode::GarbageTail, CrashMode::Mixed] {
        let disk = SimDisk::new(7);
        let log = open(&disk.env());
        let mut written = Vec::new();
        while written.last().is_none_or(|(at, _): &Placed| at.segment < 3) {
            let n = written.len() as u32;
            written.push((log.append(&payload(n), &[A]).unwrap(), payload(n)));
        }
        let (flushed, _) = written.iter().rfind(|(at, _)| at.segment == 2).unwrap();
        log.mark_flushed(A, *flushed).unwrap();
        log.sync().unwrap();
        let env = disk.restart(mode);
        assert_eq!(read(&env, ReplayMode::Strict).unwrap().0, written[written.len() - 1..]);
    }
}

#[test]
fn payloads_that_begin_like_a_mark_are_refused() {
    let log = open(&SimDisk::new(1).env());
    let mark = Mark { run: 1, upto: 9 }.encode();
    assert_eq!(log.append(&mark, &[A]).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn zeros_and_garbage_behind_the_end_are_torn_tails() {
    let disk = SimDisk::new(1);
    let written = three_segments(&disk.env());
    for tail in [vec![0; 500], (0..500).map(|n: u32| (n * n % 251) as u8).collect()] {
        let env = disk.fork(2).env();
        env.open_append(&dir().segment(3)).unwrap().append(&tail).unwrap();
        let (found, summary) = read(&env, ReplayMode::Strict).unwrap();
        assert_eq!((found, summary.torn.len()), (written.clone(), 1));
        assert_eq!(summary.torn[0].dropped_bytes, 500);
        // The next run goes on above, and the torn tail before it stays acceptable.
        let log = open(&env);
        log.append(&payload(500), &[A]).unwrap();
        let (found, summary) = read(&env, ReplayMode::Strict).unwrap();
        assert_eq!((found.len(), summary.torn.len()), (written.len() + 1, 1));
    }
}

#[test]
fn a_renamed_segment_is_not_taken_for_another() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    three_segments(&env);
    env.rename(&dir().segment(1), &dir().segment(7)).unwrap();
    let error = read(&env, ReplayMode::Strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.file(), Some(&*dir().segment(7)));
    assert!(error.message().contains("it is segment 1: rename it back"), "{error}");
    assert_eq!(read(&env, ReplayMode::Salvage).unwrap().1.skipped.len(), 1);
}

/// Runs a scripted history on a fresh disk with a failure planned at `call`; then heals it and appends once more.
/// Returns what was reported as appended.
fn failing_history(disk: &SimDisk, plan: impl FnOnce(u64)) -> (Vec<u32>, bool) {
    let env = disk.env();
    let log = open(&env);
    plan(disk.calls());
    let mut done = Vec::new();
    for n in 0..30 {
        if log.append(&payload(n), &[A]).is_ok() {
            done.push(n);
        }
        if n % 4 == 0 {
            // Failed syncs are looked at through `failure`.
            let _ = log.sync();
        }
    }
    disk.heal();
    disk.set_capacity(None);
    let failed = log.failure();
    match &failed {
        None => {
            log.append(&payload(99), &[A]).unwrap();
            done.push(99);
            log.close().unwrap();
        }
        Some(error) => {
            assert!(error.message().contains("injected failure"), "the cause is named: {error}");
            assert_eq!(log.append(&payload(99), &[A]).unwrap_err().kind(), ErrorKind::Closed);
            assert_eq!(log.sync().unwrap_err().kind(), ErrorKind::Closed);
        }
    }
    (done, failed.is_some())
}

#[test]
fn a_full_disk_at_any_call_fails_one_append_and_heals() {
    let calls = {
        let disk = SimDisk::new(1);
        failing_history(&disk, |_| ());
        disk.calls()
    };
    for call in 0..calls {
        for failure in [Failure::NoSpace, Failure::Io] {
            let disk = SimDisk::new(1);
            let (done, failed) = failing_history(&disk, |first| disk.fail_at(first + call, failure));
            assert!(failure == Failure::Io || !failed, "a full disk stops nothing for good");
            assert!(failed || done.len() >= 30, "call {call}: {done:?}");
            let found: Vec<u32> =
                read(&disk.env(), ReplayMode::Strict).unwrap().0.iter().map(|(_, p)| number(p)).collect();
            assert_eq!(found, done, "call {call} {failure:?}");
        }
    }
}

#[test]
fn a_disk_that_fills_up_takes_writes_again_when_space_returns() {
    for capacity in (0..1500).step_by(7) {
        let disk = SimDisk::new(capacity);
        let (done, failed) = failing_history(&disk, |_| disk.set_capacity(Some(capacity)));
        assert!(!failed && done.last() == Some(&99));
        let (found, summary) = read(&disk.env(), ReplayMode::Strict).unwrap();
        assert_eq!(found.iter().map(|(_, p)| number(p)).collect::<Vec<_>>(), done);
        assert!(summary.torn.is_empty());
    }
}

#[test]
fn a_failed_sync_at_any_call_closes_the_log_with_its_cause() {
    let mut closed = 0;
    for call in 0..60 {
        let disk = SimDisk::new(1);
        let (_, failed) = failing_history(&disk, |first| disk.fail_at(first + call, Failure::Sync));
        closed += u32::from(failed);
    }
    assert!(closed > 8, "{closed} of the calls are syncs");
}

/// What a history had reached when the power went.
#[derive(Default)]
struct Reached {
    /// Payloads handed to the log, whether it answered or not.
    tried: u32,
    /// Payloads below this were synced.
    synced: u32,
    /// Payloads below this are in SSTables.
    flushed: u32,
}

/// Appends groups, syncs each `every`, flushes now and then; ends at the first error.
fn history(env: &Arc<dyn Env>, from: u32, every: u32, reached: &mut Reached) -> Result<()> {
    let log = CommitLog::open(Arc::clone(env), &dir(), SMALL, 1)?;
    let mut next = from;
    for step in 1..=14u32 {
        let payloads: Vec<Vec<u8>> = (next..next + step % 3 + 1).map(payload).collect();
        let entries: Vec<Entry<'_>> =
            payloads.iter().map(|payload| Entry { payload, tables: &[A] }).collect();
        next += payloads.len() as u32;
        reached.tried = next;
        let mut positions = Vec::new();
        log.append_group(&entries, &mut positions)?;
        if step % every == 0 {
            log.sync()?;
            reached.synced = next;
        }
        if step % 6 == 0 {
            reached.flushed = next;
            log.mark_flushed(A, positions[positions.len() - 1])?;
        }
        if step % 12 == 0 {
            log.trim()?;
            reached.synced = next;
        }
    }
    log.close()
}

#[test]
fn a_crash_at_any_call_loses_nothing_synced_and_the_rest_only_from_the_end() {
    let modes = [
        CrashMode::LoseAll,
        CrashMode::KeepAll,
        CrashMode::Torn,
        CrashMode::ZeroTail,
        CrashMode::GarbageTail,
        CrashMode::Mixed,
    ];
    // Synced after each group (batch), sometimes (periodic), never.
    for every in [1, 4, 100] {
        let calls = {
            let disk = SimDisk::new(1);
            history(&disk.env(), 0, every, &mut Reached::default()).unwrap();
            disk.calls()
        };
        for (call, mode) in (0..calls).flat_map(|call| modes.map(|mode| (call, mode))) {
            let disk = SimDisk::new(call);
            disk.crash_at(call);
            let mut reached = Reached::default();
            assert!(history(&disk.env(), 0, every, &mut reached).is_err());
            let env = disk.restart(mode);
            check_recovered(&env, &reached);
            // A second run on top of it, which crashes at once after its first records.
            let mut second = Reached { flushed: reached.flushed, ..Reached::default() };
            disk.crash_at(disk.calls() + 9 + call % 12);
            let _ = history(&env, 1000, every, &mut second);
            let env = disk.restart(mode);
            check_recovered(&env, &reached);
            let (_, summary) = read(&env, ReplayMode::Strict).unwrap();
            remove_replayed(&*env, &dir(), summary.last_segment).unwrap();
            assert_eq!(read(&env, ReplayMode::Strict).unwrap().1, ReplaySummary::default());
        }
    }
}

/// The first run's payloads that are not flushed come back without a hole, at least up to the last synced one.
fn check_recovered(env: &Arc<dyn Env>, reached: &Reached) {
    let (found, _) = read(env, ReplayMode::Strict).unwrap();
    let found: Vec<u32> = found.iter().map(|(_, payload)| number(payload)).filter(|n| *n < 1000).collect();
    let needed: Vec<u32> = found.into_iter().filter(|n| *n >= reached.flushed).collect();
    let end = reached.flushed + needed.len() as u32;
    assert_eq!(needed, (reached.flushed..end).collect::<Vec<_>>(), "no hole");
    assert!(reached.synced.max(reached.flushed) <= end && end <= reached.tried.max(reached.flushed));
}

#[test]
fn one_thread_syncs_while_another_appends() {
    let env = SimDisk::new(1).env();
    let log = open(&env);
    std::thread::scope(|scope| {
        let syncs = scope.spawn(|| (0..200).try_for_each(|_| log.sync()));
        for n in 0..400 {
            log.append(&payload(n), &[A]).unwrap();
        }
        syncs.join().unwrap().unwrap();
    });
    log.sync().unwrap();
    assert!(log.is_synced());
    assert_eq!(read(&env, ReplayMode::Strict).unwrap().0.len(), 400);
}

/// The bytes of the example in FORMAT.md: its lines of hex between offset and words.
fn example() -> Vec<u8> {
    let text = include_str!("FORMAT.md");
    let lines = text.lines().filter(|line| line.len() > 10 && line.starts_with("000000"));
    let hex = lines.flat_map(|line| line[10..58].split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    hex.map(|byte| u8::from_str_radix(&byte, 16).unwrap()).collect()
}

#[test]
fn the_worked_example_is_what_the_log_writes_and_what_the_dump_shows() {
    let env = SimDisk::new(1).env();
    let log = CommitLog::open(Arc::clone(&env), &dir(), SMALL, 12).unwrap();
    log.append(b"hive-7 34.9", &[A]).unwrap();
    log.append(b"*", &[A]).unwrap();
    let bytes = env.read(&dir().segment(12)).unwrap();
    let list = dump::dump(12, &bytes, |offset, payload| {
        let text = String::from_utf8_lossy(payload).into_owned();
        vec![crate::annotate::Annotation::new(offset, payload.len() as u64, format!("payload \"{text}\""))]
    });
    assert_eq!(first_gap(&list, 0, bytes.len() as u64), None);
    let text = render(&list, &bytes, 0);
    assert_eq!(example(), bytes, "{text}");
    assert!(include_str!("FORMAT.md").contains(&text), "{text}");
    let header = Header::decode(&bytes).unwrap();
    assert_eq!(header, Header { segment: 12, run: 12, previous_bytes: 0 });
    let records = crate::record::RecordReader::new(framer(12), &bytes[HEADER_BYTES..], HEADER_BYTES as u64);
    assert_eq!(
        records.map(|record| record.payload.to_vec()).collect::<Vec<_>>(),
        [b"hive-7 34.9".to_vec(), b"*".to_vec()]
    );
}

#[test]
fn a_dump_explains_damaged_bytes_too() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    three_segments(&env);
    let third = env.read(&dir().segment(3)).unwrap();
    let list = dump::dump(3, &third, |_, _| vec![]);
    assert!(list.iter().any(|line| line.what.contains("synced whole: segment 1")));
    let path: PathBuf = dir().segment(1);
    for at in [3, 60] {
        disk.flip(&path, at, 1).unwrap();
        let bytes = env.read(&path).unwrap();
        let opaque = |offset, payload: &[u8]| {
            vec![crate::annotate::Annotation::new(offset, payload.len() as u64, "payload")]
        };
        let list = dump::dump(1, &bytes, opaque);
        assert_eq!(first_gap(&list, 0, bytes.len() as u64), None);
        assert!(list.iter().any(|line| line.what.starts_with("DAMAGED")));
    }
    assert_eq!(first_gap(&dump::dump(1, b"skep", |_, _| vec![]), 0, 4), None);
}
