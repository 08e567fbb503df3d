//! `skep inspect`: one file of a store, from a summary down to its bytes.
//!
//! ```text
//! findings     what was found, as text or JSON
//! words        keys and rows in words
//! commitlog, manifest, sstable      the kinds of files
//! ```
//! A file is read by itself; no store is opened, no lock is taken, nothing is changed. What is damaged is shown as such, and the rest of
//! the file all the same; the command then fails, so that a script notices.

mod commitlog;
mod findings;
mod manifest;
mod sstable;
mod words;

use crate::failure::{Failure, Outcome};
use crate::inspect::findings::Findings;
use clap::ValueEnum;
use skep::TableSchema;
use skep::env::{DataDir, OsEnv, parse_segment};
use skep::manifest::current::Current;
use skep::manifest::load::load;
use skep::model::schema::TableId;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A segment of the commit log, or the directory of all
    Commitlog,
    /// A data file
    Sstable,
    /// A manifest, or a store's directory for the one that rules
    Manifest,
    /// A table's directory
    Table,
}

/// Arguments of `skep inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the file is
    #[arg(value_enum)]
    kind: Kind,
    /// The file or directory
    path: PathBuf,
    /// Show its parts: blocks of an SSTable, records of a log or manifest
    #[arg(long)]
    blocks: bool,
    /// Show what is in it: rows, operations, edits
    #[arg(long)]
    rows: bool,
    /// Show its bytes and what they mean
    #[arg(long)]
    hex: bool,
    /// As one JSON object for each file, one a line
    #[arg(long)]
    json: bool,
    /// At most so many lines of --rows
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    limit: usize,
}

impl Args {
    /// The lines of `--rows` up to the limit; `more` says whether some were left out.
    fn cut(&self, mut rows: Vec<String>, more: &mut bool) -> Vec<String> {
        *more = rows.len() > self.limit;
        rows.truncate(self.limit);
        rows
    }
}

/// What the tables of the store around a file are called, as far as it can be told without opening it.
struct Names(HashMap<TableId, Arc<TableSchema>>);

impl Names {
    /// The names in the store that the segment `path` lies in.
    fn around(path: &Path) -> Self {
        let store = path.parent().and_then(Path::parent).filter(|dir| dir.join("CURRENT").is_file());
        let loaded = store.and_then(|dir| load(&OsEnv::new(), &DataDir::new(dir)).ok());
        let tables = loaded.into_iter().flat_map(|loaded| loaded.version.tables.into_iter());
        Self(tables.map(|(id, table)| (id, Arc::clone(&table.schema))).collect())
    }

    fn schema(&self, id: TableId) -> Option<&TableSchema> {
        self.0.get(&id).map(|schema| &**schema)
    }

    fn table(&self, id: TableId) -> String {
        self.schema(id).map_or_else(|| format!("table {}", id.0), TableSchema::full_name)
    }
}

/// Looks at a file, or at several of a directory.
pub(crate) fn run(args: &Args) -> Outcome {
    let path = &args.path;
    if !path.exists() {
        return Err(Failure::new(format!("{}: does not exist", path.display())));
    }
    let all = match args.kind {
        Kind::Commitlog => segments(path)?
            .iter()
            .map(|path| commitlog::inspect(args, path, &Names::around(path)))
            .collect::<Outcome<Vec<_>>>()?,
        Kind::Sstable if path.is_dir() => sstable::table(args, path)?,
        Kind::Sstable => vec![sstable::inspect(args, path)?],
        Kind::Manifest => vec![manifest::inspect(args, &ruling(path)?)?],
        Kind::Table if path.join("CURRENT").is_file() => {
            let text = "this is a store; name the directory of one of its tables, DIR/data/KEYSPACE/TABLE-ID";
            return Err(Failure::new(format!("{}: {text}", path.display())));
        }
        Kind::Table if path.is_dir() => sstable::table(args, path)?,
        Kind::Table => {
            let text = format!("{}: a table is a directory, DIR/data/KEYSPACE/TABLE-ID", path.display());
            return Err(Failure::new(text));
        }
    };
    print(args, &all)
}

fn print(args: &Args, all: &[Findings]) -> Outcome {
    let mut out = std::io::stdout().lock();
    for findings in all {
        match args.json {
            true => writeln!(out, "{}", findings.json())?,
            false => write!(out, "{}", findings.text())?,
        }
    }
    out.flush()?;
    match all.iter().filter(|findings| !findings.damage.is_empty()).count() {
        0 => Ok(()),
        damaged => Err(Failure::new(format!("{damaged} of {} inspected: damaged", all.len()))),
    }
}

/// The segments at a path: the file itself, or those of the directory.
fn segments(path: &Path) -> Outcome<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let inner = path.join("commitlog");
    let dir = if inner.is_dir() { &inner } else { path };
    let entries = std::fs::read_dir(dir).map_err(|error| Failure::io("read it", dir, &error))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut segments: Vec<PathBuf> =
        names.filter(|name| parse_segment(name).is_some()).map(|name| dir.join(name)).collect();
    segments.sort();
    match segments.is_empty() {
        true => Err(Failure::new(format!("{}: there is no segment of a commit log", dir.display()))),
        false => Ok(segments),
    }
}

/// The manifest at a path: the file itself, or the one that rules the store.
fn ruling(path: &Path) -> Outcome<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let dir = DataDir::new(path);
    if !dir.current().exists() {
        return Err(Failure::new(format!("{}: this is no store, it has no file CURRENT", path.display())));
    }
    Ok(dir.manifest(Current::read(&OsEnv::new(), &dir)?.number))
}

/// All bytes of a file. Devices and pipes, which may never end, are refused.
fn read(path: &Path) -> Outcome<Vec<u8>> {
    let meta = std::fs::metadata(path).map_err(|error| Failure::io("read it", path, &error))?;
    if !meta.is_file() {
        return Err(Failure::new(format!("{}: this is no regular file", path.display())));
    }
    std::fs::read(path).map_err(|error| Failure::io("read it", path, &error))
}
