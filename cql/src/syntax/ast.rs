//! The tree of a statement, as written: no name is resolved, no literal converted.
//!
//! Made by `parse`, written back as CQL by `print` (print then parse gives the same tree, places aside). Names have their final case: bare
//! ones are folded to lower case. Terms of WHERE, SET and VALUES and selectors of SELECT are one type, [`Expr`]; the grammar decides what may
//! stand where.

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
    /// TRUNCATE [TABLE].
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
    /// CREATE [CUSTOM] INDEX.
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

/// What kind of literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `'...'` or `$$...$$`, without its quotes.
    String,
    /// Digits with an optional minus.
    Integer,
    /// With a point or an exponent; NaN and Infinity, signed or not.
    Float,
    /// true or false.
    Boolean,
    /// A UUID.
    Uuid,
    /// 0x...
    Hex,
    /// `1h30m`, `P1Y`, ...
    Duration,
}

/// A bind marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Its number in the statement, from 0: the order in the text.
    pub index: usize,
    /// `:name`; None for `?`.
    pub name: Option<String>,
}

/// Arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// +
    Add,
    /// -
    Subtract,
    /// *
    Multiply,
    /// /
    Divide,
    /// %
    Modulo,
}

/// The functions of a cell's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeFunction {
    /// writetime(c)
    Writetime,
    /// maxwritetime(c)
    MaxWritetime,
    /// ttl(c)
    Ttl,
}

/// A term or a selector.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// null
    Null,
    /// A literal as written (strings unescaped).
    Constant {
        /// Its kind.
        kind: Literal,
        /// Its text.
        text: String,
        /// Where.
        place: Place,
    },
    /// ? or :name
    Marker(Marker),
    /// [a, b]: a list, or a vector.
    List(Vec<Expr>),
    /// {a, b}
    Set(Vec<Expr>),
    /// {a: b}; `{}` is a Map without entries.
    Map(Vec<(Expr, Expr)>),
    /// {field: value}; in selectors a map whose keys are all columns looks the same, and the type decides.
    Udt(Vec<(Name, Expr)>),
    /// (a, b); of one element too: the grammar knows no other brackets.
    Tuple(Vec<Expr>),
    /// f(a, b); `count(*)` is `count` with the one argument [`Expr::Star`].
    Call {
        /// Keyspace of the function.
        keyspace: Option<Name>,
        /// Its name.
        name: Name,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// (type) term
    TypeHint(TypeName, Box<Expr>),
    /// CAST(e AS type)
    Cast(Box<Expr>, TypeName),
    /// a + b
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// -a
    Negate(Box<Expr>),
    /// A column, of selectors only.
    Column(Name),
    /// `*` as the argument of count.
    Star,
    /// writetime(c), ttl(c) ...: of a column, element, slice or field.
    Life(LifeFunction, Box<Expr>),
    /// c[key]
    Element(Box<Expr>, Box<Expr>),
    /// c[from..to]
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// c.field
    Field(Box<Expr>, Name),
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeName {
    /// int, text, ...; a user type; `ks.name`. Custom classes are `Custom`.
    Simple(TableName),
    /// list, set, map, tuple, frozen, vector with their parameters, by the name in lower case.
    Generic(String, Vec<TypeName>, Option<i32>, Place),
    /// A Java class in single quotes.
    Custom(String),
}

/// SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// SELECT JSON.
    pub json: bool,
    /// SELECT DISTINCT.
    pub distinct: bool,
    /// The selectors with their aliases; empty for `*`.
    pub selectors: Vec<(Expr, Option<Name>)>,
    /// FROM.
    pub table: TableName,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// GROUP BY: columns, and as the last one `floor(c, 1h)` too.
    pub group_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<Ordering>,
    /// PER PARTITION LIMIT.
    pub per_partition_limit: Option<Expr>,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// ALLOW FILTERING.
    pub allow_filtering: bool,
}

/// A column of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordering {
    /// The column.
    pub column: Name,
    /// DESC.
    pub descending: bool,
    /// ANN OF vector.
    pub ann_of: Option<Expr>,
}

