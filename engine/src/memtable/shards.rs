//! The partitions of a memtable: found by token, and listed in token order on demand.
//!
//! The map is split by the token's upper bits into shards with a lock each; a token is a hash already and is used as
//! such. New partitions only join a list of unsorted ones; whoever walks in order sorts them in first.
//!
//! # Threads
//! One writer adds, many readers look up. The writer holds a shard's lock alone only while it adds a partition. Sorting happens
//! under a lock of its own, which the writer never takes.

use crate::memtable::partition::MemPartition;
use crate::model::bytes::Bytes;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::token::Token;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;

/// Takes a token for its own hash.
#[derive(Debug, Default)]
struct TokenHasher(u64);

impl Hasher for TokenHasher {
    fn finish(&self) -> u64 {
        // The shard took the upper bits, and the map wants different ones at both ends.
        self.0.rotate_left(SHARD_BITS)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_i64(&mut self, token: i64) {
        self.0 = token.cast_unsigned();
    }
}

/// Partitions of one part of the ring.
#[derive(Debug, Default)]
struct Shard {
    by_token: HashMap<Token, Arc<MemPartition>, BuildHasherDefault<TokenHasher>>,
    /// Partitions whose token another one in `by_token` has.
    others: HashMap<Token, Vec<Arc<MemPartition>>>,
}

impl Shard {
    #[inline]
    fn find(&self, token: Token, key: &[u8]) -> Option<&Arc<MemPartition>> {
        let found = self.by_token.get(&token)?;
        if *found.key().key == *key {
            return Some(found);
        }
        self.others.get(&token)?.iter().find(|partition| *partition.key().key == *key)
    }
}

/// All partitions of a memtable.
#[derive(Debug)]
pub(super) struct Partitions {
    shards: Box<[RwLock<Shard>]>,
    /// Those not sorted in yet.
    fresh: Mutex<Vec<Arc<MemPartition>>>,
    sorted: Mutex<Arc<Vec<Arc<MemPartition>>>>,
}

impl Partitions {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            fresh: Mutex::default(),
            sorted: Mutex::default(),
        }
    }

    #[inline]
    fn shard(&self, token: Token) -> &RwLock<Shard> {
        &self.shards[(token.0.cast_unsigned() >> (u64::BITS - SHARD_BITS)) as usize]
    }

    /// Runs `act` on a partition, if it is there.
    #[inline]
    pub(super) fn with<T>(
        &self,
        token: Token,
        key: &[u8],
        act: impl FnOnce(&Arc<MemPartition>) -> T,
    ) -> Option<T> {
        self.shard(token).read().find(token, key).map(act)
    }

    /// Adds a partition that is not there yet.
    pub(super) fn add(&self, token: Token, key: &[u8]) -> Arc<MemPartition> {
        let partition = Arc::new(MemPartition::new(DecoratedKey { token, key: Bytes::new(key) }));
        self.enter(Arc::clone(&partition));
        partition
    }

    /// Enters a partition whose key is not there yet.
    fn enter(&self, partition: Arc<MemPartition>) {
        let token = partition.key().token;
        let mut shard = self.shard(token).write();
        let shard = &mut *shard;
        match shard.by_token.entry(token) {
            Entry::Vacant(place) => drop(place.insert(Arc::clone(&partition))),
            Entry::Occupied(_) => shard.others.entry(token).or_default().push(Arc::clone(&partition)),
        }
        self.fresh.lock().push(partition);
    }

    /// Enters all partitions of `other`, none of which has a key that is here.
    pub(super) fn enter_all(&self, other: &Self) {
        for shard in &other.shards {
            let shard = shard.read();
            let all = shard.by_token.values().chain(shard.others.values().flatten());
            all.for_each(|partition| self.enter(Arc::clone(partition)));
        }
    }

    /// All partitions in token order.
    pub(super) fn sorted(&self) -> Arc<Vec<Arc<MemPartition>>> {
        let mut sorted = self.sorted.lock();
        let mut fresh = std::mem::take(&mut *self.fresh.lock());
        if !fresh.is_empty() {
            fresh.sort_unstable_by(|a, b| a.key().cmp(b.key()));
            let mut all = Vec::with_capacity(sorted.len() + fresh.len());
            all.extend(sorted.iter().cloned());
            all.append(&mut fresh);
            // The stable sort finds the two runs and merges them.
            all.sort_by(|a, b| a.key().cmp(b.key()));
            *sorted = Arc::new(all);
        }
        Arc::clone(&sorted)
    }

    /// All partitions that nobody else holds on to, in no order. None is left.
    pub(super) fn take_unshared(&mut self) -> impl Iterator<Item = MemPartition> {
        self.shards.iter_mut().for_each(|shard| *shard.get_mut() = Shard::default());
        let fresh = std::mem::take(self.fresh.get_mut());
        // Whoever still walks over the sorted ones keeps all of them.
        let sorted = Arc::into_inner(std::mem::take(self.sorted.get_mut())).unwrap_or_default();
        fresh.into_iter().chain(sorted).filter_map(Arc::into_inner)
    }

    /// The partitions of a range of tokens that come after `after`, in token order.
    pub(super) fn range(&self, tokens: TokenRange, after: Option<&DecoratedKey>) -> InOrder {
        let all = self.sorted();
        let is_before = |partition: &Arc<MemPartition>| {
            partition.key().token < tokens.first || after.is_some_and(|after| partition.key() <= after)
        };
        let next = all.partition_point(is_before);
        let end = all.partition_point(|partition| partition.key().token <= tokens.last);
        InOrder { all, next, end }
    }
}

/// Partitions in token order, as they were when it was made.
#[derive(Debug)]
pub struct InOrder {
    all: Arc<Vec<Arc<MemPartition>>>,
    next: usize,
    end: usize,
}

impl Iterator for InOrder {
    type Item = (DecoratedKey, Arc<MemPartition>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let partition = self.all.get(self.next)?;
        self.next += 1;
        Some((partition.key().clone(), Arc::clone(partition)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for InOrder {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_come_in_token_order_also_those_added_later() {
        let partitions = Partitions::new();
        for round in 0..3u8 {
            for i in 0..100u8 {
                let key = [round, i];
                partitions.add(Token::of(&key), &key);
            }
            let keys: Vec<_> = partitions.range(TokenRange::ALL, None).map(|(key, _)| key).collect();
            assert_eq!(keys.len(), 100 * (usize::from(round) + 1));
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
            let part = TokenRange { first: keys[10].token, last: keys[20].token };
            let found: Vec<_> = partitions.range(part, Some(&keys[12])).map(|(key, _)| key).collect();
            assert_eq!(found, keys[13..=20]);
            assert_eq!(partitions.range(part, Some(&keys[50])).count(), 0);
        }
    }

    #[test]
    fn keys_of_one_token_are_kept_apart() {
        let partitions = Partitions::new();
        for key in [b"a", b"b", b"c"] {
            assert!(partitions.with(Token(5), key, |_| ()).is_none());
            partitions.add(Token(5), key);
        }
        for key in [b"a", b"b", b"c"] {
            let found = partitions.with(Token(5), key, |partition| partition.key().key.to_vec());
            assert_eq!(found, Some(key.to_vec()));
        }
        let keys: Vec<_> = partitions.range(TokenRange::ALL, None).map(|(key, _)| key.key.to_vec()).collect();
        assert_eq!(keys, [b"a", b"b", b"c"]);
    }
}
