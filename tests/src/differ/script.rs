//! A recorded script in pieces, and the first of them that skep answers otherwise.
//!
//! Called by the program `differ` and by `shrink`; uses the reader and the runner of golden files.

use crate::golden::Way;
use crate::golden::run::Runner;
use crate::golden::script::{Item, items, same, tidy};
use std::fmt::Write;

/// A statement with the directives before it, and the oracle's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Lines that begin with `@`.
    pub directives: Vec<String>,
    /// The statement, without its semicolon.
    pub statement: String,
    /// The answer's lines.
    pub answer: Vec<String>,
}

impl Piece {
    /// Whether the statement only reads.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("SELECT"))
    }
}

/// A statement that skep answers otherwise than the oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The piece's place in the script.
    pub place: usize,
    /// What happened before every SELECT.
    pub way: Way,
    /// skep's answer.
    pub got: Vec<String>,
}

/// The pieces of a golden file. Comments are left out, and directives after which no statement comes.
#[must_use]
pub fn pieces(golden: &str) -> Vec<Piece> {
    let (mut pieces, mut directives) = (Vec::new(), Vec::new());
    for item in items(golden) {
        match item {
            Item::Comment => {}
            Item::Directive(line) => directives.push(line),
            Item::Statement { text, want } => {
                let directives = std::mem::take(&mut directives);
                pieces.push(Piece { directives, statement: text, answer: tidy(want) });
            }
        }
    }
    pieces
}

/// The script that an oracle is asked.
#[must_use]
pub fn script(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        piece.directives.iter().for_each(|line| text.extend([line, "\n"]));
        text.extend([&piece.statement, ";\n"]);
    }
    text
}

/// The golden file of the pieces.
#[must_use]
pub fn golden(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        piece.directives.iter().for_each(|line| text.extend([line, "\n"]));
        // Writing to a string does not fail.
        let _ = writeln!(text, "> {}", piece.statement.replace('\n', "\n  "));
        piece.answer.iter().for_each(|line| text.extend([line, "\n"]));
        text.push('\n');
    }
    text
}

/// The first difference of the script run in these ways, each on a store of its own.
///
/// # Errors
/// A directive that is not known, or a store that does not work at all.
pub fn first_difference(pieces: &[Piece], ways: &[Way]) -> Result<Option<Difference>, String> {
    for way in ways {
        let mut runner = Runner::new()?;
        for (place, piece) in pieces.iter().enumerate() {
            piece.directives.iter().try_for_each(|line| runner.directive(line))?;
            if piece.reads() {
                runner.before_select(*way)?;
            }
            let got = runner.answer(&piece.statement);
            if !same(&piece.answer, &got, false) {
                return Ok(Some(Difference { place, way: *way, got }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = "@flush\n> CREATE TABLE t (a int PRIMARY KEY)\nok\n\n> BEGIN BATCH\n  INSERT INTO t (a) VALUES (1);\n  APPLY BATCH\nok\n\n\
                          @page 5\n> SELECT a FROM t\na int\n1\n(1 row)\n\n";

    #[test]
    fn pieces_are_written_as_they_were_read() {
        let read = pieces(GOLDEN);
        assert_eq!(golden(&read), GOLDEN);
        assert_eq!(read.iter().map(Piece::reads).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(
            script(&read[1..]),
            "BEGIN BATCH\nINSERT INTO t (a) VALUES (1);\nAPPLY BATCH;\n@page 5\nSELECT a FROM t;\n"
        );
    }

    #[test]
    fn a_wrong_answer_is_found_in_every_way() {
        let right = pieces(GOLDEN);
        assert_eq!(first_difference(&right, &Way::ALL).unwrap(), None);
        for way in Way::ALL {
            let wrong = pieces(&GOLDEN.replace("\n1\n", "\n2\n"));
            let found = first_difference(&wrong, &[way]).unwrap().unwrap();
            assert_eq!((found.place, found.way, found.got), (2, way, right[2].answer.clone()));
        }
    }
}
