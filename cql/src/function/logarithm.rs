//! Exponential and logarithms of decimals, to as many digits as wanted.
//!
//! Called by `math`. Numbers are held as integers scaled by a power of two, so that a product is scaled back by a shift.
//!
//! # Invariants
//! 1. Results are rounded to the digits asked for from at least ten more; those that are exact (`exp(0)`, `log(1)`, `log10(100)`) are exact.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use skep_engine::Decimal;

use crate::function::decimal;
use crate::function::decimal::{Outcome, Rounding, precision};

/// Digits kept beyond those asked for.
const GUARD: u64 = 24;

/// `e` to the power of `x`, of `digits` digits.
///
/// # Errors
/// The result has an exponent beyond 32 bits.
pub(crate) fn exp(x: &Decimal, digits: u64) -> Outcome {
    if x.unscaled.sign() == Sign::NoSign {
        return Ok(Decimal::new(1, 0));
    }
    let top = precision(x) - i64::from(x.scale);
    if top > 11 {
        return Err(if x.unscaled.sign() == Sign::Minus { "Underflow" } else { "Overflow" });
    }
    let bits = bits(digits + GUARD);
    let tiny = top < -i64::try_from(digits + GUARD).unwrap_or(i64::MAX);
    let x = if tiny { BigInt::ZERO } else { to_fixed(x, bits)? };
    // e^x = 10^n * e^rest
    let ln10 = ln10(bits);
    let mut tens = &x / &ln10;
    if x.sign() == Sign::Minus {
        tens -= 1;
    }
    let rest = exp_fixed(&(x - &tens * ln10), bits);
    let tens = i64::try_from(tens).map_err(|_| "Overflow")?;
    let places = i64::try_from(digits + GUARD / 2).unwrap_or(i64::MAX);
    let unscaled = (rest * decimal::power_of_ten(places.unsigned_abs())?) >> bits;
    let scale = i32::try_from(places - tens).map_err(|_| if tens > 0 { "Overflow" } else { "Underflow" })?;
    decimal::round_to_digits(Decimal::new(unscaled, scale), digits, Rounding::HalfEven)
}

/// The natural logarithm of `x`, of `digits` digits.
///
/// # Errors
/// `x` is zero or less.
pub(crate) fn log(x: &Decimal, digits: u64) -> Outcome {
    if x.unscaled.sign() != Sign::Plus {
        return Err("Natural log of number zero or less");
    }
    if x.compare(&Decimal::new(1, 0)) == Ordering::Equal {
        return Ok(Decimal::new(0, 0));
    }
    let top = precision(x) - i64::from(x.scale);
    // Near 1 the logarithm begins with as many zeros as x - 1 does.
    let mut zeros = 0;
    if matches!(top, 0 | 1) {
        let off = decimal::add_exact(x, &Decimal::new(-1, 0))?;
        zeros = (i64::from(off.scale) - precision(&off)).max(0).unsigned_abs();
        if zeros > digits + GUARD {
            return decimal::round_to_digits(off, digits, Rounding::HalfEven);
        }
    }
    let bits = bits(digits + zeros + GUARD);
    let mantissa = Decimal::new(x.unscaled.clone(), i32::try_from(precision(x)).map_err(|_| "Overflow")?);
    let fixed = ln_fixed(&to_fixed(&mantissa, bits)?, bits) + ln10(bits) * top;
    let places = digits + zeros + GUARD / 2;
    let unscaled = (fixed * decimal::power_of_ten(places)?) >> bits;
    let scale = i32::try_from(places).map_err(|_| "Underflow")?;
    decimal::round_to_digits(Decimal::new(unscaled, scale), digits, Rounding::HalfEven)
}

/// The logarithm to base ten of `x`, of `digits` digits.
///
/// # Errors
/// `x` is zero or less.
pub(crate) fn log10(x: &Decimal, digits: u64) -> Outcome {
    if x.unscaled.sign() != Sign::Plus {
        return Err("Log10 of number zero or less");
    }
    let stripped = decimal::strip_trailing_zeros(x.clone())?;
    if stripped.unscaled == BigInt::from(1) {
        return Ok(Decimal::new(-i64::from(stripped.scale), 0));
    }
    let (numerator, ten) = (log(x, digits + GUARD)?, log(&Decimal::new(10, 0), digits + GUARD)?);
    let places = i64::try_from(digits + GUARD).unwrap_or(i64::MAX) + i64::from(numerator.scale)
        - precision(&numerator);
    let quotient = decimal::divide_to_scale(&numerator, &ten, places, Rounding::Down)?;
    decimal::round_to_digits(quotient, digits, Rounding::HalfEven)
}

/// Bits for so many decimal digits behind the point.
fn bits(digits: u64) -> u64 {
    digits * 3322 / 1000 + 64
}

