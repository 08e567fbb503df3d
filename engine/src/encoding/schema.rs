//! Table schemas as bytes.
//!
//! Used by the manifest for `PutTable`, and by whoever wants a file to say alone what its columns were. The layout is in
//! `FORMAT.md` of this directory; types are spelled by [`CqlType::encode`].
//!
//! # Invariants
//! 1. `read_schema` gives back exactly what `put_schema` was given, dropped columns and the next column's number included.
//! 2. A schema that was read has passed the checks of [`TableSchema::from_parts`], and no two of its columns share a number.

use std::collections::{BTreeMap, BTreeSet};

use crate::encoding::bytes::{ByteReader, put_bytes, put_u64};
use crate::encoding::varint::{put_signed, put_varint};
use crate::error::Result;
use crate::model::cell::ColumnId;
use crate::model::schema::{Column, ColumnKind, DroppedColumn, Order, TableId, TableOptions, TableSchema};
use crate::model::types::{CqlType, UdtType};

/// Version of the layout, its first byte.
const VERSION: u8 = 1;
/// Least bytes of a stored column: number, name of one byte and its length, type, kind.
const LEAST_COLUMN: usize = 5;

/// Appends `schema`.
pub fn put_schema(out: &mut Vec<u8>, schema: &TableSchema) {
    out.push(VERSION);
    put_varint(out, u64::from(schema.id.0));
    put_bytes(out, schema.keyspace.as_bytes());
    put_bytes(out, schema.name.as_bytes());
    put_varint(out, u64::from(schema.version));
    put_options(out, &schema.options);
    put_varint(out, schema.columns().len() as u64);
    schema.columns().iter().for_each(|column| put_column(out, column));
    put_varint(out, schema.dropped().len() as u64);
    for dropped in schema.dropped() {
        put_column(out, &dropped.column);
        put_signed(out, dropped.timestamp);
    }
    put_varint(out, u64::from(schema.next_column()));
}

/// Reads what [`put_schema`] wrote and leaves the reader behind it.
///
/// # Errors
/// `Corrupt` for other bytes, another version of the layout, or a schema that breaks a rule of its own.
pub fn read_schema(reader: &mut ByteReader<'_>) -> Result<TableSchema> {
    let version = reader.u8()?;
    if version != VERSION {
        return Err(reader.error(&format!("schema of layout {version}, this build reads {VERSION}")));
    }
    let id = TableId(read_u32(reader, "table number")?);
    let keyspace = reader.string()?;
    let name = reader.string()?;
    let version = read_u32(reader, "schema version")?;
    let options = read_options(reader)?;
    let columns = (0..reader.count(LEAST_COLUMN, "columns")?)
        .map(|_| read_column(reader))
        .collect::<Result<Vec<_>>>()?;
    let dropped = (0..reader.count(LEAST_COLUMN + 1, "dropped columns")?)
        .map(|_| Ok(DroppedColumn { column: read_column(reader)?, timestamp: reader.signed()? }))
        .collect::<Result<Vec<_>>>()?;
    let next_column = read_u32(reader, "next column")?;
    let mut seen = BTreeSet::new();
    for column in columns.iter().chain(dropped.iter().map(|d| &d.column)) {
        if column.id.0 >= next_column {
            return Err(reader.error(&format!(
                "column {} has number {}, {next_column} were given out",
                column.name, column.id.0
            )));
        }
    }
    if let Some(twice) = columns.iter().find(|column| !seen.insert(column.id)) {
        return Err(reader.error(&format!("column {} shares its number with another", twice.name)));
    }
    TableSchema::from_parts(id, keyspace, name, version, options, columns, dropped, next_column)
        .map_err(|error| reader.error(&format!("stored schema is not a legal one: {error}")))
}

fn put_column(out: &mut Vec<u8>, column: &Column) {
    put_varint(out, u64::from(column.id.0));
    put_bytes(out, column.name.as_bytes());
    column.ty.encode(out);
    out.push(match column.kind {
        ColumnKind::PartitionKey => 0,
        ColumnKind::Clustering(Order::Asc) => 1,
        ColumnKind::Clustering(Order::Desc) => 2,
        ColumnKind::Static => 3,
        ColumnKind::Regular => 4,
    });
}

