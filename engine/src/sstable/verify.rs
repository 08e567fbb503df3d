//! Reads a whole file again and checks everything that can be checked without another source.
//!
//! Checksums of all sections and blocks, the order of partitions and items, the index against the blocks, the filter against
//! every key, the statistics against the contents, and the card that the manifest keeps against the statistics.

use crate::encoding::compress::Codec;
use crate::error::{Error, Result};
use crate::model::clustering::{Bound, Clustering};
use crate::model::fragment::Fragment;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::life::{Deletion, NEVER};
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::sstable::block::builder::BlockBuilder;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::footer::HEADER_BYTES;
use crate::sstable::index::BlockEntry;
use crate::sstable::index_page::encode_page;
use crate::sstable::meta::FileMeta;
use crate::sstable::progress::Place;
use crate::sstable::reader::SsTable;
use crate::sstable::statistics::{Collector, Statistics, tombstones};
use std::sync::Arc;

/// What a whole file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Blocks read.
    pub blocks: u64,
    /// Partitions.
    pub partitions: u64,
    /// Rows, static ones included.
    pub rows: u64,
    /// Bytes of the file, all of them under a checksum that was found right.
    pub bytes: u64,
}

impl SsTable {
    /// Reads the whole file, past the cache, and checks it.
    ///
    /// # Errors
    /// `Corrupt` with file, offset and what is wrong, for the first thing that is.
    pub fn verify(self: &Arc<Self>) -> Result<Verified> {
        let statistics = self.statistics()?;
        let table: TableSchema = self.stored_schema()?;
        let (bytes, sections) = self.bytes_and_sections()?;
        let wrong = |offset: u64, text: String| self.place_error(Error::malformed(text), offset);
        if table.id != self.meta().table {
            return Err(wrong(sections.schema, format!("the file is of table {}", table.id.0)));
        }
        check_card(self.meta(), &statistics.card).map_err(|text| wrong(sections.statistics, text))?;
        let collected = self.verify_blocks()?;
        let counted = Counted::of(&collected);
        if counted != Counted::stated(&statistics) {
            let text = format!("statistics say {:?}, the blocks {counted:?}", Counted::stated(&statistics));
            return Err(wrong(sections.statistics, text));
        }
        let (partitions, rows) = self.verify_contents(&statistics)?;
        Ok(Verified { blocks: collected.blocks, partitions, rows, bytes: bytes.len() as u64 })
    }

    /// The index against the blocks: they fill the file without gaps, and their checksums and shapes are right.
    fn verify_blocks(self: &Arc<Self>) -> Result<Collector> {
        let (_, sections) = self.bytes_and_sections()?;
        let mut collector = Collector::default();
        let mut at = HEADER_BYTES as u64;
        let mut last: Option<(DecoratedKey, Option<Deletion>, Option<Deletion>)> = None;
        for entry in self.blocks()? {
            let entry = entry?;
            let wrong = |text: &str| self.place_error(Error::malformed(text), entry.offset);
            if entry.offset != at {
                return Err(wrong("the block does not begin where the one before ends"));
            }
            at += u64::from(entry.length);
            let block = self.read_block(&entry)?;
            let first = block.partition(0);
            if first.continued != entry.continues || block.open_deletion().is_some() != entry.open {
                return Err(wrong("the index and the block disagree about its beginning"));
            }
            if entry.continues {
                let goes_on = last == Some((entry.first.clone(), first.deletion, block.open_deletion()));
                if !goes_on {
                    return Err(wrong("the block does not continue the one before"));
                }
            }
            if !same_summary(&rebuilt(&block, &entry)?, &entry) {
                return Err(wrong("the index describes other contents than the block has"));
            }
            let p = block.partitions() - 1;
            let end = block.partition(p);
            if end.key != &*entry.last.key {
                return Err(wrong("the block does not end with the partition that the index names"));
            }
            let open = block.deletion_before(p, end.items.end)?;
            last = Some((entry.last.clone(), end.deletion, open));
            let items: Vec<u64> =
                (0..block.partitions()).map(|p| block.partition(p).items.len() as u64).collect();
            collector.add_block(&entry, Some(&items), entry.continues && first.deletion.is_some());
        }
        if at != sections.index {
            let text = format!("blocks end at {at}, the index begins at {}", sections.index);
            return Err(self.place_error(Error::malformed(text), at));
        }
        Ok(collector)
    }

