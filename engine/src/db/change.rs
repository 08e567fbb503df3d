//! Any change of the schema, as one step: keyspaces, tables, user types, many at once.
//!
//! A [`SchemaChange`] lists what is to be changed; [`Db::change_schema`] checks it against the schema as it is, writes one record into the
//! manifest, and then changes what is in memory between two commits. So after a crash all of it is there or nothing, and a batch is written by
//! the schema before or behind it. The simpler calls (`create_table`, `alter_table` and so on) end here too.
//!
//! # Invariants
//! 1. Steps are checked one after the other, each against what those before it leave.
//! 2. The schema's epoch grows only after everything in memory is changed.

use crate::compact::settings::CompactionOptions;
use crate::db::schema::Schema;
use crate::db::table::Table;
use crate::db::{DEFAULT_KEYSPACE, Db, Inner};
use crate::env::{check_keyspace_name, check_table_name};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::edit::{Edit, Keyspace};
use crate::manifest::version::Version;
use crate::model::schema::{TableId, TableSchema};
use crate::model::types::{CqlType, UdtType};
use crate::view::TableView;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Changes of the schema that happen together or not at all. Made with [`SchemaChange::new`], done by [`Db::change_schema`].
///
/// ```
/// use skep_engine::{CqlType, Db, Schema, SchemaChange};
/// # let dir = std::env::temp_dir().join(format!("skep-doc-change-{}", std::process::id()));
/// # let db = Db::open(&dir)?;
/// let table = |name| Schema::table(name).partition_key("id", CqlType::Int);
/// let change = SchemaChange::new()
///     .create_keyspace("shop", Default::default())
///     .create_table(table("shop.orders"))
///     .create_table(table("shop.orders_by_day"));
/// let created = db.change_schema(change)?;
/// assert_eq!(created[1].name(), "shop.orders_by_day");
/// # db.close()?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing changes before Db::change_schema"]
pub struct SchemaChange {
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Keyspace { keyspace: Keyspace, must_be_new: bool },
    DropKeyspace(String),
    CreateTable(Box<Schema>),
    PutTable(Arc<TableSchema>),
    DropTable { keyspace: String, name: String },
    PutType(Arc<UdtType>),
    DropType { keyspace: String, name: String },
}

impl SchemaChange {
    /// No change yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn push(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Creates a keyspace with options that are kept and shown (replication, durable_writes). Fails if it exists.
    pub fn create_keyspace(self, name: &str, options: BTreeMap<String, String>) -> Self {
        self.push(Step::Keyspace { keyspace: Keyspace { name: name.to_owned(), options }, must_be_new: true })
    }

    /// Creates a keyspace or replaces its options.
    pub fn put_keyspace(self, name: &str, options: BTreeMap<String, String>) -> Self {
        self.push(Step::Keyspace {
            keyspace: Keyspace { name: name.to_owned(), options },
            must_be_new: false,
        })
    }

    /// Drops a keyspace with all of its tables and types.
    pub fn drop_keyspace(self, name: &str) -> Self {
        self.push(Step::DropKeyspace(name.to_owned()))
    }

    /// Creates a table. Fails if it exists, [`Schema::if_not_exists`] or not. Keyspace `main` comes into being with its first table.
    pub fn create_table(self, table: Schema) -> Self {
        self.push(Step::CreateTable(Box::new(table)))
    }

    /// Replaces the definition of a table by one that was derived from it: by [`TableSchema::add_column`], [`TableSchema::with_options`] and so on.
    /// Fails as `Busy` if the table was altered after it was derived.
    pub fn put_table(self, schema: TableSchema) -> Self {
        self.push(Step::PutTable(Arc::new(schema)))
    }

    /// Drops a table with its data.
    pub fn drop_table(self, keyspace: &str, name: &str) -> Self {
        self.push(Step::DropTable { keyspace: keyspace.to_owned(), name: name.to_owned() })
    }

    /// Creates a user type or replaces its fields, which may only be renamed or get more at the end. Tables hold the types of their columns
    /// themselves: whoever changes a type puts the tables and types that use it ([`TableSchema::with_type`]) into the same change.
    pub fn put_type(self, udt: UdtType) -> Self {
        self.push(Step::PutType(Arc::new(udt)))
    }

