//! Arithmetic of decimals, as Java's `BigDecimal` and Cassandra's use of it define it: which scale a result has is part of the answer.
//!
//! `arithmetic`, `aggregate`, `math` and `cast` call it. A decimal is an unscaled integer and a scale (`skep_engine::Decimal`).
//!
//! # Invariants
//! 1. Results have at most [`MAX_DIGITS`] digits, but those of [`add_exact`], whose callers sum values of one column.
//! 2. Nothing writes out more than [`MAX_EXPANSION`] zeros: `1e2000000000 % 3` is an error instead of a gigabyte.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use skep_engine::Decimal;

use crate::function::java;

/// Digits that sums, differences and products are rounded to.
pub(crate) const MAX_DIGITS: u64 = 10_000;
/// Zeros that an operation may append to an operand.
const MAX_EXPANSION: u64 = 100_000;
/// Digits that a quotient has at least, behind the point and in all.
pub(crate) const MIN_DIGITS: i64 = 32;
/// Digits behind the point that a quotient has at most.
const MAX_SCALE: i64 = 1000;

/// Why an operation has no result, in the words of the Java library.
pub(crate) type Fault = &'static str;

/// The result of an operation on decimals.
pub(crate) type Outcome<T = Decimal> = Result<T, Fault>;

/// What happens to the digits that are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, halves away from zero.
    HalfUp,
    /// To the nearest, halves to the even neighbour.
    HalfEven,
    /// Towards zero.
    Down,
}

/// Number of digits of the unscaled value; 1 for zero.
pub(crate) fn precision(decimal: &Decimal) -> i64 {
    digits(&decimal.unscaled)
}

pub(crate) fn digits(number: &BigInt) -> i64 {
    let bits = number.bits();
    if bits <= 64 {
        // At most 20 digits, counted without a text.
        let magnitude = number.iter_u64_digits().next().unwrap_or(0);
        return i64::from(magnitude.checked_ilog10().unwrap_or(0)) + 1;
    }
    i64::try_from(number.magnitude().to_string().len()).unwrap_or(i64::MAX)
}

/// `10^exponent`.
pub(crate) fn power_of_ten(exponent: u64) -> Outcome<BigInt> {
    match u32::try_from(exponent) {
        Ok(small) if exponent <= MAX_EXPANSION => Ok(BigInt::from(10).pow(small)),
        _ => Err("Overflow"),
    }
}

/// A scale as 32 bits.
fn scale(scale: i64) -> Outcome<i32> {
    i32::try_from(scale).map_err(|_| if scale > 0 { "Underflow" } else { "Overflow" })
}

/// The unscaled quotient of two integers, rounded.
pub(crate) fn divide_integers(dividend: &BigInt, divisor: &BigInt, rounding: Rounding) -> BigInt {
    let quotient = dividend / divisor;
    let rest = dividend - &quotient * divisor;
    if rest.sign() == Sign::NoSign || rounding == Rounding::Down {
        return quotient;
    }
    let twice = rest.magnitude() * 2u32;
    let away = match twice.cmp(divisor.magnitude()) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => rounding == Rounding::HalfUp || quotient.bit(0),
    };
    if !away {
        quotient
    } else if (dividend.sign() == Sign::Minus) == (divisor.sign() == Sign::Minus) {
        quotient + 1
    } else {
        quotient - 1
    }
}

/// The decimal with another scale.
pub(crate) fn set_scale(decimal: &Decimal, to: i64, rounding: Rounding) -> Outcome {
    let more = to - i64::from(decimal.scale);
    let unscaled = match more.cmp(&0) {
        Ordering::Equal => decimal.unscaled.clone(),
        _ if decimal.unscaled.sign() == Sign::NoSign => BigInt::ZERO,
        Ordering::Greater => &decimal.unscaled * power_of_ten(more.unsigned_abs())?,
        // So many digits are dropped that nothing is left, not even a half.
        Ordering::Less if more.unsigned_abs() > u64::try_from(precision(decimal)).unwrap_or(u64::MAX) => {
            BigInt::ZERO
        }
        Ordering::Less => divide_integers(&decimal.unscaled, &power_of_ten(more.unsigned_abs())?, rounding),
    };
    Ok(Decimal::new(unscaled, scale(to)?))
}

