//! Values to bytes and back: Cassandra's native-protocol serialisation (v4, v5).
//!
//! These bytes are what cells, keys and the wire hold. `validate` checks foreign bytes without building a value.
//!
//! # Invariants
//! 1. What [`encode`] writes, `validate` accepts and [`decode`] reads back, up to the conversions of `encode`.
//! 2. A frozen set or map is written sorted by its element type, without duplicates, so that equal ones have equal bytes.
//! 3. No bytes make [`decode`] panic or allocate more than a small multiple of their length.

use std::cmp::Ordering;
use std::net::IpAddr;

use num_bigint::BigInt;

use crate::error::{Error, Result};
use crate::model::compare::compare;
use crate::model::duration::Duration;
use crate::model::numeric::{Decimal, Varint};
use crate::model::time::{Date, Time, Timestamp};
use crate::model::types::{CqlType, UdtType};
use crate::model::uuid::{Timeuuid, Uuid};
use crate::model::validate::{Container, malformed, validate_scalar};
use crate::model::value::Value;
use crate::model::wire;

/// Appends the bytes of `value` as a value of `ty`.
///
/// Conversions that lose nothing are made: between integer kinds where the number fits, `text` and `ascii`, `float` to
/// `double`, `timeuuid` and `uuid`, a list of values to a set or vector, a tuple to a user type.
///
/// # Errors
/// `Invalid` where the value is none of `ty`; `out` then holds a part of it.
pub fn encode(value: &Value, ty: &CqlType, out: &mut Vec<u8>) -> Result<()> {
    match (ty, value) {
        (CqlType::Frozen(inner), _) => return encode(value, inner, out),
        (_, Value::Empty) if ty.allows_empty() => {}
        (CqlType::Boolean, Value::Boolean(truth)) => out.push(u8::from(*truth)),
        (CqlType::Blob, Value::Blob(bytes)) => out.extend_from_slice(bytes),
        (CqlType::Text, Value::Text(text) | Value::Ascii(text)) => out.extend_from_slice(text.as_bytes()),
        (CqlType::Ascii, Value::Text(text) | Value::Ascii(text)) => {
            validate_scalar(text.as_bytes(), ty)?;
            out.extend_from_slice(text.as_bytes());
        }
        (CqlType::Date, Value::Date(date)) => out.extend_from_slice(&date.0.to_be_bytes()),
        (CqlType::Time, Value::Time(time)) => out.extend_from_slice(&time.0.to_be_bytes()),
        (CqlType::Timestamp, Value::Timestamp(time)) => out.extend_from_slice(&time.0.to_be_bytes()),
        (CqlType::Double, Value::Double(number)) => out.extend_from_slice(&number.to_be_bytes()),
        (CqlType::Double, Value::Float(number)) => out.extend_from_slice(&f64::from(*number).to_be_bytes()),
        (CqlType::Float, Value::Float(number)) => out.extend_from_slice(&number.to_be_bytes()),
        (CqlType::Inet, Value::Inet(IpAddr::V4(address))) => out.extend_from_slice(&address.octets()),
        (CqlType::Inet, Value::Inet(IpAddr::V6(address))) => out.extend_from_slice(&address.octets()),
        (CqlType::Uuid, Value::Uuid(uuid)) => out.extend_from_slice(&uuid.0),
        (CqlType::Uuid | CqlType::Timeuuid, Value::Timeuuid(uuid)) => out.extend_from_slice(uuid.as_bytes()),
        (CqlType::Timeuuid, Value::Uuid(uuid)) => {
            out.extend_from_slice(Timeuuid::from_bytes(uuid.0)?.as_bytes())
        }
        (CqlType::Decimal, Value::Decimal(decimal)) => {
            out.extend_from_slice(&decimal.scale.to_be_bytes());
            out.extend_from_slice(&decimal.unscaled.to_signed_bytes_be());
        }
        (CqlType::Duration, Value::Duration(duration)) => encode_duration(duration, out)?,
        (CqlType::List(element), Value::List(values)) => encode_list(values, element, out)?,
        (CqlType::Set(element), Value::Set(values) | Value::List(values)) => {
            encode_set(values, element, out)?
        }
        (CqlType::Map(key, value), Value::Map(entries)) => encode_map(entries, key, value, out)?,
        (CqlType::Vector(element, dimension), Value::Vector(values) | Value::List(values)) => {
            encode_vector(values, element, *dimension, ty, out)?;
        }
        (CqlType::Tuple(types), Value::Tuple(values)) => {
            encode_fields(values.iter().map(Option::as_ref), types.iter(), "tuple", out)?;
        }
        (CqlType::Udt(udt), Value::Tuple(values)) => {
            let types = udt.fields.iter().map(|(_, field)| field);
            encode_fields(values.iter().map(Option::as_ref), types, "UDT", out)?;
        }
        (CqlType::Udt(udt), Value::Udt(fields)) => encode_udt(fields, udt, out)?,
        _ => encode_integer(value, ty, out)?,
    }
    Ok(())
}

