//! Shared parts of the tests across crates.
#![forbid(unsafe_code)]

pub mod cql;
pub mod differ;
pub mod fixtures;
pub mod fuzz;
pub mod golden;
pub mod model;
pub mod op;
pub mod source;
pub mod store;
