//! The checksum of everything on disk: CRC-32 (IEEE 802.3, reflected, as in zip), through `crc32fast`.
//!
//! Writers append it little-endian behind what it covers; readers check it before they use a byte. It detects damage, not
//! malice: decoders stay safe behind a right checksum too.

use crate::encoding::bytes::put_u32;
use crate::error::{Error, Result};

/// Bytes of a stored checksum.
pub const CHECKSUM_BYTES: usize = 4;

/// The CRC-32 of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// The CRC-32 of `parts` as if they stood back to back.
pub fn crc32_of_parts(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

/// Appends the checksum of `out[start..]`, little-endian. A `start` behind the end covers nothing.
pub fn put_checksum(out: &mut Vec<u8>, start: usize) {
    let sum = crc32(out.get(start..).unwrap_or(&[]));
    put_u32(out, sum);
}

/// The bytes in front of the checksum that ends `bytes`, once it is found right.
///
/// # Errors
/// `Corrupt` with both sums if it is wrong or `bytes` is too short to hold one; `what` names the thing.
pub fn strip_checksum<'a>(bytes: &'a [u8], what: &str) -> Result<&'a [u8]> {
    let Some((body, stored)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(Error::malformed(format!(
            "{what} of {} bytes is too short for its checksum",
            bytes.len()
        )));
    };
    let (stored, actual) = (u32::from_le_bytes(*stored), crc32(body));
    if stored != actual {
        let message = format!("checksum of {what} is wrong: stored {stored:08x}, bytes give {actual:08x}");
        return Err(Error::malformed(message));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_crc_of_the_standard_check_string() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32_of_parts(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
    }

    #[test]
    fn every_changed_byte_is_found() {
        let mut bytes = b"xx-some bytes".to_vec();
        put_checksum(&mut bytes, 2);
        let good = bytes[2..].to_vec();
        assert_eq!(strip_checksum(&good, "page").unwrap(), b"-some bytes");
        for i in 0..good.len() {
            let mut bad = good.clone();
            bad[i] ^= 0x10;
            assert!(strip_checksum(&bad, "page").unwrap_err().message().contains("checksum of page"));
        }
        assert!(strip_checksum(&good[..3], "page").is_err());
    }
}
