//! Rust values on their way into bind markers.
//!
//! [`ToCql`] is one value, [`Values`] are those of a statement: a tuple, a slice or array (`row!` makes one of mixed types), or pairs of name and
//! value for named markers. `None` is an unset value, which leaves a column alone; [`Null`] deletes it.

use crate::error::{CqlError, Result};
use crate::story::things;
use crate::value::{Bound, ColumnSpec};
use skep_engine::model::bytes::Bytes;
use skep_engine::{
    Arg, CqlDuration, CqlType, Date, Decimal, Null, Time, Timestamp, Timeuuid, Uuid, Value, Varint,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::time::SystemTime;

/// A value that can be bound.
pub trait ToCql {
    /// Its bytes as a value of `ty`.
    ///
    /// # Errors
    /// `Invalid` if it is no value of this type.
    fn to_cql(&self, ty: &CqlType) -> Result<Bound>;
}

/// The values of a statement's bind markers.
pub trait Values {
    /// One for each of `markers`. Where values have names, a marker without one is unset, as Cassandra's drivers do it since version 4 of the
    /// protocol.
    ///
    /// # Errors
    /// `Invalid` for a wrong number, an unknown name, or a value that is none of its marker's type.
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>>;
}

/// One value for one marker, with the marker's name in the error.
fn bind_one(value: &dyn ToCql, marker: &ColumnSpec) -> Result<Bound> {
    value.to_cql(&marker.ty).map_err(|error| {
        let message = format!("Invalid value for {}: {}", marker.name, error.message());
        CqlError::new(error.code(), message)
    })
}

/// What Cassandra says to a wrong number of values.
pub(crate) fn wrong_number(markers: usize, values: usize) -> CqlError {
    CqlError::invalid("Invalid amount of bind variables")
        .hint(format!("the statement has {}, {values} given", things(markers as u64, "bind marker")))
}

fn bind_all(values: &[&dyn ToCql], markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
    if values.len() != markers.len() {
        return Err(wrong_number(markers.len(), values.len()));
    }
    values.iter().zip(markers).map(|(value, marker)| bind_one(*value, marker)).collect()
}

fn bind_named<'v>(
    values: impl Iterator<Item = (&'v str, &'v dyn ToCql)>,
    markers: &[ColumnSpec],
) -> Result<Vec<Bound>> {
    let mut bound = vec![Bound::Unset; markers.len()];
    for (name, value) in values {
        let mut met = false;
        for (marker, place) in markers.iter().zip(&mut bound).filter(|(marker, _)| marker.name == name) {
            *place = bind_one(value, marker)?;
            met = true;
        }
        if !met {
            return Err(CqlError::invalid(format!("no bind marker is named {name}")));
        }
    }
    Ok(bound)
}

impl Values for () {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        bind_all(&[], markers)
    }
}

impl<T: ToCql> Values for [T] {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        let values: Vec<&dyn ToCql> = self.iter().map(|value| value as &dyn ToCql).collect();
        bind_all(&values, markers)
    }
}

impl<T: ToCql, const N: usize> Values for [T; N] {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        self.as_slice().bind(markers)
    }
}

impl<T: ToCql> Values for Vec<T> {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        self.as_slice().bind(markers)
    }
}

impl<V: Values + ?Sized> Values for &V {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        (**self).bind(markers)
    }
}

impl<T: ToCql> Values for HashMap<&str, T> {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        bind_named(self.iter().map(|(name, value)| (*name, value as &dyn ToCql)), markers)
    }
}

impl<T: ToCql> Values for BTreeMap<&str, T> {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        bind_named(self.iter().map(|(name, value)| (*name, value as &dyn ToCql)), markers)
    }
}

/// Named values of mixed types: `Named(&[("id", &7), ("name", &"Maja")])`.
#[derive(Clone, Copy)]
pub struct Named<'a>(pub &'a [(&'a str, &'a dyn ToCql)]);

impl std::fmt::Debug for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Values for Named<'_> {
    fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
        bind_named(self.0.iter().copied(), markers)
    }
}

