//! SELECT by the example of one table with static rows, ranges that were deleted, and rows in a file and in memory.

use super::*;
use crate::answer::{Parameters, ResultSet, Run};
use crate::catalog::Catalog;
use crate::error::Code;
use crate::syntax::ast::Statement;
use crate::syntax::parse;
use crate::term::{Markers, Scope};
use crate::value::{Bound, Wire};
use skep_engine::env::sim::SimDisk;
use skep_engine::model::bytes::Bytes;
use skep_engine::{Db, KeyRange, Order, Schema, Table, row};

struct Store {
    catalog: Arc<Catalog>,
    table: Table,
}

/// `PRIMARY KEY (p, c, d)`: partition 1 has 12 rows, 2 has 3, 3 static columns alone, 4 one row, 5 was deleted.
fn store() -> Store {
    let db = Db::builder("/db").env(SimDisk::new(1).env()).background(false).open().unwrap();
    let schema = Schema::table("t")
        .keyspace("main")
        .declare("p", CqlType::Int, ColumnKind::PartitionKey)
        .declare("c", CqlType::Int, ColumnKind::Clustering(Order::Asc))
        .declare("d", CqlType::Int, ColumnKind::Clustering(Order::Desc))
        .declare("s", CqlType::Int, ColumnKind::Static)
        .declare("v", CqlType::Int, ColumnKind::Regular)
        .declare("w", CqlType::Double, ColumnKind::Regular);
    let table = db.create_table(schema).unwrap();
    for n in 0..12 {
        table.insert(&row![1, n / 3, n % 3, None::<i32>, n, f64::from(n) / 2.0]).unwrap();
        if n == 5 {
            table.flush().unwrap();
        }
    }
    for n in 0..3 {
        table.insert(&row![2, n, 0, Some(20), n * 10, None::<f64>]).unwrap();
    }
    table.insert_named(&[("p", 3.into()), ("s", 30.into())], skep_engine::With::DEFAULT).unwrap();
    table.insert(&row![4, 0, 0, Some(40), 7, 0.5]).unwrap();
    table.insert(&row![5, 0, 0, Some(50), 7, 0.5]).unwrap();
    table.delete(&row![5]).unwrap();
    Store { catalog: Catalog::of(&db), table }
}

impl Store {
    fn plan(&self, text: &str) -> Result<SelectPlan> {
        let parsed = parse(text).unwrap();
        let Statement::Select(select) = parsed.statement else { panic!("{text}") };
        let table = self.catalog.table("main", "t").unwrap();
        let mut markers = Markers::new(&parsed.markers);
        let scope = Scope { types: &*self.catalog, keyspace: "main", table: Some(&table.schema) };
        SelectPlan::prepare(&select, &table, &mut Preparing { scope, markers: &mut markers })
    }

    fn page(
        &self,
        text: &str,
        size: Option<usize>,
        paging_state: Option<Vec<u8>>,
    ) -> Result<(ResultSet, Vec<String>)> {
        let parameters = Parameters { page_size: size, paging_state, ..Parameters::default() };
        let mut run = Run::new(&[], self.table.db().now_micros(), &parameters);
        let set = self.plan(text)?.run(&mut run, &NoIndexes)?;
        Ok((set, run.warnings))
    }

    fn all(&self, text: &str) -> Vec<Vec<Wire>> {
        self.page(text, None, None).unwrap_or_else(|error| panic!("{text}: {error}")).0.rows
    }

    /// The rows of all pages; every page but the last is full, and none is empty.
    fn paged(&self, text: &str, size: usize) -> Vec<Vec<Wire>> {
        let (mut rows, mut state) = (Vec::new(), None);
        loop {
            let (page, _) =
                self.page(text, Some(size), state).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(
                page.paging_state.is_none() || page.rows.len() == size,
                "{text} by {size}: a page is not full"
            );
            assert!(!page.rows.is_empty() || rows.is_empty(), "{text} by {size}: an empty page");
            rows.extend(page.rows);
            state = page.paging_state;
            if state.is_none() {
                return rows;
            }
        }
    }
}

fn int(number: i32) -> Wire {
    Some(Bytes::new(&number.to_be_bytes()))
}

fn ints(rows: &[Vec<Wire>]) -> Vec<Option<i32>> {
    let number = |wire: &Wire| wire.as_ref().map(|wire| i32::from_be_bytes(wire[..].try_into().unwrap()));
    rows.iter().map(|row| number(&row[0])).collect()
}

