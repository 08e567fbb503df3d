//! Sealed memtables on their way to SSTables.
//!
//! First in, first out for each table, so that a table's flushed log position only grows. A table whose flush failed is
//! passed over until its next attempt is due; the others go on.

use crate::memtable::Memtable;
use crate::model::position::LogPosition;
use crate::model::schema::TableId;
use crate::write::tables::TableState;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause before a failed flush is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// One sealed memtable.
#[derive(Clone, Debug)]
pub struct FlushTask {
    /// Its table.
    pub table: Arc<TableState>,
    /// What to write.
    pub memtable: Arc<Memtable>,
    /// Its memory, as accounted for when it was sealed.
    pub bytes: usize,
    /// Everything of the table up to here is in this memtable or in files.
    pub upto: LogPosition,
    /// The last sequence number that may be in it.
    pub last_seq: u64,
}

/// The queue; shared by writers, the flush thread and whoever waits for it.
#[derive(Debug, Default)]
pub struct FlushQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<FlushTask>,
    /// Tables being flushed.
    busy: Vec<TableId>,
    /// Tables whose flush failed, and when to try again.
    failed: HashMap<TableId, Instant>,
    closed: bool,
}

impl FlushQueue {
    /// Adds a task.
    pub fn push(&self, task: FlushTask) {
        self.state.lock().waiting.push_back(task);
        self.changed.notify_all();
    }

    /// The next task that can run now, without waiting. It must be given back by [`FlushQueue::done`] or
    /// [`FlushQueue::failed`].
    pub fn try_next(&self) -> Option<FlushTask> {
        Self::take(&mut self.state.lock(), Instant::now())
    }

    /// Waits up to `patience` for a task. `None` after that, or at once when the queue is closed and empty.
    pub fn next(&self, patience: Duration) -> Option<FlushTask> {
        let mut state = self.state.lock();
        let end = Instant::now() + patience;
        loop {
            let now = Instant::now();
            if let Some(task) = Self::take(&mut state, now) {
                return Some(task);
            }
            if now >= end || (state.closed && state.waiting.is_empty()) {
                return None;
            }
            let wake = state.failed.values().min().copied().unwrap_or(end).clamp(now, end);
            self.changed.wait_until(&mut state, wake.max(now + Duration::from_millis(1)));
        }
    }

    fn take(state: &mut State, now: Instant) -> Option<FlushTask> {
        let State { waiting, busy, failed, .. } = state;
        let mut passed = Vec::new();
        let ready = waiting.iter().position(|task| {
            let id = task.table.id();
            let free =
                !busy.contains(&id) && !passed.contains(&id) && failed.get(&id).is_none_or(|at| *at <= now);
            passed.push(id);
            free
        })?;
        let task = waiting.remove(ready)?;
        busy.push(task.table.id());
        Some(task)
    }

    /// A task is finished.
    pub fn done(&self, task: &FlushTask) {
        let mut state = self.state.lock();
        state.busy.retain(|id| *id != task.table.id());
        state.failed.remove(&task.table.id());
        drop(state);
        self.changed.notify_all();
    }

    /// A task failed and goes back to the front of its table's.
    pub fn failed(&self, task: FlushTask) {
        let mut state = self.state.lock();
        let id = task.table.id();
        state.busy.retain(|busy| *busy != id);
        state.failed.insert(id, Instant::now() + RETRY);
        state.waiting.push_front(task);
        drop(state);
        self.changed.notify_all();
    }

    /// Forgets the tasks of a table (dropped or truncated) and returns them.
    pub fn forget(&self, table: TableId) -> Vec<FlushTask> {
        let mut state = self.state.lock();
        let (gone, kept) = state.waiting.drain(..).partition(|task| task.table.id() == table);
        state.waiting = kept;
        state.failed.remove(&table);
        drop(state);
        self.changed.notify_all();
        Vec::from(gone)
    }

    /// Waits until no task of `table` (of any table, with `None`) waits or runs, a flush of it fails, or `patience` ends.
    /// Returns whether none is left.
    pub fn wait_idle(&self, table: Option<TableId>, patience: Duration) -> bool {
        let mut state = self.state.lock();
        let end = Instant::now().checked_add(patience);
        let ours = |id: TableId| table.is_none_or(|table| table == id);
        loop {
            let waiting = state.waiting.iter().any(|task| ours(task.table.id()));
            if !waiting && !state.busy.iter().any(|id| ours(*id)) {
                return true;
            }
            // Once the store is closed nobody takes what is left: a flush that comes too late must not wait for it.
            let abandoned = state.closed && !state.busy.iter().any(|id| ours(*id));
            let late = end.is_some_and(|end| Instant::now() >= end);
            if abandoned || late || state.failed.keys().any(|id| ours(*id)) {
                return false;
            }
            match end {
                Some(end) => drop(self.changed.wait_until(&mut state, end)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// Number of memtables that wait or are being written.
    pub fn len(&self) -> usize {
        let state = self.state.lock();
        state.waiting.len() + state.busy.len()
    }

    /// Nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Wakes everybody up for good.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}
