//! Statements of the schema, and DESCRIBE.

use crate::syntax::ast::{Expr, Name, Relation, TableName, TypeName};

/// An option's value as written.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A literal or bare word: its text.
    Text(String),
    /// {'a': 'b'}
    Map(Vec<(String, String)>),
}

/// `name = value`, in the order written, repeated ones included.
pub type Options = Vec<(Name, OptionValue)>;

/// CREATE KEYSPACE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateKeyspace {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The keyspace.
    pub name: Name,
    /// WITH.
    pub options: Options,
}

/// ALTER KEYSPACE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterKeyspace {
    /// IF EXISTS.
    pub if_exists: bool,
    /// The keyspace.
    pub name: Name,
    /// WITH.
    pub options: Options,
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Name.
    pub name: Name,
    /// Type.
    pub ty: TypeName,
    /// STATIC.
    pub is_static: bool,
    /// PRIMARY KEY behind the column.
    pub primary_key: bool,
    /// MASKED WITH f(...): the function and its arguments.
    pub masked: Option<Expr>,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The table.
    pub table: TableName,
    /// Columns.
    pub columns: Vec<ColumnDefinition>,
    /// PRIMARY KEY clauses: partition key and clustering of each.
    pub primary_keys: Vec<(Vec<Name>, Vec<Name>)>,
    /// CLUSTERING ORDER BY: column and DESC.
    pub clustering_order: Vec<(Name, bool)>,
    /// COMPACT STORAGE was given.
    pub compact_storage: bool,
    /// WITH; `ID = ...` is among them.
    pub options: Options,
}

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// IF EXISTS.
    pub if_exists: bool,
    /// The table.
    pub table: TableName,
    /// What.
    pub change: TableChange,
}

/// What ALTER TABLE does.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChange {
    /// `ALTER [IF EXISTS] c TYPE t`
    AlterType(bool, Name, TypeName),
    /// `ALTER [IF EXISTS] c MASKED WITH ... / DROP MASKED`.
    Mask(bool, Name, Option<Expr>),
    /// `ADD [IF NOT EXISTS] columns`.
    Add(bool, Vec<ColumnDefinition>),
    /// `DROP [IF EXISTS] columns [USING TIMESTAMP n]`.
    Drop(bool, Vec<Name>, Option<Expr>),
    /// `RENAME [IF EXISTS] a TO b AND ...`
    Rename(bool, Vec<(Name, Name)>),
    /// DROP COMPACT STORAGE
    DropCompactStorage,
    /// WITH
    Options(Options),
}

/// CREATE TYPE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: TableName,
    /// Fields.
    pub fields: Vec<(Name, TypeName)>,
}

/// ALTER TYPE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterType {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Name.
    pub name: TableName,
    /// What.
    pub change: TypeChange,
}

/// What ALTER TYPE does.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeChange {
    /// `ADD [IF NOT EXISTS] f t`
    Add(bool, Name, TypeName),
    /// `RENAME [IF EXISTS] f TO g AND ...`
    Rename(bool, Vec<(Name, Name)>),
    /// ALTER f TYPE t
    Alter(Name, TypeName),
}

/// What of a column an index is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// Just the column.
    Simple,
    /// values(c)
    Values,
    /// keys(c)
    Keys,
    /// entries(c)
    Entries,
    /// full(c)
    Full,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// CUSTOM.
    pub custom: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name, if one was given.
    pub name: Option<TableName>,
    /// ON.
    pub table: TableName,
    /// What is indexed.
    pub targets: Vec<(Name, IndexPart)>,
    /// USING 'class'.
    pub using: Option<String>,
    /// WITH OPTIONS = {...}, other properties included.
    pub options: Options,
}

/// CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The view.
    pub name: TableName,
    /// AS SELECT; empty for `*`.
    pub selectors: Vec<(Expr, Option<Name>)>,
    /// FROM.
    pub base: TableName,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// PRIMARY KEY clauses.
    pub primary_keys: Vec<(Vec<Name>, Vec<Name>)>,
    /// CLUSTERING ORDER BY.
    pub clustering_order: Vec<(Name, bool)>,
    /// COMPACT STORAGE was given.
    pub compact_storage: bool,
    /// WITH.
    pub options: Options,
}

/// ALTER MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterView {
    /// IF EXISTS.
    pub if_exists: bool,
    /// The view.
    pub name: TableName,
    /// WITH.
    pub options: Options,
}

/// What DROP drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// KEYSPACE; its name is in `name.name`.
    Keyspace,
    /// TABLE
    Table,
    /// TYPE
    Type,
    /// INDEX
    Index,
    /// MATERIALIZED VIEW
    View,
}

/// DROP.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What kind of thing.
    pub kind: DropKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its name.
    pub name: TableName,
}

/// DESCRIBE.
#[derive(Clone, Debug, PartialEq)]
pub struct Describe {
    /// What.
    pub what: DescribeWhat,
    /// WITH INTERNALS.
    pub internals: bool,
}

/// What DESCRIBE describes.
#[derive(Clone, Debug, PartialEq)]
pub enum DescribeWhat {
    /// CLUSTER
    Cluster,
    /// `[FULL] SCHEMA`
    Schema {
        /// FULL
        full: bool,
    },
    /// KEYSPACES
    Keyspaces,
    /// TABLES
    Tables,
    /// TYPES
    Types,
    /// FUNCTIONS
    Functions,
    /// AGGREGATES
    Aggregates,
    /// `[ONLY] KEYSPACE [name]`
    Keyspace {
        /// ONLY
        only: bool,
        /// The keyspace; the session's if none.
        name: Option<Name>,
    },
    /// TABLE name
    Table(TableName),
    /// TYPE name
    Type(TableName),
    /// INDEX name
    Index(TableName),
    /// MATERIALIZED VIEW name
    View(TableName),
    /// FUNCTION name
    Function(TableName),
    /// AGGREGATE name
    Aggregate(TableName),
    /// A bare name: keyspace, table, view or index.
    Any(TableName),
}
