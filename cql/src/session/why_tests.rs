//! EXPLAIN and traces through a session, on a store whose clock stands still until it is moved.

use crate::answer::{Outcome, Parameters};
use crate::restrict::operand::literal;
use crate::session::{OpenSession, Session};
use crate::value::{ColumnSpec, Wire};
use skep_engine::{CqlType, Db, ManualClock};
use std::path::PathBuf;
use std::sync::Arc;

struct Store {
    session: Session,
    clock: Arc<ManualClock>,
    dir: PathBuf,
}

const SECOND: i64 = 1_000_000;

impl Store {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("skep-explain-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let clock = Arc::new(ManualClock::new(1_700_000_000 * SECOND));
        let db = Db::builder(&dir).clock(clock.clone()).background(false).open().unwrap();
        Self { session: db.session().unwrap(), clock, dir }
    }

    fn run(&self, statements: &[&str]) {
        for statement in statements {
            self.session.execute(*statement, ()).unwrap();
        }
    }

    fn flush(&self) {
        self.session.db().flush().unwrap();
    }

    /// Rows as texts, with the values of every row joined.
    fn ask(&self, statement: &str) -> Vec<String> {
        let answer = self.session.execute(statement, ()).unwrap();
        let Outcome::Rows(set) = answer.outcome else { panic!("no rows") };
        let value = |(wire, spec): (&Wire, &ColumnSpec)| match wire {
            None => String::new(),
            Some(wire) if spec.ty == CqlType::Text => String::from_utf8(wire.to_vec()).unwrap(),
            Some(wire) => literal(wire, &spec.ty).trim_matches('\'').to_owned(),
        };
        set.rows
            .iter()
            .map(|row| row.iter().zip(set.columns.iter()).map(value).collect::<Vec<_>>().join("|"))
            .collect()
    }

    fn refuses(&self, statement: &str) -> String {
        self.session.execute(statement, ()).unwrap_err().message().to_owned()
    }

