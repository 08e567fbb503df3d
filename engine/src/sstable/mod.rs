//! SSTables: immutable sorted files.
//!
//! ```text
//! SsTableWriter   fragments in, blocks, index, filter, statistics     writer, copy
//!   FileMeta      what the manifest keeps of the file                 meta, drop_times
//! SsTable         opened lazily                                       reader
//!   may_contain   one cache line of the filter                        filter
//!   partition     the index: directory, page, entry                   index, index_page, blocks
//!     cursor      items of blocks, in either direction                partition, cursor
//!   block_of_row  one row, by the index and the clustering lanes      point
//!   scan          everything, in order                                scan
//! BlockCache      decoded blocks and index pages                      cache
//! ```
//! Data blocks are in [`block`], what they need to know of a table in [`layout`]. The fixed parts of a file are in [`footer`],
//! its schema and statistics in `file_schema` and [`statistics`]; [`verify`] reads a whole file again, [`dump`] explains its
//! bytes. The bytes are in `FORMAT.md` in this directory.
//!
//! # Not here
//! Nothing here reconciles or purges: what several files say of one row is for merges to decide.

pub mod layout;
pub mod block;
pub mod drop_times;
pub mod meta;
pub mod filter;
pub mod index;
mod index_page;
pub mod statistics;
mod file_schema;
pub mod footer;
pub(crate) mod progress;
pub mod writer;
pub mod copy;
pub mod cache;
pub mod reader;
pub mod blocks;
pub mod partition;
pub mod cursor;
pub mod point;
pub mod scan;
pub mod verify;
pub mod dump;

#[cfg(test)]
mod tests;
