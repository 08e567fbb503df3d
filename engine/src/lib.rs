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
pub mod view;
pub mod write;
pub mod read;
pub mod compact;
pub mod db;

pub use db::{Builder, Db, Schema, Table};
pub use encoding::range::KeyRange;
pub use env::{Clock, ManualClock, SystemClock};
pub use error::{Error, ErrorKind, Result};
pub use model::arg::{Arg, Null};
pub use model::schema::{ColumnKind, Order, TableOptions, TableSchema};
pub use model::types::CqlType;
pub use options::{Options, ReplayMode, SyncMode};
pub use write::batch::{With, WriteBatch};
