//! The memory that memtables may use, and how writers are slowed towards its end.
//!
//! Up to three quarters of the budget writers run freely. From there on each waits a little, the longer the fuller
//! the budget is, so that flushing catches up without a sudden stop. A full budget makes writers wait for a flush; when
//! flushing fails (a full disk), they get that error instead, and the next write after it heals succeeds.

use crate::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longest wait of one write for a single step, so that a stuck flush shows up as an error and never as a hang.
const STEP: Duration = Duration::from_millis(5);
/// Longest wait of one write in all.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest pause below the full budget.
const LONGEST_PAUSE: Duration = Duration::from_micros(1000);

/// Accounts for the memory of all memtables.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    active: AtomicUsize,
    sealed: AtomicUsize,
    failure: Mutex<Option<Error>>,
    freed: Condvar,
    stalls: AtomicU64,
    stalled_micros: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            active: AtomicUsize::new(0),
            sealed: AtomicUsize::new(0),
            failure: Mutex::new(None),
            freed: Condvar::new(),
            stalls: AtomicU64::new(0),
            stalled_micros: AtomicU64::new(0),
        }
    }

    /// Memory of active memtables, bytes.
    pub fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Memory of all memtables, bytes.
    pub fn used(&self) -> usize {
        self.active() + self.sealed.load(Ordering::Relaxed)
    }

    /// Whether the active memtables have had their half.
    #[inline]
    pub fn is_flush_due(&self) -> bool {
        self.active() >= self.limit / 2
    }

    /// Whether the memtables have had it all.
    pub fn is_full(&self) -> bool {
        self.used() >= self.limit
    }

    /// Active memtables went from `before` to `after` bytes. They shrink, too, when the versions of a row that is
    /// overwritten all the time are merged; what is counted here must be what [`Budget::seal`] takes away.
    #[inline]
    pub fn resize(&self, before: usize, after: usize) {
        // Wrapping around at zero is how an unsigned counter goes down.
        self.active.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// An active memtable of `bytes` was sealed.
    pub fn seal(&self, bytes: usize) {
        self.sealed.fetch_add(bytes, Ordering::Relaxed);
        self.active.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A sealed memtable of `bytes` is in files, or was dropped.
    pub fn free(&self, bytes: usize) {
        self.sealed.fetch_sub(bytes, Ordering::Relaxed);
        *self.failure.lock() = None;
        self.freed.notify_all();
    }

    /// A flush failed: writers that find the budget full get this error.
    pub fn flush_failed(&self, error: &Error) {
        *self.failure.lock() = Some(error.duplicate());
        self.freed.notify_all();
    }

    /// Number of writes that had to wait, and for how many microseconds in all.
    pub fn stalls(&self) -> (u64, u64) {
        (self.stalls.load(Ordering::Relaxed), self.stalled_micros.load(Ordering::Relaxed))
    }

    /// Lets a write in, after a pause if memory is short.
    ///
    /// # Errors
    /// The error of the failing flush when the budget is full; `Busy` if no flush ends for a minute.
    #[inline]
    pub fn admit(&self) -> Result<()> {
        match self.used() < self.limit / 4 * 3 {
            true => Ok(()),
            false => self.wait(),
        }
    }

    #[cold]
    fn wait(&self) -> Result<()> {
        let start = Instant::now();
        let result = self.wait_for_room(start);
        self.stalls.fetch_add(1, Ordering::Relaxed);
        self.stalled_micros.fetch_add(start.elapsed().as_micros() as u64, Ordering::Relaxed);
        result
    }

    fn wait_for_room(&self, start: Instant) -> Result<()> {
        let quarter = (self.limit / 4).max(1);
        let over = self.used().saturating_sub(3 * quarter);
        if over < quarter {
            let share = over as f64 / quarter as f64;
            // Cubed: hardly anything at first, the whole pause only when memory is nearly gone.
            let pause = LONGEST_PAUSE.mul_f64(share * share * share);
            if pause > Duration::from_micros(20) {
                let mut failure = self.failure.lock();
                self.freed.wait_for(&mut failure, pause);
            }
            return Ok(());
        }
        loop {
            let mut failure = self.failure.lock();
            if self.used() < self.limit {
                return Ok(());
            }
            if let Some(error) = &*failure {
                return Err(error.duplicate());
            }
            if start.elapsed() > PATIENCE {
                return Err(Error::new(
                    crate::error::ErrorKind::Busy,
                    "no memtable could be flushed for a minute",
                ));
            }
            self.freed.wait_for(&mut failure, STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_budget_gives_the_flushs_error_and_heals() {
        let budget = Budget::new(1000);
        budget.resize(0, 700);
        budget.resize(700, 500);
        assert!(budget.is_flush_due() && budget.admit().is_ok());
        budget.seal(500);
        budget.resize(0, 600);
        budget.flush_failed(&Error::invalid("disk full"));
        assert_eq!(budget.admit().unwrap_err().message(), "disk full");
        budget.free(500);
        assert!(budget.admit().is_ok());
        assert_eq!(budget.stalls().0, 1);
    }
}
