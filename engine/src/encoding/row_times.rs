//! The times in an encoded row, found without decoding it, and at once the check that it can be decoded.
//!
//! A memtable looks at every row that it takes in: it must know the oldest write time that it holds (a compaction keeps
//! tombstones that could hide something here), and it must not take what a reader could not decode later. The walk
//! skips values instead of building them, which costs a few nanoseconds a cell.
//!
//! # Invariants
//! 1. [`EncodedRow::times`] succeeds exactly where [`EncodedRow::decode`] does.

use crate::encoding::bytes::ByteReader;
use crate::encoding::row::{
    BYTES, COMPLEX, DECIMAL, DELETION, EXPIRY, EncodedRow, FAR, INT4, INT8, LIFE, MARKER, OWN, OWN_LOCAL,
    OWN_TIMESTAMP, OWN_TOMBSTONE, OWN_TTL, RAW, RAW4, RAW8, SCALES, Stamp, TOMBSTONE, TTL, read_deletion,
    read_ttl,
};
use crate::encoding::varint::unzigzag;
use crate::error::Result;
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
        let flags = reader.u8()?;
        reader.bytes()?;
        if flags & RAW != 0 {
            reader.bytes()?;
        }
        let timestamp = if flags & LIFE != 0 { reader.i64()? } else { stamp.timestamp };
        let ttl = if flags & TTL != 0 { read_ttl(reader)? } else { 0 };
        let expiry = match ttl {
            0 => NEVER,
            _ if flags & EXPIRY != 0 => reader.signed()?,
            _ => stamp.now.saturating_add(i64::from(ttl)),
        };
        if flags & DELETION != 0 {
            let deletion = read_deletion(reader, stamp)?;
            times.add(deletion.timestamp, deletion.local);
        }
        if flags & COMPLEX != 0 {
            let mut last = None;
            for _ in 0..reader.count(3, "collections")? {
                let column = walk_complex(reader, timestamp, stamp, times)?;
                if last.is_some_and(|last| last >= column) {
                    return Err(reader.error("collections are out of order"));
                }
                last = Some(column);
            }
        }
        let (mut live, mut deleted) = (flags & MARKER != 0, false);
        let mut next = 0u32;
        while !reader.is_empty() {
            let head = reader.u8()?;
            let gap = match u32::from(head >> 3) {
                FAR => u32::try_from(reader.varint()?).ok(),
                gap => Some(gap),
            };
            let column = gap.and_then(|gap| next.checked_add(gap)).filter(|column| *column < u32::MAX);
            let column = column.ok_or_else(|| reader.error("column number is too large"))?;
            next = column + 1;
            match head & 7 {
                TOMBSTONE => deleted = true,
                OWN => walk_own(reader, timestamp, stamp, times)?,
                form => {
                    live = true;
                    skip_value(reader, form)?;
                }
            }
        }
        if live {
            times.add(timestamp, expiry);
        }
        if deleted {
            times.add(timestamp, stamp.now);
        }
        Ok(())
    }
}

fn walk_own(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp, times: &mut RowTimes) -> Result<()> {
    let flags = reader.u8()?;
    let timestamp = if flags & OWN_TIMESTAMP != 0 { reader.i64()? } else { life };
    let ttl = if flags & OWN_TTL != 0 { read_ttl(reader)? } else { 0 };
    let tombstone = flags & OWN_TOMBSTONE != 0;
    if tombstone && ttl != 0 {
        return Err(reader.error("a tombstone has a TTL"));
    }
    if !tombstone && ttl == 0 && flags & OWN_LOCAL != 0 {
        return Err(reader.error("a value expires without a TTL"));
    }
    let local = match flags & OWN_LOCAL {
        0 if tombstone => stamp.now,
        0 if ttl != 0 => stamp.now.saturating_add(i64::from(ttl)),
        0 => NEVER,
        _ => reader.signed()?,
    };
    times.add(timestamp, local);
    if tombstone { Ok(()) } else { skip_value(reader, flags >> 4) }
}

fn walk_complex(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp, times: &mut RowTimes) -> Result<u32> {
    let column = u32::try_from(reader.varint()?);
    let column = column.map_err(|_| reader.error("column number is too large"))?;
    match reader.u8()? {
        0 => {}
        1 => {
            let deletion = read_deletion(reader, stamp)?;
            times.add(deletion.timestamp, deletion.local);
        }
        _ => return Err(reader.error("unknown flags of a collection")),
    }
    let mut last: Option<&[u8]> = None;
    for _ in 0..reader.count(3, "elements")? {
        let raw = reader.u8()?;
        let path = reader.bytes()?;
        match raw {
            0 => {}
            1 => drop(reader.bytes()?),
            _ => return Err(reader.error("unknown flags of an element")),
        }
        if last.is_some_and(|last| last >= path) {
            return Err(reader.error("elements of a collection are out of order"));
        }
        last = Some(path);
        walk_own(reader, life, stamp, times)?;
    }
    Ok(column)
}

#[inline]
fn skip_value(reader: &mut ByteReader<'_>, form: u8) -> Result<()> {
    match form {
        BYTES => drop(reader.bytes()?),
        INT4 => {
            if i32::try_from(unzigzag(reader.varint()?)).is_err() {
                return Err(reader.error("a 4-byte number is too large"));
            }
        }
        INT8 => drop(reader.varint()?),
        DECIMAL => {
            if reader.varint()? & 3 >= SCALES.len() as u64 {
                return Err(reader.error("unknown number of decimals"));
            }
        }
        RAW8 => drop(reader.array::<8>()?),
        RAW4 => drop(reader.array::<4>()?),
        _ => return Err(reader.error("unknown form of a value")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::row::encode_row;
    use crate::model::bytes::Bytes;
    use crate::model::cell::{Cell, ColumnId};
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
