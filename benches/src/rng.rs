//! A small random generator (SplitMix64): seeded, fast, good enough for choosing keys.

/// The state is the seed.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        let wide = u128::from(self.bits()) * u128::from(n);
        u64::try_from(wide >> 64).expect("the upper half of a product of two u64")
    }

    /// Uniform in `-n..=n`.
    pub fn step(&mut self, n: i64) -> i64 {
        let width = u64::try_from(2 * n + 1).expect("the width of a step is positive");
        i64::try_from(self.below(width)).expect("below a width that is an i64") - n
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn numbers_stay_in_range_and_repeat_with_the_seed() {
        let draw = |seed| {
            let mut rng = Rng(seed);
            (0..1000).map(|_| (rng.below(7), rng.step(3))).collect::<Vec<_>>()
        };
        let drawn = draw(1);
        assert!(drawn.iter().all(|&(n, step)| n < 7 && (-3..=3).contains(&step)));
        for want in 0..7 {
            assert!(drawn.iter().any(|&(n, _)| n == want), "{want} never came");
        }
        assert_eq!(drawn, draw(1));
        assert_ne!(drawn, draw(2));
    }
}
