//! Where an element of a non-frozen collection or user type stands in it: its *path*, in the form of a clustering of one column.
//!
//! ```text
//! list        a version 1 uuid, which orders the elements by when they were appended     (type timeuuid)
//! set         the element                                                                (its type)
//! map         the key                                                                    (its type)
//! user type   the number of the field                                                    (type smallint)
//! ```

use crate::encoding::{key, order};
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::clustering::Clustering;
use crate::model::types::CqlType;
use std::sync::Arc;

/// The path of protocol bytes of type `ty`: of a set's element, a map's key.
///
/// # Errors
/// `Invalid` for bytes that are no value of `ty`, and types that cannot be compared.
pub fn of(wire: &[u8], ty: &CqlType) -> Result<Clustering> {
    let mut bytes = Vec::new();
    order::encode_component(wire, ty, false, &mut bytes)?;
    let bytes = Bytes::from(bytes);
    if order::comes_back(wire, ty)? {
        return Ok(Clustering::new(bytes));
    }
    let mut raw = Vec::with_capacity(wire.len() + 4);
    key::push_raw(&mut raw, wire);
    Ok(Clustering::with_raw(bytes, Arc::from(raw)))
}

/// The path of field number `index` of a user type.
///
/// # Errors
/// `Invalid` beyond 32767 fields.
pub fn field(index: usize) -> Result<Clustering> {
    let number = i16::try_from(index).map_err(|_| Error::invalid("a type has at most 32767 fields"))?;
    of(&number.to_be_bytes(), &CqlType::Smallint)
}

/// The type of the paths of a non-frozen column of type `ty`; `None` for a column of single cells.
pub fn ty(ty: &CqlType) -> Option<&CqlType> {
    match ty {
        CqlType::List(_) => Some(&CqlType::Timeuuid),
        CqlType::Set(element) => Some(element),
        CqlType::Map(key, _) => Some(key),
        CqlType::Udt(_) => Some(&CqlType::Smallint),
        _ => None,
    }
}

/// The protocol bytes of a path of type `ty`.
///
/// # Errors
/// `Corrupt` if it is no path of that type.
pub fn wire(path: &Clustering, ty: &CqlType) -> Result<Bytes> {
    let mut value = None;
    key::each_value(path, [(ty, false)], |wire| {
        value = Some(Bytes::new(wire));
        Ok(())
    })?;
    value.ok_or_else(|| Error::malformed("the path of an element is empty"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_as_they_were_written() {
        for (value, ty) in [
            (&b"key"[..], CqlType::Text),
            (&[0, 0, 1], CqlType::Varint),
            (&[], CqlType::Blob),
            (&[0, 0, 0, 1], CqlType::Int.freeze()),
        ] {
            assert_eq!(&*wire(&of(value, &ty).unwrap(), &ty).unwrap(), value);
        }
        assert_eq!(&*wire(&field(258).unwrap(), &CqlType::Smallint).unwrap(), [1, 2]);
        assert!(field(40_000).is_err());
        assert!(wire(&Clustering::EMPTY, &CqlType::Int).is_err());
        assert!(field(1).unwrap() < field(2).unwrap());
    }
}
