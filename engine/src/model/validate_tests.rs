//! The words in which bytes are refused.

use super::*;

fn refusal(bytes: &[u8], ty: &CqlType) -> String {
    validate(bytes, ty).unwrap_err().message().to_owned()
}

#[test]
fn widths_are_exact_and_empty_values_legal_where_the_type_says() {
    for (_, ty) in &crate::model::types::SIMPLE {
        assert_eq!(validate(&[], ty).is_ok(), ty.allows_empty(), "{ty}");
    }
    assert_eq!(refusal(&[1], &CqlType::Int), "Expected 4 or 0 byte int (1)");
    assert_eq!(refusal(&[], &CqlType::Smallint), "Expected 2 bytes for a smallint (0)");
    assert_eq!(refusal(&[1, 2, 3], &CqlType::Inet), "Expected 4 or 16 byte inetaddress; got 010203");
    assert_eq!(refusal(&[0; 16], &CqlType::Timeuuid), "Invalid version for TimeUUID type: 0x0");
    assert_eq!(refusal(&[0; 4], &CqlType::Decimal), "Expected 0 or at least 5 bytes (4)");
    assert_eq!(refusal(&[0; 2], &CqlType::Decimal), "Expected 0 or at least 4 bytes (2)");
    assert_eq!(refusal(&[0; 2], &CqlType::Uuid), "UUID should be 16 or 0 bytes (2)");
    assert_eq!(refusal(&[0xff], &CqlType::Text), "String didn't validate.");
    assert_eq!(refusal(&[0x80], &CqlType::Ascii), "Invalid byte for ascii: -128");
}

#[test]
fn the_parts_of_a_duration_have_one_sign() {
    assert!(validate(&[2, 2, 2], &CqlType::Duration).is_ok());
    let mixed = "The duration months, days and nanoseconds must be all of the same sign (1, -1, 0)";
    assert_eq!(refusal(&[2, 1, 0], &CqlType::Duration), mixed);
    let wide = [0xf1, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        refusal(&wide, &CqlType::Duration),
        "The duration months must be a 32 bits integer but was: 2147483648"
    );
}

#[test]
fn containers_end_where_they_say() {
    let tuple = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
    assert!(validate(&[0xff; 4], &tuple).is_ok(), "fewer fields are fine");
    assert_eq!(refusal(&[0xff; 12], &tuple), "Invalid remaining data after end of tuple value");
    assert_eq!(refusal(&[0, 0], &tuple), "Not enough bytes to read size of 0th component");
    assert_eq!(refusal(&[0, 0, 0, 4, 1], &tuple), "Not enough bytes to read 0th component");
    let list = CqlType::List(Box::new(CqlType::Int));
    assert_eq!(refusal(&[], &list), "Not enough bytes to read a list");
    assert_eq!(refusal(&[0x7f, 0xff, 0xff, 0xff], &list), "Not enough bytes to read a list");
    assert_eq!(refusal(&[0, 0, 0, 0, 1], &list), "Unexpected extraneous bytes after list value");
    assert_eq!(
        refusal(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff], &list),
        "null is not supported inside collections"
    );
    assert_eq!(refusal(&[0xff; 4], &list), "The data cannot be deserialized as a list");
    let set = CqlType::Set(Box::new(CqlType::Int));
    assert_eq!(refusal(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff], &set), "Null value read when not allowed");
    let vector = CqlType::Vector(Box::new(CqlType::Int), 2);
    assert_eq!(refusal(&[], &vector), "Invalid empty vector value");
    assert_eq!(refusal(&[0; 7], &vector), "Not enough bytes to read a vector<int, 2>");
    assert_eq!(refusal(&[0; 9], &vector), "Unexpected 1 extraneous bytes after vector<int, 2> value");
}
