//! The commit log: every write goes here first, so that a crash loses nothing that was acknowledged.
//!
//! ```text
//! write/commit     append_group -> one write call         sync -> one fsync for all who wait
//! write/flush      mark_flushed -> whole segments go      oldest_dirty -> which table to flush when the log is too long
//! db/open          replay_runs -> payloads in order          remove_replayed -> old segments go
//! ```
//!
//! [`segment`] is the header of a segment file, [`log`] appends, syncs and rotates, `dirty` knows which tables still need
//! which segment, [`replay`](mod@replay) reads everything back, [`dump`] explains the bytes. The layout is in `FORMAT.md`. Payloads are
//! opaque here; the caller names the tables that each one touches.
//!
//! # Durability
//! When a write is acknowledged is the owner's decision, by when it calls [`CommitLog::sync`]: with `SyncMode::Batch` before it
//! acknowledges, with `SyncMode::Periodic` on a timer. With `SyncMode::Off` it has no log at all (an `Option<CommitLog>` that is `None`).
//!
//! # Not here
//! Segments are neither preallocated nor recycled: an almost empty store takes almost no space, and a new file costs one
//! directory sync in 32 MiB, which no append waits for.

pub mod segment;
mod dirty;
pub mod log;
pub mod replay;
pub mod dump;

pub use log::{CommitLog, Entry, LogOptions};
pub use replay::{EachRun, Logged, ReplaySummary, Skipped, TornTail, remove_replayed, replay, replay_runs};
pub use segment::Mark;

#[cfg(test)]
mod tests;
