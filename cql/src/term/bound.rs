//! Bytes that a client bound to a marker: checked, and brought into the one form that equal values share.

use crate::error::{CqlError, Result};
use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec::normalize;
use skep_engine::model::validate::validate;

/// The value of `ty` that `bytes` are: every set and map in it sorted and without duplicates.
///
/// # Errors
/// `Invalid` in Cassandra's words if they are none.
pub fn checked(bytes: &Bytes, ty: &CqlType) -> Result<Bytes> {
    validate(bytes, ty).map_err(|error| CqlError::invalid(error.message()))?;
    match normalize(bytes, ty).map_err(|error| CqlError::invalid(error.message()))? {
        Some(sorted) => Ok(sorted.into()),
        None => Ok(bytes.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_bytes_are_told_in_cassandras_words() {
        let message =
            |bytes: &[u8], ty: &CqlType| checked(&Bytes::new(bytes), ty).unwrap_err().message().to_owned();
        assert_eq!(message(&[1], &CqlType::Int), "Expected 4 or 0 byte int (1)");
        let tuple = CqlType::Tuple(vec![CqlType::Int]);
        assert_eq!(message(&[0, 0, 0, 4, 1], &tuple), "Not enough bytes to read 0th component");
        let text = "Invalid remaining data after end of tuple value";
        assert_eq!(message(&[0, 0, 0, 4, 0, 0, 0, 1, 9], &tuple), text);
    }

    #[test]
    fn a_set_in_any_order_is_taken() {
        let set = CqlType::Set(Box::new(CqlType::Tinyint)).freeze();
        let given = [0, 0, 0, 3, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2];
        let sorted = [0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2];
        assert_eq!(checked(&Bytes::new(&given), &set).unwrap().as_slice(), sorted);
    }
}