#[test]
fn the_union_of_the_pages_is_the_whole_whatever_their_size() {
    let store = store();
    for (text, count) in [
        ("SELECT p, c, d, s FROM t", 17),
        ("SELECT v FROM t WHERE p = 1", 12),
        ("SELECT v FROM t WHERE p = 1 ORDER BY c DESC", 12),
        ("SELECT v FROM t WHERE p = 1 AND c IN (0, 3)", 6),
        ("SELECT v FROM t WHERE p = 1 AND (c, d) > (0, 1) AND (c, d) <= (3, 0)", 8),
        ("SELECT p, v FROM t WHERE p IN (4, 3, 1, 9)", 14),
        ("SELECT p, v FROM t LIMIT 7", 7),
        ("SELECT p, v FROM t PER PARTITION LIMIT 2", 6),
        ("SELECT p, v FROM t PER PARTITION LIMIT 4 LIMIT 6", 6),
        ("SELECT p, s FROM t WHERE s > 20 ALLOW FILTERING", 2),
        ("SELECT v FROM t WHERE v > 4 PER PARTITION LIMIT 3 ALLOW FILTERING", 6),
        ("SELECT v FROM t WHERE d = 0 LIMIT 5 ALLOW FILTERING", 5),
        ("SELECT DISTINCT p, s FROM t", 4),
        ("SELECT DISTINCT p, s FROM t LIMIT 3", 3),
        ("SELECT p, c, count(*), sum(v) FROM t GROUP BY p, c", 9),
        ("SELECT p, c, max(v) FROM t GROUP BY p, c PER PARTITION LIMIT 2", 6),
        ("SELECT p, c, max(v) FROM t GROUP BY p, c LIMIT 5", 5),
        ("SELECT p, count(*) FROM t WHERE p IN (2, 1) GROUP BY p", 2),
        ("SELECT c, count(v) FROM t WHERE p = 1 GROUP BY c ORDER BY c DESC", 4),
        ("SELECT count(*), sum(v) FROM t", 1),
        ("SELECT v FROM t WHERE token(p) > token(1)", 5),
        ("SELECT JSON p, c FROM t", 17),
    ] {
        let whole = store.all(text);
        assert_eq!(whole.len(), count, "{text}");
        for size in 1..=whole.len() + 1 {
            assert_eq!(store.paged(text, size), whole, "{text} by {size}");
        }
    }
}

#[test]
fn pages_go_on_behind_their_place_when_rows_come_and_go_meanwhile() {
    let store = store();
    for text in ["SELECT v FROM t WHERE p = 1", "SELECT v FROM t WHERE p = 1 AND v >= 0 ALLOW FILTERING"] {
        let (first, _) = store.page(text, Some(4), None).unwrap();
        assert_eq!(ints(&first.rows), [2, 1, 0, 5].map(Some));
        // Before the place, behind it, and the place itself.
        store.table.insert(&row![1, 0, 9, None::<i32>, 100, 0.0]).unwrap();
        store.table.insert(&row![1, 1, 9, None::<i32>, 101, 0.0]).unwrap();
        store.table.insert(&row![1, 2, 9, None::<i32>, 102, 0.0]).unwrap();
        store.table.delete(&row![1, 1, 2]).unwrap();
        let (second, _) = store.page(text, Some(4), first.paging_state).unwrap();
        assert_eq!(ints(&second.rows), [4, 3, 102, 8].map(Some), "{text}");
        store.table.insert(&row![1, 1, 2, None::<i32>, 5, 2.5]).unwrap();
        for c in 0..3 {
            store.table.delete(&row![1, c, 9]).unwrap();
        }
    }
}

#[test]
fn a_paging_state_of_another_kind_is_refused() {
    let store = store();
    let error = store.page("SELECT v FROM t", Some(2), Some(vec![1, 2, 3])).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Protocol, "Invalid value for the paging state"));
}

#[test]
fn aggregates_are_equal_whether_the_engine_adds_up_or_rows_are_read() {
    let store = store();
    let whole = "count(*), count(v), min(v), max(v), sum(v), avg(v), min(w), max(w), count(w)";
    let rows = store.all(&format!("SELECT {whole} FROM t WHERE p = 1"));
    assert!(store.plan(&format!("SELECT {whole} FROM t")).unwrap().selection.totals().is_some());
    let filtered = store.all(&format!("SELECT {whole} FROM t WHERE p = 1 AND v < 100 ALLOW FILTERING"));
    assert_eq!(rows, filtered);
    assert_eq!(rows[0][2..6], [int(0), int(11), int(66), int(5)]);
    // Nothing to add up.
    let none = store.all("SELECT count(v), min(v), sum(v), avg(v), p FROM t WHERE p = 9");
    assert_eq!(none, [[Some(Bytes::new(&[0; 8])), None, int(0), int(0), None]]);
    assert_eq!(store.all("SELECT count(v), sum(v) FROM t WHERE p IN ()")[0][1], int(0));
    assert_eq!(store.all("SELECT p, sum(v) FROM t WHERE p = 9 GROUP BY p"), Vec::<Vec<Wire>>::new());
}

