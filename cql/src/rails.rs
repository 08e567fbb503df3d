//! Guard rails: what a read or a batch may amount to before it gets a warning and before it is refused, and how often that has happened.
//!
//! The numbers are Cassandra's defaults. `select` and `modify` count here, `system_views.guard_rails` shows it. Counts are of one open store,
//! since it was opened.

use skep_engine::{Db, TombstoneLimits};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A batch over several partitions of more bytes gets a warning.
pub const BATCH_WARN_BYTES: usize = 5 << 10;

/// A batch over several partitions of more bytes is refused.
pub const BATCH_FAIL_BYTES: usize = 50 << 10;

/// An unlogged batch over more partitions gets a warning.
pub const BATCH_WARN_PARTITIONS: usize = 10;

/// A guard rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rail {
    /// Tombstones that a read meets.
    Tombstones,
    /// Bytes of a batch over several partitions.
    BatchSize,
    /// Partitions of an unlogged batch.
    BatchPartitions,
}

impl Rail {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tombstones, Self::BatchSize, Self::BatchPartitions];

    /// The name of the setting that it is in Cassandra, without the words about the threshold.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tombstones => "tombstone",
            Self::BatchSize => "batch_size",
            Self::BatchPartitions => "unlogged_batch_across_partitions",
        }
    }

    /// What it counts.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Tombstones => "tombstones of a read",
            Self::BatchSize => "bytes of a batch over several partitions",
            Self::BatchPartitions => "partitions of an unlogged batch",
        }
    }

    /// Above this there is a warning.
    #[must_use]
    pub fn warn_at(self) -> u64 {
        match self {
            Self::Tombstones => TombstoneLimits::default().warn,
            Self::BatchSize => BATCH_WARN_BYTES as u64,
            Self::BatchPartitions => BATCH_WARN_PARTITIONS as u64,
        }
    }

    /// Above this it is refused; None: never.
    #[must_use]
    pub fn refuse_at(self) -> Option<u64> {
        match self {
            Self::Tombstones => Some(TombstoneLimits::default().refuse),
            Self::BatchSize => Some(BATCH_FAIL_BYTES as u64),
            Self::BatchPartitions => None,
        }
    }
}

/// How often each was met.
#[derive(Debug, Default)]
pub struct Rails {
    warned: [AtomicU64; Rail::ALL.len()],
    refused: [AtomicU64; Rail::ALL.len()],
}

impl Rails {
    /// Those of a store.
    #[must_use]
    pub fn of(db: &Db) -> Arc<Self> {
        db.attachment(|_| Self::default())
    }

    /// Counts a warning.
    pub fn warn(&self, rail: Rail) {
        self.warned[rail as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a refusal.
    pub fn refuse(&self, rail: Rail) {
        self.refused[rail as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Warnings and refusals.
    #[must_use]
    pub fn counts(&self, rail: Rail) -> (u64, u64) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (get(&self.warned[rail as usize]), get(&self.refused[rail as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rail_is_counted_apart() {
        let rails = Rails::default();
        rails.warn(Rail::BatchSize);
        rails.warn(Rail::BatchSize);
        rails.refuse(Rail::Tombstones);
        let counts = Rail::ALL.map(|rail| rails.counts(rail));
        assert_eq!(counts, [(0, 1), (2, 0), (0, 0)]);
    }
}
