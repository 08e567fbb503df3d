//! Text of values, there and back.

use super::*;
use crate::model::arbitrary::{any_type, any_value};
use crate::model::compare::tests::ty;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};

#[test]
fn plain_text_and_literals_differ_in_quotes() {
    for (name, text, literal) in [
        ("text", "it's", "'it''s'"),
        ("timestamp", "2024-06-12 14:03:00.000Z", "'2024-06-12 14:03:00.000Z'"),
        ("date", "2024-06-12", "'2024-06-12'"),
        ("double", "1e16", "1e16"),
        ("float", "0.1", "0.1"),
        ("double", "-Infinity", "-Infinity"),
        ("blob", "0x00ff", "0x00ff"),
        ("duration", "1mo2d3h", "1mo2d3h"),
        ("inet", "2001:db8::1", "'2001:db8::1'"),
        ("timestamp", "", "''"),
        ("map<text, time>", "{'a:b': '14:03:00.000000000'}", "{'a:b': '14:03:00.000000000'}"),
        ("pt", "{x: null, y: '}'}", "{x: null, y: '}'}"),
        ("tuple<int, vector<float, 2>>", "(1, [0.5, NaN])", "(1, [0.5, NaN])"),
    ] {
        let value = parse_text(text, &ty(name)).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(value.literal().to_string(), literal);
    }
}

#[test]
fn usual_spellings_are_taken() {
    for (name, text, plain) in [
        ("blob", "CAFE", "0xcafe"),
        ("boolean", "TRUE", "true"),
        ("timestamp", "2014-02-14 14:30:00", "2014-02-14 14:30:00.000Z"),
        ("double", "+.5", "0.5"),
        ("inet", "::ffff:1.2.3.4", "1.2.3.4"),
        ("set<int>", "{ 3,1 , 3}", "{1, 3}"),
        ("map<int,text>", "{1:'b', 1 : 'a'}", "{1: 'a'}"),
        (
            "list<timestamp>",
            "[2014-02-14 14:30:00, 0]",
            "['2014-02-14 14:30:00.000Z', '1970-01-01 00:00:00.000Z']",
        ),
        ("pt", "{ Y : 'a' }", "{x: null, y: 'a'}"),
        ("tuple<int,int>", "(1)", "(1)"),
    ] {
        assert_eq!(parse_text(text, &ty(name)).unwrap().to_string(), plain, "{text}");
    }
}

#[test]
fn other_text_is_refused() {
    for (name, text) in [
        ("int", " 1"),
        ("int", "2147483648"),
        ("double", "inf"),
        ("double", "1.5.2"),
        ("boolean", "yes"),
        ("blob", "0x0"),
        ("blob", "0x0\u{e9}0"),
        ("date", ""),
        ("ascii", "\u{e9}"),
        ("inet", "256.0.0.1"),
        ("inet", ":::"),
        ("list<int>", "[1, null]"),
        ("list<int>", "[1, 2"),
        ("list<int>", "[1,]"),
        ("list<int>", "[1] x"),
        ("list<text>", "['a]"),
        ("vector<int, 2>", "[1]"),
        ("tuple<int>", "(1, 2)"),
        ("pt", "{z: 1}"),
        ("map<int, int>", "{1}"),
        ("set<ascii>", "{'\u{e9}'}"),
    ] {
        assert!(parse_text(text, &ty(name)).is_err(), "{name}: {text}");
    }
    assert_eq!(parse_text("300", &ty("tinyint")).unwrap_err().message(), "Unable to make byte from '300'");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_printed_reads_back((ty, value) in any_type(false).prop_flat_map(|ty| any_value(&ty).prop_map(move |value| (ty.clone(), value)))) {
        let bytes = to_bytes(&value, &ty).unwrap();
        let value = decode(&bytes, &ty).unwrap();
        let text = value.to_string();
        // An empty tuple or user type has no text; as a part of another value it shows as ''.
        let has_fields = ty.any(&|ty| matches!(ty, CqlType::Tuple(_) | CqlType::Udt(_)));
        match parse_text(&text, &ty) {
            Ok(again) => prop_assert_eq!(again.to_string(), text),
            Err(error) => prop_assert!(has_fields && (text.is_empty() || text.contains("''")), "{}: {}", text, error),
        }
    }

    #[test]
    fn no_text_makes_it_panic(ty in any_type(false), text in "[\\[\\]{}(),:' \"0-9a-fx\u{e9}-]{0,20}") {
        let _ = parse_text(&text, &ty);
    }
}
