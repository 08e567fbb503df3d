//! Sessions from end to end.

use super::{Named, OpenSession, Prepared, Session};
use crate::answer::{Outcome, Parameters};
use crate::error::{Code, CqlError};
use crate::syntax::ast::BatchKind;
use crate::value::Bound;
use skep_engine::model::bytes::Bytes;
use skep_engine::{CqlType, Db, ErrorKind, ManualClock, Null, Timestamp, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A store of its own, removed in the end.
struct Store {
    dir: PathBuf,
    db: Db,
    clock: ManualClock,
}

impl Store {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("skep-session-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let clock = ManualClock::new(1_781_265_600_000_000);
        let db = Db::builder(&dir).clock(Arc::new(clock.clone())).background(false).open().unwrap();
        Self { dir, db, clock }
    }

    fn session(&self) -> Session {
        self.db.session().unwrap()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.db.close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn run(s: &Session, text: &str) {
    s.execute(text, ()).unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn ints(s: &Session, query: &Prepared) -> Vec<i32> {
    s.query(query, ()).unwrap().map(|row| row.unwrap().get(0).unwrap()).collect()
}

#[test]
fn what_was_prepared_for_other_types_binds_by_those_of_now_or_is_refused() {
    let store = Store::new("retyped");
    let s = store.session();
    let create = |ty: &str| run(&s, &format!("CREATE TABLE t (p int PRIMARY KEY, v {ty})"));
    create("int");
    let text = "INSERT INTO t (p, v) VALUES (?, ?)";
    let insert = s.prepare(text).unwrap();
    let select = s.prepare("SELECT v FROM t WHERE p = ?").unwrap();
    s.execute(&insert, (1, 0x4142_4344)).unwrap();
    let mut batch = s.batch();
    batch.add(&insert, (2, 0x4142_4344)).unwrap();
    run(&s, "DROP TABLE t");
    create("text");
    // An int's bytes would be a text's: "ABCD".
    assert!(s.execute(&insert, (1, 0x4142_4344)).unwrap_err().message().contains("no value of type text"));
    let bytes = |bytes: &[u8]| Bound::Value(Bytes::new(bytes));
    let binds = [bytes(&[0, 0, 0, 1]), bytes(b"ABCD")];
    let refused = s.run(&insert, &binds, &Parameters::default()).unwrap_err();
    assert_eq!((refused.code(), refused.hint_text()), (Code::Unprepared, Some("prepare it again")));
    assert_eq!(batch.run().unwrap_err().code(), Code::Unprepared);
    s.execute(&insert, (1, "x")).unwrap();
    let again = s.prepare(text).unwrap();
    assert_eq!(again.binds()[1].ty, CqlType::Text);
    s.run(&again, &binds, &Parameters::default()).unwrap();
    let read: Vec<String> = s.query(&select, (1,)).unwrap().map(|row| row.unwrap().get(0).unwrap()).collect();
    assert_eq!(read, ["ABCD"]);
    assert_eq!(s.prepare("SELECT v FROM t WHERE p = ?").unwrap().columns()[0].ty, CqlType::Text);
}

#[test]
fn pages_of_values_bound_for_other_types_are_refused() {
    let store = Store::new("pages");
    let s = store.session();
    run(&s, "CREATE TABLE t (p int, c int, v int, PRIMARY KEY (p, c))");
    let insert = s.prepare("INSERT INTO t (p, c, v) VALUES (1, ?, 7)").unwrap();
    (0..5_001).for_each(|c| drop(s.execute(&insert, (c,)).unwrap()));
    // An expression, so that it is read page by page.
    let mut rows = s.query("SELECT v + 1 FROM t WHERE p = ? ORDER BY c", (1,)).unwrap();
    rows.next().unwrap().unwrap();
    run(&s, "DROP TABLE t");
    run(&s, "CREATE TABLE t (p blob, c int, v int, PRIMARY KEY (p, c))");
    let errors: Vec<_> = rows.filter_map(Result::err).collect();
    assert_eq!(errors.iter().map(|error| error.code()).collect::<Vec<_>>(), [Code::Unprepared]);
}

#[test]
fn a_closed_store_takes_no_statement_but_open_rows_go_on() {
    let store = Store::new("closed");
    let s = store.session();
    run(&s, "CREATE TABLE t (p int PRIMARY KEY)");
    run(&s, "INSERT INTO t (p) VALUES (1)");
    let mut rows = s.query("SELECT p FROM t", ()).unwrap();
    store.db.close().unwrap();
    let kind = |error: CqlError| error.engine().map(skep_engine::Error::kind);
    assert_eq!(rows.next().unwrap().unwrap().get::<i32>(0).unwrap(), 1);
    for text in ["SELECT p FROM t", "INSERT INTO t (p) VALUES (2)", "DROP TABLE t"] {
        assert_eq!(s.execute(text, ()).map_err(kind), Err(Some(ErrorKind::Closed)), "{text}");
    }
    assert_eq!(s.query("SELECT p FROM t", ()).map(drop).map_err(kind), Err(Some(ErrorKind::Closed)));
}

#[test]
fn what_was_prepared_outlives_changes_of_the_schema() {
    let store = Store::new("prepared");
    let s = store.session();
    run(&s, "CREATE TABLE t (p int, c int, v int, PRIMARY KEY (p, c))");
    let insert = s.prepare("INSERT INTO t (p, c, v) VALUES (?, ?, ?)").unwrap();
    let all = s.prepare("SELECT * FROM t").unwrap();
    s.execute(&insert, (1, 1, 10)).unwrap();
    run(&s, "ALTER TABLE t ADD w text");
    s.execute(&insert, (1, 2, 20)).unwrap();
    run(&s, "UPDATE t SET w = 'x' WHERE p = 1 AND c = 2");
    let rows: Vec<_> = s.query(&all, ()).unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(rows[0].columns().len(), 4);
    assert_eq!(rows[1].clone().into::<(i32, i32, i32, Option<String>)>().unwrap().3.as_deref(), Some("x"));
    // Another table of the same name is written, not the one that is gone.
    run(&s, "DROP TABLE t");
    assert_eq!(s.execute(&insert, (1, 1, 1)).unwrap_err().message(), "table t does not exist");
    run(&s, "CREATE TABLE t (p int, c int, v int, PRIMARY KEY (p, c))");
    s.execute(&insert, (7, 7, 7)).unwrap();
    assert_eq!(ints(&s, &all), [7]);
    // A column that is gone is noticed.
    run(&s, "ALTER TABLE t DROP v");
    assert!(s.execute(&insert, (1, 1, 1)).unwrap_err().message().contains("Undefined column name v"));
}

#[test]
fn a_text_means_what_it_means_in_the_keyspace() {
    let store = Store::new("keyspace");
    let s = store.session();
    for keyspace in ["a", "b"] {
        run(
            &s,
            &format!(
                "CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            ),
        );
        let answer = s.execute(format!("USE {keyspace}").as_str(), ()).unwrap();
        assert_eq!(answer.outcome, Outcome::Keyspace(keyspace.to_owned()));
        run(&s, "CREATE TABLE t (k int PRIMARY KEY)");
    }
    run(&s, "INSERT INTO t (k) VALUES (2)");
    let in_b = s.prepare("SELECT k FROM t").unwrap();
    assert_eq!(s.keyspace(), "b");
    run(&s, "USE a");
    let in_a = s.prepare("SELECT k FROM t").unwrap();
    assert_eq!((ints(&s, &in_a), ints(&s, &in_b)), (vec![], vec![2]));
    assert!(s.execute("USE nosuch", ()).is_err());
    assert_eq!(s.keyspace(), "a");
    assert_eq!(store.session().keyspace(), "main");
}

#[test]
fn rows_are_the_same_by_batches_and_by_pages() {
    let store = Store::new("rows");
    let s = store.session();
    run(&s, "CREATE TABLE t (p int, c int, v double, l list<int>, PRIMARY KEY (p, c))");
    let insert = s.prepare("INSERT INTO t (p, c, v, l) VALUES (?, ?, ?, ?)").unwrap();
    for i in 0..6_000 {
        let v = (i % 7 != 0).then_some(f64::from(i));
        s.execute(&insert, (1, i, v, vec![i, i + 1])).unwrap();
    }
    type Row = (i32, Option<f64>, Vec<i32>);
    let plain: Vec<Row> = s
        .query("SELECT c, v, l FROM t WHERE p = ?", (1,))
        .unwrap()
        .map(|row| row.unwrap().into().unwrap())
        .collect();
    let computed: Vec<Row> = s
        .query("SELECT c + 0, v, l FROM t WHERE p = ?", (1,))
        .unwrap()
        .map(|row| row.unwrap().into().unwrap())
        .collect();
    assert_eq!(plain.len(), 6_000);
    assert_eq!(plain, computed);
    assert_eq!(plain[8], (8, Some(8.0), vec![8, 9]));
    let first = s.query("SELECT l, c FROM t LIMIT 1", ()).unwrap().next().unwrap().unwrap();
    assert_eq!(first.value("l").unwrap(), Some(Value::List(vec![Value::Int(0), Value::Int(1)])));
    assert_eq!(first.wire(1).unwrap().as_deref(), Some(&[0u8, 0, 0, 0][..]));
    assert!(first.wire(2).unwrap().is_none());
}

#[test]
fn values_by_place_by_name_unset_and_null() {
    let store = Store::new("values");
    let s = store.session();
    run(&s, "CREATE TABLE t (k int PRIMARY KEY, a int, m map<text, int>)");
    let insert = s.prepare("INSERT INTO t (k, a, m) VALUES (:k, :a, :m)").unwrap();
    let map: BTreeMap<String, i32> = [("x".to_owned(), 1)].into();
    s.execute(&insert, Named(&[("m", &map), ("k", &1), ("a", &5)])).unwrap();
    s.execute(&insert, (1, None::<i32>, Null)).unwrap();
    let row = s.query("SELECT a, m FROM t WHERE k = 1", ()).unwrap().next().unwrap().unwrap();
    assert_eq!(row.into::<(i32, Option<BTreeMap<String, i32>>)>().unwrap(), (5, None));
    assert_eq!(s.execute(&insert, (1,)).unwrap_err().message(), "Invalid amount of bind variables");
    let names: Vec<_> = insert.binds().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!((names, insert.key_indexes()), (vec!["k", "a", "m"], &[0][..]));
}

#[test]
fn conditions_tell_whether_they_held() {
    let store = Store::new("conditions");
    let s = store.session();
    run(&s, "CREATE TABLE t (k int PRIMARY KEY, v int)");
    let insert = "INSERT INTO t (k, v) VALUES (1, ?) IF NOT EXISTS";
    assert!(s.execute(insert, (1,)).unwrap().applied());
    let second = s.execute(insert, (2,)).unwrap();
    assert!(!second.applied());
    assert_eq!(second.into_rows()[0].get::<i32>("v").unwrap(), 1);
    assert!(s.execute("SELECT v FROM t", ()).unwrap().applied());
}

#[test]
fn a_batch_of_prepared_statements_is_one_write() {
    let store = Store::new("batch");
    let s = store.session();
    run(&s, "CREATE TABLE t (p int, c int, v int, PRIMARY KEY (p, c))");
    run(&s, "CREATE TABLE n (k int PRIMARY KEY, hits counter)");
    let insert = s.prepare("INSERT INTO t (p, c, v) VALUES (?, ?, ?)").unwrap();
    let mut batch = s.batch();
    batch.add(&insert, (1, 1, 10)).unwrap().add(&insert, (1, 2, 20)).unwrap();
    batch.add("DELETE v FROM t WHERE p = 1 AND c = ?", (1,)).unwrap();
    assert!(batch.add("SELECT v FROM t", ()).is_err());
    assert_eq!(batch.len(), 3);
    batch.run().unwrap();
    assert!(batch.is_empty());
    let rows = s.query("SELECT v, writetime(v) FROM t", ()).unwrap();
    let rows: Vec<(Option<i32>, Option<i64>)> = rows.map(|row| row.unwrap().into().unwrap()).collect();
    // The deletion ties with the insert of the same batch, and wins.
    assert_eq!((rows[0], rows[1].0), ((None, None), Some(20)));
    // What does not belong together is refused, and nothing of it is written.
    batch.add(&insert, (2, 1, 1)).unwrap().add("UPDATE n SET hits = hits + 1 WHERE k = 1", ()).unwrap();
    assert!(batch.run().is_err());
    assert_eq!(s.query("SELECT v FROM t WHERE p = 2", ()).unwrap().count(), 0);
    let mut counts = s.batch().kind(BatchKind::Counter);
    let add = s.prepare("UPDATE n SET hits = hits + ? WHERE k = 1").unwrap();
    counts.add(&add, (2i64,)).unwrap().add(&add, (3i64,)).unwrap().run().unwrap();
    let hits: i64 = s.query("SELECT hits FROM n", ()).unwrap().next().unwrap().unwrap().get(0).unwrap();
    assert_eq!(hits, 5);
}

#[test]
fn errors_have_a_class_and_a_place() {
    let store = Store::new("errors");
    let s = store.session();
    let text = "SELECT v\nFROM t WHERE";
    let error = s.prepare(text).unwrap_err();
    assert_eq!(error.code(), Code::Syntax);
    let error = s.prepare("SELECT v\nFROM nosuch").unwrap_err();
    assert_eq!(
        (error.code(), error.place().map(|place| (place.line, place.column))),
        (Code::Invalid, Some((2, 5)))
    );
    run(&s, "CREATE TABLE t (k int PRIMARY KEY)");
    assert_eq!(s.execute("CREATE TABLE t (k int PRIMARY KEY)", ()).unwrap_err().code(), Code::AlreadyExists);
    let other = Store::new("errors-other");
    let here = s.prepare("SELECT k FROM t").unwrap();
    assert_eq!(other.session().execute(&here, ()).unwrap_err().code(), Code::Unprepared);
}

#[test]
fn the_clients_timestamp_holds_where_the_statement_has_none() {
    let store = Store::new("timestamp");
    let s = store.session();
    run(&s, "CREATE TABLE t (k int PRIMARY KEY, v int)");
    let insert = s.prepare("INSERT INTO t (k, v) VALUES (?, ?)").unwrap();
    let parameters = Parameters { timestamp: Some(1_000), ..Parameters::default() };
    let bytes = |n: i32| Bound::Value(Bytes::new(&n.to_be_bytes()));
    s.run(&insert, &[bytes(1), bytes(5)], &parameters).unwrap();
    let row = s.query("SELECT writetime(v), v FROM t", ()).unwrap().next().unwrap().unwrap();
    assert_eq!(row.into::<(i64, i32)>().unwrap(), (1_000, 5));
}

#[test]
fn the_moment_of_a_statement_is_the_stores() {
    let store = Store::new("clock");
    let s = store.session();
    run(&s, "CREATE TABLE t (k int PRIMARY KEY, at timestamp)");
    run(&s, "INSERT INTO t (k, at) VALUES (1, currentTimestamp()) USING TTL 10");
    let at: Timestamp = s.query("SELECT at FROM t", ()).unwrap().next().unwrap().unwrap().get("at").unwrap();
    assert_eq!(at, Timestamp::from_millis(1_781_265_600_000));
    store.clock.advance(std::time::Duration::from_secs(11));
    assert_eq!(s.query("SELECT at FROM t", ()).unwrap().count(), 0);
}

#[test]
fn system_tables_show_the_schema_as_it_is() {
    let store = Store::new("system");
    let s = store.session();
    run(
        &s,
        "CREATE TABLE t (p int, c text, v frozen<list<int>>, PRIMARY KEY (p, c)) WITH CLUSTERING ORDER BY (c DESC)",
    );
    let columns = s.prepare("SELECT column_name, kind, clustering_order, type FROM system_schema.columns WHERE keyspace_name = 'main' AND table_name = 't'").unwrap();
    let read = || -> Vec<(String, String, String, String)> {
        s.query(&columns, ()).unwrap().map(|row| row.unwrap().into().unwrap()).collect()
    };
    let text = |parts: [&str; 4]| {
        let [a, b, c, d] = parts.map(str::to_owned);
        (a, b, c, d)
    };
    assert_eq!(read()[0], text(["c", "clustering", "desc", "text"]));
    assert_eq!(read()[2], text(["v", "regular", "none", "frozen<list<int>>"]));
    run(&s, "ALTER TABLE t ADD w int");
    assert_eq!(read().len(), 4);
    let version: String = s
        .query("SELECT release_version FROM system.local", ())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .get(0)
        .unwrap();
    assert!(version.starts_with("5."));
    assert!(s.execute("INSERT INTO system.local (key) VALUES ('x')", ()).is_err());
    assert_eq!(
        s.prepare("SELECT * FROM system.nosuch").unwrap_err().message(),
        "table nosuch does not exist"
    );
}

#[cfg(feature = "arrow")]
#[test]
fn record_batches_hold_the_rows() {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type};

    let store = Store::new("arrow");
    let s = store.session();
    run(
        &s,
        "CREATE TABLE t (p int, c int, v double, w text, PRIMARY KEY (p, c)) WITH CLUSTERING ORDER BY (c DESC)",
    );
    let insert = s.prepare("INSERT INTO t (p, c, v, w) VALUES (?, ?, ?, ?)").unwrap();
    for i in 0..3_000 {
        s.execute(&insert, (1, i, (i % 3 != 0).then_some(f64::from(i)), "x")).unwrap();
    }
    for flushed in [false, true] {
        if flushed {
            store.db.flush().unwrap();
        }
        for text in [
            "SELECT c, v, w FROM t",
            "SELECT c + 0 AS c, v, w FROM t",
            "SELECT c, v, w FROM t WHERE p = 1 ORDER BY c",
        ] {
            let batches: Vec<_> = s.query_arrow(text, ()).unwrap().map(|batch| batch.unwrap()).collect();
            let mut seen = Vec::new();
            for batch in &batches {
                let c = batch.column(0).as_primitive::<Int32Type>();
                let v = batch.column(1).as_primitive::<Float64Type>();
                seen.extend(
                    (0..batch.num_rows()).map(|row| (c.value(row), v.is_valid(row).then(|| v.value(row)))),
                );
                assert_eq!(batch.column(2).as_string::<i32>().value(0), "x");
            }
            let mut want: Vec<_> =
                (0..3_000).rev().map(|i| (i, (i % 3 != 0).then_some(f64::from(i)))).collect();
            if text.contains("ORDER") {
                want.reverse();
            }
            assert_eq!(seen, want, "{text} flushed {flushed}");
        }
    }
}

#[test]
fn write_times_and_ttls_of_a_view_are_those_of_its_base() {
    let store = Store::new("view-lives");
    let s = store.session();
    // Names and values as a node of Cassandra answers.
    run(&s, "CREATE TABLE b (k int, c int, v int, w int, m map<int, int>, PRIMARY KEY (k, c))");
    let keys = "k IS NOT NULL AND c IS NOT NULL";
    run(
        &s,
        &format!(
            "CREATE MATERIALIZED VIEW bc AS SELECT * FROM b WHERE {keys} PRIMARY KEY (c, k) \
         WITH CLUSTERING ORDER BY (k DESC)"
        ),
    );
    run(
        &s,
        &format!(
            "CREATE MATERIALIZED VIEW bv AS SELECT * FROM b WHERE {keys} AND v IS NOT NULL PRIMARY KEY (v, k, c)"
        ),
    );
    run(&s, "INSERT INTO b (k, c, v, w) VALUES (1, 1, 1, 1) USING TIMESTAMP 100");
    run(&s, "UPDATE b USING TIMESTAMP 200 AND TTL 60 SET w = 2, m[5] = 6 WHERE k = 1 AND c = 1");
    run(&s, "UPDATE b USING TIMESTAMP 300 SET v = 2, m[4] = 6 WHERE k = 1 AND c = 1");
    // As bytes: a list of TTLs may hold nulls.
    let one = |text: &str| {
        let answer = s.execute(text, ()).unwrap_or_else(|error| panic!("{text}: {error}"));
        match answer.outcome {
            Outcome::Rows(set) => set.rows.concat(),
            _ => Vec::new(),
        }
    };
    let number = |number: i64| vec![Some(Bytes::new(&number.to_be_bytes()))];
    for shown in [
        "writetime(w)",
        "ttl(w)",
        "writetime(m)",
        "ttl(m)",
        "maxwritetime(m)",
        "writetime(m[5])",
        "max(writetime(w))",
        "sum(ttl(w))",
    ] {
        let of_base = one(&format!("SELECT {shown} FROM b"));
        assert!(!of_base.is_empty() && of_base != [None], "{shown}");
        assert_eq!(one(&format!("SELECT {shown} FROM bc")), of_base, "{shown}");
        assert_eq!(one(&format!("SELECT {shown} FROM bv WHERE v = 2")), of_base, "{shown}");
    }
    assert_eq!(one("SELECT writetime(w) FROM bc"), number(200));
    assert_eq!(one("SELECT writetime(v) FROM bc"), number(300));
    run(&s, "DELETE w FROM b USING TIMESTAMP 400 WHERE k = 1 AND c = 1");
    assert_eq!(one("SELECT writetime(w) FROM bc"), [None]);
}
