//! DESCRIBE, EXPLAIN, and the statements of one line: USE, TRUNCATE.

use crate::syntax::ast::{Describe, DescribeWhat, Statement, TableName};
use crate::syntax::parse::cursor::{Parse, Parser, is_function_name, is_name, is_type_name};
use crate::syntax::token::{Keyword, Kind, Sign};

impl Parser<'_> {
    /// Behind DESCRIBE or DESC.
    pub(super) fn describe(&mut self) -> Parse<Describe> {
        let what = self.described()?;
        let internals = self.eat(Keyword::With);
        if internals {
            self.expect(Keyword::Internals)?;
        }
        Ok(Describe { what, internals })
    }

    fn described(&mut self) -> Parse<DescribeWhat> {
        let Kind::Keyword(keyword) = self.peek() else {
            return self.described_by_name();
        };
        // Some of the words are names of tables as well: a name behind them decides.
        let named = |p: &Self, is: fn(Kind) -> bool| is(p.peek_at(1));
        match keyword {
            Keyword::Cluster
            | Keyword::Keyspaces
            | Keyword::Tables
            | Keyword::Types
            | Keyword::Functions
            | Keyword::Aggregates => {
                self.bump();
                Ok(match keyword {
                    Keyword::Cluster => DescribeWhat::Cluster,
                    Keyword::Keyspaces => DescribeWhat::Keyspaces,
                    Keyword::Tables => DescribeWhat::Tables,
                    Keyword::Types => DescribeWhat::Types,
                    Keyword::Functions => DescribeWhat::Functions,
                    _ => DescribeWhat::Aggregates,
                })
            }
            Keyword::Full | Keyword::Schema => {
                let full = self.eat(Keyword::Full);
                self.expect(Keyword::Schema)?;
                Ok(DescribeWhat::Schema { full })
            }
            Keyword::Only if self.keyword_at(1, Keyword::Keyspace) => {
                self.bump();
                self.described_keyspace(true)
            }
            Keyword::Keyspace => self.described_keyspace(false),
            Keyword::Table | Keyword::ColumnFamily => {
                self.bump();
                Ok(DescribeWhat::Table(self.table_name()?))
            }
            Keyword::Index => {
                self.bump();
                Ok(DescribeWhat::Index(self.table_name()?))
            }
            Keyword::Materialized => {
                self.bump();
                self.expect(Keyword::View)?;
                Ok(DescribeWhat::View(self.table_name()?))
            }
            Keyword::Type if named(self, |kind| is_type_name(kind) || is_name(kind)) => {
                self.bump();
                Ok(DescribeWhat::Type(self.user_type_name()?))
            }
            Keyword::Function if named(self, is_function_name) => {
                self.bump();
                Ok(DescribeWhat::Function(self.function_name()?))
            }
            Keyword::Aggregate if named(self, is_function_name) => {
                self.bump();
                Ok(DescribeWhat::Aggregate(self.function_name()?))
            }
            _ => self.described_by_name(),
        }
    }

    fn described_keyspace(&mut self, only: bool) -> Parse<DescribeWhat> {
        self.expect(Keyword::Keyspace)?;
        let name = if is_name(self.peek()) || self.sign_at(0, Sign::Question) {
            Some(self.keyspace_name()?)
        } else {
            None
        };
        Ok(DescribeWhat::Keyspace { only, name })
    }

    fn described_by_name(&mut self) -> Parse<DescribeWhat> {
        for what in [
            "KEYSPACES",
            "KEYSPACE",
            "TABLES",
            "TABLE",
            "TYPES",
            "TYPE",
            "INDEX",
            "MATERIALIZED VIEW",
            "SCHEMA",
        ] {
            self.note(what);
        }
        let first = self.name()?;
        if !self.eat_sign(Sign::Point) {
            return Ok(DescribeWhat::Any(TableName { keyspace: None, name: first }));
        }
        let name = self.name()?;
        Ok(DescribeWhat::Any(TableName { keyspace: Some(first), name }))
    }

    /// Behind EXPLAIN, which is skep's own and no keyword: SELECT, or VALUE and the cell's place.
    pub(super) fn explain(&mut self) -> Parse<Statement> {
        if self.eat(Keyword::Select) {
            return Ok(Statement::Explain(Box::new(self.select()?)));
        }
        self.bump();
        let column = if self.keyword_at(0, Keyword::From) { None } else { Some(self.column()?) };
        self.expect(Keyword::From)?;
        let table = self.table_name()?;
        self.expect(Keyword::Where)?;
        let relations = self.relations()?;
        Ok(Statement::ExplainValue { column, table, relations })
    }

    /// Whether the text begins with EXPLAIN SELECT or EXPLAIN VALUE.
    pub(super) fn at_explain(&self) -> bool {
        let word = |ahead: usize, text: &str| {
            self.peek_at(ahead) == Kind::Ident && self.source(self.token(ahead)).eq_ignore_ascii_case(text)
        };
        word(0, "explain") && (self.keyword_at(1, Keyword::Select) || word(1, "value"))
    }
}
