//! Counters: what a run adds to them, summed up and written as new sums.
//!
//! On one machine a counter is a number that is read and written under its partition's lock; so sums are exact, and several increments of
//! one counter in a batch add up. A counter that was deleted, alone or with its row or partition, begins anew at 0 (Cassandra, whose
//! counters are kept apart for each replica, calls counting after a deletion undefined). Sums wrap around at 64 bits.

use crate::catalog::TableInfo;
use crate::error::Result;
use crate::modify::apply::increment;
use crate::modify::builder::RowBuilder;
use crate::modify::operation::Operation;
use crate::modify::step::{Rows, Step};
use crate::modify::times::Times;
use crate::mutation::{Change, Mutations};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::ColumnId;
use skep_engine::model::clustering::Clustering;
use skep_engine::model::row::Row;
use skep_engine::model::schema::TableId;
use std::collections::HashMap;
use std::sync::Arc;

/// What is added to the counters of one row.
#[derive(Debug)]
struct Sum {
    table: Arc<TableInfo>,
    key: Bytes,
    /// None: the static row.
    clustering: Option<Clustering>,
    deltas: Vec<(ColumnId, i64)>,
}

/// Everything that a run counts.
#[derive(Debug, Default)]
pub struct Counts {
    sums: Vec<Sum>,
    places: HashMap<(TableId, Bytes, Option<Bytes>), usize>,
}

impl Counts {
    /// Adds what `step` counts.
    ///
    /// # Errors
    /// `Invalid` for increments that are null.
    pub fn add(&mut self, step: &Step<'_>) -> Result<()> {
        if !step.statement.counts() {
            return Ok(());
        }
        let deltas = |operations: &[Operation]| -> Result<Vec<(ColumnId, i64)>> {
            let delta = |op: &Operation| Ok(increment(&op.action, &step.inputs)?.map(|n| (op.column.id, n)));
            operations.iter().filter_map(|op| delta(op).transpose()).collect()
        };
        let (regulars, statics) = (deltas(&step.statement.regulars)?, deltas(&step.statement.statics)?);
        for key in &step.keys {
            if let Rows::Named(rows) = &step.rows {
                for row in rows {
                    self.add_to(&step.statement.table, key, Some(row), &regulars);
                    // A static counter counts once for each row that is named, as in Cassandra.
                    self.add_to(&step.statement.table, key, None, &statics);
                }
                continue;
            }
            self.add_to(&step.statement.table, key, None, &statics);
        }
        Ok(())
    }

    fn add_to(
        &mut self,
        table: &Arc<TableInfo>,
        key: &Bytes,
        clustering: Option<&Clustering>,
        deltas: &[(ColumnId, i64)],
    ) {
        if deltas.is_empty() {
            return;
        }
        let sums = &mut self.sums;
        let place =
            (table.schema.id, key.clone(), clustering.map(|clustering| Bytes::new(clustering.order())));
        let place = *self.places.entry(place).or_insert_with(|| {
            let (table, key, clustering) = (Arc::clone(table), key.clone(), clustering.cloned());
            sums.push(Sum { table, key, clustering, deltas: Vec::new() });
            sums.len() - 1
        });
        for (column, delta) in deltas {
            match self.sums[place].deltas.iter_mut().find(|(known, _)| known == column) {
                Some((_, sum)) => *sum = sum.wrapping_add(*delta),
                None => self.sums[place].deltas.push((*column, *delta)),
            }
        }
    }

    /// Adds the new sums to `out`; `live` gives a row as a reader sees it.
    ///
    /// # Errors
    /// Those of `live`.
    pub fn write(
        &self,
        times: Times,
        mut live: impl FnMut(&Arc<TableInfo>, &Bytes, Option<&Clustering>) -> Result<Option<Row>>,
        out: &mut Mutations,
    ) -> Result<()> {
        for Sum { table, key, clustering, deltas } in &self.sums {
            let before = live(table, key, clustering.as_ref())?;
            let place = clustering.clone().unwrap_or(Clustering::EMPTY);
            let mut row = RowBuilder::new(place, times, None, 0);
            for (column, delta) in deltas {
                let cell = before.as_ref().and_then(|row| row.cell(*column));
                let value = cell.and_then(|cell| <[u8; 8]>::try_from(cell.value.as_deref()?).ok());
                let sum = value.map_or(0, i64::from_be_bytes).wrapping_add(*delta);
                row.set(*column, Bytes::new(&sum.to_be_bytes()));
            }
            let row = row.finish();
            let change = if clustering.is_some() { Change::Row(row) } else { Change::Static(row) };
            out.partition(table, key).push(change);
        }
        Ok(())
    }
}
