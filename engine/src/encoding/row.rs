//! One row as bytes: the same encoding serves the write batch, the commit log and the memtable.
//!
//! A row is encoded once, when it enters a batch; the log writes those bytes and the memtable keeps a copy of them.
//! So the encoding is small (numbers as varints, doubles as decimals where that is exact) and cheap on both sides.
//! The bytes do not depend on types: a value is wire bytes, and its form is chosen by its length and content.
//!
//! # Format
//! See "Row" in FORMAT.md beside this file.
//!
//! # Stamps
//! Most rows are written "now": such times are left out and come from the batch's [`Stamp`], which is only known when
//! the batch commits. Times that the client gives are stored in full.

use crate::encoding::bytes::ByteReader;
use crate::encoding::varint::{put_signed, put_varint, unzigzag, zigzag};
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::row::{Complex, Row};
use std::sync::Arc;

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

pub(super) const MARKER: u8 = 1;
pub(super) const LIFE: u8 = 2;
pub(super) const TTL: u8 = 4;
pub(super) const EXPIRY: u8 = 8;
pub(super) const DELETION: u8 = 16;
pub(super) const RAW: u8 = 32;
pub(super) const COMPLEX: u8 = 64;
pub(super) const KNOWN: u8 = 127;

/// Flags of a deletion one microsecond below the stamp.
const BELOW: u8 = 4;

pub(super) const OWN_TOMBSTONE: u8 = 1;
pub(super) const OWN_TIMESTAMP: u8 = 2;
pub(super) const OWN_TTL: u8 = 4;
pub(super) const OWN_LOCAL: u8 = 8;

/// Forms of a value, the low 3 bits of a cell's head.
pub(super) const BYTES: u8 = 0;
pub(super) const INT4: u8 = 1;
pub(super) const INT8: u8 = 2;
pub(super) const DECIMAL: u8 = 3;
pub(super) const RAW8: u8 = 4;
pub(super) const RAW4: u8 = 5;
pub(super) const TOMBSTONE: u8 = 6;
pub(super) const OWN: u8 = 7;

/// The high 5 bits of a cell's head when the column's number follows as a varint.
pub(super) const FAR: u32 = 31;

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

/// Writes a row into a buffer, cell by cell in ascending order of column ids.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    out: &'a mut Vec<u8>,
    next: u32,
}

