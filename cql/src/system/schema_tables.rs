//! `system_schema`: the schema as rows, in the tables that drivers read.

use crate::catalog::types::cql_text;
use crate::catalog::{Keyspace, TableInfo};
use crate::error::Result;
use crate::schema::options;
use crate::syntax::ast::{CreateView, Expr, IndexPart, Select, Statement};
use crate::syntax::print;
use crate::system::definition::Kind::{Clustering, Partition, Regular};
use crate::system::definition::{Definition, Source, SystemRow};
use crate::system::{KEYSPACES, tables};
use skep_engine::model::schema::Column;
use skep_engine::model::text_parse::parse_text;
use skep_engine::{ColumnKind, CqlType, Order, Timestamp, Value};
use std::collections::BTreeMap;

const MAP: &str = "frozen<map<text, text>>";
const TEXTS: &str = "frozen<list<text>>";

/// The tables.
pub(crate) const TABLES: &[Definition] = &[
    Definition {
        keyspace: "system_schema",
        name: "keyspaces",
        comment: "keyspace definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("durable_writes", "boolean", Regular),
            ("replication", MAP, Regular),
        ],
        fill: keyspaces,
    },
    Definition {
        keyspace: "system_schema",
        name: "tables",
        comment: "table definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("additional_write_policy", "text", Regular),
            ("allow_auto_snapshot", "boolean", Regular),
            ("bloom_filter_fp_chance", "double", Regular),
            ("caching", MAP, Regular),
            ("cdc", "boolean", Regular),
            ("comment", "text", Regular),
            ("compaction", MAP, Regular),
            ("compression", MAP, Regular),
            ("crc_check_chance", "double", Regular),
            ("dclocal_read_repair_chance", "double", Regular),
            ("default_time_to_live", "int", Regular),
            ("extensions", "frozen<map<text, blob>>", Regular),
            ("flags", "frozen<set<text>>", Regular),
            ("gc_grace_seconds", "int", Regular),
            ("id", "uuid", Regular),
            ("incremental_backups", "boolean", Regular),
            ("max_index_interval", "int", Regular),
            ("memtable", "text", Regular),
            ("memtable_flush_period_in_ms", "int", Regular),
            ("min_index_interval", "int", Regular),
            ("read_repair", "text", Regular),
            ("read_repair_chance", "double", Regular),
            ("speculative_retry", "text", Regular),
        ],
        fill: tables_and_options,
    },
    Definition {
        keyspace: "system_schema",
        name: "columns",
        comment: "column definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("column_name", "text", Clustering),
            ("clustering_order", "text", Regular),
            ("column_name_bytes", "blob", Regular),
            ("kind", "text", Regular),
            ("position", "int", Regular),
            ("type", "text", Regular),
        ],
        fill: columns,
    },
    Definition {
        keyspace: "system_schema",
        name: "dropped_columns",
        comment: "dropped column registry",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("column_name", "text", Clustering),
            ("dropped_time", "timestamp", Regular),
            ("kind", "text", Regular),
            ("type", "text", Regular),
        ],
        fill: dropped_columns,
    },
    Definition {
        keyspace: "system_schema",
        name: "column_masks",
        comment: "dynamic column masks",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("column_name", "text", Clustering),
            ("function_argument_nulls", "frozen<list<boolean>>", Regular),
            ("function_argument_types", TEXTS, Regular),
            ("function_argument_values", TEXTS, Regular),
            ("function_keyspace", "text", Regular),
            ("function_name", "text", Regular),
        ],
        fill: column_masks,
    },
    Definition {
        keyspace: "system_schema",
        name: "views",
        comment: "view definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("view_name", "text", Clustering),
            ("additional_write_policy", "text", Regular),
            ("allow_auto_snapshot", "boolean", Regular),
            ("base_table_id", "uuid", Regular),
            ("base_table_name", "text", Regular),
            ("bloom_filter_fp_chance", "double", Regular),
            ("caching", MAP, Regular),
            ("cdc", "boolean", Regular),
            ("comment", "text", Regular),
            ("compaction", MAP, Regular),
            ("compression", MAP, Regular),
            ("crc_check_chance", "double", Regular),
            ("dclocal_read_repair_chance", "double", Regular),
            ("default_time_to_live", "int", Regular),
            ("extensions", "frozen<map<text, blob>>", Regular),
            ("gc_grace_seconds", "int", Regular),
            ("id", "uuid", Regular),
            ("include_all_columns", "boolean", Regular),
            ("incremental_backups", "boolean", Regular),
            ("max_index_interval", "int", Regular),
            ("memtable", "text", Regular),
            ("memtable_flush_period_in_ms", "int", Regular),
            ("min_index_interval", "int", Regular),
            ("read_repair", "text", Regular),
            ("read_repair_chance", "double", Regular),
            ("speculative_retry", "text", Regular),
            ("where_clause", "text", Regular),
        ],
        fill: views,
    },
    Definition {
        keyspace: "system_schema",
        name: "indexes",
        comment: "secondary index definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("index_name", "text", Clustering),
            ("kind", "text", Regular),
            ("options", MAP, Regular),
        ],
        fill: indexes,
    },
    Definition {
        keyspace: "system_schema",
        name: "types",
        comment: "user defined type definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("type_name", "text", Clustering),
            ("field_names", TEXTS, Regular),
            ("field_types", TEXTS, Regular),
        ],
        fill: types,
    },
    Definition {
        keyspace: "system_schema",
        name: "functions",
        comment: "user defined function definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("function_name", "text", Clustering),
            ("argument_types", TEXTS, Clustering),
            ("argument_names", TEXTS, Regular),
            ("body", "text", Regular),
            ("called_on_null_input", "boolean", Regular),
            ("language", "text", Regular),
            ("return_type", "text", Regular),
        ],
        fill: none,
    },
    Definition {
        keyspace: "system_schema",
        name: "aggregates",
        comment: "user defined aggregate definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("aggregate_name", "text", Clustering),
            ("argument_types", TEXTS, Clustering),
            ("final_func", "text", Regular),
            ("initcond", "text", Regular),
            ("return_type", "text", Regular),
            ("state_func", "text", Regular),
            ("state_type", "text", Regular),
        ],
        fill: none,
    },
    Definition {
        keyspace: "system_schema",
        name: "triggers",
        comment: "trigger definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("trigger_name", "text", Clustering),
            ("options", MAP, Regular),
        ],
        fill: none,
    },
];

