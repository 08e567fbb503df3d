//! Reading an index: from a value or a range of values to rows, in the order of their partitions' tokens.
//!
//! Every entry is held against the row that it names: one that says what is no longer so is not followed, and is removed.

use crate::catalog::store::Picture;
use crate::catalog::{Catalog, IndexKind, TableInfo};
use crate::derive::entry::{IndexTable, entry_value, of_key};
use crate::error::Result;
use crate::restrict::IndexUse;
use crate::restrict::index::Lookup;
use crate::select::{Finder, Found, FoundRows};
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use skep_engine::model::compare::compare;
use skep_engine::model::key::DecoratedKey;
use skep_engine::model::life::Deletion;
use skep_engine::model::reconcile::resolve;
use skep_engine::model::row::Row;
use skep_engine::read::query::TombstoneLimits;
use skep_engine::{ColumnKind, Db, Reader, Snapshot, TableSnapshot, WriteBatch};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

/// The indexes of a store, for SELECT.
#[derive(Clone, Copy, Debug, Default)]
pub struct Indexes;

impl Finder for Indexes {
    fn find(
        &self,
        snapshot: &Snapshot,
        table: &Arc<TableInfo>,
        index: &IndexUse,
        lookup: &Lookup,
        from: Option<&DecoratedKey>,
    ) -> Result<Option<FoundRows>> {
        let db = snapshot.db();
        let picture: Arc<Picture> = Catalog::of(db).picture()?;
        let Some(of) = IndexTable::of(&picture, table, &index.index) else { return Ok(None) };
        let wanted = Wanted::new(lookup);
        let entries = Entries {
            index: snapshot.of(&of.table)?,
            base: snapshot.of(&table.table)?,
            db: db.clone(),
            of,
            wanted,
            stale: WriteBatch::new(),
        };
        match entries.of.index.kind {
            IndexKind::Legacy => entries.in_order(from).map(Some),
            IndexKind::Sai => entries.sorted(from).map(Some),
        }
    }
}

/// What values are wanted.
enum Wanted {
    Value(Bytes),
    Range(Option<(Bytes, bool)>, Option<(Bytes, bool)>),
}

impl Wanted {
    fn new(lookup: &Lookup) -> Self {
        match lookup {
            Lookup::Value(value) => Self::Value(value.clone()),
            Lookup::Entry(key, value) => Self::Value(entry_value(key, value)),
            Lookup::Range(from, to) => Self::Range(from.clone(), to.clone()),
        }
    }
}

/// Entries being read, and what they are held against.
struct Entries {
    index: TableSnapshot,
    base: TableSnapshot,
    db: Db,
    of: IndexTable,
    wanted: Wanted,
    /// Removals of entries that were found to be wrong.
    stale: WriteBatch,
}

/// One entry.
struct Entry {
    /// Its place in the index.
    key: Bytes,
    at: Clustering,
    value: Bytes,
    partition: DecoratedKey,
    row: Option<Clustering>,
}

impl Entries {
    fn reader(&self, key: Bytes, ranges: Vec<ClusteringRange>) -> Result<Reader> {
        // Removed entries are the index's own affair.
        let none = TombstoneLimits { warn: u64::MAX, refuse: u64::MAX };
        let select = self.index.partitions(vec![DecoratedKey::new(&key)]).bounds(ranges);
        Ok(select.tombstone_limits(none).reader()?)
    }

    /// The entries of one value: they stand in the order of tokens.
    fn in_order(self, from: Option<&DecoratedKey>) -> Result<FoundRows> {
        let Wanted::Value(value) = &self.wanted else { return Ok(Box::new(std::iter::empty())) };
        let schema = &self.of.schema;
        let key = key::partition_key(schema, &[self.of.value_key(value)?])?;
        let ranges = match from {
            None => vec![ClusteringRange::all()],
            Some(from) => {
                let ends = [Bytes::new(&from.token.0.to_be_bytes()), from.key.clone()];
                key::slice(schema, &[] as &[Bytes], Bound::Included(&ends[..]), Bound::Unbounded)?
            }
        };
        let reader = self.reader(key, ranges)?;
        Ok(Box::new(InOrder { entries: self, reader, read: VecDeque::new(), done: false }))
    }

    /// The entries of a storage-attached index: by value, so that rows have to be put in the order of tokens.
    fn sorted(mut self, from: Option<&DecoratedKey>) -> Result<FoundRows> {
        let schema = &self.of.schema;
        let none: &[Bytes] = &[];
        let ranges = match &self.wanted {
            Wanted::Value(value) => vec![key::prefix_range(schema, std::slice::from_ref(value))?],
            Wanted::Range(low, high) => {
                let end = |end: &Option<(Bytes, bool)>| end.clone().map(|(value, within)| ([value], within));
                let (low, high) = (end(low), end(high));
                let bound = |end: &Option<([Bytes; 1], bool)>| match end {
                    None => Bound::Unbounded,
                    Some((value, true)) => Bound::Included(value.to_vec()),
                    Some((value, false)) => Bound::Excluded(value.to_vec()),
                };
                let (low, high) = (bound(&low), bound(&high));
                key::slice(schema, none, as_slice(&low), as_slice(&high))?
            }
        };
        let key = key::partition_key(schema, &[Bytes::new(&0i32.to_be_bytes())])?;
        let mut reader = self.reader(key, ranges)?;
        let mut found: BTreeMap<DecoratedKey, Option<Vec<Clustering>>> = BTreeMap::new();
        let mut read = VecDeque::new();
        while self.next_entries(&mut reader, &mut read)? {
            for entry in read.drain(..) {
                if from.is_some_and(|from| entry.partition < *from) || !self.holds(&entry)? {
                    continue;
                }
                let rows = found.entry(entry.partition).or_insert_with(|| entry.row.is_some().then(Vec::new));
                if let (Some(rows), Some(row)) = (rows, entry.row) {
                    rows.push(row);
                }
            }
        }
        self.remove_stale();
        let found = found.into_iter().map(|(key, rows)| {
            let rows = rows.map(|mut rows| {
                rows.sort();
                rows.dedup();
                rows
            });
            Ok(Found { key, rows })
        });
        Ok(Box::new(found.collect::<Vec<_>>().into_iter()))
    }

