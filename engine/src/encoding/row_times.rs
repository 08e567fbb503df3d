//! The times in an encoded row, found without decoding it, and at once the check that it can be decoded.
//!
//! A memtable looks at every row that it takes in: it must know the oldest write time that it holds (a compaction keeps
//! tombstones that could hide something here), and it must not take what a reader could not decode later. The walk
//! skips values instead of building them, which costs a few nanoseconds a cell.
//!
//! # Invariants
//! 1. [`EncodedRow::times`] succeeds exactly where [`EncodedRow::decode`] does.

use crate::encoding::bytes::ByteReader;
use crate::encoding::row::read::{ComplexHead, Head, Own, read_column, read_path};
use crate::encoding::row::value::skip_value;
use crate::encoding::row::{EncodedRow, MARKER, OWN, RowHead, Stamp, TOMBSTONE};
use crate::error::Result;
use crate::model::cell::ColumnId;
use crate::model::life::NEVER;

/// Between which times the contents of a row lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTimes {
    /// Oldest write time, micros; `i64::MAX` where there is nothing.
    pub min_timestamp: i64,
    /// Newest write time, micros; `i64::MIN` where there is nothing.
    pub max_timestamp: i64,
    /// Earliest second of an expiry or deletion; [`NEVER`] where there is none.
    pub min_local: i64,
    /// Latest such second, [`NEVER`] if something lives for ever; `i64::MIN` where there is nothing.
    pub max_local: i64,
}

impl RowTimes {
    /// The times of nothing.
    pub const NONE: Self =
        Self { min_timestamp: i64::MAX, max_timestamp: i64::MIN, min_local: NEVER, max_local: i64::MIN };

    /// Takes in something written at `timestamp` (micros) that expires or was deleted at second `local`.
    #[inline]
    pub fn add(&mut self, timestamp: i64, local: i64) {
        self.min_timestamp = self.min_timestamp.min(timestamp);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.min_local = self.min_local.min(local);
        self.max_local = self.max_local.max(local);
    }
}

/// The times of rows that are not committed yet: some are those of a commit to come.
#[derive(Clone, Copy, Debug)]
pub struct OpenTimes {
    /// Those that are known.
    given: RowTimes,
    /// Something is written at the time of the commit.
    stamped: bool,
    /// Something is deleted in the second of the commit.
    deleted: bool,
    /// The shortest and the longest TTL that count from that second; none if the former is larger.
    ttl: (i32, i32),
}

impl Default for OpenTimes {
    fn default() -> Self {
        Self { given: RowTimes::NONE, stamped: false, deleted: false, ttl: (i32::MAX, 0) }
    }
}

impl OpenTimes {
    /// Takes in a row that has `head`, values or a marker of its life if it is `live`, tombstones of its write time if `deleted`,
    /// and nothing else.
    #[inline]
    pub(in crate::encoding) fn add(&mut self, head: &RowHead, live: bool, deleted: bool) {
        if !live && !deleted {
            return;
        }
        match head.timestamp {
            Some(timestamp) => {
                self.given.min_timestamp = self.given.min_timestamp.min(timestamp);
                self.given.max_timestamp = self.given.max_timestamp.max(timestamp);
            }
            None => self.stamped = true,
        }
        self.deleted |= deleted;
        if !live {
            return;
        }
        match (head.ttl, head.expiry) {
            (0, _) => self.add_local(NEVER),
            (_, Some(expiry)) => self.add_local(expiry),
            (ttl, None) => self.ttl = (self.ttl.0.min(ttl), self.ttl.1.max(ttl)),
        }
    }

    #[inline]
    fn add_local(&mut self, local: i64) {
        self.given.min_local = self.given.min_local.min(local);
        self.given.max_local = self.given.max_local.max(local);
    }

    /// The times, `stamp` being the commit's.
    pub(in crate::encoding) fn at(mut self, stamp: Stamp) -> RowTimes {
        if self.deleted {
            self.add_local(stamp.now);
        }
        let (shortest, longest) = self.ttl;
        if shortest <= longest {
            self.add_local(stamp.now.saturating_add(i64::from(shortest)));
            self.add_local(stamp.now.saturating_add(i64::from(longest)));
        }
        let mut times = self.given;
        if self.stamped {
            times.min_timestamp = times.min_timestamp.min(stamp.timestamp);
            times.max_timestamp = times.max_timestamp.max(stamp.timestamp);
        }
        times
    }
}

