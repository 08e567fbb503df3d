//! Constants: which types take them, and their bytes.
//!
//! `term` asks [`fit`] when it chooses among overloads, [`preferred_type`] where nothing else says a type, and [`parse`] for the value.

use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use skep_engine::{Decimal, Uuid};

use crate::error::{CqlError, Result};
use crate::function::CallContext;
use crate::function::decimal::is_a_double;
use crate::function::text::{from_text, hex};
use crate::syntax::ast::Literal;
use crate::value::{ColumnSpec, type_name};

/// How well a value fits a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Not at all.
    No,
    /// It can be taken.
    Weak,
    /// It is of this type.
    Exact,
}

/// How well the constant fits `ty`.
#[must_use]
pub fn fit(kind: Literal, text: &str, ty: &CqlType) -> Fit {
    let ty = ty.unfrozen();
    match ty {
        CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) | CqlType::Udt(_) | CqlType::Vector(..) => {
            return Fit::No;
        }
        // Cassandra takes any constant, as the text form of the tuple.
        CqlType::Tuple(_) => return Fit::Weak,
        _ => {}
    }
    if preferred_type(kind, text) == *ty {
        return Fit::Exact;
    }
    let taken = match kind {
        Literal::String => matches!(
            ty,
            CqlType::Ascii
                | CqlType::Text
                | CqlType::Inet
                | CqlType::Date
                | CqlType::Time
                | CqlType::Timestamp
        ),
        Literal::Integer => matches!(
            ty,
            CqlType::Bigint
                | CqlType::Counter
                | CqlType::Date
                | CqlType::Decimal
                | CqlType::Double
                | CqlType::Duration
                | CqlType::Float
                | CqlType::Int
                | CqlType::Smallint
                | CqlType::Time
                | CqlType::Timestamp
                | CqlType::Tinyint
                | CqlType::Varint
        ),
        Literal::Uuid => matches!(ty, CqlType::Uuid | CqlType::Timeuuid),
        Literal::Float => matches!(ty, CqlType::Decimal | CqlType::Double | CqlType::Float),
        Literal::Boolean => matches!(ty, CqlType::Boolean),
        Literal::Hex => matches!(ty, CqlType::Blob),
        Literal::Duration => matches!(ty, CqlType::Duration),
    };
    if taken { Fit::Weak } else { Fit::No }
}

/// The type of a constant that nothing else gives one: the smallest of `int`, `bigint` and `varint` for an integer, `ascii` for a text of
/// it, `decimal` for a fraction that no `double` is equal to, `timeuuid` for a UUID of version 1. A hexadecimal constant of one byte counts
/// as `tinyint`, as in Cassandra (which takes longer ones for that too): `1 + 0x01` is 2.
#[must_use]
pub fn preferred_type(kind: Literal, text: &str) -> CqlType {
    match kind {
        Literal::String if text.is_ascii() => CqlType::Ascii,
        Literal::String => CqlType::Text,
        Literal::Integer if text.parse::<i32>().is_ok() => CqlType::Int,
        Literal::Integer if text.parse::<i64>().is_ok() => CqlType::Bigint,
        Literal::Integer => CqlType::Varint,
        Literal::Float => match Decimal::parse(text) {
            Ok(decimal) if !is_a_double(&decimal) => CqlType::Decimal,
            _ => CqlType::Double,
        },
        Literal::Boolean => CqlType::Boolean,
        Literal::Uuid if Uuid::parse(text).is_ok_and(|uuid| uuid.version() == 1) => CqlType::Timeuuid,
        Literal::Uuid => CqlType::Uuid,
        Literal::Hex if text.len() == 4 => CqlType::Tinyint,
        Literal::Hex => CqlType::Blob,
        Literal::Duration => CqlType::Duration,
    }
}

/// The bytes of the constant as a value of `receiver`.
///
/// # Errors
/// `Invalid`: the type takes no constant of this kind (`Invalid STRING constant (abc) for "v" of type int`), or not this one.
pub fn parse(cx: &CallContext, kind: Literal, text: &str, receiver: &ColumnSpec) -> Result<Bytes> {
    if fit(kind, text, &receiver.ty) == Fit::No {
        return Err(CqlError::invalid(format!(
            "Invalid {} constant ({text}) for \"{}\" of type {}",
            kind_name(kind),
            receiver.name,
            type_name(&receiver.ty)
        )));
    }
    parse_as(cx, kind, text, &receiver.ty)
}

/// The bytes of the constant as a value of `ty`, which takes its kind.
///
/// # Errors
/// `Invalid`: the text is none of the type.
pub fn parse_as(cx: &CallContext, kind: Literal, text: &str, ty: &CqlType) -> Result<Bytes> {
    if kind == Literal::Hex {
        return Ok(Bytes::new(&hex(text.get(2..).unwrap_or_default())?));
    }
    Ok(Bytes::new(&from_text(cx, text, ty)?))
}

/// The name of a kind in errors.
#[must_use]
pub fn kind_name(kind: Literal) -> &'static str {
    match kind {
        Literal::String => "STRING",
        Literal::Integer => "INTEGER",
        Literal::Float => "FLOAT",
        Literal::Boolean => "BOOLEAN",
        Literal::Uuid => "UUID",
        Literal::Hex => "HEX",
        Literal::Duration => "DURATION",
    }
}
