//! A column of a batch being filled: value by value in wire form, or from a block's lane in one go.

use crate::encoding::bytes_lane::{ByteStrings, BytesLane};
use crate::encoding::plain::PlainRow;
use crate::encoding::plain_run::PlainRun;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::life::Liveness;
use crate::model::types::CqlType;
use crate::read::column::{Column, Rows, Values};
use crate::sstable::block::column::ColumnData;
use crate::sstable::block::place::PlaceLane;
use crate::sstable::block::values::Lane;
use crate::sstable::layout::{IntWidth, LaneKind};

/// A column being filled row by row.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    ty: CqlType,
    kind: LaneKind,
    lane: Lane,
    /// Which rows have a value; empty while all have.
    valid: Vec<bool>,
    /// Takes over when a number's wire form is not a number's.
    wires: Option<Vec<Option<Bytes>>>,
    complex: Option<Vec<Vec<(Clustering, Cell)>>>,
    lives: Option<Vec<Option<Liveness>>>,
    rows: usize,
}

impl ColumnBuilder {
    pub(crate) fn new(ty: &CqlType, with_lives: bool) -> Self {
        let kind = LaneKind::of(ty);
        Self {
            ty: ty.clone(),
            kind,
            lane: empty_lane(kind),
            valid: Vec::new(),
            wires: None,
            complex: ty.is_multicell().then(Vec::new),
            lives: with_lives.then(Vec::new),
            rows: 0,
        }
    }

    /// Appends a value in wire form, or null.
    #[inline]
    pub(crate) fn push(&mut self, wire: Option<&[u8]>, life: Option<Liveness>) {
        if let Some(lives) = &mut self.lives {
            lives.push(life);
        }
        self.rows += 1;
        if let Some(wires) = &mut self.wires {
            wires.push(wire.map(Bytes::new));
            return;
        }
        let fits = match wire {
            None => {
                push_zero(&mut self.lane);
                if self.valid.is_empty() {
                    self.valid.resize(self.rows - 1, true);
                }
                self.valid.push(false);
                return;
            }
            Some(wire) => push_wire(&mut self.lane, wire),
        };
        match fits {
            Some(()) if self.valid.is_empty() => {}
            Some(()) => self.valid.push(true),
            None => self.fall_back(wire),
        }
    }

