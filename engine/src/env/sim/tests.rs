//! The loss model, the failures, and that both follow from the seed.

use super::*;

use crate::env::{replace_file, temporary};
use crate::error::ErrorKind;
use std::time::Duration;

const A: &str = "a";

fn path(name: &str) -> &Path {
    Path::new(name)
}

/// A disk with a file `a`: "synced" durable, "0123456789" not.
fn half_synced(seed: u64) -> (SimDisk, Box<dyn WritableFile>) {
    let disk = SimDisk::new(seed);
    let env = disk.env();
    let mut file = env.create(path(A)).unwrap();
    file.append(b"synced").unwrap();
    file.sync().unwrap();
    env.sync_dir(path("")).unwrap();
    file.append(b"01234").unwrap();
    file.append(b"56789").unwrap();
    (disk, file)
}

/// What is left of `a` after a crash of a fork of `disk`, for many seeds.
fn outcomes(disk: &SimDisk, mode: CrashMode) -> Vec<Option<Vec<u8>>> {
    let crash = |seed| disk.fork(seed).restart(mode).read(path(A)).ok();
    (0..200).map(crash).collect()
}

#[test]
fn the_least_and_the_most_that_a_crash_leaves() {
    let (disk, _file) = half_synced(1);
    assert_eq!(disk.fork(1).restart(CrashMode::LoseAll).read(path(A)).unwrap(), b"synced");
    assert_eq!(disk.fork(1).restart(CrashMode::KeepAll).read(path(A)).unwrap(), b"synced0123456789");
    assert_eq!(disk.dump()[path(A)], b"synced0123456789", "a fork leaves the disk alone");
}

#[test]
fn a_torn_append_ends_at_any_byte() {
    let (disk, _file) = half_synced(1);
    let left = outcomes(&disk, CrashMode::Torn);
    for kept in 0..=10 {
        let expected = b"synced0123456789"[..6 + kept].to_vec();
        assert!(left.contains(&Some(expected)), "{kept} bytes never survived");
    }
    assert!(left.iter().flatten().all(|bytes| b"synced0123456789".starts_with(bytes) && bytes.len() >= 6));
}

#[test]
fn tails_hold_zeros_or_garbage_within_the_length() {
    let (disk, _file) = half_synced(1);
    let bytes = outcomes(&disk, CrashMode::ZeroTail);
    assert!(bytes.iter().flatten().any(|b| b.ends_with(&[0])));
    assert!(bytes.iter().flatten().all(|b| b.len() <= 16 && b.starts_with(b"synced")));
    let body = |b: &[u8]| b.iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>();
    assert!(bytes.iter().flatten().all(|b| b"synced0123456789".starts_with(&body(b))));
    let bytes = outcomes(&disk, CrashMode::GarbageTail);
    assert!(bytes.iter().flatten().any(|b| !b"synced0123456789".starts_with(b)));
    assert!(bytes.iter().flatten().all(|b| b.len() <= 16 && b.starts_with(b"synced")));
}

#[test]
fn the_seed_decides() {
    let (disk, _file) = half_synced(1);
    let (again, _file) = half_synced(1);
    for mode in [CrashMode::Mixed, CrashMode::Torn, CrashMode::GarbageTail] {
        assert_eq!(outcomes(&disk, mode), outcomes(&again, mode));
    }
    let draw = |seed| SimDisk::new(seed).env().random_uuid();
    assert_eq!(draw(3), draw(3));
    assert_ne!(draw(3), draw(4));
}

#[test]
fn a_name_is_lost_without_a_sync_of_its_directory() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    let mut file = env.create(path(A)).unwrap();
    file.append(b"x").unwrap();
    file.sync().unwrap();
    let left = outcomes(&disk, CrashMode::Torn);
    assert!(left.contains(&None) && left.contains(&Some(b"x".to_vec())));
    assert!(!disk.fork(1).restart(CrashMode::LoseAll).exists(path(A)).unwrap());
    env.sync_dir(path("")).unwrap();
    assert!(outcomes(&disk, CrashMode::Torn).iter().all(Option::is_some));
    // The same for a removal: it may come back, until the directory is synced.
    env.remove(path(A)).unwrap();
    assert!(disk.fork(1).restart(CrashMode::LoseAll).exists(path(A)).unwrap());
    let left = outcomes(&disk, CrashMode::Torn);
    assert!(left.contains(&None) && left.contains(&Some(b"x".to_vec())));
    env.sync_dir(path("")).unwrap();
    assert!(outcomes(&disk, CrashMode::Torn).iter().all(Option::is_none));
}

