//! `skep shell` with scripts: where errors are told, what goes where, COPY both ways, what the system's tables look like.

mod common;

use common::{Dir, fails, ok};

const TABLE: &str = "CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c));";

#[test]
fn an_error_in_a_script_has_the_line_of_the_file() {
    let dir = Dir::new("shell-errors");
    let store = dir.path("store");
    let script = dir
        .file("s.cql", &format!("{TABLE}\n-- a comment\n\nSELECT *\nFROM t\nWHERE nope = 1;\nSELECT 1;\n"));
    let told = fails(&["shell", &store, "-f", &script]);
    assert!(told.contains("s.cql:6: Undefined column name nope"), "{told}");
    assert!(told.contains("\n  WHERE nope = 1\n        ^\n") && !told.contains("SELECT 1"), "{told}");
    let all = fails(&["shell", &store, "-f", &script, "--keep-going"]);
    assert!(
        all.contains("s.cql:1: ") && all.contains("s.cql:6: ") && all.contains("s.cql:7: line 0:-1"),
        "{all}"
    );
    assert!(all.ends_with("3 statements failed\n"), "{all}");
}

#[test]
fn settings_are_shown_when_nothing_is_said() {
    let dir = Dir::new("shell-settings");
    let store = dir.path("store");
    let told = ok(&["shell", &store, "-e", "EXPAND\nEXPAND ON\nEXPAND\nTIMING\nTRACING"]);
    let expected = "Expanded output is off\nExpanded output is on\nExpanded output is on\nTiming is off\nTracing is off\n";
    assert_eq!(told, expected);
}

#[test]
fn copy_brings_back_what_it_wrote() {
    let dir = Dir::new("shell-copy");
    let (store, file) = (dir.path("store"), dir.path("t.csv"));
    let insert = "INSERT INTO t (k, c, v) VALUES (1, 1, 'a, \"b\"\nc'); INSERT INTO t (k, c, v) VALUES (1, 2, ''); INSERT INTO t (k, c) VALUES (1, 3);";
    ok(&["shell", &store, "-e", &format!("{TABLE}{insert}")]);
    let wrote = ok(&["shell", &store, "-e", &format!("COPY t TO '{file}' WITH HEADER = true")]);
    assert!(wrote.starts_with("3 rows of main.t written to "), "{wrote}");
    let before = ok(&["shell", &store, "--format", "json", "-e", "SELECT * FROM t"]);
    let read = ok(&[
        "shell",
        &store,
        "-e",
        &format!("TRUNCATE t; COPY t FROM '{file}' WITH HEADER = true AND MAXROWS = 1"),
    ]);
    assert_eq!(read, "1 row read into main.t\n");
    ok(&["shell", &store, "-e", &format!("COPY t FROM '{file}' WITH HEADER = true")]);
    assert_eq!(ok(&["shell", &store, "--format", "json", "-e", "SELECT * FROM t"]), before);
    assert_eq!(before.lines().count(), 3, "{before}");
}

#[test]
fn system_keyspaces_can_be_looked_around_in() {
    let dir = Dir::new("shell-system");
    let store = dir.path("store");
    let tables = ok(&["shell", &store, "-k", "system_views", "--format", "csv", "-e", "DESCRIBE TABLES"]);
    assert!(tables.contains("system_views,table,sstables\n"), "{tables}");
    assert!(
        ok(&["shell", &store, "-e", "DESC system_views.caches"])
            .contains("VIRTUAL TABLE system_views.caches (")
    );
    ok(&["shell", &store, "-e", &format!("{TABLE} CREATE INDEX ON t (v);")]);
    assert_eq!(
        ok(&["shell", &store, "-e", "FLUSH"]),
        "Flushed 1 table\n",
        "the index's own table is not counted"
    );
    let missing = fails(&["scan", &store, "nope"]);
    assert!(missing.contains("main.t") && !missing.contains('#'), "{missing}");
}

/// A table of every kind of type, an index, a view; rows with what is easily lost.
const EVERYTHING: &str = r#"CREATE TYPE addr (street text, zip int);
CREATE TABLE a (k text, c int, st text static, a ascii, b blob, bo boolean, d date, de decimal, do double, f float, du duration, i inet,
    bi bigint, si smallint, ti tinyint, t time, ts timestamp, u uuid, tu timeuuid, v varint, x text, l list<frozen<list<text>>>,
    m map<text, frozen<set<int>>>, s set<text>, tp tuple<int, text>, ad frozen<addr>, ve vector<float, 2>, PRIMARY KEY (k, c))
    WITH CLUSTERING ORDER BY (c DESC) AND comment = 'it''s';
