//! The cells of one column: states, values, lives of their own; for collections also how many a row has, and their paths.
//!
//! A cell that was written together with its row, the usual case, is a value and nothing else: state 0 is not stored where
//! every cell has it. The column builder takes cells in, [`ColumnData`] gives them back by row number.
//!
//! # Invariants
//! 1. There are as many values as states 0 and 2, as many own lives as states 2, 3, 4 and 6.
//! 2. A column without a single cell in the block has no lanes at all.
//! 3. In a collection, state 4 comes first among a row's elements or not at all; state 1 does not occur.

use crate::error::{Error, Result};
use crate::model::cell::Cell;
use crate::model::life::{Deletion, Liveness};
use crate::model::row::Complex;
use crate::sstable::block::life::{life_of, second_from};
use crate::sstable::block::place::PlaceLane;
use crate::sstable::block::values::Lane;

/// What a cell is; numbered so that the usual case is 0.
pub(crate) mod state {
    /// A value with the row's life.
    pub(crate) const LIVE: i64 = 0;
    /// No cell.
    pub(crate) const ABSENT: i64 = 1;
    /// A value with a life of its own.
    pub(crate) const OWN: i64 = 2;
    /// A tombstone.
    pub(crate) const TOMBSTONE: i64 = 3;
    /// The deletion of a whole collection.
    pub(crate) const COMPLEX: i64 = 4;
    /// The empty value of a numeric type, with the row's life.
    pub(crate) const EMPTY: i64 = 5;
    /// The empty value of a numeric type, with a life of its own.
    pub(crate) const OWN_EMPTY: i64 = 6;
}

/// Timestamps (less the row's), TTLs and second residuals of cells that do not share the row's.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnLives {
    pub(crate) timestamps: Vec<i64>,
    pub(crate) ttls: Vec<i64>,
    pub(crate) seconds: Vec<i64>,
}

impl OwnLives {
    pub(super) fn push(&mut self, timestamp: i64, ttl: i32, second: i64, reference: &Liveness) {
        self.timestamps.push(timestamp.wrapping_sub(reference.timestamp));
        self.ttls.push(ttl.into());
        self.seconds.push(second);
    }
}

/// One own life as stored, its timestamp made absolute.
pub(super) struct OwnLife {
    pub(super) timestamp: i64,
    pub(super) ttl: i32,
    pub(super) second: i64,
}

/// The elements of a collection column.
#[derive(Debug)]
pub(crate) struct Elements {
    /// Where each row's elements begin, and the end of the last.
    pub(crate) starts: Vec<u32>,
    pub(crate) paths: PlaceLane,
}

/// The cells of one column, read from a block. Rows are numbered within the block: static rows for a static column, all others
/// for a regular one.
///
/// What a read of a dense column of numbers needs stands first, in one cache line: a point read finds little of a block in
/// the processor's caches.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct ColumnData {
    rows: usize,
    numeric: bool,
    /// See [`ColumnData::is_flat`].
    flat: bool,
    pub(super) values: Lane,
    uneven: Option<Box<Uneven>>,
}

/// What a column has where not every row has a value that shares its life.
#[derive(Debug)]
struct Uneven {
    states: Option<Vec<u8>>,
    /// For each state, and behind the last, how many values stand before; only if there are states.
    value_at: Vec<u32>,
    /// The same for own lives.
    own_at: Vec<u32>,
    own: OwnLives,
    elements: Option<Elements>,
}

/// The lanes that make up a [`ColumnData`], and how many of each there should be.
pub(crate) struct ColumnParts {
    pub(crate) rows: usize,
    pub(crate) numeric: bool,
    pub(crate) states: Option<Vec<i64>>,
    pub(crate) values: Lane,
    pub(crate) own: OwnLives,
    pub(crate) elements: Option<Elements>,
}

/// How many values and own lives a lane of states asks for; `None` if a state is unknown or out of place.
pub(crate) struct StateCounts {
    pub(crate) values: usize,
    pub(crate) own: usize,
}

