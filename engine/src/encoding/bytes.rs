//! Reading and writing fields in a run of bytes: fixed little-endian integers, varints, byte strings.
//!
//! [`ByteReader`] walks over bytes that come from a disk: each read is checked against what is left, and an error says
//! what was wanted and at which offset. Writers append to a `Vec<u8>` with the `put_` functions here and in
//! [`varint`](crate::encoding::varint). Reader and writer of one thing list its fields in the same order.
//!
//! # Invariants
//! 1. A reader never panics and never allocates more than the bytes it was given.
//! 2. A count that drives an allocation goes through [`ByteReader::count`], which holds it against the bytes that are left.

use crate::encoding::varint::{put_varint, read_varint, unzigzag};
use crate::error::{Error, Result};

/// A checked position in a run of bytes.
#[derive(Clone, Debug)]
pub struct ByteReader<'a> {
    data: &'a [u8],
    position: usize,
    base: u64,
}

impl<'a> ByteReader<'a> {
    /// A reader at the start of `data`; offsets in errors count from there.
    pub fn new(data: &'a [u8]) -> Self {
        Self::with_base(data, 0)
    }

    /// A reader at the start of `data`, which itself starts at `base` of a file: offsets in errors are the file's.
    pub fn with_base(data: &'a [u8], base: u64) -> Self {
        Self { data, position: 0, base }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The offset of the next byte, with the base of [`ByteReader::with_base`].
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.position as u64)
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// All bytes that are left, without moving.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.data[self.position..]
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// `Corrupt` if fewer are left.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        match self.rest().get(..length) {
            Some(bytes) => {
                self.position += length;
                Ok(bytes)
            }
            None => Err(self.error(&format!("{length} bytes expected, {} left", self.remaining()))),
        }
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// `Corrupt` if fewer are left; so for all reads below.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => Err(self.error(&format!("{N} bytes expected, {} left", self.remaining()))),
        }
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A little-endian u16.
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A little-endian u32.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A little-endian u64.
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A little-endian i32.
    pub fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// A little-endian i64.
    #[inline]
    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A varint of up to 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        match read_varint(self.rest()) {
            Some((value, length)) => {
                self.position += length;
                Ok(value)
            }
            None => Err(self.error("a varint expected")),
        }
    }

    /// A varint that must not exceed `limit`; `what` names it in the error.
    pub fn varint_up_to(&mut self, limit: u64, what: &str) -> Result<u64> {
        let start = self.clone();
        let value = self.varint()?;
        if value > limit {
            return Err(start.error(&format!("{what} is {value}, at most {limit} are possible")));
        }
        Ok(value)
    }

    /// A zigzag varint.
    #[inline]
    pub fn signed(&mut self) -> Result<i64> {
        self.varint().map(unzigzag)
    }

    /// The varint number of things that follow, each of at least `least_bytes` (1 or more): never more than fit into what is
    /// left, so that it may size an allocation. `what` names the things in the error.
    pub fn count(&mut self, least_bytes: usize, what: &str) -> Result<usize> {
        let start = self.clone();
        let value = self.varint()?;
        let most = self.remaining() / least_bytes.max(1);
        match usize::try_from(value) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(start.error(&format!("number of {what} is {value}, but only {most} fit"))),
        }
    }

    /// A varint length and that many bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.varint()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// A varint length and that many bytes of UTF-8.
    pub fn string(&mut self) -> Result<&'a str> {
        let start = self.clone();
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| start.error("text expected, but the bytes are not UTF-8"))
    }

    /// Ends the reading: an error if bytes are left, which nobody has written there on purpose.
    pub fn expect_end(&self) -> Result<()> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(self.error(&format!("{} bytes left over", self.remaining())))
        }
    }

    /// An error of kind `Corrupt` at the next byte.
    #[cold]
    pub fn error(&self, message: &str) -> Error {
        Error::malformed(format!("{message} (at offset {})", self.offset()))
    }
}

/// Appends `value` little-endian.
pub fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` little-endian.
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` little-endian.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` little-endian.
pub fn put_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` little-endian.
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a varint length and `bytes`; read with [`ByteReader::bytes`] or [`ByteReader::string`].
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::varint::put_signed;
    use crate::error::ErrorKind;

    #[test]
    fn what_was_put_is_read_in_order() {
        let mut out = Vec::new();
        put_u16(&mut out, 0xbeef);
        put_u32(&mut out, 7);
        put_u64(&mut out, u64::MAX);
        put_i32(&mut out, -3);
        put_i64(&mut out, i64::MIN);
        put_varint(&mut out, 300);
        put_signed(&mut out, -300);
        put_bytes(&mut out, b"abc");
        put_bytes(&mut out, "h\u{e9}".as_bytes());
        let mut r = ByteReader::new(&out);
        assert_eq!(r.u16().unwrap(), 0xbeef);
        assert_eq!(r.u32().unwrap(), 7);
        assert_eq!(r.u64().unwrap(), u64::MAX);
        assert_eq!(r.i32().unwrap(), -3);
        assert_eq!(r.i64().unwrap(), i64::MIN);
        assert_eq!(r.varint().unwrap(), 300);
        assert_eq!(r.signed().unwrap(), -300);
        assert_eq!(r.bytes().unwrap(), b"abc");
        assert!(r.expect_end().is_err());
        assert_eq!(r.string().unwrap(), "h\u{e9}");
        r.expect_end().unwrap();
    }

    #[test]
    fn errors_name_the_offset_and_leave_the_reader_where_it_was() {
        let mut r = ByteReader::with_base(&[1, 2], 100);
        assert_eq!(r.u8().unwrap(), 1);
        let error = r.u32().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.message(), "4 bytes expected, 1 left (at offset 101)");
        assert_eq!(r.u8().unwrap(), 2);
    }

    #[test]
    fn counts_and_lengths_beyond_the_data_are_refused() {
        let mut out = Vec::new();
        put_varint(&mut out, u64::MAX);
        assert!(ByteReader::new(&out).bytes().is_err());
        assert!(ByteReader::new(&out).count(1, "rows").is_err());
        assert!(ByteReader::new(&[3, 0, 0, 0, 0, 0]).count(2, "rows").is_err());
        assert_eq!(ByteReader::new(&[2, 0, 0, 0, 0, 0]).count(2, "rows").unwrap(), 2);
        assert!(ByteReader::new(&[9]).varint_up_to(8, "width").is_err());
        assert!(ByteReader::new(&[1, 0xff]).string().is_err());
    }
}
