//! The block cache: opened blocks and index pages of all files, by (file, offset), within a budget of bytes.
//!
//! What is cached is decoded: a block keeps the lanes that were asked for, so that a second read neither verifies nor unpacks
//! anything. Eviction is `quick_cache`'s (Clock-PRO: a scan does not sweep out what is read often).
//!
//! # Invariants
//! 1. The budget holds for the weights; a block weighs, from the start, what it will with all lanes of rows decoded.
//! 2. An entry is right for ever, since files are immutable and numbers are not used again.
//!
//! # Threads
//! Shared freely. Two readers that miss the same block both open it; one copy stays.
//!
//! # Not here
//! No cache of rows, and no cache of bytes: the operating system's page cache holds those.

use crate::sstable::block::decoded::DecodedBlock;
use crate::sstable::index::IndexPage;
use crate::sstable::layout::BlockSchema;
use crate::sstable::meta::FileId;
use parking_lot::Mutex;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Bytes of an average entry, from which the cache's first size follows.
const USUAL_ENTRY: u64 = 32 << 10;

type Key = (u64, u64);

#[derive(Clone)]
enum Cached {
    Block { block: Arc<DecodedBlock>, weight: u32 },
    Page(Arc<IndexPage>),
}

#[derive(Clone)]
struct Weights;

impl Weighter<Key, Cached> for Weights {
    fn weight(&self, _: &Key, value: &Cached) -> u64 {
        match value {
            Cached::Block { weight, .. } => (*weight).into(),
            Cached::Page(page) => page.memory_bytes() as u64,
        }
    }
}

/// Hashes the two numbers of a key by multiplication; nobody outside chooses them.
#[derive(Clone, Default)]
struct KeyHash(u64);

impl Hasher for KeyHash {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(29) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[derive(Clone, Default)]
struct KeyHashes;

impl BuildHasher for KeyHashes {
    type Hasher = KeyHash;
    fn build_hasher(&self) -> KeyHash {
        KeyHash::default()
    }
}

/// Blocks and index pages that one thread has asked for since it began. Reads stay on their thread: the difference between two of these is
/// what was asked for between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// Blocks that were in the cache.
    pub blocks_cached: u64,
    /// Blocks that had to come from their file.
    pub blocks_read: u64,
    /// Index pages that were in the cache.
    pub pages_cached: u64,
    /// Index pages that had to come from their file.
    pub pages_read: u64,
}

thread_local! {
    static LOOKS: Cell<Looks> = const { Cell::new(Looks { blocks_cached: 0, blocks_read: 0, pages_cached: 0, pages_read: 0 }) };
}

impl Looks {
    /// Those of this thread.
    pub fn of_thread() -> Self {
        LOOKS.get()
    }

    #[inline]
    fn note(change: impl FnOnce(&mut Self)) {
        LOOKS.with(|cell| {
            let mut looks = cell.get();
            change(&mut looks);
            cell.set(looks);
        });
    }

    /// Those that came after `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            blocks_cached: self.blocks_cached.wrapping_sub(earlier.blocks_cached),
            blocks_read: self.blocks_read.wrapping_sub(earlier.blocks_read),
            pages_cached: self.pages_cached.wrapping_sub(earlier.pages_cached),
            pages_read: self.pages_read.wrapping_sub(earlier.pages_read),
        }
    }

    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.blocks_cached += other.blocks_cached;
        self.blocks_read += other.blocks_read;
        self.pages_cached += other.pages_cached;
        self.pages_read += other.pages_read;
    }
}

/// Decoded blocks and index pages, shared by all files of a store. See the module's page.
pub struct BlockCache {
    cache: Option<Cache<Key, Cached, Weights, KeyHashes>>,
    hits: AtomicU64,
    misses: AtomicU64,
    /// Layouts of open files: files of one table share one.
    layouts: Mutex<Vec<Weak<BlockSchema>>>,
}

