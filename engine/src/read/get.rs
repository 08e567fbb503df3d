//! Values out of batches, as the types that a program works with.
//!
//! [`FromCell`] is implemented for the Rust types that fit a CQL type; [`Row::get`](crate::read::batch::Row::get) calls it. The
//! conversion is strict: an `int` is read as `i32` or `i64`, never silently cut or reinterpreted.
//!
//! # Not here
//! Numbers of `varint` and `decimal` as machine numbers, tuples as Rust tuples: read a [`Value`].

use crate::encoding::path;
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::Clustering;
use crate::model::codec;
use crate::model::time::{Date, Time, Timestamp};
use crate::model::types::CqlType;
use crate::model::uuid::{Timeuuid, Uuid};
use crate::model::value::Value;
use crate::read::column::{CellRef, Column};

/// What can be made of a value of a batch.
pub trait FromCell<'a>: Sized {
    /// Converts `cell`, a value of type `ty`.
    ///
    /// # Errors
    /// `Invalid` if the column's type is another, or the value is null and `Self` is no `Option`.
    fn from_cell(cell: CellRef<'a>, ty: &CqlType) -> Result<Self>;

    /// The value of row `row` of a column where it stands as a number of just this type, without a look at anything else. `None` says
    /// nothing: then [`FromCell::from_cell`] is asked.
    #[inline]
    fn at_once(_column: &'a Column, _row: usize) -> Option<Self> {
        None
    }
}

#[cold]
fn mismatch(cell: CellRef<'_>, ty: &CqlType, wanted: &str) -> Error {
    Error::invalid(match cell {
        CellRef::Null => format!("a null of type {ty} cannot be read as {wanted}; read an Option"),
        CellRef::Bytes(&[]) => {
            format!("an empty value of type {ty} cannot be read as {wanted}; read a Value")
        }
        _ => format!("a value of type {ty} cannot be read as {wanted}"),
    })
}

macro_rules! from_int {
    ($target:ty, $name:literal, $types:pat, $make:expr) => {
        impl FromCell<'_> for $target {
            #[inline]
            fn from_cell(cell: CellRef<'_>, ty: &CqlType) -> Result<Self> {
                match (cell, ty.unfrozen()) {
                    (CellRef::Int(value), $types) => Ok($make(value)),
                    _ => Err(mismatch(cell, ty, $name)),
                }
            }

            #[inline]
            fn at_once(column: &Column, row: usize) -> Option<Self> {
                matches!(column.ty(), $types).then(|| column.int(row).map($make))?
            }
        }
    };
}

from_int!(i8, "i8", CqlType::Tinyint, |value| value as i8);
from_int!(i16, "i16", CqlType::Tinyint | CqlType::Smallint, |value| value as i16);
from_int!(i32, "i32", CqlType::Tinyint | CqlType::Smallint | CqlType::Int, |value| value as i32);
from_int!(
    i64,
    "i64",
    CqlType::Tinyint | CqlType::Smallint | CqlType::Int | CqlType::Bigint | CqlType::Counter,
    |value| value
);
from_int!(bool, "bool", CqlType::Boolean, |value| value != 0);
from_int!(Timestamp, "a timestamp", CqlType::Timestamp, Timestamp);
from_int!(Time, "a time", CqlType::Time, Time);
from_int!(Date, "a date", CqlType::Date, |value| Date(value as u32));

impl FromCell<'_> for f64 {
    #[inline]
    fn from_cell(cell: CellRef<'_>, ty: &CqlType) -> Result<Self> {
        match cell {
            CellRef::Double(value) => Ok(value),
            CellRef::Float(value) => Ok(value.into()),
            _ => Err(mismatch(cell, ty, "f64")),
        }
    }

    #[inline]
    fn at_once(column: &Column, row: usize) -> Option<Self> {
        column.double(row)
    }
}

