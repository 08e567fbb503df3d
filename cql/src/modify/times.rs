//! The times of what one statement writes.
//!
//! A plain write leaves its timestamp to the commit, which draws it from the store's clock; a statement that must know its times (because it
//! compares what it writes with what is there) draws them first. [`Times`] makes markers, cells and deletions in either case.

use skep_engine::encoding::row::Stamp;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::Cell;
use skep_engine::model::life::{Deletion, Liveness};

/// When and for how long a statement's data is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Write time and second; those of [`Stamp::UNSET`] are the commit's.
    stamp: Stamp,
    /// Time to live in seconds, 0 none.
    ttl: i32,
}

impl Times {
    /// The times of the commit, with a time to live of `ttl` seconds (0: none).
    pub fn of_commit(ttl: i32) -> Self {
        Self { stamp: Stamp::UNSET, ttl }
    }

    /// Written at `timestamp` (micros); `second` is the second of writing, None for the commit's.
    pub fn at(timestamp: i64, second: Option<i64>, ttl: i32) -> Self {
        Self { stamp: Stamp { timestamp, now: second.unwrap_or(Stamp::UNSET.now) }, ttl }
    }

    /// The life of the marker and of live cells.
    pub fn life(&self) -> Liveness {
        match self.ttl {
            0 => Liveness::new(self.stamp.timestamp),
            ttl => {
                Liveness::expiring(self.stamp.timestamp, ttl, self.stamp.now.saturating_add(i64::from(ttl)))
            }
        }
    }

    /// A live cell.
    pub fn cell(&self, value: Bytes) -> Cell {
        Cell::live(self.life(), value)
    }

    /// A deleted cell.
    pub fn tombstone(&self) -> Cell {
        Cell::tombstone(self.stamp.timestamp, self.stamp.now)
    }

    /// A deletion of what is as old, or older.
    pub fn deletion(&self) -> Deletion {
        self.stamp.deletion()
    }

    /// A deletion of what is older by a microsecond or more: that of an overwrite. None where nothing can be older.
    pub fn deletion_below(&self) -> Option<Deletion> {
        if self.stamp == Stamp::UNSET {
            return Some(Stamp::BELOW_UNSET);
        }
        // One less than the smallest timestamp would be the sign for "the commit's".
        let below = self.stamp.timestamp.checked_sub(1).filter(|below| *below > i64::MIN)?;
        Some(Deletion::new(below, self.stamp.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overwrite_deletes_what_is_older_by_a_microsecond() {
        assert_eq!(Times::at(100, Some(7), 0).deletion_below(), Some(Deletion::new(99, 7)));
        assert_eq!(Times::of_commit(0).deletion_below(), Some(Stamp::BELOW_UNSET));
        assert_eq!(Times::at(i64::MIN + 1, Some(7), 0).deletion_below(), None);
    }

    #[test]
    fn a_ttl_counts_from_the_second_of_writing_whatever_the_timestamp() {
        let times = Times::at(-5, Some(1_000), 60);
        assert_eq!(times.cell(Bytes::EMPTY).local, 1_060);
        assert_eq!((times.tombstone().timestamp, times.tombstone().local), (-5, 1_000));
    }
}
