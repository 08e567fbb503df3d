//! Reads a whole file again and checks everything that can be checked without another source.
//!
//! Checksums of all sections and blocks, the order of partitions and items, the index against the blocks, the filter against
//! every key, the statistics against the contents, and the card that the manifest keeps against the statistics. In one pass: each block
//! is decoded once, and its rows go by both checks.

use crate::encoding::compress::Codec;
use crate::error::{Error, Result};
use crate::model::clustering::ClusteringRange;
use crate::model::fragment::RangeBound;
use crate::model::key::DecoratedKey;
use crate::model::life::{Deletion, NEVER};
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::sstable::block::builder::BlockBuilder;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::block::rows::Projection;
use crate::sstable::block::summary::BlockSummary;
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
        let mut walk = Walk {
            builder: BlockBuilder::new(Arc::clone(self.layout()?), Codec::None),
            projection: Projection::all(self.layout()?),
            row: Row::default(),
            contents: Contents { card: &statistics.card, key: None, place: Place::Start, open: None },
            partitions: 0,
            rows: 0,
        };
        let collected = self.verify_blocks(&mut walk)?;
        let counted = Counted::of(&collected);
        if counted != Counted::stated(&statistics) {
            let text = format!("statistics say {:?}, the blocks {counted:?}", Counted::stated(&statistics));
            return Err(wrong(sections.statistics, text));
        }
        let Walk { contents, partitions, rows, .. } = walk;
        contents.end().map_err(|text| wrong(sections.index, text))?;
        let card = &statistics.card;
        if (partitions, rows) != (card.partitions, card.rows) || contents.key.as_ref() != Some(&card.last) {
            let text = format!("{partitions} partitions and {rows} rows, the statistics say otherwise");
            return Err(wrong(sections.statistics, text));
        }
        Ok(Verified { blocks: collected.blocks, partitions, rows, bytes: bytes.len() as u64 })
    }

    /// The blocks against the index and among each other: they fill the file without gaps, their checksums and shapes are right, and the index
    /// says of each what is in it. `walk` takes in the contents.
    fn verify_blocks(self: &Arc<Self>, walk: &mut Walk<'_>) -> Result<Collector> {
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
            let summary = self.walk_block(&block, &entry, walk)?;
            if !same_summary(&BlockEntry { summary, ..BlockEntry::clone(&entry) }, &entry) {
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

    /// Everything in one block: order, ranges of the card, membership in the filter. Returns what the index should say of it.
    fn walk_block(
        &self,
        block: &DecodedBlock,
        entry: &BlockEntry,
        walk: &mut Walk<'_>,
    ) -> Result<BlockSummary> {
        let (_, sections) = self.bytes_and_sections()?;
        let placed = |error: Error| self.place_error(error, entry.offset);
        let Walk { builder, projection, row, contents, partitions, rows } = walk;
        let wrong = |contents: &Contents<'_>, text: String| {
            let key = contents.key.as_ref().map(|key| format!(" in partition {:?}", key.key));
            placed(Error::malformed(format!("{text}{}", key.unwrap_or_default())))
        };
        for p in 0..block.partitions() {
            let partition = block.partition(p);
            builder.begin_partition(partition.key, partition.deletion).map_err(placed)?;
            if p > 0 || !entry.continues {
                *partitions += 1;
                let key = DecoratedKey::new(partition.key);
                if !self.may_contain(&key)? {
                    let text = format!("the filter does not know partition {:?}", key.key);
                    return Err(self.place_error(Error::malformed(text), sections.filter));
                }
                contents.partition(key, partition.deletion).map_err(|text| wrong(contents, text))?;
            }
            for i in partition.items {
                let kind = block.kind(i);
                if kind == ItemKind::Bound {
                    let bound = block.bound(i).map_err(placed)?;
                    builder.push_bound(&bound).map_err(placed)?;
                    contents.bound(&bound).map_err(|text| wrong(contents, text))?;
                    continue;
                }
                *rows += 1;
                block.read_row(i, projection, row).map_err(placed)?;
                let checked = match kind {
                    ItemKind::Static => {
                        builder.push_static(row).map_err(placed)?;
                        contents.static_row(row)
                    }
                    _ => {
                        builder.push_row(row).map_err(placed)?;
                        contents.regular_row(row)
                    }
                };
                checked.map_err(|text| wrong(contents, text))?;
            }
        }
        builder.sum_up(block.open_deletion()).map_err(placed)
    }
}

/// What goes along with a pass over a file.
struct Walk<'a> {
    /// Sums up the contents of each block anew.
    builder: BlockBuilder,
    projection: Projection,
    row: Row,
    contents: Contents<'a>,
    partitions: u64,
    rows: u64,
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
fn check_card(manifest: &FileMeta, file: &FileMeta) -> Checked {
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

/// What is wrong, in words.
type Checked = std::result::Result<(), String>;

const OUTSIDE: &str = "an item stands outside of the card's clustering range";

/// Follows the contents and checks each item against the one before and the card.
struct Contents<'a> {
    card: &'a FileMeta,
    key: Option<DecoratedKey>,
    place: Place,
    open: Option<Deletion>,
}

impl Contents<'_> {
    fn partition(&mut self, key: DecoratedKey, deletion: Option<Deletion>) -> Checked {
        self.end()?;
        if self.key.as_ref().is_some_and(|last| *last >= key) {
            return Err("partitions are out of order".into());
        }
        if self.key.is_none() && key != self.card.first {
            return Err("the first partition is not the card's".into());
        }
        self.key = Some(key);
        self.place = Place::Start;
        deletion.map_or(Ok(()), |deletion| self.deletion(deletion))
    }

    fn static_row(&mut self, row: &Row) -> Checked {
        if !matches!(self.place, Place::Start) {
            return Err("a static row is out of place".into());
        }
        self.place = Place::Static;
        self.row(row)
    }

    fn regular_row(&mut self, row: &Row) -> Checked {
        if !self.place.before_row(&row.clustering) {
            return Err("rows are out of order".into());
        }
        let order = row.clustering.order();
        let inside =
            |range: &ClusteringRange| range.start.cmp_row(order).is_lt() && range.end.cmp_row(order).is_gt();
        if !self.card.clustering.as_ref().is_some_and(inside) {
            return Err(OUTSIDE.into());
        }
        self.place = Place::Row(row.clustering.clone());
        self.row(row)
    }

    fn bound(&mut self, bound: &RangeBound) -> Checked {
        if !self.place.before_bound(&bound.at) {
            return Err("range bounds are out of order".into());
        }
        match &self.card.clustering {
            Some(range) if range.start <= bound.at && bound.at <= range.end => {}
            _ => return Err(OUTSIDE.into()),
        }
        self.place = Place::Bound(bound.at.clone());
        self.open = bound.deletion;
        bound.deletion.map_or(Ok(()), |deletion| self.deletion(deletion))
    }

    fn end(&self) -> Checked {
        match self.open {
            Some(_) => Err("a range deletion is not ended".into()),
            None => Ok(()),
        }
    }

    fn deletion(&self, deletion: Deletion) -> Checked {
        self.times(deletion.timestamp, deletion.local)
    }

    fn times(&self, timestamp: i64, second: i64) -> Checked {
        let card = self.card;
        let within = (card.min_timestamp..=card.max_timestamp).contains(&timestamp)
            && second <= card.max_local
            && (second == NEVER || card.min_local <= second);
        if within { Ok(()) } else { Err("a time lies outside of the card's ranges".into()) }
    }

    fn row(&self, row: &Row) -> Checked {
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
