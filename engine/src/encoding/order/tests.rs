//! Components against the comparator of values, which shares no code with them.

use super::*;
use crate::model::arbitrary::{any_type, any_value};
use crate::model::codec::to_bytes;
use crate::model::compare::compare;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use std::cmp::Ordering;

fn component(value: &[u8], ty: &CqlType, descending: bool) -> Vec<u8> {
    let mut out = Vec::new();
    encode_component(value, ty, descending, &mut out).unwrap();
    out
}

fn back(component: &[u8], ty: &CqlType, descending: bool) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(decode_component(component, ty, descending, &mut out).unwrap(), component.len());
    out
}

#[test]
fn the_bytes_are_fixed() {
    for (value, ty, bytes) in [
        (&1i64.to_be_bytes()[..], CqlType::Timestamp, &[0x80, 0x80, 0, 0, 0, 0, 0, 0, 1][..]),
        (&[], CqlType::Text, &[0x40]),
        (&[b'a', 0, 1, 2], CqlType::Blob, &[0x80, b'a', 1, 1, 1, 2, 2, 0]),
        (&[5], CqlType::Varint, &[0x80, 0x81, 5]),
        (&[0xff, 0xfe], CqlType::Varint, &[0x80, 0x7e, 0xfe]),
        (&[0, 0, 0, 1, 15], CqlType::Decimal, &[0x80, 0x30, 0x81, 1, 16, 0]),
        (&[0, 0, 0, 1, 0xf1], CqlType::Decimal, &[0x80, 0x10, 0x7e, 0xfe, 0xef, 0xff]),
        (&[0xff; 4], CqlType::Tuple(vec![CqlType::Int]), &[0x80, 0x10]),
    ] {
        assert_eq!(component(value, &ty, false), bytes, "{ty}");
        assert_eq!(
            component(value, &ty, true),
            bytes.iter().map(|byte| !byte).collect::<Vec<_>>(),
            "{ty} DESC"
        );
    }
}

#[test]
fn a_decimals_room_depends_on_its_digits_alone() {
    for scale in [i32::MIN, -1_000_000, 1_000_000, i32::MAX] {
        let mut bytes = scale.to_be_bytes().to_vec();
        bytes.push(100);
        let encoded = component(&bytes, &CqlType::Decimal, false);
        assert!(encoded.len() < 12);
        let decoded = back(&encoded, &CqlType::Decimal, false);
        assert_eq!(compare(&decoded, &bytes, &CqlType::Decimal), Ordering::Equal);
    }
    let far = [0x80, 0x30, 0x86, 0x7f, 0, 0, 0, 0, 0, 0x0b, 0];
    assert!(decode_component(&far, &CqlType::Decimal, false, &mut Vec::new()).is_err());
}

#[test]
fn a_type_that_got_fields_reads_and_orders_older_keys() {
    let (old, new) = (CqlType::Tuple(vec![CqlType::Int]), CqlType::Tuple(vec![CqlType::Int, CqlType::Text]));
    let short = [0, 0, 0, 4, 0, 0, 0, 7];
    assert_eq!(component(&short, &old, false), component(&short, &new, false));
    let padded = back(&component(&short, &old, false), &new, false);
    assert_eq!(padded, [&short[..], &[0xff; 4]].concat());
    assert!(!comes_back(&short, &new).unwrap());
    assert!(comes_back(&padded, &new).unwrap());
}

#[test]
fn types_no_key_may_have_are_refused() {
    for ty in [CqlType::Counter, CqlType::Duration] {
        assert!(encode_component(&[0; 8], &ty, false, &mut Vec::new()).is_err());
        assert!(encode_component(&[], &ty, false, &mut Vec::new()).is_err());
    }
    let error = encode_component(&[1], &CqlType::Int, false, &mut Vec::new()).unwrap_err();
    assert_eq!(error.message(), "Expected 4 or 0 byte int (1)");
}

fn pair() -> impl Strategy<Value = (CqlType, Vec<u8>, Vec<u8>)> {
    any_type(true).prop_flat_map(|ty| {
        (any_value(&ty), any_value(&ty)).prop_map(move |(left, right)| {
            (ty.clone(), to_bytes(&left, &ty).unwrap(), to_bytes(&right, &ty).unwrap())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn components_compare_as_values((ty, left, right) in pair()) {
        let expected = compare(&left, &right, &ty);
        let (a, b) = (component(&left, &ty, false), component(&right, &ty, false));
        prop_assert_eq!(a.cmp(&b), expected);
        prop_assert_eq!(component(&left, &ty, true).cmp(&component(&right, &ty, true)), expected.reverse());
        prop_assert!(expected == Ordering::Equal || !a.starts_with(&b) && !b.starts_with(&a), "prefix-free");
    }

    #[test]
    fn values_come_back((ty, value, behind) in pair(), descending in any::<bool>()) {
        let encoded = component(&value, &ty, descending);
        prop_assert!(!matches!(encoded[0], 0 | 0xff));
        let decoded = back(&encoded, &ty, descending);
        prop_assert_eq!(compare(&decoded, &value, &ty), Ordering::Equal);
        prop_assert_eq!(component(&decoded, &ty, descending), encoded.clone());
        let has_float = ty.any(&|ty| matches!(ty, CqlType::Double | CqlType::Float));
        if comes_back(&value, &ty).unwrap() && !has_float {
            prop_assert_eq!(&decoded, &value);
        }
        let two = [&encoded[..], &component(&behind, &ty, descending)].concat();
        prop_assert_eq!(decode_component(&two, &ty, descending, &mut Vec::new()).unwrap(), encoded.len());
        prop_assert_eq!(component_length(&two, &ty, descending).unwrap(), encoded.len());
        for end in 0..encoded.len() {
            prop_assert!(decode_component(&encoded[..end], &ty, descending, &mut Vec::new()).is_err());
            prop_assert!(component_length(&encoded[..end], &ty, descending).is_err());
        }
    }

    #[test]
    fn concatenations_compare_component_by_component(
        ((first, a, b), (second, c, d)) in (pair(), pair()), directions in any::<[bool; 2]>(), same in any::<bool>(),
    ) {
        let b = if same { a.clone() } else { b };
        let turn = |order: Ordering, descending| if descending { order.reverse() } else { order };
        let expected = turn(compare(&a, &b, &first), directions[0]).then(turn(compare(&c, &d, &second), directions[1]));
        let left = [component(&a, &first, directions[0]), component(&c, &second, directions[1])].concat();
        let right = [component(&b, &first, directions[0]), component(&d, &second, directions[1])].concat();
        prop_assert_eq!(left.cmp(&right), expected);
        let prefix = component(&a, &first, directions[0]);
        let (before, after) = ([&prefix[..], &[0]].concat(), [&prefix[..], &[0xff]].concat());
        prop_assert!(before < left && left < after);
        if turn(compare(&a, &b, &first), directions[0]).is_lt() {
            prop_assert!(after < right);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(ty in any_type(true), mut bytes in proptest::collection::vec(any::<u8>(), 0..40), value in any::<bool>(), descending in any::<bool>()) {
        if value && !bytes.is_empty() {
            bytes[0] = if descending { !VALUE } else { VALUE };
        }
        let mut out = Vec::new();
        if let Ok(used) = decode_component(&bytes, &ty, descending, &mut out) {
            prop_assert!(used <= bytes.len());
        }
        let _ = component_length(&bytes, &ty, descending);
    }
}
