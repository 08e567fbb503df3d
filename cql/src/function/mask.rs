//! `mask_*`: what a value shows of itself. `MASKED WITH` names them, and every statement may call them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::{CqlDuration, CqlType, Date, Decimal, Time, Timestamp, Timeuuid, Uuid, Value, Varint};

use crate::error::{CqlError, Result};
use crate::function::hash;
use crate::function::identity::{GREGORIAN_OFFSET, with_ticks};
use crate::function::{Function, arg};
use crate::value::Wire;

/// Elements of a vector that `mask_default` fills in at most.
const MAX_DIMENSION: u32 = 1 << 20;

/// `mask_default(x)`: a value of the type that says nothing, also for null.
///
/// # Errors
/// `Invalid`: the type has no such value.
pub(crate) fn default(name: &str, ty: CqlType) -> Result<Arc<Function>> {
    let masked = Bytes::new(&codec::to_bytes(&masked(&ty)?, &ty)?);
    Ok(Function::scalar(name, vec![ty.clone()], ty, move |_, _| Ok(Some(masked.clone()))))
}

/// `mask_null(x)`.
pub(crate) fn null(name: &str, ty: CqlType) -> Arc<Function> {
    Function::scalar(name, vec![ty.clone()], ty, |_, _| Ok(None))
}

/// `mask_replace(x, y)`: y.
pub(crate) fn replace(name: &str, ty: CqlType) -> Arc<Function> {
    Function::scalar(name, vec![ty.clone(), ty.clone()], ty, |_, args| Ok(args.get(1).cloned().flatten()))
}

/// `mask_inner(text, begin, end [, padding])` and `mask_outer`: with all characters but, or just, the first and last ones replaced.
pub(crate) fn partial(name: &str, types: Vec<CqlType>, inner: bool) -> Arc<Function> {
    let returns = types.first().cloned().unwrap_or(CqlType::Text);
    let function = name.to_owned();
    Function::scalar(name, types, returns, move |_, args| {
        let Some(Some(bytes)) = args.first() else { return Ok(None) };
        let padding = padding(&function, args)?;
        let text = std::str::from_utf8(bytes).map_err(|_| CqlError::invalid("String didn't validate."))?;
        Ok(Some(Bytes::new(mask(text, count(args, 1), count(args, 2), padding, inner).as_bytes())))
    })
}

/// `mask_hash(x [, algorithm])` of the serialised value.
pub(crate) fn hashed(name: &str, types: Vec<CqlType>) -> Arc<Function> {
    Function::scalar(name, types, CqlType::Blob, |_, args| {
        let algorithm = match args.get(1) {
            Some(Some(name)) => {
                std::str::from_utf8(name).map_err(|_| CqlError::invalid("String didn't validate."))?
            }
            _ => hash::DEFAULT,
        };
        let hash = hash::function(algorithm)
            .ok_or_else(|| CqlError::invalid(format!("Hash algorithm not found: {algorithm}")))?;
        Ok(args.first().cloned().flatten().map(|bytes| Bytes::new(&hash(&bytes))))
    })
}

fn count(args: &[Wire], index: usize) -> usize {
    let number = arg(args, index).try_into().map(i32::from_be_bytes).unwrap_or(0);
    usize::try_from(number).unwrap_or(0)
}

fn padding(function: &str, args: &[Wire]) -> Result<char> {
    let Some(Some(bytes)) = args.get(3) else { return Ok('*') };
    let text = std::str::from_utf8(bytes).map_err(|_| CqlError::invalid("String didn't validate."))?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(padding), None) => Ok(padding),
        _ => Err(CqlError::invalid(format!(
            "The padding argument for function system.{function} should be single-character, but '{text}' has {} characters.",
            text.chars().count()
        ))),
    }
}

fn mask(text: &str, begin: usize, end: usize, padding: char, inner: bool) -> String {
    let length = text.chars().count();
    let tail = length.saturating_sub(end);
    let hide = |index: usize| (index >= begin && index < tail) == inner;
    text.chars().enumerate().map(|(index, c)| if hide(index) { padding } else { c }).collect()
}

fn masked(ty: &CqlType) -> Result<Value> {
    Ok(match ty {
        CqlType::Ascii | CqlType::Text => Value::Text("****".into()),
        CqlType::Bigint | CqlType::Counter | CqlType::Int | CqlType::Smallint | CqlType::Tinyint => {
            Value::Bigint(0)
        }
        CqlType::Blob => Value::Blob(Vec::new()),
        CqlType::Boolean => Value::Boolean(false),
        CqlType::Date => Value::Date(Date::from_days_since_epoch(0)),
        CqlType::Decimal => Value::Decimal(Decimal::from(0)),
        CqlType::Double => Value::Double(0.0),
        CqlType::Duration => Value::Duration(CqlDuration::default()),
        CqlType::Float => Value::Float(0.0),
        CqlType::Inet => Value::Inet(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        CqlType::Time => Value::Time(Time(0)),
        CqlType::Timestamp => Value::Timestamp(Timestamp(0)),
        CqlType::Timeuuid => {
            Value::Timeuuid(Timeuuid::from_bytes(with_ticks(GREGORIAN_OFFSET, 0x8080_8080_8080_8080))?)
        }
        CqlType::Uuid => Value::Uuid(Uuid([0; 16])),
        CqlType::Varint => Value::Varint(Varint::from(0)),
        CqlType::List(_) => Value::List(Vec::new()),
        CqlType::Set(_) => Value::Set(Vec::new()),
        CqlType::Map(..) => Value::Map(Vec::new()),
        CqlType::Tuple(fields) => {
            Value::Tuple(fields.iter().map(|field| masked(field).map(Some)).collect::<Result<_>>()?)
        }
        CqlType::Udt(udt) => {
            let field = |(name, ty): &(String, CqlType)| Ok((name.clone(), Some(masked(ty)?)));
            Value::Udt(udt.fields.iter().map(field).collect::<Result<_>>()?)
        }
        CqlType::Vector(element, dimension) if *dimension <= MAX_DIMENSION => {
            Value::Vector(vec![masked(element)?; *dimension as usize])
        }
        CqlType::Vector(_, dimension) => {
            return Err(CqlError::invalid(format!("a vector of {dimension} elements has no default mask")));
        }
        CqlType::Frozen(inner) => masked(inner)?,
    })
}
