//! SSTables of an open store: numbering, writing, opening, removing.

use crate::compact::split::Sink;
use crate::db::Inner;
use crate::encoding::plain::PlainRow;
use crate::env::sstable_path;
use crate::error::{ErrorKind, Result};
use crate::memtable::flush::{Flush, FlushItem};
use crate::model::fragment::Fragment;
use crate::model::schema::TableSchema;
use crate::sstable::meta::{FileId, FileMeta};
use crate::sstable::writer::{SsTableWriter, WriterOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A new SSTable of a table.
pub(crate) struct FileSink(SsTableWriter);

impl FileSink {
    /// Begins a file at `level`, made from `ancestors`.
    pub(crate) fn create(
        inner: &Inner,
        schema: &Arc<TableSchema>,
        ancestors: Vec<FileId>,
        level: u32,
    ) -> Result<Self> {
        let dir = inner.dir.table(&schema.keyspace, &schema.name, schema.id)?;
        Self::begin(inner, &dir, schema, ancestors, level)
    }

    /// Begins a file in another directory than the table's, for a snapshot.
    pub(crate) fn create_in(inner: &Inner, dir: &Path, schema: &Arc<TableSchema>) -> Result<Self> {
        Self::begin(inner, dir, schema, Vec::new(), 0)
    }

    fn begin(
        inner: &Inner,
        dir: &Path,
        schema: &TableSchema,
        ancestors: Vec<FileId>,
        level: u32,
    ) -> Result<Self> {
        let id = inner.next_file();
        // Not the clock's time, which may stand still or go back: the next opening draws timestamps later than this one.
        let mut options = WriterOptions::of(schema, id, inner.commit.next_micros());
        (options.ancestors, options.level) = (ancestors, level);
        let path = sstable_path(dir, id.0);
        Ok(Self(SsTableWriter::create(Arc::clone(&inner.env), &path, schema, options)?))
    }

    /// Appends all that a memtable holds.
    pub(crate) fn write_all(&mut self, mut stream: Flush) -> Result<()> {
        while let Some(item) = stream.next_item()? {
            match item {
                FlushItem::Fragment(fragment) => self.0.push(&fragment)?,
                FlushItem::Plain(rows) => self.0.push_plain(&rows)?,
            }
        }
        Ok(())
    }

    /// Finishes the file; `None` if nothing was written, and then there is no file.
    pub(crate) fn finish(self) -> Result<Option<Arc<FileMeta>>> {
        Ok(self.0.finish()?.map(Arc::new))
    }
}

impl Sink for FileSink {
    fn push(&mut self, fragment: Fragment) -> Result<()> {
        self.0.push(&fragment)
    }

    fn push_plain(&mut self, rows: &[PlainRow<'_>]) -> Result<()> {
        self.0.push_plain(rows)
    }
}

/// Removes finished files that were not installed. A file that cannot be removed now goes at the next opening.
pub(crate) fn discard(inner: &Inner, schema: &TableSchema, metas: &[Arc<FileMeta>]) {
    for meta in metas {
        if let Ok(path) = inner.file_path(schema, meta.id) {
            let _ = inner.env.remove(&path);
        }
    }
}

/// Removes files whose installation did not happen. After `Closed` the manifest does not know whether its record is on
/// the disk: then they stay, and the next opening decides.
pub(crate) fn discard_unless_installed(
    inner: &Inner,
    schema: &TableSchema,
    metas: &[Arc<FileMeta>],
    installed: &Result<bool>,
) {
    match installed {
        Ok(true) => {}
        Err(error) if error.kind() == ErrorKind::Closed => {}
        Ok(false) | Err(_) => discard(inner, schema, metas),
    }
}

impl Inner {
    /// A number for a new file.
    pub(crate) fn next_file(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// Where a table's file lies.
    pub(crate) fn file_path(&self, schema: &TableSchema, id: FileId) -> Result<PathBuf> {
        Ok(sstable_path(&self.dir.table(&schema.keyspace, &schema.name, schema.id)?, id.0))
    }
}
