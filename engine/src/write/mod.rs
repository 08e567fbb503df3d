//! The write path on one page.
//!
//! ```text
//! batch        rows, updates, deletions from Rust values to one encoded batch     batch, collection
//! admit        slow down when memtables fill faster than they flush               budget
//! commit       stamp, log, apply, publish; sync if asked                          commit
//! sync         SyncMode::Batch: one sync for all who wait                         group
//! seal         a full memtable is replaced and queued                             commit, queue
//! flush        sealed memtable to SSTable to manifest; then the log may go        db::flush
//! replay       when opening: the log's records into memtables, shares of the ring side by side
//! ```
//!
//! All writes go through [`commit::Committer::commit`]: single inserts, batches, the appender, CQL. Nothing here reads;
//! the store's tables and what a view is live in [`tables`]; [`health`] stops all writing after a failed sync.

pub mod health;
pub mod tables;
pub mod times;
pub mod collection;
mod statement;
pub mod batch;
pub mod budget;
pub mod queue;
pub mod group;
pub mod commit;
pub mod replay;
