//! `skep shell` as scripts drive it: standard input, files that run files, what goes to other files, and what is left open at the end.

mod common;

use common::{Dir, fails, ok};
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs `skep` with `input` on its standard input.
fn fed(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_script_comes_from_standard_input() {
    let dir = Dir::new("shell-stdin");
    let store = dir.path("store");
    let script = "CREATE TABLE t (k int PRIMARY KEY);\nINSERT INTO t (k) VALUES (7);\nSELECT k FROM t;";
    let output = fed(&["shell", &store, "--format", "csv"], format!("\u{feff}{script}").as_bytes());
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "k\n7\n"));
    let output = fed(&["shell", &store, "-f", "-"], b"SELECT k FROM t;\nSELECT nope FROM t;");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("standard input:2: Undefined column name nope"), "{output:?}");
    let output = fed(&["shell", &store], b"SELECT k\xff FROM t;");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "skep: standard input: not UTF-8 at byte 8; save it as UTF-8\n");
}

#[test]
fn what_is_left_open_at_the_end_is_an_error_with_its_place() {
    let dir = Dir::new("shell-open");
    let store = dir.path("store");
    ok(&["shell", &store, "-e", "CREATE TABLE t (k int PRIMARY KEY)"]);
    let cases = [
        ("SELECT k FROM t;\n/* a comment;\nto the end", "s.cql:3: line 2:10 the statement ends before */"),
        ("/* only", "s.cql:1: line 1:7 the statement ends before */"),
        ("SELECT k FROM t;\n\nSELECT k FROM t /* open", "s.cql:3: line 1:23 the statement ends before */"),
        (
            "SELECT k FROM t;\nINSERT INTO t (k) VALUES ('a\nb",
            "s.cql:3: line 2:1 the statement ends before '",
        ),
        ("SELECT k FROM t;\n'", "s.cql:2: line 1:1 the statement ends before '"),
        ("SELECT k FROM t;\n$$ x", "s.cql:2: line 1:3 the statement ends before $$"),
        ("SELECT k FROM t;\nSELECT \"k FROM t;", "s.cql:2: line 1:17 the statement ends before \""),
        ("BEGIN BATCH INSERT INTO t (k) VALUES (1);", "s.cql:1: line 0:-1 the statement ends here"),
    ];
    for (script, told) in cases {
        let file = dir.file("s.cql", script);
        let error = fails(&["shell", &store, "-f", &file]);
        assert!(error.contains(told), "{script}: {error}");
    }
    // Comments that end, or whose line does, are none.
    for script in ["SELECT k FROM t; /* closed */", "SELECT k FROM t; -- to the end", "-- only", "/**/ // x"]
    {
        ok(&["shell", &store, "-f", &dir.file("s.cql", script)]);
    }
}

#[test]
fn files_run_files_but_not_themselves() {
    let dir = Dir::new("shell-source");
    let store = dir.path("store");
    let inner = dir.file("inner.cql", "CREATE TABLE t (k int PRIMARY KEY);\nEXPAND ON\n");
    let outer = dir.file("outer.cql", &format!("SOURCE '{inner}'\nINSERT INTO t (k) VALUES (1);\nEXPAND"));
    assert_eq!(ok(&["shell", &store, "-f", &outer]), "Expanded output is on\nExpanded output is on\n");
    let (a, b) = (dir.path("a.cql"), dir.path("b.cql"));
    dir.file("a.cql", &format!("SOURCE '{b}'"));
    dir.file("b.cql", &format!("\nSOURCE '{a}'"));
    let error = fails(&["shell", &store, "-f", &a]);
    assert_eq!(error, format!("{a}:1: {b}:2: {a} runs itself, and so without end\n"));
    let error = fails(&["shell", &store, "-e", "SOURCE 'no such file'"]);
    assert!(error.contains("no such file: cannot read it"), "{error}");
}

#[test]
fn rows_go_to_a_file_too_until_capturing_ends() {
    let dir = Dir::new("shell-capture");
    let (store, file) = (dir.path("store"), dir.path("rows.csv"));
    ok(&["shell", &store, "-e", "CREATE TABLE t (k int PRIMARY KEY, v text)"]);
    let script = format!(
        "INSERT INTO t (k, v) VALUES (1, 'a, b');\nCAPTURE\nCAPTURE '{file}'\nCAPTURE\nSELECT k, v FROM t;\nCAPTURE OFF\nSELECT k FROM t;"
    );
    let shown = ok(&["shell", &store, "-e", &script]);
    assert!(shown.starts_with("Not capturing\nRows go to "), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "k,v\n1,\"a, b\"\n");
    let error = fails(&["shell", &store, "-e", &format!("CAPTURE '{}'", dir.path("no/such/dir"))]);
    assert!(error.contains("cannot create it"), "{error}");
}

#[test]
fn a_consistency_level_is_taken_and_shown() {
    let dir = Dir::new("shell-consistency");
    let store = dir.path("store");
    let told =
        ok(&["shell", &store, "-e", "CONSISTENCY QUORUM\nCONSISTENCY\nSERIAL CONSISTENCY LOCAL_SERIAL"]);
    assert_eq!(told.matches("Consistency level is QUORUM").count(), 2, "{told}");
    assert!(told.contains("Serial consistency level is LOCAL_SERIAL"), "{told}");
    assert!(fails(&["shell", &store, "-e", "CONSISTENCY MANY"]).contains("MANY"));
}

#[test]
fn counters_and_partitions_of_static_columns_alone_come_back() {
    let dir = Dir::new("shell-copy-forms");
    let (store, file) = (dir.path("store"), dir.path("t.csv"));
    ok(&[
        "shell",
        &store,
        "-e",
        "CREATE TABLE t (k int, c int, s text static, v int, PRIMARY KEY (k, c)); \
         INSERT INTO t (k, s) VALUES (1, 'alone'); INSERT INTO t (k, c, s, v) VALUES (2, 1, 'x', 5); \
         INSERT INTO t (k, c) VALUES (2, 2); \
         CREATE TABLE n (k int, c int, s counter static, v counter, w counter, PRIMARY KEY (k, c)); \
         UPDATE n SET s = s + 7 WHERE k = 1; UPDATE n SET s = s + 3, v = v + 2 WHERE k = 2 AND c = 1; \
         UPDATE n SET w = w - 9 WHERE k = 2 AND c = 2; UPDATE n SET v = v + 1 WHERE k = 2 AND c = 3",
    ]);
    for table in ["t", "n"] {
        let rows = || ok(&["shell", &store, "--format", "json", "-e", &format!("SELECT * FROM {table}")]);
        let before = rows();
        ok(&[
            "shell",
            &store,
            "-e",
            &format!("COPY {table} TO '{file}'; TRUNCATE {table}; COPY {table} FROM '{file}'"),
        ]);
        assert_eq!(rows(), before, "{table}");
    }
    // A value without its row is refused, not dropped.
    let bad = dir.file("bad.csv", "1,,s,5\n");
    assert!(fails(&["shell", &store, "-e", &format!("COPY t FROM '{bad}'")]).contains("1 line refused"));
}

#[test]
fn what_cannot_be_read_is_not_called_output() {
    let dir = Dir::new("shell-directory");
    let (store, place) = (dir.path("store"), dir.path("."));
    ok(&["shell", &store, "-e", "CREATE TABLE t (k int PRIMARY KEY)"]);
    let error = fails(&["shell", &store, "-e", &format!("COPY t FROM '{place}'")]);
    assert!(error.contains(&format!("{place}: cannot ")) && !error.contains("output"), "{error}");
}
