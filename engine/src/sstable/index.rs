//! The index of a file: an entry for each block, in pages, and a directory of the pages.
//!
//! A lookup asks the [`Directory`] (held in memory once the file is used) for a page, the page (cached) for a block. An entry
//! says where its block begins and ends in the order of partitions and rows, and carries the block's zone map, so that
//! reads skip blocks by time, by expiry or by value, and answer counts and sums, without touching them.
//!
//! # Invariants
//! 1. Entries ascend by (first partition, first position); two entries are never equal in both.
//! 2. Blocks follow each other without gaps from the end of the header to the start of the index.
//! 3. A page has 1 to [`PAGE_ENTRIES`] entries.
//!
//! # Format
//! "Index" in FORMAT.md; the bytes of a page are read and written in `index_page`.

use crate::encoding::bytes::{ByteReader, put_bytes};
use crate::encoding::checksum::{put_checksum, strip_checksum};
use crate::encoding::varint::put_varint;
use crate::error::Result;
use crate::model::clustering::Bound;
use crate::model::key::DecoratedKey;
use crate::model::token::Token;
use crate::sstable::block::summary::{BlockSummary, ColumnZone, Zone};
use crate::sstable::index_page::encode_page;
use crate::sstable::meta::read_bound;
use std::cmp::Ordering;

/// The most entries of a page: a page is decoded whole, in some 20 us.
pub const PAGE_ENTRIES: usize = 128;

/// Keys and positions of a page end it early when they come to so many bytes.
const PAGE_BYTES: usize = 32 << 10;

/// What the index knows of one block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockEntry {
    /// Where the block begins in the file, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub length: u32,
    /// Its first partition.
    pub first: DecoratedKey,
    /// Its last partition.
    pub last: DecoratedKey,
    /// The first partition began in an earlier block.
    pub continues: bool,
    /// A range deletion of the first partition is in force where the block begins.
    pub open: bool,
    /// What the block holds.
    pub summary: BlockSummary,
}

impl BlockEntry {
    /// How the block's beginning stands to position `at` of partition `key`.
    #[inline]
    pub fn cmp_start(&self, key: &DecoratedKey, at: &Bound) -> Ordering {
        self.first.cmp(key).then_with(|| self.summary.first.cmp(at))
    }

    /// Times of everything in the block.
    pub fn zone(&self) -> &Zone {
        &self.summary.zone
    }

    /// The values of a numeric column by its slot; `None` if it has none here.
    pub fn column(&self, slot: usize) -> Option<&ColumnZone> {
        let columns = &self.summary.columns;
        columns.binary_search_by_key(&slot, |column| column.0).ok().map(|i| &columns[i].1)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let heap = self.first.key.heap_bytes() + self.last.key.heap_bytes();
        let bounds = self.summary.first.as_bytes().len() + self.summary.last.as_bytes().len();
        size_of::<Self>() + heap + bounds + self.summary.columns.len() * size_of::<(usize, ColumnZone)>()
    }
}

/// A decoded page.
#[derive(Debug)]
pub struct IndexPage {
    /// Number of the page's first block among all of the file.
    pub first_block: u64,
    /// Entries in order, at least one.
    pub entries: Vec<BlockEntry>,
    /// Token of each entry's first partition: a search looks at few of the entries themselves.
    tokens: Vec<Token>,
    memory_bytes: usize,
}

impl IndexPage {
    /// A page of these entries.
    pub(crate) fn new(first_block: u64, entries: Vec<BlockEntry>) -> Self {
        let each = |entry: &BlockEntry| entry.memory_bytes() + size_of::<Token>();
        let memory_bytes = size_of::<Self>() + entries.iter().map(each).sum::<usize>();
        let tokens = entries.iter().map(|entry| entry.first.token).collect();
        Self { first_block, entries, tokens, memory_bytes }
    }

    /// How many entries begin at or before position `at` of partition `key`.
    #[inline]
    pub fn count_up_to(&self, key: &DecoratedKey, at: &Bound) -> usize {
        let start = self.tokens.partition_point(|token| *token < key.token);
        let equal = self.tokens[start..].partition_point(|token| *token == key.token);
        let entries = &self.entries[start..start + equal];
        start + entries.partition_point(|entry| entry.cmp_start(key, at).is_le())
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

/// Where a page is, and where its first block begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRef {
    /// Where the page begins in the file, bytes.
    pub offset: u64,
    /// Its length with the checksum, bytes.
    pub length: u32,
    /// Number of its first block.
    pub first_block: u64,
    /// Its entries.
    pub entries: usize,
    /// First partition of its first block.
    pub first: DecoratedKey,
    /// First position of that block.
    pub first_at: Bound,
}

/// All pages of an index.
#[derive(Debug, Default)]
pub struct Directory {
    /// Pages in order.
    pub pages: Vec<PageRef>,
    /// Blocks of the file.
    pub blocks: u64,
}

impl Directory {
    /// The page that block number `block` is in, and the block's place in it.
    pub fn page_of(&self, block: u64) -> Option<(usize, usize)> {
        let page = self.pages.partition_point(|page| page.first_block <= block).checked_sub(1)?;
        let place = (block - self.pages[page].first_block) as usize;
        (place < self.pages[page].entries).then_some((page, place))
    }

