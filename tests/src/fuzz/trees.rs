//! Trees of statements out of choices: all that the parser can give, and nothing else.

use super::Choices;
use skep_cql::Place;
use skep_cql::syntax::ast::{
    AlterTable, Assignment, Batch, BatchKind, ColumnCondition, ColumnDefinition, Comparison, Condition,
    CreateIndex, CreateTable, CreateType, CreateView, Delete, Expr, IndexPart, Insert, InsertValues, Left,
    LifeFunction, Literal, Marker, Name, Operation, Operator, OptionValue, Options, Ordering, Relation,
    Right, Select, Statement, TableChange, TableName, Target, TypeName, Update, Using,
};

const PLACE: Place = Place { line: 1, column: 0 };

/// Names, some of which are keywords, need quotes, or look like something else.
const NAMES: &[&str] = &[
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

fn name(c: &mut Choices<'_>) -> Name {
    let text = NAMES[c.below(NAMES.len())].to_owned();
    Name { text, quoted: false, place: PLACE }
}

fn table(c: &mut Choices<'_>) -> TableName {
    TableName { keyspace: maybe(c, name), name: name(c) }
}

fn maybe<T>(c: &mut Choices<'_>, make: impl FnOnce(&mut Choices<'_>) -> T) -> Option<T> {
    if c.bool() { Some(make(c)) } else { None }
}

/// From `least` to `least + 2` of them.
fn some<T>(c: &mut Choices<'_>, least: usize, mut make: impl FnMut(&mut Choices<'_>) -> T) -> Vec<T> {
    (0..least + c.below(3)).map(|_| make(c)).collect()
}

fn text(c: &mut Choices<'_>) -> String {
    ["", "x", "it's", "a--b", "/* */", "$$", "\u{65e5}\n\u{672c}", "'", ";", "\\"][c.below(10)].to_owned()
}

