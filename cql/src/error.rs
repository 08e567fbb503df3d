//! Errors of CQL: Apache Cassandra's classes, codes and wording, with the place in the statement and a hint.
//!
//! [`CqlError::message`] is the text that Cassandra gives, for clients match on it; what skep knows beyond that (where in the text, what to
//! do) is kept apart in [`CqlError::place`] and [`CqlError::hint`]. Errors of the engine come in by `From`.

use skep_engine::{Error, ErrorKind};
use std::fmt;

/// Shorthand for a result with [`CqlError`].
pub type Result<T> = std::result::Result<T, CqlError>;

/// The class of an error, with the code that the native protocol gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// 0x0000: a fault of skep's own, or of the disk.
    ServerError = 0x0000,
    /// 0x000A: a request that no driver sends.
    Protocol = 0x000A,
    /// 0x1001: a write that was refused because a limit is reached.
    Overloaded = 0x1001,
    /// 0x1300: a read that was given up, of too many tombstones for example.
    ReadFailure = 0x1300,
    /// 0x1400: a function or an arithmetic operation failed.
    FunctionFailure = 0x1400,
    /// 0x1500: a write that failed.
    WriteFailure = 0x1500,
    /// 0x2000: the text is no CQL.
    Syntax = 0x2000,
    /// 0x2100: not allowed (system keyspaces).
    Unauthorized = 0x2100,
    /// 0x2200: the statement means nothing here.
    Invalid = 0x2200,
    /// 0x2300: an option is out of range.
    Config = 0x2300,
    /// 0x2400: the thing to be created exists.
    AlreadyExists = 0x2400,
    /// 0x2500: an unknown prepared statement.
    Unprepared = 0x2500,
}

impl Code {
    /// The number in the native protocol.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// The most characters of a line that an error shows.
const SHOWN: usize = 160;

/// A place in a statement's text. Lines and columns count from 1 and 0, as in Cassandra's messages; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Character in the line, from 0.
    pub column: u32,
}

/// What went wrong with a statement. Cheap to move.
#[derive(thiserror::Error)]
#[error("{}", self.0.message)]
pub struct CqlError(Box<Inner>);

/// Class, message and hint: what a program prints that hands the error out of `main`.
impl fmt::Debug for CqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code(), self.message())?;
        match self.hint_text() {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    place: Option<Place>,
    hint: Option<String>,
    engine: Option<Error>,
}

impl CqlError {
    /// An error of class `code`, in Cassandra's words where it has some.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), place: None, hint: None, engine: None }))
    }

    /// `InvalidRequest`, the usual one.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// `SyntaxException` at a place; the message begins with it, as in Cassandra: `line 1:7 ...`.
    pub fn syntax(place: Place, message: impl fmt::Display) -> Self {
        let error = Self::new(Code::Syntax, format!("line {}:{} {message}", place.line, place.column));
        error.at(place)
    }

    /// `ConfigurationException`.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Code::Config, message)
    }

    /// `FunctionFailure`.
    pub fn function(message: impl Into<String>) -> Self {
        Self::new(Code::FunctionFailure, message)
    }

    /// With the place in the statement, unless it is known already.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.0.place.get_or_insert(place);
        self
    }

    /// With a hint for a newcomer, unless there is one already.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert(hint.into());
        self
    }

    /// The class.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The text, without place and hint.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where in the statement.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        self.0.place
    }

    /// What to do about it.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The engine's error behind it.
    #[must_use]
    pub fn engine(&self) -> Option<&Error> {
        self.0.engine.as_ref()
    }

    /// The error for a person: message, the statement's line with a caret below the place, hint.
    #[must_use]
    pub fn render(&self, statement: &str) -> String {
        let mut text = self.message().to_owned();
        if let Some(place) = self.place()
            && let Some(line) = statement.lines().nth(place.line.saturating_sub(1) as usize)
        {
            // Of a long line what is around the place.
            let column = place.column as usize;
            let first = column.saturating_sub(SHOWN / 2);
            let shown: String = line.chars().skip(first).take(SHOWN).collect();
            // Tabs stay tabs, so that the caret stands below its character whatever their width.
            let lead = shown.chars().take(column - first).map(|c| if c == '\t' { '\t' } else { ' ' });
            let lead: String = lead.collect();
            text.push_str(&format!("\n  {shown}\n  {lead}^"));
        }
        if let Some(hint) = self.hint_text() {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}

impl From<Error> for CqlError {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Invalid | ErrorKind::NotFound => Code::Invalid,
            ErrorKind::AlreadyExists => Code::AlreadyExists,
            ErrorKind::Busy | ErrorKind::NoSpace => Code::Overloaded,
            _ => Code::ServerError,
        };
        let message = match code {
            Code::Invalid | Code::AlreadyExists => error.message().to_owned(),
            _ => error.to_string(),
        };
        let mut made = Self::new(code, message);
        made.0.engine = Some(error);
        made
    }
}

/// For programs that speak to the engine as well and have one kind of error: class and place are lost, the words stay.
impl From<CqlError> for Error {
    fn from(error: CqlError) -> Self {
        if let Some(engine) = error.engine() {
            return engine.duplicate();
        }
        let kind = match error.code() {
            Code::AlreadyExists => ErrorKind::AlreadyExists,
            Code::Overloaded => ErrorKind::Busy,
            Code::ServerError | Code::WriteFailure | Code::ReadFailure => ErrorKind::Io,
            _ => ErrorKind::Invalid,
        };
        let made = Self::new(kind, error.message());
        match error.hint_text() {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_its_character() {
        let error = CqlError::syntax(Place { line: 2, column: 3 }, "no viable alternative").hint("quote it");
        let text = error.render("SELECT a\n\tb, c");
        assert_eq!(text, "line 2:3 no viable alternative\n  \tb, c\n  \t  ^\nhint: quote it");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let text = CqlError::syntax(Place { line: 1, column: 500 }, "here").render(&line);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].len(), SHOWN + 2);
        assert_eq!(lines[2].find('^'), lines[1].find('X'));
    }

    #[test]
    fn an_error_that_main_returns_reads_well() {
        let error = CqlError::invalid("table t does not exist").hint("there is u");
        assert_eq!(format!("{error:?}"), "Invalid: table t does not exist (hint: there is u)");
    }

    #[test]
    fn codes_are_those_of_the_protocol() {
        assert_eq!(CqlError::invalid("").code().number(), 0x2200);
        assert_eq!(CqlError::from(Error::new(ErrorKind::AlreadyExists, "x")).code().number(), 0x2400);
        assert_eq!(CqlError::from(Error::new(ErrorKind::Corrupt, "x")).code().number(), 0);
    }
}
