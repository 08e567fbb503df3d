//! Float lanes: f64 or f32 of one column, written as decimal integers and corrections in units in the last place.
//!
//! Measured values are mostly short decimals: 20.51 is `d / 10^p` with `d = 2051`, `p = 2`, and integers pack well where
//! the bits of floats do not. Two [integer lanes](crate::encoding::int_lane) hold `d` and the correction
//! `u = bits(v) - bits(d / 10^p)`, so that every float comes back bit for bit: clean decimals have u = 0, means have 1 or 2,
//! NaN payloads, -0.0 and infinities have d = 0 and all their bits in u. Where decimals do not pay, the lane holds bit
//! patterns. The bytes are in `FORMAT.md`, "Float lane".
//!
//! # Invariants
//! 1. Reader and writer compute the same quotient: one IEEE division, `d` below 2^51 exact as f64, 10^p exact for p <= 15.
//! 2. All arithmetic on bit patterns wraps, so decoding is total.

use crate::encoding::bytes::ByteReader;
use crate::encoding::int_lane::{decode_ints, encode_ints};
use crate::encoding::varint::zigzag;
use crate::error::Result;

/// The first byte of a lane of bit patterns.
const BIT_PATTERNS: u8 = 0xff;

/// Powers of ten that the first byte of a decimal lane chooses from; all are exact.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Runs of neighbours from which the power is chosen, and their length.
const SAMPLE_RUNS: usize = 4;
const SAMPLE_RUN: usize = 12;

/// Appends `values` as a lane of doubles.
pub fn encode_doubles(values: &[f64], out: &mut Vec<u8>) {
    encode(values, out);
}

/// Appends `values` as a lane of single floats.
pub fn encode_floats(values: &[f32], out: &mut Vec<u8>) {
    encode(values, out);
}

/// Reads a lane of `count` doubles.
///
/// # Errors
/// `Corrupt` if the bytes are not such a lane.
pub fn decode_doubles(reader: &mut ByteReader<'_>, count: usize) -> Result<Vec<f64>> {
    decode(reader, count)
}

/// Reads a lane of `count` single floats.
///
/// # Errors
/// `Corrupt` if the bytes are not such a lane.
pub fn decode_floats(reader: &mut ByteReader<'_>, count: usize) -> Result<Vec<f32>> {
    decode(reader, count)
}

/// What the lane needs of f64 and f32: their bits as a number, and the way from and to f64.
trait Float: Copy {
    fn widen(self) -> f64;
    fn narrow(quotient: f64) -> Self;
    fn bits(self) -> i64;
    fn from_bits(bits: i64) -> Self;
}

impl Float for f64 {
    fn widen(self) -> f64 {
        self
    }
    fn narrow(quotient: f64) -> Self {
        quotient
    }
    fn bits(self) -> i64 {
        self.to_bits() as i64
    }
    fn from_bits(bits: i64) -> Self {
        f64::from_bits(bits as u64)
    }
}

impl Float for f32 {
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn narrow(quotient: f64) -> Self {
        quotient as f32
    }
    fn bits(self) -> i64 {
        // Sign-extended, so that a negative value next to its quotient gives a small correction.
        i64::from(self.to_bits() as i32)
    }
    fn from_bits(bits: i64) -> Self {
        f32::from_bits(bits as u32)
    }
}

/// A number with its decimal point moved: as a float, and as the integer that it is.
#[derive(Clone, Copy)]
struct Scaled {
    float: f64,
    integer: i64,
}

/// `value * power` rounded to an integer, or 0 where that is not exact below 2^51 (NaN and infinities included).
#[inline]
fn scaled(value: f64, power: f64) -> Scaled {
    // Adding 1.5 * 2^52 rounds to an integer (`f64::round` is a library call on many targets), and leaves it in the low
    // bits (a conversion is no vector instruction on many).
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LIMIT: f64 = 2_251_799_813_685_248.0;
    let product = value * power;
    let shifted = if product.abs() < LIMIT { product + SHIFT } else { SHIFT };
    let integer = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).cast_signed();
    Scaled { float: shifted - SHIFT, integer }
}

/// The correction that turns the quotient into `value`.
#[inline]
fn correction<F: Float>(value: F, decimal: Scaled, power: f64) -> i64 {
    value.bits().wrapping_sub(F::narrow(decimal.float / power).bits())
}

fn encode<F: Float>(values: &[F], out: &mut Vec<u8>) {
    let Some(p) = choose_power(values) else {
        out.push(BIT_PATTERNS);
        let patterns: Vec<i64> = values.iter().map(|value| value.bits()).collect();
        return encode_ints(&patterns, out);
    };
    let power = POWERS[p];
    let mut corrected = 0;
    let decimals = values.iter().map(|&value| {
        let decimal = scaled(value.widen(), power);
        corrected |= correction(value, decimal, power);
        decimal.integer
    });
    let decimals: Vec<i64> = decimals.collect();
    out.push(p as u8);
    encode_ints(&decimals, out);
    if corrected == 0 {
        return encode_ints(&[0], out); // a lane of zeros is the same for any number of them
    }
    let correct = |&value: &F| correction(value, scaled(value.widen(), power), power);
    let corrections: Vec<i64> = values.iter().map(correct).collect();
    encode_ints(&corrections, out);
}

/// The power with the fewest bits in a sample, the first one that leaves no corrections, or `None` if bit patterns take fewer.
fn choose_power<F: Float>(values: &[F]) -> Option<usize> {
    let (patterns, _) = sample(values, u64::MAX, |value| (value.bits(), 0))?;
    let (mut limit, mut best) = (patterns + 1, None);
    for (p, &power) in POWERS.iter().enumerate() {
        let code = |value: F| {
            let decimal = scaled(value.widen(), power);
            (decimal.integer, correction(value, decimal, power))
        };
        if let Some((total, corrections)) = sample(values, limit, code) {
            (limit, best) = (total, Some(p));
            if corrections == 0 {
                break;
            }
        }
    }
    best
}

