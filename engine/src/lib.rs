//! The storage engine of skep.
#![deny(unsafe_code)]

pub mod error;
pub mod annotate;
pub mod options;
pub mod model;
pub mod encoding;
pub mod env;
pub mod record;
pub mod sstable;
pub mod manifest;
pub mod read;
