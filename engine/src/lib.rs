//! The storage engine of skep.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests may work on real files"))]

pub mod error;
pub mod annotate;
pub mod options;
pub mod model;
pub mod encoding;
pub mod env;
pub mod record;
pub mod commitlog;
pub mod memtable;
pub mod sstable;
pub mod manifest;
pub mod read;
pub mod compact;

pub use model::arg::{Arg, Null};
