//! Names, types, terms and selectors out of choices; `trees` makes statements of them.

use super::Choices;
use skep_cql::Place;
use skep_cql::syntax::ast::{Expr, LifeFunction, Literal, Marker, Name, Operator, TableName, TypeName};

pub(super) const PLACE: Place = Place { line: 1, column: 0 };

/// Names, some of which are keywords, need quotes, or look like something else.
pub(super) const NAMES: &[&str] = &[
    "a",
    "b1",
    "c_d",
    "key",
    "token",
    "ttl",
    "count",
    "json",
    "distinct",
    "cast",
    "exists",
    "expr",
    "int",
    "list",
    "frozen",
    "select",
    "in",
    "true",
    "nan",
    "p1y",
    "P1Y",
    "Mixed",
    "with space",
    "qu\"ote",
    "it's",
    "\u{e9}t\u{e9}",
    "1st",
    "abcdef12",
    "writetime",
    "values",
    "type",
    "as",
    "per",
    "group",
    "contains",
    "like",
    "default",
    "compact",
    "clustering",
    "e",
    "x",
    "i",
    "n",
];

pub(super) fn name(c: &mut Choices<'_>) -> Name {
    let text = NAMES[c.below(NAMES.len())].to_owned();
    Name { text, quoted: false, place: PLACE }
}

pub(super) fn table(c: &mut Choices<'_>) -> TableName {
    TableName { keyspace: maybe(c, name), name: name(c) }
}

pub(super) fn maybe<T>(c: &mut Choices<'_>, make: impl FnOnce(&mut Choices<'_>) -> T) -> Option<T> {
    if c.bool() { Some(make(c)) } else { None }
}

