//! The tree of a statement, as written: no name is resolved, no literal converted.
//!
//! Made by `parse`, written back as CQL by `print` (print then parse gives the same tree, places aside). Names have their final case: bare
//! ones are folded to lower case. Terms of WHERE, SET and VALUES and selectors of SELECT are one type, [`Expr`]; the grammar decides what may
//! stand where.

mod expr;
mod query;
mod schema;

pub use expr::{Expr, LifeFunction, Literal, Marker, Operator, TypeName};
pub use query::{
    Assignment, Batch, BatchKind, ColumnCondition, Comparison, Condition, Delete, Insert, InsertValues, Left,
    Operation, Ordering, Relation, Right, Select, Target, Update, Using,
};
pub use schema::{
    AlterKeyspace, AlterTable, AlterType, AlterView, ColumnDefinition, CreateIndex, CreateKeyspace,
    CreateTable, CreateType, CreateView, Describe, DescribeWhat, Drop, DropKind, IndexPart, OptionValue,
    Options, TableChange, TypeChange,
};

use crate::error::Place;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT.
    Select(Box<Select>),
    /// INSERT, with columns or JSON.
    Insert(Insert),
    /// UPDATE.
    Update(Update),
    /// DELETE.
    Delete(Delete),
    /// BEGIN ... APPLY BATCH.
    Batch(Batch),
    /// USE keyspace.
    Use(Name),
    /// `TRUNCATE [TABLE]`.
    Truncate(TableName),
    /// CREATE KEYSPACE.
    CreateKeyspace(CreateKeyspace),
    /// ALTER KEYSPACE.
    AlterKeyspace(AlterKeyspace),
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// ALTER TABLE.
    AlterTable(AlterTable),
    /// CREATE TYPE.
    CreateType(CreateType),
    /// ALTER TYPE.
    AlterType(AlterType),
    /// `CREATE [CUSTOM] INDEX`.
    CreateIndex(CreateIndex),
    /// CREATE MATERIALIZED VIEW.
    CreateView(CreateView),
    /// ALTER MATERIALIZED VIEW.
    AlterView(AlterView),
    /// DROP of anything.
    Drop(Drop),
    /// DESCRIBE.
    Describe(Describe),
    /// EXPLAIN SELECT (skep's own).
    Explain(Box<Select>),
    /// EXPLAIN VALUE table key (skep's own): `EXPLAIN VALUE [column] FROM table WHERE ...`.
    ExplainValue {
        /// The column, all if none.
        column: Option<Name>,
        /// The table.
        table: TableName,
        /// The primary key.
        relations: Vec<Relation>,
    },
    /// Statements of users, roles, functions, triggers and the like, which an embedded store does not have: the words that begin it.
    Unsupported(String),
}

/// An identifier in its final case.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Whether it was written in double quotes.
    pub quoted: bool,
    /// Where.
    pub place: Place,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// `[keyspace.]table`; of types, indexes and views too.
#[derive(Clone, Debug, PartialEq)]
pub struct TableName {
    /// The keyspace, if it was named.
    pub keyspace: Option<Name>,
    /// The name.
    pub name: Name,
}
