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