    /// Everything in the blocks: order, ranges of the card, membership in the filter. Returns partitions and rows.
    fn verify_contents(self: &Arc<Self>, statistics: &Statistics) -> Result<(u64, u64)> {
        let (_, sections) = self.bytes_and_sections()?;
        let mut check = Contents { card: &statistics.card, key: None, place: Place::Start, open: None };
        let (mut partitions, mut rows) = (0, 0);
        for fragment in self.scan(TokenRange::ALL)? {
            let fragment = fragment?;
            match &fragment {
                Fragment::Partition { key, .. } => {
                    partitions += 1;
                    if !self.may_contain(key)? {
                        let text = format!("the filter does not know partition {:?}", key.key);
                        return Err(self.place_error(Error::malformed(text), sections.filter));
                    }
                }
                Fragment::Static(_) | Fragment::Row(_) => rows += 1,
                Fragment::Bound(_) => {}
            }
            check.next(&fragment).map_err(|text| {
                let key = check.key.as_ref().map(|key| format!(" in partition {:?}", key.key));
                let text = format!("{text}{}", key.unwrap_or_default());
                self.place_error(Error::malformed(text), HEADER_BYTES as u64)
            })?;
        }
        check.end().map_err(|text| self.place_error(Error::malformed(text), sections.index))?;
        let card = &statistics.card;
        if (partitions, rows) != (card.partitions, card.rows) || check.key.as_ref() != Some(&card.last) {
            let text = format!("{partitions} partitions and {rows} rows, the statistics say otherwise");
            return Err(self.place_error(Error::malformed(text), sections.statistics));
        }
        Ok((partitions, rows))
    }
}

/// What the index should say of a block: its contents, summed up anew.
fn rebuilt(block: &DecodedBlock, entry: &BlockEntry) -> Result<BlockEntry> {
    let mut builder = BlockBuilder::new(Arc::clone(block.schema()), Codec::None);
    let projection = Projection::all(block.schema());
    for p in 0..block.partitions() {
        let partition = block.partition(p);
        builder.begin_partition(partition.key, partition.deletion)?;
        for i in partition.items {
            match block.kind(i) {
                ItemKind::Static => builder.push_static(&block.to_row(i, &projection)?)?,
                ItemKind::Row => builder.push_row(&block.to_row(i, &projection)?)?,
                ItemKind::Bound => builder.push_bound(&block.bound(i)?)?,
            }
        }
    }
    let summary = builder.finish(&mut Vec::new(), entry.continues, block.open_deletion())?;
    Ok(BlockEntry { summary, ..entry.clone() })
}

/// Whether two entries are written as the same bytes, in which NaN is equal to itself.
fn same_summary(one: &BlockEntry, other: &BlockEntry) -> bool {
    let bytes = |entry: &BlockEntry| {
        let mut bytes = Vec::new();
        encode_page(std::slice::from_ref(entry), &mut bytes);
        bytes
    };
    bytes(one) == bytes(other)
}

/// The manifest's card against the file's.
fn check_card(manifest: &FileMeta, file: &FileMeta) -> std::result::Result<(), String> {
    // A file may be moved to another level or number without being rewritten.
    let file = FileMeta { id: manifest.id, level: manifest.level, ..file.clone() };
    match *manifest == file {
        true => Ok(()),
        false => Err("the card in the manifest is not the one in the file".into()),
    }
}

/// Counts that statistics and blocks must agree on.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    blocks: u64,
    partitions: u64,
    rows: u64,
    cells: u64,
    tombstones: u64,
    expiring: u64,
    timestamps: (i64, i64),
    seconds: (i64, i64),
}

