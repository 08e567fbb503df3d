//! The manifest on a simulated disk: crashes, failures and damage at every place.

use super::*;
use crate::annotate::{first_gap, render};
use crate::env::sim::{CrashMode, Failure, SimDisk};
use crate::manifest::check::check;
use crate::manifest::directory::{Found, inspect};
use crate::manifest::dump::dump;
use crate::manifest::edit::NextIds;
use crate::manifest::edit::tests::{add, flushed, remove, table};
use crate::model::schema::TableId;

fn dir() -> DataDir {
    DataDir::new("/store")
}

/// Lists of edits as a store makes them: schema, flushes, a compaction, a truncation, a drop.
fn history() -> Vec<Vec<Edit>> {
    vec![
        table(1, "ks", "a"),
        table(2, "ks", "b"),
        vec![add(1, 1), flushed(1, 1, 100)],
        vec![add(1, 2), flushed(1, 1, 200)],
        vec![add(2, 3), flushed(2, 2, 50)],
        vec![remove(1, 1), remove(1, 2), add(1, 4)],
        vec![remove(2, 3), flushed(2, 2, 90)],
        vec![Edit::NextIds(NextIds { file: 20, table: 1, segment: 9 })],
        vec![Edit::DropTable(TableId(2))],
    ]
}

/// Every version of the history: `versions()[n]` is after `n` lists of edits.
fn versions() -> Vec<Version> {
    let mut version = Version::default();
    let mut all = vec![version.clone()];
    for edits in history() {
        edits.iter().for_each(|edit| version.apply(edit).unwrap());
        all.push(version.clone());
    }
    all
}

/// Opens the store, or makes it if there is none; checks the rules.
fn open(env: &Arc<dyn Env>) -> Result<Manifest> {
    let manifest = match inspect(&**env, &dir())? {
        Found::Nothing => Manifest::create(Arc::clone(env), &dir())?,
        Found::Store => Manifest::open(Arc::clone(env), &dir())?,
    };
    check(manifest.version())?;
    Ok(manifest)
}

fn run(env: &Arc<dyn Env>, applied: &mut usize) -> Result<Manifest> {
    let mut manifest = open(env)?;
    for edits in history() {
        manifest.apply(&edits)?;
        *applied += 1;
    }
    Ok(manifest)
}

#[test]
fn what_was_applied_is_there_after_reopening() {
    let disk = SimDisk::new(1);
    let manifest = run(&disk.env(), &mut 0).unwrap();
    assert_eq!(**manifest.version(), versions()[9]);
    let bytes = manifest.bytes();
    assert_eq!(open(&disk.env()).unwrap().bytes(), bytes, "without closing");
    manifest.close().unwrap();
    let manifest = open(&disk.env()).unwrap();
    assert_eq!(**manifest.version(), versions()[9]);
    assert_eq!(Current::read(&*disk.env(), &dir()).unwrap(), Current { number: 1, bytes });
    // A refused list of edits changes nothing, not even its first half.
    let mut manifest = manifest;
    assert!(manifest.apply(&[add(1, 30), add(1, 4)]).is_err());
    assert_eq!(**manifest.version(), versions()[9]);
    assert_eq!(manifest.bytes(), bytes);
}

#[test]
fn one_change_is_one_append_and_one_sync() {
    let disk = SimDisk::new(1);
    let mut manifest = run(&disk.env(), &mut 0).unwrap();
    let calls = disk.calls();
    manifest.apply(&[add(1, 30), remove(1, 4), flushed(1, 5, 5)]).unwrap();
    assert_eq!(disk.calls() - calls, 2);
    manifest.apply(&[]).unwrap();
    assert_eq!(disk.calls() - calls, 2);
}

#[test]
fn a_long_manifest_is_replaced_by_a_fresh_one() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    let mut manifest = run(&env, &mut 0).unwrap();
    let mut longest = 0;
    for id in 100.. {
        manifest.apply(&[add(1, id)]).unwrap();
        longest = longest.max(manifest.bytes());
        manifest.apply(&[remove(1, id)]).unwrap();
        longest = longest.max(manifest.bytes());
        if manifest.path() == dir().manifest(2) {
            break;
        }
    }
    assert!(longest > SWITCH_BYTES && longest < SWITCH_BYTES + 1000);
    assert!(manifest.bytes() < 2000);
    assert!(!env.exists(&dir().manifest(1)).unwrap());
    let version = Arc::clone(manifest.version());
    let env = disk.restart(CrashMode::LoseAll);
    let manifest = open(&env).unwrap();
    assert_eq!(*manifest.version(), version);
    assert_eq!(manifest.path(), dir().manifest(2));
}

