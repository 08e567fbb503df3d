//! The live set: which keyspaces, types, tables and files there are, as one immutable value.
//!
//! [`Manifest`](crate::manifest::Manifest) holds the current one behind an `Arc` and swaps it whole; readers of an old one are
//! never disturbed. A version is what all records of the manifest, applied in order, amount to.
//!
//! # Invariants
//! Named in [`check`](crate::manifest::check); [`Version::apply`] refuses an edit that would break one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::edit::{Edit, Keyspace, NextIds};
use crate::model::position::LogPosition;
use crate::model::schema::{TableId, TableSchema};
use crate::model::types::UdtType;
use crate::sstable::meta::{FileId, FileMeta};

/// A table as the manifest knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableVersion {
    /// Its definition.
    pub schema: Arc<TableSchema>,
    /// Its live files by number.
    pub files: BTreeMap<FileId, Arc<FileMeta>>,
    /// Up to where in the commit log its writes are in files.
    pub flushed: LogPosition,
}

/// The live set. Cheap to clone: one map entry a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Version {
    /// Keyspaces by name.
    pub keyspaces: BTreeMap<String, Arc<Keyspace>>,
    /// User types by keyspace and name.
    pub types: BTreeMap<(String, String), Arc<UdtType>>,
    /// Tables by number.
    pub tables: BTreeMap<TableId, Arc<TableVersion>>,
    /// Above every number that was ever used.
    pub next: NextIds,
}

impl Version {
    /// A table by keyspace and name.
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Arc<TableVersion>> {
        self.tables.values().find(|table| table.schema.keyspace == keyspace && table.schema.name == name)
    }

    /// The number of live files of all tables.
    pub fn file_count(&self) -> usize {
        self.tables.values().map(|table| table.files.len()).sum()
    }

    /// Applies one edit. After an error the version is as before.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists` or `Invalid` if the edit does not fit the version, naming what it is about.
    pub fn apply(&mut self, edit: &Edit) -> Result<()> {
        match edit {
            Edit::PutKeyspace(keyspace) => {
                self.keyspaces.insert(keyspace.name.clone(), Arc::clone(keyspace));
            }
            Edit::DropKeyspace(name) => self.drop_keyspace(name)?,
            Edit::PutType(udt) => {
                self.keyspace_exists(&udt.keyspace)?;
                self.types.insert((udt.keyspace.clone(), udt.name.clone()), Arc::clone(udt));
            }
            Edit::DropType { keyspace, name } => {
                let key = (keyspace.clone(), name.clone());
                self.types
                    .remove(&key)
                    .ok_or_else(|| Error::not_found(format!("no type {keyspace}.{name}")))?;
            }
            Edit::PutTable(schema) => self.put_table(schema)?,
            Edit::DropTable(table) => {
                self.tables.remove(table).ok_or_else(|| no_table(*table))?;
            }
            Edit::AddFile(meta) => self.add_file(meta)?,
            Edit::RemoveFile { table, file } => {
                let entry = self.tables.get_mut(table).ok_or_else(|| no_table(*table))?;
                if !entry.files.contains_key(file) {
                    let name = entry.schema.full_name();
                    return Err(Error::not_found(format!("no live file {file} to remove")).in_table(name));
                }
                Arc::make_mut(entry).files.remove(file);
            }
            Edit::Flushed { table, position } => {
                let after = next_number(position.segment, "log segment")?;
                let entry = self.tables.get_mut(table).ok_or_else(|| no_table(*table))?;
                // Flushes of one table may end out of order: the furthest position stays.
                if entry.flushed < *position {
                    Arc::make_mut(entry).flushed = *position;
                }
                self.next.segment = self.next.segment.max(after);
            }
            Edit::NextIds(next) => {
                self.next.file = self.next.file.max(next.file);
                self.next.table = self.next.table.max(next.table);
                self.next.segment = self.next.segment.max(next.segment);
            }
        }
        Ok(())
    }

