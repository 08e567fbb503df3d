//! Commands of the shell itself: what is not CQL but understood by cqlsh too (`EXPAND ON`, `SOURCE 'f'`), and some more.
//!
//! Such a command ends with its line or with a semicolon. Everything else is a CQL statement, and none of the words here begins one.

use crate::output::Format;
use clap::ValueEnum;

/// A command of the shell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// `HELP [topic]`
    Help(Option<String>),
    /// EXIT, QUIT
    Exit,
    /// CLEAR, CLS
    Clear,
    /// `EXPAND [ON|OFF]`
    Expand(Option<bool>),
    /// `TIMING [ON|OFF]`
    Timing(Option<bool>),
    /// `TRACING [ON|OFF]`
    Tracing(Option<bool>),
    /// `PAGING [ON|OFF|rows]`
    Paging(Option<Paging>),
    /// `OUTPUT [TABLE|CSV|JSON]`
    Output(Option<Format>),
    /// `CONSISTENCY [level]`
    Consistency(Option<String>),
    /// `SERIAL CONSISTENCY [level]`
    SerialConsistency(Option<String>),
    /// SHOW VERSION, HOST or SESSION
    Show(String),
    /// SOURCE 'file'
    Source(String),
    /// `CAPTURE ['file'|OFF]`
    Capture(Option<Option<String>>),
    /// COPY ...; the whole text.
    Copy(String),
    /// `FLUSH [table]`, `COMPACT [table]`: nodetool's, which a store without a node has here.
    Maintain {
        /// COMPACT rather than FLUSH.
        compact: bool,
        /// The table, all if none.
        table: Option<String>,
    },
}

/// What PAGING is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    /// On, with the usual number of rows.
    On,
    /// Off.
    Off,
    /// So many rows.
    Rows(usize),
}

/// Words that begin a command of the shell.
pub(crate) const WORDS: [&str; 20] = [
    "HELP",
    "?",
    "EXIT",
    "QUIT",
    "CLEAR",
    "CLS",
    "EXPAND",
    "TIMING",
    "TRACING",
    "PAGING",
    "OUTPUT",
    "CONSISTENCY",
    "SERIAL",
    "SHOW",
    "SOURCE",
    "CAPTURE",
    "COPY",
    "LOGIN",
    "FLUSH",
    "COMPACT",
];

const LEVELS: [&str; 11] = [
    "ANY",
    "ONE",
    "TWO",
    "THREE",
    "QUORUM",
    "ALL",
    "LOCAL_QUORUM",
    "EACH_QUORUM",
    "LOCAL_ONE",
    "SERIAL",
    "LOCAL_SERIAL",
];

/// Whether a line begins a command of the shell.
pub(crate) fn is_command(line: &str) -> bool {
    WORDS.iter().any(|word| *word == first_word(line).to_ascii_uppercase())
}

/// The first word of a line.
pub(crate) fn first_word(line: &str) -> &str {
    let line = line.trim_start();
    if line.starts_with('?') {
        return "?";
    }
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
    &line[..end]
}

/// The command that a line holds, which [`is_command`].
///
/// # Errors
/// A sentence that says how the command is written.
pub(crate) fn parse(line: &str) -> Result<Command, String> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let word = first_word(line).to_ascii_uppercase();
    let rest = line[first_word(line).len()..].trim();
    let argument = (!rest.is_empty()).then(|| rest.to_owned());
    Ok(match word.as_str() {
        "HELP" | "?" => Command::Help(argument),
        "EXIT" | "QUIT" => Command::Exit,
        "CLEAR" | "CLS" => Command::Clear,
        "EXPAND" => Command::Expand(switch("EXPAND", rest)?),
        "TIMING" => Command::Timing(switch("TIMING", rest)?),
        "TRACING" => Command::Tracing(switch("TRACING", rest)?),
        "PAGING" => Command::Paging(paging(rest)?),
        "OUTPUT" => Command::Output(match argument {
            None => None,
            Some(name) => {
                let known = Format::from_str(&name, true);
                Some(known.map_err(|_| format!("OUTPUT is TABLE, CSV or JSON, not {name}"))?)
            }
        }),
        "CONSISTENCY" => Command::Consistency(level(rest)?),
        "SERIAL" => {
            let after = first_word(rest);
            if !after.eq_ignore_ascii_case("CONSISTENCY") {
                return Err("SERIAL CONSISTENCY [SERIAL | LOCAL_SERIAL] is meant".to_owned());
            }
            Command::SerialConsistency(level(rest[after.len()..].trim())?)
        }
        "SHOW" => match rest.to_ascii_uppercase() {
            what if matches!(what.as_str(), "VERSION" | "HOST" | "SESSION") => Command::Show(what),
            _ => return Err("SHOW shows VERSION, HOST or SESSION".to_owned()),
        },
        "SOURCE" => Command::Source(file(rest).ok_or("SOURCE 'file' is how it is written")?),
        "CAPTURE" => Command::Capture(match rest {
            "" => None,
            off if off.eq_ignore_ascii_case("OFF") => Some(None),
            name => Some(Some(file(name).ok_or("CAPTURE 'file' or CAPTURE OFF is how it is written")?)),
        }),
        "COPY" => Command::Copy(line.to_owned()),
        "FLUSH" | "COMPACT" => Command::Maintain { compact: word == "COMPACT", table: argument },
        _ => {
            return Err(
                "there are no users to log in as: whoever may read the files may use the store".to_owned()
            );
        }
    })
}

