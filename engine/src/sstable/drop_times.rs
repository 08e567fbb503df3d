//! When a file's tombstones and expiring cells may go: an estimate in at most 100 bins.
//!
//! Strategies ask it how much of a file a compaction would drop at a given second. It is built by the writer from the
//! blocks' zone maps, kept in [`FileMeta`](crate::sstable::meta::FileMeta), and as coarse as it may be: when it is full, the two bins that are
//! nearest to each other become one at their weighted middle (as in Cassandra's streaming histogram).
//!
//! # Invariants
//! 1. At most [`MAX_BINS`] bins, seconds strictly ascending, no count 0.
//! 2. The sum of all counts is the number of things added (saturating).

use crate::encoding::bytes::ByteReader;
use crate::encoding::varint::{put_signed, put_varint};
use crate::error::Result;

/// The most bins.
pub const MAX_BINS: usize = 100;

/// Over how many points [`DropTimes::add_spread`] spreads a block's count.
const SPREAD: u64 = 4;

/// Number of things that become droppable, by second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropTimes {
    bins: Vec<(i64, u64)>,
}

impl DropTimes {
    /// Adds `count` things whose deletion or expiry is at `second`.
    pub fn add(&mut self, second: i64, count: u64) {
        if count == 0 {
            return;
        }
        match self.bins.binary_search_by_key(&second, |bin| bin.0) {
            Ok(i) => self.bins[i].1 = self.bins[i].1.saturating_add(count),
            Err(i) => {
                self.bins.insert(i, (second, count));
                if self.bins.len() > MAX_BINS {
                    self.join_nearest();
                }
            }
        }
    }

    /// Adds `count` things whose seconds lie from `first` to `last`, as if evenly.
    pub fn add_spread(&mut self, first: i64, last: i64, count: u64) {
        let points = SPREAD.min(count).min(last.saturating_sub(first).max(0) as u64 + 1);
        for i in 0..points {
            // The shares add up to `count`; the points stand in the middles of equal parts.
            let up_to = |i: u64| (u128::from(count) * u128::from(i) / u128::from(points)) as u64;
            let share = up_to(i + 1) - up_to(i);
            let part = i128::from(last) - i128::from(first);
            let offset = part * i128::from(2 * i + 1) / i128::from(2 * points);
            self.add(first.saturating_add(offset as i64), share);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.bins.iter().for_each(|&(second, count)| self.add(second, count));
    }

    /// About how many of the things have their second before `second`. Between two bins half of either's count is taken to
    /// lie between them, evenly.
    pub fn before(&self, second: i64) -> f64 {
        let i = self.bins.partition_point(|bin| bin.0 < second);
        let below: f64 = self.bins[..i].iter().map(|bin| bin.1 as f64).sum();
        if i == 0 || i == self.bins.len() {
            return below;
        }
        let (low, high) = (self.bins[i - 1], self.bins[i]);
        let share = (second as f64 - low.0 as f64) / (high.0 as f64 - low.0 as f64).max(1.0);
        below - low.1 as f64 / 2.0 + share.clamp(0.0, 1.0) * (low.1 as f64 + high.1 as f64) / 2.0
    }

    /// All things added.
    pub fn total(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.1))
    }

    /// The bins: second and count, ascending.
    pub fn bins(&self) -> &[(i64, u64)] {
        &self.bins
    }

    fn join_nearest(&mut self) {
        let gap = |i: usize| self.bins[i + 1].0.saturating_sub(self.bins[i].0);
        let i = (0..self.bins.len() - 1).min_by_key(|&i| gap(i)).unwrap_or(0);
        let (low, high) = (self.bins[i], self.bins.remove(i + 1));
        let count = low.1.saturating_add(high.1);
        let shift = i128::from(gap_of(low.0, high.0)) * i128::from(high.1) / i128::from(count.max(1));
        self.bins[i] = (low.0.saturating_add(shift as i64), count);
    }

    /// Appends the bins: their number, then per bin the distance from the one before and the count.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.bins.len() as u64);
        let mut previous = 0i64;
        for &(second, count) in &self.bins {
            put_signed(out, second.wrapping_sub(previous));
            put_varint(out, count);
            previous = second;
        }
    }

    /// Reads what [`DropTimes::encode`] wrote.
    ///
    /// # Errors
    /// `Corrupt` if invariant 1 does not hold.
    pub fn decode(reader: &mut ByteReader<'_>) -> Result<Self> {
        let count = reader.count(2, "bins")?;
        if count > MAX_BINS {
            return Err(reader.error(&format!("{count} bins of drop times, at most {MAX_BINS} are possible")));
        }
        let mut bins: Vec<(i64, u64)> = Vec::with_capacity(count);
        let mut previous = 0i64;
        for _ in 0..count {
            let second = previous.wrapping_add(reader.signed()?);
            let things = reader.varint()?;
            if things == 0 || bins.last().is_some_and(|bin| bin.0 >= second) {
                return Err(reader.error("bins of drop times are out of order or empty"));
            }
            bins.push((second, things));
            previous = second;
        }
        Ok(Self { bins })
    }
}

/// The distance between two seconds, as far as an `i64` reaches.
fn gap_of(low: i64, high: i64) -> i64 {
    high.saturating_sub(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_estimate_grows_from_none_to_all() {
        let mut times = DropTimes::default();
        times.add_spread(1000, 2000, 100);
        assert_eq!(times.before(1000), 0.0);
        assert_eq!(times.before(2001), 100.0);
        let middle = times.before(1500);
        assert!((40.0..=60.0).contains(&middle), "{middle}");
        times.add_spread(5, 5, 3);
        assert_eq!(times.bins()[0], (5, 3));
        times.add(7, 0);
        assert_eq!(times.total(), 103);
    }

    proptest! {
        #[test]
        fn full_histograms_keep_the_sum_and_come_back(
            adds in proptest::collection::vec((any::<i32>(), 1u64..1000), 0..400),
        ) {
            let mut times = DropTimes::default();
            adds.iter().for_each(|&(second, count)| times.add(i64::from(second), count));
            prop_assert!(times.bins().len() <= MAX_BINS);
            prop_assert!(times.bins().windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert_eq!(times.total(), adds.iter().map(|add| add.1).sum::<u64>());
            let mut bytes = Vec::new();
            times.encode(&mut bytes);
            let mut reader = ByteReader::new(&bytes);
            prop_assert_eq!(DropTimes::decode(&mut reader).unwrap(), times);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn extreme_seconds_and_counts_do_not_overflow(
            adds in proptest::collection::vec((any::<i64>(), any::<u64>()), 0..300),
            ask in any::<i64>(),
        ) {
            let mut times = DropTimes::default();
            for &(second, count) in &adds {
                times.add(second, count);
            }
            times.add_spread(ask, i64::MAX, 7);
            prop_assert!(times.bins().windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(times.before(ask) >= 0.0);
        }

        #[test]
        fn damaged_bins_are_an_error_or_bins_in_order(bytes: Vec<u8>) {
            if let Ok(times) = DropTimes::decode(&mut ByteReader::new(&bytes)) {
                prop_assert!(times.bins().windows(2).all(|pair| pair[0].0 < pair[1].0));
            }
        }
    }
}
