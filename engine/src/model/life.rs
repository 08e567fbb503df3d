//! The life of a cell or row: when it was written, whether and when it expires; and deletions.
//!
//! Write timestamps are `i64` microseconds since the epoch. TTLs are `i32` seconds. Expiry and local deletion
//! times are seconds since the epoch (`i64` in memory, at most `u32::MAX`, that is until 2106).

/// The expiry second of what never expires.
pub const NEVER: i64 = i64::MAX;

/// The largest TTL that a write may ask for: 20 years, as in Apache Cassandra.
pub const MAX_TTL: i32 = 630_720_000;

/// A duration in whole seconds, rounded up: half a second of TTL must not become zero, which means never.
pub(crate) const fn whole_seconds(duration: std::time::Duration) -> u64 {
    let more = if duration.subsec_nanos() > 0 { 1 } else { 0 };
    duration.as_secs().saturating_add(more)
}

/// The last second that an expiry may have.
pub const MAX_EXPIRY: i64 = u32::MAX as i64;

/// When something was written and until when it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Liveness {
    /// Write time, microseconds.
    pub timestamp: i64,
    /// Time to live in seconds; 0 is none.
    pub ttl: i32,
    /// Second from which on it is gone; [`NEVER`] without TTL.
    pub expiry: i64,
}

impl Liveness {
    /// Written at `timestamp` (micros), never to expire.
    pub const fn new(timestamp: i64) -> Self {
        Self { timestamp, ttl: 0, expiry: NEVER }
    }

    /// Written at `timestamp` (micros), gone from second `expiry` on.
    pub const fn expiring(timestamp: i64, ttl: i32, expiry: i64) -> Self {
        Self { timestamp, ttl, expiry }
    }

    /// Has a TTL, expired or not.
    #[inline]
    pub const fn is_expiring(&self) -> bool {
        self.ttl != 0
    }

    /// Seen by a reader at second `now`: the expiry second itself is already past.
    #[inline]
    pub const fn is_live(&self, now: i64) -> bool {
        now < self.expiry
    }
}

/// A deletion: hides what was written at or before `timestamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Deletion {
    /// Everything with a write time up to and including this (micros) is deleted.
    pub timestamp: i64,
    /// Second at which the deletion was made; gc_grace_seconds count from here.
    pub local: i64,
}

impl Deletion {
    /// A deletion of everything up to `timestamp` (micros), made at second `local`.
    pub const fn new(timestamp: i64, local: i64) -> Self {
        Self { timestamp, local }
    }

    /// Whether it hides what was written at `timestamp`.
    #[inline]
    pub const fn covers(&self, timestamp: i64) -> bool {
        timestamp <= self.timestamp
    }
}

/// Whether `deletion`, if there is one, hides what was written at `timestamp` (micros).
#[inline]
pub fn covered(deletion: Option<Deletion>, timestamp: i64) -> bool {
    deletion.is_some_and(|d| d.covers(timestamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gone_in_the_very_second_of_expiry() {
        let life = Liveness::expiring(5_000_000, 10, 15);
        assert!(life.is_live(14) && !life.is_live(15));
        assert!(Liveness::new(1).is_live(MAX_EXPIRY));
    }

    #[test]
    fn a_deletion_covers_its_own_microsecond() {
        let deletion = Deletion::new(7, 0);
        assert!(deletion.covers(7) && !deletion.covers(8));
        assert!(!covered(None, i64::MIN));
    }
}