impl FromCell<'_> for f32 {
    #[inline]
    fn from_cell(cell: CellRef<'_>, ty: &CqlType) -> Result<Self> {
        match cell {
            CellRef::Float(value) => Ok(value),
            _ => Err(mismatch(cell, ty, "f32")),
        }
    }

    #[inline]
    fn at_once(column: &Column, row: usize) -> Option<Self> {
        column.float(row)
    }
}

impl<'a> FromCell<'a> for &'a str {
    #[inline]
    fn from_cell(cell: CellRef<'a>, ty: &CqlType) -> Result<Self> {
        match (cell, ty.unfrozen()) {
            (CellRef::Bytes(bytes), CqlType::Text | CqlType::Ascii) => {
                std::str::from_utf8(bytes).map_err(|_| Error::malformed("a stored text is not UTF-8"))
            }
            _ => Err(mismatch(cell, ty, "text")),
        }
    }
}

impl<'a> FromCell<'a> for String {
    fn from_cell(cell: CellRef<'a>, ty: &CqlType) -> Result<Self> {
        <&str>::from_cell(cell, ty).map(str::to_owned)
    }
}

impl<'a> FromCell<'a> for &'a [u8] {
    #[inline]
    fn from_cell(cell: CellRef<'a>, ty: &CqlType) -> Result<Self> {
        match (cell, ty.unfrozen()) {
            (CellRef::Bytes(bytes), CqlType::Blob | CqlType::Text | CqlType::Ascii) => Ok(bytes),
            _ => Err(mismatch(cell, ty, "bytes")),
        }
    }
}

impl<'a> FromCell<'a> for Vec<u8> {
    fn from_cell(cell: CellRef<'a>, ty: &CqlType) -> Result<Self> {
        <&[u8]>::from_cell(cell, ty).map(<[u8]>::to_vec)
    }
}

impl FromCell<'_> for Uuid {
    #[inline]
    fn from_cell(cell: CellRef<'_>, ty: &CqlType) -> Result<Self> {
        match (cell, ty.unfrozen()) {
            (CellRef::Bytes(bytes), CqlType::Uuid | CqlType::Timeuuid) => {
                bytes.try_into().map(Self).map_err(|_| mismatch(cell, ty, "a uuid"))
            }
            _ => Err(mismatch(cell, ty, "a uuid")),
        }
    }
}

impl FromCell<'_> for Timeuuid {
    fn from_cell(cell: CellRef<'_>, ty: &CqlType) -> Result<Self> {
        match (cell, ty.unfrozen()) {
            (CellRef::Bytes(bytes), CqlType::Timeuuid) => match bytes.try_into() {
                Ok(bytes) => Self::from_bytes(bytes),
                Err(_) => Err(mismatch(cell, ty, "a timeuuid")),
            },
            _ => Err(mismatch(cell, ty, "a timeuuid")),
        }
    }
}

impl<'a, T: FromCell<'a>> FromCell<'a> for Option<T> {
    #[inline]
    fn from_cell(cell: CellRef<'a>, ty: &CqlType) -> Result<Self> {
        match cell {
            CellRef::Null => Ok(None),
            _ => T::from_cell(cell, ty).map(Some),
        }
    }

    #[inline]
    fn at_once(column: &'a Column, row: usize) -> Option<Self> {
        T::at_once(column, row).map(Some)
    }
}

impl FromCell<'_> for Value {
    fn from_cell(cell: CellRef<'_>, ty: &CqlType) -> Result<Self> {
        value_of(cell, ty)?.ok_or_else(|| mismatch(cell, ty, "a value"))
    }
}

