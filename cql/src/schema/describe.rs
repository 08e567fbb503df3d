//! DESCRIBE: rows of (keyspace_name, type, name, create_statement), as a node of Cassandra 4.0 and later answers them by itself.
//!
//! The statements of a keyspace stand in an order that makes it again: types before those that use them, tables with their indexes
//! and views behind them.

use crate::answer::{Outcome, ResultSet};
use crate::catalog::store::Keyspace;
use crate::catalog::table::TableInfo;
use crate::catalog::types::name;
use crate::catalog::{Catalog, Picture, names};
use crate::error::{CqlError, Result};
use crate::schema::describe_text;
use crate::schema::named::no_keyspace;
use crate::syntax::ast::{Describe, DescribeWhat, TableName};
use crate::value::ColumnSpec;
use skep_engine::model::bytes::Bytes;
use skep_engine::{CqlType, UdtType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One thing and the statement that makes it.
#[derive(Debug)]
pub struct Described {
    keyspace: String,
    kind: &'static str,
    name: String,
    create: String,
}

impl Described {
    fn keyspace(keyspace: &Keyspace) -> Self {
        let create = describe_text::keyspace(keyspace);
        Self { keyspace: name(&keyspace.name), kind: "keyspace", name: name(&keyspace.name), create }
    }

    /// A thing of a keyspace.
    #[must_use]
    pub fn new(keyspace: &str, kind: &'static str, thing: &str, create: String) -> Self {
        Self { keyspace: name(keyspace), kind, name: name(thing), create }
    }
}

/// DESCRIBE, in a session's keyspace.
pub fn describe(catalog: &Catalog, session: Option<&str>, statement: &Describe) -> Result<Outcome> {
    let picture = catalog.picture()?;
    let internals = statement.internals;
    let rows = match &statement.what {
        DescribeWhat::Cluster => return Ok(cluster()),
        DescribeWhat::Schema { .. } => {
            picture.keyspaces.values().flat_map(|keyspace| all_of(keyspace, internals)).collect()
        }
        DescribeWhat::Keyspaces => {
            let mut all: Vec<_> = picture.keyspaces.keys().cloned().collect();
            all.extend(names::SYSTEM.iter().map(|system| (*system).to_owned()));
            let all = sorted(all.iter()).into_iter().map(|label| (name(label), "keyspace", name(label)));
            return Ok(listing(all.collect()));
        }
        DescribeWhat::Tables => {
            return Ok(listing(list(&picture, session, "table", |keyspace| {
                tables(keyspace)
                    .iter()
                    .filter(|table| !table.is_view())
                    .map(|table| table.name().to_owned())
                    .collect()
            })?));
        }
        DescribeWhat::Types => {
            return Ok(listing(list(&picture, session, "type", |keyspace| {
                sorted(keyspace.types.keys()).into_iter().cloned().collect()
            })?));
        }
        DescribeWhat::Functions | DescribeWhat::Aggregates => return Ok(listing(Vec::new())),
        DescribeWhat::Keyspace { only, name } => {
            let label = name.as_ref().map(|name| name.text.as_str()).or(session).ok_or_else(no_keyspace)?;
            let keyspace = find_keyspace(&picture, label)?;
            if *only { vec![Described::keyspace(keyspace)] } else { all_of(keyspace, internals) }
        }
        DescribeWhat::Any(thing) => any(&picture, session, thing, internals)?,
        DescribeWhat::Table(thing) => {
            let (keyspace, label) = place(&picture, session, thing)?;
            let table = keyspace.tables.get(label).filter(|table| !table.is_view()).ok_or_else(|| {
                CqlError::invalid(format!("Table '{label}' not found in keyspace '{}'", keyspace.name))
            })?;
            table_of(keyspace, table, internals)
        }
        DescribeWhat::Type(thing) => {
            let (keyspace, label) = place(&picture, session, thing)?;
            let missing =
                || CqlError::invalid(format!("User defined type '{label}' not found in '{}'", keyspace.name));
            vec![type_of(keyspace.types.get(label).ok_or_else(missing)?)]
        }
        DescribeWhat::Index(thing) => {
            let (keyspace, label) = place(&picture, session, thing)?;
            let missing = || {
                CqlError::invalid(format!(
                    "Table for existing index '{label}' not found in '{}'",
                    keyspace.name
                ))
            };
            index_of(keyspace, label).ok_or_else(missing)?
        }
        DescribeWhat::View(thing) => {
            let (keyspace, label) = place(&picture, session, thing)?;
            let missing =
                || CqlError::invalid(format!("Materialized view '{label}' not found in '{}'", keyspace.name));
            view_of(keyspace, label, internals).ok_or_else(missing)?
        }
        DescribeWhat::Function(thing) => return missing_function(&picture, session, thing, "function"),
        DescribeWhat::Aggregate(thing) => return missing_function(&picture, session, thing, "aggregate"),
    };
    Ok(statements(rows))
}

/// A bare name: a keyspace, or a table, view or index of the session's keyspace.
fn any(
    picture: &Picture,
    session: Option<&str>,
    thing: &TableName,
    internals: bool,
) -> Result<Vec<Described>> {
    let label = &thing.name.text;
    if thing.keyspace.is_none()
        && let Some(keyspace) = picture.keyspace(label)
    {
        return Ok(all_of(keyspace, internals));
    }
    let (keyspace, label) = match (&thing.keyspace, session) {
        (None, None) => return Err(CqlError::invalid(format!("'{label}' not found in keyspaces"))),
        _ => place(picture, session, thing)?,
    };
    if let Some(table) = keyspace.tables.get(label).filter(|table| !table.is_view()) {
        return Ok(table_of(keyspace, table, internals));
    }
    let found = view_of(keyspace, label, internals).or_else(|| index_of(keyspace, label));
    found.ok_or_else(|| CqlError::invalid(format!("'{label}' not found in keyspace '{}'", keyspace.name)))
}

fn place<'a>(
    picture: &'a Picture,
    session: Option<&str>,
    thing: &'a TableName,
) -> Result<(&'a Keyspace, &'a str)> {
    let keyspace =
        thing.keyspace.as_ref().map(|name| name.text.as_str()).or(session).ok_or_else(no_keyspace)?;
    Ok((find_keyspace(picture, keyspace)?, &thing.name.text))
}

