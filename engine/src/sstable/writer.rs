//! Writes one SSTable from a sorted stream of fragments.
//!
//! Flush and compaction create a writer, push partitions, static rows, rows and bounds in order, and finish. Blocks are closed by the
//! block builder's rule; a partition may run over many. Whole blocks and runs of rows that compaction takes over as they are
//! go through [`copy`](crate::sstable::copy).
//!
//! # Invariants
//! 1. The file appears under its name complete, synced, and with its name synced, or not at all: it is written under a temporary
//!    name, which is removed when the writer is dropped unfinished.
//! 2. What is pushed is strictly ascending: partitions by token and key, the static row first, rows and bounds by place. A
//!    violation is an error, never a file that is out of order.
//! 3. A partition begins in the same block as its first item; a partition with neither item nor deletion is not written.
//! 4. After an error the writer does nothing but fail.

use crate::encoding::plain::PlainRow;
use crate::env::{Env, WritableFile, temporary};
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::fragment::{Fragment, RangeBound};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::model::token::hash128;
use crate::sstable::block::builder::BlockBuilder;
use crate::sstable::drop_times::DropTimes;
use crate::sstable::file_schema;
use crate::sstable::filter::FilterBuilder;
use crate::sstable::footer::{FOOTER_BYTES, Sections, header};
use crate::sstable::index::{BlockEntry, IndexBuilder};
use crate::sstable::layout::BlockSchema;
use crate::sstable::meta::FileMeta;
use crate::sstable::progress::{Current, OpenBlock, Place};
use crate::sstable::statistics::Collector;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::sstable::progress::WriterOptions;

/// Finished blocks are handed to the file in chunks of at least this many bytes.
pub(super) const CHUNK_BYTES: usize = 128 << 10;

/// An SSTable that is being written.
pub struct SsTableWriter {
    env: Arc<dyn Env>,
    path: PathBuf,
    temporary: PathBuf,
    file: Option<Box<dyn WritableFile>>,
    /// Bytes that are not yet in the file.
    pub(super) buffer: Vec<u8>,
    /// Bytes in the file.
    flushed: u64,
    pub(super) options: WriterOptions,
    pub(super) table: TableSchema,
    pub(super) layout: Arc<BlockSchema>,
    schema_section: Vec<u8>,
    fingerprint: u32,
    pub(super) block: BlockBuilder,
    pub(super) open_block: OpenBlock,
    pub(super) index: IndexBuilder,
    pub(super) filter: FilterBuilder,
    pub(super) collector: Collector,
    pub(super) current: Option<Current>,
    /// First and last partition that stand in a block.
    pub(super) ends: Option<(DecoratedKey, DecoratedKey)>,
    /// From the first item to the last, over the partitions that are complete.
    pub(super) clustering: Option<ClusteringRange>,
    failed: bool,
    finished: bool,
}

