//! Values as text: plain, as a table or a CSV file shows them (`Display`), and as CQL literals ([`Value::literal`]).
//!
//! `text_parse` reads both back. Plain text and literals differ in quotes only, and only on the outermost level: inside a
//! collection even plain text quotes what CQL quotes.

use std::fmt;

use crate::model::types::write_identifier;
use crate::model::value::Value;

/// A value that displays as a CQL literal; made by [`Value::literal`].
pub struct Literal<'a>(&'a Value);

impl Value {
    /// The value as a CQL literal: `'it''s'`, `{'a': 1}`, `'2024-06-12'`. An empty value of another type than text and
    /// blob has no literal of its own and shows as `''`, which CQL takes for timestamps and addresses.
    #[must_use]
    pub fn literal(&self) -> Literal<'_> {
        Literal(self)
    }
}

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Text(text) | Value::Ascii(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Timestamp(_) | Value::Date(_) | Value::Time(_) | Value::Inet(_) | Value::Empty => {
                write!(f, "'{}'", self.0)
            }
            plain => plain.fmt(f),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii(text) | Self::Text(text) => f.write_str(text),
            Self::Bigint(number) | Self::Counter(number) => number.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::Smallint(number) => number.fmt(f),
            Self::Tinyint(number) => number.fmt(f),
            Self::Boolean(truth) => truth.fmt(f),
            Self::Double(number) if number.is_infinite() => write_infinity(f, *number > 0.0),
            Self::Float(number) if number.is_infinite() => write_infinity(f, *number > 0.0),
            // Rust's debug form: shortest digits that read back, always with a point or an exponent.
            Self::Double(number) => fmt::Debug::fmt(number, f),
            Self::Float(number) => fmt::Debug::fmt(number, f),
            Self::Blob(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Date(date) => date.fmt(f),
            Self::Decimal(decimal) => decimal.fmt(f),
            Self::Duration(duration) => duration.fmt(f),
            Self::Inet(address) => address.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Timestamp(time) => time.fmt(f),
            Self::Timeuuid(uuid) => uuid.fmt(f),
            Self::Uuid(uuid) => uuid.fmt(f),
            Self::Varint(number) => number.fmt(f),
            Self::List(values) | Self::Vector(values) => {
                write_joined(f, "[]", values, |f, value| write_nullable(f, Some(value)))
            }
            Self::Set(values) => write_joined(f, "{}", values, |f, value| write_nullable(f, Some(value))),
            Self::Map(entries) => write_joined(f, "{}", entries, |f, (key, value)| {
                write!(f, "{}: {}", key.literal(), value.literal())
            }),
            Self::Tuple(values) => {
                write_joined(f, "()", values, |f, value| write_nullable(f, value.as_ref()))
            }
            Self::Udt(fields) => write_joined(f, "{}", fields, |f, (name, value)| {
                write_identifier(f, name)?;
                f.write_str(": ")?;
                write_nullable(f, value.as_ref())
            }),
            Self::Empty => Ok(()),
        }
    }
}

fn write_infinity(f: &mut fmt::Formatter<'_>, positive: bool) -> fmt::Result {
    f.write_str(if positive { "Infinity" } else { "-Infinity" })
}

fn write_nullable(f: &mut fmt::Formatter<'_>, value: Option<&Value>) -> fmt::Result {
    match value {
        Some(value) => write!(f, "{}", value.literal()),
        None => f.write_str("null"),
    }
}

fn write_joined<T>(
    f: &mut fmt::Formatter<'_>,
    brackets: &str,
    items: &[T],
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    let (open, close) = brackets.split_at(1);
    f.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        write(f, item)?;
    }
    f.write_str(close)
}
