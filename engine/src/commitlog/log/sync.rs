//! Syncing a log that is appended to meanwhile.
//!
//! ```text
//! full segments     those that were not synced when their successor was begun, oldest first
//! directory         if a segment was created since the last time
//! mark              one record in the active segment: the segments before it are whole
//! active segment    with what was appended when the sync began, and the mark
//! ```
//! Only then the sync is acknowledged. After a crash in between, what stands behind a hole was not.

use std::sync::Arc;

use crate::commitlog::log::{Active, CommitLog, State};
use crate::commitlog::segment::{Mark, framer};
use crate::env::Syncer;
use crate::error::Result;
use crate::model::position::LogPosition;

/// A segment that is full, and how to sync it.
#[derive(Clone)]
pub(super) struct Retired {
    pub(super) id: u64,
    syncer: Arc<dyn Syncer>,
}

/// What a sync has to do.
struct Due {
    retired: Vec<Retired>,
    names: bool,
    active: Option<Arc<dyn Syncer>>,
    upto: LogPosition,
}

impl std::fmt::Debug for Retired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retired").field("id", &self.id).finish_non_exhaustive()
    }
}

impl CommitLog {
    /// Everything appended before the call survives a crash once this returns. Callers share fsyncs: who waits for one that began
    /// after its own append does none itself.
    ///
    /// # Errors
    /// The disk's error for the caller whose fsync failed; from then on every append and sync fails with `Closed`
    /// and that cause (invariant 4).
    pub fn sync(&self) -> Result<()> {
        let wanted = {
            let state = self.state.lock();
            state.check_writable()?;
            state.appended
        };
        let _turn = self.sync_turn.lock();
        let due = {
            let mut state = self.state.lock();
            if state.synced >= wanted {
                return Ok(());
            }
            state.check_writable()?;
            state.due()
        };
        let done = self.sync_due(&due);
        let mut state = self.state.lock();
        done.map_err(|error| state.fail(error))?;
        state.synced = state.synced.max(due.upto);
        Ok(())
    }

    fn sync_due(&self, due: &Due) -> Result<()> {
        due.retired.iter().try_for_each(|segment| segment.syncer.sync())?;
        if due.names {
            self.env.sync_dir(&self.dir.commitlog())?;
        }
        if let Some(last) = due.retired.last() {
            let mut state = self.state.lock();
            state.retired.retain(|segment| segment.id > last.id);
            state.unmarked = Some(last.id);
            // With what is synced next. Where it fails, on a full disk, the next append brings it along.
            state.mark();
        }
        due.active.as_ref().map_or(Ok(()), |active| active.sync())
    }
}

impl State {
    /// Everything that a sync of what was appended so far has to do.
    fn due(&mut self) -> Due {
        let names = std::mem::take(&mut self.names_unsynced);
        Due { retired: self.retired.clone(), names, active: self.active_syncer(), upto: self.appended }
    }

    /// `None` if there is no active segment, or its file was synced and put away after a failed append.
    fn active_syncer(&self) -> Option<Arc<dyn Syncer>> {
        self.active.as_ref()?.file.as_ref().map(|file| file.syncer())
    }

    /// The active segment is full: if it is not synced, a sync has to do that from now on.
    pub(super) fn retire_active(&mut self) {
        let Some((id, syncer)) = self.active.as_ref().map(|active| active.id).zip(self.active_syncer())
        else {
            return;
        };
        match self.synced >= self.appended {
            true => self.unmarked = Some(id),
            false => self.retired.push(Retired { id, syncer }),
        }
    }

    /// Appends the mark that is due, by itself. A failure costs nothing: it stays due.
    fn mark(&mut self) {
        let Some(upto) = self.unmarked else { return };
        let Some(Active { id, file: Some(file), len, suspect }) = &mut self.active else { return };
        let mut frame = Vec::new();
        let framed = framer(*id).append(&mut frame, &Mark { run: self.run, upto }.encode());
        if *suspect || framed.is_err() {
            return;
        }
        if file.append(&frame).is_err() {
            *suspect = true;
            return;
        }
        *len += frame.len() as u64;
        self.segments.set_bytes(*id, *len);
        self.unmarked = None;
    }

    /// Syncs the active segment, under the lock: before a failed append is taken back.
    pub(super) fn sync_active(&mut self) -> Result<()> {
        if self.synced >= self.appended {
            return Ok(());
        }
        let done = self.active_syncer().map_or(Ok(()), |active| active.sync());
        done.map_err(|error| self.fail(error))
    }
}