#[test]
fn a_manifest_full_of_live_files_is_not_replaced_again_and_again() {
    let disk = SimDisk::new(1);
    let mut manifest = open(&disk.env()).unwrap();
    manifest.apply(&table(1, "ks", "a")).unwrap();
    let many: Vec<Edit> = (1..12_000).map(|id| add(1, id)).collect();
    manifest.apply(&many).unwrap();
    assert!(manifest.bytes() > SWITCH_BYTES);
    manifest.apply(&[remove(1, 1)]).unwrap();
    assert_eq!(manifest.path(), dir().manifest(1));
    // A snapshot of many records.
    manifest.switch().unwrap();
    let version = Arc::clone(manifest.version());
    assert_eq!(*open(&disk.env()).unwrap().version(), version);
}

#[test]
fn a_crash_at_any_call_leaves_the_last_change_whole_or_absent() {
    let modes =
        [CrashMode::LoseAll, CrashMode::KeepAll, CrashMode::Torn, CrashMode::GarbageTail, CrashMode::Mixed];
    let versions = versions();
    let calls = {
        let disk = SimDisk::new(1);
        let mut manifest = run(&disk.env(), &mut 0).unwrap();
        manifest.switch().unwrap();
        manifest.close().unwrap();
        disk.calls()
    };
    for (call, mode) in (0..calls).flat_map(|call| modes.map(|mode| (call, mode))) {
        let disk = SimDisk::new(call);
        disk.crash_at(call);
        let mut applied = 0;
        let ended = run(&disk.env(), &mut applied).and_then(|mut manifest| {
            manifest.switch()?;
            manifest.close()
        });
        assert!(ended.is_err() || applied == 9, "only the removal of an old manifest may be missed");
        let env = disk.restart(mode);
        let manifest = open(&env).unwrap();
        let found = versions.iter().position(|version| *version == **manifest.version());
        let found = found.expect("a version of the history");
        assert!(found == applied || found == applied + 1, "call {call}: {found} of {applied}");
        drop(manifest);
        // And it stays so: what was read is durable, and changes go on.
        let env = disk.restart(CrashMode::LoseAll);
        let mut manifest = open(&env).unwrap();
        assert_eq!(**manifest.version(), versions[found]);
        for edits in &history()[found..] {
            manifest.apply(edits).unwrap();
        }
        let env = disk.restart(CrashMode::LoseAll);
        assert_eq!(**open(&env).unwrap().version(), versions[9]);
        let names = env.list_dir(dir().root()).unwrap();
        assert_eq!(names.len(), 3, "FORMAT, CURRENT and one manifest: {names:?}");
    }
}

#[test]
fn a_failure_at_any_call_changes_nothing_or_closes_the_manifest() {
    let versions = versions();
    let base = SimDisk::new(1);
    drop(run(&base.env(), &mut 0).unwrap());
    let mut closed = 0;
    for (call, failure) in
        (0..30).flat_map(|n| [Failure::Io, Failure::NoSpace, Failure::Sync].map(|f| (n, f)))
    {
        for lasting in [false, true] {
            let disk = base.fork(1);
            let mut manifest = open(&disk.env()).unwrap();
            let at = disk.calls() + call;
            if lasting {
                disk.fail_from(at, failure)
            } else {
                disk.fail_at(at, failure)
            }
            let mut expected = versions[9].clone();
            for id in 50..60 {
                let result = manifest.apply(&[add(1, id)]);
                if result.is_ok() {
                    expected.apply(&add(1, id)).unwrap();
                } else {
                    // A change of files that goes wrong in the middle is met too.
                    let _ = manifest.switch();
                }
                assert_eq!(**manifest.version(), expected);
            }
            disk.heal();
            let result = manifest.apply(&[add(1, 60)]);
            let mut possible = vec![expected.clone()];
            match result {
                Ok(()) => {
                    expected.apply(&add(1, 60)).unwrap();
                    possible = vec![expected];
                }
                Err(error) => {
                    assert_ne!(failure, Failure::NoSpace, "a full disk heals");
                    assert_eq!(error.kind(), ErrorKind::Closed);
                    assert!(error.message().contains("injected failure"), "{error}");
                    closed += 1;
                    // The outcome of one change is open.
                    possible.extend((50..60).filter_map(|id| {
                        let mut with = expected.clone();
                        with.apply(&add(1, id)).ok().map(|()| with)
                    }));
                }
            }
            for mode in [CrashMode::LoseAll, CrashMode::KeepAll, CrashMode::Mixed] {
                let fork = disk.fork(call);
                let env = fork.restart(mode);
                let found = open(&env).unwrap();
                assert!(possible.contains(found.version()), "call {call} {failure:?} {mode:?}");
            }
        }
    }
    assert!(closed > 0);
}

