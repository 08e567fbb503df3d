//! The binary `skep`: try the engine, fill a store, read it, look inside its files, keep it in order.
//!
//! ```text
//! demo                 the guided tour, with a store of its own
//! shell                CQL, typed or from files
//! import, export       CSV in, CSV and JSON out
//! get, slice, scan     reading; the store is opened read-only and not one byte changes
//! why                  which rule decided what a reader sees
//! advise               whether tables follow the rules of data modelling
//! inspect              one file of a store, down to its bytes, without opening the store
//! tables, schema, stats, verify, compact, flush, snapshot     operating a store
//! ```
//! Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod failure;
mod span;
mod values;
mod output;
mod store;
mod schema;
mod read;
mod import;
mod export;
mod inspect;
mod stats;
mod operate;
mod why;
mod advise;
mod shell;
mod demo;

use crate::failure::{Failure, Outcome};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An embedded wide-column store: Cassandra's data model and storage internals in one binary.
#[derive(Debug, Parser)]
#[command(name = "skep", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The guided tour: fill a store, query it, kill it, recover, let data expire
    Demo(demo::Args),
    /// Write CSV files into a table, which is made if asked for
    Import(Box<import::Args>),
    /// Write a table as CSV or JSON lines
    Export(export::Args),
    /// CQL at a prompt, from a file or from the command line
    Shell(shell::Args),
    /// Show the row with a primary key
    Get(read::GetArgs),
    /// Show rows of one partition, in clustering order
    Slice(read::SliceArgs),
    /// Show rows of all partitions, in token order
    Scan(read::ScanArgs),
    /// Why a value is seen, or is not
    Why(why::Args),
    /// Hold tables (or a file of definitions) against the rules of data modelling, and propose better ones
    Advise(advise::Args),
    /// Look into one file of a store, down to its bytes
    Inspect(inspect::Args),
    /// List the tables
    Tables(schema::TablesArgs),
    /// Show a table's definition
    Schema(schema::SchemaArgs),
    /// Show sizes, time windows, tombstones, and what keeps expired files
    Stats(stats::Args),
    /// Check every byte of a store
    Verify(operate::VerifyArgs),
    /// Merge the files of a table, or of all
    Compact(operate::CompactArgs),
    /// Write what is only in the commit log into files
    Flush(operate::FlushArgs),
    /// Create, list, delete and restore snapshots
    Snapshot(operate::SnapshotArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure @ Failure::Script(_)) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("skep: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Demo(args) => demo::run(args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Shell(args) => shell::run(&args),
        Command::Get(args) => read::get(&args),
        Command::Slice(args) => read::slice(&args),
        Command::Scan(args) => read::scan(&args),
        Command::Why(args) => why::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Tables(args) => schema::tables(&args),
        Command::Schema(args) => schema::show(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Verify(args) => operate::verify(&args),
        Command::Compact(args) => operate::compact(&args),
        Command::Flush(args) => operate::flush(&args),
        Command::Snapshot(args) => operate::snapshot(&args),
    }
}