/// Rounded half up to `most` digits, if it has more.
pub(crate) fn round_to_digits(decimal: Decimal, most: u64, rounding: Rounding) -> Outcome {
    let mut decimal = decimal;
    // Rounding up may add a digit: 9.99 becomes 10.0, and then 10.
    for _ in 0..2 {
        let extra = precision(&decimal) - i64::try_from(most).unwrap_or(i64::MAX);
        if extra <= 0 {
            break;
        }
        decimal = set_scale(&decimal, i64::from(decimal.scale) - extra, rounding)?;
    }
    Ok(decimal)
}

/// Without zeros at the end, down to scale `least`; zero itself has scale 0 when nothing else is asked (`least` is the smallest number).
fn strip_zeros(decimal: Decimal, least: i64) -> Outcome {
    if decimal.unscaled.sign() == Sign::NoSign {
        return Ok(decimal);
    }
    let text = decimal.unscaled.magnitude().to_string();
    let zeros = i64::try_from(text.len() - text.trim_end_matches('0').len()).unwrap_or(0);
    let drop = zeros.min(i64::from(decimal.scale) - least).max(0);
    set_scale(&decimal, i64::from(decimal.scale) - drop, Rounding::Down)
}

/// As `BigDecimal.stripTrailingZeros`.
pub(crate) fn strip_trailing_zeros(decimal: Decimal) -> Outcome {
    if decimal.unscaled.sign() == Sign::NoSign {
        return Ok(Decimal::new(0, 0));
    }
    strip_zeros(decimal, i64::MIN / 2)
}

/// The exact sum.
pub(crate) fn add_exact(left: &Decimal, right: &Decimal) -> Outcome {
    let to = i64::from(left.scale.max(right.scale));
    let (left, right) = (set_scale(left, to, Rounding::Down)?, set_scale(right, to, Rounding::Down)?);
    Ok(Decimal::new(left.unscaled + right.unscaled, left.scale))
}

/// The difference to be added.
pub(crate) fn negate(decimal: &Decimal) -> Decimal {
    Decimal::new(-&decimal.unscaled, decimal.scale)
}

/// The sum, rounded half up to [`MAX_DIGITS`] digits.
pub(crate) fn add(left: &Decimal, right: &Decimal) -> Outcome {
    let zero = |decimal: &Decimal| decimal.unscaled.sign() == Sign::NoSign;
    if zero(left) || zero(right) {
        return add_zero(left, right);
    }
    // Where one is so much smaller that it can only tip a rounding, one digit far behind stands for it.
    let (big, small) = match (top(left)).cmp(&top(right)) {
        Ordering::Less => (right, left),
        _ => (left, right),
    };
    let limit = i64::try_from(MAX_DIGITS).unwrap_or(i64::MAX);
    let last = (i64::from(big.scale)).max(limit - top(big)) + 3;
    let sum = if i64::from(small.scale) > last && -top(small) > last {
        let sign = if small.unscaled.sign() == Sign::Minus { -1 } else { 1 };
        add_exact(big, &Decimal::new(sign, scale(last)?))?
    } else {
        add_exact(big, small)?
    };
    round_to_digits(sum, MAX_DIGITS, Rounding::HalfUp)
}

/// The power of ten just above the number: 1 for 5, 2 for 50.
fn top(decimal: &Decimal) -> i64 {
    precision(decimal) - i64::from(decimal.scale)
}

/// A sum with a zero: the other number, with the greater scale as far as the digits reach.
fn add_zero(left: &Decimal, right: &Decimal) -> Outcome {
    let preferred = i64::from(left.scale.max(right.scale));
    let other = if left.unscaled.sign() == Sign::NoSign { right } else { left };
    if other.unscaled.sign() == Sign::NoSign {
        return Ok(Decimal::new(0, scale(preferred)?));
    }
    let rounded = round_to_digits(other.clone(), MAX_DIGITS, Rounding::HalfUp)?;
    let room = i64::try_from(MAX_DIGITS).unwrap_or(i64::MAX) - precision(&rounded);
    let more = (preferred - i64::from(rounded.scale)).min(room).max(0);
    set_scale(&rounded, i64::from(rounded.scale) + more, Rounding::Down)
}

