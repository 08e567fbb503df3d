//! Reads the log back when a store is opened.
//!
//! `db/open` calls [`replay_runs`] and applies the payloads that are not flushed yet; when all of them are in SSTables it calls
//! [`remove_replayed`]. Checks of a log take its records one by one from [`replay`]. Replaying changes no file, so that it may be killed and begun again any number of times.
//!
//! # What is a crash, and what is damage
//! A segment ends *torn* when bytes follow its last valid record and no valid record stands behind them, and *short* when the
//! next one's header says that it was longer. A crash leaves that of segments that were not synced: accepted and reported.
//! What the same run appended behind the hole was not acknowledged, and is left out: a crash takes records from the end only.
//! It is damage when a [`Mark`] in a later segment says that this one was synced.
//!
//! A valid record behind invalid bytes is always damage. [`ReplayMode::Strict`] refuses damage with segment and offset;
//! [`ReplayMode::Salvage`] keeps every record whose checksum holds and reports the ranges it left out.
//!
//! # Not here
//! A newest segment that was cut at the end of a record looks like one that ended there; nobody can tell.

use std::path::PathBuf;
use std::sync::Arc;

use crate::commitlog::segment::{HEADER_BYTES, Header, Mark, framer, list_segments};
use crate::env::{DataDir, Env, ReadableFile};
use crate::error::{Error, ErrorKind, Result};
use crate::model::position::LogPosition;
use crate::options::ReplayMode;
use crate::record::{End, RecordReader};

/// Bytes of payload in the runs of [`replay`].
const RUN_BYTES: usize = 1 << 20;

/// The end of a segment as a crash left it, or all records of one that stands behind such a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The segment.
    pub segment: u64,
    /// Where its last whole record ends, bytes.
    pub offset: u64,
    /// Bytes behind that, which were ignored.
    pub dropped_bytes: u64,
}

/// A damaged range of a segment that salvage left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The segment.
    pub segment: u64,
    /// First damaged byte.
    pub from: u64,
    /// Just behind the last damaged byte; as `from` if the bytes are missing altogether.
    pub to: u64,
    /// What is wrong there.
    pub why: String,
}

/// A record of the log.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a> {
    /// Where it ends.
    pub position: LogPosition,
    /// What was appended. It lies in mapped memory: a log may be larger than memory.
    pub payload: &'a [u8],
}

/// What is done with each run of records.
pub type EachRun<'a> = dyn FnMut(&[Logged<'_>], &mut dyn FnMut()) -> Result<()> + 'a;

/// What a replay did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaySummary {
    /// Segment files read.
    pub segments: u64,
    /// Number of the newest one, 0 if there is none: what [`remove_replayed`] is to be called with.
    pub last_segment: u64,
    /// Payloads handed out.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Ends that a crash tore, and what stood behind them, usually one at most.
    pub torn: Vec<TornTail>,
    /// What salvage left out; empty in strict mode.
    pub skipped: Vec<Skipped>,
}

/// Hands every payload of the log to `each`, in order, with its position.
///
/// # Errors
/// As [`replay_runs`].
pub fn replay(
    env: &dyn Env,
    dir: &DataDir,
    mode: ReplayMode,
    each: &mut dyn FnMut(LogPosition, &[u8]) -> Result<()>,
) -> Result<ReplaySummary> {
    let each = &mut |records: &[Logged<'_>], _: &mut dyn FnMut()| {
        records.iter().try_for_each(|record| each(record.position, record.payload))
    };
    replay_runs(env, dir, mode, RUN_BYTES, each)
}

/// Hands all records of the log to `each`, in order, in runs that are as long as they must be to hold `run_bytes` of payload;
/// segments and damage end them sooner. The second argument of `each` reads the next run: called while other threads
/// work on the one at hand, it saves the time that reading takes.
///
/// # Errors
/// `Corrupt` with segment and offset for damage in strict mode, after the payloads in front of it were handed out; `Unsupported`
/// for a segment of another version; what `each` returns; errors of the disk.
pub fn replay_runs(
    env: &dyn Env,
    dir: &DataDir,
    mode: ReplayMode,
    run_bytes: usize,
    each: &mut EachRun<'_>,
) -> Result<ReplaySummary> {
    let ids = list_segments(env, dir)?;
    let last_segment = ids.last().copied().unwrap_or(0);
    let summary = ReplaySummary { segments: ids.len() as u64, last_segment, ..ReplaySummary::default() };
    let mut replay = Replay { env, dir, mode, run_bytes, ids, hole: None, summary };
    for index in 0..replay.ids.len() {
        replay.segment(index, each)?;
    }
    Ok(replay.summary)
}

