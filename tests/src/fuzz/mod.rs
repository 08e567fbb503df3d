//! Bodies of the fuzz targets: what must hold for any bytes.
//!
//! Each is a plain function that panics when a rule is broken. The programs in `fuzz/fuzz_targets` hand it what the fuzzer
//! invents; `tests/fuzz_regressions.rs` hands it every input that once failed, and some thousands of random ones.
//!
//! A target first takes the bytes as they are (a file that somebody damaged), then as choices by which it builds something
//! valid, damages it a little, and holds the answer against what it knows.

mod choices;
mod exprs;
mod files;
mod manifest;
mod ops;
mod record;
mod rows;
mod sstable;
mod statements;
mod trees;
mod values;

pub use choices::Choices;

/// A target: its name, which is that of its program and of its corpus, and its body.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("record", record::record),
    ("commitlog", files::commitlog),
    ("sstable", sstable::sstable),
    ("manifest", manifest::manifest),
    ("manifest_file", files::manifest_file),
    ("row_roundtrip", rows::row_roundtrip),
    ("key_order", values::key_order),
    ("values", values::values),
    ("ops", ops::ops),
    ("statements", statements::statements),
];

/// Runs the target called `name`.
///
/// # Panics
/// If there is none, or if the input breaks a rule.
pub fn run(name: &str, data: &[u8]) {
    let (_, body) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target of that name");
    body(data);
}
