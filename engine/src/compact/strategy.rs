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

use crate::compact::input::StrategyInput;
use crate::compact::settings::Strategy;
use crate::compact::task::{Reason, Task, TaskKind, task};
use crate::compact::tiered;
use crate::compact::window;
use crate::sstable::meta::FileMeta;
use std::sync::Arc;

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
