//! Taking over from other files what compaction need not look into: whole blocks, and runs of rows.
//!
//! A block refers to nothing outside of itself, so a block that no other input overlaps and in which nothing is to be purged is
//! copied as it stands: a read, a checksum, a write. Where a whole block does not fit (its partition goes on differently,
//! it would be too small), runs of its rows are appended lane by lane.

use crate::encoding::checksum::strip_checksum;
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering};
use crate::model::life::Deletion;
use crate::model::token::hash128;
use crate::sstable::block::builder::FULL_ITEMS;
use crate::sstable::block::decoded::{DecodedBlock, ItemKind};
use crate::sstable::index::BlockEntry;
use crate::sstable::layout::LaneKind;
use crate::sstable::meta::FileMeta;
use crate::sstable::progress::{Current, Place};
use crate::sstable::reader::SsTable;
use crate::sstable::writer::{CHUNK_BYTES, SsTableWriter, out_of_order};
use std::ops::Range;
use std::sync::Arc;

/// How many rows with byte strings are appended between two looks at the block's weight.
const TEXT_RUN: usize = 32;

/// How the copied block ends.
struct End {
    deletion: Option<Deletion>,
    place: Place,
    open: Option<Deletion>,
}

impl SsTableWriter {
    /// Whether [`SsTableWriter::copy_block`] can take over blocks of `source` at all: they have the same columns.
    ///
    /// # Errors
    /// `Corrupt` if the schema of `source` is damaged.
    pub fn can_copy_from(&self, source: &SsTable) -> Result<bool> {
        Ok(*source.layout()? == self.layout)
    }

    /// Copies a block of `source` as it is. It must follow what was pushed so far: if it begins with a partition's beginning, that
    /// partition must not have been pushed; if it continues a partition, that must be the current one, with the same
    /// deletion and the same range deletion in force. The partition that it ends with is the current one afterwards.
    ///
    /// # Errors
    /// `Invalid` if the block does not fit here (nothing was written then, but the writer is failed), `Corrupt` if it is damaged,
    /// those of writing to a file.
    pub fn copy_block(&mut self, source: &SsTable, entry: &BlockEntry) -> Result<()> {
        self.guard(|writer| {
            if !writer.can_copy_from(source)? {
                return Err(Error::invalid("a block of other columns cannot be copied"));
            }
            let bytes = source.block_bytes(entry)?;
            let zone = entry.zone();
            let plain =
                entry.first == entry.last && zone.partition_tombstones == 0 && zone.range_tombstones == 0;
            let block = if plain {
                strip_checksum(bytes, "block").map_err(|error| error.at(source.path(), entry.offset))?;
                None
            } else {
                Some(source.read_block(entry)?)
            };
            let repeats = writer.check_fit(entry, block.as_deref())?;
            writer.close_block()?;
            let copy = BlockEntry { offset: writer.offset(), ..entry.clone() };
            writer.buffer.extend_from_slice(bytes);
            writer.count_copy(&copy, block.as_deref(), repeats, source.meta());
            let end = end_of(entry, block.as_deref())?;
            writer.current = Some(Current {
                key: entry.last.clone(),
                deletion: end.deletion,
                begun: true,
                place: end.place,
                open: end.open,
            });
            writer.index.push(copy);
            writer.flush_buffer(CHUNK_BYTES)
        })
    }

    /// Whether the block follows what was pushed, as [`SsTableWriter::copy_block`] says. Returns whether its first partition
    /// repeats its deletion.
    fn check_fit(&mut self, entry: &BlockEntry, block: Option<&DecodedBlock>) -> Result<bool> {
        let deletion = block.and_then(|block| block.partition(0).deletion);
        let open = block.and_then(DecodedBlock::open_deletion);
        if entry.continues {
            let fits = self.current.as_ref().is_some_and(|current| {
                current.begun
                    && current.key == entry.first
                    && current.deletion == deletion
                    && current.open == open
                    && current.place.before_copy(entry)
            });
            return if fits { Ok(deletion.is_some()) } else { Err(out_of_order("continuing block")) };
        }
        self.end_partition()?;
        match &self.current {
            Some(current) if current.key >= entry.first => Err(out_of_order("block")),
            _ => Ok(false),
        }
    }

    /// Filter, statistics and ranges of what a copied block holds.
    fn count_copy(
        &mut self,
        entry: &BlockEntry,
        block: Option<&DecodedBlock>,
        repeats: bool,
        source: &FileMeta,
    ) {
        let counts: Option<Vec<u64>> = block
            .map(|block| (0..block.partitions()).map(|p| block.partition(p).items.len() as u64).collect());
        match block {
            Some(block) => (usize::from(entry.continues)..block.partitions())
                .for_each(|p| self.filter.add(hash128(block.partition(p).key))),
            None if entry.continues => {}
            None => self.filter.add(hash128(&entry.first.key)),
        }
        self.collector.add_block(entry, counts.as_deref(), repeats);
        let first = self.ends.take().map_or_else(|| entry.first.clone(), |ends| ends.0);
        self.ends = Some((first, entry.last.clone()));
        if entry.first == entry.last {
            if entry.summary.items as u64 > entry.zone().static_rows {
                self.widen_start(&entry.summary.first);
                self.widen_end(&entry.summary.last);
            }
        } else if let Some(range) = &source.clustering {
            // Where each partition in the block begins and ends is not known; the source's range is wide enough.
            self.widen_start(&range.start);
            self.widen_end(&range.end);
        }
    }

