//! What users of other engines ran into in CQL, each with the right behaviour: from memory, after a flush, after a compaction.

use skep_cql::{OpenSession, Outcome, Parameters, Session};
use skep_engine::{Db, Options};
use skep_tests::store::Store;

/// Rows of a statement, values as CQL writes them.
fn rows(s: &Session, text: &str) -> Vec<String> {
    let answer = s.execute(text, ()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let shown = |row: skep_cql::Row| {
        let value = |i| row.value(i).unwrap().map_or("null".to_owned(), |value| value.literal().to_string());
        (0..row.columns().len()).map(value).collect::<Vec<_>>().join(",")
    };
    answer.into_rows().into_iter().map(shown).collect()
}

fn refused(s: &Session, text: &str) -> String {
    s.execute(text, ()).expect_err(text).message().to_owned()
}

/// Runs `setup`, then `check` while all is in memory, flushed, and compacted.
fn three_ways(setup: &[&str], check: impl Fn(&Session)) {
    let db: Db = Store::new(Options::default(), false).db;
    let s = db.session().unwrap();
    for statement in setup {
        s.execute(*statement, ()).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    check(&s);
    db.flush().unwrap();
    check(&s);
    db.tables().iter().for_each(|table| table.compact().unwrap());
    check(&s);
}

#[test]
fn a_count_is_not_capped_by_pages_and_a_limit_counts_results() {
    let db: Db = Store::new(Options::default(), false).db;
    let s = db.session().unwrap();
    s.execute("CREATE TABLE t (p int, c1 text, c2 int, PRIMARY KEY (p, c1, c2))", ()).unwrap();
    let insert = s.prepare("INSERT INTO t (p, c1, c2) VALUES (?, 'a', ?)").unwrap();
    (0..1000).for_each(|n| drop(s.execute(&insert, (n % 7, n)).unwrap()));
    assert_eq!(rows(&s, "SELECT count(*) FROM t WHERE c1 = 'a' ALLOW FILTERING"), ["1000"]);
    assert_eq!(rows(&s, "SELECT count(*) FROM t LIMIT 2"), ["1000"]);
    let paged = Parameters { page_size: Some(100), ..Parameters::default() };
    let count = s.prepare("SELECT count(*) FROM t").unwrap();
    let Outcome::Rows(set) = s.run(&count, &[], &paged).unwrap().outcome else { panic!("rows") };
    assert_eq!((set.rows.len(), set.paging_state), (1, None));
    assert_eq!(set.rows[0][0].as_deref(), Some(&1000i64.to_be_bytes()[..]));
}

#[test]
fn a_limit_of_each_partition_counts_rows_and_groups_of_it() {
    let setup = [
        "CREATE TABLE t (k int, ck int, PRIMARY KEY (k, ck))",
        "CREATE TABLE g (a int, b int, c int, d int, PRIMARY KEY (a, b, c))",
        "INSERT INTO t (k, ck) VALUES (1, 1)",
        "INSERT INTO t (k, ck) VALUES (1, 2)",
        "INSERT INTO t (k, ck) VALUES (2, 1)",
        "INSERT INTO t (k, ck) VALUES (2, 2)",
        "INSERT INTO g (a, b, c, d) VALUES (1, 1, 1, 1)",
        "INSERT INTO g (a, b, c, d) VALUES (1, 2, 1, 1)",
        "INSERT INTO g (a, b, c, d) VALUES (2, 1, 1, 1)",
    ];
    three_ways(&setup, |s| {
        assert_eq!(rows(s, "SELECT * FROM t PER PARTITION LIMIT 1"), ["1,1", "2,1"]);
        assert_eq!(rows(s, "SELECT a, b FROM g GROUP BY a, b PER PARTITION LIMIT 1"), ["1,1", "2,1"]);
        assert!(refused(s, "SELECT count(*) FROM t PER PARTITION LIMIT 1").contains("aggregate queries"));
        let distinct = "SELECT DISTINCT k FROM t PER PARTITION LIMIT 1";
        assert!(refused(s, distinct).contains("PER PARTITION LIMIT is not allowed with SELECT DISTINCT"));
    });
}

#[test]
fn values_of_in_that_repeat_or_are_unsorted_give_each_row_once_in_order() {
    let setup = [
        "CREATE TABLE t (pk int, ck int, PRIMARY KEY (pk, ck))",
        "INSERT INTO t (pk, ck) VALUES (1, 1)",
        "INSERT INTO t (pk, ck) VALUES (1, 3)",
        "INSERT INTO t (pk, ck) VALUES (2, 2)",
    ];
    three_ways(&setup, |s| {
        assert_eq!(rows(s, "SELECT ck FROM t WHERE pk = 1 AND ck IN (3, 1, 3, 1)"), ["1", "3"]);
        assert_eq!(rows(s, "SELECT pk, ck FROM t WHERE pk IN (2, 1, 1, 2)"), ["1,1", "1,3", "2,2"]);
        assert!(rows(s, "SELECT * FROM t WHERE pk IN ()").is_empty());
        assert!(rows(s, "SELECT * FROM t WHERE pk = 1 AND ck IN ()").is_empty());
    });
}

#[test]
fn a_counter_begins_anew_after_its_row_was_deleted_wherever_the_data_lies() {
    for (flush, compact) in [(false, false), (true, false), (true, true)] {
        let db: Db = Store::new(Options::default(), false).db;
        let s = db.session().unwrap();
        s.execute("CREATE TABLE cf (pk int PRIMARY KEY, c counter)", ()).unwrap();
        let settle = || {
            if flush {
                db.flush().unwrap();
            }
            if compact {
                db.tables().iter().for_each(|table| table.compact().unwrap());
            }
        };
        s.execute("UPDATE cf SET c = c + 6 WHERE pk = 0", ()).unwrap();
        settle();
        s.execute("DELETE FROM cf WHERE pk = 0", ()).unwrap();
        settle();
        assert!(rows(&s, "SELECT c FROM cf").is_empty());
        s.execute("UPDATE cf SET c = c + 6 WHERE pk = 0", ()).unwrap();
        settle();
        assert_eq!(rows(&s, "SELECT c FROM cf"), ["6"], "flushed {flush}, compacted {compact}");
    }
}

#[test]
fn empty_text_is_a_clustering_value_and_null_is_none() {
    let setup = [
        "CREATE TABLE t (pk text, c1 text, c2 text, PRIMARY KEY (pk, c1, c2))",
        "INSERT INTO t (pk, c1, c2) VALUES ('k', '', 'b')",
        "INSERT INTO t (pk, c1, c2) VALUES ('k', 'a', '')",
        "INSERT INTO t (pk, c1, c2) VALUES ('k', '', '')",
    ];
    three_ways(&setup, |s| {
        assert_eq!(rows(s, "SELECT c1, c2 FROM t WHERE pk = 'k'"), ["'',''", "'','b'", "'a',''"]);
        assert_eq!(rows(s, "SELECT c2 FROM t WHERE pk = 'k' AND c1 = '' AND c2 >= ''"), ["''", "'b'"]);
        assert_eq!(rows(s, "SELECT c2 FROM t WHERE pk = 'k' ORDER BY c1 DESC"), ["''", "'b'", "''"]);
        let null = refused(s, "INSERT INTO t (pk, c1, c2) VALUES ('k', 'a', null)");
        assert_eq!(null, "Invalid null value in condition for column c2");
    });
}

#[test]
fn a_list_keeps_the_order_of_a_thousand_appends() {
    let db: Db = Store::new(Options::default(), false).db;
    let s = db.session().unwrap();
    s.execute("CREATE TABLE t (k int PRIMARY KEY, l list<int>)", ()).unwrap();
    let append = s.prepare("UPDATE t SET l = l + ? WHERE k = 1").unwrap();
    (0..1000).for_each(|n| drop(s.execute(&append, (vec![n],)).unwrap()));
    s.execute("UPDATE t SET l = [-2, -1] + l WHERE k = 1", ()).unwrap();
    let two = "BEGIN BATCH UPDATE t SET l = l + [1000] WHERE k = 1; UPDATE t SET l = l + [1001] WHERE k = 1; APPLY BATCH";
    s.execute(two, ()).unwrap();
    for _ in 0..2 {
        let row = s.execute("SELECT l FROM t", ()).unwrap().into_rows().remove(0);
        assert_eq!(row.get::<Vec<i32>>("l").unwrap(), (-2..1002).collect::<Vec<i32>>());
        db.flush().unwrap();
    }
}

#[test]
fn nulls_and_values_that_were_not_given_are_told_apart_in_the_trace() {
    let db: Db = Store::new(Options::default(), false).db;
    let s = db.session().unwrap();
    s.execute("CREATE TABLE test (a int PRIMARY KEY, b int)", ()).unwrap();
    let traced = |text: &str| {
        let statement = s.prepare(text).unwrap();
        let parameters = Parameters { tracing: true, ..Parameters::default() };
        s.run(&statement, &[], &parameters).unwrap().trace.unwrap().join("\n")
    };
    assert!(traced("INSERT INTO test (a, b) VALUES (2, null)").contains("1 tombstone"));
    assert!(!traced("INSERT INTO test (a) VALUES (3)").contains("1 tombstone"));
    let insert = s.prepare("INSERT INTO test (a, b) VALUES (?, ?)").unwrap();
    s.execute(&insert, (1, 1)).unwrap();
    s.execute(&insert, (1, None::<i32>)).unwrap();
    assert_eq!(rows(&s, "SELECT b FROM test WHERE a = 1"), ["1"], "None leaves the column alone");
    s.execute(&insert, (1, skep_engine::Null)).unwrap();
    assert_eq!(rows(&s, "SELECT b FROM test WHERE a = 1"), ["null"]);
}
