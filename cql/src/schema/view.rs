//! CREATE, ALTER, DROP MATERIALIZED VIEW: what a view may be, and its table.
//!
//! A view is a table of its own whose options hold the statement that made it. That it holds the rows that it should, from the first on, is
//! `derive`'s.

use crate::answer::{Change, Outcome};
use crate::catalog::table::TableInfo;
use crate::catalog::types::name;
use crate::catalog::{Catalog, definition, names};
use crate::derive::fill;
use crate::error::{CqlError, Result};
use crate::restrict::{Kind, Rules, Where};
use crate::schema::columns::{check_key_type, check_order_duplicates, clustering_order};
use crate::schema::keyspace;
use crate::schema::named::Named;
use crate::schema::options::{self, Purpose};
use crate::schema::table::{already_exists, changed};
use crate::syntax::ast::{AlterView, Comparison, CreateView, Expr, Left, Name, Relation, Right, TableName};
use crate::term::{Markers, Preparing, Scope};
use skep_engine::{ColumnKind, Order, Schema, SchemaChange as EngineChange, TableOptions, TableSchema};
use std::collections::BTreeSet;
use std::sync::Arc;

/// CREATE MATERIALIZED VIEW.
pub fn create(catalog: &Catalog, named: Named<'_>, statement: &CreateView) -> Result<Outcome> {
    let base_keyspace = statement.base.keyspace.as_ref().map_or(named.keyspace, |name| &name.text);
    let mut made = false;
    let outcome = catalog.change(|picture| {
        let keyspace = picture.keyspace(named.keyspace).ok_or_else(|| keyspace::missing(named.keyspace))?;
        if base_keyspace != named.keyspace {
            let text = "Cannot create a materialized view on a table in a different keyspace";
            return Err(CqlError::invalid(text));
        }
        if has_markers(&statement.relations) {
            let text = "Bind variables are not allowed in CREATE MATERIALIZED VIEW statements";
            return Err(CqlError::invalid(text));
        }
        let base =
            keyspace.tables.get(&statement.base.name.text).filter(|table| !table.is_view()).ok_or_else(
                || {
                    let text = format!("Base table '{}' doesn't exist", statement.base.name.text);
                    CqlError::invalid(text).at(statement.base.name.place)
                },
            )?;
        match keyspace.tables.get(named.name) {
            Some(taken) if !taken.is_view() => {
                return Err(CqlError::invalid(format!(
                    "Cannot create materialized view '{}' - a table with the same name already exists",
                    named.name
                )));
            }
            Some(_) if statement.if_not_exists => return Ok(Outcome::Void),
            Some(_) => return Err(already_exists(named)),
            None => (),
        }
        let schema = build(catalog, base, named, statement)?;
        catalog.db().change_schema(EngineChange::new().create_table(schema))?;
        made = true;
        Ok(changed(Change::Created, named))
    })?;
    if made
        && let Err(error) = fill::view(catalog, named.keyspace, named.name)
            .and_then(|()| fill::done(catalog, named.keyspace, named.name))
    {
        drop(catalog, named, true)?;
        return Err(error);
    }
    Ok(outcome)
}

/// ALTER MATERIALIZED VIEW.
pub fn alter(catalog: &Catalog, named: Named<'_>, statement: &AlterView) -> Result<Outcome> {
    catalog.change(|picture| {
        let Some(view) = picture.table(named.keyspace, named.name).filter(|table| table.is_view()) else {
            return if statement.if_exists { Ok(Outcome::Void) } else { Err(missing(named)) };
        };
        let mut options = view.schema.options.clone();
        options::apply(&mut options, &statement.options, Purpose::AlterView)?;
        if options.gc_grace_seconds == 0 {
            return Err(CqlError::invalid(
                "Cannot alter gc_grace_seconds of a materialized view to 0, since this value is used to TTL undelivered \
                 updates. Setting gc_grace_seconds too low might cause undelivered updates to expire before being \
                 replayed.",
            ));
        }
        if options.default_time_to_live > 0 {
            return Err(CqlError::invalid(
                "Forbidden default_time_to_live detected for a materialized view. Data in a materialized view always \
                 expire at the same time than the corresponding data in the parent table. default_time_to_live must be \
                 set to zero, see CASSANDRA-12868 for more information",
            ));
        }
        catalog.db().change_schema(EngineChange::new().put_table(view.schema.with_options(options)))?;
        Ok(changed(Change::Updated, named))
    })
}