macro_rules! tuples {
    ($($name:ident $place:tt),+) => {
        impl<$($name: ToCql),+> Values for ($($name,)+) {
            fn bind(&self, markers: &[ColumnSpec]) -> Result<Vec<Bound>> {
                bind_all(&[$(&self.$place),+], markers)
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);

impl ToCql for Arg<'_> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        let value = |bytes: &[u8]| Ok(Bound::Value(Bytes::new(bytes)));
        match (self, ty) {
            (Arg::Unset, _) => Ok(Bound::Unset),
            (Arg::Null, _) => Ok(Bound::Null),
            // The usual ones go without the detour over a buffer.
            (Arg::Double(number), CqlType::Double) => value(&number.to_be_bytes()),
            (Arg::Timestamp(time), CqlType::Timestamp) => value(&time.as_millis().to_be_bytes()),
            (Arg::Int(number), CqlType::Bigint | CqlType::Counter) => value(&number.to_be_bytes()),
            (Arg::Int(number), CqlType::Int) if i32::try_from(*number).is_ok() => {
                value(&(*number as i32).to_be_bytes())
            }
            (Arg::Text(text), CqlType::Text) => value(text.as_bytes()),
            (Arg::Date(date), CqlType::Date) => value(&date.0.to_be_bytes()),
            (Arg::Float(number), CqlType::Float) => value(&number.to_be_bytes()),
            _ => {
                let mut out = Vec::with_capacity(16);
                // A collection is bound as one value, whatever the column makes of it.
                match ty.is_multicell() {
                    true => self.put_wire(&ty.clone().freeze(), &mut out)?,
                    false => self.put_wire(ty, &mut out)?,
                }
                Ok(Bound::Value(Bytes::new(&out)))
            }
        }
    }
}

impl ToCql for Bound {
    fn to_cql(&self, _: &CqlType) -> Result<Bound> {
        Ok(self.clone())
    }
}

macro_rules! by_arg {
    ($($ty:ty),*) => {$(
        impl ToCql for $ty {
            fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
                Arg::from(*self).to_cql(ty)
            }
        }
    )*};
}

by_arg!(bool, i8, i16, i32, i64, u16, u32, f32, f64, Null, Timestamp, Date, Time, Uuid, Timeuuid, IpAddr);

macro_rules! by_clone {
    ($($ty:ty),*) => {$(
        impl ToCql for $ty {
            fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
                Arg::from(self.clone()).to_cql(ty)
            }
        }
    )*};
}

by_clone!(CqlDuration, Decimal, Varint, Value);

impl ToCql for SystemTime {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        Timestamp::from(*self).to_cql(ty)
    }
}

impl ToCql for str {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        Arg::from(self).to_cql(ty)
    }
}

impl ToCql for String {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        self.as_str().to_cql(ty)
    }
}

impl ToCql for [u8] {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        Arg::from(self).to_cql(ty)
    }
}

impl ToCql for Vec<u8> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        self.as_slice().to_cql(ty)
    }
}

impl<T: ToCql + ?Sized> ToCql for &T {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        (**self).to_cql(ty)
    }
}

impl<T: ToCql> ToCql for Option<T> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        self.as_ref().map_or(Ok(Bound::Unset), |value| value.to_cql(ty))
    }
}

/// A collection's elements, counted and each with its length.
fn put_elements<'t>(
    count: usize,
    parts: impl Iterator<Item = (&'t dyn ToCql, &'t CqlType)>,
) -> Result<Bound> {
    let mut out = length(count)?.to_vec();
    for (part, ty) in parts {
        match part.to_cql(ty)? {
            Bound::Value(bytes) => {
                out.extend_from_slice(&length(bytes.len())?);
                out.extend_from_slice(&bytes);
            }
            Bound::Null | Bound::Unset => {
                return Err(CqlError::invalid("null is not supported inside collections"));
            }
        }
    }
    Ok(Bound::Value(Bytes::new(&out)))
}

fn length(length: usize) -> Result<[u8; 4]> {
    let length = i32::try_from(length).map_err(|_| CqlError::invalid("a value is longer than 2 GiB"))?;
    Ok(length.to_be_bytes())
}

fn refused(what: &str, ty: &CqlType) -> CqlError {
    CqlError::invalid(format!("{what} is no value of type {ty}"))
}

/// A list, set or vector.
fn put_sequence<'t>(
    count: usize,
    values: impl Iterator<Item = &'t dyn ToCql>,
    ty: &CqlType,
) -> Result<Bound> {
    match ty.unfrozen() {
        CqlType::List(element) | CqlType::Set(element) => {
            put_elements(count, values.map(|value| (value, &**element)))
        }
        CqlType::Vector(element, dimension)
            if u32::try_from(count).is_ok_and(|count| count == *dimension) =>
        {
            let mut out = Vec::new();
            for value in values {
                let Bound::Value(bytes) = value.to_cql(element)? else {
                    return Err(CqlError::invalid("null is not supported inside vectors"));
                };
                if element.width_in_vector().is_none() {
                    return Err(refused("a sequence", ty).hint("bind a Value for vectors of such elements"));
                }
                out.extend_from_slice(&bytes);
            }
            Ok(Bound::Value(Bytes::new(&out)))
        }
        CqlType::Vector(..) => Err(refused(&format!("a sequence of {count} elements"), ty)),
        _ => Err(refused("a sequence", ty)),
    }
}

impl<T: ToCql> ToCql for Vec<T> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        self.as_slice().to_cql(ty)
    }
}

impl<T: ToCql> ToCql for [T] {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        put_sequence(self.len(), self.iter().map(|value| value as &dyn ToCql), ty)
    }
}

