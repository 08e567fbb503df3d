//! Snapshots on disk: a directory that is a store of its own, made of hard links.
//!
//! Taking one waits for no flush and stops no writer: in one moment all memtables are sealed and all views are taken; the
//! files of the views are linked, and the sealed memtables are written into files of the snapshot. So a snapshot is one
//! point in time over all tables, half a batch never in it.

use crate::db::Db;
use crate::db::files::FileSink;
use crate::env::{DataDir, check_snapshot_name, sstable_path, temporary};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Manifest;
use crate::manifest::edit::Edit;
use crate::sstable::meta::FileMeta;
use crate::view::TableView;
use std::path::Path;
use std::sync::Arc;

/// A snapshot in the store's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its name.
    pub name: String,
    /// Bytes of its SSTables. What is shared with the store takes no space of its own.
    pub bytes: u64,
}

impl Db {
    /// Takes a snapshot under a name: hard links into `DIR/snapshots/NAME` (copies where the file system has no links).
    ///
    /// # Errors
    /// `AlreadyExists`; `Invalid` for a name that is no file name; errors of the disk, after which nothing is left of it.
    pub fn create_snapshot(&self, name: &str) -> Result<()> {
        self.inner.check_writable()?;
        check_snapshot_name(name)?;
        let env = &self.inner.env;
        let target = self.inner.dir.snapshot(name)?;
        if env.exists(&target)? {
            return Err(Error::new(ErrorKind::AlreadyExists, format!("snapshot {name} exists already")));
        }
        let unfinished = temporary(&target);
        if env.exists(&unfinished)? {
            env.remove_dir_all(&unfinished)?;
        }
        env.create_dir_all(&unfinished)?;
        let filled = self.fill_snapshot(&unfinished);
        if filled.is_err() {
            let _ = env.remove_dir_all(&unfinished);
        }
        filled?;
        env.rename(&unfinished, &target)?;
        env.sync_dir(&self.inner.dir.snapshots())
    }

    fn fill_snapshot(&self, root: &Path) -> Result<()> {
        let inner = &self.inner;
        let dir = DataDir::new(root);
        // The schema cannot change while the manifest is held; writers go on as soon as all memtables are sealed.
        let manifest = inner.manifest.lock();
        let version = manifest.version();
        let views = inner.commit.seal_all();
        drop(manifest);
        inner.commit.sync_before_flush(u64::MAX)?;
        if !inner.background {
            // The sealed memtables are flushed by the next write; the snapshot has its own copies.
            inner.workers.wake();
        }
        let mut edits: Vec<Edit> = version
            .snapshot()
            .into_iter()
            .filter(|edit| matches!(edit, Edit::PutKeyspace(_) | Edit::PutType(_) | Edit::PutTable(_)))
            .collect();
        for view in &views {
            edits.extend(self.copy_table(view, &dir)?);
        }
        let mut manifest = Manifest::create(Arc::clone(&inner.env), &dir)?;
        manifest.apply(&edits)
    }

    fn copy_table(&self, view: &TableView, dir: &DataDir) -> Result<Vec<Edit>> {
        let inner = &self.inner;
        let schema = &view.schema;
        let target = dir.table(&schema.keyspace, &schema.name, schema.id)?;
        inner.env.create_dir_all(&target)?;
        let mut metas: Vec<Arc<FileMeta>> = Vec::new();
        for file in &view.files {
            inner.env.hard_link(file.path(), &sstable_path(&target, file.meta().id.0))?;
            metas.push(Arc::clone(file.meta()));
        }
        for memtable in &view.sealed {
            let mut sink = FileSink::create_in(inner, &target, schema)?;
            sink.write_all(memtable.flush_iter())?;
            metas.extend(sink.finish()?);
        }
        inner.env.sync_dir(&target)?;
        Ok(metas.into_iter().map(Edit::AddFile).collect())
    }

    /// The snapshots in the directory, by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list_snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        let env = &self.inner.env;
        let dir = self.inner.dir.snapshots();
        if !env.exists(&dir)? {
            return Ok(Vec::new());
        }
        let mut snapshots = Vec::new();
        for entry in env.list_dir(&dir)? {
            if entry.is_dir && check_snapshot_name(&entry.name).is_ok() {
                let bytes = self.bytes_below(&dir.join(&entry.name))?;
                snapshots.push(SnapshotInfo { name: entry.name, bytes });
            }
        }
        snapshots.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(snapshots)
    }

    fn bytes_below(&self, dir: &Path) -> Result<u64> {
        let mut bytes = 0;
        for entry in self.inner.env.list_dir(dir)? {
            let path = dir.join(&entry.name);
            bytes += if entry.is_dir { self.bytes_below(&path)? } else { entry.len };
        }
        Ok(bytes)
    }

    /// Removes a snapshot.
    ///
    /// # Errors
    /// `NotFound`; errors of the disk.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        let path = self.inner.dir.snapshot(name)?;
        if !self.inner.env.exists(&path)? {
            return Err(Error::not_found(format!("there is no snapshot {name}")));
        }
        self.inner.env.remove_dir_all(&path)
    }

    /// Opens a snapshot of the store in `path` for reading; the store itself may be open meanwhile. To go back to a
    /// snapshot, copy its directory and open the copy.
    ///
    /// # Errors
    /// As [`Db::open_read_only`].
    pub fn open_snapshot(path: impl AsRef<Path>, name: &str) -> Result<Self> {
        let dir = DataDir::new(path.as_ref()).snapshot(name)?;
        Self::open_read_only(dir).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let text = format!("there is no snapshot {name} in {}", path.as_ref().display());
                Error::not_found(text).hint("Db::list_snapshots, or skep snapshot DIR list")
            }
            _ => error,
        })
    }
}
