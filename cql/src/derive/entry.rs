//! Entries of an index: which rows had a value.
//!
//! An entry is the marker of a row in the index's hidden table (see
//! [`index_schema`](crate::catalog::definition::index_schema)). It expires with the value. Nothing is read to write one: what a row had before stays
//! in the index until somebody meets it there.

use crate::catalog::definition::indexed_type;
use crate::catalog::form::one_form;
use crate::catalog::store::Picture;
use crate::catalog::{IndexDef, IndexKind, TableInfo};
use crate::error::{CqlError, Result};
use crate::mutation::{Change, PartitionWrites};
use crate::syntax::ast::IndexPart;
use skep_engine::encoding::row::Stamp;
use skep_engine::encoding::{key, path};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::Cell;
use skep_engine::model::clustering::Clustering;
use skep_engine::model::life::Liveness;
use skep_engine::model::row::Row;
use skep_engine::model::schema::Column;
use skep_engine::{ColumnKind, CqlType, Table, TableSchema, Token, WriteBatch};
use std::sync::Arc;

/// The longest value that is a partition key of an index, bytes.
const MAX_VALUE: usize = 65_535;

/// The table of an index, with what it is on.
#[derive(Debug)]
pub struct IndexTable {
    /// The hidden table.
    pub table: Table,
    /// Its definition.
    pub schema: Arc<TableSchema>,
    /// The indexed table's definition.
    pub base: Arc<TableSchema>,
    /// The index.
    pub index: Arc<IndexDef>,
    /// The indexed column.
    pub column: Column,
    /// The type of what is indexed of it.
    pub of: CqlType,
}

/// A value that a row has, and the second at which it expires; 0 for never.
type Indexed = (Bytes, i64);

/// Seconds that an entry outlives its value: the commit may come later than the look at the clock.
const GRACE: i64 = 60;

impl IndexTable {
    /// The table of `index` of `base`; None if either is being dropped.
    #[must_use]
    pub fn of(picture: &Picture, base: &TableInfo, index: &Arc<IndexDef>) -> Option<Self> {
        let table = picture.keyspace(base.keyspace())?.index_tables.get(&index.name)?.clone();
        let column = base.schema.column(&index.column)?.clone();
        let of = indexed_type(&column.ty, index.part);
        let (schema, base, index) = (table.schema(), Arc::clone(&base.schema), Arc::clone(index));
        Some(Self { table, schema, base, index, column, of })
    }

    /// Whether entries name partitions rather than rows.
    #[must_use]
    pub fn is_of_partitions(&self) -> bool {
        matches!(self.column.kind, ColumnKind::Static | ColumnKind::PartitionKey)
    }

    /// Adds the entries of what is written to a partition at second `now`.
    ///
    /// # Errors
    /// `Invalid` for a value that is too long to be indexed.
    pub fn put(&self, part: &PartitionWrites, now: i64, batch: &mut WriteBatch) -> Result<()> {
        for change in &part.changes {
            match change {
                Change::Row(row) => self.put_row(&part.key, (row, false), now, batch)?,
                Change::Static(row) => self.put_row(&part.key, (row, true), now, batch)?,
                Change::Range(..) | Change::Partition(_) => {}
            }
        }
        Ok(())
    }

    /// Adds the entries of a row of partition `partition`, written or stored; whether it is the static one comes with it.
    ///
    /// # Errors
    /// As [`IndexTable::put`].
    pub fn put_row(
        &self,
        partition: &Bytes,
        (row, is_static): (&Row, bool),
        now: i64,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        for (value, expiry) in self.values(partition, row, is_static, now)? {
            let at = (!is_static).then_some(&row.clustering);
            let (key, clustering) = self.entry(&value, partition, at, expiry)?;
            let timestamp = Stamp::UNSET.timestamp;
            let life = match expiry {
                0 => Liveness::new(timestamp),
                // Some TTL: what counts is the expiry.
                expiry => Liveness::expiring(timestamp, 1, expiry.saturating_add(GRACE)),
            };
            let entry = Row { liveness: Some(life), ..Row::new(clustering) };
            batch.put_row(&self.schema, &key, false, &entry)?;
        }
        Ok(())
    }

    /// Key and clustering of an entry in the hidden table.
    ///
    /// # Errors
    /// As [`IndexTable::put`].
    fn entry(
        &self,
        value: &Bytes,
        partition: &Bytes,
        at: Option<&Clustering>,
        expiry: i64,
    ) -> Result<(Bytes, Clustering)> {
        let mut wires = Vec::with_capacity(4);
        let key = match self.index.kind {
            IndexKind::Legacy => {
                let value_key = self.value_key(value)?;
                if value_key.len() > MAX_VALUE {
                    return Err(self.too_long(value.len()));
                }
                key::partition_key(&self.schema, &[value_key])?
            }
            IndexKind::Sai => {
                wires.push(value.clone());
                key::partition_key(&self.schema, &[Bytes::new(&0i32.to_be_bytes())])?
            }
        };
        wires.push(Bytes::new(&Token::of(partition).0.to_be_bytes()));
        wires.push(partition.clone());
        if let Some(at) = at.filter(|_| !self.is_of_partitions()) {
            wires.extend(key::clustering_wires(&self.base, at)?);
        }
        wires.push(Bytes::new(&expiry.to_be_bytes()));
        Ok((key, key::clustering(&self.schema, &wires)?))
    }

