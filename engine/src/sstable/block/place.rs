//! Clustering values in lanes, one lane per clustering column; and the paths of collection cells, which are kept alike.
//!
//! In memory a clustering is one byte string that compares as the values do ([`crate::encoding::order`]); in a block its
//! values stand apart in wire form, where numbers are numbers. `PlaceBuilder` takes a byte string apart,
//! [`PlaceLane`] puts it together, and `PlaceLane::compare` compares without doing so where the type allows.
//!
//! # Invariants
//! 1. A place lane has one value per item: one that has none (a static row, a short bound) repeats the one before.
//! 2. Values keep their natural order as numbers in DESC columns too; only the order of the items is reversed.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::encoding::bytes::{ByteReader, put_u32};
use crate::encoding::order::{
    LONG_BYTES, comes_back, decode_component, encode_component, is_faithful, long_component,
};
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering};
use crate::model::types::CqlType;
use crate::sstable::block::values::{Lane, SparseInts, Values};
use crate::sstable::layout::{BlockSchema, IntWidth, LaneKind};

/// Values of one clustering column, or paths of one collection, on their way into a block.
#[derive(Debug)]
pub(crate) struct PlaceBuilder {
    ty: CqlType,
    desc: bool,
    pub(crate) values: Values,
    /// 1 for the empty value of a numeric type.
    pub(crate) empties: SparseInts,
    wire: Vec<u8>,
}

impl PlaceBuilder {
    pub(crate) fn new(ty: &CqlType, desc: bool) -> Self {
        Self {
            ty: ty.clone(),
            desc,
            values: Values::new(LaneKind::of(ty)),
            empties: SparseInts::default(),
            wire: Vec::new(),
        }
    }

    /// Appends the component at the start of `order`; returns its length and its weight.
    #[inline]
    fn push_component(&mut self, order: &[u8]) -> Result<(usize, usize)> {
        if let Values::Ints(IntWidth::I64, values) = &mut self.values
            && let Some(number) = long_component(order, &self.ty, self.desc)
        {
            values.push(number);
            self.empties.push(0);
            return Ok((LONG_BYTES, 0));
        }
        self.wire.clear();
        let length = decode_component(order, &self.ty, self.desc, &mut self.wire)?;
        let wire = std::mem::take(&mut self.wire);
        let weight = self.push_wire(&wire)?;
        self.wire = wire;
        Ok((length, weight))
    }

    #[inline]
    fn push_wire(&mut self, wire: &[u8]) -> Result<usize> {
        let stored = self.values.push_wire(wire)?;
        if !stored {
            self.values.push_repeated();
        }
        self.empties.push(i64::from(!stored));
        Ok(if matches!(self.values, Values::Bytes(_)) { wire.len() } else { 0 })
    }

    /// Appends the path of a collection's cell; returns its weight.
    pub(crate) fn push_path(&mut self, path: &Clustering) -> Result<usize> {
        match path.raw() {
            Some(raw) => self.push_wire(ByteReaderRaw::new(raw).next()?),
            None => self.push_component(path.order()).map(|(_, weight)| weight),
        }
    }

    /// The value of an item that has none.
    pub(crate) fn push_repeated(&mut self) {
        self.values.push_repeated();
        let last = self.empties.nonzero().and_then(|empties| empties.last().copied());
        self.empties.push(last.unwrap_or(0));
    }

    /// The path of a collection's deletion, which nobody reads.
    pub(crate) fn push_zero(&mut self) {
        self.values.push_zero();
        self.empties.push(0);
    }

    /// Appends values `range` of a decoded lane; returns their weight.
    pub(crate) fn extend_from(&mut self, lane: &PlaceLane, range: std::ops::Range<usize>) -> Result<usize> {
        match &lane.empties {
            None => self.empties.pad(self.empties.len() + range.len(), 0),
            Some(empties) => self.empties.extend(empties[range.clone()].iter().copied()),
        }
        self.values.extend_from(&lane.values, range)
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.empties.clear();
    }
}

/// The values in [`Clustering::raw`]: each a u32 LE length and its bytes.
struct ByteReaderRaw<'a>(ByteReader<'a>);

impl<'a> ByteReaderRaw<'a> {
    fn new(raw: &'a [u8]) -> Self {
        Self(ByteReader::new(raw))
    }

    fn next(&mut self) -> Result<&'a [u8]> {
        let length = self.0.u32()?;
        self.0.take(length as usize)
    }
}

/// Appends a row's clustering to `places`; returns its weight.
///
/// # Errors
/// `Corrupt` if it is not one of these columns.
#[inline]
pub(crate) fn push_clustering(places: &mut [PlaceBuilder], clustering: &Clustering) -> Result<usize> {
    if let Some(raw) = clustering.raw() {
        let mut weight = 0;
        let mut raw = ByteReaderRaw::new(raw);
        for place in places {
            weight += place.push_wire(raw.next()?)?;
        }
        return Ok(weight);
    }
    push_order(places, clustering.order())
}