impl StateCounts {
    /// Counts and checks `states`: those of a collection if `elements` (where each row's begin) are given.
    pub(crate) fn of(states: &[i64], numeric: bool, elements: Option<&[u32]>) -> Option<Self> {
        let mut count = [0usize; 7];
        for &state in states {
            *count.get_mut(usize::try_from(state).ok()?)? += 1;
        }
        let [live, absent, own, tombstones, complex, empty, own_empty] = count;
        let misplaced = match elements {
            None => complex > 0,
            Some(starts) => {
                let leading = starts.windows(2).filter(|pair| {
                    pair[0] < pair[1] && states.get(pair[0] as usize) == Some(&state::COMPLEX)
                });
                absent > 0 || leading.count() != complex
            }
        };
        if misplaced || (!numeric && empty + own_empty > 0) {
            return None;
        }
        Some(Self { values: live + own, own: own + tombstones + complex + own_empty })
    }
}

impl ColumnData {
    /// Puts checked lanes together: the caller has held their lengths against [`StateCounts`].
    pub(crate) fn new(parts: ColumnParts) -> Result<Self> {
        let ColumnParts { rows, numeric, states, values, own, elements } = parts;
        let (mut value_at, mut own_at) = (Vec::new(), Vec::new());
        if let Some(states) = &states {
            value_at.reserve(states.len() + 1);
            own_at.reserve(states.len() + 1);
            let (mut value, mut own) = (0, 0);
            for &state in states {
                value_at.push(value);
                own_at.push(own);
                value += u32::from(matches!(state, state::LIVE | state::OWN));
                own += u32::from(is_own(state));
            }
            value_at.push(value);
            own_at.push(own);
        }
        if own.ttls.iter().any(|&ttl| i32::try_from(ttl).is_err()) {
            return Err(Error::malformed("a cell's TTL is out of range"));
        }
        let flat = states.is_none() && elements.is_none();
        let uneven = (!flat).then(|| {
            let states = states.map(|states| states.iter().map(|&state| state as u8).collect());
            Box::new(Uneven { states, value_at, own_at, own, elements })
        });
        Ok(Self { rows, numeric, flat, values, uneven })
    }

    /// Rows that the column has cells or gaps for.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether no row of the block has a cell of this column.
    pub fn is_absent(&self) -> bool {
        match self.elements() {
            Some(elements) => elements.starts.last() == Some(&0),
            None => self.flat && self.values.is_empty(),
        }
    }

