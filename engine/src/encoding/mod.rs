//! Encodings: how numbers, floats and byte strings become bytes, for every format of the engine.
//!
//! In reading order: [`varint`] and [`bytes`] for single fields, [`checksum`] for everything on disk, [`compress`] for runs
//! of bytes, then the lanes in which a block keeps its columns: [`int_lane`], on which [`float_lane`] and [`bytes_lane`] are
//! built; and [`order`], which makes key values comparable as bytes. The bytes of all of them are specified in `FORMAT.md` in this directory.
//!
//! # Invariants
//! Decoders take any bytes: they return values or an error of kind `Corrupt`, and never allocate on the word of a count
//! that was not held against the bytes at hand or a fixed limit.

pub mod varint;
pub mod bytes;
pub mod checksum;
pub mod compress;
pub mod int_lane;
pub mod float_lane;
pub mod bytes_lane;
pub mod order;
pub mod row;
pub mod row_times;
pub mod plain;
pub mod plain_run;
mod shared_key;
pub mod mutation;
pub mod mutation_encoder;
pub mod mutation_dump;
pub mod key;
pub mod path;
pub mod bind;
pub mod range;
pub mod schema;
