//! Numbers of any numeric type, decoded, and their conversions as Java makes them.
//!
//! What `arithmetic`, `cast`, `math`, `aggregate` and `collection` share: `Number` between bytes and bytes.

use num_bigint::BigInt;
use skep_engine::model::bytes::Bytes;
use skep_engine::{CqlType, Decimal};

use crate::function::decimal;
use crate::function::decimal::Outcome;

/// The numeric types, smaller ones first; a counter counts as one.
pub const NUMERIC: [CqlType; 9] = [
    CqlType::Tinyint,
    CqlType::Smallint,
    CqlType::Int,
    CqlType::Bigint,
    CqlType::Float,
    CqlType::Double,
    CqlType::Decimal,
    CqlType::Varint,
    CqlType::Counter,
];

/// Whether `ty` is one of [`NUMERIC`].
#[must_use]
pub fn is_numeric(ty: &CqlType) -> bool {
    NUMERIC.contains(ty)
}

/// A decoded number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    /// `tinyint`, `smallint`, `int`, `bigint`, `counter`.
    Integer(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `varint`.
    Varint(BigInt),
    /// `decimal`.
    Decimal(Decimal),
}

impl Number {
    /// The number of type `ty` in `bytes`; `None` for an empty value, and for bytes of another length.
    pub(crate) fn decode(bytes: &[u8], ty: &CqlType) -> Option<Self> {
        Some(match ty.unfrozen() {
            CqlType::Tinyint => Self::Integer(i8::from_be_bytes(bytes.try_into().ok()?).into()),
            CqlType::Smallint => Self::Integer(i16::from_be_bytes(bytes.try_into().ok()?).into()),
            CqlType::Int => Self::Integer(i32::from_be_bytes(bytes.try_into().ok()?).into()),
            CqlType::Bigint | CqlType::Counter => Self::Integer(i64::from_be_bytes(bytes.try_into().ok()?)),
            CqlType::Float => Self::Float(f32::from_be_bytes(bytes.try_into().ok()?)),
            CqlType::Double => Self::Double(f64::from_be_bytes(bytes.try_into().ok()?)),
            CqlType::Varint if !bytes.is_empty() => Self::Varint(BigInt::from_signed_bytes_be(bytes)),
            CqlType::Decimal => {
                let (scale, unscaled) = bytes.split_first_chunk()?;
                Self::Decimal(Decimal::new(
                    BigInt::from_signed_bytes_be(unscaled),
                    i32::from_be_bytes(*scale),
                ))
            }
            _ => return None,
        })
    }

    /// The bytes of the number as a value of `ty`, converted as by [`Number::to`].
    ///
    /// # Errors
    /// NaN and the infinities are no decimals; a decimal of a huge exponent is no varint.
    pub(crate) fn encode(&self, ty: &CqlType) -> Outcome<Bytes> {
        Ok(match self.to(ty)? {
            Self::Integer(number) => match ty {
                CqlType::Tinyint => Bytes::new(&(number as i8).to_be_bytes()),
                CqlType::Smallint => Bytes::new(&(number as i16).to_be_bytes()),
                CqlType::Int => Bytes::new(&(number as i32).to_be_bytes()),
                _ => Bytes::new(&number.to_be_bytes()),
            },
            Self::Float(number) => Bytes::new(&number.to_be_bytes()),
            Self::Double(number) => Bytes::new(&number.to_be_bytes()),
            Self::Varint(number) => Bytes::new(&number.to_signed_bytes_be()),
            Self::Decimal(decimal) => {
                let mut bytes = decimal.scale.to_be_bytes().to_vec();
                bytes.extend_from_slice(&decimal.unscaled.to_signed_bytes_be());
                Bytes::new(&bytes)
            }
        })
    }

