//! Bytes lanes: byte strings of one column, plain or through a dictionary of the words that keep coming back.
//!
//! Text, blobs, uuids, decimals, frozen collections, partition keys. Lengths and codes are
//! [integer lanes](crate::encoding::int_lane). The bytes are in `FORMAT.md`, "Bytes lane".
//!
//! [`ByteStrings`] is how such values stand in memory on both sides: one buffer and offsets, no allocation per value.
//!
//! # Invariants
//! 1. `offsets` ascends, starts with 0 and ends with `data.len()`.
//! 2. Every code of a dictionary is the number of one of its words.

use crate::encoding::bytes::ByteReader;
use crate::encoding::int_lane::{MAX_LANE_VALUES, decode_ints, encode_ints, narrow_codes};
use crate::encoding::varint::put_varint;
use crate::error::Result;

const PLAIN: u8 = 0;
const DICTIONARY: u8 = 1;

/// How often a word must come on average for a dictionary to be worth it.
const REPEATS: usize = 4;

/// Byte strings back to back in one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteStrings {
    offsets: Vec<u32>,
    data: Vec<u8>,
}

impl Default for ByteStrings {
    fn default() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }
}

impl ByteStrings {
    /// No strings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one string.
    ///
    /// # Panics
    /// If the buffer would pass 4 GiB; callers hold values and blocks far below.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        self.offsets.push(u32::try_from(self.data.len()).expect("a lane of byte strings stays below 4 GiB"));
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// String `i`.
    ///
    /// # Panics
    /// If `i` is not below [`ByteStrings::len`].
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.data[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Where each string starts in [`ByteStrings::data`], and behind the last its end: one more than there are strings.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// All strings back to back.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Forgets the strings and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.data.clear();
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        4 * self.offsets.capacity() + self.data.capacity()
    }
}

/// A decoded lane: as it was stored, so that equal values need not be compared or copied one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BytesLane {
    /// Each value by itself.
    Plain(ByteStrings),
    /// Value `i` is `words[codes[i]]`.
    Dictionary {
        /// The distinct values, in order of first appearance.
        words: ByteStrings,
        /// One per value, each below the number of words.
        codes: Vec<u32>,
    },
}