fn find_keyspace<'a>(picture: &'a Picture, label: &str) -> Result<&'a Arc<Keyspace>> {
    picture.keyspace(label).ok_or_else(|| {
        let error = CqlError::invalid(format!("'{label}' not found in keyspaces"));
        if names::is_reserved(label) {
            error.hint("the system's tables have no statements that make them")
        } else {
            error
        }
    })
}

fn missing_function(
    picture: &Picture,
    session: Option<&str>,
    thing: &TableName,
    what: &str,
) -> Result<Outcome> {
    let (keyspace, label) = place(picture, session, thing)?;
    Err(CqlError::invalid(format!("User defined {what} '{label}' not found in '{}'", keyspace.name)))
}

fn all_of(keyspace: &Keyspace, internals: bool) -> Vec<Described> {
    let mut all = vec![Described::keyspace(keyspace)];
    all.extend(ordered_types(keyspace).into_iter().map(type_of));
    for table in tables(keyspace).into_iter().filter(|table| !table.is_view()) {
        all.extend(table_of(keyspace, table, internals));
    }
    all
}

fn table_of(keyspace: &Keyspace, table: &TableInfo, internals: bool) -> Vec<Described> {
    let ks = &keyspace.name;
    let mut all = vec![Described::new(ks, "table", table.name(), describe_text::table(table, internals))];
    for index in &table.indexes {
        all.push(Described::new(ks, "index", &index.name, describe_text::index(table, index)));
    }
    all.extend(table.views.iter().filter_map(|view| view_of(keyspace, view, internals)).flatten());
    all
}

fn view_of(keyspace: &Keyspace, label: &str, internals: bool) -> Option<Vec<Described>> {
    let table = keyspace.tables.get(label)?;
    let create = describe_text::view(table, table.view.as_ref()?, internals);
    Some(vec![Described::new(&keyspace.name, "materialized_view", label, create)])
}