#[test]
fn links_and_directories_are_names_too() {
    let (disk, _file) = half_synced(1);
    let env = disk.env();
    env.create_dir_all(path("d/e")).unwrap();
    env.hard_link(path(A), path("d/e/b")).unwrap();
    let lost = disk.fork(1).restart(CrashMode::LoseAll);
    assert_eq!(lost.list_dir(path("d/e")).unwrap(), [], "directories are durable at once, the link is not");
    env.sync_dir(path("d/e")).unwrap();
    env.remove(path(A)).unwrap();
    env.sync_dir(path("")).unwrap();
    let kept = disk.fork(1).restart(CrashMode::LoseAll);
    assert_eq!(kept.read(path("d/e/b")).unwrap(), b"synced");
    env.remove_dir_all(path("d")).unwrap();
    assert!(disk.fork(1).restart(CrashMode::LoseAll).exists(path("d/e/b")).unwrap());
    assert!(!disk.fork(1).restart(CrashMode::KeepAll).exists(path("d")).unwrap());
}

#[test]
fn a_rename_is_all_or_nothing() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    replace_file(&*env, path(A), b"old").unwrap();
    let mut file = env.create(&temporary(path(A))).unwrap();
    file.append(b"new").unwrap();
    file.sync().unwrap();
    env.rename(&temporary(path(A)), path(A)).unwrap();
    let left = outcomes(&disk, CrashMode::Torn);
    assert!(left.iter().all(|bytes| matches!(bytes.as_deref(), Some(b"old" | b"new"))));
    assert!(left.contains(&Some(b"old".to_vec())) && left.contains(&Some(b"new".to_vec())));
}

#[test]
fn replacing_a_file_is_atomic_at_every_call() {
    let before = SimDisk::new(1);
    replace_file(&*before.env(), path(A), b"old").unwrap();
    let first = before.calls();
    replace_file(&*before.fork(1).env(), path(A), b"longer").unwrap();
    for call in 0..=first {
        for seed in 0..50 {
            let disk = before.fork(seed);
            disk.crash_at(call);
            let done = replace_file(&*disk.env(), path(A), b"longer").is_ok();
            let left = disk.restart(CrashMode::Mixed).read(path(A)).unwrap();
            assert!(left == b"longer" || (left == b"old" && !done), "call {call}, seed {seed}: {left:?}");
        }
    }
}

#[test]
fn a_cut_that_was_not_synced_may_come_undone() {
    let (disk, file) = half_synced(1);
    drop(file);
    // Creating over a file cuts it to nothing.
    let mut file = disk.env().create(path(A)).unwrap();
    file.append(b"NEW").unwrap();
    assert_eq!(disk.fork(1).restart(CrashMode::LoseAll).read(path(A)).unwrap(), b"synced");
    let left = outcomes(&disk, CrashMode::Torn);
    assert!(left.contains(&Some(b"synced".to_vec())) && left.contains(&Some(b"NEW".to_vec())));
    file.sync().unwrap();
    assert!(outcomes(&disk, CrashMode::Mixed).iter().all(|bytes| bytes.as_deref() == Some(b"NEW")));
}

