//! Rules of the grammar that the recorded answers of Cassandra (`tests/golden`) do not show, and a first look at each statement.

use crate::error::Code;
use crate::syntax::ast::Statement;
use crate::syntax::{parse, print};

/// Debug text of a tree without places and quotes, which printing may change.
fn shape(statement: &Statement) -> String {
    let text = format!("{statement:?}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Place {") {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once('}').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.replace("quoted: true", "").replace("quoted: false", "")
}

fn round_trip(text: &str) {
    let first = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let printed = print::statement(&first.statement);
    let second = parse(&printed).unwrap_or_else(|error| panic!("{text} printed as {printed}: {error}"));
    assert_eq!(shape(&first.statement), shape(&second.statement), "{text} printed as {printed}");
    assert_eq!(first.markers, second.markers);
}

#[test]
fn printing_gives_the_statement_back() {
    for text in [
        "SELECT JSON DISTINCT a, \"B\" AS x FROM k.t WHERE a IN ? AND (c, d) > (1, 'it''s') AND m['x'] = :V AND token(a) > 5 \
         GROUP BY a, floor(ts, 1h) ORDER BY c DESC PER PARTITION LIMIT 2 LIMIT ? ALLOW FILTERING;",
        "SELECT (a + b) * - c, m['a'..], m[1 ..2], u.f, ttl(u.f), CAST(a AS int), (list<int>) [1], count(*), token(k) FROM t",
        "SELECT json, \"distinct\" - - - i FROM t",
        "INSERT INTO t (a, b) VALUES ((1), {f: 1, g: {1: 2}}) IF NOT EXISTS USING TIMESTAMP 3 AND TTL 5",
        "INSERT INTO t JSON '{}' DEFAULT UNSET",
        "UPDATE t USING TTL ? SET a = [1] + a, c = c -1, d -= 2, e[1] = 2, u.f = 3 WHERE k = 1 IF x.y IN (1, 2) AND m[1] != 2",
        "UPDATE t SET a = 1 WHERE k = 1 IF exists = 1",
        "DELETE a, b[1], c.d FROM t USING TIMESTAMP 1 WHERE k = 1 IF EXISTS",
        "BEGIN UNLOGGED BATCH USING TIMESTAMP 1 INSERT INTO t (k) VALUES (1); DELETE FROM t WHERE k = 2 APPLY BATCH",
        "CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1} AND durable_writes = true",
        "CREATE TABLE IF NOT EXISTS t (k int, c frozen<map<text, list<u.v>>> STATIC MASKED WITH mask_inner(1, 2), v vector<float, 3>, \
         PRIMARY KEY ((k), c)) WITH COMPACT STORAGE AND CLUSTERING ORDER BY (c DESC) AND comment = 'x' AND ID = 5",
        "CREATE TABLE t (k int PRIMARY KEY, d int MASKED WITH DEFAULT,)",
        "ALTER TABLE t ALTER v DROP MASKED",
        "ALTER TABLE t ADD IF NOT EXISTS (a int, b text static)",
        "ALTER TABLE t DROP a USING TIMESTAMP 5",
        "ALTER TABLE t RENAME a TO b AND c TO d",
        "CREATE TYPE t (a int, b frozen<t>)",
        "ALTER TYPE t RENAME a TO b",
        "CREATE CUSTOM INDEX i ON t (entries(m), values) USING 'sai' WITH OPTIONS = {'a': 'b'}",
        "CREATE MATERIALIZED VIEW v AS SELECT a, b FROM t WHERE a IS NOT NULL PRIMARY KEY ((a, b), c) WITH CLUSTERING ORDER BY (c ASC)",
        "ALTER MATERIALIZED VIEW v WITH comment = 'x'",
        "DROP MATERIALIZED VIEW IF EXISTS k.v",
        "DROP KEYSPACE k",
        "TRUNCATE t",
        "USE \"K\"",
        "DESC ONLY KEYSPACE k WITH INTERNALS",
        "DESCRIBE FULL SCHEMA",
        "DESCRIBE type",
        "DESCRIBE TYPE t",
        "DESCRIBE k.t",
        "EXPLAIN SELECT a FROM t WHERE k = 1",
        "EXPLAIN VALUE v FROM t WHERE k = 1",
        "EXPLAIN VALUE FROM t WHERE k = 1",
        "CREATE ROLE r WITH PASSWORD = 'x'",
        "GRANT SELECT ON t TO r",
    ] {
        round_trip(text);
    }
}

#[test]
fn doubled_brackets_around_a_clustering_order_are_taken() {
    let plain = parse(
        "CREATE TABLE t (k int, a int, b int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY (a ASC, b ASC)",
    );
    let doubled = parse(
        "CREATE TABLE t (k int, a int, b int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY ((a ASC, b ASC))",
    );
    assert_eq!(plain.map(|p| shape(&p.statement)).ok(), doubled.map(|p| shape(&p.statement)).ok());
}

#[test]
fn deep_nesting_and_long_chains_are_refused() {
    let nested = [
        format!("SELECT {}1 FROM t", "(".repeat(100_000)),
        format!("SELECT {}1 FROM t", "- ".repeat(100_000)),
        format!("SELECT {}1 FROM t", "(int)".repeat(100_000)),
        format!("SELECT 1{} FROM t", " + 1".repeat(100_000)),
        format!("SELECT a{} FROM t", ".a".repeat(100_000)),
        format!("INSERT INTO t (k) VALUES ({}", "[".repeat(100_000)),
        format!("INSERT INTO t (k) VALUES ({}", "(".repeat(100_000)),
        format!("INSERT INTO t (k) VALUES ({}", "{".repeat(100_000)),
        format!("INSERT INTO t (k) VALUES ({}", "f(".repeat(100_000)),
        format!("CREATE TABLE t (k {}", "list<".repeat(100_000)),
        format!("SELECT a FROM t WHERE {}", "(".repeat(100_000)),
    ];
    for text in nested {
        let error = parse(&text).map(|_| ()).expect_err("too deep");
        assert_eq!(error.code(), Code::Syntax);
    }
}

#[test]
fn hints_tell_what_to_do() {
    for (text, hint) in [
        ("EXPLAIN INSERT INTO t (a) VALUES (1)", "EXPLAIN VALUE"),
        ("DELETE FROM t", "TRUNCATE"),
        ("SELECT 1", "FROM t"),
        ("SELEC a FROM t", "did you mean SELECT?"),
        ("SELECT a FROM t WHERE k = \u{2018}x\u{2019}", "typographic quote"),
        ("SELECT a \u{2013} b FROM t", "typographic dash"),
        ("INSERT INTO t (k) VALUES (\"plain\")", "texts stand in single quotes: 'plain'"),
        ("INSERT INTO t (k) VALUES (plain)", "needs single quotes: 'plain'"),
        ("SELECT a FROM t WHERE k = 1 OR k = 2", "no OR"),
        ("SELECT a FROM t WHERE k <> 1", "no <>"),
        ("SELECT a FROM t LIMIT 1 ORDER BY c", "the clauses' order"),
        ("CREATE TABLE order (k int PRIMARY KEY)", "reserved word"),
        ("CREATE VIEW v AS SELECT", "MATERIALIZED VIEW"),
        ("SELECT -i FROM t", "blank behind the minus"),
        ("UPDATE t SET a = 1 USING TTL 5 WHERE k = 1", "USING stands before SET"),
    ] {
        let error = parse(text).map(|_| ()).expect_err(text);
        let told = error.hint_text().unwrap_or("");
        assert!(told.contains(hint), "{text}: {error}; hint: {told}");
    }
}
