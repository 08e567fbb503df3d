//! Statements of the schema, and DESCRIBE.

use crate::syntax::ast::{
    AlterTable, AlterType, ColumnDefinition, CreateIndex, CreateTable, CreateView, Describe, DescribeWhat,
    Drop, DropKind, Expr, IndexPart, Name, OptionValue, Options, Statement, TableChange, TypeChange,
};
use crate::syntax::print::query::{bracketed, relations, selectors};
use crate::syntax::print::{expr, name, separated, string, table_name, type_name};
use std::fmt::Write;

fn flag(given: bool, text: &'static str) -> &'static str {
    if given { text } else { "" }
}

const IF_EXISTS: &str = "IF EXISTS ";
const IF_NOT_EXISTS: &str = "IF NOT EXISTS ";

/// Statements of the schema; others leave nothing.
pub(super) fn statement(out: &mut String, statement: &Statement) {
    let _ = match statement {
        Statement::CreateKeyspace(made) => {
            let given = flag(made.if_not_exists, IF_NOT_EXISTS);
            write!(out, "CREATE KEYSPACE {given}{}{}", name(&made.name.text), with(&made.options))
        }
        Statement::AlterKeyspace(altered) => {
            let given = flag(altered.if_exists, IF_EXISTS);
            write!(out, "ALTER KEYSPACE {given}{}{}", name(&altered.name.text), with(&altered.options))
        }
        Statement::CreateTable(made) => {
            create_table(out, made);
            Ok(())
        }
        Statement::AlterTable(altered) => {
            alter_table(out, altered);
            Ok(())
        }
        Statement::CreateType(made) => {
            let given = flag(made.if_not_exists, IF_NOT_EXISTS);
            let _ = write!(out, "CREATE TYPE {given}{} (", user_type(&made.name));
            separated(out, &made.fields, |out, (field, ty)| {
                let _ = write!(out, "{} {}", name(&field.text), type_name(ty));
            });
            write!(out, ")")
        }
        Statement::AlterType(altered) => {
            alter_type(out, altered);
            Ok(())
        }
        Statement::CreateIndex(made) => {
            create_index(out, made);
            Ok(())
        }
        Statement::CreateView(made) => {
            create_view(out, made);
            Ok(())
        }
        Statement::AlterView(altered) => {
            let given = flag(altered.if_exists, IF_EXISTS);
            write!(
                out,
                "ALTER MATERIALIZED VIEW {given}{}{}",
                table_name(&altered.name),
                with(&altered.options)
            )
        }
        Statement::Drop(dropped) => write!(out, "{}", drop(dropped)),
        Statement::Describe(what) => write!(out, "{}", describe(what)),
        _ => Ok(()),
    };
}

/// A user type's name: those of native types and other keywords need quotes here.
fn user_type(table: &crate::syntax::ast::TableName) -> String {
    super::qualified(table.keyspace.as_ref(), &table.name, super::quoted_if_keyword)
}

fn drop(dropped: &Drop) -> String {
    let (kind, of) = match dropped.kind {
        DropKind::Keyspace => ("KEYSPACE", name(&dropped.name.name.text)),
        DropKind::Table => ("TABLE", table_name(&dropped.name)),
        DropKind::Type => ("TYPE", user_type(&dropped.name)),
        DropKind::Index => ("INDEX", table_name(&dropped.name)),
        DropKind::View => ("MATERIALIZED VIEW", table_name(&dropped.name)),
    };
    format!("DROP {kind} {}{of}", flag(dropped.if_exists, IF_EXISTS))
}

fn option_value(value: &OptionValue) -> String {
    match value {
        OptionValue::Text(text) => {
            let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if number || matches!(text.as_str(), "true" | "false") { text.clone() } else { string(text) }
        }
        OptionValue::Map(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}: {}", string(key), string(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

fn properties(options: &Options) -> Vec<String> {
    options
        .iter()
        .map(|(option, value)| format!("{} = {}", name(&option.text), option_value(value)))
        .collect()
}

fn with(options: &Options) -> String {
    let parts = properties(options);
    if parts.is_empty() { String::new() } else { format!(" WITH {}", parts.join(" AND ")) }
}

fn table_with(out: &mut String, order: &[(Name, bool)], compact: bool, options: &Options) {
    let mut parts = Vec::new();
    if compact {
        parts.push("COMPACT STORAGE".to_owned());
    }
    if !order.is_empty() {
        let columns: Vec<String> = order
            .iter()
            .map(|(column, descending)| {
                format!("{} {}", name(&column.text), if *descending { "DESC" } else { "ASC" })
            })
            .collect();
        parts.push(format!("CLUSTERING ORDER BY ({})", columns.join(", ")));
    }
    parts.extend(properties(options));
    if !parts.is_empty() {
        let _ = write!(out, " WITH {}", parts.join(" AND "));
    }
}

fn primary_key(out: &mut String, (partition, clustering): &(Vec<Name>, Vec<Name>)) {
    out.push_str("PRIMARY KEY (");
    bracketed(out, partition);
    for column in clustering {
        let _ = write!(out, ", {}", name(&column.text));
    }
    out.push(')');
}

fn column(out: &mut String, column: &ColumnDefinition) {
    let _ = write!(out, "{} {}", name(&column.name.text), type_name(&column.ty));
    out.push_str(flag(column.is_static, " STATIC"));
    if let Some(mask) = &column.masked {
        let _ = write!(out, " MASKED WITH {}", expr(mask));
    }
    out.push_str(flag(column.primary_key, " PRIMARY KEY"));
}

fn create_table(out: &mut String, made: &CreateTable) {
    let _ =
        write!(out, "CREATE TABLE {}{} (", flag(made.if_not_exists, IF_NOT_EXISTS), table_name(&made.table));
    separated(out, &made.columns, column);
    for (at, key) in made.primary_keys.iter().enumerate() {
        out.push_str(flag(at > 0 || !made.columns.is_empty(), ", "));
        primary_key(out, key);
    }
    out.push(')');
    table_with(out, &made.clustering_order, made.compact_storage, &made.options);
}

fn mask(expr_of: Option<&Expr>) -> String {
    expr_of.map_or_else(|| "DROP MASKED".to_owned(), |mask| format!("MASKED WITH {}", expr(mask)))
}

fn renames(renames: &[(Name, Name)]) -> String {
    let parts: Vec<String> =
        renames.iter().map(|(from, to)| format!("{} TO {}", name(&from.text), name(&to.text))).collect();
    parts.join(" AND ")
}

fn alter_table(out: &mut String, altered: &AlterTable) {
    let _ = write!(out, "ALTER TABLE {}{} ", flag(altered.if_exists, IF_EXISTS), table_name(&altered.table));
    let _ = match &altered.change {
        TableChange::AlterType(if_exists, of, ty) => {
            write!(out, "ALTER {}{} TYPE {}", flag(*if_exists, IF_EXISTS), name(&of.text), type_name(ty))
        }
        TableChange::Mask(if_exists, of, with) => {
            write!(out, "ALTER {}{} {}", flag(*if_exists, IF_EXISTS), name(&of.text), mask(with.as_ref()))
        }
        TableChange::Add(if_not_exists, columns) => {
            let _ = write!(out, "ADD {}(", flag(*if_not_exists, IF_NOT_EXISTS));
            separated(out, columns, column);
            write!(out, ")")
        }
        TableChange::Drop(if_exists, columns, timestamp) => {
            let _ = write!(out, "DROP {}", flag(*if_exists, IF_EXISTS));
            bracketed(out, columns);
            match timestamp {
                Some(timestamp) => write!(out, " USING TIMESTAMP {}", expr(timestamp)),
                None => Ok(()),
            }
        }
        TableChange::Rename(if_exists, pairs) => {
            write!(out, "RENAME {}{}", flag(*if_exists, IF_EXISTS), renames(pairs))
        }
        TableChange::DropCompactStorage => write!(out, "DROP COMPACT STORAGE"),
        TableChange::Options(options) => write!(out, "{}", with(options).trim_start()),
    };
}

fn alter_type(out: &mut String, altered: &AlterType) {
    let _ = write!(out, "ALTER TYPE {}{} ", flag(altered.if_exists, IF_EXISTS), user_type(&altered.name));
    let _ = match &altered.change {
        TypeChange::Add(if_not_exists, field, ty) => {
            write!(out, "ADD {}{} {}", flag(*if_not_exists, IF_NOT_EXISTS), name(&field.text), type_name(ty))
        }
        TypeChange::Rename(if_exists, pairs) => {
            write!(out, "RENAME {}{}", flag(*if_exists, IF_EXISTS), renames(pairs))
        }
        TypeChange::Alter(field, ty) => write!(out, "ALTER {} TYPE {}", name(&field.text), type_name(ty)),
    };
}

fn create_index(out: &mut String, made: &CreateIndex) {
    let custom = flag(made.custom, "CUSTOM ");
    let _ = write!(out, "CREATE {custom}INDEX {}", flag(made.if_not_exists, IF_NOT_EXISTS));
    if let Some(index) = &made.name {
        let _ = write!(out, "{} ", table_name(index));
    }
    let _ = write!(out, "ON {} (", table_name(&made.table));
    separated(out, &made.targets, |out, (of, part)| {
        let of = name(&of.text);
        let _ = match part {
            IndexPart::Simple => write!(out, "{of}"),
            IndexPart::Values => write!(out, "VALUES({of})"),
            IndexPart::Keys => write!(out, "KEYS({of})"),
            IndexPart::Entries => write!(out, "ENTRIES({of})"),
            IndexPart::Full => write!(out, "FULL({of})"),
        };
    });
    out.push(')');
    if let Some(class) = &made.using {
        let _ = write!(out, " USING {}", string(class));
    }
    out.push_str(&with(&made.options));
}

fn create_view(out: &mut String, made: &CreateView) {
    let given = flag(made.if_not_exists, IF_NOT_EXISTS);
    let _ = write!(out, "CREATE MATERIALIZED VIEW {given}{} AS SELECT ", table_name(&made.name));
    selectors(out, &made.selectors);
    let _ = write!(out, " FROM {}", table_name(&made.base));
    relations(out, &made.relations);
    for key in &made.primary_keys {
        out.push(' ');
        primary_key(out, key);
    }
    table_with(out, &made.clustering_order, made.compact_storage, &made.options);
}

fn describe(described: &Describe) -> String {
    let what = match &described.what {
        DescribeWhat::Cluster => "CLUSTER".to_owned(),
        DescribeWhat::Schema { full } => format!("{}SCHEMA", flag(*full, "FULL ")),
        DescribeWhat::Keyspaces => "KEYSPACES".to_owned(),
        DescribeWhat::Tables => "TABLES".to_owned(),
        DescribeWhat::Types => "TYPES".to_owned(),
        DescribeWhat::Functions => "FUNCTIONS".to_owned(),
        DescribeWhat::Aggregates => "AGGREGATES".to_owned(),
        DescribeWhat::Keyspace { only, name: of } => {
            let of = of.as_ref().map(|of| format!(" {}", name(&of.text))).unwrap_or_default();
            format!("{}KEYSPACE{of}", flag(*only, "ONLY "))
        }
        DescribeWhat::Table(of) => format!("TABLE {}", table_name(of)),
        DescribeWhat::Type(of) => format!("TYPE {}", user_type(of)),
        DescribeWhat::Index(of) => format!("INDEX {}", table_name(of)),
        DescribeWhat::View(of) => format!("MATERIALIZED VIEW {}", table_name(of)),
        DescribeWhat::Function(of) => format!("FUNCTION {}", user_type(of)),
        DescribeWhat::Aggregate(of) => format!("AGGREGATE {}", user_type(of)),
        DescribeWhat::Any(of) => super::qualified(of.keyspace.as_ref(), &of.name, super::quoted_if_keyword),
    };
    format!("DESCRIBE {what}{}", flag(described.internals, " WITH INTERNALS"))
}
