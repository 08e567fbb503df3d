//! Aggregates: `count`, `min`, `max`, `sum` and `avg`.
//!
//! `select` makes a state for each group ([`Function::start`]), pushes the arguments of every row and takes the result.
//! `collection` sums and averages the elements of a list with the same states.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigInt;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;
use skep_engine::{CqlType, Decimal};

use crate::error::{CqlError, Result};
use crate::function::Function;
use crate::function::decimal;
use crate::function::decimal::{Outcome, Rounding};
use crate::function::number::{NUMERIC, Number};
use crate::value::Wire;

/// The state of an aggregate over the rows of a group.
pub trait Accumulator: Send {
    /// Takes the arguments of a row.
    ///
    /// # Errors
    /// `FunctionFailure` where the sum has no value (decimals of huge exponents).
    fn push(&mut self, args: &[Wire]) -> Result<()>;

    /// Takes whole numbers (times and dates too) as the only argument of so many rows; false if it wants them serialised, one by one.
    ///
    /// # Errors
    /// As [`Accumulator::push`].
    fn push_ints(&mut self, _numbers: &[i64]) -> Result<bool> {
        Ok(false)
    }

    /// The same for doubles, which come in the reverse order of the rows if `backward`.
    ///
    /// # Errors
    /// As [`Accumulator::push`].
    fn push_doubles(&mut self, _numbers: &[f64], _backward: bool) -> Result<bool> {
        Ok(false)
    }

    /// The result for the rows so far.
    ///
    /// # Errors
    /// As [`Accumulator::push`].
    fn finish(&self) -> Result<Wire>;
}

/// `count(*)`, whose column is named `count`.
#[must_use]
pub fn count_rows() -> Arc<Function> {
    Function::aggregate("count", Vec::new(), CqlType::Bigint, || Box::new(Count(0)))
}

/// `count(x)` of values that are not null.
pub(crate) fn count(ty: CqlType) -> Arc<Function> {
    Function::aggregate("count", vec![ty], CqlType::Bigint, || Box::new(Count(0)))
}

/// `min` or `max`, whose results are `wanted` beside those before.
pub(crate) fn extreme(name: &str, ty: CqlType, wanted: Ordering) -> Arc<Function> {
    let of = ty.clone();
    Function::aggregate(name, vec![ty.clone()], ty, move || {
        Box::new(Extreme { ty: of.clone(), wanted, best: None })
    })
}

pub(crate) fn functions() -> Vec<Arc<Function>> {
    let mut functions = Vec::new();
    for ty in NUMERIC {
        let of = ty.clone();
        functions.push(Function::aggregate("sum", vec![ty.clone()], ty.clone(), move || sum(&of)));
        let of = ty.clone();
        functions.push(Function::aggregate("avg", vec![ty.clone()], ty, move || average(&of)));
    }
    functions
}

/// The state of a sum.
pub(crate) fn sum(ty: &CqlType) -> Box<dyn Accumulator> {
    match ty {
        CqlType::Float | CqlType::Double => {
            Box::new(Floats { ty: ty.clone(), mean: false, state: Kahan::default() })
        }
        CqlType::Decimal => Box::new(DecimalSum(Decimal::new(0, 0))),
        CqlType::Varint => Box::new(Varints { mean: false, sum: BigInt::ZERO, count: 0 }),
        _ => Box::new(Integers { ty: ty.clone(), mean: false, sum: 0, count: 0 }),
    }
}

/// The state of an average.
pub(crate) fn average(ty: &CqlType) -> Box<dyn Accumulator> {
    match ty {
        CqlType::Float | CqlType::Double => {
            Box::new(Floats { ty: ty.clone(), mean: true, state: Kahan::default() })
        }
        CqlType::Decimal => Box::new(DecimalMean { mean: Decimal::new(0, 0), count: 0 }),
        CqlType::Varint => Box::new(Varints { mean: true, sum: BigInt::ZERO, count: 0 }),
        _ => Box::new(Integers { ty: ty.clone(), mean: true, sum: 0, count: 0 }),
    }
}

