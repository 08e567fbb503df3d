//! Random types and values, for the property tests of every module that has to do with values.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

use crate::model::duration::Duration;
use crate::model::numeric::{Decimal, Varint};
use crate::model::time::{Date, Time, Timestamp};
use crate::model::types::{CqlType, SIMPLE, UdtType};
use crate::model::uuid::{Timeuuid, Uuid};
use crate::model::value::Value;

/// A type of a few levels; one that a key may have if `key`.
pub(crate) fn any_type(key: bool) -> BoxedStrategy<CqlType> {
    let simple: Vec<_> =
        SIMPLE.iter().map(|(_, ty)| ty.clone()).filter(|ty| !key || ty.may_be_key()).collect();
    let simple = proptest::sample::select(simple);
    let sortable = proptest::sample::select(
        SIMPLE.iter().map(|(_, ty)| ty.clone()).filter(CqlType::may_be_key).collect::<Vec<_>>(),
    );
    let nested = simple.clone().prop_recursive(3, 8, 3, move |inner| {
        prop_oneof![
            inner.clone().prop_map(|ty| CqlType::List(Box::new(ty))),
            sortable.clone().prop_map(|ty| CqlType::Set(Box::new(ty))),
            (sortable.clone(), inner.clone())
                .prop_map(|(key, value)| CqlType::Map(Box::new(key), Box::new(value))),
            vec(inner.clone(), 1..4).prop_map(CqlType::Tuple),
            vec(inner.clone(), 1..4).prop_map(|types| {
                let fields = types.into_iter().enumerate().map(|(i, ty)| (format!("f{i}"), ty)).collect();
                CqlType::Udt(Arc::new(UdtType { keyspace: "k".into(), name: "u".into(), fields }))
            }),
            (inner, 1..4u32).prop_map(|(ty, dimension)| CqlType::Vector(Box::new(ty), dimension)),
        ]
        .prop_map(CqlType::freeze)
    });
    prop_oneof![2 => simple, 1 => nested].boxed()
}

/// A value of `ty`, often one at an edge or close to another.
pub(crate) fn any_value(ty: &CqlType) -> BoxedStrategy<Value> {
    let plain = plain_value(ty);
    if ty.allows_empty() && !ty.is_stringlike() {
        prop_oneof![1 => Just(Value::Empty), 8 => plain].boxed()
    } else {
        plain
    }
}

fn number() -> BoxedStrategy<i64> {
    prop_oneof![
        any::<i64>(),
        -3..4i64,
        Just(i64::MIN),
        Just(i64::MAX),
        (any::<i64>(), 0..64u32).prop_map(|(number, shift)| number >> shift)
    ]
    .boxed()
}

fn float() -> BoxedStrategy<f64> {
    let special =
        [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.0, f64::MIN_POSITIVE];
    prop_oneof![any::<u64>().prop_map(f64::from_bits), proptest::sample::select(special.to_vec())].boxed()
}

fn bytes() -> BoxedStrategy<Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..9), vec(proptest::sample::select(vec![0u8, 1, 2, 0xfe, 0xff]), 0..6)]
        .boxed()
}

fn big() -> BoxedStrategy<BigInt> {
    prop_oneof![
        number().prop_map(BigInt::from),
        (bytes(), 0..300usize).prop_map(|(mut bytes, length)| {
            bytes.resize(length, 0x5a);
            BigInt::from_signed_bytes_be(&bytes)
        }),
        (-20..20i64, 0..30u32).prop_map(|(digits, zeros)| BigInt::from(digits) * BigInt::from(10).pow(zeros)),
    ]
    .boxed()
}

fn uuid() -> BoxedStrategy<[u8; 16]> {
    (bytes(), bytes(), 0..16u8)
        .prop_map(|(first, second, version)| {
            let mut uuid = [0; 16];
            uuid.iter_mut().zip(first).for_each(|(to, from)| *to = from);
            uuid[8..].iter_mut().zip(second).for_each(|(to, from)| *to = from);
            uuid[6] = uuid[6] & 0x0f | version << 4;
            uuid
        })
        .boxed()
}

