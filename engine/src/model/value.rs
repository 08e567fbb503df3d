//! [`Value`]: one CQL value in memory, as callers give and get it.
//!
//! Inside the engine values are bytes; `codec` turns them into `Value` and back, with the column's type. A null is no
//! `Value`: columns and fields that may be null hold `Option<Value>`.
//!
//! # Not here
//! An order on `Value`: it depends on the type (`compare` has it, on bytes).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::SystemTime;

use num_bigint::BigInt;

use crate::error::{Error, Result};
use crate::model::duration::Duration;
use crate::model::numeric::{Decimal, Varint};
use crate::model::time::{Date, Time, Timestamp};
use crate::model::uuid::{Timeuuid, Uuid};

/// A value that is not null.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `ascii`.
    Ascii(String),
    /// `bigint`.
    Bigint(i64),
    /// `blob`.
    Blob(Vec<u8>),
    /// `boolean`.
    Boolean(bool),
    /// `counter`.
    Counter(i64),
    /// `date`.
    Date(Date),
    /// `decimal`.
    Decimal(Decimal),
    /// `double`.
    Double(f64),
    /// `duration`.
    Duration(Duration),
    /// `float`.
    Float(f32),
    /// `inet`.
    Inet(IpAddr),
    /// `int`.
    Int(i32),
    /// `smallint`.
    Smallint(i16),
    /// `text`.
    Text(String),
    /// `time`.
    Time(Time),
    /// `timestamp`.
    Timestamp(Timestamp),
    /// `timeuuid`.
    Timeuuid(Timeuuid),
    /// `tinyint`.
    Tinyint(i8),
    /// `uuid`.
    Uuid(Uuid),
    /// `varint`.
    Varint(Varint),
    /// `list`.
    List(Vec<Value>),
    /// `set`; sorted and without duplicates when it was read, in any order when it is to be written.
    Set(Vec<Value>),
    /// `map`; entries as those of a set, by key. Of equal keys the last is written.
    Map(Vec<(Value, Value)>),
    /// `tuple`; fields at the end may be missing, which means null.
    Tuple(Vec<Option<Value>>),
    /// A user type: fields by name. Read: all, in the type's order. To be written: any of them, a missing one being null.
    Udt(Vec<(String, Option<Value>)>),
    /// `vector`.
    Vector(Vec<Value>),
    /// A value of no bytes, of a type that has no ordinary value like that (an empty `int`, unlike an empty `text`).
    Empty,
}

impl Value {
    /// What kind of value it is, in the words of CQL.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ascii(_) => "ascii",
            Self::Bigint(_) => "bigint",
            Self::Blob(_) => "blob",
            Self::Boolean(_) => "boolean",
            Self::Counter(_) => "counter",
            Self::Date(_) => "date",
            Self::Decimal(_) => "decimal",
            Self::Double(_) => "double",
            Self::Duration(_) => "duration",
            Self::Float(_) => "float",
            Self::Inet(_) => "inet",
            Self::Int(_) => "int",
            Self::Smallint(_) => "smallint",
            Self::Text(_) => "text",
            Self::Time(_) => "time",
            Self::Timestamp(_) => "timestamp",
            Self::Timeuuid(_) => "timeuuid",
            Self::Tinyint(_) => "tinyint",
            Self::Uuid(_) => "uuid",
            Self::Varint(_) => "varint",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Map(_) => "map",
            Self::Tuple(_) => "tuple",
            Self::Udt(_) => "user type",
            Self::Vector(_) => "vector",
            Self::Empty => "empty",
        }
    }

    /// The integer of any integer kind, if it fits 64 bits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        Some(match self {
            Self::Tinyint(number) => (*number).into(),
            Self::Smallint(number) => (*number).into(),
            Self::Int(number) => (*number).into(),
            Self::Bigint(number) | Self::Counter(number) => *number,
            Self::Varint(number) => return number.to_i64(),
            _ => return None,
        })
    }

    /// The number of a `double` or `float`.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Double(number) => Some(*number),
            Self::Float(number) => Some((*number).into()),
            _ => None,
        }
    }

    /// The text of a `text` or `ascii`.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Ascii(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a `blob`.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The truth value of a `boolean`.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Boolean(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The time of a `timestamp`.
    #[must_use]
    pub fn as_timestamp(&self) -> Option<Timestamp> {
        match self {
            Self::Timestamp(time) => Some(*time),
            _ => None,
        }
    }

    fn refused(&self, wanted: &str) -> Error {
        Error::invalid(format!("a value of kind {} is no {wanted}", self.kind()))
    }
}

