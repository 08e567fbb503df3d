//! One row out of a block, its values copied.
//!
//! A row by itself is small: its values are taken out of the block's lanes at once, so that their ways from memory are one wait and not
//! one for each column, and nothing of the block is counted or kept. Called by [`read::point`](crate::read::point) for rows
//! that one file alone has something to say about.
//!
//! # Not here
//! What other sources say of the row, and deletions: the caller knows that there are none.

use crate::encoding::key::partition_wire;
use crate::error::Result;
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::key::DecoratedKey;
use crate::model::schema::ColumnKind;
use crate::read::batch::{Batch, Row};
use crate::read::column::{Column, Values};
use crate::read::lanes::{LaneMap, LaneOf};
use crate::read::query::Projection;
use crate::sstable::block::column::state;
use crate::sstable::block::decoded::DecodedBlock;
use std::sync::Arc;

/// Whether all lanes of the result's columns are decoded and have a value for every row, which share the rows' lives. Asked before the
/// item is searched: then the lanes, and what they have near the item's likely place, are on their way from memory already.
#[inline]
pub(crate) fn are_dense(block: &DecodedBlock, lanes: &LaneMap, likely: Option<usize>) -> bool {
    let mut dense = true;
    for at in 0..lanes.len() {
        if let Some(slot) = lanes.slot(at) {
            let column = block.known_column(slot);
            dense &= column.is_some_and(|column| column.is_dense());
            if let (Some(column), Some(item)) = (column, likely) {
                column.values().touch(item);
            }
        }
    }
    dense
}

/// Item `item` of `block`, the row of `key` at `clustering`, as it is seen at second `now`. `dense` is what [`are_dense`] told. `None` if
/// the row has to be resolved from its cells: without marker, expired, or with cells that have a life of their own.
///
/// # Errors
/// `Corrupt` if a lane is damaged.
pub(crate) fn row_of_item(
    columns: &Arc<Projection>,
    (key, clustering): (&DecoratedKey, &[u8]),
    (block, item): (&DecodedBlock, usize),
    (lanes, dense): (&LaneMap, bool),
    now: i64,
) -> Result<Option<Row>> {
    if !lanes.is_fit() || !block.is_marked(item) || !block.all_live(item..item + 1, now)? {
        return Ok(None);
    }
    let schema = columns.schema();
    let number = block.number(item);
    let life = match columns.lives() {
        true => Some(block.lives()?.of(item)),
        false => None,
    };
    if dense {
        for at in 0..lanes.len() {
            if let Some(column) = lanes.slot(at).and_then(|slot| block.known_column(slot)) {
                column.values().touch(number);
            }
        }
    }
    let mut values = Vec::with_capacity(columns.len());
    for (at, column) in columns.columns().enumerate() {
        let (value, life) = match lanes.lane(at) {
            LaneOf::Head if column.kind == ColumnKind::PartitionKey => {
                let wire = partition_wire(schema, &key.key, columns.schema_index(at))?;
                (Values::One(Bytes::new(wire)), None)
            }
            LaneOf::Head => return Ok(None),
            LaneOf::Clustering(k) => (Values::One(block.place(k)?.wire(item)), None),
            LaneOf::Absent => (Values::Null, life.map(|_| vec![None])),
            LaneOf::Slot(slot) => {
                let column = block.column(slot)?;
                let index = match column.is_absent() {
                    _ if dense => Some(number),
                    true => None,
                    false => match column.state(number) {
                        state::LIVE => column.value_of(number),
                        state::ABSENT => None,
                        _ => return Ok(None),
                    },
                };
                match index {
                    Some(index) => {
                        (Values::One(column.values().wire(index)), life.map(|life| vec![Some(life)]))
                    }
                    None => (Values::Null, life.map(|_| vec![None])),
                }
            }
        };
        values.push(Column::new(&column.ty, value, life));
    }
    let last = Clustering::new(Bytes::new(clustering));
    let batch = Batch::of_row(columns, key, values, last, now);
    Ok(Some(Row::new(&Arc::new(batch), 0)))
}
