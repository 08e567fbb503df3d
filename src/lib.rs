#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use skep_cql as cql;
pub use skep_cql::{Answer, CqlError, OpenSession, Outcome, Parameters, Prepared, Session};
pub use skep_engine::*;

/// The programs in the chapter on CQL compile.
#[cfg(doctest)]
#[doc = include_str!("../docs/src/cql.md")]
struct Chapter;
