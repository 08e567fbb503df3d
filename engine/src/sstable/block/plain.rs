//! Plain rows into a block, straight from their encoding.
//!
//! A flush pushes nearly all its rows this way: values go from the memtable's bytes into the columns' vectors, where
//! [`BlockBuilder::push_row`] would take a [`Row`](crate::model::row::Row) apart that was built for it alone.
//!
//! # Invariants
//! 1. The block is the one that pushing the decoded rows gives, byte for byte.

use crate::encoding::plain::{PlainCell, PlainRow};
use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering};
use crate::model::life::Liveness;
use crate::sstable::block::builder::{BlockBuilder, Last, MAX_WEIGHT, kind, too_large};
use crate::sstable::block::column::state;
use crate::sstable::block::column_builder::ColumnBuilder;
use crate::sstable::block::place::push_order;
use crate::sstable::block::summary::Zone;
use crate::sstable::block::values::Values;

impl BlockBuilder {
    /// Appends a plain row.
    ///
    /// # Errors
    /// As [`BlockBuilder::push_row`]; `Corrupt` if the row cannot be decoded.
    #[inline]
    pub fn push_plain(&mut self, row: &PlainRow<'_>) -> Result<()> {
        self.check_room()?;
        self.weight += push_order(&mut self.places, row.clustering)?;
        if self.first.is_none() {
            self.first = Some(Bound::before(row.clustering));
        }
        match &mut self.last {
            Last::Plain(last) => {
                last.clear();
                last.extend_from_slice(row.clustering);
            }
            Last::Row(_) => self.last = Last::Plain(row.clustering.to_vec()),
            _ => self.last = Last::Row(Clustering::new(Bytes::new(row.clustering))),
        }
        let life = row.life;
        self.zone.note_life(life.timestamp, life.ttl, life.expiry);
        self.push_life(kind::ROW, &life);
        let slots = self.schema.slots(false);
        let mut slot = slots.start;
        let mut cells = row.cells();
        while let Some((id, cell)) = cells.next_cell()? {
            slot = self.slot_from(slot, slots.end, id, false)?;
            let column = &mut self.columns[slot];
            column.pad(self.rows);
            self.weight += column.push_plain(cell, &life, &mut self.zone)?;
            slot += 1;
        }
        self.rows += 1;
        if self.weight > MAX_WEIGHT { Err(too_large()) } else { Ok(()) }
    }
}

impl ColumnBuilder {
    /// Appends the cell of the next row. Returns its weight.
    #[inline]
    fn push_plain(&mut self, cell: PlainCell<'_>, life: &Liveness, zone: &mut Zone) -> Result<usize> {
        match cell {
            PlainCell::Eight(number) if !self.holds_bytes() => self.values.push_eight(number)?,
            PlainCell::Four(number) if !self.holds_bytes() => self.values.push_four(number)?,
            PlainCell::Bytes(wire) if self.holds_bytes() => {
                self.values.push_wire(wire)?;
                zone.cells += 1;
                self.states.push(state::LIVE);
                return Ok(wire.len());
            }
            PlainCell::Other(cell) => return self.push_cell(&cell, life, zone),
            // Short byte strings of a length that numbers have, and empty or short numbers.
            PlainCell::Eight(number) => return self.push_live(&number.to_be_bytes(), life, zone),
            PlainCell::Four(number) => return self.push_live(&number.to_be_bytes(), life, zone),
            PlainCell::Bytes(wire) => return self.push_live(wire, life, zone),
        }
        zone.cells += 1;
        self.states.push(state::LIVE);
        Ok(0)
    }

    #[inline]
    fn holds_bytes(&self) -> bool {
        matches!(self.values, Values::Bytes(_))
    }

    fn push_live(&mut self, wire: &[u8], life: &Liveness, zone: &mut Zone) -> Result<usize> {
        self.push_cell(&crate::model::cell::Cell::live(*life, Bytes::new(wire)), life, zone)
    }
}
