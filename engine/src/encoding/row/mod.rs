//! One row as bytes: the same encoding serves the write batch, the commit log and the memtable.
//!
//! A row is encoded once, when it enters a batch; the log writes those bytes and the memtable keeps a copy of them.
//! So the encoding is small (numbers as varints, doubles as decimals where that is exact) and cheap on both sides.
//! The bytes do not depend on types: a value is wire bytes, and its form is chosen by its length and content.
//!
//! ```text
//! value      the forms of a value
//! write      rows into bytes: RowEncoder cell by cell, encode_row for any row
//! read       bytes into rows: EncodedRow; and the parts of a row, for those who walk over it without building it
//! ```
//!
//! # Format
//! See "Row" in FORMAT.md of the directory above.
//!
//! # Stamps
//! Most rows are written "now": such times are left out and come from the batch's [`Stamp`], which is only known when
//! the batch commits. Times that the client gives are stored in full.

pub(super) mod read;
pub(super) mod value;
mod write;

pub use read::{EncodedRow, read_deletion};
pub use write::{RowEncoder, encode_row, put_deletion};

use crate::model::clustering::Clustering;
use crate::model::life::Deletion;

/// The times that a batch's rows share: what is written without times of its own has these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Write time, microseconds.
    pub timestamp: i64,
    /// Second of the write: expiries count from it, and deletions have it as local time.
    pub now: i64,
}

impl Stamp {
    /// The stamp of a batch that is not committed yet. Rows built for such a batch take their times from here; no
    /// client can give these (the smallest `i64` is no valid timestamp).
    pub const UNSET: Self = Self { timestamp: i64::MIN, now: i64::MIN };

    /// The deletion that has the stamp's times.
    pub const fn deletion(self) -> Deletion {
        Deletion::new(self.timestamp, self.now)
    }

    /// The deletion one microsecond below an unset stamp: what overwriting a collection writes (so that elements of
    /// the very timestamp stay).
    pub const BELOW_UNSET: Deletion = Deletion::new(i64::MIN, i64::MIN + 1);
}

/// Flags of a row.
pub(super) const MARKER: u8 = 1;
pub(super) const LIFE: u8 = 2;
pub(super) const TTL: u8 = 4;
pub(super) const EXPIRY: u8 = 8;
pub(super) const DELETION: u8 = 16;
pub(super) const RAW: u8 = 32;
pub(super) const COMPLEX: u8 = 64;
pub(super) const KNOWN: u8 = 127;

/// Flags of a deletion one microsecond below the stamp.
pub(super) const BELOW: u8 = 4;

pub(super) const OWN_TOMBSTONE: u8 = 1;
pub(super) const OWN_TIMESTAMP: u8 = 2;
pub(super) const OWN_TTL: u8 = 4;
pub(super) const OWN_LOCAL: u8 = 8;

/// A cell with times of its own, as a form of a value; and a tombstone with the row's.
pub(super) const OWN: u8 = 7;
pub(super) const TOMBSTONE: u8 = 6;

/// The high 5 bits of a cell's head when the column's number follows as a varint.
pub(super) const FAR: u32 = 31;

/// Where a row stands: the bytes of a clustering.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Byte-comparable.
    pub order: &'a [u8],
    /// As written, where that does not come back out of the former.
    pub raw: Option<&'a [u8]>,
}

impl<'a> Place<'a> {
    /// That of a clustering.
    #[inline]
    pub fn of(clustering: &'a Clustering) -> Self {
        Self { order: clustering.order(), raw: clustering.raw() }
    }
}

/// What a row has before its cells.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowHead {
    /// Has the marker that INSERT writes.
    pub marker: bool,
    /// Write time in micros when the client gave one.
    pub timestamp: Option<i64>,
    /// TTL in seconds, 0 none.
    pub ttl: i32,
    /// Expiry second when it is not the stamp's second plus the TTL.
    pub expiry: Option<i64>,
    /// Deletion of the row.
    pub deletion: Option<Deletion>,
}

#[cfg(test)]
mod tests;
