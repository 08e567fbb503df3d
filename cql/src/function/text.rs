//! From text to the bytes of a type: what a string constant, a string in JSON or a map key in JSON spells.
//!
//! The rules and words are those of Cassandra's types; the engine's `text_parse` is kinder and serves files and command lines.

use std::net::IpAddr;

use num_bigint::BigInt;
use skep_engine::model::codec;
use skep_engine::{CqlDuration, CqlType, Date, Decimal, Time, Timestamp, Uuid, Value};

use crate::error::{CqlError, Result};
use crate::function::CallContext;

/// The bytes of the value of type `ty` that `text` spells. A tuple is read in the form `1:two:@` (`@` is null); other types with parts have
/// no such form.
///
/// # Errors
/// `Invalid`, in Cassandra's words.
pub fn from_text(cx: &CallContext, text: &str, ty: &CqlType) -> Result<Vec<u8>> {
    let wrong = |what: &str| CqlError::invalid(format!("{what} from '{text}'"));
    let ty = ty.unfrozen();
    if text.is_empty() && ty.allows_empty() {
        return Ok(Vec::new());
    }
    Ok(match ty {
        CqlType::Ascii => match text.chars().find(|c| !c.is_ascii()) {
            None => text.as_bytes().to_vec(),
            Some(_) => {
                return Err(CqlError::invalid(format!("Invalid ASCII character in string literal: {text}")));
            }
        },
        CqlType::Text => text.as_bytes().to_vec(),
        CqlType::Blob => hex(text)?,
        CqlType::Boolean if text.eq_ignore_ascii_case("true") => vec![1],
        CqlType::Boolean if text.eq_ignore_ascii_case("false") => vec![0],
        CqlType::Boolean => return Err(wrong("Unable to make boolean")),
        CqlType::Bigint | CqlType::Counter => {
            integer::<i64>(text).ok_or_else(|| wrong("Unable to make long"))?.to_be_bytes().to_vec()
        }
        CqlType::Int => {
            integer::<i32>(text).ok_or_else(|| wrong("Unable to make int"))?.to_be_bytes().to_vec()
        }
        CqlType::Smallint => {
            integer::<i16>(text).ok_or_else(|| wrong("Unable to make short"))?.to_be_bytes().to_vec()
        }
        CqlType::Tinyint => {
            integer::<i8>(text).ok_or_else(|| wrong("Unable to make byte"))?.to_be_bytes().to_vec()
        }
        CqlType::Varint => varint(text).ok_or_else(|| wrong("unable to make int"))?.to_signed_bytes_be(),
        CqlType::Decimal => {
            let decimal = Decimal::parse(text).map_err(|_| wrong("unable to make BigDecimal"))?;
            codec::to_bytes(&Value::Decimal(decimal), ty)?
        }
        CqlType::Double => double(text).ok_or_else(|| wrong("Unable to make double"))?.to_be_bytes().to_vec(),
        CqlType::Float => float(text).ok_or_else(|| wrong("Unable to make float"))?.to_be_bytes().to_vec(),
        CqlType::Inet => match inet(text).ok_or_else(|| wrong("Unable to make inet address"))? {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        },
        CqlType::Date => Date::parse(text)?.0.to_be_bytes().to_vec(),
        CqlType::Time => Time::parse(text)?.0.to_be_bytes().to_vec(),
        CqlType::Timestamp if text.eq_ignore_ascii_case("now") => {
            cx.now_micros.div_euclid(1000).to_be_bytes().to_vec()
        }
        CqlType::Timestamp => Timestamp::parse(text)?.0.to_be_bytes().to_vec(),
        CqlType::Duration => codec::to_bytes(&Value::Duration(CqlDuration::parse(text)?), ty)?,
        CqlType::Uuid => Uuid::parse(text)?.0.to_vec(),
        CqlType::Timeuuid => {
            let uuid = Uuid::parse(text)?;
            if uuid.version() != 1 {
                return Err(CqlError::invalid("TimeUUID supports only version 1 UUIDs"));
            }
            uuid.0.to_vec()
        }
        CqlType::Tuple(fields) => tuple(cx, text, fields)?,
        other => return Err(wrong(&format!("Unable to make {other}"))),
    })
}

/// The bytes that pairs of hexadecimal digits spell.
///
/// # Errors
/// `Invalid` for anything else.
pub fn hex(digits: &str) -> Result<Vec<u8>> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)).collect();
    bytes
        .filter(|_| rest.is_empty())
        .ok_or_else(|| CqlError::invalid(format!("cannot parse '{digits}' as hex bytes")))
}

/// Digits with an optional sign.
fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn varint(text: &str) -> Option<BigInt> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { BigInt::parse_bytes(text.as_bytes(), 10) } else { None }
}

fn double(text: &str) -> Option<f64> {
    match named(text) {
        Some(number) => Some(number),
        None if is_number(text) => text.parse().ok(),
        None => None,
    }
}

fn float(text: &str) -> Option<f32> {
    match named(text) {
        Some(number) => Some(if number.is_nan() { f32::NAN } else { number as f32 }),
        None if is_number(text) => text.parse().ok(),
        None => None,
    }
}

/// NaN, which has no sign, and the infinities.
fn named(text: &str) -> Option<f64> {
    let (negative, name) = match text.strip_prefix(['-', '+']) {
        Some(name) => (text.starts_with('-'), name),
        None => (false, text),
    };
    if name.eq_ignore_ascii_case("nan") {
        Some(f64::NAN)
    } else if name.eq_ignore_ascii_case("infinity") {
        Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
    } else {
        None
    }
}

/// Whether text is no name of a number (the standard library would also take `inf`).
fn is_number(text: &str) -> bool {
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// An address of version 4 or 6; a version 4 address in version 6 clothes is the former, as in Java.
fn inet(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        v4 => v4,
    })
}

fn tuple(cx: &CallContext, text: &str, types: &[CqlType]) -> Result<Vec<u8>> {
    let fields = split_fields(text);
    if fields.len() > types.len() {
        return Err(CqlError::invalid("Invalid remaining data after end of tuple value"));
    }
    let mut out = Vec::new();
    for (field, ty) in fields.iter().zip(types) {
        if field == "@" {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let bytes = from_text(cx, &field.replace("\\:", ":").replace("\\@", "@"), ty)?;
        let length = i32::try_from(bytes.len())
            .map_err(|_| CqlError::invalid("a value is longer than 2147483647 bytes"))?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&bytes);
    }
    Ok(out)
}

/// Parts between colons that no backslash stands before.
fn split_fields(text: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ':' && !escaped {
            fields.push(String::new());
        } else if let Some(last) = fields.last_mut() {
            last.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    fields
}
