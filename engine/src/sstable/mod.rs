//! SSTables: immutable sorted files.
//!
//! A flush or a compaction writes one through a writer; it appears whole, is described by a [`FileMeta`](meta::FileMeta), is
//! read by any number of threads, and goes whole. The bytes are in `FORMAT.md` in this directory.

pub mod drop_times;
pub mod meta;
pub mod filter;
pub mod layout;
pub mod block;