fn constant(c: &mut Choices<'_>) -> Expr {
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

fn marker(c: &mut Choices<'_>) -> Marker {
    Marker { index: 0, name: maybe(c, |c| name(c).text) }
}

fn number(c: &mut Choices<'_>) -> Expr {
    if c.bool() {
        return Expr::Marker(marker(c));
    }
    Expr::Constant { kind: Literal::Integer, text: c.i64().to_string(), place: PLACE }
}

fn native(c: &mut Choices<'_>) -> TypeName {
    let text = ["int", "text", "counter", "timeuuid"][c.below(4)].to_owned();
    TypeName::Simple(TableName { keyspace: None, name: Name { text, quoted: false, place: PLACE } })
}

fn type_name(c: &mut Choices<'_>, depth: usize) -> TypeName {
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

fn operator(c: &mut Choices<'_>, product: bool) -> Operator {
    match (product, c.below(3)) {
        (true, 0) => Operator::Multiply,
        (true, 1) => Operator::Divide,
        (true, _) => Operator::Modulo,
        (false, 0) => Operator::Subtract,
        (false, _) => Operator::Add,
    }
}

/// A term: its grammar has no brackets but those of tuples, so that only some trees can be written.
fn term(c: &mut Choices<'_>, depth: usize) -> Expr {
    chain(c, false, |c| {
        chain(c, true, |c| {
            if c.below(8) == 7 { Expr::Negate(Box::new(simple(c, depth))) } else { simple(c, depth) }
        })
    })
}

/// A key of a map. `(a): b` would be the bind marker `:b` with the hint that it is of type a.
fn key(c: &mut Choices<'_>) -> Expr {
    match c.below(3) {
        0 => Expr::List(some(c, 0, |c| term(c, 0))),
        1 => Expr::Call { keyspace: None, name: name(c), args: Vec::new() },
        _ => constant(c),
    }
}

fn chain(c: &mut Choices<'_>, product: bool, mut make: impl FnMut(&mut Choices<'_>) -> Expr) -> Expr {
    let mut left = make(c);
    while c.below(6) == 5 {
        left = Expr::Binary(operator(c, product), Box::new(left), Box::new(make(c)));
    }
    left
}

fn simple(c: &mut Choices<'_>, depth: usize) -> Expr {
    let mut inner = |c: &mut Choices<'_>| term(c, depth - 1);
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
fn selector(c: &mut Choices<'_>, depth: usize) -> Expr {
    chain(c, false, |c| chain(c, true, |c| signed_selector(c, depth)))
}

fn signed_selector(c: &mut Choices<'_>, depth: usize) -> Expr {
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

fn simple_selector(c: &mut Choices<'_>, depth: usize) -> Expr {
    let mut inner = |c: &mut Choices<'_>| selector(c, depth.saturating_sub(1));
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

fn modified(c: &mut Choices<'_>, base: Expr) -> Expr {
    let base = Box::new(base);
    match c.below(4) {
        0 => Expr::Field(base, name(c)),
        1 => Expr::Element(base, Box::new(term(c, 1))),
        2 => Expr::Slice(base, None, Some(Box::new(term(c, 1)))),
        _ => Expr::Slice(base, Some(Box::new(term(c, 1))), maybe(c, |c| Box::new(term(c, 1)))),
    }
}

fn comparison(c: &mut Choices<'_>) -> Comparison {
    use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
    [Eq, Ne, Lt, Le, Gt, Ge][c.below(6)]
}

fn compared(c: &mut Choices<'_>) -> (Comparison, Right) {
    match c.below(6) {
        0 => (Comparison::In, Right::List(some(c, 0, |c| term(c, 2)))),
        1 => (Comparison::In, Right::Marker(marker(c))),
        _ => (comparison(c), Right::Term(term(c, 2))),
    }
}

fn relation(c: &mut Choices<'_>) -> Relation {
    let (left, comparison, right) = match c.below(9) {
        0 => (Left::Column(name(c)), Comparison::Like, Right::Term(term(c, 1))),
        1 => (Left::Column(name(c)), Comparison::IsNot, Right::Term(Expr::Null)),
        2 => (
            Left::Column(name(c)),
            [Comparison::Contains, Comparison::ContainsKey][c.below(2)],
            Right::Term(term(c, 1)),
        ),
        3 => (Left::Element(name(c), term(c, 1)), comparison(c), Right::Term(term(c, 1))),
        4 => (Left::Token(some(c, 1, name)), comparison(c), Right::Term(term(c, 1))),
        5 => {
            let tuple = Expr::Tuple(some(c, 1, |c| term(c, 1)));
            (Left::Columns(some(c, 1, name)), comparison(c), Right::Term(tuple))
        }
        6 => {
            let list = match c.below(3) {
                0 => Right::Marker(marker(c)),
                1 => Right::List(some(c, 0, |c| Expr::Tuple(some(c, 1, |c| term(c, 1))))),
                _ => Right::List(some(c, 0, |c| Expr::Marker(marker(c)))),
            };
            (Left::Columns(some(c, 1, name)), Comparison::In, list)
        }
        _ => {
            let (comparison, right) = compared(c);
            (Left::Column(name(c)), comparison, right)
        }
    };
    Relation { left, comparison, right, place: PLACE }
}

fn selectors(c: &mut Choices<'_>) -> Vec<(Expr, Option<Name>)> {
    some(c, 0, |c| (selector(c, 3), maybe(c, name)))
}

fn select(c: &mut Choices<'_>) -> Select {
    Select {
        json: c.bool(),
        distinct: c.bool(),
        selectors: selectors(c),
        table: table(c),
        relations: some(c, 0, relation),
        group_by: some(c, 0, |c| selector(c, 1)),
        order_by: some(c, 0, |c| Ordering {
            column: name(c),
            descending: c.bool(),
            ann_of: maybe(c, |c| term(c, 1)),
        }),
        per_partition_limit: maybe(c, number),
        limit: maybe(c, number),
        allow_filtering: c.bool(),
    }
}

fn using(c: &mut Choices<'_>) -> Using {
    Using { ttl: maybe(c, number), timestamp: maybe(c, number) }
}

fn insert(c: &mut Choices<'_>) -> Insert {
    let values = if c.bool() {
        let json = if c.bool() {
            Expr::Marker(marker(c))
        } else {
            Expr::Constant { kind: Literal::String, text: text(c), place: PLACE }
        };
        InsertValues::Json { json, default_unset: c.bool() }
    } else {
        InsertValues::Columns(some(c, 1, name), some(c, 1, |c| term(c, 3)))
    };
    Insert { table: table(c), values, if_not_exists: c.bool(), using: using(c) }
}

fn target(c: &mut Choices<'_>) -> Target {
    match c.below(4) {
        0 => Target::Element(term(c, 1)),
        1 => Target::Field(name(c)),
        _ => Target::Whole,
    }
}

fn condition(c: &mut Choices<'_>) -> Condition {
    match c.below(4) {
        0 => Condition::Exists,
        1 => Condition::If(some(c, 1, |c| {
            let (comparison, right) = compared(c);
            ColumnCondition { column: name(c), target: target(c), comparison, right }
        })),
        _ => Condition::None,
    }
}

fn update(c: &mut Choices<'_>) -> Update {
    let mut assignments = some(c, 1, |c| {
        let target = target(c);
        let operation = match if target == Target::Whole { c.below(4) } else { 0 } {
            0 => Operation::Set(term(c, 2)),
            1 => Operation::Add(term(c, 2)),
            2 => Operation::Subtract(term(c, 2)),
            _ => Operation::Prepend(simple(c, 2)),
        };
        Assignment { column: name(c), target, operation }
    });
    // Two of one column may be incompatible.
    let mut seen = Vec::new();
    assignments.retain(|assignment| {
        let new = !seen.contains(&assignment.column.text);
        seen.push(assignment.column.text.clone());
        new
    });
    Update {
        table: table(c),
        using: using(c),
        assignments,
        relations: some(c, 1, relation),
        condition: condition(c),
    }
}

fn delete(c: &mut Choices<'_>) -> Delete {
    Delete {
        columns: some(c, 0, |c| (name(c), target(c))),
        table: table(c),
        using: Using { ttl: None, timestamp: maybe(c, number) },
        relations: some(c, 1, relation),
        condition: condition(c),
    }
}

fn options(c: &mut Choices<'_>, least: usize) -> Options {
    let mut number = 0;
    some(c, least, |c| {
        number += 1;
        let name = Name { text: format!("{}{number}", name(c).text), quoted: false, place: PLACE };
        let value = if c.bool() {
            OptionValue::Map(some(c, 0, |c| (text(c), text(c))))
        } else {
            OptionValue::Text(["true", "10", "NONE", "0.5", ""][c.below(5)].to_owned())
        };
        (name, value)
    })
}

fn column(c: &mut Choices<'_>) -> ColumnDefinition {
    let mask = |c: &mut Choices<'_>| Expr::Call {
        keyspace: maybe(c, name),
        name: name(c),
        args: some(c, 0, |c| term(c, 1)),
    };
    ColumnDefinition {
        name: name(c),
        ty: type_name(c, 3),
        is_static: c.bool(),
        primary_key: c.bool(),
        masked: maybe(c, mask),
    }
}

fn primary_key(c: &mut Choices<'_>) -> (Vec<Name>, Vec<Name>) {
    (some(c, 1, name), some(c, 0, name))
}

fn order(c: &mut Choices<'_>) -> Vec<(Name, bool)> {
    some(c, 0, |c| (name(c), c.bool()))
}

fn schema(c: &mut Choices<'_>) -> Statement {
    match c.below(5) {
        0 => Statement::CreateTable(CreateTable {
            if_not_exists: c.bool(),
            table: table(c),
            columns: some(c, 1, column),
            primary_keys: some(c, 0, primary_key),
            clustering_order: order(c),
            compact_storage: c.bool(),
            options: options(c, 0),
        }),
        1 => {
            let change = match c.below(5) {
                0 => TableChange::AlterType(c.bool(), name(c), type_name(c, 2)),
                1 => TableChange::Add(
                    c.bool(),
                    some(c, 1, |c| ColumnDefinition { primary_key: false, ..column(c) }),
                ),
                2 => TableChange::Drop(c.bool(), some(c, 1, name), None),
                3 => TableChange::Rename(c.bool(), some(c, 1, |c| (name(c), name(c)))),
                _ => TableChange::Options(options(c, 1)),
            };
            Statement::AlterTable(AlterTable { if_exists: c.bool(), table: table(c), change })
        }
        2 => {
            let name_of = |c: &mut Choices<'_>| TableName { keyspace: maybe(c, name), name: name(c) };
            let fields = some(c, 1, |c| (name(c), type_name(c, 3)));
            Statement::CreateType(CreateType { if_not_exists: c.bool(), name: name_of(c), fields })
        }
        3 => {
            use IndexPart::{Entries, Full, Keys, Simple, Values};
            Statement::CreateIndex(CreateIndex {
                custom: c.bool(),
                if_not_exists: c.bool(),
                name: maybe(c, |c| TableName { keyspace: None, name: name(c) }),
                table: table(c),
                targets: some(c, 0, |c| (name(c), [Simple, Values, Keys, Entries, Full][c.below(5)])),
                using: maybe(c, text),
                options: options(c, 0),
            })
        }
        _ => Statement::CreateView(CreateView {
            if_not_exists: c.bool(),
            name: table(c),
            selectors: selectors(c),
            base: table(c),
            relations: some(c, 0, relation),
            primary_keys: vec![primary_key(c)],
            clustering_order: order(c),
            compact_storage: c.bool(),
            options: options(c, 0),
        }),
    }
}

/// A statement.
pub(super) fn statement(c: &mut Choices<'_>) -> Statement {
    match c.below(7) {
        0 | 1 => Statement::Select(Box::new(select(c))),
        2 => Statement::Insert(insert(c)),
        3 => Statement::Update(update(c)),
        4 => Statement::Delete(delete(c)),
        5 => Statement::Batch(Batch {
            kind: [BatchKind::Logged, BatchKind::Unlogged, BatchKind::Counter][c.below(3)],
            using: using(c),
            statements: some(c, 0, |c| match c.below(3) {
                0 => Statement::Insert(insert(c)),
                1 => Statement::Update(update(c)),
                _ => Statement::Delete(delete(c)),
            }),
        }),
        _ => schema(c),
    }
}
