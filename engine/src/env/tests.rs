//! The rules that hold on both disks, and those of the real one.

use super::sim::SimDisk;
use super::*;

use std::process::{Command, Stdio};

/// A directory of the real disk that goes when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("skep-env-{:016x}", Random::from_system().next_u64()));
        std::fs::create_dir(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a test on a new directory of each disk.
fn on_both(test: impl Fn(&dyn Env, &Path)) {
    let scratch = Scratch::new();
    test(&OsEnv::new(), &scratch.0);
    let env = SimDisk::new(1).env();
    env.create_dir_all(Path::new("sim")).unwrap();
    test(&*env, Path::new("sim"));
}

fn write(env: &dyn Env, path: &Path, bytes: &[u8]) {
    let mut file = env.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("an error is expected").kind()
}

#[test]
fn files_are_written_read_and_appended_to() {
    on_both(|env, dir| {
        let path = dir.join("a");
        let mut file = env.create(&path).unwrap();
        file.append(b"one").unwrap();
        file.append(b"").unwrap();
        file.append(b"two").unwrap();
        file.syncer().sync().unwrap();
        assert_eq!((file.len(), file.path()), (6, path.as_path()));
        drop(file);
        let mut file = env.open_append(&path).unwrap();
        assert_eq!(file.len(), 6);
        file.append(b"!").unwrap();
        assert_eq!(env.read(&path).unwrap(), b"onetwo!");
        assert_eq!(env.open_read(&path).unwrap().bytes(), b"onetwo!");
        assert_eq!(env.len(&path).unwrap(), 7);
        env.truncate(&path, 3).unwrap();
        assert_eq!(env.read(&path).unwrap(), b"one");
        assert_eq!(kind(env.truncate(&path, 4)), ErrorKind::Invalid);
        assert!(env.create(&path).unwrap().is_empty());
        assert_eq!(env.len(&path).unwrap(), 0);
    });
}

#[test]
fn an_empty_file_is_readable_and_a_removed_one_stays_so() {
    on_both(|env, dir| {
        let path = dir.join("a");
        write(env, &path, b"");
        assert!(env.open_read(&path).unwrap().is_empty());
        write(env, &path, b"kept");
        let open = env.open_read(&path).unwrap();
        env.remove(&path).unwrap();
        env.sync_dir(dir).unwrap();
        assert_eq!((open.bytes(), open.len(), open.path()), (&b"kept"[..], 4, path.as_path()));
        assert!(!env.exists(&path).unwrap());
    });
}

#[test]
fn errors_have_kind_and_path() {
    on_both(|env, dir| {
        let path = dir.join("missing");
        assert_eq!(kind(env.read(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.open_read(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.open_append(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.len(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.remove(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.rename(&path, &dir.join("b"))), ErrorKind::NotFound);
        assert_eq!(kind(env.list_dir(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.sync_dir(&path)), ErrorKind::NotFound);
        assert_eq!(kind(env.create(&path.join("below"))), ErrorKind::NotFound);
        assert_eq!(kind(env.rename(&path, &dir.join("x").join("y"))), ErrorKind::Invalid);
        let error = env.read(&path).unwrap_err();
        assert_eq!(error.file(), Some(path.as_path()));
        assert!(error.to_string().contains("read the file"), "{error}");
    });
}

#[test]
fn directories_are_made_listed_and_removed() {
    on_both(|env, dir| {
        let deep = dir.join("a").join("b");
        env.create_dir_all(&deep).unwrap();
        env.create_dir_all(&deep).unwrap();
        write(env, &deep.join("z"), b"123");
        write(env, &deep.join("c"), b"");
        env.create_dir_all(&deep.join("d")).unwrap();
        let entry = |name: &str, is_dir, len| DirEntry { name: name.to_string(), is_dir, len };
        let expected = [entry("c", false, 0), entry("d", true, 0), entry("z", false, 3)];
        assert_eq!(env.list_dir(&deep).unwrap(), expected);
        env.remove_dir_all(&dir.join("a")).unwrap();
        assert_eq!(env.list_dir(dir).unwrap(), []);
        assert_eq!(kind(env.remove_dir_all(&dir.join("a"))), ErrorKind::NotFound);
    });
}

#[test]
fn rename_replaces_and_links_do_not() {
    on_both(|env, dir| {
        let (a, b) = (dir.join("a"), dir.join("b"));
        write(env, &a, b"1");
        write(env, &b, b"2");
        assert_eq!(kind(env.hard_link(&a, &b)), ErrorKind::AlreadyExists);
        env.rename(&a, &b).unwrap();
        assert!(!env.exists(&a).unwrap());
        assert_eq!(env.read(&b).unwrap(), b"1");
        env.hard_link(&b, &a).unwrap();
        env.remove(&b).unwrap();
        assert_eq!(env.read(&a).unwrap(), b"1");
        replace_file(env, &a, b"new").unwrap();
        assert_eq!(env.read(&a).unwrap(), b"new");
        assert_eq!(env.list_dir(dir).unwrap().len(), 1);
    });
}

#[test]
fn a_lock_excludes_until_dropped() {
    on_both(|env, dir| {
        let path = dir.join("LOCK");
        let guard = env.lock(&path).unwrap();
        assert_eq!(guard.path(), path);
        assert_eq!(env.read(&path).unwrap(), format!("{}\n", std::process::id()).as_bytes());
        let error = env.lock(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(guard);
        env.lock(&path).unwrap();
    });
}

#[test]
fn many_read_or_one_writes() {
    on_both(|env, dir| {
        let path = dir.join("LOCK");
        assert!(env.lock_shared(&path).unwrap().is_none());
        assert!(!env.exists(&path).unwrap(), "looking made it");
        let writer = env.lock(&path).unwrap();
        assert_eq!(kind(env.lock_shared(&path)), ErrorKind::Busy);
        drop(writer);
        let first = env.lock_shared(&path).unwrap().unwrap();
        let second = env.lock_shared(&path).unwrap().unwrap();
        assert_eq!(first.path(), path);
        drop(first);
        let error = env.lock(&path).unwrap_err();
        assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("for reading"), "{error}");
        drop(second);
        env.lock(&path).unwrap();
    });
}

/// Not a test of its own: the second process of the test below, told what to lock by a variable.
#[test]
fn lock_from_another_process() {
    let Some(path) = std::env::var_os("SKEP_TEST_LOCK") else { return };
    match OsEnv::new().lock(Path::new(&path)) {
        Ok(_) => println!("\noutcome: taken"),
        Err(error) => println!("\noutcome: {:?} {error}", error.kind()),
    }
}

#[test]
fn a_second_process_is_told_who_holds_the_lock() {
    let scratch = Scratch::new();
    let path = scratch.0.join("LOCK");
    let outcome = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "env::tests::lock_from_another_process", "--nocapture"]);
        let output = command.env("SKEP_TEST_LOCK", &path).stderr(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find_map(|line| line.strip_prefix("outcome: ").map(String::from)).expect(&text)
    };
    let guard = OsEnv::new().lock(&path).unwrap();
    let refused = outcome();
    assert!(refused.starts_with("Busy"), "{refused}");
    assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    drop(guard);
    assert_eq!(outcome(), "taken");
    let reader = OsEnv::new().lock_shared(&path).unwrap().unwrap();
    assert!(outcome().contains("open for reading"));
    drop(reader);
    assert_eq!(outcome(), "taken");
}

#[test]
fn a_copy_stands_in_for_a_link() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.0.join("a"), scratch.0.join("b"));
    write(&OsEnv::new(), &from, b"content");
    os::copy(&from, &to).unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), b"content");
    assert_eq!(kind(os::copy(&from, &to)), ErrorKind::AlreadyExists);
}

#[test]
fn one_thread_syncs_while_another_appends() {
    on_both(|env, dir| {
        let mut file = env.create(&dir.join("log")).unwrap();
        let syncer = file.syncer();
        std::thread::scope(|scope| {
            scope.spawn(move || (0..20).for_each(|_| syncer.sync().unwrap()));
            (0..20).for_each(|_| file.append(b"x").unwrap());
        });
        assert_eq!(file.len(), 20);
    });
}

#[test]
fn time_space_and_randomness_come_from_the_environment() {
    let clock = ManualClock::new(7);
    let env = OsEnv::with_clock(Arc::new(clock.clone()));
    clock.set_micros(9);
    assert_eq!((env.now_micros(), env.clock().now_micros()), (9, 9));
    assert!(env.monotonic_nanos() <= env.monotonic_nanos());
    assert_ne!(env.random_u64(), env.random_u64());
    let uuid = env.random_uuid();
    assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (4, 0b10));
    assert!(env.free_space(&std::env::temp_dir()).unwrap().is_some_and(|bytes| bytes > 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_told_from_other_failures() {
    // A device that refuses every write for want of space.
    let mut file = OsEnv::new().open_append(Path::new("/dev/full")).unwrap();
    let error = file.append(b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert_eq!(file.len(), 0);
    // It cannot be cut back either, so that the file takes no more.
    assert_eq!(kind(file.append(b"x")), ErrorKind::Io);
}
