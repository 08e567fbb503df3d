//! The log that is being written: append, sync, rotate, let segments go.
//!
//! `write/commit` appends groups of payloads and syncs; `write/flush` reports what is in SSTables. Files come from `env`, frames from
//! `record`, the knowledge which segment is needed from `dirty`.
//!
//! # Invariants
//! 1. The active segment holds exactly the records that were reported as appended. A failed append is taken back before
//!    anything else is appended, so that no half-written record ever stands in front of a whole one.
//! 2. [`CommitLog::sync`] acknowledges nothing in a segment before all earlier segments, the directory and the segment itself are
//!    synced. So a crash takes records from the end only: those behind the first that is missing were never acknowledged.
//! 3. A segment's header says how long the one before was, and a [`Mark`] which ones were synced to that length: what is
//!    missing from these was not lost in a crash.
//! 4. After a failed sync nothing is appended or synced any more: the system may have dropped the bytes, and a second sync that
//!    succeeds would prove nothing.
//!
//! # Threads
//! One lock around everything but fsyncs and the removal of files, so that one thread can sync while others append: beginning
//! a new segment waits for no sync. Appending is meant for one thread at a time (the commit leader); others would only wait for the lock.
//!
//! `sync` has the syncs.
//!
//! # Not here
//! Nothing waits for space: when the log is longer than its limit, the owner is told and flushes the table that
//! [`CommitLog::oldest_dirty`] names. A limit that made writers wait for that flush could wait for ever.

mod sync;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::commitlog::dirty::Segments;
use crate::commitlog::log::sync::Retired;
use crate::commitlog::segment::{HEADER_BYTES, Header, Mark, framer, list_segments};
use crate::env::{DataDir, Env, WritableFile};
use crate::error::{Error, ErrorKind, Result};
use crate::model::position::LogPosition;
use crate::model::schema::TableId;
use crate::record;

/// Capacity of the frame buffer, bytes, above which it is given back after a large group.
const KEEP_BUFFER: usize = 4 << 20;

/// Settings of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Size at which a new segment is begun, bytes. A group of records that alone is larger still goes into one segment.
    pub segment_bytes: u64,
    /// Total size above which [`CommitLog::over_limit`] tells the owner to flush, bytes.
    pub limit_bytes: u64,
}

/// One payload and the tables it touches.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Opaque bytes, at least one.
    pub payload: &'a [u8],
    /// The tables that must have flushed before the payload may be forgotten.
    pub tables: &'a [TableId],
}

/// A commit log open for writing.
#[derive(Debug)]
pub struct CommitLog {
    env: Arc<dyn Env>,
    dir: DataDir,
    options: LogOptions,
    state: Mutex<State>,
    /// Held during an fsync, so that whoever waits for it finds its own records synced as well.
    sync_turn: Mutex<()>,
}

#[derive(Debug)]
struct State {
    /// The number of the next new segment.
    next_segment: u64,
    /// The first segment of this log.
    run: u64,
    active: Option<Active>,
    /// Full segments that are not synced yet, oldest first.
    retired: Vec<Retired>,
    /// A segment was created since the directory was last synced.
    names_unsynced: bool,
    /// The last of the segments that were synced whole, until a mark says so.
    unmarked: Option<u64>,
    segments: Segments,
    /// Frames of the group that is being appended.
    buffer: Vec<u8>,
    /// End of the last record.
    appended: LogPosition,
    /// Everything up to here survives a crash.
    synced: LogPosition,
    /// Why nothing can be written any more.
    failed: Option<String>,
}

/// The segment that is appended to.
struct Active {
    id: u64,
    /// `None` while a failed append could not be taken back yet.
    file: Option<Box<dyn WritableFile>>,
    /// Bytes up to the end of the last whole record.
    len: u64,
    /// An append failed: the file may hold more than `len` bytes, or refuse to go on.
    suspect: bool,
}

impl std::fmt::Debug for Active {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Active").field("id", &self.id).field("len", &self.len).finish_non_exhaustive()
    }
}

