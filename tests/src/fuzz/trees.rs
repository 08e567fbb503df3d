//! Trees of statements out of choices: all that the parser can give, and nothing else.

use super::Choices;
use super::exprs::{
    PLACE, marker, maybe, name, number, selector, simple, some, table, term, text, type_name,
};
use skep_cql::syntax::ast::{
    AlterTable, Assignment, Batch, BatchKind, ColumnCondition, ColumnDefinition, Comparison, Condition,
    CreateIndex, CreateTable, CreateType, CreateView, Delete, Expr, IndexPart, Insert, InsertValues, Left,
    Literal, Name, Operation, OptionValue, Options, Ordering, Relation, Right, Select, Statement,
    TableChange, TableName, Target, Update, Using,
};

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
