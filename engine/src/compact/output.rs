//! The files that a compaction writes: begun when needed, cut at a size, and all removed if it fails.

use crate::compact::split::Sink;
use crate::env::{Env, sstable_path};
use crate::error::Result;
use crate::model::fragment::Fragment;
use crate::model::key::DecoratedKey;
use crate::model::schema::TableSchema;
use crate::sstable::meta::{FileId, FileMeta};
use crate::sstable::writer::{SsTableWriter, WriterOptions};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What every output of one compaction has in common.
pub(crate) struct OutputPlan<'a> {
    pub(crate) env: &'a Arc<dyn Env>,
    pub(crate) directory: &'a Path,
    pub(crate) schema: &'a TableSchema,
    pub(crate) level: u32,
    pub(crate) ancestors: Vec<FileId>,
    /// When the files are written, micros; never earlier than the inputs were.
    pub(crate) created_micros: i64,
    pub(crate) next_id: &'a (dyn Fn() -> Result<FileId> + Sync),
    /// Files begun so far.
    pub(crate) begun: RefCell<Vec<FileId>>,
}

impl OutputPlan<'_> {
    /// Begins a file.
    pub(crate) fn create(&self) -> Result<SsTableWriter> {
        let id = (self.next_id)()?;
        self.begun.borrow_mut().push(id);
        let base = WriterOptions::of(self.schema, id, self.created_micros);
        let options = WriterOptions { level: self.level, ancestors: self.ancestors.clone(), ..base };
        SsTableWriter::create(Arc::clone(self.env), &self.path(id), self.schema, options)
    }

    fn path(&self, id: FileId) -> PathBuf {
        sstable_path(self.directory, id.0)
    }
}

impl Sink for SsTableWriter {
    fn push(&mut self, fragment: Fragment) -> Result<()> {
        SsTableWriter::push(self, &fragment)
    }
}

/// Finished outputs. Dropped without [`Outputs::keep`], it removes every file that was begun.
pub(crate) struct Outputs<'a> {
    plan: &'a OutputPlan<'a>,
    files: Vec<FileMeta>,
    kept: bool,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(plan: &'a OutputPlan<'a>) -> Self {
        Self { plan, files: Vec::new(), kept: false }
    }

    /// Completes a file, if it holds anything.
    pub(crate) fn finish(&mut self, writer: SsTableWriter) -> Result<()> {
        self.files.extend(writer.finish()?);
        Ok(())
    }

    /// Hands the files over: from now on they are the caller's.
    pub(crate) fn keep(mut self) -> Vec<FileMeta> {
        self.kept = true;
        std::mem::take(&mut self.files)
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // Also a file whose last step failed may have its name already. No manifest names any of them: what cannot be
        // removed now, the next opening of the store removes.
        for id in self.plan.begun.borrow_mut().drain(..) {
            let _ = self.plan.env.remove(&self.plan.path(id));
        }
    }
}

/// One writer at a time; a new one where a partition begins and the file has its size.
pub(crate) struct Rolling<'a> {
    plan: &'a OutputPlan<'a>,
    target_bytes: u64,
    writer: Option<SsTableWriter>,
    outputs: Outputs<'a>,
}

impl<'a> Rolling<'a> {
    pub(crate) fn new(plan: &'a OutputPlan<'a>, target_bytes: u64) -> Self {
        Self { plan, target_bytes, writer: None, outputs: Outputs::new(plan) }
    }

    /// The writer for what belongs to the partition that is under way.
    pub(crate) fn writer(&mut self) -> Result<&mut SsTableWriter> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            empty => Ok(empty.insert(self.plan.create()?)),
        }
    }

    /// The writer for a new partition: another file if this one is large enough.
    pub(crate) fn writer_for_partition(&mut self) -> Result<&mut SsTableWriter> {
        if let Some(full) = self.writer.take_if(|writer| writer.size_bytes() >= self.target_bytes) {
            self.outputs.finish(full)?;
        }
        self.writer()
    }

    /// The partition that is under way.
    pub(crate) fn partition(&self) -> Option<&DecoratedKey> {
        self.writer.as_ref().and_then(SsTableWriter::partition)
    }

    /// Pushes a fragment; a partition that is under way already is not begun again.
    pub(crate) fn push(&mut self, fragment: &Fragment) -> Result<()> {
        let Fragment::Partition { key, deletion } = fragment else { return self.writer()?.push(fragment) };
        if self.partition() == Some(key) {
            return Ok(());
        }
        self.writer_for_partition()?.push_partition(key, *deletion)
    }

    /// Completes the last file.
    pub(crate) fn finish(mut self) -> Result<Vec<FileMeta>> {
        if let Some(writer) = self.writer.take() {
            self.outputs.finish(writer)?;
        }
        Ok(self.outputs.keep())
    }
}
