//! Rows as they are stored: with markers, tombstones, write times, and whatever has expired. For whoever decides by versions and not by what
//! a reader sees: conditions, views, and the question why a value is what it is.
//!
//! [`fragments`] merges all sources of a partition, as a compaction that keeps everything would. [`candidates`] merges nothing: it lists what each
//! memtable and file says about one row.

use crate::error::Result;
use crate::model::cell::ColumnId;
use crate::model::clustering::{Clustering, ClusteringRange};
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::drop_column;
use crate::model::row::Row;
use crate::read::explain::{RuledOut, SourceName};
use crate::read::gather::Gather;
use crate::read::merge::Merge;
use crate::read::partition::MemoryReader;
use crate::read::snapshot::Snapshot;
use crate::read::source::{Part, Source};
use crate::sstable::cursor::SsCursor;
use std::sync::Arc;

/// One source's items, in clustering order.
enum Items {
    File(Box<SsCursor>),
    Memory { source: Box<Source>, part: Option<Part> },
}

impl Iterator for Items {
    type Item = Result<Fragment>;

    fn next(&mut self) -> Option<Result<Fragment>> {
        match self {
            Self::File(cursor) => Iterator::next(cursor),
            Self::Memory { source, part } => loop {
                if let Some(item) = part.as_mut().and_then(Iterator::next) {
                    return Some(item);
                }
                match source.fill() {
                    Ok(true) => *part = Some(source.take(usize::MAX)),
                    Ok(false) => return None,
                    Err(error) => return Some(Err(error)),
                }
            },
        }
    }
}

/// The stored rows of a partition, merged over all sources: what deletions of the partition and of ranges cover is gone, and so are cells of dropped
/// columns; everything else is there, dead or alive. As an iterator it gives rows and the bounds of range deletions in clustering order.
pub struct Fragments {
    /// Deletion of the whole partition.
    pub deletion: Option<Deletion>,
    /// The static row, if anything is stored of it.
    pub statics: Option<Row>,
    merge: Merge<Items>,
    dropped: Arc<[(ColumnId, i64)]>,
}

impl std::fmt::Debug for Fragments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (deletion, statics) = (&self.deletion, &self.statics);
        f.debug_struct("Fragments")
            .field("deletion", deletion)
            .field("statics", statics)
            .finish_non_exhaustive()
    }
}

impl Iterator for Fragments {
    type Item = Result<Fragment>;

    fn next(&mut self) -> Option<Result<Fragment>> {
        loop {
            match self.merge.next()? {
                Ok(Fragment::Row(row)) => match without_dropped(row, &self.dropped) {
                    Some(row) => return Some(Ok(Fragment::Row(row))),
                    None => continue,
                },
                other => return Some(other),
            }
        }
    }
}

/// The row without cells of dropped columns; `None` if nothing is left.
fn without_dropped(mut row: Row, dropped: &[(ColumnId, i64)]) -> Option<Row> {
    dropped.iter().for_each(|(column, timestamp)| drop_column(&mut row, *column, *timestamp));
    (!row.is_empty()).then_some(row)
}

fn dropped(snapshot: &Snapshot) -> Arc<[(ColumnId, i64)]> {
    snapshot.view().schema.dropped().iter().map(|d| (d.column.id, d.timestamp)).collect()
}

/// The stored rows of partition `key` in `range`.
///
/// # Errors
/// `Corrupt` or `Io` if a file cannot be read.
pub fn fragments(snapshot: &Snapshot, key: &DecoratedKey, range: &ClusteringRange) -> Result<Fragments> {
    // At the beginning of time nothing has expired, so that no file is left out for that.
    let gather = Gather {
        view: snapshot.view(),
        seq: snapshot.seq(),
        now: i64::MIN,
        ranges: std::slice::from_ref(range),
        statics: true,
        late: false,
    };
    let mut found = gather.find(key, None)?;
    let mut sources = Vec::with_capacity(found.memory.len() + found.files.len());
    if !range.is_empty() {
        for partition in &found.memory {
            let reader = Box::new(MemoryReader { partition: Arc::clone(partition), seq: snapshot.seq() });
            let source = Box::new(Source::memory(reader, range.clone(), false, u64::MAX));
            sources.push((Items::Memory { source, part: None }, None));
        }
        for file in &found.files {
            sources.push((Items::File(Box::new(file.cursor(range, false)?)), None));
        }
    }
    let dropped = dropped(snapshot);
    let statics = found.statics.take().and_then(|row| without_dropped(row, &dropped));
    let merge = Merge::rows(sources, found.deletion, false);
    Ok(Fragments { deletion: found.deletion, statics, merge, dropped })
}

