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

/// The tables that a command is about: one, or all.
pub(crate) fn tables(db: &Db, name: Option<&str>) -> Outcome<Vec<Table>> {
    match name {
        Some(name) => Ok(vec![db.table(name)?]),
        None => Ok(db.tables()),
    }
}
