//! Keys out of serialised values, and back: partition keys, clusterings, ranges of rows.
//!
//! [`bind`](crate::encoding::bind) does the same from the arguments of a Rust program; this is for layers that have the values as
//! protocol bytes already (*wires*), CQL first of all. A wire must be valid for its column's type and, for frozen sets and maps, in
//! normal order: `model::validate` and `codec::normalize`.

use crate::encoding::order;
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::composite;
use crate::model::schema::{Column, ColumnKind, Order, TableSchema};
use crate::model::types::CqlType;
use std::ops;
use std::sync::Arc;

/// The serialised partition key made of one wire for each partition-key column.
///
/// # Errors
/// `Invalid` for another number of wires, an empty key, or more than 65535 bytes.
pub fn partition_key<W: AsRef<[u8]>>(schema: &TableSchema, wires: &[W]) -> Result<Bytes> {
    let count = schema.partition_key().len();
    let fail = |error: Error| error.in_table(schema.full_name());
    if wires.len() != count {
        let text = format!("the partition key has {count} columns, {} values were given", wires.len());
        return Err(fail(Error::invalid(text)));
    }
    let key = match wires {
        [single] => {
            composite::check_key_bytes(single.as_ref().len()).map_err(fail)?;
            Bytes::new(single.as_ref())
        }
        parts => {
            let bytes: usize = parts.iter().map(|part| part.as_ref().len() + 3).sum();
            let mut key = Vec::with_capacity(bytes);
            composite::encode(parts.iter().map(AsRef::as_ref), &mut key).map_err(fail)?;
            Bytes::from(key)
        }
    };
    if key.is_empty() {
        return Err(fail(Error::invalid("Key may not be empty")));
    }
    Ok(key)
}

/// The wires of a partition key, one for each of its columns.
///
/// # Errors
/// `Corrupt` if the key is not of this table.
pub fn partition_wires(schema: &TableSchema, key: &[u8]) -> Result<Vec<Bytes>> {
    match schema.partition_key().len() {
        1 => Ok(vec![Bytes::new(key)]),
        count => Ok(composite::decode(key, count)?.into_iter().map(Bytes::new).collect()),
    }
}

/// The value of partition-key column `index` out of a serialised key.
///
/// # Errors
/// `Corrupt` if the key is no composite of so many columns.
pub fn partition_wire<'a>(schema: &TableSchema, key: &'a [u8], index: usize) -> Result<&'a [u8]> {
    match schema.partition_key().len() {
        1 => Ok(key),
        _ => composite::component(key, index),
    }
}

/// The clustering, or the prefix of one, made of one wire for each of the first clustering columns.
///
/// # Errors
/// `Invalid` for more wires than columns, bytes that are no value of the column's type, or more than 65535 bytes.
pub fn clustering<W: AsRef<[u8]>>(schema: &TableSchema, wires: &[W]) -> Result<Clustering> {
    let columns = schema.clustering();
    if wires.len() > columns.len() {
        let text =
            format!("the table has {} clustering columns, {} values were given", columns.len(), wires.len());
        return Err(Error::invalid(text).in_table(schema.full_name()));
    }
    let total: usize = wires.iter().map(|wire| wire.as_ref().len()).sum();
    composite::check_key_bytes(total).map_err(|error| error.in_table(schema.full_name()))?;
    let mut bytes = Vec::with_capacity(total + 4 * wires.len());
    let mut faithful = true;
    for (column, wire) in columns.iter().zip(wires) {
        order::encode_component(wire.as_ref(), &column.ty, is_desc(column), &mut bytes).map_err(|error| {
            Error::new(error.kind(), format!("column {}: {}", column.name, error.message()))
                .in_table(schema.full_name())
        })?;
        faithful &= order::comes_back(wire.as_ref(), &column.ty)?;
    }
    let bytes = Bytes::from(bytes);
    if faithful {
        return Ok(Clustering::new(bytes));
    }
    let mut raw = Vec::with_capacity(total + 4 * wires.len());
    wires.iter().for_each(|wire| push_raw(&mut raw, wire.as_ref()));
    Ok(Clustering::with_raw(bytes, Arc::from(raw)))
}

/// Appends a value as [`Clustering::raw`] has it.
pub(crate) fn push_raw(raw: &mut Vec<u8>, value: &[u8]) {
    raw.extend_from_slice(&(value.len() as u32).to_le_bytes());
    raw.extend_from_slice(value);
}

/// The wires of a clustering or of a prefix of one; none for that of a static row.
///
/// # Errors
/// `Corrupt` if it is not of this table.
pub fn clustering_wires(schema: &TableSchema, clustering: &Clustering) -> Result<Vec<Bytes>> {
    let columns = schema.clustering().iter().map(|column| (&column.ty, is_desc(column)));
    let mut wires = Vec::with_capacity(columns.len());
    each_value(clustering, columns, |wire| {
        wires.push(Bytes::new(wire));
        Ok(())
    })?;
    Ok(wires)
}

