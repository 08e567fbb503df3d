//! Opening stores and naming tables, the same way in every command.
//!
//! Commands that only look use [`reading`]: the store is opened read-only and nothing in it changes. Commands that work on a store use
//! [`writing`], which never makes one where there is none.

use crate::failure::Outcome;
use skep::{Db, Table};
use std::path::{Path, PathBuf};

/// Where a command reads: the store as it is, or one of its snapshots.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// The store's directory
    pub(crate) dir: PathBuf,
    /// Read this snapshot of the store instead (works while another process has the store open)
    #[arg(long, value_name = "NAME")]
    pub(crate) snapshot: Option<String>,
}

impl Source {
    /// Opens it for reading.
    pub(crate) fn open(&self) -> Outcome<Db> {
        match &self.snapshot {
            Some(name) => {
                // A wrong directory is to be told as such, not as a missing snapshot.
                if !self.dir.join("CURRENT").exists() {
                    return reading(&self.dir);
                }
                Ok(Db::open_snapshot(&self.dir, name)?)
            }
            None => reading(&self.dir),
        }
    }
}

/// Opens a store for reading.
pub(crate) fn reading(dir: &Path) -> Outcome<Db> {
    Ok(Db::open_read_only(dir)?)
}

/// Opens an existing store for work on it.
pub(crate) fn writing(dir: &Path) -> Outcome<Db> {
    Ok(Db::builder(dir).must_exist().open()?)
}

/// Closes a store that was written to. What was written must be on the disk; of the rest of closing (a flush, or a compaction that found no space)
/// it is told on standard error, for the log has it all and the next opening goes on from there.
pub(crate) fn close(db: &Db) -> Outcome {
    let synced = db.sync();
    let closed = db.close();
    synced?;
    if let Err(error) = closed {
        eprintln!("warning: {error}; nothing is lost, the commit log has it");
    }
    Ok(())
}

/// The tables that a command is about: one, or all.
pub(crate) fn tables(db: &Db, name: Option<&str>) -> Outcome<Vec<Table>> {
    match name {
        Some(name) => Ok(vec![db.table(name)?]),
        None => Ok(db.tables()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::{CqlType, Schema, row};
    use skep_engine::env::sim::{Failure, SimDisk};
    use std::sync::Arc;

    fn closed_after(failure: Failure) -> bool {
        let disk = SimDisk::new(1);
        let builder = Db::builder("/db").env(disk.env()).clock(Arc::new(disk.clock())).background(false);
        let db = builder.open().unwrap();
        let table = db.create_table(Schema::table("t").partition_key("k", CqlType::Int)).unwrap();
        table.insert(&row![1]).unwrap();
        disk.fail_from(disk.calls(), failure);
        close(&db).is_ok()
    }

    #[test]
    fn a_flush_without_space_loses_nothing_and_a_failed_sync_may() {
        assert!(closed_after(Failure::NoSpace));
        assert!(!closed_after(Failure::Sync));
    }
}
