//! Statements that write, run against a store.

use super::*;
use crate::answer::{Parameters, ResultSet};
use crate::catalog::Catalog;
use crate::error::CqlError;
use crate::syntax::parse;
use crate::term::Markers;
use crate::value::{Bound, Wire};
use skep_engine::model::bytes::Bytes;
use skep_engine::{ColumnKind, CqlType, ManualClock, Order, Schema};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const START: i64 = 1_790_000_000_000_000;

struct Store {
    db: Db,
    catalog: Arc<Catalog>,
    clock: ManualClock,
    dir: PathBuf,
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Store {
    /// A store with the table `ks.t`: `p int, c int, s int static, v int, w text, l list<int>, m map<int, int>`, and the counters
    /// `ks.n`: `k int, a counter, b counter`.
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("skep-modify-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        let clock = ManualClock::new(START);
        let db = Db::builder(&dir).clock(Arc::new(clock.clone())).background(false).open().unwrap();
        db.create_keyspace("ks").unwrap();
        let ty = |text: &str| CqlType::parse(text, &|_, _| None).unwrap();
        let declared = [
            ("p", "int", ColumnKind::PartitionKey),
            ("c", "int", ColumnKind::Clustering(Order::Asc)),
            ("s", "int", ColumnKind::Static),
            ("v", "int", ColumnKind::Regular),
            ("w", "text", ColumnKind::Regular),
            ("l", "list<int>", ColumnKind::Regular),
            ("m", "map<int, int>", ColumnKind::Regular),
        ];
        let table = |name: &str| Schema::table(name).keyspace("ks");
        let made =
            declared.iter().fold(table("t"), |made, (name, text, kind)| made.declare(name, ty(text), *kind));
        db.create_table(made).unwrap();
        let made = table("n").declare("k", CqlType::Int, ColumnKind::PartitionKey);
        let made =
            ["a", "b"].iter().fold(made, |made, n| made.declare(n, CqlType::Counter, ColumnKind::Regular));
        db.create_table(made).unwrap();
        Self { catalog: Catalog::of(&db), db, clock, dir }
    }

    fn plan(&self, text: &str) -> Result<ModifyPlan> {
        let parsed = parse(text)?;
        let mut markers = Markers::new(&parsed.markers);
        let mut cx = Context { catalog: &self.catalog, keyspace: Some("ks"), markers: &mut markers };
        prepare(&parsed.statement, &mut cx)
    }

    fn run_with(&self, text: &str, binds: &[Bound]) -> Result<Outcome> {
        let parameters = Parameters::default();
        self.plan(text)?.run(&self.db, &mut Run::new(binds, self.db.now_micros(), &parameters))
    }

    fn run(&self, text: &str) -> Outcome {
        self.run_with(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn error(&self, text: &str) -> String {
        let error: CqlError = self.run_with(text, &[]).expect_err(text);
        error.message().to_owned()
    }

    /// `[applied]`.
    fn applies(&self, text: &str) -> bool {
        rows(self.run(text)).rows[0][0] == Some(Bytes::new(&[1]))
    }

    /// All rows of a table, as text.
    fn all(&self, table: &str) -> Vec<String> {
        let table = self.db.table(table).unwrap();
        table.scan().rows().unwrap().map(|row| format!("{:?}", row.unwrap())).collect()
    }

    /// The values of a column, as text, row by row.
    fn column(&self, table: &str, column: &str) -> Vec<String> {
        let table = self.db.table(table).unwrap();
        let rows = table.scan().columns(&[column]).rows().unwrap();
        rows.map(|row| format!("{:?}", row.unwrap())).collect()
    }
}

fn rows(outcome: Outcome) -> ResultSet {
    match outcome {
        Outcome::Rows(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn int(value: i32) -> Wire {
    Some(Bytes::new(&value.to_be_bytes()))
}

#[test]
fn an_unset_value_leaves_alone_and_null_deletes() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, v, w) VALUES (1, 1, 5, 'a')");
    let key = [Bound::from_wire(int(1)), Bound::from_wire(int(1))];
    let with = |value: Bound| [&key[..], &[value]].concat();
    store.run_with("INSERT INTO t (p, c, v) VALUES (?, ?, ?)", &with(Bound::Unset)).unwrap();
    assert_eq!(store.column("ks.t", "v"), ["Row {\"v\": 5}"]);
    store.run_with("INSERT INTO t (p, c, v) VALUES (?, ?, ?)", &with(Bound::Null)).unwrap();
    assert_eq!(store.column("ks.t", "v"), ["Row {\"v\": null}"]);
    let error =
        store.run_with("INSERT INTO t (p, c) VALUES (?, ?)", &[Bound::Null, key[1].clone()]).unwrap_err();
    assert_eq!(error.message(), "Invalid null value in condition for column p");
}

#[test]
fn a_bad_value_anywhere_stops_all_of_a_batch() {
    let store = Store::new();
    let text = "BEGIN BATCH INSERT INTO t (p, c) VALUES (1, 1); UPDATE t SET l[0] = 1 WHERE p = 1 AND c = 1; APPLY BATCH";
    assert_eq!(store.error(text), "Attempted to set an element on a list which is null");
    assert!(store.all("ks.t").is_empty());
}

#[test]
fn operations_on_a_list_see_those_before_them_but_not_other_statements_of_their_batch() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, l) VALUES (1, 1, [1, 2, 3, 4])");
    store.run("DELETE l[1], l[1] FROM t WHERE p = 1 AND c = 1");
    assert_eq!(store.column("ks.t", "l"), ["Row {\"l\": [1, 4]}"]);
    store.run(
        "BEGIN BATCH DELETE l[0] FROM t WHERE p = 1 AND c = 1; UPDATE t SET l[1] = 9 WHERE p = 1 AND c = 1; \
         UPDATE t SET l = [-1, 0] + l WHERE p = 1 AND c = 1; APPLY BATCH",
    );
    assert_eq!(store.column("ks.t", "l"), ["Row {\"l\": [-1, 0, 9]}"]);
    assert_eq!(
        store.error("UPDATE t SET l[3] = 1 WHERE p = 1 AND c = 1"),
        "List index 3 out of bound, list has size 3"
    );
}

#[test]
fn an_overwrite_replaces_and_equal_timestamps_mix() {
    let store = Store::new();
    store.run("UPDATE t SET m = {1: 1, 2: 2} WHERE p = 1 AND c = 1");
    store.run("UPDATE t SET m = {3: 3} WHERE p = 1 AND c = 1");
    assert_eq!(store.column("ks.t", "m"), ["Row {\"m\": {3: 3}}"]);
    store.run("UPDATE t USING TIMESTAMP 1900000000000000 SET m = {1: 1} WHERE p = 1 AND c = 1");
    store.run("UPDATE t USING TIMESTAMP 1900000000000000 SET m = {2: 2} WHERE p = 1 AND c = 1");
    assert_eq!(store.column("ks.t", "m"), ["Row {\"m\": {1: 1, 2: 2}}"]);
}

#[test]
fn counters_add_up_and_begin_anew_after_a_deletion() {
    let store = Store::new();
    store.run(
        "BEGIN COUNTER BATCH UPDATE n SET a = a + 1 WHERE k = 1; UPDATE n SET a = a + 2, b = b - 5 WHERE k = 1; APPLY BATCH",
    );
    assert_eq!(store.all("ks.n"), ["Row {\"k\": 1, \"a\": 3, \"b\": -5}"]);
    store.run("DELETE a FROM n WHERE k = 1");
    store.run("UPDATE n SET a = a + 6 WHERE k = 1");
    assert_eq!(store.all("ks.n"), ["Row {\"k\": 1, \"a\": 6, \"b\": -5}"]);
    store.db.flush().unwrap();
    store.run("DELETE FROM n WHERE k = 1");
    store.run("UPDATE n SET b = b + 2 WHERE k = 1");
    assert_eq!(store.all("ks.n"), ["Row {\"k\": 1, \"a\": null, \"b\": 2}"]);
    let unset = store.run_with("UPDATE n SET a = a + ? WHERE k = 1", &[Bound::Unset]).unwrap();
    assert_eq!((unset, store.all("ks.n").len()), (Outcome::Void, 1));
}

#[test]
fn threads_that_count_lose_nothing() {
    let store = Store::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| drop(store.run("UPDATE n SET a = a + 1 WHERE k = 7"))));
        }
    });
    assert_eq!(store.all("ks.n"), ["Row {\"k\": 7, \"a\": 200, \"b\": null}"]);
}

