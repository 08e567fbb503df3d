//! From trees back to CQL: parsing what is printed gives the same tree.
//!
//! Used where a statement has to be shown or kept as text. Names get quotes only where they need them. Not here: the names of result
//! columns and the statements that DESCRIBE gives, which follow Cassandra's own forms.

mod query;
mod schema;

use crate::syntax::ast::{
    Expr, LifeFunction, Literal, Name, Operator, Relation, Statement, TableName, TypeName,
};
use crate::syntax::token::{Class, Keyword};
use std::fmt::Write;

/// A statement, without a semicolon.
#[must_use]
pub fn statement(statement: &Statement) -> String {
    let mut out = String::new();
    match statement {
        Statement::Select(select) => query::select(&mut out, select),
        Statement::Explain(select) => {
            out.push_str("EXPLAIN ");
            query::select(&mut out, select);
        }
        Statement::ExplainValue { column, table, relations } => {
            out.push_str("EXPLAIN VALUE ");
            if let Some(column) = column {
                out.push_str(&name(&column.text));
                out.push(' ');
            }
            out.push_str("FROM ");
            out.push_str(&table_name(table));
            query::relations(&mut out, relations);
        }
        Statement::Insert(insert) => query::insert(&mut out, insert),
        Statement::Update(update) => query::update(&mut out, update),
        Statement::Delete(delete) => query::delete(&mut out, delete),
        Statement::Batch(batch) => query::batch(&mut out, batch),
        Statement::Use(keyspace) => {
            out.push_str("USE ");
            out.push_str(&name(&keyspace.text));
        }
        Statement::Truncate(table) => {
            out.push_str("TRUNCATE TABLE ");
            out.push_str(&table_name(table));
        }
        Statement::Unsupported(words) => out.push_str(words),
        other => schema::statement(&mut out, other),
    }
    out
}

/// A name, in double quotes if a bare one would not be the same name.
#[must_use]
pub fn name(text: &str) -> String {
    let mut bytes = text.bytes();
    let plain = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    // The words of keywords are names where the grammar lets them be; quotes are right everywhere.
    let keyword = Keyword::of(text).is_some_and(|keyword| keyword.class() == Class::Reserved);
    let literal = matches!(text, "true" | "false");
    if plain && !keyword && !literal { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// A name where a keyword that is not reserved would be read as something else.
fn quoted_if_keyword(text: &str) -> String {
    if Keyword::of(text).is_some() || text == "expr" { format!("\"{text}\"") } else { name(text) }
}

/// `keyspace.table`
#[must_use]
pub fn table_name(table: &TableName) -> String {
    qualified(table.keyspace.as_ref(), &table.name, name)
}

fn qualified(keyspace: Option<&Name>, last: &Name, print: fn(&str) -> String) -> String {
    match keyspace {
        Some(keyspace) => format!("{}.{}", name(&keyspace.text), print(&last.text)),
        None => print(&last.text),
    }
}

/// A text in single quotes.
#[must_use]
pub fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Relations as they stand behind WHERE.
#[must_use]
pub fn relations(relations: &[Relation]) -> String {
    let mut out = String::new();
    query::relations(&mut out, relations);
    out.strip_prefix(" WHERE ").unwrap_or_default().to_owned()
}

/// A type.
#[must_use]
pub fn type_name(ty: &TypeName) -> String {
    match ty {
        TypeName::Custom(class) => string(class),
        TypeName::Simple(table) => {
            let native = |text: &str| Keyword::of(text).is_some_and(|keyword| keyword.class() == Class::Type);
            if table.keyspace.is_none() && !table.name.quoted && native(&table.name.text) {
                return table.name.text.clone();
            }
            qualified(table.keyspace.as_ref(), &table.name, quoted_if_keyword)
        }
        TypeName::Generic(generic, parameters, dimension, _) => {
            let mut parts: Vec<String> = parameters.iter().map(type_name).collect();
            parts.extend(dimension.map(|number| number.to_string()));
            format!("{generic}<{}>", parts.join(", "))
        }
    }
}

/// A term or a selector.
#[must_use]
pub fn expr(e: &Expr) -> String {
    let mut out = String::new();
    write_expr(&mut out, e);
    out
}

fn constant(out: &mut String, kind: Literal, text: &str) {
    if kind == Literal::String { out.push_str(&string(text)) } else { out.push_str(text) }
}

fn operator_sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Modulo => "%",
    }
}

/// How tight an expression's own operator binds.
fn strength(e: &Expr) -> u8 {
    match e {
        Expr::Binary(Operator::Add | Operator::Subtract, ..) => 1,
        Expr::Binary(..) => 2,
        Expr::Negate(_) => 3,
        Expr::Element(..) | Expr::Slice(..) | Expr::Field(..) => 4,
        _ => 5,
    }
}

