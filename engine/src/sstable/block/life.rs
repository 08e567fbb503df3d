//! Write times, expiries and deletions as lanes keep them: as small distances from what they usually are.
//!
//! An expiry second is usually the write time's second plus the TTL, a deletion's second that of its timestamp; what is
//! stored is the difference. All arithmetic wraps, so every i64 comes back.

use crate::error::{Error, Result};
use crate::model::life::{Deletion, Liveness, NEVER};

/// The second in which a microsecond lies.
#[inline]
fn second_of(timestamp: i64) -> i64 {
    timestamp.div_euclid(1_000_000)
}

/// What the EXPIRY lane keeps of a life. Without TTL there is no expiry, whatever `local` says.
#[inline]
pub(crate) fn expiry_residual(timestamp: i64, ttl: i32, local: i64) -> i64 {
    if ttl == 0 { 0 } else { local.wrapping_sub(ttl.into()).wrapping_sub(second_of(timestamp)) }
}

/// The life of which [`expiry_residual`] was kept.
#[inline]
pub(crate) fn life_of(timestamp: i64, ttl: i32, residual: i64) -> Liveness {
    let expiry =
        if ttl == 0 { NEVER } else { residual.wrapping_add(ttl.into()).wrapping_add(second_of(timestamp)) };
    Liveness { timestamp, ttl, expiry }
}

/// What a deletion's second lane keeps.
#[inline]
pub(crate) fn second_residual(timestamp: i64, local: i64) -> i64 {
    local.wrapping_sub(second_of(timestamp))
}

/// The second of which [`second_residual`] was kept.
#[inline]
pub(crate) fn second_from(timestamp: i64, residual: i64) -> i64 {
    residual.wrapping_add(second_of(timestamp))
}

/// Deletions on their way into a block, each at a place (the number of a partition, row item or bound).
#[derive(Clone, Debug, Default)]
pub(crate) struct DeletionsBuilder {
    /// Place + 1, so that the lane is never all zeros and left out.
    pub(crate) places: Vec<i64>,
    pub(crate) timestamps: Vec<i64>,
    pub(crate) seconds: Vec<i64>,
}

impl DeletionsBuilder {
    pub(crate) fn push(&mut self, place: usize, deletion: Deletion) {
        self.places.push(place as i64 + 1);
        self.timestamps.push(deletion.timestamp);
        self.seconds.push(second_residual(deletion.timestamp, deletion.local));
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.timestamps.clear();
        self.seconds.clear();
    }
}

/// Deletions read from a block, by ascending place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletions {
    places: Vec<u32>,
    deletions: Vec<Deletion>,
}

impl Deletions {
    /// From three lanes of equal length.
    ///
    /// # Errors
    /// `Corrupt` if places do not ascend or one is not below `limit`.
    pub(crate) fn new(places: &[i64], timestamps: &[i64], seconds: &[i64], limit: usize) -> Result<Self> {
        let ascending = places.windows(2).all(|pair| pair[0] < pair[1]);
        let within = places.first().is_none_or(|&first| first >= 1)
            && places.last().is_none_or(|&last| u64::try_from(last).is_ok_and(|last| last <= limit as u64));
        if !ascending || !within {
            return Err(Error::malformed("places of deletions are out of order or out of range"));
        }
        let deletion = |(&timestamp, &second)| Deletion::new(timestamp, second_from(timestamp, second));
        Ok(Self {
            places: places.iter().map(|&place| (place - 1) as u32).collect(),
            deletions: timestamps.iter().zip(seconds).map(deletion).collect(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<Deletion> {
        if self.places.is_empty() {
            return None;
        }
        self.places.binary_search(&(place as u32)).ok().map(|i| self.deletions[i])
    }

    /// Those at places in `range`.
    pub(crate) fn within(
        &self,
        range: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (usize, Deletion)> + '_ {
        let start = self.places.partition_point(|&place| (place as usize) < range.start);
        let end = self.places.partition_point(|&place| (place as usize) < range.end);
        (start..end).map(|i| (self.places[i] as usize, self.deletions[i]))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        20 * self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_and_seconds_come_back_from_residuals_at_the_extremes_too() {
        for (timestamp, ttl, local) in [
            (1_700_000_000_999_999, 60, 1_700_000_060),
            (-1, 60, 59),
            (i64::MIN, i32::MAX, i64::MAX),
            (i64::MAX, 1, i64::MIN),
            (5, 0, NEVER),
        ] {
            let residual = expiry_residual(timestamp, ttl, local);
            assert_eq!(life_of(timestamp, ttl, residual), Liveness { timestamp, ttl, expiry: local });
            assert_eq!(second_from(timestamp, second_residual(timestamp, local)), local);
        }
        assert_eq!(expiry_residual(1_700_000_000_999_999, 60, 1_700_000_060), 0, "the usual case");
        assert_eq!(expiry_residual(-1, 60, 59), 0, "before the epoch seconds round down");
    }

    #[test]
    fn places_must_ascend_below_the_limit() {
        assert!(Deletions::new(&[1, 4], &[0, 0], &[0, 0], 4).is_ok());
        for places in [[0, 1], [4, 4], [4, 5], [2, 1], [1, i64::MAX], [i64::MIN, 1]] {
            assert!(Deletions::new(&places, &[0, 0], &[0, 0], 4).is_err(), "{places:?}");
        }
    }
}
