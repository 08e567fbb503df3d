//! Cutting serialised values into parts: what `codec`, `validate`, `compare` and `encoding::order` share.
//!
//! The serialisation is that of Cassandra's native protocol: collections, tuples and user types hold 32-bit lengths,
//! vectors of variable elements and durations hold variable-length integers.
//!
//! # Invariants
//! 1. Nothing is read past the end: a part that is not there is `None`.
//! 2. A count is believed only as far as the bytes left could hold it.

use crate::error::{Error, Result};

/// Takes `length` bytes from the front.
pub(crate) fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (front, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(front)
}

/// Takes a big-endian 32-bit integer.
pub(crate) fn take_i32(rest: &mut &[u8]) -> Option<i32> {
    let (front, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(i32::from_be_bytes(*front))
}

/// Takes a collection's count of elements; a negative one, or one that `unit` bytes for each would not fit into, is none.
pub(crate) fn take_count(rest: &mut &[u8], unit: usize) -> Option<usize> {
    let count = usize::try_from(take_i32(rest)?).ok()?;
    (count.checked_mul(unit)? <= rest.len()).then_some(count)
}

/// Takes an element with its 32-bit length; a null (a negative length) is `None` inside.
pub(crate) fn take_element<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match usize::try_from(take_i32(rest)?) {
        Ok(length) => take(rest, length).map(Some),
        Err(_) => Some(None),
    }
}

/// Takes a vector's element: of `width` bytes, or with its length in front where elements vary.
pub(crate) fn take_vector_element<'a>(rest: &mut &'a [u8], width: Option<usize>) -> Option<&'a [u8]> {
    let length = match width {
        Some(width) => width,
        None => usize::try_from(take_unsigned_vint(rest)?).ok()?,
    };
    take(rest, length)
}

/// Takes an unsigned integer in Cassandra's variable length: as many more bytes follow the first as it has leading ones.
pub(crate) fn take_unsigned_vint(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    let extra = first.leading_ones() as usize;
    let mut after = after;
    let tail = take(&mut after, extra)?;
    *rest = after;
    let head = if extra >= 7 { 0 } else { u64::from(first & (0x7f >> extra)) };
    Some(tail.iter().fold(head, |number, &byte| number << 8 | u64::from(byte)))
}

/// Takes a signed integer in Cassandra's variable length (zigzag).
pub(crate) fn take_vint(rest: &mut &[u8]) -> Option<i64> {
    let number = take_unsigned_vint(rest)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Appends an unsigned integer in Cassandra's variable length.
pub(crate) fn put_unsigned_vint(number: u64, out: &mut Vec<u8>) {
    let bits = (64 - number.leading_zeros()) as usize;
    // 7 bits for each byte up to the eighth; the ninth form spends its whole first byte on the length.
    let extra = if bits > 56 { 8 } else { bits.saturating_sub(1) / 7 };
    let bytes = number.to_be_bytes();
    if extra == 8 {
        out.push(0xff);
        out.extend_from_slice(&bytes);
    } else {
        let length_bits = !(0xffu8 >> extra);
        out.push(length_bits | bytes[7 - extra]);
        out.extend_from_slice(&bytes[8 - extra..]);
    }
}

/// Appends a signed integer in Cassandra's variable length (zigzag).
pub(crate) fn put_vint(number: i64, out: &mut Vec<u8>) {
    put_unsigned_vint((number << 1 ^ number >> 63).cast_unsigned(), out);
}

/// Appends a length or count as 32 bits.
///
/// # Errors
/// `Invalid` beyond 2^31-1.
pub(crate) fn put_length(length: usize, out: &mut Vec<u8>) -> Result<()> {
    let length =
        i32::try_from(length).map_err(|_| Error::invalid("a value is longer than 2147483647 bytes"))?;
    out.extend_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Appends an element with its 32-bit length, written by `write`.
pub(crate) fn put_element(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let length = i32::try_from(out.len() - at - 4)
        .map_err(|_| Error::invalid("a value is longer than 2147483647 bytes"))?;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Appends a null element.
pub(crate) fn put_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_be_bytes());
}

/// The shortest two's complement form of a big-endian integer: without leading bytes that only repeat the sign.
pub(crate) fn minimal_varint(mut bytes: &[u8]) -> &[u8] {
    while let [first, second, ..] = bytes {
        let redundant = if second & 0x80 == 0 { 0 } else { 0xff };
        if *first != redundant {
            break;
        }
        bytes = &bytes[1..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn variable_integers_have_cassandras_bytes() {
        for (number, bytes) in [
            (0, vec![0]),
            (127, vec![0x7f]),
            (128, vec![0x80, 0x80]),
            (0x3fff, vec![0xbf, 0xff]),
            (0x4000, vec![0xc0, 0x40, 0]),
            ((1 << 56) - 1, vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (1 << 56, vec![0xff, 1, 0, 0, 0, 0, 0, 0, 0]),
            (u64::MAX, vec![0xff; 9]),
        ] {
            let mut out = Vec::new();
            put_unsigned_vint(number, &mut out);
            assert_eq!(out, bytes);
        }
        let mut out = Vec::new();
        put_vint(-1, &mut out);
        put_vint(1, &mut out);
        assert_eq!(out, [1, 2]);
    }

    #[test]
    fn a_varints_sign_bytes_are_stripped_up_to_the_last_needed() {
        assert_eq!(minimal_varint(&[0, 0, 0x80]), [0, 0x80]);
        assert_eq!(minimal_varint(&[0xff, 0xff, 0x80]), [0x80]);
        assert_eq!(minimal_varint(&[0xff, 0x7f]), [0xff, 0x7f]);
        assert_eq!(minimal_varint(&[0, 0]), [0]);
    }

    proptest! {
        #[test]
        fn variable_integers_round_trip(number in any::<i64>(), shift in 0..64u32, junk in proptest::collection::vec(any::<u8>(), 0..12)) {
            let number = number >> shift;
            let mut out = Vec::new();
            put_vint(number, &mut out);
            let mut rest = out.as_slice();
            prop_assert_eq!(take_vint(&mut rest), Some(number));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(take_vint(&mut &out[..out.len() - 1]), None);
            let _ = take_vint(&mut junk.as_slice());
        }
    }
}
