//! Files that may go whole, without being read: everything in them expired or was deleted long enough ago.
//!
//! The strategies call [`find`] before anything else, the timer calls it although nothing is written, and the answer
//! to "why is this expired file still here, and when will it go" is what it returns. Pure: cards of files in, a list
//! out. [`ClockGuard`] decides beforehand whether the clock is to be believed.
//!
//! # The rule
//! A file is *expired* if the greatest expiry or deletion second in it is before now - gc_grace_seconds. It may go
//! unless it can hide something: a source that is not expired, that shares a range of partitions with it, and
//! that holds something written no later than the newest thing in the file. Expired files do not keep each other:
//! what one of them hides in another has expired too.

use crate::model::clustering::ClusteringRange;
use crate::model::life::NEVER;
use crate::sstable::meta::{FileId, FileMeta};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What memtables hold, as far as expired files are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unflushed {
    /// Least write time (micros) in the memtables of the table.
    pub min_timestamp: i64,
}

/// The answer of [`find`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expired {
    /// Files that may go.
    pub droppable: Vec<FileId>,
    /// Expired files that must stay for now, and why.
    pub blocked: Vec<Blocked>,
}

/// An expired file that something keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The file.
    pub file: FileId,
    /// Its newest write time, micros: what the blocker is not newer than.
    pub max_timestamp: i64,
    /// What keeps it.
    pub by: Blocker,
    /// From which second on the blocker does not keep it any more; `None` if that is not known: the blocker must be
    /// flushed, compacted or deleted first.
    pub frees_at: Option<i64>,
}

/// What keeps an expired file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// A file that is still live and holds something that may be hidden by the expired file.
    File {
        /// The file.
        id: FileId,
        /// Its least write time, micros.
        min_timestamp: i64,
    },
    /// Data that is not flushed yet.
    Memtable {
        /// Its least write time, micros.
        min_timestamp: i64,
    },
    /// The file is being compacted.
    Busy,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {} is expired, but ", self.file)?;
        let newest = self.max_timestamp;
        match self.by {
            Blocker::File { id, min_timestamp } => write!(
                f,
                "file {id} holds data from write time {min_timestamp} on, which it may hide (its newest write time \
                 is {newest})"
            )?,
            Blocker::Memtable { min_timestamp } => write!(
                f,
                "the memtable holds data from write time {min_timestamp} on, which it may hide (its newest write \
                 time is {newest}); a flush may free it"
            )?,
            Blocker::Busy => f.write_str("it is being compacted")?,
        }
        match (self.frees_at, self.by) {
            (Some(second), _) => write!(f, "; free from second {second} on"),
            (None, Blocker::File { id, .. }) => write!(f, "; free when file {id} is compacted or dropped"),
            (None, _) => Ok(()),
        }
    }
}

/// Finds the files that may go at second `now`, and names what keeps the other expired ones.
///
/// `ignore_overlaps` (unsafe_aggressive_sstable_expiration) lets expired files go whatever they hide.
pub fn find(
    files: &[Arc<FileMeta>],
    busy: &BTreeSet<FileId>,
    unflushed: Option<Unflushed>,
    now: i64,
    gc_grace_seconds: u32,
    ignore_overlaps: bool,
) -> Expired {
    let grace = i64::from(gc_grace_seconds);
    let gc_before = now.saturating_sub(grace);
    let (expired, live): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.fully_expired(gc_before));
    let mut answer = Expired::default();
    for file in expired {
        let blocked =
            |by, frees_at| Blocked { file: file.id, max_timestamp: file.max_timestamp, by, frees_at };
        if busy.contains(&file.id) {
            answer.blocked.push(blocked(Blocker::Busy, None));
            continue;
        }
        if ignore_overlaps {
            answer.droppable.push(file.id);
            continue;
        }
        // Of several blockers, the one that stays longest.
        let blocker = live.iter().filter(|other| may_hide(file, other)).max_by_key(|other| other.max_local);
        match (blocker, unflushed) {
            (Some(other), _) => {
                let frees_at = match other.max_local {
                    NEVER => None,
                    last => Some(last.saturating_add(grace).saturating_add(1)),
                };
                let by = Blocker::File { id: other.id, min_timestamp: other.min_timestamp };
                answer.blocked.push(blocked(by, frees_at));
            }
            (None, Some(Unflushed { min_timestamp })) if min_timestamp <= file.max_timestamp => {
                answer.blocked.push(blocked(Blocker::Memtable { min_timestamp }, None));
            }
            (None, _) => answer.droppable.push(file.id),
        }
    }
    answer
}

/// Whether something in `expired` may hide something in `other`.
fn may_hide(expired: &FileMeta, other: &FileMeta) -> bool {
    other.min_timestamp <= expired.max_timestamp
        && expired.overlaps(other)
        && (reaches_everywhere(expired) || reaches_everywhere(other) || rows_meet(expired, other))
}

/// Concerns places outside of the range of its rows.
fn reaches_everywhere(file: &FileMeta) -> bool {
    file.has_partition_deletion || file.has_static
}

fn rows_meet(a: &FileMeta, b: &FileMeta) -> bool {
    let meet = |a: &ClusteringRange, b: &ClusteringRange| !a.intersect(b).is_empty();
    matches!((&a.clustering, &b.clustering), (Some(a), Some(b)) if meet(a, b))
}

/// Remembers how far the clock has come, so that one that jumps ahead does not make all data look expired.
///
/// One per store, asked at every expiry check. What counts as known is the greatest second that was believed,
/// and the newest write: a store that was closed for long is confirmed by its first write.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockGuard {
    last: Option<i64>,
}

/// Whether a second of the clock is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockVerdict {
    /// It is: expiry may act on it.
    Believed,
    /// It is too far ahead of everything seen: nothing may be dropped on its word.
    Jumped {
        /// What the clock says, seconds since the epoch.
        now: i64,
        /// The latest second seen before.
        last: i64,
    },
}

impl fmt::Display for ClockVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Believed => f.write_str("the clock is believed"),
            Self::Jumped { now, last } => write!(
                f,
                "the clock says second {now}, {} s ahead of the newest write and of all it said before (second \
                 {last}): no expired file is dropped until the clock is confirmed or set right",
                now.saturating_sub(*last)
            ),
        }
    }
}

impl ClockGuard {
    /// Judges second `now` against what was seen, and remembers it if it is believed. `newest_write` is the second at
    /// which the newest file or log record was written, by this store's clock (not a client's timestamp). Without
    /// anything seen before, the clock is believed: then there is nothing to lose either.
    pub fn check(&mut self, now: i64, newest_write: Option<i64>, max_jump: Duration) -> ClockVerdict {
        let jump = i64::try_from(max_jump.as_secs()).unwrap_or(i64::MAX);
        match self.last.max(newest_write) {
            Some(last) if now.saturating_sub(last) > jump => ClockVerdict::Jumped { now, last },
            _ => {
                self.last = self.last.max(Some(now));
                ClockVerdict::Believed
            }
        }
    }

    /// A person says that the clock is right at second `now`: the explicit override after a jump.
    pub fn confirm(&mut self, now: i64) {
        self.last = self.last.max(Some(now));
    }
}

#[cfg(test)]
#[path = "expired_tests.rs"]
mod tests;
