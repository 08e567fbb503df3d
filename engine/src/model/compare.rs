//! The order of serialised values of one type, as Cassandra's comparators have it.
//!
//! For what is compared rarely or not kept: filters, aggregates, conditions, the elements of a set. Keys that are compared all
//! the time are turned into bytes once (`encoding::order`), whose plain order is the same; tests hold the two together.
//!
//! # Not here
//! Checks: the bytes have been validated. Bytes that have not are given some order, without a panic.

use std::cmp::Ordering;

use crate::model::numeric::Decimal;
use crate::model::types::CqlType;
use crate::model::wire;

/// Compares two values of type `ty`. An empty value comes before all others, a null field before an empty one.
#[must_use]
pub fn compare(left: &[u8], right: &[u8], ty: &CqlType) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (false, false) => {}
        (left_empty, right_empty) => return right_empty.cmp(&left_empty),
    }
    match ty {
        CqlType::Frozen(inner) => compare(left, right, inner),
        CqlType::Bigint | CqlType::Counter | CqlType::Timestamp => by(left, right, i64::from_be_bytes),
        CqlType::Int => by(left, right, i32::from_be_bytes),
        CqlType::Smallint => by(left, right, i16::from_be_bytes),
        CqlType::Tinyint => by(left, right, i8::from_be_bytes),
        CqlType::Boolean => (left != [0]).cmp(&(right != [0])),
        CqlType::Double => by(left, right, |bytes| Java(f64::from_be_bytes(bytes))),
        CqlType::Float => by(left, right, |bytes| Java(f32::from_be_bytes(bytes).into())),
        CqlType::Varint => compare_varint(left, right),
        CqlType::Decimal => match (Decimal::from_wire(left), Decimal::from_wire(right)) {
            (Some(left), Some(right)) => left.compare(&right),
            _ => left.cmp(right),
        },
        CqlType::Timeuuid => {
            by(left, right, |bytes| (time_of_uuid(&bytes), rest_of_uuid(&bytes).map(u8::cast_signed)))
        }
        CqlType::Uuid => by(left, right, |bytes| {
            let version = bytes[6] >> 4;
            (version, if version == 1 { time_of_uuid(&bytes) } else { 0 }, bytes)
        }),
        CqlType::List(inner) | CqlType::Set(inner) => compare_elements(left, right, inner, inner),
        CqlType::Map(key, value) => compare_elements(left, right, key, value),
        CqlType::Tuple(types) => compare_fields(left, right, types.iter()),
        CqlType::Udt(udt) => compare_fields(left, right, udt.fields.iter().map(|(_, ty)| ty)),
        CqlType::Vector(inner, _) => compare_vectors(left, right, inner),
        CqlType::Ascii
        | CqlType::Text
        | CqlType::Blob
        | CqlType::Date
        | CqlType::Time
        | CqlType::Inet
        | CqlType::Duration => left.cmp(right),
    }
}

fn by<const N: usize, T: Ord>(left: &[u8], right: &[u8], value: impl Fn([u8; N]) -> T) -> Ordering {
    match (left.try_into(), right.try_into()) {
        (Ok(left), Ok(right)) => value(left).cmp(&value(right)),
        _ => left.cmp(right),
    }
}

/// A float in the order of Java's `Double.compare`: -0.0 before 0.0, every NaN equal and last.
#[derive(PartialEq)]
struct Java(f64);

impl Eq for Java {}

impl PartialOrd for Java {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Java {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0.is_nan(), other.0.is_nan()) {
            (false, false) => self.0.total_cmp(&other.0),
            (left, right) => left.cmp(&right),
        }
    }
}

fn compare_varint(left: &[u8], right: &[u8]) -> Ordering {
    let (left, right) = (wire::minimal_varint(left), wire::minimal_varint(right));
    let negative = |bytes: &[u8]| bytes.first().is_some_and(|byte| *byte >= 0x80);
    match (negative(left), negative(right)) {
        (false, false) => left.len().cmp(&right.len()).then_with(|| left.cmp(right)),
        (true, true) => right.len().cmp(&left.len()).then_with(|| left.cmp(right)),
        (left, right) => right.cmp(&left),
    }
}

/// The 60 bits of time of a version 1 UUID, below its version.
fn time_of_uuid(uuid: &[u8; 16]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *uuid;
    u64::from_be_bytes([g, h, e, f, a, b, c, d])
}

fn rest_of_uuid(uuid: &[u8; 16]) -> [u8; 8] {
    let [.., a, b, c, d, e, f, g, h] = *uuid;
    [a, b, c, d, e, f, g, h]
}

/// Elements in turn, of alternating types (a map's keys and values); then the shorter first.
fn compare_elements(mut left: &[u8], mut right: &[u8], first: &CqlType, second: &CqlType) -> Ordering {
    let counts = wire::take_i32(&mut left).cmp(&wire::take_i32(&mut right));
    for ty in [first, second].into_iter().cycle() {
        match (wire::take_element(&mut left), wire::take_element(&mut right)) {
            (Some(left), Some(right)) => match compare_nullable(left, right, ty) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
            _ => break,
        }
    }
    counts
}

/// Fields in turn; one that is not there is null.
fn compare_fields<'a>(
    mut left: &[u8],
    mut right: &[u8],
    types: impl Iterator<Item = &'a CqlType>,
) -> Ordering {
    for ty in types {
        let (left, right) =
            (wire::take_element(&mut left).flatten(), wire::take_element(&mut right).flatten());
        match compare_nullable(left, right, ty) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    Ordering::Equal
}

fn compare_vectors(mut left: &[u8], mut right: &[u8], inner: &CqlType) -> Ordering {
    let width = inner.width_in_vector();
    while !left.is_empty() && !right.is_empty() {
        let parts =
            (wire::take_vector_element(&mut left, width), wire::take_vector_element(&mut right, width));
        let (Some(left), Some(right)) = parts else { break };
        match compare(left, right, inner) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    left.len().cmp(&right.len())
}

fn compare_nullable(left: Option<&[u8]>, right: Option<&[u8]>, ty: &CqlType) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare(left, right, ty),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
pub(crate) mod tests;