/// DROP MATERIALIZED VIEW.
pub fn drop(catalog: &Catalog, named: Named<'_>, if_exists: bool) -> Result<Outcome> {
    catalog.change(|picture| {
        if picture.table(named.keyspace, named.name).is_none_or(|table| !table.is_view()) {
            return if if_exists { Ok(Outcome::Void) } else { Err(missing(named)) };
        }
        catalog.db().change_schema(EngineChange::new().drop_table(named.keyspace, named.name))?;
        Ok(changed(Change::Dropped, named))
    })
}

fn missing(named: Named<'_>) -> CqlError {
    CqlError::invalid(format!("Materialized view '{}' doesn't exist", named.full()))
}

/// The view's table.
fn build(
    catalog: &Catalog,
    base: &Arc<TableInfo>,
    named: Named<'_>,
    statement: &CreateView,
) -> Result<Schema> {
    if base.is_counter() {
        return Err(CqlError::invalid("Materialized views are not supported on counter tables"));
    }
    if base.schema.options.gc_grace_seconds == 0 {
        return Err(CqlError::invalid(format!(
            "Cannot create materialized view '{}' for base table '{}' with gc_grace_seconds of 0, since this value is \
             used to TTL undelivered updates. Setting gc_grace_seconds too low might cause undelivered updates to expire \
             before being replayed.",
            named.name,
            base.name()
        )));
    }
    check_order_duplicates(&statement.clustering_order, "view", named.name)?;
    let options = view_options(statement)?;
    let selected = selected(base, named, statement)?;
    let (partition, clustering) = key(base, named, statement, &selected)?;
    let clustering_names: Vec<&str> = clustering.iter().map(|name| name.text.as_str()).collect();
    let ordered = statement.clustering_order.iter().map(|(name, _)| name.text.as_str());
    if !statement.clustering_order.is_empty() && !ordered.eq(clustering_names.iter().copied()) {
        let text = "Clustering key columns must exactly match columns in CLUSTERING ORDER BY directive";
        return Err(CqlError::invalid(text));
    }
    let descending = clustering_order(&statement.clustering_order, &clustering_names)?;
    check_where(catalog, base, statement)?;
    check_relations(base, statement, partition, clustering)?;
    names::check_table(named.keyspace, named.name)?;

    let mut options = options;
    definition::put_view(&mut options, &stored(base, named, statement));
    definition::put_mark(&mut options, "");
    let mut schema = Schema::table(named.name).keyspace(named.keyspace).options(options);
    for name in partition {
        schema = schema.declare(&name.text, base.column(&name.text)?.ty.clone(), ColumnKind::PartitionKey);
    }
    for (name, descending) in clustering.iter().zip(descending) {
        let order = if descending { Order::Desc } else { Order::Asc };
        schema =
            schema.declare(&name.text, base.column(&name.text)?.ty.clone(), ColumnKind::Clustering(order));
    }
    let in_key = |column: &str| partition.iter().chain(clustering).any(|name| name.text == column);
    for column in base.schema.columns() {
        if selected.contains(column.name.as_str()) && !in_key(&column.name) {
            schema = schema.declare(&column.name, column.ty.clone(), ColumnKind::Regular);
        }
    }
    Ok(schema)
}

fn view_options(statement: &CreateView) -> Result<TableOptions> {
    let mut options = TableOptions::default();
    options::apply(&mut options, &statement.options, Purpose::CreateView)?;
    if options.default_time_to_live != 0 {
        return Err(CqlError::invalid(
            "Cannot set default_time_to_live for a materialized view. Data in a materialized view always expire at the \
             same time than the corresponding data in the parent table.",
        ));
    }
    Ok(options)
}

