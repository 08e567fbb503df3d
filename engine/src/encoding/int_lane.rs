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
use crate::encoding::varint::{put_signed, put_varint, unzigzag, varint_len, zigzag};
use crate::error::{Error, Result};

/// The most values that a lane of any kind may have; bounds what a damaged count can allocate.
pub const MAX_LANE_VALUES: usize = 1 << 24;

/// Set in the form byte when residuals are distances between neighbours.
const DELTA: u8 = 0x80;

/// The widest packed residual below whole words: with 7 bits of shift it still lies within 8 bytes.
const WIDEST_PACKED: u32 = 56;

/// The number of distances sampled for the step of a DELTA lane.
const STEP_SAMPLES: usize = 9;

/// Appends `values` as an integer lane, in whichever form is estimated shorter.
pub fn encode_ints(values: &[i64], out: &mut Vec<u8>) {
    IntPlan::new(values).write(out);
}

/// How a lane would be written: what a writer with a choice compares before it writes.
pub struct IntPlan<'a> {
    values: &'a [i64],
    form: Form,
}

enum Form {
    Constant(i64),
    Frame { min: i64, residuals: Residuals },
    Delta { first: i64, step: i64, residuals: Residuals },
}

impl<'a> IntPlan<'a> {
    /// Chooses the form for `values`.
    pub fn new(values: &'a [i64]) -> Self {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for &value in values {
            min = min.min(value);
            max = max.max(value);
        }
        if min >= max {
            // All the same, or nothing at all, which is written as a frame of zero.
            return Self { values, form: Form::Constant(if values.is_empty() { 0 } else { min }) };
        }
        let frame = Residuals::plan(values.len(), above(values, min));
        let step = median_step(values);
        let delta = Residuals::plan(values.len() - 1, off_step(values, step));
        let form = if delta.bits.saturating_add(64) < frame.bits {
            Form::Delta { first: values[0], step, residuals: delta }
        } else {
            Form::Frame { min, residuals: frame }
        };
        Self { values, form }
    }

    /// About how many bits the lane will take.
    pub fn bits(&self) -> u64 {
        let signed = |value: i64| 8 * varint_len(zigzag(value)) as u64;
        match &self.form {
            Form::Constant(value) => signed(*value),
            Form::Frame { min, residuals } => signed(*min) + residuals.bits,
            Form::Delta { first, step, residuals } => signed(*first) + signed(*step) + residuals.bits,
        }
    }

    /// Appends the lane.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.form {
            Form::Constant(value) => {
                out.push(0);
                put_signed(out, *value);
                out.push(0);
            }
            Form::Frame { min, residuals } => {
                out.push(residuals.width as u8);
                put_signed(out, *min);
                residuals.write(above(self.values, *min), out);
            }
            Form::Delta { first, step, residuals } => {
                out.push(DELTA | residuals.width as u8);
                put_signed(out, *first);
                put_signed(out, *step);
                residuals.write(off_step(self.values, *step), out);
            }
        }
    }
}

/// Residual `i` of the FOR form.
fn above(values: &[i64], min: i64) -> impl Fn(usize) -> u64 {
    move |i| values[i].wrapping_sub(min) as u64
}

/// Residual `i` of the DELTA form.
fn off_step(values: &[i64], step: i64) -> impl Fn(usize) -> u64 {
    move |i| zigzag(values[i + 1].wrapping_sub(values[i]).wrapping_sub(step))
}

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

/// How residuals will be packed, and what that is estimated to take.
struct Residuals {
    count: usize,
    width: u32,
    exceptions: u64,
    bits: u64,
}

impl Residuals {
    /// The width with the least `count * width + 16 * wider + 8/7 * missing` bits, where `wider` residuals do not fit
    /// and lack `missing` bits in all. Widths that more than a quarter exceeds are not considered.
    fn plan(count: usize, residual: impl Fn(usize) -> u64) -> Self {
        // Two histograms, so that equal neighbours do not wait for each other's counter.
        let mut lengths = [[0u32; 65]; 2];
        for i in 0..count {
            lengths[i & 1][64 - residual(i).leading_zeros() as usize] += 1;
        }
        let n = count as u64;
        let mut plan = Self { count, width: 64, exceptions: 0, bits: 64 * n };
        let (mut wider, mut missing) = (0u64, 0u64);
        for width in (0..64u32).rev() {
            let longer = width as usize + 1;
            wider += u64::from(lengths[0][longer] + lengths[1][longer]);
            missing += wider;
            if 4 * wider > n {
                break;
            }
            let bits = n * u64::from(width) + 16 * wider + missing * 8 / 7;
            if width <= WIDEST_PACKED && bits < plan.bits {
                plan = Self { count, width, exceptions: wider, bits };
            }
        }
        plan
    }

    /// Appends the number of exceptions, the packed residuals and the exceptions.
    fn write(&self, residual: impl Fn(usize) -> u64, out: &mut Vec<u8>) {
        put_varint(out, self.exceptions);
        if self.width == 64 {
            out.reserve(8 * self.count);
            (0..self.count).for_each(|i| out.extend_from_slice(&residual(i).to_le_bytes()));
            return;
        }
        if self.width > 0 {
            self.pack(&residual, out);
        }
        if self.exceptions == 0 {
            return;
        }
        let mut next = 0;
        for i in 0..self.count {
            let high = residual(i) >> self.width;
            if high != 0 {
                put_varint(out, (i - next) as u64);
                put_varint(out, high);
                next = i + 1;
            }
        }
    }

    /// Appends the low bits of the residuals.
    fn pack(&self, residual: impl Fn(usize) -> u64, out: &mut Vec<u8>) {
        let mask = (1u64 << self.width) - 1;
        let (mut word, mut filled) = (0u64, 0u32);
        out.reserve(self.count * self.width as usize / 8 + 8);
        for i in 0..self.count {
            let value = residual(i) & mask;
            word |= value << filled;
            filled += self.width;
            if filled >= 64 {
                out.extend_from_slice(&word.to_le_bytes());
                filled -= 64;
                // What did not fit; nothing if the word was filled to the brim.
                word = value.checked_shr(self.width - filled).unwrap_or(0);
            }
        }
        out.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
    }
}

/// The middle one of some distances spread evenly over the lane: robust against gaps, and exact for a steady step.
fn median_step(values: &[i64]) -> i64 {
    let distances = values.len() - 1;
    let samples = distances.min(STEP_SAMPLES);
    let mut steps = [0i64; STEP_SAMPLES];
    for (k, step) in steps[..samples].iter_mut().enumerate() {
        let i = k * distances / samples;
        *step = values[i + 1].wrapping_sub(values[i]);
    }
    steps[..samples].sort_unstable();
    steps[samples / 2]
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
