//! Conditional writes, counters and views from several threads at once.

use skep_cql::{Answer, OpenSession};
use skep_engine::{Db, Options};
use skep_tests::store::Store;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

const THREADS: i64 = 4;
const STEPS: i64 = 100;
const ROWS: i64 = 200;

fn db() -> Db {
    Store::new(Options::default(), false).db
}

fn number(answer: Answer) -> i64 {
    let rows = answer.into_rows();
    rows[0].get::<i64>(0).unwrap()
}

/// Says that it is done when it goes.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `each` in every thread; the argument is the thread's number.
fn in_threads(each: impl Fn(i64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let each = &each;
            scope.spawn(move || each(thread));
        }
    });
}

#[test]
fn conditional_increments_and_counters_lose_none() {
    let db = db();
    let s = db.session().unwrap();
    s.execute("CREATE TABLE t (k int PRIMARY KEY, v bigint)", ()).unwrap();
    s.execute("CREATE TABLE n (k int PRIMARY KEY, c counter)", ()).unwrap();
    s.execute("INSERT INTO t (k, v) VALUES (1, 0)", ()).unwrap();
    in_threads(|_| {
        let s = db.session().unwrap();
        let read = s.prepare("SELECT v FROM t WHERE k = 1").unwrap();
        let swap = s.prepare("UPDATE t SET v = ? WHERE k = 1 IF v = ?").unwrap();
        for _ in 0..STEPS {
            s.execute("UPDATE n SET c = c + 1 WHERE k = 1", ()).unwrap();
            loop {
                let before = number(s.execute(&read, ()).unwrap());
                if s.execute(&swap, (before + 1, before)).unwrap().applied() {
                    break;
                }
            }
        }
    });
    assert_eq!(number(s.execute("SELECT v FROM t WHERE k = 1", ()).unwrap()), THREADS * STEPS);
    assert_eq!(number(s.execute("SELECT c FROM n WHERE k = 1", ()).unwrap()), THREADS * STEPS);
}

#[test]
fn of_those_who_insert_if_not_exists_one_wins() {
    let db = db();
    let s = db.session().unwrap();
    s.execute("CREATE TABLE t (k bigint PRIMARY KEY, who bigint)", ()).unwrap();
    let won = AtomicI64::new(0);
    in_threads(|thread| {
        let s = db.session().unwrap();
        let insert = s.prepare("INSERT INTO t (k, who) VALUES (?, ?) IF NOT EXISTS").unwrap();
        for k in 0..STEPS {
            if s.execute(&insert, (k, thread)).unwrap().applied() {
                won.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!(won.into_inner(), STEPS);
}

#[test]
fn a_row_that_many_move_in_a_view_is_in_it_once() {
    let db = db();
    let s = db.session().unwrap();
    s.execute("CREATE TABLE t (k int PRIMARY KEY, v bigint)", ()).unwrap();
    s.execute(
        "CREATE MATERIALIZED VIEW byv AS SELECT k, v FROM t WHERE v IS NOT NULL AND k IS NOT NULL PRIMARY KEY (v, k)",
        (),
    )
    .unwrap();
    in_threads(|thread| {
        let s = db.session().unwrap();
        let update = s.prepare("UPDATE t SET v = ? WHERE k = 1").unwrap();
        for step in 0..STEPS {
            s.execute(&update, (step * THREADS + thread,)).unwrap();
            // Base and view change together: whoever looks sees the row once.
            assert_eq!(number(s.execute("SELECT count(*) FROM byv", ()).unwrap()), 1);
        }
    });
    let base = number(s.execute("SELECT v FROM t WHERE k = 1", ()).unwrap());
    assert_eq!(number(s.execute("SELECT v FROM byv", ()).unwrap()), base);
}

#[test]
fn writes_and_reads_go_on_while_indexes_views_and_columns_come_and_go() {
    let db = db();
    let s = db.session().unwrap();
    s.execute("CREATE TABLE t (k bigint, c bigint, v bigint, PRIMARY KEY (k, c))", ()).unwrap();
    let done = AtomicBool::new(false);
    let is_done = || done.load(Ordering::Relaxed);
    let view = "CREATE MATERIALIZED VIEW byv AS SELECT k, c, v FROM t \
                WHERE v IS NOT NULL AND k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, k, c)";
    std::thread::scope(|scope| {
        for thread in 0..2i64 {
            let s = db.session().unwrap();
            scope.spawn(move || {
                let insert = s.prepare("INSERT INTO t (k, c, v) VALUES (?, ?, ?)").unwrap();
                let mut batch = s.batch();
                // At least every row once, and as long as the schema changes.
                for n in (0i64..).step_by(2).take_while(|n| *n < ROWS || !is_done()) {
                    s.execute(&insert, (thread, n % ROWS, n % 5)).unwrap();
                    batch.add(&insert, (thread, n % ROWS + 1, 1i64)).unwrap();
                    batch.add("DELETE FROM t WHERE k = -1 AND c = 1", ()).unwrap();
                    batch.run().unwrap();
                }
            });
        }
        let reader = db.session().unwrap();
        scope.spawn(move || {
            let read = reader.prepare("SELECT k, c FROM t WHERE v = 3 LIMIT 3 ALLOW FILTERING").unwrap();
            while !is_done() {
                reader.execute(&read, ()).unwrap();
                assert!(reader.query(&read, ()).unwrap().all(|row| row.is_ok()));
            }
        });
        // Ends the others if this thread fails.
        let _end = End(&done);
        for round in 0..20 {
            s.execute("CREATE INDEX byv_index ON t (v)", ()).unwrap();
            s.execute(view, ()).unwrap();
            s.execute(&format!("ALTER TABLE t ADD w{round} int"), ()).unwrap();
            s.execute("DROP INDEX byv_index", ()).unwrap();
            s.execute("DROP MATERIALIZED VIEW byv", ()).unwrap();
            s.execute(&format!("ALTER TABLE t DROP w{round}"), ()).unwrap();
        }
        s.execute("CREATE INDEX byv_index ON t (v)", ()).unwrap();
        s.execute(view, ()).unwrap();
    });
    let wanted = 2 * ROWS;
    let count = |text: &str| number(s.execute(text, ()).unwrap());
    assert_eq!(count("SELECT count(*) FROM t"), wanted);
    assert_eq!(count("SELECT count(*) FROM byv"), wanted);
    let by_index: i64 = (0..5).map(|v| count(&format!("SELECT count(*) FROM t WHERE v = {v}"))).sum();
    assert_eq!(by_index, wanted);
}