impl CommitLog {
    /// A log whose segments are numbered from `first_segment` (the manifest's next segment) on, and above every segment file that
    /// exists. The directory is made if it is missing; the first segment is created by the first append. Segments of earlier
    /// runs are not touched: [`remove_replayed`](crate::commitlog::remove_replayed) does that.
    ///
    /// # Errors
    /// If the directory cannot be made or listed.
    pub fn open(env: Arc<dyn Env>, dir: &DataDir, options: LogOptions, first_segment: u64) -> Result<Self> {
        env.create_dir_all(&dir.commitlog())?;
        let newest = list_segments(&*env, dir)?.last().copied();
        let after = newest.map_or(1, |newest| newest.saturating_add(1));
        let run = first_segment.max(after).max(1);
        let state = State {
            next_segment: run,
            run,
            active: None,
            retired: Vec::new(),
            names_unsynced: false,
            unmarked: None,
            segments: Segments::default(),
            buffer: Vec::new(),
            appended: LogPosition::START,
            synced: LogPosition::START,
            failed: None,
        };
        let (dir, state, sync_turn) = (dir.clone(), Mutex::new(state), Mutex::new(()));
        Ok(Self { env, dir, options, state, sync_turn })
    }

    /// The largest payload, bytes: half a segment, so that segments are never mostly empty.
    pub fn max_payload_bytes(&self) -> u64 {
        (self.options.segment_bytes / 2).min(u64::from(record::MAX_PAYLOAD_BYTES))
    }

    /// Appends one payload; see [`CommitLog::append_group`].
    ///
    /// # Errors
    /// As [`CommitLog::append_group`].
    pub fn append(&self, payload: &[u8], tables: &[TableId]) -> Result<LogPosition> {
        let mut position = LogPosition::START;
        self.append_entries(&[Entry { payload, tables }], |at| position = at)?;
        Ok(position)
    }

