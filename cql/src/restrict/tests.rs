//! WHERE by the example of one table, held against the parser's trees.

use super::*;
use crate::catalog::Catalog;
use crate::function::CallContext;
use crate::syntax::ast::Statement;
use crate::syntax::parse;
use crate::term::{EvalContext, Markers};
use crate::value::Bound;
use skep_engine::encoding::key;
use skep_engine::env::sim::SimDisk;
use skep_engine::model::bytes::Bytes;
use skep_engine::{ColumnKind, CqlType, Db, Order, Schema, TokenRange};

/// `PRIMARY KEY ((p, q), c, d)`, d descending.
fn table() -> (Db, Arc<TableInfo>) {
    let disk = SimDisk::new(1);
    let db = Db::builder("/db").env(disk.env()).background(false).open().unwrap();
    let schema = Schema::table("t")
        .keyspace("main")
        .declare("p", CqlType::Int, ColumnKind::PartitionKey)
        .declare("q", CqlType::Text, ColumnKind::PartitionKey)
        .declare("c", CqlType::Int, ColumnKind::Clustering(Order::Asc))
        .declare("d", CqlType::Int, ColumnKind::Clustering(Order::Desc))
        .declare("s", CqlType::Int, ColumnKind::Static)
        .declare("v", CqlType::Int, ColumnKind::Regular)
        .declare("l", CqlType::List(Box::new(CqlType::Int)), ColumnKind::Regular)
        .declare("m", CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Int)), ColumnKind::Regular);
    db.create_table(schema).unwrap();
    let info = Catalog::of(&db).table("main", "t").unwrap();
    (db, info)
}

fn prepare_as(kind: Kind, table: &Arc<TableInfo>, text: &str) -> Result<Where> {
    let parsed = parse(&format!("SELECT * FROM t WHERE {text}")).unwrap();
    let Statement::Select(select) = parsed.statement else { panic!("{text}") };
    let mut markers = Markers::new(&parsed.markers);
    let types = Catalog::of(table.table.db());
    let scope = crate::term::Scope { types: &*types, keyspace: "main", table: Some(&table.schema) };
    let mut cx = Preparing { scope, markers: &mut markers };
    let rules = Rules { kind, statics_only: false, allow_filtering: select.allow_filtering };
    let made = Where::prepare(&mut cx, table, &select.relations, rules)?;
    made.check_filtering()?;
    Ok(made)
}

