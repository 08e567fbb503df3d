//! A point in time over all tables, in memory: cheap to take, one picture as long as it is held.

use crate::db::Db;
use crate::db::ddl::split_name;
use crate::db::moment::TableSnapshot;
use crate::db::table::Table;
use crate::error::{Error, Result};
use crate::memtable::pins::Pin;
use crate::model::schema::TableId;
use crate::view::TableView;
use std::collections::HashMap;
use std::sync::Arc;

/// What the store held at one moment. Reads through it see no later write, of any table, and time stands still for TTLs.
/// It holds on to memory and files; drop it when done.
#[derive(Clone, Debug)]
pub struct Snapshot {
    db: Db,
    pin: Arc<Pin>,
    now: i64,
    views: Arc<HashMap<TableId, Arc<TableView>>>,
}

impl Db {
    /// Takes a snapshot of all tables.
    pub fn snapshot(&self) -> Snapshot {
        loop {
            let pin = self.inner.commit.pins.pin();
            let tables = self.inner.commit.tables.all();
            let views: HashMap<_, _> = tables.iter().map(|table| (table.id(), table.view())).collect();
            // A file does not tell what in it is newer than the pin: take another pin if a flush came in between.
            if views.values().all(|view| view.flushed_seq <= pin.seq()) {
                let (pin, views) = (Arc::new(pin), Arc::new(views));
                return Snapshot { db: self.clone(), pin, now: self.inner.now_seconds(), views };
            }
        }
    }
}

impl Snapshot {
    /// A table as it was.
    ///
    /// # Errors
    /// `NotFound` if it did not exist then.
    pub fn table(&self, name: &str) -> Result<TableSnapshot> {
        let (keyspace, table) = split_name(name);
        let named = |view: &&Arc<TableView>| view.schema.keyspace == keyspace && view.schema.name == table;
        let view = self.views.values().find(named);
        let view =
            view.ok_or_else(|| Error::not_found(format!("table {keyspace}.{table} does not exist")))?;
        Ok(TableSnapshot::of_parts(Arc::clone(view), Arc::clone(&self.pin), self.now))
    }

    /// A table as it was, by a handle of it.
    ///
    /// # Errors
    /// `NotFound` if it did not exist then.
    pub fn of(&self, table: &Table) -> Result<TableSnapshot> {
        let view = self.views.get(&table.id());
        let view = view.ok_or_else(|| Error::not_found(format!("table {} does not exist", table.name())))?;
        Ok(TableSnapshot::of_parts(Arc::clone(view), Arc::clone(&self.pin), self.now))
    }

    /// The second at which it was taken; TTLs are looked at as of then.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// The store it was taken of.
    pub fn db(&self) -> &Db {
        &self.db
    }
}
