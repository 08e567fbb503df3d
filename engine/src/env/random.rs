//! A small random generator: for identifiers, salts and the simulated disk's choices; never for secrets.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): 8 bytes of state,
//! every seed is good, each state is visited once in 2^64 steps.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// A sequence of 64-bit numbers that a seed determines.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence that differs from process to process and call to call: seeded by the operating system, by way
    /// of the keys that the standard library draws for its hash maps.
    pub fn from_system() -> Self {
        Self(RandomState::new().hash_one(std::process::id()))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..bound`, and 0 for a bound of 0. Slightly uneven for bounds near 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        // The upper half of a 64 by 64 bit product fits 64 bits.
        (wide >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_splitmix64() {
        // Published first outputs for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn bounds_hold_and_system_seeds_differ() {
        let mut random = Random::new(1);
        assert!((0..1_000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
        assert_ne!(Random::from_system().next_u64(), Random::from_system().next_u64());
    }
}
