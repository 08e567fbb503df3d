//! One value that a Rust program hands in: a number, a borrowed text, nothing.
//!
//! [`Arg`] exists so that writing a row allocates nothing: texts and bytes are borrowed, numbers are copied. The
//! `row!` macro makes a list of them from plain Rust values. What a column makes of an argument is decided by its type
//! (see [`Arg::put_wire`]): integers widen to any integer type that can hold them, `f32` to double, text fits ascii too.

use crate::error::{Error, Result};
use crate::model::codec;
use crate::model::duration::Duration;
use crate::model::numeric::{Decimal, Varint};
use crate::model::time::{Date, Time, Timestamp};
use crate::model::types::CqlType;
use crate::model::uuid::{Timeuuid, Uuid};
use crate::model::value::Value;
use std::borrow::Cow;
use std::net::IpAddr;

/// Deletes the column's value when written (a tombstone). `None` in contrast leaves the column as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Null;

/// A value on its way into the store.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg<'a> {
    /// Leaves the column alone and writes nothing. What `None` becomes.
    Unset,
    /// Deletes the column's value.
    Null,
    /// A boolean.
    Bool(bool),
    /// Any integer type.
    Int(i64),
    /// A float or double.
    Double(f64),
    /// A float or double.
    Float(f32),
    /// text or ascii.
    Text(Cow<'a, str>),
    /// A blob.
    Blob(Cow<'a, [u8]>),
    /// A timestamp.
    Timestamp(Timestamp),
    /// A date.
    Date(Date),
    /// A time of day.
    Time(Time),
    /// A uuid or timeuuid.
    Uuid([u8; 16]),
    /// An address.
    Inet(IpAddr),
    /// Anything else, collections among them.
    Value(Value),
}

impl Arg<'_> {
    /// Whether it writes nothing.
    pub fn is_unset(&self) -> bool {
        matches!(self, Arg::Unset)
    }

    /// Appends the wire serialisation for a column of type `ty`.
    ///
    /// # Errors
    /// `Invalid` if the argument is no value of that type, or is null or unset.
    #[inline]
    pub fn put_wire(&self, ty: &CqlType, out: &mut Vec<u8>) -> Result<()> {
        match (self, ty) {
            (Arg::Double(v), CqlType::Double) => out.extend_from_slice(&v.to_be_bytes()),
            (Arg::Timestamp(v), CqlType::Timestamp) => out.extend_from_slice(&v.as_millis().to_be_bytes()),
            (Arg::Int(v), CqlType::Bigint | CqlType::Counter) => out.extend_from_slice(&v.to_be_bytes()),
            (Arg::Int(v), CqlType::Int) => match i32::try_from(*v) {
                Ok(v) => out.extend_from_slice(&v.to_be_bytes()),
                Err(_) => return Err(out_of_range(*v, ty)),
            },
            (Arg::Text(v), CqlType::Text) => out.extend_from_slice(v.as_bytes()),
            (Arg::Blob(v), CqlType::Blob) => out.extend_from_slice(v),
            (Arg::Date(v), CqlType::Date) => out.extend_from_slice(&v.0.to_be_bytes()),
            (Arg::Float(v), CqlType::Float) => out.extend_from_slice(&v.to_be_bytes()),
            (Arg::Bool(v), CqlType::Boolean) => out.push(u8::from(*v)),
            (Arg::Uuid(v), CqlType::Uuid) => out.extend_from_slice(v),
            (arg, CqlType::Frozen(inner)) => return arg.put_wire(inner, out),
            _ => return self.put_other(ty, out),
        }
        Ok(())
    }

    /// The less usual combinations.
    fn put_other(&self, ty: &CqlType, out: &mut Vec<u8>) -> Result<()> {
        match (self, ty) {
            (Arg::Int(v), CqlType::Smallint) => {
                out.extend_from_slice(&i16::try_from(*v).map_err(|_| out_of_range(*v, ty))?.to_be_bytes());
            }
            (Arg::Int(v), CqlType::Tinyint) => {
                out.extend_from_slice(&i8::try_from(*v).map_err(|_| out_of_range(*v, ty))?.to_be_bytes());
            }
            (Arg::Int(v), CqlType::Varint) => codec::encode(&Value::Varint(Varint((*v).into())), ty, out)?,
            (Arg::Float(v), CqlType::Double) => out.extend_from_slice(&f64::from(*v).to_be_bytes()),
            (Arg::Text(v), CqlType::Ascii) => codec::encode(&Value::Ascii(v.clone().into_owned()), ty, out)?,
            (Arg::Time(v), CqlType::Time) => codec::encode(&Value::Time(*v), ty, out)?,
            (Arg::Uuid(v), CqlType::Timeuuid) => {
                codec::encode(&Value::Timeuuid(Timeuuid::from_bytes(*v)?), ty, out)?;
            }
            (Arg::Inet(v), CqlType::Inet) => codec::encode(&Value::Inet(*v), ty, out)?,
            (Arg::Value(v), _) => codec::encode(v, ty, out)?,
            (Arg::Unset, _) => return Err(Error::invalid("the value is not set")),
            (Arg::Null, _) => return Err(Error::invalid("the value is null")),
            _ => {
                let how = match (self, ty) {
                    (Arg::Text(_), CqlType::Timestamp) => " (Timestamp::parse makes one)",
                    (Arg::Text(_), CqlType::Date) => " (Date::parse makes one)",
                    (Arg::Text(_), CqlType::Time) => " (Time::parse makes one)",
                    (Arg::Int(_), CqlType::Double | CqlType::Float) => " (write 1.0 for 1)",
                    _ => "",
                };
                return Err(Error::invalid(format!("{} is no value of type {ty}{how}", self.describe())));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        match self {
            Arg::Unset => "an unset value".to_owned(),
            Arg::Null => "null".to_owned(),
            Arg::Bool(v) => format!("{v}"),
            Arg::Int(v) => format!("integer {v}"),
            Arg::Double(v) => format!("number {v}"),
            Arg::Float(v) => format!("number {v}"),
            Arg::Text(v) => format!("text '{}'", v.chars().take(40).collect::<String>()),
            Arg::Blob(v) => format!("a blob of {} bytes", v.len()),
            Arg::Timestamp(_) => "a timestamp".to_owned(),
            Arg::Date(_) => "a date".to_owned(),
            Arg::Time(_) => "a time".to_owned(),
            Arg::Uuid(_) => "a uuid".to_owned(),
            Arg::Inet(v) => format!("address {v}"),
            Arg::Value(v) => format!("a value of type {}", v.kind()),
        }
    }
}

fn out_of_range(value: i64, ty: &CqlType) -> Error {
    Error::invalid(format!("{value} does not fit type {ty}"))
}

/// `From` for types that are copied into a variant.
macro_rules! from {
    ($($ty:ty => $make:expr;)*) => {$(
        impl From<$ty> for Arg<'_> {
            #[inline]
            fn from(v: $ty) -> Self {
                let make: fn($ty) -> Self = $make;
                make(v)
            }
        }
    )*};
}

from! {
    Null => |_| Arg::Null;
    bool => Arg::Bool;
    i8 => |v| Arg::Int(v.into());
    i16 => |v| Arg::Int(v.into());
    i32 => |v| Arg::Int(v.into());
    i64 => Arg::Int;
    u8 => |v| Arg::Int(v.into());
    u16 => |v| Arg::Int(v.into());
    u32 => |v| Arg::Int(v.into());
    f64 => Arg::Double;
    f32 => Arg::Float;
    String => |v| Arg::Text(Cow::Owned(v));
    Vec<u8> => |v| Arg::Blob(Cow::Owned(v));
    Timestamp => Arg::Timestamp;
    Date => Arg::Date;
    Time => Arg::Time;
    Uuid => |v| Arg::Uuid(v.0);
    Timeuuid => |v| Arg::Uuid(*v.as_bytes());
    IpAddr => Arg::Inet;
    Duration => |v| Arg::Value(Value::Duration(v));
    Decimal => |v| Arg::Value(Value::Decimal(v));
    Varint => |v| Arg::Value(Value::Varint(v));
    Value => Arg::Value;
}

impl<'a> From<&'a str> for Arg<'a> {
    #[inline]
    fn from(v: &'a str) -> Self {
        Arg::Text(Cow::Borrowed(v))
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(v: &'a String) -> Self {
        Arg::Text(Cow::Borrowed(v))
    }
}

impl<'a> From<&'a [u8]> for Arg<'a> {
    fn from(v: &'a [u8]) -> Self {
        Arg::Blob(Cow::Borrowed(v))
    }
}

