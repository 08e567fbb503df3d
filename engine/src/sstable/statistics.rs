//! The statistics section: the file's card, and counts that operators and strategies ask for but reads do not.
//!
//! A `Collector` gathers them while the file is written: partitions one by one, all else from the blocks' summaries, so that
//! a row costs nothing here.
//!
//! # Format
//! "Statistics" in FORMAT.md.

use crate::encoding::bytes::ByteReader;
use crate::encoding::checksum::{put_checksum, strip_checksum};
use crate::encoding::varint::put_varint;
use crate::error::Result;
use crate::model::life::NEVER;
use crate::sstable::block::summary::Zone;
use crate::sstable::drop_times::DropTimes;
use crate::sstable::index::BlockEntry;
use crate::sstable::meta::FileMeta;

/// Counts by powers of two: bin i counts numbers from 2^(i-1) to 2^i - 1, bin 0 counts zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeHistogram {
    bins: Vec<u64>,
}

impl SizeHistogram {
    /// Counts `number`, `times` times.
    pub fn add(&mut self, number: u64, times: u64) {
        let bin = (u64::BITS - number.leading_zeros()) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += times;
    }

    /// Bins with their lower limits, those without any left out.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let low = |bin: usize| bin.checked_sub(1).map_or(0, |shift| 1u64 << shift);
        self.bins
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(move |(bin, &count)| (low(bin), count))
    }

    /// Numbers counted.
    pub fn total(&self) -> u64 {
        self.bins.iter().sum()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.bins.len() as u64);
        self.bins.iter().for_each(|&count| put_varint(out, count));
    }

    fn decode(reader: &mut ByteReader<'_>) -> Result<Self> {
        let count = reader.count(1, "bins")?;
        if count > u64::BITS as usize + 1 {
            return Err(reader.error(&format!("{count} bins of sizes, at most 65 are possible")));
        }
        Ok(Self { bins: (0..count).map(|_| reader.varint()).collect::<Result<_>>()? })
    }
}

/// Counts of a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The file's card.
    pub card: FileMeta,
    /// Blocks.
    pub blocks: u64,
    /// Static rows.
    pub static_rows: u64,
    /// Cell tombstones.
    pub cell_tombstones: u64,
    /// Deletions of whole collections.
    pub complex_tombstones: u64,
    /// Row deletions.
    pub row_tombstones: u64,
    /// Bounds at which a range deletion begins or changes.
    pub range_tombstones: u64,
    /// Partition deletions.
    pub partition_tombstones: u64,
    /// Markers and cells with a TTL; a row's cells that share its life count once.
    pub expiring: u64,
    /// Partitions by their rows and bounds.
    pub partition_items: SizeHistogram,
    /// Partitions by their bytes in blocks; a shared block's bytes are split by items.
    pub partition_bytes: SizeHistogram,
}

impl Statistics {
    /// The section's bytes. The length of the file in the card is written as 0, since it depends on this section's length.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        FileMeta { size_bytes: 0, ..self.card.clone() }.encode(&mut out);
        for count in self.counts() {
            put_varint(&mut out, count);
        }
        self.partition_items.encode(&mut out);
        self.partition_bytes.encode(&mut out);
        put_checksum(&mut out, 0);
        out
    }

    fn counts(&self) -> [u64; 8] {
        [
            self.blocks,
            self.static_rows,
            self.cell_tombstones,
            self.complex_tombstones,
            self.row_tombstones,
            self.range_tombstones,
            self.partition_tombstones,
            self.expiring,
        ]
    }

    /// Reads the section at `offset` of a file of `size_bytes`.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub fn decode(section: &[u8], offset: u64, size_bytes: u64) -> Result<Self> {
        let mut reader = ByteReader::with_base(strip_checksum(section, "the statistics")?, offset);
        let card = FileMeta { size_bytes, ..FileMeta::decode(&mut reader)? };
        let mut counts = [0; 8];
        for count in &mut counts {
            *count = reader.varint()?;
        }
        let partition_items = SizeHistogram::decode(&mut reader)?;
        let partition_bytes = SizeHistogram::decode(&mut reader)?;
        reader.expect_end()?;
        let [
            blocks,
            static_rows,
            cell_tombstones,
            complex_tombstones,
            row_tombstones,
            range_tombstones,
            partition_tombstones,
            expiring,
        ] = counts;
        Ok(Self {
            card,
            blocks,
            static_rows,
            cell_tombstones,
            complex_tombstones,
            row_tombstones,
            range_tombstones,
            partition_tombstones,
            expiring,
            partition_items,
            partition_bytes,
        })
    }
}

/// Gathers the sums of all blocks while a file is written, or checked.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// All blocks' zones as one. What continuing blocks repeat is counted once.
    pub(crate) zone: Zone,
    pub(crate) blocks: u64,
    pub(crate) rows: u64,
    pub(crate) partitions: u64,
    pub(crate) drop_times: DropTimes,
    pub(crate) partition_items: SizeHistogram,
    pub(crate) partition_bytes: SizeHistogram,
    /// Items and bytes so far of the last partition, which may go on in the next block.
    last: Option<(u64, u64)>,
}