/// The value that `bytes` are, as a value of `ty`. Sets and maps keep the order of the bytes.
///
/// # Errors
/// `Invalid` for bytes that `validate` refuses.
pub fn decode(bytes: &[u8], ty: &CqlType) -> Result<Value> {
    let ty = ty.unfrozen();
    validate_scalar(bytes, ty)?;
    Ok(match ty {
        CqlType::Ascii => Value::Ascii(text(bytes)?),
        CqlType::Text => Value::Text(text(bytes)?),
        CqlType::Blob => Value::Blob(bytes.to_vec()),
        _ if bytes.is_empty() && ty.allows_empty() => Value::Empty,
        CqlType::Bigint => Value::Bigint(i64::from_be_bytes(array(bytes)?)),
        CqlType::Boolean => Value::Boolean(bytes != [0]),
        CqlType::Counter => Value::Counter(i64::from_be_bytes(array(bytes)?)),
        CqlType::Date => Value::Date(Date(u32::from_be_bytes(array(bytes)?))),
        CqlType::Decimal => Value::Decimal(Decimal::from_wire(bytes).ok_or_else(|| malformed(ty))?),
        CqlType::Double => Value::Double(f64::from_be_bytes(array(bytes)?)),
        CqlType::Duration => Value::Duration(decode_duration(bytes)?),
        CqlType::Float => Value::Float(f32::from_be_bytes(array(bytes)?)),
        CqlType::Inet => Value::Inet(match bytes.len() {
            4 => IpAddr::from(array::<4>(bytes)?),
            _ => IpAddr::from(array::<16>(bytes)?),
        }),
        CqlType::Int => Value::Int(i32::from_be_bytes(array(bytes)?)),
        CqlType::Smallint => Value::Smallint(i16::from_be_bytes(array(bytes)?)),
        CqlType::Time => Value::Time(Time(i64::from_be_bytes(array(bytes)?))),
        CqlType::Timestamp => Value::Timestamp(Timestamp(i64::from_be_bytes(array(bytes)?))),
        CqlType::Timeuuid => Value::Timeuuid(Timeuuid::from_bytes(array(bytes)?)?),
        CqlType::Tinyint => Value::Tinyint(i8::from_be_bytes(array(bytes)?)),
        CqlType::Uuid => Value::Uuid(Uuid(array(bytes)?)),
        CqlType::Varint => Value::Varint(Varint(BigInt::from_signed_bytes_be(bytes))),
        CqlType::List(element) => Value::List(decode_elements(bytes, element, ty)?),
        CqlType::Set(element) => Value::Set(decode_elements(bytes, element, ty)?),
        CqlType::Map(..) => {
            let mut entries = Vec::new();
            let mut waiting = None;
            Container::of(bytes, ty)?.each(&mut |part, element| {
                let decoded = decode(part.ok_or_else(|| malformed(ty))?, element)?;
                match waiting.take() {
                    None => waiting = Some(decoded),
                    Some(first) => entries.push((first, decoded)),
                }
                Ok(())
            })?;
            Value::Map(entries)
        }
        CqlType::Vector(element, _) => Value::Vector(decode_elements(bytes, element, ty)?),
        CqlType::Tuple(_) => Value::Tuple(decode_fields(bytes, ty)?),
        CqlType::Udt(udt) => {
            let mut values = decode_fields(bytes, ty)?.into_iter();
            Value::Udt(udt.fields.iter().map(|(name, _)| (name.clone(), values.next().flatten())).collect())
        }
        CqlType::Frozen(inner) => decode(bytes, inner)?,
    })
}

