//! The tables of an open store: for each the current view, swapped whole.

use crate::error::{Error, Result};
use crate::model::schema::TableId;
use crate::view::TableView;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// One table of an open store.
#[derive(Debug)]
pub struct TableState {
    id: TableId,
    view: ArcSwap<TableView>,
    changing: Mutex<()>,
    dropped: AtomicBool,
    /// When the first write into the active memtable came, in seconds since opening.
    first_write: AtomicI64,
}

impl TableState {
    /// A table that begins with `view`.
    pub fn new(id: TableId, view: TableView) -> Self {
        Self {
            id,
            view: ArcSwap::from_pointee(view),
            changing: Mutex::new(()),
            dropped: AtomicBool::new(false),
            first_write: AtomicI64::new(i64::MAX),
        }
    }

    /// Its number.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// What it consists of now.
    #[inline]
    pub fn view(&self) -> Arc<TableView> {
        self.view.load_full()
    }

    /// The same for a short look: nothing is counted. To be let go soon, for a thread has few of these.
    #[inline]
    pub fn glance(&self) -> Guard<Arc<TableView>> {
        self.view.load()
    }

    /// Replaces the view by what `change` makes of it; changes come one after the other.
    pub fn change(&self, change: impl FnOnce(&TableView) -> TableView) {
        let _one_at_a_time = self.changing.lock();
        let next = change(&self.view.load());
        self.view.store(Arc::new(next));
    }

    /// When the first write into the active memtable came, in seconds since opening; `i64::MAX` if there was none.
    pub fn first_write(&self) -> i64 {
        self.first_write.load(Ordering::Relaxed)
    }

    /// Notes the first write into an empty memtable, or that there is a new one (`i64::MAX`).
    pub(crate) fn set_first_write(&self, second: i64) {
        self.first_write.store(second, Ordering::Relaxed);
    }

    /// Marks it as dropped: writes through handles that are still around fail.
    pub fn set_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// Whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// Fails if it was dropped.
    ///
    /// # Errors
    /// `NotFound`, naming the table.
    pub fn check(&self) -> Result<()> {
        match self.is_dropped() {
            true => Err(Error::not_found("the table was dropped").in_table(self.view().schema.full_name())),
            false => Ok(()),
        }
    }
}

/// All tables by number.
#[derive(Debug, Default)]
pub struct Tables(ArcSwap<HashMap<TableId, Arc<TableState>>>);

impl Tables {
    /// The table of a number.
    ///
    /// # Errors
    /// `NotFound` if there is none (any more).
    #[inline]
    pub fn get(&self, id: TableId) -> Result<Arc<TableState>> {
        let tables = self.0.load();
        let table = tables.get(&id).cloned();
        table.ok_or_else(|| Error::not_found(format!("table number {} does not exist", id.0)))
    }

    /// All of them, in no order.
    pub fn all(&self) -> Vec<Arc<TableState>> {
        self.0.load().values().cloned().collect()
    }

    /// Adds or replaces one.
    pub fn insert(&self, table: Arc<TableState>) {
        self.0.rcu(|tables| {
            let mut tables = HashMap::clone(tables);
            tables.insert(table.id, Arc::clone(&table));
            tables
        });
    }

    /// Removes one.
    pub fn remove(&self, id: TableId) {
        self.0.rcu(|tables| {
            let mut tables = HashMap::clone(tables);
            tables.remove(&id);
            tables
        });
    }
}
