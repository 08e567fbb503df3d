//! A table's definition as CQL, and the commands `skep tables` and `skep schema` that show it.

use crate::failure::Outcome;
use crate::output::{bytes, count, say, text_table};
use crate::store::reading;
use serde_json::json;
use skep::model::schema::Column;
use skep::{ColumnKind, CqlType, Order, TableSchema, UdtType};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `skep tables`.
#[derive(Debug, clap::Args)]
pub(crate) struct TablesArgs {
    /// The store's directory
    dir: PathBuf,
    /// As one JSON object for each table, one a line
    #[arg(long)]
    json: bool,
}

/// Arguments of `skep schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The store's directory
    dir: PathBuf,
    /// The table: `table`, or `keyspace.table`
    table: String,
}

/// Lists the tables.
pub(crate) fn tables(args: &TablesArgs) -> Outcome {
    let db = reading(&args.dir)?;
    if args.json {
        for table in db.tables() {
            let stats = table.stats();
            say(json!({
                "name": stats.name,
                "files": stats.files,
                "file_bytes": stats.file_bytes,
                "rows": stats.rows,
                "memtable_rows": stats.memtable_rows,
            }))?;
        }
        return Ok(());
    }
    let rows = db.tables().into_iter().map(|table| {
        let stats = table.stats();
        vec![
            stats.name,
            count(stats.files as u64),
            bytes(stats.file_bytes),
            count(stats.rows),
            count(stats.memtable_rows),
        ]
    });
    let header = ["table", "files", "size", "rows in files", "rows in the log"];
    say(format_args!("{}", text_table(&header, &[1, 2, 3, 4], rows.collect())))?;
    Ok(())
}

/// Shows a table's definition.
pub(crate) fn show(args: &SchemaArgs) -> Outcome {
    let db = reading(&args.dir)?;
    say(format_args!("{}", definition(&db.table(&args.table)?.schema())))?;
    Ok(())
}

/// An identifier as CQL needs it: bare, or in double quotes.
fn quoted(name: &str) -> String {
    let bare = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if bare { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
}

/// The CREATE TABLE of a table, with a CREATE TYPE for each user type in it.
pub(crate) fn definition(schema: &TableSchema) -> String {
    let mut types: Vec<Arc<UdtType>> = Vec::new();
    schema.columns().iter().for_each(|column| user_types(&column.ty, &mut types));
    let mut text = String::new();
    for udt in types {
        let fields: Vec<_> = udt.fields.iter().map(|(name, ty)| format!("{} {ty}", quoted(name))).collect();
        let _ = writeln!(
            text,
            "CREATE TYPE {}.{} ({});",
            quoted(&udt.keyspace),
            quoted(&udt.name),
            fields.join(", ")
        );
    }
    let _ = writeln!(text, "CREATE TABLE {}.{} (", quoted(&schema.keyspace), quoted(&schema.name));
    for column in schema.declared() {
        let fixed = if column.kind == ColumnKind::Static { " STATIC" } else { "" };
        let _ = writeln!(text, "    {} {}{fixed},", quoted(&column.name), column.ty);
    }
    let partition = match schema.partition_key() {
        [_] => names(schema.partition_key()),
        several => format!("({})", names(several)),
    };
    let clustering = match schema.clustering() {
        [] => String::new(),
        columns => format!(", {}", names(columns)),
    };
    let _ = write!(text, "    PRIMARY KEY ({partition}{clustering})\n) WITH ");
    text.push_str(&options(schema).join("\n    AND "));
    text.push(';');
    text
}

fn user_types(ty: &CqlType, found: &mut Vec<Arc<UdtType>>) {
    match ty {
        CqlType::Udt(udt) => {
            udt.fields.iter().for_each(|(_, field)| user_types(field, found));
            if !found.contains(udt) {
                found.push(Arc::clone(udt));
            }
        }
        CqlType::List(inner) | CqlType::Set(inner) | CqlType::Vector(inner, _) | CqlType::Frozen(inner) => {
            user_types(inner, found);
        }
        CqlType::Map(key, value) => [key, value].into_iter().for_each(|ty| user_types(ty, found)),
        CqlType::Tuple(fields) => fields.iter().for_each(|ty| user_types(ty, found)),
        _ => {}
    }
}

fn options(schema: &TableSchema) -> Vec<String> {
    let options = &schema.options;
    let mut list = Vec::new();
    if schema.clustering().iter().any(|column| column.kind == ColumnKind::Clustering(Order::Desc)) {
        let order = schema.clustering().iter().map(|column| {
            let order = if column.kind == ColumnKind::Clustering(Order::Desc) { "DESC" } else { "ASC" };
            format!("{} {order}", quoted(&column.name))
        });
        list.push(format!("CLUSTERING ORDER BY ({})", order.collect::<Vec<_>>().join(", ")));
    }
    list.push(format!("bloom_filter_fp_chance = {:?}", options.bloom_filter_fp_chance));
    if !options.comment.is_empty() {
        list.push(format!("comment = {}", literal(&options.comment)));
    }
    list.push(format!("compaction = {}", map(&options.compaction)));
    list.push(format!("compression = {}", map(&options.compression)));
    list.push(format!("default_time_to_live = {}", options.default_time_to_live));
    list.push(format!("gc_grace_seconds = {}", options.gc_grace_seconds));
    // What begins with # is a note of another layer (an index, a mask) and no option.
    let shown = options.other.iter().filter(|(name, _)| !name.starts_with('#'));
    list.extend(shown.map(|(name, value)| format!("{name} = {value}")));
    list
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn map(entries: &BTreeMap<String, String>) -> String {
    let entries: Vec<_> = entries.iter().map(|(k, v)| format!("{}: {}", literal(k), literal(v))).collect();
    format!("{{{}}}", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::TableOptions;
    use skep::model::schema::TableId;

    #[test]
    fn a_definition_reads_like_cql() {
        let columns = vec![
            ("series".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
            ("day".to_owned(), CqlType::Date, ColumnKind::PartitionKey),
            ("ts".to_owned(), CqlType::Timestamp, ColumnKind::Clustering(Order::Desc)),
            ("Odd Name".to_owned(), CqlType::Double, ColumnKind::Regular),
            ("site".to_owned(), CqlType::Text, ColumnKind::Static),
        ];
        let options = TableOptions { comment: "it's".to_owned(), ..TableOptions::default() };
        let schema = TableSchema::new(TableId(1), "main", "r", columns, options).unwrap();
        let expected = "CREATE TABLE main.r (\n    series text,\n    day date,\n    ts timestamp,\n    \"Odd Name\" double,\n    \
                        site text STATIC,\n    PRIMARY KEY ((series, day), ts)\n) WITH CLUSTERING ORDER BY (ts DESC)\n    \
                        AND bloom_filter_fp_chance = 0.01\n    AND comment = 'it''s'\n    \
                        AND compaction = {'class': 'SizeTieredCompactionStrategy'}\n    \
                        AND compression = {'class': 'LZ4Compressor'}\n    AND default_time_to_live = 0\n    \
                        AND gc_grace_seconds = 864000;";
        assert_eq!(definition(&schema), expected);
    }
}
