//! Rows on their way out, and their values as Rust types.
//!
//! A [`Row`] holds its values in wire form, or stands in a batch of the engine; [`FromCql`] makes one of them a Rust value, [`FromRow`] a whole
//! row a tuple. The conversion is strict: a number is never cut, a null is only read as an `Option`.

use crate::error::{CqlError, Result};
use crate::value::{ColumnSpec, Wire};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::read::column::CellRef;
use skep_engine::read::get::FromCell;
use skep_engine::{
    Batch, CqlDuration, CqlType, Date, Decimal, Time, Timestamp, Timeuuid, Uuid, Value, Varint,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

/// A row of a result.
#[derive(Clone, Debug)]
pub struct Row(Values);

#[derive(Clone, Debug)]
enum Values {
    /// In wire form.
    Wires { columns: Arc<[ColumnSpec]>, values: Vec<Wire> },
    /// In a batch, by number. What all rows of the batch share is counted once for each, so that a row costs little.
    Batch { shared: Arc<Shared>, index: usize },
}

/// What the rows of a batch have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) columns: Arc<[ColumnSpec]>,
    pub(crate) batch: Arc<Batch>,
    /// The batch's column for each of the result.
    pub(crate) places: Arc<[usize]>,
}

impl Row {
    /// A row of these columns.
    #[must_use]
    pub fn new(columns: Arc<[ColumnSpec]>, values: Vec<Wire>) -> Self {
        Self(Values::Wires { columns, values })
    }

    /// Row `index` of a batch.
    #[inline]
    pub(crate) fn of_batch(shared: &Arc<Shared>, index: usize) -> Self {
        Self(Values::Batch { shared: Arc::clone(shared), index })
    }

    /// Its columns.
    #[must_use]
    #[inline]
    pub fn columns(&self) -> &[ColumnSpec] {
        match &self.0 {
            Values::Wires { columns, .. } => columns,
            Values::Batch { shared, .. } => &shared.columns,
        }
    }

    /// The wire form of a value; null too if there is no such column.
    ///
    /// # Errors
    /// Stored bytes that are no value of the column's type.
    pub fn wire(&self, place: usize) -> Result<Wire> {
        match &self.0 {
            Values::Wires { values, .. } => Ok(values.get(place).cloned().flatten()),
            Values::Batch { shared, index } => match shared.places.get(place) {
                Some(place) => Ok(shared.batch.wire(*place, *index)?),
                None => Ok(None),
            },
        }
    }

    /// The value of a column, by name or number.
    ///
    /// # Errors
    /// `Invalid` without such a column, or if its value is none of the wanted type.
    pub fn get<T: FromCql>(&self, column: impl ColumnRef) -> Result<T> {
        let place = column.place(self.columns())?;
        self.at(place)
    }

    /// The value of a column as a [`Value`], `None` for null.
    ///
    /// # Errors
    /// `Invalid` without such a column.
    pub fn value(&self, column: impl ColumnRef) -> Result<Option<Value>> {
        self.get(column)
    }

    /// The row as a tuple, or as whatever implements [`FromRow`].
    ///
    /// # Errors
    /// `Invalid` if number or types of the columns are others.
    #[inline]
    pub fn into<T: FromRow>(self) -> Result<T> {
        T::from_row(&self)
    }

    #[inline]
    fn at<T: FromCql>(&self, place: usize) -> Result<T> {
        let Some(column) = self.columns().get(place) else { return Err(no_column(place)) };
        let value = match &self.0 {
            Values::Wires { values, .. } => {
                T::from_cql(values.get(place).and_then(Option::as_deref), &column.ty)
            }
            Values::Batch { shared, index } => match shared.places.get(place) {
                Some(place) => T::from_batch(&shared.batch, *place, *index, &column.ty),
                None => T::from_cql(None, &column.ty),
            },
        };
        value.map_err(|error| in_column(&error, column))
    }
}

#[cold]
fn other_number(have: usize, wanted: usize) -> CqlError {
    CqlError::invalid(format!("a row of {have} columns cannot be read as {wanted} values"))
}

#[cold]
fn no_column(place: usize) -> CqlError {
    CqlError::invalid(format!("the result has no column number {place}"))
}

#[cold]
fn in_column(error: &CqlError, column: &ColumnSpec) -> CqlError {
    CqlError::new(error.code(), format!("column {}: {}", column.name, error.message()))
}

