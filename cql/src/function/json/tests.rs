//! JSON both ways, and what is refused.

use super::*;
use crate::error::Code;
use crate::function::tests::{CONTEXT, show, ty};
use crate::value::{ColumnSpec, Wire};
use skep_engine::model::codec;
use skep_engine::model::text_parse::parse_text;

fn wire(of: &str, text: &str) -> Wire {
    Some(Bytes::new(&codec::to_bytes(&parse_text(text, &ty(of)).unwrap(), &ty(of)).unwrap()))
}

#[test]
fn values_become_json() {
    for (of, value, json) in [
        ("int", "-5", "-5"),
        ("double", "1e10", "1.0E10"),
        ("float", "0.0001", "1.0E-4"),
        ("double", "NaN", "null"),
        ("float", "-Infinity", "null"),
        ("decimal", "1e20", "1E+20"),
        ("decimal", "1.50", "1.50"),
        ("boolean", "true", "true"),
        ("blob", "0xcafe00", "\"0xcafe00\""),
        ("inet", "::1", "\"0:0:0:0:0:0:0:1\""),
        ("duration", "1y2mo3d4h5m6s7ms8us9ns", "\"1y2mo3d4h5m6s7ms8us9ns\""),
        ("duration", "0s", "\"\""),
        ("timestamp", "-1", "\"1969-12-31 23:59:59.999Z\""),
        ("time", "01:02:03.004", "\"01:02:03.004000000\""),
        ("int", "", "\"\""),
        ("text", "quote \" backslash \\ slash /", "\"quote \\\" backslash \\\\ slash /\""),
        ("text", "\n\t\u{1f}\u{7f}\u{8}", "\"\\n\\t\\u001F\u{7f}\\b\""),
        ("map<int, text>", "{2: 'two', 1: 'one'}", "{\"1\": \"one\", \"2\": \"two\"}"),
        ("map<frozen<list<text>>, int>", "{['a']: 1}", "{\"[\\\"a\\\"]\": 1}"),
        ("tuple<int, text, double>", "(1, 'a', null)", "[1, \"a\", null]"),
        ("vector<float, 2>", "[1, 2.5]", "[1.0, 2.5]"),
        ("frozen<list<frozen<set<text>>>>", "[{'z', 'y'}, {}]", "[[\"y\", \"z\"], []]"),
    ] {
        assert_eq!(to_json(&wire(of, value), &ty(of)).unwrap(), json, "{of} {value}");
    }
    assert_eq!(to_json(&None, &ty("int")).unwrap(), "null");
    let (int, one, text, none) = (ty("int"), wire("int", "1"), ty("text"), None);
    let columns = [("Camel", &int, &one), ("quo\"te", &text, &none), ("m['x']", &int, &one)];
    assert_eq!(
        row(columns.into_iter()).unwrap(),
        "{\"\\\"Camel\\\"\": 1, \"quo\\\"te\": null, \"m['x']\": 1}"
    );
}

#[test]
fn json_becomes_values() {
    for (of, json, value) in [
        ("int", "\"7\"", "7"),
        ("bigint", "9223372036854775807", "9223372036854775807"),
        ("varint", "123456789012345678901234567890", "123456789012345678901234567890"),
        ("decimal", "1.50", "1.5"),
        ("decimal", "\"1.50\"", "1.50"),
        ("double", "\"NaN\"", "NaN"),
        ("float", "0.1", "0.1"),
        ("boolean", "\"TRUE\"", "true"),
        ("text", "\"\\u00e9\\n\\t\\\"\\\\\\/\"", "\u{e9}\n\t\"\\/"),
        ("text", "\"\\ud83d\\udc1d\"", "\u{1f41d}"),
        ("timestamp", "1709210096789", "2024-02-29 12:34:56.789Z"),
        ("time", "\"3600000000000\"", "01:00:00.000000000"),
        ("blob", "\"0xcafe\"", "0xcafe"),
        ("set<text>", "[\"b\", \"a\", \"b\"]", "{'a', 'b'}"),
        ("list<int>", "\"[1, 2]\"", "[1, 2]"),
        ("map<int, text>", "{\"2\": \"two\", \"1\": \"one\"}", "{1: 'one', 2: 'two'}"),
        ("tuple<int, text>", "[1, null]", "(1, null)"),
        ("vector<float, 2>", "[1, 2.5]", "[1.0, 2.5]"),
        ("int", "null", "null"),
        ("int", " 5 trailing", "5"),
    ] {
        let decoded = from_json(&CONTEXT, json, &ty(of)).unwrap();
        assert_eq!(show(&decoded, &ty(of)), value, "{of} {json}");
    }
}