#[test]
fn every_flip_and_cut_is_an_error_with_file_and_offset_once_the_store_was_closed() {
    let base = SimDisk::new(1);
    run(&base.env(), &mut 0).unwrap().close().unwrap();
    let path = dir().manifest(1);
    let bytes = base.env().read(&path).unwrap();
    for at in 0..bytes.len() as u64 {
        let disk = base.fork(at);
        disk.flip(&path, at, 1 << (at % 8)).unwrap();
        let error = open(&disk.env()).unwrap_err();
        assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(&*path)));
        assert!(error.offset().unwrap() <= at, "{error}");
        let list = dump(1, &disk.env().read(&path).unwrap());
        assert_eq!(first_gap(&list, 0, bytes.len() as u64), None);
        let env = base.fork(at).env();
        env.truncate(&path, at).unwrap();
        let error = open(&env).unwrap_err();
        assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(&*path)));
        assert!(error.offset().unwrap() <= at, "{error}");
    }
    for lost in [path, dir().current()] {
        let env = base.fork(1).env();
        env.remove(&lost).unwrap();
        assert!(load(&*env, &dir()).is_err());
        let error = open(&env).err().filter(|error| error.kind() == ErrorKind::Corrupt);
        assert_eq!(error.is_some(), lost != dir().current(), "without CURRENT and data it looks unfinished");
    }
}

#[test]
fn without_a_close_a_damaged_end_is_dropped_and_damage_before_it_is_not() {
    let versions = versions();
    let base = SimDisk::new(1);
    let manifest = run(&base.env(), &mut 0).unwrap();
    let path = dir().manifest(1);
    let bytes = base.env().read(&path).unwrap();
    let first = Current::read(&*base.env(), &dir()).unwrap().bytes;
    assert_eq!(manifest.bytes(), bytes.len() as u64);
    for at in first..bytes.len() as u64 {
        let env = base.fork(at).env();
        env.truncate(&path, at).unwrap();
        let found = open(&env).unwrap();
        assert!(versions[..9].contains(found.version()), "cut at {at}");
        let disk = base.fork(at);
        disk.flip(&path, at, 1 << (at % 8)).unwrap();
        match open(&disk.env()) {
            Ok(found) => assert_eq!(**found.version(), versions[8], "flip at {at}"),
            Err(error) => assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(&*path))),
        }
    }
}

#[test]
fn the_worked_example_is_what_is_written_and_what_the_dump_shows() {
    let env = SimDisk::new(1).env();
    let mut manifest = Manifest::create(Arc::clone(&env), &dir()).unwrap();
    manifest.apply(&table(1, "ks", "t")[..1]).unwrap();
    manifest
        .apply(&[
            Edit::NextIds(NextIds { file: 300, table: 2, segment: 12 }),
            Edit::DropKeyspace("ks".into()),
        ])
        .unwrap();
    let bytes = env.read(&dir().manifest(1)).unwrap();
    let list = dump(1, &bytes);
    assert_eq!(first_gap(&list, 0, bytes.len() as u64), None);
    let text = render(&list, &bytes, 0);
    let document = include_str!("FORMAT.md");
    let lines = document.lines().filter(|line| line.len() > 58 && line.starts_with("000000"));
    let hex: Vec<&str> = lines.flat_map(|line| line[10..58].split_whitespace()).collect();
    let example: Vec<u8> = hex.into_iter().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(example, bytes, "{text}");
    assert!(document.contains(&text), "{text}");
    let other = SimDisk::new(2).env();
    drop(Manifest::create(Arc::clone(&other), &dir()).unwrap());
    other.create(&dir().manifest(1)).unwrap().append(&example).unwrap();
    assert_eq!(load(&*other, &dir()).unwrap().version, **manifest.version());
}
