//! What is stored, as values in memory: table > partition > row > cell.
//!
//! ```text
//! table  readings                                        schema
//!   partition  ("hive-7", 2026-06-12)   token 4711       key, deletion of the whole partition
//!     static row                                         one value a partition
//!     row  14:03:00   marker, temperature 34.9, ...      clustering, liveness, cells
//!     row  14:04:00   ...
//!     range deletion  [14:10:00, 14:20:00)               as bounds between rows
//! ```
//!
//! No bytes of files and no I/O here: the rules (order, life, which version wins) can be read and tested alone.

pub mod bytes;
pub mod types;
pub mod type_codec;
pub mod type_text;
pub mod numeric;
pub mod calendar;
pub mod time;
pub mod duration;
pub mod uuid;
pub mod value;
pub(crate) mod wire;
pub mod validate;
pub mod compare;
pub mod codec;
pub mod text;
pub mod text_parse;
pub mod composite;
pub mod token;
pub mod key;
pub mod clustering;
pub mod life;
pub mod cell;
pub mod row;
pub mod fragment;
pub mod reconcile;
pub mod arg;
pub mod schema;
pub mod position;

#[cfg(test)]
pub(crate) mod arbitrary;
