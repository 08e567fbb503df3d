//! CQL over the storage engine.
//!
//! A statement goes through these rooms, top to bottom: its text becomes words (`syntax::lexer`) and a tree (`syntax::ast`), the tree
//! is held against the schema (`catalog`) and its terms against types (`term`, `function`), a plan is made (`restrict`, `select`,
//! `modify`, `schema`), and a [`Session`] runs it. Each module uses only those above it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout))]

pub mod error;
pub mod value;
pub mod answer;
pub mod story;
pub mod rails;
pub mod syntax;
pub mod function;
pub mod catalog;
pub mod term;
pub mod selector;
pub mod restrict;
pub mod select;
pub mod mutation;
pub mod derive;
pub mod modify;
pub mod schema;
pub mod system;
pub mod explain;
pub mod session;

pub use answer::{Outcome, Parameters, ResultSet, SchemaChange};
pub use error::{Code, CqlError, Place, Result};
pub use session::rows::{FromCql, FromRow, Row};
pub use session::values::{Named, ToCql, Values};
pub use session::{Answer, Batch, OpenSession, Prepared, Query, Rows, Session};
pub use value::{Bound, ColumnSpec, Wire};
