//! One cell: the value of one column of one row, or its tombstone.

use crate::model::bytes::Bytes;
use crate::model::life::{Liveness, NEVER};

/// Identifies a column of a table for good. A column that is dropped and added again keeps its id; the drop's
/// timestamp tells old cells from new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ColumnId(pub u32);

/// A value with its life, or a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Write time, microseconds.
    pub timestamp: i64,
    /// Time to live in seconds; 0 is none.
    pub ttl: i32,
    /// Expiry second of an expiring cell, second of deletion of a tombstone, [`NEVER`] otherwise.
    pub local: i64,
    /// The value in wire serialisation; `None` makes it a tombstone.
    pub value: Option<Bytes>,
}

impl Cell {
    /// A value with the life `life`.
    pub fn live(life: Liveness, value: Bytes) -> Self {
        Self { timestamp: life.timestamp, ttl: life.ttl, local: life.expiry, value: Some(value) }
    }

    /// A tombstone written at `timestamp` (micros), made at second `local`.
    pub fn tombstone(timestamp: i64, local: i64) -> Self {
        Self { timestamp, ttl: 0, local, value: None }
    }

    /// A deleted value (an expired one is still not a tombstone in this sense).
    #[inline]
    pub fn is_tombstone(&self) -> bool {
        self.value.is_none()
    }

    /// Has a TTL, expired or not.
    #[inline]
    pub fn is_expiring(&self) -> bool {
        self.ttl != 0
    }

    /// Whether a reader at second `now` sees the value.
    #[inline]
    pub fn is_live(&self, now: i64) -> bool {
        self.value.is_some() && now < self.local
    }

    /// The life of a cell with a value; of a tombstone its write time alone.
    pub fn life(&self) -> Liveness {
        match self.value {
            Some(_) => Liveness { timestamp: self.timestamp, ttl: self.ttl, expiry: self.local },
            None => Liveness { timestamp: self.timestamp, ttl: 0, expiry: NEVER },
        }
    }
}
