//! The bloom filter over a file's partition keys: a lookup of an absent partition ends here, after one cache line.
//!
//! The filter is blocked: a key's bits all lie in one line of 64 bytes, chosen by the second half of the key's Murmur3 hash,
//! the first half of which is the token that every lookup computes anyway. The price, a little more space for the same
//! rate, is paid by sizing exactly: [`Shape::for_keys`] sums the rate over how unevenly keys fall on lines. The choice was
//! measured: docs/decisions/0002-bloom-filter.md.
//!
//! # Invariants
//! 1. A key that was added is always found: there are no false negatives.
//! 2. Lines start at multiples of 64 in the file, and a mapping starts at a page, so that a probe touches one cache line.
//!
//! # Format
//! "Filter" in FORMAT.md.

use crate::encoding::bytes::ByteReader;
use crate::encoding::checksum::{put_checksum, strip_checksum};
use crate::error::{Error, Result};

/// Bytes of a line.
pub const LINE_BYTES: usize = 64;

/// Bits of a line.
const LINE_BITS: u32 = 512;

/// The most bits that a key sets.
const MAX_PROBES: u32 = 20;

/// The most lines: 2^31 of them are 128 GiB.
const MAX_LINES: u64 = 1 << 31;

/// How large a filter is, and how many bits a key sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Lines of 64 bytes.
    pub lines: u64,
    /// Bits per key.
    pub probes: u32,
}

impl Shape {
    /// The smallest shape for `keys` keys and a rate of false positives of at most `fp_chance` (over 0, below 1). Chances below
    /// about 1e-6 get the shape for that.
    pub fn for_keys(keys: u64, fp_chance: f64) -> Self {
        let chance = fp_chance.clamp(1e-6, 0.999_999);
        let ideal = (-chance.log2()).round().clamp(1.0, f64::from(MAX_PROBES)) as u32;
        // In a blocked filter a bit fewer than the ideal number is sometimes better; try the neighbours.
        let candidates = ideal.saturating_sub(2).max(1)..=(ideal + 1).min(MAX_PROBES);
        let best = candidates.map(|probes| (load_for(probes, chance), probes));
        let (load, probes) = best.fold((0.0, 1), |best, next| if next.0 > best.0 { next } else { best });
        let lines = (keys as f64 / load).ceil().clamp(1.0, MAX_LINES as f64) as u64;
        Self { lines, probes }
    }

    /// The line of a key's hash.
    #[inline]
    fn line(self, hash: (u64, u64)) -> usize {
        // Multiply-shift: even over the lines for an even hash. The token's half would not be even in a file that holds a
        // part of the ring.
        ((u128::from(hash.1) * u128::from(self.lines)) >> 64) as usize
    }
}

/// The keys a line that keeps the false positives of `probes` bits under `chance`, by bisection.
fn load_for(probes: u32, chance: f64) -> f64 {
    let (mut low, mut high) = (0.01, f64::from(LINE_BITS));
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if rate(middle, probes) <= chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The rate of false positives with `load` keys a line on average: the mean over the Poisson distribution of keys.
fn rate(load: f64, probes: u32) -> f64 {
    let free = 1.0 - 1.0 / f64::from(LINE_BITS);
    let mut weight_log = -load;
    let mut sum = 0.0;
    let most = (load + 12.0 * load.sqrt() + 20.0) as u32;
    for keys in 0..=most {
        if keys > 0 {
            weight_log += load.ln() - f64::from(keys).ln();
        }
        let set = 1.0 - free.powi((keys * probes) as i32);
        sum += weight_log.exp() * set.powi(probes as i32);
    }
    sum
}

/// The positions of a key's bits in its line.
#[inline]
fn positions(hash: (u64, u64), probes: u32) -> impl Iterator<Item = usize> {
    // The line used the high bits of the second half; the low ones and the first half, stirred, are still free. Each
    // multiplication brings nine fresh bits to the top.
    let mut bits = hash.0 ^ hash.1.rotate_left(32);
    (0..probes).map(move |_| {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0xd1b5_4a32_d192_ed03);
        (bits >> 55) as usize
    })
}

/// Collects the hashes of keys; the size is known only at the end.
#[derive(Debug)]
pub struct FilterBuilder {
    fp_chance: f64,
    hashes: Vec<(u64, u64)>,
}

impl FilterBuilder {
    /// For a filter with this rate of false positives; 1 or more: none is written.
    pub fn new(fp_chance: f64) -> Self {
        Self { fp_chance, hashes: Vec::new() }
    }

    /// Adds a key by its [`hash128`](crate::model::token::hash128).
    #[inline]
    pub fn add(&mut self, hash: (u64, u64)) {
        if self.fp_chance < 1.0 {
            self.hashes.push(hash);
        }
    }

    /// Keys so far.
    pub fn keys(&self) -> usize {
        self.hashes.len()
    }