    /// Whether every row has a value that shares the row's life: then value `r` of [`ColumnData::values`] is row `r`'s, and
    /// neither tombstones nor cells with a TTL of their own are there. Never so for collections.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.flat && !self.values.is_empty()
    }

    /// Whether value `r` of [`ColumnData::values`] is row `r`'s: every row has a value, or none has.
    #[inline]
    pub(crate) fn is_flat(&self) -> bool {
        self.flat
    }

    /// The state of each cell, unless all are plain values.
    pub(super) fn states(&self) -> Option<&[u8]> {
        self.uneven.as_ref()?.states.as_deref()
    }

    /// The elements, of a collection.
    pub(super) fn elements(&self) -> Option<&Elements> {
        self.uneven.as_ref()?.elements.as_ref()
    }

    /// The values of those rows (or elements) that have one, in order.
    pub fn values(&self) -> &Lane {
        &self.values
    }

    /// Whether values are numbers.
    pub fn is_numeric(&self) -> bool {
        self.numeric
    }

    /// The number of row `row`'s value in [`ColumnData::values`], for a column of single cells; `None` if it has no cell, a
    /// tombstone or an empty value. Expiry is not looked at.
    #[inline]
    pub fn value_of(&self, row: usize) -> Option<usize> {
        let Some(uneven) = &self.uneven else { return (row < self.values.len()).then_some(row) };
        match &uneven.states {
            None => (row < self.values.len()).then_some(row),
            Some(states) => {
                let has = matches!(i64::from(*states.get(row)?), state::LIVE | state::OWN);
                has.then(|| uneven.value_at[row] as usize)
            }
        }
    }

    #[inline]
    pub(crate) fn state(&self, element: usize) -> i64 {
        let states = self.uneven.as_ref().and_then(|uneven| uneven.states.as_ref());
        states.map_or(state::LIVE, |states| states[element].into())
    }

    #[inline]
    pub(super) fn value_index(&self, element: usize) -> usize {
        match &self.uneven {
            Some(uneven) if uneven.states.is_some() => uneven.value_at[element] as usize,
            _ => element,
        }
    }

    #[inline]
    pub(super) fn own_index(&self, element: usize) -> usize {
        match &self.uneven {
            Some(uneven) if uneven.states.is_some() => uneven.own_at[element] as usize,
            _ => 0,
        }
    }

    pub(super) fn element_range(&self, row: usize) -> std::ops::Range<usize> {
        match self.elements() {
            Some(elements) => elements.starts[row] as usize..elements.starts[row + 1] as usize,
            None => row..row + 1,
        }
    }

    #[inline]
    pub(super) fn own_life(&self, element: usize, row_timestamp: i64) -> Option<OwnLife> {
        let own = &self.uneven.as_ref().filter(|_| is_own(self.state(element)))?.own;
        let i = self.own_index(element);
        Some(OwnLife {
            timestamp: own.timestamps[i].wrapping_add(row_timestamp),
            ttl: own.ttls[i] as i32,
            second: own.seconds[i],
        })
    }

    /// The cell of row `row` of a column of single cells, given the row's life.
    #[inline]
    pub(crate) fn cell(&self, row: usize, reference: &Liveness) -> Option<Cell> {
        if self.flat {
            return (row < self.values.len()).then(|| Cell::live(*reference, self.values.wire(row)));
        }
        self.element_cell(row, reference)
    }

    fn element_cell(&self, element: usize, reference: &Liveness) -> Option<Cell> {
        let value = || self.values.wire(self.value_index(element));
        let own = |own: OwnLife| life_of(own.timestamp, own.ttl, own.second);
        let own_life = self.own_life(element, reference.timestamp);
        Some(match (self.state(element), own_life) {
            (state::LIVE, _) => Cell::live(*reference, value()),
            (state::EMPTY, _) => Cell::live(*reference, Default::default()),
            (state::OWN, Some(life)) => Cell::live(own(life), value()),
            (state::OWN_EMPTY, Some(life)) => Cell::live(own(life), Default::default()),
            (state::TOMBSTONE, Some(OwnLife { timestamp, ttl, second })) => {
                Cell { timestamp, ttl, local: second_from(timestamp, second), value: None }
            }
            _ => return None,
        })
    }

    /// Fills `complex` with the elements of row `row`; `false` if the row has none.
    pub(crate) fn read_complex(
        &self,
        row: usize,
        reference: &Liveness,
        complex: &mut Complex,
    ) -> Result<bool> {
        complex.deletion = None;
        complex.cells.clear();
        let Some(elements) = self.elements() else { return Ok(false) };
        for element in self.element_range(row) {
            if let (state::COMPLEX, Some(own)) =
                (self.state(element), self.own_life(element, reference.timestamp))
            {
                let local = second_from(own.timestamp, own.second);
                complex.deletion = Some(Deletion::new(own.timestamp, local));
            } else if let Some(cell) = self.element_cell(element, reference) {
                complex.cells.push((elements.paths.path(element)?, cell));
            }
        }
        Ok(complex.deletion.is_some() || !complex.cells.is_empty())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let uneven = self.uneven.as_ref().map_or(0, |uneven| {
            let states = uneven.states.as_ref().map_or(0, |states| 9 * states.len());
            let elements = uneven.elements.as_ref();
            let elements = elements.map_or(0, |e| 4 * e.starts.len() + e.paths.memory_bytes());
            states + elements + 24 * uneven.own.ttls.len()
        });
        uneven + self.values.memory_bytes()
    }
}

fn is_own(state: i64) -> bool {
    matches!(state, state::OWN | state::TOMBSTONE | state::COMPLEX | state::OWN_EMPTY)
}
