//! skep: an embedded wide-column storage engine.
#![forbid(unsafe_code)]
pub use skep_engine::*;