/// A column by name or by number (from 0).
pub trait ColumnRef {
    /// Its number.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    fn place(&self, columns: &[ColumnSpec]) -> Result<usize>;
}

impl ColumnRef for usize {
    fn place(&self, _: &[ColumnSpec]) -> Result<usize> {
        Ok(*self)
    }
}

impl ColumnRef for &str {
    fn place(&self, columns: &[ColumnSpec]) -> Result<usize> {
        let place = columns.iter().position(|column| column.name == *self);
        place.ok_or_else(|| {
            let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            CqlError::invalid(format!("the result has no column {self}"))
                .hint(format!("there is {}", names.join(", ")))
        })
    }
}

/// What can be made of a value.
pub trait FromCql: Sized {
    /// Converts `wire`, a value of type `ty` or null.
    ///
    /// # Errors
    /// `Invalid` if the type is another, or the value is null and `Self` is no `Option`.
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self>;

    /// Converts a value of type `ty` that stands in a batch; by its wire form unless there is a shorter way.
    ///
    /// # Errors
    /// As [`FromCql::from_cql`].
    fn from_batch(batch: &Batch, column: usize, row: usize, ty: &CqlType) -> Result<Self> {
        Self::from_cql(batch.wire(column, row)?.as_deref(), ty)
    }
}

/// What can be made of a row.
pub trait FromRow: Sized {
    /// Converts it.
    ///
    /// # Errors
    /// `Invalid` if number or types of the columns are others.
    fn from_row(row: &Row) -> Result<Self>;
}

macro_rules! tuples {
    ($count:literal: $($name:ident $place:tt),+) => {
        impl<$($name: FromCql),+> FromRow for ($($name,)+) {
            #[inline]
            fn from_row(row: &Row) -> Result<Self> {
                if row.columns().len() != $count {
                    return Err(other_number(row.columns().len(), $count));
                }
                Ok(($(row.at::<$name>($place)?,)+))
            }
        }
    };
}

