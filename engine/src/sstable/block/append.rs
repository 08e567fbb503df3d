//! Runs of rows from one block into another, lane by lane: what compaction does where its inputs do not overlap.
//!
//! Copying the values of a column is a slice copy; building rows and taking them apart again would cost ten times as
//! much. Only runs of plain rows go this way; what is rare (static rows, bounds, rows without marker) is pushed row by row by the
//! same call.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::model::clustering::{Bound, Clustering};
use crate::model::row::Row;
use crate::sstable::block::builder::{BlockBuilder, Last, MAX_ITEMS, kind};
use crate::sstable::block::decoded::DecodedBlock;
use crate::sstable::block::rows::Projection;

impl BlockBuilder {
    /// Appends items `items` of `block`, which must all be of the partition that was begun last, as they are. The caller keeps
    /// runs short enough for the block ([`BlockBuilder::is_full`] is not looked at in between) and applies what deletes or expires first.
    ///
    /// # Errors
    /// `Invalid` if `block` has cells of columns that this builder's schema lacks, or `items` pass its end; `Corrupt` if its lanes
    /// are damaged.
    pub fn push_rows_from(&mut self, block: &DecodedBlock, items: Range<usize>) -> Result<()> {
        if items.end > block.items() || items.is_empty() {
            return Ok(());
        }
        let same = block.schema() == &self.schema;
        let mut start = items.start;
        while start < items.end {
            let plain = |item: &usize| same && block.kind_code(*item) == kind::ROW;
            let run = match same && block.all_rows_marked() {
                true => items.end - start,
                false => (start..items.end).take_while(plain).count(),
            };
            if run > 0 {
                self.push_plain_rows(block, start..start + run)?;
                start += run;
            } else {
                self.push_item(block, start)?;
                start += 1;
            }
        }
        Ok(())
    }

    /// Appends item `item` of `block`, a row at `clustering`, value by value. For blocks of this builder's schema that are
    /// [plain](DecodedBlock::is_plain).
    ///
    /// # Errors
    /// As [`BlockBuilder::push_rows_from`].
    pub(crate) fn push_plain_row(
        &mut self,
        block: &DecodedBlock,
        item: usize,
        clustering: &Clustering,
    ) -> Result<()> {
        self.check_room(1)?;
        if self.first.is_none() {
            self.first = Some(Bound::before(clustering.order()));
        }
        self.last = Last::Row(clustering.clone());
        let life = block.lives()?.of(item);
        self.zone.note_life(life.timestamp, life.ttl, life.expiry);
        self.push_life(kind::ROW, &life);
        for (place, lane) in self.places.iter_mut().zip(block.all_places()?) {
            self.weight += place.extend_from(lane, item..item + 1)?;
        }
        for slot in self.schema.slots(false) {
            let from = block.column(slot)?;
            if !from.is_absent() {
                let column = &mut self.columns[slot];
                column.pad(self.rows);
                self.weight += column.push_value(from, item, &mut self.zone)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn push_item(&mut self, block: &DecodedBlock, item: usize) -> Result<()> {
        let mut row = Row::default();
        match block.kind_code(item) {
            kind::BOUND => self.push_bound(&block.bound(item)?),
            code => {
                block.read_row(item, &Projection::all(block.schema()), &mut row)?;
                if code == kind::STATIC { self.push_static(&row) } else { self.push_row(&row) }
            }
        }
    }

    /// Rows with a marker, of a block with this builder's schema.
    fn push_plain_rows(&mut self, block: &DecodedBlock, items: Range<usize>) -> Result<()> {
        self.check_room(1)?;
        if items.len() > MAX_ITEMS - self.items() {
            return Err(Error::invalid("a run of rows is longer than a block can be"));
        }
        if self.first.is_none() {
            self.first = Some(Bound::before(block.clustering(items.start)?.order()));
        }
        self.last = Last::Row(block.clustering(items.end - 1)?);
        let lives = block.lives()?;
        for item in items.clone() {
            let life = lives.of(item);
            self.zone.note_life(life.timestamp, life.ttl, life.expiry);
        }
        let before = self.items();
        self.timestamps.extend_from_slice(&lives.timestamps[items.clone()]);
        self.kinds.pad(before + items.len(), kind::ROW);
        lives.extend_into(items.clone(), &mut self.ttls, &mut self.expiries);
        for (place, lane) in self.places.iter_mut().zip(block.all_places()?) {
            self.weight += place.extend_from(lane, items.clone())?;
        }
        for (item, deletion) in block.row_deletions()?.within(items.clone()) {
            self.row_deletions.push(before + item - items.start, deletion);
            self.zone.row_tombstones += 1;
            self.zone.note_deletion(deletion);
        }
        let rows = block.number(items.start)..block.number(items.end - 1) + 1;
        let reference = |row: usize| lives.of(items.start + row - rows.start);
        for slot in self.schema.slots(false) {
            let (column, from) = (&mut self.columns[slot], block.column(slot)?);
            if !from.is_absent() {
                column.pad(self.rows);
                self.weight += column.push_range(from, rows.clone(), reference, &mut self.zone)?;
            }
        }
        self.rows += items.len();
        if let Some(count) = self.items_of.last_mut() {
            *count += items.len() as i64;
        }
        Ok(())
    }
}