#[test]
fn a_call_fails_by_its_number() {
    let (disk, mut file) = half_synced(1);
    let next = disk.calls();
    disk.fail_at(next + 1, Failure::Io);
    file.append(b"1").unwrap();
    let error = file.append(b"2").unwrap_err();
    assert_eq!((error.kind(), error.file()), (ErrorKind::Io, Some(path(A))));
    file.append(b"3").unwrap();
    assert_eq!(disk.env().read(path(A)).unwrap(), b"synced012345678913");
    disk.fail_from(disk.calls(), Failure::NoSpace);
    assert_eq!(file.append(b"4").unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(file.append(b"5").unwrap_err().kind(), ErrorKind::NoSpace);
    file.sync().unwrap();
    disk.heal();
    file.append(b"6").unwrap();
}

#[test]
fn after_a_failed_sync_nothing_more_becomes_durable() {
    let (disk, mut file) = half_synced(1);
    disk.fail_from(disk.calls(), Failure::Sync);
    file.append(b"!").unwrap();
    assert_eq!(file.sync().unwrap_err().kind(), ErrorKind::Io);
    disk.heal();
    file.sync().unwrap();
    assert_eq!(disk.restart(CrashMode::LoseAll).read(path(A)).unwrap(), b"synced");
}

#[test]
fn after_a_power_cut_everything_fails_until_restart() {
    let (disk, mut file) = half_synced(1);
    let old = disk.env();
    let guard = old.lock(path("LOCK")).unwrap();
    disk.crash_at(disk.calls());
    assert!(file.append(b"x").is_err());
    disk.heal();
    assert!(file.sync().is_err() && old.read(path(A)).is_err(), "healing does not bring the power back");
    let new = disk.restart(CrashMode::KeepAll);
    assert_eq!(new.read(path(A)).unwrap(), b"synced0123456789x", "the last call may have taken effect");
    assert_eq!(disk.calls(), 1);
    let held = new.lock(path("LOCK")).unwrap();
    assert!(file.append(b"x").is_err() && old.read(path(A)).is_err(), "handles of before are dead");
    drop(guard);
    assert_eq!(new.lock(path("LOCK")).unwrap_err().kind(), ErrorKind::Busy, "an old guard frees no new lock");
    drop(held);
}

#[test]
fn a_full_disk_heals() {
    let (disk, mut file) = half_synced(1);
    let env = disk.env();
    assert_eq!(env.free_space(path("")).unwrap(), None);
    disk.set_capacity(Some(20));
    assert_eq!(env.free_space(path("")).unwrap(), Some(4));
    assert_eq!(file.append(b"12345").unwrap_err().kind(), ErrorKind::NoSpace);
    file.append(b"1234").unwrap();
    // An open file holds its space when it loses its name, and gives it back when closed.
    env.remove(path(A)).unwrap();
    assert_eq!(env.free_space(path("")).unwrap(), Some(0));
    drop(file);
    assert_eq!(env.free_space(path("")).unwrap(), Some(20));
}

#[test]
fn a_removed_file_is_forgotten_only_when_closed() {
    let (disk, mut file) = half_synced(1);
    disk.env().remove(path(A)).unwrap();
    disk.env().sync_dir(path("")).unwrap();
    file.append(b"still there").unwrap();
    let nodes = disk.state.lock().nodes.len();
    drop(file);
    disk.env().sync_dir(path("")).unwrap();
    assert_eq!(disk.state.lock().nodes.len(), nodes - 1);
}

#[test]
fn damage_is_what_was_asked_for() {
    let (disk, file) = half_synced(1);
    drop(file);
    let open = disk.env().open_read(path(A)).unwrap();
    disk.flip(path(A), 1, 0x20).unwrap();
    assert_eq!(open.bytes(), b"synced0123456789");
    let env = disk.restart(CrashMode::LoseAll);
    assert_eq!(env.read(path(A)).unwrap(), b"sYnced");
    assert_eq!(disk.flip(path(A), 6, 1).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(disk.flip(path("b"), 0, 1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn the_clock_is_the_tests() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    let start = env.monotonic_nanos();
    disk.clock().advance(Duration::from_secs(3));
    assert_eq!(env.now_micros(), FIRST_MICROS + 3_000_000);
    assert_eq!(env.monotonic_nanos(), start + 3_000_000_000);
    disk.clock().set_micros(0);
    assert_eq!(env.monotonic_nanos(), start + 3_000_000_000, "never back");
}

#[test]
fn paths_that_leave_the_disk_are_refused() {
    let env = SimDisk::new(1).env();
    assert_eq!(env.read(path("../a")).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(env.create(path("/")).err().map(|error| error.kind()), Some(ErrorKind::Invalid));
}