impl<'a> RowEncoder<'a> {
    /// Begins a row without collections. `clustering` is byte-comparable.
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>, clustering: &Clustering, head: &RowHead, stamp: Stamp) -> Self {
        Self::begin_with(out, clustering, head, stamp, &[])
    }

    #[inline]
    fn begin_with(
        out: &'a mut Vec<u8>,
        clustering: &Clustering,
        head: &RowHead,
        stamp: Stamp,
        complex: &[Complex],
    ) -> Self {
        let mut flags = if head.marker { MARKER } else { 0 };
        flags |= if head.timestamp.is_some() { LIFE } else { 0 };
        flags |= if head.ttl != 0 { TTL } else { 0 };
        flags |= if head.ttl != 0 && head.expiry.is_some() { EXPIRY } else { 0 };
        flags |= if head.deletion.is_some() { DELETION } else { 0 };
        flags |= if clustering.raw().is_some() { RAW } else { 0 };
        flags |= if complex.is_empty() { 0 } else { COMPLEX };
        out.push(flags);
        put_varint(out, clustering.order().len() as u64);
        out.extend_from_slice(clustering.order());
        if let Some(raw) = clustering.raw() {
            put_varint(out, raw.len() as u64);
            out.extend_from_slice(raw);
        }
        if let Some(timestamp) = head.timestamp {
            out.extend_from_slice(&timestamp.to_le_bytes());
        }
        if head.ttl != 0 {
            put_varint(out, u64::from(head.ttl.unsigned_abs()));
            if let Some(expiry) = head.expiry {
                put_signed(out, expiry);
            }
        }
        if let Some(deletion) = head.deletion {
            put_deletion(out, deletion, stamp);
        }
        if !complex.is_empty() {
            let life = head.timestamp.unwrap_or(stamp.timestamp);
            put_varint(out, complex.len() as u64);
            complex.iter().for_each(|c| put_complex(out, c, life, stamp));
        }
        Self { out, next: 0 }
    }

    /// A live value (wire bytes) with the row's life.
    #[inline]
    pub fn value(&mut self, column: ColumnId, wire: &[u8]) {
        let head = self.out.len();
        self.head(column);
        let form = put_value(self.out, wire);
        self.out[head] |= form;
    }

    /// [`RowEncoder::value`] for wire bytes of this length.
    #[inline]
    pub fn eight(&mut self, column: ColumnId, wire: [u8; 8]) {
        let head = self.out.len();
        self.head(column);
        let form = put_eight(self.out, wire);
        self.out[head] |= form;
    }

    /// [`RowEncoder::value`] for wire bytes of this length.
    #[inline]
    pub fn four(&mut self, column: ColumnId, wire: [u8; 4]) {
        let head = self.out.len();
        self.head(column);
        let form = put_four(self.out, wire);
        self.out[head] |= form;
    }

    /// A tombstone with the row's write time, made in the stamp's second.
    pub fn tombstone(&mut self, column: ColumnId) {
        let head = self.out.len();
        self.head(column);
        self.out[head] |= TOMBSTONE;
    }

    /// Any cell; `life` is the row's.
    fn cell(&mut self, column: ColumnId, cell: &Cell, life: Liveness, stamp: Stamp) {
        match &cell.value {
            Some(wire) if cell.life() == life => self.value(column, wire),
            None if cell.timestamp == life.timestamp && cell.local == stamp.now => self.tombstone(column),
            _ => {
                let head = self.out.len();
                self.head(column);
                self.out[head] |= OWN;
                put_own(self.out, cell, life.timestamp, stamp);
            }
        }
    }

    #[inline]
    fn head(&mut self, column: ColumnId) {
        debug_assert!(column.0 >= self.next, "cells come in ascending order of columns");
        let gap = column.0.wrapping_sub(self.next);
        match gap < FAR {
            true => self.out.push((gap << 3) as u8),
            false => {
                self.out.push((FAR << 3) as u8);
                put_varint(self.out, u64::from(gap));
            }
        }
        self.next = column.0.wrapping_add(1);
    }
}

/// Encodes any row at the end of `out`. Times equal to the stamp's are left out.
pub fn encode_row(row: &Row, stamp: Stamp, out: &mut Vec<u8>) {
    // Without marker the first live cell's life stands for the row's, so that the usual UPDATE costs nothing either.
    let live = row.cells.iter().map(|(_, cell)| cell).find(|cell| !cell.is_tombstone()).map(Cell::life);
    let life = row.liveness.or(live).unwrap_or(Liveness::new(stamp.timestamp));
    let head = RowHead {
        marker: row.liveness.is_some(),
        timestamp: (life.timestamp != stamp.timestamp).then_some(life.timestamp),
        ttl: life.ttl,
        expiry: (life.expiry != stamp.now.saturating_add(i64::from(life.ttl))).then_some(life.expiry),
        deletion: row.deletion,
    };
    let mut encoder = RowEncoder::begin_with(out, &row.clustering, &head, stamp, &row.complex);
    for (column, cell) in &row.cells {
        encoder.cell(*column, cell, life, stamp);
    }
}

/// Writes a deletion; times equal to the stamp's are left out.
pub fn put_deletion(out: &mut Vec<u8>, deletion: Deletion, stamp: Stamp) {
    if stamp == Stamp::UNSET && deletion == Stamp::BELOW_UNSET {
        return out.push(BELOW);
    }
    let (timestamp, local) = (deletion.timestamp != stamp.timestamp, deletion.local != stamp.now);
    out.push(u8::from(timestamp) | u8::from(local) << 1);
    if timestamp {
        out.extend_from_slice(&deletion.timestamp.to_le_bytes());
    }
    if local {
        put_signed(out, deletion.local);
    }
}

/// Reads what [`put_deletion`] wrote.
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

