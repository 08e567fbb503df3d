//! Stored keys and rows in words, with the table's columns where they are known.
//!
//! Bytes that do not fit the schema are shown in hex: what is inspected may be damaged, or the schema another one.

use crate::output::second;
use skep::encoding::order::decode_component;
use skep::model::clustering::{Bound, Clustering};
use skep::model::codec::decode;
use skep::model::life::{Deletion, Liveness, NEVER};
use skep::model::row::Row;
use skep::model::{cell::Cell, composite};
use skep::{ColumnKind, CqlType, Order, TableSchema};

/// Bytes in hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// A value as a CQL literal, or its bytes.
fn value(wire: &[u8], ty: &CqlType) -> String {
    decode(wire, ty).map_or_else(|_| hex(wire), |value| value.literal().to_string())
}

/// A serialised partition key: `series = 'a', day = '2014-02-14'`.
pub(super) fn key(bytes: &[u8], schema: Option<&TableSchema>) -> String {
    let Some(schema) = schema else { return hex(bytes) };
    let columns = schema.partition_key();
    let parts = match columns.len() {
        1 => vec![bytes],
        several => match composite::decode(bytes, several) {
            Ok(parts) => parts,
            Err(_) => return hex(bytes),
        },
    };
    let parts = columns
        .iter()
        .zip(parts)
        .map(|(column, part)| format!("{} = {}", column.name, value(part, &column.ty)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Byte-comparable clustering values, all or the first ones of them.
fn place(order: &[u8], schema: &TableSchema) -> Option<String> {
    let (mut rest, mut words) = (order, Vec::new());
    for column in schema.clustering() {
        if rest.is_empty() {
            break;
        }
        let descending = column.kind == ColumnKind::Clustering(Order::Desc);
        let mut wire = Vec::new();
        let used = decode_component(rest, &column.ty, descending, &mut wire).ok()?;
        rest = rest.get(used..)?;
        words.push(format!("{} = {}", column.name, value(&wire, &column.ty)));
    }
    rest.is_empty().then(|| words.join(", "))
}

/// A row's clustering: `timestamp = '2014-02-14 14:30:00.000Z'`.
pub(super) fn clustering(clustering: &Clustering, schema: Option<&TableSchema>) -> String {
    schema.and_then(|schema| place(clustering.order(), schema)).unwrap_or_else(|| hex(clustering.order()))
}

/// A bound: before or after a place.
pub(super) fn bound(bound: &Bound, schema: Option<&TableSchema>) -> String {
    let side = if bound.is_after() { "after" } else { "before" };
    let place =
        schema.and_then(|schema| place(bound.prefix(), schema)).unwrap_or_else(|| hex(bound.prefix()));
    match bound.prefix().is_empty() {
        true => format!("{side} all"),
        false => format!("{side} {place}"),
    }
}

/// A deletion: up to which write time, and when it was made.
pub(super) fn deletion(deletion: Deletion) -> String {
    format!("deleted up to {} us at {}", deletion.timestamp, second(deletion.local))
}

fn life(life: Liveness) -> String {
    match life.expiry {
        NEVER => format!("@{}", life.timestamp),
        expiry => format!("@{} TTL {} s until {}", life.timestamp, life.ttl, second(expiry)),
    }
}

/// A row with all of its cells and their times: `marker @.., value = 0.132 @..`. Times equal to the marker's are left out.
pub(super) fn row(row: &Row, schema: Option<&TableSchema>) -> String {
    let mut words = Vec::new();
    if let Some(liveness) = row.liveness {
        words.push(format!("marker {}", life(liveness)));
    }
    if let Some(row_deletion) = row.deletion {
        words.push(format!("row {}", deletion(row_deletion)));
    }
    let named = |id| {
        let column = schema.and_then(|schema| schema.column_by_id(id));
        (
            column.map_or_else(|| format!("column {}", id.0), |column| column.name.clone()),
            column.map(|column| &column.ty),
        )
    };
    for (id, cell) in &row.cells {
        let (name, ty) = named(*id);
        words.push(format!("{name} {}", cell_words(cell, ty, row.liveness)));
    }
    for complex in &row.complex {
        let (name, ty) = named(complex.column);
        if let Some(complex_deletion) = complex.deletion {
            words.push(format!("{name} {}", deletion(complex_deletion)));
        }
        let inner = match ty {
            Some(CqlType::List(inner) | CqlType::Map(_, inner)) => Some(&**inner),
            _ => None,
        };
        for (path, cell) in &complex.cells {
            words.push(format!("{name}[{}] {}", hex(path.order()), cell_words(cell, inner, row.liveness)));
        }
    }
    words.join(", ")
}

fn cell_words(cell: &Cell, ty: Option<&CqlType>, marker: Option<Liveness>) -> String {
    match &cell.value {
        None => format!("deleted @{} at {}", cell.timestamp, second(cell.local)),
        Some(wire) => {
            let text = ty.map_or_else(|| hex(wire), |ty| value(wire, ty));
            match marker == Some(cell.life()) {
                true => format!("= {text}"),
                false => format!("= {text} {}", life(cell.life())),
            }
        }
    }
}
