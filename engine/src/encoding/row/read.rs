//! Bytes into rows, and the parts of a row one by one.
//!
//! [`EncodedRow::decode`] builds a row; `row_times` walks over one without building it, `plain` reads what can go into a block as it is. All of
//! them read the same parts here, so that they accept the same bytes.

use crate::encoding::bytes::ByteReader;
use crate::encoding::row::value::read_value;
use crate::encoding::row::{
    BELOW, COMPLEX, DELETION, EXPIRY, FAR, KNOWN, LIFE, MARKER, OWN, OWN_LOCAL, OWN_TIMESTAMP, OWN_TOMBSTONE,
    OWN_TTL, Place, RAW, Stamp, TOMBSTONE, TTL,
};
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::row::{Complex, Row};
use std::sync::Arc;

/// Reads what [`put_deletion`](crate::encoding::row::put_deletion) wrote.
pub fn read_deletion(reader: &mut ByteReader<'_>, stamp: Stamp) -> Result<Deletion> {
    let flags = reader.u8()?;
    if flags == BELOW {
        return Ok(Deletion { timestamp: stamp.timestamp.saturating_sub(1), local: stamp.now });
    }
    if flags > 3 {
        return Err(reader.error("unknown flags of a deletion"));
    }
    let timestamp = if flags & 1 != 0 { reader.i64()? } else { stamp.timestamp };
    let local = if flags & 2 != 0 { reader.signed()? } else { stamp.now };
    Ok(Deletion { timestamp, local })
}

/// Clusterings, and paths of elements.
impl<'a> Place<'a> {
    #[inline]
    fn read(reader: &mut ByteReader<'a>, with_raw: bool) -> Result<Self> {
        let order = reader.bytes()?;
        Ok(Self { order, raw: if with_raw { Some(reader.bytes()?) } else { None } })
    }

    #[inline]
    fn build(self) -> Clustering {
        let order = Bytes::new(self.order);
        match self.raw {
            None => Clustering::new(order),
            Some(raw) => Clustering::with_raw(order, Arc::from(raw)),
        }
    }
}

/// What stands before a row's collections and cells.
#[derive(Clone, Copy, Debug)]
pub(in crate::encoding) struct Head<'a> {
    pub(in crate::encoding) flags: u8,
    pub(in crate::encoding) place: Place<'a>,
    /// Of the marker, if there is one, and of cells without times of their own.
    pub(in crate::encoding) life: Liveness,
    pub(in crate::encoding) deletion: Option<Deletion>,
}

impl<'a> Head<'a> {
    /// Reads the head of a row written with `stamp`.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are none.
    #[inline(always)] // every write passes here; the parts that a caller does not use are then not built
    pub(in crate::encoding) fn read(reader: &mut ByteReader<'a>, stamp: Stamp) -> Result<Self> {
        let flags = reader.u8()?;
        let place = Place::read(reader, flags & RAW != 0)?;
        let timestamp = if flags & LIFE != 0 { reader.i64()? } else { stamp.timestamp };
        let ttl = if flags & TTL != 0 { read_ttl(reader)? } else { 0 };
        let expiry = match ttl {
            0 => NEVER,
            _ if flags & EXPIRY != 0 => reader.signed()?,
            _ => stamp.now.saturating_add(i64::from(ttl)),
        };
        let deletion = match flags & DELETION {
            0 => None,
            _ => Some(read_deletion(reader, stamp)?),
        };
        Ok(Self { flags, place, life: Liveness { timestamp, ttl, expiry }, deletion })
    }

    /// How many collections follow.
    ///
    /// # Errors
    /// `Corrupt` for more than there are bytes.
    #[inline]
    pub(in crate::encoding) fn collections(&self, reader: &mut ByteReader<'_>) -> Result<usize> {
        if self.flags & COMPLEX == 0 { Ok(0) } else { reader.count(3, "collections") }
    }
}

/// Reads the head of the next cell, and the column's number, which `next` makes of it: returns the form of what follows.
///
/// # Errors
/// `Corrupt` for a column beyond all numbers.
#[inline(always)] // once a cell
pub(in crate::encoding) fn read_column(
    reader: &mut ByteReader<'_>,
    next: &mut u32,
) -> Result<(ColumnId, u8)> {
    let head = reader.u8()?;
    let mut gap = u64::from(head >> 3);
    if gap == u64::from(FAR) {
        gap = reader.varint()?;
    }
    let column = u64::from(*next).saturating_add(gap);
    if column >= u64::from(u32::MAX) {
        return Err(reader.error("column number is too large"));
    }
    *next = column as u32 + 1;
    Ok((ColumnId(column as u32), head & 7))
}

/// A TTL that is there.
///
/// # Errors
/// `Corrupt` for none, and for one out of range.
pub(in crate::encoding) fn read_ttl(reader: &mut ByteReader<'_>) -> Result<i32> {
    match i32::try_from(reader.varint()?) {
        Ok(ttl) if ttl > 0 => Ok(ttl),
        _ => Err(reader.error("a TTL is out of range")),
    }
}

/// The times of a cell with times of its own, and the form of the value that follows; `None` for a tombstone.
#[derive(Clone, Copy, Debug)]
pub(in crate::encoding) struct Own {
    pub(in crate::encoding) timestamp: i64,
    ttl: i32,
    pub(in crate::encoding) local: i64,
    pub(in crate::encoding) form: Option<u8>,
}

impl Own {
    /// Reads them; `life` is the row's write time.
    ///
    /// # Errors
    /// `Corrupt` for times that do not go together.
    #[inline]
    pub(in crate::encoding) fn read(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp) -> Result<Self> {
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
        Ok(Self { timestamp, ttl, local, form: (!tombstone).then_some(flags >> 4) })
    }
}