    /// Makes room for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match &mut self.lane {
            Lane::Ints(_, values) => values.reserve(rows),
            Lane::Doubles(values) => values.reserve(rows),
            Lane::Floats(values) => values.reserve(rows),
            Lane::Bytes(_) => {}
        }
    }

    /// Number of rows so far.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Appends a bigint or timestamp without a life.
    #[inline]
    pub(crate) fn push_long(&mut self, number: i64) {
        let whole = self.is_whole();
        match &mut self.lane {
            Lane::Ints(IntWidth::I64, values) if whole => {
                values.push(number);
                self.rows += 1;
            }
            _ => self.push(Some(&number.to_be_bytes()), None),
        }
    }

    /// Appends the next cells of a run over `rows`, as many as it gives in step; their number.
    pub(crate) fn push_run(&mut self, run: &mut PlainRun<'_, '_>, rows: &[PlainRow<'_>]) -> usize {
        if !self.is_whole() {
            let mut lives = rows.iter().map(|row| row.life);
            return run.take_wires(|wire| {
                self.push(Some(wire), lives.next());
                true
            });
        }
        let taken = match &mut self.lane {
            Lane::Doubles(values) => run.take_eights(|number| values.push(f64::from_bits(number))),
            Lane::Floats(values) => run.take_fours(|number| values.push(f32::from_bits(number))),
            Lane::Ints(IntWidth::I64, values) => run.take_eights(|number| values.push(number.cast_signed())),
            Lane::Ints(IntWidth::I32, values) => {
                run.take_fours(|number| values.push(number.cast_signed().into()))
            }
            Lane::Ints(IntWidth::U32, values) => run.take_fours(|number| values.push(number.into())),
            Lane::Ints(width, values) => run.take_wires(|wire| match width.parse(wire) {
                Some(value) => {
                    values.push(value);
                    true
                }
                None => false, // empty, which is for single cells
            }),
            Lane::Bytes(values) => run.take_wires(|wire| {
                push_bytes(values, wire);
                true
            }),
        };
        self.rows += taken;
        taken
    }

    /// Whether there is nothing but a lane with a value for every row.
    #[inline]
    fn is_whole(&self) -> bool {
        self.wires.is_none() && self.lives.is_none() && self.valid.is_empty()
    }

    /// Appends the values of `count` rows of a block's column, nulls where there is none.
    pub(crate) fn extend_rows(
        &mut self,
        column: &ColumnData,
        rows: Rows,
        count: usize,
        lives: Option<Vec<Option<Liveness>>>,
    ) {
        if column.is_dense() && self.extend_lane(column.values(), rows, count) {
            if let (Some(own), Some(lives)) = (&mut self.lives, lives) {
                own.extend(lives);
            }
            return;
        }
        for i in 0..count {
            let value = column.value_of(rows.at(i)).map(|value| column.values().wire(value));
            let life = lives.as_ref().and_then(|lives| lives.get(i).copied().flatten());
            self.push(value.as_deref(), life);
        }
    }

    /// Appends the clustering values of `count` items of a block.
    pub(crate) fn extend_places(&mut self, places: &PlaceLane, items: Rows, count: usize) {
        if !(places.has_no_empty_value() && self.extend_lane(places.values(), items, count)) {
            (0..count).for_each(|i| self.push(Some(&places.wire(items.at(i))), None));
        }
    }

    /// Appends `count` values of a lane of numbers as they stand there; `false` if they have to come one by one.
    fn extend_lane(&mut self, lane: &Lane, at: Rows, count: usize) -> bool {
        let start = if at.backward { (at.first + 1).saturating_sub(count) } else { at.first };
        let range = start..start + count;
        let done = self.wires.is_none()
            && match (&mut self.lane, lane) {
                (Lane::Ints(width, own), Lane::Ints(other, values)) if width == other => {
                    extend(own, values.get(range), at.backward)
                }
                (Lane::Doubles(own), Lane::Doubles(values)) => extend(own, values.get(range), at.backward),
                (Lane::Floats(own), Lane::Floats(values)) => extend(own, values.get(range), at.backward),
                _ => false,
            };
        if done {
            self.rows += count;
            if !self.valid.is_empty() {
                self.valid.resize(self.rows, true);
            }
        }
        done
    }

    /// Goes over to wire forms: an empty value of a numeric type came.
    #[cold]
    fn fall_back(&mut self, wire: Option<&[u8]>) {
        let lane = std::mem::replace(&mut self.lane, empty_lane(self.kind));
        let valid = |i: usize| self.valid.get(i).copied().unwrap_or(true);
        let mut wires: Vec<_> = (0..self.rows - 1).map(|i| valid(i).then(|| lane.wire(i))).collect();
        wires.push(wire.map(Bytes::new));
        self.wires = Some(wires);
    }

    /// Appends the elements of a collection, none for null.
    pub(crate) fn push_complex(&mut self, elements: Vec<(Clustering, Cell)>) {
        if let Some(lives) = &mut self.lives {
            lives.push(elements.iter().map(|(_, cell)| cell.life()).max_by_key(|life| life.timestamp));
        }
        self.rows += 1;
        if let Some(complex) = &mut self.complex {
            complex.push(elements);
        }
    }

    /// Whether it is of a non-frozen collection or user type.
    pub(crate) fn is_complex(&self) -> bool {
        self.complex.is_some()
    }

    pub(crate) fn finish(self) -> Column {
        let values = match (self.complex, self.wires) {
            (Some(complex), _) => Values::Complex(complex),
            (None, Some(wires)) => Values::Wires(wires),
            (None, None) if !self.valid.is_empty() && !self.valid.contains(&true) => Values::Null,
            (None, None) => {
                let valid = (!self.valid.is_empty()).then_some(self.valid);
                Values::Owned { lane: self.lane, valid }
            }
        };
        Column::new(&self.ty, values, self.lives)
    }
}

/// Appends `values` in their order or backward; `false` without any.
fn extend<T: Copy>(own: &mut Vec<T>, values: Option<&[T]>, backward: bool) -> bool {
    match values {
        Some(values) if backward => own.extend(values.iter().rev()),
        Some(values) => own.extend_from_slice(values),
        None => return false,
    }
    true
}

fn empty_lane(kind: LaneKind) -> Lane {
    match kind {
        LaneKind::Int(width) => Lane::Ints(width, Vec::new()),
        LaneKind::Double => Lane::Doubles(Vec::new()),
        LaneKind::Float => Lane::Floats(Vec::new()),
        LaneKind::Bytes => Lane::Bytes(BytesLane::Plain(ByteStrings::new())),
    }
}

fn push_zero(lane: &mut Lane) {
    match lane {
        Lane::Ints(_, values) => values.push(0),
        Lane::Doubles(values) => values.push(0.0),
        Lane::Floats(values) => values.push(0.0),
        Lane::Bytes(values) => push_bytes(values, &[]),
    }
}

/// Appends a value to a lane; `None` if it does not fit a lane of numbers.
#[inline]
fn push_wire(lane: &mut Lane, wire: &[u8]) -> Option<()> {
    match lane {
        Lane::Ints(width, values) => values.push(width.parse(wire)?),
        Lane::Doubles(values) => values.push(f64::from_be_bytes(wire.try_into().ok()?)),
        Lane::Floats(values) => values.push(f32::from_be_bytes(wire.try_into().ok()?)),
        Lane::Bytes(values) => push_bytes(values, wire),
    }
    Some(())
}

fn push_bytes(values: &mut BytesLane, bytes: &[u8]) {
    if let BytesLane::Plain(strings) = values {
        strings.push(bytes);
    }
}
