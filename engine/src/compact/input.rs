//! What a strategy may know of a table: its files, its settings, the clock, what was tried before.
//!
//! Made by the compactor for each look; strategies only read it.

use crate::compact::expired::{self, Unflushed};
use crate::compact::history::History;
use crate::compact::settings::{CompactionOptions, Strategy};
use crate::sstable::meta::{FileId, FileMeta};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a strategy may look at.
#[derive(Clone, Copy)]
pub struct StrategyInput<'a> {
    /// The live files of one table.
    pub files: &'a [Arc<FileMeta>],
    /// Files that take part in a running compaction, or are set aside as damaged.
    pub busy: &'a BTreeSet<FileId>,
    /// The table's settings.
    pub options: &'a CompactionOptions,
    /// The table's gc_grace_seconds.
    pub gc_grace_seconds: u32,
    /// What the memtables hold; `None` if they are empty.
    pub unflushed: Option<Unflushed>,
    /// Second of the clock.
    pub now_seconds: i64,
    /// Whether that second may be used to drop expired files, see [`expired::ClockGuard`].
    pub clock_believed: bool,
    /// What was tried before.
    pub history: &'a History,
}

impl StrategyInput<'_> {
    /// What expired or was deleted before this second may go.
    pub fn gc_before(&self) -> i64 {
        self.now_seconds.saturating_sub(i64::from(self.gc_grace_seconds))
    }

    /// Whether expired files may go although they hide something.
    fn ignores_overlaps(&self) -> bool {
        matches!(&self.options.strategy, Strategy::TimeWindow(options) if options.ignore_overlaps)
    }

    /// Expired files: those that may go, and what keeps the others. None may while the clock is not believed.
    pub fn expired(&self) -> expired::Expired {
        if !self.clock_believed {
            return expired::Expired::default();
        }
        let ignore = self.ignores_overlaps();
        let (busy, now) = (self.busy, self.now_seconds);
        expired::find(self.files, busy, self.unflushed, now, self.gc_grace_seconds, ignore)
    }
}
