//! Stores as an earlier version left them: made from a script, kept as files under `tests/fixtures/vN`.
//!
//! `bin/fixtures.rs` writes those of the present version; `tests/fixtures.rs` opens all that are kept and asks for everything in them.
//! A store is made three ways, so that its rows lie in files, in the log, or in both. Time is simulated, so that answers with times in
//! them stay; bytes may differ from one making to the next (numbers of files, identifiers of list elements).

use crate::golden::run::Runner;
use crate::golden::script::{Item, items};
use crate::source::read;
use crate::store::contents;
use skep_engine::env::sim::SimDisk;
use skep_engine::{Db, ManualClock, Options};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When the script begins: 2026-06-12 12:00:00 UTC, micros.
const START: i64 = 1_781_265_600_000_000;
/// When the stores are read, micros: an hour later.
pub const READ_AT: i64 = START + 3_600_000_000;

/// Where the rows lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In several SSTables.
    Files,
    /// In several segments of the commit log.
    Log,
    /// The first in SSTables, the last in the log.
    Both,
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Files, Self::Log, Self::Both];

    /// The directory's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Log => "log",
            Self::Both => "both",
        }
    }
}

/// What is asked of a store; the answers are in `answers.golden` beside the stores.
pub const QUESTIONS: [&str; 9] = [
    "SELECT * FROM kinds",
    "SELECT a, b, d, writetime(int), ttl(int), ttl(text), writetime(text) FROM kinds",
    "SELECT b, s FROM kinds WHERE a = 2 AND b = ''",
    "SELECT d FROM kinds WHERE a = 1 AND b = 'one' AND c = 50554d6e-29bb-11e5-b345-feff819cdc9f ORDER BY c ASC, d DESC",
    "SELECT * FROM hits",
    "SELECT sensor, count(*), sum(value), min(ts), max(ts), count(value), count(note) FROM readings GROUP BY sensor",
    "SELECT * FROM readings WHERE sensor = 'sensor-1' AND ts >= '2026-06-12T12:00:50Z' AND ts < '2026-06-12T12:02:30Z'",
    "SELECT ts, value, note FROM readings WHERE sensor = 'sensor-9' LIMIT 3",
    "SELECT sensor, ts, value, writetime(value) FROM readings WHERE sensor IN ('sensor-2', 'sensor-3', 'sensor-4') AND ts < '2026-06-12T12:00:20Z'",
];

/// Every file of a store whose rows lie at `place`, by its path in the store.
///
/// # Errors
/// A statement that is not answered as the script says, and errors of the store.
pub fn make(place: Place) -> Result<BTreeMap<PathBuf, Vec<u8>>, String> {
    let disk = SimDisk::new(1);
    disk.clock().set_micros(START);
    // Segments so small that the log has several, with marks.
    let options = Options { segment_bytes: 8192, ..Options::default() };
    let db = Db::builder("/db").options(options).env(disk.env()).background(false).open();
    let db = db.map_err(|error| error.to_string())?;
    db.create_keyspace("golden").map_err(|error| error.to_string())?;
    let mut runner = Runner::on(db.clone(), disk.clock())?;
    for item in items(&read("tests/fixtures/store.golden")) {
        match item {
            Item::Comment => {}
            Item::Statement { text, want } => expect(&text, &want, &runner.answer(&text))?,
            Item::Directive(line) => match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["@rows", "readings", from, to] => {
                    let number = |text: &str| text.parse::<i64>().map_err(|_| line.clone());
                    readings(&mut runner, number(from)?, number(to)?)?;
                }
                _ if place == Place::Log => db.sync().map_err(|error| error.to_string())?,
                _ => runner.directive(&line)?,
            },
        }
    }
    match place {
        Place::Files => db.close().map_err(|error| error.to_string())?,
        Place::Log | Place::Both => db.sync().map_err(|error| error.to_string())?,
    }
    let files = contents(&disk).into_iter();
    let files = files.filter_map(|(path, bytes)| Some((path.strip_prefix("/db").ok()?.to_path_buf(), bytes)));
    Ok(files.filter(|(path, _)| path != Path::new("LOCK")).collect())
}

/// A row each second, of one sensor after the other.
fn readings(runner: &mut Runner, from: i64, to: i64) -> Result<(), String> {
    for n in from..to {
        let (sensor, minute, second, value) = (n % 10, n / 60, n % 60, n % 100);
        // The column `status` is dropped before the last rows come.
        let (status, of) = if n < 500 { (", status", format!(", {}", n % 3)) } else { ("", String::new()) };
        let text = format!(
            "INSERT INTO readings (sensor, ts, value{status}) \
             VALUES ('sensor-{sensor}', '2026-06-12T12:{minute:02}:{second:02}Z', {value}.25{of})"
        );
        expect(&text, &["ok".to_owned()], &runner.answer(&text))?;
    }
    Ok(())
}

fn expect(text: &str, want: &[String], got: &[String]) -> Result<(), String> {
    match want == got {
        true => Ok(()),
        false => Err(format!("> {text}\n  want {}\n  got  {}", want.join("\n"), got.join("\n"))),
    }
}

/// The store in `dir` with the clock an hour after the script began.
///
/// # Errors
/// Those of opening.
pub fn open(dir: &Path) -> Result<(Db, Runner), String> {
    let clock = ManualClock::new(READ_AT);
    let db = Db::builder(dir).clock(Arc::new(clock.clone())).background(false).open();
    let db = db.map_err(|error| error.to_string())?;
    let runner = Runner::on(db.clone(), clock)?;
    Ok((db, runner))
}

/// All questions with their answers, as a golden file.
pub fn answers(runner: &mut Runner) -> String {
    let mut out = String::new();
    for text in QUESTIONS {
        let _ = writeln!(out, "> {text}\n{}\n", runner.answer(text).join("\n"));
    }
    out
}

/// Copies a directory with all in it.
///
/// # Errors
/// Those of the disk.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => copy(&path, &target)?,
            false => drop(fs::copy(&path, &target).map_err(failed)?),
        }
    }
    Ok(())
}
