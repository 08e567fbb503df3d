//! ALTER TABLE: columns added, dropped, renamed and masked, and options. Views over the table follow in the same step.

use crate::answer::{Change, Outcome};
use crate::catalog::store::Keyspace;
use crate::catalog::table::TableInfo;
use crate::catalog::types::{cql_text, name};
use crate::catalog::{Catalog, definition};
use crate::error::{CqlError, Result};
use crate::schema::columns::{check_mask, static_without_clustering};
use crate::schema::named::Named;
use crate::schema::options::{self, Purpose};
use crate::schema::table::{changed, counter_ttl, missing};
use crate::schema::view;
use crate::syntax::ast::{AlterTable, ColumnDefinition, Expr, Name, Options, TableChange};
use skep_engine::{ColumnKind, CqlType, SchemaChange as EngineChange, TableSchema};

/// ALTER TABLE.
pub fn alter(catalog: &Catalog, named: Named<'_>, statement: &AlterTable) -> Result<Outcome> {
    catalog.change(|picture| {
        let found = picture.keyspace(named.keyspace).and_then(|keyspace| {
            let table = keyspace.tables.get(named.name)?;
            Some((keyspace, table))
        });
        let Some((keyspace, table)) = found else {
            return if statement.if_exists { Ok(Outcome::Void) } else { Err(missing(named)) };
        };
        if table.is_view() {
            return Err(CqlError::invalid(
                "Cannot use ALTER TABLE on a materialized view; use ALTER MATERIALIZED VIEW instead",
            ));
        }
        let schemas = match &statement.change {
            TableChange::AlterType(..) => {
                return Err(CqlError::invalid("Altering column types is no longer supported")
                    .hint("add a column of the new type and copy the values"));
            }
            TableChange::DropCompactStorage => {
                let text = "Cannot DROP COMPACT STORAGE on table without COMPACT STORAGE";
                return Err(CqlError::invalid(text));
            }
            TableChange::Add(if_not_exists, columns) => add(keyspace, table, *if_not_exists, columns)?,
            TableChange::Drop(if_exists, columns, timestamp) => {
                let at = drop_time(catalog, timestamp.as_ref())?;
                drop_columns(table, *if_exists, columns, at)?
            }
            TableChange::Rename(_, pairs) => rename(keyspace, table, pairs)?,
            TableChange::Mask(if_exists, column, mask) => {
                self::mask(table, *if_exists, column, mask.as_ref())?
            }
            TableChange::Options(given) => set_options(table, given)?,
        };
        if schemas.is_empty() {
            return Ok(Outcome::Void);
        }
        let change = schemas.into_iter().fold(EngineChange::new(), EngineChange::put_table);
        catalog.db().change_schema(change)?;
        Ok(changed(Change::Updated, named))
    })
}

fn add(
    keyspace: &Keyspace,
    table: &TableInfo,
    if_not_exists: bool,
    columns: &[ColumnDefinition],
) -> Result<Vec<TableSchema>> {
    let mut schema = TableSchema::clone(&table.schema);
    let mut added: Vec<(&str, CqlType)> = Vec::new();
    for column in columns {
        let label = &column.name.text;
        if schema.column(label).is_some() {
            if if_not_exists {
                continue;
            }
            let text = format!("Column with name '{label}' already exists");
            return Err(CqlError::invalid(text).at(column.name.place));
        }
        let ty = keyspace.resolver().resolve(&column.ty)?;
        if column.is_static && schema.clustering().is_empty() {
            return Err(static_without_clustering());
        }
        let kind = if column.is_static { ColumnKind::Static } else { ColumnKind::Regular };
        check_dropped(&schema, label, &ty, kind)?;
        if ty.is_counter() != table.is_counter() {
            let full = table.schema.full_name();
            return Err(CqlError::config(match ty.is_counter() {
                true => format!("{full}: Cannot have a counter column (\"{label}\") in a non counter table"),
                false => format!("{full}: Cannot have a non counter column (\"{label}\") in a counter table"),
            }));
        }
        schema = schema.add_column(label, ty.clone(), kind)?;
        check_mask(&column.name, column.masked.as_ref())?;
        if column.masked.is_some() {
            let mut options = schema.options.clone();
            definition::put_mask(&mut options, label, column.masked.as_ref());
            schema = schema.with_options(options);
        }
        if kind == ColumnKind::Regular {
            added.push((label, ty));
        }
    }
    if schema.version == table.schema.version {
        return Ok(Vec::new());
    }
    let mut schemas = vec![schema];
    for view in views(keyspace, table).filter(|view| view.view.as_ref().is_some_and(|view| view.all_columns))
    {
        let mut of_view = TableSchema::clone(&view.schema);
        for (label, ty) in &added {
            of_view = of_view.add_column(label, ty.clone(), ColumnKind::Regular)?;
        }
        if !added.is_empty() {
            schemas.push(of_view);
        }
    }
    Ok(schemas)
}

/// Refuses a column that was dropped and would come back as something that cannot read its old values.
fn check_dropped(schema: &TableSchema, label: &str, ty: &CqlType, kind: ColumnKind) -> Result<()> {
    let Some(old) = schema.dropped().iter().find(|dropped| dropped.column.name == label) else {
        return Ok(());
    };
    if !ty.reads_values_of(&old.column.ty) {
        return Err(CqlError::invalid(format!(
            "Cannot add a column '{label}' of type {}, incompatible with previously dropped column '{label}' of type {}",
            cql_text(ty),
            cql_text(&old.column.ty)
        )));
    }
    let word = |kind: ColumnKind| if kind == ColumnKind::Static { "STATIC" } else { "REGULAR" };
    if old.column.kind != kind {
        return Err(CqlError::invalid(format!(
            "Cannot re-add previously dropped column '{label}' of kind {}, incompatible with previous kind {}",
            word(kind),
            word(old.column.kind)
        )));
    }
    Ok(())
}

