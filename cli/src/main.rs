//! The binary `skep`: try the engine, fill a store, read it, look inside its files, keep it in order.
//!
//! ```text
//! demo                 the guided tour, with a store of its own
//! import, export       CSV in, CSV and JSON out
//! get, slice, scan     reading; the store is opened read-only and not one byte changes
//! inspect              one file of a store, down to its bytes, without opening the store
//! tables, schema, stats, verify, compact, flush, snapshot     operating a store
//! ```
//! Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod failure;
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
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("skep: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Demo(args) => demo::run(args),
    }
}
