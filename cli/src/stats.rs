//! `skep stats`: what is in a store, how large it is, and what is keeping space occupied.

use crate::failure::Outcome;
use crate::output::{bytes, count, micros, say, second, text_table, things};
use crate::store::{reading, tables};
use serde_json::{Value as Json, json};
use skep::compact::settings::{CompactionOptions, Windows};
use skep::env::OsEnv;
use skep::sstable::cache::BlockCache;
use skep::sstable::meta::FileMeta;
use skep::sstable::reader::SsTable;
use skep::{Db, Table, TableStats};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Windows shown of one table, the newest ones.
const SHOWN_WINDOWS: usize = 10;

/// Arguments of `skep stats`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The store's directory
    dir: PathBuf,
    /// The table: `table`, or `keyspace.table`; all tables if not given
    table: Option<String>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

/// The files of one time window.
#[derive(Default)]
struct Window {
    files: u64,
    bytes: u64,
    rows: u64,
    /// Second at which the last of it expires; `NEVER` if anything lives for ever.
    expires: i64,
}

/// Figures of one table.
struct Figures {
    stats: TableStats,
    windows: BTreeMap<i64, Window>,
    scale: Option<Windows>,
    damaged: Vec<String>,
}

/// Prints figures.
pub(crate) fn run(args: &Args) -> Outcome {
    let db = reading(&args.dir)?;
    let figures = tables(&db, args.table.as_deref())?
        .iter()
        .map(|table| figures(&db, table))
        .collect::<Outcome<Vec<_>>>()?;
    let log = log_bytes(&args.dir);
    match args.json {
        true => say(to_json(&db, log, &figures)),
        false => print(&db, log, &figures, args.table.is_some()),
    }
}

/// Bytes of the commit log's segments.
fn log_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir.join("commitlog")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

fn figures(db: &Db, table: &Table) -> Outcome<Figures> {
    let scale = CompactionOptions::parse(&table.schema().options.compaction)?.windows();
    let mut figures = Figures { stats: table.stats(), windows: BTreeMap::new(), scale, damaged: Vec::new() };
    let Some(scale) = scale else { return Ok(figures) };
    for path in db.files(&table.name())? {
        match card(&path) {
            Ok(card) => {
                let window = figures.windows.entry(scale.of(card.max_timestamp)).or_default();
                window.files += 1;
                window.bytes += card.size_bytes;
                window.rows += card.rows;
                window.expires = window.expires.max(card.max_local);
            }
            Err(error) => figures.damaged.push(error.to_string()),
        }
    }
    Ok(figures)
}

fn card(path: &Path) -> skep::Result<Arc<FileMeta>> {
    let file = SsTable::open_alone(Arc::new(OsEnv::new()), path, Arc::new(BlockCache::new(1 << 20)))?;
    Ok(Arc::clone(file.meta()))
}

fn print(db: &Db, log: u64, figures: &[Figures], one: bool) -> Outcome {
    let stats = db.stats();
    if !one {
        say(format_args!(
            "{}, {}, {}; commit log {}, of which {} had to be read",
            things(stats.tables as u64, "table"),
            things(stats.files as u64, "file"),
            bytes(stats.file_bytes),
            bytes(log),
            things(stats.replayed_records, "record")
        ))?;
        for note in &stats.recovery_notes {
            say(format_args!("recovery: {note}"))?;
        }
    }
    let rows = figures.iter().map(|Figures { stats, .. }| {
        let per_row = if stats.rows == 0 { "-".to_owned() } else { format!("{:.2}", stats.bytes_per_row) };
        vec![
            stats.name.clone(),
            count(stats.files as u64),
            bytes(stats.file_bytes),
            count(stats.partitions),
            count(stats.rows),
            per_row,
            count(stats.tombstones),
            count(stats.memtable_rows),
        ]
    });
    let header =
        ["table", "files", "size", "partitions", "rows", "bytes/row", "tombstones", "rows in the log"];
    say(format_args!("{}", text_table(&header, &[1, 2, 3, 4, 5, 6, 7], rows.collect())))?;
    figures.iter().try_for_each(print_details)
}

fn print_details(figures: &Figures) -> Outcome {
    let stats = &figures.stats;
    if let Some((first, last)) = stats.timestamps {
        say(format_args!("{}: written {} to {}", stats.name, micros(first), micros(last)))?;
    }
    for damaged in &figures.damaged {
        say(format_args!("{}: DAMAGED {damaged}", stats.name))?;
    }
    for blocked in &stats.blocked {
        say(format_args!("{}: blocked: {blocked}", stats.name))?;
    }
    if let Some(failure) = &stats.failure {
        say(format_args!("{}: failing: {failure}", stats.name))?;
    }
    let Some(scale) = figures.scale.filter(|_| !figures.windows.is_empty()) else { return Ok(()) };
    let rows = figures.windows.iter().rev().take(SHOWN_WINDOWS).map(|(number, window)| {
        vec![
            second(scale.start_second(*number)),
            count(window.files),
            bytes(window.bytes),
            count(window.rows),
            second(window.expires),
        ]
    });
    say(format_args!(
        "{}",
        text_table(&["window of writing", "files", "size", "rows", "expires"], &[1, 2, 3], rows.collect())
    ))?;
    if let Some(older) = figures.windows.len().checked_sub(SHOWN_WINDOWS).filter(|older| *older > 0) {
        say(format_args!("... and {older} older windows"))?;
    }
    Ok(())
}

fn to_json(db: &Db, log: u64, figures: &[Figures]) -> Json {
    let stats = db.stats();
    let tables = figures.iter().map(|figures| {
        let stats = &figures.stats;
        let windows = figures.scale.iter().flat_map(|scale| {
            figures.windows.iter().map(|(number, window)| {
                json!({
                    "start": scale.start_second(*number),
                    "files": window.files,
                    "bytes": window.bytes,
                    "rows": window.rows,
                    "expires": (window.expires != skep::model::life::NEVER).then_some(window.expires),
                })
            })
        });
        json!({
            "name": stats.name,
            "files": stats.files,
            "file_bytes": stats.file_bytes,
            "partitions": stats.partitions,
            "rows": stats.rows,
            "cells": stats.cells,
            "tombstones": stats.tombstones,
            "bytes_per_row": stats.bytes_per_row,
            "log_rows": stats.memtable_rows,
            "min_timestamp": stats.timestamps.map(|times| times.0),
            "max_timestamp": stats.timestamps.map(|times| times.1),
            "windows": windows.collect::<Vec<_>>(),
            "blocked": stats.blocked,
            "damaged": figures.damaged,
            "failure": stats.failure,
        })
    });
    json!({
        "tables": tables.collect::<Vec<_>>(),
        "files": stats.files,
        "file_bytes": stats.file_bytes,
        "log_bytes": log,
        "replayed_records": stats.replayed_records,
        "replayed_bytes": stats.replayed_bytes,
        "open_micros": u64::try_from(stats.open_time.as_micros()).unwrap_or(u64::MAX),
        "recovery_notes": stats.recovery_notes,
        "failures": stats.failures,
    })
}
