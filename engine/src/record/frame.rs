//! One record's frame: written in place around a payload, and recognised.

use crate::error::{Error, Result};

/// Bytes of a frame in front of its payload: checksum and length.
pub const HEADER_BYTES: usize = 8;

/// The most that a payload may have where the caller sets no lower limit: 1 GiB.
pub const MAX_PAYLOAD_BYTES: u32 = 1 << 30;

/// Where the checksummed part of a frame begins: the length and the payload.
pub(super) const COVERED: usize = 4;

/// Frames and recognises the records of one file. A few bytes; copy it freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framer {
    /// The checksum of the salt, from which every record's checksum goes on.
    salt_crc: u32,
    max_payload: u32,
}

/// A record that has been begun in a buffer and not finished.
#[derive(Debug)]
#[must_use = "a record that is not finished is not valid"]
pub struct OpenRecord {
    /// Index of the frame's first byte in the buffer.
    start: usize,
}

impl Framer {
    /// The frames of the file with this `salt`, which should differ between any two files that may ever share a
    /// place on the disk or be copied into each other: a segment's number, or better a random number in the
    /// file's header.
    pub fn new(salt: u64) -> Self {
        Self { salt_crc: crc32fast::hash(&salt.to_le_bytes()), max_payload: MAX_PAYLOAD_BYTES }
    }

    /// Limits payloads to `bytes` (at least 1), for writing and for reading: a lower limit makes damage easier
    /// to tell from data.
    #[must_use]
    pub fn with_max_payload(mut self, bytes: u32) -> Self {
        self.max_payload = bytes.max(1);
        self
    }

    /// Begins a record at the end of `out`. The caller appends the payload to `out` and then calls
    /// [`Framer::finish`]; to give it up, truncate `out` instead.
    pub fn begin(&self, out: &mut Vec<u8>) -> OpenRecord {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        OpenRecord { start }
    }

    /// Finishes the record: everything in `out` since [`Framer::begin`] is its payload. Returns the length of the
    /// whole frame in bytes.
    ///
    /// # Errors
    /// `Invalid` if the payload is empty or over the limit; the record is then taken out of `out` again.
    pub fn finish(&self, out: &mut Vec<u8>, open: OpenRecord) -> Result<usize> {
        let payload = out.len().saturating_sub(open.start).saturating_sub(HEADER_BYTES);
        let len = u32::try_from(payload).ok().filter(|len| (1..=self.max_payload).contains(len));
        let frame = out.get_mut(open.start..).and_then(|frame| frame.split_first_chunk_mut::<COVERED>());
        let (Some(len), Some((checksum, covered))) = (len, frame) else {
            out.truncate(open.start);
            let message =
                format!("a record of {payload} bytes is not within 1 and {} bytes", self.max_payload);
            return Err(Error::invalid(message));
        };
        if let Some(field) = covered.first_chunk_mut() {
            *field = len.to_le_bytes();
        }
        *checksum = self.checksum(covered).to_le_bytes();
        Ok(HEADER_BYTES + payload)
    }

    /// Frames `payload` at the end of `out`; for callers that have it in one piece. Returns and fails as
    /// [`Framer::finish`].
    pub fn append(&self, out: &mut Vec<u8>, payload: &[u8]) -> Result<usize> {
        let open = self.begin(out);
        out.extend_from_slice(payload);
        self.finish(out, open)
    }

    /// The payload of the frame at the start of `bytes`, if a valid one stands there.
    pub(super) fn read<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let header = self.header(bytes)?;
        let covered = bytes.get(COVERED..header.end)?;
        (self.checksum(covered) == header.checksum).then(|| covered.get(HEADER_BYTES - COVERED..))?
    }

    /// The header at the start of `bytes`, if there is one with a length that a record can have.
    pub(super) fn header(&self, bytes: &[u8]) -> Option<Header> {
        let (checksum, rest) = bytes.split_first_chunk()?;
        let len = u32::from_le_bytes(*rest.first_chunk()?);
        if !(1..=self.max_payload).contains(&len) {
            return None;
        }
        let end = usize::try_from(len).ok()?.checked_add(HEADER_BYTES)?;
        Some(Header { checksum: u32::from_le_bytes(*checksum), end })
    }

    /// What the checksum of a frame must be whose length and payload are `covered`.
    fn checksum(&self, covered: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.salt_crc);
        hasher.update(covered);
        hasher.finalize()
    }

    /// The checksum of the salt, for [`super::scan`].
    pub(super) fn salt_crc(&self) -> u32 {
        self.salt_crc
    }
}

/// A frame's header as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) checksum: u32,
    /// Length of the whole frame in bytes.
    pub(super) end: usize,
}
