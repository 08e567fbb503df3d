//! Why a command failed, as one line for a person.
//!
//! Every command returns [`Outcome`]; `main` prints the line on standard error and chooses the exit code. A reader that goes away
//! (`skep scan ... | head`) is no failure.

use std::fmt;
use std::io;
use std::path::Path;

/// What a command returns.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine refused; its message names file, table and what helps.
    Engine(skep::Error),
    /// Something outside the store: input, output, arguments that do not fit the table.
    Other(String),
    /// A CQL statement failed: text of several lines.
    Statement {
        /// The line of the statement in which the mistake is, from 1.
        line: u32,
        /// Message, that line with a caret, hint.
        text: String,
    },
    /// A statement or a command of a script failed: text of several lines, with the statement's line and a caret.
    Script(String),
    /// Whoever read our output has stopped reading.
    OutputClosed,
}

impl Failure {
    /// A failure that is told by `text`, one line without a full stop.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Other(text.into())
    }

    /// The operating system refused `operation` on `path`.
    pub(crate) fn io(operation: &str, path: &Path, error: &io::Error) -> Self {
        Self::Other(format!("{}: cannot {operation}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    /// One line whatever the message holds: line breaks inside it (a key, a file name) are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Script(text) | Self::Statement { text, .. } => return f.write_str(text),
            Self::Engine(error) => error.to_string(),
            Self::Other(text) => text.clone(),
            Self::OutputClosed => "nobody reads the output any more".to_owned(),
        };
        f.write_str(&text.replace('\r', "\\r").replace('\n', "\\n"))
    }
}

impl From<skep::Error> for Failure {
    fn from(error: skep::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<skep::CqlError> for Failure {
    fn from(error: skep::CqlError) -> Self {
        Self::Other(error.render(""))
    }
}

/// For standard output; other files are named with [`Failure::io`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Other(format!("cannot write the output: {error}")),
        }
    }
}