/// About how many bits some of `values` take, coded as integers and corrections, and how many of these are the corrections';
/// `None` once it is seen that they are `limit` or more.
#[inline]
fn sample<F: Float>(values: &[F], limit: u64, code: impl Fn(F) -> (i64, i64)) -> Option<(u64, u64)> {
    let bits = |number: i64| u64::from(64 - zigzag(number).leading_zeros());
    let run = SAMPLE_RUN.min(values.len());
    let (mut distances, mut corrections) = (0, 0);
    for k in 0..SAMPLE_RUNS {
        let start = (values.len() - run) * k / (SAMPLE_RUNS - 1);
        let mut previous = None;
        for &value in &values[start..start + run] {
            let (number, correction) = code(value);
            distances += previous.map_or(0, |before: i64| bits(number.wrapping_sub(before)));
            corrections += bits(correction);
            previous = Some(number);
        }
        if distances + corrections >= limit {
            return None;
        }
    }
    Some((distances + corrections, corrections))
}

fn decode<F: Float>(reader: &mut ByteReader<'_>, count: usize) -> Result<Vec<F>> {
    let p = reader.u8()?;
    if p == BIT_PATTERNS {
        return Ok(decode_ints(reader, count)?.into_iter().map(F::from_bits).collect());
    }
    let Some(&power) = POWERS.get(usize::from(p)) else {
        return Err(reader.error(&format!("float lane has the power {p}")));
    };
    let decimals = decode_ints(reader, count)?;
    let corrections = decode_ints(reader, count)?;
    let value = |(decimal, correction): (i64, i64)| {
        F::from_bits(F::narrow(decimal as f64 / power).bits().wrapping_add(correction))
    };
    Ok(decimals.into_iter().zip(corrections).map(value).collect())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn round_trip_doubles(values: &[f64]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_doubles(values, &mut out);
        let mut reader = ByteReader::new(&out);
        let back = decode_doubles(&mut reader, values.len()).unwrap();
        reader.expect_end().unwrap();
        assert_eq!(
            back.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        );
        out
    }

    fn round_trip_floats(values: &[f32]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_floats(values, &mut out);
        let mut reader = ByteReader::new(&out);
        let back = decode_floats(&mut reader, values.len()).unwrap();
        reader.expect_end().unwrap();
        assert_eq!(
            back.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        );
        out
    }

    #[test]
    fn the_bytes_of_a_short_decimal_series() {
        assert_eq!(round_trip_doubles(&[20.5, 20.51, 20.52, 20.53]), [2, 2, 0x84, 0x20, 0, 0xe4, 0, 0, 0]);
        assert_eq!(round_trip_floats(&[20.5, 20.51, 20.52, 20.53]), [2, 2, 0x84, 0x20, 0, 0xe4, 0, 0, 0]);
        assert_eq!(round_trip_doubles(&[]), [0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn special_values_keep_their_bits_among_decimals() {
        let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i) / 100.0).collect();
        values[7] = f64::from_bits(0x7ff0_dead_beef_0001);
        values[70] = -0.0;
        values[700] = f64::NEG_INFINITY;
        values[701] = f64::MIN_POSITIVE / 3.0;
        values[702] = f64::MAX;
        assert!(round_trip_doubles(&values).len() < 1450);
        round_trip_floats(&[f32::from_bits(0x7f80_0001), -0.0, f32::INFINITY, f32::MIN, 1e-45, -1.25]);
    }

    #[test]
    fn means_cost_a_few_bits_and_noise_falls_back_to_patterns() {
        let means: Vec<f64> = (0..1024).map(|i| f64::from(i * 37 % 500) * 0.1 / 3.0 * 3.0).collect();
        assert!(round_trip_doubles(&means).len() < 1024 * 14 / 8);
        let noise: Vec<f64> = (0..1024u64)
            .map(|i| f64::from_bits(0x6000_0000_0000_0000 | i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12))
            .collect();
        assert_eq!(round_trip_doubles(&noise)[0], BIT_PATTERNS);
    }

    #[test]
    fn an_unknown_power_is_an_error() {
        assert!(decode_doubles(&mut ByteReader::new(&[16, 0, 0, 0, 0, 0, 0]), 4).is_err());
    }

    proptest! {
        #[test]
        fn any_bits_come_back(bits: Vec<u64>) {
            round_trip_doubles(&bits.iter().map(|&b| f64::from_bits(b)).collect::<Vec<_>>());
            round_trip_floats(&bits.iter().map(|&b| f32::from_bits(b as u32)).collect::<Vec<_>>());
        }

        #[test]
        fn decimals_come_back_without_corrections(cents in vec(-10_000_000i64..10_000_000, 1..300)) {
            let doubles: Vec<f64> = cents.iter().map(|&c| c as f64 / 100.0).collect();
            prop_assert!(round_trip_doubles(&doubles).ends_with(&[0, 0, 0]));
        }

        #[test]
        fn any_bytes_give_values_or_an_error(bytes: Vec<u8>, p in 0u8..20, count in 0usize..300) {
            let lane = [&[if p > 17 { BIT_PATTERNS } else { p }][..], &bytes].concat();
            let doubles = decode_doubles(&mut ByteReader::new(&lane), count);
            prop_assert!(doubles.is_err() || doubles.unwrap().len() == count);
            let floats = decode_floats(&mut ByteReader::new(&lane), count);
            prop_assert!(floats.is_err() || floats.unwrap().len() == count);
        }
    }
}