tuples!(1: A 0);
tuples!(2: A 0, B 1);
tuples!(3: A 0, B 1, C 2);
tuples!(4: A 0, B 1, C 2, D 3);
tuples!(5: A 0, B 1, C 2, D 3, E 4);
tuples!(6: A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
tuples!(13: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
tuples!(14: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
tuples!(15: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
tuples!(16: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);

#[cold]
fn mismatch(wire: Option<&[u8]>, ty: &CqlType, wanted: &str) -> CqlError {
    CqlError::invalid(match wire {
        None => format!("a null of type {ty} cannot be read as {wanted}; read an Option"),
        Some([]) => format!("an empty value of type {ty} cannot be read as {wanted}; read a Value"),
        Some(_) => format!("a value of type {ty} cannot be read as {wanted}"),
    })
}

/// Numbers of a fixed width, each from the types whose every value fits.
macro_rules! fixed {
    ($target:ty: $($types:pat => $read:expr),+) => {
        impl FromCql for $target {
            fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
                let wanted = || mismatch(wire, ty, stringify!($target));
                match (wire, ty.unfrozen()) {
                    $((Some(bytes), $types) => bytes.try_into().map($read).map_err(|_| wanted()),)+
                    _ => Err(wanted()),
                }
            }

            #[inline]
            fn from_batch(batch: &Batch, column: usize, row: usize, ty: &CqlType) -> Result<Self> {
                Ok(Self::from_cell(batch.cell(column, row), ty)?)
            }
        }
    };
}

fixed!(i8: CqlType::Tinyint => i8::from_be_bytes);
fixed!(i16: CqlType::Smallint => i16::from_be_bytes, CqlType::Tinyint => |b| i8::from_be_bytes(b).into());
fixed!(i32: CqlType::Int => i32::from_be_bytes, CqlType::Smallint => |b| i16::from_be_bytes(b).into(),
    CqlType::Tinyint => |b| i8::from_be_bytes(b).into());
fixed!(i64: CqlType::Bigint | CqlType::Counter => i64::from_be_bytes, CqlType::Int => |b| i32::from_be_bytes(b).into(),
    CqlType::Smallint => |b| i16::from_be_bytes(b).into(), CqlType::Tinyint => |b| i8::from_be_bytes(b).into());
fixed!(f32: CqlType::Float => f32::from_be_bytes);
fixed!(f64: CqlType::Double => f64::from_be_bytes, CqlType::Float => |b| f32::from_be_bytes(b).into());
fixed!(bool: CqlType::Boolean => |b: [u8; 1]| b[0] != 0);
fixed!(Timestamp: CqlType::Timestamp => |b| Timestamp(i64::from_be_bytes(b)));
fixed!(Date: CqlType::Date => |b| Date(u32::from_be_bytes(b)));
fixed!(Time: CqlType::Time => |b| Time(i64::from_be_bytes(b)));
fixed!(Uuid: CqlType::Uuid | CqlType::Timeuuid => Uuid);

/// Types that the engine's decoder makes.
macro_rules! decoded {
    ($($target:ty: $types:pat),+ $(,)?) => {$(
        impl FromCql for $target {
            fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
                match (wire, ty.unfrozen()) {
                    (Some(bytes), $types) => {
                        let value = codec::decode(bytes, ty)?;
                        Self::try_from(value).map_err(|_| mismatch(wire, ty, stringify!($target)))
                    }
                    _ => Err(mismatch(wire, ty, stringify!($target))),
                }
            }
        }
    )+};
}

decoded!(
    Timeuuid: CqlType::Timeuuid,
    IpAddr: CqlType::Inet,
    CqlDuration: CqlType::Duration,
    Decimal: CqlType::Decimal,
    Varint: CqlType::Varint,
);

impl FromCql for String {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        match (wire, ty.unfrozen()) {
            (Some(bytes), CqlType::Text | CqlType::Ascii) => {
                String::from_utf8(bytes.to_vec()).map_err(|_| mismatch(wire, ty, "text"))
            }
            _ => Err(mismatch(wire, ty, "text")),
        }
    }
    #[inline]
    fn from_batch(batch: &Batch, column: usize, row: usize, ty: &CqlType) -> Result<Self> {
        Ok(Self::from_cell(batch.cell(column, row), ty)?)
    }
}

impl FromCql for Vec<u8> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        match (wire, ty.unfrozen()) {
            (Some(bytes), CqlType::Blob | CqlType::Text | CqlType::Ascii) => Ok(bytes.to_vec()),
            _ => Err(mismatch(wire, ty, "bytes")),
        }
    }
    #[inline]
    fn from_batch(batch: &Batch, column: usize, row: usize, ty: &CqlType) -> Result<Self> {
        Ok(Self::from_cell(batch.cell(column, row), ty)?)
    }
}

/// The value's serialisation, whatever its type.
impl FromCql for Bytes {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        wire.map(Self::new).ok_or_else(|| mismatch(wire, ty, "bytes"))
    }
}

impl FromCql for Value {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        match wire {
            Some(bytes) => Ok(codec::decode(bytes, ty)?),
            None => Err(mismatch(wire, ty, "a value")),
        }
    }
}

impl<T: FromCql> FromCql for Option<T> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        wire.map(|_| T::from_cql(wire, ty)).transpose()
    }

    #[inline]
    fn from_batch(batch: &Batch, column: usize, row: usize, ty: &CqlType) -> Result<Self> {
        match batch.cell(column, row) {
            CellRef::Null => Ok(None),
            _ => T::from_batch(batch, column, row, ty).map(Some),
        }
    }
}

/// The elements of a list, set, map (keys and values in turn) or vector.
fn elements<'a>(wire: Option<&'a [u8]>, ty: &CqlType) -> Option<Vec<&'a [u8]>> {
    let mut rest = wire?;
    let per_element = match ty.unfrozen() {
        CqlType::Vector(element, _) => return Some(rest.chunks_exact(element.width_in_vector()?).collect()),
        CqlType::List(_) | CqlType::Set(_) => 1,
        CqlType::Map(..) => 2,
        _ => return None,
    };
    let count = usize::try_from(take_i32(&mut rest)?).ok()?.checked_mul(per_element)?;
    let mut found = Vec::with_capacity(count.min(rest.len() / 4));
    for _ in 0..count {
        let length = usize::try_from(take_i32(&mut rest)?).ok()?;
        let (element, after) = rest.split_at_checked(length)?;
        found.push(element);
        rest = after;
    }
    Some(found)
}

