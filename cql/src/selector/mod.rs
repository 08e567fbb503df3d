//! What a SELECT gives: expressions with types over the columns of a row.
//!
//! [`Selector::prepare`] holds a written selector against the table, once; [`Selector::eval`] gives its value for a row, which `select`
//! presents as [`RowValues`]. A selector has no receiver: its type comes from the columns and functions in it, and a bare constant has none.
//!
//! Aggregates are taken out of the selectors and kept apart in [`Uses::aggregates`]: their arguments are evaluated for every row of a group; the
//! selector itself is evaluated once for a group, on its first row, with [`RowValues::aggregate`] giving the results.
//!
//! ```text
//! typed    which type every part has, and which function a call means
//! build    the part that is evaluated, with the types that functions and hints want handed down
//! eval     values        life    writetime and ttl
//! ```
//!
//! # Not here
//! Rows and groups (`select`); masking of columns.

mod build;
mod eval;
mod life;
mod typed;

pub use life::CellLife;

use crate::error::Result;
use crate::function::Function;
use crate::selector::eval::Node;
use crate::syntax::ast::Expr;
use crate::term::{EvalContext, Preparing};
use crate::value::{ColumnSpec, Wire};
use skep_engine::{CqlType, TableSchema};
use std::sync::Arc;

/// A row, as selectors see it. Columns are named by their place among [`TableSchema::columns`].
pub trait RowValues {
    /// The value of a column; of one with many cells the frozen form of what is alive, null if nothing is.
    ///
    /// # Errors
    /// Those of reading.
    fn value(&self, column: usize) -> Result<Wire>;

    /// The lives of a column's cells: at most one of a column of one cell, one for each live element or field of one with many cells, in
    /// their order.
    ///
    /// # Errors
    /// Those of reading.
    fn lives(&self, column: usize) -> Result<Vec<CellLife>>;

    /// The result of an aggregate of the row's group, by its place in [`Uses::aggregates`].
    ///
    /// # Errors
    /// Those of the aggregate.
    fn aggregate(&self, index: usize) -> Result<Wire>;
}

/// What the selectors of a statement need.
#[derive(Debug, Default)]
pub struct Uses {
    /// The columns whose values are read, each once.
    pub columns: Vec<usize>,
    /// The columns whose cells' write times or TTLs are read, each once.
    pub lives: Vec<usize>,
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
}

impl Uses {
    fn column(&mut self, column: usize) {
        if !self.columns.contains(&column) {
            self.columns.push(column);
        }
    }

    fn life(&mut self, column: usize) {
        if !self.lives.contains(&column) {
            self.lives.push(column);
        }
    }
}

/// An aggregate in a selector.
#[derive(Debug)]
pub struct Aggregate {
    /// The function; [`Function::start`] gives its state.
    pub function: Arc<Function>,
    args: Vec<Node>,
}

impl Aggregate {
    /// The arguments for a row.
    ///
    /// # Errors
    /// What reading the row or a function in an argument fails with.
    pub fn args(&self, row: &dyn RowValues, cx: &EvalContext<'_>) -> Result<Vec<Wire>> {
        self.args.iter().map(|arg| eval::eval(arg, row, cx)).collect()
    }

    /// The column that is its only argument as it stands, if that is so.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        match self.args.as_slice() {
            [Node::Column(column)] => Some(*column),
            _ => None,
        }
    }

    /// Whether it has no argument: `count(*)`.
    #[must_use]
    pub fn counts_rows(&self) -> bool {
        self.args.is_empty()
    }
}

/// A prepared selector.
#[derive(Clone, Debug)]
pub struct Selector {
    name: String,
    ty: CqlType,
    node: Node,
}

impl Selector {
    /// Holds `expr` against the columns of `table`, and notes in `uses` what it needs.
    ///
    /// # Errors
    /// `Invalid` in Cassandra's words: an unknown column, function or field, arguments that do not fit, a constant or marker whose type
    /// nothing tells.
    pub fn prepare(
        expr: &Expr,
        table: &TableSchema,
        uses: &mut Uses,
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        build::selector(expr, table, uses, cx)
    }

    /// The column of this place, under its own name.
    #[must_use]
    pub fn of_column(table: &TableSchema, column: usize, uses: &mut Uses) -> Option<Self> {
        let found = table.columns().get(column)?;
        uses.column(column);
        Some(Self { name: found.name.clone(), ty: found.ty.clone(), node: Node::Column(column) })
    }

    /// The name of the result's column where the statement gives no other: `system.max(v)`, `m['a']`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type.
    #[must_use]
    pub fn ty(&self) -> &CqlType {
        &self.ty
    }

    /// The column that it is as it stands, if it is one.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        match self.node {
            Node::Column(column) => Some(column),
            _ => None,
        }
    }

    /// The aggregate that it is as it stands, by its place in [`Uses::aggregates`], if it is one.
    #[must_use]
    pub fn aggregate(&self) -> Option<usize> {
        match self.node {
            Node::Aggregate(index) => Some(index),
            _ => None,
        }
    }

    /// The column of a result.
    #[must_use]
    pub fn spec(&self, table: &TableSchema) -> ColumnSpec {
        ColumnSpec {
            keyspace: table.keyspace.clone(),
            table: table.name.clone(),
            name: self.name.clone(),
            ty: self.ty.clone(),
        }
    }

    /// Its value for a row.
    ///
    /// # Errors
    /// What reading the row or a function in it fails with, in Cassandra's words.
    pub fn eval(&self, row: &dyn RowValues, cx: &EvalContext<'_>) -> Result<Wire> {
        eval::eval(&self.node, row, cx)
    }
}

#[cfg(test)]
mod tests;
