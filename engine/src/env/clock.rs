//! Time: the clock that is injected, and write timestamps drawn from it.
//!
//! Expiry, tombstone grace and write timestamps all read the [`Clock`] of the environment, so that a test or a
//! user can let years pass in a moment ([`ManualClock`]). [`UniqueMicros`] turns a clock, which may stand still or
//! go back, into timestamps that strictly increase.
//!
//! # Threads
//! Everything here may be called from any thread at once; nothing blocks.

use crate::model::time::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time of day.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Microseconds since 1970-01-01T00:00:00Z. May go back.
    fn now_micros(&self) -> i64;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_micros(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => micros(since),
            Err(before) => -micros(before.duration()),
        }
    }
}

/// A clock that stands still until it is set or advanced. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `now_micros` (since 1970-01-01T00:00:00Z).
    pub fn new(now_micros: i64) -> Self {
        Self(Arc::new(AtomicI64::new(now_micros)))
    }

    /// A clock that shows `at`.
    pub fn at(at: Timestamp) -> Self {
        Self::new(at.as_millis().saturating_mul(1000))
    }

    /// Sets the time, forwards or back.
    pub fn set(&self, to: Timestamp) {
        self.set_micros(to.as_millis().saturating_mul(1000));
    }

    /// Sets the time in microseconds, forwards or back.
    pub fn set_micros(&self, now_micros: i64) {
        self.0.store(now_micros, Ordering::SeqCst);
    }

    /// Moves the time forwards; parts of a microsecond are dropped, and it stops at the end of time.
    pub fn advance(&self, by: Duration) {
        let step = micros(by);
        let moved = |now: i64| Some(now.saturating_add(step));
        // The closure always returns a value, so that there is no failure to look at.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, moved);
    }
}

impl Clock for ManualClock {
    fn now_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Write timestamps: the clock's microseconds, moved up where needed so that each is greater than all before it,
/// also when the clock stands still or goes back.
#[derive(Debug)]
pub struct UniqueMicros {
    clock: Arc<dyn Clock>,
    last: AtomicI64,
}

impl UniqueMicros {
    /// A generator over `clock`. One per store: two of them may give the same timestamp.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, last: AtomicI64::new(i64::MIN) }
    }

    /// What the clock says, micros.
    pub fn now_micros(&self) -> i64 {
        self.clock.now_micros()
    }

    /// The next timestamp in microseconds. At the end of time (`i64::MAX`) it repeats itself.
    pub fn next_micros(&self) -> i64 {
        let now = self.clock.now_micros();
        let raise = |last: i64| now.max(last.saturating_add(1));
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = raise(last);
            // Only the counter itself is ordered; no other memory is published by it.
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(current) => last = current,
            }
        }
    }

    /// Makes all later timestamps greater than `micros`: called at open with the last one that this store drew,
    /// so that a clock that went back over a restart does not make new writes lose against old ones. Not to be
    /// called with timestamps that clients chose: one far in the future would drag all others there.
    pub fn observe(&self, micros: i64) {
        self.last.fetch_max(micros, Ordering::Relaxed);
    }
}

/// A duration in whole microseconds, at most `i64::MAX`.
fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_manual_clock_is_shared_and_settable() {
        let clock = ManualClock::new(10);
        let other = clock.clone();
        other.advance(Duration::from_millis(2));
        assert_eq!(clock.now_micros(), 2_010);
        clock.set_micros(-5);
        assert_eq!(other.now_micros(), -5);
        clock.set_micros(i64::MAX - 1);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now_micros(), i64::MAX);
    }

    #[test]
    fn the_system_clock_is_in_micros() {
        let now = SystemClock.now_micros();
        // Between 2024 and 2100: a wrong unit would be off by a factor of a thousand.
        assert!((1_704_067_200_000_000..4_102_444_800_000_000).contains(&now), "{now}");
    }

    #[test]
    fn timestamps_increase_while_the_clock_stands_or_goes_back() {
        let clock = ManualClock::new(100);
        let unique = UniqueMicros::new(Arc::new(clock.clone()));
        assert_eq!([unique.next_micros(), unique.next_micros()], [100, 101]);
        clock.set_micros(50);
        assert_eq!(unique.next_micros(), 102);
        clock.set_micros(500);
        assert_eq!(unique.next_micros(), 500);
        unique.observe(1_000);
        assert_eq!(unique.next_micros(), 1_001);
        unique.observe(7);
        assert_eq!(unique.next_micros(), 1_002);
        unique.observe(i64::MAX);
        assert_eq!(unique.next_micros(), i64::MAX);
    }

    #[test]
    fn threads_never_get_the_same_timestamp() {
        let unique = UniqueMicros::new(Arc::new(ManualClock::new(0)));
        let draw = || (0..2_000).map(|_| unique.next_micros()).collect::<Vec<_>>();
        let drawn: Vec<i64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 8_000);
    }
}
