//! A batch of writes as bytes: what a writer builds, the commit log stores as one record, and the memtables apply.
//!
//! A batch is a [`Stamp`] and a list of operations, each on one partition of one table.
//! [`BatchEncoder`](crate::encoding::mutation_encoder::BatchEncoder) writes one, [`BatchReader`] reads one back from the log. An operation on the same table or
//! partition as the one before does not repeat it, and of another key of that table only what differs is stored (`shared_key`).
//!
//! # Format
//! See "Row" and "Batch" in FORMAT.md beside this file.

use crate::encoding::bytes::ByteReader;
use crate::encoding::row::{EncodedRow, Stamp, read_deletion};
use crate::encoding::shared_key::read_key;
use crate::error::{Error, Result};
use crate::model::clustering::Bound;
use crate::model::fragment::RangeTombstone;
use crate::model::life::Deletion;
use crate::model::schema::TableId;
use std::borrow::Cow;

pub(super) const VERSION: u8 = 1;
/// Version, timestamp (i64 LE), second (u32 LE).
pub(super) const HEADER: usize = 13;

pub(super) const ROW: u8 = 0;
pub(super) const STATIC: u8 = 1;
pub(super) const PARTITION: u8 = 2;
pub(super) const RANGE: u8 = 3;
pub(super) const SAME_TABLE: u8 = 4;
pub(super) const SAME_KEY: u8 = 8;
/// Of the head's bits, the lowest of those that say how many bytes at its end a key takes from the one before.
pub(super) const KEY_END: u32 = 4;

/// What an operation does to its partition.
#[derive(Clone, Debug)]
pub enum OpBody<'a> {
    /// Deletes the whole partition.
    Partition(Deletion),
    /// Writes into the static row.
    Static(EncodedRow<'a>),
    /// Writes into a row.
    Row(EncodedRow<'a>),
    /// Deletes a range of rows.
    Range(RangeTombstone),
}

/// One operation of a batch.
#[derive(Clone, Debug)]
pub struct Op<'a> {
    /// Table it goes to.
    pub table: TableId,
    /// Serialised partition key.
    pub key: Cow<'a, [u8]>,
    /// It is on the partition of the operation before, which it follows at once in the batch.
    pub same_partition: bool,
    /// What it does.
    pub body: OpBody<'a>,
}

/// Reads the body of an operation: a row without its length, or what follows the key.
///
/// # Errors
/// `Corrupt` if it is none.
pub(super) fn read_body(kind: u8, body: &[u8], stamp: Stamp) -> Result<OpBody<'_>> {
    match kind {
        ROW | STATIC => read_row(kind, body),
        kind => read_deletions(kind, &mut ByteReader::new(body), stamp),
    }
}

#[inline]
fn read_row(kind: u8, bytes: &[u8]) -> Result<OpBody<'_>> {
    let row = EncodedRow::parse(bytes)?;
    Ok(if kind == STATIC { OpBody::Static(row) } else { OpBody::Row(row) })
}

fn read_deletions<'a>(kind: u8, reader: &mut ByteReader<'a>, stamp: Stamp) -> Result<OpBody<'a>> {
    match kind {
        PARTITION => Ok(OpBody::Partition(read_deletion(reader, stamp)?)),
        RANGE => {
            let (start, end) = (reader.bytes()?, reader.bytes()?);
            let (start, end) = Bound::from_bytes(start)
                .zip(Bound::from_bytes(end))
                .filter(|(start, end)| start < end)
                .ok_or_else(|| reader.error("a range's bounds are wrong"))?;
            Ok(OpBody::Range(RangeTombstone { start, end, deletion: read_deletion(reader, stamp)? }))
        }
        kind => Err(reader.error(&format!("unknown kind {kind} of an operation"))),
    }
}

/// What an operation's head says of its table and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// A table's number and a whole key follow.
    Elsewhere,
    /// The table of the operation before, and what differs in the key; so many bytes at its end do not.
    SameTable { end: u8 },
    /// Table and key of the operation before.
    SamePartition,
}

