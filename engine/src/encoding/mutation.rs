//! A batch of writes as bytes: what a writer builds, the commit log stores as one record, and the memtables apply.
//!
//! A batch is a [`Stamp`] and a list of operations, each on one partition of one table. [`BatchEncoder`] writes one,
//! [`BatchReader`] reads one back, from the writer's memory or from the log. An operation on the same table or
//! partition as the one before does not repeat it.
//!
//! # Format
//! See "Row" and "Batch" in FORMAT.md beside this file.

use crate::encoding::bytes::{ByteReader, put_bytes};
use crate::encoding::row::{EncodedRow, RowEncoder, RowHead, Stamp, encode_row, put_deletion, read_deletion};
use crate::encoding::varint::put_varint;
use crate::error::{Error, Result};
use crate::model::clustering::{Bound, Clustering};
use crate::model::fragment::RangeTombstone;
use crate::model::life::Deletion;
use crate::model::row::Row;
use crate::model::schema::TableId;

pub(super) const VERSION: u8 = 1;
/// Version, timestamp (i64 LE), second (u32 LE).
const HEADER: usize = 13;

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

/// A state of a [`BatchEncoder`] to go back to.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    len: usize,
    table: Option<TableId>,
    tables: usize,
    key: std::ops::Range<usize>,
    ops: usize,
}

/// Builds the bytes of a batch.
#[derive(Clone, Debug)]
pub struct BatchEncoder {
    bytes: Vec<u8>,
    stamp: Stamp,
    table: Option<TableId>,
    tables: Vec<TableId>,
    /// Where the last operation's key stands.
    key: std::ops::Range<usize>,
    ops: usize,
}

impl Default for BatchEncoder {
    fn default() -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[0] = VERSION;
        let mut batch =
            Self { bytes, stamp: Stamp::UNSET, table: None, tables: Vec::new(), key: 0..0, ops: 0 };
        batch.set_stamp(Stamp::UNSET);
        batch
    }
}

