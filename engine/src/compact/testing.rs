//! Cards of files and inputs for strategies, as the tests of this directory need them.

use crate::compact::history::History;
use crate::compact::input::StrategyInput;
use crate::compact::settings::CompactionOptions;
use crate::compact::strategy::pick;
use crate::compact::task::{Task, TaskKind};
use crate::model::clustering::ClusteringRange;
use crate::model::key::DecoratedKey;
use crate::model::life::NEVER;
use crate::model::schema::TableId;
use crate::model::token::Token;
use crate::sstable::drop_times::DropTimes;
use crate::sstable::meta::{FileId, FileMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) const MICROS: i64 = 1_000_000;

/// A card over the whole ring, with data written from `from` to `to` (seconds) that lives for ever.
pub(crate) fn card(id: u64, size_bytes: u64, from: i64, to: i64) -> FileMeta {
    let key = |token: i64| DecoratedKey { token: Token(token), key: vec![1].into() };
    FileMeta {
        id: FileId(id),
        table: TableId(1),
        size_bytes,
        level: 0,
        created_micros: to * MICROS,
        first: key(i64::MIN + 1),
        last: key(i64::MAX),
        partitions: 1,
        rows: 100,
        cells: 100,
        tombstones: 0,
        min_timestamp: from * MICROS,
        max_timestamp: to * MICROS,
        min_local: NEVER,
        max_local: NEVER,
        clustering: Some(ClusteringRange::all()),
        has_partition_deletion: false,
        has_range_deletion: false,
        has_static: false,
        drop_times: DropTimes::default(),
        ancestors: Vec::new(),
    }
}

/// The same, but all of it expires `ttl` seconds after it was written.
pub(crate) fn expiring(id: u64, size_bytes: u64, from: i64, to: i64, ttl: i64) -> FileMeta {
    FileMeta { min_local: from + ttl, max_local: to + ttl, ..card(id, size_bytes, from, to) }
}

/// Options from pairs.
pub(crate) fn options(pairs: &[(&str, &str)]) -> CompactionOptions {
    let map: BTreeMap<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    CompactionOptions::parse(&map).unwrap()
}

/// The inputs of tasks, as plain numbers.
pub(crate) fn inputs(tasks: &[Task]) -> Vec<Vec<u64>> {
    tasks.iter().map(|t| t.inputs.iter().map(|id| id.0).collect()).collect()
}

/// A table without a disk: files come and go as a worker with one thread would make them.
pub(crate) struct Table {
    pub(crate) files: Vec<Arc<FileMeta>>,
    pub(crate) busy: BTreeSet<FileId>,
    pub(crate) options: CompactionOptions,
    pub(crate) gc_grace: u32,
    pub(crate) now: i64,
    pub(crate) history: History,
    pub(crate) next: u64,
    pub(crate) merged_bytes: u64,
}

impl Table {
    pub(crate) fn new(options: CompactionOptions, files: Vec<FileMeta>) -> Self {
        Self {
            files: files.into_iter().map(Arc::new).collect(),
            busy: BTreeSet::new(),
            options,
            gc_grace: 0,
            now: 0,
            history: History::new(),
            next: 1_000_000,
            merged_bytes: 0,
        }
    }

    pub(crate) fn input(&self) -> StrategyInput<'_> {
        StrategyInput {
            files: &self.files,
            busy: &self.busy,
            options: &self.options,
            gc_grace_seconds: self.gc_grace,
            unflushed: None,
            now_seconds: self.now,
            clock_believed: true,
            history: &self.history,
        }
    }

    /// Runs tasks until none is left, at most `limit` of them.
    pub(crate) fn settle(&mut self, limit: usize) {
        for done in 0.. {
            let Some(task) = pick(&self.input()).into_iter().next() else { return };
            assert!(done < limit, "the strategy does not come to rest: {task:?}");
            self.run(&task);
        }
    }

    /// What a job does, to cards.
    pub(crate) fn run(&mut self, task: &Task) {
        assert!(!task.inputs.is_empty());
        assert!(task.inputs.iter().all(|id| !self.busy.contains(id)));
        let taken = |f: &Arc<FileMeta>| task.inputs.contains(&f.id);
        let (inputs, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.files).into_iter().partition(taken);
        assert_eq!(inputs.len(), task.inputs.len(), "every input is live and named once");
        self.files = rest;
        match task.kind {
            TaskKind::DropExpired => {}
            TaskKind::Split(windows) => {
                let file = &inputs[0];
                let (first, last) = (windows.of(file.min_timestamp), windows.of(file.max_timestamp));
                for window in first..=last {
                    let (from, to) = windows.range(window);
                    let part = FileMeta {
                        min_timestamp: from.max(file.min_timestamp),
                        max_timestamp: to.min(file.max_timestamp),
                        size_bytes: file.size_bytes / (last - first + 1) as u64,
                        ..(**file).clone()
                    };
                    self.add(part);
                }
            }
            TaskKind::Merge | TaskKind::Tombstones => {
                let mut merged = (*inputs[0]).clone();
                for file in &inputs[1..] {
                    merged.size_bytes += file.size_bytes;
                    merged.min_timestamp = merged.min_timestamp.min(file.min_timestamp);
                    merged.max_timestamp = merged.max_timestamp.max(file.max_timestamp);
                    merged.min_local = merged.min_local.min(file.min_local);
                    merged.max_local = merged.max_local.max(file.max_local);
                }
                self.merged_bytes += merged.size_bytes;
                self.add(merged);
            }
        }
    }

    pub(crate) fn add(&mut self, mut file: FileMeta) {
        self.next += 1;
        file.id = FileId(self.next);
        file.created_micros = self.now * MICROS;
        self.files.push(Arc::new(file));
    }
}
