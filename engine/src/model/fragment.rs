//! What every sorted stream yields: memtables, SSTables, merges of them, and what flush and compaction write.
//!
//! A stream is, for each partition in token order: one [`Fragment::Partition`], at most one [`Fragment::Static`],
//! then rows and bounds in clustering order (or its reverse). A bound before a row with equal prefix precedes it, one
//! after it follows. Range deletions appear as bounds at which the deletion in force changes, so that there is one kind
//! of marker instead of open, close and boundary, and overlapping deletions become disjoint pieces.

use crate::model::clustering::Bound;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::row::Row;

/// A place where the range deletion in force changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeBound {
    /// Where.
    pub at: Bound,
    /// In force from here on, in clustering order, whichever way the stream runs; `None` ends one.
    pub deletion: Option<Deletion>,
}

/// A range deletion as a writer states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// Where it begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// What it deletes up to.
    pub deletion: Deletion,
}

/// One element of a sorted stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// A partition begins.
    Partition {
        /// Which.
        key: DecoratedKey,
        /// Deletion of the whole partition.
        deletion: Option<Deletion>,
    },
    /// Its static row.
    Static(Row),
    /// One of its rows.
    Row(Row),
    /// The range deletion in force changes.
    Bound(RangeBound),
}
