//! Integer lanes: many i64 of one column, written as bit-packed distances from a frame or from a steady step.
//!
//! Everything numeric in a block ends here: integer and time columns, counts, lengths, codes, cell states, and both halves
//! of a [float lane](crate::encoding::float_lane). A lane does not store how many values it has; its container does.
//! The bytes are in `FORMAT.md`, "Integer lane".
//!
//! The two forms suit what columns hold: FOR for values near each other in any order, DELTA for what climbs steadily.
//! Exceptions keep one outlier from widening all others. The writer estimates both forms from a histogram of bit lengths
//! and packs once; the reader needs one unaligned 8-byte load per value, since no packed width lies in 57..=63.
//!
//! # Invariants
//! 1. All arithmetic wraps, so that every sequence of i64 is representable in both forms.
//! 2. Decoding allocates for `count` values only after `count` was held against [`MAX_LANE_VALUES`].

use crate::encoding::bytes::ByteReader;
use crate::encoding::varint::unzigzag;
use crate::error::{Error, Result};

pub use encode::{IntPlan, encode_ints};

mod encode;

/// The most values that a lane of any kind may have; bounds what a damaged count can allocate.
pub const MAX_LANE_VALUES: usize = 1 << 24;

/// Set in the form byte when residuals are distances between neighbours.
const DELTA: u8 = 0x80;

/// The widest packed residual below whole words: with 7 bits of shift it still lies within 8 bytes.
const WIDEST_PACKED: u32 = 56;

/// Reads a lane of `count` values.
///
/// # Errors
/// `Corrupt` if the bytes are not a lane of so many values; nothing is assumed about them.
pub fn decode_ints(reader: &mut ByteReader<'_>, count: usize) -> Result<Vec<i64>> {
    if count > MAX_LANE_VALUES {
        return Err(
            reader.error(&format!("a lane of {count} values, at most {MAX_LANE_VALUES} are possible"))
        );
    }
    let form = reader.u8()?;
    let width = u32::from(form & !DELTA);
    if width > WIDEST_PACKED && width != 64 {
        return Err(reader.error(&format!("integer lane has width {width}")));
    }
    if form & DELTA == 0 { decode_frame(reader, width, count) } else { decode_delta(reader, width, count) }
}

fn decode_frame(reader: &mut ByteReader<'_>, width: u32, count: usize) -> Result<Vec<i64>> {
    let min = reader.signed()?;
    let exceptions = reader.varint_up_to(count as u64, "number of exceptions")?;
    if width == 0 && exceptions == 0 {
        return Ok(vec![min; count]);
    }
    let mut out = Vec::with_capacity(count);
    read_residuals(reader, width, count, exceptions, &mut out)?;
    for value in &mut out {
        *value = value.wrapping_add(min);
    }
    Ok(out)
}

fn decode_delta(reader: &mut ByteReader<'_>, width: u32, count: usize) -> Result<Vec<i64>> {
    let Some(residuals) = count.checked_sub(1) else {
        return Err(reader.error("a DELTA lane without values"));
    };
    let first = reader.signed()?;
    let step = reader.signed()?;
    let exceptions = reader.varint_up_to(residuals as u64, "number of exceptions")?;
    let mut out = Vec::with_capacity(count);
    out.push(first);
    read_residuals(reader, width, residuals, exceptions, &mut out)?;
    let mut value = first;
    for slot in &mut out[1..] {
        value = value.wrapping_add(step).wrapping_add(unzigzag(*slot as u64));
        *slot = value;
    }
    Ok(out)
}

/// Appends `count` residuals to `out`, packed ones completed by their exceptions.
fn read_residuals(
    reader: &mut ByteReader<'_>,
    width: u32,
    count: usize,
    exceptions: u64,
    out: &mut Vec<i64>,
) -> Result<()> {
    let start = out.len();
    let packed = reader.take((count * width as usize).div_ceil(8))?;
    match width {
        0 => out.resize(start + count, 0),
        64 => out.extend(packed.as_chunks::<8>().0.iter().map(|word| i64::from_le_bytes(*word))),
        _ => unpack(packed, width as usize, count, out),
    }
    let mut next = 0u64;
    for _ in 0..exceptions {
        let at = next.checked_add(reader.varint()?).filter(|&at| at < count as u64);
        let high = reader.varint()?;
        let (Some(at), true) = (at, width < 64 && high != 0 && high <= u64::MAX >> width) else {
            return Err(reader.error("exception outside of its integer lane"));
        };
        out[start + at as usize] |= (high << width) as i64;
        next = at + 1;
    }
    Ok(())
}

/// Appends `count` values of `width` (1..=56) bits from `packed`, which holds exactly those.
fn unpack(packed: &[u8], width: usize, count: usize, out: &mut Vec<i64>) {
    let mask = (1u64 << width) - 1;
    let load = |bytes: &[u8], bit: usize| {
        let word = bytes[bit / 8..].first_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
        (word >> (bit % 8) & mask) as i64
    };
    // Values whose 8 bytes lie within the lane; the few behind them are read from a padded copy of the end.
    let direct = match packed.len().checked_sub(8) {
        Some(last) => count.min((8 * last + 7) / width + 1),
        None => 0,
    };
    out.extend((0..direct).map(|i| load(packed, i * width)));
    let rest = &packed[(direct * width / 8).min(packed.len())..];
    let mut padded = [0u8; 16];
    padded[..rest.len()].copy_from_slice(rest);
    let skipped = 8 * (direct * width / 8);
    out.extend((direct..count).map(|i| load(&padded, i * width - skipped)));
}

/// Checks that decoded numbers are lengths, codes or counts below `limit`, and narrows them.
///
/// # Errors
/// `Corrupt` if one is negative or not below `limit`; `what` names the lane.
pub fn narrow_codes(values: &[i64], limit: u64, what: &str) -> Result<Vec<u32>> {
    let limit = limit.min(1 << 32);
    // One pass that only compares is several times faster than one that may leave early.
    let fits = values.iter().fold(true, |fits, &value| fits & ((value as u64) < limit));
    if !fits {
        return Err(Error::malformed(format!("{what} has a value that is not below {limit}")));
    }
    Ok(values.iter().map(|&value| value as u32).collect())
}

#[cfg(test)]
mod tests;
