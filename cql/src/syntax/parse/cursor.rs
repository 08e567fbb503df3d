//! The parser's place in the tokens, what it expected there, and the marks that it goes back to.
//!
//! A rule that does not fit gives [`Failed`], which is cheap: the message is made once, at the end (`report`). Rules ask for tokens by
//! `eat` and `expect`; each refusal is remembered for the token at hand, so that the message can say what could have stood there.

use crate::error::{Code, CqlError, Place};
use crate::syntax::ast::{Marker, Name};
use crate::syntax::lexer::{Fault, Lexer};
use crate::syntax::token::{Class, Keyword, Kind, Sign, Token};

/// Brackets within brackets, at most: trees are walked by recursion.
const MAX_DEPTH: u32 = 100;
/// Operators and fields within one outermost expression, at most, for the same reason.
const MAX_OPERATORS: u32 = 400;

/// Why a rule does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The token with this number has no place there.
    Token(usize),
    /// Something that no other reading mends; `Parser::fatal` has it.
    Fatal,
}

/// Result of a rule.
pub(super) type Parse<T> = Result<T, Failed>;

/// A place to come back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    at: usize,
    markers: usize,
    noted: bool,
}

/// Tokens and place.
pub(super) struct Parser<'a> {
    /// The statement.
    pub(super) text: &'a str,
    /// Its tokens; the last one is `End` or `Fault`.
    pub(super) tokens: Vec<Token>,
    /// The lexer's fault, at the last token.
    pub(super) fault: Option<Fault>,
    /// Bind markers so far.
    pub(super) markers: Vec<Marker>,
    /// Whether any reading came up to the fault: then it is what is told.
    pub(super) fault_met: bool,
    /// What could have stood at token `expected_at`.
    pub(super) expected: Vec<&'static str>,
    /// See `expected`.
    pub(super) expected_at: usize,
    /// The first error of meaning that the grammar itself finds.
    noted: Option<CqlError>,
    /// The error of `Failed::Fatal`.
    fatal: Option<CqlError>,
    at: usize,
    depth: u32,
    operators: u32,
}

