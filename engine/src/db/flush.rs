//! From a sealed memtable to SSTables, and only then may the log go.
//!
//! ```text
//! write      the memtable's fragments, in token order, into one file (one for each time window under TWCS)
//! install    one manifest record: the files, and the log position they reach
//! publish    the view without the memtable and with the files
//! forget     the log's records up to that position
//! ```
//! A crash between any two steps loses nothing: files that no manifest record names are removed on opening, and the log
//! is replayed from the position that the manifest has.

use crate::compact::settings::{CompactionOptions, Strategy};
use crate::compact::split::Splitter;
use crate::db::Inner;
use crate::db::files::{FileSink, discard, discard_unless_installed};
use crate::error::Result;
use crate::manifest::edit::Edit;
use crate::memtable::flush::FlushItem;
use crate::model::schema::TableSchema;
use crate::sstable::meta::FileMeta;
use crate::view::TableView;
use crate::write::queue::FlushTask;
use std::sync::Arc;

/// Writes one sealed memtable to files and installs them. On an error nothing has changed.
pub(crate) fn flush(inner: &Inner, task: &FlushTask) -> Result<()> {
    if task.table.is_dropped() {
        return Ok(());
    }
    let started = inner.env.monotonic_nanos();
    // Under `SyncMode::Batch` what is not synced is not published yet, and files are visible at once.
    inner.commit.sync_before_flush(task.last_seq)?;
    let schema = Arc::clone(&task.table.view().schema);
    let metas = match write_files(inner, &schema, task) {
        // Its directory may have gone with it.
        Err(_) if task.table.is_dropped() => return Ok(()),
        written => written?,
    };
    let installed = install(inner, task, &metas);
    discard_unless_installed(inner, &schema, &metas, &installed);
    if installed? {
        let bytes = metas.iter().map(|meta| meta.size_bytes).sum();
        let nanos = inner.env.monotonic_nanos().saturating_sub(started);
        inner.counters.flushed(metas.len() as u64, bytes, nanos);
        inner.log_flushed(task.table.id(), task.upto)?;
    }
    Ok(())
}

fn write_files(inner: &Inner, schema: &Arc<TableSchema>, task: &FlushTask) -> Result<Vec<Arc<FileMeta>>> {
    let options = CompactionOptions::parse(&schema.options.compaction)?;
    let mut stream = task.memtable.flush_iter();
    let Strategy::TimeWindow(window) = options.strategy else {
        let mut sink = FileSink::create(inner, schema, Vec::new(), 0)?;
        sink.write_all(stream)?;
        return Ok(sink.finish()?.into_iter().collect());
    };
    let mut splitter = Splitter::new(window.windows, || FileSink::create(inner, schema, Vec::new(), 0));
    while let Some(item) = stream.next_item()? {
        match item {
            FlushItem::Fragment(fragment) => splitter.push(fragment)?,
            FlushItem::Plain(rows) => splitter.push_plain(&rows)?,
        }
    }
    let mut metas = Vec::new();
    for sink in splitter.into_writers() {
        match sink.finish() {
            Ok(meta) => metas.extend(meta),
            Err(error) => {
                discard(inner, schema, &metas);
                return Err(error);
            }
        }
    }
    Ok(metas)
}

/// Names the files in the manifest and swaps the view. `false` if the memtable was truncated or dropped meanwhile.
fn install(inner: &Inner, task: &FlushTask, metas: &[Arc<FileMeta>]) -> Result<bool> {
    let mut manifest = inner.manifest.lock();
    let view = task.table.view();
    if task.table.is_dropped() || !view.sealed.iter().any(|sealed| Arc::ptr_eq(sealed, &task.memtable)) {
        return Ok(false);
    }
    let mut edits: Vec<Edit> = metas.iter().map(|meta| Edit::AddFile(Arc::clone(meta))).collect();
    edits.push(Edit::Flushed { table: task.table.id(), position: task.upto });
    manifest.apply(&edits)?;
    let opened: Vec<_> = metas.iter().map(|meta| inner.open_file(&view.schema, meta)).collect();
    task.table.change(|view| {
        let sealed =
            view.sealed.iter().filter(|sealed| !Arc::ptr_eq(sealed, &task.memtable)).cloned().collect();
        let files = view.files.iter().cloned().chain(opened).collect();
        let flushed_seq = view.flushed_seq.max(task.last_seq);
        TableView { sealed, files, flushed_seq, ..view.clone() }
    });
    Ok(true)
}
