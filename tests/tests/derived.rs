//! Indexes and materialized views against what they are derived from: whatever is written, in whatever order and with whatever timestamps, a view
//! shows what its definition says of the base, and a query by an index what a filter gives; also after flush, compaction, expiry, a crash.

use proptest::collection::vec;
use proptest::prelude::*;
use skep_cql::{OpenSession, Session};
use skep_engine::env::sim::{CrashMode, SimDisk};
use skep_engine::{Db, ManualClock, Options, SyncMode};
use skep_tests::store;
use std::time::Duration;

/// A statement on the base, by numbers.
#[derive(Clone, Debug)]
enum Step {
    Write {
        insert: bool,
        key: (i32, i32),
        v: Option<Option<i32>>,
        w: Option<Option<i32>>,
        time: Option<i64>,
        ttl: u32,
    },
    Set {
        key: (i32, i32),
        add: bool,
        element: i32,
    },
    DeleteRow {
        key: (i32, i32),
        time: Option<i64>,
    },
    DeleteValue {
        key: (i32, i32),
        time: Option<i64>,
    },
    DeleteRange {
        k: i32,
        from: i32,
        to: i32,
    },
    DeletePartition {
        k: i32,
    },
    Batch(Vec<(i32, i32, i32)>),
    Sleep(u64),
    Flush,
    Compact,
    Crash,
}

fn key() -> impl Strategy<Value = (i32, i32)> {
    (0..3, 0..4)
}

fn time() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![2 => Just(None), 1 => (1i64..8).prop_map(|n| Some(n * 100))]
}

fn value() -> impl Strategy<Value = Option<Option<i32>>> {
    prop_oneof![1 => Just(None), 1 => Just(Some(None)), 4 => (0..4).prop_map(|v| Some(Some(v)))]
}

fn step() -> impl Strategy<Value = Step> {
    let ttl = || prop_oneof![3 => Just(0u32), 1 => 1u32..6];
    prop_oneof![
        8 => (any::<bool>(), key(), value(), value(), time(), ttl())
            .prop_map(|(insert, key, v, w, time, ttl)| Step::Write { insert, key, v, w, time, ttl }),
        2 => (key(), any::<bool>(), 0..3).prop_map(|(key, add, element)| Step::Set { key, add, element }),
        1 => (key(), time()).prop_map(|(key, time)| Step::DeleteRow { key, time }),
        1 => (key(), time()).prop_map(|(key, time)| Step::DeleteValue { key, time }),
        1 => (0..3, 0..4, 0..4).prop_map(|(k, from, to)| Step::DeleteRange { k, from, to }),
        1 => (0..3).prop_map(|k| Step::DeletePartition { k }),
        1 => vec((0..3, 0..4, 0..4), 1..4).prop_map(Step::Batch),
        1 => (1u64..4).prop_map(Step::Sleep),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Crash),
    ]
}

const SCHEMA: [&str; 5] = [
    "CREATE TABLE t (k int, c int, v int, w int, s set<int>, PRIMARY KEY (k, c)) WITH gc_grace_seconds = 2",
    "CREATE INDEX byw ON t (w)",
    "CREATE INDEX bys ON t (s)",
    "CREATE CUSTOM INDEX saiv ON t (v) USING 'sai'",
    "CREATE MATERIALIZED VIEW byv AS SELECT k, c, v, w FROM t WHERE v IS NOT NULL AND k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, c, k)",
];

/// Whose key is the base's; of the rows beyond the first clustering value.
const LATE_VIEW: &str = "CREATE MATERIALIZED VIEW byc AS SELECT k, c, w, s FROM t WHERE c > 0 AND k IS NOT NULL PRIMARY KEY (c, k)";

struct Store {
    disk: SimDisk,
    clock: ManualClock,
    db: Db,
    session: Session,
}

fn options() -> Options {
    Options { sync: SyncMode::Batch, ..Options::default() }
}

impl Store {
    fn new() -> Self {
        let disk = SimDisk::new(7);
        let clock = disk.clock();
        clock.set_micros(1_718_150_400_000_000);
        let db = store::open(&disk, &options(), false).unwrap();
        let session = db.session().unwrap();
        Self { disk, clock, db, session }
    }

