//! The storage engine of skep.
//!
//! A program begins with [`Db::open`] or [`Db::builder`], describes a table with [`Schema`], writes with [`Table::insert`] and
//! [`row!`], several tables at once with a [`WriteBatch`], much with an [`Appender`], and reads with [`Table::get`],
//! [`Table::slice`], [`Table::buckets`] and [`Table::scan`], which give a [`Select`] to refine and run. Everything that can
//! fail gives an [`Error`], whose [`ErrorKind`] says what the caller can do.
//!
//! The modules are in reading order: each uses only those above it.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::host_endian_bytes))]
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

pub use db::appender::Appender;
pub use db::backup::SnapshotInfo;
pub use db::change::SchemaChange;
pub use db::ddl::Alter;
pub use db::locks::PartitionGuard;
pub use db::moment::TableSnapshot;
pub use db::page::{Batches, Page};
pub use db::query::Select;
pub use db::snapshot::Snapshot;
pub use db::stats::{DbStats, TableStats};
pub use db::verify::VerifyReport;
pub use db::{Builder, DEFAULT_KEYSPACE, Db, Schema, Table};
pub use encoding::range::KeyRange;
pub use env::{Clock, ManualClock, SystemClock};
pub use error::{Error, ErrorKind, Result};
pub use model::arg::{Arg, Null};
pub use model::duration::Duration as CqlDuration;
pub use model::key::TokenRange;
pub use model::numeric::{Decimal, Varint};
pub use model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
pub use model::time::{Date, Time, Timestamp};
pub use model::token::Token;
pub use model::types::{CqlType, UdtType};
pub use model::uuid::{Timeuuid, Uuid};
pub use model::value::Value;
pub use options::{Options, ReplayMode, SyncMode};
pub use read::aggregate::{ColumnTotals, Totals};
pub use read::batch::{Batch, Row, RowRef};
pub use read::column::Column as BatchColumn;
pub use read::explain::Explain;
pub use read::page::PageState;
pub use read::query::{Projection, TombstoneLimits};
pub use read::reader::{Reader, Rows};
pub use read::versions::{Candidate, Fragments};
pub use write::batch::{SchemaOf, WriteBatch};
pub use write::times::{Times, With};
