//! The forms of a value: wire bytes of four or eight bytes are numbers more often than not, and small ones.
//!
//! A form is chosen by the bytes alone, and every value comes back to the bit.

use crate::encoding::bytes::ByteReader;
use crate::encoding::varint::{put_varint, unzigzag, zigzag};
use crate::error::Result;
use crate::model::bytes::Bytes;

/// Forms of a value, the low 3 bits of a cell's head. (6 and 7 are no values: `TOMBSTONE`, `OWN`.)
pub(in crate::encoding) const BYTES: u8 = 0;
pub(in crate::encoding) const INT4: u8 = 1;
pub(in crate::encoding) const INT8: u8 = 2;
pub(in crate::encoding) const DECIMAL: u8 = 3;
pub(in crate::encoding) const RAW8: u8 = 4;
pub(in crate::encoding) const RAW4: u8 = 5;

/// Writes wire bytes in the shortest of the forms and returns the form.
#[inline]
pub(super) fn put_value(out: &mut Vec<u8>, wire: &[u8]) -> u8 {
    if let Ok(bytes) = <[u8; 8]>::try_from(wire) {
        return put_eight(out, bytes);
    }
    if let Ok(bytes) = <[u8; 4]>::try_from(wire) {
        return put_four(out, bytes);
    }
    put_varint(out, wire.len() as u64);
    out.extend_from_slice(wire);
    BYTES
}

fn put_four(out: &mut Vec<u8>, bytes: [u8; 4]) -> u8 {
    match four_code(bytes) {
        Some((form, code)) => {
            put_varint(out, code);
            form
        }
        None => {
            out.extend_from_slice(&bytes);
            RAW4
        }
    }
}

fn put_eight(out: &mut Vec<u8>, bytes: [u8; 8]) -> u8 {
    match eight_code(bytes) {
        Some((form, code)) => {
            put_varint(out, code);
            form
        }
        None => {
            out.extend_from_slice(&bytes);
            RAW8
        }
    }
}

/// The form of four bytes as a number below 2^49, and that number; `None` for [`RAW4`].
#[inline]
pub(super) fn four_code(bytes: [u8; 4]) -> Option<(u8, u64)> {
    let code = zigzag(i64::from(i32::from_be_bytes(bytes)));
    (code < 1 << 21).then_some((INT4, code))
}

/// The form of eight bytes as a number below 2^49, and that number; `None` for [`RAW8`].
#[inline]
pub(super) fn eight_code(bytes: [u8; 8]) -> Option<(u8, u64)> {
    let code = zigzag(i64::from_be_bytes(bytes));
    if code < 1 << 49 {
        return Some((INT8, code));
    }
    Some((DECIMAL, decimal_code(f64::from_be_bytes(bytes))?))
}

/// 10^2, 10^4, 10^6: the decimals that are tried.
const SCALES: [f64; 3] = [100.0, 10_000.0, 1_000_000.0];

/// `zigzag(d) << 2 | i` such that d / SCALES[i] is exactly `value`, if there is a short one.
#[inline]
fn decimal_code(value: f64) -> Option<u64> {
    /// Adding and subtracting it rounds to an integer (below 2^51), without a call of libm.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    SCALES.iter().zip(0u64..).find_map(|(scale, i)| {
        let scaled = value * scale;
        let rounded = (scaled + ROUND) - ROUND;
        let exact = scaled.abs() < 1e13 && (rounded / scale).to_bits() == value.to_bits();
        exact.then(|| zigzag(rounded as i64) << 2 | i)
    })
}

/// The eight bytes that a decimal's code stands for, as a number.
///
/// # Errors
/// `Corrupt` for a number of decimals that there is not.
#[inline(always)]
pub(in crate::encoding) fn decimal_bits(reader: &mut ByteReader<'_>) -> Result<u64> {
    let code = reader.varint()?;
    decimal_of(code).ok_or_else(|| reader.error("unknown number of decimals"))
}

/// The same of a code that was read; `None` for a number of decimals that there is not.
#[inline(always)]
pub(in crate::encoding) fn decimal_of(code: u64) -> Option<u64> {
    let scale = SCALES.get((code & 3) as usize)?;
    Some((unzigzag(code >> 2) as f64 / scale).to_bits())
}

/// The number of form [`INT4`].
///
/// # Errors
/// `Corrupt` for more than four bytes.
#[inline(always)]
pub(in crate::encoding) fn read_int4(reader: &mut ByteReader<'_>) -> Result<i32> {
    let value = i32::try_from(unzigzag(reader.varint()?));
    value.map_err(|_| reader.error("a 4-byte number is too large"))
}

/// The wire bytes of a value.
///
/// # Errors
/// `Corrupt` for an unknown form, or bytes that are none of it.
#[inline]
pub(in crate::encoding) fn read_value(reader: &mut ByteReader<'_>, form: u8) -> Result<Bytes> {
    Ok(match form {
        BYTES => Bytes::new(reader.bytes()?),
        INT4 => Bytes::new(&read_int4(reader)?.to_be_bytes()),
        INT8 => Bytes::new(&unzigzag(reader.varint()?).to_be_bytes()),
        DECIMAL => Bytes::new(&decimal_bits(reader)?.to_be_bytes()),
        RAW8 => Bytes::new(&reader.array::<8>()?),
        RAW4 => Bytes::new(&reader.array::<4>()?),
        _ => return Err(reader.error("unknown form of a value")),
    })
}

/// Passes over a value.
///
/// # Errors
/// As [`read_value`].
#[inline]
pub(in crate::encoding) fn skip_value(reader: &mut ByteReader<'_>, form: u8) -> Result<()> {
    match form {
        BYTES => drop(reader.bytes()?),
        INT4 => drop(read_int4(reader)?),
        INT8 => drop(reader.varint()?),
        DECIMAL => {
            if reader.varint()? & 3 >= SCALES.len() as u64 {
                return Err(reader.error("unknown number of decimals"));
            }
        }
        RAW8 => drop(reader.array::<8>()?),
        RAW4 => drop(reader.array::<4>()?),
        _ => return Err(reader.error("unknown form of a value")),
    }
    Ok(())
}
