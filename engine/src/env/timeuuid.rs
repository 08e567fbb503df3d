//! Time-ordered ids (version 1 uuids), for the elements of lists and for whoever needs a unique clustering.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A version 1 uuid, later than every one this process made before. The node part is a hash of process and start.
pub fn next() -> [u8; 16] {
    static LAST: AtomicU64 = AtomicU64::new(0);
    /// 100-nanosecond steps from 1582-10-15 to 1970-01-01.
    const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = (since_epoch.as_nanos() / 100) as u64 + GREGORIAN;
    let next = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_default();
    let ticks = now.max(last + 1);
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
    fn ids_grow_and_are_version_1() {
        let ticks = |id: [u8; 16]| [&id[6..8], &id[4..6], &id[..4]].concat();
        let ids: Vec<_> = (0..1000).map(|_| next()).collect();
        assert!(ids.windows(2).all(|pair| ticks(pair[0]) < ticks(pair[1])));
        assert!(ids.iter().all(|id| id[6] >> 4 == 1 && id[8] >> 6 == 2));
    }
}
