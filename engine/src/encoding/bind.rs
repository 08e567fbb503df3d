//! From arguments to the bytes of keys: partition keys, clusterings, bounds.
//!
//! The write path calls this for every row, the read path for every query. Buffers are reused by the caller.

use crate::encoding::key::push_raw;
use crate::encoding::order;
use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::composite;
use crate::model::schema::{Column, ColumnKind, Order, TableSchema};
use crate::model::types::CqlType;
use std::sync::Arc;

/// Appends the serialised partition key made of `args`, one for each partition-key column.
///
/// # Errors
/// `Invalid` for a missing, null, unset or ill-typed part, an empty key, or more than 65535 bytes.
pub fn partition_key(schema: &TableSchema, args: &[Arg<'_>], out: &mut Vec<u8>) -> Result<()> {
    let columns = schema.partition_key();
    if args.len() != columns.len() {
        let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
        let text = format!(
            "the partition key is ({}): {} values expected, {} given",
            names.join(", "),
            names.len(),
            args.len()
        );
        return Err(Error::invalid(text).in_table(schema.full_name()));
    }
    partition_key_parts(schema, columns.iter().zip(args), out)
}

/// Like [`partition_key`], from columns paired with their arguments in key order.
pub fn partition_key_parts<'a>(
    schema: &TableSchema,
    parts: impl Iterator<Item = (&'a Column, &'a Arg<'a>)>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let single = schema.partition_key().len() == 1;
    let start = out.len();
    for (column, arg) in parts {
        let frame = out.len();
        if !single {
            out.extend_from_slice(&[0, 0]);
        }
        let value = out.len();
        arg.put_wire(&column.ty, out).map_err(|e| in_key(schema, column, arg, &e))?;
        let len = out.len() - value;
        if !single {
            let len = u16::try_from(len).map_err(|_| too_long(schema, len))?;
            out[frame..value].copy_from_slice(&len.to_be_bytes());
            out.push(0);
        }
    }
    let total = out.len() - start;
    if total == 0 {
        return Err(Error::invalid("Key may not be empty").in_table(schema.full_name()));
    }
    let framing = if single { 0 } else { 3 * schema.partition_key().len() };
    composite::check_key_bytes(total - framing).map_err(|e| e.in_table(schema.full_name()))
}

fn too_long(schema: &TableSchema, len: usize) -> Error {
    Error::invalid(format!("Key length of {len} is longer than maximum of 65535"))
        .in_table(schema.full_name())
}

fn in_key(schema: &TableSchema, column: &Column, arg: &Arg<'_>, error: &Error) -> Error {
    let text = match arg {
        Arg::Null | Arg::Unset => format!("Invalid null value in condition for column {}", column.name),
        _ => format!("column {}: {}", column.name, error.message()),
    };
    let error = Error::invalid(text).in_table(schema.full_name());
    match arg {
        Arg::Null | Arg::Unset => error.hint("every column of the primary key needs a value"),
        _ => error,
    }
}

/// A clustering, or the prefix of one, from `args`: one for each of the first clustering columns.
///
/// # Errors
/// `Invalid` for too many, null, unset or ill-typed values.
pub fn clustering(schema: &TableSchema, args: &[Arg<'_>], scratch: &mut Vec<u8>) -> Result<Clustering> {
    let columns = schema.clustering();
    if args.len() > columns.len() {
        let text =
            format!("the table has {} clustering columns, {} values were given", columns.len(), args.len());
        return Err(Error::invalid(text).in_table(schema.full_name()));
    }
    clustering_parts(schema, columns.iter().zip(args), scratch)
}

/// Like [`clustering`], from columns paired with their arguments in key order.
#[inline]
pub fn clustering_parts<'a>(
    schema: &TableSchema,
    parts: impl Iterator<Item = (&'a Column, &'a Arg<'a>)>,
    scratch: &mut Vec<u8>,
) -> Result<Clustering> {
    let raw = clustering_bytes(schema, parts, scratch)?;
    let order = Bytes::new(scratch);
    Ok(match raw {
        Some(raw) => Clustering::with_raw(order, Arc::from(raw)),
        None => Clustering::new(order),
    })
}

/// Like [`clustering_parts`]: leaves the byte-comparable clustering in `out`, and returns the values as they are written where they
/// do not come back out of that.
#[inline]
pub fn clustering_bytes<'a>(
    schema: &TableSchema,
    parts: impl Iterator<Item = (&'a Column, &'a Arg<'a>)>,
    out: &mut Vec<u8>,
) -> Result<Option<Vec<u8>>> {
    out.clear();
    let mut raw: Option<Vec<u8>> = None;
    let mut total = 0;
    for (i, (column, arg)) in parts.enumerate() {
        if raw.is_none()
            && let Some(wire) = usual_number(arg, &column.ty)
        {
            let descending = column.kind == ColumnKind::Clustering(Order::Desc);
            order::encode_component(&wire, &column.ty, descending, out)?;
            total += wire.len();
            continue;
        }
        total += put_component(schema, i, column, arg, out, &mut raw)?;
    }
    composite::check_key_bytes(total).map_err(|e| e.in_table(schema.full_name()))?;
    Ok(raw)
}

/// The wire bytes of a timestamp or bigint, which come back out of every order.
#[inline]
fn usual_number(arg: &Arg<'_>, ty: &CqlType) -> Option<[u8; 8]> {
    match (arg, ty) {
        (Arg::Timestamp(v), CqlType::Timestamp) => Some(v.as_millis().to_be_bytes()),
        (Arg::Int(v), CqlType::Bigint) => Some(v.to_be_bytes()),
        _ => None,
    }
}

/// Appends the component of any value, and its wire bytes to `raw` if need be. Returns the number of these.
fn put_component(
    schema: &TableSchema,
    i: usize,
    column: &Column,
    arg: &Arg<'_>,
    scratch: &mut Vec<u8>,
    raw: &mut Option<Vec<u8>>,
) -> Result<usize> {
    // The scratch holds the order bytes first and the wire value behind them for a moment.
    let start = scratch.len();
    arg.put_wire(&column.ty, scratch).map_err(|e| in_key(schema, column, arg, &e))?;
    let len = scratch.len() - start;
    let mut wire = [0u8; 16];
    let long;
    // Most values are short: a copy on the stack lets the scratch take the order bytes in the same place.
    let value: &[u8] = match len <= wire.len() {
        true => {
            wire[..len].copy_from_slice(&scratch[start..]);
            &wire[..len]
        }
        false => {
            long = scratch[start..].to_vec();
            &long
        }
    };
    scratch.truncate(start);
    let descending = column.kind == ColumnKind::Clustering(Order::Desc);
    order::encode_component(value, &column.ty, descending, scratch)?;
    if raw.is_some() || !order::comes_back(value, &column.ty)? {
        let raw = raw.get_or_insert_with(Vec::new);
        if raw.is_empty() && i > 0 {
            // Earlier columns are faithful: their values come out of the order bytes.
            push_raw_from_order(schema, i, scratch, raw)?;
        }
        push_raw(raw, value);
    }
    Ok(len)
}

fn push_raw_from_order(
    schema: &TableSchema,
    count: usize,
    order_bytes: &[u8],
    raw: &mut Vec<u8>,
) -> Result<()> {
    let mut rest = order_bytes;
    for column in &schema.clustering()[..count] {
        let descending = column.kind == ColumnKind::Clustering(Order::Desc);
        let mut value = Vec::new();
        let used = order::decode_component(rest, &column.ty, descending, &mut value)?;
        rest = &rest[used..];
        push_raw(raw, &value);
    }
    Ok(())
}
