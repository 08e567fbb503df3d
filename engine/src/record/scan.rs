//! Looks for the next valid record behind bytes that are none.
//!
//! The answer decides between a torn tail, which is cut off in silence, and damage, which is reported: it must not
//! miss a record. Hence every byte is tried as the start of one. Most fail at once, as their length cannot be;
//! for the others the checksum is needed of a range that may be as long as the file. Those ranges overlap, so
//! that checking each by itself would take time with the square of the length. Instead the checksums of all
//! prefixes are had (stored at every 1024 bytes), and a range's follows from those of its two ends:
//!
//! ```text
//! crc(a ++ b)        = shift(crc(a), len b) ^ crc(b)           shift: as if as many zeros followed
//! crc(salt ++ range) = shift(crc(salt), len) ^ crc(range)
//!                    = shift(crc(salt) ^ crc(..start), len) ^ crc(..end)
//! ```
//!
//! # Invariants
//! The work is bounded by [`MAX_CHECKS`], each about a microsecond.

use crc32fast::Hasher;

use super::frame::{COVERED, Framer};

/// Checksums compared before the search is given up. 32 MiB of random bytes need about 260,000.
pub(super) const MAX_CHECKS: usize = 1 << 23;

/// Distance of stored prefix checksums in bytes; also the longest frame that is checked directly.
const STEP: usize = 1024;

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A valid record at this index.
    At(usize),
    /// No valid record anywhere.
    Nothing,
    /// No valid record as far as the search went.
    GaveUp,
}

/// The first valid record in `bytes` behind index 0, looking at no more than `max_checks` checksums.
pub(super) fn next_record(framer: &Framer, bytes: &[u8], max_checks: usize) -> Found {
    let mut prefixes: Option<Prefixes<'_>> = None;
    let mut checks = 0;
    for start in 1..bytes.len() {
        let Some(rest) = bytes.get(start..) else { break };
        let Some(header) = framer.header(rest).filter(|header| header.end <= rest.len()) else { continue };
        if checks == max_checks {
            return Found::GaveUp;
        }
        checks += 1;
        let valid = if header.end <= STEP {
            framer.read(rest).is_some()
        } else {
            let prefixes = prefixes.get_or_insert_with(|| Prefixes::new(bytes));
            let (from, to) = (start + COVERED, start + header.end);
            let before = framer.salt_crc() ^ prefixes.crc(from);
            shift(before, to - from) ^ prefixes.crc(to) == header.checksum
        };
        if valid {
            return Found::At(start);
        }
    }
    Found::Nothing
}

/// The checksums of all prefixes of some bytes.
struct Prefixes<'a> {
    bytes: &'a [u8],
    /// That of the first `i * STEP` bytes at `i`.
    stored: Vec<u32>,
}

impl<'a> Prefixes<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut hasher = Hasher::new();
        let mut stored = Vec::with_capacity(bytes.len() / STEP + 1);
        stored.push(0);
        for piece in bytes.chunks_exact(STEP) {
            hasher.update(piece);
            stored.push(hasher.clone().finalize());
        }
        Self { bytes, stored }
    }

    /// The checksum of the first `len` bytes, at most all.
    fn crc(&self, len: usize) -> u32 {
        let place = len / STEP;
        let known = self.stored.get(place).copied().unwrap_or_default();
        let mut hasher = Hasher::new_with_initial(known);
        hasher.update(self.bytes.get(place * STEP..len).unwrap_or_default());
        hasher.finalize()
    }
}

/// The part that a checksum `crc` has in the one of a range with `len` more bytes.
fn shift(crc: u32, len: usize) -> u32 {
    let mut hasher = Hasher::new_with_initial(crc);
    hasher.combine(&Hasher::new_with_initial_len(0, len as u64));
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Random;

    fn noise(len: usize, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        (0..len).map(|_| random.next_u64().to_le_bytes()[0]).collect()
    }

    #[test]
    fn short_and_long_records_are_found_at_every_distance() {
        let framer = Framer::new(9);
        for len in [1, 100, STEP - 8, STEP - 7, STEP, 5_000, 70_000] {
            for distance in [1, 7, STEP, 3 * STEP + 5] {
                let mut bytes = noise(distance, 3);
                framer.append(&mut bytes, &noise(len, len as u64)).unwrap();
                bytes.extend(noise(333, 4));
                let found = next_record(&framer, &bytes, MAX_CHECKS);
                assert_eq!(found, Found::At(distance), "length {len}, distance {distance}");
                let other = Framer::new(10);
                assert_eq!(next_record(&other, &bytes, MAX_CHECKS), Found::Nothing);
            }
        }
    }

    #[test]
    fn much_noise_is_searched_to_the_end() {
        assert_eq!(next_record(&Framer::new(1), &noise(1 << 20, 5), MAX_CHECKS), Found::Nothing);
    }

    #[test]
    fn the_search_is_bounded() {
        // Each byte is the start of a frame of 0x0101 bytes by its header.
        let bytes = [1, 1, 0, 0].repeat(2_000);
        let framer = Framer::new(1);
        assert_eq!(next_record(&framer, &bytes, 100), Found::GaveUp);
        assert_eq!(next_record(&framer, &bytes, MAX_CHECKS), Found::Nothing);
    }
}