/// Appends a clustering that its order gives back; returns its weight. Errors as for [`push_clustering`].
#[inline]
pub(crate) fn push_order(places: &mut [PlaceBuilder], mut order: &[u8]) -> Result<usize> {
    let mut weight = 0;
    for place in places {
        let (length, bytes) = place.push_component(order)?;
        order = &order[length..];
        weight += bytes;
    }
    if order.is_empty() {
        Ok(weight)
    } else {
        Err(Error::malformed("a clustering has more values than columns"))
    }
}

/// Appends the prefix of a bound, repeating what was before in the columns behind it. Returns how many values it has, and the
/// weight.
pub(crate) fn push_prefix(places: &mut [PlaceBuilder], bound: &Bound) -> Result<(usize, usize)> {
    let (mut order, mut values, mut weight) = (bound.prefix(), 0, 0);
    for place in places {
        if order.is_empty() {
            place.push_repeated();
            continue;
        }
        let (length, bytes) = place.push_component(order)?;
        order = &order[length..];
        weight += bytes;
        values += 1;
    }
    if order.is_empty() {
        Ok((values, weight))
    } else {
        Err(Error::malformed("a bound has more values than columns"))
    }
}

/// Values of one clustering column, or paths of one collection, read from a block.
///
/// What a search for a number needs stands first, in one cache line: see [`ColumnData`](crate::sstable::block::column::ColumnData).
#[derive(Debug)]
#[repr(C, align(64))]
pub struct PlaceLane {
    desc: bool,
    /// Whether order bytes give back the very wire bytes, whatever they are.
    faithful: bool,
    has_empties: bool,
    /// The first and the last number, if there are any: where a search begins.
    ends: (i64, i64),
    values: Lane,
    empties: Option<Vec<i64>>,
    ty: CqlType,
}

impl PlaceLane {
    pub(crate) fn new(ty: &CqlType, desc: bool, values: Lane, empties: Option<Vec<i64>>) -> Self {
        let ends = match &values {
            Lane::Ints(_, values) => values.first().copied().zip(values.last().copied()).unwrap_or((0, 0)),
            _ => (0, 0),
        };
        let (faithful, has_empties) = (is_faithful(ty), empties.is_some());
        Self { desc, faithful, has_empties, ends, values, empties, ty: ty.clone() }
    }

    /// The first and the last of the numbers that [`PlaceLane::plain_ints`] gives.
    #[inline]
    pub(crate) fn ends(&self) -> (i64, i64) {
        self.ends
    }

    /// The values in natural order of the type; that of an item without one repeats the one before.
    pub fn values(&self) -> &Lane {
        &self.values
    }

    /// Whether value `i` is the empty value of a numeric type.
    #[inline]
    pub fn is_empty_value(&self, i: usize) -> bool {
        self.has_empties && self.empties.as_ref().is_some_and(|empties| empties[i] != 0)
    }

    /// Whether no value is the empty one of a numeric type.
    pub fn has_no_empty_value(&self) -> bool {
        !self.has_empties
    }

    /// Value `i` in wire form.
    #[inline]
    pub fn wire(&self, i: usize) -> Bytes {
        if self.is_empty_value(i) { Bytes::EMPTY } else { self.values.wire(i) }
    }

    /// Appends the component of value `i`.
    #[inline]
    fn put_component(&self, i: usize, out: &mut Vec<u8>) -> Result<()> {
        encode_component(&self.wire(i), &self.ty, self.desc, out).map_err(as_corrupt)
    }

    /// Whether the order bytes of value `i` give back its wire bytes.
    fn comes_back(&self, i: usize) -> Result<bool> {
        if self.faithful { Ok(true) } else { comes_back(&self.wire(i), &self.ty).map_err(as_corrupt) }
    }

    /// Value `i` as the path of a collection's cell.
    pub(crate) fn path(&self, i: usize) -> Result<Clustering> {
        clustering_at(std::iter::once(self), i)
    }

    /// How value `i` stands to a sought one in the order of the items.
    #[inline]
    pub(crate) fn compare(&self, i: usize, sought: &SoughtValue) -> Result<Ordering> {
        let sought_empty = matches!(sought.typed, Typed::Empty);
        if self.is_empty_value(i) || sought_empty {
            return Ok(self.directed(sought_empty.cmp(&self.is_empty_value(i))));
        }
        let natural = match (&self.values, &sought.typed) {
            (Lane::Ints(_, values), Typed::Int(sought)) => values[i].cmp(sought),
            (Lane::Bytes(values), _) if self.ty.is_stringlike() => values.get(i).cmp(&sought.wire),
            _ => {
                let mut component = Vec::with_capacity(sought.component.len() + 16);
                self.put_component(i, &mut component)?;
                return Ok(component.as_slice().cmp(&sought.component));
            }
        };
        Ok(self.directed(natural))
    }