    fn drop_keyspace(&mut self, name: &str) -> Result<()> {
        self.keyspace_exists(name)?;
        if let Some(table) = self.tables.values().find(|table| table.schema.keyspace == name) {
            let text = format!("keyspace {name} still has table {}", table.schema.name);
            return Err(
                Error::invalid(text).hint("drop the tables in the same list of edits, before the keyspace")
            );
        }
        if let Some((_, udt)) = self.types.keys().find(|(keyspace, _)| keyspace == name) {
            let text = format!("keyspace {name} still has type {udt}");
            return Err(
                Error::invalid(text).hint("drop the types in the same list of edits, before the keyspace")
            );
        }
        self.keyspaces.remove(name);
        Ok(())
    }

    fn put_table(&mut self, schema: &Arc<TableSchema>) -> Result<()> {
        self.keyspace_exists(&schema.keyspace)?;
        let after =
            schema.id.0.checked_add(1).ok_or_else(|| Error::invalid("all table numbers are used up"))?;
        let taken =
            self.table(&schema.keyspace, &schema.name).is_some_and(|table| table.schema.id != schema.id);
        if taken {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!("table {} exists already", schema.full_name()),
            ));
        }
        match self.tables.get_mut(&schema.id) {
            Some(entry) => Arc::make_mut(entry).schema = Arc::clone(schema),
            None => {
                let schema = Arc::clone(schema);
                let table = TableVersion { files: BTreeMap::new(), flushed: LogPosition::START, schema };
                self.tables.insert(table.schema.id, Arc::new(table));
            }
        }
        self.next.table = self.next.table.max(after);
        Ok(())
    }

    fn add_file(&mut self, meta: &Arc<FileMeta>) -> Result<()> {
        let after = next_number(meta.id.0, "file")?;
        // A number that was never given out cannot be live; this spares the search when a manifest is loaded.
        let search = meta.id.0 < self.next.file;
        let holder = self.tables.values().filter(|_| search).find(|table| table.files.contains_key(&meta.id));
        if let Some(holder) = holder {
            let text = format!("file {} is live already", meta.id);
            return Err(Error::invalid(text).in_table(holder.schema.full_name()));
        }
        let entry = self.tables.get_mut(&meta.table).ok_or_else(|| no_table(meta.table))?;
        Arc::make_mut(entry).files.insert(meta.id, Arc::clone(meta));
        self.next.file = self.next.file.max(after);
        Ok(())
    }

    fn keyspace_exists(&self, name: &str) -> Result<()> {
        if self.keyspaces.contains_key(name) {
            return Ok(());
        }
        Err(Error::not_found(format!("no keyspace {name}")))
    }

    /// Edits that make this version out of an empty one: how a fresh manifest begins. Files come in the order of their
    /// numbers.
    pub fn snapshot(&self) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self.keyspaces.values().cloned().map(Edit::PutKeyspace).collect();
        edits.extend(self.types.values().cloned().map(Edit::PutType));
        for (&table, entry) in &self.tables {
            edits.push(Edit::PutTable(Arc::clone(&entry.schema)));
            edits.push(Edit::Flushed { table, position: entry.flushed });
        }
        let mut files: Vec<_> = self.tables.values().flat_map(|table| table.files.values()).collect();
        files.sort_by_key(|meta| meta.id);
        edits.extend(files.into_iter().cloned().map(Edit::AddFile));
        edits.push(Edit::NextIds(self.next));
        edits
    }
}

/// The number after `used`; `what` names the thing in the error.
fn next_number(used: u64, what: &str) -> Result<u64> {
    used.checked_add(1).ok_or_else(|| Error::invalid(format!("all {what} numbers are used up")))
}

fn no_table(table: TableId) -> Error {
    Error::not_found(format!("no table with number {}", table.0))
}

#[cfg(test)]
#[path = "version_tests.rs"]
mod tests;
