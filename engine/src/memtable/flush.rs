//! Everything in a memtable as one sorted stream, for the writer of an SSTable.
//!
//! Versions are merged, and what a deletion of the same memtable covers is left out; the deletion stays, since it may
//! cover something in older files. Expired cells stay too: when they may go is for compactions to decide.
//!
//! # Threads
//! Runs beside readers. A memtable that is flushed takes no more writes; written to meanwhile, what came later may be missing.

use crate::error::Result;
use crate::memtable::partition::MemPartition;
use crate::memtable::window::Window;
use crate::model::clustering::ClusteringRange;
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::life::Deletion;
use crate::model::reconcile::{merge_deletion, shadow};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows that are decoded ahead.
const ROWS: usize = 64;

/// The stream of a memtable's contents in token order. After an error it ends.
#[derive(Debug)]
pub struct Flush {
    partitions: Arc<Vec<Arc<MemPartition>>>,
    next: usize,
    current: Option<Current>,
    window: Window,
    ready: VecDeque<Fragment>,
}

/// The partition that is being read.
#[derive(Debug)]
struct Current {
    partition: Arc<MemPartition>,
    /// What of it has not been read yet.
    rest: ClusteringRange,
    deletion: Option<Deletion>,
    /// Range deletion in force, and what of it was written: nothing where the partition's deletion is stronger.
    in_force: Option<Deletion>,
    written: Option<Deletion>,
    /// Something was yielded for it.
    begun: bool,
}

impl Flush {
    pub(super) fn new(partitions: Arc<Vec<Arc<MemPartition>>>) -> Self {
        Self {
            partitions,
            next: 0,
            current: None,
            window: Window::new(false),
            ready: VecDeque::with_capacity(ROWS + 8),
        }
    }

    /// Makes the next fragments ready; false when there are none.
    fn advance(&mut self) -> Result<bool> {
        while self.ready.is_empty() {
            let Some(mut current) = self.current.take() else {
                let Some(partition) = self.partitions.get(self.next) else { return Ok(false) };
                self.next += 1;
                self.current = Some(begin(partition, &mut self.ready)?);
                continue;
            };
            let Current { partition, rest, deletion, in_force, written, begun } = &mut current;
            partition.look(rest, ROWS, &mut self.window);
            let ready = &mut self.ready;
            let mut put = |fragment| {
                if !*begun {
                    *begun = true;
                    ready
                        .push_back(Fragment::Partition { key: partition.key().clone(), deletion: *deletion });
                }
                ready.push_back(fragment);
            };
            self.window.for_each(in_force, |fragment| {
                match fragment {
                    Fragment::Row(mut row) => {
                        shadow(&mut row, merge_deletion(*deletion, *written));
                        if !row.is_empty() {
                            put(Fragment::Row(row));
                        }
                    }
                    Fragment::Bound(RangeBound { at, deletion: range }) => {
                        let range = range.filter(|_| range > *deletion);
                        if range != *written {
                            *written = range;
                            put(Fragment::Bound(RangeBound { at, deletion: range }));
                        }
                    }
                    other => put(other),
                }
                true
            })?;
            match self.window.rest(rest) {
                Some(left) => {
                    *rest = left;
                    self.current = Some(current);
                }
                None if written.is_some() => {
                    let at = ClusteringRange::all().end;
                    put(Fragment::Bound(RangeBound { at, deletion: None }));
                }
                None => {}
            }
        }
        Ok(true)
    }
}

/// Begins a partition: its head and static row. The head of one without deletion waits for something to follow.
fn begin(partition: &Arc<MemPartition>, ready: &mut VecDeque<Fragment>) -> Result<Current> {
    let deletion = partition.deletion(u64::MAX);
    let mut fixed = partition.static_row(u64::MAX)?;
    if let Some(row) = &mut fixed {
        shadow(row, deletion);
    }
    let fixed = fixed.filter(|row| !row.is_empty());
    let begun = deletion.is_some() || fixed.is_some();
    if begun {
        ready.push_back(Fragment::Partition { key: partition.key().clone(), deletion });
        ready.extend(fixed.map(Fragment::Static));
    }
    let rest = ClusteringRange::all();
    Ok(Current { partition: Arc::clone(partition), rest, deletion, in_force: None, written: None, begun })
}

impl Iterator for Flush {
    type Item = Result<Fragment>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(fragment) = self.ready.pop_front() {
            return Some(Ok(fragment));
        }
        match self.advance() {
            Ok(true) => self.ready.pop_front().map(Ok),
            Ok(false) => None,
            Err(error) => {
                self.ready.clear();
                (self.current, self.next) = (None, self.partitions.len());
                Some(Err(error))
            }
        }
    }
}
