//! Values of collections, tuples, user types and vectors, taken apart and put together as bytes.
//!
//! Used by literals and selectors here, and by whoever needs the elements of a collection (assignments of its cells, CONTAINS). The
//! forms are those of the native protocol; whether foreign bytes have them, `bound` checks.
//!
//! # Invariants
//! 1. Taking apart bytes that are malformed is an error, never a panic; a count is believed only as far as the bytes could hold it.
//! 2. Sets and maps are put together in the order of their elements' type, without duplicates.

use crate::error::{CqlError, Result};
use crate::value::Wire;
use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;

/// The elements of a list or set, keys and values of a map by turns, the fields of a tuple or user type (as many as there are), the elements
/// of a vector.
///
/// # Errors
/// `Invalid` for bytes that are no value of `ty`.
pub fn split(bytes: &[u8], ty: &CqlType) -> Result<Vec<Wire>> {
    let mut rest = bytes;
    let mut parts = Vec::new();
    match ty.unfrozen() {
        CqlType::List(_) | CqlType::Set(_) => {
            for _ in 0..count(&mut rest, 4, ty)? {
                parts.push(element(&mut rest, ty)?);
            }
        }
        CqlType::Map(..) => {
            for _ in 0..count(&mut rest, 8, ty)? {
                parts.push(element(&mut rest, ty)?);
                parts.push(element(&mut rest, ty)?);
            }
        }
        CqlType::Tuple(_) | CqlType::Udt(_) => {
            while !rest.is_empty() {
                parts.push(element(&mut rest, ty)?);
            }
        }
        CqlType::Vector(inner, dimension) => {
            let width = inner.width_in_vector();
            for _ in 0..*dimension {
                let length = match width {
                    Some(width) => width,
                    None => unsigned_vint(&mut rest).ok_or_else(|| malformed(ty))?,
                };
                parts.push(Some(take(&mut rest, length, ty)?.into()));
            }
        }
        _ => return Err(malformed(ty)),
    }
    Ok(parts)
}

fn malformed(ty: &CqlType) -> CqlError {
    let name = match ty.unfrozen() {
        CqlType::List(_) => "list".to_owned(),
        CqlType::Set(_) => "set".to_owned(),
        CqlType::Map(..) => "map".to_owned(),
        CqlType::Tuple(_) => "tuple".to_owned(),
        other => other.to_string(),
    };
    CqlError::invalid(format!("Not enough bytes to read a {name}"))
}

fn take<'a>(rest: &mut &'a [u8], length: usize, ty: &CqlType) -> Result<&'a [u8]> {
    let (front, after) = rest.split_at_checked(length).ok_or_else(|| malformed(ty))?;
    *rest = after;
    Ok(front)
}

fn length(rest: &mut &[u8], ty: &CqlType) -> Result<i32> {
    let (front, after) = rest.split_first_chunk().ok_or_else(|| malformed(ty))?;
    *rest = after;
    Ok(i32::from_be_bytes(*front))
}

fn count(rest: &mut &[u8], unit: usize, ty: &CqlType) -> Result<usize> {
    let count = usize::try_from(length(rest, ty)?).map_err(|_| malformed(ty))?;
    if count.checked_mul(unit).is_none_or(|least| least > rest.len()) {
        return Err(malformed(ty));
    }
    Ok(count)
}

fn element(rest: &mut &[u8], ty: &CqlType) -> Result<Wire> {
    match usize::try_from(length(rest, ty)?) {
        Ok(length) => Ok(Some(take(rest, length, ty)?.into())),
        Err(_) => Ok(None),
    }
}

fn unsigned_vint(rest: &mut &[u8]) -> Option<usize> {
    let (&first, after) = rest.split_first()?;
    let extra = first.leading_ones() as usize;
    let (tail, after) = after.split_at_checked(extra)?;
    *rest = after;
    let head = if extra >= 7 { 0 } else { u64::from(first & (0x7f >> extra)) };
    usize::try_from(tail.iter().fold(head, |number, &byte| number << 8 | u64::from(byte))).ok()
}

fn put_unsigned_vint(number: u64, out: &mut Vec<u8>) {
    let bits = (64 - number.leading_zeros()) as usize;
    let extra = if bits > 56 { 8 } else { bits.saturating_sub(1) / 7 };
    let bytes = number.to_be_bytes();
    if extra == 8 {
        out.push(0xff);
        out.extend_from_slice(&bytes);
    } else {
        out.push(!(0xffu8 >> extra) | bytes[7 - extra]);
        out.extend_from_slice(&bytes[8 - extra..]);
    }
}

fn put_length(length: usize, out: &mut Vec<u8>) -> Result<()> {
    let length =
        i32::try_from(length).map_err(|_| CqlError::invalid("A value is longer than 2147483647 bytes"))?;
    out.extend_from_slice(&length.to_be_bytes());
    Ok(())
}

