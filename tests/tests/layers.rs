//! The shape of the code: who imports whom, in which order the modules stand, and how files are written.
//!
//! The order of [`MODULES`] is the reading order: of `engine/src/lib.rs`, of ARCHITECTURE.md and of the book. A module imports only
//! from modules above it, and only from those that its line names. [`CQL`] is the same for `cql/src/lib.rs`; there all above may be used.

use skep_tests::source::{Source, files, names_after, read};

/// Each module of the engine with the ones it may import. Modules not yet written may be missing in `lib.rs`.
const MODULES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("annotate", &[]),
    ("options", &["error"]),
    ("model", &["error"]),
    ("encoding", &["error", "annotate", "model"]),
    ("env", &["error", "model"]),
    ("record", &["error", "annotate", "encoding"]),
    ("commitlog", &["error", "annotate", "options", "model", "encoding", "env", "record"]),
    ("memtable", &["error", "model", "encoding"]),
    ("sstable", &["error", "annotate", "options", "model", "encoding", "env"]),
    ("manifest", &["error", "annotate", "model", "encoding", "env", "record", "sstable"]),
    ("view", &["error", "model", "memtable", "sstable", "manifest"]),
    (
        "write",
        &[
            "error",
            "options",
            "model",
            "encoding",
            "env",
            "commitlog",
            "memtable",
            "sstable",
            "manifest",
            "view",
        ],
    ),
    ("read", &["error", "options", "model", "encoding", "env", "memtable", "sstable", "manifest", "view"]),
    (
        "compact",
        &["error", "options", "model", "encoding", "env", "memtable", "sstable", "manifest", "view", "read"],
    ),
    ("inspect", &["error", "annotate", "model", "env", "record", "commitlog", "sstable", "manifest"]),
    ("db", ANY),
];

/// The modules of CQL.
const CQL: &[(&str, &[&str])] = &[
    ("error", ANY),
    ("value", ANY),
    ("answer", ANY),
    ("story", ANY),
    ("rails", ANY),
    ("syntax", ANY),
    ("function", ANY),
    ("catalog", ANY),
    ("term", ANY),
    ("selector", ANY),
    ("restrict", ANY),
    ("select", ANY),
    ("mutation", ANY),
    ("derive", ANY),
    ("modify", ANY),
    ("schema", ANY),
    ("system", ANY),
    ("explain", ANY),
    ("session", ANY),
];

/// Marks the module that may import all above it.
const ANY: &[&str] = &["*"];

/// Production lines that a file may have.
const MAX_LINES: usize = 500;

/// The only file with unsafe code.
const UNSAFE: &str = "engine/src/env/mmap.rs";

/// The module that a file of the engine or of CQL belongs to, and its crate's list.
fn module(path: &str) -> (&str, &'static [(&'static str, &'static [&'static str])]) {
    let (rest, modules) = match path.strip_prefix("cql/src/") {
        Some(rest) => (rest, CQL),
        None => (path.strip_prefix("engine/src/").unwrap_or(path), MODULES),
    };
    (rest.split('/').next().unwrap_or(rest).trim_end_matches(".rs"), modules)
}

fn allowed(module: &str, modules: &[(&'static str, &[&'static str])]) -> Option<Vec<&'static str>> {
    let place = modules.iter().position(|(name, _)| *name == module)?;
    match modules[place].1 {
        ANY => Some(modules[..place].iter().map(|(name, _)| *name).collect()),
        names => Some(names.to_vec()),
    }
}

/// What is wrong with a file's imports, as `path: reason` lines.
fn import_faults(source: &Source) -> Vec<String> {
    let (own, modules) = module(&source.path);
    if own == "lib" {
        return Vec::new();
    }
    let Some(allowed) = allowed(own, modules) else {
        return vec![format!("{}: module {own} is not in the list of tests/tests/layers.rs", source.path)];
    };
    let mut faults = Vec::new();
    for line in source.code() {
        let mut fault = |reason: String| faults.push(format!("{}: {reason}: {}", source.path, line.trim()));
        for name in names_after(line, "crate::") {
            if name.is_empty() {
                fault("`use crate::{...}`; write one `use` per module".into());
            } else if name != own && !allowed.contains(&name) {
                fault(format!("{own} may not import {name}"));
            }
        }
        if line.contains("super::super::") {
            fault("`super::super::`; name the module from `crate::`".into());
        }
        if line.trim_start().starts_with("use ") && line.contains("::*") {
            fault("glob import".into());
        }
    }
    faults
}

