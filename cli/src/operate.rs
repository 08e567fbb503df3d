//! `skep verify`, `skep compact`, `skep flush`, `skep snapshot`: keeping a store in order.

use crate::failure::{Failure, Outcome};
use crate::output::{bytes, say, text_table, things};
use crate::store::{reading, tables, writing};
use clap::Subcommand;
use skep::Db;
use skep::env::{DataDir, check_snapshot_name};
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments of `skep verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The store's directory
    dir: PathBuf,
}

/// Arguments of `skep compact`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// The store's directory
    dir: PathBuf,
    /// The table: `table`, or `keyspace.table`; all tables if not given
    table: Option<String>,
}

/// Arguments of `skep flush`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlushArgs {
    /// The store's directory
    dir: PathBuf,
}

/// Arguments of `skep snapshot`.
#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotArgs {
    /// The store's directory
    dir: PathBuf,
    #[command(subcommand)]
    command: SnapshotCommand,
}

#[derive(Debug, Subcommand)]
enum SnapshotCommand {
    /// Keep the store as it is now, by hard links in DIR/snapshots/NAME
    Create {
        /// The snapshot's name
        name: String,
    },
    /// Show the snapshots
    List,
    /// Remove a snapshot
    Delete {
        /// The snapshot's name
        name: String,
    },
    /// Make a new store from a snapshot
    Restore {
        /// The snapshot's name
        name: String,
        /// The directory of the new store, which must not exist or be empty
        target: PathBuf,
    },
}

/// Checks everything in a store.
pub(crate) fn verify(args: &VerifyArgs) -> Outcome {
    let db = reading(&args.dir)?;
    let report = db.verify()?;
    say(format_args!(
        "checked {} ({}, {}, {}, {}) and {} of the commit log",
        things(report.files, "file"),
        bytes(report.bytes),
        things(report.blocks, "block"),
        things(report.partitions, "partition"),
        things(report.rows, "row"),
        things(report.log_records, "record")
    ))?;
    for problem in &report.problems {
        say(format_args!("DAMAGED {problem}"))?;
    }
    match report.problems.len() {
        0 => say("all is well"),
        1 => Err(Failure::new(format!("{}: 1 problem was found", args.dir.display()))),
        n => Err(Failure::new(format!("{}: {n} problems were found", args.dir.display()))),
    }
}

/// Merges a table's files into as few as its strategy allows.
pub(crate) fn compact(args: &CompactArgs) -> Outcome {
    let db = writing(&args.dir)?;
    for table in tables(&db, args.table.as_deref())? {
        let before = table.stats();
        table.compact()?;
        let after = table.stats();
        say(format_args!(
            "{}: {}, {} -> {}, {}",
            after.name,
            things(before.files as u64, "file"),
            bytes(before.file_bytes),
            things(after.files as u64, "file"),
            bytes(after.file_bytes)
        ))?;
    }
    Ok(db.close()?)
}

/// Writes what is only in the log into files.
pub(crate) fn flush(args: &FlushArgs) -> Outcome {
    let db = writing(&args.dir)?;
    let rows: u64 = db.tables().iter().map(|table| table.stats().memtable_rows).sum();
    db.flush()?;
    say(format_args!("flushed {}; {} now", things(rows, "row"), things(db.stats().files as u64, "file")))?;
    Ok(db.close()?)
}

/// Creates, lists, deletes and restores snapshots.
pub(crate) fn snapshot(args: &SnapshotArgs) -> Outcome {
    match &args.command {
        SnapshotCommand::Create { name } => {
            let db = writing(&args.dir)?;
            db.create_snapshot(name)?;
            say(format_args!("created snapshot {name}"))?;
            Ok(db.close()?)
        }
        SnapshotCommand::List => {
            let rows = reading(&args.dir)?
                .list_snapshots()?
                .into_iter()
                .map(|info| vec![info.name, bytes(info.bytes)]);
            say(format_args!("{}", text_table(&["snapshot", "size"], &[1], rows.collect())))?;
            Ok(())
        }
        SnapshotCommand::Delete { name } => {
            let db = writing(&args.dir)?;
            db.delete_snapshot(name)?;
            say(format_args!("deleted snapshot {name}"))?;
            Ok(db.close()?)
        }
        SnapshotCommand::Restore { name, target } => restore(&args.dir, name, target),
    }
}

/// Copies a snapshot: a store that is written to must not share its files with a snapshot's by links alone, as their names are
/// numbers that both would give out again.
fn restore(dir: &Path, name: &str, target: &Path) -> Outcome {
    check_snapshot_name(name)?;
    let source = DataDir::new(dir).snapshot(name)?;
    if !source.is_dir() {
        return Err(Failure::new(format!("{}: there is no snapshot {name}", dir.display())));
    }
    let occupied =
        target.exists() && fs::read_dir(target).map_or(true, |mut entries| entries.next().is_some());
    if occupied {
        return Err(Failure::new(format!("{}: exists already and is not empty", target.display())));
    }
    copy(&source, target)?;
    let db = Db::open_read_only(target)?;
    let report = db.verify()?;
    if let Some(problem) = report.problems.first() {
        return Err(Failure::new(format!("the snapshot is damaged: {problem}")));
    }
    say(format_args!(
        "restored snapshot {name} into {}: {} in {}, all checked",
        target.display(),
        things(report.rows, "row"),
        things(report.files, "file")
    ))?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to).map_err(|error| Failure::io("create it", to, &error))?;
    let read = |error: std::io::Error| Failure::io("read it", from, &error);
    for entry in fs::read_dir(from).map_err(read)? {
        let entry = entry.map_err(read)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            let copied = fs::copy(entry.path(), &target).and_then(|_| fs::File::open(&target)?.sync_all());
            copied.map_err(|error| Failure::io("copy it", &entry.path(), &error))?;
        }
    }
    Ok(())
}
