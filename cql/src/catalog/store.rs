//! The catalog: a picture of the schema that follows the engine's.
//!
//! One per open store, shared by its sessions. A statement asks for what it names; [`Catalog::epoch`] tells a prepared one that the schema
//! has moved and that it must be prepared anew. DDL runs under [`Catalog::change`], one at a time.
//!
//! # Invariants
//! 1. A picture is of one moment: it is listed again if the epoch moved meanwhile.
//! 2. What did not change between two pictures is the same `Arc`.

use crate::catalog::definition;
use crate::catalog::names;
use crate::catalog::table::{IndexDef, TableInfo};
use crate::catalog::types::Resolver;
use crate::error::{Code, CqlError, Result};
use crate::syntax::ast::TypeName;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use skep_engine::model::schema::Column;
use skep_engine::{ColumnKind, CqlType, Db, Table, UdtType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Replication of a keyspace that was made without.
const DEFAULT_REPLICATION: [(&str, &str); 2] =
    [("class", "org.apache.cassandra.locator.SimpleStrategy"), ("replication_factor", "1")];

/// Name under which the engine keeps whether a keyspace's writes are logged.
pub const DURABLE_WRITES: &str = "durable_writes";

/// Prefix of the names under which the engine keeps a keyspace's replication.
pub const REPLICATION: &str = "replication.";

/// The schema at one moment.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The engine's count of schema changes.
    pub epoch: u64,
    /// The keyspaces by name; Cassandra's own are not among them.
    pub keyspaces: BTreeMap<String, Arc<Keyspace>>,
}

/// A keyspace at one moment.
#[derive(Clone, Debug)]
pub struct Keyspace {
    /// Name.
    pub name: String,
    /// `class` and the strategy's options. Kept and shown; there is one node.
    pub replication: BTreeMap<String, String>,
    /// Kept and shown; all writes are logged.
    pub durable_writes: bool,
    /// User types by name, as defined.
    pub types: BTreeMap<String, Arc<UdtType>>,
    /// Tables and views by name.
    pub tables: BTreeMap<String, Arc<TableInfo>>,
    /// The tables that hold indexes, by the index's name.
    pub index_tables: BTreeMap<String, Table>,
}

impl Keyspace {
    /// The table that an index is on, and the index.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<(&Arc<TableInfo>, &Arc<IndexDef>)> {
        let tables = self.tables.values();
        let mut found = tables.filter_map(|t| Some((t, t.indexes.iter().find(|index| index.name == name)?)));
        found.next()
    }

    /// Resolves types here.
    #[must_use]
    pub fn resolver(&self) -> Resolver<'_> {
        Resolver { keyspace: &self.name, types: &self.types }
    }
}

impl Picture {
    /// A keyspace, if there is one.
    #[must_use]
    pub fn keyspace(&self, name: &str) -> Option<&Arc<Keyspace>> {
        self.keyspaces.get(name)
    }

    /// A table or view, if there is one.
    #[must_use]
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Arc<TableInfo>> {
        self.keyspaces.get(keyspace)?.tables.get(name)
    }
}

/// The schema of an open store.
#[derive(Debug)]
pub struct Catalog {
    db: Db,
    picture: RwLock<Arc<Picture>>,
    changing: Mutex<()>,
    /// Read by statements that write while they run, so that a change can wait for those planned before it.
    writing: RwLock<()>,
    /// Whether what a killed process left unfinished was looked after.
    ready: Mutex<bool>,
}

impl Catalog {
    /// The catalog of a store, the same for all who ask.
    #[must_use]
    pub fn of(db: &Db) -> Arc<Self> {
        db.attachment(Self::new)
    }

    /// A catalog of its own. `db` should be a detached handle ([`Db::detached`]) where the catalog lives as long as the store.
    #[must_use]
    pub fn new(db: Db) -> Self {
        Self {
            db,
            picture: RwLock::default(),
            changing: Mutex::new(()),
            writing: RwLock::new(()),
            ready: Mutex::new(false),
        }
    }

    /// The store.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Runs `finish` if that was not done since the store was opened; others wait for it.
    ///
    /// # Errors
    /// Those of `finish`, which the next to come tries again.
    pub fn make_ready(&self, finish: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut ready = self.ready.lock();
        if !*ready {
            finish()?;
            *ready = true;
        }
        Ok(())
    }