#[test]
fn of_threads_that_want_the_same_step_one_gets_it() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, v) VALUES (1, 1, 0)");
    let step =
        |n: i32| store.applies(&format!("UPDATE t SET v = {} WHERE p = 1 AND c = 1 IF v = {n}", n + 1));
    let one = || (0..20).filter(|n| step(*n)).count();
    let won: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let end = store.column("ks.t", "v");
    assert_eq!(end, [format!("Row {{\"v\": {won}}}")]);
}

#[test]
fn a_refused_write_shows_what_it_met() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, v, s) VALUES (1, 2, 3, 4)");
    let names = |rows: &ResultSet| rows.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let plain = rows(store.run("UPDATE t SET w = 'x' WHERE p = 1 AND c = 2 IF s = 4 AND v = 9"));
    assert_eq!(names(&plain), ["[applied]", "v", "s"], "regular columns first");
    assert_eq!(plain.rows, [vec![Some(Bytes::new(&[0])), int(3), int(4)]]);
    let absent = rows(store.run("UPDATE t SET w = 'x' WHERE p = 9 AND c = 2 IF v = 9"));
    assert_eq!((names(&absent).len(), absent.rows.len()), (1, 1));
    let exists = rows(store.run("INSERT INTO t (p, c, v) VALUES (1, 2, 5) IF NOT EXISTS"));
    assert_eq!(names(&exists), ["[applied]", "p", "c", "s", "l", "m", "v", "w"]);
    assert_eq!(exists.rows[0][3], None, "a static column that the statement does not name");
}

