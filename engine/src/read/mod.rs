//! The read path.

pub mod query;
pub mod page;
pub mod merge;
pub(crate) mod resolve;
pub mod column;
pub mod get;
pub mod batch;
pub(crate) mod builder;
pub(crate) mod lanes;
pub(crate) mod source;
pub(crate) mod slice;
#[cfg(test)]
mod testing;
