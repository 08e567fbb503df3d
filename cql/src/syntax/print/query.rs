//! Statements of data: SELECT, INSERT, UPDATE, DELETE, batches.

use crate::syntax::ast::{
    Assignment, Batch, BatchKind, Comparison, Condition, Delete, Expr, Insert, InsertValues, Left, Name,
    Operation, Relation, Right, Select, Statement, Target, Update, Using,
};
use crate::syntax::print::{self, expr, name, separated, table_name, write_expr};
use std::fmt::Write;

/// Selectors with their aliases, or `*`.
pub(super) fn selectors(out: &mut String, selectors: &[(Expr, Option<Name>)]) {
    if selectors.is_empty() {
        out.push('*');
    }
    separated(out, selectors, |out, (selector, alias)| {
        write_expr(out, selector);
        if let Some(alias) = alias {
            // `(a) AS as` would be the column `as` with a type hint.
            let alias = if alias.text == "as" { "\"as\"".to_owned() } else { name(&alias.text) };
            let _ = write!(out, " AS {alias}");
        }
    });
}

pub(super) fn select(out: &mut String, select: &Select) {
    out.push_str("SELECT ");
    if select.json {
        out.push_str("JSON ");
    }
    if select.distinct {
        out.push_str("DISTINCT ");
    }
    selectors(out, &select.selectors);
    let _ = write!(out, " FROM {}", table_name(&select.table));
    relations(out, &select.relations);
    if !select.group_by.is_empty() {
        out.push_str(" GROUP BY ");
        separated(out, &select.group_by, write_expr);
    }
    if !select.order_by.is_empty() {
        out.push_str(" ORDER BY ");
        separated(out, &select.order_by, |out, ordering| {
            out.push_str(&name(&ordering.column.text));
            if let Some(vector) = &ordering.ann_of {
                let _ = write!(out, " ANN OF {}", expr(vector));
            }
            if ordering.descending {
                out.push_str(" DESC");
            }
        });
    }
    if let Some(limit) = &select.per_partition_limit {
        let _ = write!(out, " PER PARTITION LIMIT {}", expr(limit));
    }
    if let Some(limit) = &select.limit {
        let _ = write!(out, " LIMIT {}", expr(limit));
    }
    if select.allow_filtering {
        out.push_str(" ALLOW FILTERING");
    }
}

/// WHERE and its relations, if there are any.
pub(super) fn relations(out: &mut String, relations: &[Relation]) {
    for (at, relation) in relations.iter().enumerate() {
        out.push_str(if at == 0 { " WHERE " } else { " AND " });
        match &relation.left {
            Left::Column(column) => out.push_str(&name(&column.text)),
            Left::Element(column, key) => {
                let _ = write!(out, "{}[{}]", name(&column.text), expr(key));
            }
            Left::Columns(columns) => bracketed(out, columns),
            Left::Token(columns) => {
                out.push_str("token");
                bracketed(out, columns);
            }
        }
        compared(out, relation.comparison, &relation.right);
    }
}

/// `(a, b)`
pub(super) fn bracketed(out: &mut String, columns: &[Name]) {
    out.push('(');
    separated(out, columns, |out, column| out.push_str(&name(&column.text)));
    out.push(')');
}

fn compared(out: &mut String, comparison: Comparison, right: &Right) {
    out.push_str(match comparison {
        Comparison::Eq => " = ",
        Comparison::Ne => " != ",
        Comparison::Lt => " < ",
        Comparison::Le => " <= ",
        Comparison::Gt => " > ",
        Comparison::Ge => " >= ",
        Comparison::In => " IN ",
        Comparison::Contains => " CONTAINS ",
        Comparison::ContainsKey => " CONTAINS KEY ",
        Comparison::Like => " LIKE ",
        Comparison::IsNot => " IS NOT ",
    });
    match right {
        Right::Term(term) => write_expr(out, term),
        Right::List(items) => print::list(out, '(', items, ')'),
        Right::Marker(marker) => write_expr(out, &Expr::Marker(marker.clone())),
    }
}