/// `From<Rust type>` for the kinds that correspond to exactly one Rust type.
macro_rules! from_rust {
    ($($rust:ty => $kind:ident),* $(,)?) => {$(
        impl From<$rust> for Value {
            fn from(value: $rust) -> Self {
                Self::$kind(value.into())
            }
        }
    )*};
}

from_rust! {
    bool => Boolean, i8 => Tinyint, i16 => Smallint, i32 => Int, i64 => Bigint, f32 => Float, f64 => Double,
    String => Text, &str => Text, &String => Text, Vec<u8> => Blob, &[u8] => Blob, IpAddr => Inet, Ipv4Addr => Inet, Ipv6Addr => Inet,
    Date => Date, Decimal => Decimal, Duration => Duration, Time => Time, Timestamp => Timestamp, SystemTime => Timestamp,
    Timeuuid => Timeuuid, Uuid => Uuid, BigInt => Varint, Varint => Varint,
}

/// `TryFrom<Value>` for a Rust type, from the one kind that corresponds to it.
macro_rules! to_rust {
    ($($rust:ty => $kind:ident),* $(,)?) => {$(
        impl TryFrom<Value> for $rust {
            type Error = Error;

            fn try_from(value: Value) -> Result<Self> {
                match value {
                    Value::$kind(inner) => Ok(inner),
                    other => Err(other.refused(stringify!($rust))),
                }
            }
        }
    )*};
}

to_rust! {
    bool => Boolean, f32 => Float, Vec<u8> => Blob, IpAddr => Inet, Date => Date, Decimal => Decimal, Duration => Duration,
    Time => Time, Timestamp => Timestamp, Timeuuid => Timeuuid, Varint => Varint,
}

/// `TryFrom<Value>` for integers, from every integer kind whose number fits.
macro_rules! to_integer {
    ($($rust:ty),*) => {$(
        impl TryFrom<Value> for $rust {
            type Error = Error;

            fn try_from(value: Value) -> Result<Self> {
                let number = value.as_i64().and_then(|number| number.try_into().ok());
                number.ok_or_else(|| value.refused(stringify!($rust)))
            }
        }
    )*};
}

to_integer!(i8, i16, i32, i64);

impl TryFrom<Value> for f64 {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        value.as_f64().ok_or_else(|| value.refused("f64"))
    }
}

impl TryFrom<Value> for String {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::Text(text) | Value::Ascii(text) => Ok(text),
            other => Err(other.refused("String")),
        }
    }
}

impl TryFrom<Value> for Uuid {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::Uuid(uuid) => Ok(uuid),
            Value::Timeuuid(uuid) => Ok(uuid.into()),
            other => Err(other.refused("Uuid")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_values_become_their_kind_and_come_back() {
        assert_eq!(Value::from("a"), Value::Text("a".into()));
        assert_eq!(Value::from(5), Value::Int(5));
        assert_eq!(i64::try_from(Value::Int(5)).unwrap(), 5);
        assert_eq!(f64::try_from(Value::Float(0.5)).unwrap(), 0.5);
        assert!(i8::try_from(Value::Int(128)).is_err());
        assert_eq!(bool::try_from(Value::Int(1)).unwrap_err().message(), "a value of kind int is no bool");
        assert_eq!(Value::from(SystemTime::UNIX_EPOCH), Value::Timestamp(Timestamp(0)));
    }
}
