//! Merging sorted streams: several sources become one, as a reader or a compaction sees them.
//!
//! A [`Merge`] reconciles rows of equal clustering, tracks the range deletion in force in each source, hides what the
//! strongest one (and the partition's deletion) covers, and yields the merged bounds. `slice` merges
//! the rows of one partition, in either direction; `scan` and compactions merge whole streams of
//! partitions in token order through [`Merge::streams`].
//!
//! Inputs stand sorted by the place of their next item. The first one moves, and is put back by comparing with the
//! second, then by binary search: a run of one source costs one comparison an item and an interleaved pair two, without
//! a heap. Rows are moved, never cloned.
//!
//! # Invariants
//! 1. Inputs are sorted in the direction of the merge and free of equal clusterings.
//! 2. Between two items, `in_force` is the strongest range deletion of all inputs at that place, `None` where the
//!    partition's deletion outranks it.
//! 3. A row that nothing is left of is not yielded, a partition is, whatever is left of it.
//!
//! # Range deletions backwards
//! A [`RangeBound`] says what is in force from it on in *clustering* order. Who reads backwards has to know what holds
//! on the far side of a bound before the rows there come. So **inputs of a backward merge state the deletion in force
//! from the bound on in the direction of reading**, as files and memtables can tell. What a merge yields keeps to the rule
//! of [`RangeBound`], in both directions.

use crate::error::Result;
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::{merge_deletion, merge_rows, shadow};
use crate::model::row::Row;
use std::cmp::Ordering;

/// What a merge reads from: fragments in order, or an error.
pub trait Source: Iterator<Item = Result<Fragment>> {}
impl<I: Iterator<Item = Result<Fragment>>> Source for I {}

/// A merge of sorted sources. As an iterator it yields fragments; after an error it ends.
pub struct Merge<I> {
    inputs: Vec<Input<I>>,
    /// Inputs that have an item in this partition, by the place of that item.
    order: Vec<usize>,
    /// The first input's item is known to stand before the second's.
    apart: bool,
    reverse: bool,
    /// Deletion of the whole partition.
    partition: Option<Deletion>,
    in_force: Option<Deletion>,
    phase: Phase,
}

struct Input<I> {
    items: I,
    head: Option<Fragment>,
    /// The range deletion of this input in force at its place.
    open: Option<Deletion>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was read yet.
    Start,
    /// Inside a partition, or behind it.
    Items,
    /// Between partitions of whole streams: the next one is to be found.
    Partitions,
    /// Ended, or failed.
    Done,
}

impl<I: Source> Merge<I> {
    /// Merges the rows and bounds of one partition, of which `partition` is the merged deletion. Sources yield
    /// rows and bounds alone, backwards if `reverse`, with bounds as the module says; beside each stands the range deletion
    /// that is in force in it where the merge begins.
    pub fn rows(
        sources: impl IntoIterator<Item = (I, Option<Deletion>)>,
        partition: Option<Deletion>,
        reverse: bool,
    ) -> Self {
        let (sources, open): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let mut merge = Self { reverse, partition, ..Self::new(sources, Phase::Start) };
        for (input, open) in merge.inputs.iter_mut().zip(open) {
            input.open = open;
        }
        merge.in_force = merge.strongest();
        merge
    }

    /// Merges whole streams: partitions in token order, each with its static row, rows and bounds in clustering order.
    pub fn streams(sources: impl IntoIterator<Item = I>) -> Self {
        Self::new(sources, Phase::Partitions)
    }

    fn new(sources: impl IntoIterator<Item = I>, phase: Phase) -> Self {
        let inputs: Vec<_> =
            sources.into_iter().map(|items| Input { items, head: None, open: None }).collect();
        let order = Vec::with_capacity(inputs.len());
        Self { inputs, order, apart: false, reverse: false, partition: None, in_force: None, phase }
    }