    /// The values as ascending or descending numbers, if they are plain ones: what a binary search may run on directly.
    #[inline]
    pub(crate) fn plain_ints(&self) -> Option<(&[i64], bool)> {
        match &self.values {
            Lane::Ints(_, values) if !self.has_empties => Some((values, self.desc)),
            _ => None,
        }
    }

    fn directed(&self, natural: Ordering) -> Ordering {
        if self.desc { natural.reverse() } else { natural }
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.values.memory_bytes() + self.empties.as_ref().map_or(0, |empties| 8 * empties.len())
    }
}

/// What does not encode came from the block: not a value of its type.
fn as_corrupt(error: Error) -> Error {
    Error::malformed(format!("a stored clustering value is damaged: {}", error.message()))
}

thread_local! {
    /// Where clusterings are put together: an allocation for each would take as long as the rest.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The clustering of item `i`.
#[inline]
pub(crate) fn clustering_at<'a>(
    places: impl Iterator<Item = &'a PlaceLane> + Clone,
    i: usize,
) -> Result<Clustering> {
    let mut scratch = SCRATCH.take();
    scratch.clear();
    let clustering = put_clustering(places, i, &mut scratch);
    SCRATCH.set(scratch);
    clustering
}

fn put_clustering<'a>(
    places: impl Iterator<Item = &'a PlaceLane> + Clone,
    i: usize,
    scratch: &mut Vec<u8>,
) -> Result<Clustering> {
    let mut all_come_back = true;
    for place in places.clone() {
        place.put_component(i, scratch)?;
        all_come_back &= place.comes_back(i)?;
    }
    let order = Bytes::new(scratch);
    if all_come_back {
        return Ok(Clustering::new(order));
    }
    let mut raw = Vec::new();
    for place in places {
        let wire = place.wire(i);
        put_u32(&mut raw, wire.len() as u32);
        raw.extend_from_slice(&wire);
    }
    Ok(Clustering::with_raw(order, Arc::from(raw)))
}

/// The bound whose prefix is the first `values` values of item `i`.
pub(crate) fn bound_at<'a>(
    places: impl Iterator<Item = &'a PlaceLane>,
    i: usize,
    after: bool,
) -> Result<Bound> {
    let mut prefix = Vec::new();
    for place in places {
        place.put_component(i, &mut prefix)?;
    }
    Ok(if after { Bound::after(&prefix) } else { Bound::before(&prefix) })
}

/// One value of a place that is looked for.
#[derive(Clone, Debug)]
pub(crate) struct SoughtValue {
    typed: Typed,
    wire: Vec<u8>,
    component: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Typed {
    Int(i64),
    Empty,
    Other,
}

impl SoughtValue {
    /// The number that is looked for in an integer lane.
    pub(crate) fn int(&self) -> Option<i64> {
        if let Typed::Int(value) = self.typed { Some(value) } else { None }
    }
}

/// The values of a bound's prefix, made ready for comparison with lanes.
pub(crate) fn sought_values(schema: &BlockSchema, bound: &Bound) -> Result<Vec<SoughtValue>> {
    let mut order = bound.prefix();
    let mut sought = Vec::new();
    for column in schema.clustering() {
        if order.is_empty() {
            break;
        }
        let mut wire = Vec::new();
        let length = match decode_component(order, &column.ty, column.desc, &mut wire) {
            Ok(length) => length,
            // A user type may have got fields after the block was written. Where the value has one of them, those of the block end: no
            // value of the block is equal, and what follows in the bound is never looked at.
            Err(_) if column.ty.any(&|inner| matches!(inner, CqlType::Udt(_))) => {
                let component = order.to_vec();
                sought.push(SoughtValue { typed: Typed::Other, wire: Vec::new(), component });
                return Ok(sought);
            }
            Err(error) => return Err(error),
        };
        let (component, rest) = order.split_at(length);
        let typed = match LaneKind::of(&column.ty) {
            LaneKind::Bytes => Typed::Other,
            _ if wire.is_empty() => Typed::Empty,
            LaneKind::Int(width) => width.parse(&wire).map_or(Typed::Other, Typed::Int),
            _ => Typed::Other,
        };
        sought.push(SoughtValue { typed, wire, component: component.to_vec() });
        order = rest;
    }
    if order.is_empty() {
        Ok(sought)
    } else {
        Err(Error::invalid("a bound has more values than clustering columns"))
    }
}