impl BlockCache {
    /// A cache of at most `budget` bytes; with 0 nothing is kept.
    pub fn new(budget: usize) -> Self {
        let budget = budget as u64;
        let options = OptionsBuilder::new()
            .estimated_items_capacity((budget / USUAL_ENTRY).max(16) as usize)
            .weight_capacity(budget)
            .build();
        let cache = options
            .ok()
            .filter(|_| budget > 0)
            .map(|options| Cache::with_options(options, Weights, KeyHashes, DefaultLifecycle::default()));
        Self { cache, hits: AtomicU64::new(0), misses: AtomicU64::new(0), layouts: Mutex::new(Vec::new()) }
    }

    /// The block of `file` at `offset`, if it is here.
    #[inline]
    pub fn block(&self, file: FileId, offset: u64) -> Option<Arc<DecodedBlock>> {
        let found = self.get(file, offset);
        match found.is_some() {
            true => Looks::note(|looks| looks.blocks_cached += 1),
            false => Looks::note(|looks| looks.blocks_read += 1),
        }
        match found? {
            Cached::Block { block, .. } => Some(block),
            Cached::Page(_) => None,
        }
    }

    /// Keeps a block.
    pub fn put_block(&self, file: FileId, offset: u64, block: &Arc<DecodedBlock>) {
        if let Some(cache) = &self.cache {
            // One lane for each clustering and data column, one for write times, of eight bytes an item.
            let lanes = 1 + block.schema().clustering().len() + block.schema().columns().len();
            let weight = block.memory_bytes() + 8 * lanes * block.items();
            let weight = u32::try_from(weight).unwrap_or(u32::MAX);
            cache.insert((file.0, offset), Cached::Block { block: Arc::clone(block), weight });
        }
    }

    /// The index page of `file` at `offset`, if it is here.
    #[inline]
    pub fn page(&self, file: FileId, offset: u64) -> Option<Arc<IndexPage>> {
        let found = self.get(file, offset);
        match found.is_some() {
            true => Looks::note(|looks| looks.pages_cached += 1),
            false => Looks::note(|looks| looks.pages_read += 1),
        }
        match found? {
            Cached::Page(page) => Some(page),
            Cached::Block { .. } => None,
        }
    }

    /// Keeps an index page.
    pub fn put_page(&self, file: FileId, offset: u64, page: &Arc<IndexPage>) {
        if let Some(cache) = &self.cache {
            cache.insert((file.0, offset), Cached::Page(Arc::clone(page)));
        }
    }

    #[inline]
    fn get(&self, file: FileId, offset: u64) -> Option<Cached> {
        let found = self.cache.as_ref().and_then(|cache| cache.get(&(file.0, offset)));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Forgets everything of `file`, which is being removed.
    pub fn forget(&self, file: FileId) {
        if let Some(cache) = &self.cache {
            cache.retain(|key, _| key.0 != file.0);
        }
    }

    /// Forgets everything; for measurements of cold reads.
    pub fn clear(&self) {
        if let Some(cache) = &self.cache {
            cache.clear();
        }
    }

    /// The one copy of a layout that all files with it share.
    pub fn share_layout(&self, layout: BlockSchema) -> Arc<BlockSchema> {
        let mut layouts = self.layouts.lock();
        layouts.retain(|known| known.strong_count() > 0);
        let known = layouts.iter().filter_map(Weak::upgrade).find(|known| **known == layout);
        known.unwrap_or_else(|| {
            let new = Arc::new(layout);
            layouts.push(Arc::downgrade(&new));
            new
        })
    }

    /// Bytes in the cache, by weight.
    pub fn used_bytes(&self) -> u64 {
        self.cache.as_ref().map_or(0, Cache::weight)
    }

    /// Blocks and index pages in it.
    pub fn entries(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::len)
    }

    /// Lookups that found their block or page, and those that did not.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (hits, misses) = self.hits_and_misses();
        f.debug_struct("BlockCache")
            .field("used_bytes", &self.used_bytes())
            .field("hits", &hits)
            .field("misses", &misses)
            .finish()
    }
}
