//! Guard rails of batches: sizes and spreads that Cassandra warns of, or refuses.

use crate::answer::Run;
use crate::error::{CqlError, Result};
use crate::mutation::{Change, Mutations, PartitionWrites};
use crate::rails::{BATCH_FAIL_BYTES, BATCH_WARN_BYTES, BATCH_WARN_PARTITIONS, Rail, Rails};
use crate::syntax::ast::BatchKind;
use skep_engine::TableSchema;
use skep_engine::encoding::{key, path};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::Clustering;
use skep_engine::model::row::{Complex, Row};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Checks what a batch without conditions writes.
///
/// # Errors
/// `Invalid`: "Batch too large".
pub fn check(mutations: &Mutations, kind: BatchKind, run: &mut Run<'_>) -> Result<()> {
    let written = || mutations.partitions().iter();
    if kind == BatchKind::Logged {
        let forgetful: BTreeSet<String> = written()
            .filter(|part| part.table.schema.options.gc_grace_seconds == 0)
            .map(|part| part.table.full_name())
            .collect();
        if !forgetful.is_empty() {
            let (s, tables) = listed(&forgetful);
            run.warn(format!(
                "Executing a LOGGED BATCH on table{s} {tables}, configured with a gc_grace_seconds of 0. The \
                 gc_grace_seconds is used to TTL batchlog entries, so setting gc_grace_seconds too low on tables involved \
                 in an atomic batch might cause batchlog entries to expire before being replayed."
            ));
        }
    }
    // The tables of one keyspace share a partition's key: that is one mutation to Cassandra.
    let parts: HashSet<(&str, &[u8])> =
        written().map(|part| (part.table.keyspace(), &part.key[..])).collect();
    if parts.len() <= 1 {
        return Ok(());
    }
    let tables: BTreeSet<String> = written().map(|part| part.table.full_name()).collect();
    let (s, tables) = listed(&tables);
    let size = data_bytes(mutations)?;
    let count = |met: fn(&Rails, Rail), rail| {
        written().take(1).for_each(|part| met(&Rails::of(part.table.table.db()), rail));
    };
    if size > BATCH_FAIL_BYTES {
        count(Rails::refuse, Rail::BatchSize);
        return Err(CqlError::invalid("Batch too large").hint(format!(
            "a batch over several partitions may have {BATCH_FAIL_BYTES} bytes, this one has {size}"
        )));
    }
    if size > BATCH_WARN_BYTES {
        count(Rails::warn, Rail::BatchSize);
        run.warn(format!(
            "Batch for {tables} is of size {}, exceeding specified threshold of {} by {}.",
            size,
            BATCH_WARN_BYTES,
            size - BATCH_WARN_BYTES
        ));
    }
    let keys: HashSet<&[u8]> = written().map(|part| &part.key[..]).collect();
    if kind != BatchKind::Logged && keys.len() > BATCH_WARN_PARTITIONS {
        count(Rails::warn, Rail::BatchPartitions);
        run.warn(format!(
            "Unlogged batch covering {} partitions detected against table{s} {tables}. You should use a logged batch for \
             atomicity, or asynchronous writes for performance.",
            keys.len()
        ));
    }
    Ok(())
}

fn listed(tables: &BTreeSet<String>) -> (&'static str, String) {
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    (if names.len() == 1 { "" } else { "s" }, format!("[{}]", names.join(", ")))
}

/// The size of a write as Cassandra counts it: values, keys of elements and clusterings, and fixed amounts for times and deletions.
///
/// # Errors
/// `Corrupt` if a clustering is not of its table.
fn data_bytes(mutations: &Mutations) -> Result<usize> {
    mutations.partitions().iter().map(partition_bytes).sum()
}

/// A row without anything in it: marker and deletion.
const ROW: usize = 21;
/// The times of a cell.
const CELL: usize = 20;
/// What a TTL adds to a row's marker.
const MARKER_TTL: usize = 12;
const DELETION: usize = 12;

/// Sizes of cells by column and path.
type Cells<'a> = HashMap<(ColumnId, &'a [u8]), usize>;

fn partition_bytes(part: &PartitionWrites) -> Result<usize> {
    let schema = &part.table.schema;
    // Several statements may write one cell: it counts once.
    let mut rows: HashMap<(bool, &[u8]), Cells<'_>> = HashMap::new();
    // The deletion of the partition and the static row are always counted, be they there or not.
    let mut bytes = 8 + ROW;
    let mut ranges = 0;
    for change in &part.changes {
        let (row, is_static) = match change {
            Change::Row(row) => (row, false),
            Change::Static(row) => (row, true),
            Change::Range(range, _) => {
                ranges = 4;
                bytes += DELETION;
                for end in [&range.start, &range.end] {
                    bytes += clustering_bytes(schema, &Clustering::new(Bytes::new(end.prefix())))?;
                }
                continue;
            }
            Change::Partition(_) => continue,
        };
        let place = (is_static, row.clustering.order());
        if !is_static && !rows.contains_key(&place) {
            bytes += ROW + clustering_bytes(schema, &row.clustering)?;
        }
        if row.liveness.is_some_and(|life| life.is_expiring()) {
            bytes += MARKER_TTL;
        }
        add_cells(schema, row, rows.entry(place).or_default())?;
    }
    Ok(bytes + ranges + rows.values().flat_map(HashMap::values).sum::<usize>())
}

fn add_cells<'a>(schema: &TableSchema, row: &'a Row, cells: &mut Cells<'a>) -> Result<()> {
    let value = |cell: &Cell| CELL + cell.value.as_ref().map_or(0, |value| value.len());
    for (column, cell) in &row.cells {
        cells.insert((*column, &[]), value(cell));
    }
    for Complex { column, cells: elements, .. } in &row.complex {
        // The deletion of the elements has a place that no path has.
        cells.insert((*column, &[]), DELETION);
        let ty = schema.column_by_id(*column).and_then(|column| path::ty(&column.ty));
        for (at, cell) in elements {
            let key = match ty {
                Some(ty) => path::wire(at, ty)?.len(),
                None => at.order().len(),
            };
            cells.insert((*column, at.order()), value(cell) + key);
        }
    }
    Ok(())
}

fn clustering_bytes(schema: &TableSchema, clustering: &Clustering) -> Result<usize> {
    Ok(key::clustering_wires(schema, clustering)?.iter().map(|wire| wire.len()).sum())
}
