//! The project's own text, as the tests of its shape read it.
//!
//! Called by `tests/layers.rs` and `tests/book.rs`. Everything works line by line on text: no parser of Rust is
//! needed as long as the code keeps the writing rules of CONTRIBUTING.md, and those are what is checked.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the package lies in the repository").to_path_buf()
}

/// All files under `dir` (relative to the root) whose name ends in `ending`, as paths relative to the root, sorted.
pub fn files(dir: &str, ending: &str) -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    let mut pending = vec![root.join(dir)];
    while let Some(dir) = pending.pop() {
        let entries = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        for entry in entries {
            let path = entry.expect("a directory entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    pending.push(path);
                }
            } else if name.ends_with(ending) {
                let relative = path.strip_prefix(&root).expect("lies under the root");
                found.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// A file's text, by its path from the root.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// One file of Rust.
#[derive(Debug)]
pub struct Source {
    /// Path from the root of the repository.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Whether the whole file is a test.
    pub is_test: bool,
}

impl Source {
    /// All files of Rust under `dir`.
    pub fn all(dir: &str) -> Vec<Self> {
        files(dir, ".rs")
            .into_iter()
            .map(|path| Self { text: read(&path), is_test: is_test(&path), path })
            .collect()
    }

    /// The lines before the tests of the file; none of a file of tests.
    pub fn production(&self) -> Vec<&str> {
        if self.is_test {
            return Vec::new();
        }
        let lines: Vec<_> = self.text.lines().collect();
        let tests = lines.windows(2).position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        });
        lines[..tests.unwrap_or(lines.len())].to_vec()
    }

    /// The production lines with comments and `#[cfg(test)] use` taken out.
    pub fn code(&self) -> Vec<&str> {
        let mut skip_use = false;
        let mut code = Vec::new();
        for line in self.production() {
            let trimmed = line.trim_start();
            if trimmed.starts_with("//") {
                continue;
            }
            if std::mem::take(&mut skip_use) && trimmed.starts_with("use ") {
                continue;
            }
            skip_use = trimmed == "#[cfg(test)]";
            code.push(line.split(" // ").next().unwrap_or(line));
        }
        code
    }
}

/// Tests beside the code are named so.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    name == "tests"
        || name.ends_with("_tests")
        || name == "testing"
        || name == "arbitrary"
        || path.contains("/tests/")
}

/// The names that follow `prefix` in a line: of `crate::` in `use crate::a::B; crate::c::d()`, `a` and `c`.
pub fn names_after<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    line.match_indices(prefix)
        .filter(|(at, _)| {
            let before = line[..*at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
        })
        .map(|(at, _)| {
            let rest = &line[at + prefix.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            &rest[..end]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { path: "a.rs".into(), text: text.into(), is_test: false }
    }

    #[test]
    fn tests_and_comments_are_no_code() {
        let text = "//! crate::db\nuse crate::model::A; // crate::read\n#[cfg(test)]\nuse crate::db::B;\n\
                    #[cfg(test)]\nmod tests {\n    use crate::write::C;\n}\n";
        assert_eq!(source(text).code(), ["use crate::model::A;", "#[cfg(test)]", ""][..2].to_vec());
        assert_eq!(source(text).production().len(), 4);
    }

    #[test]
    fn names_are_found_anywhere_in_a_line() {
        assert_eq!(names_after("crate::a::b(crate::c, $crate::d, my_crate::e)", "crate::"), ["a", "c"]);
    }
}