/// What an embedded store has none of.
fn none(_: &Source<'_>) -> Result<Vec<SystemRow>> {
    Ok(Vec::new())
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> Value {
    Value::List(texts.map(text).collect())
}

fn map<'a>(entries: impl Iterator<Item = (&'a String, &'a String)>) -> Value {
    Value::Map(entries.map(|(name, value)| (text(name), text(value))).collect())
}

fn keyspaces(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let row = |name: &str, durable: bool, replication: Value| {
        vec![
            ("keyspace_name", text(name)),
            ("durable_writes", Value::Boolean(durable)),
            ("replication", replication),
        ]
    };
    let own =
        source.picture.keyspaces.values().map(|k| row(&k.name, k.durable_writes, map(k.replication.iter())));
    let local =
        BTreeMap::from([("class".to_owned(), "org.apache.cassandra.locator.LocalStrategy".to_owned())]);
    Ok(own.chain(KEYSPACES.map(|name| row(name, true, map(local.iter())))).collect())
}

fn each_table<'a>(source: &Source<'a>) -> impl Iterator<Item = (&'a Keyspace, &'a TableInfo)> + use<'a> {
    let keyspaces = source.picture.keyspaces.values();
    keyspaces.flat_map(|keyspace| keyspace.tables.values().map(move |table| (&**keyspace, &**table)))
}

