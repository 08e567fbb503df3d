//! An SSTable as readers hold it: opened lazily, shared by all, removed when nobody needs it any more.
//!
//! Opening costs nothing: the card comes from the manifest, the file is mapped when it is first asked for. Lookups start at
//! [`SsTable::may_contain`] and [`SsTable::partition`], whole-file reads at [`SsTable::scan`], aggregates at [`SsTable::blocks`].
//!
//! # Invariants
//! 1. No byte is used before the checksum over it was found right: header, footer, directory and schema when the file is first
//!    used, the filter at the first lookup, an index page or block each time it comes from the file and not from the cache.
//! 2. Every error of this module names the file, the offset of the damaged part, and the table.
//!
//! # Threads
//! Everything is shared. Two threads that use a file for the first time may both map it; one mapping stays.

use crate::env::{Env, ReadableFile};
use crate::error::{Error, ErrorKind, Result};
use crate::model::clustering::Bound;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::schema::TableSchema;
use crate::model::token::hash128;
use crate::sstable::block::decoded::DecodedBlock;
use crate::sstable::blocks::{BlockRef, Blocks};
use crate::sstable::cache::BlockCache;
use crate::sstable::file_schema;
use crate::sstable::filter::FilterShape;
use crate::sstable::footer::{HEADER_BYTES, Sections};
use crate::sstable::index::{BlockEntry, Directory, IndexPage};
use crate::sstable::index_page::decode_page;
use crate::sstable::layout::BlockSchema;
use crate::sstable::meta::{FileId, FileMeta};
use crate::sstable::partition::SsPartition;
use crate::sstable::scan::Scan;
use crate::sstable::statistics::Statistics;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// One file, open for reading. See the module's page.
pub struct SsTable {
    env: Arc<dyn Env>,
    path: Arc<Path>,
    meta: Arc<FileMeta>,
    cache: Arc<BlockCache>,
    core: OnceLock<Core>,
    obsolete: AtomicBool,
}

/// What is known of a file once it was used.
struct Core {
    file: Arc<dyn ReadableFile>,
    sections: Sections,
    directory: Directory,
    layout: Arc<BlockSchema>,
    /// `None`: the table has no filter.
    filter: OnceLock<Option<FilterShape>>,
}

/// The stored bytes of a block, which keep the mapping alive.
struct BlockBytes {
    file: Arc<dyn ReadableFile>,
    start: usize,
    end: usize,
}

impl AsRef<[u8]> for BlockBytes {
    fn as_ref(&self) -> &[u8] {
        self.file.bytes().get(self.start..self.end).unwrap_or_default()
    }
}

impl SsTable {
    /// The file at `path`, which `meta` describes. Nothing is read yet.
    pub fn open(env: Arc<dyn Env>, path: &Path, meta: Arc<FileMeta>, cache: Arc<BlockCache>) -> Arc<Self> {
        let (path, obsolete) = (Arc::from(path), AtomicBool::new(false));
        Arc::new(Self { env, path, meta, cache, core: OnceLock::new(), obsolete })
    }

    /// Opens a file that no manifest describes: the card is read from its statistics.
    ///
    /// # Errors
    /// `Corrupt` if header, footer or statistics are damaged, those of opening a file.
    pub fn open_alone(env: Arc<dyn Env>, path: &Path, cache: Arc<BlockCache>) -> Result<Arc<Self>> {
        let file = env.open_read(path)?;
        let statistics = read_statistics(file.bytes()).map_err(|error| placed(error, path, 0))?;
        Ok(Self::open(env, path, Arc::new(statistics.card), cache))
    }

    /// The file's number.
    pub fn id(&self) -> FileId {
        self.meta.id
    }

