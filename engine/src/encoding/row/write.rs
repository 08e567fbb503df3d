//! Rows into bytes.

use crate::encoding::bytes::put_bytes;
use crate::encoding::row::value::{RAW4, RAW8, eight_code, four_code, put_value};
use crate::encoding::row::{
    BELOW, COMPLEX, DELETION, EXPIRY, FAR, LIFE, MARKER, OWN, OWN_LOCAL, OWN_TIMESTAMP, OWN_TOMBSTONE,
    OWN_TTL, Place, RAW, RowHead, Stamp, TOMBSTONE, TTL,
};
use crate::encoding::varint::{put_signed, put_varint, varint_word};
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::row::{Complex, Row};

/// Length of the usual clustering: one timestamp or bigint.
const USUAL_ORDER: usize = 9;

/// Writes a row into a buffer, cell by cell in ascending order of column ids.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    out: &'a mut Vec<u8>,
    next: u32,
    live: bool,
    deleted: bool,
}

impl<'a> RowEncoder<'a> {
    /// Begins a row without collections. `clustering` is byte-comparable.
    #[inline]
    pub fn begin(out: &'a mut Vec<u8>, clustering: &Clustering, head: &RowHead, stamp: Stamp) -> Self {
        Self::begin_at(out, Place::of(clustering), head, stamp)
    }

    /// [`RowEncoder::begin`] with the bytes of a clustering.
    #[inline]
    pub fn begin_at(out: &'a mut Vec<u8>, place: Place<'_>, head: &RowHead, stamp: Stamp) -> Self {
        Self::begin_with(out, place, head, stamp, &[])
    }

    #[inline]
    fn begin_with(
        out: &'a mut Vec<u8>,
        place: Place<'_>,
        head: &RowHead,
        stamp: Stamp,
        complex: &[Complex],
    ) -> Self {
        let mut flags = if head.marker { MARKER } else { 0 };
        flags |= if head.timestamp.is_some() { LIFE } else { 0 };
        flags |= if head.ttl != 0 { TTL } else { 0 };
        flags |= if head.ttl != 0 && head.expiry.is_some() { EXPIRY } else { 0 };
        flags |= if head.deletion.is_some() { DELETION } else { 0 };
        flags |= if place.raw.is_some() { RAW } else { 0 };
        flags |= if complex.is_empty() { 0 } else { COMPLEX };
        match <[u8; USUAL_ORDER]>::try_from(place.order) {
            Ok([a, b, c, d, e, f, g, h, i]) => {
                out.extend_from_slice(&[flags, USUAL_ORDER as u8, a, b, c, d, e, f, g, h, i]);
            }
            Err(_) => {
                out.push(flags);
                put_bytes(out, place.order);
            }
        }
        if let Some(raw) = place.raw {
            put_bytes(out, raw);
        }
        if let Some(timestamp) = head.timestamp {
            out.extend_from_slice(&timestamp.to_le_bytes());
        }
        if head.ttl != 0 {
            put_varint(out, u64::from(head.ttl.unsigned_abs()));
            if let Some(expiry) = head.expiry {
                put_signed(out, expiry);
            }
        }
        if let Some(deletion) = head.deletion {
            put_deletion(out, deletion, stamp);
        }
        if !complex.is_empty() {
            let life = head.timestamp.unwrap_or(stamp.timestamp);
            put_varint(out, complex.len() as u64);
            complex.iter().for_each(|c| put_complex(out, c, life, stamp));
        }
        Self { out, next: 0, live: head.marker, deleted: false }
    }

    /// A live value (wire bytes) with the row's life.
    #[inline]
    pub fn value(&mut self, column: ColumnId, wire: &[u8]) {
        let head = self.out.len();
        self.head(column);
        self.live = true;
        let form = put_value(self.out, wire);
        self.out[head] |= form;
    }

    /// [`RowEncoder::value`] for wire bytes of this length.
    #[inline]
    pub fn eight(&mut self, column: ColumnId, wire: [u8; 8]) {
        match (self.near(column), eight_code(wire)) {
            (Some(head), Some((form, code))) => self.near_number(head | form, code),
            (Some(head), None) => {
                let [a, b, c, d, e, f, g, h] = wire;
                self.out.extend_from_slice(&[head | RAW8, a, b, c, d, e, f, g, h]);
            }
            (None, _) => return self.value(column, &wire),
        }
        self.noted(column);
    }

    /// [`RowEncoder::value`] for wire bytes of this length.
    #[inline]
    pub fn four(&mut self, column: ColumnId, wire: [u8; 4]) {
        match (self.near(column), four_code(wire)) {
            (Some(head), Some((form, code))) => self.near_number(head | form, code),
            (Some(head), None) => {
                let [a, b, c, d] = wire;
                self.out.extend_from_slice(&[head | RAW4, a, b, c, d]);
            }
            (None, _) => return self.value(column, &wire),
        }
        self.noted(column);
    }

    /// The head of a column's cell without its form, if it takes one byte.
    #[inline]
    fn near(&self, column: ColumnId) -> Option<u8> {
        debug_assert!(column.0 >= self.next, "cells come in ascending order of columns");
        let gap = column.0.wrapping_sub(self.next);
        (gap < FAR).then_some((gap << 3) as u8)
    }

    /// A head and a number as a varint, as one word.
    #[inline]
    fn near_number(&mut self, head: u8, code: u64) {
        let (word, length) = varint_word(code);
        let end = self.out.len() + 1 + length;
        self.out.extend_from_slice(&(word << 8 | u64::from(head)).to_le_bytes());
        self.out.truncate(end);
    }

