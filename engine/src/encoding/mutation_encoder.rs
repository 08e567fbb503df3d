//! The writing side of a batch: operations into the bytes that the log stores, and beside them what the memtables want to know.
//!
//! [`WriteBatch`](crate::write::batch::WriteBatch) fills a [`BatchEncoder`]. The commit gives its bytes to the log and its
//! [`BatchEncoder::marks`] to the memtables: while a row is encoded it is known where it stands, whether it is plain and
//! between which times its contents lie, so that nobody has to parse our own bytes to find out. A batch that comes out of the
//! log is parsed ([`BatchReader`](crate::encoding::mutation::BatchReader)).
//!
//! # Invariants
//! 1. [`BatchEncoder::marks`] and a [`BatchReader`](crate::encoding::mutation::BatchReader) over the bytes say the same.
//!
//! # Format
//! See "Batch" in FORMAT.md beside this file.

use crate::encoding::bytes::put_bytes;
use crate::encoding::mutation::{
    HEADER, KEY_END, OpBody, PARTITION, RANGE, ROW, SAME_KEY, SAME_TABLE, STATIC, VERSION, read_body,
};
use crate::encoding::row::{EncodedRow, Place, RowEncoder, RowHead, Stamp, encode_row, put_deletion};
use crate::encoding::row_times::{OpenTimes, RowTimes};
use crate::encoding::shared_key::{Shared, put_key};
use crate::encoding::varint::put_varint;
use crate::error::Result;
use crate::model::clustering::Bound;
use crate::model::life::Deletion;
use crate::model::row::Row;
use crate::model::schema::TableId;
use std::ops::Range;

/// Where an operation of a batch stands, and what is known of it.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its partition's place in the list of keys.
    key: usize,
    /// Its body: a row without its length, or what follows the key.
    body: Range<usize>,
    kind: u8,
    known: Known,
}

/// What is known of an operation without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// A plain row, whose times are in [`BatchEncoder::times`].
    Plain,
    /// Another row whose times are there.
    Timed,
    Nothing,
}

/// A partition that operations in a row are on.
#[derive(Clone, Debug)]
struct Key {
    /// Place in the list of tables.
    table: usize,
    /// Where it stands, whole, among the bytes of keys: the batch has only what differs from the one before.
    bytes: Range<usize>,
}

/// A state of a [`BatchEncoder`] to go back to.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    bytes: usize,
    tables: usize,
    keys: usize,
    key_bytes: usize,
    marks: usize,
}

/// Builds the bytes of a batch.
#[derive(Clone, Debug)]
pub struct BatchEncoder {
    bytes: Vec<u8>,
    stamp: Stamp,
    tables: Vec<TableId>,
    /// For each table: between which times the rows lie that are marked as [`Known`].
    times: Vec<OpenTimes>,
    keys: Vec<Key>,
    key_bytes: Vec<u8>,
    marks: Vec<Mark>,
}

impl Default for BatchEncoder {
    fn default() -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[0] = VERSION;
        let mut batch = Self {
            bytes,
            stamp: Stamp::UNSET,
            tables: Vec::new(),
            times: Vec::new(),
            keys: Vec::new(),
            key_bytes: Vec::new(),
            marks: Vec::new(),
        };
        batch.set_stamp(Stamp::UNSET);
        batch
    }
}

impl BatchEncoder {
    /// Number of operations.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// No operation yet.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all operations and keeps the buffers.
    pub fn clear(&mut self) {
        self.rollback(&Checkpoint { bytes: HEADER, tables: 0, keys: 0, key_bytes: 0, marks: 0 });
        self.set_stamp(Stamp::UNSET);
    }

