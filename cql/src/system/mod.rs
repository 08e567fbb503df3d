//! The tables of the system keyspaces: what the process knows, as rows that can be selected from.
//!
//! ```text
//! memory         a disk in memory
//! definition     a table: its columns, and the function that makes its rows
//! schema_tables  system_schema: keyspaces, tables, columns, types, views, indexes, ...
//! local          system: local, peers; system_virtual_schema
//! views          system_views, as far as Cassandra has it       inside  skep's own tables there
//! describe       DESCRIBE of all these
//! ```
//! A statement that reads one gets a store of its own ([`open`]): in memory, with that one table, filled as things are at this moment. So SELECT
//! knows nothing of them, and everything that SELECT can do works on them.
//!
//! # Not here
//! Writing: the system keyspaces are not modifiable.

mod definition;
mod local;
mod memory;
pub mod describe;
mod schema_tables;
mod views;
mod inside;

pub use definition::{Definition, Fill, Kind, Source, SystemRow};

use crate::catalog::Catalog;
use crate::error::{CqlError, Result};
use crate::system::memory::MemoryEnv;
use skep_engine::{Arg, Clock, DEFAULT_KEYSPACE, Db, With};
use std::sync::Arc;

/// The keyspaces whose tables are here.
pub const KEYSPACES: [&str; 4] = ["system", "system_schema", "system_views", "system_virtual_schema"];

/// Whether the tables of a keyspace are here.
#[must_use]
pub fn is_system(keyspace: &str) -> bool {
    KEYSPACES.contains(&keyspace)
}

/// All tables, by keyspace and name.
#[must_use]
pub fn tables() -> Vec<&'static Definition> {
    let mut all: Vec<_> =
        [schema_tables::TABLES, local::TABLES, views::TABLES, inside::TABLES].into_iter().flatten().collect();
    all.sort_by_key(|table| (table.keyspace, table.name));
    all
}

/// A store that holds the table `keyspace.name`, with its rows if `filled`.
///
/// # Errors
/// `Invalid` if there is no such table.
pub fn open(catalog: &Catalog, keyspace: &str, name: &str, filled: bool) -> Result<Db> {
    let found = tables().into_iter().find(|table| table.keyspace == keyspace && table.name == name);
    let definition = found.ok_or_else(|| {
        let names: Vec<_> =
            tables().iter().filter(|table| table.keyspace == keyspace).map(|table| table.name).collect();
        CqlError::invalid(format!("table {name} does not exist"))
            .hint(format!("there is {}", names.join(", ")))
    })?;
    let clock = Arc::new(Still(catalog.db().now_micros()));
    let db = Db::builder("/system").env(Arc::new(MemoryEnv::new(clock))).background(false).open()?;
    if keyspace != DEFAULT_KEYSPACE {
        db.create_keyspace(keyspace)?;
    }
    let table = db.create_table(definition.schema()?)?;
    if filled {
        let source = Source { picture: &*catalog.picture()?, db: catalog.db() };
        for row in (definition.fill)(&source)? {
            let row: Vec<_> = row.into_iter().map(|(column, value)| (column, Arg::Value(value))).collect();
            table.insert_named(&row, With::DEFAULT)?;
        }
    }
    Ok(db)
}

/// A clock that shows the moment of a statement.
#[derive(Debug)]
struct Still(i64);

impl Clock for Still {
    fn now_micros(&self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_can_be_made_and_filled() {
        let dir = std::env::temp_dir().join(format!("skep-system-{}", std::process::id()));
        let db = Db::open(&dir).unwrap();
        let catalog = Catalog::of(&db);
        for table in tables() {
            assert!(is_system(table.keyspace), "{}", table.keyspace);
            let made = open(&catalog, table.keyspace, table.name, true).unwrap();
            let full = format!("{}.{}", table.keyspace, table.name);
            assert!(made.table(&full).unwrap().scan().rows().unwrap().all(|row| row.is_ok()), "{full}");
        }
        assert!(open(&catalog, "system", "nosuch", true).is_err());
        db.close().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