impl<T: ToCql, const N: usize> ToCql for [T; N] {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        self.as_slice().to_cql(ty)
    }
}

/// A set: sorted and without duplicates whatever the order of iteration, for that is its only serialisation.
fn put_set<'t>(count: usize, values: impl Iterator<Item = &'t dyn ToCql>, ty: &CqlType) -> Result<Bound> {
    match ty.unfrozen() {
        CqlType::Set(_) => normal(put_sequence(count, values, ty)?, ty),
        _ => Err(refused("a set", ty)),
    }
}

fn put_map<'t>(
    count: usize,
    entries: impl Iterator<Item = (&'t dyn ToCql, &'t dyn ToCql)>,
    ty: &CqlType,
) -> Result<Bound> {
    let CqlType::Map(key, value) = ty.unfrozen() else { return Err(refused("a map", ty)) };
    let parts = entries.flat_map(|(k, v)| [(k, &**key), (v, &**value)]);
    normal(put_elements(count, parts)?, ty)
}

fn normal(bound: Bound, ty: &CqlType) -> Result<Bound> {
    let Bound::Value(bytes) = bound else { return Ok(bound) };
    let frozen = ty.clone().freeze();
    Ok(match skep_engine::model::codec::normalize(&bytes, &frozen)? {
        Some(sorted) => Bound::Value(Bytes::from(sorted)),
        None => Bound::Value(bytes),
    })
}

impl<T: ToCql, S> ToCql for HashSet<T, S> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        put_set(self.len(), self.iter().map(|value| value as &dyn ToCql), ty)
    }
}

impl<T: ToCql> ToCql for BTreeSet<T> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        put_set(self.len(), self.iter().map(|value| value as &dyn ToCql), ty)
    }
}

impl<K: ToCql, V: ToCql, S> ToCql for HashMap<K, V, S> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        put_map(self.len(), self.iter().map(|(k, v)| (k as &dyn ToCql, v as &dyn ToCql)), ty)
    }
}

impl<K: ToCql, V: ToCql> ToCql for BTreeMap<K, V> {
    fn to_cql(&self, ty: &CqlType) -> Result<Bound> {
        put_map(self.len(), self.iter().map(|(k, v)| (k as &dyn ToCql, v as &dyn ToCql)), ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_engine::row;

    fn markers(types: &[(&str, CqlType)]) -> Vec<ColumnSpec> {
        let spec = |(name, ty): &(&str, CqlType)| ColumnSpec {
            keyspace: "ks".to_owned(),
            table: "t".to_owned(),
            name: (*name).to_owned(),
            ty: ty.clone(),
        };
        types.iter().map(spec).collect()
    }

    fn value(bytes: &[u8]) -> Bound {
        Bound::Value(Bytes::new(bytes))
    }

    #[test]
    fn tuples_slices_and_names_bind_the_same() {
        let markers = markers(&[("id", CqlType::Int), ("name", CqlType::Text)]);
        let want = vec![value(&[0, 0, 0, 7]), value(b"Maja")];
        assert_eq!((7, "Maja").bind(&markers).unwrap(), want);
        assert_eq!(row![7, "Maja"].bind(&markers).unwrap(), want);
        assert_eq!(Named(&[("name", &"Maja"), ("id", &7)]).bind(&markers).unwrap(), want);
    }

    #[test]
    fn none_is_unset_and_null_is_null() {
        let markers = markers(&[("a", CqlType::Int), ("b", CqlType::Int)]);
        assert_eq!((None::<i32>, Null).bind(&markers).unwrap(), [Bound::Unset, Bound::Null]);
        assert_eq!(Named(&[("b", &1)]).bind(&markers).unwrap()[0], Bound::Unset);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let markers = markers(&[("id", CqlType::Int)]);
        assert_eq!(
            ("x",).bind(&markers).unwrap_err().message(),
            "Invalid value for id: text 'x' is no value of type int"
        );
        assert_eq!((1, 2).bind(&markers).unwrap_err().message(), "Invalid amount of bind variables");
        assert!(Named(&[("nosuch", &1)]).bind(&markers).is_err());
    }

    #[test]
    fn sets_are_sorted_whatever_the_order_of_iteration() {
        let ty = CqlType::Set(Box::new(CqlType::Int));
        let set: HashSet<i32> = [3, -1, 2].into();
        let want =
            [0, 0, 0, 3, 0, 0, 0, 4, 255, 255, 255, 255, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 3];
        assert_eq!(set.to_cql(&ty).unwrap(), value(&want));
        let vector = CqlType::Vector(Box::new(CqlType::Float), 2);
        assert_eq!([1.0f32, 0.0].to_cql(&vector).unwrap(), value(&[63, 128, 0, 0, 0, 0, 0, 0]));
        assert!([1.0f32].to_cql(&vector).is_err());
    }
}
