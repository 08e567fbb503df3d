//! COPY: a table to CSV and back, with cqlsh's options. What one wrote the other reads back exactly: null, empty text and empty values
//! of other types stay apart (see `values` of the binary for their forms).
//!
//! ```text
//! words     the command's words
//! options   WITH ...
//! form      the statements of COPY FROM
//! to        COPY TO
//! from      COPY FROM
//! ```

mod words;
mod options;
mod form;
mod to;
mod from;

use crate::failure::{Failure, Outcome};
use crate::shell::copy::options::Options;
use crate::shell::copy::words::{Word, words};
use skep::cql::Session;
use skep::{Db, Table};

/// A COPY, read and held against the table.
#[derive(Debug)]
struct Copy {
    table: Table,
    /// The columns, in the order of the file's fields.
    columns: Vec<String>,
    /// The file; None for standard input or output.
    file: Option<String>,
    options: Options,
}

/// Runs a COPY command; a sentence on what was done.
///
/// # Errors
/// A command that is none, a table or column that is not there, files that cannot be read or written, too many bad lines.
pub(crate) fn run(session: &Session, text: &str) -> Outcome<String> {
    let words = words(text).map_err(Failure::new)?;
    let (copy, is_from) = read(session.db(), &session.keyspace(), &words)?;
    match is_from {
        true => from::run(session, &copy),
        false => to::run(&copy),
    }
}

const USAGE: &str =
    "COPY table [(column, ...)] TO | FROM 'file' [WITH option = value AND ...] is how it is written";

fn read(db: &Db, keyspace: &str, words: &[Word]) -> Outcome<(Copy, bool)> {
    let usage = || Failure::new(USAGE);
    let mut rest = words.iter().skip(1).peekable();
    let mut next = || rest.next();
    let Some(Word::Name(first)) = next() else { return Err(usage()) };
    let mut word = next().ok_or_else(usage)?;
    let name = match word {
        Word::Sign('.') => {
            let Some(Word::Name(table)) = next() else { return Err(usage()) };
            word = next().ok_or_else(usage)?;
            (first.as_str(), table.as_str())
        }
        _ => (keyspace, first.as_str()),
    };
    let table = db
        .find_table(name.0, name.1)
        .ok_or_else(|| Failure::new(format!("table {}.{} does not exist", name.0, name.1)))?;
    let schema = table.schema();
    let mut columns = Vec::new();
    if *word == Word::Sign('(') {
        loop {
            let Some(Word::Name(column)) = next() else { return Err(usage()) };
            if schema.column(column).is_none() {
                return Err(Failure::new(format!("table {} has no column {column}", schema.full_name())));
            }
            columns.push(column.clone());
            match next() {
                Some(Word::Sign(',')) => {}
                Some(Word::Sign(')')) => break,
                _ => return Err(usage()),
            }
        }
        word = next().ok_or_else(usage)?;
    } else {
        columns = schema.columns().iter().map(|column| column.name.clone()).collect();
    }
    let is_from = match word {
        Word::Name(word) if word == "from" => true,
        Word::Name(word) if word == "to" => false,
        _ => return Err(usage()),
    };
    let file = match next() {
        Some(Word::Text(file)) => Some(file.clone()),
        Some(Word::Name(word)) if word == if is_from { "stdin" } else { "stdout" } => None,
        _ => return Err(usage()),
    };
    let options: Vec<&Word> = rest.collect();
    let options = Options::read(&options, is_from).map_err(Failure::new)?;
    Ok((Copy { table, columns, file, options }, is_from))
}