fn to_fixed(x: &Decimal, bits: u64) -> Outcome<BigInt> {
    let scale = i64::from(x.scale);
    let power = decimal::power_of_ten(scale.unsigned_abs())?;
    Ok(if scale >= 0 { (&x.unscaled << bits) / power } else { (&x.unscaled * power) << bits })
}

/// `ln 10 = 46 artanh(1/31) + 34 artanh(1/49) + 20 artanh(1/161)`.
fn ln10(bits: u64) -> BigInt {
    let wide = bits + 32;
    let sum: BigInt = [(46, 31u32), (34, 49), (20, 161)]
        .map(|(times, n)| artanh_of_inverse(n, wide) * times)
        .into_iter()
        .sum();
    sum >> 32
}

/// `artanh(1/n) = 1/n + 1/(3 n^3) + 1/(5 n^5) + ...`
fn artanh_of_inverse(n: u32, bits: u64) -> BigInt {
    let square = n * n;
    let mut power = (BigInt::from(1) << bits) / n;
    let mut sum = BigInt::ZERO;
    let mut odd = 1u32;
    while power.sign() != Sign::NoSign {
        sum += &power / odd;
        power /= square;
        odd += 2;
    }
    sum
}

/// `e^x` for `x` from 0 to 3: the series at `x / 2^halvings`, squared as often.
fn exp_fixed(x: &BigInt, bits: u64) -> BigInt {
    let halvings = 8 + bits.isqrt() / 2;
    let wide = bits + 2 * halvings + 16;
    let x = (x << (wide - bits)) >> halvings;
    let one = BigInt::from(1) << wide;
    let (mut sum, mut term) = (one.clone(), one);
    let mut n = 1u32;
    while term.sign() != Sign::NoSign {
        term = ((term * &x) >> wide) / n;
        sum += &term;
        n += 1;
    }
    for _ in 0..halvings {
        sum = (&sum * &sum) >> wide;
    }
    sum >> (wide - bits)
}

/// The logarithm of `x` from 0.1 to 1, by Halley's iteration on `e^y = x`: each step triples the digits that are right.
fn ln_fixed(x: &BigInt, bits: u64) -> BigInt {
    // 53 bits of x are enough to begin with.
    let leading = i64::try_from(x >> bits.saturating_sub(60)).unwrap_or(1);
    let guess = (leading as f64 / (1u64 << 60) as f64).ln();
    let mut y = -(BigInt::from((-guess * (1u64 << 60) as f64) as i64) << bits.saturating_sub(60));
    let mut right = 45;
    while right < bits {
        // e^y of a negative y is 1 / e^-y.
        let power = (BigInt::from(1) << (2 * bits)) / exp_fixed(&-&y, bits);
        let (off, sum) = (x - &power, x + &power);
        y += ((off << 1u32) << bits) / sum;
        right = right.saturating_mul(3);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn digits_are_those_of_the_tables() {
        for (function, x, digits, expected) in [
            (exp as fn(&Decimal, u64) -> Outcome, "1", 32, "2.7182818284590452353602874713527"),
            (exp, "-1", 32, "0.36787944117144232159552377016146"),
            (exp, "10", 20, "22026.465794806716517"),
            (exp, "0.5", 32, "1.6487212707001281468486507878142"),
            (log, "2", 32, "0.69314718055994530941723212145818"),
            (log, "10", 32, "2.3025850929940456840179914546844"),
            (log, "0.5", 32, "-0.69314718055994530941723212145818"),
            (log, "1.00000000000000000001", 10, "1.000000000E-20"),
            (log10, "2", 32, "0.30102999566398119521373889472449"),
            (log10, "1000", 32, "3"),
            (log10, "0.001", 32, "-3"),
        ] {
            assert_eq!(function(&of(x), digits).unwrap().to_string(), expected, "{x}");
        }
    }

    #[test]
    fn what_is_exact_is_exact_and_what_has_no_result_fails() {
        assert_eq!(exp(&of("0.00"), 32).unwrap().to_string(), "1");
        assert_eq!(log(&of("1.0"), 32).unwrap().to_string(), "0");
        assert!(log(&of("0"), 32).is_err() && log10(&of("-1"), 32).is_err());
        assert_eq!(exp(&of("1e12"), 32), Err("Overflow"));
        assert_eq!(exp(&of("-1e12"), 32), Err("Underflow"));
        assert!(exp(&of("1e-2000000000"), 32).unwrap().to_string().starts_with("1.000"));
    }

    #[test]
    fn exp_and_log_undo_each_other() {
        for text in ["3.7", "0.0001", "123456789.5", "1e50"] {
            let round = exp(&log(&of(text), 60).unwrap(), 40).unwrap();
            let off = decimal::add_exact(&round, &decimal::negate(&of(text))).unwrap();
            assert!(
                decimal::to_double(&off).abs() <= decimal::to_double(&of(text)) * 1e-38,
                "{text}: {round}"
            );
        }
    }
}
