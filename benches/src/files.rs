//! Directories and SSTables for benches.

use skep_engine::env::{Env, OsEnv};
use skep_engine::model::fragment::Fragment;
use skep_engine::model::schema::TableSchema;
use skep_engine::sstable::cache::BlockCache;
use skep_engine::sstable::meta::FileId;
use skep_engine::sstable::reader::SsTable;
use skep_engine::sstable::writer::{SsTableWriter, WriterOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory for files, removed when dropped.
#[derive(Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// An empty directory in the working directory's disk, or where `SKEP_BENCH_DIR` says.
    pub fn new(name: &str) -> Self {
        let root = std::env::var_os("SKEP_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = root.join(format!("skep-bench-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the disk can be written to");
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes `fragments` to file number `id` and opens it.
pub fn sstable(
    directory: &Directory,
    id: u64,
    schema: &TableSchema,
    fragments: &[Fragment],
    cache_bytes: usize,
) -> Arc<SsTable> {
    let env: Arc<dyn Env> = Arc::new(OsEnv::new());
    let path = directory.path().join(format!("{id}.sst"));
    let options = WriterOptions::of(schema, FileId(id), 0);
    let mut writer =
        SsTableWriter::create(Arc::clone(&env), &path, schema, options).expect("the disk can be written to");
    for fragment in fragments {
        writer.push(fragment).expect("fragments are in order");
    }
    let meta = writer.finish().expect("the disk can be written to").expect("there are rows");
    SsTable::open(env, &path, Arc::new(meta), Arc::new(BlockCache::new(cache_bytes)))
}
