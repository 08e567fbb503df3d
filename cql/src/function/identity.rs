//! New UUIDs: random ones (version 4) and time UUIDs (version 1).
//!
//! # Invariants
//! 1. No two of a process are the same; those of different processes are told apart by 62 random bits and the time.
//! 2. Time UUIDs grow from call to call while the clock does not go back; when it does, the clock sequence changes, as RFC 4122 wants.
//!
//! # Not here
//! A source of randomness of its own: the standard library's hash keys come from the operating system, and SipHash of a counter under
//! such a key is as good as its key. These UUIDs are names, no secrets.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Units of 100 ns from 1582-10-15, where version 1 UUIDs count from, to 1970-01-01.
pub(crate) const GREGORIAN_OFFSET: i64 = 0x01b2_1dd2_1381_4000;

static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
static COUNTER: AtomicU64 = AtomicU64::new(0);
static CLOCK: LazyLock<Mutex<Clock>> = LazyLock::new(|| {
    // The multicast bit says that the node is no network card.
    let node = random() & 0xffff_ffff_ffff | 0x0100_0000_0000;
    Mutex::new(Clock { last: i64::MIN, sequence: random() & 0x3fff, node })
});

struct Clock {
    /// Ticks of the last UUID.
    last: i64,
    /// 14 bits.
    sequence: u64,
    /// 48 bits.
    node: u64,
}

fn random() -> u64 {
    KEY.hash_one(COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// A random UUID.
pub(crate) fn random_uuid() -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random().to_be_bytes());
    bytes[8..].copy_from_slice(&random().to_be_bytes());
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// How far behind the last UUID the clock may be (ticks) and still count as standing still: that many may have been made at once.
const STANDSTILL: i64 = 10_000_000;

/// A new time UUID of the time `now_micros`, microseconds since 1970.
pub(crate) fn time_uuid(now_micros: i64) -> [u8; 16] {
    let ticks = now_micros.saturating_mul(10).saturating_add(GREGORIAN_OFFSET);
    let mut clock = CLOCK.lock();
    let behind = clock.last.saturating_sub(ticks);
    if behind < 0 {
        clock.last = ticks;
    } else if behind < STANDSTILL {
        clock.last = clock.last.saturating_add(1);
    } else {
        clock.last = ticks;
        clock.sequence = (clock.sequence + 1) & 0x3fff;
    }
    with_ticks(clock.last, 0x8000_0000_0000_0000 | clock.sequence << 48 | clock.node)
}

/// The time UUID of `ticks` (100 ns since 1582-10-15) whose last eight bytes are `rest`.
pub(crate) fn with_ticks(ticks: i64, rest: u64) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h] = ticks.to_be_bytes();
    let mut bytes = [e, f, g, h, c, d, a & 0x0f | 0x10, b, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[8..].copy_from_slice(&rest.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use skep_engine::{Timeuuid, Uuid};

    #[test]
    fn no_two_are_the_same_and_time_uuids_have_their_time() {
        let now = 1_700_000_000_000_000;
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            let random = random_uuid();
            assert_eq!(Uuid(random).version(), 4);
            assert_eq!(random[8] >> 6, 2);
            assert!(seen.insert(random));
            let timed = time_uuid(now);
            let micros = Timeuuid::from_bytes(timed).unwrap().unix_micros();
            // Other tests may have moved the clock on by a little.
            assert!((now..now + 1_000_000).contains(&micros));
            assert!(seen.insert(timed));
        }
        let earlier = time_uuid(now - 3_600_000_000);
        assert_eq!(Timeuuid::from_bytes(earlier).unwrap().unix_micros(), now - 3_600_000_000);
    }
}