    /// A live value of a column is written.
    #[inline]
    fn noted(&mut self, column: ColumnId) {
        self.next = column.0.wrapping_add(1);
        self.live = true;
    }

    /// A tombstone with the row's write time, made in the stamp's second.
    pub fn tombstone(&mut self, column: ColumnId) {
        let head = self.out.len();
        self.head(column);
        self.deleted = true;
        self.out[head] |= TOMBSTONE;
    }

    /// Whether it has a marker or a value with the row's life.
    #[inline]
    pub(in crate::encoding) fn is_live(&self) -> bool {
        self.live
    }

    /// Whether it has a tombstone with the row's write time.
    #[inline]
    pub(in crate::encoding) fn has_tombstone(&self) -> bool {
        self.deleted
    }

    /// Any cell; `life` is the row's.
    fn cell(&mut self, column: ColumnId, cell: &Cell, life: Liveness, stamp: Stamp) {
        match &cell.value {
            Some(wire) if cell.life() == life => self.value(column, wire),
            None if cell.timestamp == life.timestamp && cell.local == stamp.now => self.tombstone(column),
            _ => {
                let head = self.out.len();
                self.head(column);
                self.out[head] |= OWN;
                put_own(self.out, cell, life.timestamp, stamp);
            }
        }
    }

    #[inline]
    fn head(&mut self, column: ColumnId) {
        debug_assert!(column.0 >= self.next, "cells come in ascending order of columns");
        let gap = column.0.wrapping_sub(self.next);
        match gap < FAR {
            true => self.out.push((gap << 3) as u8),
            false => {
                self.out.push((FAR << 3) as u8);
                put_varint(self.out, u64::from(gap));
            }
        }
        self.next = column.0.wrapping_add(1);
    }
}

/// Encodes any row at the end of `out`. Times equal to the stamp's are left out.
pub fn encode_row(row: &Row, stamp: Stamp, out: &mut Vec<u8>) {
    // Without marker the first live cell's life stands for the row's, so that the usual UPDATE costs nothing either.
    let live = row.cells.iter().map(|(_, cell)| cell).find(|cell| !cell.is_tombstone()).map(Cell::life);
    let life = row.liveness.or(live).unwrap_or(Liveness::new(stamp.timestamp));
    let head = RowHead {
        marker: row.liveness.is_some(),
        timestamp: (life.timestamp != stamp.timestamp).then_some(life.timestamp),
        ttl: life.ttl,
        expiry: (life.expiry != stamp.now.saturating_add(i64::from(life.ttl))).then_some(life.expiry),
        deletion: row.deletion,
    };
    let mut encoder = RowEncoder::begin_with(out, Place::of(&row.clustering), &head, stamp, &row.complex);
    for (column, cell) in &row.cells {
        encoder.cell(*column, cell, life, stamp);
    }
}

/// Writes a deletion; times equal to the stamp's are left out.
pub fn put_deletion(out: &mut Vec<u8>, deletion: Deletion, stamp: Stamp) {
    if stamp == Stamp::UNSET && deletion == Stamp::BELOW_UNSET {
        return out.push(BELOW);
    }
    let (timestamp, local) = (deletion.timestamp != stamp.timestamp, deletion.local != stamp.now);
    out.push(u8::from(timestamp) | u8::from(local) << 1);
    if timestamp {
        out.extend_from_slice(&deletion.timestamp.to_le_bytes());
    }
    if local {
        put_signed(out, deletion.local);
    }
}

fn put_complex(out: &mut Vec<u8>, complex: &Complex, life: i64, stamp: Stamp) {
    put_varint(out, u64::from(complex.column.0));
    out.push(u8::from(complex.deletion.is_some()));
    if let Some(deletion) = complex.deletion {
        put_deletion(out, deletion, stamp);
    }
    put_varint(out, complex.cells.len() as u64);
    for (path, cell) in &complex.cells {
        out.push(u8::from(path.raw().is_some()));
        put_varint(out, path.order().len() as u64);
        out.extend_from_slice(path.order());
        if let Some(raw) = path.raw() {
            put_varint(out, raw.len() as u64);
            out.extend_from_slice(raw);
        }
        put_own(out, cell, life, stamp);
    }
}

/// A cell with times of its own: those that differ from the row's write time and the stamp are written.
fn put_own(out: &mut Vec<u8>, cell: &Cell, life: i64, stamp: Stamp) {
    let timestamp = cell.timestamp != life;
    let implied = match cell.is_tombstone() {
        true => stamp.now,
        false if cell.ttl != 0 => stamp.now.saturating_add(i64::from(cell.ttl)),
        false => NEVER,
    };
    let local = cell.local != implied;
    let mut flags = if cell.is_tombstone() { OWN_TOMBSTONE } else { 0 };
    flags |= if timestamp { OWN_TIMESTAMP } else { 0 };
    flags |= if cell.ttl != 0 { OWN_TTL } else { 0 };
    flags |= if local { OWN_LOCAL } else { 0 };
    let place = out.len();
    out.push(flags);
    if timestamp {
        out.extend_from_slice(&cell.timestamp.to_le_bytes());
    }
    if cell.ttl != 0 {
        put_varint(out, u64::from(cell.ttl.unsigned_abs()));
    }
    if local {
        put_signed(out, cell.local);
    }
    if let Some(wire) = &cell.value {
        let form = put_value(out, wire);
        out[place] |= form << 4;
    }
}