    /// Drops a user type. Fails while a table or another type uses it.
    pub fn drop_type(self, keyspace: &str, name: &str) -> Self {
        self.push(Step::DropType { keyspace: keyspace.to_owned(), name: name.to_owned() })
    }

    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Db {
    /// Makes all of a change, durably and at once, or nothing. Returns the created tables in order.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, `Busy` and `Invalid` as the steps say; those of the disk.
    pub fn change_schema(&self, change: SchemaChange) -> Result<Vec<Table>> {
        let states = self.inner.change_schema(change)?;
        Ok(states.into_iter().map(|state| Table::new(self.clone(), state)).collect())
    }

    /// Options of a keyspace as they were given, name to CQL literal; `None` if it does not exist.
    pub fn keyspace_options(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let version = self.inner.manifest.lock().version();
        version.keyspaces.get(name).map(|keyspace| keyspace.options.clone())
    }

    /// The user types of a keyspace by name.
    pub fn types(&self, keyspace: &str) -> Vec<Arc<UdtType>> {
        let version = self.inner.manifest.lock().version();
        version.types.values().filter(|udt| udt.keyspace == keyspace).cloned().collect()
    }

    /// A user type, if it exists.
    pub fn user_type(&self, keyspace: &str, name: &str) -> Option<Arc<UdtType>> {
        let version = self.inner.manifest.lock().version();
        version.types.get(&(keyspace.to_owned(), name.to_owned())).cloned()
    }
}

/// What a change amounts to.
struct Plan {
    /// The schema behind the steps so far.
    version: Version,
    edits: Vec<Edit>,
    created: Vec<Arc<TableSchema>>,
    replaced: Vec<Arc<TableSchema>>,
    dropped: Vec<TableId>,
}

impl Plan {
    fn edit(&mut self, edit: Edit) -> Result<()> {
        self.version.apply(&edit)?;
        self.edits.push(edit);
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Keyspace { keyspace, must_be_new } => {
                check_keyspace_name(&keyspace.name)?;
                if must_be_new && self.version.keyspaces.contains_key(&keyspace.name) {
                    return Err(exists(format!("keyspace {}", keyspace.name)));
                }
                self.edit(Edit::PutKeyspace(Arc::new(keyspace)))
            }
            Step::DropKeyspace(name) => self.drop_keyspace(name),
            Step::CreateTable(schema) => self.create_table(&schema),
            Step::PutTable(schema) => self.put_table(schema),
            Step::DropTable { keyspace, name } => {
                let table = self.version.table(&keyspace, &name);
                let table = table.ok_or_else(|| no_table(&keyspace, &name))?;
                let id = table.schema.id;
                self.drop_table(id)
            }
            Step::PutType(udt) => {
                check_udt(&udt)?;
                self.keyspace(&udt.keyspace)?;
                self.edit(Edit::PutType(udt))
            }
            Step::DropType { keyspace, name } => self.drop_type(keyspace, name),
        }
    }

    fn keyspace(&self, name: &str) -> Result<()> {
        match self.version.keyspaces.contains_key(name) {
            true => Ok(()),
            false => Err(Error::not_found(format!("keyspace {name} does not exist"))
                .hint("create it with Db::create_keyspace")),
        }
    }

    fn drop_keyspace(&mut self, name: String) -> Result<()> {
        if !self.version.keyspaces.contains_key(&name) {
            return Err(Error::not_found(format!("keyspace {name} does not exist")));
        }
        let tables = self.version.tables.values().filter(|table| table.schema.keyspace == name);
        let tables: Vec<TableId> = tables.map(|table| table.schema.id).collect();
        tables.into_iter().try_for_each(|id| self.drop_table(id))?;
        let types: Vec<_> =
            self.version.types.keys().filter(|(keyspace, _)| *keyspace == name).cloned().collect();
        types.into_iter().try_for_each(|(keyspace, name)| self.edit(Edit::DropType { keyspace, name }))?;
        self.edit(Edit::DropKeyspace(name))
    }