/// The stored row of partition `key` at `clustering` (of all columns), merged; `None` if nothing is stored of it or all is deleted by
/// a deletion of the partition or of a range.
///
/// # Errors
/// As [`fragments`].
pub fn stored_row(snapshot: &Snapshot, key: &DecoratedKey, clustering: &Clustering) -> Result<Option<Row>> {
    for item in fragments(snapshot, key, &ClusteringRange::prefix(clustering.order()))? {
        if let Fragment::Row(row) = item? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// What one memtable or file says about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which memtable or file.
    pub source: SourceName,
    /// Why it can have nothing to say; the rest is then empty.
    pub ruled_out: Option<RuledOut>,
    /// Its deletion of the whole partition.
    pub partition_deletion: Option<Deletion>,
    /// Its deletion of a range over the row.
    pub range_deletion: Option<Deletion>,
    /// Its version of the row, with nothing hidden; cells of dropped columns included.
    pub row: Option<Row>,
}

impl Candidate {
    /// Whether it says nothing about the row.
    pub fn is_silent(&self) -> bool {
        self.row.is_none() && self.partition_deletion.is_none() && self.range_deletion.is_none()
    }
}

/// What every memtable and file says about the row of partition `key` at `clustering` (of all columns), or about the partition's static
/// row: memtables from the newest on, then files in the order in which the table has them.
///
/// # Errors
/// `Corrupt` or `Io` if a file cannot be read.
pub fn candidates(
    snapshot: &Snapshot,
    key: &DecoratedKey,
    clustering: Option<&Clustering>,
) -> Result<Vec<Candidate>> {
    let range = clustering.map(|clustering| ClusteringRange::prefix(clustering.order()));
    let mut all = Vec::new();
    let silent = |source| Candidate {
        source,
        ruled_out: None,
        partition_deletion: None,
        range_deletion: None,
        row: None,
    };
    for (n, memtable) in snapshot.view().memtables().enumerate() {
        let mut candidate = silent(SourceName::Memtable(n));
        match memtable.get(key.token, &key.key) {
            None => candidate.ruled_out = Some(RuledOut::NotThere),
            Some(partition) => {
                candidate.partition_deletion = partition.deletion(snapshot.seq());
                match &range {
                    None => candidate.row = partition.static_row(snapshot.seq())?,
                    Some(range) => {
                        let mut items = Vec::new();
                        partition.read(range, false, snapshot.seq(), usize::MAX, &mut items)?;
                        candidate.look(items.into_iter().map(Ok), range)?;
                    }
                }
            }
        }
        all.push(candidate);
    }
    for file in &snapshot.view().files {
        let mut candidate = silent(SourceName::File(file.id()));
        let meta = file.meta();
        let outside = |range: &ClusteringRange| {
            let has = |own: &ClusteringRange| own.start < range.end && range.start < own.end;
            !meta.has_partition_deletion && !meta.clustering.as_ref().is_some_and(has)
        };
        candidate.ruled_out = match &range {
            _ if !meta.covers(key) => Some(RuledOut::KeyRange),
            Some(range) if outside(range) => Some(RuledOut::Clustering),
            _ if !file.may_contain(key)? => Some(RuledOut::Filter),
            range => match file.partition(key)? {
                None => Some(RuledOut::NotThere),
                Some(partition) => {
                    candidate.partition_deletion = partition.deletion();
                    match range {
                        None => candidate.row = partition.static_row()?,
                        Some(range) => candidate.look(partition.cursor(range, false)?, range)?,
                    }
                    None
                }
            },
        };
        all.push(candidate);
    }
    Ok(all)
}

impl Candidate {
    /// Takes the row, and the deletion that is in force just before it, out of a source's items in `range`.
    fn look(&mut self, items: impl Iterator<Item = Result<Fragment>>, range: &ClusteringRange) -> Result<()> {
        for item in items {
            match item? {
                Fragment::Bound(bound) if bound.at <= range.start => self.range_deletion = bound.deletion,
                Fragment::Row(row) => self.row = Some(row),
                _ => {}
            }
        }
        Ok(())
    }
}