    /// Appends all payloads in order with one write call, into one segment, and pushes the position of each to `positions`. When this
    /// returns, they survive the end of the process, but not of the machine: see [`CommitLog::sync`].
    ///
    /// # Errors
    /// No payload of the group is in the log after an error, and later appends work as soon as the cause is gone.
    /// `Invalid` for an empty payload, one that begins with [`Mark::FIRST_BYTE`], or one over
    /// [`CommitLog::max_payload_bytes`]; `NoSpace` and `Io` from the disk,
    /// `Closed` with the cause once a sync has failed.
    pub fn append_group(&self, entries: &[Entry<'_>], positions: &mut Vec<LogPosition>) -> Result<()> {
        self.append_entries(entries, |at| positions.push(at))
    }

    fn append_entries(&self, entries: &[Entry<'_>], mut each: impl FnMut(LogPosition)) -> Result<()> {
        let mut bytes = 0u64;
        for entry in entries {
            self.check_payload(entry.payload)?;
            bytes = bytes.saturating_add((record::HEADER_BYTES + entry.payload.len()) as u64);
        }
        if entries.is_empty() {
            return Ok(());
        }
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.check_writable()?;
        self.make_room(state, bytes)?;
        let Some(Active { id, file: Some(file), len, suspect }) = &mut state.active else {
            return Err(Error::closed("the commit log has no active segment"));
        };
        let framer = framer(*id);
        state.buffer.clear();
        if let Some(upto) = state.unmarked {
            framer.append(&mut state.buffer, &Mark { run: state.run, upto }.encode())?;
        }
        let mut position = LogPosition { segment: *id, offset: *len + state.buffer.len() as u64 };
        for entry in entries {
            framer.append(&mut state.buffer, entry.payload)?;
        }
        if let Err(error) = file.append(&state.buffer) {
            *suspect = true;
            return Err(error);
        }
        *len += state.buffer.len() as u64;
        state.unmarked = None;
        state.segments.set_bytes(*id, *len);
        for entry in entries {
            position.offset += (record::HEADER_BYTES + entry.payload.len()) as u64;
            for &table in entry.tables {
                state.segments.touch(table, position);
            }
            each(position);
        }
        state.appended = position;
        if state.buffer.capacity() > KEEP_BUFFER {
            state.buffer = Vec::new();
        }
        Ok(())
    }

    fn check_payload(&self, payload: &[u8]) -> Result<()> {
        let limit = self.max_payload_bytes();
        match payload.first() {
            None => return Err(Error::invalid("a payload of the commit log needs at least one byte")),
            Some(&Mark::FIRST_BYTE) => {
                return Err(Error::invalid(
                    "a payload of the commit log begins like one of the log's own marks",
                ));
            }
            Some(_) => {}
        }
        if payload.len() as u64 > limit {
            let message = format!(
                "a write of {} bytes is over the limit of {limit} bytes, half of segment_bytes ({})",
                payload.len(),
                self.options.segment_bytes
            );
            return Err(Error::invalid(message).hint("split the batch, or raise segment_bytes"));
        }
        Ok(())
    }

    /// Whether everything appended is synced.
    pub fn is_synced(&self) -> bool {
        let state = self.state.lock();
        state.synced >= state.appended
    }

    /// End of the last record appended by this log, `START` if there is none.
    pub fn position(&self) -> LogPosition {
        self.state.lock().appended
    }

    /// Everything of `table` up to `upto` is in SSTables that the manifest names durably. Removes the segments that nobody
    /// needs any more, except the active one.
    ///
    /// # Errors
    /// If a file cannot be removed; the next call tries again.
    pub fn mark_flushed(&self, table: TableId, upto: LogPosition) -> Result<()> {
        let (clean, unsynced) = {
            let mut state = self.state.lock();
            state.segments.mark_flushed(table, upto);
            let active = state.active.as_ref().map(|active| active.id);
            let clean = state.segments.take_clean(active);
            let unsynced = clean.iter().any(|(id, _)| state.retired.iter().any(|segment| segment.id == *id));
            (clean, unsynced)
        };
        // Not synced: a segment that a crash brings back is replayed once more, and its records are known to be flushed.
        self.remove(&clean)?;
        // But for one that is not synced: brought back in part, it would end the replay. Its removal costs less than its sync;
        // where that fails, it stays among those that a sync has to deal with.
        if unsynced && self.env.sync_dir(&self.dir.commitlog()).is_ok() {
            let mut state = self.state.lock();
            state.retired.retain(|segment| clean.iter().all(|(id, _)| *id != segment.id));
        }
        Ok(())
    }

    /// Removes the active segment as well, if every table has flushed past its last record: a store at rest keeps no log. The next
    /// append begins a new segment. Syncs first, so that a segment that a crash brings back is whole.
    ///
    /// # Errors
    /// As [`CommitLog::sync`] and [`CommitLog::mark_flushed`].
    pub fn trim(&self) -> Result<()> {
        self.sync()?;
        let clean = {
            let mut state = self.state.lock();
            let active =
                state.active.as_ref().filter(|active| active.suspect || state.synced < state.appended);
            let kept = active.map(|active| active.id);
            let clean = state.segments.take_clean(kept);
            if state.active.as_ref().is_some_and(|active| clean.iter().any(|(id, _)| *id == active.id)) {
                state.active = None;
            }
            clean
        };
        self.remove(&clean)
    }

    /// The table was dropped: none of its records is needed.
    ///
    /// # Errors
    /// As [`CommitLog::mark_flushed`].
    pub fn forget_table(&self, table: TableId) -> Result<()> {
        self.mark_flushed(table, LogPosition { segment: u64::MAX, offset: u64::MAX })
    }

    /// The table that keeps the oldest segment, with its last position there: flush it to shorten the log, whether or
    /// not it is being written to. `None` if everything is flushed.
    pub fn oldest_dirty(&self) -> Option<(TableId, LogPosition)> {
        self.state.lock().segments.oldest_dirty()
    }

    /// Size of all segments of this log, bytes.
    pub fn total_bytes(&self) -> u64 {
        self.state.lock().segments.total_bytes()
    }

    /// The number of segment files of this log.
    pub fn segment_count(&self) -> usize {
        self.state.lock().segments.count()
    }

    /// Whether the log is longer than its limit.
    pub fn over_limit(&self) -> bool {
        self.total_bytes() > self.options.limit_bytes
    }

    /// Why the log takes no more writes, if it does not.
    pub fn failure(&self) -> Option<Error> {
        self.state.lock().check_writable().err()
    }

    /// Ends the log: syncs it, and removes the active segment if every table has flushed past it.
    ///
    /// # Errors
    /// As [`CommitLog::sync`] and [`CommitLog::mark_flushed`]; the log is closed all the same.
    pub fn close(&self) -> Result<()> {
        self.sync()?;
        let clean = {
            let mut state = self.state.lock();
            state.active = None;
            state.segments.take_clean(None)
        };
        self.remove(&clean)
    }

    /// Removes segment files; those that stay are entered again as needed by nobody.
    fn remove(&self, segments: &[(u64, u64)]) -> Result<()> {
        let mut result = Ok(());
        for &(id, bytes) in segments {
            match self.env.remove(&self.dir.segment(id)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    self.state.lock().segments.set_bytes(id, bytes);
                    result = Err(error);
                }
                _ => {}
            }
        }
        result
    }

    /// Sees to it that the active segment can take `bytes` more: takes back a failed append, rotates.
    fn make_room(&self, state: &mut State, bytes: u64) -> Result<()> {
        self.take_back(state)?;
        let fits = |active: &Active| {
            let first = active.len == HEADER_BYTES as u64;
            first || active.len.saturating_add(bytes) <= self.options.segment_bytes
        };
        if state.active.as_ref().is_some_and(fits) {
            return Ok(());
        }
        let id = state.next_segment;
        let previous_bytes = state.active.as_ref().map_or(0, |active| active.len);
        let header = Header { segment: id, run: state.run, previous_bytes };
        let file = self.create_segment(&header)?;
        state.retire_active();
        state.names_unsynced = true;
        state.next_segment = id.saturating_add(1);
        let len = HEADER_BYTES as u64;
        state.segments.set_bytes(id, len);
        state.active = Some(Active { id, file: Some(file), len, suspect: false });
        Ok(())
    }

    /// Creates the file and writes its header; leaves nothing behind on failure.
    fn create_segment(&self, header: &Header) -> Result<Box<dyn WritableFile>> {
        let mut file = self.env.create(&self.dir.segment(header.segment))?;
        match file.append(&header.encode()) {
            Ok(()) => Ok(file),
            Err(error) => {
                drop(file);
                // If that fails it stays as one without records, which is harmless: the next attempt writes it anew.
                let _ = self.env.remove(&self.dir.segment(header.segment));
                Err(error)
            }
        }
    }

    /// After a failed append: cuts the file back to its whole records and opens it anew (invariant 1).
    fn take_back(&self, state: &mut State) -> Result<()> {
        if !state.active.as_ref().is_some_and(|active| active.suspect) {
            return Ok(());
        }
        // What was appended before the failure may still be unsynced, and only this handle knows if writing it fails.
        state.sync_active()?;
        let Some(active) = &mut state.active else { return Ok(()) };
        let path = self.dir.segment(active.id);
        active.file = None;
        if self.env.len(&path)? != active.len {
            self.env.truncate(&path, active.len)?;
        }
        active.file = Some(self.env.open_append(&path)?);
        active.suspect = false;
        Ok(())
    }
}

impl State {
    fn check_writable(&self) -> Result<()> {
        match &self.failed {
            None => Ok(()),
            Some(cause) => {
                let message = format!("the commit log takes no more writes since a sync failed: {cause}");
                Err(Error::closed(message).hint("close the store and open it again; what was synced is kept"))
            }
        }
    }

