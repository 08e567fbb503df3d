//! Runs of several blocks whose rows alternate: the order in which they stand, piece by piece.
//!
//! Late rows of a series lie in another file than their neighbours. Where nothing of what overlaps is deleted, expired or written
//! twice, there is nothing to merge, only to put in order: a [`Weave`] compares places as numbers and tells which rows of which block come
//! next, which are then copied column by column ([`BatchBuilder::push_run`](crate::read::builder::BatchBuilder::push_run)).
//!
//! # Invariants
//! 1. Every run is live as a whole ([`live_cells`]) and has one clustering column of numbers.
//! 2. Pieces come in the direction of reading. A row that two runs have is in no piece: from there on all is left
//!    to a merge.

use crate::error::Result;
use crate::read::lanes::{LaneMap, live_cells};
use crate::read::source::{Part, Parts, Run};
use std::sync::Arc;

/// A run, and where its columns are.
type Strand = (Run, Arc<LaneMap>);

/// See the module's page.
pub(crate) struct Weave {
    strands: Vec<Strand>,
    reverse: bool,
}

impl Weave {
    /// Whether `parts` need only be put in order, for a reader at second `now`.
    ///
    /// # Errors
    /// `Corrupt` if a lane is damaged.
    pub(crate) fn fits(parts: &Parts, now: i64) -> Result<bool> {
        for (_, part) in parts {
            let Part::Run(run, lanes, _) = part else { return Ok(false) };
            let one_number =
                run.block.schema().clustering().len() == 1 && run.block.place(0)?.plain_ints().is_some();
            if !one_number || live_cells(run, lanes, now)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Over `parts` that fit.
    pub(crate) fn new(parts: Parts, reverse: bool) -> Self {
        let strand = |(_, part)| match part {
            Part::Run(run, lanes, _) => Some((run, lanes)),
            _ => None,
        };
        Self { strands: parts.into_iter().filter_map(strand).collect(), reverse }
    }

    /// The next rows, at most `most`: a part of one of the runs. `None` at the end, or where two runs have one row.
    ///
    /// # Errors
    /// As [`Weave::fits`].
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Strand>> {
        let mut first: Option<(usize, i64)> = None;
        let mut second: Option<i64> = None;
        for (i, (run, _)) in self.strands.iter().enumerate() {
            let Some(place) = self.place(run)? else { continue };
            match first {
                Some((_, before)) if before <= place => second = Some(second.map_or(place, |s| s.min(place))),
                _ => (second, first) = (first.map(|(_, place)| place), Some((i, place))),
            }
        }
        let Some((i, _)) = first else { return Ok(None) };
        let reverse = self.reverse;
        let (run, lanes) = &mut self.strands[i];
        let count = match second {
            None => run.items.len(),
            Some(second) => count_before(run, reverse, second)?,
        };
        if count == 0 {
            return Ok(None);
        }
        Ok(Some((run.split_off(count.min(most), reverse), Arc::clone(lanes))))
    }

    /// The place of the run's next row as a number that grows in the direction of reading.
    fn place(&self, run: &Run) -> Result<Option<i64>> {
        let next = if self.reverse { run.items.clone().next_back() } else { run.items.clone().next() };
        let Some((places, desc)) = run.block.place(0)?.plain_ints() else { return Ok(None) };
        Ok(next.map(|item| directed(places[item], desc != self.reverse)))
    }

    /// What is left of the runs.
    pub(crate) fn into_parts(self) -> Parts {
        let reverse = self.reverse;
        let left = self.strands.into_iter().filter(|(run, _)| !run.items.is_empty());
        left.map(|(run, lanes)| (None, Part::Run(run, lanes, reverse))).collect()
    }
}

/// A number whose order is the reverse of `place`'s if `falling`.
fn directed(place: i64, falling: bool) -> i64 {
    if falling { !place } else { place }
}

/// How many items of `run` stand before place `end`.
fn count_before(run: &Run, reverse: bool, end: i64) -> Result<usize> {
    let Some((places, desc)) = run.block.place(0)?.plain_ints() else { return Ok(0) };
    let places = &places[run.items.clone()];
    Ok(match reverse {
        false => places.partition_point(|&place| directed(place, desc) < end),
        true => places.len() - places.partition_point(|&place| directed(place, !desc) >= end),
    })
}