impl Where {
    /// Takes a head apart: where the operation goes, and its kind. `None` for a head that is none.
    #[inline]
    pub(super) fn read(head: u8) -> Option<(Self, u8)> {
        let (kind, end) = (head & (SAME_TABLE - 1), head >> KEY_END);
        let place = match head & (SAME_TABLE | SAME_KEY) {
            SAME_TABLE => Self::SameTable { end },
            0 if end == 0 => Self::Elsewhere,
            place if place == SAME_TABLE | SAME_KEY && end == 0 => Self::SamePartition,
            _ => return None,
        };
        Some((place, kind))
    }
}

/// Reads the operations of a batch. After an error it yields nothing more.
#[derive(Clone, Debug)]
pub struct BatchReader<'a> {
    reader: ByteReader<'a>,
    stamp: Stamp,
    /// Of the last operation, `None` before the first.
    table: Option<TableId>,
    /// Of the last operation: bytes of the batch where they stand whole in it, else put together.
    key: Cow<'a, [u8]>,
    /// Operations on the last one's partition are wanted.
    wanted: bool,
}

/// An operation but for its key, which is the reader's.
struct Found<'a> {
    table: TableId,
    same_partition: bool,
    body: OpBody<'a>,
}

impl<'a> BatchReader<'a> {
    /// Begins to read a batch.
    ///
    /// # Errors
    /// `Unsupported` for a newer version, `Corrupt` if it is too short.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            let text = format!("a batch has version {version}; this build reads version {VERSION}");
            return Err(Error::new(crate::error::ErrorKind::Unsupported, text));
        }
        let stamp = Stamp { timestamp: reader.i64()?, now: i64::from(reader.u32()?) };
        Ok(Self { reader, stamp, table: None, key: Cow::Borrowed(&[]), wanted: false })
    }

    /// The times that operations without times of their own have.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The next operation on a partition (a table and a key in it) that `wanted` says yes to: it is asked once for operations that
    /// follow each other on one. Rows that are not wanted are passed over unread.
    #[inline]
    pub fn next_wanted(&mut self, wanted: impl FnMut(TableId, &[u8]) -> bool) -> Option<Result<Op<'_>>> {
        let found = self.find(wanted)?;
        Some(found.map(|Found { table, same_partition, body }| {
            let key = Cow::Borrowed(&self.key[..]);
            Op { table, key, same_partition, body }
        }))
    }

    #[inline]
    fn find(&mut self, mut wanted: impl FnMut(TableId, &[u8]) -> bool) -> Option<Result<Found<'a>>> {
        while !self.reader.is_empty() {
            match self.read(&mut wanted) {
                Ok(None) => {}
                Ok(Some(found)) => return Some(Ok(found)),
                Err(error) => {
                    self.reader = ByteReader::new(&[]);
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Reads one operation, `None` if it is not wanted.
    #[inline]
    fn read(&mut self, wanted: &mut impl FnMut(TableId, &[u8]) -> bool) -> Result<Option<Found<'a>>> {
        let head = self.reader.u8()?;
        let Some((place, kind)) = Where::read(head) else {
            return Err(self.reader.error(&format!("unknown head {head:#04x} of an operation")));
        };
        if place == Where::Elsewhere {
            let table = u32::try_from(self.reader.varint()?);
            self.table = Some(TableId(table.map_err(|_| self.reader.error("table number is too large"))?));
        }
        let table = self.table.ok_or_else(|| self.reader.error("the first operation names no table"))?;
        match place {
            Where::Elsewhere => self.key = Cow::Borrowed(self.reader.bytes()?),
            Where::SameTable { end } => {
                read_key(&mut self.reader, &mut self.key, end)?;
            }
            Where::SamePartition => {}
        }
        let same_partition = place == Where::SamePartition;
        if !same_partition {
            self.wanted = wanted(table, &self.key);
        }
        let body = match kind {
            ROW | STATIC => {
                let row = self.reader.bytes()?;
                if !self.wanted {
                    return Ok(None);
                }
                read_row(kind, row)?
            }
            kind => read_deletions(kind, &mut self.reader, self.stamp)?,
        };
        Ok(self.wanted.then_some(Found { table, same_partition, body }))
    }
}

/// All operations, each with a key of its own.
impl<'a> Iterator for BatchReader<'a> {
    type Item = Result<Op<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.find(|_, _| true)?;
        Some(found.map(|Found { table, same_partition, body }| {
            let key = self.key.clone();
            Op { table, key, same_partition, body }
        }))
    }
}