    /// Reads some entries; false at the end.
    fn next_entries(&self, reader: &mut Reader, read: &mut VecDeque<Entry>) -> Result<bool> {
        let Some(batch) = reader.next_batch()? else { return Ok(false) };
        let schema = &self.of.schema;
        let keys = schema.partition_key().len();
        let clusterings = schema.clustering().len();
        for row in 0..batch.len() {
            let mut wires = Vec::with_capacity(clusterings);
            for column in batch
                .columns()
                .columns()
                .enumerate()
                .filter(|(_, c)| matches!(c.kind, ColumnKind::Clustering(_)))
                .map(|(i, _)| i)
            {
                wires.push(batch.wire(column, row)?.unwrap_or(Bytes::EMPTY));
            }
            let at = key::clustering(schema, &wires)?;
            let sai = usize::from(self.of.index.kind == IndexKind::Sai);
            let value = match sai {
                1 => wires.first().cloned().unwrap_or(Bytes::EMPTY),
                _ => of_key(&batch.wire(0, row)?.unwrap_or(Bytes::EMPTY)),
            };
            debug_assert!(keys == 1, "an index has one partition-key column");
            let partition = wires.get(sai + 1).cloned().unwrap_or(Bytes::EMPTY);
            let row = match self.of.is_of_partitions() {
                true => None,
                false => Some(key::clustering(&self.of.base, &wires[sai + 2..clusterings - 1])?),
            };
            let (key, partition) = (batch.key().key.clone(), DecoratedKey::new(&partition));
            read.push_back(Entry { key, at, value, partition, row });
        }
        Ok(true)
    }

    /// Whether the row that an entry names has the value; if not, the entry is to be removed.
    fn holds(&mut self, entry: &Entry) -> Result<bool> {
        let now = self.base.now();
        let (partition, of) = (&entry.partition.key, &self.of);
        let row = match &entry.row {
            Some(at) => self.base.stored_row(partition, at)?.and_then(|row| resolve(row, now)),
            None if of.column.kind == ColumnKind::PartitionKey => return Ok(true),
            None => self.base.stored_static(partition)?.and_then(|row| resolve(row, now)),
        };
        let has = match &row {
            None => false,
            Some(row) => {
                let values = of.values(partition, row, entry.row.is_none(), now)?;
                values.iter().any(|(value, _)| compare(value, &entry.value, &of.of).is_eq())
            }
        };
        if !has {
            self.note_stale(entry)?;
        }
        Ok(has)
    }

    fn note_stale(&mut self, entry: &Entry) -> Result<()> {
        let stored = self.index.stored_row(&entry.key, &entry.at)?;
        let Some(written) = stored.and_then(|row| row.liveness).map(|life| life.timestamp) else {
            return Ok(());
        };
        // No later than it was written: an entry that is made meanwhile stays.
        let mut removal = Row::new(entry.at.clone());
        removal.deletion = Some(Deletion::new(written, self.index.now()));
        Ok(self.stale.put_row(&self.of.schema, &entry.key, false, &removal)?)
    }

    /// Removes what was found to be wrong. A store that takes no writes keeps it; the answer is the same.
    fn remove_stale(&mut self) {
        if !self.stale.is_empty() {
            let _ = self.db.write(&mut self.stale);
            self.stale = WriteBatch::new();
        }
    }
}

fn as_slice(bound: &Bound<Vec<Bytes>>) -> Bound<&[Bytes]> {
    match bound {
        Bound::Included(values) => Bound::Included(values),
        Bound::Excluded(values) => Bound::Excluded(values),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Partitions as the entries of one value name them.
struct InOrder {
    entries: Entries,
    reader: Reader,
    read: VecDeque<Entry>,
    done: bool,
}

impl InOrder {
    fn entry(&mut self) -> Result<Option<Entry>> {
        while self.read.is_empty() {
            if !self.entries.next_entries(&mut self.reader, &mut self.read)? {
                return Ok(None);
            }
        }
        Ok(self.read.pop_front())
    }

    fn found(&mut self) -> Result<Option<Found>> {
        let mut found: Option<Found> = None;
        while let Some(entry) = self.entry()? {
            if found.as_ref().is_some_and(|found| found.key != entry.partition) {
                self.read.push_front(entry);
                break;
            }
            if !self.entries.holds(&entry)? {
                continue;
            }
            let rows = entry.row.is_some().then(Vec::new);
            let found = found.get_or_insert(Found { key: entry.partition, rows });
            if let (Some(rows), Some(row)) = (&mut found.rows, entry.row) {
                // Values of different lives have entries of their own.
                if rows.last() != Some(&row) {
                    rows.push(row);
                }
            }
        }
        Ok(found)
    }
}

impl Iterator for InOrder {
    type Item = Result<Found>;

    fn next(&mut self) -> Option<Result<Found>> {
        if self.done {
            return None;
        }
        let found = self.found();
        if !matches!(found, Ok(Some(_))) {
            self.done = true;
            self.entries.remove_stale();
        }
        found.transpose()
    }
}

impl Drop for InOrder {
    fn drop(&mut self) {
        self.entries.remove_stale();
    }
}
