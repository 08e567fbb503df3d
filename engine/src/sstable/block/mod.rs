//! The data block: up to 1024 rows and range bounds of one or more partitions, column by column.
//!
//! ```text
//! BlockBuilder   rows and bounds in, lanes in memory      builder, append, plain
//!   finish       lanes encoded, directory, checksum       writer
//!                what the index keeps of it               summary
//! DecodedBlock   checksum, directory; lanes on demand     decoded, directory
//!                one row out of them                      rows
//!                the row at or after a place              seek
//! ```
//! Both sides use [`values`] (values of one column), [`place`] (clustering values), [`column`](mod@column) (cells of one column) and
//! [`life`] (timestamps and deletions). A block is self-contained: nothing in it refers to the file, so that compaction can copy it unread.
//! The bytes are in `FORMAT.md` of the parent directory.

pub mod values;
pub mod place;
pub mod life;
pub mod column;
mod column_builder;
pub mod summary;
mod writer;
pub mod builder;
pub mod append;
pub mod plain;
mod directory;
mod slots;
pub mod shape;
pub mod decoded;
pub mod rows;
mod guess;
pub mod seek;

#[cfg(test)]
mod tests;