    /// The state now, for [`BatchEncoder::rollback`].
    #[inline]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            bytes: self.bytes.len(),
            tables: self.tables.len(),
            keys: self.keys.len(),
            key_bytes: self.key_bytes.len(),
            marks: self.marks.len(),
        }
    }

    /// Takes back what was added since `checkpoint`, so that a statement is in the batch whole or not at all. (But for the
    /// times, whose bounds may stay wider than they had to be.)
    pub fn rollback(&mut self, checkpoint: &Checkpoint) {
        self.bytes.truncate(checkpoint.bytes);
        self.tables.truncate(checkpoint.tables);
        self.times.truncate(checkpoint.tables);
        self.keys.truncate(checkpoint.keys);
        self.key_bytes.truncate(checkpoint.key_bytes);
        self.marks.truncate(checkpoint.marks);
    }

    /// The tables it touches, each once.
    pub fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// Between which times those rows of a table (its place in [`BatchEncoder::tables`]) lie that [`BatchEncoder::marked_row`] gives.
    pub fn times(&self, table: usize) -> RowTimes {
        self.times.get(table).map_or(RowTimes::NONE, |times| times.at(self.stamp))
    }

    /// The operations in order.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The table (its place in [`BatchEncoder::tables`]) and the serialised partition key of an operation.
    #[inline]
    pub fn marked_key(&self, mark: &Mark) -> (usize, &[u8]) {
        let Key { table, bytes } = &self.keys[mark.key];
        (*table, &self.key_bytes[bytes.clone()])
    }

    /// The row that an operation writes into, if it and its times were noted; and whether it
    /// [is plain](crate::encoding::plain::is_plain).
    #[inline]
    pub fn marked_row(&self, mark: &Mark) -> Option<(EncodedRow<'_>, bool)> {
        if mark.known == Known::Nothing {
            return None;
        }
        let row = EncodedRow::parse(&self.bytes[mark.body.clone()]).ok()?;
        Some((row, mark.known == Known::Plain))
    }

    /// What any operation does.
    ///
    /// # Errors
    /// None that can happen: it was written here.
    pub fn marked_body(&self, mark: &Mark) -> Result<OpBody<'_>> {
        read_body(mark.kind, &self.bytes[mark.body.clone()], self.stamp)
    }

    /// The stamp so far; [`Stamp::UNSET`] until [`BatchEncoder::set_stamp`].
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Sets the times that operations without times of their own have. Called when the batch commits. Returns the stamp as it
    /// is stored: its second has 32 bits.
    pub fn set_stamp(&mut self, stamp: Stamp) -> Stamp {
        let second = u32::try_from(stamp.now.max(0)).unwrap_or(u32::MAX);
        self.bytes[1..9].copy_from_slice(&stamp.timestamp.to_le_bytes());
        self.bytes[9..HEADER].copy_from_slice(&second.to_le_bytes());
        self.stamp = if stamp == Stamp::UNSET { stamp } else { Stamp { now: i64::from(second), ..stamp } };
        self.stamp
    }

    /// The bytes: one commit-log record's payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins an operation on a partition, which is then the last of the list of keys.
    #[inline]
    fn begin(&mut self, table: TableId, key: &[u8], kind: u8) {
        let last = self.keys.last().filter(|last| self.tables[last.table] == table);
        let table = match last.map(|last| (last.table, Shared::of(&self.key_bytes[last.bytes.clone()], key)))
        {
            Some((_, Shared::All)) => return self.bytes.push(kind | SAME_TABLE | SAME_KEY),
            Some((table, Shared::Ends { start, end })) => {
                self.bytes.push(kind | SAME_TABLE | end << KEY_END);
                put_key(&mut self.bytes, key, start, end);
                table
            }
            None => {
                self.bytes.push(kind);
                let table = self.name_table(table);
                put_bytes(&mut self.bytes, key);
                table
            }
        };
        let start = self.key_bytes.len();
        self.key_bytes.extend_from_slice(key);
        self.keys.push(Key { table, bytes: start..start + key.len() });
    }

    /// Writes a table's number; returns its place in the list.
    #[cold]
    fn name_table(&mut self, table: TableId) -> usize {
        put_varint(&mut self.bytes, u64::from(table.0));
        self.tables.iter().position(|known| *known == table).unwrap_or_else(|| {
            self.tables.push(table);
            self.times.push(OpenTimes::default());
            self.tables.len() - 1
        })
    }

    /// Notes the operation whose body begins at `start` and ends here.
    #[inline]
    fn mark(&mut self, start: usize, kind: u8, known: Known) {
        let key = self.keys.len() - 1;
        self.marks.push(Mark { key, body: start..self.bytes.len(), kind, known });
    }

    /// Adds a row (or, with `is_static`, a static row) written cell by cell by `cells`. If that fails, nothing is added.
    #[inline]
    pub fn row_with(
        &mut self,
        table: TableId,
        key: &[u8],
        is_static: bool,
        place: Place<'_>,
        head: &RowHead,
        cells: impl FnOnce(&mut RowEncoder<'_>) -> Result<()>,
    ) -> Result<()> {
        let before = self.checkpoint();
        let kind = if is_static { STATIC } else { ROW };
        let at = self.begin_row(table, key, kind);
        let mut row = RowEncoder::begin_at(&mut self.bytes, place, head, self.stamp);
        if let Err(error) = cells(&mut row) {
            self.rollback(&before);
            return Err(error);
        }
        let (live, deleted) = (row.is_live(), row.has_tombstone());
        let known = match is_static || head.deletion.is_some() {
            true => Known::Nothing,
            false => {
                if let Some(Key { table, .. }) = self.keys.last() {
                    self.times[*table].add(head, live, deleted);
                }
                if head.marker && place.raw.is_none() { Known::Plain } else { Known::Timed }
            }
        };
        self.end_row(at, kind, known);
        Ok(())
    }

    /// Adds any row.
    pub fn row(&mut self, table: TableId, key: &[u8], is_static: bool, row: &Row) {
        let kind = if is_static { STATIC } else { ROW };
        let at = self.begin_row(table, key, kind);
        encode_row(row, self.stamp, &mut self.bytes);
        self.end_row(at, kind, Known::Nothing);
    }

    /// Begins a row in place, behind one byte for its length, whose place is returned.
    #[inline]
    fn begin_row(&mut self, table: TableId, key: &[u8], kind: u8) -> usize {
        self.begin(table, key, kind);
        self.bytes.push(0);
        self.bytes.len() - 1
    }

    /// Writes the length of the row that was begun, and notes it.
    #[inline]
    fn end_row(&mut self, at: usize, kind: u8, known: Known) {
        let length = self.bytes.len() - at - 1;
        if length < 0x80 {
            self.bytes[at] = length as u8;
        } else {
            let mut varint = Vec::new();
            put_varint(&mut varint, length as u64);
            self.bytes.splice(at..=at, varint);
        }
        self.mark(self.bytes.len() - length, kind, known);
    }

    /// Adds the deletion of a partition; `None` takes the batch's times.
    pub fn delete_partition(&mut self, table: TableId, key: &[u8], deletion: Option<Deletion>) {
        self.begin(table, key, PARTITION);
        let start = self.bytes.len();
        let deletion = deletion.unwrap_or(self.stamp.deletion());
        put_deletion(&mut self.bytes, deletion, self.stamp);
        self.mark(start, PARTITION, Known::Nothing);
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
        let at = self.bytes.len();
        put_bytes(&mut self.bytes, start.as_bytes());
        put_bytes(&mut self.bytes, end.as_bytes());
        let deletion = deletion.unwrap_or(self.stamp.deletion());
        put_deletion(&mut self.bytes, deletion, self.stamp);
        self.mark(at, RANGE, Known::Nothing);
    }
}

#[cfg(test)]
#[path = "mutation_encoder_tests.rs"]
mod tests;