/// The options of a table as `options::describe` writes them, read back as values of the columns of `definition`.
fn option_values(table: &TableInfo, definition: &Definition) -> Result<SystemRow> {
    let columns: Vec<_> = definition.columns.iter().zip(definition.types()?).collect();
    let mut row = SystemRow::new();
    for (name, literal) in options::describe(&table.schema.options, false) {
        let Some(((column, ..), ty)) = columns.iter().find(|((column, ..), _)| *column == name) else {
            continue;
        };
        let plain = match ty {
            CqlType::Text => {
                let inner = literal.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                inner.map_or_else(|| literal.clone(), |inner| inner.replace("''", "'"))
            }
            _ => literal,
        };
        row.push((*column, parse_text(&plain, ty)?));
    }
    row.push(("dclocal_read_repair_chance", Value::Double(0.0)));
    row.push(("read_repair_chance", Value::Double(0.0)));
    row.push(("id", Value::Uuid(table.uuid)));
    Ok(row)
}

fn definition(name: &str) -> &'static Definition {
    TABLES.iter().find(|table| table.name == name).unwrap_or(&TABLES[0])
}

fn tables_and_options(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let own = each_table(source).filter(|(_, table)| !table.is_view());
    let mut rows = Vec::new();
    for (keyspace, table) in own {
        let mut row = option_values(table, definition("tables"))?;
        row.push(("keyspace_name", text(&keyspace.name)));
        row.push(("table_name", text(table.name())));
        let flags: &[&str] = if table.is_counter() { &["compound", "counter"] } else { &["compound"] };
        row.push(("flags", Value::Set(flags.iter().map(|flag| text(flag)).collect())));
        rows.push(row);
    }
    rows.extend(tables().into_iter().map(|table| {
        vec![
            ("keyspace_name", text(table.keyspace)),
            ("table_name", text(table.name)),
            ("comment", text(table.comment)),
            ("flags", Value::Set(vec![text("compound")])),
        ]
    }));
    Ok(rows)
}

fn views(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let mut rows = Vec::new();
    for (keyspace, table) in each_table(source) {
        let Some(view) = &table.view else { continue };
        let mut row = option_values(table, definition("views"))?;
        row.push(("keyspace_name", text(&keyspace.name)));
        row.push(("view_name", text(table.name())));
        row.push(("base_table_name", text(&view.base)));
        if let Some(base) = keyspace.tables.get(&view.base) {
            row.push(("base_table_id", Value::Uuid(base.uuid)));
        }
        row.push(("include_all_columns", Value::Boolean(view.all_columns)));
        row.push(("where_clause", Value::Text(where_clause(&view.statement))));
        rows.push(row);
    }
    Ok(rows)
}

/// What stands behind WHERE in the statement that makes a view.
fn where_clause(view: &CreateView) -> String {
    let select = Select {
        json: false,
        distinct: false,
        selectors: Vec::new(),
        table: view.base.clone(),
        relations: view.relations.clone(),
        group_by: Vec::new(),
        order_by: Vec::new(),
        per_partition_limit: None,
        limit: None,
        allow_filtering: false,
    };
    let text = print::statement(&Statement::Select(Box::new(select)));
    text.split_once(" WHERE ").map_or_else(String::new, |(_, clause)| clause.to_owned())
}

fn kind(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::PartitionKey => "partition_key",
        ColumnKind::Clustering(_) => "clustering",
        ColumnKind::Static => "static",
        ColumnKind::Regular => "regular",
    }
}

fn column_row(keyspace: &str, table: &str, column: &Column, position: i32) -> SystemRow {
    let order = match column.kind {
        ColumnKind::Clustering(Order::Asc) => "asc",
        ColumnKind::Clustering(Order::Desc) => "desc",
        _ => "none",
    };
    vec![
        ("keyspace_name", text(keyspace)),
        ("table_name", text(table)),
        ("column_name", text(&column.name)),
        ("clustering_order", text(order)),
        ("column_name_bytes", Value::Blob(column.name.as_bytes().to_vec())),
        ("kind", text(kind(column.kind))),
        ("position", Value::Int(position)),
        ("type", Value::Text(cql_text(&column.ty))),
    ]
}

/// The place of a column in its part of the primary key; -1 outside of it.
fn position(columns: &[Column], column: &Column) -> i32 {
    columns
        .iter()
        .position(|other| other.name == column.name)
        .and_then(|place| i32::try_from(place).ok())
        .unwrap_or(-1)
}

