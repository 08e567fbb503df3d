//! Explains the bytes of a batch: what a record of the commit log holds, operation by operation and cell by cell.
//!
//! The walk follows [`BatchReader`](crate::encoding::mutation::BatchReader) and
//! [`EncodedRow::decode`](crate::encoding::row::EncodedRow::decode) field by field. It knows no schema: columns have numbers, keys and values are
//! bytes. Damage ends it; what is left is one annotation that says so, so that every byte is explained in any case.

use crate::annotate::Annotation;
use crate::encoding::bytes::ByteReader;
use crate::encoding::mutation::{PARTITION, ROW, STATIC, VERSION, Where};
use crate::encoding::row::read::{read_deletion, read_ttl};
use crate::encoding::row::value::{BYTES, read_value};
use crate::encoding::row::{
    COMPLEX, DELETION, EXPIRY, FAR, KNOWN, LIFE, MARKER, OWN, OWN_LOCAL, OWN_TIMESTAMP, OWN_TOMBSTONE,
    OWN_TTL, RAW, Stamp, TOMBSTONE, TTL,
};
use crate::encoding::shared_key::read_key;
use crate::error::Result;
use crate::model::life::Deletion;
use std::borrow::Cow;

/// Explains `payload`, a batch that stands at `offset` of a file.
pub fn dump(offset: u64, payload: &[u8]) -> Vec<Annotation> {
    let mut walk = Walk::new(payload, offset);
    if let Err(error) = walk.batch() {
        let at = walk.list.last().map_or(offset, Annotation::end);
        let len = (offset + payload.len() as u64).saturating_sub(at);
        walk.list.push(Annotation::new(at, len, format!("DAMAGED batch: {}", error.message())));
    }
    walk.list
}