    /// The section's bytes for a section that starts at `offset` of the file; empty without a filter.
    pub fn finish(self, offset: u64) -> Vec<u8> {
        if self.hashes.is_empty() {
            return Vec::new();
        }
        let shape = Shape::for_keys(self.hashes.len() as u64, self.fp_chance);
        let head = lines_start(offset);
        let mut out = vec![0; head + shape.lines as usize * LINE_BYTES];
        out[0] = shape.probes as u8;
        for &hash in &self.hashes {
            let line = head + shape.line(hash) * LINE_BYTES;
            positions(hash, shape.probes).for_each(|bit| out[line + bit / 8] |= 1 << (bit % 8));
        }
        put_checksum(&mut out, 0);
        out
    }
}

/// Where the lines start in a section at `offset` of the file: at a multiple of 64 of the file, behind one byte at least.
fn lines_start(offset: u64) -> usize {
    LINE_BYTES - (offset % LINE_BYTES as u64) as usize
}

/// A filter section that was found right once; probes read the mapped bytes.
#[derive(Clone, Copy, Debug)]
pub struct FilterShape {
    shape: Shape,
    head: usize,
}

impl FilterShape {
    /// Checks the section's checksum and shape.
    ///
    /// # Errors
    /// `Corrupt`; the caller adds the file.
    pub fn check(section: &[u8], offset: u64) -> Result<Self> {
        let body = strip_checksum(section, "the bloom filter")?;
        let head = lines_start(offset);
        let mut reader = ByteReader::with_base(body, offset);
        let probes = u32::from(reader.u8()?);
        let lines = body.len().checked_sub(head).filter(|rest| *rest > 0 && rest % LINE_BYTES == 0);
        match lines {
            Some(bytes) if (1..=MAX_PROBES).contains(&probes) => {
                Ok(Self { shape: Shape { lines: (bytes / LINE_BYTES) as u64, probes }, head })
            }
            _ => Err(Error::malformed(format!(
                "the bloom filter has {} bytes and sets {probes} bits a key, which does not fit",
                body.len()
            ))),
        }
    }

    /// Whether a key with this hash may have been added. `section` is the one that was checked.
    #[inline]
    pub fn may_contain(&self, section: &[u8], hash: (u64, u64)) -> bool {
        let start = self.head + self.shape.line(hash) * LINE_BYTES;
        let Some(line) = section.get(start..).and_then(|rest| rest.first_chunk::<LINE_BYTES>()) else {
            return true;
        };
        positions(hash, self.shape.probes).all(|bit| line[bit / 8] & (1 << (bit % 8)) != 0)
    }

    /// Its size and bits per key.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::token::hash128;

    fn build(keys: u64, chance: f64, offset: u64) -> Vec<u8> {
        let mut builder = FilterBuilder::new(chance);
        (0..keys).for_each(|key| builder.add(hash128(&key.to_be_bytes())));
        builder.finish(offset)
    }

    #[test]
    fn no_key_is_lost_and_the_rate_is_the_wanted_one() {
        for (keys, chance) in
            [(1, 0.01), (1000, 0.01), (50_000, 0.01), (50_000, 0.1), (50_000, 0.001), (20_000, 0.5)]
        {
            let section = build(keys, chance, 12345);
            let filter = FilterShape::check(&section, 12345).unwrap();
            assert!((0..keys).all(|key| filter.may_contain(&section, hash128(&key.to_be_bytes()))));
            let asked = 200_000;
            let wrong = (keys..keys + asked)
                .filter(|key| filter.may_contain(&section, hash128(&key.to_be_bytes())))
                .count();
            let rate = wrong as f64 / asked as f64;
            assert!(rate < 1.5 * chance, "{keys} keys at {chance}: {rate}");
            assert!(
                keys < 10_000 || rate > chance / 1.5,
                "too large a filter for {keys} at {chance}: {rate}"
            );
        }
    }

    #[test]
    fn keys_of_a_narrow_range_of_tokens_spread_over_all_lines() {
        let mut builder = FilterBuilder::new(0.01);
        let narrow = |key: &u64| hash128(&key.to_be_bytes()).0 >> 58 == 5;
        let inside: Vec<_> = (0..640_000u64).filter(narrow).collect();
        inside.iter().for_each(|key| builder.add(hash128(&key.to_be_bytes())));
        let section = builder.finish(0);
        let filter = FilterShape::check(&section, 0).unwrap();
        let outside: Vec<_> = (640_000..6_400_000u64).filter(narrow).collect();
        let wrong =
            outside.iter().filter(|key| filter.may_contain(&section, hash128(&key.to_be_bytes()))).count();
        assert!((wrong as f64) < 0.015 * outside.len() as f64, "{wrong} of {}", outside.len());
    }

    #[test]
    fn damage_is_found_and_a_chance_of_one_writes_nothing() {
        assert!(build(10, 1.0, 0).is_empty());
        let good = build(10, 0.01, 70);
        assert_eq!((70 + lines_start(70)) % LINE_BYTES, 0);
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 4;
            assert!(FilterShape::check(&bad, 70).is_err());
            assert!(FilterShape::check(&good[..i], 70).is_err());
        }
    }
}
