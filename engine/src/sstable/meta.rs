//! What the rest of the engine knows about an SSTable without reading it: the file's card.
//!
//! The writer fills it in; the manifest keeps one per live file, and the file itself carries a copy in its statistics, so that
//! a store can be rebuilt from its files. Reads skip files by it, strategies choose by it, expiry drops whole files by it.
//!
//! # Invariants
//! 1. Every range here is exact or wider than what the file holds, never narrower.
//! 2. A file holds at least one partition: an empty file is not written.
//!
//! # Format
//! "File card" in FORMAT.md. Containers add the checksum.

use crate::encoding::bytes::{ByteReader, put_bytes};
use crate::encoding::varint::{put_signed, put_varint};
use crate::error::Result;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::life::NEVER;
use crate::model::schema::TableId;
use crate::sstable::drop_times::DropTimes;

/// Number of an SSTable within its store; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Version of the encoding, its first byte.
const VERSION: u8 = 1;

const HAS_PARTITION_DELETION: u64 = 1;
const HAS_RANGE_DELETION: u64 = 2;
const HAS_STATIC: u64 = 4;
const HAS_CLUSTERING: u64 = 8;

/// One SSTable, described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMeta {
    /// Its number.
    pub id: FileId,
    /// The table that it belongs to.
    pub table: TableId,
    /// Length of the file, bytes.
    pub size_bytes: u64,
    /// Level, for strategies that have levels; 0 for a flushed file.
    pub level: u32,
    /// When it was written, micros: later than every timestamp that the store drew for what is in it, also where the clock had gone back.
    pub created_micros: i64,
    /// First partition.
    pub first: DecoratedKey,
    /// Last partition.
    pub last: DecoratedKey,
    /// Partitions.
    pub partitions: u64,
    /// Rows, static ones included.
    pub rows: u64,
    /// Cells with a value.
    pub cells: u64,
    /// Tombstones of all kinds: cells, collections, rows, range bounds that begin a deletion, partitions.
    pub tombstones: u64,
    /// Least write time of anything in the file, micros.
    pub min_timestamp: i64,
    /// Greatest write time, micros.
    pub max_timestamp: i64,
    /// Least expiry or deletion second; [`NEVER`] if nothing expires or is deleted.
    pub min_local: i64,
    /// Greatest one; [`NEVER`] if anything lives for ever.
    pub max_local: i64,
    /// From before the first row or bound to after the last one, over all partitions; `None` without rows and bounds.
    pub clustering: Option<ClusteringRange>,
    /// A partition is deleted, which concerns rows outside of `clustering`.
    pub has_partition_deletion: bool,
    /// A range deletion is in it.
    pub has_range_deletion: bool,
    /// A static row is in it, which concerns every query of its partition.
    pub has_static: bool,
    /// When tombstones and expiring cells may go, estimated.
    pub drop_times: DropTimes,
    /// Files that it was compacted from.
    pub ancestors: Vec<FileId>,
}

impl FileMeta {
    /// Tokens from the first partition to the last.
    pub fn tokens(&self) -> TokenRange {
        TokenRange { first: self.first.token, last: self.last.token }
    }

    /// Whether `key` lies between the first partition and the last.
    #[inline]
    pub fn covers(&self, key: &DecoratedKey) -> bool {
        self.first <= *key && *key <= self.last
    }

    /// Whether both files may have partitions in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether everything in it is deleted or expired, and was so before second `gc_before`. Whether the file may go also
    /// depends on what it shadows elsewhere.
    pub fn fully_expired(&self, gc_before: i64) -> bool {
        self.max_local < gc_before
    }

    /// The estimated share (0 to 1) of tombstones and expiring cells droppable at second `gc_before`, of all cells and tombstones.
    pub fn droppable_ratio(&self, gc_before: i64) -> f64 {
        let all = (self.cells.saturating_add(self.tombstones)).max(1) as f64;
        // Not clamped: a sum of nothing may be -0.0, which `max` need not turn into 0.0.
        let share = (self.drop_times.before(gc_before) / all).min(1.0);
        if share > 0.0 { share } else { 0.0 }
    }