CREATE INDEX by_x ON a (x);
CREATE MATERIALIZED VIEW by_si AS SELECT k, c, si FROM a WHERE si IS NOT NULL AND k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (si, k, c);
INSERT INTO a (k, c, st, a, b, bo, d, de, do, f, du, i, bi, si, ti, t, ts, u, tu, v, x, l, m, s, tp, ad, ve) VALUES ('a', 1, 'st', 'as"c',
    0x00ff, true, '2024-06-12', 1.50, NaN, -Infinity, 1mo2d3ns, '2001:db8::1', 9223372036854775807, -3, 4, '14:03:00.000000001',
    '2024-06-12T14:03:00.123Z', 550e8400-e29b-41d4-a716-446655440000, 6ba7b810-9dad-11d1-80b4-00c04fd430c8,
    123456789012345678901234567890, 'line
two, "quoted" it''s', [['a''b', 'c,d'], []], {'k"1': {1, 2}}, {'', 'z'}, (1, null), {street: 'x''y', zip: null}, [1.5, -0.0]);
INSERT INTO a (k, c, x, a, b) VALUES ('empty', 2, '', '', 0x);
INSERT INTO a (k, c) VALUES ('nulls', 3);
INSERT INTO a (k, c, de, v, ts, bo) VALUES ('no bytes', 4, blobAsDecimal(0x), blobAsVarint(0x), blobAsTimestamp(0x), blobAsBoolean(0x));
"#;

#[test]
fn what_describe_says_makes_the_schema_again_and_copy_brings_every_type_back() {
    let dir = Dir::new("shell-again");
    let (store, again, csv) = (dir.path("store"), dir.path("again"), dir.path("a.csv"));
    ok(&["shell", &store, "-f", &dir.file("everything.cql", EVERYTHING)]);
    let describe = |store: &str| ok(&["shell", store, "-e", "DESCRIBE KEYSPACE main"]);
    let schema = describe(&store);
    assert!(schema.contains("CREATE MATERIALIZED VIEW main.by_si"), "{schema}");
    ok(&["shell", &again, "-f", &dir.file("schema.cql", &schema)]);
    assert_eq!(describe(&again), schema);
    // COPY goes over several lines.
    let wrote = ok(&["shell", &store, "-e", &format!("COPY a\n TO '{csv}'\n WITH HEADER = true;")]);
    assert!(wrote.starts_with("4 rows of main.a written to "), "{wrote}");
    ok(&["shell", &again, "-e", &format!("COPY a FROM '{csv}' WITH HEADER = true")]);
    let rows = |store: &str, query: &str| ok(&["shell", store, "--format", "csv", "-e", query]);
    for query in [
        "SELECT * FROM a",
        "SELECT k, do, f, bo, toJson(x) FROM a",
        "SELECT * FROM by_si",
        "SELECT k FROM a WHERE x = ''",
    ] {
        assert_eq!(rows(&again, query), rows(&store, query), "{query}");
    }
    assert_eq!(rows(&again, "SELECT k FROM a WHERE x = ''"), "k\nempty\n");
}

#[test]
fn copy_refuses_what_it_does_not_know() {
    let dir = Dir::new("shell-refused");
    let (store, csv) = (dir.path("store"), dir.file("t.csv", "1,2,aa\n"));
    ok(&["shell", &store, "-e", TABLE]);
    for (command, told) in [
        (format!("COPY t FROM '{csv}' WITH COLOUR = red"), "COPY has no option COLOUR"),
        (format!("COPY t TO '{csv}' WITH SKIPCOLS = 'v'"), "COPY FROM"),
        ("COPY t FROM 'nowhere.csv'".to_owned(), "nowhere.csv"),
        (format!("COPY t (k, nope) FROM '{csv}'"), "has no column nope"),
    ] {
        let error = fails(&["shell", &store, "-e", &command]);
        assert!(error.contains(told), "{command}: {error}");
    }
    assert_eq!(
        ok(&["shell", &store, "-e", &format!("COPY t FROM '{csv}' WITH SKIPCOLS = 'v'")]),
        "1 row read into main.t\n"
    );
    assert_eq!(ok(&["shell", &store, "--format", "csv", "-e", "SELECT * FROM t"]), "k,c,v\n1,2,\n");
    let refused = fails(&["shell", &store, "--read-only", "-e", "INSERT INTO t (k, c) VALUES (1, 1)"]);
    assert!(refused.contains("-e:1: "), "{refused}");
}

#[test]
fn bad_lines_are_kept_as_they_were() {
    let dir = Dir::new("shell-errfile");
    let bad = "one,2,\"a, \"\"b\"\"\nc\"\n";
    let (store, csv, kept) =
        (dir.path("store"), dir.file("t.csv", &format!("1,2,aa\n{bad}")), dir.path("bad.csv"));
    let error =
        fails(&["shell", &store, "-e", &format!("{TABLE} COPY t FROM '{csv}' WITH ERRFILE = '{kept}'")]);
    assert!(error.contains("1 row read into main.t, 1 line refused"), "{error}");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), bad);
}