/// A value of any type, `None` for null.
///
/// # Errors
/// `Corrupt` or `Invalid` if stored bytes are no value of the type.
pub(crate) fn value_of(cell: CellRef<'_>, ty: &CqlType) -> Result<Option<Value>> {
    Ok(Some(match (cell, ty.unfrozen()) {
        (CellRef::Null, _) => return Ok(None),
        (CellRef::Int(value), ty) => match ty {
            CqlType::Tinyint => Value::Tinyint(value as i8),
            CqlType::Smallint => Value::Smallint(value as i16),
            CqlType::Int => Value::Int(value as i32),
            CqlType::Counter => Value::Counter(value),
            CqlType::Boolean => Value::Boolean(value != 0),
            CqlType::Date => Value::Date(Date(value as u32)),
            CqlType::Time => Value::Time(Time(value)),
            CqlType::Timestamp => Value::Timestamp(Timestamp(value)),
            _ => Value::Bigint(value),
        },
        (CellRef::Double(value), _) => Value::Double(value),
        (CellRef::Float(value), _) => Value::Float(value),
        (CellRef::Bytes(bytes), ty) => codec::decode(bytes, ty)?,
        (CellRef::Complex(elements), ty) => collection(elements, ty)?,
    }))
}

/// The bytes of a value in wire form, `None` for null; collections and user types as frozen ones.
///
/// # Errors
/// As [`value_of`].
pub(crate) fn wire_of(cell: CellRef<'_>, ty: &CqlType) -> Result<Option<Bytes>> {
    Ok(Some(match cell {
        CellRef::Null => return Ok(None),
        CellRef::Bytes(bytes) => Bytes::new(bytes),
        CellRef::Int(value) => match crate::sstable::layout::LaneKind::of(ty) {
            crate::sstable::layout::LaneKind::Int(width) => width.wire(value),
            _ => Bytes::new(&value.to_be_bytes()),
        },
        CellRef::Double(value) => Bytes::new(&value.to_be_bytes()),
        CellRef::Float(value) => Bytes::new(&value.to_be_bytes()),
        CellRef::Complex(elements) => collection_wire(elements, ty)?,
    }))
}

/// The wire form of a non-frozen collection or user type out of its elements, which are taken for live.
///
/// # Errors
/// `Corrupt` if they are no elements of type `ty`.
pub fn collection_wire(elements: &[(Clustering, Cell)], ty: &CqlType) -> Result<Bytes> {
    Ok(Bytes::from(codec::to_bytes(&collection(elements, ty)?, &ty.clone().freeze())?))
}

/// A collection or user type out of its live elements.
fn collection(elements: &[(Clustering, Cell)], ty: &CqlType) -> Result<Value> {
    let part = |cell: &Cell, ty: &CqlType| codec::decode(cell.value.as_deref().unwrap_or_default(), ty);
    Ok(match ty {
        CqlType::List(element) => {
            Value::List(elements.iter().map(|(_, cell)| part(cell, element)).collect::<Result<_>>()?)
        }
        CqlType::Set(element) => {
            let keys = elements.iter().map(|(path, _)| codec::decode(&path::wire(path, element)?, element));
            Value::Set(keys.collect::<Result<_>>()?)
        }
        CqlType::Map(key, value) => {
            let entry = |(path, cell): &(Clustering, Cell)| {
                Ok((codec::decode(&path::wire(path, key)?, key)?, part(cell, value)?))
            };
            Value::Map(elements.iter().map(entry).collect::<Result<_>>()?)
        }
        CqlType::Udt(udt) => {
            let mut fields: Vec<_> = udt.fields.iter().map(|(name, _)| (name.clone(), None)).collect();
            for (path, cell) in elements {
                let number = path::wire(path, &CqlType::Smallint)?;
                let number = <[u8; 2]>::try_from(&number[..]).map(|n| usize::from(u16::from_be_bytes(n)));
                // A field that the type of this schema has not yet is not shown.
                if let Some((i, (_, ty))) = number.ok().and_then(|n| Some((n, udt.fields.get(n)?))) {
                    fields[i].1 = Some(part(cell, ty)?);
                }
            }
            Value::Udt(fields)
        }
        other => {
            return Err(Error::malformed(format!("elements of a collection in a column of type {other}")));
        }
    })
}
