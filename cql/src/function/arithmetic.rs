//! Operators: `+ - * / %` and negation, of numbers, texts, and times with durations.
//!
//! `term` chooses among [`candidates`] as among the overloads of a function. A result has the larger of its operands' widths, and is a
//! float where one of them is: `int + bigint` is a `bigint`, `int + float` a `float`, `bigint + float` a `double`, `varint + float` a
//! `decimal`; a counter counts as `bigint`. Whole numbers wrap around.

use std::sync::{Arc, LazyLock};

use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::{CqlDuration, CqlType, Date, Timestamp, Value};

use crate::error::{CqlError, Result};
use crate::function::calendar;
use crate::function::decimal;
use crate::function::decimal::Outcome;
use crate::function::number::{NUMERIC, Number};
use crate::function::{Function, arg};
use crate::syntax::ast::Operator;
use crate::value::{Wire, type_name};

/// The five operators, in the order of [`OVERLOADS`].
const OPERATORS: [Operator; 5] =
    [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide, Operator::Modulo];

static OVERLOADS: LazyLock<[Vec<Arc<Function>>; 5]> = LazyLock::new(|| OPERATORS.map(overloads));

static NEGATIONS: LazyLock<Vec<Arc<Function>>> = LazyLock::new(|| {
    let negation = |ty: &CqlType| {
        let of = ty.clone();
        Function::strict("_negate", vec![ty.clone()], ty.clone(), move |_, args| {
            Ok(negate(arg(args, 0), &of))
        })
    };
    NUMERIC.iter().map(negation).collect()
});

/// The overloads of an operator.
#[must_use]
pub fn candidates(operator: Operator) -> &'static [Arc<Function>] {
    let index = OPERATORS.iter().position(|known| *known == operator).unwrap_or(0);
    &OVERLOADS[index]
}

/// The overloads of the minus sign before a value.
#[must_use]
pub fn negations() -> &'static [Arc<Function>] {
    &NEGATIONS
}

/// The name that the operator has as a function, in the texts of terms and in the names of markers. (One of them is misspelt, as in
/// Cassandra: clients see it.)
#[must_use]
pub const fn name(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "_add",
        Operator::Subtract => "_substract",
        Operator::Multiply => "_multiply",
        Operator::Divide => "_divide",
        Operator::Modulo => "_modulo",
    }
}

/// The operator as written.
#[must_use]
pub const fn sign(operator: Operator) -> char {
    match operator {
        Operator::Add => '+',
        Operator::Subtract => '-',
        Operator::Multiply => '*',
        Operator::Divide => '/',
        Operator::Modulo => '%',
    }
}

/// The type of the result for operands of exactly these types; `None` where the operator has no such overload.
#[must_use]
pub fn result_type(operator: Operator, left: &CqlType, right: &CqlType) -> Option<CqlType> {
    let overload =
        candidates(operator).iter().find(|overload| overload.args[0] == *left && overload.args[1] == *right);
    overload.map(|overload| overload.returns.clone())
}

fn overloads(operator: Operator) -> Vec<Arc<Function>> {
    let name = name(operator).to_owned();
    let mut functions = Vec::new();
    for left in &NUMERIC {
        for right in &NUMERIC {
            let returns = promote(left, right);
            let (l, r, to) = (left.clone(), right.clone(), returns.clone());
            let body = move |_: &_, args: &[Wire]| {
                let operands = (Number::decode(arg(args, 0), &l), Number::decode(arg(args, 1), &r));
                let (Some(left), Some(right)) = operands else { return Ok(None) };
                let result = numbers(operator, &left, &right, &to).and_then(|number| number.encode(&to));
                result.map(Some).map_err(|fault| failure(operator, &l, &r, fault))
            };
            functions.push(Function::strict(&name, vec![left.clone(), right.clone()], returns, body));
        }
    }
    if operator == Operator::Add {
        for (left, right, returns) in [
            (CqlType::Text, CqlType::Text, CqlType::Text),
            (CqlType::Ascii, CqlType::Ascii, CqlType::Ascii),
            (CqlType::Ascii, CqlType::Text, CqlType::Text),
            (CqlType::Text, CqlType::Ascii, CqlType::Text),
        ] {
            functions.push(Function::strict(&name, vec![left, right], returns, |_, args| {
                Ok(Some(Bytes::new(&[arg(args, 0), arg(args, 1)].concat())))
            }));
        }
    }
    if matches!(operator, Operator::Add | Operator::Subtract) {
        for time in [CqlType::Timestamp, CqlType::Date] {
            let args = vec![time.clone(), CqlType::Duration];
            functions.push(Function::strict(&name, args, time.clone(), move |_, args| {
                shift(operator, arg(args, 0), arg(args, 1), &time)
            }));
        }
    }
    functions
}

/// Width and kind of a numeric type.
struct Width {
    /// Bytes, or `u8::MAX` for any number of them.
    bytes: u8,
    fraction: bool,
}

impl Width {
    fn result(&self) -> CqlType {
        match (self.bytes, self.fraction) {
            (1, _) => CqlType::Tinyint,
            (2, _) => CqlType::Smallint,
            (4, false) => CqlType::Int,
            (8, false) => CqlType::Bigint,
            (4, true) => CqlType::Float,
            (8, true) => CqlType::Double,
            (_, false) => CqlType::Varint,
            (_, true) => CqlType::Decimal,
        }
    }
}

