//! Indexes and views of values that are equal and written differently: decimal 1.5 and 1.50, a padded varint, a tuple whose last null is left
//! out. A clustering is one place however it is written, so that a view must not keep the row of another way of writing it, and everything is
//! found by any of them.

use proptest::collection::vec;
use proptest::prelude::*;
use skep_cql::{Bound, OpenSession, Outcome, Parameters, Session};
use skep_engine::env::sim::SimDisk;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;
use skep_engine::{CqlType, Db, Options};
use skep_tests::store;

const DECIMALS: [(i64, i32); 4] = [(-15, 1), (0, 0), (1, 0), (12, -2)];
const INTEGERS: [i16; 3] = [-1, 1, 256];

const SCHEMA: [&str; 8] = [
    "CREATE TABLE f (k int, c decimal, t frozen<tuple<varint, text>>, v int, w decimal, x decimal, PRIMARY KEY (k, c, t)) \
     WITH gc_grace_seconds = 1",
    "CREATE INDEX byc ON f (c)",
    "CREATE INDEX byw ON f (w)",
    "CREATE CUSTOM INDEX byx ON f (x) USING 'sai'",
    "CREATE MATERIALIZED VIEW of_c AS SELECT * FROM f WHERE k IS NOT NULL AND c IS NOT NULL AND t IS NOT NULL PRIMARY KEY (c, t, k)",
    "CREATE MATERIALIZED VIEW of_t AS SELECT * FROM f WHERE k IS NOT NULL AND c > -2 AND t IS NOT NULL \
     PRIMARY KEY ((t, c), k) WITH CLUSTERING ORDER BY (k DESC)",
    "CREATE MATERIALIZED VIEW of_v AS SELECT * FROM f WHERE k IS NOT NULL AND c IS NOT NULL AND t IS NOT NULL AND v IS NOT NULL \
     PRIMARY KEY ((v, c), k, t)",
    "CREATE MATERIALIZED VIEW of_w AS SELECT * FROM f WHERE k IS NOT NULL AND c IS NOT NULL AND t IS NOT NULL AND w IS NOT NULL \
     PRIMARY KEY (k, w, c, t)",
];

fn decimal_type() -> CqlType {
    CqlType::Decimal
}

fn tuple_type() -> CqlType {
    CqlType::Tuple(vec![CqlType::Varint, CqlType::Text])
}

/// A way of writing a number of [`DECIMALS`].
fn decimal(n: usize, way: usize) -> Bytes {
    let (unscaled, scale) = DECIMALS[n];
    let unscaled = unscaled * 10i64.pow(way as u32);
    Bytes::from([&(scale + way as i32).to_be_bytes()[..], &unscaled.to_be_bytes()].concat())
}

/// A way of writing the tuple of a number of [`INTEGERS`] and null.
fn tuple(n: usize, way: usize) -> Bytes {
    let wide = i64::from(INTEGERS[n]).to_be_bytes();
    let integer = if way == 0 { &INTEGERS[n].to_be_bytes()[..] } else { &wide };
    let null: &[u8] = if way < 2 { &[0xff; 4] } else { &[] };
    Bytes::from([&(integer.len() as u32).to_be_bytes(), integer, null].concat())
}

fn number_of(
    value: &Option<Bytes>,
    all: usize,
    make: impl Fn(usize) -> Bytes,
    ty: &CqlType,
) -> Option<usize> {
    let value = value.as_ref()?;
    let found = (0..all).find(|n| compare(value, &make(*n), ty).is_eq());
    Some(found.unwrap_or_else(|| panic!("{value:?} is none of the values")))
}

#[derive(Clone, Debug)]
enum Step {
    Insert { row: Place, v: Option<i32>, w: Option<(usize, usize)>, x: (usize, usize) },
    Update { row: Place, v: Option<i32> },
    DeleteRow(Place),
    DeleteRange { k: i32, c: (usize, usize) },
    Flush,
    Compact,
}

/// A row: its partition, and its clustering values with the way of writing each.
type Place = (i32, (usize, usize), (usize, usize));

fn way(numbers: usize) -> impl Strategy<Value = (usize, usize)> {
    (0..numbers, 0usize..3)
}

fn place() -> impl Strategy<Value = Place> {
    (0..2, way(DECIMALS.len()), way(INTEGERS.len()))
}

