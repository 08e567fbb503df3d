//! The statements that make the schema again, as DESCRIBE shows them: layout, quoting and order are Cassandra's.

use crate::catalog::store::Keyspace;
use crate::catalog::table::{IndexDef, TableInfo, ViewDef};
use crate::catalog::types::{cql_text, name};
use crate::schema::index::part_name;
use crate::schema::properties::{map_literal, quote};
use crate::schema::{options, replication};
use crate::syntax::ast::IndexPart;
use crate::syntax::print;
use skep_engine::model::schema::Column;
use skep_engine::{ColumnKind, DEFAULT_KEYSPACE, Order, TableSchema, UdtType};
use std::fmt::Write as _;

/// CREATE KEYSPACE.
#[must_use]
pub fn keyspace(keyspace: &Keyspace) -> String {
    // Every store has this one: the text is to run in another store.
    let unless = if keyspace.name == DEFAULT_KEYSPACE { "IF NOT EXISTS " } else { "" };
    format!(
        "CREATE KEYSPACE {unless}{} WITH replication = {}  AND durable_writes = {};",
        name(&keyspace.name),
        replication::describe(&keyspace.replication),
        keyspace.durable_writes
    )
}

/// CREATE TYPE.
#[must_use]
pub fn user_type(udt: &UdtType) -> String {
    let fields: Vec<_> =
        udt.fields.iter().map(|(field, ty)| format!("    {} {}", name(field), cql_text(ty))).collect();
    format!("CREATE TYPE {}.{} (\n{}\n);", name(&udt.keyspace), name(&udt.name), fields.join(",\n"))
}

/// CREATE TABLE. With `internals`, the columns that were dropped and the table's UUID are in it too.
#[must_use]
pub fn table(table: &TableInfo, internals: bool) -> String {
    let schema = &table.schema;
    let mut text = format!("CREATE TABLE {} (", table.full_name());
    let key = schema.partition_key();
    let alone = key.len() == 1 && schema.clustering().is_empty();
    let gone = schema.dropped().iter().filter(|_| internals).map(|dropped| &dropped.column);
    let gone: Vec<&Column> = gone.filter(|column| schema.column(&column.name).is_none()).collect();
    let mut lines: Vec<String> = Vec::new();
    for column in shown(schema, &gone) {
        let mut line = format!("    {} {}", name(&column.name), cql_text(&column.ty));
        if column.kind == ColumnKind::Static {
            line.push_str(" static");
        }
        if let Some(mask) = table.masks.get(&column.name) {
            let _ = write!(line, " MASKED WITH {}", print::expr(mask));
        }
        if alone && column.kind == ColumnKind::PartitionKey {
            line.push_str(" PRIMARY KEY");
        }
        lines.push(line);
    }
    if !alone {
        lines.push(format!("    {}", primary_key(schema)));
    }
    text.push('\n');
    text.push_str(&lines.join(",\n"));
    text.push_str("\n) WITH ");
    if internals {
        let _ = write!(text, "ID = {}\n    AND ", table.uuid);
    }
    text.push_str(&with(schema, false));
    text.push(';');
    if internals {
        let mut dropped: Vec<_> = schema.dropped().iter().collect();
        dropped.sort_by(|a, b| a.column.name.cmp(&b.column.name));
        for dropped in dropped {
            let label = name(&dropped.column.name);
            let at = dropped.timestamp;
            let _ = write!(text, "\nALTER TABLE {} DROP {label} USING TIMESTAMP {at};", table.full_name());
            if schema.column(&dropped.column.name).is_some() {
                let is_static = if dropped.column.kind == ColumnKind::Static { " static" } else { "" };
                let ty = cql_text(&dropped.column.ty);
                let _ = write!(text, "\nALTER TABLE {} ADD {label} {ty}{is_static};", table.full_name());
            }
        }
    }
    text
}

/// `CREATE [CUSTOM] INDEX`.
#[must_use]
pub fn index(table: &TableInfo, index: &IndexDef) -> String {
    let column = name(&index.column);
    let target = match index.part {
        IndexPart::Simple => column,
        part => format!("{}({column})", part_name(part)),
    };
    let custom = if index.custom { "CUSTOM " } else { "" };
    let mut text = format!("CREATE {custom}INDEX {} ON {} ({target})", name(&index.name), table.full_name());
    if let Some(class) = index.class.as_ref().filter(|_| index.custom) {
        let _ = write!(text, " USING {}", quote(class));
    }
    if !index.options.is_empty() {
        let _ = write!(text, " WITH OPTIONS = {}", map_literal(&index.options));
    }
    text.push(';');
    text
}

/// CREATE MATERIALIZED VIEW.
#[must_use]
pub fn view(table: &TableInfo, view: &ViewDef, internals: bool) -> String {
    let schema = &table.schema;
    let columns = match view.all_columns {
        true => "*".to_owned(),
        false => {
            shown(schema, &[]).into_iter().map(|column| name(&column.name)).collect::<Vec<_>>().join(", ")
        }
    };
    let id = if internals { format!(" WITH ID = {}\n    AND ", table.uuid) } else { " WITH ".to_owned() };
    format!(
        "CREATE MATERIALIZED VIEW {} AS\n    SELECT {columns}\n    FROM {}.{}\n    WHERE {}\n    {}\n{id}{};",
        table.full_name(),
        name(&schema.keyspace),
        name(&view.base),
        print::relations(&view.relations),
        primary_key(schema),
        with(schema, true)
    )
}

/// The columns in the order of DESCRIBE: keys, then statics and regulars by name, of each those of one cell first. `more` are shown among
/// them.
fn shown<'a>(schema: &'a TableSchema, more: &[&'a Column]) -> Vec<&'a Column> {
    let rest = schema.statics().iter().chain(schema.regulars()).chain(more.iter().copied());
    let mut rest: Vec<&Column> = rest.collect();
    rest.sort_by_key(|column| {
        (column.kind != ColumnKind::Static, column.ty.is_multicell(), column.name.as_str())
    });
    schema.partition_key().iter().chain(schema.clustering()).chain(rest).collect()
}

fn primary_key(schema: &TableSchema) -> String {
    let names = |columns: &[Column]| columns.iter().map(|c| name(&c.name)).collect::<Vec<_>>().join(", ");
    let partition = match schema.partition_key() {
        [only] => name(&only.name),
        several => format!("({})", names(several)),
    };
    match schema.clustering().is_empty() {
        true => format!("PRIMARY KEY ({partition})"),
        false => format!("PRIMARY KEY ({partition}, {})", names(schema.clustering())),
    }
}

/// What stands behind WITH.
fn with(schema: &TableSchema, view: bool) -> String {
    let mut parts = Vec::new();
    if !schema.clustering().is_empty() {
        let order = schema.clustering().iter().map(|column| {
            let word = if column.kind == ColumnKind::Clustering(Order::Desc) { "DESC" } else { "ASC" };
            format!("{} {word}", name(&column.name))
        });
        parts.push(format!("CLUSTERING ORDER BY ({})", order.collect::<Vec<_>>().join(", ")));
    }
    let options = options::describe(&schema.options, view);
    parts.extend(options.into_iter().map(|(option, literal)| format!("{option} = {literal}")));
    parts.join("\n    AND ")
}
