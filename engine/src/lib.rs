//! The storage engine of skep.
#![forbid(unsafe_code)]

pub mod error;
pub mod model;
pub mod encoding;
