//! What selectors give over rows, and what is refused.

use super::*;
use crate::catalog::types::Resolver;
use crate::function::CallContext;
use crate::syntax::ast::{Statement, TypeName};
use crate::syntax::parse;
use crate::term::{Markers, Scope, TypeNames, parts};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::schema::TableId;
use skep_engine::{ColumnKind, TableOptions, UdtType};
use std::collections::BTreeMap;

struct Types(BTreeMap<String, Arc<UdtType>>);

impl TypeNames for Types {
    fn resolve(&self, name: &TypeName, keyspace: &str) -> Result<CqlType> {
        Resolver { keyspace, types: &self.0 }.resolve(name)
    }
}

fn udt() -> Arc<UdtType> {
    let fields = vec![("a".to_owned(), CqlType::Int), ("b".to_owned(), CqlType::Text)];
    Arc::new(UdtType { keyspace: "ks".to_owned(), name: "u".to_owned(), fields })
}

/// A table `ks.t` with a column of each kind of type.
fn table() -> TableSchema {
    let types = BTreeMap::from([("u".to_owned(), udt())]);
    let found = |_: Option<&str>, name: &str| types.get(name).cloned();
    let columns = [
        ("k", "int", ColumnKind::PartitionKey),
        ("d", "double", ColumnKind::Regular),
        ("l", "list<int>", ColumnKind::Regular),
        ("m", "map<text, int>", ColumnKind::Regular),
        ("fm", "frozen<map<text, int>>", ColumnKind::Regular),
        ("u", "u", ColumnKind::Regular),
        ("v", "int", ColumnKind::Regular),
        ("w", "text", ColumnKind::Regular),
    ];
    let column = |(name, ty, kind): (&str, &str, ColumnKind)| {
        (name.to_owned(), CqlType::parse(ty, &found).unwrap(), kind)
    };
    let columns = columns.map(column).to_vec();
    TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap()
}

/// A row of that table: k = 1, v = 10, m = {a: 1, c: 3}, the same frozen, u = {a: 7, b: null}; other columns null.
struct OneRow(TableSchema);

impl OneRow {
    fn name(&self, column: usize) -> &str {
        &self.0.columns()[column].name
    }
}

fn int(number: i32) -> Bytes {
    Bytes::new(&number.to_be_bytes())
}

impl RowValues for OneRow {
    fn value(&self, column: usize) -> Result<Wire> {
        Ok(match self.name(column) {
            "k" => Some(int(1)),
            "v" => Some(int(10)),
            "m" | "fm" => {
                let entries = vec![(Bytes::new(b"a"), int(1)), (Bytes::new(b"c"), int(3))];
                Some(parts::map(entries, &CqlType::Text)?)
            }
            "u" => Some(parts::tuple(&[Some(int(7)), None])?),
            _ => None,
        })
    }

    fn lives(&self, column: usize) -> Result<Vec<CellLife>> {
        let life = |key: &[u8], timestamp, ttl| CellLife { key: Bytes::new(key), timestamp, ttl };
        Ok(match self.name(column) {
            "m" => vec![life(b"a", 100, None), life(b"c", 300, Some(9))],
            "u" => vec![life(&[0, 0], 700, None)],
            "v" | "fm" => vec![life(b"", 50, None)],
            _ => Vec::new(),
        })
    }

    fn aggregate(&self, index: usize) -> Result<Wire> {
        Ok(Some(int(1000 + i32::try_from(index).unwrap())))
    }
}

/// The selector `text`, with what it uses.
fn prepare(text: &str) -> Result<(Selector, Uses)> {
    let types = Types(BTreeMap::from([("u".to_owned(), udt())]));
    let parsed = parse(&format!("SELECT {text} FROM t")).unwrap();
    let Statement::Select(select) = &parsed.statement else { panic!() };
    let table = table();
    let mut markers = Markers::new(&parsed.markers);
    let scope = Scope { types: &types, keyspace: "ks", table: None };
    let mut uses = Uses::default();
    let mut cx = Preparing { scope, markers: &mut markers };
    let selector = Selector::prepare(&select.selectors[0].0, &table, &mut uses, &mut cx)?;
    Ok((selector, uses))
}

fn value(text: &str) -> Wire {
    let (selector, _) = prepare(text).unwrap();
    let cx = EvalContext { binds: &[], call: CallContext { now_micros: 0 } };
    selector.eval(&OneRow(table()), &cx).unwrap()
}

fn number(text: &str) -> Option<i64> {
    value(text).map(|bytes| bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte)))
}