/// Calls `each` with the wire of each value of a clustering whose columns have these types and directions (true: DESC); of a prefix, with
/// those that it has.
///
/// # Errors
/// `Corrupt` if the clustering is not of these columns; what `each` returns.
pub(crate) fn each_value<'a>(
    clustering: &Clustering,
    columns: impl IntoIterator<Item = (&'a CqlType, bool)>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let cut = || Error::malformed("a stored clustering is cut short");
    if let Some(mut raw) = clustering.raw() {
        for _ in columns {
            if raw.is_empty() {
                return Ok(());
            }
            let (length, rest) = raw.split_first_chunk::<4>().ok_or_else(cut)?;
            let length = u32::from_le_bytes(*length) as usize;
            let (wire, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
            each(wire)?;
            raw = rest;
        }
        return Ok(());
    }
    let mut order = clustering.order();
    let mut wire = Vec::with_capacity(16);
    for (ty, descending) in columns {
        if order.is_empty() {
            return Ok(());
        }
        wire.clear();
        let length = order::decode_component(order, ty, descending, &mut wire)?;
        each(&wire)?;
        order = order.get(length..).ok_or_else(cut)?;
    }
    Ok(())
}

/// The rows whose first clustering columns have these values; without any, all of a partition.
///
/// # Errors
/// As [`clustering`].
pub fn prefix_range<W: AsRef<[u8]>>(schema: &TableSchema, prefix: &[W]) -> Result<ClusteringRange> {
    let place = clustering(schema, prefix)?;
    Ok(ClusteringRange { start: Bound::before(place.order()), end: Bound::after(place.order()) })
}

/// The place just before (or behind) all rows whose first clustering columns have these values, in the order of the disk.
///
/// # Errors
/// As [`clustering`].
pub fn bound<W: AsRef<[u8]>>(schema: &TableSchema, prefix: &[W], behind: bool) -> Result<Bound> {
    let place = clustering(schema, prefix)?;
    Ok(if behind { Bound::after(place.order()) } else { Bound::before(place.order()) })
}

/// The rows that begin with `prefix` and whose next columns lie between two ends, in the order of values, whatever the columns'
/// directions: `from` is the lower end. An end has values of one or more columns behind the prefix and is compared as a tuple, as in
/// `(a, b) > (1, 2)`; where these columns run in different directions that takes several ranges. They come in no order, and may overlap;
/// none is empty.
///
/// # Errors
/// As [`clustering`].
pub fn slice<W: AsRef<[u8]>>(
    schema: &TableSchema,
    prefix: &[W],
    from: ops::Bound<&[W]>,
    to: ops::Bound<&[W]>,
) -> Result<Vec<ClusteringRange>> {
    let lower = half(schema, prefix, from, true)?;
    let upper = half(schema, prefix, to, false)?;
    let both = lower.iter().flat_map(|a| upper.iter().map(move |b| a.intersect(b)));
    Ok(both.filter(|range| !range.is_empty()).collect())
}

/// What lies above (or below) an end: the rows that are equal in all of its columns, if it is included, and for each of its columns those
/// that are equal in the ones before and above in that one. Neighbours that run in one direction are one range.
fn half<W: AsRef<[u8]>>(
    schema: &TableSchema,
    prefix: &[W],
    end: ops::Bound<&[W]>,
    above: bool,
) -> Result<Vec<ClusteringRange>> {
    let (end, included) = match end {
        ops::Bound::Unbounded => return Ok(vec![prefix_range(schema, prefix)?]),
        ops::Bound::Included(end) => (end, true),
        ops::Bound::Excluded(end) => (end, false),
    };
    let mut wires: Vec<&[u8]> = prefix.iter().map(AsRef::as_ref).collect();
    let base = wires.len();
    wires.extend(end.iter().map(AsRef::as_ref));
    let columns = schema.clustering().get(base..).unwrap_or_default();
    let mut ranges: Vec<ClusteringRange> = Vec::new();
    for i in (0..end.len()).rev() {
        let outer = prefix_range(schema, &wires[..base + i])?;
        let inner = prefix_range(schema, &wires[..=base + i])?;
        let last = i + 1 == end.len();
        // In a descending column the greater values stand before.
        let behind = above != columns.get(i).is_some_and(is_desc);
        let range = match behind {
            true => {
                let start = if last && included { inner.start } else { inner.end };
                ClusteringRange { start, end: outer.end }
            }
            false => {
                let end = if last && included { inner.end } else { inner.start };
                ClusteringRange { start: outer.start, end }
            }
        };
        match ranges.last_mut() {
            Some(before) if before.end == range.start => before.end = range.end,
            Some(before) if range.end == before.start => before.start = range.start,
            _ => ranges.push(range),
        }
    }
    if end.is_empty() {
        ranges.push(prefix_range(schema, prefix)?);
    }
    Ok(ranges)
}

fn is_desc(column: &Column) -> bool {
    column.kind == ColumnKind::Clustering(Order::Desc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::{TableId, TableOptions};
    use std::ops::Bound::{Excluded, Included, Unbounded};

    fn schema(orders: &[Order]) -> TableSchema {
        let mut columns = vec![
            ("p".to_owned(), CqlType::Int, ColumnKind::PartitionKey),
            ("q".to_owned(), CqlType::Text, ColumnKind::PartitionKey),
        ];
        let clustering = orders.iter().enumerate();
        columns.extend(
            clustering.map(|(i, order)| (format!("c{i}"), CqlType::Int, ColumnKind::Clustering(*order))),
        );
        TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap()
    }

    fn wires(values: &[i32]) -> Vec<[u8; 4]> {
        values.iter().map(|value| value.to_be_bytes()).collect()
    }

    #[test]
    fn partition_keys_round_trip() {
        let schema = schema(&[]);
        let key = partition_key(&schema, &[&[0, 0, 0, 7][..], b"x"]).unwrap();
        assert_eq!(&*key, b"\0\x04\0\0\0\x07\0\0\x01x\0");
        let wires = partition_wires(&schema, &key).unwrap();
        assert_eq!(wires, [Bytes::new(&[0, 0, 0, 7]), Bytes::new(b"x")]);
        assert!(partition_key(&schema, &[&[0, 0, 0, 7]]).is_err());
    }

    #[test]
    fn clusterings_and_prefixes_come_back_also_where_the_order_does_not_give_them_back() {
        let columns = vec![
            ("p".to_owned(), CqlType::Int, ColumnKind::PartitionKey),
            ("a".to_owned(), CqlType::Text, ColumnKind::Clustering(Order::Desc)),
            ("b".to_owned(), CqlType::Varint, ColumnKind::Clustering(Order::Asc)),
        ];
        let schema = TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap();
        for wires in [&[&b"text"[..], &[0, 0, 5]][..], &[b"t", &[5]], &[b"t"], &[]] {
            let place = clustering(&schema, wires).unwrap();
            let back = clustering_wires(&schema, &place).unwrap();
            assert_eq!(back, wires.iter().map(|wire| Bytes::new(wire)).collect::<Vec<_>>());
        }
        assert_eq!(
            clustering(&schema, &[&b"t"[..], &[0, 0, 5]]).unwrap(),
            clustering(&schema, &[&b"t"[..], &[5]]).unwrap()
        );
        assert!(clustering(&schema, &[b"t", b"t", b"t"]).is_err());
    }

    #[test]
    fn slices_are_by_value_in_all_directions() {
        let all: Vec<[i32; 3]> = (0..27).map(|n| [n / 9, n / 3 % 3, n % 3]).collect();
        for directions in 0..8 {
            let order = |bit: u8| if directions >> bit & 1 == 0 { Order::Asc } else { Order::Desc };
            let schema = schema(&[order(0), order(1), order(2)]);
            let found = |prefix: &[i32], from: ops::Bound<&[i32]>, to: ops::Bound<&[i32]>| {
                let (low, high) = (from.map(wires), to.map(wires));
                let ranges = slice(
                    &schema,
                    &wires(prefix),
                    low.as_ref().map(Vec::as_slice),
                    high.as_ref().map(Vec::as_slice),
                )
                .unwrap();
                let holds = |row: &&[i32; 3]| {
                    let place = clustering(&schema, &wires(&row[..])).unwrap();
                    ranges.iter().any(|range| range.contains(place.order()))
                };
                all.iter().filter(holds).copied().collect::<Vec<_>>()
            };
            let ends: [ops::Bound<&[i32]>; 6] = [
                Unbounded,
                Included(&[1]),
                Excluded(&[1, 1]),
                Included(&[1, 1]),
                Excluded(&[0, 2, 1]),
                Included(&[2, 0, 2]),
            ];
            for from in ends {
                for to in ends {
                    let inside = |row: &&[i32; 3]| {
                        let above = match from {
                            Unbounded => true,
                            Included(end) => &row[..end.len()] >= end,
                            Excluded(end) => &row[..end.len()] > end,
                        };
                        let below = match to {
                            Unbounded => true,
                            Included(end) => &row[..end.len()] <= end,
                            Excluded(end) => &row[..end.len()] < end,
                        };
                        above && below
                    };
                    let wanted: Vec<_> = all.iter().filter(inside).copied().collect();
                    assert_eq!(found(&[], from, to), wanted, "{from:?} {to:?} {directions}");
                }
            }
            let within: Vec<_> = all.iter().filter(|row| row[0] == 1 && row[1] > 0).copied().collect();
            assert_eq!(found(&[1], Excluded(&[0]), Unbounded), within);
        }
    }
}
