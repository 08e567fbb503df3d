//! Integers in as few bytes as they need: LEB128 varints, and zigzag for signed ones.
//!
//! Every format of the engine uses these for counts, lengths and small numbers; [`ByteReader`] reads them with
//! bounds and offsets. The bytes are specified in `FORMAT.md`.
//!
//! # Not here
//! Order: varints do not compare as bytes. Keys that must compare as bytes use the order-preserving encoding.
//!
//! [`ByteReader`]: crate::encoding::bytes::ByteReader

/// The most bytes that a varint of 64 bits takes.
pub const MAX_VARINT_BYTES: usize = 10;

/// Appends `value` in groups of 7 bits, lowest first; the high bit of a byte says that another follows.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` as a varint of its [`zigzag`] form.
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, zigzag(value));
}

/// Maps numbers near zero, of either sign, to small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The number that [`zigzag`] mapped to `code`.
#[inline]
pub const fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

/// The bytes that [`put_varint`] writes for `value`.
#[inline]
pub const fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Reads a varint at the start of `data`: the value and the bytes it took. `None` if it is cut off, longer than
/// [`MAX_VARINT_BYTES`], above 64 bits, or written with more bytes than needed (one value has one form).
#[inline]
pub fn read_varint(data: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in data.iter().take(MAX_VARINT_BYTES).enumerate() {
        let group = u64::from(byte & 0x7f);
        if i == MAX_VARINT_BYTES - 1 && group > 1 {
            return None;
        }
        value |= group << (7 * i);
        if byte < 0x80 {
            return (byte != 0 || i == 0).then_some((value, i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_are_leb128() {
        for (value, bytes) in [
            (0u64, &[0u8][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(varint_len(value), bytes.len());
        }
        assert_eq!([0, -1, 1, i64::MIN].map(zigzag), [0, 1, 2, u64::MAX]);
    }

    #[test]
    fn cut_off_too_long_and_wasteful_forms_are_refused() {
        assert_eq!(read_varint(&[]), None);
        assert_eq!(read_varint(&[0x80]), None);
        assert_eq!(read_varint(&[0x80, 0]), None);
        assert_eq!(read_varint(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 2]), None);
        assert_eq!(read_varint(&[0x80; 11]), None);
    }

    proptest! {
        #[test]
        fn every_value_comes_back(value: u64, rest: Vec<u8>) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let length = out.len();
            prop_assert_eq!(length, varint_len(value));
            out.extend(rest);
            prop_assert_eq!(read_varint(&out), Some((value, length)));
            prop_assert_eq!(zigzag(unzigzag(value)), value);
        }
    }
}
