//! The prompt: lines are edited, kept in a history, and put together until a statement ends.

use crate::failure::{Failure, Outcome};
use crate::output::say;
use crate::shell::complete::Names;
use crate::shell::pieces::pieces;
use crate::shell::state::{Next, Shell};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use std::path::PathBuf;

/// Lines of history that are kept.
const HISTORY: usize = 2_000;

/// Reads and runs until the end.
pub(super) fn run(shell: &mut Shell) -> Outcome {
    let config = Config::builder()
        .max_history_size(HISTORY)
        .map_err(|error| unusable(&error))?
        .auto_add_history(false)
        .completion_type(rustyline::CompletionType::List)
        .build();
    let mut editor = Editor::<Names, FileHistory>::with_config(config).map_err(|error| unusable(&error))?;
    editor.set_helper(Some(Names::new(shell.session.db())));
    let history = history_file();
    if let Some(file) = &history {
        // A first session has none yet.
        let _ = editor.load_history(file);
    }
    say(format_args!(
        "skep {}, store in {}. HELP lists the shell's commands; statements end with a semicolon.",
        env!("CARGO_PKG_VERSION"),
        shell.session.db().path().display()
    ))?;
    let ended = lines(shell, &mut editor);
    if let Some(file) = &history {
        let _ = editor.save_history(file);
    }
    ended
}

fn lines(shell: &mut Shell, editor: &mut Editor<Names, FileHistory>) -> Outcome {
    let mut typed = String::new();
    loop {
        let keyspace = shell.session.keyspace();
        let prompt = match typed.is_empty() {
            true => format!("skep:{keyspace}> "),
            false => format!("{:>1$}> ", "...", keyspace.chars().count() + 5),
        };
        match editor.readline(&prompt) {
            Ok(line) => {
                typed.push_str(&line);
                typed.push('\n');
            }
            Err(ReadlineError::Interrupted) => {
                typed.clear();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(unusable(&error)),
        }
        if run_typed(shell, editor, &mut typed)? == Next::Exit {
            return Ok(());
        }
    }
}

/// Runs what was typed if all of it is complete; else more lines have to come.
fn run_typed(
    shell: &mut Shell,
    editor: &mut Editor<Names, FileHistory>,
    typed: &mut String,
) -> Outcome<Next> {
    let found: Vec<_> = pieces(typed).collect();
    if found.iter().any(|piece| !piece.complete) {
        return Ok(Next::Go);
    }
    let _ = editor.add_history_entry(typed.trim_end());
    for piece in &found {
        match shell.piece(piece) {
            Ok(Next::Go) => {}
            Ok(Next::Exit) => return Ok(Next::Exit),
            Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
            Err(failure) => {
                // What was typed behind a mistake was meant to come after it.
                say(failure)?;
                break;
            }
        }
    }
    typed.clear();
    Ok(Next::Go)
}

/// Where the history is kept: beside other programs' state.
fn history_file() -> Option<PathBuf> {
    let named =
        |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let dir = named("XDG_STATE_HOME")
        .or_else(|| named("LOCALAPPDATA"))
        .or_else(|| named("HOME").map(|home| home.join(".local").join("state")))?
        .join("skep");
    std::fs::create_dir_all(&dir).ok()?;
    Some(dir.join("shell_history"))
}

fn unusable(error: &ReadlineError) -> Failure {
    Failure::new(format!("the terminal cannot be used: {error}; try -e or -f"))
}
