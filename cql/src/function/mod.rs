//! The functions of CQL: what they take, what they give, and their evaluation.
//!
//! `term` and `select` ask [`candidates`] for the overloads of a name, choose one by the types of the arguments, and evaluate it with
//! [`Function::call`] (or, an aggregate, with [`Function::start`]) on serialised values. Operators (`arithmetic`) and casts (`cast`) are
//! overloads of the same kind, so that one choice serves all three. `literal` turns constants into bytes, `json` bytes into JSON and back.
//!
//! A generic function (`toJson`, `map_keys`, `max`) is made for the arguments at hand: what [`candidates`] gives for it is one overload
//! with concrete types, or the error that says which argument does not fit.
//!
//! # Invariants
//! 1. A function gives the same bytes for the same arguments and context, but `now`, `uuid` and their kin.
//! 2. No bytes make a function panic: what cannot be decoded is an error, and what would expand without bound (decimals of huge exponents)
//!    is refused.
//! 3. An argument that is null, or empty where the type has no empty value of its own, gives null, unless the function says otherwise.
//!
//! # Not here
//! Choosing among overloads (`term`); `writetime` and `ttl`, which are properties of a cell (`select`); functions of users, which skep has not.

pub(crate) mod java;
pub(crate) mod decimal;
mod logarithm;
pub mod number;
pub mod text;
pub mod literal;
mod parameter;
mod identity;
mod calendar;
mod blob;
mod time;
mod floor;
mod math;
pub mod arithmetic;
pub mod cast;
pub mod aggregate;
mod collection;
mod hash;
mod mask;
mod similarity;
pub mod json;
mod native;

use std::fmt;
use std::sync::Arc;

use skep_engine::CqlType;

use crate::error::{CqlError, Result};
use crate::value::{Wire, type_name};

pub use aggregate::{Accumulator, count_rows};
pub use native::{candidates, exists, names};
pub use parameter::Argument;
pub use time::token;

/// What a function may know of the statement it is called in.
#[derive(Clone, Copy, Debug)]
pub struct CallContext {
    /// The statement's time, microseconds since 1970.
    pub now_micros: i64,
}

type Scalar = dyn Fn(&CallContext, &[Wire]) -> Result<Wire> + Send + Sync;
type Start = dyn Fn() -> Box<dyn Accumulator> + Send + Sync;

enum Body {
    Scalar(Box<Scalar>),
    Aggregate(Box<Start>),
}

/// A function for arguments of certain types.
pub struct Function {
    /// Its name in lower case, as in results' column names: `todate`, `to_date`. Of an operator its sign, of a minus before a value
    /// `_negate`, of a cast `cast_as_int`.
    pub name: String,
    /// Types of its arguments.
    pub args: Vec<CqlType>,
    /// Type of its result.
    pub returns: CqlType,
    pure: bool,
    body: Body,
}

impl Function {
    /// A function that is null as soon as one argument is; `body` gets arguments that are not.
    pub(crate) fn strict(
        name: &str,
        args: Vec<CqlType>,
        returns: CqlType,
        body: impl Fn(&CallContext, &[Wire]) -> Result<Wire> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::scalar(name, args, returns, move |cx, args| {
            if args.iter().any(Option::is_none) { Ok(None) } else { body(cx, args) }
        })
    }

    /// A function that sees its nulls.
    pub(crate) fn scalar(
        name: &str,
        args: Vec<CqlType>,
        returns: CqlType,
        body: impl Fn(&CallContext, &[Wire]) -> Result<Wire> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            args,
            returns,
            pure: true,
            body: Body::Scalar(Box::new(body)),
        })
    }

    /// A function without arguments whose results differ.
    pub(crate) fn impure(
        name: &str,
        returns: CqlType,
        body: impl Fn(&CallContext) -> Result<Wire> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let body = Body::Scalar(Box::new(move |cx: &CallContext, _: &[Wire]| body(cx)));
        Arc::new(Self { name: name.to_owned(), args: Vec::new(), returns, pure: false, body })
    }

    /// An aggregate, whose state `start` makes.
    pub(crate) fn aggregate(
        name: &str,
        args: Vec<CqlType>,
        returns: CqlType,
        start: impl Fn() -> Box<dyn Accumulator> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            args,
            returns,
            pure: true,
            body: Body::Aggregate(Box::new(start)),
        })
    }

    /// Whether it is an aggregate.
    #[must_use]
    pub fn is_aggregate(&self) -> bool {
        matches!(self.body, Body::Aggregate(_))
    }

    /// Whether equal arguments give equal results; `now()` and the like do not.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.pure
    }

    /// The result for `args`, serialised values of the types in [`Function::args`].
    ///
    /// # Errors
    /// `Invalid` or `FunctionFailure` where the function has no result, in Cassandra's words; `Invalid` for an aggregate and for a wrong
    /// number of arguments.
    pub fn call(&self, cx: &CallContext, args: &[Wire]) -> Result<Wire> {
        if args.len() != self.args.len() {
            return Err(CqlError::invalid(format!(
                "Invalid number of arguments in call to function system.{}: {} required but {} provided",
                self.name,
                self.args.len(),
                args.len()
            )));
        }
        match &self.body {
            Body::Scalar(body) => body(cx, args),
            Body::Aggregate(_) => {
                Err(CqlError::invalid("Aggregation function are not supported in the where clause"))
            }
        }
    }

    /// The state of an aggregate before the first row; `None` for a scalar function.
    #[must_use]
    pub fn start(&self) -> Option<Box<dyn Accumulator>> {
        match &self.body {
            Body::Scalar(_) => None,
            Body::Aggregate(start) => Some(start()),
        }
    }
}

impl fmt::Display for Function {
    /// The signature, as in the errors that list overloads: `system.todate : (timeuuid) -> date`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(type_name).collect();
        let bare = self.name.starts_with(|c: char| c.is_ascii_lowercase());
        let quote = if bare { "" } else { "\"" };
        write!(
            f,
            "system.{quote}{}{quote} : ({}) -> {}",
            self.name,
            args.join(", "),
            type_name(&self.returns)
        )
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The bytes of argument `index`; of a null none.
pub(crate) fn arg(args: &[Wire], index: usize) -> &[u8] {
    args.get(index).and_then(Option::as_deref).unwrap_or_default()
}

#[cfg(test)]
mod tests;
