//! Plain rows: those that a flush takes from the memtable's bytes into a block without building them.
//!
//! A row is plain if it was inserted whole at one time: it has its marker, no deletion, no collection, no clustering kept
//! as written besides its order, and all that is in it has one write time. That is nearly every row of nearly every
//! table; building cells of the others costs more than their encoding. Memtables find out when a row comes in
//! ([`is_plain`]), flushes hand it on as [`PlainRow`], and the block builder walks its cells with [`PlainCells`].
//!
//! # Invariants
//! 1. The cells of a [`PlainRow`] are those of [`EncodedRow::decode`], in the same order.
//!
//! Several rows at once are walked by [`PlainRun`](crate::encoding::plain_run::PlainRun).

use crate::encoding::bytes::ByteReader;
use crate::encoding::row::read::{Head, read_column, read_own};
use crate::encoding::row::value::{BYTES, DECIMAL, INT4, INT8, RAW4, RAW8, decimal_bits, read_int4};
use crate::encoding::row::{COMPLEX, DELETION, EncodedRow, MARKER, OWN, RAW, Stamp, TOMBSTONE};
use crate::encoding::row_times::RowTimes;
use crate::encoding::varint::unzigzag;
use crate::error::Result;
use crate::model::cell::{Cell, ColumnId};
use crate::model::life::Liveness;
use crate::model::row::Row;

/// Whether a row is plain; `times` are its own.
#[inline]
pub fn is_plain(row: &EncodedRow<'_>, times: &RowTimes) -> bool {
    let flags = row.bytes.first().copied().unwrap_or(0);
    flags & (MARKER | RAW | DELETION | COMPLEX) == MARKER && times.min_timestamp == times.max_timestamp
}

/// A plain row with its head read.
#[derive(Clone, Debug)]
pub struct PlainRow<'a> {
    /// Its byte-comparable clustering.
    pub clustering: &'a [u8],
    /// The life of its marker and of cells without one of their own.
    pub life: Liveness,
    stamp: Stamp,
    cells: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> PlainRow<'a> {
    /// Reads the head of a row that [`is_plain`], written with `stamp`.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are no such row.
    #[inline(always)] // once a row, and returned through memory it is copied twice
    pub fn parse(bytes: &'a [u8], stamp: Stamp) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let head = Head::read(&mut reader, stamp)?;
        if head.flags & (MARKER | RAW | DELETION | COMPLEX) != MARKER {
            return Err(reader.error("a row is not a plain one"));
        }
        Ok(Self { clustering: head.place.order, life: head.life, stamp, cells: reader.rest(), bytes })
    }

    /// Its cells by ascending column.
    #[inline]
    pub fn cells(&self) -> PlainCells<'a> {
        self.cells_from(self.cells, 0)
    }

    /// Whether its clustering is before that of another row.
    #[inline]
    pub fn is_before(&self, other: &Self) -> bool {
        let (own, others) = (self.clustering, other.clustering);
        // The usual clustering is a number behind a byte, and comparing it needs no call.
        match (own.first_chunk::<8>(), others.first_chunk::<8>()) {
            (Some(a), Some(b)) if a != b => u64::from_be_bytes(*a) < u64::from_be_bytes(*b),
            _ => own < others,
        }
    }

    /// How many bytes it takes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        self.bytes.len()
    }

    /// The cells as they are encoded.
    #[inline]
    pub(super) fn encoded_cells(&self) -> &'a [u8] {
        self.cells
    }

    /// Its cells from `rest` on, behind column `next`.
    #[inline]
    pub(super) fn cells_from(&self, rest: &'a [u8], next: u32) -> PlainCells<'a> {
        let reader = ByteReader::new(rest);
        PlainCells { reader, next, timestamp: self.life.timestamp, stamp: self.stamp }
    }

    /// The row itself.
    ///
    /// # Errors
    /// As [`EncodedRow::decode`].
    pub fn decode(&self) -> Result<Row> {
        EncodedRow { clustering: self.clustering, bytes: self.bytes }.decode(self.stamp)
    }
}

/// A cell as it is encoded.
#[derive(Clone, Debug, PartialEq)]
pub enum PlainCell<'a> {
    /// A live value of eight bytes with the row's life: the number that its wire bytes are, big-endian.
    Eight(u64),
    /// The same of four bytes.
    Four(u32),
    /// A live value of any other length.
    Bytes(&'a [u8]),
    /// A tombstone, or a value with a TTL of its own.
    Other(Cell),
}

/// Walks over the cells of a row.
#[derive(Clone, Debug)]
pub struct PlainCells<'a> {
    reader: ByteReader<'a>,
    next: u32,
    timestamp: i64,
    stamp: Stamp,
}

impl<'a> PlainCells<'a> {
    /// The next cell, `None` after the last.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not an encoded row; then nothing more can be read.
    #[inline(always)] // returned through memory, a cell costs more than its decoding
    pub fn next_cell(&mut self) -> Result<Option<(ColumnId, PlainCell<'a>)>> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let reader = &mut self.reader;
        let (column, form) = read_column(reader, &mut self.next)?;
        let cell = match form {
            INT8 => PlainCell::Eight(unzigzag(reader.varint()?).cast_unsigned()),
            DECIMAL => PlainCell::Eight(decimal_bits(reader)?),
            RAW8 => PlainCell::Eight(u64::from_be_bytes(reader.array()?)),
            INT4 => PlainCell::Four(read_int4(reader)?.cast_unsigned()),
            RAW4 => PlainCell::Four(u32::from_be_bytes(reader.array()?)),
            BYTES => PlainCell::Bytes(reader.bytes()?),
            TOMBSTONE => PlainCell::Other(Cell::tombstone(self.timestamp, self.stamp.now)),
            OWN => PlainCell::Other(read_own(reader, self.timestamp, self.stamp)?),
            _ => return Err(reader.error("unknown form of a value")),
        };
        Ok(Some((column, cell)))
    }
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
