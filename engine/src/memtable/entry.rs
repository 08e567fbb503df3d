//! One version of one row, as the order of a partition holds it, and what is held against it in a search.
//!
//! An [`Entry`] takes half a cache line. It has the first bytes of the clustering as a number, so that most comparisons do not touch
//! the row itself.

use crate::encoding::row::{EncodedRow, Stamp};
use crate::memtable::chunks::Chunks;
use crate::model::clustering::Bound;
use std::cmp::Ordering;

/// Length that says: all of the chunk.
const WHOLE_CHUNK: u32 = (1 << 22) - 1;
const PLAIN: u32 = 1 << 22;
const SAME: u32 = 1 << 23;
/// Clustering bytes that an entry holds: one, and eight as a number.
const HELD: usize = 9;

/// One version of one row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Bytes 1 to 8 of the clustering, big-endian, zeros where it is shorter. Byte 0 is the first component's head,
    /// nearly always the same, so that these are a whole timestamp.
    prefix: u64,
    timestamp: i64,
    /// Sequence number, counted from the partition's base.
    pub(super) seq: u32,
    now: u32,
    pub(super) place: u32,
    /// Byte 0 of the clustering (8 bits), `SAME` and `PLAIN` (a bit each), length of the row (22 bits).
    meta: u32,
}

impl Entry {
    /// An entry for a row stored at `place`. `now` is the stamp's second, which fits in 32 bits.
    #[inline]
    pub(super) fn new(row: EncodedRow<'_>, place: u32, seq: u32, timestamp: i64, now: u32) -> Self {
        let (head, prefix) = split(row.clustering);
        let length = u32::try_from(row.bytes.len()).unwrap_or(WHOLE_CHUNK).min(WHOLE_CHUNK);
        Self { prefix, timestamp, seq, now, place, meta: u32::from(head) << 24 | length }
    }

    /// The times of its batch.
    #[inline]
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { timestamp: self.timestamp, now: i64::from(self.now) }
    }

    /// Whether the entry before it is of the same row.
    #[inline]
    pub(super) fn is_same(&self) -> bool {
        self.meta & SAME != 0
    }

    /// Whether the row is known to be plain ([`is_plain`](crate::encoding::plain::is_plain)).
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.meta & PLAIN != 0
    }

    /// Says whether the row is plain.
    #[inline]
    pub(super) fn set_plain(&mut self, plain: bool) {
        self.meta = if plain { self.meta | PLAIN } else { self.meta & !PLAIN };
    }

    #[inline]
    pub(super) fn set_same(&mut self, same: bool) {
        self.meta = if same { self.meta | SAME } else { self.meta & !SAME };
    }

    /// The encoded row.
    #[inline]
    pub(super) fn bytes<'a>(&self, chunks: &'a Chunks) -> &'a [u8] {
        let length = self.meta & WHOLE_CHUNK;
        chunks.get(self.place, (length != WHOLE_CHUNK).then_some(length as usize))
    }

    /// Its clustering. What is stored was parsed before, so that there always is one.
    #[inline]
    pub(super) fn clustering<'a>(&self, chunks: &'a Chunks) -> &'a [u8] {
        EncodedRow::parse(self.bytes(chunks)).map_or(&[], |row| row.clustering)
    }

    #[inline]
    pub(super) fn held(&self) -> (u8, u64) {
        ((self.meta >> 24) as u8, self.prefix)
    }
}

#[inline]
fn split(clustering: &[u8]) -> (u8, u64) {
    if let Some(&[head, rest @ ..]) = clustering.first_chunk::<HELD>() {
        return (head, u64::from_be_bytes(rest));
    }
    let mut bytes = [0; HELD];
    bytes[..clustering.len()].copy_from_slice(clustering);
    let [head, rest @ ..] = bytes;
    (head, u64::from_be_bytes(rest))
}

/// A clustering to look for.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    held: (u8, u64),
    clustering: &'a [u8],
}

impl<'a> Probe<'a> {
    #[inline]
    pub(super) fn new(clustering: &'a [u8]) -> Self {
        Self { held: split(clustering), clustering }
    }

    /// How an entry stands to the clustering.
    #[inline]
    pub(super) fn compare(&self, entry: &Entry, chunks: &Chunks) -> Ordering {
        entry.held().cmp(&self.held).then_with(|| entry.clustering(chunks).cmp(self.clustering))
    }
}

/// A bound to look for.
pub(super) struct BoundProbe<'a> {
    held: (u8, u64),
    bound: &'a Bound,
}

impl<'a> BoundProbe<'a> {
    pub(super) fn new(bound: &'a Bound) -> Self {
        Self { held: split(bound.prefix()), bound }
    }

    /// Whether the bound stands behind an entry.
    #[inline]
    pub(super) fn is_after(&self, entry: &Entry, chunks: &Chunks) -> bool {
        let prefix = self.bound.prefix();
        if prefix.is_empty() {
            return self.bound.is_after();
        }
        match entry.held().cmp(&self.held) {
            // What begins with the prefix, filled up with zeros, is not less than it.
            Ordering::Less => true,
            Ordering::Greater if prefix.len() >= HELD => false,
            _ => self.bound.cmp_row(entry.clustering(chunks)) == Ordering::Greater,
        }
    }
}
