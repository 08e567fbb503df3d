//! What compactions did: the last ones in full, and what the strategies must remember of earlier attempts.
//!
//! One per table, kept in memory. The worker records every finished or failed compaction; statistics and "why was this
//! compaction chosen" read it, and `tiered` asks it which files were rewritten in vain.
//!
//! # Invariants
//! 1. At most [`MAX_RECORDS`] records and [`MAX_RECORDS`] remembered files.

use crate::compact::purge::Purged;
use crate::compact::settings::TombstoneOptions;
use crate::compact::task::{Task, TaskKind};
use crate::sstable::meta::{FileId, FileMeta};
use std::collections::VecDeque;
use std::time::Duration;

/// Records kept; the oldest go first.
pub const MAX_RECORDS: usize = 256;

/// Least time between two attempts without gain, seconds, however small tombstone_compaction_interval is.
const MIN_INTERVAL: i64 = 600;

/// One compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was done, to which files, and why.
    pub task: Task,
    /// The files that came out.
    pub outputs: Vec<FileId>,
    /// Bytes of the inputs.
    pub bytes_read: u64,
    /// Bytes of the outputs.
    pub bytes_written: u64,
    /// Rows in the inputs.
    pub rows_read: u64,
    /// Rows in the outputs.
    pub rows_written: u64,
    /// Blocks that were copied unread.
    pub blocks_copied: u64,
    /// What was left out.
    pub purged: Purged,
    /// Second at which it ended.
    pub ended: i64,
    /// How long it took.
    pub duration: Duration,
    /// Why it failed; `None` if it did not.
    pub error: Option<String>,
}

/// The compactions of one table since it was opened.
#[derive(Clone, Debug, Default)]
pub struct History {
    records: VecDeque<Record>,
    /// Files that came out of, or stayed in spite of, an attempt to be rid of tombstones that gained nothing.
    in_vain: VecDeque<(FileId, i64)>,
    totals: Totals,
}

/// Sums over all compactions of a table since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Compactions that ended well.
    pub finished: u64,
    /// Compactions that failed.
    pub failed: u64,
    /// Bytes of their inputs.
    pub bytes_read: u64,
    /// Bytes of their outputs.
    pub bytes_written: u64,
    /// Files dropped whole because all in them expired.
    pub files_expired: u64,
}

impl History {
    /// Nothing done yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a compaction that ended, well or not.
    pub fn record(&mut self, record: Record) {
        let totals = &mut self.totals;
        match record.error {
            Some(_) => totals.failed += 1,
            None => totals.finished += 1,
        }
        totals.bytes_read = totals.bytes_read.saturating_add(record.bytes_read);
        totals.bytes_written = totals.bytes_written.saturating_add(record.bytes_written);
        if record.error.is_none() && record.task.kind == TaskKind::DropExpired {
            totals.files_expired += record.task.inputs.len() as u64;
        }
        if record.task.kind == TaskKind::Tombstones && !record.purged.gained() {
            // After a failure the input is still there, else what came out of it.
            let stays = if record.error.is_some() { &record.task.inputs } else { &record.outputs };
            self.in_vain.extend(stays.iter().map(|id| (*id, record.ended)));
        }
        self.records.push_back(record);
        while self.records.len() > MAX_RECORDS {
            self.records.pop_front();
        }
        while self.in_vain.len() > MAX_RECORDS {
            self.in_vain.pop_front();
        }
    }

    /// The latest compactions, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.records.iter()
    }

    /// Sums over all compactions.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Forgets attempts on files that are gone.
    pub fn retain_files<'a>(&mut self, live: impl IntoIterator<Item = &'a FileMeta>) {
        let live: std::collections::BTreeSet<_> = live.into_iter().map(|f| f.id).collect();
        self.in_vain.retain(|(id, _)| live.contains(id));
    }

    /// Whether a file was compacted alone without gain so short a time before second `now` that it must wait.
    pub fn tried_in_vain(&self, file: FileId, now: i64, settings: &TombstoneOptions) -> bool {
        let wait = settings.interval_seconds.max(MIN_INTERVAL);
        self.in_vain.iter().any(|(id, at)| *id == file && now.saturating_sub(*at) < wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::task::{Reason, task};

    fn record(kind: TaskKind, purged: Purged, error: Option<String>) -> Record {
        Record {
            task: task(kind, vec![FileId(1)], Reason::Requested { files: 1 }),
            outputs: vec![FileId(2)],
            bytes_read: 10,
            bytes_written: 5,
            rows_read: 2,
            rows_written: 1,
            blocks_copied: 0,
            purged,
            ended: 1_000,
            duration: Duration::from_millis(3),
            error,
        }
    }

    #[test]
    fn records_are_bounded_and_sums_are_not() {
        let mut history = History::new();
        for _ in 0..MAX_RECORDS + 7 {
            history.record(record(TaskKind::Tombstones, Purged::default(), None));
        }
        assert_eq!((history.records().count(), history.in_vain.len()), (MAX_RECORDS, MAX_RECORDS));
        assert_eq!(history.totals().finished, MAX_RECORDS as u64 + 7);
        assert_eq!(history.totals().bytes_read, 10 * (MAX_RECORDS as u64 + 7));
    }

    #[test]
    fn attempts_without_gain_are_remembered_for_an_interval() {
        let settings =
            TombstoneOptions { threshold: 0.2, interval_seconds: 86_400, unchecked: false, asked_for: true };
        let mut history = History::new();
        let gain = Purged { tombstones: 1, ..Purged::default() };
        history.record(record(TaskKind::Tombstones, gain, None));
        assert!(!history.tried_in_vain(FileId(2), 1_001, &settings));
        history.record(record(TaskKind::Tombstones, Purged::default(), None));
        assert!(history.tried_in_vain(FileId(2), 1_000 + 86_399, &settings));
        assert!(!history.tried_in_vain(FileId(2), 1_000 + 86_400, &settings));
        assert!(!history.tried_in_vain(FileId(1), 1_001, &settings), "that file is gone");
        let eager = TombstoneOptions { interval_seconds: 0, ..settings };
        assert!(history.tried_in_vain(FileId(2), 1_001, &eager), "never in a loop");
        history.retain_files([]);
        assert!(!history.tried_in_vain(FileId(2), 1_001, &settings));
        history.record(record(TaskKind::Tombstones, Purged::default(), Some("damaged".into())));
        assert!(history.tried_in_vain(FileId(1), 1_001, &settings), "a failed attempt leaves its input");
        assert_eq!(history.totals().failed, 1);
    }
}
