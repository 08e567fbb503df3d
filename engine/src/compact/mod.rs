//! Compaction on one page: files become fewer, expired data goes, tombstones go once nothing needs them.
//!
//! ```text
//! the table's `compaction` option          settings
//! cards of files, the clock  -> tasks      input, task; strategy: tiered (by size) or window (by write time)
//!   expired files, dropped unread          expired
//! a task                     -> files      job: merge, purge, write; or block by block, unread
//!   what may be left out                   purge
//!   one file per window                    split (flushes of tables with windows use it too)
//!   how fast                               pace
//! how far it is; what was done, and why    progress, history
//! ```
//!
//! The background worker asks a strategy for tasks after each flush and on a timer, runs them, and installs the result in
//! manifest and view: inputs leave and outputs enter in one step. Strategies read no file and jobs choose none.
//!
//! # Not here
//! LeveledCompactionStrategy and UnifiedCompactionStrategy: [`settings`] checks their options (`nearest`), and tables that ask for them are
//! compacted by size.

mod nearest;
pub mod settings;
pub mod expired;
pub mod purge;
pub mod task;
pub mod history;
pub mod input;
pub mod strategy;
mod tiered;
mod window;
pub mod split;
mod segments;
pub mod progress;
mod stream;
mod interleave;
mod output;
pub mod pace;
pub mod outside;
pub mod job;
#[cfg(test)]
pub(crate) mod testing;
