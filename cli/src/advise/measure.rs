//! What a table's data looks like: partitions, rows, bytes, growth, tombstones, values of indexed columns. One pass over the keys, a sample
//! of whole rows, one pass for each indexed column.

use crate::failure::Outcome;
use skep::model::key::DecoratedKey;
use skep::read::query::TombstoneLimits;
use skep::{CqlType, Table, TableSchema};
use std::collections::HashSet;

/// Rows that are looked at whole, for the size of one.
const SAMPLE: u64 = 5_000;
/// Distinct values of an indexed column that are counted.
const DISTINCT: usize = 200_000;
/// Bytes that a row takes in Cassandra besides its values: marker, timestamps, lengths.
const ROW_OVERHEAD: f64 = 14.0;

const NONE: TombstoneLimits = TombstoneLimits { warn: u64::MAX, refuse: u64::MAX };

/// A partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Partition {
    /// Its key as text.
    pub(super) key: String,
    /// Rows that a reader sees.
    pub(super) rows: u64,
    /// First and last time of its first clustering column, if that is a time, millis.
    pub(super) times: Option<(i64, i64)>,
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    pub(super) rows: u64,
    pub(super) partitions: u64,
    /// Partitions of one row.
    pub(super) single: u64,
    pub(super) largest: Partition,
    /// Values of a row and what goes with them, uncompressed, bytes.
    pub(super) row_bytes: f64,
    /// Bytes of the table's files.
    pub(super) disk_bytes: u64,
    pub(super) tombstones: u64,
    pub(super) cells: u64,
    /// Indexed columns: name, rows with a value, distinct values (at most so many are counted).
    pub(super) indexed: Vec<(String, u64, usize)>,
}

impl Measured {
    /// Bytes of the largest partition.
    pub(super) fn largest_bytes(&self) -> f64 {
        self.largest.rows as f64 * self.row_bytes
    }

    /// Rows that the largest partition gets in a day.
    pub(super) fn rows_per_day(&self) -> Option<f64> {
        let (first, last) = self.largest.times?;
        let days = (last - first) as f64 / 86_400_000.0;
        // Of a few minutes nothing follows.
        (days > 0.01 && self.largest.rows > 10).then(|| self.largest.rows as f64 / days)
    }
}

/// Millis of a time as a column of integers holds it.
fn millis(value: i64, ty: &CqlType) -> Option<i64> {
    match ty {
        CqlType::Timestamp => Some(value),
        CqlType::Date => Some((value - (1 << 31)) * 86_400_000),
        _ => None,
    }
}

/// Measures a table; `indexed` are its indexed columns.
pub(super) fn measure(table: &Table, indexed: &[String]) -> Outcome<Measured> {
    let schema = table.schema();
    let stats = table.stats();
    let mut found = Measured {
        disk_bytes: stats.file_bytes,
        tombstones: stats.tombstones,
        cells: stats.cells,
        ..Measured::default()
    };
    partitions(table, &schema, &mut found)?;
    found.row_bytes = row_bytes(table, &schema)?;
    for column in indexed {
        found.indexed.push(cardinality(table, column)?);
    }
    Ok(found)
}

fn partitions(table: &Table, schema: &TableSchema, found: &mut Measured) -> Outcome {
    let by = schema.clustering().first().or_else(|| schema.partition_key().first());
    let Some(by) = by else { return Ok(()) };
    let mut reader = table.scan().columns(&[&by.name]).tombstone_limits(NONE).reader()?;
    let mut current: Option<(DecoratedKey, Partition)> = None;
    while let Some(batch) = reader.next_batch()? {
        if current.as_ref().is_none_or(|(key, _)| key != batch.key()) {
            close(current.take(), schema, found);
            current = Some((batch.key().clone(), Partition::default()));
        }
        let Some((_, partition)) = &mut current else { continue };
        partition.rows += batch.len() as u64;
        if let Some((values, _)) = batch.column(0).and_then(|column| column.ints(batch.len())) {
            for value in [values.first(), values.last()].into_iter().flatten() {
                if let Some(at) = millis(*value, &by.ty) {
                    let (first, last) = partition.times.unwrap_or((at, at));
                    partition.times = Some((first.min(at), last.max(at)));
                }
            }
        }
    }
    close(current, schema, found);
    Ok(())
}

fn close(partition: Option<(DecoratedKey, Partition)>, schema: &TableSchema, found: &mut Measured) {
    let Some((key, partition)) = partition else { return };
    found.partitions += 1;
    found.rows += partition.rows;
    found.single += u64::from(partition.rows == 1);
    if partition.rows > found.largest.rows {
        found.largest = Partition { key: key_text(schema, &key), ..partition };
    }
}

fn key_text(schema: &TableSchema, key: &DecoratedKey) -> String {
    let wires = skep::encoding::key::partition_wires(schema, &key.key).unwrap_or_default();
    let value = |(wire, column): (_, &skep::model::schema::Column)| {
        let wire: &skep::model::bytes::Bytes = wire;
        skep::model::codec::decode(wire, &column.ty)
            .map_or_else(|_| "?".to_owned(), |value| value.to_string())
    };
    wires.iter().zip(schema.partition_key()).map(value).collect::<Vec<_>>().join(", ")
}

fn row_bytes(table: &Table, schema: &TableSchema) -> Outcome<f64> {
    let keys = schema.partition_key().len();
    let names: Vec<&str> = schema.columns()[keys..].iter().map(|column| column.name.as_str()).collect();
    if names.is_empty() {
        return Ok(ROW_OVERHEAD);
    }
    let (mut rows, mut bytes) = (0u64, 0u64);
    for batch in table.scan().columns(&names).tombstone_limits(NONE).limit(SAMPLE).batches()? {
        let batch = batch?;
        for row in 0..batch.len() {
            for column in 0..names.len() {
                bytes += batch.wire(column, row)?.map_or(0, |wire| 1 + wire.len() as u64);
            }
        }
        rows += batch.len() as u64;
    }
    Ok(ROW_OVERHEAD + if rows == 0 { 0.0 } else { bytes as f64 / rows as f64 })
}

fn cardinality(table: &Table, column: &str) -> Outcome<(String, u64, usize)> {
    let (mut values, mut distinct) = (0, HashSet::new());
    for batch in table.scan().columns(&[column]).tombstone_limits(NONE).batches()? {
        let batch = batch?;
        for row in 0..batch.len() {
            if let Some(wire) = batch.wire(0, row)? {
                values += 1;
                if distinct.len() < DISTINCT {
                    distinct.insert(wire);
                }
            }
        }
    }
    Ok((column.to_owned(), values, distinct.len()))
}
