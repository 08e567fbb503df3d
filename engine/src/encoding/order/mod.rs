//! Key values as bytes whose unsigned order is the order of the values, and back.
//!
//! A clustering is compared millions of times and written once. Here each of its values becomes a *component*: bytes
//! that compare (as `memcmp` does) the way Cassandra compares values of that type. The write path makes them, everything
//! below compares them blindly, the read path turns them back. `model::clustering` explains the bounds made of them.
//!
//! ```text
//! component := 40                        the empty value (zero bytes)
//!            | 80 body                   any other
//! body      := fixed-width number, sign bit flipped      tinyint .. bigint, timestamp
//!            | fixed-width number                        date, time, boolean (00 or 01)
//!            | bits, all flipped if negative, else the sign bit      float, double
//!            | 16 bytes, version and time first          uuid, timeuuid
//!            | escaped bytes 00                          text, ascii, blob, inet; 00 -> 01 01, 01 -> 01 02
//!            | see `number`                              varint, decimal
//!            | (component)* 10                           list, set; map: key, value, key, value ...
//!            | (component | 20)* 10                      tuple, user type; 20 is null; nulls at the end are left out
//!            | (component)*                              vector
//! DESC      := every byte of the component complemented
//! ```
//!
//! # Invariants
//! 1. No component is a prefix of another of its type, so that concatenated components compare component by component.
//! 2. A component begins neither with 00 nor with ff, ascending or descending: a bound can stand before or behind everything
//!    that begins with given components.
//! 3. A tuple's or user type's component does not depend on how many fields its type has behind the value's last one that is
//!    not null, so that a type may get fields while keys hold it.
//!
//! # Not here
//! Checks of text: the caller has validated the value, and brought sets and maps into their order (`codec::normalize`).

mod reader;
mod number;
mod decode;

use crate::error::{Error, Result};
use crate::model::types::CqlType;
use crate::model::validate::{Container, validate_scalar};

pub use decode::{LONG_BYTES, component_length, decode_component, long_component};

const END: u8 = 0x10;
const NULL: u8 = 0x20;
const EMPTY: u8 = 0x40;
const VALUE: u8 = 0x80;

/// What stands for 00 and 01 in escaped bytes begins with this.
const ESCAPE: u8 = 0x01;
/// Ends escaped bytes.
const TERMINATOR: u8 = 0x00;

const SIGN_64: u64 = 1 << 63;
const SIGN_32: u32 = 1 << 31;