    fn create_table(&mut self, schema: &Schema) -> Result<()> {
        let (keyspace, name) = schema.full_name();
        check_keyspace_name(keyspace)?;
        check_table_name(name)?;
        if self.version.table(keyspace, name).is_some() {
            return Err(exists(format!("table {keyspace}.{name}")));
        }
        if keyspace == DEFAULT_KEYSPACE && !self.version.keyspaces.contains_key(keyspace) {
            // It was dropped; a table that names no keyspace must find one.
            let keyspace = Keyspace { name: keyspace.to_owned(), options: BTreeMap::new() };
            self.edit(Edit::PutKeyspace(Arc::new(keyspace)))?;
        }
        self.keyspace(keyspace)?;
        let definition = schema.build(TableId(self.version.next.table))?;
        check_definition(&definition)?;
        let definition = Arc::new(definition);
        self.edit(Edit::PutTable(Arc::clone(&definition)))?;
        self.created.push(definition);
        Ok(())
    }

    fn put_table(&mut self, schema: Arc<TableSchema>) -> Result<()> {
        check_definition(&schema)?;
        let fail = |error: Error| Err(error.in_table(schema.full_name()));
        let Some(old) = self.version.tables.get(&schema.id).map(|table| Arc::clone(&table.schema)) else {
            return fail(Error::not_found("the table was dropped"));
        };
        if old.version >= schema.version {
            return fail(Error::new(ErrorKind::Busy, "the table was altered meanwhile"));
        }
        let key = |schema: &TableSchema| {
            let columns = schema.partition_key().iter().chain(schema.clustering());
            columns.map(|column| (column.id, column.kind)).collect::<Vec<_>>()
        };
        if (&old.keyspace, &old.name, key(&old)) != (&schema.keyspace, &schema.name, key(&schema)) {
            return fail(Error::invalid(
                "a table's name and the columns of its primary key stay as they are",
            ));
        }
        match self.created.iter_mut().find(|created| created.id == schema.id) {
            Some(created) => *created = Arc::clone(&schema),
            None => {
                self.replaced.retain(|replaced| replaced.id != schema.id);
                self.replaced.push(Arc::clone(&schema));
            }
        }
        self.edit(Edit::PutTable(schema))
    }

    fn drop_table(&mut self, id: TableId) -> Result<()> {
        self.edit(Edit::DropTable(id))?;
        self.replaced.retain(|replaced| replaced.id != id);
        match self.created.iter().position(|created| created.id == id) {
            Some(place) => drop(self.created.remove(place)),
            None => self.dropped.push(id),
        }
        Ok(())
    }

    fn drop_type(&mut self, keyspace: String, name: String) -> Result<()> {
        if !self.version.types.contains_key(&(keyspace.clone(), name.clone())) {
            return Err(Error::not_found(format!("type {keyspace}.{name} does not exist")));
        }
        let columns = |table: &TableSchema| table.columns().iter().any(|c| c.ty.uses_type(&keyspace, &name));
        let table = self.version.tables.values().find(|table| columns(&table.schema));
        let other = self.version.types.values().find(|udt| {
            (&udt.keyspace, &udt.name) != (&keyspace, &name)
                && udt.fields.iter().any(|(_, ty)| ty.uses_type(&keyspace, &name))
        });
        let user = table.map(|table| format!("table {}", table.schema.full_name()));
        let user = user.or_else(|| other.map(|udt| format!("type {}.{}", udt.keyspace, udt.name)));
        match user {
            Some(user) => Err(Error::invalid(format!("type {keyspace}.{name} is used by {user}"))),
            None => self.edit(Edit::DropType { keyspace, name }),
        }
    }
}

impl Inner {
    /// See [`Db::change_schema`].
    pub(crate) fn change_schema(
        &self,
        change: SchemaChange,
    ) -> Result<Vec<Arc<crate::write::tables::TableState>>> {
        self.check_writable()?;
        let mut manifest = self.manifest.lock();
        let mut plan = Plan {
            version: Version::clone(&manifest.version()),
            edits: Vec::new(),
            created: Vec::new(),
            replaced: Vec::new(),
            dropped: Vec::new(),
        };
        change.steps.into_iter().try_for_each(|step| plan.step(step))?;
        for table in &plan.created {
            let dir = self.dir.table(&table.keyspace, &table.name, table.id)?;
            self.env.create_dir_all(&dir)?;
        }
        manifest.apply(&plan.edits)?;
        let dropped: Vec<_> = plan.dropped.iter().filter_map(|id| self.commit.tables.get(*id).ok()).collect();
        let created = self.commit.paused(|_| {
            // Before a flush that is under way sees the manifest without them.
            dropped.iter().for_each(|state| state.set_dropped());
            for schema in plan.replaced {
                if let Ok(state) = self.commit.tables.get(schema.id) {
                    state.change(|view| TableView { schema, ..view.clone() });
                }
            }
            plan.created.into_iter().map(|schema| self.add_table(schema, Vec::new())).collect()
        });
        self.epoch.fetch_add(1, Ordering::AcqRel);
        drop(manifest);
        self.workers.wake();
        dropped.iter().try_for_each(|state| self.forget_table(state.id()))?;
        Ok(created)
    }
}

