//! Numbers of any size in byte order.
//!
//! ```text
//! integer := length bytes           shortest two's complement bytes, at least one
//! length  := 81..fe                 1 to 126 bytes, number not negative
//!          | ff u32                 more
//!          | the same complemented  number negative: the longer, the smaller
//! varint  := integer
//! decimal := 20                     zero
//!          | 30 exponent digits     above zero: 0.DIGITS * 10^exponent, no zero at either end of DIGITS
//!          | 10 (exponent digits complemented)     below zero
//! exponent := integer
//! digits  := (two digits + 1)* 00
//! ```
//!
//! A decimal's size depends on its digits alone: 1e1000000 takes no more room than 1.

use num_bigint::BigInt;

use crate::encoding::order::reader::Reader;
use crate::error::{Error, Result};
use crate::model::numeric::Decimal;
use crate::model::types::CqlType;
use crate::model::validate::validate_scalar;
use crate::model::wire;

const NEGATIVE: u8 = 0x10;
const ZERO: u8 = 0x20;
const POSITIVE: u8 = 0x30;

/// From this length on, an integer's length takes four bytes more.
const LONG: usize = 0x7f;

/// Zeros that may have to be put behind a decimal's digits because its scale cannot be lower; more than 65535 bytes can hold.
const MAX_ZEROS: u64 = 160_000;

pub(super) fn encode_varint(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let bytes = wire::minimal_varint(value);
    let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    let mask = if negative { 0xff } else { 0 };
    if bytes.len() < LONG {
        out.push((0x80 | bytes.len() as u8) ^ mask);
    } else {
        let length =
            u32::try_from(bytes.len()).map_err(|_| Error::invalid("a varint has more than 4 GiB"))?;
        out.push(0xff ^ mask);
        out.extend(length.to_be_bytes().map(|byte| byte ^ mask));
    }
    out.extend_from_slice(bytes);
    Ok(())
}

pub(super) fn decode_varint(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    let first = reader.byte()?;
    let mask = if first < 0x80 { 0xff } else { 0 };
    let length = match usize::from((first ^ mask) & 0x7f) {
        0 => return Err(Error::malformed("an integer in a key component has no bytes")),
        LONG => u32::from_be_bytes(reader.fixed::<4>()?.map(|byte| byte ^ mask)) as usize,
        short => short,
    };
    let (bytes, mask) = reader.take(length)?;
    out.extend(bytes.iter().map(|byte| byte ^ mask));
    Ok(())
}

pub(super) fn encode_decimal(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    validate_scalar(value, &CqlType::Decimal)?;
    let decimal =
        Decimal::from_wire(value).ok_or_else(|| Error::invalid("Not enough bytes to read a decimal"))?;
    let Some(number) = decimal.scientific() else {
        out.push(ZERO);
        return Ok(());
    };
    out.push(if number.negative { NEGATIVE } else { POSITIVE });
    let at = out.len();
    encode_varint(&number.exponent.to_be_bytes(), out)?;
    for pair in number.digits.chunks(2) {
        let low = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + low + 1);
    }
    out.push(0);
    if number.negative {
        out[at..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

pub(super) fn decode_decimal(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    let negative = match reader.byte()? {
        ZERO => {
            out.extend_from_slice(&[0; 5]);
            return Ok(());
        }
        sign @ (NEGATIVE | POSITIVE) => sign == NEGATIVE,
        other => return Err(Error::malformed(format!("a decimal in a key component has sign {other:#04x}"))),
    };
    if negative {
        reader.complement();
    }
    let (exponent, digits) = exponent_and_digits(reader)?;
    if negative {
        reader.complement();
    }
    let (scale, digits) = scale_of(exponent, digits)
        .ok_or_else(|| Error::malformed("a decimal in a key component has no such scale"))?;
    let magnitude = BigInt::parse_bytes(&digits, 10)
        .ok_or_else(|| Error::malformed("a decimal in a key component has no digits"))?;
    out.extend_from_slice(&scale.to_be_bytes());
    out.extend_from_slice(&(if negative { -magnitude } else { magnitude }).to_signed_bytes_be());
    Ok(())
}

fn exponent_and_digits(reader: &mut Reader<'_>) -> Result<(i64, Vec<u8>)> {
    let mut exponent = Vec::new();
    decode_varint(reader, &mut exponent)?;
    let exponent = i64::try_from(BigInt::from_signed_bytes_be(&exponent));
    let exponent =
        exponent.map_err(|_| Error::malformed("a decimal in a key component has no such exponent"))?;
    let mut digits = Vec::new();
    loop {
        match reader.byte()? {
            0 => break,
            pair @ 1..=100 => digits.extend_from_slice(&[b'0' + (pair - 1) / 10, b'0' + (pair - 1) % 10]),
            other => {
                return Err(Error::malformed(format!(
                    "a decimal in a key component has digits {other:#04x}"
                )));
            }
        }
    }
    if digits.last() == Some(&b'0') {
        digits.pop();
    }
    Ok((exponent, digits))
}

/// The scale that puts the point of `digits` where `exponent` wants it; with zeros appended where the scale would be
/// below 32 bits.
fn scale_of(exponent: i64, mut digits: Vec<u8>) -> Option<(i32, Vec<u8>)> {
    let scale = i64::try_from(digits.len()).ok()?.checked_sub(exponent)?;
    let lowest = i64::from(i32::MIN);
    if scale < lowest {
        let zeros = lowest.abs_diff(scale);
        if zeros > MAX_ZEROS {
            return None;
        }
        digits.resize(digits.len() + usize::try_from(zeros).ok()?, b'0');
    }
    Some((i32::try_from(scale.max(lowest)).ok()?, digits))
}