fn prepare(table: &Arc<TableInfo>, text: &str) -> Where {
    prepare_as(Kind::Select, table, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(kind: Kind, table: &Arc<TableInfo>, text: &str) -> String {
    prepare_as(kind, table, text).expect_err(text).message().to_owned()
}

fn context(binds: &[Bound]) -> EvalContext<'_> {
    EvalContext { binds, call: CallContext { now_micros: 0 } }
}

fn int(number: i32) -> Bytes {
    Bytes::new(&number.to_be_bytes())
}

/// Which (c, d) with values from 0 to 2 the ranges hold, in the order of storage.
fn held(table: &Arc<TableInfo>, text: &str, binds: &[Bound]) -> Vec<(i32, i32)> {
    let ranges = prepare(table, &format!("p = 1 AND q = 'a' AND {text}")).ranges(&context(binds)).unwrap();
    let all = (0..3).flat_map(|c| (0..3).rev().map(move |d| (c, d)));
    all.filter(|(c, d)| {
        let place = key::clustering(&table.schema, &[int(*c), int(*d)]).unwrap();
        ranges.iter().any(|range| range.contains(place.order()))
    })
    .collect()
}

#[test]
fn keys_come_in_the_order_of_their_values_each_once() {
    let (_db, table) = table();
    let keys = |text: &str| -> Vec<Vec<Bytes>> {
        let keys = prepare(&table, text).partition_keys(&context(&[])).unwrap();
        keys.iter().map(|found| key::partition_wires(&table.schema, &found.key).unwrap()).collect()
    };
    let pair = |p: i32, q: &str| vec![int(p), Bytes::new(q.as_bytes())];
    let all = [pair(-1, "a"), pair(-1, "b"), pair(2, "a"), pair(2, "b")];
    assert_eq!(keys("p IN (2, -1, 2) AND q IN ('b', 'a')"), all);
    assert_eq!(keys("p = 1 AND q IN ()"), Vec::<Vec<Bytes>>::new());
    assert_eq!(keys("p IN (1) AND q = ''"), [pair(1, "")]);
}

#[test]
fn slices_hold_what_lies_between_their_ends_by_value() {
    let (_db, table) = table();
    let held = |text: &str| held(&table, text, &[]);
    assert_eq!(held("c = 1 AND d > 0"), [(1, 2), (1, 1)]);
    assert_eq!(held("c > 0 AND c < 2"), [(1, 2), (1, 1), (1, 0)]);
    assert_eq!(held("c > 1 AND c < 1"), []);
    // Of a column that ascends and one that descends: several pieces.
    assert_eq!(held("(c, d) > (1, 1)"), [(1, 2), (2, 2), (2, 1), (2, 0)]);
    assert_eq!(held("(c, d) >= (1, 1) AND (c) < (2)"), [(1, 2), (1, 1)]);
    assert_eq!(held("(c, d) IN ((2, 0), (0, 1), (9, 9))"), [(0, 1), (2, 0)]);
    assert_eq!(held("c IN (2, 0) AND d <= 0"), [(0, 0), (2, 0)]);
    assert_eq!(held("c > null"), []);
}

#[test]
fn markers_take_values_tuples_and_lists() {
    let (_db, table) = table();
    let value = |bytes: &[u8]| Bound::Value(Bytes::new(bytes));
    let pair = [0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1];
    assert_eq!(held(&table, "(c, d) = ?", &[value(&pair)]), [(1, 1)]);
    let list = [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0];
    assert_eq!(held(&table, "c IN ? AND d = 1", &[value(&list)]), [(0, 1), (2, 1)]);
    let made = prepare(&table, "p = ? AND q = 'a' AND c = ?");
    let fails = |p: Bound, c: Bound| {
        let binds = [p, c];
        let cx = context(&binds);
        let keys = made.partition_keys(&cx).err();
        keys.or_else(|| made.ranges(&cx).err()).unwrap().message().to_owned()
    };
    let one = value(&[0, 0, 0, 1]);
    assert_eq!(fails(Bound::Null, one.clone()), "Invalid null value in condition for column p");
    assert_eq!(fails(one.clone(), Bound::Null), "Invalid null value in condition for column c");
    assert_eq!(fails(one, Bound::Unset), "Invalid unset value for column c");
}

#[test]
fn the_smallest_token_as_upper_end_is_the_end_of_the_ring() {
    let (_db, table) = table();
    let tokens = |text: &str| match prepare(&table, text).partitions(&context(&[])).unwrap() {
        Partitions::Tokens(tokens) => tokens.map(|tokens| (tokens.first.0, tokens.last.0)),
        Partitions::Keys(_) => panic!("{text}"),
    };
    let all = Some((TokenRange::ALL.first.0, TokenRange::ALL.last.0));
    assert_eq!(tokens("token(p, q) <= -9223372036854775808"), all);
    assert_eq!(tokens("token(p, q) > 5 AND token(p, q) <= -9223372036854775808"), Some((6, i64::MAX)));
    assert_eq!(tokens("token(p, q) >= 5 AND token(p, q) < 9"), Some((5, 8)));
    assert_eq!(tokens("token(p, q) = 7"), Some((7, 7)));
    assert_eq!(tokens("token(p, q) > 9223372036854775807"), None);
    assert_eq!(tokens("token(p, q) > 3 AND token(p, q) < 4"), None);
}

#[test]
fn extents_tell_rows_from_ranges_and_partitions() {
    let (_db, table) = table();
    let extent = |text: &str| prepare_as(Kind::Delete, &table, text).unwrap().extent();
    assert_eq!(extent("p = 1 AND q = 'a'"), Extent::Partitions);
    assert_eq!(extent("p = 1 AND q = 'a' AND c = 1"), Extent::Ranges);
    assert_eq!(extent("p = 1 AND q = 'a' AND c = 1 AND d IN (1, 2)"), Extent::Rows);
    assert_eq!(extent("p = 1 AND q = 'a' AND (c, d) = (1, 2)"), Extent::Rows);
    assert_eq!(extent("p = 1 AND q = 'a' AND c = 1 AND d > 1"), Extent::Ranges);
    let made =
        prepare_as(Kind::Update, &table, "p = 1 AND q = 'a' AND c IN (2, 1, 2) AND d IN (1, 3)").unwrap();
    let rows = made.clusterings(&context(&[])).unwrap();
    let place = |c: i32, d: i32| key::clustering(&table.schema, &[int(c), int(d)]).unwrap();
    assert_eq!(rows, [place(1, 3), place(1, 1), place(2, 3), place(2, 1)]);
}

#[test]
fn what_cannot_stand_together_is_told_in_cassandras_words() {
    let (_db, table) = table();
    let key = "p = 1 AND q = 'a' AND ";
    let filtering = "Cannot execute this query as it might involve data filtering and thus may have unpredictable \
                     performance. If you want to execute this query despite the performance unpredictability, use ALLOW \
                     FILTERING";
    let within = |text: &str| refused(Kind::Select, &table, &format!("{key}{text}"));
    let alone = |text: &str| refused(Kind::Select, &table, text);
    assert_eq!(
        within("c = 1 AND c = 2"),
        "c cannot be restricted by more than one relation if it includes an Equal"
    );
    assert_eq!(
        within("c > 1 AND c = 2"),
        "Column \"c\" cannot be restricted by both an equality and an inequality relation"
    );
    assert_eq!(within("c > 1 AND c >= 2"), "More than one restriction was found for the start bound on c");
    assert_eq!(
        within("(c, d) > (1, 1) AND d < 3"),
        "Column \"d\" cannot be restricted by two inequalities not starting with the same column"
    );
    assert_eq!(
        within("d = 1"),
        "PRIMARY KEY column \"d\" cannot be restricted as preceding column \"c\" is not restricted"
    );
    assert_eq!(
        within("c > 1 AND d = 1"),
        "Clustering column \"d\" cannot be restricted (preceding column \"c\" is restricted by a non-EQ relation)"
    );
    assert_eq!(within("v = 1"), filtering);
    for text in ["p = 1", "p > 1 AND q = 'a'", "c = 1", "s = 1", "l CONTAINS 1"] {
        assert_eq!(alone(text), filtering, "{text}");
    }
    assert_eq!(alone("v != 1"), "Unsupported \"!=\" relation: v != 1");
    assert_eq!(
        alone("l = [1] ALLOW FILTERING"),
        "Collection column 'l' (list<int>) cannot be restricted by a '=' relation"
    );
    assert_eq!(alone("nope = 1"), "Undefined column name nope in table main.t");
    assert_eq!(
        alone("token(q, p) > 1"),
        "The token function arguments must be in the partition key order: p, q"
    );
}

#[test]
fn writes_name_whole_keys() {
    let (_db, table) = table();
    let update = |text: &str| refused(Kind::Update, &table, text);
    assert_eq!(update("c = 1 AND d = 1"), "Some partition key parts are missing: p, q");
    assert_eq!(update("p = 1 AND q = 'a' AND c = 1"), "Some clustering keys are missing: d");
    assert_eq!(
        update("p = 1 AND q = 'a' AND c > 1"),
        "Slice restrictions are not supported on the clustering columns in UPDATE statements"
    );
    assert_eq!(
        update("p = 1 AND q = 'a' AND c = 1 AND d = 1 AND s = 1"),
        "Non PRIMARY KEY columns found in where clause: s "
    );
    assert_eq!(
        refused(Kind::Delete, &table, "token(p, q) > 1"),
        "The token function cannot be used in WHERE clauses for DELETE statements"
    );
    assert_eq!(
        refused(Kind::Delete, &table, "p > 1 AND q = 'a'"),
        "Only EQ and IN relation are supported on the partition key (unless you use the token() function) for DELETE \
         statements"
    );
}

#[test]
fn what_helps_is_said_of_missing_keys() {
    let (_db, table) = table();
    let hint = |kind: Kind, text: &str| {
        prepare_as(kind, &table, text).unwrap_err().hint_text().unwrap_or_default().to_owned()
    };
    assert!(hint(Kind::Select, "p = 1").contains("(p, q) and q is missing"));
    assert!(hint(Kind::Select, "v = 1").contains("keep a table with v in its key"));
    assert!(hint(Kind::Select, "p = 1 AND q = 'a' AND v = 1").starts_with("v is not in the key"));
    assert!(hint(Kind::Select, "p > 1 AND q = 'a'").contains("by = or IN on (p, q)"));
    assert!(hint(Kind::Select, "p = 1 AND q = 'a' AND d = 1").contains("sorted by (c, d)"));
    assert!(hint(Kind::Update, "p = 1 AND q = 'a' AND c = 1").contains("whole primary key (p, q, c, d)"));
    assert!(hint(Kind::Delete, "p = 1").contains("by all of (p, q)"));
}