fn plain_value(ty: &CqlType) -> BoxedStrategy<Value> {
    let text = || prop_oneof!["[\u{0}\u{1}ab]{0,4}", ".{0,6}"];
    match ty {
        CqlType::Frozen(inner) => plain_value(inner),
        CqlType::Ascii => "[\u{0}-\u{7f}]{0,5}".prop_map(Value::Ascii).boxed(),
        CqlType::Text => text().prop_map(Value::Text).boxed(),
        CqlType::Blob => bytes().prop_map(Value::Blob).boxed(),
        CqlType::Bigint => number().prop_map(Value::Bigint).boxed(),
        CqlType::Counter => number().prop_map(Value::Counter).boxed(),
        CqlType::Int => number().prop_map(|n| Value::Int(n as i32)).boxed(),
        CqlType::Smallint => number().prop_map(|n| Value::Smallint(n as i16)).boxed(),
        CqlType::Tinyint => number().prop_map(|n| Value::Tinyint(n as i8)).boxed(),
        CqlType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        CqlType::Date => number().prop_map(|n| Value::Date(Date(n as u32))).boxed(),
        CqlType::Time => (0..86_400_000_000_000i64).prop_map(|n| Value::Time(Time(n))).boxed(),
        CqlType::Timestamp => number().prop_map(|n| Value::Timestamp(Timestamp(n))).boxed(),
        CqlType::Double => float().prop_map(Value::Double).boxed(),
        CqlType::Float => float().prop_map(|n| Value::Float(n as f32)).boxed(),
        CqlType::Duration => (0..i32::MAX, 0..40i32, number(), any::<bool>())
            .prop_map(|(months, days, nanos, negative)| {
                let nanos = nanos.checked_abs().unwrap_or(0);
                let sign = if negative { -1 } else { 1 };
                Value::Duration(Duration {
                    months: sign * months,
                    days: sign * days,
                    nanos: i64::from(sign) * nanos,
                })
            })
            .boxed(),
        CqlType::Inet => prop_oneof![
            any::<u32>().prop_map(|n| Value::Inet(Ipv4Addr::from(n & 0x0101_ffff).into())),
            any::<u128>().prop_map(|n| Value::Inet(Ipv6Addr::from(n >> (n % 128)).into())),
        ]
        .boxed(),
        CqlType::Uuid => uuid().prop_map(|bytes| Value::Uuid(Uuid(bytes))).boxed(),
        CqlType::Timeuuid => uuid()
            .prop_map(|mut bytes| {
                bytes[6] = bytes[6] & 0x0f | 0x10;
                Value::Timeuuid(Timeuuid::from_bytes(bytes).expect("version 1"))
            })
            .boxed(),
        CqlType::Varint => big().prop_map(|n| Value::Varint(Varint(n))).boxed(),
        CqlType::Decimal => (big(), prop_oneof![-5..30i32, any::<i32>(), Just(i32::MIN), Just(i32::MAX)])
            .prop_map(|(unscaled, scale)| Value::Decimal(Decimal { unscaled, scale }))
            .boxed(),
        CqlType::List(inner) => vec(any_value(inner), 0..4).prop_map(Value::List).boxed(),
        CqlType::Set(inner) => vec(any_value(inner), 0..4).prop_map(Value::Set).boxed(),
        CqlType::Map(key, value) => {
            vec((any_value(key), any_value(value)), 0..4).prop_map(Value::Map).boxed()
        }
        CqlType::Tuple(types) => fields(types.iter()).prop_map(Value::Tuple).boxed(),
        CqlType::Udt(udt) => {
            let names: Vec<_> = udt.fields.iter().map(|(name, _)| name.clone()).collect();
            fields(udt.fields.iter().map(|(_, ty)| ty))
                .prop_map(move |values| Value::Udt(names.iter().cloned().zip(values).collect()))
                .boxed()
        }
        CqlType::Vector(inner, dimension) => {
            let element =
                if inner.width_in_vector().is_some() { plain_value(inner) } else { any_value(inner) };
            vec(element, *dimension as usize).prop_map(Value::Vector).boxed()
        }
    }
}

fn fields<'a>(types: impl Iterator<Item = &'a CqlType>) -> BoxedStrategy<Vec<Option<Value>>> {
    types.map(|ty| proptest::option::of(any_value(ty))).collect::<Vec<_>>().boxed()
}
