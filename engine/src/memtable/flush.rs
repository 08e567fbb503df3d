//! Everything in a memtable as one sorted stream, for the writer of an SSTable.
//!
//! Versions are merged, and what a deletion of the same memtable covers is left out; the deletion stays, since it may
//! cover something in older files. Expired cells stay too: when they may go is for compactions to decide.
//!
//! Where nothing is deleted, runs of plain rows are lent as they are encoded ([`FlushItem::Plain`]): the writer takes them
//! without building them. The iterator gives the same stream with every row built.
//!
//! # Threads
//! Runs beside readers. A memtable that is flushed takes no more writes; written to meanwhile, what came later may be missing.

use crate::encoding::plain::PlainRow;
use crate::error::Result;
use crate::memtable::partition::MemPartition;
use crate::memtable::window::{Found, Run, Window};
use crate::model::clustering::ClusteringRange;
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::{merge_deletion, shadow};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows that are looked at at once.
const ROWS: usize = 128;

/// What comes next in the stream.
#[derive(Debug)]
pub enum FlushItem<'a> {
    /// Anything.
    Fragment(Fragment),
    /// Plain rows, at least one.
    Plain(Vec<PlainRow<'a>>),
}

/// The stream of a memtable's contents in token order. After an error it ends.
#[derive(Debug)]
pub struct Flush {
    partitions: Arc<Vec<Arc<MemPartition>>>,
    next: usize,
    current: Option<Current>,
    window: Window,
    /// The window's rows are taken one by one.
    walking: bool,
    /// The partition that is walked, until something of it comes; and what came, until the partition was given.
    unannounced: Option<DecoratedKey>,
    held: Option<Found>,
    ready: VecDeque<Fragment>,
}

/// What [`Flush::next_item`] gives, without borrowing.
enum Step {
    Fragment(Fragment),
    Plain(Run),
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
            walking: false,
            unannounced: None,
            held: None,
            ready: VecDeque::with_capacity(ROWS + 8),
        }
    }

    /// The next item, `None` at the end. After an error there are no more.
    ///
    /// # Errors
    /// `Corrupt` if a stored row cannot be decoded, which was checked when it came in.
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<FlushItem<'_>>> {
        match self.step() {
            Ok(Some(Step::Fragment(fragment))) => Ok(Some(FlushItem::Fragment(fragment))),
            Ok(Some(Step::Plain(run))) => Ok(Some(FlushItem::Plain(self.window.plain_rows(&run)?))),
            Ok(None) => Ok(None),
            Err(error) => {
                self.ready.clear();
                (self.current, self.walking, self.held) = (None, false, None);
                self.next = self.partitions.len();
                Err(error)
            }
        }
    }

    #[inline]
    fn step(&mut self) -> Result<Option<Step>> {
        loop {
            if let Some(fragment) = self.ready.pop_front() {
                return Ok(Some(Step::Fragment(fragment)));
            }
            if self.walking {
                let found = self.next_found()?;
                if matches!(&found, Some(Found::Row(row)) if row.is_empty()) {
                    continue;
                }
                if let (Some(key), Some(_)) = (self.unannounced.take(), &found) {
                    if let Some(current) = &mut self.current {
                        current.begun = true;
                    }
                    self.held = found;
                    return Ok(Some(Step::Fragment(Fragment::Partition { key, deletion: None })));
                }
                match found {
                    Some(Found::Plain(run)) => return Ok(Some(Step::Plain(run))),
                    Some(Found::Row(row)) => return Ok(Some(Step::Fragment(Fragment::Row(row)))),
                    None => self.walking = false,
                }
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }

    /// What comes next in the window.
    fn next_found(&mut self) -> Result<Option<Found>> {
        match self.held.take() {
            Some(found) => Ok(Some(found)),
            None => self.window.next_rows(),
        }
    }

    /// Makes the next fragments ready, or the next window to be walked; false when there are none.
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
            if deletion.is_none() && in_force.is_none() && self.window.has_no_ranges() {
                self.unannounced = (!*begun).then(|| partition.key().clone());
                self.walking = true;
                if let Some(left) = self.window.rest(rest) {
                    *rest = left;
                    self.current = Some(current);
                }
                return Ok(true);
            }
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

    fn next(&mut self) -> Option<Self::Item> {
        let rows = match self.next_item().transpose()? {
            Ok(FlushItem::Fragment(fragment)) => return Some(Ok(fragment)),
            Ok(FlushItem::Plain(rows)) => rows.iter().map(|row| row.decode().map(Fragment::Row)).collect(),
            Err(error) => Err(error),
        };
        let rows: Vec<Fragment> = match rows {
            Ok(rows) => rows,
            Err(error) => return Some(Err(error)),
        };
        self.ready.extend(rows);
        self.ready.pop_front().map(Ok)
    }
}