fn put_element(part: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
    match part {
        Some(part) => {
            put_length(part.len(), out)?;
            out.extend_from_slice(part);
        }
        None => out.extend_from_slice(&(-1i32).to_be_bytes()),
    }
    Ok(())
}

/// A list of these elements. Null ones are for results only (`ttl` of a collection): no column holds them.
///
/// # Errors
/// `Invalid` beyond 2^31-1 bytes; so below.
pub fn list(elements: &[Wire]) -> Result<Bytes> {
    let mut out = Vec::new();
    put_length(elements.len(), &mut out)?;
    elements.iter().try_for_each(|part| put_element(part.as_deref(), &mut out))?;
    Ok(out.into())
}

/// A set of these elements of type `ty`.
///
/// # Errors
/// As [`list`].
pub fn set(mut elements: Vec<Bytes>, ty: &CqlType) -> Result<Bytes> {
    elements.sort_by(|a, b| compare(a, b, ty));
    elements.dedup_by(|a, b| compare(a, b, ty).is_eq());
    let mut out = Vec::new();
    put_length(elements.len(), &mut out)?;
    elements.iter().try_for_each(|part| put_element(Some(part), &mut out))?;
    Ok(out.into())
}

/// A map of these entries; of equal keys the last one stays.
///
/// # Errors
/// As [`list`].
pub fn map(mut entries: Vec<(Bytes, Bytes)>, key: &CqlType) -> Result<Bytes> {
    // Reversed, so that the stable sort puts the last of equal keys first, which dedup keeps.
    entries.reverse();
    entries.sort_by(|a, b| compare(&a.0, &b.0, key));
    entries.dedup_by(|a, b| compare(&a.0, &b.0, key).is_eq());
    let mut out = Vec::new();
    put_length(entries.len(), &mut out)?;
    for (key, value) in &entries {
        put_element(Some(key), &mut out)?;
        put_element(Some(value), &mut out)?;
    }
    Ok(out.into())
}

/// A tuple or user type of these fields.
///
/// # Errors
/// As [`list`].
pub fn tuple(fields: &[Wire]) -> Result<Bytes> {
    let mut out = Vec::new();
    fields.iter().try_for_each(|part| put_element(part.as_deref(), &mut out))?;
    Ok(out.into())
}

/// A vector of these elements of type `ty`.
///
/// # Errors
/// `Invalid` if an element is empty where the type's elements have a fixed width.
pub fn vector(elements: &[Bytes], ty: &CqlType) -> Result<Bytes> {
    let mut out = Vec::new();
    let width = ty.width_in_vector();
    for part in elements {
        match width {
            Some(width) if part.len() != width => {
                return Err(CqlError::invalid(format!("Not enough bytes to read a {ty} of a vector")));
            }
            Some(_) => {}
            None => put_unsigned_vint(part.len() as u64, &mut out),
        }
        out.extend_from_slice(part);
    }
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(part: &[u8]) -> Bytes {
        Bytes::new(part)
    }

    #[test]
    fn what_is_put_together_comes_apart() {
        let set_type = CqlType::Set(Box::new(CqlType::Text));
        let set = set(vec![bytes(b"b"), bytes(b"a"), bytes(b"b")], &CqlType::Text).unwrap();
        assert_eq!(split(&set, &set_type).unwrap(), [Some(bytes(b"a")), Some(bytes(b"b"))]);
        let map_type = CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Text)).freeze();
        let entries = vec![(bytes(b"k"), bytes(b"1")), (bytes(b"k"), bytes(b"2"))];
        let map = map(entries, &CqlType::Text).unwrap();
        assert_eq!(split(&map, &map_type).unwrap(), [Some(bytes(b"k")), Some(bytes(b"2"))]);
        let tuple_type = CqlType::Tuple(vec![CqlType::Text; 3]);
        let fields = [Some(bytes(b"x")), None];
        assert_eq!(split(&tuple(&fields).unwrap(), &tuple_type).unwrap(), fields);
        for (ty, parts) in
            [(CqlType::Text, [bytes(b""), bytes(&[7; 300])]), (CqlType::Boolean, [bytes(&[0]), bytes(&[1])])]
        {
            let whole = vector(&parts, &ty).unwrap();
            assert_eq!(split(&whole, &CqlType::Vector(Box::new(ty), 2)).unwrap(), parts.map(Some));
        }
    }

    #[test]
    fn malformed_bytes_are_an_error() {
        let list = CqlType::List(Box::new(CqlType::Int));
        for wrong in
            [&[][..], &[0, 0, 0, 1], &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0], &[0, 0, 0, 1, 0, 0, 0, 9, 1]]
        {
            assert!(split(wrong, &list).is_err(), "{wrong:?}");
        }
        assert!(split(&[1], &CqlType::Vector(Box::new(CqlType::Int), 1)).is_err());
    }
}
