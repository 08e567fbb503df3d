//! The storage engine of skep.
#![forbid(unsafe_code)]

pub mod error;
pub mod options;
pub mod model;
pub mod encoding;
pub mod sstable;
