//! Overwriting a non-frozen collection or user type with a whole value.
//!
//! Such a column is many cells. Overwriting it deletes what is older than the statement, by one microsecond less than the
//! statement's timestamp, and writes each element as a cell (Apache Cassandra's rule; hence two overwrites of one
//! timestamp merge). List elements get time-ordered ids, so that their order is the order of writing.

use crate::encoding::order;
use crate::encoding::row::{RowHead, Stamp};
use crate::env::timeuuid;
use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::codec;
use crate::model::life::{Deletion, Liveness};
use crate::model::row::Complex;
use crate::model::schema::Column;
use crate::model::types::CqlType;
use crate::model::value::Value;
use std::sync::Arc;

/// The life of what a statement writes, in the times of a batch's `stamp`.
pub(crate) fn life(head: &RowHead, stamp: Stamp) -> Liveness {
    let timestamp = head.timestamp.unwrap_or(stamp.timestamp);
    match head.ttl {
        0 => Liveness::new(timestamp),
        ttl => Liveness::expiring(timestamp, ttl, stamp.now.saturating_add(i64::from(ttl))),
    }
}

/// The cells that overwrite `column` with `arg` (null: with nothing).
pub(crate) fn overwrite(
    column: &Column,
    arg: &Arg<'_>,
    life: Liveness,
    timestamp: Option<i64>,
    stamp: Stamp,
) -> Result<Complex> {
    let deletion = match timestamp {
        // Nothing is older than the least timestamp; one less would be the sign for "the commit's time".
        Some(timestamp) if timestamp <= i64::MIN + 1 => None,
        Some(timestamp) => Some(Deletion::new(timestamp - 1, stamp.now)),
        None if stamp == Stamp::UNSET => Some(Stamp::BELOW_UNSET),
        None => Some(Deletion::new(stamp.timestamp.saturating_sub(1), stamp.now)),
    };
    let mut cells = match arg {
        Arg::Null => Vec::new(),
        Arg::Value(value) => elements(&column.ty, value, life)?,
        _ => return Err(Error::invalid(format!("a value of type {} is expected", column.ty))),
    };
    cells.sort_by(|a, b| a.0.cmp(&b.0));
    cells.dedup_by(|later, earlier| later.0 == earlier.0);
    Ok(Complex { column: column.id, deletion, cells })
}

fn elements(ty: &CqlType, value: &Value, life: Liveness) -> Result<Vec<(Clustering, Cell)>> {
    let live = |wire: Vec<u8>| Cell::live(life, Bytes::from(wire));
    match (ty, value) {
        (CqlType::List(element), Value::List(items)) => {
            let cell = |item: &Value| Ok((list_path()?, live(codec::to_bytes(item, element)?)));
            items.iter().map(cell).collect()
        }
        (CqlType::Set(element), Value::Set(items) | Value::List(items)) => {
            let cell =
                |item: &Value| Ok((path(&codec::to_bytes(item, element)?, element)?, live(Vec::new())));
            items.iter().map(cell).collect()
        }
        (CqlType::Map(key, element), Value::Map(items)) => {
            let cell = |(k, v): &(Value, Value)| {
                Ok((path(&codec::to_bytes(k, key)?, key)?, live(codec::to_bytes(v, element)?)))
            };
            items.iter().map(cell).collect()
        }
        (CqlType::Udt(udt), Value::Udt(fields)) => {
            let mut cells = Vec::new();
            for (name, value) in fields {
                let place = udt.fields.iter().position(|(field, _)| field == name);
                let place =
                    place.ok_or_else(|| Error::invalid(format!("type {} has no field {name}", udt.name)))?;
                let number = path(&(place as i16).to_be_bytes(), &CqlType::Smallint)?;
                if let Some(value) = value {
                    cells.push((number, live(codec::to_bytes(value, &udt.fields[place].1)?)));
                }
            }
            Ok(cells)
        }
        _ => Err(Error::invalid(format!("a value of type {} is no {ty}", value.kind()))),
    }
}

/// An element's path in byte-comparable form, from its wire bytes.
pub fn path(wire: &[u8], ty: &CqlType) -> Result<Clustering> {
    let mut bytes = Vec::new();
    order::encode_component(wire, ty, false, &mut bytes)?;
    let bytes = Bytes::from(bytes);
    if order::comes_back(wire, ty)? {
        return Ok(Clustering::new(bytes));
    }
    let mut raw = (wire.len() as u32).to_le_bytes().to_vec();
    raw.extend_from_slice(wire);
    Ok(Clustering::with_raw(bytes, Arc::from(raw)))
}

/// A path above all paths that this process made before.
pub fn list_path() -> Result<Clustering> {
    path(&timeuuid::next(), &CqlType::Timeuuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::life::NEVER;

    #[test]
    fn list_paths_grow() {
        let paths: Vec<_> = (0..1000).map(|_| list_path().unwrap()).collect();
        assert!(paths.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn an_overwrite_deletes_only_what_is_older_and_sorts_its_elements() {
        let ty = CqlType::Set(Box::new(CqlType::Int));
        let kind = crate::model::schema::ColumnKind::Regular;
        let column = Column { id: crate::model::cell::ColumnId(1), name: "s".into(), ty, kind };
        let value = Arg::Value(Value::List(vec![Value::Int(2), Value::Int(-1), Value::Int(2)]));
        let stamp = Stamp { timestamp: 10, now: 0 };
        let complex = overwrite(&column, &value, Liveness::new(10), None, stamp).unwrap();
        assert_eq!(complex.deletion, Some(Deletion::new(9, 0)));
        assert_eq!(complex.cells.len(), 2);
        assert!(complex.cells[0].0 < complex.cells[1].0);
        let empty = overwrite(&column, &Arg::Null, Liveness::new(10), Some(7), stamp).unwrap();
        assert_eq!((empty.deletion, empty.cells.len()), (Some(Deletion::new(6, 0)), 0));
        assert_eq!(complex.cells[0].1.local, NEVER);
        let least = i64::MIN + 1;
        let oldest = overwrite(&column, &value, Liveness::new(least), Some(least), Stamp::UNSET).unwrap();
        assert_eq!((oldest.deletion, oldest.cells.len()), (None, 2), "nothing is older");
    }
}