impl BatchEncoder {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.ops
    }

    /// No operation yet.
    pub fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all operations and keeps the buffer.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER);
        self.tables.clear();
        (self.table, self.key, self.ops) = (None, 0..0, 0);
        self.set_stamp(Stamp::UNSET);
    }

    /// The state now, for [`BatchEncoder::rollback`].
    pub fn checkpoint(&self) -> Checkpoint {
        let (len, tables) = (self.bytes.len(), self.tables.len());
        Checkpoint { len, table: self.table, tables, key: self.key.clone(), ops: self.ops }
    }

    /// Takes back what was added since `checkpoint`, so that a statement is in the batch whole or not at all.
    pub fn rollback(&mut self, checkpoint: Checkpoint) {
        self.bytes.truncate(checkpoint.len);
        self.tables.truncate(checkpoint.tables);
        (self.table, self.key, self.ops) = (checkpoint.table, checkpoint.key, checkpoint.ops);
    }

    /// The tables it touches, each once.
    pub fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// The stamp so far; [`Stamp::UNSET`] until [`BatchEncoder::set_stamp`].
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Sets the times that operations without times of their own have. Called when the batch commits, or before the
    /// first operation by a client that gives a timestamp for the whole batch.
    pub fn set_stamp(&mut self, stamp: Stamp) {
        self.stamp = stamp;
        let second = u32::try_from(stamp.now.max(0)).unwrap_or(u32::MAX);
        self.bytes[1..9].copy_from_slice(&stamp.timestamp.to_le_bytes());
        self.bytes[9..HEADER].copy_from_slice(&second.to_le_bytes());
    }

    /// The bytes: one commit-log record's payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn begin(&mut self, table: TableId, key: &[u8], kind: u8) {
        let same_table = self.table == Some(table);
        let same_key = same_table && self.bytes[self.key.clone()] == *key;
        let mut head = kind;
        head |= if same_table { SAME_TABLE } else { 0 };
        head |= if same_key { SAME_KEY } else { 0 };
        self.bytes.push(head);
        if !same_table {
            put_varint(&mut self.bytes, u64::from(table.0));
            self.table = Some(table);
            if !self.tables.contains(&table) {
                self.tables.push(table);
            }
        }
        if !same_key {
            put_bytes(&mut self.bytes, key);
            self.key = self.bytes.len() - key.len()..self.bytes.len();
        }
        self.ops += 1;
    }

    /// Adds a row (or, with `is_static`, a static row) written cell by cell by `cells`. If that fails, nothing is added.
    #[inline]
    pub fn row_with(
        &mut self,
        table: TableId,
        key: &[u8],
        is_static: bool,
        clustering: &Clustering,
        head: &RowHead,
        cells: impl FnOnce(&mut RowEncoder<'_>) -> Result<()>,
    ) -> Result<()> {
        let before = self.checkpoint();
        let at = self.begin_row(table, key, is_static);
        let written = cells(&mut RowEncoder::begin(&mut self.bytes, clustering, head, self.stamp));
        match written {
            Ok(()) => self.end_row(at),
            Err(_) => self.rollback(before),
        }
        written
    }

    /// Adds any row.
    pub fn row(&mut self, table: TableId, key: &[u8], is_static: bool, row: &Row) {
        let at = self.begin_row(table, key, is_static);
        encode_row(row, self.stamp, &mut self.bytes);
        self.end_row(at);
    }

    /// Begins a row in place, behind one byte for its length, whose place is returned.
    #[inline]
    fn begin_row(&mut self, table: TableId, key: &[u8], is_static: bool) -> usize {
        self.begin(table, key, if is_static { STATIC } else { ROW });
        self.bytes.push(0);
        self.bytes.len() - 1
    }

    /// Writes the length of the row that was begun.
    #[inline]
    fn end_row(&mut self, at: usize) {
        let length = self.bytes.len() - at - 1;
        if length < 0x80 {
            self.bytes[at] = length as u8;
        } else {
            let mut varint = Vec::new();
            put_varint(&mut varint, length as u64);
            self.bytes.splice(at..=at, varint);
        }
    }

    /// Adds the deletion of a partition; `None` takes the batch's times.
    pub fn delete_partition(&mut self, table: TableId, key: &[u8], deletion: Option<Deletion>) {
        self.begin(table, key, PARTITION);
        let deletion = deletion.unwrap_or(self.stamp.deletion());
        put_deletion(&mut self.bytes, deletion, self.stamp);
    }

    /// Adds the deletion of a range of rows; `None` takes the batch's times. An empty range adds nothing.
    pub fn delete_range(
        &mut self,
        table: TableId,
        key: &[u8],
        start: &Bound,
        end: &Bound,
        deletion: Option<Deletion>,
    ) {
        if start >= end {
            return;
        }
        self.begin(table, key, RANGE);
        put_bytes(&mut self.bytes, start.as_bytes());
        put_bytes(&mut self.bytes, end.as_bytes());
        let deletion = deletion.unwrap_or(self.stamp.deletion());
        put_deletion(&mut self.bytes, deletion, self.stamp);
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
        let body = match head & !(SAME_TABLE | SAME_KEY) {
            kind @ (ROW | STATIC) => {
                let row = self.reader.bytes()?;
                if !wanted {
                    return Ok(None);
                }
                let row = EncodedRow::parse(row)?;
                if kind == ROW { OpBody::Row(row) } else { OpBody::Static(row) }
            }
            PARTITION => OpBody::Partition(read_deletion(&mut self.reader, self.stamp)?),
            RANGE => {
                let (start, end) = (self.reader.bytes()?, self.reader.bytes()?);
                let (start, end) = Bound::from_bytes(start)
                    .zip(Bound::from_bytes(end))
                    .filter(|(start, end)| start < end)
                    .ok_or_else(|| self.reader.error("a range's bounds are wrong"))?;
                OpBody::Range(RangeTombstone {
                    start,
                    end,
                    deletion: read_deletion(&mut self.reader, self.stamp)?,
                })
            }
            kind => return Err(self.reader.error(&format!("unknown kind {kind} of an operation"))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bytes::Bytes;
    use crate::model::cell::ColumnId;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { timestamp: 7_000_000, now: 7 };

    fn example() -> BatchEncoder {
        let mut batch = BatchEncoder::default();
        let place = Clustering::new(Bytes::new(&[5]));
        let head = RowHead { marker: true, ..RowHead::default() };
        for (table, key) in [(1, b"a"), (1, b"a"), (1, b"b"), (2, b"b")] {
            let row = |row: &mut RowEncoder<'_>| {
                row.value(ColumnId(0), &[9]);
                Ok(())
            };
            batch.row_with(TableId(table), key, false, &place, &head, row).unwrap();
        }
        batch.delete_partition(TableId(2), b"c", None);
        batch.delete_partition(TableId(2), b"c", Some(Deletion::new(-3, 1)));
        batch.delete_range(TableId(2), b"c", &Bound::bottom(), &Bound::top(), None);
        batch.delete_range(TableId(2), b"c", &Bound::top(), &Bound::bottom(), None);
        batch.row(TableId(2), b"c", true, &Row::new(Clustering::EMPTY));
        batch
    }

    #[test]
    fn operations_come_back_with_their_table_key_and_times() {
        let mut batch = example();
        batch.set_stamp(STAMP);
        let ops: Vec<_> = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap).collect();
        let places: Vec<_> = ops.iter().map(|op| (op.table.0, op.key)).collect();
        let (a, b, c) = (&b"a"[..], &b"b"[..], &b"c"[..]);
        assert_eq!(places, [(1, a), (1, a), (1, b), (2, b), (2, c), (2, c), (2, c), (2, c)]);
        assert!(matches!(&ops[0].body, OpBody::Row(row)
            if row.decode(STAMP).unwrap().liveness.unwrap().timestamp == STAMP.timestamp));
        assert!(
            matches!(ops[4].body, OpBody::Partition(d) if d == Deletion::new(STAMP.timestamp, STAMP.now))
        );
        assert!(matches!(ops[5].body, OpBody::Partition(d) if d == Deletion::new(-3, 1)));
        assert!(matches!(&ops[6].body, OpBody::Range(r) if r.deletion.timestamp == STAMP.timestamp));
        assert!(matches!(ops[7].body, OpBody::Static(_)));
        assert_eq!((batch.len(), ops.len()), (8, 8), "an empty range adds nothing");
        assert_eq!(batch.tables(), [TableId(1), TableId(2)]);
    }

    #[test]
    fn what_is_not_wanted_is_passed_over() {
        let batch = example();
        let all: Vec<_> = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap).collect();
        for (table, key) in [(1, b"a"), (1, b"b"), (2, b"b"), (2, b"c"), (3, b"a")] {
            let mut reader = BatchReader::new(batch.bytes()).unwrap();
            let mut found = Vec::new();
            while let Some(op) = reader.next_wanted(|of, on| of == TableId(table) && on == key) {
                found.push(format!("{:?}", op.unwrap()));
            }
            let wanted = all.iter().filter(|op| op.table == TableId(table) && op.key == key);
            assert_eq!(found, wanted.map(|op| format!("{op:?}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_cleared_batch_begins_anew() {
        let mut batch = example();
        batch.clear();
        assert_eq!(batch.bytes(), BatchEncoder::default().bytes());
    }

    #[test]
    fn rows_of_all_lengths_come_back_and_one_that_fails_leaves_no_trace() {
        let (mut batch, head) = (BatchEncoder::default(), RowHead { marker: true, ..RowHead::default() });
        let place = Clustering::new(Bytes::new(&[5]));
        let lengths = [0, 100, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 20_000];
        for length in lengths {
            let row = |row: &mut RowEncoder<'_>| {
                row.value(ColumnId(0), &vec![7; length]);
                Ok(())
            };
            batch.row_with(TableId(1), b"a", false, &place, &head, row).unwrap();
            let before = batch.bytes().to_vec();
            let fails = |row: &mut RowEncoder<'_>| {
                row.value(ColumnId(0), &[1; 200]);
                Err(Error::invalid("no"))
            };
            batch.row_with(TableId(2), b"b", false, &place, &head, fails).unwrap_err();
            assert_eq!((batch.bytes(), batch.tables()), (&before[..], &[TableId(1)][..]));
        }
        let ops = BatchReader::new(batch.bytes()).unwrap().map(Result::unwrap);
        let found = ops.map(|op| match op.body {
            OpBody::Row(row) => row.decode(STAMP).unwrap().cells[0].1.value.as_ref().unwrap().len(),
            _ => panic!("a row"),
        });
        assert_eq!(found.collect::<Vec<_>>(), lengths);
    }

    proptest! {
        #[test]
        fn damaged_batches_never_panic(at: prop::sample::Index, flip in 1..=255u8) {
            let mut bytes = example().bytes().to_vec();
            let place = at.index(bytes.len());
            bytes[place] ^= flip;
            for bytes in [&bytes[..], &bytes[..place]] {
                let Ok(reader) = BatchReader::new(bytes) else { continue };
                let stamp = reader.stamp();
                for op in reader.flatten() {
                    if let OpBody::Row(row) | OpBody::Static(row) = op.body {
                        let _ = row.decode(stamp);
                    }
                }
            }
        }
    }
}