struct Count(i64);

impl Accumulator for Count {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        if args.iter().all(Option::is_some) {
            self.0 += 1;
        }
        Ok(())
    }

    fn push_ints(&mut self, numbers: &[i64]) -> Result<bool> {
        self.0 += numbers.len() as i64;
        Ok(true)
    }

    fn push_doubles(&mut self, numbers: &[f64], _: bool) -> Result<bool> {
        self.0 += numbers.len() as i64;
        Ok(true)
    }

    fn finish(&self) -> Result<Wire> {
        Ok(Some(Bytes::new(&self.0.to_be_bytes())))
    }
}

struct Extreme {
    ty: CqlType,
    wanted: Ordering,
    best: Wire,
}

impl Accumulator for Extreme {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        let Some(Some(value)) = args.first() else { return Ok(()) };
        if self.best.as_ref().is_none_or(|best| compare(value, best, &self.ty) == self.wanted) {
            self.best = Some(value.clone());
        }
        Ok(())
    }

    fn push_ints(&mut self, numbers: &[i64]) -> Result<bool> {
        let best = if self.wanted.is_gt() { numbers.iter().max() } else { numbers.iter().min() };
        let Some(best) = best else { return Ok(true) };
        let wire = match self.ty {
            CqlType::Tinyint => Bytes::new(&(*best as i8).to_be_bytes()),
            CqlType::Smallint => Bytes::new(&(*best as i16).to_be_bytes()),
            CqlType::Int => Bytes::new(&(*best as i32).to_be_bytes()),
            CqlType::Date => Bytes::new(&(*best as u32).to_be_bytes()),
            CqlType::Bigint | CqlType::Counter | CqlType::Timestamp | CqlType::Time => {
                Bytes::new(&best.to_be_bytes())
            }
            _ => return Ok(false),
        };
        self.push(&[Some(wire)])?;
        Ok(true)
    }

    fn push_doubles(&mut self, numbers: &[f64], _: bool) -> Result<bool> {
        // NaN is greater than all numbers, and -0.0 less than 0.0.
        let order = |a: &&f64, b: &&f64| match (a.is_nan(), b.is_nan()) {
            (false, false) => a.total_cmp(b),
            (a, b) => a.cmp(&b),
        };
        let best =
            if self.wanted.is_gt() { numbers.iter().max_by(order) } else { numbers.iter().min_by(order) };
        if let Some(best) = best {
            self.push(&[Some(Bytes::new(&best.to_be_bytes()))])?;
        }
        Ok(true)
    }

    fn finish(&self) -> Result<Wire> {
        Ok(self.best.clone())
    }
}

/// Sum or mean of integers: the sum wraps around at the width of the type, the mean is that of the true sum, cut towards zero.
struct Integers {
    ty: CqlType,
    mean: bool,
    /// Has room for 2^63 numbers of 64 bits.
    sum: i128,
    count: u64,
}

impl Accumulator for Integers {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        if let Some(number) = number(args, &self.ty) {
            self.sum += i128::from(number.to_i64());
            self.count += 1;
        }
        Ok(())
    }

    fn push_ints(&mut self, numbers: &[i64]) -> Result<bool> {
        self.sum += numbers.iter().map(|number| i128::from(*number)).sum::<i128>();
        self.count += numbers.len() as u64;
        Ok(true)
    }

    fn finish(&self) -> Result<Wire> {
        let sum = if self.mean && self.count > 0 { self.sum / i128::from(self.count) } else { self.sum };
        encode(Number::Integer(sum as i64).encode(&self.ty))
    }
}

/// Sum or mean of varints.
struct Varints {
    mean: bool,
    sum: BigInt,
    count: u64,
}