    /// Whether a reader of `range` at second `now` can get anything from this file, deletions included. Expired cells count:
    /// they still shadow older values.
    pub fn may_concern(&self, range: &ClusteringRange) -> bool {
        if self.has_partition_deletion || self.has_static {
            return true;
        }
        self.clustering.as_ref().is_some_and(|own| !own.intersect(range).is_empty())
    }

    /// Appends the card.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_varint(out, self.id.0);
        put_varint(out, u64::from(self.table.0));
        put_varint(out, self.size_bytes);
        put_varint(out, u64::from(self.level));
        put_signed(out, self.created_micros);
        put_bytes(out, &self.first.key);
        put_bytes(out, &self.last.key);
        put_varint(out, self.partitions);
        put_varint(out, self.rows);
        put_varint(out, self.cells);
        put_varint(out, self.tombstones);
        put_signed(out, self.min_timestamp);
        put_signed(out, self.max_timestamp);
        put_second(out, self.min_local);
        put_second(out, self.max_local);
        let flag = |is: bool, bit: u64| if is { bit } else { 0 };
        put_varint(
            out,
            flag(self.has_partition_deletion, HAS_PARTITION_DELETION)
                | flag(self.has_range_deletion, HAS_RANGE_DELETION)
                | flag(self.has_static, HAS_STATIC)
                | flag(self.clustering.is_some(), HAS_CLUSTERING),
        );
        if let Some(range) = &self.clustering {
            put_bytes(out, range.start.as_bytes());
            put_bytes(out, range.end.as_bytes());
        }
        self.drop_times.encode(out);
        put_varint(out, self.ancestors.len() as u64);
        self.ancestors.iter().for_each(|ancestor| put_varint(out, ancestor.0));
    }

    /// Reads a card at the reader's position and leaves the reader behind it.
    ///
    /// # Errors
    /// `Corrupt` for bytes that [`FileMeta::encode`] did not write; another version of the card too.
    pub fn decode(reader: &mut ByteReader<'_>) -> Result<Self> {
        let version = reader.u8()?;
        if version != VERSION {
            return Err(reader.error(&format!("file card of version {version}, this build reads {VERSION}")));
        }
        let id = FileId(reader.varint()?);
        let table = TableId(reader.varint_up_to(u64::from(u32::MAX), "table number")? as u32);
        let size_bytes = reader.varint()?;
        let level = reader.varint_up_to(u64::from(u32::MAX), "level")? as u32;
        let created_micros = reader.signed()?;
        let first = DecoratedKey::new(reader.bytes()?);
        let last = DecoratedKey::new(reader.bytes()?);
        if first > last {
            return Err(reader.error("a file's first partition stands after its last"));
        }
        let (partitions, rows) = (reader.varint()?, reader.varint()?);
        let (cells, tombstones) = (reader.varint()?, reader.varint()?);
        let (min_timestamp, max_timestamp) = (reader.signed()?, reader.signed()?);
        let (min_local, max_local) = (read_second(reader)?, read_second(reader)?);
        let flags = reader.varint_up_to(15, "flags")?;
        let clustering = match flags & HAS_CLUSTERING {
            0 => None,
            _ => Some(ClusteringRange { start: read_bound(reader)?, end: read_bound(reader)? }),
        };
        let drop_times = DropTimes::decode(reader)?;
        let ancestors = (0..reader.count(1, "ancestors")?)
            .map(|_| reader.varint().map(FileId))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            id,
            table,
            size_bytes,
            level,
            created_micros,
            first,
            last,
            partitions,
            rows,
            cells,
            tombstones,
            min_timestamp,
            max_timestamp,
            min_local,
            max_local,
            clustering,
            has_partition_deletion: flags & HAS_PARTITION_DELETION != 0,
            has_range_deletion: flags & HAS_RANGE_DELETION != 0,
            has_static: flags & HAS_STATIC != 0,
            drop_times,
            ancestors,
        })
    }
}

