//! Schema statements against a store of their own.

use super::*;
use crate::answer::{Parameters, ResultSet};
use crate::catalog::definition;
use crate::syntax::parse;
use skep_engine::{CqlType, Db};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A store that goes with the test.
struct Store {
    db: Db,
    catalog: Arc<Catalog>,
    dir: PathBuf,
}

impl Store {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("skep-schema-{}-{number}", std::process::id()));
        let db = Db::open(&dir).unwrap();
        let catalog = Catalog::of(&db);
        Self { db, catalog, dir }
    }

    fn run(&self, text: &str) -> Result<Outcome> {
        let parameters = Parameters::default();
        let statement = parse(text)?.statement;
        run(&self.catalog, Some("main"), &statement, &mut Run::new(&[], 0, &parameters))
    }

    fn all(&self, texts: &[&str]) {
        for text in texts {
            if let Err(error) = self.run(text) {
                panic!("{text}: {error}");
            }
        }
    }

    /// The statements that a DESCRIBE gives.
    fn describe(&self, text: &str) -> Vec<String> {
        let Outcome::Rows(ResultSet { rows, .. }) = self.run(text).unwrap() else {
            panic!("{text} gave no rows")
        };
        let texts = rows
            .into_iter()
            .map(|row| String::from_utf8(row[3].clone().unwrap().as_slice().to_vec()).unwrap());
        texts.collect()
    }

    fn refused(&self, text: &str) -> String {
        self.run(text).unwrap_err().message().to_owned()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.db.close().unwrap();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

const SHOP: [&str; 12] = [
    "CREATE TYPE a_inner (x int, l list<int>)",
    "CREATE TYPE \"Outer\" (i frozen<a_inner>, \"Odd\" text)",
    "CREATE TABLE t (p int, q text, c timeuuid, d text, s set<int> STATIC, v int, \"From\" text, m map<text, frozen<\"Outer\">>, \
     l list<int>, f frozen<list<int>>, o \"Outer\", PRIMARY KEY ((p, q), c, d)) WITH CLUSTERING ORDER BY (c DESC) AND \
     comment = 'it''s' AND compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'T4'} AND cdc = true \
     AND extensions = {'e': 0x01ff} AND caching = {'keys': 'NONE'} AND speculative_retry = 'MIN(99p,50ms)'",
    "CREATE TABLE u (k int PRIMARY KEY, v int MASKED WITH mask_inner(1, null), w text)",
    "CREATE INDEX ON t (v)",
    "CREATE INDEX by_key ON t (keys(m))",
    "CREATE INDEX ON t (full(f))",
    "CREATE CUSTOM INDEX sai ON t (\"From\") USING 'StorageAttachedIndex' WITH OPTIONS = {'case_sensitive': 'false'}",
    "CREATE MATERIALIZED VIEW mv AS SELECT * FROM u WHERE v IS NOT NULL AND k IS NOT NULL PRIMARY KEY (v, k)",
    "CREATE MATERIALIZED VIEW mv2 AS SELECT k, w FROM u WHERE k IN (1, 2) AND w IS NOT NULL PRIMARY KEY ((k, w))",
    "ALTER TABLE u ADD x text",
    "ALTER TABLE u WITH gc_grace_seconds = 5",
];

#[test]
fn what_describe_says_makes_the_schema_again() {
    let (first, second) = (Store::new(), Store::new());
    first.all(&SHOP);
    let statements = first.describe("DESCRIBE KEYSPACE main");
    assert_eq!(statements.len(), 11);
    // The keyspace is there already.
    statements[1..].iter().for_each(|statement| second.all(&[statement]));
    assert_eq!(second.describe("DESCRIBE KEYSPACE main"), statements);
    assert!(
        statements.iter().any(|text| text.contains("v int MASKED WITH mask_inner(1, NULL)")),
        "{statements:#?}"
    );
    let column =
        |store: &Store| store.catalog.table("main", "t").unwrap().schema.column("m").unwrap().ty.clone();
    assert_eq!(column(&first), column(&second));
}

#[test]
fn the_schema_is_there_after_opening_again() {
    let store = Store::new();
    store.all(&SHOP);
    let before = store.describe("DESCRIBE SCHEMA");
    store.db.close().unwrap();
    let db = Db::open(&store.dir).unwrap();
    let reopened = Store { catalog: Catalog::of(&db), db, dir: store.dir.clone() };
    assert_eq!(reopened.describe("DESCRIBE SCHEMA"), before);
    let table = reopened.catalog.table("main", "t").unwrap();
    assert_eq!(table.indexes.len(), 4);
    let keyspace = reopened.catalog.keyspace("main").unwrap();
    assert_eq!(keyspace.index_tables.len(), 4);
    assert!(keyspace.tables.values().all(|table| !definition::is_hidden(&table.schema)));
}

#[test]
fn a_change_of_a_type_reaches_all_that_holds_it() {
    let store = Store::new();
    store.all(&SHOP[..3]);
    store.all(&["ALTER TYPE a_inner ADD z int", "ALTER TYPE a_inner RENAME x TO y"]);
    let table = store.catalog.table("main", "t").unwrap();
    let CqlType::Map(_, value) = &table.schema.column("m").unwrap().ty else { panic!() };
    let CqlType::Udt(outer) = value.unfrozen() else { panic!() };
    let CqlType::Udt(inner) = outer.fields[0].1.unfrozen() else { panic!() };
    let fields: Vec<_> = inner.fields.iter().map(|(name, ty)| (name.as_str(), ty.to_string())).collect();
    let expected = [("y", "int".to_owned()), ("l", "frozen<list<int>>".to_owned()), ("z", "int".to_owned())];
    assert_eq!(fields, expected);
    // The definition itself keeps what was written.
    let text = store.describe("DESCRIBE TYPE a_inner");
    assert_eq!(text, ["CREATE TYPE main.a_inner (\n    y int,\n    l list<int>,\n    z int\n);"]);
}

#[test]
fn views_follow_their_table() {
    let store = Store::new();
    store.all(&SHOP);
    store.all(&["ALTER TABLE u RENAME k TO id", "ALTER TABLE u ADD (y int, z int)"]);
    let view = |name: &str| store.catalog.table("main", name).unwrap();
    let columns =
        |name: &str| view(name).schema.columns().iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(" ");
    assert_eq!(columns("mv"), "v id w x y z");
    assert_eq!(columns("mv2"), "id w");
    let text = store.describe("DESCRIBE MATERIALIZED VIEW mv2").remove(0);
    assert!(
        text.contains("SELECT id, w\n    FROM main.u\n    WHERE id IN (1, 2) AND w IS NOT NULL\n"),
        "{text}"
    );
    assert_eq!(
        store.refused("ALTER TABLE u DROP y"),
        "Cannot drop column y on base table u with materialized views"
    );
    assert!(store.refused("DROP TABLE u").contains("materialized views still depend on it"));
}

#[test]
fn an_index_comes_and_goes_with_its_table() {
    let store = Store::new();
    store.all(&SHOP);
    assert_eq!(
        store.refused("ALTER TABLE t DROP v"),
        "Cannot drop column v because it has dependent secondary indexes (t_v_idx)"
    );
    let hidden = || store.db.tables().iter().filter(|table| definition::is_hidden(&table.schema())).count();
    assert_eq!(hidden(), 4);
    store.all(&["DROP INDEX t_v_idx"]);
    assert_eq!(hidden(), 3);
    store.all(&["ALTER TABLE t DROP v", "DROP TABLE t"]);
    assert_eq!(hidden(), 0);
    // The name is free for another one.
    store.all(&["CREATE TABLE t (k int PRIMARY KEY, v int)", "CREATE INDEX ON t (v)"]);
    assert_eq!(hidden(), 1);
}

#[test]
fn only_what_changed_is_new_in_the_next_picture() {
    let store = Store::new();
    store.all(&SHOP);
    let epoch = store.catalog.epoch();
    let (t, u) = (store.catalog.table("main", "t").unwrap(), store.catalog.table("main", "u").unwrap());
    store.all(&["CREATE TABLE IF NOT EXISTS t (k int PRIMARY KEY)"]);
    assert_eq!(store.catalog.epoch(), epoch);
    store.all(&["ALTER TABLE t WITH comment = 'new'"]);
    assert!(store.catalog.epoch() > epoch);
    assert!(Arc::ptr_eq(&u, &store.catalog.table("main", "u").unwrap()));
    assert_eq!(t.schema.options.comment, "it's");
    assert_eq!(store.catalog.table("main", "t").unwrap().schema.options.comment, "new");
    assert_eq!(u.uuid, store.catalog.table("main", "u").unwrap().uuid);
    assert_ne!(u.uuid, t.uuid);
}

#[test]
fn internals_tell_what_was_dropped() {
    let store = Store::new();
    store.all(&[
        "CREATE TABLE d (k int PRIMARY KEY, v int, w int) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18",
        "ALTER TABLE d DROP v USING TIMESTAMP 7",
    ]);
    let text = store.describe("DESCRIBE TABLE d WITH INTERNALS").remove(0);
    assert!(
        text.contains("WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18\n    AND additional_write_policy"),
        "{text}"
    );
    assert!(text.ends_with("\nALTER TABLE main.d DROP v USING TIMESTAMP 7;"), "{text}");
    assert!(!store.describe("DESCRIBE TABLE d").remove(0).contains("DROP"));
}

#[test]
fn a_session_without_a_keyspace_has_to_name_one() {
    let store = Store::new();
    let parameters = Parameters::default();
    let statement = parse("CREATE TABLE t (k int PRIMARY KEY)").unwrap().statement;
    let error = run(&store.catalog, None, &statement, &mut Run::new(&[], 0, &parameters)).unwrap_err();
    assert!(error.message().starts_with("No keyspace has been specified"));
}

#[test]
fn masks_are_kept_and_checked() {
    let store = Store::new();
    store.all(&[
        "CREATE TABLE m (k int PRIMARY KEY, v text)",
        "ALTER TABLE m ALTER v MASKED WITH mask_outer(1, 2)",
    ]);
    assert!(store.describe("DESCRIBE TABLE m").remove(0).contains("v text MASKED WITH mask_outer(1, 2)"));
    store.all(&["ALTER TABLE m ALTER v DROP MASKED"]);
    assert!(!store.describe("DESCRIBE TABLE m").remove(0).contains("MASKED"));
    assert!(
        store
            .refused("ALTER TABLE m ALTER v MASKED WITH now()")
            .starts_with("Unable to find masking function")
    );
}

#[test]
fn truncate_empties_what_is_derived_too() {
    let store = Store::new();
    store.all(&SHOP);
    store.all(&["CREATE INDEX ON u (w)"]);
    let keyspace = store.catalog.keyspace("main").unwrap();
    let index = keyspace.index_tables["u_w_idx"].clone();
    let base = keyspace.tables["u"].table.clone();
    let rows = |table: &skep_engine::Table| table.scan().rows().unwrap().count();
    base.insert_named(&[("k", 1.into()), ("w", "a".into())], skep_engine::With::DEFAULT).unwrap();
    let entry = [
        ("value", b"a".as_slice().into()),
        ("token", 7_i64.into()),
        ("key", b"k".as_slice().into()),
        ("expiry", 0_i64.into()),
    ];
    index.insert_named(&entry, skep_engine::With::DEFAULT).unwrap();
    assert_eq!((rows(&base), rows(&index)), (1, 1));
    store.all(&["TRUNCATE u"]);
    assert_eq!((rows(&base), rows(&index)), (0, 0));
}