    /// Remembers a failed sync for good and hands the error on.
    fn fail(&mut self, error: Error) -> Error {
        self.failed.get_or_insert_with(|| error.to_string());
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commitlog::replay::replay;
    use crate::env::sim::{Failure, SimDisk};
    use crate::options::ReplayMode;

    #[test]
    fn what_a_failed_append_left_is_cut_off_before_the_next_one() {
        let disk = SimDisk::new(1);
        let env = disk.env();
        let dir = DataDir::new("/store");
        let options = LogOptions { segment_bytes: 256, limit_bytes: 512 };
        let log = CommitLog::open(Arc::clone(&env), &dir, options, 1).unwrap();
        let tables = [TableId(1)];
        log.append(b"before", &tables).unwrap();
        // Half a record, as an append leaves it that fails and cannot be undone.
        env.open_append(&dir.segment(1)).unwrap().append(b"half a rec").unwrap();
        log.state.lock().active.as_mut().unwrap().suspect = true;
        // Not even the cutting works at first: sync and length do, truncating does not.
        disk.fail_at(disk.calls() + 2, Failure::Io);
        assert_eq!(log.append(b"refused", &tables).unwrap_err().kind(), ErrorKind::Io);
        log.sync().unwrap();
        log.append(b"after", &tables).unwrap();
        log.close().unwrap();
        let mut found = Vec::new();
        let each = &mut |_, payload: &[u8]| {
            found.push(payload.to_vec());
            Ok(())
        };
        let summary = replay(&*env, &dir, ReplayMode::Strict, each).unwrap();
        assert_eq!(found, [b"before".to_vec(), b"after".to_vec()]);
        assert!(summary.torn.is_empty());
    }
}
