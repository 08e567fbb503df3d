//! Time-ordered ids (version 1 uuids), for the elements of lists and for whoever needs a unique clustering.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A version 1 uuid, later than every one this process made before. The node part is a hash of process and start.
pub fn next() -> [u8; 16] {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = (since_epoch.as_nanos() / 100) as u64 + GREGORIAN;
    let next = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_default();
    at(now.max(last + 1))
}

/// A version 1 uuid, earlier than every one this process made before by this function, and than all of [`next`]. Its time runs backwards
/// from 2010 at the rate of the clock, as in Apache Cassandra: later processes go on below, too.
pub fn before_all() -> [u8; 16] {
    static LAST: AtomicU64 = AtomicU64::new(u64::MAX);
    /// 2010-01-01 in seconds since the epoch.
    const REFERENCE: u64 = 1_262_304_000;
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let reference = REFERENCE * TICKS_PER_SECOND;
    let ticks = (since_epoch.as_nanos() / 100) as u64;
    let mirrored = (2 * reference).saturating_sub(ticks.max(reference)) + GREGORIAN;
    let before = |last: u64| Some(mirrored.min(last - 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, before).unwrap_or(u64::MAX);
    at(mirrored.min(last - 1))
}

/// 100-nanosecond steps from 1582-10-15 to 1970-01-01.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;
const TICKS_PER_SECOND: u64 = 10_000_000;

/// The uuid of a time in 100-nanosecond steps.
fn at(ticks: u64) -> [u8; 16] {
    let mut uuid = [0u8; 16];
    uuid[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    uuid[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    uuid[6..8].copy_from_slice(&((ticks >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes());
    uuid[8] = 0x80;
    uuid[10..14].copy_from_slice(&std::process::id().to_be_bytes());
    uuid[10] |= 1; // the multicast bit: no network card has this address
    uuid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_or_shrink_and_are_version_1() {
        let ticks = |id: [u8; 16]| [&id[6..8], &id[4..6], &id[..4]].concat();
        let ids: Vec<_> = (0..1000).map(|_| next()).collect();
        assert!(ids.windows(2).all(|pair| ticks(pair[0]) < ticks(pair[1])));
        let before: Vec<_> = (0..1000).map(|_| before_all()).collect();
        assert!(before.windows(2).all(|pair| ticks(pair[0]) > ticks(pair[1])));
        assert!(ticks(before[0]) < ticks(ids[0]));
        assert!(ids.iter().chain(&before).all(|id| id[6] >> 4 == 1 && id[8] >> 6 == 2));
    }
}