fn width(ty: &CqlType) -> Width {
    let (bytes, fraction) = match ty {
        CqlType::Tinyint => (1, false),
        CqlType::Smallint => (2, false),
        CqlType::Int => (4, false),
        CqlType::Float => (4, true),
        CqlType::Double => (8, true),
        CqlType::Varint => (u8::MAX, false),
        CqlType::Decimal => (u8::MAX, true),
        _ => (8, false),
    };
    Width { bytes, fraction }
}

fn promote(left: &CqlType, right: &CqlType) -> CqlType {
    let (left, right) = (width(left), width(right));
    Width { bytes: left.bytes.max(right.bytes), fraction: left.fraction || right.fraction }.result()
}

/// The result as a number of type `to`, to which the operands are converted first.
fn numbers(operator: Operator, left: &Number, right: &Number, to: &CqlType) -> Outcome<Number> {
    Ok(match to {
        CqlType::Float => Number::Float(float(operator, left.to_f32(), right.to_f32())),
        CqlType::Double => Number::Double(float(operator, left.to_f64(), right.to_f64())),
        CqlType::Varint => {
            let (left, right) = (left.to_varint(), right.to_varint());
            if matches!(operator, Operator::Divide | Operator::Modulo) && right.bits() == 0 {
                return Err("BigInteger divide by zero");
            }
            Number::Varint(match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide => left / right,
                Operator::Modulo => left % right,
            })
        }
        CqlType::Decimal => {
            let (left, right) = (operand(left)?, operand(right)?);
            Number::Decimal(match operator {
                Operator::Add => decimal::add(&left, &right)?,
                Operator::Subtract => decimal::add(&left, &decimal::negate(&right))?,
                Operator::Multiply => decimal::multiply(&left, &right)?,
                Operator::Divide => decimal::divide(&left, &right)?,
                Operator::Modulo => decimal::remainder(&left, &right)?,
            })
        }
        _ => {
            let (left, right) = (left.to_i64(), right.to_i64());
            if matches!(operator, Operator::Divide | Operator::Modulo) && right == 0 {
                return Err("/ by zero");
            }
            Number::Integer(match operator {
                Operator::Add => left.wrapping_add(right),
                Operator::Subtract => left.wrapping_sub(right),
                Operator::Multiply => left.wrapping_mul(right),
                Operator::Divide => left.wrapping_div(right),
                Operator::Modulo => left.wrapping_rem(right),
            })
        }
    })
}

/// An operand of decimal arithmetic: any number but varints and decimals goes through a double, so that 7 becomes 7.0.
fn operand(number: &Number) -> Outcome {
    match number {
        Number::Varint(_) | Number::Decimal(_) => number.to_decimal(),
        other => decimal::from_double(other.to_f64()),
    }
}

fn float<T>(operator: Operator, left: T, right: T) -> T
where
    T: std::ops::Add<Output = T>
        + std::ops::Sub<Output = T>
        + std::ops::Mul<Output = T>
        + std::ops::Div<Output = T>
        + std::ops::Rem<Output = T>,
{
    match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Modulo => left % right,
    }
}

fn negate(bytes: &[u8], ty: &CqlType) -> Wire {
    let negated = match Number::decode(bytes, ty)? {
        Number::Integer(number) => Number::Integer(number.wrapping_neg()),
        Number::Float(number) => Number::Float(-number),
        Number::Double(number) => Number::Double(-number),
        Number::Varint(number) => Number::Varint(-number),
        Number::Decimal(number) => Number::Decimal(decimal::negate(&number)),
    };
    negated.encode(ty).ok()
}

/// A timestamp or date so much later or earlier.
fn shift(operator: Operator, time: &[u8], duration: &[u8], ty: &CqlType) -> Result<Wire> {
    let Ok(Value::Duration(duration)) = codec::decode(duration, &CqlType::Duration) else { return Ok(None) };
    let of_days = *ty == CqlType::Date;
    let fault = |precision: &str| {
        let text = format!("The duration must have a {precision} precision. Was: {duration}");
        Err(failure(operator, ty, &CqlType::Duration, &text))
    };
    if of_days && !calendar::is_of_days(&duration) {
        return fault("day");
    }
    if !calendar::is_of_millis(&duration) {
        return fault("millisecond");
    }
    let times = if operator == Operator::Subtract { -1 } else { 1 };
    Ok(shifted(time, &duration, times, of_days))
}

fn shifted(time: &[u8], duration: &CqlDuration, times: i64, of_days: bool) -> Wire {
    if of_days {
        let start = Date(u32::from_be_bytes(time.try_into().ok()?)).start().0;
        let date = calendar::date_of(Timestamp(calendar::add(start, duration, times)));
        return Some(Bytes::new(&date.0.to_be_bytes()));
    }
    let start = i64::from_be_bytes(time.try_into().ok()?);
    Some(Bytes::new(&calendar::add(start, duration, times).to_be_bytes()))
}

fn failure(operator: Operator, left: &CqlType, right: &CqlType, fault: &str) -> CqlError {
    CqlError::function(format!(
        "the operation '{} {} {}' failed: {fault}",
        type_name(left),
        sign(operator),
        type_name(right)
    ))
}