/// A cell with times of its own.
///
/// # Errors
/// As [`Own::read`] and [`read_value`].
#[inline(never)] // seldom, and large
pub(in crate::encoding) fn read_own(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp) -> Result<Cell> {
    let Own { timestamp, ttl, local, form } = Own::read(reader, life, stamp)?;
    let value = form.map(|form| read_value(reader, form)).transpose()?;
    Ok(Cell { timestamp, ttl, local, value })
}

/// What stands before the elements of a collection.
#[derive(Clone, Copy, Debug)]
pub(in crate::encoding) struct ComplexHead {
    pub(in crate::encoding) column: ColumnId,
    pub(in crate::encoding) deletion: Option<Deletion>,
    /// How many elements follow: a path ([`read_path`]) and a cell with times of its own each.
    pub(in crate::encoding) count: usize,
}

impl ComplexHead {
    /// Reads it; collections come by ascending column, `last` being the one before.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are none.
    pub(in crate::encoding) fn read(
        reader: &mut ByteReader<'_>,
        stamp: Stamp,
        last: Option<ColumnId>,
    ) -> Result<Self> {
        let column = u32::try_from(reader.varint()?);
        let column = ColumnId(column.map_err(|_| reader.error("column number is too large"))?);
        if last.is_some_and(|last| last >= column) {
            return Err(reader.error("collections are out of order"));
        }
        let deletion = match reader.u8()? {
            0 => None,
            1 => Some(read_deletion(reader, stamp)?),
            _ => return Err(reader.error("unknown flags of a collection")),
        };
        Ok(Self { column, deletion, count: reader.count(3, "elements")? })
    }
}

/// The path of an element; they ascend, `last` being the order bytes of the one before.
///
/// # Errors
/// `Corrupt` for bytes that are none.
pub(in crate::encoding) fn read_path<'a>(
    reader: &mut ByteReader<'a>,
    last: &mut Option<&'a [u8]>,
) -> Result<Place<'a>> {
    let with_raw = match reader.u8()? {
        0 => false,
        1 => true,
        _ => return Err(reader.error("unknown flags of an element")),
    };
    let place = Place::read(reader, with_raw)?;
    if last.is_some_and(|last| last >= place.order) {
        return Err(Error::malformed("elements of a collection are out of order"));
    }
    *last = Some(place.order);
    Ok(place)
}

/// An encoded row with its head parsed, ready to be placed by its clustering.
#[derive(Clone, Copy, Debug)]
pub struct EncodedRow<'a> {
    /// Byte-comparable clustering.
    pub clustering: &'a [u8],
    /// The whole encoded row: what a memtable keeps.
    pub bytes: &'a [u8],
}

impl<'a> EncodedRow<'a> {
    /// Reads the clustering of a row that takes up all of `bytes`.
    ///
    /// # Errors
    /// `Corrupt` if there is none; the rest is checked by [`EncodedRow::decode`].
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        // The usual clustering is shorter than 128 bytes.
        if let [flags, len @ 0..=127, rest @ ..] = bytes
            && flags & !KNOWN == 0
            && let Some(clustering) = rest.get(..usize::from(*len))
        {
            return Ok(Self { clustering, bytes });
        }
        let mut reader = ByteReader::new(bytes);
        if reader.u8()? & !KNOWN != 0 {
            return Err(reader.error("unknown flags of a row"));
        }
        let clustering = reader.bytes()?;
        Ok(Self { clustering, bytes })
    }

    /// Decodes the row written with `stamp`.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not an encoded row.
    pub fn decode(&self, stamp: Stamp) -> Result<Row> {
        let mut row = Row::default();
        self.decode_into(stamp, &mut row)?;
        Ok(row)
    }

    /// Like [`EncodedRow::decode`], into a row whose allocations are reused.
    ///
    /// # Errors
    /// As [`EncodedRow::decode`]; `row` is then left in any state.
    pub fn decode_into(&self, stamp: Stamp, row: &mut Row) -> Result<()> {
        let mut reader = ByteReader::new(self.bytes);
        let reader = &mut reader;
        row.cells.clear();
        row.complex.clear();
        let head = Head::read(reader, stamp)?;
        row.clustering = head.place.build();
        row.liveness = (head.flags & MARKER != 0).then_some(head.life);
        row.deletion = head.deletion;
        let timestamp = head.life.timestamp;
        for _ in 0..head.collections(reader)? {
            let last = row.complex.last().map(|complex| complex.column);
            row.complex.push(read_complex(reader, timestamp, stamp, last)?);
        }
        let mut next = 0;
        while !reader.is_empty() {
            let (column, form) = read_column(reader, &mut next)?;
            let cell = match form {
                TOMBSTONE => Cell::tombstone(timestamp, stamp.now),
                OWN => read_own(reader, timestamp, stamp)?,
                form => Cell::live(head.life, read_value(reader, form)?),
            };
            row.cells.push((column, cell));
        }
        Ok(())
    }
}

fn read_complex(
    reader: &mut ByteReader<'_>,
    life: i64,
    stamp: Stamp,
    last: Option<ColumnId>,
) -> Result<Complex> {
    let ComplexHead { column, deletion, count } = ComplexHead::read(reader, stamp, last)?;
    let mut cells = Vec::with_capacity(count);
    let mut last = None;
    for _ in 0..count {
        let path = read_path(reader, &mut last)?;
        cells.push((path.build(), read_own(reader, life, stamp)?));
    }
    Ok(Complex { column, deletion, cells })
}