    /// The number as one of `ty`: integers wrap around, floats saturate at 32 bits (64 for `bigint`) and then wrap.
    ///
    /// # Errors
    /// NaN and the infinities are no decimals.
    pub(crate) fn to(&self, ty: &CqlType) -> Outcome<Self> {
        Ok(match ty {
            CqlType::Tinyint | CqlType::Smallint | CqlType::Int => Self::Integer(self.to_int(ty)),
            CqlType::Bigint | CqlType::Counter => Self::Integer(self.to_i64()),
            CqlType::Float => Self::Float(self.to_f32()),
            CqlType::Double => Self::Double(self.to_f64()),
            CqlType::Varint => Self::Varint(self.to_varint()),
            _ => Self::Decimal(self.to_decimal()?),
        })
    }

    /// As Java's `intValue`, cut to the width of `ty`.
    fn to_int(&self, ty: &CqlType) -> i64 {
        let wide = match self {
            Self::Float(number) => i64::from(*number as i32),
            Self::Double(number) => i64::from(*number as i32),
            other => other.to_i64(),
        };
        match ty {
            CqlType::Tinyint => (wide as i8).into(),
            CqlType::Smallint => (wide as i16).into(),
            _ => (wide as i32).into(),
        }
    }

    /// As Java's `longValue`: integers wrap around, floats saturate.
    pub(crate) fn to_i64(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            Self::Float(number) => *number as i64,
            Self::Double(number) => *number as i64,
            Self::Varint(number) => decimal::integer_low_bits(number),
            Self::Decimal(number) => decimal::low_bits(number),
        }
    }

    /// The nearest float.
    pub(crate) fn to_f32(&self) -> f32 {
        match self {
            Self::Integer(number) => *number as f32,
            Self::Float(number) => *number,
            Self::Double(number) => *number as f32,
            Self::Varint(number) => decimal::to_float(&Decimal::new(number.clone(), 0)),
            Self::Decimal(number) => decimal::to_float(number),
        }
    }

    /// The nearest double.
    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Self::Integer(number) => *number as f64,
            Self::Float(number) => (*number).into(),
            Self::Double(number) => *number,
            Self::Varint(number) => decimal::to_double(&Decimal::new(number.clone(), 0)),
            Self::Decimal(number) => decimal::to_double(number),
        }
    }

    /// An integer of any size; what is none passes through 64 bits.
    pub(crate) fn to_varint(&self) -> BigInt {
        match self {
            Self::Varint(number) => number.clone(),
            other => other.to_i64().into(),
        }
    }

    /// A decimal: integers exactly, floats by the digits that the double prints with.
    pub(crate) fn to_decimal(&self) -> Outcome {
        match self {
            Self::Integer(number) => Ok((*number).into()),
            Self::Float(number) => decimal::from_double((*number).into()),
            Self::Double(number) => decimal::from_double(*number),
            Self::Varint(number) => Ok(Decimal::new(number.clone(), 0)),
            Self::Decimal(number) => Ok(number.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_is_javas() {
        let to = |number: &Number, ty: &CqlType| number.to(ty).unwrap().to_i64();
        assert_eq!(to(&Number::Double(1e300), &CqlType::Tinyint), -1);
        assert_eq!(to(&Number::Float(-1e10), &CqlType::Smallint), 0);
        assert_eq!(to(&Number::Double(1e300), &CqlType::Bigint), i64::MAX);
        assert_eq!(to(&Number::Double(f64::NAN), &CqlType::Int), 0);
        assert_eq!(to(&Number::Integer(70_000), &CqlType::Smallint), 4464);
        let big: BigInt = "340282366920938463463374607431768211457".parse().unwrap();
        assert_eq!(to(&Number::Varint(big.clone()), &CqlType::Bigint), 1);
        assert!(Number::Varint(big).to_f32().is_infinite());
        assert!(Number::Double(f64::INFINITY).to(&CqlType::Decimal).is_err());
    }

    #[test]
    fn an_empty_value_is_no_number() {
        for ty in &NUMERIC {
            assert_eq!(Number::decode(&[], ty), None);
            let seven = Number::Integer(7).encode(ty).unwrap();
            assert_eq!(Number::decode(&seven, ty).unwrap().to_i64(), 7);
        }
    }
}
