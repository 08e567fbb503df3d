//! How fast compactions may go: a shared allowance of bytes per second, and a way to stop.
//!
//! A job calls [`Pace::spend`] after every block or so that it wrote. All jobs of a store share one [`Pace`]. Each
//! call also gives up the processor, so that a compaction never holds a core for longer than one step while
//! reads and writes wait for it.
//!
//! # Threads
//! Any number of jobs spend at once, and any thread changes the rate or cancels.
//!
//! # Not here
//! No reaction to the latency of reads: bytes per second are what a user can reason about.

use crate::env::Env;
use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Longest wait at one go, so that a cancelled job ends soon.
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// A flag that stops a job at its next step.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops all jobs that carry this flag.
    pub fn cancel(&self) {
        // Nothing is published by the flag; the job only has to see it some time.
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// `Closed` if the flag is set.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::closed("the compaction was cancelled")),
            false => Ok(()),
        }
    }
}

/// The allowance that all compactions of a store share.
#[derive(Debug)]
pub struct Pace {
    env: Arc<dyn Env>,
    /// Bytes per second; 0 is no limit.
    rate: AtomicU64,
    bucket: Mutex<Bucket>,
}

impl Pace {
    /// An allowance of `bytes_per_second`; `None` is no limit.
    pub fn new(env: Arc<dyn Env>, bytes_per_second: Option<u64>) -> Self {
        let now = env.monotonic_nanos();
        let rate = AtomicU64::new(bytes_per_second.unwrap_or(0));
        Self { env, rate, bucket: Mutex::new(Bucket { credit: 0, filled_at: now }) }
    }

    /// Changes the allowance, for running jobs too.
    pub fn set_rate(&self, bytes_per_second: Option<u64>) {
        self.rate.store(bytes_per_second.unwrap_or(0), Ordering::Relaxed);
    }

    /// Takes `bytes` from the allowance and waits until it is not overdrawn.
    ///
    /// # Errors
    /// `Closed` as soon as `cancel` is set.
    pub fn spend(&self, bytes: u64, cancel: &Cancel) -> Result<()> {
        cancel.check()?;
        std::thread::yield_now();
        let mut due = bytes;
        loop {
            let rate = self.rate.load(Ordering::Relaxed);
            let wait = self.bucket.lock().take(due, rate, self.env.monotonic_nanos());
            if wait.is_zero() {
                return Ok(());
            }
            due = 0;
            std::thread::sleep(wait.min(LONGEST_NAP));
            cancel.check()?;
        }
    }
}

/// A token bucket that holds at most a second's allowance.
#[derive(Debug)]
struct Bucket {
    /// Bytes that may be spent now; negative if overdrawn.
    credit: i64,
    filled_at: u64,
}

impl Bucket {
    /// Fills up for the time since the last call, takes `bytes`, and says how long until the bucket is not overdrawn.
    fn take(&mut self, bytes: u64, rate: u64, now_nanos: u64) -> Duration {
        let passed = now_nanos.saturating_sub(self.filled_at);
        if rate == 0 {
            *self = Self { credit: 0, filled_at: now_nanos };
            return Duration::ZERO;
        }
        let earned = u128::from(passed) * u128::from(rate) / 1_000_000_000;
        if earned > 0 {
            // Time that has not earned a whole byte is not lost.
            self.filled_at = now_nanos;
        }
        let most = i64::try_from(rate).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(i64::try_from(earned).unwrap_or(i64::MAX)).min(most);
        self.credit = self.credit.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
        let owed = u128::from(self.credit.min(0).unsigned_abs());
        Duration::from_nanos(u64::try_from(owed * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::OsEnv;
    use crate::error::ErrorKind;

    #[test]
    fn the_bucket_lets_the_rate_through_and_no_more() {
        let mut bucket = Bucket { credit: 0, filled_at: 0 };
        let second = 1_000_000_000;
        assert_eq!(bucket.take(500, 1_000, 0), Duration::from_millis(500));
        assert_eq!(bucket.take(0, 1_000, second / 4), Duration::from_millis(250));
        assert_eq!(bucket.take(0, 1_000, second / 2), Duration::ZERO);
        // An idle hour does not save up for a burst of more than a second.
        assert_eq!(bucket.take(1_000, 1_000, 3_600 * second), Duration::ZERO);
        assert_eq!(bucket.take(1_000, 1_000, 3_600 * second), Duration::from_secs(1));
        assert_eq!(bucket.take(1_000, 0, 3_600 * second), Duration::ZERO);
        // Steps too short to earn a byte still add up.
        let mut slow = Bucket { credit: 0, filled_at: 0 };
        assert!(!slow.take(1, 1, 0).is_zero());
        let last = (1..=10).map(|tenth| slow.take(0, 1, tenth * second / 10)).last();
        assert_eq!(last, Some(Duration::ZERO));
        assert_eq!(Bucket { credit: 0, filled_at: 5 }.take(u64::MAX, 1, 0), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn a_cancelled_job_does_not_wait() {
        let pace = Pace::new(Arc::new(OsEnv::new()), Some(1));
        let cancel = Cancel::new();
        cancel.cancel();
        assert_eq!(pace.spend(1 << 40, &cancel).unwrap_err().kind(), ErrorKind::Closed);
        pace.set_rate(None);
        assert!(pace.spend(1 << 40, &Cancel::new()).is_ok());
    }
}