impl<'a> Parser<'a> {
    /// At the first token.
    pub(super) fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::with_capacity(text.len() / 5 + 2);
        loop {
            let token = lexer.next_token();
            tokens.push(token);
            if matches!(token.kind, Kind::End | Kind::Fault) {
                break;
            }
        }
        Self {
            text,
            tokens,
            fault: lexer.fault().cloned(),
            markers: Vec::new(),
            fault_met: false,
            expected: Vec::new(),
            expected_at: 0,
            noted: None,
            fatal: None,
            at: 0,
            depth: 0,
            operators: 0,
        }
    }

    /// Number of the token at hand.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The token `ahead` of the one at hand.
    pub(super) fn token(&self, ahead: usize) -> Token {
        let last = Token { kind: Kind::End, start: 0, end: 0, line: 1, column: 0 };
        self.tokens.get(self.at + ahead).or(self.tokens.last()).copied().unwrap_or(last)
    }

    /// Kind of the token at hand.
    pub(super) fn peek(&self) -> Kind {
        self.token(0).kind
    }

    /// Kind of a token further on.
    pub(super) fn peek_at(&self, ahead: usize) -> Kind {
        self.token(ahead).kind
    }

    /// Whether the token `ahead` is this sign.
    pub(super) fn sign_at(&self, ahead: usize, sign: Sign) -> bool {
        self.peek_at(ahead) == Kind::Sign(sign)
    }

    /// Whether the token `ahead` is this keyword.
    pub(super) fn keyword_at(&self, ahead: usize, keyword: Keyword) -> bool {
        self.peek_at(ahead) == Kind::Keyword(keyword)
    }

    /// Takes the token at hand.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.token(0);
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
            self.fault_met |= self.peek() == Kind::Fault;
        }
        token
    }

    /// A token's text.
    pub(super) fn source(&self, token: Token) -> &'a str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    /// Where the token at hand stands.
    pub(super) fn place(&self) -> Place {
        let token = self.token(0);
        Place { line: token.line, column: token.column }
    }

    /// Remembers that `what` could stand here.
    pub(super) fn note(&mut self, what: &'static str) {
        if self.expected_at != self.at {
            self.expected.clear();
            self.expected_at = self.at;
        }
        if !self.expected.contains(&what) {
            self.expected.push(what);
        }
    }

    /// The token at hand has no place here.
    pub(super) fn unexpected<T>(&self) -> Parse<T> {
        Err(Failed::Token(self.at))
    }

    /// Takes a sign if it is here.
    pub(super) fn eat_sign(&mut self, sign: Sign) -> bool {
        let here = self.sign_at(0, sign);
        if here {
            self.bump();
        } else {
            self.note(sign.text());
        }
        here
    }

    /// Takes a keyword if it is here.
    pub(super) fn eat(&mut self, keyword: Keyword) -> bool {
        let here = self.keyword_at(0, keyword);
        if here {
            self.bump();
        } else {
            self.note(keyword.text());
        }
        here
    }

    /// Takes a sign that must be here.
    pub(super) fn expect_sign(&mut self, sign: Sign) -> Parse<()> {
        if self.eat_sign(sign) { Ok(()) } else { self.unexpected() }
    }

    /// Takes a keyword that must be here.
    pub(super) fn expect(&mut self, keyword: Keyword) -> Parse<()> {
        if self.eat(keyword) { Ok(()) } else { self.unexpected() }
    }

    /// Takes TABLE or COLUMNFAMILY if it is here.
    pub(super) fn eat_table(&mut self) -> bool {
        self.eat(Keyword::Table)
            || self.keyword_at(0, Keyword::ColumnFamily) && self.eat(Keyword::ColumnFamily)
    }

    /// `rule` once or more, with commas between.
    pub(super) fn comma_list<T>(&mut self, mut rule: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut list = vec![rule(self)?];
        while self.eat_sign(Sign::Comma) {
            list.push(rule(self)?);
        }
        Ok(list)
    }

    /// `IF NOT EXISTS` if it is here; what begins with IF must go on so.
    pub(super) fn if_not_exists(&mut self) -> Parse<bool> {
        if !self.eat(Keyword::If) {
            return Ok(false);
        }
        self.expect(Keyword::Not)?;
        self.expect(Keyword::Exists)?;
        Ok(true)
    }

    /// `IF EXISTS` if it is here.
    pub(super) fn if_exists(&mut self) -> Parse<bool> {
        if !self.eat(Keyword::If) {
            return Ok(false);
        }
        self.expect(Keyword::Exists)?;
        Ok(true)
    }

    /// Marks the place.
    pub(super) fn mark(&self) -> Mark {
        Mark { at: self.at, markers: self.markers.len(), noted: self.noted.is_some() }
    }

    /// Goes back to a mark, forgetting what was found since.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.at = mark.at;
        self.markers.truncate(mark.markers);
        if !mark.noted {
            self.noted = None;
        }
    }

    /// An error that other words do not mend, as deep nesting.
    pub(super) fn fail<T>(&mut self, error: CqlError) -> Parse<T> {
        self.fatal.get_or_insert(error);
        Err(Failed::Fatal)
    }

    /// Keeps an error of meaning; parsing goes on, and the first error of all is told.
    pub(super) fn note_error(&mut self, place: Place, message: impl Into<String>) {
        if self.noted.is_none() {
            self.noted = Some(CqlError::new(Code::Syntax, message).at(place));
        }
    }

    /// The error that was kept or was fatal.
    pub(super) fn take_error(&mut self) -> Option<CqlError> {
        self.noted.take().or_else(|| self.fatal.take())
    }

    /// Runs a rule one level deeper.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let place = self.place();
            return self.fail(CqlError::syntax(place, format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        if self.depth == 0 {
            self.operators = 0;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Counts an operator: chains make trees as deep as they are long.
    pub(super) fn count_operator(&mut self) -> Parse<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let place = self.place();
            return self.fail(CqlError::syntax(
                place,
                format_args!("more than {MAX_OPERATORS} operators in one expression"),
            ));
        }
        Ok(())
    }

    /// The text of a name's token in its final case.
    pub(super) fn name_of(&self, token: Token) -> Name {
        let source = self.source(token);
        let place = Place { line: token.line, column: token.column };
        match token.kind {
            Kind::QuotedName | Kind::EmptyQuotedName => {
                let inner = source.get(1..source.len().saturating_sub(1)).unwrap_or("");
                Name { text: inner.replace("\"\"", "\""), quoted: true, place }
            }
            _ => Name { text: source.to_ascii_lowercase(), quoted: false, place },
        }
    }
}

/// Whether a token may be a name: of a column, a table, a keyspace, a field.
pub(super) fn is_name(kind: Kind) -> bool {
    match kind {
        Kind::Ident | Kind::QuotedName => true,
        Kind::Keyword(keyword) => keyword.class() != Class::Reserved,
        _ => false,
    }
}

/// Whether a token may be a function's name.
pub(super) fn is_function_name(kind: Kind) -> bool {
    match kind {
        Kind::Ident | Kind::QuotedName | Kind::Keyword(Keyword::Token | Keyword::Count) => true,
        Kind::Keyword(keyword) => matches!(keyword.class(), Class::Free | Class::Type),
        _ => false,
    }
}

/// Whether a token may be a user type's name.
pub(super) fn is_type_name(kind: Kind) -> bool {
    match kind {
        Kind::Ident | Kind::QuotedName | Kind::Keyword(Keyword::Key) => true,
        Kind::Keyword(keyword) => keyword.class() == Class::Free,
        _ => false,
    }
}