fn exists(what: String) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("{what} exists already"))
}

fn no_table(keyspace: &str, name: &str) -> Error {
    Error::not_found(format!("table {keyspace}.{name} does not exist"))
}

/// Refuses a user type that could not be told apart from others or read back.
fn check_udt(udt: &UdtType) -> Result<()> {
    let fail = |text: String| Err(Error::invalid(format!("type {}.{}: {text}", udt.keyspace, udt.name)));
    if udt.name.is_empty() || udt.name.len() > 65_535 {
        return fail("a type's name has from 1 to 65535 bytes".to_owned());
    }
    if udt.fields.is_empty() || udt.fields.len() > 32_767 {
        return fail(format!("a type has from 1 to 32767 fields, not {}", udt.fields.len()));
    }
    for (i, (name, ty)) in udt.fields.iter().enumerate() {
        if name.is_empty() || name.len() > 65_535 {
            return fail("a field's name has from 1 to 65535 bytes".to_owned());
        }
        if udt.fields[..i].iter().any(|(other, _)| other == name) {
            return fail(format!("field {name} is named twice"));
        }
        if ty.any(&|inner| inner.is_counter()) {
            return fail(format!("field {name} cannot be a counter"));
        }
    }
    // One level is the type's own.
    CqlType::Udt(Arc::new(udt.clone())).check_storable()
}

/// Refuses what a definition may not be although it could be stored: options out of range, counters beside other columns, types inside
/// columns that [`check_udt`] would refuse.
fn check_definition(schema: &TableSchema) -> Result<()> {
    let fail = |text: String| Err(Error::invalid(text).in_table(schema.full_name()));
    let options = &schema.options;
    if !(options.bloom_filter_fp_chance > 0.0 && options.bloom_filter_fp_chance <= 1.0) {
        return fail(format!(
            "bloom_filter_fp_chance must be over 0 and up to 1, it is {}",
            options.bloom_filter_fp_chance
        ));
    }
    if !(0..=crate::model::life::MAX_TTL).contains(&options.default_time_to_live) {
        let limit = crate::model::life::MAX_TTL;
        return fail(format!(
            "default_time_to_live must be from 0 to {limit} seconds, it is {}",
            options.default_time_to_live
        ));
    }
    let data = schema.statics().iter().chain(schema.regulars());
    if schema.is_counter() {
        if let Some(other) = data.clone().find(|column| column.ty != CqlType::Counter) {
            return fail(format!(
                "Cannot mix counter and non counter columns in the same table: {} is of type {}",
                other.name, other.ty
            ));
        }
        if options.default_time_to_live != 0 {
            return fail("a table of counters cannot have a default TTL: counters do not expire".to_owned());
        }
    }
    for column in schema.columns() {
        let inside = |ty: &CqlType| ty.is_counter() && column.ty != CqlType::Counter;
        if column.ty.any(&inside) {
            return fail(format!("column {}: a counter cannot be part of another type", column.name));
        }
        if let Some(error) = bad_udt(&column.ty) {
            return Err(error.in_table(schema.full_name()));
        }
    }
    CompactionOptions::parse(&options.compaction).map_err(|e| e.in_table(schema.full_name()))?;
    Ok(())
}

/// What is wrong with a user type inside `ty`, if anything is.
fn bad_udt(ty: &CqlType) -> Option<Error> {
    let error = std::cell::RefCell::new(None);
    ty.any(&|inner| match inner {
        CqlType::Udt(udt) => {
            *error.borrow_mut() = check_udt(udt).err();
            error.borrow().is_some()
        }
        _ => false,
    });
    error.into_inner()
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
