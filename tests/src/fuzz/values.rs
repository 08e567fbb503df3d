//! Targets `key_order` and `values`: bytes, text and order of the types.

use std::sync::Arc;

use super::Choices;
use skep_engine::encoding::order::{comes_back, component_length, decode_component, encode_component};
use skep_engine::model::codec::{decode, normalize, to_bytes};
use skep_engine::model::compare::compare;
use skep_engine::model::composite;
use skep_engine::model::text_parse::parse_text;
use skep_engine::model::types::{CqlType, UdtType};
use skep_engine::model::validate::validate;

/// Components compare as their values do, and come back.
pub(super) fn key_order(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (ty, descending) = (choices.cql_type(3, true), choices.bool());
    let mut any = Vec::new();
    if let Ok(used) = decode_component(choices.rest(), &ty, descending, &mut any) {
        assert_eq!(component_length(choices.rest(), &ty, descending).ok(), Some(used));
    }
    let [left, right] = [value(&mut choices, &ty), value(&mut choices, &ty)];
    let (Some(left), Some(right)) = (left, right) else { return };
    let [a, b] = [&left, &right].map(|value| component(value, &ty, descending));
    let order = compare(&left, &right, &ty);
    assert_eq!(
        a.cmp(&b),
        if descending { order.reverse() } else { order },
        "{left:02x?} {right:02x?} of {ty}"
    );
    assert!(a == b || !(a.starts_with(&b) || b.starts_with(&a)), "one is a prefix of the other");
    // Concatenated components are taken apart again.
    let key = [a.clone(), b].concat();
    assert_eq!(component_length(&key, &ty, descending).expect("a valid component"), a.len());
}

fn component(value: &[u8], ty: &CqlType, descending: bool) -> Vec<u8> {
    let (mut bytes, mut again) = (Vec::new(), Vec::new());
    encode_component(value, ty, descending, &mut bytes).expect("a valid value of a type for keys");
    assert!(!matches!(bytes[0], 0x00 | 0xff), "bounds stand around every component");
    assert_eq!(decode_component(&bytes, ty, descending, &mut again).expect("what was encoded"), bytes.len());
    assert_eq!(compare(value, &again, ty), std::cmp::Ordering::Equal);
    let exact = comes_back(value, ty).expect("a valid value");
    // A NaN's payload and a `true` of an unusual byte are made plain even where the type is faithful.
    if exact && !ty.any(&|ty| matches!(ty, CqlType::Double | CqlType::Float | CqlType::Boolean)) {
        assert_eq!(again, value);
    }
    bytes
}

/// Valid bytes of `ty` in their normal form, mostly.
fn value(choices: &mut Choices<'_>, ty: &CqlType) -> Option<Vec<u8>> {
    let width = ty.fixed_width().unwrap_or(0);
    let mut bytes = choices.bytes(40).to_vec();
    if width > 0 && !bytes.is_empty() {
        bytes.resize(width, 0);
    }
    validate(&bytes, ty).ok()?;
    Some(normalize(&bytes, ty).expect("valid bytes").unwrap_or(bytes))
}

/// Bytes are decoded exactly when they are valid; values survive bytes and text; types survive both too.
pub(super) fn values(data: &[u8]) {
    types(data);
    let mut choices = Choices::new(data);
    let ty = choices.cql_type(3, false);
    assert_eq!(CqlType::decode(&encoded(&ty)).expect("what was encoded").0, ty);
    let bytes = choices.rest();
    assert_eq!(validate(bytes, &ty).is_ok(), decode(bytes, &ty).is_ok(), "{bytes:02x?} of {ty}");
    if let Some(bytes) = value(&mut choices, &ty) {
        let value = decode(&bytes, &ty).expect("valid bytes");
        let again = to_bytes(&value, &ty).expect("a decoded value");
        let value_again = decode(&again, &ty).expect("encoded bytes");
        assert_eq!(to_bytes(&value_again, &ty).expect("a decoded value"), again);
        assert_eq!(normalize(&again, &ty).expect("encoded bytes"), None);
    }
    let text = String::from_utf8_lossy(choices.rest());
    if let Ok(value) = parse_text(&text, &ty) {
        let bytes = to_bytes(&value, &ty).expect("a value that was parsed has bytes");
        validate(&bytes, &ty).expect("encoded bytes");
    }
    for count in 1..4 {
        if let Ok(parts) = composite::decode(data, count) {
            let mut again = Vec::new();
            if composite::encode(parts.iter().copied(), &mut again).is_ok() && count > 1 {
                assert_eq!(composite::decode(&again, count).expect("what was encoded"), parts);
            }
        }
    }
}

fn encoded(ty: &CqlType) -> Vec<u8> {
    let mut bytes = Vec::new();
    ty.encode(&mut bytes);
    bytes
}

fn types(data: &[u8]) {
    if let Ok((ty, used)) = CqlType::decode(data) {
        assert!(used <= data.len());
        let (again, _) = CqlType::decode(&encoded(&ty)).expect("a decoded type");
        assert_eq!(again, ty);
    }
    let text = String::from_utf8_lossy(data);
    let point = Arc::new(UdtType {
        keyspace: "k".into(),
        name: "pt".into(),
        fields: vec![("x".into(), CqlType::Int)],
    });
    let resolve = |_: Option<&str>, name: &str| (name == "pt").then(|| point.clone());
    if let Ok(ty) = CqlType::parse(&text, &resolve) {
        assert_eq!(CqlType::parse(&ty.to_string(), &resolve).expect("a type that was printed"), ty);
    }
}
