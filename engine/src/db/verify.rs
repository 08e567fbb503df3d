//! Walks everything and checks it: every byte's checksum, every order, every count.

use crate::commitlog::replay;
use crate::db::Db;
use crate::encoding::mutation::{BatchReader, OpBody};
use crate::error::{Error, Result};
use crate::manifest::check;
use crate::model::schema::TableSchema;
use crate::options::ReplayMode;
use crate::sstable::reader::SsTable;
use crate::sstable::verify::Verified;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What [`Db::verify`] found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// SSTables checked.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Partitions in them.
    pub partitions: u64,
    /// Rows in them.
    pub rows: u64,
    /// Records of the commit log checked.
    pub log_records: u64,
    /// What is wrong, and where. Empty: all is well.
    pub problems: Vec<Error>,
}

impl VerifyReport {
    /// Nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Db {
    /// Reads and checks everything that is stored: the manifest's rules, every SSTable to the last byte (checksums, order,
    /// filter, statistics, against what the manifest says), every record of the log. Reads and writes go on meanwhile.
    ///
    /// # Errors
    /// None of what is wrong ends it: problems are listed in the report. An error means that it could not be done.
    pub fn verify(&self) -> Result<VerifyReport> {
        let inner = &self.inner;
        let mut report = VerifyReport::default();
        if let Err(error) = check::check(&inner.manifest.lock().version()) {
            report.problems.push(error);
        }
        let views: Vec<_> = inner.commit.tables.all().iter().map(|table| table.view()).collect();
        let files: Vec<_> =
            views.iter().flat_map(|view| view.files.iter().map(|file| (&view.schema, file))).collect();
        for ((schema, file), checked) in files.iter().zip(self.verify_files(&files)) {
            report.files += 1;
            report.bytes += file.meta().size_bytes;
            match checked {
                Ok(checked) => {
                    report.blocks += checked.blocks;
                    report.partitions += checked.partitions;
                    report.rows += checked.rows;
                }
                Err(error) => report.problems.push(error.in_table(schema.full_name())),
            }
        }
        let mut records = 0;
        let mut bad = Vec::new();
        let summary = replay(&*inner.env, &inner.dir, ReplayMode::Salvage, &mut |position, payload| {
            records += 1;
            if let Err(error) = check_batch(payload) {
                bad.push(error.at(inner.dir.segment(position.segment), position.offset));
            }
            Ok(())
        });
        report.log_records = records;
        report.problems.extend(bad);
        match summary {
            Ok(summary) => {
                let skipped = summary.skipped.into_iter();
                report
                    .problems
                    .extend(skipped.map(|s| Error::corrupt(inner.dir.segment(s.segment), s.from, s.why)));
            }
            Err(error) => report.problems.push(error),
        }
        Ok(report)
    }

    /// Checks files, several at a time; the results in their order.
    fn verify_files(&self, files: &[(&Arc<TableSchema>, &Arc<SsTable>)]) -> Vec<Result<Verified>> {
        // A store that was asked to do everything inside the caller's calls gets no threads here either.
        let alone = !self.inner.background && !self.inner.read_only;
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = if alone { 1 } else { cores.min(files.len()) };
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(files.len()));
        let work = || {
            while let Some((n, (_, file))) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, files.get(n)?)))
            {
                let checked = file.verify();
                done.lock().push((n, checked));
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let mut done = done.into_inner();
        done.sort_by_key(|(n, _)| *n);
        done.into_iter().map(|(_, checked)| checked).collect()
    }

    /// The live files of a table, oldest first, by path.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn files(&self, table: &str) -> Result<Vec<PathBuf>> {
        let view = self.table(table)?.state().view();
        Ok(view.files.iter().map(|file| file.path().to_path_buf()).collect())
    }
}

/// Whether a log record's payload is a well-formed batch.
fn check_batch(payload: &[u8]) -> Result<()> {
    let reader = BatchReader::new(payload)?;
    let stamp = reader.stamp();
    for op in reader {
        if let OpBody::Row(row) | OpBody::Static(row) = op?.body {
            row.decode(stamp)?;
        }
    }
    Ok(())
}
