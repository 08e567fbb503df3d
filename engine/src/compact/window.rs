//! TimeWindowCompactionStrategy: one file for each closed window of write time, so that expired windows go as files.
//!
//! A file belongs to the window of its **newest** write time. The active window is compacted by size, each
//! window before it becomes one file, and from then on is not touched again until it expires.
//!
//! # Which window is active
//! As in Cassandra the newest one that has data, so that imported history is not waiting for the clock. But a single
//! write far in the future must not make all others closed windows: while data is ahead of the clock, the
//! clock's window is the active one, and every later window is compacted by size within itself.
//!
//! # Files over several windows
//! Flushes are split by window ([`crate::compact::split`]), so such files come only from before an ALTER to this
//! strategy. They are split first. (Cassandra leaves them; they keep expired data until their newest row expires.)

use crate::compact::input::StrategyInput;
use crate::compact::settings::WindowOptions;
use crate::compact::task::{Reason, Task, TaskKind, task};
use crate::compact::tiered;
use crate::sstable::meta::FileMeta;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tasks over the files `free`.
pub(crate) fn pick(input: &StrategyInput<'_>, options: &WindowOptions, free: &[Arc<FileMeta>]) -> Vec<Task> {
    let windows = options.windows;
    let (spanning, single): (Vec<_>, Vec<_>) = free.iter().cloned().partition(|f| spans(options, f));
    let mut tasks: Vec<_> = spanning.iter().map(|file| split(options, file)).collect();

    let by_window = group(options, &single);
    // Also files that take part in a compaction tell how far the data has come.
    let newest = input.files.iter().map(|f| windows.of(f.max_timestamp)).max();
    let active = newest.map_or(i64::MAX, |newest| newest.min(windows.of_second(input.now_seconds)));
    for (&window, files) in by_window.iter().rev() {
        let start = windows.start_second(window);
        if window >= active {
            tasks.extend(tiered::pick_buckets(input, &options.tiered, files, Some(start)));
        } else if files.len() > 1 {
            tasks.push(close(files, input.options.max_threshold, start));
        }
    }
    if tasks.is_empty() && input.options.tombstones.asked_for {
        tasks.extend(tiered::pick_tombstones(input, free));
    }
    tasks
}

/// Splits what spans windows and merges each window into one file, the active one too.
pub(crate) fn major(options: &WindowOptions, free: &[Arc<FileMeta>]) -> Vec<Task> {
    let (spanning, single): (Vec<_>, Vec<_>) = free.iter().cloned().partition(|f| spans(options, f));
    let mut tasks: Vec<_> = spanning.iter().map(|file| split(options, file)).collect();
    for files in group(options, &single).values() {
        let inputs = files.iter().map(|f| f.id).collect();
        tasks.push(task(TaskKind::Merge, inputs, Reason::Requested { files: files.len() }));
    }
    tasks
}

/// Whether a file holds data of more than one window.
fn spans(options: &WindowOptions, file: &FileMeta) -> bool {
    options.windows.of(file.min_timestamp) != options.windows.of(file.max_timestamp)
}

fn split(options: &WindowOptions, file: &FileMeta) -> Task {
    let windows = options.windows;
    let start = |timestamp| windows.start_second(windows.of(timestamp));
    let reason = Reason::SpansWindows {
        first_start: start(file.min_timestamp),
        last_start: start(file.max_timestamp),
    };
    task(TaskKind::Split(windows), vec![file.id], reason)
}

/// Files by window.
fn group(options: &WindowOptions, files: &[Arc<FileMeta>]) -> BTreeMap<i64, Vec<Arc<FileMeta>>> {
    let mut by_window: BTreeMap<i64, Vec<Arc<FileMeta>>> = BTreeMap::new();
    for file in files {
        by_window.entry(options.windows.of(file.max_timestamp)).or_default().push(Arc::clone(file));
    }
    by_window
}

/// Merges the files of a closed window; of too many, the smallest, so that least is written twice.
fn close(files: &[Arc<FileMeta>], max_threshold: usize, window_start: i64) -> Task {
    let mut files = files.to_vec();
    files.sort_by_key(|f| (f.size_bytes, f.id));
    let reason = Reason::ClosedWindow { window_start, files: files.len() };
    files.truncate(max_threshold);
    task(TaskKind::Merge, files.iter().map(|f| f.id).collect(), reason)
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
