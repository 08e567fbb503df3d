//! Counts the distinct keys of an import, and notices a key that comes again.
//!
//! Rows of one batch share a write time, and of two cells with one write time the greater value wins, not the later line. So whoever
//! sees a repeated key commits what came before first: then the later line wins, as everybody expects of a file.
//!
//! # Not here
//! The keys themselves: 64-bit hashes stand for them (of ten million keys two collide with probability 3 in a million, and then a row
//! is counted as a repetition; it is written all the same). After [`CAPACITY`] keys the set begins anew, so that memory is bounded.

use skep::model::token::hash128;
use skep::{Arg, Result, TableSchema};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// The most keys that are remembered, some 300 MB.
const CAPACITY: usize = 1 << 24;

/// Takes a hash for a hash.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The keys seen.
#[derive(Default)]
pub(super) struct Duplicates {
    seen: HashSet<u64, BuildHasherDefault<Identity>>,
    scratch: Vec<u8>,
    /// Rows whose key came before.
    pub(super) repeated: u64,
    /// The set was begun anew: repetitions further apart than [`CAPACITY`] keys were not counted.
    pub(super) partial: bool,
}

/// What [`Duplicates::see`] says of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    New,
    /// The key came before, or might have: what came before is to be committed.
    Again,
}

impl Duplicates {
    /// Takes in the key of a row; `args` are in declared order and have the whole key.
    pub(super) fn see(&mut self, schema: &TableSchema, args: &[Arg<'_>]) -> Result<Seen> {
        self.scratch.clear();
        for (column, place) in schema.placed_partition_key().chain(schema.placed_clustering()) {
            let start = self.scratch.len();
            self.scratch.extend_from_slice(&[0; 4]);
            if let Some(arg) = args.get(place).filter(|arg| !arg.is_unset()) {
                arg.put_wire(&column.ty, &mut self.scratch)?;
            }
            let len = (self.scratch.len() - start) as u32;
            self.scratch[start..start + 4].copy_from_slice(&len.to_le_bytes());
        }
        if self.seen.len() == CAPACITY {
            self.seen.clear();
            self.partial = true;
            self.seen.insert(hash128(&self.scratch).0);
            return Ok(Seen::Again);
        }
        if self.seen.insert(hash128(&self.scratch).0) {
            return Ok(Seen::New);
        }
        self.repeated += 1;
        Ok(Seen::Again)
    }
}