    fn run(&self, text: &str) -> Vec<String> {
        let answer = self.session.execute(text, ()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let shown = |row: skep_cql::Row| {
            let values = (0..row.columns().len()).map(|i| match row.value(i).unwrap() {
                Some(value) => value.literal().to_string(),
                None => "null".to_owned(),
            });
            values.collect::<Vec<_>>().join(" | ")
        };
        answer.into_rows().into_iter().map(shown).collect()
    }

    fn apply(&mut self, step: &Step) {
        let at =
            |time: &Option<i64>| time.map_or_else(String::new, |time| format!(" USING TIMESTAMP {time}"));
        let shown = |value: Option<i32>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        match step {
            Step::Write { insert, key: (k, c), v, w, time, ttl } => {
                let using: Vec<_> = time
                    .map(|time| format!("TIMESTAMP {time}"))
                    .into_iter()
                    .chain((*ttl > 0).then(|| format!("TTL {ttl}")))
                    .collect();
                let using =
                    if using.is_empty() { String::new() } else { format!(" USING {}", using.join(" AND ")) };
                let set: Vec<_> = [("v", v), ("w", w)]
                    .into_iter()
                    .filter_map(|(name, value)| value.map(|value| (name, shown(value))))
                    .collect();
                match insert {
                    true => {
                        let names: String = set.iter().map(|(name, _)| format!(", {name}")).collect();
                        let values: String = set.iter().map(|(_, value)| format!(", {value}")).collect();
                        self.run(&format!("INSERT INTO t (k, c{names}) VALUES ({k}, {c}{values}){using}"));
                    }
                    false if set.is_empty() => {}
                    false => {
                        let set: Vec<_> =
                            set.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                        self.run(&format!(
                            "UPDATE t{using} SET {} WHERE k = {k} AND c = {c}",
                            set.join(", ")
                        ));
                    }
                }
            }
            Step::Set { key: (k, c), add, element } => {
                let sign = if *add { '+' } else { '-' };
                self.run(&format!("UPDATE t SET s = s {sign} {{{element}}} WHERE k = {k} AND c = {c}"));
            }
            Step::DeleteRow { key: (k, c), time } => {
                self.run(&format!("DELETE FROM t{} WHERE k = {k} AND c = {c}", at(time)));
            }
            Step::DeleteValue { key: (k, c), time } => {
                self.run(&format!("DELETE v, s FROM t{} WHERE k = {k} AND c = {c}", at(time)));
            }
            Step::DeleteRange { k, from, to } => {
                self.run(&format!("DELETE FROM t WHERE k = {k} AND c >= {from} AND c < {to}"));
            }
            Step::DeletePartition { k } => {
                self.run(&format!("DELETE FROM t WHERE k = {k}"));
            }
            Step::Batch(rows) => {
                let updates: String = rows
                    .iter()
                    .map(|(k, c, v)| format!("UPDATE t SET v = {v} WHERE k = {k} AND c = {c}; "))
                    .collect();
                self.run(&format!("BEGIN BATCH {updates} APPLY BATCH"));
            }
            Step::Sleep(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            Step::Flush => self.db.flush().unwrap(),
            Step::Compact => self.db.tables().iter().for_each(|table| table.compact().unwrap()),
            Step::Crash => self.crash(),
        }
    }

    /// All that was not synced is gone; the store is opened again.
    fn crash(&mut self) {
        self.disk.restart(CrashMode::Mixed);
        self.db = store::open(&self.disk, &options(), false).unwrap();
        self.session = self.db.session().unwrap();
    }

    fn check(&self) {
        let sorted = |mut rows: Vec<String>| {
            rows.sort();
            rows
        };
        // A value that is compared with itself is not null: what a view's IS NOT NULL asks.
        let filtered = |columns: &str, filter: &str| {
            sorted(self.run(&format!("SELECT {columns} FROM t WHERE {filter} ALLOW FILTERING")))
        };
        assert_eq!(
            sorted(self.run("SELECT k, c, v, w FROM byv")),
            filtered("k, c, v, w", "v >= -100"),
            "view by v"
        );
        if self.db.find_table("main", "byc").is_some() {
            assert_eq!(
                sorted(self.run("SELECT k, c, w, s FROM byc")),
                filtered("k, c, w, s", "c > 0"),
                "view by c"
            );
        }
        for n in 0..4 {
            assert_eq!(
                sorted(self.run(&format!("SELECT k, c, w FROM t WHERE w = {n}"))),
                filtered("k, c, w", &format!("w >= {n} AND w <= {n}")),
                "index on w = {n}"
            );
            assert_eq!(
                sorted(self.run(&format!("SELECT k, c FROM t WHERE s CONTAINS {n}"))),
                sorted(
                    self.run("SELECT k, c, s FROM t")
                        .into_iter()
                        .filter(|row| row.split(" | ").nth(2).is_some_and(|set| set.contains(&n.to_string())))
                        .map(|row| row.rsplit_once(" | ").unwrap().0.to_owned())
                        .collect()
                ),
                "index on s contains {n}"
            );
        }
        assert_eq!(
            sorted(self.run("SELECT k, c, v FROM t WHERE v > 0 AND v <= 2")),
            sorted(self.run("SELECT k, c, v FROM byv WHERE v IN (1, 2)")),
            "storage-attached index against the view"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn views_and_indexes_show_what_the_base_holds(steps in vec(step(), 1..40), late in 0usize..40) {
        let mut store = Store::new();
        SCHEMA.iter().for_each(|statement| drop(store.run(statement)));
        for (i, step) in steps.iter().enumerate() {
            // A view and an index may come when there is data already.
            if i == late {
                store.run(LATE_VIEW);
                store.run("DROP INDEX byw");
                store.run("CREATE INDEX byw ON t (w)");
            }
            store.apply(step);
            store.check();
        }
        for _ in 0..4 {
            store.clock.advance(Duration::from_secs(2));
            store.check();
        }
    }
}

#[test]
fn what_is_made_while_others_write_misses_nothing() {
    let store = Store::new();
    store.run(SCHEMA[0]);
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let session = store.db.session().unwrap();
            scope.spawn(move || {
                let insert = session.prepare("INSERT INTO t (k, c, v, w) VALUES (?, ?, ?, ?)").unwrap();
                for n in 0..300 {
                    session.execute(&insert, (writer, n, n % 7, n % 5)).unwrap();
                }
            });
        }
        scope.spawn(|| {
            SCHEMA[1..].iter().chain([&LATE_VIEW]).for_each(|statement| drop(store.run(statement)))
        });
    });
    store.check();
    assert_eq!(store.run("SELECT count(*) FROM byv"), ["900"]);
}

#[test]
fn a_view_that_was_not_filled_when_the_process_died_is_filled_at_the_next_opening() {
    let rows = 40;
    for calls in (0..).map(|n| n * 3) {
        let mut store = Store::new();
        store.run(SCHEMA[0]);
        for n in 0..rows {
            store.run(&format!("INSERT INTO t (k, c, v, w) VALUES ({n}, 1, 1, {})", n % 4));
        }
        store.disk.crash_at(store.disk.calls() + calls);
        let made = |text: &str| store.session.execute(text, ()).is_ok();
        let all = SCHEMA[1..].iter().chain([&LATE_VIEW]).all(|statement| made(statement));
        store.crash();
        let known = |name: &str| store.db.find_table("main", name).is_some();
        for view in ["byv", "byc"].into_iter().filter(|view| known(view)) {
            assert_eq!(
                store.run(&format!("SELECT count(*) FROM {view}")),
                [rows.to_string()],
                "{view} after {calls} calls"
            );
        }
        if store.session.execute("DESCRIBE INDEX byw", ()).is_ok() {
            assert_eq!(
                store.run("SELECT k FROM t WHERE w = 1").len(),
                rows / 4,
                "the index after {calls} calls"
            );
        }
        if all {
            assert!(calls > 20, "the disk failed somewhere in between");
            return;
        }
    }
}
