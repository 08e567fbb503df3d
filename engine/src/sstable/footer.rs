//! The fixed parts of a file: the header that it begins with, and the footer that is read first and says where all else is.
//!
//! Sections lie back to back, so that the footer needs only where each begins; there is no byte that belongs to none.
//!
//! # Format
//! "Header" and "Footer" in FORMAT.md.

use crate::encoding::bytes::{ByteReader, put_u16, put_u32, put_u64};
use crate::encoding::checksum::{put_checksum, strip_checksum};
use crate::error::{Error, ErrorKind, Result};

/// First bytes of an SSTable.
pub const MAGIC: [u8; 8] = *b"skep-sst";
/// Last bytes of an SSTable.
pub const END_MAGIC: [u8; 8] = *b"sst-skep";
/// Version of the format that is written.
pub const VERSION: u16 = 1;
/// Length of the header, bytes.
pub const HEADER_BYTES: usize = 20;
/// Length of the footer, bytes.
pub const FOOTER_BYTES: usize = 76;

/// The header of a file with this fingerprint of its schema (the CRC-32 of the schema section's body).
pub fn header(fingerprint: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES);
    out.extend_from_slice(&MAGIC);
    put_u16(&mut out, VERSION);
    put_u16(&mut out, 0);
    put_u32(&mut out, fingerprint);
    put_checksum(&mut out, 0);
    out
}

/// Where the sections of a file begin, in bytes from its start; each ends where the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// Index pages; blocks end here.
    pub index: u64,
    /// Directory of the index.
    pub directory: u64,
    /// Bloom filter; empty if the table has none.
    pub filter: u64,
    /// Statistics.
    pub statistics: u64,
    /// Schema.
    pub schema: u64,
    /// The footer itself.
    pub footer: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// CRC-32 of the schema section's body, as in the header.
    pub fingerprint: u32,
}

impl Sections {
    /// The footer's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FOOTER_BYTES);
        let offsets =
            [self.index, self.directory, self.filter, self.statistics, self.schema, self.footer, self.blocks];
        offsets.iter().for_each(|&offset| put_u64(&mut out, offset));
        put_u32(&mut out, self.fingerprint);
        put_u16(&mut out, VERSION);
        put_u16(&mut out, 0);
        put_checksum(&mut out, 0);
        out.extend_from_slice(&END_MAGIC);
        out
    }

    /// Reads header and footer of a whole file.
    ///
    /// # Errors
    /// `Unsupported` for a file of a newer version, `Corrupt` for anything else that is not as it was written, cut-off files
    /// included. The offset is that of the header or footer; the caller adds the file.
    pub fn read(file: &[u8]) -> Result<Self> {
        let at = |offset: usize| move |error: Error| error.at("", offset as u64);
        let Some(start) = file.len().checked_sub(FOOTER_BYTES).filter(|start| *start >= HEADER_BYTES) else {
            let text = format!("a file of {} bytes is too short to be an SSTable", file.len());
            return Err(Error::malformed(text).at("", file.len() as u64));
        };
        let fingerprint = read_header(&file[..HEADER_BYTES]).map_err(at(0))?;
        let sections = read_footer(&file[start..], start as u64).map_err(at(start))?;
        if sections.fingerprint != fingerprint {
            return Err(at(start)(Error::malformed("header and footer name different schemas")));
        }
        Ok(sections)
    }
}

fn read_header(bytes: &[u8]) -> Result<u32> {
    if bytes.get(..MAGIC.len()) != Some(&MAGIC) {
        return Err(Error::malformed("not an SSTable: the first bytes are not skep-sst"));
    }
    let mut reader = ByteReader::new(strip_checksum(bytes, "the header")?);
    reader.take(MAGIC.len())?;
    check_version(reader.u16()?)?;
    reader.u16()?;
    reader.u32()
}

fn read_footer(bytes: &[u8], start: u64) -> Result<Sections> {
    let Some(body) = bytes.strip_suffix(&END_MAGIC) else {
        return Err(Error::malformed("the footer does not end in sst-skep: the file is cut off or damaged"));
    };
    let mut reader = ByteReader::with_base(strip_checksum(body, "the footer")?, start);
    let mut offsets = [0; 7];
    for offset in &mut offsets {
        *offset = reader.u64()?;
    }
    let [index, directory, filter, statistics, schema, footer, blocks] = offsets;
    let fingerprint = reader.u32()?;
    check_version(reader.u16()?)?;
    if footer != start {
        return Err(Error::malformed(format!("the footer belongs at {footer} but stands at {start}")));
    }
    if (HEADER_BYTES as u64) > index || !offsets[..6].is_sorted() {
        return Err(Error::malformed("the sections are out of order"));
    }
    Ok(Sections { index, directory, filter, statistics, schema, footer, blocks, fingerprint })
}

fn check_version(version: u16) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    let text = format!("SSTable of format version {version}, this build reads up to {VERSION}");
    Err(Error::new(ErrorKind::Unsupported, text).hint("open it with the version of skep that wrote it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut file = header(7);
        file.extend_from_slice(&[1; 60]);
        let sections = Sections {
            index: 30,
            directory: 40,
            filter: 50,
            statistics: 50,
            schema: 70,
            footer: 80,
            blocks: 3,
            fingerprint: 7,
        };
        file.extend(sections.encode());
        file
    }

    #[test]
    fn sections_come_back_and_no_changed_or_missing_byte_is_accepted() {
        let good = file();
        assert_eq!(good.len(), HEADER_BYTES + 60 + FOOTER_BYTES);
        let sections = Sections::read(&good).unwrap();
        assert_eq!((sections.index, sections.footer, sections.blocks), (30, 80, 3));
        for i in (0..HEADER_BYTES).chain(good.len() - FOOTER_BYTES..good.len()) {
            let mut bad = good.clone();
            bad[i] ^= 0x20;
            assert!(Sections::read(&bad).unwrap_err().offset().is_some(), "byte {i}");
        }
        (0..good.len()).for_each(|end| assert!(Sections::read(&good[..end]).is_err()));
    }

    #[test]
    fn another_version_is_unsupported_and_not_corrupt() {
        let mut newer = header(7);
        newer[8] = 2;
        newer.truncate(HEADER_BYTES - 4);
        put_checksum(&mut newer, 0);
        newer.extend_from_slice(&file()[HEADER_BYTES..]);
        assert_eq!(Sections::read(&newer).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