    /// Appends items `items` of `block`, of the current partition, as they are: what they hold is neither reconciled nor purged.
    ///
    /// # Errors
    /// `Invalid` if the first does not follow what was pushed before, `Corrupt` if the block is damaged, those of writing.
    pub fn push_rows_from(&mut self, block: &Arc<DecodedBlock>, items: Range<usize>) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        self.guard(|writer| {
            writer.check_run(block, items.clone())?;
            let text =
                writer.layout.columns().iter().any(|column| LaneKind::of(&column.ty) == LaneKind::Bytes)
                    || writer
                        .layout
                        .clustering()
                        .iter()
                        .any(|column| LaneKind::of(&column.ty) == LaneKind::Bytes);
            let most = if text || !block.all_rows_marked() { TEXT_RUN } else { FULL_ITEMS };
            let mut start = items.start;
            while start < items.end {
                writer.start_item()?;
                let room = FULL_ITEMS.saturating_sub(writer.block.items()).max(1);
                let run = start..items.end.min(start + room.min(most));
                writer.block.push_rows_from(block, run.clone())?;
                writer.note_run(block, run.clone())?;
                start = run.end;
            }
            Ok(())
        })
    }

    /// Appends item `item` of `block`, of the current partition, as it is. `block` has the columns of this file and is
    /// [plain](DecodedBlock::is_plain).
    ///
    /// # Errors
    /// As [`SsTableWriter::push_rows_from`].
    #[inline]
    pub(crate) fn push_plain_row(&mut self, block: &DecodedBlock, item: usize) -> Result<()> {
        self.guard(|writer| {
            let clustering = block.clustering(item)?;
            let current = writer.start_item()?;
            if !current.place.before_row(&clustering) {
                return Err(out_of_order("row"));
            }
            if matches!(current.place, Place::Start | Place::Static) {
                writer.widen_start(&Bound::before(clustering.order()));
            }
            writer.block.push_plain_row(block, item, &clustering)?;
            writer.count_items(1);
            if let Some(current) = &mut writer.current {
                current.place = Place::Row(clustering);
            }
            Ok(())
        })
    }

    /// Whether items `items` may follow. If they begin the partition's rows, its range begins with them.
    fn check_run(&mut self, block: &DecodedBlock, items: Range<usize>) -> Result<()> {
        let current = self.start_item()?;
        let begins = matches!(current.place, Place::Start | Place::Static);
        let first = place_of(block, items.start)?;
        let fits = match &first {
            Place::Static | Place::Start => matches!(current.place, Place::Start),
            Place::Row(row) => current.place.before_row(row),
            Place::Bound(bound) => current.place.before_bound(bound),
        };
        if !fits {
            return Err(out_of_order("run of rows"));
        }
        let first = match first {
            Place::Static if items.len() > 1 => place_of(block, items.start + 1)?,
            first => first,
        };
        match first {
            Place::Row(row) if begins => self.widen_start(&Bound::before(row.order())),
            Place::Bound(bound) if begins => self.widen_start(&bound),
            _ => {}
        }
        Ok(())
    }

    /// What the run has changed: the place, the range deletion in force, the count of items.
    fn note_run(&mut self, block: &DecodedBlock, run: Range<usize>) -> Result<()> {
        self.count_items(run.len());
        let Some(current) = &mut self.current else { return Ok(()) };
        current.place = place_of(block, run.end - 1)?;
        if block.bound_count() > 0
            && let Some(last) = run.rev().find(|&i| block.kind(i) == ItemKind::Bound)
        {
            current.open = block.bound(last)?.deletion;
        }
        Ok(())
    }
}

impl Place {
    /// Whether a block that continues the partition may follow. Its first position is before its first item.
    fn before_copy(&self, entry: &BlockEntry) -> bool {
        match self {
            Self::Bound(last) => *last <= entry.summary.first,
            Self::Row(last) => entry.summary.first.cmp_row(last.order()).is_gt(),
            Self::Start | Self::Static => true,
        }
    }
}

/// Where item `i` stands.
fn place_of(block: &DecodedBlock, i: usize) -> Result<Place> {
    Ok(match block.kind(i) {
        ItemKind::Static => Place::Static,
        ItemKind::Row => Place::Row(block.clustering(i)?),
        ItemKind::Bound => Place::Bound(block.bound(i)?.at),
    })
}

/// What holds behind the last item of a block.
fn end_of(entry: &BlockEntry, block: Option<&DecodedBlock>) -> Result<End> {
    let Some(block) = block else {
        // Without range deletions the last item is a row, if there is any but a static one.
        let last = &entry.summary.last;
        let place = match last.is_after() {
            true => Place::Row(Clustering::new(Bytes::new(last.prefix()))),
            false => Place::Static,
        };
        return Ok(End { deletion: None, place, open: None });
    };
    let p = block.partitions() - 1;
    let partition = block.partition(p);
    let items = partition.items;
    Ok(End {
        deletion: partition.deletion,
        place: if items.is_empty() { Place::Start } else { place_of(block, items.end - 1)? },
        open: block.deletion_before(p, items.end)?,
    })
}