impl BytesLane {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(strings) => strings.len(),
            Self::Dictionary { codes, .. } => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i`.
    ///
    /// # Panics
    /// If `i` is not below [`BytesLane::len`].
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        match self {
            Self::Plain(strings) => strings.get(i),
            Self::Dictionary { words, codes } => words.get(codes[i] as usize),
        }
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Plain(strings) => strings.memory_bytes(),
            Self::Dictionary { words, codes } => words.memory_bytes() + 4 * codes.capacity(),
        }
    }
}

/// Appends `values` as a bytes lane.
pub fn encode_bytes(values: &ByteStrings, out: &mut Vec<u8>) {
    match Dictionary::build(values) {
        Some(dictionary) => {
            out.push(DICTIONARY);
            put_varint(out, dictionary.words.len() as u64);
            encode_plain(&dictionary.words, out);
            encode_ints(&dictionary.codes, out);
        }
        None => {
            out.push(PLAIN);
            encode_plain(values, out);
        }
    }
}

/// Reads a lane of `count` values.
///
/// # Errors
/// `Corrupt` if the bytes are not such a lane.
pub fn decode_bytes(reader: &mut ByteReader<'_>, count: usize) -> Result<BytesLane> {
    match reader.u8()? {
        PLAIN => Ok(BytesLane::Plain(decode_plain(reader, count)?)),
        DICTIONARY => {
            let most = count.min(MAX_LANE_VALUES) as u64;
            let number = reader.varint_up_to(most, "number of dictionary words")? as usize;
            let words = decode_plain(reader, number)?;
            let codes = narrow_codes(&decode_ints(reader, count)?, number as u64, "dictionary codes")?;
            Ok(BytesLane::Dictionary { words, codes })
        }
        form => Err(reader.error(&format!("bytes lane has the form {form}"))),
    }
}

fn encode_plain(values: &ByteStrings, out: &mut Vec<u8>) {
    let lengths: Vec<i64> = values.offsets.windows(2).map(|w| i64::from(w[1] - w[0])).collect();
    encode_ints(&lengths, out);
    out.extend_from_slice(&values.data);
}

fn decode_plain(reader: &mut ByteReader<'_>, count: usize) -> Result<ByteStrings> {
    let lengths = decode_ints(reader, count)?;
    let most = reader.remaining().min(u32::MAX as usize) as u64;
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0);
    let mut end = 0u64;
    for &length in &lengths {
        // A negative length is a huge one here; the sum cannot wrap, being held below 2^32 at each step.
        end = end.saturating_add(length as u64);
        if end > most {
            return Err(reader.error(&format!("lengths of byte strings pass the {most} bytes that are left")));
        }
        offsets.push(end as u32);
    }
    Ok(ByteStrings { offsets, data: reader.take(end as usize)?.to_vec() })
}

/// Words in order of appearance, with the code of each value.
struct Dictionary {
    words: ByteStrings,
    codes: Vec<i64>,
}

impl Dictionary {
    /// The dictionary of `values`, or `None` if words do not come [`REPEATS`] times on average. Gives up early, since looking
    /// for repetition in distinct values costs more than writing them.
    fn build(values: &ByteStrings) -> Option<Self> {
        const FREE: u32 = u32::MAX;
        let count = values.len();
        if count < REPEATS || values.data.is_empty() {
            return None;
        }
        // At most 16 + count / 4 + 1 words are ever entered, so at least half of the slots stay free.
        let slots_len = (count / 2 + 64).next_power_of_two();
        let mut slots = vec![FREE; slots_len];
        let mut dictionary = Self { words: ByteStrings::new(), codes: Vec::with_capacity(count) };
        for (i, value) in values.iter().enumerate() {
            let mut slot = hash(value) as usize & (slots_len - 1);
            let code = loop {
                match slots[slot] {
                    FREE => {
                        slots[slot] = dictionary.words.len() as u32;
                        dictionary.words.push(value);
                        if dictionary.words.len() > 16 + i / REPEATS {
                            return None;
                        }
                        break slots[slot];
                    }
                    code if dictionary.words.get(code as usize) == value => break code,
                    _ => slot = (slot + 1) & (slots_len - 1),
                }
            };
            dictionary.codes.push(i64::from(code));
        }
        (dictionary.words.len() * REPEATS <= count).then_some(dictionary)
    }
}

/// A quick hash for the dictionary's table; never stored.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64;
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
    }
    let mut tail = [0u8; 8];
    tail[..rest.len()].copy_from_slice(rest);
    hash = (hash ^ u64::from_le_bytes(tail)).wrapping_mul(FACTOR);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn strings<T: AsRef<[u8]>>(values: impl IntoIterator<Item = T>) -> ByteStrings {
        let mut strings = ByteStrings::new();
        values.into_iter().for_each(|value| strings.push(value.as_ref()));
        strings
    }

    fn round_trip(values: &ByteStrings) -> Vec<u8> {
        let mut out = Vec::new();
        encode_bytes(values, &mut out);
        let mut reader = ByteReader::new(&out);
        let lane = decode_bytes(&mut reader, values.len()).unwrap();
        reader.expect_end().unwrap();
        assert_eq!(lane.len(), values.len());
        (0..values.len()).for_each(|i| assert_eq!(lane.get(i), values.get(i)));
        out
    }

    #[test]
    fn the_bytes_of_both_forms() {
        assert_eq!(round_trip(&strings(["s1"])), [0, 0, 4, 0, b's', b'1']);
        assert_eq!(round_trip(&ByteStrings::new()), [0, 0, 0, 0]);
        // Two words of lengths 2 and 3 (FOR, 1 bit), then eight codes of one bit.
        let states = strings(["ok", "bad", "ok", "ok", "ok", "ok", "ok", "bad"]);
        let expected = [&[1, 2, 1, 4, 0, 0b10][..], b"okbad", &[1, 0, 0, 0b1000_0010]].concat();
        assert_eq!(round_trip(&states), expected);
    }

    #[test]
    fn distinct_words_stay_plain_and_long_lanes_come_back() {
        assert_eq!(round_trip(&strings((0..5000).map(|i| format!("user-{i}"))))[0], PLAIN);
        assert_eq!(round_trip(&strings((0..65_536).map(|i| (i % (1 + i / 300)).to_string())))[0], DICTIONARY);
        assert_eq!(
            round_trip(&strings((0..65_536).map(|i| (i % 300).to_string())))[0],
            PLAIN,
            "given up early"
        );
        assert_eq!(round_trip(&strings(vec![[]; 1000])), [0, 0, 0, 0]);
        round_trip(&strings([vec![7u8; 100_000], vec![], vec![7u8; 100_000]]));
    }

    #[test]
    fn damaged_lanes_are_errors() {
        let cases: [(&[u8], usize, &str); 5] = [
            (&[2, 0, 0, 0], 0, "form 2"),
            (&[0, 0, 4, 0, b's'], 1, "lengths of byte strings"),
            (&[0, 0, 1, 0, b's'], 1, "lengths of byte strings"),
            (&[1, 3, 0, 0, 0, 0, 0, 0], 2, "number of dictionary words"),
            (&[1, 1, 0, 2, 0, b's', 0, 2, 0], 2, "dictionary codes"),
        ];
        for (bytes, count, message) in cases {
            let error = decode_bytes(&mut ByteReader::new(bytes), count).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_strings_come_back(values in vec(vec(any::<u8>(), 0..20), 0..200)) {
            round_trip(&strings(values));
        }

        #[test]
        fn few_words_come_back(words in vec(vec(any::<u8>(), 0..20), 1..20), picks in vec(any::<prop::sample::Index>(), 0..400)) {
            round_trip(&strings(picks.iter().map(|pick| pick.get(&words))));
        }

        #[test]
        fn any_bytes_give_values_or_an_error(mut bytes: Vec<u8>, form in 0u8..3, count in 0usize..300) {
            if let Some(first) = bytes.first_mut() {
                *first = form;
            }
            if let Ok(lane) = decode_bytes(&mut ByteReader::new(&bytes), count) {
                (0..count).for_each(|i| drop(lane.get(i).to_vec()));
            }
        }
    }
}
