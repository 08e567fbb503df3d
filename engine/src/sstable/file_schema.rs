//! The schema section: what a file needs to be read, dumped or salvaged without the store it came from.
//!
//! It holds the block layout (which decides how blocks are read) and the table's definition at the time of writing (which
//! gives names to dumps and to a rebuilt store).
//!
//! # Format
//! "Schema section" in FORMAT.md.

use crate::encoding::bytes::ByteReader;
use crate::encoding::checksum::{crc32, put_checksum, strip_checksum};
use crate::encoding::schema::{put_schema, read_schema};
use crate::error::{Error, Result};
use crate::model::schema::TableSchema;
use crate::sstable::layout::BlockSchema;

/// The section's bytes with their checksum, and the body's fingerprint for header and footer.
pub(crate) fn encode(layout: &BlockSchema, table: &TableSchema) -> (Vec<u8>, u32) {
    let mut out = Vec::new();
    layout.encode(&mut out);
    put_schema(&mut out, table);
    let fingerprint = crc32(&out);
    put_checksum(&mut out, 0);
    (out, fingerprint)
}

/// The layout of the blocks.
///
/// # Errors
/// `Corrupt` if the section is damaged or not the one that `fingerprint` is of; so for [`table`].
pub(crate) fn layout(section: &[u8], offset: u64, fingerprint: u32) -> Result<BlockSchema> {
    let body = strip_checksum(section, "the schema section")?;
    if crc32(body) != fingerprint {
        return Err(Error::malformed("the schema section is not the one that the header names"));
    }
    BlockSchema::decode(&mut ByteReader::with_base(body, offset))
}

/// The table as it was defined when the file was written.
pub(crate) fn table(section: &[u8], offset: u64) -> Result<TableSchema> {
    let mut reader = ByteReader::with_base(strip_checksum(section, "the schema section")?, offset);
    BlockSchema::decode(&mut reader)?;
    let table = read_schema(&mut reader)?;
    reader.expect_end()?;
    Ok(table)
}
