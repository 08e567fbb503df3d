//! From tokens to the tree of a statement: one rule, one method, top down.
//!
//! The grammar is Cassandra 5.0's, its quirks included, and the place of a syntax error is Cassandra's: the first token at which no reading
//! is left. Two words more are skep's own: EXPLAIN SELECT and EXPLAIN VALUE.
//!
//! `cursor` holds the place in the tokens; `names`, `terms`, `selectors`, `select`, `dml`, `ddl`, `tables` and `describe` the rules;
//! `report` and `hints` turn a failure into words.

mod cursor;
mod ddl;
mod describe;
mod dml;
mod hints;
mod names;
mod report;
mod select;
mod selectors;
mod tables;
mod terms;
#[cfg(test)]
mod tests;

use crate::error::{CqlError, Place, Result};
use crate::syntax::ast::{Marker, Statement};
use crate::syntax::parse::cursor::{Failed, Parse, Parser};
use crate::syntax::token::{Keyword, Kind, Sign};

/// Longest statement, in bytes: as much as a frame of the native protocol can carry.
const MAX_TEXT: usize = 256 << 20;

/// A statement and its bind markers.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// Its bind markers, in the order of the text.
    pub markers: Vec<Marker>,
}

/// Parses one statement; semicolons may follow it.
///
/// # Errors
/// [`Code::Syntax`](crate::error::Code::Syntax) with the place, in most cases with a hint.
pub fn parse(text: &str) -> Result<Parsed> {
    if text.len() > MAX_TEXT {
        let message = format_args!("a statement of {} bytes is longer than {MAX_TEXT}", text.len());
        return Err(CqlError::syntax(Place { line: 1, column: 0 }, message));
    }
    let mut parser = Parser::new(text);
    let parsed = parser.whole();
    match (parsed, parser.take_error()) {
        (_, Some(error)) => Err(error),
        (Ok(statement), None) => Ok(Parsed { statement, markers: parser.markers }),
        (Err(Failed::Token(at)), None) => Err(report::unexpected(&parser, at)),
        (Err(Failed::Fatal), None) => Err(report::unexpected(&parser, parser.at())),
    }
}

impl Parser<'_> {
    fn whole(&mut self) -> Parse<Statement> {
        let statement = self.statement()?;
        while self.eat_sign(Sign::Semicolon) {}
        if self.peek() == Kind::End { Ok(statement) } else { self.unexpected() }
    }

    fn statement(&mut self) -> Parse<Statement> {
        if self.at_explain() {
            self.bump();
            return self.explain();
        }
        let Kind::Keyword(keyword) = self.peek() else {
            self.note("a statement");
            return self.unexpected();
        };
        if !STATEMENTS.contains(&keyword) {
            self.note("a statement");
            return self.unexpected();
        }
        self.bump();
        match keyword {
            Keyword::Select => Ok(Statement::Select(Box::new(self.select()?))),
            Keyword::Insert => Ok(Statement::Insert(self.insert()?)),
            Keyword::Update => Ok(Statement::Update(self.update()?)),
            Keyword::Delete => Ok(Statement::Delete(self.delete()?)),
            Keyword::Begin => Ok(Statement::Batch(self.batch()?)),
            Keyword::Use => Ok(Statement::Use(self.keyspace_name()?)),
            Keyword::Truncate => {
                self.eat_table();
                Ok(Statement::Truncate(self.table_name()?))
            }
            Keyword::Create => self.create(),
            Keyword::Alter => self.alter(),
            Keyword::Drop => self.drop(),
            Keyword::Describe | Keyword::Desc => Ok(Statement::Describe(self.describe()?)),
            Keyword::Grant | Keyword::Revoke => {
                self.pass_over();
                Ok(Statement::Unsupported(keyword.text().to_owned()))
            }
            Keyword::List => self.list(),
            Keyword::Add => {
                if self.keyword_at(0, Keyword::Identity) {
                    return self.foreign("ADD");
                }
                self.note("IDENTITY");
                self.unexpected()
            }
            _ => self.unexpected(),
        }
    }
}

/// Keywords that begin a statement.
const STATEMENTS: &[Keyword] = &[
    Keyword::Select,
    Keyword::Insert,
    Keyword::Update,
    Keyword::Delete,
    Keyword::Begin,
    Keyword::Use,
    Keyword::Truncate,
    Keyword::Create,
    Keyword::Alter,
    Keyword::Drop,
    Keyword::Describe,
    Keyword::Desc,
    Keyword::Grant,
    Keyword::Revoke,
    Keyword::List,
    Keyword::Add,
];
