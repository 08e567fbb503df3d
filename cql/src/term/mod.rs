//! Terms with types: what stands behind `=`, in VALUES, in IN, as a LIMIT.
//!
//! [`Term::prepare`] holds a written term against what receives it (a column, an element of one, an argument of a function), once per
//! statement; [`Term::eval`] gives its bytes, once per execution. `restrict` and `modify` use both; `selector` shares the choice of
//! functions ([`resolve`]), the rules of types ([`assign`]) and the putting together of values ([`parts`]).
//!
//! A term of a list, set, map or user type gives the bytes of the frozen value also where the column is many cells; [`parts::split`] gives the
//! elements.
//!
//! # Invariants
//! 1. What [`Term::eval`] gives is a valid value of the receiver's type: literals are built so, bound bytes are checked.
//! 2. Each marker of a term is noted in [`Preparing::markers`] exactly once, with its receiver.

pub mod assign;
pub mod bound;
pub(crate) mod eval;
pub(crate) mod fit;
pub mod literal;
pub mod markers;
pub mod parts;
pub(crate) mod prepare;
pub mod resolve;
pub mod text;

pub use eval::EvalContext;
pub use markers::Markers;

use crate::catalog::Catalog;
use crate::error::Result;
use crate::syntax::ast::{Expr, TypeName};
use crate::term::eval::Node;
use crate::value::{Bound, ColumnSpec, Wire};
use skep_engine::{CqlType, TableSchema};

/// Where the types that a statement names are looked up.
pub trait TypeNames {
    /// The type that `name` means in a statement on `keyspace`.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    fn resolve(&self, name: &TypeName, keyspace: &str) -> Result<CqlType>;
}

impl TypeNames for Catalog {
    fn resolve(&self, name: &TypeName, keyspace: &str) -> Result<CqlType> {
        Self::resolve(self, name, keyspace)
    }
}

/// What terms are held against.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Types by name.
    pub types: &'a dyn TypeNames,
    /// The keyspace of the statement's table.
    pub keyspace: &'a str,
    /// The table, for `token()`.
    pub table: Option<&'a TableSchema>,
}

/// A statement that is being prepared.
pub struct Preparing<'a> {
    /// What its terms are held against.
    pub scope: Scope<'a>,
    /// Its markers.
    pub markers: &'a mut Markers,
}

/// A term that was held against its receiver.
#[derive(Clone, Debug)]
pub struct Term(pub(crate) Node);

impl Term {
    /// Holds `expr` against what receives it.
    ///
    /// # Errors
    /// `Invalid` in Cassandra's words if it does not fit, or names a type or function that is not there.
    pub fn prepare(expr: &Expr, receiver: &ColumnSpec, cx: &mut Preparing<'_>) -> Result<Self> {
        let fits = fit::Fits::new(cx.scope);
        prepare::term(expr, receiver, &fits, cx.markers).map(Self)
    }

    /// The term null.
    #[must_use]
    pub fn null() -> Self {
        Self(Node::Constant(Bound::Null))
    }

    /// The value: bytes of the receiver's type, null, or unset where a marker was not set.
    ///
    /// # Errors
    /// `Invalid` for bound bytes that are no value of the type, for null and unset inside a literal; what functions fail with.
    pub fn eval(&self, cx: &EvalContext<'_>) -> Result<Bound> {
        eval::eval(&self.0, cx)
    }

    /// The elements of the list that an `IN ?` was given, where null ones are told apart from the whole being null (`None`).
    ///
    /// # Errors
    /// As [`Term::eval`]; `Invalid` if it is unset.
    pub fn eval_list(&self, cx: &EvalContext<'_>) -> Result<Option<Vec<Wire>>> {
        eval::eval_list(&self.0, cx)
    }

    /// The number and type of the bind marker that it is, if it is just that.
    #[must_use]
    pub fn as_marker(&self) -> Option<(usize, &CqlType)> {
        match &self.0 {
            Node::Marker(index, ty) => Some((*index, ty)),
            _ => None,
        }
    }

    /// Whether it is a marker that was not set.
    #[must_use]
    pub fn is_unset(&self, cx: &EvalContext<'_>) -> bool {
        matches!(&self.0, Node::Marker(index, _) if cx.binds.get(*index) == Some(&Bound::Unset))
    }

    /// Whether it is the same in every execution.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self.0, Node::Constant(_))
    }

    /// Whether it is written `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.0, Node::Constant(Bound::Null))
    }

    /// Whether a bind marker is in it.
    #[must_use]
    pub fn has_marker(&self) -> bool {
        self.0.has_marker()
    }
}

#[cfg(test)]
mod tests;