fn read_column(reader: &mut ByteReader<'_>) -> Result<Column> {
    let id = ColumnId(read_u32(reader, "column number")?);
    let name = reader.string()?.to_owned();
    let ty = read_type(reader)?;
    let kind = match reader.u8()? {
        0 => ColumnKind::PartitionKey,
        1 => ColumnKind::Clustering(Order::Asc),
        2 => ColumnKind::Clustering(Order::Desc),
        3 => ColumnKind::Static,
        4 => ColumnKind::Regular,
        other => return Err(reader.error(&format!("{other} is no kind of column"))),
    };
    Ok(Column { id, name, ty, kind })
}

fn put_options(out: &mut Vec<u8>, options: &TableOptions) {
    put_u64(out, options.bloom_filter_fp_chance.to_bits());
    put_varint(out, u64::from(options.gc_grace_seconds));
    put_signed(out, i64::from(options.default_time_to_live));
    put_text_map(out, &options.compaction);
    put_text_map(out, &options.compression);
    put_bytes(out, options.comment.as_bytes());
    put_text_map(out, &options.other);
}

fn read_options(reader: &mut ByteReader<'_>) -> Result<TableOptions> {
    let bloom_filter_fp_chance = f64::from_bits(reader.u64()?);
    if !bloom_filter_fp_chance.is_finite() {
        return Err(reader.error("the bloom filter's rate of false positives is no number"));
    }
    let gc_grace_seconds = read_u32(reader, "gc_grace_seconds")?;
    let ttl = reader.signed()?;
    let default_time_to_live =
        i32::try_from(ttl).map_err(|_| reader.error(&format!("default_time_to_live is {ttl}")))?;
    Ok(TableOptions {
        bloom_filter_fp_chance,
        gc_grace_seconds,
        default_time_to_live,
        compaction: read_text_map(reader)?,
        compression: read_text_map(reader)?,
        comment: reader.string()?.to_owned(),
        other: read_text_map(reader)?,
    })
}

/// Appends a count, then names and texts.
pub fn put_text_map(out: &mut Vec<u8>, map: &BTreeMap<String, String>) {
    put_varint(out, map.len() as u64);
    for (name, text) in map {
        put_bytes(out, name.as_bytes());
        put_bytes(out, text.as_bytes());
    }
}

/// Reads what [`put_text_map`] wrote.
///
/// # Errors
/// `Corrupt` for other bytes.
pub fn read_text_map(reader: &mut ByteReader<'_>) -> Result<BTreeMap<String, String>> {
    (0..reader.count(2, "texts")?)
        .map(|_| Ok((reader.string()?.to_owned(), reader.string()?.to_owned())))
        .collect()
}

/// Appends a user type: keyspace, name, number of fields, then name and type of each.
pub fn put_udt(out: &mut Vec<u8>, udt: &UdtType) {
    put_bytes(out, udt.keyspace.as_bytes());
    put_bytes(out, udt.name.as_bytes());
    put_varint(out, udt.fields.len() as u64);
    for (name, ty) in &udt.fields {
        put_bytes(out, name.as_bytes());
        ty.encode(out);
    }
}

/// Reads what [`put_udt`] wrote.
///
/// # Errors
/// `Corrupt` for other bytes.
pub fn read_udt(reader: &mut ByteReader<'_>) -> Result<UdtType> {
    let keyspace = reader.string()?.to_owned();
    let name = reader.string()?.to_owned();
    let fields = (0..reader.count(2, "fields")?)
        .map(|_| Ok((reader.string()?.to_owned(), read_type(reader)?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(UdtType { keyspace, name, fields })
}

fn read_type(reader: &mut ByteReader<'_>) -> Result<CqlType> {
    let (ty, length) = CqlType::decode(reader.rest()).map_err(|error| reader.error(error.message()))?;
    reader.take(length)?;
    Ok(ty)
}

/// A varint of 32 bits; `what` names it in the error.
pub(crate) fn read_u32(reader: &mut ByteReader<'_>, what: &str) -> Result<u32> {
    reader.varint_up_to(u64::from(u32::MAX), what).map(|value| value as u32)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
pub(crate) mod tests;
