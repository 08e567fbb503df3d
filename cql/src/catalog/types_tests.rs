//! Types from names: canonical forms, and what is refused in Cassandra's words.

use super::*;
use crate::error::Place;
use crate::syntax::ast::{Name, TableName};

const PLACE: Place = Place { line: 1, column: 0 };

fn simple(text: &str) -> TypeName {
    let name = Name { text: text.to_owned(), quoted: false, place: PLACE };
    TypeName::Simple(TableName { keyspace: None, name })
}

fn generic(kind: &str, parameters: Vec<TypeName>) -> TypeName {
    TypeName::Generic(kind.to_owned(), parameters, None, PLACE)
}

fn list(of: TypeName) -> TypeName {
    generic("list", vec![of])
}

fn frozen_of(of: TypeName) -> TypeName {
    generic("frozen", vec![of])
}

/// Resolves in a keyspace with the types `addr (street text)` and `nest (l list<int>)`.
fn resolve(name: &TypeName) -> Result<CqlType> {
    let udt = |name: &str, fields: Vec<(&str, CqlType)>| {
        let fields = fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
        (name.to_owned(), Arc::new(UdtType { keyspace: "ks".to_owned(), name: name.to_owned(), fields }))
    };
    let types = BTreeMap::from([
        udt("addr", vec![("street", CqlType::Text)]),
        udt("nest", vec![("l", CqlType::List(Box::new(CqlType::Int)))]),
    ]);
    Resolver { keyspace: "ks", types: &types }.resolve(name)
}

fn refused(name: &TypeName) -> String {
    resolve(name).unwrap_err().message().to_owned()
}

#[test]
fn equal_types_are_equal_values() {
    let once = resolve(&frozen_of(list(list(simple("int"))))).unwrap();
    let twice = resolve(&frozen_of(list(frozen_of(list(simple("int")))))).unwrap();
    assert_eq!(once, twice);
    assert_eq!(cql_text(&once), "frozen<list<frozen<list<int>>>>");
    let bare = resolve(&generic("tuple", vec![simple("varchar"), simple("addr")])).unwrap();
    assert_eq!(bare, resolve(&frozen_of(generic("tuple", vec![simple("text"), simple("addr")]))).unwrap());
    assert_eq!(cql_text(&bare), "frozen<tuple<text, frozen<addr>>>");
}

#[test]
fn fields_of_a_type_in_use_are_frozen() {
    let CqlType::Frozen(inner) = resolve(&frozen_of(simple("nest"))).unwrap() else { panic!() };
    let CqlType::Udt(udt) = *inner else { panic!() };
    assert_eq!(udt.fields[0].1, CqlType::List(Box::new(CqlType::Int)).freeze());
    assert_eq!(
        refused(&simple("nest")),
        "Non-frozen UDTs with nested non-frozen collections are not supported"
    );
    assert!(matches!(resolve(&simple("addr")), Ok(CqlType::Udt(_))));
}

#[test]
fn what_cannot_be_is_told_in_cassandras_words() {
    let cases = [
        (simple("nosuch"), "Unknown type ks.nosuch"),
        (list(simple("nosuch")), "Non-frozen UDTs are not allowed inside collections: list<nosuch>"),
        (
            list(list(simple("int"))),
            "Non-frozen collections are not allowed inside collections: list<list<int>>",
        ),
        (
            generic("map", vec![simple("int"), list(simple("int"))]),
            "Non-frozen collections are not allowed inside collections: map<int, list<int>>",
        ),
        (list(simple("counter")), "Counters are not allowed inside collections: list<counter>"),
        (generic("set", vec![simple("duration")]), "Durations are not allowed inside sets: set<duration>"),
        (
            frozen_of(simple("int")),
            "frozen<> is only allowed on collections, tuples, and user-defined types (got int)",
        ),
    ];
    for (name, text) in cases {
        assert_eq!(refused(&name), text);
    }
    let vector = TypeName::Generic("vector".to_owned(), vec![simple("float")], Some(0), PLACE);
    assert_eq!(refused(&vector), "vectors may only have positive dimensions; given 0");
    assert!(
        refused(&(0..40).fold(simple("int"), |inner, _| frozen_of(list(inner)))).contains("nest at most")
    );
}

#[test]
fn a_quoted_name_is_a_users_type() {
    let mut quoted = simple("int");
    if let TypeName::Simple(table) = &mut quoted {
        table.name.quoted = true;
    }
    assert_eq!(refused(&quoted), "Unknown type ks.int");
}

#[test]
fn names_are_quoted_where_the_grammar_needs_it() {
    for (text, written) in
        [("a_1", "a_1"), ("Key", "\"Key\""), ("select", "\"select\""), ("q\"q", "\"q\"\"q\"")]
    {
        assert_eq!(name(text), written);
    }
}

#[test]
fn a_type_that_doubles_at_every_level_is_refused() {
    let of = |fields: Vec<CqlType>| {
        let fields = fields.into_iter().zip(0..).map(|(ty, n)| (format!("f{n}"), ty)).collect();
        CqlType::Udt(Arc::new(UdtType { keyspace: "ks".to_owned(), name: "u".to_owned(), fields }))
    };
    let doubled = |levels: usize| (0..levels).fold(CqlType::Int, |inner, _| of(vec![inner.clone(), inner]));
    assert!(check_size(&doubled(10)).is_ok());
    assert!(check_size(&doubled(20)).is_err());
    let deep = (0..MAX_DEPTH).fold(CqlType::Int, |inner, _| of(vec![inner]));
    assert!(check_size(&deep).is_err());
}