    /// Held while a statement that writes is looked up and run: see [`Catalog::settle`].
    pub fn writing(&self) -> RwLockReadGuard<'_, ()> {
        self.writing.read()
    }

    /// Waits for the statements that were planned for an earlier schema and write now. Those that begin afterwards know the schema as it is.
    pub fn settle(&self) {
        drop(self.writing.write());
    }

    /// Grows with every change of the schema.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.db.schema_epoch()
    }

    /// The schema now.
    ///
    /// # Errors
    /// `ServerError` if a stored definition cannot be read.
    pub fn picture(&self) -> Result<Arc<Picture>> {
        let known = Arc::clone(&self.picture.read());
        let mut epoch = self.db.schema_epoch();
        // Epoch 0 may be that of the empty picture this began with.
        if known.epoch == epoch && !known.keyspaces.is_empty() {
            return Ok(known);
        }
        loop {
            let made = self.list(&known, epoch);
            let after = self.db.schema_epoch();
            if after == epoch {
                let made = Arc::new(made?);
                *self.picture.write() = Arc::clone(&made);
                return Ok(made);
            }
            epoch = after;
        }
    }

    /// A keyspace.
    ///
    /// # Errors
    /// `keyspace x does not exist`.
    pub fn keyspace(&self, name: &str) -> Result<Arc<Keyspace>> {
        let picture = self.picture()?;
        picture.keyspace(name).cloned().ok_or_else(|| no_keyspace(&picture, name))
    }

    /// A table or view, for a query.
    ///
    /// # Errors
    /// `keyspace x does not exist`, `table x does not exist`.
    pub fn table(&self, keyspace: &str, name: &str) -> Result<Arc<TableInfo>> {
        let picture = self.picture()?;
        let found = picture.keyspace(keyspace).ok_or_else(|| no_keyspace(&picture, keyspace))?;
        found.tables.get(name).cloned().ok_or_else(|| {
            let error = CqlError::invalid(format!("table {name} does not exist"));
            match similar(name, found.tables.keys()) {
                Some(other) => error.hint(format!("there is {}", names::full(keyspace, other))),
                None => error,
            }
        })
    }

    /// A user type as it was defined.
    ///
    /// # Errors
    /// As [`Catalog::picture`].
    pub fn udt(&self, keyspace: &str, name: &str) -> Result<Option<Arc<UdtType>>> {
        Ok(self.picture()?.keyspace(keyspace).and_then(|keyspace| keyspace.types.get(name)).cloned())
    }

    /// The type that a name means in a keyspace.
    ///
    /// # Errors
    /// See [`Resolver::resolve`].
    pub fn resolve(&self, ty: &TypeName, keyspace: &str) -> Result<CqlType> {
        match self.picture()?.keyspace(keyspace) {
            Some(keyspace) => keyspace.resolver().resolve(ty),
            None => Resolver { keyspace, types: &BTreeMap::new() }.resolve(ty),
        }
    }

    /// Runs a change of the schema, alone: `change` gets the schema as it is and nobody else alters it by CQL meanwhile.
    ///
    /// # Errors
    /// Those of `change` and [`Catalog::picture`].
    pub fn change<T>(&self, change: impl FnOnce(&Picture) -> Result<T>) -> Result<T> {
        let _alone = self.changing.lock();
        change(&*self.picture()?)
    }

    fn list(&self, before: &Picture, epoch: u64) -> Result<Picture> {
        let mut keyspaces: BTreeMap<String, Keyspace> = BTreeMap::new();
        for name in self.db.keyspaces() {
            let types = self.db.types(&name).into_iter().map(|udt| (udt.name.clone(), udt)).collect();
            let options = self.db.keyspace_options(&name).unwrap_or_default();
            let mut replication: BTreeMap<_, _> = options
                .iter()
                .filter_map(|(name, value)| Some((name.strip_prefix(REPLICATION)?.to_owned(), value.clone())))
                .collect();
            if replication.is_empty() {
                replication =
                    DEFAULT_REPLICATION.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            }
            let durable_writes = options.get(DURABLE_WRITES).is_none_or(|value| value == "true");
            let keyspace = Keyspace {
                name: name.clone(),
                replication,
                durable_writes,
                types,
                tables: BTreeMap::new(),
                index_tables: BTreeMap::new(),
            };
            keyspaces.insert(name, keyspace);
        }
        let mut views: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        let mut infos = Vec::new();
        for table in self.db.tables() {
            let schema = table.schema();
            // A keyspace or table that is being dropped: the epoch will tell.
            let Some(keyspace) = keyspaces.get_mut(&schema.keyspace) else { continue };
            if let Some(index) = schema.options.other.get(definition::HIDDEN) {
                keyspace.index_tables.insert(index.clone(), table);
                continue;
            }
            let info = match before.table(&schema.keyspace, &schema.name) {
                Some(known) if Arc::ptr_eq(&known.schema, &schema) => Arc::clone(known),
                _ => Arc::new(table_info(table)?),
            };
            if let Some(view) = &info.view {
                let key = (schema.keyspace.clone(), view.base.clone());
                views.entry(key).or_default().push(schema.name.clone());
            }
            infos.push(info);
        }
        let clustered = bases_clustering(&infos);
        for (info, in_one_form) in infos.into_iter().zip(clustered) {
            let key = (info.keyspace().to_owned(), info.name().to_owned());
            let mut views = views.remove(&key).unwrap_or_default();
            views.sort();
            let info = if info.views == views && info.in_one_form == in_one_form {
                info
            } else {
                Arc::new(TableInfo { views, in_one_form, ..TableInfo::clone(&info) })
            };
            if let Some(keyspace) = keyspaces.get_mut(&key.0) {
                keyspace.tables.insert(key.1, info);
            }
        }
        let keyspaces = keyspaces.into_iter().map(|(name, keyspace)| (name, Arc::new(keyspace))).collect();
        Ok(Picture { epoch, keyspaces })
    }
}

