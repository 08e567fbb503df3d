#![doc = include_str!("FORMAT.md")]
//!
//! # Where this stands
//! The commit log and the manifest write their payloads through a [`Framer`] and read them back with a
//! [`RecordReader`]; both bring a header of their own in front of the first record, from which the salt comes.
//! [`dump`] explains the bytes. Files are opened and synced by those callers, never here: this module sees
//! only bytes.
//!
//! # Invariants
//! 1. A payload that a reader yields is byte for byte one that was framed with the same salt (but for a collision
//!    of the checksum, one in 2^32 for arbitrary bytes).
//! 2. Reading any bytes ends, without a panic, in one of the three ways of [`End`].
//!
//! # Not here
//! No compression and no splitting over blocks of a fixed size, as LevelDB's log has it: its blocks give a place
//! to go on reading behind damage, which here is found by trying every byte ([`End::Corrupt`]), and cost a copy of each record.

mod dump;
mod frame;
mod reader;
mod scan;

pub use dump::dump;
pub use frame::{Framer, HEADER_BYTES, MAX_PAYLOAD_BYTES, OpenRecord};
pub use reader::{End, Record, RecordReader, Tail};

#[cfg(test)]
mod tests;
