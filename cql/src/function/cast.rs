//! `CAST(x AS type)`: between numbers as Java converts them, from times to times, and to text.
//!
//! `term` and `select` choose among [`candidates`]; a cast to the type that a value has already is none and leaves it as it is.

use std::sync::{Arc, LazyLock};

use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::{CqlType, Decimal, Value};

use crate::error::{CqlError, Result};
use crate::function::number::{NUMERIC, Number, is_numeric};
use crate::function::time::convert;
use crate::function::{Function, arg, java};
use crate::value::Wire;

/// Every cast.
static CASTS: LazyLock<Vec<Arc<Function>>> = LazyLock::new(|| {
    let mut casts = Vec::new();
    for to in NUMERIC.iter().filter(|to| **to != CqlType::Counter) {
        for from in NUMERIC.iter().filter(|from| *from != to) {
            casts.push(cast(from.clone(), to.clone()));
        }
    }
    casts.push(cast(CqlType::Timestamp, CqlType::Bigint));
    for (from, to) in [
        (CqlType::Date, CqlType::Timestamp),
        (CqlType::Timeuuid, CqlType::Timestamp),
        (CqlType::Timestamp, CqlType::Date),
        (CqlType::Timeuuid, CqlType::Date),
        (CqlType::Ascii, CqlType::Text),
    ] {
        casts.push(cast(from, to));
    }
    for to in [CqlType::Text, CqlType::Ascii] {
        let others = [
            CqlType::Boolean,
            CqlType::Timestamp,
            CqlType::Date,
            CqlType::Time,
            CqlType::Timeuuid,
            CqlType::Uuid,
            CqlType::Inet,
        ];
        for from in NUMERIC.iter().chain(&others) {
            casts.push(cast(from.clone(), to.clone()));
        }
    }
    casts
});

/// The casts to `to`; none where nothing can be cast to it.
#[must_use]
pub fn candidates(to: &CqlType) -> Vec<Arc<Function>> {
    CASTS.iter().filter(|cast| cast.returns == *to).cloned().collect()
}

/// The value of type `from` in `bytes` as one of `to`; an empty one is null.
///
/// # Errors
/// `FunctionFailure`: NaN or an infinity as decimal. `Invalid`: no cast between these types.
pub fn apply(bytes: &[u8], from: &CqlType, to: &CqlType) -> Result<Wire> {
    if bytes.is_empty() && !from.is_stringlike() {
        return Ok(None);
    }
    match to {
        CqlType::Text | CqlType::Ascii => Ok(Some(Bytes::new(text(bytes, from)?.as_bytes()))),
        CqlType::Timestamp | CqlType::Date => Ok(convert(bytes, from, to)),
        CqlType::Bigint if *from == CqlType::Timestamp => Ok(Some(Bytes::new(bytes))),
        to if is_numeric(to) && is_numeric(from) => {
            let Some(mut number) = Number::decode(bytes, from) else { return Ok(None) };
            // By the digits that the float prints with, not by those of the double that it is equal to.
            if let (Number::Float(float), CqlType::Decimal) = (&number, to)
                && let Ok(decimal) = Decimal::parse(&java::float(*float))
            {
                number = Number::Decimal(decimal);
            }
            number.encode(to).map(Some).map_err(|fault| {
                CqlError::function(format!("execution of 'system.cast_as_{to}[{from}]' failed: {fault}"))
            })
        }
        to => Err(CqlError::invalid(format!("a value of type {from} cannot be cast to {to}"))),
    }
}

fn cast(from: CqlType, to: CqlType) -> Arc<Function> {
    let name = format!("cast_as_{to}");
    let (source, target) = (from.clone(), to.clone());
    Function::strict(&name, vec![from], to, move |_, args| apply(arg(args, 0), &source, &target))
}

/// A value of a simple type as text, as Java's `toString` has it.
fn text(bytes: &[u8], from: &CqlType) -> Result<String> {
    Ok(match codec::decode(bytes, from)? {
        Value::Double(number) => java::double(number),
        Value::Float(number) => java::float(number),
        Value::Timestamp(time) => time.to_string().replacen(' ', "T", 1),
        Value::Inet(address) => java::host_address(address),
        other => other.to_string(),
    })
}
