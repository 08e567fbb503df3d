//! Partition keys and their place on the token ring.

use crate::model::bytes::Bytes;
use crate::model::token::{Token, hash128};
use std::cmp::Ordering;

/// A partition key with its token: what partitions are ordered by (token, then key bytes unsigned).
///
/// The key is the bare wire value of a single partition-key column, or the columns in Cassandra's CompositeType
/// framing (see `model::composite`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecoratedKey {
    /// Murmur3 token of the key.
    pub token: Token,
    /// Serialised partition key.
    pub key: Bytes,
}

impl DecoratedKey {
    /// The key with its token computed.
    #[inline]
    pub fn new(key: &[u8]) -> Self {
        Self { token: Token::of(key), key: Bytes::new(key) }
    }

    /// The key, and the [`hash128`] that its token is half of: filters ask for the whole.
    #[inline]
    pub fn hashed(key: &[u8]) -> (Self, (u64, u64)) {
        let hash = hash128(key);
        (Self { token: Token::from_hash(key, hash), key: Bytes::new(key) }, hash)
    }
}

impl PartialOrd for DecoratedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DecoratedKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.token.cmp(&other.token).then_with(|| self.key.cmp(&other.key))
    }
}

/// A range of tokens, both ends included; the whole ring is `Token::MIN..=Token::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRange {
    /// First token in it.
    pub first: Token,
    /// Last token in it.
    pub last: Token,
}

impl TokenRange {
    /// Every token.
    pub const ALL: Self = Self { first: Token(i64::MIN), last: Token(i64::MAX) };

    /// Whether `token` lies in it.
    #[inline]
    pub fn contains(&self, token: Token) -> bool {
        self.first <= token && token <= self.last
    }
}
