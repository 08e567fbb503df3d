//! Builds a data block: takes partitions, rows and bounds in their order, keeps them by column, and writes the block.
//!
//! Flush and compaction push fragments until [`BlockBuilder::is_full`], then [`BlockBuilder::finish`]; a partition that goes on is
//! begun again in the next block. Runs of rows that come from another block as they are go through
//! [`BlockBuilder::push_rows_from`](crate::sstable::block::append), rows as memtables hold them through
//! [`BlockBuilder::push_plain`](crate::sstable::block::plain).
//!
//! # Invariants
//! 1. After an error the builder's contents are undefined: the writer gives up.
//! 2. Columns take their gaps late: a column's row count is brought up to date when it gets its next cell, or at the end, so that a
//!    wide table's rows cost only what they hold.

use std::sync::Arc;

use crate::encoding::bytes_lane::ByteStrings;
use crate::encoding::checksum::put_checksum;
use crate::encoding::compress::Codec;
use crate::encoding::int_lane::{IntPlan, MAX_LANE_VALUES};
use crate::encoding::varint::put_varint;
use crate::error::{Error, Result};
use crate::model::cell::ColumnId;
use crate::model::clustering::Bound;
use crate::model::fragment::RangeBound;
use crate::model::life::{Deletion, Liveness};
use crate::model::row::Row;
use crate::model::types::CqlType;
use crate::sstable::block::column_builder::ColumnBuilder;
use crate::sstable::block::life::{DeletionsBuilder, expiry_residual};
use crate::sstable::block::place::{PlaceBuilder, push_clustering, push_prefix};
use crate::sstable::block::summary::{BlockSummary, ColumnZone, Zone};
use crate::sstable::block::values::{SparseInts, Values};
use crate::sstable::block::writer::LaneWriter;
use crate::sstable::layout::{BlockSchema, lane_id};

/// Version of the block format that is written.
pub(crate) const VERSION: u8 = 1;
/// Flag: the first partition began in an earlier block.
pub(crate) const CONTINUED: u8 = 1;
/// Flag: the TS lane holds write time - 1000 * first clustering value.
pub(crate) const TS_RELATIVE: u8 = 2;

/// Items (or partitions) at which a block is full.
pub const FULL_ITEMS: usize = 1024;
/// Weight at which a block is full: a byte string weighs its bytes, a cell with a life of its own 16, a number nothing.
pub const FULL_WEIGHT: usize = 16 * 1024;
/// The most items or partitions that a block can have.
pub const MAX_ITEMS: usize = 65_536;
/// The most bytes that one row may have in a block: lanes of byte strings address 32 bits.
pub(super) const MAX_WEIGHT: usize = 1 << 31;

/// Kinds of items.
pub(crate) mod kind {
    pub(crate) const ROW: i64 = 0;
    /// A row without primary-key liveness.
    pub(crate) const UNMARKED: i64 = 1;
    pub(crate) const STATIC: i64 = 2;
    pub(crate) const BOUND: i64 = 3;
}

/// A data block on its way.
#[derive(Debug)]
pub struct BlockBuilder {
    pub(super) schema: Arc<BlockSchema>,
    codec: Codec,
    keys: ByteStrings,
    pub(super) items_of: Vec<i64>,
    partition_deletions: DeletionsBuilder,
    pub(super) kinds: SparseInts,
    pub(super) timestamps: Vec<i64>,
    pub(super) ttls: SparseInts,
    pub(super) expiries: SparseInts,
    pub(super) row_deletions: DeletionsBuilder,
    bounds: Vec<i64>,
    bound_deletions: DeletionsBuilder,
    pub(super) places: Vec<PlaceBuilder>,
    pub(super) columns: Vec<ColumnBuilder>,
    pub(super) rows: usize,
    static_rows: usize,
    pub(super) weight: usize,
    pub(super) zone: Zone,
    /// Where the first partition's items begin, once known.
    pub(super) first: Option<Bound>,
    pub(super) last: Last,
    relative: Vec<i64>,
    writer: LaneWriter,
}

/// What the last item is, from which its bound is made when it is asked for.
#[derive(Debug)]
pub(super) enum Last {
    Nothing,
    Row(crate::model::clustering::Clustering),
    Bound(Bound),
}

impl BlockBuilder {
    /// An empty builder for blocks of `schema`, compressed by `codec`.
    pub fn new(schema: Arc<BlockSchema>, codec: Codec) -> Self {
        let place =
            |column: &crate::sstable::layout::ClusteringColumn| PlaceBuilder::new(&column.ty, column.desc);
        Self {
            codec,
            keys: ByteStrings::new(),
            items_of: Vec::new(),
            partition_deletions: DeletionsBuilder::default(),
            kinds: SparseInts::default(),
            timestamps: Vec::new(),
            ttls: SparseInts::default(),
            expiries: SparseInts::default(),
            row_deletions: DeletionsBuilder::default(),
            bounds: Vec::new(),
            bound_deletions: DeletionsBuilder::default(),
            places: schema.clustering().iter().map(place).collect(),
            columns: schema.columns().iter().map(ColumnBuilder::new).collect(),
            rows: 0,
            static_rows: 0,
            weight: 0,
            zone: Zone::default(),
            first: None,
            last: Last::Nothing,
            relative: Vec::new(),
            writer: LaneWriter::default(),
            schema,
        }
    }