/// The bytes with every set and map inside sorted and without duplicates (invariant 2), where they differ from `bytes`.
/// Clients may send a frozen set in any order.
///
/// # Errors
/// `Invalid` for bytes that `validate` refuses.
pub fn normalize(bytes: &[u8], ty: &CqlType) -> Result<Option<Vec<u8>>> {
    if !ty.any(&|inner| matches!(inner, CqlType::Set(_) | CqlType::Map(..))) {
        return Ok(None);
    }
    let mut sorted = Vec::with_capacity(bytes.len());
    encode(&decode(bytes, ty)?, ty, &mut sorted)?;
    Ok((sorted != bytes).then_some(sorted))
}

fn encode_integer(value: &Value, ty: &CqlType, out: &mut Vec<u8>) -> Result<()> {
    let big = match value {
        Value::Varint(number) => Some(&number.0),
        _ => None,
    };
    let number = value.as_i64();
    if number.is_none() && big.is_none() {
        return Err(mismatch(value, ty));
    }
    let too_large = |name: &str| match big {
        Some(number) => Error::invalid(format!("Unable to make {name} from '{number}'")),
        None => Error::invalid(format!("Unable to make {name} from '{}'", number.unwrap_or_default())),
    };
    match ty {
        CqlType::Bigint | CqlType::Counter => {
            out.extend_from_slice(&number.ok_or_else(|| too_large("long"))?.to_be_bytes());
        }
        CqlType::Int => {
            out.extend_from_slice(&fitting::<i32>(number).ok_or_else(|| too_large("int"))?.to_be_bytes())
        }
        CqlType::Smallint => {
            out.extend_from_slice(&fitting::<i16>(number).ok_or_else(|| too_large("short"))?.to_be_bytes());
        }
        CqlType::Tinyint => {
            out.extend_from_slice(&fitting::<i8>(number).ok_or_else(|| too_large("byte"))?.to_be_bytes())
        }
        CqlType::Varint => match (number, big) {
            (Some(number), _) => out.extend_from_slice(wire::minimal_varint(&number.to_be_bytes())),
            (None, Some(big)) => out.extend_from_slice(&big.to_signed_bytes_be()),
            (None, None) => {}
        },
        _ => return Err(mismatch(value, ty)),
    }
    Ok(())
}

fn fitting<T: TryFrom<i64>>(number: Option<i64>) -> Option<T> {
    T::try_from(number?).ok()
}

fn mismatch(value: &Value, ty: &CqlType) -> Error {
    Error::invalid(format!("a value of kind {} is no {ty}", value.kind()))
}

fn encode_duration(duration: &Duration, out: &mut Vec<u8>) -> Result<()> {
    let at = out.len();
    wire::put_vint(duration.months.into(), out);
    wire::put_vint(duration.days.into(), out);
    wire::put_vint(duration.nanos, out);
    validate_scalar(&out[at..], &CqlType::Duration)
}

fn encode_list(values: &[Value], element: &CqlType, out: &mut Vec<u8>) -> Result<()> {
    wire::put_length(values.len(), out)?;
    values.iter().try_for_each(|value| wire::put_element(out, |out| encode(value, element, out)))
}

fn encode_set(values: &[Value], element: &CqlType, out: &mut Vec<u8>) -> Result<()> {
    let mut encoded = values.iter().map(|value| to_bytes(value, element)).collect::<Result<Vec<_>>>()?;
    encoded.sort_by(|a, b| compare(a, b, element));
    encoded.dedup_by(|a, b| compare(a, b, element) == Ordering::Equal);
    wire::put_length(encoded.len(), out)?;
    encoded.iter().try_for_each(|bytes| put_bytes(bytes, out))
}

