//! `abs`, `exp`, `log`, `log10` and `round` of every numeric type. The result has the argument's type.
//!
//! Whole numbers are computed as doubles and cut; varints and decimals to 32 digits, or as many as the argument has.

use std::sync::Arc;

use num_bigint::Sign;
use skep_engine::Decimal;

use crate::error::CqlError;
use crate::function::decimal;
use crate::function::decimal::{MAX_DIGITS, MIN_DIGITS, Outcome, Rounding};
use crate::function::logarithm;
use crate::function::number::{NUMERIC, Number};
use crate::function::{Function, arg};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Abs,
    Exp,
    Log,
    Log10,
    Round,
}

pub(crate) fn functions() -> Vec<Arc<Function>> {
    let mut functions = Vec::new();
    for (name, what) in [
        ("abs", What::Abs),
        ("exp", What::Exp),
        ("log", What::Log),
        ("log10", What::Log10),
        ("round", What::Round),
    ] {
        for ty in NUMERIC {
            let of = ty.clone();
            functions.push(Function::strict(name, vec![ty.clone()], ty, move |_, args| {
                let Some(number) = Number::decode(arg(args, 0), &of) else { return Ok(None) };
                let result = compute(what, number).and_then(|number| number.encode(&of));
                result.map(Some).map_err(|fault| {
                    CqlError::function(format!("execution of 'system.{name}[{of}]' failed: {fault}"))
                })
            }));
        }
    }
    functions
}

fn compute(what: What, number: Number) -> Outcome<Number> {
    Ok(match (what, number) {
        (What::Abs, Number::Integer(number)) => Number::Integer(number.wrapping_abs()),
        (What::Abs, Number::Float(number)) => Number::Float(number.abs()),
        (What::Abs, Number::Double(number)) => Number::Double(number.abs()),
        (What::Abs, Number::Varint(number)) => Number::Varint(number.magnitude().clone().into()),
        (What::Abs, Number::Decimal(number)) if number.unscaled.sign() == Sign::Minus => {
            Number::Decimal(decimal::negate(&number))
        }
        (What::Abs, number) => number,
        (What::Round, Number::Float(number)) => Number::Float(round(number.into()) as i32 as f32),
        (What::Round, Number::Double(number)) => Number::Double(round(number) as i64 as f64),
        (What::Round, Number::Decimal(number)) => {
            Number::Decimal(decimal::set_scale(&number, 0, Rounding::HalfUp)?)
        }
        (What::Round, number) => number,
        (what, Number::Varint(number)) => {
            let result = precise(what, &Decimal::new(number, 0))?;
            Number::Varint(decimal::to_integer(&result)?)
        }
        (what, Number::Decimal(number)) => Number::Decimal(precise(what, &number)?),
        (what, Number::Float(number)) => Number::Float(simple(what, number.into()) as f32),
        // Cut to the integer's width by the encoding.
        (what, other) => Number::Double(simple(what, other.to_f64())),
    })
}

/// Halves go up, as in `Math.round`.
fn round(number: f64) -> f64 {
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

fn simple(what: What, number: f64) -> f64 {
    match what {
        What::Exp => number.exp(),
        What::Log => number.ln(),
        _ => number.log10(),
    }
}

fn precise(what: What, number: &Decimal) -> Outcome {
    let digits = decimal::precision(number).max(MIN_DIGITS).unsigned_abs().min(MAX_DIGITS);
    match what {
        What::Exp => logarithm::exp(number, digits),
        What::Log => logarithm::log(number, digits),
        _ => logarithm::log10(number, digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;

    #[test]
    fn rounding_is_javas() {
        for (number, rounded) in
            [(-1.5, -1.0), (-2.5, -2.0), (2.5, 3.0), (0.49999999999999994, 0.0), (0.5, 1.0), (-0.5, 0.0)]
        {
            assert_eq!(round(number), rounded, "{number}");
        }
        assert_eq!(compute(What::Round, Number::Double(1e300)).unwrap(), Number::Double(i64::MAX as f64));
        assert_eq!(compute(What::Round, Number::Float(f32::NAN)).unwrap(), Number::Float(0.0));
    }

    #[test]
    fn exponentials_of_varints_are_cut() {
        let e6 = compute(What::Exp, Number::Varint(BigInt::from(6))).unwrap();
        assert_eq!(e6, Number::Varint(BigInt::from(403)));
        assert!(compute(What::Log, Number::Varint(BigInt::ZERO)).is_err());
    }
}
