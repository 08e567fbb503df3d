//! Numbers of any size: [`Varint`] and [`Decimal`].
//!
//! Held as `num-bigint` integers; `codec` has their bytes, `compare` and `encoding::order` their order. Neither comparing
//! nor ordering ever writes a decimal's digits out to its scale: `1e1000000` is one digit and an exponent.
//!
//! # Not here
//! Arithmetic and rounding belong to the query language.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, Sign};

use crate::error::{Error, Result};

/// An integer of any size, CQL's `varint`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Varint(pub BigInt);

impl Varint {
    /// The integer that `text` spells in decimal digits, with an optional sign.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        parse_int(text)
            .map(Self)
            .ok_or_else(|| Error::invalid(format!("Unable to make varint from '{text}'")))
    }

    /// The number as 64 bits, if it fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(&self.0).ok()
    }
}

impl From<i64> for Varint {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

impl From<BigInt> for Varint {
    fn from(number: BigInt) -> Self {
        Self(number)
    }
}

impl fmt::Display for Varint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `unscaled * 10^-scale`, CQL's `decimal`. Equality is that of the representation (`1.0` is not `1.00`), as for
/// partition keys; [`Decimal::compare`] is that of the value, as for clustering keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    /// The digits, as an integer.
    pub unscaled: BigInt,
    /// How many of the digits stand behind the point; negative: how many zeros follow them.
    pub scale: i32,
}

/// The value of a decimal other than zero as `0.DIGITS * 10^exponent`.
pub(crate) struct Scientific {
    /// Whether the value is below zero.
    pub(crate) negative: bool,
    /// The power of ten.
    pub(crate) exponent: i64,
    /// ASCII digits, the first and the last of them not `0`.
    pub(crate) digits: Vec<u8>,
}

impl Decimal {
    /// `unscaled * 10^-scale`.
    #[must_use]
    pub fn new(unscaled: impl Into<BigInt>, scale: i32) -> Self {
        Self { unscaled: unscaled.into(), scale }
    }

    /// The decimal that `text` spells: digits with an optional sign, point and exponent. The scale is kept.
    ///
    /// # Errors
    /// `Invalid` for anything else, or a scale beyond 32 bits.
    pub fn parse(text: &str) -> Result<Self> {
        parse_decimal(text).ok_or_else(|| Error::invalid(format!("Unable to make BigDecimal from '{text}'")))
    }

    /// Compares by value, whatever the scales.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        let by_sign = sign(&self.unscaled).cmp(&sign(&other.unscaled));
        let (Ordering::Equal, Some(left), Some(right)) = (by_sign, self.scientific(), other.scientific())
        else {
            return by_sign;
        };
        let magnitude = left.exponent.cmp(&right.exponent).then_with(|| left.digits.cmp(&right.digits));
        if left.negative { magnitude.reverse() } else { magnitude }
    }

    /// From its serialised form: the scale, then the unscaled integer.
    pub(crate) fn from_wire(bytes: &[u8]) -> Option<Self> {
        let (scale, unscaled) = bytes.split_first_chunk()?;
        Some(Self { unscaled: BigInt::from_signed_bytes_be(unscaled), scale: i32::from_be_bytes(*scale) })
    }

    /// The normalised form; `None` for zero.
    pub(crate) fn scientific(&self) -> Option<Scientific> {
        let negative = match self.unscaled.sign() {
            Sign::NoSign => return None,
            sign => sign == Sign::Minus,
        };
        let mut digits = self.unscaled.magnitude().to_string().into_bytes();
        let exponent = i64::try_from(digits.len()).unwrap_or(i64::MAX).saturating_sub(i64::from(self.scale));
        let kept = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
        digits.truncate(kept);
        Some(Scientific { negative, exponent, digits })
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self::new(number, 0)
    }
}

impl fmt::Display for Decimal {
    /// As Java's `BigDecimal.toString`: plain digits while there are at most six zeros behind the point, else with an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.magnitude().to_string();
        if self.unscaled.sign() == Sign::Minus {
            f.write_str("-")?;
        }
        let scale = i64::from(self.scale);
        let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let exponent = length.saturating_sub(1).saturating_sub(scale);
        if scale == 0 {
            f.write_str(&digits)
        } else if scale > 0 && exponent >= -6 {
            let zeros = usize::try_from(scale + 1 - length).unwrap_or(0);
            let padded = "0".repeat(zeros) + &digits;
            let point = padded.len() - usize::try_from(scale).unwrap_or(0);
            write!(f, "{}.{}", &padded[..point], &padded[point..])
        } else {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            write!(f, "{first}{point}{rest}E{exponent:+}")
        }
    }
}

fn sign(number: &BigInt) -> i8 {
    match number.sign() {
        Sign::Minus => -1,
        Sign::NoSign => 0,
        Sign::Plus => 1,
    }
}

fn parse_int(text: &str) -> Option<BigInt> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { BigInt::parse_bytes(text.as_bytes(), 10) } else { None }
}

fn parse_decimal(text: &str) -> Option<Decimal> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some(Decimal { unscaled: parse_int(&format!("{whole}{fraction}"))?, scale: i32::try_from(scale).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn a_decimal_keeps_its_scale_and_prints_as_java_does() {
        for (text, printed) in [
            ("1.10", "1.10"),
            ("-0.00", "0.00"),
            ("1e5", "1E+5"),
            ("1.5e5", "1.5E+5"),
            ("0.0000001", "1E-7"),
            ("0.000001", "0.000001"),
            ("-0.5", "-0.5"),
            ("1.", "1"),
            (".5", "0.5"),
            ("1e-2147483647", "1E-2147483647"),
            ("-8186.58925", "-8186.58925"),
            ("0E+5", "0E+5"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), printed);
        }
        for text in ["", ".", "-", "1e", "1e99999999999", "1e2147483649", "0x1", "1_0", "--1", "1.-5", "NaN"]
        {
            assert!(Decimal::parse(text).is_err(), "{text}");
        }
        assert!(Varint::parse("1_0").is_err());
    }

    #[test]
    fn exponents_a_world_apart_compare_at_once() {
        let (small, large) = (Decimal::parse("1e-1000000").unwrap(), Decimal::parse("1e1000000").unwrap());
        assert_eq!(small.compare(&large), Ordering::Less);
        assert_eq!(Decimal::parse("-1e1000000").unwrap().compare(&small), Ordering::Less);
        assert_eq!(
            Decimal::parse("1.0").unwrap().compare(&Decimal::parse("1.000").unwrap()),
            Ordering::Equal
        );
        assert_eq!(Decimal::parse("0e9").unwrap().compare(&Decimal::parse("0.00").unwrap()), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn comparing_agrees_with_digits_written_out(a in any::<i32>(), s in -9i32..9, b in any::<i32>(), t in -9i32..9, close in any::<bool>()) {
            let b = if close { a } else { b };
            let written = |number: i32, scale: i32| i128::from(number) * 10i128.pow((9 - scale).unsigned_abs());
            prop_assert_eq!(Decimal::new(a, s).compare(&Decimal::new(b, t)), written(a, s).cmp(&written(b, t)));
            let text = Decimal::new(a, s).to_string();
            prop_assert_eq!(Decimal::parse(&text).unwrap(), Decimal::new(a, s));
        }
    }
}