/// A position in a batch and what was explained so far.
struct Walk<'a> {
    reader: ByteReader<'a>,
    list: Vec<Annotation>,
    /// Partition key of the last operation, `None` before the first.
    key: Option<Cow<'a, [u8]>>,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { reader: ByteReader::with_base(bytes, offset), list: Vec::new(), key: None }
    }

    /// Reads a field and says what it is.
    fn field<T>(
        &mut self,
        read: impl FnOnce(&mut ByteReader<'a>) -> Result<T>,
        say: impl FnOnce(&T) -> String,
    ) -> Result<T> {
        let start = self.reader.offset();
        let value = read(&mut self.reader)?;
        self.list.push(Annotation::new(start, self.reader.offset() - start, say(&value)));
        Ok(value)
    }

    fn batch(&mut self) -> Result<()> {
        let version = self.field(ByteReader::u8, |version| format!("batch version {version}"))?;
        if version != VERSION {
            return Err(self.reader.error("this version is unknown"));
        }
        let timestamp = self.field(ByteReader::i64, |micros| format!("written at {micros} us"))?;
        let now = self.field(ByteReader::u32, |second| format!("in second {second}"))?;
        let stamp = Stamp { timestamp, now: i64::from(now) };
        while !self.reader.is_empty() {
            self.operation(stamp)?;
        }
        Ok(())
    }

    fn operation(&mut self, stamp: Stamp) -> Result<()> {
        let head = self.field(ByteReader::u8, |head| {
            let Some((place, kind)) = Where::read(*head) else {
                return format!("unknown head {head:#04x} of an operation");
            };
            let kind = match kind {
                ROW => "row",
                STATIC => "static row",
                PARTITION => "delete partition",
                _ => "delete range",
            };
            let place = match place {
                Where::Elsewhere => "",
                Where::SameTable { .. } => ", same table",
                Where::SamePartition => ", same table, same partition",
            };
            format!("operation: {kind}{place}")
        })?;
        let (place, kind) =
            Where::read(head).ok_or_else(|| self.reader.error("this head of an operation is unknown"))?;
        match place {
            Where::Elsewhere => {
                self.field(ByteReader::varint, |table| format!("table {table}"))?;
                let key = self.field(ByteReader::bytes, |key| format!("partition key {}", text(key)))?;
                self.key = Some(Cow::Borrowed(key));
            }
            Where::SameTable { end } => {
                let mut key =
                    self.key.take().ok_or_else(|| self.reader.error("no operation is before this one"))?;
                let read = |reader: &mut ByteReader<'a>| {
                    let start = read_key(reader, &mut key, end)?;
                    Ok((start, key))
                };
                let (_, key) = self.field(read, |(start, key)| {
                    let shared = match (start, end) {
                        (0, 0) => String::new(),
                        _ => format!(", {start} bytes at its start and {end} at its end as before"),
                    };
                    format!("partition key {}{shared}", text(key))
                })?;
                self.key = Some(key);
            }
            Where::SamePartition if self.key.is_none() => {
                return Err(self.reader.error("no operation is before this one"));
            }
            Where::SamePartition => {}
        }
        match kind {
            ROW | STATIC => {
                let length = self.field(ByteReader::varint, |length| format!("row of {length} bytes"))?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let start = self.reader.offset();
                // The row is read from its own bytes alone, so that a wrong length inside cannot run into the next one.
                let row = self.reader.take(length)?;
                let mut inner = Walk::new(row, start);
                let walked = inner.row(stamp);
                self.list.append(&mut inner.list);
                walked
            }
            PARTITION => self.deletion(stamp, "partition"),
            _ => {
                self.field(ByteReader::bytes, |bound| format!("from {}", hex(bound)))?;
                self.field(ByteReader::bytes, |bound| format!("to {}", hex(bound)))?;
                self.deletion(stamp, "range")
            }
        }
    }

    fn deletion(&mut self, stamp: Stamp, what: &str) -> Result<()> {
        let say = |deletion: &Deletion| {
            format!("{what} deleted up to {} us, in second {}", deletion.timestamp, deletion.local)
        };
        self.field(|reader| read_deletion(reader, stamp), say).map(drop)
    }

    fn row(&mut self, stamp: Stamp) -> Result<()> {
        let flags = self.field(ByteReader::u8, |flags| {
            let names = [
                (MARKER, "marker"),
                (LIFE, "own timestamp"),
                (TTL, "TTL"),
                (EXPIRY, "own expiry"),
                (DELETION, "deletion"),
                (RAW, "original clustering"),
                (COMPLEX, "collections"),
            ];
            let set: Vec<_> =
                names.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| *name).collect();
            format!("row flags: {}", if set.is_empty() { "none".to_owned() } else { set.join(", ") })
        })?;
        if flags & !KNOWN != 0 {
            return Err(self.reader.error("unknown flags of a row"));
        }
        self.field(ByteReader::bytes, |place| format!("clustering {}", hex(place)))?;
        if flags & RAW != 0 {
            self.field(ByteReader::bytes, |raw| format!("clustering as it was given, {} bytes", raw.len()))?;
        }
        if flags & LIFE != 0 {
            self.field(ByteReader::i64, |micros| format!("timestamp {micros} us"))?;
        }
        if flags & TTL != 0 {
            self.field(read_ttl, |ttl| format!("TTL {ttl} s"))?;
            if flags & EXPIRY != 0 {
                self.field(ByteReader::signed, |second| format!("expires in second {second}"))?;
            }
        }
        if flags & DELETION != 0 {
            self.deletion(stamp, "row")?;
        }
        if flags & COMPLEX != 0 {
            let count =
                self.field(|reader| reader.count(3, "collections"), |n| format!("{n} collections"))?;
            for _ in 0..count {
                self.collection(stamp)?;
            }
        }
        let mut next = 0u32;
        while !self.reader.is_empty() {
            next = self.cell(next)?;
        }
        Ok(())
    }

    fn collection(&mut self, stamp: Stamp) -> Result<()> {
        self.field(ByteReader::varint, |column| format!("collection: column {column}"))?;
        match self.field(ByteReader::u8, |flags| {
            format!("deleted before: {}", if *flags == 1 { "yes" } else { "no" })
        })? {
            0 => {}
            1 => self.deletion(stamp, "collection")?,
            _ => return Err(self.reader.error("unknown flags of a collection")),
        }
        let count = self.field(|reader| reader.count(3, "elements"), |count| format!("{count} elements"))?;
        for _ in 0..count {
            let element = |reader: &mut ByteReader<'a>| {
                let raw = reader.u8()?;
                let path = reader.bytes()?;
                match raw {
                    0 => {}
                    1 => drop(reader.bytes()?),
                    _ => return Err(reader.error("unknown flags of an element")),
                }
                Ok((path, own(reader)?))
            };
            self.field(element, |(path, cell)| format!("element {}: {cell}", hex(path)))?;
        }
        Ok(())
    }

    /// A cell, whose column counts from `next`; returns the next column.
    fn cell(&mut self, next: u32) -> Result<u32> {
        let read = |reader: &mut ByteReader<'a>| {
            let head = reader.u8()?;
            let gap = match u32::from(head >> 3) {
                FAR => u32::try_from(reader.varint()?).ok(),
                gap => Some(gap),
            };
            let column = gap.and_then(|gap| next.checked_add(gap)).filter(|column| *column < u32::MAX);
            let column = column.ok_or_else(|| reader.error("column number is too large"))?;
            let cell = match head & 7 {
                TOMBSTONE => "deleted".to_owned(),
                OWN => own(reader)?,
                form => value(reader, form)?,
            };
            Ok((column, cell))
        };
        self.field(read, |(column, cell)| format!("column {column}: {cell}")).map(|(column, _)| column + 1)
    }
}

/// A cell with times of its own, in words.
fn own(reader: &mut ByteReader<'_>) -> Result<String> {
    let flags = reader.u8()?;
    let mut words = String::new();
    if flags & OWN_TIMESTAMP != 0 {
        words.push_str(&format!(", timestamp {} us", reader.i64()?));
    }
    if flags & OWN_TTL != 0 {
        words.push_str(&format!(", TTL {} s", read_ttl(reader)?));
    }
    if flags & OWN_LOCAL != 0 {
        words.push_str(&format!(", second {}", reader.signed()?));
    }
    let what = if flags & OWN_TOMBSTONE != 0 { "deleted".to_owned() } else { value(reader, flags >> 4)? };
    Ok(what + &words)
}