    /// Begins a partition, or goes on with one that an earlier block began; its deletion is repeated then.
    ///
    /// # Errors
    /// `Invalid` if the block is far beyond full.
    pub fn begin_partition(&mut self, key: &[u8], deletion: Option<Deletion>) -> Result<()> {
        if self.items_of.len() >= MAX_ITEMS {
            return Err(too_large());
        }
        if !self.items_of.is_empty() && self.first.is_none() {
            self.first = Some(Bound::bottom()); // the first partition stayed without items
        }
        self.last = Last::Nothing;
        if let Some(deletion) = deletion {
            self.partition_deletions.push(self.items_of.len(), deletion);
            self.zone.partition_tombstones += 1;
            self.zone.note_deletion(deletion);
        }
        self.items_of.push(0);
        self.keys.push(key);
        self.weight += key.len();
        Ok(())
    }

    /// Appends the static row of the partition; it comes first.
    ///
    /// # Errors
    /// `Invalid` for a cell of an unknown or non-static column, or a value that is not of its column's type.
    pub fn push_static(&mut self, row: &Row) -> Result<()> {
        self.check_room(1)?;
        self.places.iter_mut().for_each(PlaceBuilder::push_repeated);
        self.first.get_or_insert_with(Bound::bottom);
        self.zone.static_rows += 1;
        let reference = reference_of(row);
        self.push_life(kind::STATIC, &reference);
        self.push_contents(row, &reference, true)?;
        self.static_rows += 1;
        Ok(())
    }

    /// Appends a row.
    ///
    /// # Errors
    /// `Invalid` for a cell of an unknown or static column, or a value or clustering that is not of its column's type.
    pub fn push_row(&mut self, row: &Row) -> Result<()> {
        self.check_room(1)?;
        self.weight += push_clustering(&mut self.places, &row.clustering)?;
        if self.first.is_none() {
            self.first = Some(Bound::before(row.clustering.order()));
        }
        self.last = Last::Row(row.clustering.clone());
        let reference = match row.liveness {
            Some(life) => {
                self.zone.note_life(life.timestamp, life.ttl, life.expiry);
                self.push_life(kind::ROW, &life);
                life
            }
            None => {
                let reference = reference_of(row);
                self.push_life(kind::UNMARKED, &reference);
                reference
            }
        };
        self.push_contents(row, &reference, false)?;
        self.rows += 1;
        Ok(())
    }

    /// Appends a place where the range deletion in force changes.
    ///
    /// # Errors
    /// `Invalid` for a bound that is not of this table.
    pub fn push_bound(&mut self, bound: &RangeBound) -> Result<()> {
        self.check_room(1)?;
        let (values, weight) = push_prefix(&mut self.places, &bound.at)?;
        self.weight += weight;
        self.first.get_or_insert_with(|| bound.at.clone());
        self.last = Last::Bound(bound.at.clone());
        if let Some(deletion) = bound.deletion {
            self.bound_deletions.push(self.bounds.len(), deletion);
            self.zone.range_tombstones += 1;
            self.zone.note_deletion(deletion);
        }
        self.bounds.push(2 * values as i64 + i64::from(bound.at.is_after()));
        let timestamp = self.timestamps.last().copied().or(bound.deletion.map(|d| d.timestamp));
        self.push_life(kind::BOUND, &Liveness::new(timestamp.unwrap_or(0)));
        Ok(())
    }

    /// Items so far.
    pub fn items(&self) -> usize {
        self.timestamps.len()
    }

    /// Whether nothing was pushed, not even a partition.
    pub fn is_empty(&self) -> bool {
        self.items_of.is_empty()
    }

    /// Whether it should be finished before anything else is pushed.
    pub fn is_full(&self) -> bool {
        self.items() >= FULL_ITEMS || self.weight >= FULL_WEIGHT || self.items_of.len() >= FULL_ITEMS
    }

    #[inline]
    pub(super) fn push_life(&mut self, kind: i64, life: &Liveness) {
        self.kinds.push(kind);
        self.timestamps.push(life.timestamp);
        self.ttls.push(life.ttl.into());
        self.expiries.push(expiry_residual(life.timestamp, life.ttl, life.expiry));
        if let Some(items) = self.items_of.last_mut() {
            *items += 1;
        }
    }

