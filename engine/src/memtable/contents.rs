//! What a partition holds in memory, behind its lock: rows in order, their bytes, and the few things besides.
//!
//! [`MemPartition`](crate::memtable::partition::MemPartition) locks this, writes through the methods here, and reads
//! through [`Window`](crate::memtable::window::Window).
//!
//! # Invariants
//! 1. Every stored row was found decodable when it came in.
//! 2. Nothing that a pinned reader sees is removed or changed, except that versions it cannot tell apart become one.

use crate::encoding::plain::is_plain;
use crate::encoding::row::{EncodedRow, Stamp};
use crate::encoding::row_times::RowTimes;
use crate::error::{Error, ErrorKind, Result};
use crate::memtable::chunks::Chunks;
use crate::memtable::entry::{Entry, Probe};
use crate::memtable::pins::Pins;
use crate::memtable::pool::Pool;
use crate::memtable::ranges::RangeLog;
use crate::memtable::rows::{Rows, Spot};
use crate::memtable::versions::{encode, group, is_due, merge};
use crate::model::fragment::RangeTombstone;
use crate::model::life::Deletion;

/// Contents of one partition.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// What the sequence numbers of entries count from.
    base: u64,
    pub(super) rows: Rows,
    pub(super) chunks: Chunks,
    /// Most partitions have none of it.
    pub(super) rest: Option<Box<Rest>>,
}

/// What the partitions of a memtable share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'a> {
    /// Who reads as of when.
    pub(super) pins: &'a Pins,
    /// Where memory comes from.
    pub(super) pool: &'a Pool,
}

/// What a partition has besides rows.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Deletions of the partition by sequence number, each stronger than the one before.
    deletions: Vec<(u64, Deletion)>,
    statics: Vec<StaticVersion>,
    /// Bytes of the static row's versions.
    statics_held: usize,
    pub(super) ranges: RangeLog,
}

/// One version of the static row.
#[derive(Debug)]
pub(super) struct StaticVersion {
    pub(super) seq: u64,
    pub(super) stamp: Stamp,
    pub(super) bytes: Box<[u8]>,
}

impl Contents {
    /// Gives the memory of rows to a pool. Nobody reads the partition any more.
    pub(super) fn recycle(&mut self, pool: &Pool) {
        pool.give(self.chunks.take_chunks(), self.rows.take_leaves());
    }

    /// Bytes allocated.
    #[inline]
    pub(super) fn memory_bytes(&self) -> usize {
        let rest = match &self.rest {
            Some(rest) => rest.memory_bytes(),
            None => 0,
        };
        self.rows.memory_bytes() + self.chunks.memory_bytes() + rest
    }

    /// Takes in a version of a row, and its times into `times`, which are of nothing else. Returns whether the row is new.
    ///
    /// # Errors
    /// `Corrupt` if it is not an encoded row, `Busy` if the partition cannot hold more.
    #[inline]
    pub(super) fn add_row(
        &mut self,
        seq: u64,
        stamp: Stamp,
        row: EncodedRow<'_>,
        shared: Shared<'_>,
        times: &mut RowTimes,
    ) -> Result<bool> {
        row.add_times(stamp, times)?;
        self.put_row(seq, stamp, row, is_plain(&row, times), shared)
    }

    /// Takes in a version of a row that is known to be well-formed, and whether it is plain. Returns whether the row is new.
    ///
    /// # Errors
    /// `Busy` if the partition cannot hold more.
    #[inline]
    pub(super) fn put_row(
        &mut self,
        seq: u64,
        stamp: Stamp,
        row: EncodedRow<'_>,
        plain: bool,
        shared: Shared<'_>,
    ) -> Result<bool> {
        let Ok(now) = u32::try_from(stamp.now) else {
            let (stamp, bytes) = encode(&row.decode(stamp)?, stamp);
            return self.put_row(seq, stamp, EncodedRow::parse(&bytes)?, plain, shared);
        };
        let seq = self.relative(seq, shared.pins)?;
        let place = self.chunks.push(row.bytes, shared.pool)?;
        let probe = Probe::new(row.clustering);
        let (spot, same) = self.rows.place(&probe, &self.chunks);
        let spot = self.rows.make_room(spot, same, shared.pool);
        self.rows.insert(spot, || {
            let mut entry = Entry::new(row, place, seq, stamp.timestamp, now);
            entry.set_plain(plain);
            entry.set_same(same);
            entry
        });
        if same {
            let end = spot.next();
            let count = self.rows.run(end);
            if is_due(count) {
                self.merge_versions(end, count, shared)?;
            }
        }
        Ok(!same)
    }

    /// A sequence number as entries hold it.
    #[inline]
    fn relative(&mut self, seq: u64, pins: &Pins) -> Result<u32> {
        if self.base == 0 {
            self.base = seq;
        }
        match u32::try_from(seq.saturating_sub(self.base)) {
            Ok(relative) => Ok(relative),
            Err(_) => self.move_base(seq, pins),
        }
    }

