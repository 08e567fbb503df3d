//! Several plain rows walked over at once, column by column.
//!
//! Rows that stand behind each other mostly have the same columns. Then what is to be done for a column (which lane, which
//! type) is decided once for all rows, and what is left for a value is to decode it. Where a row is different, or a cell
//! is no live value, the walk in step ends, and the rest of the rows is walked over one by one.
//!
//! # Invariants
//! 1. All cells are seen once, those of a row in their order, whatever is taken in step and what one by one.

use crate::encoding::plain::{PlainCells, PlainRow};
use crate::encoding::row::FAR;
use crate::encoding::row::value::{BYTES, DECIMAL, INT4, INT8, RAW4, RAW8, decimal_of};
use crate::encoding::varint::{read_varint, unzigzag};
use crate::model::cell::ColumnId;

/// A walk over rows in step.
#[derive(Debug)]
pub struct PlainRun<'r, 'a> {
    rows: &'r [PlainRow<'a>],
    /// What is left of each row.
    rest: Vec<&'a [u8]>,
    /// The least number that the next column can have; of the rows from `behind` on it is `before`.
    next: u32,
    behind: usize,
    before: u32,
}

/// A value of any form as wire bytes.
enum Wire<'a> {
    Stored(&'a [u8]),
    Eight([u8; 8]),
    Four([u8; 4]),
}

impl<'r, 'a> PlainRun<'r, 'a> {
    /// A walk over `rows` from their first columns on.
    pub fn new(rows: &'r [PlainRow<'a>]) -> Self {
        let rest = rows.iter().map(PlainRow::encoded_cells).collect();
        Self { rows, rest, next: 0, behind: rows.len(), before: 0 }
    }

    /// The column of the first row's next cell; `None` after the last, and where the rows are no longer in step.
    #[inline]
    pub fn column(&self) -> Option<ColumnId> {
        let gap = self.rest.first()?.first()? >> 3;
        let in_step = self.behind == self.rows.len() && u32::from(gap) < FAR;
        self.next.checked_add(gap.into()).filter(|_| in_step).map(ColumnId)
    }

    /// Takes the next cells as long as they are live values of eight bytes, and of the column that
    /// [`column`](Self::column) gives: the number that the wire bytes are, big-endian. Returns how many rows had one.
    #[inline]
    pub fn take_eights(&mut self, mut put: impl FnMut(u64)) -> usize {
        self.take(|form, body| {
            let (number, length) = eight(form, body)?;
            put(number);
            Some(length)
        })
    }

    /// The same with four bytes.
    #[inline]
    pub fn take_fours(&mut self, mut put: impl FnMut(u32)) -> usize {
        self.take(|form, body| {
            let (number, length) = four(form, body)?;
            put(number);
            Some(length)
        })
    }

    /// The same with values of any length, as long as `put` takes them.
    #[inline]
    pub fn take_wires(&mut self, mut put: impl FnMut(&[u8]) -> bool) -> usize {
        self.take(|form, body| {
            let (wire, length) = wire(form, body)?;
            let taken = match wire {
                Wire::Stored(bytes) => put(bytes),
                Wire::Eight(bytes) => put(&bytes),
                Wire::Four(bytes) => put(&bytes),
            };
            taken.then_some(length)
        })
    }

    /// Shows `read` the form and what follows it of each row's next cell; it says how many bytes that takes, or refuses.
    #[inline(always)] // so that one loop reads one form
    fn take(&mut self, mut read: impl FnMut(u8, &'a [u8]) -> Option<usize>) -> usize {
        let Some(column) = self.column() else { return 0 };
        let gap = column.0 - self.next;
        let mut taken = self.rest.len();
        for (i, rest) in self.rest.iter_mut().enumerate() {
            let bytes: &'a [u8] = rest;
            if let [head, body @ ..] = bytes
                && u32::from(head >> 3) == gap
                && let Some(length) = read(head & 7, body)
                && let Some(left) = body.get(length..)
            {
                *rest = left;
                continue;
            }
            taken = i;
            break;
        }
        (self.before, self.next, self.behind) = (self.next, column.0.saturating_add(1), taken);
        taken
    }

    /// The cells that are left of each row, one row after the other.
    pub fn into_cells(self) -> impl Iterator<Item = PlainCells<'a>> {
        let Self { rows, rest, next, behind, before } = self;
        let next = move |row| if row < behind { next } else { before };
        rows.iter().zip(rest).enumerate().map(move |(i, (row, rest))| row.cells_from(rest, next(i)))
    }
}

#[inline(always)]
fn eight(form: u8, body: &[u8]) -> Option<(u64, usize)> {
    match form {
        DECIMAL => {
            let (code, length) = read_varint(body)?;
            Some((decimal_of(code)?, length))
        }
        INT8 => read_varint(body).map(|(code, length)| (unzigzag(code).cast_unsigned(), length)),
        RAW8 => body.first_chunk().map(|bytes| (u64::from_be_bytes(*bytes), 8)),
        _ => None,
    }
}

#[inline(always)]
fn four(form: u8, body: &[u8]) -> Option<(u32, usize)> {
    match form {
        INT4 => {
            let (code, length) = read_varint(body)?;
            Some((i32::try_from(unzigzag(code)).ok()?.cast_unsigned(), length))
        }
        RAW4 => body.first_chunk().map(|bytes| (u32::from_be_bytes(*bytes), 4)),
        _ => None,
    }
}

#[inline(always)]
fn wire(form: u8, body: &[u8]) -> Option<(Wire<'_>, usize)> {
    match form {
        BYTES => {
            let (length, head) = read_varint(body)?;
            let end = head.checked_add(usize::try_from(length).ok()?)?;
            Some((Wire::Stored(body.get(head..end)?), end))
        }
        INT4 | RAW4 => four(form, body).map(|(number, length)| (Wire::Four(number.to_be_bytes()), length)),
        _ => eight(form, body).map(|(number, length)| (Wire::Eight(number.to_be_bytes()), length)),
    }
}

#[cfg(test)]
#[path = "plain_run_tests.rs"]
mod tests;
