//! Orders of Cassandra, each in the order of its answers.

use super::*;
use crate::model::arbitrary::{any_type, any_value};
use crate::model::codec::to_bytes;
use crate::model::text_parse::parse_text;
use crate::model::types::UdtType;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};

/// Values of one type in ascending order, as Cassandra sorted them.
pub(crate) const ASCENDING: [(&str, &[&str]); 13] = [
    (
        "varint",
        &[
            "-170141183460469231731687303715884105729",
            "-65536",
            "-256",
            "-129",
            "-128",
            "-1",
            "0",
            "127",
            "128",
            "255",
            "256",
            "65535",
        ],
    ),
    ("double", &["-Infinity", "-1.5", "-5e-324", "-0.0", "0.0", "5e-324", "1.5", "Infinity", "NaN"]),
    (
        "decimal",
        &[
            "-1E+100", "-100.5", "-100.49", "-1", "-0.5", "-1E-100", "0", "1E-100", "0.5", "0.50001", "1",
            "1.5", "2", "10", "100.49", "1E+100",
        ],
    ),
    (
        "text",
        &[
            "",
            " ",
            "0",
            "A",
            "Z",
            "a",
            "aa",
            "ab",
            "b",
            "z",
            "\u{e9}",
            "\u{ff}",
            "\u{65e5}",
            "\u{ffff}",
            "\u{1f41d}",
        ],
    ),
    (
        "blob",
        &["0x", "0x00", "0x0000", "0x0001", "0x01", "0x7f", "0x80", "0x8000", "0xff", "0xff00", "0xffff"],
    ),
    (
        "uuid",
        &[
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-0000-0000-0000-000000000000",
            "13814000-1dd2-11b2-8080-808080808080",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "d2177dd0-eaa2-11de-a572-001b779c76e3",
            "00000000-0000-3000-8000-000000000000",
            "00000000-0000-4000-8000-000000000000",
            "550e8400-e29b-41d4-a716-446655440000",
            "ffffffff-ffff-4fff-bfff-ffffffffffff",
            "01890a5d-ac96-774b-bcce-b302099a8057",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
    ),
    (
        "timeuuid",
        &[
            "00000000-0000-1000-8080-808080808080",
            "13814000-1dd2-11b2-8080-808080808080",
            "13814000-1dd2-11b2-80ff-000000000000",
            "13814000-1dd2-11b2-0000-000000000000",
            "13814000-1dd2-11b2-7f7f-7f7f7f7f7f7f",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "ffffffff-ffff-1fff-bfff-ffffffffffff",
        ],
    ),
    (
        "inet",
        &[
            "0.0.0.0",
            "::",
            "::1",
            "1.2.3.4",
            "9.255.255.255",
            "10.0.0.1",
            "2001:db8::1",
            "127.0.0.1",
            "fe80::1",
            "ffff::",
            "255.255.255.255",
        ],
    ),
    ("frozen<list<int>>", &["[]", "[-1]", "[-1, 5]", "[0]", "[1]", "[1, -1]", "[1, 2]", "[1, 2, 3]", "[2]"]),
    (
        "frozen<map<int, text>>",
        &["{}", "{-1: 'z'}", "{1: ''}", "{1: 'a'}", "{1: 'a', 2: 'a'}", "{1: 'b'}", "{2: 'a'}"],
    ),
    (
        "tuple<int, text>",
        &["(null, null)", "(null, 'a')", "(-1, 'z')", "(1, null)", "(1, '')", "(1, 'a')", "(2, null)"],
    ),
    (
        "frozen<pt>",
        &[
            "{x: null, y: null}",
            "{y: 'a'}",
            "{x: -1, y: 'a'}",
            "{x: 0}",
            "{x: 1}",
            "{x: 1, y: ''}",
            "{x: 1, y: 'b'}",
        ],
    ),
    ("vector<int, 2>", &["[-1, 5]", "[0, 0]", "[0, 1]", "[1, -5]"]),
];

/// The type that `text` names, where `pt` is `(x int, y text)`.
pub(crate) fn ty(text: &str) -> CqlType {
    let fields = vec![("x".into(), CqlType::Int), ("y".into(), CqlType::Text)];
    let pt = std::sync::Arc::new(UdtType { keyspace: "k".into(), name: "pt".into(), fields });
    CqlType::parse(text, &|_, _| Some(pt.clone())).unwrap()
}

#[test]
fn values_sort_as_cassandra_sorted_them() {
    for (name, texts) in ASCENDING {
        let ty = ty(name);
        let sorted: Vec<_> =
            texts.iter().map(|text| to_bytes(&parse_text(text, &ty).unwrap(), &ty).unwrap()).collect();
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(compare(left, right, &ty), i.cmp(&j), "{name}: {} and {}", texts[i], texts[j]);
            }
        }
    }
}

#[test]
fn equal_are_what_differs_in_bytes_only() {
    assert_eq!(compare(&[5], &[0, 0, 5], &CqlType::Varint), Ordering::Equal);
    assert_eq!(compare(&[0, 0, 0, 1, 10], &[0, 0, 0, 2, 100], &CqlType::Decimal), Ordering::Equal);
    let tuple = ty("tuple<int, int>");
    assert_eq!(compare(&[0, 0, 0, 0], &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], &tuple), Ordering::Equal);
    assert_eq!(compare(&[], &[0xff; 4], &tuple), Ordering::Less);
    let nan = (-f64::NAN).to_be_bytes();
    assert_eq!(compare(&nan, &f64::NAN.to_be_bytes(), &CqlType::Double), Ordering::Equal);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn it_is_an_order((ty, values) in any_type(false).prop_flat_map(|ty| {
        proptest::collection::vec(any_value(&ty), 3).prop_map(move |values| (ty.clone(), values))
    })) {
        let [a, b, c] = [0, 1, 2].map(|i| to_bytes(&values[i], &ty).unwrap());
        prop_assert_eq!(compare(&a, &a, &ty), Ordering::Equal);
        prop_assert_eq!(compare(&a, &b, &ty), compare(&b, &a, &ty).reverse());
        if compare(&a, &b, &ty).is_le() && compare(&b, &c, &ty).is_le() {
            prop_assert!(compare(&a, &c, &ty).is_le());
        }
    }
}
