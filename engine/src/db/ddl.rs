//! Changes of the schema: keyspaces, tables, columns, options, truncation.
//!
//! The everyday calls; all but truncation are a [`SchemaChange`] of one step. Each is one manifest record, so that it happened or it did not;
//! changes wait for each other on the manifest's lock.

use crate::db::change::SchemaChange;
use crate::db::table::Table;
use crate::db::{DEFAULT_KEYSPACE, Db, Inner, Schema};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::edit::Edit;
use crate::model::position::LogPosition;
use crate::model::schema::{ColumnKind, TableId, TableOptions, TableSchema};
use crate::model::types::CqlType;
use crate::sstable::reader::SsTable;
use crate::view::TableView;
use crate::write::tables::TableState;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Db {
    /// Creates a keyspace.
    ///
    /// # Errors
    /// `AlreadyExists`; `Invalid` for a name that is no identifier of at most 48 characters.
    pub fn create_keyspace(&self, name: &str) -> Result<()> {
        self.put_keyspace(name, BTreeMap::new())
    }

    /// Creates a keyspace with options that are kept and shown (replication, durable_writes).
    ///
    /// # Errors
    /// As [`Db::create_keyspace`].
    pub fn put_keyspace(&self, name: &str, options: BTreeMap<String, String>) -> Result<()> {
        self.change_schema(SchemaChange::new().create_keyspace(name, options)).map(drop)
    }

    /// Drops a keyspace with all of its tables and types. Also `main`: it comes back with the next table that names no keyspace.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn drop_keyspace(&self, name: &str) -> Result<()> {
        self.change_schema(SchemaChange::new().drop_keyspace(name)).map(drop)
    }

    /// The keyspaces by name.
    pub fn keyspaces(&self) -> Vec<String> {
        self.inner.manifest.lock().version().keyspaces.keys().cloned().collect()
    }

    /// Creates a table.
    ///
    /// # Errors
    /// `AlreadyExists` (not with `if_not_exists`), `NotFound` for its keyspace, `Invalid` for a definition that makes no
    /// sense, saying why.
    pub fn create_table(&self, schema: Schema) -> Result<Table> {
        let (keyspace, name) = schema.full_name();
        if schema.opens_existing()
            && let Some(table) = self.find_table(keyspace, name)
        {
            return Ok(table);
        }
        let names = schema.opens_existing().then(|| (keyspace.to_owned(), name.to_owned()));
        match self.change_schema(SchemaChange::new().create_table(schema)) {
            Ok(created) => {
                created.into_iter().next().ok_or_else(|| Error::not_found("the table was dropped meanwhile"))
            }
            // Another thread was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let table = names.and_then(|(keyspace, name)| self.find_table(&keyspace, &name));
                table.ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// A table by keyspace and name, if it exists.
    pub fn find_table(&self, keyspace: &str, name: &str) -> Option<Table> {
        let id = self.inner.manifest.lock().version().table(keyspace, name)?.schema.id;
        Some(Table::new(self.clone(), self.inner.commit.tables.get(id).ok()?))
    }

    /// A table by name: `table` of keyspace `main`, or `keyspace.table`.
    ///
    /// # Errors
    /// `NotFound`, naming it.
    pub fn table(&self, name: &str) -> Result<Table> {
        let (keyspace, table) = split_name(name);
        let version = self.inner.manifest.lock().version();
        let known = version.table(keyspace, table);
        let known = known.ok_or_else(|| {
            let error = Error::not_found(format!("table {keyspace}.{table} does not exist"));
            let mut names: Vec<_> = self.tables().iter().map(Table::name).collect();
            // A name with `#` is of a table that serves another one, and nobody's to ask for.
            names.retain(|name| !name.contains('#'));
            let suffix = format!(".{table}");
            if names.iter().any(|name| name.ends_with(&suffix)) {
                names.retain(|name| name.ends_with(&suffix));
            }
            names.truncate(10);
            match names.is_empty() {
                true => error.hint("the store has no tables"),
                false => error.hint(format!("there is {}", names.join(", "))),
            }
        })?;
        Ok(Table::new(self.clone(), self.inner.commit.tables.get(known.schema.id)?))
    }

    /// All tables, by keyspace and name.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> =
            self.inner.commit.tables.all().into_iter().map(|state| Table::new(self.clone(), state)).collect();
        tables.sort_by_key(|table| table.name());
        tables
    }

    /// Drops a table with its data. Readers that are under way finish on what they see.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.inner.check_writable()?;
        self.table(name)?; // its error knows more
        let (keyspace, name) = split_name(name);
        self.change_schema(SchemaChange::new().drop_table(keyspace, name)).map(drop)
    }

    /// Empties a table: data and tombstones are forgotten alike, and what is written afterwards is seen, however old its
    /// timestamp.
    ///
    /// # Errors
    /// `NotFound`; errors of the disk.
    pub fn truncate(&self, name: &str) -> Result<()> {
        self.inner.check_writable()?;
        let table = self.table(name)?;
        self.inner.truncate(table.state())
    }

    /// Changes a table's columns and options: `db.alter_table("t")?.add_column(...)?.apply()`.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn alter_table(&self, name: &str) -> Result<Alter> {
        self.inner.check_writable()?;
        let table = self.table(name)?;
        let schema = TableSchema::clone(&table.schema());
        Ok(Alter { table, schema })
    }
}