fn take_i32(rest: &mut &[u8]) -> Option<i32> {
    let (front, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(i32::from_be_bytes(*front))
}

fn sequence<T: FromCql, C: FromIterator<T>>(wire: Option<&[u8]>, ty: &CqlType, wanted: &str) -> Result<C> {
    match (elements(wire, ty), ty.unfrozen()) {
        (Some(elements), CqlType::List(of) | CqlType::Set(of) | CqlType::Vector(of, _)) => {
            elements.into_iter().map(|element| T::from_cql(Some(element), of)).collect()
        }
        _ => Err(mismatch(wire, ty, wanted)),
    }
}

fn entries<K: FromCql, V: FromCql, C: FromIterator<(K, V)>>(wire: Option<&[u8]>, ty: &CqlType) -> Result<C> {
    match (elements(wire, ty), ty.unfrozen()) {
        (Some(elements), CqlType::Map(key, value)) => elements
            .chunks_exact(2)
            .map(|pair| Ok((K::from_cql(Some(pair[0]), key)?, V::from_cql(Some(pair[1]), value)?)))
            .collect(),
        _ => Err(mismatch(wire, ty, "a map")),
    }
}

impl<T: FromCql> FromCql for Vec<T> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        sequence::<T, _>(wire, ty, "a sequence")
    }
}

impl<T: FromCql + Ord> FromCql for BTreeSet<T> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        sequence::<T, _>(wire, ty, "a set")
    }
}

impl<T: FromCql + Eq + Hash> FromCql for HashSet<T> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        sequence::<T, _>(wire, ty, "a set")
    }
}

impl<K: FromCql + Ord, V: FromCql> FromCql for BTreeMap<K, V> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        entries(wire, ty)
    }
}

impl<K: FromCql + Eq + Hash, V: FromCql> FromCql for HashMap<K, V> {
    fn from_cql(wire: Option<&[u8]>, ty: &CqlType) -> Result<Self> {
        entries(wire, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::values::ToCql;
    use crate::value::Bound;

    fn wire(value: impl ToCql, ty: &CqlType) -> Wire {
        match value.to_cql(ty).unwrap() {
            Bound::Value(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn row(values: Vec<(&str, CqlType, Wire)>) -> Row {
        let spec = |(name, ty, _): &(&str, CqlType, Wire)| ColumnSpec {
            keyspace: "ks".to_owned(),
            table: "t".to_owned(),
            name: (*name).to_owned(),
            ty: ty.clone(),
        };
        let columns: Vec<_> = values.iter().map(spec).collect();
        Row::new(columns.into(), values.into_iter().map(|(_, _, wire)| wire).collect())
    }

    #[test]
    fn a_row_becomes_a_tuple_if_it_fits() {
        let row = row(vec![
            ("ts", CqlType::Timestamp, wire(Timestamp(5), &CqlType::Timestamp)),
            ("t", CqlType::Double, wire(34.9, &CqlType::Double)),
            ("n", CqlType::Int, None),
        ]);
        assert_eq!(row.get::<f64>("t").unwrap(), 34.9);
        assert_eq!(
            row.get::<i64>("n").unwrap_err().message(),
            "column n: a null of type int cannot be read as i64; read an Option"
        );
        assert!(row.get::<f32>("t").is_err());
        assert!(row.get::<f64>("nosuch").is_err());
        assert!(row.clone().into::<(Timestamp, f64)>().is_err());
        let (ts, t, n): (Timestamp, f64, Option<i32>) = row.into().unwrap();
        assert_eq!((ts, t, n), (Timestamp(5), 34.9, None));
    }

    #[test]
    fn collections_come_back_as_they_went_in() {
        let ty =
            CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::List(Box::new(CqlType::Int)).freeze()));
        let map: BTreeMap<String, Vec<i32>> = [("b".to_owned(), vec![1, 2]), ("a".to_owned(), vec![])].into();
        let bytes = wire(&map, &ty);
        assert_eq!(BTreeMap::<String, Vec<i32>>::from_cql(bytes.as_deref(), &ty).unwrap(), map);
        assert!(Vec::<i32>::from_cql(bytes.as_deref(), &ty).is_err());
        assert!(
            Vec::<i32>::from_cql(Some(&[0, 0, 0, 9, 1]), &CqlType::List(Box::new(CqlType::Int))).is_err()
        );
    }
}
