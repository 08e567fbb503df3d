//! Tasks: what strategies ask for, jobs do and the history records.

use crate::compact::settings::Windows;
use crate::sstable::meta::FileId;
use std::fmt;

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

/// A task with one output of level 0.
pub(crate) fn task(kind: TaskKind, inputs: Vec<FileId>, reason: Reason) -> Task {
    Task { kind, inputs, output_level: 0, target_bytes: u64::MAX, reason }
}
