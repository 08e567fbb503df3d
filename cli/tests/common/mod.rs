//! Running the built binary and looking at what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of its own, gone when dropped.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    /// A fresh one.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skep-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    #[allow(dead_code, reason = "not every test file writes files")]
    /// Writes a file into it and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `skep` with these arguments.
pub(crate) fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skep")).args(args).output().unwrap()
}

/// Runs `skep`, which must succeed, and returns its standard output.
pub(crate) fn ok(args: &[&str]) -> String {
    let output = run(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "skep {args:?} failed: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `skep`, which must fail with exit code 1, and returns its standard error.
#[allow(dead_code, reason = "not every test file has failing commands")]
pub(crate) fn fails(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(1), "skep {args:?} should fail with 1: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// All files below a directory with their bytes, the lock left out: it holds the last process's number.
#[allow(dead_code, reason = "not every test file compares directories")]
pub(crate) fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push((path.clone(), Vec::new()));
            all.extend(contents(&path));
        } else if path.file_name().is_none_or(|name| name != "LOCK") {
            let bytes = std::fs::read(&path).unwrap();
            all.push((path, bytes));
        }
    }
    all.sort();
    all
}
