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

/// The bits of a word of eight varint bytes that say whether another byte follows.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Appends `value` in groups of 7 bits, lowest first; the high bit of a byte says that another follows.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    let length = varint_len(value);
    if length > 8 {
        return put_long(out, value);
    }
    // All eight bytes at once, of which the first `length` stay: there is no loop for the processor to guess the end of.
    let (word, length) = varint_word(value);
    let end = out.len() + length;
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(end);
}

/// The bytes of a varint below 2^56 as the lowest ones of a word, and their number.
#[inline]
pub const fn varint_word(value: u64) -> (u64, usize) {
    let length = varint_len(value);
    (spread(value) | MORE & ((1 << (8 * (length - 1))) - 1), length)
}

#[cold]
fn put_long(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The eight lowest groups of 7 bits, each in a byte of its own.
#[inline]
const fn spread(value: u64) -> u64 {
    let x = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let x = x & 0x0000_3fff_0000_3fff | (x & 0x0fff_c000_0fff_c000) << 2;
    x & 0x007f_007f_007f_007f | (x & 0x3f80_3f80_3f80_3f80) << 1
}

/// What [`spread`] was made of; the high bits of the bytes do not matter.
#[inline]
const fn gather(word: u64) -> u64 {
    let x = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let x = x & 0x0000_3fff_0000_3fff | (x & 0x3fff_0000_3fff_0000) >> 2;
    x & 0x0fff_ffff | (x & 0x0fff_ffff_0000_0000) >> 4
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
    match data {
        [byte @ ..0x80, ..] => Some(((*byte).into(), 1)),
        [a, b, c, d, e, f, g, h, ..] => read_word(u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), data),
        // Near the end of the data, where the last columns of rows are.
        [a, b, c, d, ..] => read_word(u64::from_le_bytes([*a, *b, *c, *d, 0x80, 0x80, 0x80, 0x80]), data),
        _ => read_bytewise(data),
    }
}

/// The varint whose first bytes are those of `word`, if it ends in there; else that at the start of `data`.
#[inline]
fn read_word(word: u64, data: &[u8]) -> Option<(u64, usize)> {
    let ends = !word & MORE;
    if ends == 0 {
        return read_bytewise(data);
    }
    let length = ends.trailing_zeros() as usize / 8 + 1;
    let bytes = word & u64::MAX >> (64 - 8 * length);
    (bytes >> (8 * (length - 1)) != 0).then(|| (gather(bytes), length))
}

/// [`read_varint`] for long ones and at the end of the data.
fn read_bytewise(data: &[u8]) -> Option<(u64, usize)> {
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
        fn eight_bytes_at_once_read_as_one_by_one(data in prop::collection::vec(
            prop_oneof![Just(0u8), Just(0x80), 0..=255u8], 0..12,
        )) {
            prop_assert_eq!(read_varint(&data), read_bytewise(&data));
        }

        #[test]
        fn eight_bytes_at_once_are_written_as_one_by_one(value in any::<u64>(), shift in 0..64u32) {
            let (mut fast, mut slow) = (vec![1], vec![1]);
            put_varint(&mut fast, value >> shift);
            put_long(&mut slow, value >> shift);
            if value >> shift < 1 << 56 {
                let (word, length) = varint_word(value >> shift);
                prop_assert_eq!(&word.to_le_bytes()[..length], &slow[1..]);
            }
            prop_assert_eq!(fast, slow);
        }

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