fn columns(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let mut rows = Vec::new();
    for (keyspace, table) in each_table(source) {
        for column in table.schema.columns() {
            let place = match column.kind {
                ColumnKind::PartitionKey => position(table.schema.partition_key(), column),
                ColumnKind::Clustering(_) => position(table.schema.clustering(), column),
                _ => -1,
            };
            rows.push(column_row(&keyspace.name, table.name(), column, place));
        }
    }
    for table in tables() {
        let schema = table.table_schema()?;
        for column in schema.columns() {
            let place = position(schema.partition_key(), column).max(position(schema.clustering(), column));
            rows.push(column_row(table.keyspace, table.name, column, place));
        }
    }
    Ok(rows)
}

fn dropped_columns(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let dropped = |(keyspace, table): (&Keyspace, &TableInfo)| {
        let row = |dropped: &skep_engine::model::schema::DroppedColumn| {
            vec![
                ("keyspace_name", text(&keyspace.name)),
                ("table_name", text(table.name())),
                ("column_name", text(&dropped.column.name)),
                (
                    "dropped_time",
                    Value::Timestamp(Timestamp::from_millis(dropped.timestamp.div_euclid(1000))),
                ),
                ("kind", text(kind(dropped.column.kind))),
                ("type", Value::Text(cql_text(&dropped.column.ty))),
            ]
        };
        table.schema.dropped().iter().map(row).collect::<Vec<_>>()
    };
    Ok(each_table(source).flat_map(dropped).collect())
}

fn column_masks(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let masks = |(keyspace, table): (&Keyspace, &TableInfo)| {
        let row = |(column, mask): (&String, &Expr)| {
            let mut row = vec![
                ("keyspace_name", text(&keyspace.name)),
                ("table_name", text(table.name())),
                ("column_name", text(column)),
                ("function_keyspace", text("system")),
            ];
            if let Expr::Call { name, args, .. } = mask {
                row.push(("function_name", text(&name.text)));
                let shown: Vec<_> = args.iter().map(print::expr).collect();
                row.push(("function_argument_values", texts(shown.iter().map(String::as_str))));
                let nulls = args.iter().map(|arg| Value::Boolean(*arg == Expr::Null));
                row.push(("function_argument_nulls", Value::List(nulls.collect())));
            }
            row
        };
        table.masks.iter().map(row).collect::<Vec<_>>()
    };
    Ok(each_table(source).flat_map(masks).collect())
}

fn indexes(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let rows = |(keyspace, table): (&Keyspace, &TableInfo)| {
        let row = |index: &std::sync::Arc<crate::catalog::IndexDef>| {
            let column = print::name(&index.column);
            let target = match index.part {
                IndexPart::Simple => column,
                IndexPart::Values => format!("values({column})"),
                IndexPart::Keys => format!("keys({column})"),
                IndexPart::Entries => format!("entries({column})"),
                IndexPart::Full => format!("full({column})"),
            };
            let mut options = index.options.clone();
            options.insert("target".to_owned(), target);
            if let Some(class) = &index.class {
                options.insert("class_name".to_owned(), class.clone());
            }
            vec![
                ("keyspace_name", text(&keyspace.name)),
                ("table_name", text(table.name())),
                ("index_name", text(&index.name)),
                ("kind", text(if index.class.is_some() { "CUSTOM" } else { "COMPOSITES" })),
                ("options", map(options.iter())),
            ]
        };
        table.indexes.iter().map(row).collect::<Vec<_>>()
    };
    Ok(each_table(source).flat_map(rows).collect())
}

fn types(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let rows = |keyspace: &std::sync::Arc<Keyspace>| {
        let row = |udt: &std::sync::Arc<skep_engine::UdtType>| {
            let shown: Vec<_> = udt.fields.iter().map(|(_, ty)| cql_text(ty)).collect();
            vec![
                ("keyspace_name", text(&keyspace.name)),
                ("type_name", text(&udt.name)),
                ("field_names", texts(udt.fields.iter().map(|(name, _)| name.as_str()))),
                ("field_types", texts(shown.iter().map(String::as_str))),
            ]
        };
        keyspace.types.values().map(row).collect::<Vec<_>>()
    };
    Ok(source.picture.keyspaces.values().flat_map(rows).collect())
}