fn using(out: &mut String, using: &Using) {
    let mut lead = " USING ";
    for (what, value) in [("TTL", &using.ttl), ("TIMESTAMP", &using.timestamp)] {
        if let Some(value) = value {
            let _ = write!(out, "{lead}{what} {}", expr(value));
            lead = " AND ";
        }
    }
}

pub(super) fn insert(out: &mut String, insert: &Insert) {
    let _ = write!(out, "INSERT INTO {} ", table_name(&insert.table));
    match &insert.values {
        InsertValues::Columns(columns, terms) => {
            bracketed(out, columns);
            out.push_str(" VALUES ");
            print::list(out, '(', terms, ')');
        }
        InsertValues::Json { json, default_unset } => {
            let _ = write!(out, "JSON {}", expr(json));
            if *default_unset {
                out.push_str(" DEFAULT UNSET");
            }
        }
    }
    if insert.if_not_exists {
        out.push_str(" IF NOT EXISTS");
    }
    using(out, &insert.using);
}

fn target(out: &mut String, column: &Name, target: &Target) {
    out.push_str(&name(&column.text));
    match target {
        Target::Whole => {}
        Target::Element(key) => {
            let _ = write!(out, "[{}]", expr(key));
        }
        Target::Field(field) => {
            let _ = write!(out, ".{}", name(&field.text));
        }
    }
}

pub(super) fn update(out: &mut String, update: &Update) {
    let _ = write!(out, "UPDATE {}", table_name(&update.table));
    using(out, &update.using);
    out.push_str(" SET ");
    separated(out, &update.assignments, assignment);
    relations(out, &update.relations);
    condition(out, &update.condition);
}

fn assignment(out: &mut String, assignment: &Assignment) {
    target(out, &assignment.column, &assignment.target);
    let column = name(&assignment.column.text);
    let _ = match &assignment.operation {
        Operation::Set(term) => write!(out, " = {}", expr(term)),
        Operation::Add(term) => write!(out, " = {column} + {}", expr(term)),
        Operation::Subtract(term) => write!(out, " = {column} - {}", expr(term)),
        Operation::Prepend(term) => write!(out, " = {} + {column}", expr(term)),
    };
}

fn condition(out: &mut String, condition: &Condition) {
    match condition {
        Condition::None => {}
        Condition::Exists => out.push_str(" IF EXISTS"),
        Condition::If(conditions) => {
            for (at, one) in conditions.iter().enumerate() {
                out.push_str(if at == 0 { " IF " } else { " AND " });
                target(out, &one.column, &one.target);
                compared(out, one.comparison, &one.right);
            }
        }
    }
}

pub(super) fn delete(out: &mut String, delete: &Delete) {
    out.push_str("DELETE ");
    separated(out, &delete.columns, |out, (column, what)| target(out, column, what));
    if !delete.columns.is_empty() {
        out.push(' ');
    }
    let _ = write!(out, "FROM {}", table_name(&delete.table));
    using(out, &delete.using);
    relations(out, &delete.relations);
    condition(out, &delete.condition);
}

pub(super) fn batch(out: &mut String, batch: &Batch) {
    out.push_str(match batch.kind {
        BatchKind::Logged => "BEGIN BATCH",
        BatchKind::Unlogged => "BEGIN UNLOGGED BATCH",
        BatchKind::Counter => "BEGIN COUNTER BATCH",
    });
    using(out, &batch.using);
    for statement in &batch.statements {
        out.push(' ');
        match statement {
            Statement::Insert(one) => insert(out, one),
            Statement::Update(one) => update(out, one),
            Statement::Delete(one) => delete(out, one),
            _ => {}
        }
        out.push(';');
    }
    out.push_str(" APPLY BATCH");
}