/// The names of the columns that the view has.
fn selected<'a>(
    base: &'a TableInfo,
    named: Named<'_>,
    statement: &'a CreateView,
) -> Result<BTreeSet<&'a str>> {
    let refuse_static = |column: &str| {
        Err(CqlError::invalid(format!(
            "Cannot include static column '{column}' in materialized view '{}'",
            named.name
        )))
    };
    let mut selected = BTreeSet::new();
    for (selector, alias) in &statement.selectors {
        let Expr::Column(column) = selector else {
            return Err(CqlError::invalid(
                "Can only select columns by name when defining a materialized view (got an expression)",
            )
            .hint("write the computed value as a column of the table, then select and index that column"));
        };
        if alias.is_some() {
            return Err(CqlError::invalid(format!(
                "Cannot use aliases when defining a materialized view (got {})",
                name(&column.text)
            )));
        }
        let known = base.column(&column.text).map_err(|error| error.at(column.place))?;
        if known.kind == ColumnKind::Static {
            return refuse_static(&column.text);
        }
        selected.insert(column.text.as_str());
    }
    if statement.selectors.is_empty() {
        if let Some(column) = base.schema.statics().first() {
            return refuse_static(&column.name);
        }
        selected.extend(base.schema.columns().iter().map(|column| column.name.as_str()));
    }
    Ok(selected)
}

/// Partition key and clustering columns, checked.
fn key<'a>(
    base: &TableInfo,
    named: Named<'_>,
    statement: &'a CreateView,
    selected: &BTreeSet<&str>,
) -> Result<(&'a [Name], &'a [Name])> {
    let view = named.name;
    let (partition, clustering) = match statement.primary_keys.as_slice() {
        [only] => only,
        [] => {
            let text = format!("No PRIMARY KEY specifed for view '{view}' (exactly one required)");
            return Err(CqlError::invalid(text));
        }
        _ => {
            let text = format!("Multiple PRIMARY KEY specified for view '{view}' (exactly one required)");
            return Err(CqlError::invalid(text));
        }
    };
    let mut in_key: BTreeSet<&str> = BTreeSet::new();
    let mut others: Vec<&str> = Vec::new();
    for column in partition.iter().chain(clustering) {
        let known = base.schema.column(&column.text).filter(|_| selected.contains(column.text.as_str()));
        let Some(known) = known else {
            let text = format!(
                "Unknown column '{}' referenced in PRIMARY KEY for materialized view '{view}'",
                column.text
            );
            let column_of_base = name(&column.text);
            let hint = match base.schema.column(&column.text) {
                Some(_) => format!("select {column_of_base} in the view as well"),
                None => format!(
                    "there are no computed columns: add {column_of_base} to table {}, write it with each row, then select and index it",
                    name(base.name())
                ),
            };
            return Err(CqlError::invalid(text).at(column.place).hint(hint));
        };
        if !in_key.insert(&column.text) {
            let text = format!(
                "Duplicate column '{}' in PRIMARY KEY clause for materialized view '{view}'",
                column.text
            );
            return Err(CqlError::invalid(text).at(column.place));
        }
        check_key_type(&known.ty, &column.text)?;
        if known.kind == ColumnKind::Regular {
            others.push(&column.text);
        }
    }
    let of_base = base.schema.partition_key().iter().chain(base.schema.clustering());
    let lacking: Vec<_> =
        of_base.map(|column| column.name.as_str()).filter(|name| !in_key.contains(name)).collect();
    if !lacking.is_empty() {
        return Err(CqlError::invalid(format!(
            "Cannot create materialized view '{view}' without primary key columns {} from base table '{}'",
            lacking.join(", "),
            base.name()
        )));
    }
    if others.len() > 1 {
        return Err(CqlError::invalid(format!(
            "Cannot include more than one non-primary key column in materialized view primary key (got {})",
            others.join(", ")
        )));
    }
    Ok((partition, clustering))
}

/// Holds the relations beside IS NOT NULL against the table, as those of a SELECT that may filter.
fn check_where(catalog: &Catalog, base: &Arc<TableInfo>, statement: &CreateView) -> Result<()> {
    if let Some(token) = statement.relations.iter().find(|relation| matches!(relation.left, Left::Token(_))) {
        let text = "Cannot use token relation when defining a materialized view";
        return Err(CqlError::invalid(text).at(token.place));
    }
    let others = statement.relations.iter().filter(|relation| relation.comparison != Comparison::IsNot);
    let others: Vec<Relation> = others.cloned().collect();
    let mut markers = Markers::new(&[]);
    let scope = Scope { types: catalog, keyspace: base.keyspace(), table: Some(&base.schema) };
    let rules = Rules { kind: Kind::Select, statics_only: false, allow_filtering: true };
    Where::prepare(&mut Preparing { scope, markers: &mut markers }, base, &others, rules)?;
    Ok(())
}

