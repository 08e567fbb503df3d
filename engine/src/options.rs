//! Every setting of a store, its default, and why that default.
//!
//! A plain struct with public fields; [`Options::validate`] is called when a store is opened. Components (disk,
//! clock) are not settings: they go through the builder.

use crate::error::{Error, Result};
use std::time::Duration;

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// After the log record was handed to the operating system; a background sync follows within the period.
    /// Survives a killed process; a power cut loses at most the last period's writes, the newest first.
    Periodic(Duration),
    /// After the log record was synced to the disk. Concurrent writers share syncs.
    Batch,
    /// No log at all, for throwaway data: what was not flushed is lost with the process.
    Off,
}

/// What to do on opening when the middle of a commit-log segment is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayMode {
    /// Refuse to open, naming the segment and the offset.
    Strict,
    /// Keep every record whose checksum holds, and report what was skipped.
    Salvage,
}

/// Settings of one store.
#[derive(Clone, Debug)]
pub struct Options {
    /// When a write is acknowledged. Default: periodic, every second.
    pub sync: SyncMode,
    /// Size of a commit-log segment in bytes. Default 32 MiB, as in Cassandra.
    pub segment_bytes: u64,
    /// Total size of the commit log in bytes over which the oldest dirty table is flushed. Default 256 MiB: small
    /// enough that reopening after a crash takes well under a second.
    pub log_limit_bytes: u64,
    /// Memory of all memtables together, bytes. At half of it the largest one is flushed, towards the whole of it
    /// writers are slowed step by step. Default 64 MiB.
    pub memtable_bytes: usize,
    /// Age after which a memtable is flushed although it is small, by the machine's clock; `None` never. Default 1 hour.
    pub memtable_age: Option<Duration>,
    /// Memory of decoded blocks kept for reading, bytes. Default 128 MiB.
    pub cache_bytes: usize,
    /// Background compactions that may run at once. Default 2.
    pub compaction_threads: usize,
    /// Bytes a second that one compaction may write; `None` (default) is no limit.
    pub compaction_bytes_per_second: Option<u64>,
    /// How often expired files are looked for although nothing is written. Default 10 seconds.
    pub expiry_check: Duration,
    /// Largest forward step of the clock that is believed when it comes to dropping whole expired files: a clock that
    /// jumps further ahead of the newest write must be confirmed. Default 30 days.
    pub max_clock_jump: Duration,
    /// What a damaged log does to opening. Default strict.
    pub replay: ReplayMode,
    /// Create the directory when it does not exist. Default true.
    pub create: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: SyncMode::Periodic(Duration::from_secs(1)),
            segment_bytes: 32 << 20,
            log_limit_bytes: 256 << 20,
            memtable_bytes: 64 << 20,
            memtable_age: Some(Duration::from_secs(3600)),
            cache_bytes: 128 << 20,
            compaction_threads: 2,
            compaction_bytes_per_second: None,
            expiry_check: Duration::from_secs(10),
            max_clock_jump: Duration::from_secs(30 * 86_400),
            replay: ReplayMode::Strict,
            create: true,
        }
    }
}

impl Options {
    /// Checks every setting.
    ///
    /// # Errors
    /// `Invalid`, naming the setting and its limit.
    pub fn validate(&self) -> Result<()> {
        let at_least = |name: &str, value: u64, least: u64| match value >= least {
            true => Ok(()),
            false => Err(Error::invalid(format!("{name} is {value}; the least that works is {least}"))),
        };
        at_least("segment_bytes", self.segment_bytes, 4096)?;
        if self.segment_bytes > u64::from(u32::MAX) {
            return Err(Error::invalid(format!(
                "segment_bytes is {}; the limit is 4 GiB",
                self.segment_bytes
            )));
        }
        at_least("log_limit_bytes", self.log_limit_bytes, 2 * self.segment_bytes)?;
        at_least("memtable_bytes", self.memtable_bytes as u64, 16 << 10)?;
        at_least("compaction_threads", self.compaction_threads as u64, 1)?;
        if let SyncMode::Periodic(period) = self.sync
            && period.is_zero()
        {
            return Err(Error::invalid("the sync period is 0; use SyncMode::Batch to sync every write"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_limits_are_named() {
        assert!(Options::default().validate().is_ok());
        let error = Options { segment_bytes: 1, ..Options::default() }.validate().unwrap_err();
        assert!(error.message().contains("segment_bytes is 1"), "{error}");
        let endless = Options { segment_bytes: u64::MAX, ..Options::default() }.validate().unwrap_err();
        assert!(endless.message().contains("segment_bytes is 18446744073709551615"), "{endless}");
        let zero = Options { sync: SyncMode::Periodic(Duration::ZERO), ..Options::default() };
        assert!(zero.validate().is_err());
    }
}