    /// The partition key under which `value` stands in an index of the first kind: the same for all ways of writing it.
    ///
    /// # Errors
    /// `Invalid` for bytes that are no value of the indexed type.
    pub fn value_key(&self, value: &Bytes) -> Result<Bytes> {
        Ok(to_key(&one_form(value, &self.of)?))
    }

    fn too_long(&self, length: usize) -> CqlError {
        CqlError::invalid(format!(
            "Cannot index value of size {length} for index {} on {}({}) (maximum allowed size={MAX_VALUE})",
            self.index.name,
            self.base.full_name(),
            self.column.name
        ))
    }

    /// The values of the indexed column in a row that is stored, or written at second `now`.
    ///
    /// # Errors
    /// `Invalid` for stored bytes that are no key or element.
    pub fn values(&self, partition: &Bytes, row: &Row, is_static: bool, now: i64) -> Result<Vec<Indexed>> {
        let mut values = self.plain_values(partition, row, is_static, now)?;
        if self.index.folds() {
            values.iter_mut().for_each(|(value, _)| *value = self.index.folded(value));
        }
        Ok(values)
    }

    fn plain_values(&self, partition: &Bytes, row: &Row, is_static: bool, now: i64) -> Result<Vec<Indexed>> {
        let of_key = |wires: Vec<Bytes>, columns: &[Column]| {
            let place = columns.iter().position(|column| column.id == self.column.id);
            // Whatever makes the row live, and however long, its entry stays until it is found to be wrong.
            place.and_then(|place| wires.into_iter().nth(place)).map(|value| (value, 0))
        };
        let lives = row.liveness.is_some() || row.all_cells().any(|cell| !cell.is_tombstone());
        Ok(match self.column.kind {
            ColumnKind::PartitionKey if lives => {
                of_key(key::partition_wires(&self.base, partition)?, self.base.partition_key())
                    .into_iter()
                    .collect()
            }
            ColumnKind::Clustering(_) if lives && !is_static => {
                let wires = key::clustering_wires(&self.base, &row.clustering)?;
                of_key(wires, self.base.clustering()).into_iter().collect()
            }
            ColumnKind::Static if is_static => self.cells(row, now)?,
            ColumnKind::Regular if !is_static => self.cells(row, now)?,
            _ => Vec::new(),
        })
    }

    fn cells(&self, row: &Row, now: i64) -> Result<Vec<Indexed>> {
        if let Some(cell) = row.cell(self.column.id) {
            return Ok(cell.value.iter().map(|value| (value.clone(), expiry(cell, now))).collect());
        }
        let Some(complex) = row.complex(self.column.id) else { return Ok(Vec::new()) };
        let mut found = Vec::with_capacity(complex.cells.len());
        for (at, cell) in &complex.cells {
            let Some(value) = &cell.value else { continue };
            found.push((self.element(at, value)?, expiry(cell, now)));
        }
        Ok(found)
    }

    fn element(&self, at: &Clustering, value: &Bytes) -> Result<Bytes> {
        Ok(match (&self.column.ty, self.index.part) {
            (CqlType::Set(of), _) => path::wire(at, of)?,
            (CqlType::Map(of, _), IndexPart::Keys) => path::wire(at, of)?,
            (CqlType::Map(of, _), IndexPart::Entries) => entry_value(&path::wire(at, of)?, value),
            _ => value.clone(),
        })
    }
}

/// The partition key under which a value stands in an index of the first kind. A key is never empty, and a value may be: one of zero bytes
/// alone, or of none, has a zero byte more.
#[must_use]
pub fn to_key(value: &Bytes) -> Bytes {
    if value.iter().any(|byte| *byte != 0) {
        return value.clone();
    }
    let mut key = value.to_vec();
    key.push(0);
    Bytes::from(key)
}

/// The value that stands under a partition key.
#[must_use]
pub fn of_key(key: &Bytes) -> Bytes {
    match key.split_last() {
        Some((0, rest)) if rest.iter().all(|byte| *byte == 0) => Bytes::new(rest),
        _ => key.clone(),
    }
}

/// The value of an index on entries: key and value as a tuple of two.
#[must_use]
pub fn entry_value(key: &[u8], value: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(8 + key.len() + value.len());
    for part in [key, value] {
        out.extend_from_slice(&(part.len() as u32).to_be_bytes());
        out.extend_from_slice(part);
    }
    Bytes::from(out)
}

/// The second at which a cell expires, 0 for never; one whose times are the commit's counts from `now`.
fn expiry(cell: &Cell, now: i64) -> i64 {
    match cell.ttl {
        0 => 0,
        ttl if cell.local < 0 => now.saturating_add(ttl.into()),
        _ => cell.local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_empty_and_gives_its_value_back() {
        let values = [&b""[..], &[0], &[0, 0], &[0; 4], &[1], &[1, 0], &[0, 1], &[0, 0, 1], b"text"];
        let keys: Vec<_> = values.iter().map(|value| to_key(&Bytes::new(value))).collect();
        for (at, (value, key)) in values.iter().zip(&keys).enumerate() {
            assert!(!key.is_empty());
            assert_eq!(of_key(key).as_slice(), *value);
            assert!(!keys[..at].contains(key), "{value:?}");
        }
    }
}
