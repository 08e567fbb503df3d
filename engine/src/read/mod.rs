//! The read path on one page: from a key to rows.
//!
//! ```text
//! snapshot   a view of the table and a pinned sequence number
//! query      ranges, direction, columns, limits, page
//! gather     which memtables and files can have anything of the partition     (explain: and why not)
//! file       a file's rows, looked up and read when it is their turn
//! source     rows of files and memtables, a piece at a time
//! slice      pieces that stand alone are handed out as columns (lanes), overlapping ones put in order (weave) or merged (merge)
//! resolve    what of a merged row is seen at this second
//! batch      up to 1024 rows as columns; Row is a handle on one (column, builder, column_builder, get)
//! page       limits, and where the next page begins
//! reader     all of it, partition after partition (partition, scan)
//! versions   rows as they are stored, merged or source by source
//! aggregate  counts, least and greatest values and sums, where possible from the index alone
//! ```
//!
//! [`read_partition`] reads one partition, [`read_partitions`] several in a given order (buckets of a series, newest
//! first), [`read_tokens`] all of a range of tokens. A single row by its full key takes a shorter way: [`point::read_row`].
//!
//! Nothing here writes; two versions are compared in `model::reconcile` alone.

pub mod query;
pub mod page;
pub mod merge;
pub mod resolve;
pub mod column;
pub(crate) mod column_builder;
pub mod get;
pub mod batch;
pub(crate) mod builder;
pub(crate) mod lanes;
pub(crate) mod source;
pub(crate) mod weave;
pub(crate) mod slice;
pub mod explain;
pub mod snapshot;
pub(crate) mod gather;
pub(crate) mod file;
pub(crate) mod partition;
pub(crate) mod scan;
pub mod reader;
pub(crate) mod row;
pub mod point;
pub mod versions;
pub mod why;
pub mod aggregate;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod read_tests;

use crate::error::Result;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::read::query::Query;
use crate::read::reader::Reader;
use crate::read::scan::Keys;
use crate::read::snapshot::Snapshot;

/// Reads partition `key` as it is seen at second `now`.
///
/// # Errors
/// `Invalid` if the page state is not of this query.
pub fn read_partition(snapshot: Snapshot, key: DecoratedKey, query: Query, now: i64) -> Result<Reader> {
    Reader::new(snapshot, Keys::List([key].into()), query, now)
}

/// Reads several partitions one after the other, in the order of `keys`, with LIMIT and pages over all of them: the buckets of a
/// series, newest first for its newest rows.
///
/// # Errors
/// `Invalid` if the page state is not of this query.
pub fn read_partitions(
    snapshot: Snapshot,
    keys: impl IntoIterator<Item = DecoratedKey>,
    query: Query,
    now: i64,
) -> Result<Reader> {
    Reader::new(snapshot, Keys::List(keys.into_iter().collect()), query, now)
}

/// Reads all partitions of a range of tokens, in token order.
///
/// # Errors
/// `Invalid` if the page state is not of this query.
pub fn read_tokens(snapshot: Snapshot, tokens: TokenRange, query: Query, now: i64) -> Result<Reader> {
    Reader::new(snapshot, Keys::Range(tokens), query, now)
}
