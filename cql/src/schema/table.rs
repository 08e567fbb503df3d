//! CREATE TABLE, DROP TABLE, TRUNCATE.

use crate::answer::{Change, Outcome, SchemaChange, Target};
use crate::catalog::{Catalog, definition, names};
use crate::error::{Code, CqlError, Result};
use crate::schema::columns;
use crate::schema::keyspace;
use crate::schema::named::Named;
use crate::schema::options::{self, Purpose};
use crate::syntax::ast::CreateTable;
use skep_engine::{Schema, SchemaChange as EngineChange, TableOptions};

/// CREATE TABLE.
pub fn create(catalog: &Catalog, named: Named<'_>, statement: &CreateTable) -> Result<Outcome> {
    columns::check_duplicates(statement)?;
    columns::primary_key(statement)?;
    if statement.compact_storage {
        return Err(CqlError::invalid("COMPACT STORAGE is not supported by skep").hint(
            "leave it out: it changes how Cassandra stores the table, and what such a table can do less",
        ));
    }
    catalog.change(|picture| {
        let keyspace = picture.keyspace(named.keyspace).ok_or_else(|| keyspace::missing(named.keyspace))?;
        if keyspace.tables.contains_key(named.name) {
            return if statement.if_not_exists { Ok(Outcome::Void) } else { Err(already_exists(named)) };
        }
        let mut options = TableOptions::default();
        options::apply(&mut options, &statement.options, Purpose::CreateTable)?;
        let declared = columns::columns(keyspace, statement)?;
        if options.default_time_to_live > 0 && declared.iter().any(|(_, ty, _)| ty.is_counter()) {
            return Err(counter_ttl());
        }
        names::check_table(named.keyspace, named.name)?;
        for column in &statement.columns {
            columns::check_mask(&column.name, column.masked.as_ref())?;
            definition::put_mask(&mut options, &column.name.text, column.masked.as_ref());
        }
        let schema = Schema::table(named.name).keyspace(named.keyspace).options(options);
        let schema =
            declared.into_iter().fold(schema, |schema, (name, ty, kind)| schema.declare(&name, ty, kind));
        catalog.db().change_schema(EngineChange::new().create_table(schema))?;
        Ok(changed(Change::Created, named))
    })
}

/// DROP TABLE, with its indexes.
pub fn drop(catalog: &Catalog, named: Named<'_>, if_exists: bool) -> Result<Outcome> {
    catalog.change(|picture| {
        let Some(table) = picture.table(named.keyspace, named.name) else {
            return if if_exists { Ok(Outcome::Void) } else { Err(missing(named)) };
        };
        if table.is_view() {
            return Err(CqlError::invalid(
                "Cannot use DROP TABLE on a materialized view. Please use DROP MATERIALIZED VIEW instead.",
            ));
        }
        if !table.views.is_empty() {
            return Err(CqlError::invalid(format!(
                "Cannot drop a table when materialized views still depend on it ({})",
                named.keyspace
            ))
            .hint(format!("the views are {}", table.views.join(", "))));
        }
        let mut change = EngineChange::new().drop_table(named.keyspace, named.name);
        for index in &table.indexes {
            if picture.keyspace(named.keyspace).is_some_and(|k| k.index_tables.contains_key(&index.name)) {
                change = change.drop_table(named.keyspace, &definition::index_table(&index.name));
            }
        }
        catalog.db().change_schema(change)?;
        Ok(changed(Change::Dropped, named))
    })
}

/// TRUNCATE: the table, its indexes and its views.
pub fn truncate(catalog: &Catalog, named: Named<'_>) -> Result<Outcome> {
    let table = catalog.table(named.keyspace, named.name)?;
    if table.is_view() {
        return Err(CqlError::invalid(
            "Cannot TRUNCATE materialized view directly; must truncate base table instead",
        ));
    }
    let picture = catalog.picture()?;
    // What is derived first: a crash between the two leaves a view that lacks rows of a table that is about to be emptied, never the reverse.
    for view in table.views.iter().filter_map(|view| picture.table(named.keyspace, view)) {
        catalog.db().truncate(&view.schema.full_name())?;
    }
    let held = picture.keyspace(named.keyspace).map(|keyspace| &keyspace.index_tables);
    for index in table.indexes.iter().filter_map(|index| held?.get(&index.name)) {
        catalog.db().truncate(&index.name())?;
    }
    catalog.db().truncate(&table.schema.full_name())?;
    Ok(Outcome::Void)
}

/// The error of schema statements about a table that is not there.
#[must_use]
pub fn missing(named: Named<'_>) -> CqlError {
    CqlError::invalid(format!("Table '{}' doesn't exist", named.full()))
}

/// The error of a name that is taken.
#[must_use]
pub fn already_exists(named: Named<'_>) -> CqlError {
    let text =
        format!("Cannot add already existing table \"{}\" to keyspace \"{}\"", named.name, named.keyspace);
    CqlError::new(Code::AlreadyExists, text)
}

/// The error of counters that should expire.
#[must_use]
pub fn counter_ttl() -> CqlError {
    CqlError::invalid("Cannot set default_time_to_live on a table with counters")
}

/// The outcome of a change of a table or view.
#[must_use]
pub fn changed(change: Change, named: Named<'_>) -> Outcome {
    let target = Target::Table(named.name.to_owned());
    Outcome::Schema(SchemaChange { change, target, keyspace: named.keyspace.to_owned() })
}
