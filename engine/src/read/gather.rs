//! Which memtables and files can have anything to say about a partition.
//!
//! A file is asked in the order of cost: range of keys, range of clusterings, filter, index; the index only when it is the turn of the file's
//! rows ([`file`](crate::read::file)), if nothing else is asked of it. What is left is checked
//! against the partition's deletion, and against expiry. Every answer can be recorded for [`Explain`].
//!
//! # Expired files
//! What has expired is not seen, but hides older values. So a file in which everything is dead may be left out only if whatever is left
//! to be read is newer than all in it. Dead files hide nothing that a reader would see in each other, so only live ones count.

use crate::error::Result;
use crate::memtable::partition::MemPartition;
use crate::model::clustering::ClusteringRange;
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::reconcile::{merge_deletion, merge_rows, shadow};
use crate::model::row::Row;
use crate::model::token::hash128;
use crate::read::explain::{Explain, RuledOut, SourceName};
use crate::sstable::meta::FileMeta;
use crate::sstable::partition::SsPartition;
use crate::sstable::reader::SsTable;
use crate::view::TableView;
use std::sync::Arc;

/// What there is of a partition.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Its deletion, of all sources.
    pub(crate) deletion: Option<Deletion>,
    /// Its merged static row, if it was asked for.
    pub(crate) statics: Option<Row>,
    /// Memtables that have it, newest first.
    pub(crate) memory: Vec<Arc<MemPartition>>,
    /// Files that have it.
    pub(crate) files: Vec<SsPartition>,
    /// Files that may have rows of it, and nothing else that was asked for.
    pub(crate) waiting: Vec<Arc<SsTable>>,
}

impl Gathered {
    /// Nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.files.is_empty() && self.waiting.is_empty()
    }
}

/// A look for one partition.
pub(crate) struct Gather<'a> {
    pub(crate) view: &'a TableView,
    /// Sequence number of the reader's pin.
    pub(crate) seq: u64,
    /// The reader's second.
    pub(crate) now: i64,
    /// The rows asked for.
    pub(crate) ranges: &'a [ClusteringRange],
    /// The static row is asked for too.
    pub(crate) statics: bool,
    /// Files may be left [waiting](Gathered::waiting): whether they have the partition is looked up when it is their rows' turn.
    pub(crate) late: bool,
}

impl Gather<'_> {
    /// Finds the sources of `key`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a file cannot be read.
    pub(crate) fn find(&self, key: &DecoratedKey, mut explain: Option<&mut Explain>) -> Result<Gathered> {
        let mut found = Gathered::default();
        let mut note = |source, ruled_out| {
            if let Some(explain) = &mut explain {
                explain.note(source, ruled_out);
            }
        };
        // The oldest time of what is not dead: see the module's page.
        let mut oldest_live = i64::MAX;
        for (n, memtable) in self.view.memtables().enumerate() {
            match memtable.get(key.token, &key.key) {
                Some(partition) => {
                    note(SourceName::Memtable(n), None);
                    oldest_live = oldest_live.min(memtable.times().min_timestamp);
                    found.deletion = merge_deletion(found.deletion, partition.deletion(self.seq));
                    found.memory.push(partition);
                }
                None => note(SourceName::Memtable(n), Some(RuledOut::NotThere)),
            }
        }
        let hash = if self.view.files.is_empty() { (0, 0) } else { hash128(&key.key) };
        for file in &self.view.files {
            let ruled_out = match self.rule_out(file.meta(), key) {
                None if !file.may_contain_hashed(key, hash)? => Some(RuledOut::Filter),
                None if self.may_wait(file.meta()) => {
                    oldest_live = oldest_live.min(self.oldest_live(file.meta()));
                    found.waiting.push(Arc::clone(file));
                    None
                }
                None => match file.partition(key)? {
                    Some(partition) => {
                        found.deletion = merge_deletion(found.deletion, partition.deletion());
                        oldest_live = oldest_live.min(self.oldest_live(file.meta()));
                        found.files.push(partition);
                        None
                    }
                    None => Some(RuledOut::NotThere),
                },
                ruled_out => ruled_out,
            };
            if ruled_out.is_some() {
                note(SourceName::File(file.id()), ruled_out);
            }
        }
        let deletion = found.deletion;
        let mut keep = |meta: &FileMeta| {
            let ruled_out = if deletion.is_some_and(|deletion| deletion.timestamp >= meta.max_timestamp) {
                Some(RuledOut::Deleted)
            } else {
                (self.is_dead(meta) && meta.max_timestamp < oldest_live).then_some(RuledOut::Expired)
            };
            note(SourceName::File(meta.id), ruled_out);
            ruled_out.is_none()
        };
        found.files.retain(|partition| keep(partition.table().meta()));
        found.waiting.retain(|file| keep(file.meta()));
        if self.statics {
            self.read_statics(&mut found)?;
        }
        Ok(found)
    }

    fn rule_out(&self, meta: &FileMeta, key: &DecoratedKey) -> Option<RuledOut> {
        if !meta.covers(key) {
            return Some(RuledOut::KeyRange);
        }
        let concerns = meta.has_partition_deletion
            || (self.statics && meta.has_static)
            || meta.clustering.as_ref().is_some_and(|own| {
                self.ranges.iter().any(|range| own.start < range.end && range.start < own.end)
            });
        (!concerns).then_some(RuledOut::Clustering)
    }

    /// Whether only its rows can be asked for, and its range of clusterings tells where they begin.
    fn may_wait(&self, meta: &FileMeta) -> bool {
        let has_more =
            meta.has_partition_deletion || meta.has_range_deletion || (self.statics && meta.has_static);
        self.late && !has_more && meta.clustering.is_some()
    }

    /// The oldest time of what a file has that is not dead.
    fn oldest_live(&self, meta: &FileMeta) -> i64 {
        if self.is_dead(meta) { i64::MAX } else { meta.min_timestamp }
    }

    /// Everything in the file has expired or deletes.
    fn is_dead(&self, meta: &FileMeta) -> bool {
        meta.max_local <= self.now
    }

    fn read_statics(&self, found: &mut Gathered) -> Result<()> {
        let mut merged: Option<Row> = None;
        let memory = found.memory.iter().map(|partition| partition.static_row(self.seq));
        for row in memory.chain(found.files.iter().map(SsPartition::static_row)) {
            if let Some(row) = row? {
                merged = Some(match merged {
                    Some(merged) => merge_rows(merged, row),
                    None => row,
                });
            }
        }
        if let Some(row) = &mut merged {
            shadow(row, found.deletion);
        }
        found.statics = merged;
        Ok(())
    }
}