/// The product, rounded half up to [`MAX_DIGITS`] digits.
pub(crate) fn multiply(left: &Decimal, right: &Decimal) -> Outcome {
    let to = scale(i64::from(left.scale) + i64::from(right.scale))?;
    round_to_digits(Decimal::new(&left.unscaled * &right.unscaled, to), MAX_DIGITS, Rounding::HalfUp)
}

/// The quotient: at least 32 significant digits and 32 behind the point, at most 1000 behind it, without zeros at the end.
pub(crate) fn divide(left: &Decimal, right: &Decimal) -> Outcome {
    if right.unscaled.sign() == Sign::NoSign {
        return Err("BigInteger divide by zero");
    }
    let to = (MIN_DIGITS - (top(left) - top(right)))
        .max(left.scale.into())
        .max(right.scale.into())
        .clamp(MIN_DIGITS, MAX_SCALE);
    strip_trailing_zeros(divide_to_scale(left, right, to, Rounding::HalfUp)?)
}

/// The quotient with scale `to`.
pub(crate) fn divide_to_scale(left: &Decimal, right: &Decimal, to: i64, rounding: Rounding) -> Outcome {
    if right.unscaled.sign() == Sign::NoSign {
        return Err("BigInteger divide by zero");
    }
    let more = to - (i64::from(left.scale) - i64::from(right.scale));
    let unscaled = if more >= 0 {
        divide_integers(&(&left.unscaled * power_of_ten(more.unsigned_abs())?), &right.unscaled, rounding)
    } else {
        divide_integers(&left.unscaled, &(&right.unscaled * power_of_ten(more.unsigned_abs())?), rounding)
    };
    Ok(Decimal::new(unscaled, scale(to)?))
}

/// What is left of `left` after taking `right` away a whole number of times; it has the sign of `left`.
pub(crate) fn remainder(left: &Decimal, right: &Decimal) -> Outcome {
    if right.unscaled.sign() == Sign::NoSign {
        return Err(match left.unscaled.sign() {
            Sign::NoSign => "Division undefined",
            _ => "Division by zero",
        });
    }
    let preferred = i64::from(left.scale) - i64::from(right.scale);
    let quotient = if left.unscaled.sign() == Sign::NoSign || top(left) < top(right) {
        Decimal::new(0, scale(preferred)?)
    } else {
        let whole = divide_to_scale(left, right, 0, Rounding::Down)?;
        if whole.unscaled.sign() == Sign::NoSign {
            Decimal::new(0, scale(preferred)?)
        } else {
            let stripped = strip_zeros(whole, preferred)?;
            let to = i64::from(stripped.scale).max(preferred);
            set_scale(&stripped, to, Rounding::Down)?
        }
    };
    let taken = Decimal::new(
        &quotient.unscaled * &right.unscaled,
        scale(i64::from(quotient.scale) + i64::from(right.scale))?,
    );
    add_exact(left, &negate(&taken))
}

/// As `BigDecimal.valueOf(double)`: the digits that the double prints with.
///
/// # Errors
/// NaN and the infinities are no decimals.
pub(crate) fn from_double(number: f64) -> Outcome {
    if number.is_nan() {
        return Err("A NaN cannot be converted into a decimal");
    }
    if number.is_infinite() {
        return Err("An infinite number cannot be converted into a decimal");
    }
    Decimal::parse(&java::double(number)).map_err(|_| "a double without digits")
}

/// The nearest double.
pub(crate) fn to_double(decimal: &Decimal) -> f64 {
    format!("{}e{}", decimal.unscaled, -i64::from(decimal.scale)).parse().unwrap_or(f64::NAN)
}

/// The nearest float.
pub(crate) fn to_float(decimal: &Decimal) -> f32 {
    format!("{}e{}", decimal.unscaled, -i64::from(decimal.scale)).parse().unwrap_or(f32::NAN)
}

/// Whether a double has exactly the digits of the decimal.
pub(crate) fn is_a_double(decimal: &Decimal) -> bool {
    from_double(to_double(decimal)).is_ok_and(|same| same.compare(decimal) == Ordering::Equal)
}

/// The integer part, if it can be written out.
pub(crate) fn to_integer(decimal: &Decimal) -> Outcome<BigInt> {
    Ok(set_scale(decimal, 0, Rounding::Down)?.unscaled)
}