    /// The range deletion in force in each source, at its place.
    pub(crate) fn open_deletions(&self) -> impl Iterator<Item = Option<Deletion>> + '_ {
        self.inputs.iter().map(|input| input.open)
    }

    /// The strongest range deletion in force that the partition's does not outrank.
    fn strongest(&self) -> Option<Deletion> {
        let strongest = self.inputs.iter().map(|input| input.open).max().flatten();
        strongest.filter(|_| strongest > self.partition)
    }

    fn step(&mut self) -> Result<Option<Fragment>> {
        loop {
            match self.phase {
                Phase::Done => return Ok(None),
                Phase::Start => {
                    for i in 0..self.inputs.len() {
                        self.pull(i)?;
                    }
                    self.phase = Phase::Items;
                    self.sort_inputs((0..self.inputs.len()).collect());
                }
                Phase::Partitions => return self.next_partition(),
                Phase::Items => match self.next_item()? {
                    None if self.inputs.iter().any(|input| input.head.is_some()) => {
                        return self.next_partition();
                    }
                    item => return Ok(item),
                },
            }
        }
    }

    /// Moves to the partition with the least key and takes its deletion. Its static row, if any, follows.
    fn next_partition(&mut self) -> Result<Option<Fragment>> {
        if self.phase == Phase::Partitions {
            for i in 0..self.inputs.len() {
                self.pull(i)?;
            }
            self.phase = Phase::Items;
        }
        let mut found: Vec<usize> = std::mem::take(&mut self.order);
        found.clear();
        for i in 0..self.inputs.len() {
            let Some(key) = self.key(i) else { continue };
            match found.first().and_then(|&first| self.key(first)).map(|least| key.cmp(least)) {
                Some(Ordering::Greater) => {}
                Some(Ordering::Equal) => found.push(i),
                Some(Ordering::Less) | None => {
                    found.clear();
                    found.push(i);
                }
            }
        }
        let mut partition = None;
        let mut merged = None;
        for &i in &found {
            if let Some(Fragment::Partition { key, deletion }) = self.pull(i)? {
                merged = merge_deletion(merged, deletion);
                partition = Some(Fragment::Partition { key, deletion: merged });
            }
        }
        self.partition = merged;
        self.in_force = None;
        self.inputs.iter_mut().for_each(|input| input.open = None);
        self.sort_inputs(found);
        Ok(partition)
    }

    fn key(&self, i: usize) -> Option<&DecoratedKey> {
        match &self.inputs[i].head {
            Some(Fragment::Partition { key, .. }) => Some(key),
            _ => None,
        }
    }

    /// The next row or bound of this partition.
    fn next_item(&mut self) -> Result<Option<Fragment>> {
        loop {
            let Some(&first) = self.order.first() else { return Ok(None) };
            let apart = self.apart;
            match self.advance(first)? {
                Some(Fragment::Row(row)) => {
                    if let Some(row) = self.finish_row(row, apart)? {
                        return Ok(Some(Fragment::Row(row)));
                    }
                }
                Some(Fragment::Bound(bound)) => {
                    if let Some(bound) = self.finish_bound(first, bound)? {
                        return Ok(Some(Fragment::Bound(bound)));
                    }
                }
                Some(Fragment::Static(mut row)) => {
                    while let Some(other) = self.take_if(|head| matches!(head, Fragment::Static(_)))? {
                        if let Fragment::Static(other) = other.1 {
                            row = merge_rows(row, other);
                        }
                    }
                    shadow(&mut row, self.partition);
                    if !row.is_empty() {
                        return Ok(Some(Fragment::Static(row)));
                    }
                }
                Some(Fragment::Partition { .. }) | None => return Ok(None),
            }
        }
    }

    /// Merges into `row` its other versions and hides what is deleted; `None` if nothing is left.
    #[inline]
    fn finish_row(&mut self, mut row: Row, apart: bool) -> Result<Option<Row>> {
        if !apart {
            let same =
                |head: &Fragment| matches!(head, Fragment::Row(other) if other.clustering == row.clustering);
            let mut found = self.take_if(same)?;
            while let Some((_, Fragment::Row(other))) = found {
                row = merge_rows(row, other);
                let same =
                    |head: &Fragment| matches!(head, Fragment::Row(o) if o.clustering == row.clustering);
                found = self.take_if(same)?;
            }
        }
        let deletion = merge_deletion(self.partition, self.in_force);
        if deletion.is_some() {
            shadow(&mut row, deletion);
        }
        Ok((!row.is_empty()).then_some(row))
    }

    /// Takes all bounds at this place; the merged one if the strongest deletion changes.
    fn finish_bound(&mut self, input: usize, bound: RangeBound) -> Result<Option<RangeBound>> {
        self.inputs[input].open = bound.deletion;
        let at = bound.at;
        while let Some((i, Fragment::Bound(other))) =
            self.take_if(|head| matches!(head, Fragment::Bound(other) if other.at == at))?
        {
            self.inputs[i].open = other.deletion;
        }
        let strongest = self.strongest();
        let before = std::mem::replace(&mut self.in_force, strongest);
        let deletion = if self.reverse { before } else { strongest };
        Ok((before != strongest).then_some(RangeBound { at, deletion }))
    }

    /// Takes the first input's item if it is as asked, with the input's number.
    #[inline]
    fn take_if(&mut self, asked: impl Fn(&Fragment) -> bool) -> Result<Option<(usize, Fragment)>> {
        let Some(&i) = self.order.first() else { return Ok(None) };
        match &self.inputs[i].head {
            Some(head) if asked(head) => Ok(self.advance(i)?.map(|taken| (i, taken))),
            _ => Ok(None),
        }
    }

    /// Takes the item of `order[0]`, reads that input's next and puts the input where it belongs.
    #[inline]
    fn advance(&mut self, input: usize) -> Result<Option<Fragment>> {
        let taken = self.pull(input)?;
        match &self.inputs[input].head {
            None | Some(Fragment::Partition { .. }) => {
                self.order.remove(0);
                self.apart = false;
            }
            Some(_) if self.order.len() == 1 => self.apart = true,
            Some(_) => match self.compare(input, self.order[1]) {
                Ordering::Less => self.apart = true,
                Ordering::Equal => self.apart = false,
                Ordering::Greater => {
                    let rest = &self.order[2..];
                    let place = rest.partition_point(|&other| self.compare(other, input) == Ordering::Less);
                    self.order[..place + 2].rotate_left(1);
                    // Of two inputs the order is known; of more, the new first may equal the one behind it.
                    self.apart = self.order.len() == 2;
                }
            },
        }
        Ok(taken)
    }

    /// Reads an input's next item; returns the one before.
    #[inline]
    fn pull(&mut self, input: usize) -> Result<Option<Fragment>> {
        let input = &mut self.inputs[input];
        let next = input.items.next().transpose()?;
        Ok(std::mem::replace(&mut input.head, next))
    }

    /// Makes `order` of those of `candidates` that have an item in this partition.
    fn sort_inputs(&mut self, mut candidates: Vec<usize>) {
        candidates.retain(|&i| !matches!(self.inputs[i].head, None | Some(Fragment::Partition { .. })));
        candidates.sort_by(|&a, &b| self.compare(a, b));
        self.order = candidates;
        self.apart = false;
    }

    /// The order of two inputs' items, in the direction of reading.
    #[inline]
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (Some(a), Some(b)) = (&self.inputs[a].head, &self.inputs[b].head) else { return Ordering::Equal };
        match (a, b) {
            (Fragment::Row(a), Fragment::Row(b)) => {
                let order = a.clustering.order().cmp(b.clustering.order());
                if self.reverse { order.reverse() } else { order }
            }
            _ => {
                // The static row stands before all others, whichever way the rows run.
                let rank = |fragment: &Fragment| !matches!(fragment, Fragment::Static(_));
                rank(a).cmp(&rank(b)).then_with(|| {
                    let order = compare_places(a, b);
                    if self.reverse { order.reverse() } else { order }
                })
            }
        }
    }
}

impl<I: Source> Iterator for Merge<I> {
    type Item = Result<Fragment>;

    #[inline]
    fn next(&mut self) -> Option<Result<Fragment>> {
        let item = self.step().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.phase = Phase::Done;
        }
        item
    }
}

/// How two items of one partition stand in clustering order.
pub fn compare_places(a: &Fragment, b: &Fragment) -> Ordering {
    match (a, b) {
        (Fragment::Row(a), Fragment::Row(b)) => a.clustering.cmp(&b.clustering),
        (Fragment::Bound(a), Fragment::Bound(b)) => a.at.cmp(&b.at),
        (Fragment::Bound(a), Fragment::Row(b)) => a.at.cmp_row(b.clustering.order()),
        (Fragment::Row(a), Fragment::Bound(b)) => b.at.cmp_row(a.clustering.order()).reverse(),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