    /// Deletion and cells of a row.
    fn push_contents(&mut self, row: &Row, reference: &Liveness, statics: bool) -> Result<()> {
        if let Some(deletion) = row.deletion {
            self.row_deletions.push(self.items() - 1, deletion);
            self.zone.row_tombstones += 1;
            self.zone.note_deletion(deletion);
        }
        let slots = self.schema.slots(statics);
        let number = if statics { self.static_rows } else { self.rows };
        let (mut slot, mut shared) = (slots.start, row.liveness.is_some() && !statics);
        for (id, cell) in &row.cells {
            slot = self.slot_from(slot, slots.end, *id, false)?;
            let column = &mut self.columns[slot];
            column.pad(number);
            self.weight += column.push_cell(cell, reference, &mut self.zone)?;
            slot += 1;
            shared |= cell.value.is_some();
        }
        slot = slots.start;
        for complex in &row.complex {
            slot = self.slot_from(slot, slots.end, complex.column, true)?;
            let column = &mut self.columns[slot];
            column.pad(number);
            self.weight += column.push_complex(complex, reference, &mut self.zone)?;
            slot += 1;
            shared |= complex.cells.iter().any(|(_, cell)| cell.value.is_some());
            if column.states.len() > MAX_LANE_VALUES {
                return Err(too_large());
            }
        }
        // The life that cells share with the row; that of a marked row was noted with the marker.
        if shared && (statics || row.liveness.is_none()) {
            self.zone.note_life(reference.timestamp, reference.ttl, reference.expiry);
        }
        if self.weight > MAX_WEIGHT { Err(too_large()) } else { Ok(()) }
    }

    /// The slot of column `id`, which is not before `slot`.
    #[inline]
    pub(super) fn slot_from(&self, slot: usize, end: usize, id: ColumnId, multicell: bool) -> Result<usize> {
        let columns = &self.schema.columns()[slot..end];
        let found = match columns.first() {
            Some(first) if first.id == id => Some(slot),
            _ => columns.binary_search_by_key(&id, |column| column.id).ok().map(|i| slot + i),
        };
        found.filter(|&slot| self.columns[slot].multicell == multicell).ok_or_else(|| {
            Error::invalid(format!("a row has cells of column {}, which its file's schema lacks", id.0))
        })
    }

    /// Whether there is room for `items` more.
    pub(super) fn check_room(&self, items: usize) -> Result<()> {
        if self.items_of.is_empty() {
            return Err(Error::invalid("a row or bound was pushed before its partition"));
        }
        if items > MAX_ITEMS.saturating_sub(self.items()) { Err(too_large()) } else { Ok(()) }
    }

    /// Appends the block to `out` and empties the builder. `continued`: the first partition began in an earlier block, where
    /// `open_deletion` is the range deletion in force at the first item of this one.
    ///
    /// # Errors
    /// `Invalid` if there is no partition to write.
    pub fn finish(
        &mut self,
        out: &mut Vec<u8>,
        continued: bool,
        open_deletion: Option<Deletion>,
    ) -> Result<BlockSummary> {
        let summary = self.complete(open_deletion)?;
        self.writer.clear();
        let relative = self.write_items(open_deletion);
        self.write_columns();
        let start = out.len();
        out.push(VERSION);
        out.push(u8::from(continued) * CONTINUED + u8::from(relative) * TS_RELATIVE);
        put_varint(out, self.items_of.len() as u64);
        put_varint(out, self.timestamps.len() as u64);
        put_varint(out, self.writer.lanes);
        out.extend_from_slice(&self.writer.directory);
        out.extend_from_slice(&self.writer.bodies);
        put_checksum(out, start);
        self.clear();
        Ok(summary)
    }

    /// What [`BlockBuilder::finish`] would return, without writing the block.
    ///
    /// # Errors
    /// As [`BlockBuilder::finish`].
    pub fn sum_up(&mut self, open_deletion: Option<Deletion>) -> Result<BlockSummary> {
        let summary = self.complete(open_deletion)?;
        self.clear();
        Ok(summary)
    }

    fn complete(&mut self, open_deletion: Option<Deletion>) -> Result<BlockSummary> {
        if self.is_empty() {
            return Err(Error::invalid("a block without partitions cannot be written"));
        }
        if let Some(deletion) = open_deletion {
            self.zone.note_deletion(deletion);
            self.zone.range_tombstones += 1;
        }
        let (statics, rows) = (self.static_rows, self.rows);
        for (slot, column) in self.columns.iter_mut().enumerate() {
            column.pad(if self.schema.slots(true).contains(&slot) { statics } else { rows });
        }
        Ok(self.summary())
    }

