//! Rows from a memtable into a block, from their encoded bytes into the columns' lanes.
//!
//! Building the rows (cells with values of their own, each with an allocation or a copy) would cost more than
//! everything else that a flush does for them. Flushes hand on runs of what [`PlainRow`] knows, which go column by column
//! where all rows of a run have the same ones ([`PlainRun`]), and cell by cell where not.

use crate::encoding::plain::{PlainCell, PlainRow};
use crate::encoding::plain_run::PlainRun;
use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::{Bound, Clustering};
use crate::model::life::Liveness;
use crate::sstable::block::builder::{
    BlockBuilder, FULL_ITEMS, FULL_WEIGHT, Last, MAX_WEIGHT, kind, too_large,
};
use crate::sstable::block::column::state;
use crate::sstable::block::column_builder::ColumnBuilder;
use crate::sstable::block::place::push_order;
use crate::sstable::block::summary::Zone;
use crate::sstable::block::values::Values;
use crate::sstable::layout::IntWidth;

impl BlockBuilder {
    /// How many of `rows` are to be appended before [`is_full`](Self::is_full) is asked again: one at least.
    pub fn room_for(&self, rows: &[PlainRow<'_>]) -> usize {
        let most = rows.len().min(FULL_ITEMS.saturating_sub(self.items()));
        let mut room = FULL_WEIGHT.saturating_sub(self.weight);
        // What a row weighs is in its bytes, so that no row is taken that would have come behind a full block.
        let fits = |row: &&PlainRow<'_>| {
            let fits = room > 0;
            room = room.saturating_sub(row.encoded_len());
            fits
        };
        rows[..most].iter().take_while(fits).count().max(1)
    }

    /// Appends plain rows of the partition that was begun last.
    ///
    /// # Errors
    /// As [`BlockBuilder::push_row`]; `Corrupt` if one cannot be decoded.
    pub fn push_plain(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(()) };
        self.check_room(rows.len())?;
        if self.first.is_none() {
            self.first = Some(Bound::before(first.clustering));
        }
        self.last = Last::Row(Clustering::new(Bytes::new(last.clustering)));
        for row in rows {
            self.weight += push_order(&mut self.places, row.clustering)?;
            let life = row.life;
            self.zone.note_life(life.timestamp, life.ttl, life.expiry);
            self.push_life(kind::ROW, &life);
        }
        self.push_cells(rows)?;
        self.rows += rows.len();
        if self.weight > MAX_WEIGHT { Err(too_large()) } else { Ok(()) }
    }

    fn push_cells(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        let mut run = PlainRun::new(rows);
        let slots = self.schema.slots(false);
        let mut slot = slots.start;
        while let Some(id) = run.column() {
            slot = self.slot_from(slot, slots.end, id, false)?;
            let column = &mut self.columns[slot];
            column.pad(self.rows);
            self.weight += column.push_run(&mut run, &mut self.zone);
            slot += 1;
        }
        for (i, (row, mut cells)) in rows.iter().zip(run.into_cells()).enumerate() {
            let mut slot = slots.start;
            while let Some((id, cell)) = cells.next_cell()? {
                slot = self.slot_from(slot, slots.end, id, false)?;
                let column = &mut self.columns[slot];
                column.pad(self.rows + i);
                self.weight += column.push_plain(cell, &row.life, &mut self.zone)?;
                slot += 1;
            }
        }
        Ok(())
    }
}

impl ColumnBuilder {
    /// Appends the next cells of a run, as many as it gives in step. Returns their weight.
    fn push_run(&mut self, run: &mut PlainRun<'_, '_>, zone: &mut Zone) -> usize {
        let mut weight = 0;
        let taken = match &mut self.values {
            Values::Doubles(values) => run.take_eights(|number| values.push(f64::from_bits(number))),
            Values::Floats(values) => run.take_fours(|number| values.push(f32::from_bits(number))),
            Values::Ints(IntWidth::I64, values) => {
                run.take_eights(|number| values.push(number.cast_signed()))
            }
            Values::Ints(IntWidth::I32, values) => {
                run.take_fours(|number| values.push(number.cast_signed().into()))
            }
            Values::Ints(IntWidth::U32, values) => run.take_fours(|number| values.push(number.into())),
            Values::Ints(width, values) => run.take_wires(|wire| match width.parse(wire) {
                Some(value) => {
                    values.push(value);
                    true
                }
                None => false, // empty or wrong, which is looked at one by one
            }),
            Values::Bytes(values) => run.take_wires(|wire| {
                weight += wire.len();
                values.push(wire);
                true
            }),
        };
        zone.cells += taken as u64;
        self.states.pad(self.states.len() + taken, state::LIVE);
        weight
    }

    /// Appends the cell of the next row. Returns its weight.
    #[inline]
    fn push_plain(&mut self, cell: PlainCell<'_>, life: &Liveness, zone: &mut Zone) -> Result<usize> {
        match cell {
            PlainCell::Eight(number) if !self.holds_bytes() => self.values.push_eight(number)?,
            PlainCell::Four(number) if !self.holds_bytes() => self.values.push_four(number)?,
            PlainCell::Other(cell) => return self.push_cell(&cell, life, zone),
            // Byte strings, among them those of a length that numbers have, and empty or short numbers.
            PlainCell::Bytes(wire) => return self.push_live(wire, life, zone),
            PlainCell::Eight(number) => return self.push_live(&number.to_be_bytes(), life, zone),
            PlainCell::Four(number) => return self.push_live(&number.to_be_bytes(), life, zone),
        }
        zone.cells += 1;
        self.states.push(state::LIVE);
        Ok(0)
    }

    #[inline]
    fn holds_bytes(&self) -> bool {
        matches!(self.values, Values::Bytes(_))
    }

    #[inline]
    fn push_live(&mut self, wire: &[u8], life: &Liveness, zone: &mut Zone) -> Result<usize> {
        if !self.holds_bytes() {
            return self.push_cell(&Cell::live(*life, Bytes::new(wire)), life, zone);
        }
        self.values.push_wire(wire)?;
        zone.cells += 1;
        self.states.push(state::LIVE);
        Ok(wire.len())
    }
}