impl Accumulator for Varints {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        if let Some(Number::Varint(number)) = number(args, &CqlType::Varint) {
            self.sum += number;
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Wire> {
        let sum = if self.mean && self.count > 0 { &self.sum / self.count } else { self.sum.clone() };
        encode(Number::Varint(sum).encode(&CqlType::Varint))
    }
}

/// Sum or mean of floats, which is summed as doubles.
struct Floats {
    ty: CqlType,
    mean: bool,
    state: Kahan,
}

/// A compensated sum, which goes on as decimal where doubles end.
#[derive(Default)]
struct Kahan {
    sum: f64,
    compensation: f64,
    simple: f64,
    count: u64,
    /// The sum since it left the range of doubles; kept for means only.
    big: Option<Decimal>,
}

impl Floats {
    #[inline]
    fn add(&mut self, number: f64) -> Result<()> {
        let state = &mut self.state;
        state.count += 1;
        if let Some(big) = &state.big
            && let Ok(term) = decimal::from_double(number)
        {
            state.big = Some(outcome(decimal::add_exact(big, &term))?);
            return Ok(());
        }
        let before = state.sum;
        state.simple += number;
        let adjusted = number - state.compensation;
        let sum = before + adjusted;
        state.compensation = (sum - before) - adjusted;
        state.sum = sum;
        if self.mean
            && sum.is_infinite()
            && let (Ok(before), Ok(term)) = (decimal::from_double(before), decimal::from_double(number))
        {
            state.big = Some(outcome(decimal::add_exact(&before, &term))?);
        }
        Ok(())
    }
}

impl Accumulator for Floats {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        number(args, &self.ty).map_or(Ok(()), |number| self.add(number.to_f64()))
    }

    fn push_doubles(&mut self, numbers: &[f64], backward: bool) -> Result<bool> {
        match backward {
            false => numbers.iter().try_for_each(|number| self.add(*number))?,
            true => numbers.iter().rev().try_for_each(|number| self.add(*number))?,
        }
        Ok(true)
    }

    fn finish(&self) -> Result<Wire> {
        let state = &self.state;
        let mut result = match &state.big {
            // What is infinite itself has no decimal and stays what doubles make of it.
            Some(big) if state.simple.is_infinite() || state.simple.is_finite() => {
                let count = Decimal::new(state.count, 0);
                let mean = decimal::divide_to_scale(big, &count, big.scale.into(), Rounding::HalfEven);
                return encode(Number::Double(decimal::to_double(&outcome(mean)?)).encode(&self.ty));
            }
            // Compensation of an infinity is NaN.
            _ if state.sum.is_nan() && state.simple.is_infinite() => state.simple,
            _ => state.sum,
        };
        if self.mean && state.count > 0 {
            result /= state.count as f64;
        }
        encode(Number::Double(result).encode(&self.ty))
    }
}

struct DecimalSum(Decimal);

impl Accumulator for DecimalSum {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        if let Some(Number::Decimal(number)) = number(args, &CqlType::Decimal) {
            self.0 = outcome(decimal::add_exact(&self.0, &number))?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Wire> {
        encode(Number::Decimal(self.0.clone()).encode(&CqlType::Decimal))
    }
}

/// A running mean: each step is rounded to the greater scale, so that the order of the rows counts.
struct DecimalMean {
    mean: Decimal,
    count: u64,
}

impl Accumulator for DecimalMean {
    fn push(&mut self, args: &[Wire]) -> Result<()> {
        if let Some(Number::Decimal(number)) = number(args, &CqlType::Decimal) {
            self.count += 1;
            let off = outcome(decimal::add_exact(&number, &decimal::negate(&self.mean)))?;
            let count = Decimal::new(self.count, 0);
            let step = outcome(decimal::divide_to_scale(&off, &count, off.scale.into(), Rounding::HalfEven))?;
            self.mean = outcome(decimal::add_exact(&self.mean, &step))?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Wire> {
        encode(Number::Decimal(self.mean.clone()).encode(&CqlType::Decimal))
    }
}

fn number(args: &[Wire], ty: &CqlType) -> Option<Number> {
    Number::decode(args.first()?.as_deref()?, ty)
}

fn outcome<T>(result: Outcome<T>) -> Result<T> {
    result.map_err(CqlError::function)
}

fn encode(result: Outcome<Bytes>) -> Result<Wire> {
    outcome(result).map(Some)
}