#[test]
fn rows_of_several_partitions_are_sorted_and_equal_ones_stay_in_the_order_of_keys() {
    let store = store();
    let rows = store.all("SELECT p, c FROM t WHERE p IN (2, 4, 1) AND c < 1 ORDER BY c ASC");
    assert_eq!(ints(&rows), [1, 1, 1, 2, 4].map(Some));
    let rows = store.all("SELECT p FROM t WHERE p IN (2, 1) ORDER BY c DESC LIMIT 4");
    assert_eq!(ints(&rows), [1, 1, 1, 1].map(Some));
    let rows = store.all("SELECT p, max(v) FROM t WHERE p IN (2, 1) GROUP BY p, c ORDER BY c DESC LIMIT 3");
    assert_eq!(ints(&rows), [1, 1, 2].map(Some));
    let error = store.page("SELECT p FROM t WHERE p IN (2, 1) ORDER BY c", Some(3), None).unwrap_err();
    assert!(
        error.message().starts_with("Cannot page queries with both ORDER BY and a IN restriction"),
        "{error}"
    );
    // A limit that one page holds makes paging needless.
    assert!(store.page("SELECT p FROM t WHERE p IN (2, 1) ORDER BY c LIMIT 3", Some(3), None).is_ok());
}

#[test]
fn batches_are_the_rows_of_plain_columns() {
    let store = store();
    let parameters = Parameters::default();
    for text in [
        "SELECT v, p, v FROM t",
        "SELECT s FROM t WHERE p = 2 LIMIT 2",
        "SELECT v FROM t WHERE p IN (1, 2) ORDER BY c",
    ] {
        let plan = Arc::new(store.plan(text).unwrap());
        let mut run = Run::new(&[], 0, &parameters);
        let Some(mut batches) = plan.batches(&mut run).unwrap() else {
            assert!(text.contains("ORDER"), "{text}");
            continue;
        };
        let mut rows: Vec<Vec<Wire>> = Vec::new();
        while let Some(batch) = batches.next_batch().unwrap() {
            for row in 0..batch.len() {
                rows.push(batches.places().iter().map(|place| batch.wire(*place, row).unwrap()).collect());
            }
        }
        assert_eq!(rows, store.all(text), "{text}");
    }
    for text in
        ["SELECT v + 1 FROM t", "SELECT v FROM t WHERE v = 1 ALLOW FILTERING", "SELECT count(*) FROM t"]
    {
        let plan = Arc::new(store.plan(text).unwrap());
        assert!(plan.batches(&mut Run::new(&[], 0, &parameters)).unwrap().is_none(), "{text}");
    }
}

#[test]
fn reads_warn_of_many_tombstones_and_fail_at_too_many() {
    let store = store();
    for n in 0..1_001 {
        store.table.delete(&row![7, n, 0]).unwrap();
    }
    let (_, warnings) = store.page("SELECT v FROM t WHERE p = 7 AND c >= 0", None, None).unwrap();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(
        warning.split("; token").next().unwrap(),
        "Read 0 live rows and 1001 tombstone cells for query SELECT v FROM main.t WHERE p = 7 AND c >= 0 ALLOW FILTERING"
    );
    for n in 0..100_001 {
        store.table.delete(&row![8, n, 0]).unwrap();
    }
    let error = store.page("SELECT v FROM t WHERE p = 8", None, None).unwrap_err();
    assert_eq!(error.code(), Code::ReadFailure, "{error}");
    assert_eq!(
        store.page("SELECT count(v) FROM t WHERE p = 8", None, None).unwrap_err().code(),
        Code::ReadFailure
    );
}

#[test]
fn limits_are_numbers_over_zero_and_unset_is_none() {
    let store = store();
    let plan = store.plan("SELECT v FROM t WHERE p = 1 LIMIT ?").unwrap();
    let parameters = Parameters::default();
    let with = |bound: Bound| {
        let binds = [bound];
        let mut run = Run::new(&binds, 0, &parameters);
        plan.run(&mut run, &NoIndexes).map(|set| set.rows.len())
    };
    let number = |number: i32| Bound::Value(Bytes::new(&number.to_be_bytes()));
    assert_eq!(with(number(5)).unwrap(), 5);
    assert_eq!(with(Bound::Unset).unwrap(), 12);
    assert_eq!(with(number(0)).unwrap_err().message(), "LIMIT must be strictly positive");
    assert_eq!(with(Bound::Null).unwrap_err().message(), "Invalid null value of limit");
}

#[test]
fn a_range_deleted_between_groups_hides_no_group() {
    let store = store();
    store.table.delete_range(&row![1], KeyRange::from(1..3)).unwrap();
    let rows = store.all("SELECT c, count(*) FROM t WHERE p = 1 GROUP BY c LIMIT 1");
    assert_eq!(ints(&rows), [Some(0)]);
    assert_eq!(store.paged("SELECT c, count(*) FROM t WHERE p = 1 GROUP BY c", 1).len(), 2);
}
