//! Merges inputs whose rows interleave, from lane to lane: no row is built unless two inputs have the same one.
//!
//! [`job`](crate::compact::job) sends a segment this way if there is nothing in it but rows, nothing that expires before now, and no purge to
//! be made. What is left to do is to put rows in order and to reconcile equal ones. A run of one input's rows that stand
//! before all others' is found by doubling steps on the clustering lane and appended at once; short runs of plain rows go one by one, value
//! by value.
//!
//! # Invariants
//! 1. The output is what [`Merge`](crate::read::merge::Merge) and [`Purge`](crate::compact::purge::Purge) would give for the same segment.

use crate::compact::output::Rolling;
use crate::compact::progress::Progress;
use crate::error::{Error, Result};
use crate::model::clustering::Bound;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::reconcile::merge_rows;
use crate::model::row::Row;
use crate::sstable::block::decoded::DecodedBlock;
use crate::sstable::block::rows::Projection;
use crate::sstable::block::seek::SeekBound;
use crate::sstable::blocks::BlockRef;
use crate::sstable::reader::SsTable;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Rows that make it worth while to append them as a run.
const WORTHWHILE: usize = 4;

/// Consecutive blocks of one input, with a row in hand.
pub(crate) struct Input<'a> {
    table: &'a SsTable,
    projection: Arc<Projection>,
    progress: &'a Progress,
    /// The next block, and how many are left with it.
    next: Option<BlockRef>,
    left: u64,
    at: Option<Place>,
}

/// Where an input stands.
struct Place {
    block: Arc<DecodedBlock>,
    partition: usize,
    key: DecoratedKey,
    /// The partition's items in the block that are still to be merged, at least one.
    items: Range<usize>,
    /// The first of them as a number that ascends with the items, if the clustering is one number.
    head: Option<i64>,
    /// See [`DecodedBlock::is_plain`].
    plain: bool,
}

impl<'a> Input<'a> {
    /// `blocks` blocks of `table` from `first` on.
    pub(crate) fn new(
        table: &'a SsTable,
        projection: Arc<Projection>,
        progress: &'a Progress,
        first: BlockRef,
        blocks: u64,
    ) -> Self {
        Self { table, projection, progress, next: Some(first), left: blocks, at: None }
    }

    fn named(&self, error: Error) -> Error {
        if error.file().is_some() { error } else { error.in_file(self.table.path()) }
    }

    /// Passes `count` items; whether the next is of the same partition.
    #[inline]
    fn advance(&mut self, count: usize) -> Result<bool> {
        if let Some(place) = &mut self.at {
            place.items.start += count;
            if !place.items.is_empty() {
                place.head = head(&place.block, place.items.start)?;
                return Ok(true);
            }
        }
        let key = self.at.as_ref().map(|place| place.key.clone());
        self.settle().map_err(|error| self.named(error))?;
        Ok(self.at.as_ref().map(|place| &place.key) == key.as_ref())
    }

    /// Moves to the next partition or block if this one's items are all done.
    fn settle(&mut self) -> Result<()> {
        loop {
            if let Some(place) = &mut self.at {
                if !place.items.is_empty() {
                    place.head = head(&place.block, place.items.start)?;
                    return Ok(());
                }
                if place.partition + 1 < place.block.partitions() {
                    place.partition += 1;
                    let partition = place.block.partition(place.partition);
                    place.key = DecoratedKey::new(partition.key);
                    place.items = partition.items;
                    continue;
                }
            }
            self.at = None;
            let Some(entry) = self.next.take().filter(|_| self.left > 0) else { return Ok(()) };
            let block = self.table.peek_block(&entry)?;
            self.left -= 1;
            self.next = if self.left > 0 { entry.next(self.table)? } else { None };
            self.progress.add_read(entry.length.into(), entry.summary.items as u64);
            let (plain, items) = (block.is_plain()?, block.partition(0).items);
            let key = entry.first.clone();
            self.at = Some(Place { block, partition: 0, key, items, head: None, plain });
        }
    }
}

impl Place {
    /// How the row in hand stands to another input's.
    #[inline]
    fn compare(&self, other: &Self) -> Result<Ordering> {
        if let (Some(own), Some(other)) = (self.head, other.head) {
            return Ok(own.cmp(&other));
        }
        let row = |place: &Self| place.block.clustering(place.items.start);
        Ok(row(self)?.cmp(&row(other)?))
    }

    /// How many items stand before the other's row in hand.
    #[inline]
    fn count_before(&self, other: &Self) -> Result<usize> {
        if let (Some(limit), Some((numbers, desc))) = (other.head, numbers(&self.block)?) {
            let numbers = &numbers[self.items.clone()];
            let before = |number: &i64| ascending(*number, desc) < limit;
            let mut end = 1;
            while end < numbers.len() && before(&numbers[end]) {
                end *= 2;
            }
            let start = end / 2;
            return Ok(start + numbers[start..end.min(numbers.len())].partition_point(before));
        }
        let at = other.block.clustering(other.items.start)?;
        let bound = SeekBound::new(self.block.schema(), &Bound::before(at.order()))?;
        Ok(self.block.seek(self.items.clone(), &bound)? - self.items.start)
    }
}