/// The low 64 bits of the integer part, as `BigDecimal.longValue` has them.
pub(crate) fn low_bits(decimal: &Decimal) -> i64 {
    // 10^64 and beyond are multiples of 2^64.
    if decimal.scale <= -64 { 0 } else { to_integer(decimal).map_or(0, |whole| integer_low_bits(&whole)) }
}

/// The low 64 bits of an integer in two's complement.
pub(crate) fn integer_low_bits(number: &BigInt) -> i64 {
    let low = number.iter_u64_digits().next().unwrap_or(0).cast_signed();
    if number.sign() == Sign::Minus { low.wrapping_neg() } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn quotients_have_32_digits_and_no_zeros_at_the_end() {
        for (left, right, quotient) in [
            ("7", "3.0", "2.33333333333333333333333333333333"),
            ("7", "9.0", "0.77777777777777777777777777777778"),
            ("1e20", "3.0", "33333333333333333333.33333333333333333333333333333333"),
            ("1e-20", "3.0", "3.3333333333333333333333333333333E-21"),
            ("1.000", "1.0", "1"),
            ("7", "1.1", "6.36363636363636363636363636363636"),
            ("-3.50", "2.0", "-1.75"),
            ("0", "3", "0"),
        ] {
            assert_eq!(divide(&of(left), &of(right)).unwrap().to_string(), quotient, "{left} / {right}");
        }
        assert_eq!(divide(&of("1"), &of("0.00")), Err("BigInteger divide by zero"));
    }

    #[test]
    fn remainders_have_the_sign_of_the_dividend() {
        for (left, right, rest) in [
            ("7", "4.0", "3.0"),
            ("-3.50", "2.0", "-1.50"),
            ("5.5", "-2", "1.5"),
            ("70", "7.0", "0"),
            ("0.5", "7", "0.5"),
            ("5", "7.0", "5"),
        ] {
            assert_eq!(remainder(&of(left), &of(right)).unwrap().to_string(), rest, "{left} % {right}");
        }
        assert_eq!(remainder(&of("1"), &of("0")), Err("Division by zero"));
        assert_eq!(remainder(&of("0"), &of("0")), Err("Division undefined"));
        assert_eq!(remainder(&of("1e2000000000"), &of("3")), Err("Overflow"));
    }

    #[test]
    fn sums_of_worlds_apart_are_rounded_without_being_written_out() {
        let sum = add(&of("1e1000000000"), &of("-1e-1000000000")).unwrap();
        assert_eq!(precision(&sum), 10_000);
        assert_eq!(add(&of("1.5"), &of("0e3")).unwrap().to_string(), "1.5");
        assert_eq!(add(&of("7"), &of("7.0")).unwrap().to_string(), "14.0");
        assert_eq!(multiply(&of("7"), &of("3.0")).unwrap().to_string(), "21.0");
    }

    #[test]
    fn rounding_knows_halves() {
        for (text, up, even) in [
            ("2.5", "3", "2"),
            ("-2.5", "-3", "-2"),
            ("3.5", "4", "4"),
            ("-3.75", "-4", "-4"),
            ("0.4", "0", "0"),
        ] {
            assert_eq!(set_scale(&of(text), 0, Rounding::HalfUp).unwrap().to_string(), up);
            assert_eq!(set_scale(&of(text), 0, Rounding::HalfEven).unwrap().to_string(), even);
        }
        assert_eq!(set_scale(&of("1e3"), 0, Rounding::HalfUp).unwrap().to_string(), "1000");
        assert_eq!(round_to_digits(of("9.99"), 2, Rounding::HalfUp).unwrap().to_string(), "10");
    }

    #[test]
    fn conversions_to_machine_numbers_wrap_or_round() {
        assert_eq!(low_bits(&of("1e30")), 5_076_944_270_305_263_616);
        assert_eq!(low_bits(&of("1e2000000000")), 0);
        assert_eq!(low_bits(&of("-7.99")), -7);
        assert_eq!(integer_low_bits(&"-9223372036854775809".parse().unwrap()), i64::MAX);
        assert_eq!(to_double(&of("-0.00000001")), -1e-8);
        assert!(is_a_double(&of("1.10")) && !is_a_double(&of("0.12345678901234567890123")));
        assert_eq!(from_double(1e10).unwrap().to_string(), "1.0E+10");
        assert!(from_double(f64::NAN).is_err());
    }
}
