//! A script into statements, for the shell and for files of statements.
//!
//! Statements end with a semicolon outside texts, quoted names, comments and `$$`; those of a batch belong to it up to APPLY BATCH. What
//! cannot be read (a character that CQL does not have) is passed over here; `parse` tells of it.

use crate::syntax::lexer::{FaultKind, Lexer};
use crate::syntax::token::{Keyword, Kind, Sign, Token};

/// One statement of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its text, without the semicolon and without comments and blanks before it.
    pub text: &'a str,
    /// The byte of the script at which it starts.
    pub offset: usize,
    /// The line at which it starts, from 1.
    pub line: u32,
    /// What ended it.
    pub end: PieceEnd,
}

/// What ended a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceEnd {
    /// A semicolon.
    Semicolon,
    /// The end of the script: at a prompt, more may follow.
    Script,
    /// The end of the script within a text, a name or a comment, or within a batch: more must follow. What would close it.
    Open(&'static str),
}

/// The statements of a script; pieces without a word are left out.
#[must_use]
pub fn split(script: &str) -> Pieces<'_> {
    Pieces { script, lexer: Lexer::new(script), done: false }
}

/// See [`split`].
pub struct Pieces<'a> {
    script: &'a str,
    lexer: Lexer<'a>,
    done: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let mut first: Option<Token> = None;
        let mut last_end = 0;
        let mut batch = Batch::default();
        while !self.done {
            let token = self.lexer.next_token();
            let end = match token.kind {
                Kind::Sign(Sign::Semicolon) if !batch.open => Some(PieceEnd::Semicolon),
                Kind::End => {
                    self.done = true;
                    Some(if batch.open { PieceEnd::Open("APPLY BATCH") } else { PieceEnd::Script })
                }
                Kind::Fault => match self.lexer.take_fault().map(|fault| (fault.what, fault.begin)) {
                    Some((FaultKind::Open("\n"), _)) => {
                        // A comment in the last line needs no more text here: the script ends with it.
                        self.done = true;
                        Some(if batch.open { PieceEnd::Open("APPLY BATCH") } else { PieceEnd::Script })
                    }
                    Some((FaultKind::Open(close), (start, line))) => {
                        self.done = true;
                        // A comment is no token: without a word before it, the piece begins where it was opened.
                        let begin =
                            Token { start: token.start.min(start), line: token.line.min(line), ..token };
                        first.get_or_insert(begin);
                        last_end = self.script.len();
                        Some(PieceEnd::Open(close))
                    }
                    _ => None,
                },
                _ => None,
            };
            if let Some(end) = end {
                if let Some(first) = first {
                    let offset = first.start as usize;
                    let text = self.script.get(offset..last_end).unwrap_or("");
                    return Some(Piece { text, offset, line: first.line, end });
                }
                continue;
            }
            first.get_or_insert(token);
            last_end = token.end as usize;
            batch.see(token.kind);
        }
        None
    }
}

/// Whether the words so far are inside BEGIN ... APPLY BATCH.
#[derive(Default)]
struct Batch {
    words: u32,
    begun: bool,
    open: bool,
    applying: bool,
}

impl Batch {
    fn see(&mut self, kind: Kind) {
        match kind {
            Kind::Keyword(Keyword::Begin) if self.words == 0 => self.begun = true,
            Kind::Keyword(Keyword::Batch) if self.applying => self.open = false,
            Kind::Keyword(Keyword::Batch) if self.begun && self.words <= 2 => self.open = true,
            _ => {}
        }
        self.applying = kind == Kind::Keyword(Keyword::Apply);
        self.words = self.words.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<&str> {
        split(script).map(|piece| piece.text).collect()
    }

    #[test]
    fn semicolons_in_texts_names_comments_and_batches_end_nothing() {
        assert_eq!(texts("a ';' ; b \";\" ; c $$;$$ d"), ["a ';'", "b \";\"", "c $$;$$ d"]);
        assert_eq!(texts("-- x; y\na /* ; */ b; // ;\n ;; c"), ["a /* ; */ b", "c"]);
        assert_eq!(
            texts("BEGIN UNLOGGED BATCH x; y; APPLY BATCH; z"),
            ["BEGIN UNLOGGED BATCH x; y; APPLY BATCH", "z"]
        );
        assert_eq!(texts("a ^ ` b; c"), ["a ^ ` b", "c"]);
        assert_eq!(texts(" ; -- only"), Vec::<&str>::new());
    }

    #[test]
    fn a_piece_knows_its_place_and_what_is_open() {
        let pieces: Vec<Piece<'_>> = split("a;\n\n b 'x").collect();
        assert_eq!((pieces[0].offset, pieces[0].line, pieces[0].end), (0, 1, PieceEnd::Semicolon));
        assert_eq!((pieces[1].offset, pieces[1].line, pieces[1].end), (5, 3, PieceEnd::Open("'")));
        assert_eq!(pieces[1].text, "b 'x");
        let comment: Vec<Piece<'_>> = split("a;\n/* b\nc").collect();
        assert_eq!((comment[1].text, comment[1].line, comment[1].end), ("/* b\nc", 2, PieceEnd::Open("*/")));
        assert_eq!(
            split("BEGIN BATCH a;").last().map(|piece| piece.end),
            Some(PieceEnd::Open("APPLY BATCH"))
        );
        assert_eq!(split("a").last().map(|piece| piece.end), Some(PieceEnd::Script));
    }
}
