//! Group commit: writers that wait for the disk share its syncs.
//!
//! [`Committer`](crate::write::commit::Committer) calls [`GroupSync::through`] under `SyncMode::Batch`, after a batch is in the
//! log. One of those who wait *leads*: it syncs for all whose batches are in the log by then; the others sleep, each by itself.
//!
//! Writers that a sync has set free come back with their next batch a moment later, just too late for a sync that began at
//! once: the writers would fall into two groups that wait for each other in turn. So the leader first lets as many gather as there were
//! at the end of the last sync, for half as long as that sync took at most. A single writer never waits for others.
//!
//! # Threads
//! Any number. Nobody holds a lock during a sync.

use crate::error::Result;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Longest time for which a leader lets others gather.
const PATIENCE: Duration = Duration::from_millis(1);

/// Who syncs for whom.
#[derive(Debug)]
pub struct GroupSync {
    turn: Mutex<Turn>,
    /// Everything up to this sequence number is on the disk.
    synced: AtomicU64,
}

#[derive(Debug, Default)]
struct Turn {
    /// Somebody leads.
    led: bool,
    waiting: Vec<Waiter>,
    /// Writers at the end of the last sync, the leader included.
    writers: usize,
    /// How long that sync took.
    took: Duration,
}

#[derive(Debug)]
struct Waiter {
    seq: u64,
    thread: Thread,
}

impl GroupSync {
    /// Everything up to sequence number `seq` is on the disk.
    pub fn new(seq: u64) -> Self {
        Self { turn: Mutex::default(), synced: AtomicU64::new(seq) }
    }

    /// Notes that everything up to `seq` is on the disk.
    pub fn set_synced(&self, seq: u64) {
        self.synced.fetch_max(seq, Ordering::AcqRel);
    }

    /// Waits until everything up to `seq` is on the disk. `sync` puts everything written so far there, publishes it and
    /// returns its last sequence number, `seq` or more; it is called by one thread at a time.
    ///
    /// # Errors
    /// That of `sync`, for those whom it was for.
    pub fn through(&self, seq: u64, sync: impl FnOnce() -> Result<u64>) -> Result<()> {
        if !self.lead(seq) {
            return Ok(());
        }
        self.gather();
        let started = Instant::now();
        let done = sync();
        self.end(started.elapsed(), done.as_ref().copied().unwrap_or_default());
        done.map(drop)
    }

    /// Waits until `seq` is synced, or until it is this thread's turn to sync (`true`).
    fn lead(&self, seq: u64) -> bool {
        let mut listed = false;
        loop {
            if self.synced.load(Ordering::Acquire) >= seq {
                return false; // whoever synced takes it off the list
            }
            let mut turn = self.turn.lock();
            // Once more: a sync that ended before the lock was taken would not wake this thread.
            if self.synced.load(Ordering::Acquire) >= seq {
                return false;
            }
            let me = std::thread::current();
            if !turn.led {
                turn.led = true;
                turn.waiting.retain(|waiter| waiter.seq != seq || waiter.thread.id() != me.id());
                return true;
            }
            if !listed {
                turn.waiting.push(Waiter { seq, thread: me });
                listed = true;
            }
            drop(turn);
            // Wakes without a reason are fine, as are those that an earlier wait has left.
            std::thread::park();
        }
    }

    /// Gives the writers of the last round the time to come back.
    fn gather(&self) {
        let started = Instant::now();
        loop {
            let turn = self.turn.lock();
            let enough = turn.waiting.len() + 1 >= turn.writers;
            if enough || started.elapsed() > PATIENCE.min(turn.took / 2) {
                return;
            }
            drop(turn);
            // Not a sleep, which takes longer than all of this: the writers that are awaited need the processor.
            std::thread::yield_now();
        }
    }

    /// Sets those free whom a sync up to `covered` was for, and wakes the next leader if somebody is left.
    fn end(&self, took: Duration, covered: u64) {
        self.set_synced(covered);
        let mut turn = self.turn.lock();
        let waiting = std::mem::take(&mut turn.waiting);
        (turn.led, turn.took, turn.writers) = (false, took, waiting.len() + 1);
        let (free, left): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|waiter| waiter.seq <= covered);
        let next = left.first().map(|waiter| waiter.thread.clone());
        turn.waiting = left;
        drop(turn);
        free.iter().for_each(|waiter| waiter.thread.unpark());
        if let Some(next) = next {
            next.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use std::sync::atomic::AtomicUsize;

    /// A log that counts its records and syncs.
    #[derive(Default)]
    struct Log {
        written: AtomicU64,
        on_disk: AtomicU64,
        syncs: AtomicUsize,
        running: AtomicUsize,
    }

    impl Log {
        fn sync(&self) -> Result<u64> {
            assert_eq!(self.running.fetch_add(1, Ordering::SeqCst), 0, "one sync at a time");
            let covered = self.written.load(Ordering::SeqCst);
            std::thread::yield_now();
            self.on_disk.store(covered, Ordering::SeqCst);
            self.syncs.fetch_add(1, Ordering::SeqCst);
            self.running.fetch_sub(1, Ordering::SeqCst);
            Ok(covered)
        }
    }

    #[test]
    fn nobody_returns_before_a_sync_covered_it() {
        let (log, group) = (Log::default(), GroupSync::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let seq = log.written.fetch_add(1, Ordering::SeqCst) + 1;
                        group.through(seq, || log.sync()).unwrap();
                        assert!(log.on_disk.load(Ordering::SeqCst) >= seq);
                    }
                });
            }
        });
        assert!(log.syncs.into_inner() <= 1800 && group.turn.into_inner().waiting.is_empty());
    }

    #[test]
    fn what_is_synced_needs_no_sync() {
        let group = GroupSync::new(5);
        group.set_synced(3);
        group.through(5, || panic!("it is synced")).unwrap();
        group.through(6, || Ok(8)).unwrap();
        group.through(8, || panic!("it is synced")).unwrap();
    }

    #[test]
    fn a_failed_sync_fails_everybody() {
        let (seq, group) = (AtomicU64::new(0), GroupSync::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let fails = || {
                        std::thread::yield_now();
                        Err(Error::closed("broken"))
                    };
                    let failed = group.through(seq.fetch_add(1, Ordering::SeqCst) + 1, fails);
                    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Closed);
                });
            }
        });
        assert!(!group.turn.into_inner().led);
    }
}