/// Removes all segments up to number `upto`, durably, newest first: what stands behind a hole goes before the hole. Call it
/// when everything they hold is in SSTables.
///
/// # Errors
/// If a file cannot be removed or the directory not be synced; call it again then.
pub fn remove_replayed(env: &dyn Env, dir: &DataDir, upto: u64) -> Result<()> {
    let old: Vec<u64> = list_segments(env, dir)?.into_iter().filter(|id| *id <= upto).collect();
    if old.is_empty() {
        return Ok(());
    }
    old.into_iter().rev().try_for_each(|id| env.remove(&dir.segment(id)))?;
    env.sync_dir(&dir.commitlog())
}

struct Replay<'a> {
    env: &'a dyn Env,
    dir: &'a DataDir,
    mode: ReplayMode,
    run_bytes: usize,
    ids: Vec<u64>,
    /// The last segment of which a crash took something although later ones hold records.
    hole: Option<u64>,
    summary: ReplaySummary,
}

/// An opened segment.
struct Segment {
    id: u64,
    path: PathBuf,
    file: Arc<dyn ReadableFile>,
    /// `Err` says what is wrong with it: `Invalid` if it is whole but another segment's, else `Corrupt`.
    header: std::result::Result<Header, Error>,
}

impl Segment {
    fn records(&self) -> RecordReader<'_> {
        let bytes = self.file.bytes().get(HEADER_BYTES..).unwrap_or_default();
        RecordReader::new(framer(self.id), bytes, HEADER_BYTES as u64)
    }

    fn holds_a_record(&self) -> bool {
        let mut records = self.records();
        records.next().is_some() || matches!(records.end(), End::Corrupt { .. })
    }
}

/// Reads records of segment `id` into `run`, which holds others before, until they have `run_bytes` of payload or end.
fn read_run<'a>(records: &mut RecordReader<'a>, id: u64, run_bytes: usize, run: &mut Vec<Logged<'a>>) {
    run.clear();
    let mut bytes = 0;
    for record in records {
        if Mark::decode(record.payload).unwrap_or_default().is_some() {
            continue;
        }
        run.push(Logged {
            position: LogPosition { segment: id, offset: record.end() },
            payload: record.payload,
        });
        bytes += record.payload.len();
        if bytes >= run_bytes {
            return;
        }
    }
}

