//! The manifest: which keyspaces, types, tables and files there are.
//!
//! ```text
//! apply([AddFile, RemoveFile, Flushed ...])  ->  one record, synced  ->  a new Version, swapped whole
//! ```
//!
//! [`edit`] is one change and its bytes, [`version`] is what all changes amount to, [`check`] names the rules that it keeps. [`log`]
//! appends and changes over to a fresh file, [`current`] is the pointer to the file that rules, [`load`] reads it, [`directory`] tells a store from
//! anything else, [`dump`] explains the bytes. The layout is in `FORMAT.md`.
//!
//! Files on disk that no version names are nobody's: the owner removes them when it opens the store.
//!
//! # Not here
//! Whether a user type is still in use, and what a schema change may change, is decided by those who make the edits.

pub mod edit;
pub mod version;
pub mod check;
pub mod current;
pub mod directory;
pub mod load;
pub mod log;
pub mod dump;

pub use edit::{Edit, Keyspace, NextIds};
pub use log::Manifest;
pub use version::{TableVersion, Version};