    /// What the manifest says of it.
    pub fn meta(&self) -> &Arc<FileMeta> {
        &self.meta
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the file is to be removed when the last handle goes.
    pub fn mark_obsolete(&self) {
        self.obsolete.store(true, Ordering::Release);
    }

    /// The columns that its blocks were written with.
    ///
    /// # Errors
    /// `Corrupt` if the file is damaged, those of opening a file; so for everything below.
    pub fn layout(&self) -> Result<&Arc<BlockSchema>> {
        Ok(&self.core()?.layout)
    }

    /// The table as it was defined when the file was written.
    pub fn stored_schema(&self) -> Result<TableSchema> {
        let core = self.core()?;
        let (start, end) = (core.sections.schema, core.sections.footer);
        file_schema::table(self.section(core, start, end)?, start)
            .map_err(|error| self.place_error(error, start))
    }

    /// All counts of the file.
    pub fn statistics(&self) -> Result<Statistics> {
        let core = self.core()?;
        read_statistics(core.file.bytes()).map_err(|error| self.place_error(error, core.sections.statistics))
    }

    /// Whether partition `key` may be in it: by the range of partitions, then by the filter.
    #[inline]
    pub fn may_contain(&self, key: &DecoratedKey) -> Result<bool> {
        Ok(self.meta.covers(key) && self.filter_admits(hash128(&key.key))?)
    }

    /// [`SsTable::may_contain`] for a key whose [`hash128`] is known: a lookup in many files hashes once.
    #[inline]
    pub fn may_contain_hashed(&self, key: &DecoratedKey, hash: (u64, u64)) -> Result<bool> {
        Ok(self.meta.covers(key) && self.filter_admits(hash)?)
    }

    /// Whether its filter lets a key with this [`hash128`] pass; the range of partitions is not looked at.
    ///
    /// # Errors
    /// As [`SsTable::may_contain`].
    #[inline]
    pub fn filter_admits(&self, hash: (u64, u64)) -> Result<bool> {
        let core = self.core()?;
        let filter = match core.filter.get() {
            Some(filter) => filter,
            None => self.check_filter(core)?,
        };
        let Some(shape) = filter else { return Ok(true) };
        let section = core.file.bytes().get(core.sections.filter as usize..core.sections.statistics as usize);
        Ok(shape.may_contain(section.unwrap_or_default(), hash))
    }

    #[cold]
    fn check_filter<'a>(&self, core: &'a Core) -> Result<&'a Option<FilterShape>> {
        let (start, end) = (core.sections.filter, core.sections.statistics);
        let shape = match start == end {
            true => None,
            false => {
                let section = self.section(core, start, end)?;
                Some(FilterShape::check(section, start).map_err(|error| self.place_error(error, start))?)
            }
        };
        Ok(core.filter.get_or_init(|| shape))
    }

    /// Partition `key`, if the file has it. The filter is not asked: that is [`SsTable::may_contain`].
    pub fn partition(self: &Arc<Self>, key: &DecoratedKey) -> Result<Option<SsPartition>> {
        SsPartition::find(self, key)
    }

    /// All fragments of the partitions in `tokens`, in order. Blocks that are not in the cache are not put there.
    pub fn scan(self: &Arc<Self>, tokens: TokenRange) -> Result<Scan> {
        Scan::new(self, tokens)
    }

    /// The index entries of all blocks, in order.
    pub fn blocks(self: &Arc<Self>) -> Result<Blocks> {
        Ok(Blocks::new(Arc::clone(self), self.first_block()?))
    }

    /// The first block.
    pub fn first_block(&self) -> Result<Option<BlockRef>> {
        self.block_at(0)
    }

    /// Block number `number`, if there are so many.
    pub(super) fn block_at(&self, number: u64) -> Result<Option<BlockRef>> {
        let core = self.core()?;
        let Some((page, place)) = core.directory.page_of(number) else { return Ok(None) };
        Ok(Some(BlockRef::new(self.page(core, page)?, place)))
    }

    /// The last block that begins at or before position `at` of partition `key`; `None` if all begin after it.
    #[inline]
    pub(super) fn search(&self, key: &DecoratedKey, at: &Bound) -> Result<Option<BlockRef>> {
        let core = self.core()?;
        let Some(page) = core.directory.search(key, at) else { return Ok(None) };
        let page = self.page(core, page)?;
        let place = page.count_up_to(key, at);
        // The page's first entry begins at or before it, as the directory says.
        Ok(Some(BlockRef::new(page, place.saturating_sub(1))))
    }

    #[inline]
    fn page(&self, core: &Core, number: usize) -> Result<Arc<IndexPage>> {
        let page = &core.directory.pages[number];
        if let Some(cached) = self.cache.page(self.meta.id, page.offset) {
            return Ok(cached);
        }
        let bytes = self.section(core, page.offset, page.offset + u64::from(page.length))?;
        let decoded = decode_page(bytes, page, core.sections.index);
        let decoded = Arc::new(decoded.map_err(|error| self.place_error(error, page.offset))?);
        self.cache.put_page(self.meta.id, page.offset, &decoded);
        Ok(decoded)
    }

    /// The block of `entry`, from the cache or else from the file and then kept in the cache.
    #[inline]
    pub fn load_block(&self, entry: &BlockEntry) -> Result<Arc<DecodedBlock>> {
        if let Some(block) = self.cache.block(self.meta.id, entry.offset) {
            return Ok(block);
        }
        let block = self.read_block(entry)?;
        self.cache.put_block(self.meta.id, entry.offset, &block);
        Ok(block)
    }

    /// The block of `entry` for who reads much and once: from the cache if it is there, else not kept.
    pub fn peek_block(&self, entry: &BlockEntry) -> Result<Arc<DecodedBlock>> {
        match self.cache.block(self.meta.id, entry.offset) {
            Some(block) => Ok(block),
            None => self.read_block(entry),
        }
    }

    /// The block of `entry`, from the file.
    pub fn read_block(&self, entry: &BlockEntry) -> Result<Arc<DecodedBlock>> {
        let core = self.core()?;
        self.block_bytes(entry)?;
        let bytes = BlockBytes {
            file: Arc::clone(&core.file),
            start: entry.offset as usize,
            end: (entry.offset + u64::from(entry.length)) as usize,
        };
        let block = DecodedBlock::open(Box::new(bytes), Arc::clone(&core.layout))
            .map_err(|error| self.place_error(error, entry.offset))?
            .from_file(&self.path, entry.offset, entry.zone().min_local);
        if block.partitions() != entry.summary.partitions
            || block.items() != entry.summary.items
            || block.partition(0).key != &*entry.first.key
        {
            let error = Error::malformed("the block is not the one that the index describes");
            return Err(self.place_error(error, entry.offset));
        }
        Ok(Arc::new(block))
    }

    /// The stored bytes of a block, checksum included, not yet checked.
    pub fn block_bytes(&self, entry: &BlockEntry) -> Result<&[u8]> {
        let core = self.core()?;
        self.section(core, entry.offset, entry.offset.saturating_add(entry.length.into()))
    }

    /// Adds file, offset and table to an error from the part of the file at `offset`, if it has no place yet.
    #[cold]
    pub(super) fn place_error(&self, error: Error, offset: u64) -> Error {
        let error = placed(error, &self.path, offset);
        if error.kind() != ErrorKind::Corrupt {
            return error;
        }
        error.hint(format!(
            "file {} of table {}: restore it from a snapshot, or salvage what is left of it",
            self.meta.id, self.meta.table.0
        ))
    }

    /// The whole file and where its sections are, for checks and dumps.
    pub(super) fn bytes_and_sections(&self) -> Result<(&[u8], &Sections)> {
        let core = self.core()?;
        Ok((core.file.bytes(), &core.sections))
    }

    /// The index's pages.
    pub(super) fn directory(&self) -> Result<&Directory> {
        Ok(&self.core()?.directory)
    }

    fn section<'a>(&self, core: &'a Core, start: u64, end: u64) -> Result<&'a [u8]> {
        section(core.file.bytes(), start, end).map_err(|error| self.place_error(error, start))
    }

    #[inline]
    fn core(&self) -> Result<&Core> {
        match self.core.get() {
            Some(core) => Ok(core),
            None => {
                let core = self.load()?;
                Ok(self.core.get_or_init(|| core))
            }
        }
    }

    #[cold]
    fn load(&self) -> Result<Core> {
        let file = self.env.open_read(&self.path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let text = format!("the file is missing: {}", error.message());
                self.place_error(Error::malformed(text), 0)
            }
            _ => error,
        })?;
        let bytes = file.bytes();
        let sections = Sections::read(bytes).map_err(|error| self.place_error(error, 0))?;
        if bytes.len() as u64 != self.meta.size_bytes {
            let text = format!("the file has {} bytes, {} expected", bytes.len(), self.meta.size_bytes);
            return Err(self.place_error(Error::malformed(text), bytes.len() as u64));
        }
        let part = |start: u64, end: u64| section(bytes, start, end);
        let directory = part(sections.directory, sections.filter)
            .and_then(|part| Directory::decode(part, sections.directory, sections.index, sections.directory))
            .and_then(|directory| match directory.blocks == sections.blocks && directory.blocks > 0 {
                true => Ok(directory),
                false => Err(Error::malformed(format!(
                    "{} blocks in the index, {} in the footer",
                    directory.blocks, sections.blocks
                ))),
            })
            .map_err(|error| self.place_error(error, sections.directory))?;
        let layout = part(sections.schema, sections.footer)
            .and_then(|part| file_schema::layout(part, sections.schema, sections.fingerprint))
            .map_err(|error| self.place_error(error, sections.schema))?;
        let layout = self.cache.share_layout(layout);
        Ok(Core { file, sections, directory, layout, filter: OnceLock::new() })
    }
}