#[test]
fn a_conditional_write_is_newer_than_what_it_read_unless_that_is_far_ahead() {
    let store = Store::new();
    let soon = START + 3_600_000_000;
    store.run(&format!("INSERT INTO t (p, c, v) VALUES (1, 1, 1) USING TIMESTAMP {soon}"));
    assert!(store.applies("UPDATE t SET v = 2 WHERE p = 1 AND c = 1 IF v = 1"));
    assert_eq!(store.column("ks.t", "v"), ["Row {\"v\": 2}"]);
    assert!(store.applies("DELETE FROM t WHERE p = 1 AND c = 1 IF v = 2"));
    assert!(
        store.applies("INSERT INTO t (p, c, v) VALUES (1, 1, 3) IF NOT EXISTS"),
        "newer than the deletion"
    );
    assert_eq!(store.column("ks.t", "v"), ["Row {\"v\": 3}"]);
    store.run("INSERT INTO t (p, c, v) VALUES (2, 1, 1) USING TIMESTAMP 4102444800000000");
    assert!(store.applies("UPDATE t SET v = 2 WHERE p = 2 AND c = 1 IF v = 1"));
    assert!(store.column("ks.t", "v").contains(&"Row {\"v\": 1}".to_owned()), "the year 2100 stays above");
}

#[test]
fn an_expired_row_counts_as_absent() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, v) VALUES (1, 1, 1) USING TTL 1");
    assert!(!store.applies("INSERT INTO t (p, c, v) VALUES (1, 1, 2) IF NOT EXISTS"));
    store.clock.advance(std::time::Duration::from_secs(3));
    assert!(store.applies("INSERT INTO t (p, c, v) VALUES (1, 1, 2) IF NOT EXISTS"));
}

#[test]
fn in_a_conditional_batch_deleted_ranges_leave_what_the_batch_writes() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, v) VALUES (1, 7, 7)");
    let text = "BEGIN BATCH UPDATE t SET s = 1 WHERE p = 1 IF s = null; DELETE FROM t WHERE p = 1; \
                INSERT INTO t (p, c, v) VALUES (1, 1, 1); APPLY BATCH";
    assert!(store.applies(text));
    assert_eq!(store.column("ks.t", "c"), ["Row {\"c\": 1}"]);
}

#[test]
fn a_plain_insert_goes_the_short_way_and_others_do_not() {
    let store = Store::new();
    let fast = |text: &str| matches!(store.plan(text).unwrap(), ModifyPlan::One(_, Some(_)));
    assert!(fast("INSERT INTO t (p, c, v) VALUES (?, ?, ?) USING TTL ?"));
    for text in [
        "INSERT INTO t (p, c, v) VALUES (?, ?, ?) IF NOT EXISTS",
        "INSERT INTO t (p, c, l) VALUES (?, ?, ?)",
        "INSERT INTO t (p, s) VALUES (?, ?)",
        "INSERT INTO t JSON ?",
        "UPDATE t SET v = ? WHERE p = ? AND c = ?",
    ] {
        assert!(!fast(text), "{text}");
    }
    store.run("INSERT INTO t (p, c, w, v) VALUES (1, 1, 'a', 5) USING TIMESTAMP 5 AND TTL 100");
    store.clock.advance(std::time::Duration::from_secs(99));
    assert_eq!(store.column("ks.t", "w"), ["Row {\"w\": a}"]);
    store.clock.advance(std::time::Duration::from_secs(1));
    assert!(store.all("ks.t").is_empty());
}