/// Comparison of a relation or condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// =
    Eq,
    /// !=
    Ne,
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
    /// IN
    In,
    /// CONTAINS
    Contains,
    /// CONTAINS KEY
    ContainsKey,
    /// LIKE
    Like,
    /// IS NOT (NULL): of views.
    IsNot,
}

/// Left side of a relation.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    /// c
    Column(Name),
    /// m[key]
    Element(Name, Expr),
    /// (a, b)
    Columns(Vec<Name>),
    /// token(a, b)
    Token(Vec<Name>),
}

/// Right side of a relation.
#[derive(Clone, Debug, PartialEq)]
pub enum Right {
    /// A term.
    Term(Expr),
    /// IN (a, b); for several columns each is a tuple or a marker.
    List(Vec<Expr>),
    /// IN ?
    Marker(Marker),
}

/// A relation of WHERE.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// Left side.
    pub left: Left,
    /// Operator.
    pub comparison: Comparison,
    /// Right side.
    pub right: Right,
    /// Where it begins.
    pub place: Place,
}

/// USING TTL, TIMESTAMP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Using {
    /// TTL: a number or a marker.
    pub ttl: Option<Expr>,
    /// TIMESTAMP.
    pub timestamp: Option<Expr>,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// INTO.
    pub table: TableName,
    /// What.
    pub values: InsertValues,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// USING.
    pub using: Using,
}

/// What an INSERT writes.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertValues {
    /// (columns) VALUES (terms); the numbers may differ (an error of analysis).
    Columns(Vec<Name>, Vec<Expr>),
    /// JSON text or marker, DEFAULT UNSET.
    Json {
        /// A string literal or a marker.
        json: Expr,
        /// DEFAULT UNSET rather than NULL.
        default_unset: bool,
    },
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The table.
    pub table: TableName,
    /// USING.
    pub using: Using,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// IF.
    pub condition: Condition,
}

/// One assignment of SET.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: Name,
    /// What of it.
    pub target: Target,
    /// How.
    pub operation: Operation,
}

/// What of a column is assigned or deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// All of it.
    Whole,
    /// c[key]
    Element(Expr),
    /// c.field
    Field(Name),
}

/// How a column is assigned.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// c = term
    Set(Expr),
    /// c = c + term, c += term
    Add(Expr),
    /// c = c - term, c -= term
    Subtract(Expr),
    /// c = term + c
    Prepend(Expr),
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// What; empty for rows.
    pub columns: Vec<(Name, Target)>,
    /// FROM.
    pub table: TableName,
    /// USING TIMESTAMP.
    pub using: Using,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// IF.
    pub condition: Condition,
}

/// IF of UPDATE and DELETE.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Condition {
    /// None.
    #[default]
    None,
    /// IF EXISTS.
    Exists,
    /// IF c = 1 AND ...
    If(Vec<ColumnCondition>),
}

/// One condition on a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnCondition {
    /// The column.
    pub column: Name,
    /// All of it, an element or a field.
    pub target: Target,
    /// Operator.
    pub comparison: Comparison,
    /// Right side.
    pub right: Right,
}

/// What kind of batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// BEGIN BATCH.
    Logged,
    /// BEGIN UNLOGGED BATCH.
    Unlogged,
    /// BEGIN COUNTER BATCH.
    Counter,
}

/// A batch: its statements are INSERT, UPDATE or DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Kind.
    pub kind: BatchKind,
    /// USING of the batch.
    pub using: Using,
    /// The statements.
    pub statements: Vec<Statement>,
}

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
    /// ALTER [IF EXISTS] c TYPE t
    AlterType(bool, Name, TypeName),
    /// ALTER [IF EXISTS] c MASKED WITH ... / DROP MASKED.
    Mask(bool, Name, Option<Expr>),
    /// ADD [IF NOT EXISTS] columns.
    Add(bool, Vec<ColumnDefinition>),
    /// DROP [IF EXISTS] columns [USING TIMESTAMP n].
    Drop(bool, Vec<Name>, Option<Expr>),
    /// RENAME [IF EXISTS] a TO b AND ...
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
    /// ADD [IF NOT EXISTS] f t
    Add(bool, Name, TypeName),
    /// RENAME [IF EXISTS] f TO g AND ...
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
    /// [FULL] SCHEMA
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
    /// [ONLY] KEYSPACE [name]
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