impl SsTableWriter {
    /// Begins a file that will be named `path`, for rows of `table`.
    ///
    /// # Errors
    /// Those of creating a file.
    pub fn create(
        env: Arc<dyn Env>,
        path: &Path,
        table: &TableSchema,
        options: WriterOptions,
    ) -> Result<Self> {
        let layout = Arc::new(BlockSchema::of(table));
        let (schema_section, fingerprint) = file_schema::encode(&layout, table);
        let temporary = temporary(path);
        let file = env.create(&temporary)?;
        let mut buffer = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 2);
        buffer.extend_from_slice(&header(fingerprint));
        Ok(Self {
            env,
            path: path.to_path_buf(),
            temporary,
            file: Some(file),
            buffer,
            flushed: 0,
            block: BlockBuilder::new(Arc::clone(&layout), options.codec),
            open_block: OpenBlock::default(),
            index: IndexBuilder::default(),
            filter: FilterBuilder::new(options.fp_chance),
            collector: Collector::default(),
            current: None,
            ends: None,
            clustering: None,
            failed: false,
            finished: false,
            options,
            table: table.clone(),
            layout,
            schema_section,
            fingerprint,
        })
    }

    /// The columns that blocks are written with.
    pub fn layout(&self) -> &Arc<BlockSchema> {
        &self.layout
    }

    /// About how large the file would be if it were finished now, bytes: for cutting files at a size.
    pub fn size_bytes(&self) -> u64 {
        let filter = self.filter.keys() * 2;
        self.flushed + (self.buffer.len() + self.index.size_bytes() + filter) as u64
    }

    /// Whether no partition was pushed.
    pub fn is_empty(&self) -> bool {
        self.ends.is_none() && self.current.is_none()
    }

    /// The partition that was pushed last.
    pub fn partition(&self) -> Option<&DecoratedKey> {
        self.current.as_ref().map(|current| &current.key)
    }

    /// Pushes the next fragment.
    ///
    /// # Errors
    /// `Invalid` if it does not follow the one before, or is not of the table; those of writing to a file.
    pub fn push(&mut self, fragment: &Fragment) -> Result<()> {
        match fragment {
            Fragment::Partition { key, deletion } => self.push_partition(key, *deletion),
            Fragment::Static(row) => self.push_static(row),
            Fragment::Row(row) => self.push_row(row),
            Fragment::Bound(bound) => self.push_bound(bound),
        }
    }

    /// Begins a partition. Errors as for [`SsTableWriter::push`]; so below.
    pub fn push_partition(&mut self, key: &DecoratedKey, deletion: Option<Deletion>) -> Result<()> {
        self.guard(|writer| {
            writer.end_partition()?;
            if let Some(last) = &writer.current
                && last.key >= *key
            {
                return Err(out_of_order("partition"));
            }
            let (key, place) = (key.clone(), Place::Start);
            writer.current = Some(Current { key, deletion, begun: false, place, open: None });
            Ok(())
        })
    }

    /// Pushes the partition's static row, which comes before all others.
    pub fn push_static(&mut self, row: &Row) -> Result<()> {
        self.guard(|writer| {
            let current = writer.start_item()?;
            if !matches!(current.place, Place::Start) {
                return Err(out_of_order("static row"));
            }
            current.place = Place::Static;
            writer.count_items(1);
            writer.block.push_static(row)
        })
    }

    /// Pushes a row.
    #[inline]
    pub fn push_row(&mut self, row: &Row) -> Result<()> {
        self.guard(|writer| {
            let current = writer.start_item()?;
            if !current.place.before_row(&row.clustering) {
                return Err(out_of_order("row"));
            }
            let first = matches!(current.place, Place::Start | Place::Static);
            current.place = Place::Row(row.clustering.clone());
            writer.count_items(1);
            if first {
                writer.widen_start(&Bound::before(row.clustering.order()));
            }
            writer.block.push_row(row)
        })
    }

    /// Pushes rows as a memtable holds them, without building them.
    pub fn push_plain(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        self.guard(|writer| {
            let mut rest = rows;
            while !rest.is_empty() {
                writer.start_item()?;
                let (run, left) = rest.split_at(writer.block.room_for(rest));
                writer.push_run(run)?;
                rest = left;
            }
            Ok(())
        })
    }

    /// Pushes rows into the open block.
    fn push_run(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(()) };
        let current = self.start_item()?;
        let ascend = rows.windows(2).all(|pair| pair[0].is_before(&pair[1]));
        if !ascend || !current.place.before_order(first.clustering) {
            return Err(out_of_order("row"));
        }
        let begins = matches!(current.place, Place::Start | Place::Static);
        current.place = Place::Row(Clustering::new(Bytes::new(last.clustering)));
        self.count_items(rows.len());
        if begins {
            self.widen_start(&Bound::before(first.clustering));
        }
        self.block.push_plain(rows)
    }

    /// Pushes a place where the range deletion in force changes.
    pub fn push_bound(&mut self, bound: &RangeBound) -> Result<()> {
        self.guard(|writer| {
            let current = writer.start_item()?;
            if !current.place.before_bound(&bound.at) {
                return Err(out_of_order("range bound"));
            }
            let first = matches!(current.place, Place::Start | Place::Static);
            current.place = Place::Bound(bound.at.clone());
            current.open = bound.deletion;
            writer.count_items(1);
            if first {
                writer.widen_start(&bound.at);
            }
            writer.block.push_bound(bound)
        })
    }

    /// Runs `step`, and fails from then on if it fails (invariant 4).
    #[inline]
    pub(super) fn guard<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.failed {
            return Err(Error::invalid("an SSTable writer was used after an error").in_file(&self.path));
        }
        let done = step(self);
        done.map_err(|error| {
            self.failed = true;
            let error = error.in_table(self.table.full_name());
            if error.file().is_none() { error.in_file(&self.path) } else { error }
        })
    }

    /// Makes room for an item of the current partition: begins it, or closes a full block and goes on in the next.
    #[inline]
    pub(super) fn start_item(&mut self) -> Result<&mut Current> {
        let begun = self.current.as_ref().is_some_and(|current| current.begun);
        if !begun {
            self.begin_partition()?;
        } else if self.block.is_empty() || (self.block.is_full() && !self.is_at_partition_head()) {
            // An empty builder follows a copied block. A block that the key alone fills takes one item all the same: two
            // blocks would begin at one place otherwise.
            self.close_block()?;
            self.continue_partition()?;
        }
        self.current.as_mut().ok_or_else(|| Error::invalid("an item was pushed before its partition"))
    }

    /// Whether the current partition has no item in the open block yet.
    fn is_at_partition_head(&self) -> bool {
        self.open_block.items.last() == Some(&0)
    }

    pub(super) fn count_items(&mut self, count: usize) {
        if let Some(items) = self.open_block.items.last_mut() {
            *items += count as u64;
        }
    }

    /// Writes the current partition's beginning.
    pub(super) fn begin_partition(&mut self) -> Result<()> {
        if self.block.is_full() {
            self.close_block()?;
        }
        let Some(current) = &mut self.current else {
            return Err(Error::invalid("an item was pushed before its partition"));
        };
        current.begun = true;
        self.block.begin_partition(&current.key.key, current.deletion)?;
        if self.open_block.first.is_none() {
            self.open_block.first = Some(current.key.clone());
        }
        self.open_block.items.push(0);
        self.filter.add(hash128(&current.key.key));
        self.ends = Some(match self.ends.take() {
            Some((first, _)) => (first, current.key.clone()),
            None => (current.key.clone(), current.key.clone()),
        });
        Ok(())
    }

    fn continue_partition(&mut self) -> Result<()> {
        let Some(current) = &self.current else { return Ok(()) };
        self.block.begin_partition(&current.key.key, current.deletion)?;
        self.open_block = OpenBlock {
            first: Some(current.key.clone()),
            continues: true,
            open: current.open,
            items: vec![0],
            repeats: current.deletion.is_some(),
        };
        Ok(())
    }

    /// Ends the current partition.
    pub(super) fn end_partition(&mut self) -> Result<()> {
        let Some(current) = &self.current else { return Ok(()) };
        if current.open.is_some() {
            return Err(Error::invalid("a partition ended while a range deletion was in force"));
        }
        if !current.begun && current.deletion.is_some() {
            self.begin_partition()?;
        }
        let end = match self.current.as_ref().map(|current| &current.place) {
            Some(Place::Row(last)) => Bound::after(last.order()),
            Some(Place::Bound(last)) => last.clone(),
            _ => return Ok(()),
        };
        self.widen_end(&end);
        Ok(())
    }

    pub(super) fn widen_start(&mut self, at: &Bound) {
        let range =
            self.clustering.get_or_insert_with(|| ClusteringRange { start: at.clone(), end: at.clone() });
        if *at < range.start {
            range.start = at.clone();
        }
    }

    pub(super) fn widen_end(&mut self, at: &Bound) {
        if let Some(range) = &mut self.clustering
            && *at > range.end
        {
            range.end = at.clone();
        }
    }

    /// Finishes the block that is being filled, if there is one.
    pub(super) fn close_block(&mut self) -> Result<()> {
        let block = std::mem::take(&mut self.open_block);
        let (Some(first), false) = (block.first, self.block.is_empty()) else { return Ok(()) };
        let start = self.buffer.len();
        let summary = self.block.finish(&mut self.buffer, block.continues, block.open)?;
        let length = u32::try_from(self.buffer.len() - start)
            .map_err(|_| Error::invalid("a block is larger than 4 GiB"))?;
        let last = self.ends.as_ref().map_or_else(|| first.clone(), |ends| ends.1.clone());
        let entry = BlockEntry {
            offset: self.flushed + start as u64,
            length,
            first,
            last,
            continues: block.continues,
            open: block.open.is_some(),
            summary,
        };
        self.collector.add_block(&entry, Some(&block.items), block.repeats);
        self.index.push(entry);
        self.flush_buffer(CHUNK_BYTES)
    }

    /// Hands the buffer to the file if it holds `least` bytes.
    pub(super) fn flush_buffer(&mut self, least: usize) -> Result<()> {
        if self.buffer.len() >= least
            && let Some(file) = &mut self.file
        {
            file.append(&self.buffer)?;
            self.flushed += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Where the next byte will stand in the file.
    pub(super) fn offset(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Completes the file, syncs it and gives it its name. `None`, and no file, if no partition was written.
    ///
    /// # Errors
    /// `Invalid` if a range deletion was left open, those of writing, syncing and renaming a file.
    pub fn finish(mut self) -> Result<Option<FileMeta>> {
        self.guard(Self::finish_file)
    }

    fn finish_file(&mut self) -> Result<Option<FileMeta>> {
        self.end_partition()?;
        self.close_block()?;
        let Some((first, last)) = self.ends.clone() else { return Ok(None) };
        let blocks = self.index.blocks();
        let (pages, directory) = std::mem::take(&mut self.index).finish();
        let index = self.offset();
        self.buffer.extend_from_slice(&pages);
        let directory_at = self.offset();
        self.buffer.extend_from_slice(&directory);
        let filter_at = self.offset();
        let filter = std::mem::replace(&mut self.filter, FilterBuilder::new(1.0));
        let filter = filter.finish(filter_at);
        self.buffer.extend_from_slice(&filter);
        let statistics_at = self.offset();
        let card = self.card(first, last);
        let statistics = std::mem::take(&mut self.collector).finish(card);
        self.buffer.extend_from_slice(&statistics.encode());
        let schema_at = self.offset();
        self.buffer.extend_from_slice(&self.schema_section);
        let sections = Sections {
            index,
            directory: directory_at,
            filter: filter_at,
            statistics: statistics_at,
            schema: schema_at,
            footer: self.offset(),
            blocks,
            fingerprint: self.fingerprint,
        };
        self.buffer.extend_from_slice(&sections.encode());
        let card = FileMeta { size_bytes: sections.footer + FOOTER_BYTES as u64, ..statistics.card };
        self.flush_buffer(0)?;
        if let Some(mut file) = self.file.take() {
            file.sync()?;
        }
        self.env.rename(&self.temporary, &self.path)?;
        self.finished = true;
        self.env.sync_dir(directory_of(&self.path))?;
        Ok(Some(card))
    }

    /// The card, but for what the collector knows.
    fn card(&self, first: DecoratedKey, last: DecoratedKey) -> FileMeta {
        FileMeta {
            id: self.options.id,
            table: self.table.id,
            size_bytes: 0,
            level: self.options.level,
            created_micros: self.options.created_micros,
            first,
            last,
            partitions: 0,
            rows: 0,
            cells: 0,
            tombstones: 0,
            min_timestamp: 0,
            max_timestamp: 0,
            min_local: 0,
            max_local: 0,
            clustering: self.clustering.clone(),
            has_partition_deletion: false,
            has_range_deletion: false,
            has_static: false,
            drop_times: DropTimes::default(),
            ancestors: self.options.ancestors.clone(),
        }
    }
}

impl Drop for SsTableWriter {
    fn drop(&mut self) {
        if !self.finished {
            drop(self.file.take());
            // Nobody can act on a failure here; the next opening of the store removes temporary files.
            let _ = self.env.remove(&self.temporary);
        }
    }
}

impl std::fmt::Debug for SsTableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SsTableWriter")
            .field("path", &self.path)
            .field("size_bytes", &self.size_bytes())
            .finish()
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

#[cold]
pub(super) fn out_of_order(what: &str) -> Error {
    Error::invalid(format!("a {what} was pushed that does not follow what was pushed before"))
}