/// The one clustering column of a block as plain numbers, and whether they descend.
#[inline]
fn numbers(block: &DecodedBlock) -> Result<Option<(&[i64], bool)>> {
    match block.schema().clustering() {
        [_] => Ok(block.place(0)?.plain_ints()),
        _ => Ok(None),
    }
}

#[inline]
fn ascending(number: i64, desc: bool) -> i64 {
    if desc { !number } else { number }
}

#[inline]
fn head(block: &DecodedBlock, item: usize) -> Result<Option<i64>> {
    Ok(numbers(block)?.map(|(numbers, desc)| ascending(numbers[item], desc)))
}

/// Merges `inputs`, which have rows alone and the columns of the output, into `out`. `step` is told of rows that were
/// written.
///
/// # Errors
/// `Corrupt` if an input is damaged, those of writing, and what `step` returns.
pub(crate) fn interleave(
    inputs: &mut [Input<'_>],
    out: &mut Rolling<'_>,
    mut step: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    for input in inputs.iter_mut() {
        input.advance(0)?;
    }
    let (mut members, mut equal) = (Vec::with_capacity(inputs.len()), Vec::new());
    loop {
        let keys = inputs.iter().filter_map(|input| input.at.as_ref().map(|place| &place.key));
        let Some(key) = keys.min().cloned() else { return Ok(()) };
        members.clear();
        members.extend((0..inputs.len()).filter(|&i| inputs[i].at.as_ref().is_some_and(|at| at.key == key)));
        out.push(&Fragment::Partition { key, deletion: None })?;
        while let Some((least, count)) = next_run(inputs, &members, &mut equal)? {
            match count {
                0 => merge_equal(inputs, &mut members, &equal, out)?,
                _ => {
                    write_run(&inputs[least], count, out)?;
                    if !inputs[least].advance(count)? {
                        members.retain(|&i| i != least);
                    }
                }
            }
            step(count.max(1))?;
        }
    }
}

/// The member with the least row and how many of its rows stand before all others'; none if others have the same row: `equal` then
/// names all that do.
#[inline]
fn next_run(
    inputs: &[Input<'_>],
    members: &[usize],
    equal: &mut Vec<usize>,
) -> Result<Option<(usize, usize)>> {
    let mut least: Option<(usize, &Place)> = None;
    let mut second: Option<&Place> = None;
    for &i in members {
        let Some(place) = &inputs[i].at else { continue };
        match least {
            Some((_, first)) if place.compare(first)?.is_ge() => {
                if match second {
                    Some(other) => place.compare(other)?.is_lt(),
                    None => true,
                } {
                    second = Some(place);
                }
            }
            _ => {
                second = least.map(|(_, place)| place);
                least = Some((i, place));
            }
        }
    }
    let Some((i, place)) = least else { return Ok(None) };
    let count = match second {
        None => place.items.len(),
        Some(second) => place.count_before(second)?,
    };
    if count == 0 {
        equal.clear();
        for &i in members {
            if let Some(other) = &inputs[i].at
                && other.compare(place)?.is_eq()
            {
                equal.push(i);
            }
        }
    }
    Ok(Some((i, count)))
}

/// Writes the first `count` rows of an input.
#[inline]
fn write_run(input: &Input<'_>, count: usize, out: &mut Rolling<'_>) -> Result<()> {
    let Some(Place { block, items, plain, .. }) = &input.at else { return Ok(()) };
    let (run, writer) = (items.start..items.start + count, out.writer()?);
    if count >= WORTHWHILE {
        return writer.push_rows_from(block, run);
    }
    for item in run {
        match plain {
            true => writer.push_plain_row(block, item)?,
            false => {
                let row = block.to_row(item, &input.projection).map_err(|error| input.named(error))?;
                writer.push_row(&row)?;
            }
        }
    }
    Ok(())
}

/// Reconciles the row that all of `equal` have, and writes it.
fn merge_equal(
    inputs: &mut [Input<'_>],
    members: &mut Vec<usize>,
    equal: &[usize],
    out: &mut Rolling<'_>,
) -> Result<()> {
    let mut merged: Option<Row> = None;
    for &i in equal {
        let input = &mut inputs[i];
        let Some(place) = &input.at else { continue };
        let row = place.block.to_row(place.items.start, &input.projection);
        let row = row.map_err(|error| input.named(error))?;
        merged = Some(match merged {
            Some(merged) => merge_rows(merged, row),
            None => row,
        });
        if !input.advance(1)? {
            members.retain(|&member| member != i);
        }
    }
    match merged.filter(|row| !row.is_empty()) {
        Some(row) => out.writer()?.push_row(&row),
        None => Ok(()),
    }
}