impl Drop for SsTable {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            self.core.take();
            self.cache.forget(self.meta.id);
            // Nobody can act on a failure here: a file that no manifest names is removed at the next opening.
            let _ = self.env.remove(&self.path);
        }
    }
}

impl std::fmt::Debug for SsTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SsTable").field("path", &self.path).field("id", &self.meta.id).finish()
    }
}

/// Bytes `start..end` of a file.
fn section(file: &[u8], start: u64, end: u64) -> Result<&[u8]> {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let bytes = range
        .filter(|(start, _)| *start >= HEADER_BYTES || *start == 0)
        .and_then(|(start, end)| file.get(start..end));
    bytes.ok_or_else(|| {
        Error::malformed(format!("bytes {start} to {end} do not lie in a file of {}", file.len()))
    })
}

fn read_statistics(file: &[u8]) -> Result<Statistics> {
    let sections = Sections::read(file)?;
    let bytes = section(file, sections.statistics, sections.schema)?;
    let statistics = Statistics::decode(bytes, sections.statistics, file.len() as u64);
    statistics.map_err(|error| error.at("", sections.statistics))
}

/// Puts a place on an error: the file, and `offset` unless the error knows a better one.
fn placed(error: Error, path: &Path, offset: u64) -> Error {
    match (error.file().is_some_and(|file| !file.as_os_str().is_empty()), error.offset()) {
        (true, _) => error,
        (false, Some(known)) => error.at(path, known),
        (false, None) => error.at(path, offset),
    }
}
