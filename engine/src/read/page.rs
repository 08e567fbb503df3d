//! Pages: how many rows may still come, and where the next page begins.
//!
//! `Limits` counts the rows that a reader hands out against LIMIT, PER PARTITION LIMIT and the rows of a page.
//! [`PageState`] is what the caller keeps between two pages: the last place that was read and the counts so far. It names
//! no file and no snapshot, so writes between two pages do no harm: the next page goes on behind that place in what the table is
//! then. It is opaque to clients, which may hold it for long and send it back damaged: hence version and checksum.
//!
//! ```text
//! page state = version u8 (1) | flags u8 | table varint | rows so far varint | rows of this partition varint
//!            | key length varint, key | place length varint, place | crc32 u32 LE of all before
//! flags      = 1: reversed    2: inside the partition, behind `place`    4: inside, behind its static row alone
//! ```

use crate::encoding::bytes::ByteReader;
use crate::encoding::varint::put_varint;
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::schema::{TableId, TableSchema};
use crate::read::query::Query;

const VERSION: u8 = 1;
const REVERSED: u8 = 1;
const INSIDE: u8 = 2;
const STATIC: u8 = 4;

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageState {
    /// The table that was read.
    pub(crate) table: TableId,
    /// Direction within partitions.
    pub(crate) reverse: bool,
    /// The last partition that a row came from.
    pub(crate) key: Bytes,
    /// The last row of it.
    pub(crate) place: Place,
    /// Rows handed out so far, of all pages.
    pub(crate) rows: u64,
    /// Those of this partition.
    pub(crate) partition_rows: u64,
}

/// What was last handed out of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its last row, or as many as it may give.
    End,
    /// The row of a partition that has static columns alone.
    Static,
    /// A row, by its byte-comparable clustering.
    Row(Bytes),
}

impl PageState {
    /// The state behind a row of a read of `schema` in this direction, for who stops in the middle of a batch: `key` is the row's partition,
    /// `clustering` its place (`None`: the rest of the partition is not to be read, as behind a row of static columns alone). `rows` and
    /// `partition_rows` are those that limits have counted so far, of all pages and of this partition.
    pub fn behind(
        schema: &TableSchema,
        reverse: bool,
        key: &[u8],
        clustering: Option<&Clustering>,
        (rows, partition_rows): (u64, u64),
    ) -> Self {
        let place = clustering.map_or(Place::End, |place| Place::Row(Bytes::new(place.order())));
        Self { table: schema.id, reverse, key: Bytes::new(key), place, rows, partition_rows }
    }

    /// The partition in which the page ended, by its serialised key.
    pub fn partition(&self) -> &[u8] {
        &self.key
    }

    /// Rows that limits have counted so far, of all pages and of this partition.
    pub fn counts(&self) -> (u64, u64) {
        (self.rows, self.partition_rows)
    }

    /// As bytes for a client to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let (flag, place) = match &self.place {
            Place::End => (0, &[][..]),
            Place::Static => (STATIC, &[][..]),
            Place::Row(order) => (INSIDE, order.as_slice()),
        };
        out.push(flag | if self.reverse { REVERSED } else { 0 });
        for number in [self.table.0.into(), self.rows, self.partition_rows] {
            put_varint(&mut out, number);
        }
        for bytes in [self.key.as_slice(), place] {
            put_varint(&mut out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads what [`PageState::to_bytes`] gave.
    ///
    /// # Errors
    /// `Invalid` with Cassandra's words for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let parsed = bytes.split_last_chunk::<4>().and_then(|(body, crc)| {
            (crc32fast::hash(body) == u32::from_le_bytes(*crc)).then(|| Self::parse(body).ok())?
        });
        parsed.ok_or_else(|| Error::invalid("Invalid value for the paging state"))
    }

    fn parse(body: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(body);
        let (version, flags) = (reader.u8()?, reader.u8()?);
        let table = reader.varint()?;
        let table = TableId(u32::try_from(table).map_err(|_| reader.error("table number is too large"))?);
        let (rows, partition_rows) = (reader.varint()?, reader.varint()?);
        let length = reader.count(1, "bytes")?;
        let key = Bytes::new(reader.take(length)?);
        let length = reader.count(1, "bytes")?;
        let order = Bytes::new(reader.take(length)?);
        let place = match flags & !REVERSED {
            0 => Place::End,
            STATIC => Place::Static,
            INSIDE => Place::Row(order),
            _ => return Err(reader.error("unknown flags")),
        };
        if version != VERSION || !reader.is_empty() {
            return Err(reader.error("unknown version or bytes left over"));
        }
        Ok(Self { table, reverse: flags & REVERSED != 0, key, place, rows, partition_rows })
    }

    /// Refuses a state of another read.
    ///
    /// # Errors
    /// `Invalid` if it is of another table or direction.
    pub(crate) fn check(&self, schema: &TableSchema, query: &Query) -> Result<()> {
        if self.table == schema.id && self.reverse == query.reverse {
            return Ok(());
        }
        Err(Error::invalid("the paging state belongs to another query").in_table(schema.full_name()))
    }

    /// What is left of `ranges` (disjoint, in clustering order) in the partition of this state.
    pub(crate) fn narrow(&self, ranges: &[ClusteringRange]) -> Vec<ClusteringRange> {
        let rest = match &self.place {
            Place::End | Place::Static => return Vec::new(),
            Place::Row(order) if self.reverse => {
                ClusteringRange { start: Bound::bottom(), end: Bound::before(order) }
            }
            Place::Row(order) => ClusteringRange { start: Bound::after(order), end: Bound::top() },
        };
        ranges.iter().map(|range| range.intersect(&rest)).filter(|range| !range.is_empty()).collect()
    }
}