#[test]
fn what_does_not_fit_is_told_in_cassandras_words() {
    for (of, json, fault) in [
        ("int", "1.5", "Expected an int value, but got a Double: 1.5"),
        ("int", "2147483648", "Expected an int value, but got a Long: 2147483648"),
        ("int", "\"abc\"", "Unable to make int from 'abc'"),
        ("int", "true", "Expected an int value, but got a Boolean: true"),
        ("smallint", "40000", "Unable to make short from '40000'"),
        ("tinyint", "200", "Unable to make byte from '200'"),
        ("text", "5", "Expected a UTF-8 string, but got a Integer: 5"),
        ("boolean", "1", "Expected a boolean value, but got a Integer: 1"),
        (
            "blob",
            "\"cafe\"",
            "Value 'cafe' is not a valid blob representation: String representation of blob is missing 0x prefix: cafe",
        ),
        (
            "blob",
            "\"0xzz\"",
            "Value '0xzz' is not a valid blob representation: cannot parse 'zz' as hex bytes",
        ),
        (
            "timestamp",
            "1000",
            "Expected a long or a datestring representation of a timestamp value, but got a Integer: 1000",
        ),
        ("duration", "5", "Expected a string representation of a duration, but got a Integer: 5"),
        ("inet", "5", "Expected a string representation of an inet value, but got a Integer: 5"),
        ("uuid", "\"abc\"", "Unable to make UUID from 'abc'"),
        ("varint", "1.5", "Value '1.5' is not a valid representation of a varint value"),
        ("decimal", "\"abc\"", "Value 'abc' is not a valid representation of a decimal value"),
        ("list<int>", "5", "Expected a list, but got a Integer: 5"),
        ("list<int>", "[1, null]", "Invalid null element in list"),
        ("set<int>", "[null]", "Invalid null element in set"),
        ("map<text, int>", "{\"a\": null}", "Invalid null value in map"),
        ("tuple<int, text>", "[1, \"a\", 3]", "Tuple contains extra items (expected 2): [1, a, 3]"),
        ("tuple<int, text>", "[1]", "Tuple is missing items (expected 2): [1]"),
        ("vector<float, 2>", "[1]", "List had incorrect size: expected 2 but given 1; [1]"),
    ] {
        let error = from_json(&CONTEXT, json, &ty(of)).unwrap_err();
        assert_eq!(error.code(), Code::FunctionFailure);
        assert_eq!(
            error.message(),
            format!("execution of 'system.fromjson[text]' failed: {fault}"),
            "{of} {json}"
        );
        let receiver = ColumnSpec { keyspace: "k".into(), table: "t".into(), name: "c".into(), ty: ty(of) };
        let error = insert_values(&CONTEXT, &format!("{{\"c\": {json}}}"), &[receiver]).unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (Code::Invalid, &*format!("Error decoding JSON value for c: {fault}"))
        );
    }
    let error = from_json(&CONTEXT, "\"1x\"", &ty("duration")).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Invalid, "Unable to convert '1x' to a duration"));
}

fn insert(text: &str) -> Result<Vec<String>> {
    let receivers: Vec<ColumnSpec> = ["k", "Camel", "x"]
        .map(|name| ColumnSpec { keyspace: "k".into(), table: "t".into(), name: name.into(), ty: ty("int") })
        .into();
    let values = insert_values(&CONTEXT, text, &receivers)?;
    Ok(values
        .iter()
        .map(|value| value.as_ref().map_or("unset".into(), |wire| show(wire, &ty("int"))))
        .collect())
}

#[test]
fn names_of_columns_fold_unless_quoted() {
    assert_eq!(insert("{\"K\": 1, \"\\\"Camel\\\"\": 2}").unwrap(), ["1", "2", "unset"]);
    assert_eq!(insert("{\"k\": 1, \"k\": 2, \"x\": null}").unwrap(), ["2", "unset", "null"]);
    assert_eq!(insert("{}").unwrap(), ["unset"; 3]);
    for (text, message) in [
        ("{\"Camel\": 1}", "JSON values map contains unrecognized column: camel"),
        ("null", "Got null for INSERT JSON values"),
    ] {
        assert_eq!(insert(text).unwrap_err().message(), message);
    }
    for text in [
        "",
        "{\"k\": 20",
        "[1, 2]",
        "5",
        "{k: 20}",
        "{'k': 20}",
        "{\"k\": 01}",
        "{\"k\": 1,}",
        "{\"k\": \"a\nb\"}",
    ] {
        let error = insert(text).unwrap_err();
        assert!(error.message().starts_with("Could not decode JSON string as a map: "), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(insert(&format!("{{\"k\": {deep}")).is_err());
}