fn index_of(keyspace: &Keyspace, label: &str) -> Option<Vec<Described>> {
    let (table, index) = keyspace.index(label)?;
    Some(vec![Described::new(&keyspace.name, "index", label, describe_text::index(table, index))])
}

fn type_of(udt: &Arc<UdtType>) -> Described {
    Described::new(&udt.keyspace, "type", &udt.name, describe_text::user_type(udt))
}

/// The types so that each comes behind those in it, by name where that leaves a choice.
fn ordered_types(keyspace: &Keyspace) -> Vec<&Arc<UdtType>> {
    let mut waiting: Vec<_> =
        sorted(keyspace.types.keys()).into_iter().filter_map(|n| keyspace.types.get(n)).collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|udt| {
            let inside = |other: &&str| udt.fields.iter().any(|(_, ty)| ty.uses_type(&udt.keyspace, other));
            !keyspace
                .types
                .keys()
                .any(|other| *other != udt.name && !done.contains(other.as_str()) && inside(&other.as_str()))
        });
        // No type holds itself, so that one is always ready; the first would do if not.
        let next = waiting.remove(ready.unwrap_or(0));
        done.insert(&next.name);
        ordered.push(next);
    }
    ordered
}

fn tables(keyspace: &Keyspace) -> Vec<&Arc<TableInfo>> {
    sorted(keyspace.tables.keys()).into_iter().filter_map(|label| keyspace.tables.get(label)).collect()
}

/// Names in the order of DESCRIBE, which takes no notice of case.
fn sorted<'a>(labels: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut labels: Vec<_> = labels.collect();
    labels.sort_by_key(|label| (label.to_lowercase(), *label));
    labels
}

/// Names of one kind, of the session's keyspace or of all.
fn list(
    picture: &Picture,
    session: Option<&str>,
    kind: &'static str,
    of: impl Fn(&Keyspace) -> Vec<String>,
) -> Result<Vec<(String, &'static str, String)>> {
    let keyspaces: Vec<&Arc<Keyspace>> = match session {
        Some(session) => vec![find_keyspace(picture, session)?],
        None => picture.keyspaces.values().collect(),
    };
    let rows = keyspaces.into_iter().flat_map(|keyspace| {
        let names = of(keyspace).into_iter();
        names.map(|label| (name(&keyspace.name), kind, name(&label))).collect::<Vec<_>>()
    });
    Ok(rows.collect())
}

fn spec(label: &str) -> ColumnSpec {
    ColumnSpec {
        keyspace: "system".to_owned(),
        table: "describe".to_owned(),
        name: label.to_owned(),
        ty: CqlType::Text,
    }
}

fn text(value: String) -> Option<Bytes> {
    Some(Bytes::from(value.into_bytes()))
}

fn result(columns: &[&str], rows: Vec<Vec<Option<Bytes>>>) -> Outcome {
    Outcome::Rows(ResultSet {
        columns: columns.iter().map(|label| spec(label)).collect(),
        rows,
        paging_state: None,
    })
}

/// Rows of names: keyspace, kind, name.
#[must_use]
pub fn listing(rows: Vec<(String, &'static str, String)>) -> Outcome {
    let rows = rows
        .into_iter()
        .map(|(keyspace, kind, label)| vec![text(keyspace), text(kind.to_owned()), text(label)]);
    result(&["keyspace_name", "type", "name"], rows.collect())
}

/// Rows of statements.
#[must_use]
pub fn statements(rows: Vec<Described>) -> Outcome {
    let rows = rows
        .into_iter()
        .map(|row| vec![text(row.keyspace), text(row.kind.to_owned()), text(row.name), text(row.create)]);
    result(&["keyspace_name", "type", "name", "create_statement"], rows.collect())
}

fn cluster() -> Outcome {
    let row = ["skep", "Murmur3Partitioner", "SimpleSnitch"];
    result(
        &["cluster", "partitioner", "snitch"],
        vec![row.iter().map(|value| text((*value).to_owned())).collect()],
    )
}