impl EncodedRow<'_> {
    /// The times of all that the row written with `stamp` holds.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not an encoded row.
    pub fn times(&self, stamp: Stamp) -> Result<RowTimes> {
        let mut times = RowTimes::NONE;
        self.add_times(stamp, &mut times)?;
        Ok(times)
    }

    /// Takes the times of all that the row written with `stamp` holds into `times`.
    ///
    /// # Errors
    /// As [`EncodedRow::times`]; `times` is then of no use.
    #[inline]
    pub fn add_times(&self, stamp: Stamp, times: &mut RowTimes) -> Result<()> {
        let mut reader = ByteReader::new(self.bytes);
        let reader = &mut reader;
        let head = Head::read(reader, stamp)?;
        let timestamp = head.life.timestamp;
        if let Some(deletion) = head.deletion {
            times.add(deletion.timestamp, deletion.local);
        }
        let mut last = None;
        for _ in 0..head.collections(reader)? {
            last = Some(walk_complex(reader, timestamp, stamp, last, times)?);
        }
        let (mut live, mut deleted) = (head.flags & MARKER != 0, false);
        let mut next = 0;
        while !reader.is_empty() {
            match read_column(reader, &mut next)?.1 {
                TOMBSTONE => deleted = true,
                OWN => walk_own(reader, timestamp, stamp, times)?,
                form => {
                    live = true;
                    skip_value(reader, form)?;
                }
            }
        }
        if live {
            times.add(timestamp, head.life.expiry);
        }
        if deleted {
            times.add(timestamp, stamp.now);
        }
        Ok(())
    }
}

fn walk_own(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp, times: &mut RowTimes) -> Result<()> {
    let own = Own::read(reader, life, stamp)?;
    times.add(own.timestamp, own.local);
    own.form.map_or(Ok(()), |form| skip_value(reader, form))
}

fn walk_complex(
    reader: &mut ByteReader<'_>,
    life: i64,
    stamp: Stamp,
    last: Option<ColumnId>,
    times: &mut RowTimes,
) -> Result<ColumnId> {
    let head = ComplexHead::read(reader, stamp, last)?;
    if let Some(deletion) = head.deletion {
        times.add(deletion.timestamp, deletion.local);
    }
    let mut last = None;
    for _ in 0..head.count {
        read_path(reader, &mut last)?;
        walk_own(reader, life, stamp, times)?;
    }
    Ok(head.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::row::encode_row;
    use crate::model::bytes::Bytes;
    use crate::model::cell::Cell;
    use crate::model::clustering::Clustering;
    use crate::model::life::{Deletion, Liveness};
    use crate::model::row::{Complex, Row};
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { timestamp: 5_000_000, now: 5 };

    fn rich_row() -> Row {
        let value = |wire: &[u8]| Cell::live(Liveness::new(5_000_000), Bytes::new(wire));
        let place = |byte| Clustering::new(Bytes::new(&[byte]));
        Row {
            clustering: place(7),
            liveness: Some(Liveness::expiring(5_000_000, 10, 15)),
            deletion: Some(Deletion::new(-4, 3)),
            cells: vec![
                (ColumnId(0), value(&[0, 0, 0, 9])),
                (ColumnId(2), value(&20.5f64.to_be_bytes())),
                (ColumnId(3), Cell::tombstone(77, 5)),
                (ColumnId(90), value(b"text of some length")),
            ],
            complex: vec![Complex {
                column: ColumnId(4),
                deletion: Some(Deletion::new(1, 900)),
                cells: vec![(place(1), value(&[1])), (place(2), Cell::tombstone(8_000_000, 5))],
            }],
        }
    }

    #[test]
    fn the_times_of_everything_count() {
        let mut bytes = Vec::new();
        encode_row(&rich_row(), STAMP, &mut bytes);
        let times = EncodedRow::parse(&bytes).unwrap().times(STAMP).unwrap();
        let wanted = RowTimes { min_timestamp: -4, max_timestamp: 8_000_000, min_local: 3, max_local: NEVER };
        assert_eq!(times, wanted);

        bytes.clear();
        let row = Row { liveness: Some(Liveness::expiring(9, 10, 15)), ..Row::default() };
        encode_row(&row, STAMP, &mut bytes);
        let times = EncodedRow::parse(&bytes).unwrap().times(STAMP).unwrap();
        assert_eq!(times, RowTimes { min_timestamp: 9, max_timestamp: 9, min_local: 15, max_local: 15 });
    }

    proptest! {
        #[test]
        fn it_refuses_what_decode_refuses(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<prop::sample::Index>(), whole: bool) {
            let mut bytes = Vec::new();
            encode_row(&rich_row(), STAMP, &mut bytes);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if !whole {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(row) = EncodedRow::parse(&bytes) {
                let (times, decoded) = (row.times(STAMP), row.decode(STAMP));
                prop_assert_eq!(times.is_ok(), decoded.is_ok());
                if let (Ok(times), Ok(row)) = (times, decoded) {
                    for cell in row.all_cells() {
                        prop_assert!(times.min_timestamp <= cell.timestamp && cell.timestamp <= times.max_timestamp);
                        prop_assert!(times.min_local <= cell.local && cell.local <= times.max_local);
                    }
                }
            }
        }
    }
}