impl Replay<'_> {
    fn open(&self, id: u64) -> Result<Segment> {
        let path = self.dir.segment(id);
        let file = self.env.open_read(&path)?;
        let header = match Header::decode(file.bytes()) {
            Err(error) if error.kind() == ErrorKind::Unsupported => return Err(error.at(&path, 0)),
            Ok(header) if header.segment != id => {
                let message =
                    format!("its header says that it is segment {}: rename it back", header.segment);
                Err(Error::invalid(message))
            }
            header => header,
        };
        Ok(Segment { id, path, file, header })
    }

    fn segment(&mut self, index: usize, each: &mut EachRun<'_>) -> Result<()> {
        let Some(&id) = self.ids.get(index) else { return Ok(()) };
        let segment = self.open(id)?;
        let mut records = segment.records();
        if let (Ok(header), Some(hole), ReplayMode::Strict) = (&segment.header, self.hole, self.mode)
            && header.run <= hole
        {
            let offset = HEADER_BYTES as u64;
            let dropped_bytes = segment.file.len().saturating_sub(offset);
            self.summary.torn.push(TornTail { segment: id, offset, dropped_bytes });
            return Ok(());
        }
        if let Err(error) = &segment.header {
            let len = segment.file.len();
            if error.kind() == ErrorKind::Invalid {
                return self.damage(&segment, 0, len, error.message());
            }
            if !segment.holds_a_record() {
                return self.torn(index, &segment, 0, len, error.message());
            }
            self.damage(&segment, 0, HEADER_BYTES as u64, error.message())?;
        }
        let (mut run, mut next) = (Vec::new(), Vec::new());
        loop {
            read_run(&mut records, id, self.run_bytes, &mut run);
            while !run.is_empty() {
                let mut is_read = false;
                let mut ahead = || {
                    if !std::mem::replace(&mut is_read, true) {
                        read_run(&mut records, id, self.run_bytes, &mut next);
                    }
                };
                each(&run, &mut ahead)?;
                ahead();
                self.summary.records += run.len() as u64;
                self.summary.bytes += run.iter().map(|record| record.payload.len() as u64).sum::<u64>();
                std::mem::swap(&mut run, &mut next);
            }
            match records.end() {
                End::Clean { offset } => return self.check_length(index, &segment, offset),
                End::TornTail { offset, bytes, tail } => {
                    return self.torn(index, &segment, offset, bytes, &tail.to_string());
                }
                End::Corrupt { offset, resumes } => {
                    let to = resumes.unwrap_or(segment.file.len());
                    self.damage(&segment, offset, to, "no valid record, although others follow")?;
                    records.seek(to);
                }
            }
        }
    }

    /// A segment that ends with a whole record at `end`: was it longer once?
    fn check_length(&mut self, index: usize, segment: &Segment, end: u64) -> Result<()> {
        match self.length_once(index, segment.id)? {
            Some(once) if once > end => {
                let why = format!("it ends here, but had {once} bytes when the next one was begun");
                self.hole(index, segment, (end, end), &why)
            }
            _ => Ok(()),
        }
    }

    /// A segment whose last `bytes` bytes, from `offset` on, hold no record.
    fn torn(&mut self, index: usize, segment: &Segment, offset: u64, bytes: u64, why: &str) -> Result<()> {
        let once = self.length_once(index, segment.id)?;
        let is_hole = match once {
            Some(once) => once > offset,
            None => self.written_on(index, segment.id)?,
        };
        if is_hole {
            let why = format!("no valid record, although later segments hold some ({why})");
            return self.hole(index, segment, (offset, offset.saturating_add(bytes)), &why);
        }
        if bytes > 0 || offset == 0 {
            self.summary.torn.push(TornTail { segment: segment.id, offset, dropped_bytes: bytes });
        }
        Ok(())
    }

    /// A segment that lacks something at its end, at bytes `from` to `to`, although the same run went on.
    fn hole(&mut self, index: usize, segment: &Segment, (from, to): (u64, u64), why: &str) -> Result<()> {
        if self.was_synced(index, segment.id)? {
            return self.damage(segment, from, to, why);
        }
        self.summary.torn.push(TornTail { segment: segment.id, offset: from, dropped_bytes: to - from });
        self.hole = Some(segment.id);
        Ok(())
    }

    /// Whether a mark in a later segment says that segment `id` was synced whole.
    fn was_synced(&self, index: usize, id: u64) -> Result<bool> {
        for &later in self.ids.get(index + 1..).unwrap_or_default() {
            let segment = self.open(later)?;
            let mut records = segment.records();
            loop {
                for record in records.by_ref() {
                    let mark = Mark::decode(record.payload).unwrap_or_default();
                    if mark.is_some_and(|mark| mark.run <= id && id <= mark.upto) {
                        return Ok(true);
                    }
                }
                match records.end() {
                    End::Corrupt { resumes: Some(next), .. } => records.seek(next),
                    _ => break,
                }
            }
        }
        Ok(false)
    }

    /// Bytes that segment `id` had when the next one was begun, if that one is there and tells.
    fn length_once(&self, index: usize, id: u64) -> Result<Option<u64>> {
        match self.ids.get(index + 1) {
            Some(&next) if Some(next) == id.checked_add(1) => {
                let header = self.open(next)?.header.ok();
                Ok(header.map(|header| header.previous_bytes).filter(|bytes| *bytes > 0))
            }
            _ => Ok(None),
        }
    }

    /// Whether the run that wrote segment `id` went on to write records into later segments.
    fn written_on(&self, index: usize, id: u64) -> Result<bool> {
        for &later in self.ids.get(index + 1..).unwrap_or_default() {
            let segment = self.open(later)?;
            // Without a header, the run is unknown and may be the same.
            let run = segment.header.as_ref().map_or(0, |header| header.run);
            if run <= id && segment.holds_a_record() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn damage(&mut self, segment: &Segment, from: u64, to: u64, why: &str) -> Result<()> {
        match self.mode {
            ReplayMode::Strict => {
                let message = format!("segment {} of the commit log is damaged: {why}", segment.id);
                Err(Error::corrupt(&segment.path, from, message)
                    .hint("restore the file, or open in salvage mode, which keeps every whole record and lists what is lost"))
            }
            ReplayMode::Salvage => {
                self.summary.skipped.push(Skipped { segment: segment.id, from, to, why: why.to_owned() });
                Ok(())
            }
        }
    }
}
