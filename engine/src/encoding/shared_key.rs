//! A partition key by what it has in common with the one before it: keys of a batch are often alike at both ends.
//!
//! `sensor-0041` of some day and `sensor-0042` of that day differ in one byte of 21. A batch ([`mutation_encoder`](crate::encoding::mutation_encoder))
//! writes of the second key how many bytes at its start and at its end are those of the first, and what stands between them; the reader
//! ([`mutation`](crate::encoding::mutation)) puts it together in the memory of the first.
//!
//! # Invariants
//! 1. The two common parts never overlap, in neither of the keys.
//! 2. A key that was read takes up at most [`MOST_START`] + [`MOST_END`] bytes more than it has in the log, so that few bytes cannot
//!    stand for much memory.
//!
//! # Format
//! See "Batch" in FORMAT.md beside this file. The number of bytes at the end stands in the operation's head.

use crate::encoding::bytes::{ByteReader, put_bytes};
use crate::error::Result;
use std::borrow::Cow;

/// The most bytes at the start that a key takes from the one before: their number is one byte.
const MOST_START: usize = 255;
/// The most at the end: four bits.
const MOST_END: usize = 15;

/// How much of a key is that of the key before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    /// All of it: the keys are the same.
    All,
    /// So many bytes at its start and at its end.
    Ends { start: u8, end: u8 },
}

impl Shared {
    /// Compares a key with the one before.
    #[inline]
    pub(super) fn of(before: &[u8], key: &[u8]) -> Self {
        let start = common_start(before, key);
        let shorter = before.len().min(key.len());
        if start == shorter && before.len() == key.len() {
            return Self::All;
        }
        let start = start.min(MOST_START);
        let end = common_end(before, key).min(MOST_END).min(shorter - start);
        Self::Ends { start: start as u8, end: end as u8 }
    }
}

/// Writes a key of which so many bytes are those of the key before.
#[inline]
pub(super) fn put_key(out: &mut Vec<u8>, key: &[u8], start: u8, end: u8) {
    out.push(start);
    put_bytes(out, &key[usize::from(start)..key.len() - usize::from(end)]);
}

/// Reads what [`put_key`] wrote, `key` being the key before; returns how many bytes at the start were taken from it.
///
/// # Errors
/// `Corrupt` if the key before is shorter than what is taken from it; it is left as it was.
#[inline]
pub(super) fn read_key<'a>(reader: &mut ByteReader<'a>, key: &mut Cow<'a, [u8]>, end: u8) -> Result<u8> {
    let first = reader.u8()?;
    let start = usize::from(first);
    let middle = reader.bytes()?;
    let Some(till) = key.len().checked_sub(usize::from(end)).filter(|till| start <= *till) else {
        let text = format!("a key takes {start} and {end} bytes from one of {}", key.len());
        return Err(reader.error(&text));
    };
    let key = key.to_mut();
    if middle.len() == till - start {
        key[start..till].copy_from_slice(middle); // keys of one table are often of one length
    } else {
        key.splice(start..till, middle.iter().copied());
    }
    Ok(first)
}

/// How many bytes two keys have in common at their start.
#[inline]
fn common_start(a: &[u8], b: &[u8]) -> usize {
    let (a_words, _) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    let mut at = 0;
    for (x, y) in a_words.iter().zip(b_words) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

/// How many bytes they have in common at their end, [`MOST_END`] and more not being told apart.
#[inline]
fn common_end(a: &[u8], b: &[u8]) -> usize {
    match (a.last_chunk::<16>(), b.last_chunk::<16>()) {
        (Some(x), Some(y)) => {
            let differ = u128::from_le_bytes(*x) ^ u128::from_le_bytes(*y);
            differ.leading_zeros() as usize / 8
        }
        _ => a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use proptest::prelude::*;

    fn shared(before: &[u8], key: &[u8]) -> (u8, u8) {
        match Shared::of(before, key) {
            Shared::All => panic!("they differ"),
            Shared::Ends { start, end } => (start, end),
        }
    }

    #[test]
    fn the_common_parts_are_found_and_do_not_overlap() {
        assert_eq!(shared(b"sensor-0041/2026-06-12", b"sensor-0042/2026-06-12"), (10, 11));
        assert_eq!(shared(b"aa", b"aaa"), (2, 0));
        assert_eq!(shared(b"aaa", b"aa"), (2, 0));
        assert_eq!(shared(b"", b"a"), (0, 0));
        assert_eq!(shared(b"xb", b"yyyb"), (0, 1));
        assert_eq!(shared(&[7; 300], &[7; 301]), (255, 15));
        assert_eq!(shared(&[[1; 20], [2; 20]].concat(), &[[3; 20], [2; 20]].concat()), (0, 15));
        assert_eq!(Shared::of(&[7; 300], &[7; 300]), Shared::All);
        assert_eq!(Shared::of(b"", b""), Shared::All);
    }

    #[test]
    fn more_than_the_key_before_has_is_refused() {
        for (start, end) in [(4, 0), (0, 4), (2, 2), (255, 15)] {
            let (bytes, mut key) = ([start, 1, b'x'], Cow::Borrowed(&b"abc"[..]));
            let error = read_key(&mut ByteReader::new(&bytes), &mut key, end).unwrap_err();
            assert_eq!((error.kind(), &key[..]), (ErrorKind::Corrupt, &b"abc"[..]), "{start} {end}");
        }
        for (start, end, expected) in [(3, 0, "abcx"), (0, 3, "xabc"), (1, 2, "axbc"), (1, 1, "axc")] {
            let (bytes, mut key) = ([start, 1, b'x'], Cow::Borrowed(&b"abc"[..]));
            read_key(&mut ByteReader::new(&bytes), &mut key, end).unwrap();
            assert_eq!(&key[..], expected.as_bytes());
        }
    }

    /// Keys of few letters, so that much is common, of lengths below and above those that are compared as words.
    fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let part = |length| prop::collection::vec(prop::bool::weighted(0.03).prop_map(u8::from), 0..length);
        let key = prop_oneof![part(4), part(40), part(400)];
        prop::collection::vec(key, 1..20)
    }

    proptest! {
        #[test]
        fn keys_come_back_and_what_is_left_out_is_as_much_as_possible(keys in keys()) {
            let mut read = keys[0].clone();
            for pair in keys.windows(2) {
                let (before, key) = (&pair[0][..], &pair[1][..]);
                let same_start = before.iter().zip(key).take_while(|(x, y)| x == y).count();
                let most = before.len().min(key.len());
                let Shared::Ends { start, end } = Shared::of(before, key) else {
                    prop_assert_eq!(before, key);
                    continue;
                };
                prop_assert_ne!(before, key);
                prop_assert_eq!(usize::from(start), same_start.min(255));
                let same_end = before.iter().rev().zip(key.iter().rev()).take_while(|(x, y)| x == y).count();
                prop_assert_eq!(usize::from(end), same_end.min(15).min(most - usize::from(start)));
                let mut bytes = Vec::new();
                put_key(&mut bytes, key, start, end);
                let mut reader = ByteReader::new(&bytes);
                let mut owned = Cow::Owned(read);
                prop_assert_eq!(read_key(&mut reader, &mut owned, end).unwrap(), start);
                prop_assert!(reader.is_empty());
                prop_assert_eq!(&owned[..], key);
                read = owned.into_owned();
            }
        }
    }
}