fn check_relations(
    base: &TableInfo,
    statement: &CreateView,
    partition: &[Name],
    clustering: &[Name],
) -> Result<()> {
    let mut restricted: BTreeSet<&str> = BTreeSet::new();
    let mut illegal: Vec<&str> = Vec::new();
    for relation in &statement.relations {
        let columns: Vec<&Name> = match &relation.left {
            Left::Column(column) | Left::Element(column, _) => vec![column],
            Left::Columns(columns) | Left::Token(columns) => columns.iter().collect(),
        };
        for column in columns {
            let known = base.column(&column.text).map_err(|error| error.at(column.place))?;
            restricted.insert(&column.text);
            let key = matches!(known.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_));
            if !key && relation.comparison != Comparison::IsNot && !illegal.contains(&column.text.as_str()) {
                illegal.push(&column.text);
            }
        }
    }
    if !illegal.is_empty() {
        return Err(CqlError::invalid(format!(
            "Non-primary key columns can only be restricted with 'IS NOT NULL' (got: {} restricted illegally)",
            illegal.join(", ")
        )));
    }
    let open: Vec<_> = partition
        .iter()
        .chain(clustering)
        .map(|column| column.text.as_str())
        .filter(|column| !restricted.contains(column))
        .collect();
    match open.is_empty() {
        true => Ok(()),
        false => Err(CqlError::invalid(format!(
            "Primary key columns {} must be restricted with 'IS NOT NULL' or otherwise",
            open.join(", ")
        ))),
    }
}

/// The statement as it is stored: with keyspaces, without options, which the table's own hold.
fn stored(base: &TableInfo, named: Named<'_>, statement: &CreateView) -> CreateView {
    let keyspace =
        || Some(Name { text: named.keyspace.to_owned(), quoted: true, place: statement.name.name.place });
    let mut stored = statement.clone();
    stored.if_not_exists = false;
    stored.name = TableName { keyspace: keyspace(), name: statement.name.name.clone() };
    stored.base =
        TableName { keyspace: keyspace(), name: Name { text: base.name().to_owned(), ..stored.base.name } };
    stored.clustering_order = Vec::new();
    stored.options = Vec::new();
    stored
}

/// Renames a key column in the statement that is stored with a view's table.
///
/// # Errors
/// `ServerError` if the stored statement cannot be read.
pub fn rename_in_definition(schema: &mut TableSchema, from: &str, to: &Name) -> Result<()> {
    let Some(view) = definition::view_of(schema)? else { return Ok(()) };
    let mut statement = view.statement;
    let rename = |column: &mut Name| {
        if column.text == from {
            column.text.clone_from(&to.text);
        }
    };
    for (selector, _) in &mut statement.selectors {
        if let Expr::Column(column) = selector {
            rename(column);
        }
    }
    for relation in &mut statement.relations {
        match &mut relation.left {
            Left::Column(column) | Left::Element(column, _) => rename(column),
            Left::Columns(columns) | Left::Token(columns) => columns.iter_mut().for_each(rename),
        }
    }
    for (partition, clustering) in &mut statement.primary_keys {
        partition.iter_mut().chain(clustering).for_each(rename);
    }
    let mut options = schema.options.clone();
    definition::put_view(&mut options, &statement);
    *schema = schema.with_options(options);
    Ok(())
}

fn has_markers(relations: &[Relation]) -> bool {
    relations.iter().any(|relation| match &relation.right {
        Right::Marker(_) => true,
        Right::Term(term) => has_marker(term),
        Right::List(terms) => terms.iter().any(has_marker),
    })
}

fn has_marker(term: &Expr) -> bool {
    match term {
        Expr::Marker(_) => true,
        Expr::List(terms) | Expr::Set(terms) | Expr::Tuple(terms) | Expr::Call { args: terms, .. } => {
            terms.iter().any(has_marker)
        }
        Expr::Map(entries) => entries.iter().any(|(key, value)| has_marker(key) || has_marker(value)),
        Expr::Udt(fields) => fields.iter().any(|(_, value)| has_marker(value)),
        Expr::TypeHint(_, term) | Expr::Cast(term, _) | Expr::Negate(term) => has_marker(term),
        Expr::Binary(_, left, right) => has_marker(left) || has_marker(right),
        _ => false,
    }
}
