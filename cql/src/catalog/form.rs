//! The one form of values that are equal and may be written differently: decimals (1.0 and 1.00), varints (which may be padded), tuples and user
//! types (whose last nulls may be left out), and what contains them.
//!
//! A clustering compares by value, so that of a row written as 1.0 and again as 1.00 the table keeps either. A partition key is its bytes. Where a
//! clustering value becomes part of a partition key, as in a view, every way of writing it must give the same bytes: those of [`one_form`].

use crate::error::Result;
use skep_engine::CqlType;
use skep_engine::encoding::order::{decode_component, encode_component, is_faithful};
use skep_engine::model::bytes::Bytes;

/// The most zeros that a decimal gets at its end so that it needs no exponent: 1200, not 1.2E+3.
const MOST_ZEROS: u32 = 38;

/// The form of `value` that all values equal to it share.
///
/// # Errors
/// `Invalid` for bytes that are no value of `ty`, or a type that no key may have.
pub fn one_form(value: &Bytes, ty: &CqlType) -> Result<Bytes> {
    if is_faithful(ty) {
        return Ok(value.clone());
    }
    let (mut component, mut form) = (Vec::new(), Vec::new());
    encode_component(value, ty, false, &mut component)?;
    decode_component(&component, ty, false, &mut form)?;
    if *ty == CqlType::Decimal {
        write_out(&mut form);
    }
    Ok(Bytes::from(form))
}

/// Puts zeros behind a decimal's digits where the scale, its first four bytes, is below zero, if they are few.
fn write_out(decimal: &mut Vec<u8>) {
    let Some((scale, digits)) = decimal.split_first_chunk::<4>() else { return };
    let zeros = i32::from_be_bytes(*scale).checked_neg().and_then(|zeros| u32::try_from(zeros).ok());
    if let Some(zeros @ 1..=MOST_ZEROS) = zeros {
        let whole =
            num_bigint::BigInt::from_signed_bytes_be(digits) * num_bigint::BigInt::from(10).pow(zeros);
        *decimal = [&[0; 4][..], &whole.to_signed_bytes_be()].concat();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use skep_engine::model::compare::compare;

    fn decimal(unscaled: i64, scale: i32) -> Bytes {
        Bytes::from([&scale.to_be_bytes()[..], &unscaled.to_be_bytes()].concat())
    }

    #[test]
    fn whole_numbers_are_written_out_unless_they_are_huge() {
        let scale = |of: Bytes| {
            let form = one_form(&of, &CqlType::Decimal).unwrap();
            i32::from_be_bytes(*form.first_chunk().unwrap())
        };
        assert_eq!([scale(decimal(100, 0)), scale(decimal(1, -3)), scale(decimal(150, 2))], [0, 0, 1]);
        assert_eq!(scale(decimal(1, -39)), -39);
    }

    #[test]
    fn what_is_inside_of_tuples_counts_too() {
        let pair = CqlType::Tuple(vec![CqlType::Varint, CqlType::Text]);
        let short = Bytes::new(&[0, 0, 0, 1, 5]);
        let padded_and_whole = Bytes::new(&[0, 0, 0, 2, 0, 5, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(one_form(&short, &pair).unwrap(), one_form(&padded_and_whole, &pair).unwrap());
    }

    proptest! {
        #[test]
        fn equal_values_have_one_form_and_keep_their_value(digits in -2_000i64..2_000, zeros in 0u32..5, scale in -50i32..50) {
            let (short, long) = (decimal(digits, scale), decimal(digits * 10i64.pow(zeros), scale + zeros as i32));
            let form = one_form(&short, &CqlType::Decimal).unwrap();
            prop_assert_eq!(&one_form(&long, &CqlType::Decimal).unwrap(), &form);
            prop_assert_eq!(&one_form(&form, &CqlType::Decimal).unwrap(), &form);
            prop_assert!(compare(&form, &short, &CqlType::Decimal).is_eq());
        }
    }
}