/// Counts rows against the limits of a read.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    limit: u64,
    per_partition: u64,
    page: u64,
    rows: u64,
    partition_rows: u64,
    page_rows: u64,
}

impl Limits {
    /// Limits of a query, with what earlier pages took.
    pub(crate) fn new(query: &Query) -> Self {
        let (rows, partition_rows) = query.page.as_ref().map_or((0, 0), |p| (p.rows, p.partition_rows));
        Self {
            limit: query.limit.unwrap_or(u64::MAX),
            per_partition: query.per_partition_limit.unwrap_or(u64::MAX),
            page: query.page_rows.unwrap_or(u64::MAX),
            rows,
            partition_rows,
            page_rows: 0,
        }
    }

    /// Another partition begins.
    pub(crate) fn next_partition(&mut self) {
        self.partition_rows = 0;
    }

    /// Rows that this partition may still give to this page.
    pub(crate) fn left(&self) -> u64 {
        let partition = self.per_partition.saturating_sub(self.partition_rows);
        partition.min(self.left_in_page())
    }

    /// Rows that this page may still take.
    pub(crate) fn left_in_page(&self) -> u64 {
        self.limit.saturating_sub(self.rows).min(self.page.saturating_sub(self.page_rows))
    }

    /// This partition has given all it may.
    pub(crate) fn partition_is_full(&self) -> bool {
        self.partition_rows >= self.per_partition
    }

    /// LIMIT is reached.
    pub(crate) fn is_done(&self) -> bool {
        self.rows >= self.limit
    }

    /// Counts rows handed out.
    pub(crate) fn take(&mut self, rows: u64) {
        self.rows += rows;
        self.partition_rows += rows;
        self.page_rows += rows;
    }

    /// Rows so far, of all pages, and of this partition.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.rows, self.partition_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state(place: Place) -> PageState {
        PageState {
            table: TableId(7),
            reverse: true,
            key: Bytes::new(b"k"),
            place,
            rows: 300,
            partition_rows: 2,
        }
    }

    proptest! {
        #[test]
        fn a_damaged_state_is_refused_and_never_read_as_another(
            place in prop_oneof![
                Just(Place::End), Just(Place::Static),
                prop::collection::vec(any::<u8>(), 0..40).prop_map(|b| Place::Row(Bytes::from(b))),
            ],
            at in any::<prop::sample::Index>(), flip in 1u8..,
        ) {
            let bytes = state(place.clone()).to_bytes();
            prop_assert_eq!(PageState::from_bytes(&bytes).unwrap(), state(place));
            let mut damaged = bytes.clone();
            damaged[at.index(bytes.len())] ^= flip;
            prop_assert!(PageState::from_bytes(&damaged).is_err());
            prop_assert!(PageState::from_bytes(&bytes[..at.index(bytes.len())]).is_err());
        }

        #[test]
        fn any_bytes_with_a_right_checksum_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let crc = crc32fast::hash(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
            let _ = PageState::from_bytes(&bytes);
        }
    }

    #[test]
    fn the_next_page_begins_behind_the_last_row() {
        let range = |a: u8, b: u8| ClusteringRange { start: Bound::before(&[a]), end: Bound::after(&[b]) };
        let ranges = [range(1, 3), range(5, 9)];
        let backward = state(Place::Row(Bytes::new(&[5])));
        assert_eq!(backward.narrow(&ranges), [range(1, 3)]);
        let forward = PageState { reverse: false, ..backward };
        assert_eq!(
            forward.narrow(&ranges),
            [ClusteringRange { start: Bound::after(&[5]), end: Bound::after(&[9]) }]
        );
    }
}
