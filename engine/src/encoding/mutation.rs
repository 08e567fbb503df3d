//! A batch of writes as bytes: what a writer builds, the commit log stores as one record, and the memtables apply.
//!
//! A batch is a [`Stamp`] and a list of operations, each on one partition of one table.
//! [`BatchEncoder`](crate::encoding::mutation_encoder::BatchEncoder) writes one, [`BatchReader`] reads one back from the log. An operation on the same table or
//! partition as the one before does not repeat it.
//!
//! # Format
//! See "Row" and "Batch" in FORMAT.md beside this file.

use crate::encoding::bytes::ByteReader;
use crate::encoding::row::{EncodedRow, Stamp, read_deletion};
use crate::error::{Error, Result};
use crate::model::clustering::Bound;
use crate::model::fragment::RangeTombstone;
use crate::model::life::Deletion;
use crate::model::schema::TableId;

pub(super) const VERSION: u8 = 1;
/// Version, timestamp (i64 LE), second (u32 LE).
pub(super) const HEADER: usize = 13;

pub(super) const ROW: u8 = 0;
pub(super) const STATIC: u8 = 1;
pub(super) const PARTITION: u8 = 2;
pub(super) const RANGE: u8 = 3;
pub(super) const SAME_TABLE: u8 = 4;
pub(super) const SAME_KEY: u8 = 8;

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
    pub key: &'a [u8],
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

/// Reads the operations of a batch. After an error it yields nothing more.
#[derive(Clone, Debug)]
pub struct BatchReader<'a> {
    reader: ByteReader<'a>,
    stamp: Stamp,
    table: Option<TableId>,
    key: &'a [u8],
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
        Ok(Self { reader, stamp, table: None, key: &[] })
    }

    /// The times that operations without times of their own have.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The next operation of a table and on a key that `wanted` says yes to. Rows before it are passed over unread.
    #[inline]
    pub fn next_wanted(
        &mut self,
        mut wanted: impl FnMut(TableId, &'a [u8]) -> bool,
    ) -> Option<Result<Op<'a>>> {
        while !self.reader.is_empty() {
            match self.read(&mut wanted) {
                Ok(None) => {}
                Ok(Some(op)) => return Some(Ok(op)),
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
    fn read(&mut self, wanted: &mut impl FnMut(TableId, &'a [u8]) -> bool) -> Result<Option<Op<'a>>> {
        let head = self.reader.u8()?;
        if head & SAME_TABLE == 0 {
            let table = u32::try_from(self.reader.varint()?);
            self.table = Some(TableId(table.map_err(|_| self.reader.error("table number is too large"))?));
        }
        let table = self.table.ok_or_else(|| self.reader.error("the first operation names no table"))?;
        if head & SAME_KEY == 0 {
            self.key = self.reader.bytes()?;
        }
        let wanted = wanted(table, self.key);
        let kind = head & !(SAME_TABLE | SAME_KEY);
        let body = match kind {
            ROW | STATIC => {
                let row = self.reader.bytes()?;
                if !wanted {
                    return Ok(None);
                }
                read_row(kind, row)?
            }
            kind => read_deletions(kind, &mut self.reader, self.stamp)?,
        };
        Ok(wanted.then_some(Op { table, key: self.key, body }))
    }
}

impl<'a> Iterator for BatchReader<'a> {
    type Item = Result<Op<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_wanted(|_, _| true)
    }
}
