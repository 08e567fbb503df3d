//! JSON: values and rows as JSON (`toJson`, SELECT JSON), and back (`fromJson`, INSERT JSON).
//!
//! `parse` reads text into a tree as the Jackson library does for Cassandra, `decode` makes values of it by type, `encode` writes values.

pub(crate) mod parse;
mod encode;
mod decode;

pub use decode::{from_json, insert_values};
pub use encode::{row, to_json};

use std::sync::Arc;

use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;

use crate::error::{CqlError, Result};
use crate::function::{Function, arg};

/// `toJson(x)`; null is the text `null`.
pub(crate) fn to_function(name: &str, ty: CqlType) -> Arc<Function> {
    let of = ty.clone();
    Function::scalar(name, vec![ty], CqlType::Text, move |_, args| {
        let value = args.first().cloned().flatten();
        Ok(Some(Bytes::new(to_json(&value, &of)?.as_bytes())))
    })
}

/// `fromJson(text)` for a receiver.
///
/// # Errors
/// `Invalid`: nothing receives it.
pub(crate) fn from_function(
    name: &str,
    types: Vec<CqlType>,
    receiver: Option<&CqlType>,
) -> Result<Arc<Function>> {
    let Some(ty) = receiver.cloned() else {
        return Err(CqlError::invalid(format!(
            "{name}() cannot be used in the selection clause of a SELECT statement"
        )));
    };
    let of = ty.clone();
    Ok(Function::strict(name, types, ty, move |cx, args| {
        let text =
            std::str::from_utf8(arg(args, 0)).map_err(|_| CqlError::invalid("String didn't validate."))?;
        from_json(cx, text, &of)
    }))
}

#[cfg(test)]
mod tests;
