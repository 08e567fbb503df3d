//! Functions of whole collections: their keys, values, size, extremes, sum and average.

use std::cmp::Ordering;
use std::sync::Arc;

use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;

use crate::error::{CqlError, Result};
use crate::function::aggregate;
use crate::function::{Function, arg};
use crate::value::Wire;

/// `map_keys` or `map_values`.
pub(crate) fn entries(name: &str, map: CqlType, keys: bool) -> Arc<Function> {
    let (key, value) = match map.unfrozen() {
        CqlType::Map(key, value) => (key.clone(), value.clone()),
        other => (Box::new(other.clone()), Box::new(other.clone())),
    };
    let returns = if keys { CqlType::Set(key) } else { CqlType::List(value) };
    Function::strict(name, vec![map], returns, move |_, args| {
        let parts = parts(arg(args, 0), 2)?;
        let picked: Vec<&[u8]> = parts.into_iter().skip(usize::from(!keys)).step_by(2).collect();
        let mut bytes = (picked.len() as u32).to_be_bytes().to_vec();
        for part in picked {
            bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        Ok(Some(Bytes::new(&bytes)))
    })
}

/// `collection_count`: of a map, its entries.
pub(crate) fn count(name: &str, ty: CqlType) -> Arc<Function> {
    Function::strict(name, vec![ty], CqlType::Int, |_, args| {
        Ok(arg(args, 0).first_chunk::<4>().map(|count| Bytes::new(count)))
    })
}

/// `collection_min` or `collection_max` of a list or set.
pub(crate) fn extreme(name: &str, ty: CqlType, wanted: Ordering) -> Arc<Function> {
    let element = element(&ty);
    let of = element.clone();
    Function::strict(name, vec![ty], element, move |_, args| {
        let mut best: Option<&[u8]> = None;
        for part in parts(arg(args, 0), 1)? {
            if best.is_none_or(|best| compare(part, best, &of) == wanted) {
                best = Some(part);
            }
        }
        Ok(best.map(Bytes::new))
    })
}

/// `collection_sum` or `collection_avg` of a list or set of numbers, as the aggregates sum and average.
pub(crate) fn total(
    name: &str,
    ty: CqlType,
    start: fn(&CqlType) -> Box<dyn aggregate::Accumulator>,
) -> Arc<Function> {
    let element = element(&ty);
    let of = element.clone();
    Function::strict(name, vec![ty], element, move |_, args| -> Result<Wire> {
        let mut state = start(&of);
        for part in parts(arg(args, 0), 1)? {
            state.push(&[Some(Bytes::new(part))])?;
        }
        state.finish()
    })
}

fn element(collection: &CqlType) -> CqlType {
    match collection.unfrozen() {
        CqlType::List(element) | CqlType::Set(element) => (**element).clone(),
        other => other.clone(),
    }
}

/// The elements of a serialised collection, each with its length in front; of a map (`each` is 2) keys and values in turn.
fn parts(bytes: &[u8], each: usize) -> Result<Vec<&[u8]>> {
    let cut = || CqlError::invalid("Not enough bytes to read a collection");
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| cut())?;
    let count = count.checked_mul(each).filter(|count| *count <= rest.len() / 4).ok_or_else(cut)?;
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| cut())?;
        let (part, after) = after.split_at_checked(length).ok_or_else(cut)?;
        parts.push(part);
        rest = after;
    }
    Ok(parts)
}