/// A change of a table's definition in the making; [`Alter::apply`] makes it at once.
#[derive(Debug)]
pub struct Alter {
    table: Table,
    schema: TableSchema,
}

impl Alter {
    /// Adds a regular column.
    ///
    /// # Errors
    /// `Invalid` if the name is taken or was dropped with another type or kind.
    pub fn add_column(mut self, name: &str, ty: CqlType) -> Result<Self> {
        self.schema = self.schema.add_column(name, ty, ColumnKind::Regular)?;
        Ok(self)
    }

    /// Adds a static column.
    ///
    /// # Errors
    /// As [`Alter::add_column`].
    pub fn add_static_column(mut self, name: &str, ty: CqlType) -> Result<Self> {
        self.schema = self.schema.add_column(name, ty, ColumnKind::Static)?;
        Ok(self)
    }

    /// Drops a column: what was written into it before stays hidden for good.
    ///
    /// # Errors
    /// `NotFound` for an unknown column, `Invalid` for a key column.
    pub fn drop_column(self, name: &str) -> Result<Self> {
        let timestamp = self.table.inner().commit.next_micros();
        self.drop_column_at(name, timestamp)
    }

    /// Drops a column; only what was written up to `timestamp` (micros) stays hidden if it is added again.
    ///
    /// # Errors
    /// As [`Alter::drop_column`].
    pub fn drop_column_at(mut self, name: &str, timestamp: i64) -> Result<Self> {
        self.schema = self.schema.drop_column(name, timestamp)?;
        Ok(self)
    }

    /// Changes options.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut TableOptions)) -> Self {
        let mut options = self.schema.options.clone();
        change(&mut options);
        self.schema = self.schema.with_options(options);
        self
    }

    /// Makes the change, durably.
    ///
    /// # Errors
    /// `Invalid` for options out of range; `Busy` if the definition changed meanwhile.
    pub fn apply(self) -> Result<()> {
        let change = SchemaChange::new().put_table(self.schema);
        self.table.inner().change_schema(change).map(drop)
    }
}

/// Keyspace and table of `name`.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((DEFAULT_KEYSPACE, name))
}

impl Inner {
    /// Adds an open table to the running store.
    pub(crate) fn add_table(&self, schema: Arc<TableSchema>, files: Vec<Arc<SsTable>>) -> Arc<TableState> {
        let id = schema.id;
        let active = self.commit.new_memtable(self.env.now_micros());
        let view = TableView { schema, active, sealed: Vec::new(), files, flushed_seq: 0 };
        let state = Arc::new(TableState::new(id, view));
        self.commit.tables.insert(Arc::clone(&state));
        state
    }

    /// Lets go of a table that the manifest has dropped.
    pub(crate) fn forget_table(&self, id: TableId) -> Result<()> {
        let Ok(state) = self.commit.tables.get(id) else { return Ok(()) };
        state.set_dropped();
        self.commit.paused(|_| self.commit.tables.remove(id));
        for task in self.commit.queue.forget(id) {
            self.commit.budget.free(task.bytes);
        }
        let view = state.view();
        view.files.iter().for_each(|file| file.mark_obsolete());
        self.commit.change_view(&state, |view, _| Ok(self.emptied(view)))?;
        self.manifest.lock().protect()?;
        if let Some(log) = self.commit.log() {
            log.forget_table(id)?;
        }
        self.compactor.forget(id);
        self.replayed_flushed(id)?;
        drop(view);
        // The directory goes with its last file; readers may still hold some, then opening cleans up.
        let schema = Arc::clone(&state.view().schema);
        if let Ok(dir) = self.dir.table(&schema.keyspace, &schema.name, id)
            && self.env.list_dir(&dir).is_ok_and(|entries| entries.is_empty())
        {
            let _ = self.env.remove_dir_all(&dir);
        }
        Ok(())
    }

    fn emptied(&self, view: &TableView) -> TableView {
        TableView {
            active: self.commit.new_memtable(self.env.now_micros()),
            sealed: Vec::new(),
            files: Vec::new(),
            ..view.clone()
        }
    }

    fn truncate(&self, state: &Arc<TableState>) -> Result<()> {
        let mut manifest = self.manifest.lock();
        state.check()?;
        let mut old = None;
        let mut position = LogPosition::START;
        self.commit.change_view(state, |view, end| {
            let remove = |file: &Arc<SsTable>| Edit::RemoveFile { table: state.id(), file: file.meta().id };
            let mut edits: Vec<Edit> = view.files.iter().map(remove).collect();
            edits.push(Edit::Flushed { table: state.id(), position: end });
            manifest.apply(&edits)?;
            (old, position) = (Some(view.clone()), end);
            Ok(self.emptied(view))
        })?;
        for task in self.commit.queue.forget(state.id()) {
            self.commit.budget.free(task.bytes);
        }
        drop(manifest);
        let old = old.expect("change_view called the closure, or there was an error");
        old.files.iter().for_each(|file| file.mark_obsolete());
        self.log_flushed(state.id(), position)
    }
}