fn put_complex(out: &mut Vec<u8>, complex: &Complex, life: i64, stamp: Stamp) {
    put_varint(out, u64::from(complex.column.0));
    out.push(u8::from(complex.deletion.is_some()));
    if let Some(deletion) = complex.deletion {
        put_deletion(out, deletion, stamp);
    }
    put_varint(out, complex.cells.len() as u64);
    for (path, cell) in &complex.cells {
        out.push(u8::from(path.raw().is_some()));
        put_varint(out, path.order().len() as u64);
        out.extend_from_slice(path.order());
        if let Some(raw) = path.raw() {
            put_varint(out, raw.len() as u64);
            out.extend_from_slice(raw);
        }
        put_own(out, cell, life, stamp);
    }
}

/// A cell with times of its own: those that differ from the row's write time and the stamp are written.
fn put_own(out: &mut Vec<u8>, cell: &Cell, life: i64, stamp: Stamp) {
    let timestamp = cell.timestamp != life;
    let implied = match cell.is_tombstone() {
        true => stamp.now,
        false if cell.ttl != 0 => stamp.now.saturating_add(i64::from(cell.ttl)),
        false => NEVER,
    };
    let local = cell.local != implied;
    let mut flags = if cell.is_tombstone() { OWN_TOMBSTONE } else { 0 };
    flags |= if timestamp { OWN_TIMESTAMP } else { 0 };
    flags |= if cell.ttl != 0 { OWN_TTL } else { 0 };
    flags |= if local { OWN_LOCAL } else { 0 };
    let place = out.len();
    out.push(flags);
    if timestamp {
        out.extend_from_slice(&cell.timestamp.to_le_bytes());
    }
    if cell.ttl != 0 {
        put_varint(out, u64::from(cell.ttl.unsigned_abs()));
    }
    if local {
        put_signed(out, cell.local);
    }
    if let Some(wire) = &cell.value {
        let form = put_value(out, wire);
        out[place] |= form << 4;
    }
}

/// Writes wire bytes in the shortest of the forms and returns the form.
#[inline]
fn put_value(out: &mut Vec<u8>, wire: &[u8]) -> u8 {
    if let Ok(bytes) = <[u8; 8]>::try_from(wire) {
        return put_eight(out, bytes);
    }
    if let Ok(bytes) = <[u8; 4]>::try_from(wire) {
        return put_four(out, bytes);
    }
    put_varint(out, wire.len() as u64);
    out.extend_from_slice(wire);
    BYTES
}

#[inline]
fn put_four(out: &mut Vec<u8>, bytes: [u8; 4]) -> u8 {
    let code = zigzag(i64::from(i32::from_be_bytes(bytes)));
    match code < 1 << 21 {
        true => {
            put_varint(out, code);
            INT4
        }
        false => {
            out.extend_from_slice(&bytes);
            RAW4
        }
    }
}

#[inline]
fn put_eight(out: &mut Vec<u8>, bytes: [u8; 8]) -> u8 {
    let code = zigzag(i64::from_be_bytes(bytes));
    if code < 1 << 49 {
        put_varint(out, code);
        return INT8;
    }
    match decimal_code(f64::from_be_bytes(bytes)) {
        Some(code) => {
            put_varint(out, code);
            DECIMAL
        }
        None => {
            out.extend_from_slice(&bytes);
            RAW8
        }
    }
}

/// 10^2, 10^4, 10^6: the decimals that are tried.
pub(super) const SCALES: [f64; 3] = [100.0, 10_000.0, 1_000_000.0];

/// `zigzag(d) << 2 | i` such that d / SCALES[i] is exactly `value`, if there is a short one.
#[inline]
fn decimal_code(value: f64) -> Option<u64> {
    /// Adding and subtracting it rounds to an integer (below 2^51), without a call of libm.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    SCALES.iter().zip(0u64..).find_map(|(scale, i)| {
        let scaled = value * scale;
        let rounded = (scaled + ROUND) - ROUND;
        let exact = scaled.abs() < 1e13 && (rounded / scale).to_bits() == value.to_bits();
        exact.then(|| zigzag(rounded as i64) << 2 | i)
    })
}