/// `e`, in brackets unless it binds at least as tight as `least`.
fn bound(out: &mut String, e: &Expr, least: u8) {
    if strength(e) >= least {
        write_expr(out, e);
    } else {
        out.push('(');
        write_expr(out, e);
        out.push(')');
    }
}

fn list(out: &mut String, open: char, elements: &[Expr], close: char) {
    out.push(open);
    separated(out, elements, write_expr);
    out.push(close);
}

fn separated<T>(out: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

fn call(out: &mut String, keyspace: Option<&Name>, function: &Name, args: &[Expr]) {
    if let Some(keyspace) = keyspace {
        out.push_str(&name(&keyspace.text));
        out.push('.');
    }
    // TOKEN and COUNT are reserved or special, and may be functions all the same.
    match Keyword::of(&function.text) {
        Some(Keyword::Token) if function.text == "token" => out.push_str("token"),
        Some(keyword) if keyword.class() == Class::Special && keyword != Keyword::Count => {
            let _ = write!(out, "\"{}\"", function.text);
        }
        _ if function.text == "expr" => out.push_str("\"expr\""),
        _ => out.push_str(&name(&function.text)),
    }
    list(out, '(', args, ')');
}

fn write_expr(out: &mut String, e: &Expr) {
    match e {
        Expr::Null => out.push_str("NULL"),
        Expr::Constant { kind, text, .. } => constant(out, *kind, text),
        Expr::Marker(marker) => match &marker.name {
            Some(text) => {
                let _ = write!(out, ":{}", name(text));
            }
            None => out.push('?'),
        },
        Expr::List(elements) => list(out, '[', elements, ']'),
        Expr::Set(elements) => list(out, '{', elements, '}'),
        Expr::Tuple(elements) => list(out, '(', elements, ')'),
        Expr::Map(entries) => {
            out.push('{');
            separated(out, entries, |out, (key, value)| {
                write_expr(out, key);
                out.push_str(": ");
                write_expr(out, value);
            });
            out.push('}');
        }
        Expr::Udt(fields) => {
            out.push('{');
            separated(out, fields, |out, (field, value)| {
                out.push_str(&name(&field.text));
                out.push_str(": ");
                write_expr(out, value);
            });
            out.push('}');
        }
        Expr::Call { keyspace, name, args } => call(out, keyspace.as_ref(), name, args),
        Expr::TypeHint(ty, inner) => {
            let _ = write!(out, "({})", type_name(ty));
            bound(out, inner, 4);
        }
        Expr::Cast(inner, ty) => {
            out.push_str("CAST(");
            write_expr(out, inner);
            let _ = write!(out, " AS {})", type_name(ty));
        }
        Expr::Binary(operator, left, right) => {
            let least = strength(e);
            bound(out, left, least);
            let _ = write!(out, " {} ", operator_sign(*operator));
            // Left comes first among equals.
            bound(out, right, least + 1);
        }
        Expr::Negate(inner) => {
            // The blank keeps the minus from a digit, an i or an n.
            out.push_str("- ");
            bound(out, inner, 3);
        }
        Expr::Column(column) => out.push_str(&column_name(&column.text)),
        Expr::Star => out.push('*'),
        Expr::Life(function, inner) => {
            out.push_str(match function {
                LifeFunction::Writetime => "writetime(",
                LifeFunction::MaxWritetime => "maxwritetime(",
                LifeFunction::Ttl => "ttl(",
            });
            write_expr(out, inner);
            out.push(')');
        }
        Expr::Element(inner, key) => {
            bound(out, inner, 4);
            out.push('[');
            write_expr(out, key);
            out.push(']');
        }
        Expr::Slice(inner, from, to) => {
            bound(out, inner, 4);
            out.push('[');
            for (at, side) in [from, to].into_iter().enumerate() {
                if let Some(side) = side {
                    write_expr(out, side);
                }
                if at == 0 {
                    // `1..` would read as a number with a point.
                    out.push_str(" .. ");
                }
            }
            out.push(']');
        }
        Expr::Field(inner, field) => {
            bound(out, inner, 4);
            // Right behind digits the point would be the number's.
            let digit = out.ends_with(|last: char| last.is_ascii_digit() || last == '.');
            out.push_str(if digit { " ." } else { "." });
            out.push_str(&name(&field.text));
        }
    }
}

/// A column at the start of a selector, where JSON, DISTINCT and the like would be read as keywords.
fn column_name(text: &str) -> String {
    match text {
        "json" | "distinct" => format!("\"{text}\""),
        _ => name(text),
    }
}