impl From<&Value> for Arg<'_> {
    fn from(v: &Value) -> Self {
        Arg::Value(v.clone())
    }
}

impl<'a, T: Into<Arg<'a>>> From<Option<T>> for Arg<'a> {
    /// `None` leaves the column alone (see [`Null`] for deleting it).
    fn from(v: Option<T>) -> Self {
        v.map_or(Arg::Unset, Into::into)
    }
}

/// A list of arguments from plain Rust values: the columns of a row in declared order, or the columns of a key.
///
/// ```
/// use skep_engine::{Arg, row};
/// let args: [Arg<'_>; 3] = row!["hive-7", 21.5, None::<i32>];
/// assert_eq!(args[2], Arg::Unset);
/// ```
#[macro_export]
macro_rules! row {
    ($($value:expr),* $(,)?) => { [$($crate::Arg::from($value)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(arg: Arg<'_>, ty: &CqlType) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        arg.put_wire(ty, &mut out).map(|()| out)
    }

    #[test]
    fn integers_widen_but_never_wrap() {
        assert_eq!(wire(1i32.into(), &CqlType::Bigint).unwrap(), [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(wire((-1i64).into(), &CqlType::Tinyint).unwrap(), [255]);
        assert!(wire(128i32.into(), &CqlType::Tinyint).is_err());
        assert!(wire(i64::MAX.into(), &CqlType::Int).is_err());
    }

    #[test]
    fn a_value_of_another_type_is_refused_with_both_named() {
        let error = wire("warm".into(), &CqlType::Double).unwrap_err();
        assert_eq!(error.message(), "text 'warm' is no value of type double");
        assert!(wire(1i32.into(), &CqlType::Double).is_err());
        assert!(wire(Arg::Null, &CqlType::Int).is_err());
    }

    #[test]
    fn none_is_unset_and_null_is_null() {
        assert_eq!(Arg::from(None::<f64>), Arg::Unset);
        assert_eq!(Arg::from(Null), Arg::Null);
        assert_eq!(Arg::from(Some(2.0)), Arg::Double(2.0));
    }
}
