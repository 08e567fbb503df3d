//! What a compaction may leave out: the one rule for tombstones and expired values of every kind.
//!
//! A [`Purge`] stands between the merge and the writer ([`crate::compact::job`]). A deletion, an expired cell or an
//! expired row marker may go when it is older than gc_grace_seconds **and** nothing outside of the compaction can hold
//! data of its partition that it still hides: the caller answers that through [`Outside`]. The same test serves
//! partition, range, row, collection and cell deletions.
//!
//! Expired cells that must stay lose their value but keep their TTL and expiry. They do not become plain
//! tombstones: a tombstone wins against a cell of the same write time that expires later, an expired cell does
//! not, and what wins must not depend on when a compaction ran.
//!
//! # Invariants
//! 1. A reader at second `now` or later sees the same rows from output and outside as from input and outside.
//! 2. Bounds stay consistent: one is passed on exactly where the deletion in force changes after purging.
//! 3. A partition of which nothing is left is not passed on.
//!
//! # Not here
//! What the deletions of the inputs hide *inside* the compaction: the merge has dropped that before.

use crate::model::cell::{Cell, ColumnId};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::drop_column;
use crate::model::row::Row;
use crate::model::schema::TableSchema;

/// What a table holds outside of a compaction: files that are not its inputs, and memtables.
pub trait Outside {
    /// The least write time (micros) that anything of the partition outside can have; `None` if nothing is there.
    /// An answer that is too small keeps tombstones longer than needed; one that is too great loses data.
    fn min_timestamp(&self, key: &DecoratedKey) -> Option<i64>;
}

/// Nothing outside: a compaction of all sources.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Outside for Nothing {
    fn min_timestamp(&self, _: &DecoratedKey) -> Option<i64> {
        None
    }
}

impl<T: Outside + ?Sized> Outside for &T {
    fn min_timestamp(&self, key: &DecoratedKey) -> Option<i64> {
        (**self).min_timestamp(key)
    }
}

/// What a purge left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Deletions and cell tombstones of all kinds.
    pub tombstones: u64,
    /// Expired cells and row markers.
    pub expired: u64,
    /// Values of expired cells that themselves had to stay.
    pub values: u64,
    /// Rows, static ones included, of which nothing is left.
    pub rows: u64,
    /// Tombstones and expired things that are old enough, but hide something outside of the compaction.
    pub kept: u64,
}

impl Purged {
    /// Whether anything was left out that takes space.
    pub fn gained(&self) -> bool {
        self.tombstones + self.expired + self.values > 0
    }
}

/// Filters the merged stream of one compaction.
pub struct Purge<O> {
    outside: O,
    /// Second of the compaction.
    now: i64,
    /// What expired or was deleted before this second may go.
    gc_before: i64,
    dropped: Vec<(ColumnId, i64)>,
    partition: Option<DecoratedKey>,
    /// Oldest write time outside, once asked for this partition.
    oldest_outside: Option<Option<i64>>,
    /// The partition's fragment, until something of it is passed on.
    waiting: Option<Fragment>,
    /// The range deletion in force in the output.
    open: Option<Deletion>,
    purged: Purged,
}

impl<O: Outside> Purge<O> {
    /// Purges at second `now` what is older than the `gc_grace_seconds` of `schema`.
    pub fn new(schema: &TableSchema, now: i64, outside: O) -> Self {
        let grace = i64::from(schema.options.gc_grace_seconds);
        let dropped = schema.dropped().iter().map(|d| (d.column.id, d.timestamp)).collect();
        Self {
            outside,
            now,
            gc_before: now.saturating_sub(grace),
            dropped,
            partition: None,
            oldest_outside: None,
            waiting: None,
            open: None,
            purged: Purged::default(),
        }
    }

    /// What was left out so far.
    pub fn purged(&self) -> Purged {
        self.purged
    }

    /// Whether items of which nothing expires or was deleted before `min_local`, and nothing was written before
    /// `min_timestamp`, pass unchanged whatever is outside: a block of such items may be copied as it is.
    pub fn leaves_alone(&self, min_local: i64, min_timestamp: i64) -> bool {
        min_local >= self.gc_before && self.dropped.iter().all(|(_, at)| min_timestamp > *at)
    }