/// A value in words: what it is as a number where it could be one, else its text or bytes.
fn value(reader: &mut ByteReader<'_>, form: u8) -> Result<String> {
    let wire = read_value(reader, form)?;
    // Short texts have the length of numbers, but no usual number is made of letters alone.
    if !wire.is_empty() && wire.iter().all(u8::is_ascii_graphic) {
        return Ok(text(&wire));
    }
    Ok(match (<[u8; 8]>::try_from(&wire[..]), <[u8; 4]>::try_from(&wire[..])) {
        (Ok(eight), _) => {
            let (int, double) = (i64::from_be_bytes(eight), f64::from_be_bytes(eight));
            // Doubles of everyday size are huge as integers, and the other way round.
            if int.unsigned_abs() < 1 << 53 { format!("{int}") } else { format!("{double}") }
        }
        (_, Ok(four)) => format!("{}", i32::from_be_bytes(four)),
        _ if form == BYTES => text(&wire),
        _ => hex(&wire),
    })
}

/// Bytes as text where they are printable, else in hex.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => format!("'{text}'"),
        _ => hex(bytes),
    }
}

fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let digits: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN { format!("0x{digits}... ({} bytes)", bytes.len()) } else { format!("0x{digits}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::first_gap;
    use crate::encoding::mutation_encoder::BatchEncoder;
    use crate::model::bytes::Bytes;
    use crate::model::cell::{Cell, ColumnId};
    use crate::model::clustering::{Bound, Clustering};
    use crate::model::life::Liveness;
    use crate::model::row::{Complex, Row};
    use crate::model::schema::TableId;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { timestamp: 7_000_000, now: 7 };

    fn batch() -> Vec<u8> {
        let place = |byte| Clustering::new(Bytes::new(&[byte]));
        let live = |wire: &[u8]| Cell::live(Liveness::expiring(6_000_000, 60, 66), Bytes::new(wire));
        let row = Row {
            clustering: place(5),
            liveness: Some(Liveness::expiring(6_000_000, 60, 66)),
            deletion: Some(Deletion::new(5, 6)),
            cells: vec![
                (ColumnId(1), live(&21.5f64.to_be_bytes())),
                (ColumnId(2), live(&42i32.to_be_bytes())),
                (ColumnId(3), Cell::tombstone(9, 8)),
                (ColumnId(70), live(b"hive")),
            ],
            complex: vec![Complex {
                column: ColumnId(4),
                deletion: Some(Deletion::new(3, 3)),
                cells: vec![(place(1), live(b"e"))],
            }],
        };
        let mut encoder = BatchEncoder::default();
        encoder.set_stamp(STAMP);
        encoder.row(TableId(3), b"key", false, &row);
        encoder.row(TableId(3), b"key", true, &Row::new(Clustering::EMPTY));
        encoder.delete_partition(TableId(3), b"\x01\x02", None);
        encoder.delete_partition(TableId(3), b"hive-41-east", None);
        encoder.delete_partition(TableId(3), b"hive-42-east", None);
        encoder.delete_range(TableId(4), b"k", &Bound::bottom(), &Bound::top(), None);
        encoder.bytes().to_vec()
    }

    #[test]
    fn every_byte_of_a_batch_is_explained_with_its_values() {
        let bytes = batch();
        let list = dump(100, &bytes);
        assert_eq!(first_gap(&list, 100, 100 + bytes.len() as u64), None);
        let words: Vec<&str> = list.iter().map(|a| a.what.as_str()).collect();
        for expected in [
            "written at 7000000 us",
            "operation: row",
            "table 3",
            "partition key 'key'",
            "clustering 0x05",
            "TTL 60 s",
            "row deleted up to 5 us, in second 6",
            "column 1: 21.5",
            "column 2: 42",
            "column 3: deleted, timestamp 9 us, second 8",
            "column 70: 'hive'",
            "collection: column 4",
            "operation: static row, same table, same partition",
            "partition key 0x0102",
            "partition key 'hive-41-east'",
            "partition key 'hive-42-east', 6 bytes at its start and 5 at its end as before",
            "partition deleted up to 7000000 us, in second 7",
            "operation: delete range",
        ] {
            assert!(words.contains(&expected), "{expected} is missing in {words:#?}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_said_and_every_byte_still_explained(at: prop::sample::Index, flip in 0..=255u8, cut: bool) {
            let mut bytes = batch();
            let place = at.index(bytes.len());
            bytes[place] ^= flip;
            if cut {
                bytes.truncate(place);
            }
            let list = dump(0, &bytes);
            prop_assert_eq!(first_gap(&list, 0, bytes.len() as u64), None);
        }
    }
}
