//! Bytes of values: Cassandra's, back and forth, and against any bytes.

use super::*;
use crate::model::arbitrary::{any_type, any_value};
use crate::model::validate::validate;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};

fn ty(text: &str) -> CqlType {
    let fields = vec![("x".into(), CqlType::Int), ("y".into(), CqlType::Text)];
    let pt = std::sync::Arc::new(UdtType { keyspace: "k".into(), name: "pt".into(), fields });
    CqlType::parse(text, &|_, _| Some(pt.clone())).unwrap()
}

#[test]
fn bytes_are_those_of_the_native_protocol() {
    let int = |number| Value::Int(number);
    for (text, value, bytes) in [
        ("int", int(-2), &[0xff, 0xff, 0xff, 0xfe][..]),
        ("varint", Value::Bigint(128), &[0x00, 0x80]),
        ("varint", Value::Int(-128), &[0x80]),
        ("decimal", Value::Decimal(Decimal::new(-250, 2)), &[0, 0, 0, 2, 0xff, 0x06]),
        ("date", Value::Date(Date::from_days_since_epoch(0)), &[0x80, 0, 0, 0]),
        ("duration", Value::Duration(Duration { months: 1, days: -0, nanos: 300 }), &[2, 0, 0x82, 0x58]),
        ("list<int>", Value::List(vec![int(1)]), &[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1]),
        (
            "set<tinyint>",
            Value::Set(vec![int(1), int(-1), int(1)]),
            &[0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0, 0, 0, 1, 1],
        ),
        (
            "tuple<tinyint, int>",
            Value::Tuple(vec![Some(int(5)), None]),
            &[0, 0, 0, 1, 5, 0xff, 0xff, 0xff, 0xff],
        ),
        ("pt", Value::Udt(vec![("y".into(), Some("a".into()))]), &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, b'a']),
        (
            "vector<float, 2>",
            Value::Vector(vec![Value::Float(0.0), Value::Float(1.0)]),
            &[0, 0, 0, 0, 0x3f, 0x80, 0, 0],
        ),
        ("vector<smallint, 2>", Value::Vector(vec![int(1), int(2)]), &[2, 0, 1, 2, 0, 2]),
        (
            "map<tinyint, text>",
            Value::Map(vec![(int(1), "b".into()), (int(1), "c".into())]),
            &[0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, b'c'],
        ),
    ] {
        assert_eq!(to_bytes(&value, &ty(text)).unwrap(), bytes, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for (text, value, message) in [
        ("int", Value::Bigint(1 << 31), "Unable to make int from '2147483648'"),
        ("tinyint", Value::Int(-129), "Unable to make byte from '-129'"),
        (
            "bigint",
            Value::Varint(Varint::parse("9223372036854775808").unwrap()),
            "Unable to make long from '9223372036854775808'",
        ),
        ("int", Value::Text("1".into()), "a value of kind text is no int"),
        ("ascii", Value::Text("\u{e9}".into()), "Invalid byte for ascii: -61"),
        ("smallint", Value::Empty, "a value of kind empty is no smallint"),
        (
            "vector<int, 2>",
            Value::List(vec![Value::Int(1)]),
            "vector<int, 2> has 2 elements, but 1 were given",
        ),
        ("tuple<int>", Value::Tuple(vec![None, None]), "Invalid remaining data after end of tuple value"),
        ("pt", Value::Udt(vec![("z".into(), None)]), "Unknown field 'z' in value of user defined type pt"),
        (
            "vector<int, 1>",
            Value::Vector(vec![Value::Empty]),
            "an element of vector<int, 1> may not be empty",
        ),
    ] {
        assert_eq!(to_bytes(&value, &ty(text)).unwrap_err().message(), message);
    }
}

#[test]
fn a_frozen_set_in_another_order_becomes_the_same_bytes() {
    let nested = ty("frozen<list<frozen<set<tinyint>>>>");
    let given = [0, 0, 0, 1, 0, 0, 0, 14, 0, 0, 0, 2, 0, 0, 0, 1, 9, 0, 0, 0, 1, 0xff];
    let sorted = normalize(&given, &nested).unwrap().unwrap();
    assert_eq!(sorted[12..], [0, 0, 0, 1, 0xff, 0, 0, 0, 1, 9]);
    assert_eq!(normalize(&sorted, &nested).unwrap(), None);
}

fn typed_value() -> impl Strategy<Value = (CqlType, Value)> {
    any_type(false).prop_flat_map(|ty| any_value(&ty).prop_map(move |value| (ty.clone(), value)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn values_round_trip((ty, value) in typed_value()) {
        let bytes = to_bytes(&value, &ty).unwrap();
        validate(&bytes, &ty).unwrap();
        let decoded = decode(&bytes, &ty).unwrap();
        prop_assert_eq!(&to_bytes(&decoded, &ty).unwrap(), &bytes);
        prop_assert_eq!(normalize(&bytes, &ty).unwrap(), None);
        // NaN is not equal to itself, and sets were sorted by the first encoding: compare what was printed.
        if !ty.any(&|ty| matches!(ty, CqlType::Set(_) | CqlType::Map(..))) {
            prop_assert_eq!(format!("{decoded:?}"), format!("{value:?}"));
        }
    }

    #[test]
    fn any_bytes_are_decoded_exactly_when_they_are_valid(ty in any_type(false), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(decode(&bytes, &ty).is_ok(), validate(&bytes, &ty).is_ok());
    }

    #[test]
    fn broken_values_are_told_or_are_other_values((ty, value) in typed_value(), at in any::<proptest::sample::Index>(), bit in 0..8u32, cut in any::<bool>()) {
        let mut bytes = to_bytes(&value, &ty).unwrap();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        }
        match decode(&bytes, &ty) {
            Ok(other) => prop_assert!(validate(&bytes, &ty).is_ok() && to_bytes(&other, &ty).is_ok()),
            Err(_) => prop_assert!(validate(&bytes, &ty).is_err()),
        }
    }
}