    /// After four thousand million batches: counts from the oldest reader's number on.
    #[cold]
    fn move_base(&mut self, seq: u64, pins: &Pins) -> Result<u32> {
        let base = pins.oldest().max(self.base);
        let Ok(relative) = u32::try_from(seq.saturating_sub(base)) else {
            let text = "a reader has held on to its snapshot for more than 4294967295 batches";
            return Err(Error::new(ErrorKind::Busy, text).hint("close the snapshot or iterator"));
        };
        let by = base - self.base;
        self.rows.for_each_mut(|entry| {
            entry.seq = u64::from(entry.seq).saturating_sub(by) as u32; // smaller than before
        });
        self.base = base;
        Ok(relative)
    }

    /// The highest number of an entry that a reader of `seq` sees; `None` if there can be none.
    #[inline]
    pub(super) fn seen(&self, seq: u64) -> Option<u32> {
        seq.checked_sub(self.base).map(|seq| u32::try_from(seq).unwrap_or(u32::MAX))
    }

    /// Merges those of the `count` versions before `end` that nobody can tell apart.
    #[cold]
    fn merge_versions(&mut self, end: Spot, count: usize, shared: Shared<'_>) -> Result<()> {
        let boundaries = shared.pins.boundaries();
        let versions = self.rows.versions(end, count);
        let group = |entry: &Entry| group(self.base + u64::from(entry.seq), &boundaries);
        let mut merged = Vec::new();
        let mut dead = 0;
        for versions in versions.chunk_by(|a, b| group(a) == group(b)) {
            let Some(&newest) = versions.last() else { continue };
            if versions.len() == 1 {
                merged.push(newest);
                continue;
            }
            let stored = versions.iter().map(|entry| (entry.bytes(&self.chunks), entry.stamp()));
            let Some(row) = merge(stored)? else { continue };
            dead += versions.iter().map(|entry| entry.bytes(&self.chunks).len()).sum::<usize>();
            let (stamp, bytes) = encode(&row, newest.stamp());
            let place = self.chunks.push(&bytes, shared.pool)?;
            let row = EncodedRow::parse(&bytes)?;
            merged.push(Entry::new(row, place, newest.seq, stamp.timestamp, stamp.now as u32));
        }
        self.rows.replace(end, count, &merged);
        self.chunks.forget(dead);
        if self.chunks.wants_rewrite() {
            self.rows.rewrite(&mut self.chunks, shared.pool)?;
        }
        Ok(())
    }

    /// Takes in a version of the static row. Returns its times.
    ///
    /// # Errors
    /// `Corrupt` if it is not an encoded row.
    pub(super) fn add_static(
        &mut self,
        seq: u64,
        stamp: Stamp,
        bytes: &[u8],
        pins: &Pins,
    ) -> Result<RowTimes> {
        let times = EncodedRow::parse(bytes)?.times(stamp)?;
        let rest = self.rest.get_or_insert_default();
        rest.statics.push(StaticVersion { seq, stamp, bytes: Box::from(bytes) });
        if is_due(rest.statics.len()) {
            rest.merge_statics(&pins.boundaries())?;
        }
        rest.statics_held = rest.statics.iter().map(|version| version.bytes.len() + 16).sum();
        Ok(times)
    }

    /// Takes in a deletion of the partition.
    pub(super) fn delete(&mut self, seq: u64, deletion: Deletion, pins: &Pins) {
        let deletions = &mut self.rest.get_or_insert_default().deletions;
        if deletions.last().is_some_and(|(_, last)| *last >= deletion) {
            return;
        }
        deletions.push((seq, deletion));
        if is_due(deletions.len()) {
            let oldest = pins.oldest();
            let seen = deletions.partition_point(|(seq, _)| *seq <= oldest);
            deletions.drain(..seen.saturating_sub(1));
        }
    }

    /// Takes in a deletion of a range.
    pub(super) fn delete_range(&mut self, seq: u64, range: RangeTombstone, pins: &Pins) {
        self.rest.get_or_insert_default().ranges.add(seq, range, || pins.oldest());
    }

    /// The deletion of the partition that a reader of `seq` sees.
    pub(super) fn deletion(&self, seq: u64) -> Option<Deletion> {
        let deletions = &self.rest.as_ref()?.deletions;
        let seen = deletions.partition_point(|(s, _)| *s <= seq);
        Some(deletions.get(seen.checked_sub(1)?)?.1)
    }

    /// The versions of the static row.
    pub(super) fn statics(&self) -> &[StaticVersion] {
        self.rest.as_ref().map_or(&[], |rest| &rest.statics)
    }
}

impl Rest {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.deletions.capacity() * size_of::<(u64, Deletion)>()
            + self.statics.capacity() * size_of::<StaticVersion>()
            + self.statics_held
            + self.ranges.memory_bytes()
    }

    fn merge_statics(&mut self, boundaries: &[u64]) -> Result<()> {
        let groups = self.statics.chunk_by(|a, b| group(a.seq, boundaries) == group(b.seq, boundaries));
        let mut merged = Vec::new();
        for versions in groups {
            let Some(newest) = versions.last() else { continue };
            let stored = versions.iter().map(|version| (&version.bytes[..], version.stamp));
            let Some(row) = merge(stored)? else { continue };
            let (stamp, bytes) = encode(&row, newest.stamp);
            merged.push(StaticVersion { seq: newest.seq, stamp, bytes: bytes.into() });
        }
        self.statics = merged;
        Ok(())
    }
}
