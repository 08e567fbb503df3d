//! Tokens: where a partition stands in the ring, bit for bit as Cassandra's Murmur3Partitioner computes it.
//!
//! Every layer that orders partitions compares ([`Token`], key bytes). The bloom filter reuses the whole
//! 128-bit hash, so that a key is hashed once per operation.
//!
//! # Invariants
//! 1. `Token::of` equals Cassandra's `token()` for every key. Cassandra's MurmurHash3 (x64, 128 bits, seed 0)
//!    reads the last `len % 16` bytes as *signed*, so it differs from the published function for keys with a tail
//!    byte of 0x80 or more. That is part of the data format and must not be "repaired".
//! 2. No key has the token `i64::MIN`, the ring's open end: the empty key alone maps to it, and a hash of that value
//!    moves to `i64::MAX`.

/// A position in the ring: the first half of the key's hash. Ordered as a signed integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub i64);

impl Token {
    /// The open lower end of the ring; only the empty key, which no table can store, has it.
    pub const MIN: Self = Self(i64::MIN);
    /// The greatest token.
    pub const MAX: Self = Self(i64::MAX);

    /// The token of serialised partition key bytes.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        Self::from_hash(key, hash128(key))
    }

    /// The token of `key` whose [`hash128`] is known already.
    #[must_use]
    #[inline]
    pub fn from_hash(key: &[u8], hash: (u64, u64)) -> Self {
        if key.is_empty() {
            return Self::MIN;
        }
        match hash.0.cast_signed() {
            i64::MIN => Self::MAX,
            token => Self(token),
        }
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// MurmurHash3 x64-128 of `key` with seed 0 and Cassandra's signed tail bytes (invariant 1).
#[must_use]
#[inline]
pub fn hash128(key: &[u8]) -> (u64, u64) {
    let (mut h1, mut h2) = (0u64, 0u64);
    let (blocks, tail) = key.as_chunks::<16>();
    for block in blocks {
        let k1 = word(block, 0);
        let k2 = word(block, 8);
        h1 ^= mix_k1(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix_k2(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    if !tail.is_empty() {
        let (low, high) = tail.split_at(tail.len().min(8));
        if !high.is_empty() {
            h2 ^= mix_k2(signed_word(high));
        }
        h1 ^= mix_k1(signed_word(low));
    }
    let length = key.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}

#[inline]
fn word(block: &[u8; 16], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// The tail's bytes, each sign-extended to 64 bits before it is shifted to its place and mixed in.
#[inline]
fn signed_word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .enumerate()
        .fold(0, |word, (i, &byte)| word ^ (i64::from(byte.cast_signed()).cast_unsigned() << (8 * i)))
}

#[inline]
fn mix_k1(k1: u64) -> u64 {
    k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline]
fn mix_k2(k2: u64) -> u64 {
    k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

#[inline]
fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

    #[test]
    fn a_key_with_high_bytes_in_its_tail_has_cassandras_token() {
        let key = [
            0x00, 0x10, 0x43, 0x27, 0x52, 0x9f, 0xb6, 0x45, 0xdd, 0x00, 0xb8, 0x83, 0xec, 0x39, 0xae, 0x44,
            0x8b, 0xb8, 0x00, 0x00, 0x04, 0x00, 0x06, 0x6a, 0x6b, 0x00,
        ];
        assert_eq!(Token::of(&key), Token(-9_223_371_632_693_506_265));
        assert_eq!(Token::of(&[0xff]), Token(-4_442_228_696_663_692_417));
    }

    #[test]
    fn the_ends_of_the_ring_are_kept_apart() {
        assert_eq!(Token::of(b""), Token::MIN);
        assert_eq!(Token::from_hash(b"k", (1 << 63, 0)), Token::MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn where_no_tail_byte_is_negative_it_is_the_published_function(mut key in proptest::collection::vec(any::<u8>(), 0..80)) {
            let tail = key.len() / 16 * 16;
            key[tail..].iter_mut().for_each(|byte| *byte &= 0x7f);
            let published = murmur3::murmur3_x64_128(&mut std::io::Cursor::new(&key), 0).expect("reads memory");
            let (h1, h2) = hash128(&key);
            prop_assert_eq!((u128::from(h2) << 64) | u128::from(h1), published);
        }
    }
}