/// Appends the component of a serialised value; of two values of one type and direction, the bytes compare as the values do.
///
/// # Errors
/// `Invalid` for bytes that are no value of `ty` and for types that no key may have (counter, duration).
#[inline]
pub fn encode_component(value: &[u8], ty: &CqlType, descending: bool, out: &mut Vec<u8>) -> Result<()> {
    if let (CqlType::Timestamp | CqlType::Bigint, Ok(bytes)) = (ty, value.try_into()) {
        let mask = if descending { u64::MAX } else { 0 };
        let number = (u64::from_be_bytes(bytes) ^ SIGN_64 ^ mask).to_be_bytes();
        let [a, b, c, d, e, f, g, h] = number;
        out.extend_from_slice(&[if descending { !VALUE } else { VALUE }, a, b, c, d, e, f, g, h]);
        return Ok(());
    }
    let at = out.len();
    encode_value(value, ty, out)?;
    if descending {
        out[at..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

/// Whether [`decode_component`] gives back the very bytes that were encoded, whatever they were. Not so for decimals (1.0 and 1.00 are
/// one place), varints (which may be padded), tuples and user types (which may end early), and what contains them: see
/// [`comes_back`]. Counts as given back: a NaN, whose payload becomes 0, and a `true` of a byte other than 01, which becomes 01;
/// no type tells these apart.
#[must_use]
pub fn is_faithful(ty: &CqlType) -> bool {
    !ty.any(&|inner| {
        matches!(inner, CqlType::Decimal | CqlType::Varint | CqlType::Tuple(_) | CqlType::Udt(_))
    })
}

/// Whether this value comes back as the very bytes it is, also where [`is_faithful`] cannot promise it for the type. Where it does not,
/// the bytes must be kept beside the component.
///
/// # Errors
/// As [`encode_component`].
pub fn comes_back(value: &[u8], ty: &CqlType) -> Result<bool> {
    if is_faithful(ty) {
        return Ok(true);
    }
    let (mut component, mut again) = (Vec::new(), Vec::new());
    encode_component(value, ty, false, &mut component)?;
    decode_component(&component, ty, false, &mut again)?;
    Ok(again == value)
}

fn encode_value(value: &[u8], ty: &CqlType, out: &mut Vec<u8>) -> Result<()> {
    if value.is_empty() && ty.allows_empty() && may_be_component(ty) {
        out.push(EMPTY);
        return Ok(());
    }
    match ty {
        CqlType::Frozen(inner) => return encode_value(value, inner, out),
        CqlType::Bigint | CqlType::Timestamp => {
            put_fixed((u64::from_be_bytes(fixed(value, ty)?) ^ SIGN_64).to_be_bytes(), out);
        }
        CqlType::Int => put_fixed((u32::from_be_bytes(fixed(value, ty)?) ^ SIGN_32).to_be_bytes(), out),
        CqlType::Smallint => put_fixed((u16::from_be_bytes(fixed(value, ty)?) ^ 1 << 15).to_be_bytes(), out),
        CqlType::Tinyint => put_fixed([u8::from_be_bytes(fixed(value, ty)?) ^ 1 << 7], out),
        CqlType::Date => put_fixed(fixed::<4>(value, ty)?, out),
        CqlType::Time => put_fixed(fixed::<8>(value, ty)?, out),
        CqlType::Boolean => put_fixed([u8::from(fixed(value, ty)? != [0])], out),
        CqlType::Double => put_fixed(order_f64(f64::from_be_bytes(fixed(value, ty)?)).to_be_bytes(), out),
        CqlType::Float => put_fixed(order_f32(f32::from_be_bytes(fixed(value, ty)?)).to_be_bytes(), out),
        CqlType::Uuid => put_fixed(order_uuid(fixed(value, ty)?), out),
        CqlType::Timeuuid => put_fixed(order_timeuuid(fixed(value, ty)?), out),
        CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Inet => put_escaped(value, out),
        CqlType::Varint => {
            out.push(VALUE);
            number::encode_varint(value, out)?;
        }
        CqlType::Decimal => {
            out.push(VALUE);
            number::encode_decimal(value, out)?;
        }
        CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) => {
            put_parts(value, ty, out)?;
            out.push(END);
        }
        CqlType::Tuple(_) | CqlType::Udt(_) => {
            let kept = put_parts(value, ty, out)?;
            out.truncate(kept);
            out.push(END);
        }
        CqlType::Vector(..) => {
            put_parts(value, ty, out)?;
        }
        CqlType::Counter | CqlType::Duration => {
            return Err(Error::invalid(format!("{ty} type is not supported for PRIMARY KEY columns")));
        }
    }
    Ok(())
}

/// Appends VALUE and a component or NULL for each part; returns where the last part ends that is not null.
fn put_parts(value: &[u8], ty: &CqlType, out: &mut Vec<u8>) -> Result<usize> {
    out.push(VALUE);
    let mut kept = out.len();
    Container::of(value, ty)?.each(&mut |part, inner| {
        match part {
            None => out.push(NULL),
            Some(part) => {
                encode_value(part, inner, out)?;
                kept = out.len();
            }
        }
        Ok(())
    })?;
    Ok(kept)
}

fn may_be_component(ty: &CqlType) -> bool {
    !matches!(ty, CqlType::Counter | CqlType::Duration)
}

/// The value as an array, if it has the one length that its type allows.
#[inline]
fn fixed<const N: usize>(value: &[u8], ty: &CqlType) -> Result<[u8; N]> {
    value.try_into().map_err(|_| match validate_scalar(value, ty) {
        Err(error) => error,
        Ok(()) => Error::invalid(format!("Expected {N} bytes for {ty} ({})", value.len())),
    })
}

#[inline]
fn put_fixed<const N: usize>(body: [u8; N], out: &mut Vec<u8>) {
    out.push(VALUE);
    out.extend_from_slice(&body);
}

fn put_escaped(mut value: &[u8], out: &mut Vec<u8>) {
    out.reserve(value.len() + 2);
    out.push(VALUE);
    while let Some(at) = value.iter().position(|byte| *byte <= ESCAPE) {
        out.extend_from_slice(&value[..at]);
        out.extend_from_slice(&[ESCAPE, value[at] + 1]);
        value = &value[at + 1..];
    }
    out.extend_from_slice(value);
    out.push(TERMINATOR);
}

fn order_f64(number: f64) -> u64 {
    let bits = if number.is_nan() { 0x7ff8 << 48 } else { number.to_bits() };
    if bits & SIGN_64 == 0 { bits ^ SIGN_64 } else { !bits }
}

fn order_f32(number: f32) -> u32 {
    let bits = if number.is_nan() { 0x7fc0 << 16 } else { number.to_bits() };
    if bits & SIGN_32 == 0 { bits ^ SIGN_32 } else { !bits }
}

/// Version and time first, then the rest in the order of *signed* bytes, which is Cassandra's for time UUIDs.
fn order_timeuuid(uuid: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = uuid;
    join([g, h, e, f, a, b, c, d], rest.map(|byte| byte ^ 0x80))
}

/// The version's four bits, then the time (version 1) or the other bits before the ninth byte as they stand, then the rest.
fn order_uuid(uuid: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = uuid;
    if g >> 4 == 1 {
        return join([g, h, e, f, a, b, c, d], rest);
    }
    let first = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    let version = first & 0xf000;
    join((version << 48 | first >> 16 << 12 | first & 0x0fff).to_be_bytes(), rest)
}

fn join(first: [u8; 8], second: [u8; 8]) -> [u8; 16] {
    let mut joined = [0; 16];
    joined[..8].copy_from_slice(&first);
    joined[8..].copy_from_slice(&second);
    joined
}

#[cfg(test)]
mod tests;
