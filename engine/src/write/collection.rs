//! Overwriting a non-frozen collection or user type with a whole value.
//!
//! Such a column is many cells. Overwriting it deletes what is older than the statement, by one microsecond less than the
//! statement's timestamp, and writes each element as a cell (Apache Cassandra's rule; hence two overwrites of one
//! timestamp merge). List elements get time-ordered ids, so that their order is the order of writing.

use crate::encoding::path;
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
use crate::write::times::Times;

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

/// The cells that overwrite `column` with a whole value in protocol bytes, `None` or an empty collection: with nothing.
///
/// # Errors
/// `Invalid` if the bytes are no value of the column's type, or that is not of many cells.
pub fn overwrite_wire(column: &Column, wire: Option<&[u8]>, times: Times) -> Result<Complex> {
    let arg = match wire {
        Some(wire) => Arg::Value(codec::decode(wire, column.ty.unfrozen())?),
        None => Arg::Null,
    };
    let mut complex = overwrite(column, &arg, times.liveness(), times.timestamp, Stamp::UNSET)?;
    complex.deletion = times.overwrite();
    Ok(complex)
}

fn elements(ty: &CqlType, value: &Value, life: Liveness) -> Result<Vec<(Clustering, Cell)>> {
    let live = |wire: Vec<u8>| Cell::live(life, Bytes::from(wire));
    match (ty, value) {
        (CqlType::List(element), Value::List(items)) => {
            let cell = |item: &Value| Ok((append_path()?, live(codec::to_bytes(item, element)?)));
            items.iter().map(cell).collect()
        }
        (CqlType::Set(element), Value::Set(items) | Value::List(items)) => {
            let cell =
                |item: &Value| Ok((path::of(&codec::to_bytes(item, element)?, element)?, live(Vec::new())));
            items.iter().map(cell).collect()
        }
        (CqlType::Map(key, element), Value::Map(items)) => {
            let cell = |(k, v): &(Value, Value)| {
                Ok((path::of(&codec::to_bytes(k, key)?, key)?, live(codec::to_bytes(v, element)?)))
            };
            items.iter().map(cell).collect()
        }
        (CqlType::Udt(udt), Value::Udt(fields)) => {
            let mut cells = Vec::new();
            for (name, value) in fields {
                let place = udt.fields.iter().position(|(field, _)| field == name);
                let place =
                    place.ok_or_else(|| Error::invalid(format!("type {} has no field {name}", udt.name)))?;
                let number = path::field(place)?;
                if let Some(value) = value {
                    cells.push((number, live(codec::to_bytes(value, &udt.fields[place].1)?)));
                }
            }
            Ok(cells)
        }
        _ => Err(Error::invalid(format!("a value of type {} is no {ty}", value.kind()))),
    }
}

/// A path above all paths that this process made before: of an element appended to a list.
///
/// # Errors
/// None that can happen.
pub fn append_path() -> Result<Clustering> {
    path::of(&timeuuid::next(), &CqlType::Timeuuid)
}

/// A path below all paths that this process made before, and below all of appended elements: of an element put before a list. Who
/// puts several before it begins with the last.
///
/// # Errors
/// None that can happen.
pub fn prepend_path() -> Result<Clustering> {
    path::of(&timeuuid::before_all(), &CqlType::Timeuuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::life::NEVER;

    #[test]
    fn list_paths_grow_at_both_ends() {
        let paths: Vec<_> = (0..1000).map(|_| append_path().unwrap()).collect();
        assert!(paths.windows(2).all(|pair| pair[0] < pair[1]));
        let before: Vec<_> = (0..1000).map(|_| prepend_path().unwrap()).collect();
        assert!(before.windows(2).all(|pair| pair[0] > pair[1]) && before[0] < paths[0]);
    }

    #[test]
    fn protocol_bytes_overwrite_as_values_do() {
        let ty = CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Int));
        let kind = crate::model::schema::ColumnKind::Regular;
        let column = Column { id: crate::model::cell::ColumnId(1), name: "m".into(), ty: ty.clone(), kind };
        let value = Value::Map(vec![
            (Value::Text("b".into()), Value::Int(1)),
            (Value::Text("a".into()), Value::Int(2)),
        ]);
        let wire = codec::to_bytes(&value, &ty).unwrap();
        let complex = overwrite_wire(&column, Some(&wire), Times::new(Some(10), 0)).unwrap();
        assert_eq!(complex.deletion.map(|deletion| deletion.timestamp), Some(9));
        let keys: Vec<_> =
            complex.cells.iter().map(|(at, _)| path::wire(at, &CqlType::Text).unwrap()).collect();
        assert_eq!(keys, [Bytes::new(b"a"), Bytes::new(b"b")]);
        let unset = overwrite_wire(&column, None, Times::new(None, 0)).unwrap();
        assert_eq!((unset.deletion, unset.cells.len()), (Some(Stamp::BELOW_UNSET), 0));
        assert!(overwrite_wire(&column, Some(b"x"), Times::new(None, 0)).is_err());
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
