//! `skep shell`: CQL at a prompt, from files, from the command line.
//!
//! ```text
//! settings      what is set
//! command       the shell's own commands
//! pieces        a script cut into statements and commands
//! render        answers as text
//! copy          COPY TO and FROM
//! state         the shell at work
//! complete      names and keywords at the prompt
//! prompt        the prompt
//! ```
//! A script stops at its first error with file and line and exit code 1; `--keep-going` reports all of them and goes on.

mod settings;
mod command;
mod pieces;
mod render;
mod copy;
mod state;
mod complete;
mod prompt;

use crate::failure::{Failure, Outcome};
use crate::output::Format;
use crate::shell::state::Shell;
use crate::store;
use skep::Db;
use skep::cql::Session;
use std::io::{IsTerminal, Read, stdin};
use std::path::{Path, PathBuf};

/// Arguments of `skep shell`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The store's directory; made if there is none
    dir: PathBuf,
    /// Run these statements and end
    #[arg(short, long, value_name = "CQL", conflicts_with = "file")]
    execute: Option<String>,
    /// Run this file and end; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Begin in this keyspace
    #[arg(short, long, value_name = "KEYSPACE")]
    keyspace: Option<String>,
    /// How rows are shown
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// After an error go on with the next statement; the exit code is 1 all the same
    #[arg(long)]
    keep_going: bool,
    /// Refuse everything that writes
    #[arg(long)]
    read_only: bool,
}

/// Runs a shell.
pub(crate) fn run(args: &Args) -> Outcome {
    let db = match args.read_only {
        true => Db::open_read_only(&args.dir)?,
        false => Db::open(&args.dir)?,
    };
    let session = Session::new(&db)?;
    let typed = args.execute.is_none() && args.file.is_none();
    let interactive = typed && stdin().is_terminal();
    let mut shell = Shell::new(session, args.format, interactive, args.keep_going);
    if let Some(keyspace) = &args.keyspace {
        shell.script(&format!("USE {};", skep::cql::syntax::print::name(keyspace)), "--keyspace")?;
    }
    let ran = match (&args.execute, &args.file) {
        (Some(text), _) => shell.script(text, "-e").map(|_| ()),
        (None, Some(file)) if file.as_os_str() != "-" => shell.source(&file.to_string_lossy()).map(|_| ()),
        _ if interactive => prompt::run(&mut shell),
        _ => {
            let (name, mut bytes) = ("standard input", Vec::new());
            let read = stdin().read_to_end(&mut bytes);
            read.map_err(|error| Failure::io("read it", Path::new(name), &error))?;
            shell.script(&text(bytes, name)?, name).map(|_| ())
        }
    };
    let failures = shell.failures();
    drop(shell);
    let closed = if args.read_only { Ok(()) } else { store::close(&db) };
    ran?;
    closed?;
    match failures {
        0 => Ok(()),
        1 => Err(Failure::new("one statement failed")),
        many => Err(Failure::new(format!("{many} statements failed"))),
    }
}

/// The text of a script.
fn text(bytes: Vec<u8>, name: &str) -> Outcome<String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!("{name}: not UTF-8 at byte {at}; save it as UTF-8"))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