/// From `least` to `least + 2` of them.
pub(super) fn some<T>(
    c: &mut Choices<'_>,
    least: usize,
    mut make: impl FnMut(&mut Choices<'_>) -> T,
) -> Vec<T> {
    (0..least + c.below(3)).map(|_| make(c)).collect()
}

pub(super) fn text(c: &mut Choices<'_>) -> String {
    ["", "x", "it's", "a--b", "/* */", "$$", "\u{65e5}\n\u{672c}", "'", ";", "\\"][c.below(10)].to_owned()
}

pub(super) fn constant(c: &mut Choices<'_>) -> Expr {
    let (kind, text) = match c.below(9) {
        0 => (Literal::Integer, ["0", "-1", "12345678", "99999999999999999999"][c.below(4)].to_owned()),
        1 => (
            Literal::Float,
            ["1.5", "1.", "-1e5", "1e-400", "NaN", "Infinity", "-Infinity"][c.below(7)].to_owned(),
        ),
        2 => (Literal::Boolean, ["true", "FALSE"][c.below(2)].to_owned()),
        3 => (Literal::Uuid, "550e8400-e29b-41d4-a716-446655440000".to_owned()),
        4 => (Literal::Hex, ["0x", "0xCAfe"][c.below(2)].to_owned()),
        5 => (
            Literal::Duration,
            ["1h30m", "-2d", "P1Y2M", "P3W", "-P0001-02-03T04:05:06"][c.below(5)].to_owned(),
        ),
        _ => (Literal::String, text(c)),
    };
    Expr::Constant { kind, text, place: PLACE }
}

pub(super) fn marker(c: &mut Choices<'_>) -> Marker {
    Marker { index: 0, name: maybe(c, |c| name(c).text) }
}

pub(super) fn number(c: &mut Choices<'_>) -> Expr {
    if c.bool() {
        return Expr::Marker(marker(c));
    }
    Expr::Constant { kind: Literal::Integer, text: c.i64().to_string(), place: PLACE }
}

pub(super) fn native(c: &mut Choices<'_>) -> TypeName {
    let text = ["int", "text", "counter", "timeuuid"][c.below(4)].to_owned();
    TypeName::Simple(TableName { keyspace: None, name: Name { text, quoted: false, place: PLACE } })
}

pub(super) fn type_name(c: &mut Choices<'_>, depth: usize) -> TypeName {
    let generic =
        |name: &str, parameters, dimension| TypeName::Generic(name.to_owned(), parameters, dimension, PLACE);
    match if depth == 0 { c.below(3) } else { c.below(9) } {
        0 => native(c),
        1 => {
            // A type of the user's may be called `int`, in quotes.
            let mut table = table(c);
            table.name.quoted = true;
            TypeName::Simple(table)
        }
        2 => TypeName::Custom(text(c)),
        3 => generic("list", vec![type_name(c, depth - 1)], None),
        4 => generic("set", vec![type_name(c, depth - 1)], None),
        5 => generic("map", vec![type_name(c, depth - 1), type_name(c, depth - 1)], None),
        6 => generic("tuple", some(c, 1, |c| type_name(c, depth - 1)), None),
        7 => generic("vector", vec![type_name(c, depth - 1)], Some(3)),
        _ => {
            let inner = generic("list", vec![type_name(c, depth - 1)], None);
            generic("frozen", vec![inner], None)
        }
    }
}

pub(super) fn operator(c: &mut Choices<'_>, product: bool) -> Operator {
    match (product, c.below(3)) {
        (true, 0) => Operator::Multiply,
        (true, 1) => Operator::Divide,
        (true, _) => Operator::Modulo,
        (false, 0) => Operator::Subtract,
        (false, _) => Operator::Add,
    }
}

/// A term: its grammar has no brackets but those of tuples, so that only some trees can be written.
pub(super) fn term(c: &mut Choices<'_>, depth: usize) -> Expr {
    chain(c, false, |c| {
        chain(c, true, |c| {
            if c.below(8) == 7 { Expr::Negate(Box::new(simple(c, depth))) } else { simple(c, depth) }
        })
    })
}

/// A key of a map. `(a): b` would be the bind marker `:b` with the hint that it is of type a.
pub(super) fn key(c: &mut Choices<'_>) -> Expr {
    match c.below(3) {
        0 => Expr::List(some(c, 0, |c| term(c, 0))),
        1 => Expr::Call { keyspace: None, name: name(c), args: Vec::new() },
        _ => constant(c),
    }
}

pub(super) fn chain(
    c: &mut Choices<'_>,
    product: bool,
    mut make: impl FnMut(&mut Choices<'_>) -> Expr,
) -> Expr {
    let mut left = make(c);
    while c.below(6) == 5 {
        left = Expr::Binary(operator(c, product), Box::new(left), Box::new(make(c)));
    }
    left
}

pub(super) fn simple(c: &mut Choices<'_>, depth: usize) -> Expr {
    let inner = |c: &mut Choices<'_>| term(c, depth - 1);
    match if depth == 0 { c.below(3) } else { c.below(11) } {
        0 => constant(c),
        1 => Expr::Null,
        2 => Expr::Marker(marker(c)),
        3 => Expr::List(some(c, 0, inner)),
        4 => Expr::Set(some(c, 1, inner)),
        5 => Expr::Map(some(c, 0, |c| (key(c), inner(c)))),
        6 => Expr::Udt(some(c, 1, |c| (name(c), inner(c)))),
        7 => Expr::Tuple(some(c, 1, inner)),
        8 => Expr::TypeHint(type_name(c, 2), Box::new(simple(c, depth - 1))),
        9 => Expr::Cast(Box::new(simple(c, depth - 1)), native(c)),
        _ => Expr::Call { keyspace: maybe(c, name), name: name(c), args: some(c, 0, inner) },
    }
}

/// A selector. Brackets around one are a tuple here too.
pub(super) fn selector(c: &mut Choices<'_>, depth: usize) -> Expr {
    chain(c, false, |c| chain(c, true, |c| signed_selector(c, depth)))
}

pub(super) fn signed_selector(c: &mut Choices<'_>, depth: usize) -> Expr {
    match c.below(10) {
        9 => Expr::Negate(Box::new(signed_selector(c, depth))),
        6..9 => {
            // `(a)[1]` is the list [1] with the hint that it is of type a.
            let base = match simple_selector(c, depth) {
                Expr::Tuple(_) | Expr::TypeHint(..) => Expr::Column(name(c)),
                other => other,
            };
            modified(c, base)
        }
        _ => simple_selector(c, depth),
    }
}

pub(super) fn simple_selector(c: &mut Choices<'_>, depth: usize) -> Expr {
    let inner = |c: &mut Choices<'_>| selector(c, depth.saturating_sub(1));
    match if depth == 0 { c.below(5) } else { c.below(14) } {
        0 | 1 => Expr::Column(name(c)),
        2 => constant(c),
        3 => Expr::Marker(marker(c)),
        4 => Expr::Call {
            keyspace: None,
            name: Name { text: "count".to_owned(), quoted: false, place: PLACE },
            args: vec![Expr::Star],
        },
        5 => Expr::List(some(c, 0, inner)),
        6 => Expr::Set(some(c, 1, inner)),
        7 => {
            let mut entries = vec![(constant(c), inner(c))];
            entries.extend(some(c, 0, |c| (key(c), inner(c))));
            Expr::Map(entries)
        }
        8 => Expr::Udt(some(c, 1, |c| (name(c), inner(c)))),
        9 => Expr::Tuple(some(c, 1, inner)),
        10 => Expr::Call { keyspace: maybe(c, name), name: name(c), args: some(c, 0, inner) },
        11 => Expr::TypeHint(type_name(c, 1), Box::new(simple_selector(c, depth - 1))),
        12 => Expr::Cast(Box::new(inner(c)), native(c)),
        _ => {
            let column = Expr::Column(name(c));
            let what = if c.bool() { modified(c, column) } else { column };
            let function =
                [LifeFunction::Ttl, LifeFunction::Writetime, LifeFunction::MaxWritetime][c.below(3)];
            Expr::Life(function, Box::new(what))
        }
    }
}

pub(super) fn modified(c: &mut Choices<'_>, base: Expr) -> Expr {
    let base = Box::new(base);
    match c.below(4) {
        0 => Expr::Field(base, name(c)),
        1 => Expr::Element(base, Box::new(term(c, 1))),
        2 => Expr::Slice(base, None, Some(Box::new(term(c, 1)))),
        _ => Expr::Slice(base, Some(Box::new(term(c, 1))), maybe(c, |c| Box::new(term(c, 1)))),
    }
}
