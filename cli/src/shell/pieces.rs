//! A script or what was typed so far, cut into what is run one by one: CQL statements and commands of the shell.
//!
//! A statement ends with a semicolon (a batch with the one behind APPLY BATCH; strings and comments hold none that counts), which is
//! `syntax::split`'s to know. A command ends with its line, or a semicolon outside of quotes; COPY goes on with a line that begins with one of its
//! words, as in scripts for cqlsh.

use crate::shell::command::{first_word, is_command};
use skep::cql::syntax::split::{PieceEnd, split};

/// One thing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Its text, without the semicolon.
    pub(crate) text: &'a str,
    /// The line of the whole text in which it begins, from 1.
    pub(crate) line: usize,
    /// A command of the shell.
    pub(crate) is_command: bool,
    /// Its end was seen: a semicolon, or a command's line.
    pub(crate) complete: bool,
}

/// The pieces of `text`, in order, each cut when it is asked for.
pub(crate) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text, line: 1 }
}

/// See [`pieces`].
pub(crate) struct Pieces<'a> {
    rest: &'a str,
    /// The line in which the rest begins. Counted on the way: scripts have a hundred thousand statements.
    line: usize,
}

impl<'a> Pieces<'a> {
    fn pass(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.matches('\n').count();
        self.rest = rest;
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            self.pass(blank(self.rest));
            if self.rest.is_empty() {
                return None;
            }
            let (line, is_command) = (self.line, is_command(self.rest));
            let (length, (text, complete)) =
                if is_command { command(self.rest) } else { statement(self.rest) };
            self.pass(length);
            if !text.trim().is_empty() {
                return Some(Piece { text, line, is_command, complete });
            }
        }
    }
}

/// Bytes of white space, comments and lone semicolons in front.
fn blank(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';').len();
        at += space;
        let rest = &text[at..];
        let comment = if rest.starts_with("--") || rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            // One that does not end is left for the statement, so that more can be typed.
            rest.find("*/").map_or(0, |end| end + 2)
        } else {
            0
        };
        at += comment;
        if space + comment == 0 {
            return at;
        }
    }
}

/// Length and text of the command that begins `text`.
fn command(text: &str) -> (usize, (&str, bool)) {
    let mut quoted = false;
    let is_copy = first_word(text).eq_ignore_ascii_case("COPY");
    // What goes on with a COPY; no other line does.
    let goes_on = |rest: &str| {
        let rest = rest.trim_start();
        let word = first_word(rest);
        rest.starts_with(['(', ')', ',', '=', '\''])
            || ["TO", "FROM", "WITH", "AND"].iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    for (i, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            ';' if !quoted => return (i + 1, (&text[..i], true)),
            '\n' if is_copy && goes_on(&text[i + 1..]) => {}
            '\n' => return (i + 1, (&text[..i], true)),
            _ => {}
        }
    }
    (text.len(), (text, true))
}

/// Length and text of the statement that begins `text`.
fn statement(text: &str) -> (usize, (&str, bool)) {
    match split(text).next() {
        Some(piece) => {
            let end = piece.offset + piece.text.len();
            (end.max(1), (piece.text, piece.end == PieceEnd::Semicolon))
        }
        None => (text.len(), (text, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<(&str, usize, bool, bool)> {
        pieces(script).map(|p| (p.text, p.line, p.is_command, p.complete)).collect()
    }

    #[test]
    fn statements_end_with_semicolons_and_commands_with_lines() {
        let script =
            "-- first\nSELECT ';' FROM t;\nEXPAND ON\nUSE k; timing off; INSERT INTO t\n(a) VALUES (1)";
        assert_eq!(
            texts(script),
            [
                ("SELECT ';' FROM t", 2, false, true),
                ("EXPAND ON", 3, true, true),
                ("USE k", 4, false, true),
                ("timing off", 4, true, true),
                ("INSERT INTO t\n(a) VALUES (1)", 4, false, false),
            ]
        );
    }

    #[test]
    fn copy_goes_on_with_a_line_that_begins_with_one_of_its_words() {
        let script = "COPY t (a)\n  TO 'f'\n WITH HEADER = true;\nEXPAND ON\nCOPY t FROM 'f'\nSELECT 1;";
        let found: Vec<_> = texts(script).into_iter().map(|(text, line, ..)| (text, line)).collect();
        assert_eq!(
            found,
            [
                ("COPY t (a)\n  TO 'f'\n WITH HEADER = true", 1),
                ("EXPAND ON", 4),
                ("COPY t FROM 'f'", 5),
                ("SELECT 1", 6),
            ]
        );
    }

    #[test]
    fn a_long_script_is_cut_in_one_pass() {
        // With a look back at each statement this took minutes.
        let script = "INSERT INTO t (a) VALUES (1);\n".repeat(100_000);
        let last = pieces(&script).last();
        assert_eq!(last.map(|piece| piece.line), Some(100_000));
    }

    #[test]
    fn batches_strings_and_comments_are_not_cut() {
        let script = "BEGIN BATCH INSERT INTO t (a) VALUES (1); DELETE FROM t WHERE a = 2; APPLY BATCH; /* a; b */ SELECT $$;$$ FROM t;";
        let found = texts(script);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].0.ends_with("APPLY BATCH") && found[1].3);
        assert!(texts(" ;; -- nothing\n").is_empty());
        assert!(!texts("SELECT 'open").first().unwrap().3);
    }
}