fn switch(name: &str, rest: &str) -> Result<Option<bool>, String> {
    match rest.to_ascii_uppercase().as_str() {
        "" => Ok(None),
        "ON" => Ok(Some(true)),
        "OFF" => Ok(Some(false)),
        _ => Err(format!("{name} is ON or OFF, not {rest}")),
    }
}

fn paging(rest: &str) -> Result<Option<Paging>, String> {
    match rest.parse::<usize>() {
        Ok(rows) if rows > 0 => Ok(Some(Paging::Rows(rows))),
        _ => Ok(switch("PAGING", rest)
            .map_err(|_| format!("PAGING is ON, OFF or a number of rows, not {rest}"))?
            .map(|on| if on { Paging::On } else { Paging::Off })),
    }
}

fn level(rest: &str) -> Result<Option<String>, String> {
    let name = rest.to_ascii_uppercase();
    match name.as_str() {
        "" => Ok(None),
        known if LEVELS.contains(&known) => Ok(Some(name)),
        _ => Err(format!("{rest} is no consistency level: {}", LEVELS.join(", "))),
    }
}

/// A file's name, in single quotes or without.
fn file(text: &str) -> Option<String> {
    let name = match text.strip_prefix('\'') {
        Some(rest) => rest.strip_suffix('\'')?.replace("''", "'"),
        None => text.to_owned(),
    };
    (!name.is_empty()).then_some(name)
}

/// What HELP says.
pub(crate) const HELP: &str = "\
CQL statements end with a semicolon. The shell's own commands end with their line:

  HELP                       this text
  DESCRIBE ...               the definitions: DESCRIBE TABLES, DESCRIBE TABLE t, DESCRIBE SCHEMA
  EXPAND ON | OFF            a line for each column (alone, as TIMING and TRACING: what it is set to)
  OUTPUT TABLE | CSV | JSON  how rows are shown
  PAGING ON | OFF | rows     stop after so many rows
  TIMING ON | OFF            how long each statement took
  TRACING ON | OFF           what each statement did: files and blocks read, tombstones met
  EXPLAIN SELECT ...         what a query reads and what it can rule out
  EXPLAIN VALUE FROM t WHERE key   every version of a row's values, and the rule that decides between them
  COPY t (columns) TO | FROM 'file' WITH option = value AND ...   CSV
  SOURCE 'file'              run a file
  CAPTURE 'file' | OFF       write rows to a file as well
  FLUSH [t], COMPACT [t]     write memtables to files; merge files
  SHOW VERSION | HOST, CONSISTENCY, SERIAL CONSISTENCY, CLEAR, EXIT";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_commands_whatever_their_case_and_no_cql_is() {
        for line in ["exit", " Expand ON;", "?", "copy t to 'f'", "SERIAL CONSISTENCY"] {
            assert!(is_command(line), "{line}");
        }
        for line in [
            "SELECT 1",
            "describe tables;",
            "USE k;",
            "-- exit",
            "exits",
            "TRUNCATE t",
            "EXPLAIN SELECT * FROM t",
        ] {
            assert!(!is_command(line), "{line}");
        }
    }

    #[test]
    fn commands_are_read() {
        assert_eq!(parse("expand on;"), Ok(Command::Expand(Some(true))));
        assert_eq!(parse("PAGING 20"), Ok(Command::Paging(Some(Paging::Rows(20)))));
        assert_eq!(parse("paging off"), Ok(Command::Paging(Some(Paging::Off))));
        assert_eq!(parse("SOURCE 'it''s.cql' ;"), Ok(Command::Source("it's.cql".into())));
        assert_eq!(parse("capture off"), Ok(Command::Capture(Some(None))));
        assert_eq!(parse("output json"), Ok(Command::Output(Some(Format::Json))));
        assert_eq!(
            parse("serial consistency local_serial"),
            Ok(Command::SerialConsistency(Some("LOCAL_SERIAL".into())))
        );
        assert_eq!(
            parse("compact ks.t"),
            Ok(Command::Maintain { compact: true, table: Some("ks.t".into()) })
        );
        for wrong in [
            "expand maybe",
            "paging 0x",
            "consistency MOST",
            "show me",
            "source",
            "serial",
            "login x",
            "output xml",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