    /// Takes the next fragment of the merged stream; gives what is left of it to `out`, preceded by its
    /// partition where that was still to come.
    pub fn push<E>(
        &mut self,
        fragment: Fragment,
        out: &mut impl FnMut(Fragment) -> Result<(), E>,
    ) -> Result<(), E> {
        match fragment {
            Fragment::Partition { key, deletion } => {
                self.begin(&key);
                let deletion = self.keep_deletion(deletion);
                self.waiting = Some(Fragment::Partition { key, deletion });
                match deletion {
                    Some(_) => self.announce(out),
                    None => Ok(()),
                }
            }
            Fragment::Static(row) => match self.row(row) {
                Some(row) => self.pass(Fragment::Static(row), out),
                None => Ok(()),
            },
            Fragment::Row(row) => match self.row(row) {
                Some(row) => self.pass(Fragment::Row(row), out),
                None => Ok(()),
            },
            Fragment::Bound(RangeBound { at, deletion }) => {
                let deletion = self.keep_deletion(deletion);
                if deletion == self.open {
                    return Ok(());
                }
                self.open = deletion;
                self.pass(Fragment::Bound(RangeBound { at, deletion }), out)
            }
        }
    }

    /// Passes on the partition if that has not happened: for rows that go to the writer past this filter.
    pub fn announce<E>(&mut self, out: &mut impl FnMut(Fragment) -> Result<(), E>) -> Result<(), E> {
        self.waiting.take().map_or(Ok(()), out)
    }

    fn pass<E>(
        &mut self,
        fragment: Fragment,
        out: &mut impl FnMut(Fragment) -> Result<(), E>,
    ) -> Result<(), E> {
        self.announce(out)?;
        out(fragment)
    }

    fn begin(&mut self, key: &DecoratedKey) {
        self.partition = Some(key.clone());
        self.oldest_outside = None;
        self.open = None;
    }

    /// The rule: old enough, and nothing outside is as old as `timestamp`.
    #[inline]
    fn may_go(&mut self, timestamp: i64, local: i64) -> bool {
        if local >= self.gc_before {
            return false;
        }
        let oldest = match (self.oldest_outside, &self.partition) {
            (Some(known), _) => known,
            (None, Some(key)) => *self.oldest_outside.insert(self.outside.min_timestamp(key)),
            (None, None) => return false,
        };
        let free = oldest.is_none_or(|oldest| oldest > timestamp);
        self.purged.kept += u64::from(!free);
        free
    }

    fn keep_deletion(&mut self, deletion: Option<Deletion>) -> Option<Deletion> {
        let deletion = deletion?;
        let go = self.may_go(deletion.timestamp, deletion.local);
        self.purged.tombstones += u64::from(go);
        (!go).then_some(deletion)
    }

    fn keep_cell(&mut self, cell: &mut Cell) -> bool {
        let expiring = cell.is_expiring();
        // Of a live cell `local` is NEVER or to come: nothing to do, the usual case.
        if !cell.is_tombstone() && cell.is_live(self.now) {
            return true;
        }
        if self.may_go(cell.timestamp, cell.local) {
            match expiring {
                true => self.purged.expired += 1,
                false => self.purged.tombstones += 1,
            }
            return false;
        }
        if expiring && cell.value.take().is_some() {
            self.purged.values += 1;
        }
        true
    }

    /// What is left of a row, if anything.
    fn row(&mut self, mut row: Row) -> Option<Row> {
        for &(column, at) in &self.dropped {
            drop_column(&mut row, column, at);
        }
        if let Some(life) = row.liveness
            && !life.is_live(self.now)
            && self.may_go(life.timestamp, life.expiry)
        {
            row.liveness = None;
            self.purged.expired += 1;
        }
        row.deletion = self.keep_deletion(row.deletion);
        row.cells.retain_mut(|(_, cell)| self.keep_cell(cell));
        row.complex.retain_mut(|complex| {
            complex.deletion = self.keep_deletion(complex.deletion);
            complex.cells.retain_mut(|(_, cell)| self.keep_cell(cell));
            complex.deletion.is_some() || !complex.cells.is_empty()
        });
        if row.is_empty() {
            self.purged.rows += 1;
            return None;
        }
        Some(row)
    }
}

#[cfg(test)]
#[path = "purge_tests.rs"]
mod tests;