fn drop_time(catalog: &Catalog, timestamp: Option<&Expr>) -> Result<i64> {
    match timestamp {
        None => Ok(catalog.db().next_micros()),
        Some(Expr::Constant { text, .. }) => {
            text.parse().map_err(|_| CqlError::invalid(format!("Invalid timestamp value: {text}")))
        }
        Some(_) => Err(CqlError::invalid("Bind variables are not allowed in ALTER TABLE statements")),
    }
}

fn drop_columns(table: &TableInfo, if_exists: bool, columns: &[Name], at: i64) -> Result<Vec<TableSchema>> {
    let mut schema = TableSchema::clone(&table.schema);
    for column in columns {
        let label = &column.text;
        let Some(found) = schema.column(label) else {
            if if_exists {
                continue;
            }
            let text = format!("Column {label} was not found in table '{}'", table.full_name());
            return Err(CqlError::invalid(text).at(column.place));
        };
        if matches!(found.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_)) {
            return Err(CqlError::invalid(format!("Cannot drop PRIMARY KEY column {label}")));
        }
        let indexes: Vec<_> = table.indexes_on(label).map(|index| index.name.as_str()).collect();
        if !indexes.is_empty() {
            return Err(CqlError::invalid(format!(
                "Cannot drop column {label} because it has dependent secondary indexes ({})",
                indexes.join(", ")
            )));
        }
        if !table.views.is_empty() {
            return Err(CqlError::invalid(format!(
                "Cannot drop column {label} on base table {} with materialized views",
                table.name()
            )));
        }
        schema = schema.drop_column(label, at)?;
        if table.masks.contains_key(label) {
            let mut options = schema.options.clone();
            definition::put_mask(&mut options, label, None);
            schema = schema.with_options(options);
        }
    }
    Ok(if schema.version == table.schema.version { Vec::new() } else { vec![schema] })
}

fn rename(keyspace: &Keyspace, table: &TableInfo, pairs: &[(Name, Name)]) -> Result<Vec<TableSchema>> {
    let mut schema = TableSchema::clone(&table.schema);
    let mut of_views: Vec<TableSchema> =
        views(keyspace, table).map(|view| TableSchema::clone(&view.schema)).collect();
    for (from, to) in pairs {
        let Some(column) = schema.column(&from.text) else {
            return Err(match table.column(&from.text) {
                Err(error) => error.at(from.place),
                Ok(_) => CqlError::invalid(format!(
                    "Undefined column name {} in table {}",
                    name(&from.text),
                    table.full_name()
                )),
            });
        };
        if !matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_)) {
            return Err(CqlError::invalid(format!("Cannot rename non PRIMARY KEY column {}", from.text)));
        }
        if schema.column(&to.text).is_some() {
            return Err(CqlError::invalid(format!(
                "Cannot rename column {} to {} in table '{}'; another column with that name already exists",
                from.text,
                to.text,
                table.full_name()
            )));
        }
        let indexes: Vec<_> = table.indexes_on(&from.text).map(|index| index.name.as_str()).collect();
        if !indexes.is_empty() {
            return Err(CqlError::invalid(format!(
                "Can't rename column {} because it has dependent secondary indexes ({})",
                from.text,
                indexes.join(", ")
            )));
        }
        schema = schema.rename_column(&from.text, &to.text)?;
        if let Some(mask) = table.masks.get(&from.text) {
            let mut options = schema.options.clone();
            definition::put_mask(&mut options, &from.text, None);
            definition::put_mask(&mut options, &to.text, Some(mask));
            schema = schema.with_options(options);
        }
        for of_view in &mut of_views {
            if of_view.column(&from.text).is_some() {
                *of_view = of_view.rename_column(&from.text, &to.text)?;
                view::rename_in_definition(of_view, &from.text, to)?;
            }
        }
    }
    of_views.insert(0, schema);
    Ok(of_views)
}

fn mask(table: &TableInfo, if_exists: bool, column: &Name, mask: Option<&Expr>) -> Result<Vec<TableSchema>> {
    if if_exists && table.schema.column(&column.text).is_none() {
        return Ok(Vec::new());
    }
    table.column(&column.text).map_err(|error| error.at(column.place))?;
    check_mask(column, mask)?;
    let mut options = table.schema.options.clone();
    definition::put_mask(&mut options, &column.text, mask);
    Ok(vec![table.schema.with_options(options)])
}

fn set_options(table: &TableInfo, given: &Options) -> Result<Vec<TableSchema>> {
    let mut options = table.schema.options.clone();
    options::apply(&mut options, given, Purpose::AlterTable)?;
    if table.is_counter() && options.default_time_to_live > 0 {
        return Err(counter_ttl());
    }
    if !table.views.is_empty() && options.gc_grace_seconds == 0 {
        return Err(CqlError::invalid(
            "Cannot alter gc_grace_seconds of the base table of a materialized view to 0, since this value is used to \
             TTL undelivered updates. Setting gc_grace_seconds too low might cause undelivered updates to expire \
             before being replayed.",
        ));
    }
    Ok(vec![table.schema.with_options(options)])
}

fn views<'a>(keyspace: &'a Keyspace, table: &'a TableInfo) -> impl Iterator<Item = &'a TableInfo> {
    table.views.iter().filter_map(|view| keyspace.tables.get(view)).map(|view| &**view)
}
