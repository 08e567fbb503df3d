//! Statements of data: SELECT, INSERT, UPDATE, DELETE and batches.

use crate::error::Place;
use crate::syntax::ast::{Expr, Marker, Name, Statement, TableName};

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
    /// `m[key]`
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
    /// `c[key]`
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
