//! Writing an integer lane: which form, which width, and the packing.
//!
//! The plan is exact about widths and exceptions. Its passes over the values are short loops, each of which does one
//! thing: most of them are vectorised, and a lane without outliers needs no count of bit lengths.

use crate::encoding::int_lane::{DELTA, WIDEST_PACKED};
use crate::encoding::varint::{put_signed, put_varint, varint_len, zigzag};

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
        let frame = Residuals::plan(above(values, min), max.wrapping_sub(min) as u64);
        let step = median_step(values);
        let offs = off_step(values, step);
        // A loop of its own is vectorised; one that finds the extremes of all at once is not.
        let widest = offs.clone().fold(0, |bits, off| bits | off);
        let delta = Residuals::plan(offs, widest);
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

/// Residuals of the FOR form.
#[inline]
fn above(values: &[i64], min: i64) -> impl ExactSizeIterator<Item = u64> + Clone {
    values.iter().map(move |value| value.wrapping_sub(min) as u64)
}

/// Residuals of the DELTA form.
#[inline]
fn off_step(values: &[i64], step: i64) -> impl ExactSizeIterator<Item = u64> + Clone {
    let next = values.get(1..).unwrap_or(&[]);
    values.iter().zip(next).map(move |(value, next)| zigzag(next.wrapping_sub(*value).wrapping_sub(step)))
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
    /// and lack `missing` bits in all. Widths that more than a quarter exceeds are not considered. `largest` has the
    /// highest bit that is set in any residual.
    fn plan(residuals: impl ExactSizeIterator<Item = u64> + Clone, largest: u64) -> Self {
        let (count, n) = (residuals.len(), residuals.len() as u64);
        let widest = bit_length(largest);
        if let Some(narrower) = widest.checked_sub(1) {
            // Mostly there are no outliers, and one vectorised pass says so.
            let wider: u64 = residuals.clone().map(|residual| residual >> narrower).sum();
            if 4 * wider > n {
                let width = if widest <= WIDEST_PACKED as usize { widest as u32 } else { 64 };
                return Self { count, width, exceptions: 0, bits: n * u64::from(width) };
            }
        }
        let lengths = Histogram::of(residuals);
        let mut plan = Self { count, width: 64, exceptions: 0, bits: 64 * n };
        let (mut wider, mut missing) = (0u64, 0u64);
        for width in (0..64u32).rev() {
            wider += lengths.of_length(width as usize + 1);
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
    fn write(&self, residuals: impl ExactSizeIterator<Item = u64> + Clone, out: &mut Vec<u8>) {
        put_varint(out, self.exceptions);
        if self.width == 64 {
            out.reserve(8 * self.count);
            residuals.for_each(|residual| out.extend_from_slice(&residual.to_le_bytes()));
            return;
        }
        match self.width {
            0 => {}
            1..=16 => self.pack_narrow(residuals.clone(), out),
            _ => self.pack(residuals.clone(), out),
        }
        if self.exceptions == 0 {
            return;
        }
        let mut next = 0;
        for (i, residual) in residuals.enumerate() {
            let high = residual >> self.width;
            if high != 0 {
                put_varint(out, (i - next) as u64);
                put_varint(out, high);
                next = i + 1;
            }
        }
    }

    /// Appends the low bits of the residuals, of 16 bits at most: eight of them are `width` bytes, put together in two
    /// words without a branch.
    fn pack_narrow(&self, mut residuals: impl ExactSizeIterator<Item = u64>, out: &mut Vec<u8>) {
        let (mask, width) = ((1u64 << self.width) - 1, self.width as usize);
        out.reserve(self.count * width / 8 + 16);
        for _ in 0..self.count / 8 {
            let eight: [u64; 8] = std::array::from_fn(|_| residuals.next().unwrap_or(0) & mask);
            let [a, b, c, d, e, f, g, h] = eight;
            let low = (a | b << width) | (c | d << width) << (2 * width);
            let high = (e | f << width) | (g | h << width) << (2 * width);
            let words = u128::from(low) | u128::from(high) << (4 * width);
            let end = out.len() + width;
            out.extend_from_slice(&words.to_le_bytes());
            out.truncate(end);
        }
        self.pack(residuals, out);
    }

    /// Appends the low bits of the residuals.
    fn pack(&self, residuals: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
        let mask = (1u64 << self.width) - 1;
        let (mut word, mut filled) = (0u64, 0u32);
        out.reserve(self.count * self.width as usize / 8 + 8);
        for residual in residuals {
            let value = residual & mask;
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

/// How many residuals have each bit length. In several tables, so that equal neighbours do not wait for each other's
/// counter.
struct Histogram([[u32; 65]; 4]);

impl Histogram {
    fn of(residuals: impl ExactSizeIterator<Item = u64>) -> Self {
        let mut tables = [[0; 65]; 4];
        let mut residuals = residuals;
        for _ in 0..residuals.len() / 4 {
            for table in &mut tables {
                table[bit_length(residuals.next().unwrap_or(0))] += 1;
            }
        }
        residuals.for_each(|residual| tables[0][bit_length(residual)] += 1);
        Self(tables)
    }

    fn of_length(&self, bits: usize) -> u64 {
        self.0.iter().map(|table| u64::from(table[bits])).sum()
    }
}

#[inline]
fn bit_length(number: u64) -> usize {
    64 - number.leading_zeros() as usize
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The rule of [`Residuals::plan`], word for word: width, exceptions and bits.
    fn slow_plan(residuals: &[u64]) -> (u32, u64, u64) {
        let n = residuals.len() as u64;
        let mut best = (64, 0, 64 * n);
        for width in (0..=56u32).rev() {
            let lacks =
                residuals.iter().map(|&residual| (bit_length(residual) as u64).saturating_sub(width.into()));
            let (wider, missing) =
                (lacks.clone().filter(|&lack| lack > 0).count() as u64, lacks.sum::<u64>());
            if 4 * wider > n {
                break;
            }
            let bits = n * u64::from(width) + 16 * wider + missing * 8 / 7;
            if bits < best.2 {
                best = (width, wider, bits);
            }
        }
        best
    }

    fn slow_pack(residuals: &[u64], width: u32) -> Vec<u8> {
        let mut out = vec![0; (residuals.len() * width as usize).div_ceil(8)];
        for (i, residual) in residuals.iter().enumerate() {
            for bit in (0..width).filter(|bit| residual >> bit & 1 != 0) {
                let at = i * width as usize + bit as usize;
                out[at / 8] |= 1 << (at % 8);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn plans_are_those_of_the_plain_rule(mut residuals in vec(any::<u64>(), 1..200), shift in 0u32..64, usual in 0u32..64, rare in 1usize..12) {
            // Most residuals narrow, every so often a wide one: with and without outliers.
            for (i, residual) in residuals.iter_mut().enumerate() {
                *residual >>= if i % rare == 0 { shift } else { shift.max(usual) };
            }
            let largest = residuals.iter().fold(0, |bits, residual| bits | residual);
            let plan = Residuals::plan(residuals.iter().copied(), largest);
            prop_assert_eq!((plan.width, plan.exceptions, plan.bits), slow_plan(&residuals));
        }

        #[test]
        fn residuals_are_packed_bit_by_bit(residuals in vec(any::<u64>(), 0..70), width in 1u32..=56) {
            let plan = Residuals { count: residuals.len(), width, exceptions: 0, bits: 0 };
            let mut out = Vec::new();
            plan.write(residuals.iter().map(|residual| residual & ((1 << width) - 1)), &mut out);
            prop_assert_eq!(&out[1..], slow_pack(&residuals, width));
        }
    }
}