fn table_info(table: Table) -> Result<TableInfo> {
    let schema = table.schema();
    let mut indexes = Vec::new();
    for (name, statement) in definition::index_statements(&schema)? {
        let mut index = definition::index_of(&statement).ok_or_else(|| {
            let text = format!(
                "the stored definition of index {name} of {} names no known class",
                schema.full_name()
            );
            CqlError::new(Code::ServerError, text)
        })?;
        let collection = schema.column(&index.column).is_some_and(|column| column.ty.is_collection());
        index.part = definition::actual_part(index.part, collection);
        indexes.push(Arc::new(index));
    }
    Ok(TableInfo {
        view: definition::view_of(&schema)?.map(Arc::new),
        masks: definition::masks_of(&schema)?,
        uuid: definition::uuid_of(&schema),
        indexes,
        views: Vec::new(),
        in_one_form: Vec::new(),
        schema,
        table,
    })
}

/// For each table, what [`TableInfo::in_one_form`] is.
fn bases_clustering(infos: &[Arc<TableInfo>]) -> Vec<Vec<bool>> {
    let of_view = |info: &Arc<TableInfo>| {
        let Some(view) = &info.view else { return Vec::new() };
        let base = infos.iter().find(|base| base.keyspace() == info.keyspace() && base.name() == view.base);
        let clusters = |column: &Column| {
            let of_base = base.and_then(|base| base.schema.column(&column.name));
            of_base.is_some_and(|of_base| matches!(of_base.kind, ColumnKind::Clustering(_)))
        };
        info.schema.partition_key().iter().map(clusters).collect()
    };
    infos.iter().map(of_view).collect()
}

fn no_keyspace(picture: &Picture, name: &str) -> CqlError {
    let error = CqlError::invalid(format!("keyspace {name} does not exist"));
    match similar(name, picture.keyspaces.keys()) {
        Some(other) => error.hint(format!("there is {other}")),
        None => error,
    }
}

/// A name that somebody may have meant: the same but for case, or one letter away.
fn similar<'a>(wanted: &str, names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let close = |name: &str| {
        if name.eq_ignore_ascii_case(wanted) {
            return true;
        }
        let (short, long) = if name.len() < wanted.len() { (name, wanted) } else { (wanted, name) };
        if long.len() < 3 || long.len() - short.len() > 1 {
            return false;
        }
        let same = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b).count();
        let (rest, skip) = (&short.as_bytes()[same..], usize::from(short.len() == long.len()));
        rest.get(skip..).is_some_and(|rest| long.as_bytes()[same + 1..] == *rest)
    };
    names.into_iter().find(|name| close(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_one_letter_off_is_found() {
        let names = ["sensors".to_owned(), "Rooms".to_owned()];
        let find = |wanted: &str| similar(wanted, names.iter()).map(String::as_str);
        assert_eq!(find("sensor"), Some("sensors"));
        assert_eq!(find("sensots"), Some("sensors"));
        assert_eq!(find("rooms"), Some("Rooms"));
        assert_eq!(find("rows"), None);
        assert_eq!(find("sensors"), Some("sensors"));
    }
}