#[test]
fn results_have_cassandras_names_and_types() {
    for (text, name, ty) in [
        ("v", "v", "int"),
        ("intAsBlob(v)", "system.intasblob(v)", "blob"),
        ("count(*)", "count", "bigint"),
        ("count(1)", "count", "bigint"),
        ("CAST(v AS text)", "cast(v as text)", "text"),
        ("CAST(v AS int)", "v", "int"),
        ("max(CAST(v AS int))", "system.max(v)", "int"),
        ("(v + 1) * 2", "(v + 1) * 2", "int"),
        ("- (v)", "-(v)", "int"),
        ("(bigint) 1 + v", "(bigint)1 + v", "bigint"),
        ("(u) {a: 1, b: 'x'}", "(ks.u){a: 1, b: 'x'}", "u"),
        ("m['a']", "m['a']", "int"),
        ("m['a'..]", "m['a'..]", "map<text, int>"),
        ("u.b", "u.b", "text"),
        ("writetime(m)", "writetime(m)", "list<bigint>"),
        ("maxwritetime(m)", "maxwritetime(m)", "bigint"),
        ("ttl(m['a'])", "ttl(m['a'])", "int"),
        ("[v, 1]", "[v, 1]", "list<int>"),
        ("(k, v)", "(k, v)", "tuple<int, int>"),
        ("intAsBlob(null)", "system.intasblob(NULL)", "blob"),
    ] {
        let (selector, _) = prepare(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(selector.name(), name);
        assert_eq!(selector.ty().to_string(), ty, "{text}");
    }
}

#[test]
fn what_cannot_be_selected_is_told() {
    for (text, message) in [
        ("1", "Cannot infer type for term 1 in selection clause (try using a cast to force a type)"),
        ("(v)", "Cannot infer type for term (v) in selection clause (try using a cast to force a type)"),
        ("l[0]", "Element selection is only allowed on sets and maps, but l is a list"),
        ("v['a']", "Invalid element selection: v is of type int is not a collection"),
        ("m[1]", "Invalid INTEGER constant (1) for \"key(m)\" of type text"),
        ("u.z", "u of type u has no field z"),
        ("v.a", "Invalid field selection: v of type int is not a user type"),
        (
            "intAsBlob(w)",
            "Type error: w cannot be passed as argument 0 of function system.intasblob of type int",
        ),
        ("max(max(v))", "aggregate functions cannot be used as arguments of aggregate functions"),
        ("writetime(k)", "Cannot use selection function writetime on PRIMARY KEY part k"),
        ("nofunction(v)", "Unknown function 'nofunction'"),
        ("x", "Undefined column name x in table ks.t"),
        (
            "v + ?",
            "Ambiguous '+' operation with args v and ?: use type hint to disambiguate, example '(int) ?'",
        ),
        ("v + w", "the '+' operation is not supported between v and w"),
        ("CAST(w AS blob)", "w cannot be cast to blob"),
        (
            "(vector<int, 3>) [1, 2]",
            "Unable to create a vector selector of type vector<int, 3> from 2 elements",
        ),
        ("(date) 1.5", "Cannot assign value (date)1.5 to (date)1.5 of type date"),
    ] {
        let error = prepare(text).map(|(selector, _)| selector.ty().clone()).unwrap_err();
        assert_eq!(error.message(), message);
    }
}

#[test]
fn elements_slices_and_fields() {
    assert_eq!(number("m['c']"), Some(3));
    assert_eq!(number("m['b']"), None);
    assert_eq!(number("fm['a'] + v"), Some(11));
    assert_eq!(number("u.a"), Some(7));
    assert_eq!(number("u.b"), None);
    let entry = parts::map(vec![(Bytes::new(b"c"), int(3))], &CqlType::Text).unwrap();
    assert_eq!(value("m['b'..]"), Some(entry));
    assert_eq!(value("m['x'..'y']"), None, "an empty slice of many cells is null");
    assert_eq!(value("fm['x'..'y']"), Some(Bytes::new(&[0; 4])), "of a frozen map it is empty");
}

#[test]
fn lives_of_cells() {
    let big = |numbers: &[Option<i64>]| {
        let numbers: Vec<Wire> = numbers.iter().map(|n| n.map(|n| Bytes::new(&n.to_be_bytes()))).collect();
        Some(parts::list(&numbers).unwrap())
    };
    assert_eq!(number("writetime(v)"), Some(50));
    assert_eq!(value("writetime(w)"), None);
    assert_eq!(value("writetime(m)"), big(&[Some(100), Some(300)]));
    assert_eq!(value("writetime(m['b'..])"), big(&[Some(300)]));
    assert_eq!(number("maxwritetime(m)"), Some(300));
    assert_eq!(number("writetime(m['a'])"), Some(100));
    assert_eq!(number("ttl(m['c'])"), Some(9));
    assert_eq!(value("writetime(u)"), big(&[Some(700), None]));
    assert_eq!(number("writetime(u.a)"), Some(700));
    assert_eq!(value("writetime(u.b)"), None);
    assert_eq!(number("writetime(fm['a'])"), Some(50));
    assert_eq!(value("writetime(fm['z'])"), None, "what is not there has no time");
    assert_eq!(value("writetime(fm['x'..])"), None);
    assert_eq!(number("writetime(fm['a'..])"), Some(50));
    let ttls = parts::list(&[None, Some(int(9))]).unwrap();
    assert_eq!(value("ttl(m)"), Some(ttls));
}

#[test]
fn aggregates_are_taken_out() {
    let (selector, uses) = prepare("max(v) + min(d)").unwrap();
    assert_eq!(uses.aggregates.len(), 2);
    assert!(uses.aggregates.iter().all(|aggregate| aggregate.function.is_aggregate()));
    let columns: Vec<_> = uses.columns.iter().map(|column| table().columns()[*column].name.clone()).collect();
    assert_eq!(columns, ["v", "d"]);
    assert_eq!(selector.ty(), &CqlType::Double);
    assert_eq!(number("max(v) + v"), Some(1010), "the group's result and its first row's column");
    let cx = EvalContext { binds: &[], call: CallContext { now_micros: 0 } };
    assert_eq!(uses.aggregates[0].args(&OneRow(table()), &cx).unwrap(), [Some(int(10))]);
}