    /// Writes all lanes but the columns'. Returns whether write times are relative to the first clustering column.
    fn write_items(&mut self, open: Option<Deletion>) -> bool {
        let (w, codec) = (&mut self.writer, self.codec);
        w.bytes(codec, lane_id::KEY, &self.keys);
        w.ints(codec, lane_id::ITEMS, &self.items_of);
        w.deletions(codec, lane_id::PARTITION_DELETION, &self.partition_deletions);
        w.sparse(codec, lane_id::KIND, &self.kinds);
        self.relative.clear();
        if let (Some(column), Some(place)) = (self.schema.clustering().first(), self.places.first())
            && let (CqlType::Timestamp, Values::Ints(_, places)) = (&column.ty, &place.values)
        {
            let pairs = self.timestamps.iter().zip(places);
            self.relative.extend(pairs.map(|(ts, place)| ts.wrapping_sub(place.wrapping_mul(1000))));
        }
        let absolute = IntPlan::new(&self.timestamps);
        let relative = IntPlan::new(&self.relative);
        let is_relative = !self.relative.is_empty() && relative.bits() < absolute.bits();
        let (times, plan) =
            if is_relative { (&self.relative, &relative) } else { (&self.timestamps, &absolute) };
        if times.iter().any(|&time| time != 0) {
            w.planned_ints(codec, lane_id::TS, times.len(), plan);
        }
        w.sparse(codec, lane_id::TTL, &self.ttls);
        w.sparse(codec, lane_id::EXPIRY, &self.expiries);
        w.deletions(codec, lane_id::ROW_DELETION, &self.row_deletions);
        w.ints(codec, lane_id::BOUND, &self.bounds);
        w.deletions(codec, lane_id::BOUND_DELETION, &self.bound_deletions);
        let mut opening = DeletionsBuilder::default();
        open.into_iter().for_each(|deletion| opening.push(0, deletion));
        w.deletions(codec, lane_id::OPEN, &opening);
        for (k, place) in self.places.iter().enumerate() {
            w.values(codec, lane_id::clustering(k), &place.values);
            w.sparse(codec, lane_id::clustering(k) + 1, &place.empties);
        }
        is_relative
    }

    fn write_columns(&mut self) {
        let (w, codec) = (&mut self.writer, self.codec);
        for (slot, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.is_absent()) {
            let id = |part| lane_id::column(self.places.len(), slot, part);
            w.sparse(codec, id(lane_id::STATE), &column.states);
            w.values(codec, id(lane_id::VALUE), &column.values);
            w.own_lives(codec, id(lane_id::OWN), &column.own);
            w.sparse(codec, id(lane_id::CELLS), &column.cells);
            if let Some(paths) = &column.paths {
                w.values(codec, id(lane_id::PATH), &paths.values);
                w.sparse(codec, id(lane_id::PATH) + 1, &paths.empties);
            }
        }
    }

    fn summary(&self) -> BlockSummary {
        let zones = self.columns.iter().enumerate().filter(|(_, column)| !column.multicell);
        let last = match &self.last {
            Last::Nothing => Bound::bottom(),
            Last::Row(clustering) => Bound::after(clustering.order()),
            Last::Bound(bound) => bound.clone(),
        };
        BlockSummary {
            partitions: self.items_of.len(),
            items: self.items(),
            rows: self.rows,
            first: self.first.clone().unwrap_or_else(Bound::bottom),
            last,
            zone: self.zone,
            columns: zones
                .filter_map(|(slot, column)| ColumnZone::of(&column.values).map(|zone| (slot, zone)))
                .collect(),
        }
    }

    /// Forgets what was pushed, and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.items_of.clear();
        self.partition_deletions.clear();
        self.kinds.clear();
        self.timestamps.clear();
        self.ttls.clear();
        self.expiries.clear();
        self.row_deletions.clear();
        self.bounds.clear();
        self.bound_deletions.clear();
        self.places.iter_mut().for_each(PlaceBuilder::clear);
        self.columns.iter_mut().for_each(ColumnBuilder::clear);
        (self.rows, self.static_rows, self.weight) = (0, 0, 0);
        self.zone = Zone::default();
        self.first = None;
        self.last = Last::Nothing;
    }
}

/// The life that the cells of a row without marker are held against: that of its first value; where there is none, a time that
/// stands in the row, so that differences stay small.
fn reference_of(row: &Row) -> Liveness {
    let live = row.all_cells().find(|cell| cell.value.is_some());
    if let Some(cell) = live {
        return cell.life();
    }
    let deleted = row.all_cells().next().map(|cell| cell.timestamp);
    let deleted = deleted.or(row.deletion.map(|deletion| deletion.timestamp));
    let complex =
        || row.complex.iter().find_map(|complex| complex.deletion).map(|deletion| deletion.timestamp);
    Liveness::new(deleted.or_else(complex).unwrap_or(0))
}

#[cold]
pub(super) fn too_large() -> Error {
    Error::invalid("a row, or the rows of one block, are too large to be stored")
}
