//! One consistent picture of a table: what a reader needs, swapped whole.
//!
//! A view is immutable. Writers seal, flush and compact by making the next view and swapping it in
//! (`write::tables::TableState`); a reader that holds a view keeps its memtables and files alive.

use crate::memtable::Memtable;
use crate::model::schema::TableSchema;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

/// A table at one moment.
#[derive(Clone, Debug)]
pub struct TableView {
    /// Its definition.
    pub schema: Arc<TableSchema>,
    /// Takes the writes; it may grow while the view is held, and readers leave out what is newer than their pin.
    pub active: Arc<Memtable>,
    /// Full memtables on their way to files, oldest first.
    pub sealed: Vec<Arc<Memtable>>,
    /// The live files.
    pub files: Vec<Arc<SsTable>>,
    /// The greatest sequence number that may be in a file written since opening: a reader whose pin is lower must not use
    /// this view, since files do not tell what is newer than a pin.
    pub flushed_seq: u64,
}

impl TableView {
    /// All memtables, the newest first.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.sealed.iter().rev())
    }
}