    fn trace(&self, statement: &str) -> Vec<String> {
        let prepared = self.session.prepare(statement).unwrap();
        let parameters = Parameters { tracing: true, ..Parameters::default() };
        self.session.run(&prepared, &[], &parameters).unwrap().trace.unwrap()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.session.db().close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn has(lines: &[String], text: &str) {
    assert!(lines.iter().any(|line| line.contains(text)), "no {text:?} in {lines:#?}");
}

fn hasnt(lines: &[String], text: &str) {
    assert!(!lines.iter().any(|line| line.contains(text)), "{text:?} in {lines:#?}");
}

#[test]
fn a_read_of_one_partition_names_every_source_and_what_ruled_it_out() {
    let store = Store::new("partition");
    store.run(&[
        "CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c))",
        "INSERT INTO t (k, c, v) VALUES (1, 1, 1)",
    ]);
    store.flush();
    store.run(&["INSERT INTO t (k, c, v) VALUES (1, 9, 1)", "INSERT INTO t (k, c, v) VALUES (2, 9, 1)"]);
    store.flush();
    store.run(&["DELETE FROM t WHERE k = 1 AND c = 2"]);
    let lines = store.ask("EXPLAIN SELECT v FROM t WHERE k = 1 AND c > 0 AND c <= 5 LIMIT 10");
    has(&lines, "plan|partitions|1 partition by key: k = 1 (token ");
    has(&lines, "plan|rows|1 range of the clustering: c > 0 AND c <= 5");
    has(&lines, "plan|limit|10");
    has(&lines, "source|memtable 0|read");
    let read = |line: &&String| line.starts_with("source|file") && line.ends_with("|read");
    assert_eq!(lines.iter().filter(read).count(), 1, "{lines:#?}");
    has(&lines, "|ruled out by clustering range");
    has(&lines, "read|blocks|1 block");
    has(&lines, "read|met|1 live row, 1 live cell, 1 tombstone");
    has(&lines, "result|rows|1 row");
    hasnt(&lines, "plan|filter");
}

#[test]
fn scans_filters_groups_and_aggregates_are_planned_in_words() {
    let store = Store::new("plans");
    store.run(&["CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c))"]);
    for k in 0..3 {
        store.run(&[&format!("INSERT INTO t (k, c, v) VALUES ({k}, 1, {k})")]);
    }
    store.flush();
    let lines = store.ask("EXPLAIN SELECT * FROM t WHERE v > 1 ALLOW FILTERING");
    has(&lines, "plan|partitions|all partitions, in the order of their tokens");
    has(&lines, "plan|filter|v > 1: everything is read");
    has(&lines, "|read for 3 partitions");
    has(&lines, "result|rows|1 row");
    let lines = store.ask("EXPLAIN SELECT count(*), max(v) FROM t");
    has(&lines, "plan|aggregate|one group, from the zone maps");
    has(&lines, "result|warning|Aggregation query used without partition key");
    has(&store.ask("EXPLAIN SELECT k, max(v) FROM t GROUP BY k"), "groups by the partition key, streamed");
    has(&store.ask("EXPLAIN SELECT * FROM t WHERE k IN (1, 2) ORDER BY c DESC"), "sorted in memory by c");
    has(&store.ask("EXPLAIN SELECT * FROM t WHERE k = 1 ORDER BY c DESC"), "the reverse of clustering order");
    has(&store.ask("EXPLAIN SELECT * FROM t WHERE token(k) > 5"), "token(k) > 5");
    store.run(&["CREATE INDEX by_v ON t (v)"]);
    let lines = store.ask("EXPLAIN SELECT * FROM t WHERE v = 2");
    has(&lines, "plan|index|by_v on v names the partitions and rows");
    has(&lines, "read|partitions|1 opened");
    has(&store.ask("EXPLAIN SELECT * FROM system_schema.tables"), "result|rows|");
}

#[test]
fn every_version_of_a_value_is_listed_with_the_rule_that_decided() {
    let store = Store::new("value");
    store.run(&[
        "CREATE TABLE t (k int, c int, s text static, v text, m map<text, int>, PRIMARY KEY (k, c))",
        "INSERT INTO t (k, c, v, s) VALUES (1, 1, 'old', 'here') USING TIMESTAMP 10",
    ]);
    store.flush();
    store.run(&[
        "UPDATE t USING TIMESTAMP 20 AND TTL 60 SET v = 'new', m['a'] = 5 WHERE k = 1 AND c = 1",
        "DELETE m FROM t USING TIMESTAMP 5 WHERE k = 1 AND c = 1",
    ]);
    let lines = store.ask("EXPLAIN VALUE v FROM t WHERE k = 1 AND c = 1");
    has(&lines, "v|'new'|20|60|");
    has(&lines, "|memtable 0|seen");
    has(&lines, "v|'old'|10|");
    has(&lines, "loses to memtable 0, written at 20, which was written later");
    hasnt(&lines, "m[");
    has(&store.ask("EXPLAIN VALUE FROM t WHERE k = 1 AND c = 1"), "m['a']|5|20|60|");
    has(&store.ask("EXPLAIN VALUE s FROM t WHERE k = 1 AND c = 1"), "s|'here'|10|");
    has(&store.ask("EXPLAIN VALUE FROM t WHERE k = 1"), "s|'here'|10|");
    store.clock.set_micros(1_700_000_100 * SECOND);
    has(&store.ask("EXPLAIN VALUE v FROM t WHERE k = 1 AND c = 1"), "expired at 2023-11-14");
    let lines = store.ask("EXPLAIN VALUE FROM t WHERE k = 9 AND c = 1");
    has(&lines, "was never written");
    has(&lines, "does not have the partition");
    for text in [
        "EXPLAIN VALUE v FROM t WHERE k = 1",
        "EXPLAIN VALUE FROM t WHERE k = 1 AND c > 1",
        "EXPLAIN VALUE FROM t WHERE k IN (1, 2) AND c = 1",
        "EXPLAIN VALUE FROM t WHERE v = 'new'",
    ] {
        assert!(store.refuses(text).contains("must give its whole primary key"), "{text}");
    }
    assert!(store.refuses("EXPLAIN VALUE k FROM t WHERE k = 1 AND c = 1").contains("has no versions"));
    assert!(store.refuses("EXPLAIN VALUE FROM system.local WHERE key = 'local'").contains("no versions"));
}

#[test]
fn traces_tell_what_was_written_and_met() {
    let store = Store::new("trace");
    store.run(&["CREATE TABLE test (a int PRIMARY KEY, b int)"]);
    has(
        &store.trace("INSERT INTO test (a, b) VALUES (1, 1)"),
        "Writing to main.test: 1 row, 1 live cell, 0 tombstones",
    );
    has(&store.trace("INSERT INTO test (a, b) VALUES (2, null)"), "1 row, 0 live cells, 1 tombstone");
    store.run(&["INSERT INTO test (a) VALUES (3)"]);
    let lines = store.trace("SELECT * FROM test");
    has(&lines, "Plan: partitions: all partitions");
    has(&lines, "Sources: read: memtable 0");
    has(&lines, "Read 3 live rows and 1 tombstone cells");
    let lines = store.trace("INSERT INTO test (a, b) VALUES (1, 5) IF NOT EXISTS");
    has(&lines, "Holding 1 partition alone");
    has(&lines, "Conditions do not hold");
    has(&store.trace("UPDATE test SET b = 6 WHERE a = 1 IF b = 1"), "Conditions hold");
    store.run(&["CREATE INDEX by_b ON test (b)"]);
    has(
        &store.trace("INSERT INTO test (a, b) VALUES (4, 7)"),
        "Operations for indexes and views in the same commit: 1",
    );
    has(&store.trace("SELECT * FROM test WHERE b = 7"), "Read 1 live rows and 0 tombstone cells");
}

#[test]
fn virtual_tables_tell_of_files_compactions_tombstones_and_guard_rails() {
    let store = Store::new("views");
    store.run(&[
        "CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c)) WITH gc_grace_seconds = 0 AND compaction = \
         {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'MINUTES', 'compaction_window_size': 1}",
        "INSERT INTO t (k, c, v) VALUES (1, 1, 1) USING TTL 10",
    ]);
    store.flush();
    store.run(&[
        "INSERT INTO t (k, c, v) VALUES (1, 1, 2) USING TIMESTAMP 5",
        "DELETE FROM t WHERE k = 2 AND c = 2",
    ]);
    store.flush();
    let files = store.ask(
        "SELECT file, rows, partitions, tombstones, first_partition, last_partition, min_timestamp, expires \
         FROM system_views.sstables WHERE keyspace_name = 'main' AND table_name = 't'",
    );
    // A flush writes a file for each window of write times.
    assert_eq!(files.len(), 3, "{files:#?}");
    has(&files, "|1|1|0|1|1|1700000000000000|2023-11-14 22:13:30");
    has(&files, "|1|1|0|1|1|5|");
    has(&files, "|1|1|1|2|2|");
    has(&store.ask("SELECT table_name, mebibytes FROM system_views.disk_usage"), "t|1");
    has(&store.ask("SELECT table_name, files, tombstones FROM system_views.tombstones"), "t|3|1");
    // The first file expires, but the second holds something older that it hides.
    store.clock.set_micros(1_700_000_060 * SECOND);
    let blocked =
        store.ask("SELECT blocked_by, blocking_file, blocker_min_timestamp, why FROM system_views.blockers");
    assert_eq!(blocked.len(), 1, "{blocked:#?}");
    assert!(blocked[0].starts_with("file|") && blocked[0].contains("|5|file "), "{blocked:#?}");
    store.session.db().table("main.t").unwrap().compact().unwrap();
    let history = store.ask("SELECT kind, rows_in, reason, error FROM system_views.compaction_history");
    has(&history, "merge|2|requested, over 2 files|");
    let settings = store.ask("SELECT * FROM system_views.settings");
    has(&settings, "commitlog_sync|periodic");
    has(&settings, "tombstone_failure_threshold|100000");
    has(&store.ask("SELECT name, capacity_bytes FROM system_views.caches"), "chunks|134217728");
    has(&store.ask("SELECT name, active_tasks FROM system_views.thread_pools"), "CompactionExecutor|0");
    assert!(store.ask("SELECT * FROM system_views.sstable_tasks").is_empty());
}

#[test]
fn guard_rails_count_what_they_met() {
    let store = Store::new("rails");
    store.run(&["CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))"]);
    let asked = "SELECT name, warned, refused FROM system_views.guard_rails";
    assert_eq!(store.ask(asked).iter().filter(|row| row.ends_with("|0|0")).count(), 3);
    let insert =
        |k: usize, bytes: usize| format!("INSERT INTO t (k, c, v) VALUES ({k}, 1, '{}');", "x".repeat(bytes));
    let batch = |kind: &str, rows: usize, bytes: usize| {
        let inserts: String = (0..rows).map(|k| insert(k, bytes)).collect();
        format!("BEGIN {kind} BATCH {inserts} APPLY BATCH")
    };
    store.run(&[&batch("UNLOGGED", 11, 1), &batch("", 2, 3_000)]);
    assert!(store.refuses(&batch("", 2, 30_000)).contains("Batch too large"));
    for c in 0..1_001 {
        store.run(&[&format!("DELETE FROM t WHERE k = 1 AND c = {c}")]);
    }
    store.ask("SELECT * FROM t WHERE k = 1");
    let counted = store.ask(asked);
    for wanted in ["tombstone|1|0", "batch_size|1|1", "unlogged_batch_across_partitions|1|0"] {
        has(&counted, wanted);
    }
}