fn step() -> impl Strategy<Value = Step> {
    let number = || proptest::option::of(0..3);
    prop_oneof![
        6 => (place(), number(), proptest::option::of(way(4)), way(4))
            .prop_map(|(row, v, w, x)| Step::Insert { row, v, w, x }),
        4 => (place(), number()).prop_map(|(row, v)| Step::Update { row, v }),
        2 => place().prop_map(Step::DeleteRow),
        1 => (0..2, way(DECIMALS.len())).prop_map(|(k, c)| Step::DeleteRange { k, c }),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

struct Store {
    db: Db,
    session: Session,
}

/// Numbers of a row's values: k, c, t, v, w, x.
type Numbers = (i32, usize, usize, Option<i32>, Option<usize>, Option<usize>);

impl Store {
    fn new() -> Self {
        let db = store::open(&SimDisk::new(7), &Options::default(), false).unwrap();
        let session = db.session().unwrap();
        let store = Self { db, session };
        SCHEMA.iter().for_each(|text| drop(store.run(text, &[])));
        store
    }

    fn run(&self, text: &str, binds: &[Option<Bytes>]) -> Vec<Vec<Option<Bytes>>> {
        let prepared = self.session.prepare(text).unwrap();
        let bound = |value: &Option<Bytes>| value.clone().map_or(Bound::Null, Bound::Value);
        let binds: Vec<_> = binds.iter().map(bound).collect();
        let answer = self.session.run(&prepared, &binds, &Parameters::default());
        match answer.unwrap_or_else(|error| panic!("{text}: {error}")).outcome {
            Outcome::Rows(set) => set.rows,
            _ => Vec::new(),
        }
    }

    fn apply(&self, step: &Step) {
        let int = |n: i32| Some(Bytes::new(&n.to_be_bytes()));
        let c = |(n, way): (usize, usize)| Some(decimal(n, way));
        let t = |(n, way): (usize, usize)| Some(tuple(n, way));
        match *step {
            Step::Insert { row, v, w, x } => drop(self.run(
                "INSERT INTO f (k, c, t, v, w, x) VALUES (?, ?, ?, ?, ?, ?)",
                &[int(row.0), c(row.1), t(row.2), v.and_then(int), w.and_then(c), c(x)],
            )),
            Step::Update { row, v } => drop(self.run(
                "UPDATE f SET v = ? WHERE k = ? AND c = ? AND t = ?",
                &[v.and_then(int), int(row.0), c(row.1), t(row.2)],
            )),
            Step::DeleteRow(row) => {
                drop(
                    self.run(
                        "DELETE FROM f WHERE k = ? AND c = ? AND t = ?",
                        &[int(row.0), c(row.1), t(row.2)],
                    ),
                );
            }
            Step::DeleteRange { k, c: from } => {
                drop(self.run("DELETE FROM f WHERE k = ? AND c >= ?", &[int(k), c(from)]));
            }
            Step::Flush => self.db.flush().unwrap(),
            Step::Compact => self.db.tables().iter().for_each(|table| table.compact().unwrap()),
        }
    }

    fn rows(&self, from: &str, binds: &[Option<Bytes>]) -> Vec<Numbers> {
        let int = |value: &Option<Bytes>| {
            value.as_ref().map(|bytes| i32::from_be_bytes(bytes.as_slice().try_into().unwrap()))
        };
        let number =
            |value: &Option<Bytes>| number_of(value, DECIMALS.len(), |n| decimal(n, 0), &decimal_type());
        let pair = |value: &Option<Bytes>| number_of(value, INTEGERS.len(), |n| tuple(n, 0), &tuple_type());
        let rows = self.run(&format!("SELECT k, c, t, v, w, x FROM {from}"), binds);
        let mut rows: Vec<Numbers> = rows
            .iter()
            .map(|row| {
                let key = (int(&row[0]).unwrap(), number(&row[1]).unwrap(), pair(&row[2]).unwrap());
                (key.0, key.1, key.2, int(&row[3]), number(&row[4]), number(&row[5]))
            })
            .collect();
        rows.sort_unstable();
        rows
    }

    fn check(&self) {
        let all = self.rows("f", &[]);
        let those = |test: &dyn Fn(&Numbers) -> bool| -> Vec<Numbers> {
            all.iter().copied().filter(|row| test(row)).collect()
        };
        assert_eq!(self.rows("of_c", &[]), all, "view by c");
        assert_eq!(self.rows("of_t", &[]), all, "view by t and c");
        assert_eq!(self.rows("of_v", &[]), those(&|row| row.3.is_some()), "view by v and c");
        assert_eq!(self.rows("of_w", &[]), those(&|row| row.4.is_some()), "view by w");
        for (n, way) in (0..DECIMALS.len()).flat_map(|n| (0..3).map(move |way| (n, way))) {
            let bind = [Some(decimal(n, way))];
            assert_eq!(self.rows("f WHERE c = ?", &bind), those(&|row| row.1 == n), "index on c");
            assert_eq!(self.rows("of_c WHERE c = ?", &bind), those(&|row| row.1 == n), "view where c");
            assert_eq!(self.rows("f WHERE w = ?", &bind), those(&|row| row.4 == Some(n)), "index on w");
            assert_eq!(self.rows("f WHERE x = ?", &bind), those(&|row| row.5 == Some(n)), "index on x");
        }
        for n in 0..INTEGERS.len() {
            let binds = [Some(tuple(n, 1)), Some(decimal(0, 1)), Some(decimal(0, 2)), Some(decimal(2, 1))];
            let wanted = those(&|row| row.2 == n && [0, 2].contains(&row.1));
            assert_eq!(self.rows("of_t WHERE t = ? AND c IN (?, ?, ?)", &binds), wanted, "view where t, c");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_place_is_one_however_it_is_written(steps in vec(step(), 1..30)) {
        let store = Store::new();
        for step in &steps {
            store.apply(step);
            store.check();
        }
    }
}

#[test]
fn whole_numbers_are_shown_as_such_in_a_view() {
    let store = Store::new();
    store.run("INSERT INTO f (k, c, t, v) VALUES (1, 1200, (1, null), 1)", &[]);
    let shown = store.session.execute("SELECT c FROM of_c", ()).unwrap().into_rows();
    assert_eq!(shown[0].value(0).unwrap().unwrap().to_string(), "1200");
}