fn check(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_list_allows_only_what_stands_above() {
    for (place, (name, names)) in MODULES.iter().enumerate() {
        for import in names.iter().filter(|import| **import != "*") {
            assert!(MODULES[..place].iter().any(|(above, _)| above == import), "{name} imports {import}");
        }
    }
}

#[test]
fn modules_import_only_from_above() {
    check(
        ["engine/src", "cql/src"].into_iter().flat_map(Source::all).flat_map(|s| import_faults(&s)).collect(),
    );
}

#[test]
fn a_breach_would_be_found() {
    let faults = |path: &str, text: &str| {
        import_faults(&Source { path: path.into(), text: text.into(), is_test: false }).len()
    };
    assert_eq!(faults("engine/src/error.rs", "use crate::write::WriteBatch;\n"), 1);
    assert_eq!(faults("engine/src/read/scan.rs", "use crate::commitlog::CommitLog;\n"), 1);
    assert_eq!(faults("engine/src/db/mod.rs", "use crate::commitlog::CommitLog;\n"), 0);
    assert_eq!(faults("engine/src/model/row.rs", "    x: crate::encoding::Y,\n"), 1);
    assert_eq!(faults("engine/src/model/row.rs", "use crate::{error::Error, model::A};\n"), 1);
    assert_eq!(faults("engine/src/model/row.rs", "use crate::Error;\n"), 1);
    assert_eq!(faults("engine/src/extra.rs", ""), 1);
    assert_eq!(faults("cql/src/select/run.rs", "use crate::modify::ModifyPlan;\n"), 1);
    assert_eq!(faults("cql/src/session/plan.rs", "use crate::modify::ModifyPlan;\n"), 0);
}

#[test]
fn lib_rs_keeps_the_reading_order() {
    keeps_the_reading_order("engine/src/lib.rs", MODULES);
    keeps_the_reading_order("cql/src/lib.rs", CQL);
}

fn keeps_the_reading_order(path: &str, modules: &[(&str, &[&str])]) {
    let text = read(path);
    let declared: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert!(declared.len() >= 7, "modules were found: {declared:?}");
    let places: Vec<_> =
        declared.iter().map(|name| modules.iter().position(|(module, _)| module == name)).collect();
    assert!(!places.contains(&None), "a module of {declared:?} is not in the list");
    assert!(places.is_sorted(), "{declared:?}");
}

#[test]
fn files_are_short_enough_to_read() {
    let faults = all_sources().into_iter().filter_map(|source| {
        let lines = source.production().len();
        (lines > MAX_LINES)
            .then(|| format!("{}: {lines} lines before its tests, the limit is {MAX_LINES}", source.path))
    });
    check(faults.collect());
}

#[test]
fn files_open_with_prose_and_are_ascii() {
    let mut faults = Vec::new();
    for source in all_sources() {
        let opens = source.text.starts_with("//! ") || source.text.starts_with("#![doc = include_str!(");
        if !opens {
            faults.push(format!("{}: does not open with `//!`", source.path));
        }
        for (number, line) in source.text.lines().enumerate() {
            if !line.is_ascii() {
                faults.push(format!("{}:{}: not ASCII", source.path, number + 1));
            }
        }
    }
    check(faults);
}

#[test]
fn unsafe_stays_in_one_file() {
    // Examples that measure may count allocations, which takes an unsafe trait, and the comparison with other engines calls
    // the system to drop its page cache; nobody links them.
    let faults = all_sources()
        .into_iter()
        .filter(|source| source.path != UNSAFE && !source.path.contains("/examples/"))
        .filter(|source| !source.path.starts_with("benches/versus/"))
        .flat_map(|source| {
            let unsafe_lines = |line: &&str| {
                let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
                words.into_iter().any(|word| word == "unsafe") && !line.trim_start().starts_with("//")
            };
            let found: Vec<_> = source.text.lines().filter(unsafe_lines).map(str::to_owned).collect();
            found.into_iter().map(move |line| format!("{}: unsafe code: {line}", source.path))
        });
    check(faults.filter(|fault| !fault.contains("tests/tests/layers.rs")).collect());
    assert!(read(UNSAFE).contains("unsafe {"), "the one exception is still needed");
}

#[test]
fn nothing_is_left_half_done() {
    let marks = ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "XXX", "TODO"];
    let mut faults = Vec::new();
    for source in all_sources() {
        if source.path == "tests/tests/layers.rs" {
            continue;
        }
        for (number, line) in source.text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                faults.push(format!("{}:{}: {mark}", source.path, number + 1));
            }
        }
    }
    check(faults);
}

/// Every file of Rust in the repository.
fn all_sources() -> Vec<Source> {
    let sources: Vec<_> =
        ["src", "engine", "cql", "cli", "tests", "benches"].into_iter().flat_map(Source::all).collect();
    assert!(sources.len() > 50 && files("engine/src", "lib.rs").len() == 1);
    sources
}
