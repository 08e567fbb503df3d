//! When one statement writes: with which timestamp and TTL, and the times of the cells, markers and deletions that it makes.
//!
//! [`With`] is what a program says with a row. [`Times`] is for layers that put rows of the storage model into a [`WriteBatch`](crate::write::batch::WriteBatch) themselves. What the client
//! does not say (the write time, the second from which a TTL or gc_grace_seconds count) is left open and filled in when
//! the batch commits ([`Stamp::UNSET`]).

use crate::encoding::row::Stamp;
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::life::{Deletion, Liveness, MAX_TTL, whole_seconds};
use crate::model::schema::TableSchema;
use std::time::Duration;

/// How one statement is written: with which TTL and timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct With {
    ttl: Option<u64>,
    timestamp: Option<i64>,
}

impl With {
    /// The table's default TTL, the commit's timestamp.
    pub const DEFAULT: Self = Self { ttl: None, timestamp: None };

    /// Expires after `ttl`, rounded up to whole seconds; zero means never and overrides the table's default.
    #[must_use]
    pub const fn ttl(self, ttl: Duration) -> Self {
        Self { ttl: Some(whole_seconds(ttl)), ..self }
    }

    /// Written at `micros` since the epoch instead of the time of the commit.
    #[must_use]
    pub const fn timestamp(self, micros: i64) -> Self {
        Self { timestamp: Some(micros), ..self }
    }

    /// The TTL to use for `schema`, seconds.
    pub(crate) fn seconds(&self, schema: &TableSchema) -> Result<i32> {
        let Some(ttl) = self.ttl else { return Ok(schema.options.default_time_to_live) };
        match i32::try_from(ttl) {
            Ok(seconds) if seconds <= MAX_TTL => Ok(seconds),
            _ => Err(Error::invalid(format!("ttl is too large. requested ({ttl}) maximum ({MAX_TTL})"))),
        }
    }

    /// The timestamp, if there is one.
    pub(crate) fn checked_timestamp(&self) -> Result<Option<i64>> {
        match self.timestamp {
            Some(i64::MIN) => Err(Error::invalid(format!(
                "Out of bound timestamp, must be in [{}, {}]",
                i64::MIN + 1,
                i64::MAX
            ))),
            timestamp => Ok(timestamp),
        }
    }
}

/// USING TIMESTAMP and TTL of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Write time in micros; `None` is the commit's.
    pub timestamp: Option<i64>,
    /// Seconds to live; 0 is for ever.
    pub ttl: i32,
}

impl Times {
    /// Both. The table's default TTL is the caller's business.
    pub const fn new(timestamp: Option<i64>, ttl: i32) -> Self {
        Self { timestamp, ttl }
    }

    fn micros(self) -> i64 {
        self.timestamp.unwrap_or(Stamp::UNSET.timestamp)
    }

    /// A row marker, or the life of a cell.
    pub fn liveness(self) -> Liveness {
        match self.ttl {
            0 => Liveness::new(self.micros()),
            ttl => Liveness::expiring(self.micros(), ttl, Stamp::UNSET.now.saturating_add(i64::from(ttl))),
        }
    }

    /// A cell with this value (protocol bytes).
    pub fn cell(self, wire: Bytes) -> Cell {
        Cell::live(self.liveness(), wire)
    }

    /// A cell that deletes.
    pub fn tombstone(self) -> Cell {
        Cell::tombstone(self.micros(), Stamp::UNSET.now)
    }

    /// A deletion of a partition, range, row or whole collection, up to and with the statement's own time.
    pub fn deletion(self) -> Deletion {
        Deletion::new(self.micros(), Stamp::UNSET.now)
    }

    /// The deletion under the new elements of a collection that is overwritten: everything older than the statement, by a microsecond less than its
    /// time. `None` where nothing can be older.
    pub fn overwrite(self) -> Option<Deletion> {
        match self.timestamp {
            None => Some(Stamp::BELOW_UNSET),
            Some(timestamp) if timestamp <= i64::MIN + 1 => None,
            Some(timestamp) => Some(Deletion::new(timestamp - 1, Stamp::UNSET.now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::row::{EncodedRow, encode_row};
    use crate::model::cell::ColumnId;
    use crate::model::clustering::Clustering;
    use crate::model::row::{Complex, Row};

    #[test]
    fn what_is_left_open_is_the_commits() {
        let stamp = Stamp { timestamp: 5_000_000, now: 5 };
        for (given, micros) in [(None, 5_000_000), (Some(77), 77)] {
            let times = Times::new(given, 10);
            let mut row = Row::new(Clustering::EMPTY);
            row.liveness = Some(times.liveness());
            row.deletion = Some(times.deletion());
            row.cells = vec![(ColumnId(1), times.cell(Bytes::new(b"v"))), (ColumnId(2), times.tombstone())];
            let deletion = times.overwrite();
            row.complex = vec![Complex { column: ColumnId(3), deletion, cells: Vec::new() }];
            let mut bytes = Vec::new();
            encode_row(&row, Stamp::UNSET, &mut bytes);
            let row = EncodedRow::parse(&bytes).unwrap().decode(stamp).unwrap();
            assert_eq!(row.liveness, Some(Liveness::expiring(micros, 10, 15)));
            assert_eq!(row.deletion, Some(Deletion::new(micros, 5)));
            assert_eq!(row.cells[0].1.life(), Liveness::expiring(micros, 10, 15));
            assert_eq!(row.cells[1].1, Cell::tombstone(micros, 5));
            assert_eq!(row.complex[0].deletion, Some(Deletion::new(micros - 1, 5)));
        }
        assert_eq!(Times::new(Some(i64::MIN + 1), 0).overwrite(), None);
    }
}