#[test]
fn what_excludes_each_other_is_refused() {
    let store = Store::new();
    for (text, message) in [
        (
            "INSERT INTO n (k, a) VALUES (1, 1)",
            "INSERT statements are not allowed on counter tables, use UPDATE instead",
        ),
        ("UPDATE n USING TTL 5 SET a = a + 1 WHERE k = 1", "Cannot provide custom TTL for counter updates"),
        (
            "UPDATE t SET v = 1 WHERE p = 1 AND c = 1 IF c = 1",
            "PRIMARY KEY column 'c' cannot have IF conditions",
        ),
        (
            "DELETE FROM t WHERE p = 1 IF EXISTS",
            "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to delete non static columns",
        ),
        ("DELETE FROM system.local WHERE key = 'local'", "system keyspace is not user-modifiable."),
        ("DELETE v FROM t WHERE p = 1", "Range deletions are not supported for specific columns"),
        (
            "BEGIN BATCH UPDATE n SET a = a + 1 WHERE k = 1; APPLY BATCH",
            "Cannot include a counter statement in a logged batch",
        ),
        (
            "INSERT INTO t (p, c) VALUES (1, 1) USING TTL 630720001",
            "ttl is too large. requested (630720001) maximum (630720000)",
        ),
    ] {
        assert_eq!(store.error(text), message);
    }
}

/// What a node says to unset and null values that are bound.
#[test]
fn unset_and_null_values_are_skipped_or_refused() {
    let store = Store::new();
    store.run("INSERT INTO t (p, c, v, l, m) VALUES (1, 1, 1, [1, 2], {1: 1})");
    let answer = |text: &str, bound: Bound| match store.run_with(text, &[bound]) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.message().to_owned(),
    };
    let row = "WHERE p = 1 AND c = 1";
    for (text, unset, null) in [
        ("UPDATE t SET l[?] = 1", "Invalid unset value for list index", "Invalid null value for list index"),
        ("DELETE l[?] FROM t", "ok", "Invalid null value for list index"),
        ("UPDATE t SET m[?] = 1", "Invalid unset map key", "Invalid null map key"),
        ("DELETE m[?] FROM t", "Invalid unset map key", "Invalid null map key"),
        (
            "UPDATE t SET l[9] = ?",
            "List index 9 out of bound, list has size 2",
            "List index 9 out of bound, list has size 2",
        ),
        ("UPDATE t SET l = l - ?", "ok", "ok"),
        ("UPDATE t USING TTL ? SET v = 1", "ok", "ok"),
        ("UPDATE t USING TIMESTAMP ? SET v = 1", "ok", "Invalid null value of timestamp"),
    ] {
        let text = format!("{text} {row}");
        assert_eq!(
            (answer(&text, Bound::Unset), answer(&text, Bound::Null)),
            (unset.to_owned(), null.to_owned()),
            "{text}"
        );
    }
    for (condition, unset, null) in [
        ("v = ?", "Invalid 'unset' value in condition", "ok"),
        ("v < ?", "Invalid 'unset' value in condition", "Invalid comparison with null for operator \"<\""),
        ("v IN ?", "Invalid 'unset' value in condition", "Invalid null list in IN condition"),
        ("v IN (?, 1)", "ok", "ok"),
    ] {
        let text = format!("UPDATE t SET v = 1 {row} IF {condition}");
        assert_eq!(
            (answer(&text, Bound::Unset), answer(&text, Bound::Null)),
            (unset.to_owned(), null.to_owned()),
            "{text}"
        );
    }
    let count = "UPDATE n SET a = a - ? WHERE k = 1";
    assert_eq!(answer(count, Bound::Null), "Invalid null value for counter increment");
    let smallest = answer(count, Bound::Value(Bytes::new(&i64::MIN.to_be_bytes())));
    assert!(smallest.contains("overflows supported counter precision"), "{smallest}");
}

#[test]
fn rows_of_views_follow_a_conditional_write_that_went_above_the_clock() {
    let store = Store::new();
    let view = "CREATE MATERIALIZED VIEW byv AS SELECT p, c, v FROM t WHERE p IS NOT NULL AND c IS NOT NULL AND v IS NOT NULL \
                PRIMARY KEY (v, p, c)";
    let (parsed, parameters) = (parse(view).unwrap(), Parameters::default());
    let mut run = Run::new(&[], store.db.now_micros(), &parameters);
    crate::schema::run(&store.catalog, Some("ks"), &parsed.statement, &mut run).unwrap();
    let ahead = |seconds: i64| START + seconds * 1_000_000;
    store.run(&format!("INSERT INTO t (p, c, v) VALUES (1, 1, 1) USING TIMESTAMP {}", ahead(3_600)));
    assert!(store.applies("UPDATE t SET v = 2 WHERE p = 1 AND c = 1 IF v = 1"));
    assert_eq!(store.column("ks.byv", "v"), ["Row {\"v\": 2}"]);
    store.run(&format!("UPDATE t USING TIMESTAMP {} SET v = 3 WHERE p = 1 AND c = 1", ahead(7_200)));
    assert_eq!(store.column("ks.byv", "v"), ["Row {\"v\": 3}"]);
}
