//! Conditional writes, counters and views from several threads at once.

use skep_cql::{Answer, OpenSession};
use skep_engine::{Db, Options};
use skep_tests::store::Store;

const THREADS: i64 = 4;
const STEPS: i64 = 100;

fn db() -> Db {
    Store::new(Options::default(), false).db
}

fn number(answer: Answer) -> i64 {
    let rows = answer.into_rows();
    rows[0].get::<i64>(0).unwrap()
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
    let won = std::sync::atomic::AtomicI64::new(0);
    in_threads(|thread| {
        let s = db.session().unwrap();
        let insert = s.prepare("INSERT INTO t (k, who) VALUES (?, ?) IF NOT EXISTS").unwrap();
        for k in 0..STEPS {
            if s.execute(&insert, (k, thread)).unwrap().applied() {
                won.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
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