fn encode_map(entries: &[(Value, Value)], key: &CqlType, value: &CqlType, out: &mut Vec<u8>) -> Result<()> {
    let encode_entry = |(k, v): &(Value, Value)| Ok((to_bytes(k, key)?, to_bytes(v, value)?));
    // Reversed, so that the stable sort puts the last of equal keys first, and dedup keeps it.
    let mut encoded = entries.iter().rev().map(encode_entry).collect::<Result<Vec<_>>>()?;
    encoded.sort_by(|a, b| compare(&a.0, &b.0, key));
    encoded.dedup_by(|a, b| compare(&a.0, &b.0, key) == Ordering::Equal);
    wire::put_length(encoded.len(), out)?;
    encoded.iter().try_for_each(|(k, v)| put_bytes(k, out).and_then(|()| put_bytes(v, out)))
}

fn encode_vector(
    values: &[Value],
    element: &CqlType,
    dimension: u32,
    ty: &CqlType,
    out: &mut Vec<u8>,
) -> Result<()> {
    if values.len() != dimension as usize {
        let given = values.len();
        return Err(Error::invalid(format!("{ty} has {dimension} elements, but {given} were given")));
    }
    for value in values {
        if let Some(width) = element.width_in_vector() {
            let at = out.len();
            encode(value, element, out)?;
            if out.len() - at != width {
                return Err(Error::invalid(format!("an element of {ty} may not be empty")));
            }
        } else {
            let bytes = to_bytes(value, element)?;
            wire::put_unsigned_vint(bytes.len() as u64, out);
            out.extend_from_slice(&bytes);
        }
    }
    Ok(())
}

fn encode_fields<'a>(
    values: impl ExactSizeIterator<Item = Option<&'a Value>>,
    types: impl ExactSizeIterator<Item = &'a CqlType>,
    what: &str,
    out: &mut Vec<u8>,
) -> Result<()> {
    if values.len() > types.len() {
        return Err(Error::invalid(format!("Invalid remaining data after end of {what} value")));
    }
    values.zip(types).try_for_each(|(value, ty)| match value {
        Some(value) => wire::put_element(out, |out| encode(value, ty, out)),
        None => {
            wire::put_null(out);
            Ok(())
        }
    })
}

fn encode_udt(fields: &[(String, Option<Value>)], udt: &UdtType, out: &mut Vec<u8>) -> Result<()> {
    if let Some((name, _)) = fields.iter().find(|(name, _)| udt.fields.iter().all(|(known, _)| known != name))
    {
        return Err(Error::invalid(format!(
            "Unknown field '{name}' in value of user defined type {}",
            udt.name
        )));
    }
    let given = |name: &str| {
        fields.iter().rev().find(|(field, _)| field == name).and_then(|(_, value)| value.as_ref())
    };
    let values: Vec<_> = udt.fields.iter().map(|(name, _)| given(name)).collect();
    encode_fields(values.into_iter(), udt.fields.iter().map(|(_, ty)| ty), "UDT", out)
}

/// The bytes of `value` alone.
///
/// # Errors
/// As [`encode`].
pub fn to_bytes(value: &Value, ty: &CqlType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode(value, ty, &mut out)?;
    Ok(out)
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    wire::put_length(bytes.len(), out)?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| Error::invalid(format!("Expected {N} bytes ({})", bytes.len())))
}

fn text(bytes: &[u8]) -> Result<String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Error::invalid("String didn't validate."))
}

fn decode_duration(mut bytes: &[u8]) -> Result<Duration> {
    let mut part = || wire::take_vint(&mut bytes).ok_or_else(|| malformed(&CqlType::Duration));
    let (months, days, nanos) = (part()?, part()?, part()?);
    let small = |number| i32::try_from(number).map_err(|_| malformed(&CqlType::Duration));
    Ok(Duration { months: small(months)?, days: small(days)?, nanos })
}

fn decode_elements(bytes: &[u8], element: &CqlType, ty: &CqlType) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    Container::of(bytes, ty)?.each(&mut |part, _| {
        values.push(decode(part.ok_or_else(|| malformed(ty))?, element)?);
        Ok(())
    })?;
    Ok(values)
}

fn decode_fields(bytes: &[u8], ty: &CqlType) -> Result<Vec<Option<Value>>> {
    let mut values = Vec::new();
    Container::of(bytes, ty)?.each(&mut |part, field| {
        values.push(part.map(|part| decode(part, field)).transpose()?);
        Ok(())
    })?;
    Ok(values)
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