    /// The last page whose first block begins at or before position `at` of partition `key`.
    #[inline]
    pub fn search(&self, key: &DecoratedKey, at: &Bound) -> Option<usize> {
        let behind = |page: &PageRef| page.first.cmp(key).then_with(|| page.first_at.cmp(at)).is_gt();
        self.pages.partition_point(|page| !behind(page)).checked_sub(1)
    }

    /// Reads the directory in `section`; pages lie back to back from `index_offset` to `index_end` of the file.
    ///
    /// # Errors
    /// `Corrupt` if the checksum is wrong, or pages are out of order or do not fill the index.
    pub fn decode(section: &[u8], offset: u64, index_offset: u64, index_end: u64) -> Result<Self> {
        let body = strip_checksum(section, "the index directory")?;
        let mut reader = ByteReader::with_base(body, offset);
        let count = reader.count(5, "index pages")?;
        let mut directory = Self { pages: Vec::with_capacity(count), blocks: 0 };
        let mut at = index_offset;
        for _ in 0..count {
            let entries = reader.varint_up_to(PAGE_ENTRIES as u64, "entries of an index page")? as usize;
            let length = reader.varint_up_to(u32::MAX.into(), "length of an index page")? as u32;
            let first = DecoratedKey::new(reader.bytes()?);
            let first_at = read_bound(&mut reader)?;
            if directory.pages.last().is_some_and(|last| (&last.first, &last.first_at) >= (&first, &first_at))
            {
                return Err(reader.error("index pages are out of order"));
            }
            directory.pages.push(PageRef {
                offset: at,
                length,
                first_block: directory.blocks,
                entries,
                first,
                first_at,
            });
            directory.blocks += entries as u64;
            at = at.saturating_add(length.into());
        }
        reader.expect_end()?;
        if at != index_end || directory.pages.iter().any(|page| page.entries == 0) {
            return Err(reader.error(&format!("index pages end at {at}, the index at {index_end}")));
        }
        Ok(directory)
    }
}

/// Collects entries into pages while blocks are written.
#[derive(Debug, Default)]
pub struct IndexBuilder {
    open: Vec<BlockEntry>,
    open_bytes: usize,
    /// Finished pages, back to back.
    pages: Vec<u8>,
    /// Of each finished page: entries, length, and the first entry's key and position.
    refs: Vec<(usize, usize, DecoratedKey, Bound)>,
    blocks: u64,
}

impl IndexBuilder {
    /// Adds the entry of the next block.
    pub fn push(&mut self, entry: BlockEntry) {
        self.open_bytes += entry.first.key.len() + entry.last.key.len();
        self.open_bytes += entry.summary.first.as_bytes().len() + entry.summary.last.as_bytes().len();
        self.open.push(entry);
        self.blocks += 1;
        if self.open.len() == PAGE_ENTRIES || self.open_bytes >= PAGE_BYTES {
            self.close_page();
        }
    }

    fn close_page(&mut self) {
        let Some(first) = self.open.first() else { return };
        let (key, at) = (first.first.clone(), first.summary.first.clone());
        let start = self.pages.len();
        encode_page(&self.open, &mut self.pages);
        put_checksum(&mut self.pages, start);
        self.refs.push((self.open.len(), self.pages.len() - start, key, at));
        self.open.clear();
        self.open_bytes = 0;
    }

    /// Blocks so far.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes of the index so far, without the directory; the open page by estimate.
    pub fn size_bytes(&self) -> usize {
        self.pages.len() + self.open_bytes + 64 * self.open.len()
    }

    /// The pages, and the directory with its checksum.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.close_page();
        let mut directory = Vec::new();
        put_varint(&mut directory, self.refs.len() as u64);
        for (entries, length, key, at) in &self.refs {
            put_varint(&mut directory, *entries as u64);
            put_varint(&mut directory, *length as u64);
            put_bytes(&mut directory, &key.key);
            put_bytes(&mut directory, at.as_bytes());
        }
        put_checksum(&mut directory, 0);
        (self.pages, directory)
    }
}

#[cfg(test)]
pub(crate) mod tests;