#[inline]
pub(super) fn read_value(reader: &mut ByteReader<'_>, form: u8) -> Result<Bytes> {
    Ok(match form {
        BYTES => Bytes::new(reader.bytes()?),
        INT4 => {
            let value = i32::try_from(unzigzag(reader.varint()?));
            let value = value.map_err(|_| reader.error("a 4-byte number is too large"))?;
            Bytes::new(&value.to_be_bytes())
        }
        INT8 => Bytes::new(&unzigzag(reader.varint()?).to_be_bytes()),
        DECIMAL => {
            let code = reader.varint()?;
            let scale = SCALES.get((code & 3) as usize);
            let scale = scale.ok_or_else(|| reader.error("unknown number of decimals"))?;
            Bytes::new(&(unzigzag(code >> 2) as f64 / scale).to_be_bytes())
        }
        RAW8 => Bytes::new(&reader.array::<8>()?),
        RAW4 => Bytes::new(&reader.array::<4>()?),
        _ => return Err(reader.error("unknown form of a value")),
    })
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
        let flags = reader.u8()?;
        let order = Bytes::new(reader.bytes()?);
        row.clustering = match flags & RAW {
            0 => Clustering::new(order),
            _ => Clustering::with_raw(order, Arc::from(reader.bytes()?)),
        };
        let timestamp = if flags & LIFE != 0 { reader.i64()? } else { stamp.timestamp };
        let ttl = if flags & TTL != 0 { read_ttl(reader)? } else { 0 };
        let expiry = match ttl {
            0 => NEVER,
            _ if flags & EXPIRY != 0 => reader.signed()?,
            _ => stamp.now.saturating_add(i64::from(ttl)),
        };
        let life = Liveness { timestamp, ttl, expiry };
        row.liveness = (flags & MARKER != 0).then_some(life);
        row.deletion = match flags & DELETION {
            0 => None,
            _ => Some(read_deletion(reader, stamp)?),
        };
        if flags & COMPLEX != 0 {
            for _ in 0..reader.count(3, "collections")? {
                let complex = read_complex(reader, timestamp, stamp)?;
                if row.complex.last().is_some_and(|last| last.column >= complex.column) {
                    return Err(Error::malformed("collections are out of order"));
                }
                row.complex.push(complex);
            }
        }
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
            let cell = match head & 7 {
                TOMBSTONE => Cell::tombstone(timestamp, stamp.now),
                OWN => read_own(reader, timestamp, stamp)?,
                form => Cell::live(life, read_value(reader, form)?),
            };
            row.cells.push((ColumnId(column), cell));
        }
        Ok(())
    }
}

pub(super) fn read_ttl(reader: &mut ByteReader<'_>) -> Result<i32> {
    match i32::try_from(reader.varint()?) {
        Ok(ttl) if ttl > 0 => Ok(ttl),
        _ => Err(reader.error("a TTL is out of range")),
    }
}

pub(super) fn read_own(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp) -> Result<Cell> {
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
    let value = if tombstone { None } else { Some(read_value(reader, flags >> 4)?) };
    Ok(Cell { timestamp, ttl, local, value })
}

fn read_complex(reader: &mut ByteReader<'_>, life: i64, stamp: Stamp) -> Result<Complex> {
    let column = u32::try_from(reader.varint()?);
    let column = ColumnId(column.map_err(|_| reader.error("column number is too large"))?);
    let deletion = match reader.u8()? {
        0 => None,
        1 => Some(read_deletion(reader, stamp)?),
        _ => return Err(reader.error("unknown flags of a collection")),
    };
    let count = reader.count(3, "elements")?;
    let mut cells: Vec<(Clustering, Cell)> = Vec::with_capacity(count);
    for _ in 0..count {
        let raw = reader.u8()?;
        let order = Bytes::new(reader.bytes()?);
        let path = match raw {
            0 => Clustering::new(order),
            1 => Clustering::with_raw(order, Arc::from(reader.bytes()?)),
            _ => return Err(reader.error("unknown flags of an element")),
        };
        if cells.last().is_some_and(|(last, _)| *last >= path) {
            return Err(Error::malformed("elements of a collection are out of order"));
        }
        cells.push((path, read_own(reader, life, stamp)?));
    }
    Ok(Complex { column, deletion, cells })
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