impl Collector {
    /// Adds the next block. `items` are those of each partition in it, `None` to count them as equally many; `repeats`: the
    /// first partition's deletion was in the block before.
    pub(crate) fn add_block(&mut self, entry: &BlockEntry, items: Option<&[u64]>, repeats: bool) {
        let (summary, zone) = (&entry.summary, entry.zone());
        self.blocks += 1;
        self.rows += summary.rows as u64 + zone.static_rows;
        self.zone.min_timestamp = self.zone.min_timestamp.min(zone.min_timestamp);
        self.zone.max_timestamp = self.zone.max_timestamp.max(zone.max_timestamp);
        self.zone.min_local = self.zone.min_local.min(zone.min_local);
        self.zone.max_local = self.zone.max_local.max(zone.max_local);
        self.zone.cells += zone.cells;
        self.zone.cell_tombstones += zone.cell_tombstones;
        self.zone.complex_tombstones += zone.complex_tombstones;
        self.zone.row_tombstones += zone.row_tombstones;
        self.zone.range_tombstones += zone.range_tombstones.saturating_sub(u64::from(entry.open));
        self.zone.partition_tombstones += zone.partition_tombstones.saturating_sub(u64::from(repeats));
        self.zone.static_rows += zone.static_rows;
        self.zone.expiring += zone.expiring;
        self.add_drop_times(entry);
        self.add_partitions(entry, items);
    }

    /// Everything that will go one day, at about the seconds it may go. Where all expires, each cell counts, so that the share of
    /// droppable things in all cells and tombstones comes to one.
    fn add_drop_times(&mut self, entry: &BlockEntry) {
        let zone = entry.zone();
        if zone.min_local == NEVER {
            return;
        }
        let values = zone.cells.saturating_sub(zone.cell_tombstones);
        let deleted = tombstones(zone);
        if zone.max_local == NEVER {
            let rows = (entry.summary.rows as u64).max(1);
            let expiring = zone.expiring.saturating_mul(values.div_ceil(rows)).min(values);
            self.drop_times.add(zone.min_local, expiring.saturating_add(deleted));
        } else {
            self.drop_times.add_spread(zone.min_local, zone.max_local, values.saturating_add(deleted).max(1));
        }
    }

    fn add_partitions(&mut self, entry: &BlockEntry, items: Option<&[u64]>) {
        let (partitions, all) = (entry.summary.partitions as u64, entry.summary.items as u64);
        self.partitions += partitions.saturating_sub(u64::from(entry.continues));
        for p in 0..partitions {
            let own = match items {
                Some(items) => items.get(p as usize).copied().unwrap_or(0),
                None => all / partitions,
            };
            if p > 0 || !entry.continues {
                self.end_partition();
            }
            // A partition without items weighs like one with one.
            let share = own.max(1) as f64 / all.max(partitions) as f64;
            let (items, bytes) = self.last.unwrap_or_default();
            self.last = Some((items + own, bytes + (f64::from(entry.length) * share) as u64));
        }
    }

    /// Says that the last partition is complete; at the end of the file it is called from outside.
    pub(crate) fn end_partition(&mut self) {
        if let Some((items, bytes)) = self.last.take() {
            self.partition_items.add(items, 1);
            self.partition_bytes.add(bytes, 1);
        }
    }

    /// The statistics that go with `card`, whose counts and ranges of times are filled in from here.
    pub(crate) fn finish(mut self, mut card: FileMeta) -> Statistics {
        self.end_partition();
        let zone = &self.zone;
        card.partitions = self.partitions;
        card.rows = self.rows;
        card.cells = zone.cells.saturating_sub(zone.cell_tombstones);
        card.tombstones = tombstones(zone);
        (card.min_timestamp, card.max_timestamp) = (zone.min_timestamp, zone.max_timestamp);
        (card.min_local, card.max_local) = (zone.min_local, zone.max_local);
        card.has_partition_deletion = zone.partition_tombstones > 0;
        card.has_range_deletion = zone.range_tombstones > 0;
        card.has_static = zone.static_rows > 0;
        card.drop_times = self.drop_times;
        Statistics {
            card,
            blocks: self.blocks,
            static_rows: zone.static_rows,
            cell_tombstones: zone.cell_tombstones,
            complex_tombstones: zone.complex_tombstones,
            row_tombstones: zone.row_tombstones,
            range_tombstones: zone.range_tombstones,
            partition_tombstones: zone.partition_tombstones,
            expiring: zone.expiring,
            partition_items: self.partition_items,
            partition_bytes: self.partition_bytes,
        }
    }
}

/// Tombstones of all kinds.
pub(crate) fn tombstones(zone: &Zone) -> u64 {
    zone.cell_tombstones
        .saturating_add(zone.complex_tombstones)
        .saturating_add(zone.row_tombstones)
        .saturating_add(zone.range_tombstones)
        .saturating_add(zone.partition_tombstones)
}