/// Appends a second: 0 for [`NEVER`], else the zigzag form of it plus one.
pub(crate) fn put_second(out: &mut Vec<u8>, second: i64) {
    match second {
        NEVER => put_varint(out, 0),
        _ => put_varint(out, crate::encoding::varint::zigzag(second).saturating_add(1)),
    }
}

/// Reads what [`put_second`] wrote.
pub(crate) fn read_second(reader: &mut ByteReader<'_>) -> Result<i64> {
    Ok(match reader.varint()? {
        0 => NEVER,
        code => crate::encoding::varint::unzigzag(code - 1),
    })
}

/// Reads a bound.
pub(crate) fn read_bound(reader: &mut ByteReader<'_>) -> Result<Bound> {
    let bytes = reader.bytes()?;
    Bound::from_bytes(bytes).ok_or_else(|| reader.error("a clustering bound ends in neither 00 nor ff"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn meta(numbers: [u64; 6], times: [i64; 3], flags: u8, keys: [Vec<u8>; 2]) -> FileMeta {
        let mut keys = keys.map(|key| DecoratedKey::new(&key));
        keys.sort();
        let [first, last] = keys;
        let mut drop_times = DropTimes::default();
        drop_times.add(times[2], numbers[5]);
        FileMeta {
            id: FileId(numbers[0]),
            table: TableId(numbers[1] as u32),
            size_bytes: numbers[2],
            level: numbers[3] as u32,
            created_micros: times[0],
            first,
            last,
            partitions: numbers[4],
            rows: numbers[5],
            cells: numbers[0],
            tombstones: numbers[1],
            min_timestamp: times[0],
            max_timestamp: times[1],
            min_local: times[2],
            max_local: NEVER,
            clustering: (flags & 8 != 0).then(|| ClusteringRange::prefix(&[0x40, 7])),
            has_partition_deletion: flags & 1 != 0,
            has_range_deletion: flags & 2 != 0,
            has_static: flags & 4 != 0,
            drop_times,
            ancestors: numbers.map(FileId).to_vec(),
        }
    }

    proptest! {
        #[test]
        fn a_card_comes_back_and_no_shorter_one_does(
            numbers in any::<[u64; 6]>(),
            times in any::<[i32; 3]>(),
            flags in any::<u8>(),
            keys in any::<[Vec<u8>; 2]>(),
        ) {
            let card = meta(numbers, times.map(i64::from), flags, keys);
            let mut bytes = Vec::new();
            card.encode(&mut bytes);
            let mut reader = ByteReader::new(&bytes);
            prop_assert_eq!(FileMeta::decode(&mut reader).unwrap(), card);
            prop_assert!(reader.is_empty());
            for end in 0..bytes.len() {
                prop_assert!(FileMeta::decode(&mut ByteReader::new(&bytes[..end])).is_err());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes: Vec<u8>) {
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
            let _ = FileMeta::decode(&mut ByteReader::new(&bytes));
        }
    }

    #[test]
    fn deletions_and_statics_concern_every_range() {
        let other = ClusteringRange::prefix(&[0x40, 9]);
        let with = |flags| meta([1; 6], [5; 3], flags, [vec![1], vec![2]]);
        assert!(!with(0).may_concern(&other) && !with(8).may_concern(&other));
        assert!(with(8).may_concern(&ClusteringRange::prefix(&[0x40, 7])));
        assert!(with(1).may_concern(&other) && with(4).may_concern(&other));
    }

    #[test]
    fn a_file_is_expired_once_its_last_second_is_past() {
        let mut card = meta([1; 6], [5; 3], 0, [vec![1], vec![2]]);
        assert!(!card.fully_expired(i64::MAX), "something in it lives for ever");
        card.max_local = 100;
        assert!(!card.fully_expired(100) && card.fully_expired(101));
        assert!(card.overlaps(&card) && card.covers(&card.first));
    }
}
