//! Terms held against their receivers, and evaluated.

use super::*;
use crate::catalog::types::Resolver;
use crate::function::CallContext;
use crate::syntax::ast::{InsertValues, Statement};
use crate::syntax::parse;
use skep_engine::UdtType;
use skep_engine::model::bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The types of keyspace `ks`: `p` with two numbers.
struct Types(BTreeMap<String, Arc<UdtType>>);

impl TypeNames for Types {
    fn resolve(&self, name: &TypeName, keyspace: &str) -> Result<CqlType> {
        Resolver { keyspace, types: &self.0 }.resolve(name)
    }
}

fn types() -> Types {
    let fields = ["x", "y"].map(|name| (name.to_owned(), CqlType::Int)).to_vec();
    let udt = UdtType { keyspace: "ks".to_owned(), name: "p".to_owned(), fields };
    Types(BTreeMap::from([("p".to_owned(), Arc::new(udt))]))
}

/// The term `text` as the value of a column `c` of type `ty`.
fn value(text: &str, ty: &str, binds: &[Bound]) -> Result<Bound> {
    let types = types();
    let found = |_: Option<&str>, name: &str| types.0.get(name).cloned();
    let ty = CqlType::parse(ty, &found).unwrap();
    let parsed = parse(&format!("INSERT INTO t (c) VALUES ({text})")).unwrap();
    let Statement::Insert(insert) = &parsed.statement else { panic!() };
    let InsertValues::Columns(_, values) = &insert.values else { panic!() };
    let mut markers = Markers::new(&parsed.markers);
    let scope = Scope { types: &types, keyspace: "ks", table: None };
    let receiver = ColumnSpec { keyspace: "ks".to_owned(), table: "t".to_owned(), name: "c".to_owned(), ty };
    let term = Term::prepare(&values[0], &receiver, &mut Preparing { scope, markers: &mut markers })?;
    assert_eq!(term.has_marker(), !parsed.markers.is_empty());
    assert_eq!(markers.specs().len(), parsed.markers.len(), "every marker has a receiver");
    term.eval(&EvalContext { binds, call: CallContext { now_micros: 0 } })
}

fn bytes(text: &str, ty: &str) -> Vec<u8> {
    match value(text, ty, &[]) {
        Ok(Bound::Value(bytes)) => bytes.to_vec(),
        other => panic!("{text} as {ty}: {other:?}"),
    }
}

fn error(text: &str, ty: &str, binds: &[Bound]) -> String {
    value(text, ty, binds).unwrap_err().message().to_owned()
}

#[test]
fn operands_take_the_receivers_type() {
    assert_eq!(bytes("100 + 100", "tinyint"), [200u8]);
    assert_eq!(bytes("10 / 4", "double"), 2.5f64.to_be_bytes());
    assert_eq!(bytes("10 / 4", "int"), 2i32.to_be_bytes());
    assert_eq!(bytes("-(2 + 3)", "int"), (-5i32).to_be_bytes());
    let deep = vec!["1"; 60].join(" + ");
    assert_eq!(bytes(&deep, "bigint"), 60i64.to_be_bytes(), "deep arithmetic takes no exponential time");
}

#[test]
fn an_empty_brace_is_a_set_or_a_map() {
    assert_eq!(bytes("{}", "set<int>"), [0; 4]);
    assert_eq!(bytes("{}", "map<int, int>"), [0; 4]);
    assert_eq!(error("{}", "p", &[]), "Invalid set literal for c of type p");
}

#[test]
fn tuples_may_be_short_and_user_types_are_whole() {
    assert_eq!(bytes("(1)", "tuple<int, text>"), [0, 0, 0, 4, 0, 0, 0, 1]);
    assert_eq!(bytes("{y: 1}", "p"), [255, 255, 255, 255, 0, 0, 0, 4, 0, 0, 0, 1]);
    assert_eq!(bytes("(1)", "int"), 1i32.to_be_bytes(), "brackets around a number");
}

#[test]
fn markers_and_null_inside() {
    let one = Bound::Value(Bytes::new(&1i32.to_be_bytes()));
    let refused = "Invalid list literal for c: bind variables are not supported inside collection literals";
    assert_eq!(error("[1, ?]", "list<int>", std::slice::from_ref(&one)), refused);
    let tuple = value("(?, 2)", "tuple<int, int>", std::slice::from_ref(&one)).unwrap();
    assert_eq!(tuple, Bound::Value(Bytes::new(&[0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2])));
    let unset = "Invalid unset value for tuple field number 0";
    assert_eq!(error("(?, 2)", "tuple<int, int>", &[Bound::Unset]), unset);
    assert_eq!(error("[null]", "list<int>", &[]), "null is not supported inside collections");
    assert_eq!(error("[1, null]", "vector<int, 2>", &[]), "null is not supported inside vectors");
    assert_eq!(value("?", "int", &[Bound::Unset]).unwrap(), Bound::Unset);
    assert_eq!(error("?", "bigint", &[one]), "Expected 8 or 0 byte long (4)");
}

#[test]
fn a_marker_in_arithmetic_needs_a_hint() {
    let two = Bound::Value(Bytes::new(&2i32.to_be_bytes()));
    let text = "Ambiguous '+' operation with args ? and 1: use type hint to disambiguate, example '(int) ?'";
    assert_eq!(error("? + 1", "int", std::slice::from_ref(&two)), text);
    assert_eq!(value("(int) ? + 1", "int", &[two]).unwrap(), Bound::Value(Bytes::new(&3i32.to_be_bytes())));
}

#[test]
fn what_does_not_fit_is_told() {
    for (text, ty, message) in [
        ("1", "text", "Invalid INTEGER constant (1) for \"c\" of type text"),
        (
            "now()",
            "int",
            "Type error: cannot assign result of function system.now (type timeuuid) to c (type int)",
        ),
        ("nofunction(1)", "int", "Unknown function nofunction called"),
        ("{x: 'a'}", "p", "Invalid user type literal for c: field x is not of type int"),
        ("{z: 1}", "p", "Unknown field 'z' in value of user defined type p"),
        ("null", "counter", "Invalid null value for counter increment/decrement"),
        ("max(1)", "int", "Aggregation function are not supported in the where clause"),
        (
            "[[1], 2]",
            "list<frozen<list<int>>>",
            "Invalid list literal for c: value 2 is not of type frozen<list<int>>",
        ),
    ] {
        assert_eq!(error(text, ty, &[]), message);
    }
}