impl Counted {
    fn of(collected: &Collector) -> Self {
        let zone = &collected.zone;
        Self {
            blocks: collected.blocks,
            partitions: collected.partitions,
            rows: collected.rows,
            cells: zone.cells.saturating_sub(zone.cell_tombstones),
            tombstones: tombstones(zone),
            expiring: zone.expiring,
            timestamps: (zone.min_timestamp, zone.max_timestamp),
            seconds: (zone.min_local, zone.max_local),
        }
    }

    fn stated(statistics: &Statistics) -> Self {
        let card = &statistics.card;
        Self {
            blocks: statistics.blocks,
            partitions: card.partitions,
            rows: card.rows,
            cells: card.cells,
            tombstones: card.tombstones,
            expiring: statistics.expiring,
            timestamps: (card.min_timestamp, card.max_timestamp),
            seconds: (card.min_local, card.max_local),
        }
    }
}

/// Follows the contents and checks each fragment against the one before and the card.
struct Contents<'a> {
    card: &'a FileMeta,
    key: Option<DecoratedKey>,
    place: Place,
    open: Option<Deletion>,
}

impl Contents<'_> {
    fn next(&mut self, fragment: &Fragment) -> std::result::Result<(), String> {
        match fragment {
            Fragment::Partition { key, deletion } => {
                self.end()?;
                if self.key.as_ref().is_none_or(|last| last >= key) && self.key.is_some() {
                    return Err("partitions are out of order".into());
                }
                if self.key.is_none() && *key != self.card.first {
                    return Err("the first partition is not the card's".into());
                }
                self.key = Some(key.clone());
                self.place = Place::Start;
                deletion.map_or(Ok(()), |deletion| self.deletion(deletion))
            }
            Fragment::Static(row) => {
                if !matches!(self.place, Place::Start) {
                    return Err("a static row is out of place".into());
                }
                self.place = Place::Static;
                self.row(row)
            }
            Fragment::Row(row) => {
                if !self.place.before_row(&row.clustering) {
                    return Err("rows are out of order".into());
                }
                self.inside(&Bound::before(row.clustering.order()), &Bound::after(row.clustering.order()))?;
                self.place = Place::Row(Clustering::clone(&row.clustering));
                self.row(row)
            }
            Fragment::Bound(bound) => {
                if !self.place.before_bound(&bound.at) {
                    return Err("range bounds are out of order".into());
                }
                self.inside(&bound.at, &bound.at)?;
                self.place = Place::Bound(bound.at.clone());
                self.open = bound.deletion;
                bound.deletion.map_or(Ok(()), |deletion| self.deletion(deletion))
            }
        }
    }

    fn end(&self) -> std::result::Result<(), String> {
        match self.open {
            Some(_) => Err("a range deletion is not ended".into()),
            None => Ok(()),
        }
    }

    fn inside(&self, start: &Bound, end: &Bound) -> std::result::Result<(), String> {
        match &self.card.clustering {
            Some(range) if range.start <= *start && *end <= range.end => Ok(()),
            _ => Err("an item stands outside of the card's clustering range".into()),
        }
    }

    fn deletion(&self, deletion: Deletion) -> std::result::Result<(), String> {
        self.times(deletion.timestamp, deletion.local)
    }

    fn times(&self, timestamp: i64, second: i64) -> std::result::Result<(), String> {
        let card = self.card;
        let within = (card.min_timestamp..=card.max_timestamp).contains(&timestamp)
            && second <= card.max_local
            && (second == NEVER || card.min_local <= second);
        if within { Ok(()) } else { Err("a time lies outside of the card's ranges".into()) }
    }

    fn row(&self, row: &Row) -> std::result::Result<(), String> {
        if let Some(life) = row.liveness {
            self.times(life.timestamp, life.expiry)?;
        }
        row.deletion.map_or(Ok(()), |deletion| self.deletion(deletion))?;
        for complex in &row.complex {
            complex.deletion.map_or(Ok(()), |deletion| self.deletion(deletion))?;
        }
        row.all_cells().try_for_each(|cell| self.times(cell.timestamp, cell.local))
    }
}
