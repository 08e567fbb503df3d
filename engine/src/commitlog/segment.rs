//! A segment file's header, and which segments there are.
//!
//! [`log`](crate::commitlog::log) writes the header in front of the first record; [`replay`](mod@crate::commitlog::replay) reads it and learns
//! from it how long the segment before must be. The layout is in `FORMAT.md`.

use crate::encoding::bytes::{ByteReader, put_u32, put_u64};
use crate::encoding::checksum::{put_checksum, strip_checksum};
use crate::env::{DataDir, Env, parse_segment};
use crate::error::{Error, ErrorKind, Result};
use crate::record::Framer;

/// The first bytes of every segment.
pub const MAGIC: [u8; 8] = *b"skep.log";
/// Version of the layout.
pub const VERSION: u32 = 1;
/// Bytes of a header; the first record stands behind it.
pub const HEADER_BYTES: usize = 40;

/// What a segment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its number.
    pub segment: u64,
    /// Number of the first segment that the same open store wrote. All before it were replayed, as they were, when
    /// the store was opened: a torn end of one of them is what a crash left.
    pub run: u64,
    /// Bytes of the segment numbered one less when this one was begun; 0 if it is not of the same run.
    pub previous_bytes: u64,
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        put_u32(&mut out, VERSION);
        put_u64(&mut out, self.segment);
        put_u64(&mut out, self.run);
        put_u64(&mut out, self.previous_bytes);
        put_checksum(&mut out, 0);
        out
    }

    /// The header at the start of a segment's `bytes`.
    ///
    /// # Errors
    /// `Corrupt` if none stands there, `Unsupported` if it is of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Some(header) = bytes.get(..HEADER_BYTES) else {
            return Err(Error::malformed(format!(
                "{} bytes are too few for a segment's header",
                bytes.len()
            )));
        };
        let mut reader = ByteReader::new(strip_checksum(header, "the segment's header")?);
        if reader.array::<8>()? != MAGIC {
            return Err(Error::malformed("this is no segment of a commit log"));
        }
        let version = reader.u32()?;
        if version != VERSION {
            let message = format!("segment of layout {version}, this build reads {VERSION}");
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint("open it with the skep that wrote it")
            );
        }
        Ok(Self { segment: reader.u64()?, run: reader.u64()?, previous_bytes: reader.u64()? })
    }
}

/// What the log notes down among the records of others: that segments were synced whole, and the directory with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The first of these segments: the first that the open store wrote.
    pub run: u64,
    /// The last of them.
    pub upto: u64,
}

impl Mark {
    /// The first byte of its payload, and of no other.
    pub const FIRST_BYTE: u8 = 0;

    /// The payload of its record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![Self::FIRST_BYTE];
        put_u64(&mut out, self.run);
        put_u64(&mut out, self.upto);
        out
    }

    /// The mark that a record's payload is, `None` if it is somebody's else.
    ///
    /// # Errors
    /// `Corrupt` if it begins like a mark and is none.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>> {
        let mut reader = ByteReader::new(payload);
        if reader.u8()? != Self::FIRST_BYTE {
            return Ok(None);
        }
        let mark = Self { run: reader.u64()?, upto: reader.u64()? };
        match reader.is_empty() {
            true => Ok(Some(mark)),
            false => Err(reader.error("bytes follow the log's mark")),
        }
    }
}

/// The framing of records in segment `segment`: its number is the salt, so that records of another segment
/// never pass for its own.
pub fn framer(segment: u64) -> Framer {
    Framer::new(u64::from_le_bytes(MAGIC) ^ segment)
}

/// Numbers of all segment files in the store, ascending. Foreign files are left alone; without a directory there are none.
///
/// # Errors
/// If the directory cannot be listed.
pub fn list_segments(env: &dyn Env, dir: &DataDir) -> Result<Vec<u64>> {
    let path = dir.commitlog();
    if !env.exists(&path)? {
        return Ok(Vec::new());
    }
    let entries = env.list_dir(&path)?;
    let files = entries.iter().filter(|entry| !entry.is_dir);
    let mut segments: Vec<u64> = files.filter_map(|entry| parse_segment(&entry.name)).collect();
    segments.sort_unstable();
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_no_damaged_one_does() {
        let header = Header { segment: 7, run: 5, previous_bytes: 4096 };
        let bytes = header.encode();
        assert_eq!(bytes.len(), HEADER_BYTES);
        assert_eq!(Header::decode(&bytes).unwrap(), header);
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0x10;
            assert_eq!(Header::decode(&bad).unwrap_err().kind(), ErrorKind::Corrupt);
            assert_eq!(Header::decode(&bytes[..i]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn a_mark_comes_back_and_is_told_from_payloads_of_others() {
        let mark = Mark { run: 3, upto: 1 << 40 };
        let mut bytes = mark.encode();
        assert_eq!(Mark::decode(&bytes).unwrap(), Some(mark));
        assert_eq!(Mark::decode(&[1, 2]).unwrap(), None);
        bytes.push(0);
        assert_eq!(Mark::decode(&bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(Mark::decode(&bytes[..16]).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn another_version_is_told_from_damage() {
        let mut bytes = Header { segment: 1, run: 1, previous_bytes: 0 }.encode();
        bytes.truncate(HEADER_BYTES - 4);
        bytes[8] = 2;
        put_checksum(&mut bytes, 0);
        assert_eq!(Header::decode(&bytes).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
