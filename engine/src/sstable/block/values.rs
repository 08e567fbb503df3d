//! The values of one column, as typed vectors: `Values` while a block is built, [`Lane`] once it is read.
//!
//! Values come and go in wire serialisation (big-endian, as in CQL's native protocol); between, numbers are numbers, so
//! that lanes pack them and scans aggregate them without conversion.

use crate::encoding::bytes_lane::{ByteStrings, BytesLane};
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::sstable::layout::{IntWidth, LaneKind};
use std::hint::black_box;

/// Values on their way into a block.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Ints(IntWidth, Vec<i64>),
    Doubles(Vec<f64>),
    Floats(Vec<f32>),
    Bytes(ByteStrings),
}

impl Values {
    pub(crate) fn new(kind: LaneKind) -> Self {
        match kind {
            LaneKind::Int(width) => Self::Ints(width, Vec::new()),
            LaneKind::Double => Self::Doubles(Vec::new()),
            LaneKind::Float => Self::Floats(Vec::new()),
            LaneKind::Bytes => Self::Bytes(ByteStrings::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ints(_, values) => values.len(),
            Self::Doubles(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Ints(_, values) => values.clear(),
            Self::Doubles(values) => values.clear(),
            Self::Floats(values) => values.clear(),
            Self::Bytes(values) => values.clear(),
        }
    }

    /// Appends the value `wire`. `false` and nothing appended if it is the empty value of a numeric type.
    ///
    /// # Errors
    /// `Invalid` if `wire` has not the length of the type.
    #[inline]
    pub(crate) fn push_wire(&mut self, wire: &[u8]) -> Result<bool> {
        let fits = match self {
            Self::Bytes(values) => {
                values.push(wire);
                return Ok(true);
            }
            _ if wire.is_empty() => return Ok(false),
            Self::Ints(width, values) => width.parse(wire).map(|value| values.push(value)),
            Self::Doubles(values) => wire.try_into().ok().map(|wire| values.push(f64::from_be_bytes(wire))),
            Self::Floats(values) => wire.try_into().ok().map(|wire| values.push(f32::from_be_bytes(wire))),
        };
        match fits {
            Some(()) => Ok(true),
            None => Err(wrong_length(wire)),
        }
    }

    /// Appends the value whose wire form is the eight bytes of `number`, big-endian.
    ///
    /// # Errors
    /// As [`Values::push_wire`]; so below.
    #[inline]
    pub(crate) fn push_eight(&mut self, number: u64) -> Result<()> {
        match self {
            Self::Doubles(values) => values.push(f64::from_bits(number)),
            Self::Ints(IntWidth::I64, values) => values.push(number.cast_signed()),
            other => return other.push_wire(&number.to_be_bytes()).map(drop),
        }
        Ok(())
    }

    /// The same for four bytes.
    #[inline]
    pub(crate) fn push_four(&mut self, number: u32) -> Result<()> {
        match self {
            Self::Ints(IntWidth::I32, values) => values.push(number.cast_signed().into()),
            Self::Ints(IntWidth::U32, values) => values.push(number.into()),
            Self::Floats(values) => values.push(f32::from_bits(number)),
            other => return other.push_wire(&number.to_be_bytes()).map(drop),
        }
        Ok(())
    }

    /// Appends zero or the empty string.
    pub(crate) fn push_zero(&mut self) {
        match self {
            Self::Ints(_, values) => values.push(0),
            Self::Doubles(values) => values.push(0.0),
            Self::Floats(values) => values.push(0.0),
            Self::Bytes(values) => values.push(&[]),
        }
    }

    /// Appends the last value again, or zero where there is none.
    pub(crate) fn push_repeated(&mut self) {
        match self {
            Self::Ints(_, values) => values.push(values.last().copied().unwrap_or_default()),
            Self::Doubles(values) => values.push(values.last().copied().unwrap_or_default()),
            Self::Floats(values) => values.push(values.last().copied().unwrap_or_default()),
            Self::Bytes(values) => match values.len().checked_sub(1) {
                Some(last) => {
                    let bytes = values.get(last).to_vec();
                    values.push(&bytes);
                }
                None => values.push(&[]),
            },
        }
    }

    /// Appends values `range` of a decoded lane; returns the bytes of byte strings among them. The kinds must be the same.
    pub(crate) fn extend_from(&mut self, lane: &Lane, range: std::ops::Range<usize>) -> Result<usize> {
        match (self, lane) {
            (Self::Ints(_, values), Lane::Ints(_, from)) => values.extend_from_slice(&from[range]),
            (Self::Doubles(values), Lane::Doubles(from)) => values.extend_from_slice(&from[range]),
            (Self::Floats(values), Lane::Floats(from)) => values.extend_from_slice(&from[range]),
            (Self::Bytes(values), Lane::Bytes(from)) => {
                let before = values.data().len();
                range.for_each(|i| values.push(from.get(i)));
                return Ok(values.data().len() - before);
            }
            _ => return Err(Error::invalid("rows of a block with other column types cannot be appended")),
        }
        Ok(0)
    }
}

#[cold]
fn wrong_length(wire: &[u8]) -> Error {
    Error::invalid(format!("a value of {} bytes is not of its column's type", wire.len()))
}

/// Values read from a block.
#[derive(Clone, Debug)]
pub enum Lane {
    /// Integers, booleans, dates and times, with the width of their wire form.
    Ints(IntWidth, Vec<i64>),
    /// Doubles.
    Doubles(Vec<f64>),
    /// Single floats.
    Floats(Vec<f32>),
    /// All other types, in wire form.
    Bytes(BytesLane),
}

impl Lane {
    /// No values.
    pub(crate) fn none(kind: LaneKind) -> Self {
        match kind {
            LaneKind::Int(width) => Self::Ints(width, Vec::new()),
            LaneKind::Double => Self::Doubles(Vec::new()),
            LaneKind::Float => Self::Floats(Vec::new()),
            LaneKind::Bytes => Self::Bytes(BytesLane::Plain(ByteStrings::new())),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Ints(_, values) => values.len(),
            Self::Doubles(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i` in wire form.
    ///
    /// # Panics
    /// If `i` is not below [`Lane::len`].
    #[inline]
    pub fn wire(&self, i: usize) -> Bytes {
        match self {
            Self::Ints(width, values) => width.wire(values[i]),
            Self::Doubles(values) => Bytes::new(&values[i].to_be_bytes()),
            Self::Floats(values) => Bytes::new(&values[i].to_be_bytes()),
            Self::Bytes(values) => Bytes::new(values.get(i)),
        }
    }

    /// Has value `i` brought from memory, if it is a number, without waiting for it: whoever is about to read many lanes waits once.
    #[inline]
    pub(crate) fn touch(&self, i: usize) {
        match self {
            Self::Ints(_, values) => drop(black_box(values.get(i).copied())),
            Self::Doubles(values) => drop(black_box(values.get(i).copied())),
            Self::Floats(values) => drop(black_box(values.get(i).copied())),
            Self::Bytes(_) => {}
        }
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Ints(_, values) => 8 * values.capacity(),
            Self::Doubles(values) => 8 * values.capacity(),
            Self::Floats(values) => 4 * values.capacity(),
            Self::Bytes(values) => values.memory_bytes(),
        }
    }
}

/// Small integers that are nearly always all zero: until one is not, only their number is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseInts {
    len: usize,
    values: Vec<i64>,
}

impl SparseInts {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The values, unless all are zero.
    pub(crate) fn nonzero(&self) -> Option<&[i64]> {
        (!self.values.is_empty()).then_some(&self.values)
    }

    #[inline]
    pub(crate) fn push(&mut self, value: i64) {
        if value != 0 || !self.values.is_empty() {
            self.values.resize(self.len, 0);
            self.values.push(value);
        }
        self.len += 1;
    }

    /// Appends `value` until there are `len` values.
    #[inline]
    pub(crate) fn pad(&mut self, len: usize, value: i64) {
        if self.len < len {
            if value != 0 || !self.values.is_empty() {
                self.values.resize(self.len, 0);
                self.values.resize(len, value);
            }
            self.len = len;
        }
    }

    pub(crate) fn extend(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        let start = self.len;
        self.len += values.len();
        self.values.resize(start, 0);
        self.values.extend(values);
        if self.values[..].iter().all(|&value| value == 0) {
            self.values.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.values.clear();
    }
}
