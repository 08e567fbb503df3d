//! The contract of compaction strategies: a pure function from what is known about files to tasks.
//!
//! [`pick`] is called by the background worker after every flush and compaction and on a timer; [`major`] on request.
//! Neither touches a disk, so that years of compactions can be simulated in a moment. The tasks of one answer
//! have no input in common; the caller starts as many as it has threads for, marks their inputs busy, runs them
//! with [`crate::compact::job`], and asks again.
//!
//! # Invariants
//! 1. No file is in two tasks of an answer, and none that is busy is in any.
//! 2. The same input gives the same tasks in the same order, the most useful first.
//! 3. Repeating "pick, run all, install" comes to rest: in the end there is no task.

use crate::compact::expired::{self, Unflushed};
use crate::compact::history::History;
use crate::compact::settings::{CompactionOptions, Strategy, Windows};
use crate::compact::tiered;
use crate::compact::window;
use crate::sstable::meta::{FileId, FileMeta};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What a strategy may look at.
#[derive(Clone, Copy)]
pub struct StrategyInput<'a> {
    /// The live files of one table.
    pub files: &'a [Arc<FileMeta>],
    /// Files that take part in a running compaction, or are set aside as damaged.
    pub busy: &'a BTreeSet<FileId>,
    /// The table's settings.
    pub options: &'a CompactionOptions,
    /// The table's gc_grace_seconds.
    pub gc_grace_seconds: u32,
    /// What the memtables hold; `None` if they are empty.
    pub unflushed: Option<Unflushed>,
    /// Second of the clock.
    pub now_seconds: i64,
    /// Whether that second may be used to drop expired files, see [`expired::ClockGuard`].
    pub clock_believed: bool,
    /// What was tried before.
    pub history: &'a History,
}

/// One compaction to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What to do.
    pub kind: TaskKind,
    /// The files that are replaced.
    pub inputs: Vec<FileId>,
    /// Level of the output; 0 where the strategy has none.
    pub output_level: u32,
    /// Size in bytes over which a further output file is begun; `u64::MAX` for a single file.
    pub target_bytes: u64,
    /// Why.
    pub reason: Reason,
}

/// What a compaction does with its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Merges them.
    Merge,
    /// Removes them unread: all in them has expired.
    DropExpired,
    /// Rewrites one file without what may go of it.
    Tombstones,
    /// Distributes what they hold over one file per window.
    Split(Windows),
}

/// Why a compaction was chosen: the numbers that decided, and by [`fmt::Display`] a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// So many files of about one size.
    SameSize {
        /// Files.
        files: usize,
        /// Their average size, bytes.
        average_bytes: u64,
        /// Files that are enough.
        min_threshold: usize,
        /// The window they are in, for tables with windows: its first second.
        window_start: Option<i64>,
    },
    /// A window that takes no more writes has more than one file.
    ClosedWindow {
        /// First second of the window.
        window_start: i64,
        /// Files.
        files: usize,
    },
    /// A file holds data of more than one window.
    SpansWindows {
        /// First second of the first window.
        first_start: i64,
        /// First second of the last window.
        last_start: i64,
    },
    /// Everything in the files expired.
    Expired {
        /// The latest expiry or deletion second in them.
        newest_second: i64,
        /// What is older may go.
        gc_before: i64,
    },
    /// Much of a file can go.
    Droppable {
        /// Estimated share, 0 to 1.
        ratio: f64,
        /// Share that is enough.
        threshold: f64,
    },
    /// A user asked for it.
    Requested {
        /// Files.
        files: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameSize { files, average_bytes, min_threshold, window_start } => {
                write!(f, "{files} files of about {average_bytes} bytes (min_threshold is {min_threshold})")?;
                window_start.map_or(Ok(()), |start| write!(f, " in the active window from second {start}"))
            }
            Self::ClosedWindow { window_start, files } => {
                write!(f, "the window from second {window_start} is closed and has {files} files")
            }
            Self::SpansWindows { first_start, last_start } => write!(
                f,
                "a file holds data of several windows, from the one at second {first_start} to the one at second \
                 {last_start}"
            ),
            Self::Expired { newest_second, gc_before } => write!(
                f,
                "everything expired by second {newest_second}, before second {gc_before} (now - gc_grace_seconds), \
                 and hides nothing"
            ),
            Self::Droppable { ratio, threshold } => write!(
                f,
                "an estimated {:.1} % of the file can go (tombstone_threshold is {:.1} %)",
                ratio * 100.0,
                threshold * 100.0
            ),
            Self::Requested { files } => write!(f, "requested, over {files} files"),
        }
    }
}

impl StrategyInput<'_> {
    /// What expired or was deleted before this second may go.
    pub fn gc_before(&self) -> i64 {
        self.now_seconds.saturating_sub(i64::from(self.gc_grace_seconds))
    }

    /// Whether expired files may go although they hide something.
    fn ignores_overlaps(&self) -> bool {
        matches!(&self.options.strategy, Strategy::TimeWindow(options) if options.ignore_overlaps)
    }

    /// Expired files: those that may go, and what keeps the others. None may while the clock is not believed.
    pub fn expired(&self) -> expired::Expired {
        if !self.clock_believed {
            return expired::Expired::default();
        }
        let ignore = self.ignores_overlaps();
        let (busy, now) = (self.busy, self.now_seconds);
        expired::find(self.files, busy, self.unflushed, now, self.gc_grace_seconds, ignore)
    }
}

/// The compactions that are worth doing now, the most useful first.
///
/// Expired files go also where background compaction is switched off (`enabled = false`): that costs nothing.
pub fn pick(input: &StrategyInput<'_>) -> Vec<Task> {
    let gone = input.expired().droppable;
    let mut tasks = Vec::new();
    if !gone.is_empty() {
        let newest = input.files.iter().filter(|f| gone.contains(&f.id)).map(|f| f.max_local).max();
        let reason =
            Reason::Expired { newest_second: newest.unwrap_or(i64::MIN), gc_before: input.gc_before() };
        tasks.push(task(TaskKind::DropExpired, gone.clone(), reason));
    }
    if input.options.enabled {
        let idle = |f: &&Arc<FileMeta>| !input.busy.contains(&f.id) && !gone.contains(&f.id);
        let free: Vec<_> = input.files.iter().filter(idle).cloned().collect();
        match &input.options.strategy {
            Strategy::SizeTiered(options) => tasks.extend(tiered::pick(input, options, &free)),
            Strategy::TimeWindow(options) => tasks.extend(window::pick(input, options, &free)),
        }
    }
    tasks
}

/// The compactions that leave as few files as the strategy allows: one, or one per window. Busy files are left out.
pub fn major(input: &StrategyInput<'_>) -> Vec<Task> {
    let free: Vec<_> = input.files.iter().filter(|f| !input.busy.contains(&f.id)).cloned().collect();
    match &input.options.strategy {
        Strategy::SizeTiered(_) => {
            let reason = Reason::Requested { files: free.len() };
            let inputs: Vec<_> = free.iter().map(|f| f.id).collect();
            if inputs.is_empty() { Vec::new() } else { vec![task(TaskKind::Merge, inputs, reason)] }
        }
        Strategy::TimeWindow(options) => window::major(options, &free),
    }
}

/// A task with one output of level 0.
pub(crate) fn task(kind: TaskKind, inputs: Vec<FileId>, reason: Reason) -> Task {
    Task { kind, inputs, output_level: 0, target_bytes: u64::MAX, reason }
}
