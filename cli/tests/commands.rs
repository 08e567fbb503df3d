//! Commands that look at a store and keep it in order; errors and exit codes.

mod common;

use common::{Dir, contents, fails, ok, run};
use serde_json::Value as Json;
use skep::{CqlType, Date, Db, KeyRange, Schema, Timestamp, With, row};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A store with a table in two files, rows in the log, every kind of tombstone.
fn store(dir: &Dir) -> String {
    let path = dir.path("store");
    let db = Db::open(&path).unwrap();
    let schema = Schema::table("readings")
        .partition_key("sensor", CqlType::Text)
        .partition_key("day", CqlType::Date)
        .clustering_desc("ts", CqlType::Timestamp)
        .static_column("site", CqlType::Text)
        .column("temperature", CqlType::Double)
        .column("tags", CqlType::Set(Box::new(CqlType::Text)))
        .time_windows(Duration::from_secs(86_400));
    let table = db.create_table(schema).unwrap();
    let day = Date::parse("2024-06-12").unwrap();
    let at = |n: i64| Timestamp::from_millis(1_718_150_400_000 + n * 60_000);
    for sensor in ["attic", "cellar"] {
        for n in 0..500 {
            table.insert(&row![sensor, day, at(n), "hive's yard", n as f64 / 4.0]).unwrap();
        }
    }
    db.flush().unwrap();
    table.delete_range(&row!["attic", day], at(10)..at(20)).unwrap();
    table.delete(&row!["attic", day, at(3)]).unwrap();
    table
        .insert_with(
            &row!["attic", day, at(1000), None::<&str>, 1.0],
            With::DEFAULT.ttl(Duration::from_secs(900_000)),
        )
        .unwrap();
    db.flush().unwrap();
    table.insert(&row!["attic", day, at(2000), "moved", 2.0]).unwrap();
    table.delete(&row!["cellar", day]).unwrap();
    table.delete_range(&row!["attic", day], KeyRange::all().at_least(at(30)).at_most(at(31))).unwrap();
    db.sync().unwrap();
    // As a crash leaves it: what was not flushed is only in the log.
    copy(Path::new(&path), &dir.0.join("crashed"));
    dir.path("crashed")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => assert!(std::fs::copy(&path, &target).is_ok()),
        }
    }
}

/// The first file below `dir` whose name ends so.
fn find(dir: &Path, ending: &str) -> PathBuf {
    let all = contents(dir).into_iter().map(|(path, _)| path);
    all.into_iter().find(|path| path.to_str().unwrap().ends_with(ending) && path.is_file()).unwrap()
}

/// What inspect says. It fails where, and only where, it found damage.
fn inspect(kind: &str, path: &Path, more: &[&str]) -> String {
    let output = run(&[&["inspect", kind, path.to_str().unwrap()], more].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let damaged = text.contains("DAMAGED: ") || text.contains("\"damage\":[\"");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(i32::from(damaged)), "{text}{error}");
    assert_eq!(error.contains("damaged"), damaged, "{error}");
    text
}

fn inspect_json(kind: &str, path: &Path) -> Json {
    serde_json::from_str(&inspect(kind, path, &["--json", "--blocks", "--rows", "--hex"])).unwrap()
}

#[test]
fn reading_commands_change_nothing() {
    let dir = Dir::new("unchanged");
    let store = store(&dir);
    let before = contents(Path::new(&store));
    let attic = ["attic", "2024-06-12"];
    let csv = ok(&["slice", &store, "readings", attic[0], attic[1], "--limit", "2", "--format", "csv"]);
    let expected = "sensor,day,ts,site,tags,temperature\n\
                    attic,2024-06-12,2024-06-13 09:20:00.000Z,moved,,2.0\n\
                    attic,2024-06-12,2024-06-12 16:40:00.000Z,moved,,1.0\n";
    assert_eq!(csv, expected);
    let stats: Json = serde_json::from_str(&ok(&["stats", &store, "--json"])).unwrap();
    let table = &stats["tables"][0];
    assert_eq!((table["name"].as_str(), table["files"].as_u64()), (Some("main.readings"), Some(2)));
    assert!(table["tombstones"].as_u64().unwrap() >= 2 && table["windows"].as_array().unwrap().len() == 1);
    assert!(stats["replayed_records"].as_u64().unwrap() >= 3 && stats["log_bytes"].as_u64().unwrap() > 0);
    assert!(ok(&["stats", &store]).contains("window of writing"));
    assert!(ok(&["tables", &store]).contains("main.readings"));
    let tables: Json = serde_json::from_str(&ok(&["tables", &store, "--json"])).unwrap();
    assert_eq!((tables["name"].as_str(), tables["files"].as_u64()), (Some("main.readings"), Some(2)));
    assert!(ok(&["schema", &store, "readings"]).contains("    site text STATIC,"));
    assert!(ok(&["verify", &store]).ends_with("all is well\n"));
    ok(&["export", &store, "readings", "--output", &dir.path("out.csv")]);
    ok(&["scan", &store, "readings"]);
    ok(&["inspect", "manifest", &store]);
    assert!(before == contents(Path::new(&store)), "a reading command changed the store");
}

#[test]
fn work_on_a_store_keeps_its_rows() {
    let dir = Dir::new("work");
    let store = store(&dir);
    let rows = ok(&["scan", &store, "readings", "--format", "csv"]);
    assert!(ok(&["flush", &store]).starts_with("flushed "));
    assert_eq!(ok(&["scan", &store, "readings", "--format", "csv"]), rows);
    ok(&["snapshot", &store, "create", "before"]);
    let said = ok(&["compact", &store, "readings"]);
    assert!(said.contains("3 files") && said.contains("-> 1 file,"), "{said}");
    assert_eq!(ok(&["scan", &store, "readings", "--format", "csv"]), rows);
    assert_eq!(ok(&["scan", &store, "readings", "--format", "csv", "--snapshot", "before"]), rows);
    assert!(ok(&["snapshot", &store, "list"]).contains("before"));
    let copy = dir.path("copy");
    ok(&["snapshot", &store, "restore", "before", &copy]);
    assert_eq!(ok(&["scan", &copy, "readings", "--format", "csv"]), rows);
    ok(&["compact", &copy]);
    assert_eq!(ok(&["scan", &copy, "readings", "--format", "csv"]), rows);
    assert!(fails(&["snapshot", &store, "restore", "before", &copy]).contains("not empty"));
    ok(&["snapshot", &store, "delete", "before"]);
    assert!(fails(&["snapshot", &store, "delete", "before"]).contains("no snapshot before"));
    assert!(ok(&["verify", &store]).ends_with("all is well\n"));
}

#[test]
fn a_segment_is_shown_down_to_its_bytes() {
    let dir = Dir::new("inspect-log");
    let store = store(&dir);
    let log = find(Path::new(&store), ".log");
    let text = inspect("commitlog", &log, &["--rows", "--blocks", "--hex"]);
    for expected in [
        "main.readings",
        "sensor = 'attic', day = '2024-06-12'",
        "temperature = 2.0",
        "deleted up to",
        "record checksum",
        "operation: row",
        "partition key",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let json = inspect_json("commitlog", &log);
    assert_eq!(json["damage"], serde_json::json!([]));
    let size = std::fs::metadata(&log).unwrap().len();
    assert_covers(&json, size);
    assert_eq!(json["records"].as_u64().unwrap() as usize, json["blocks"].as_array().unwrap().len());
    // Alone, without its store, the tables have numbers.
    let alone = dir.0.join("0000000009.log");
    std::fs::copy(&log, &alone).unwrap();
    assert!(inspect("commitlog", &alone, &["--rows"]).contains("table 1"));
    // Damage in the middle is shown, and what follows it too.
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[50] ^= 1;
    std::fs::write(&alone, &bytes).unwrap();
    let damaged = inspect_json("commitlog", &alone);
    assert_eq!(damaged["damage"].as_array().unwrap().len(), 1, "{damaged}");
    assert!(damaged["records"].as_u64().unwrap() >= 1);
    assert_covers(&damaged, size);
    std::fs::write(&alone, &bytes[..20]).unwrap();
    assert!(inspect("commitlog", &alone, &["--hex"]).contains("DAMAGED"));
}

/// The annotations cover the file without gaps.
fn assert_covers(json: &Json, size: u64) {
    let mut at = 0;
    for field in json["bytes"].as_array().unwrap() {
        assert_eq!(field["offset"].as_u64(), Some(at), "{field}");
        at += field["length"].as_u64().unwrap();
    }
    assert_eq!(at, size);
}

#[test]
fn an_sstable_is_shown_alone_and_damaged() {
    let dir = Dir::new("inspect-sst");
    let store = store(&dir);
    let file = find(Path::new(&store), ".sst");
    let text = inspect("sstable", &file, &["--rows", "--blocks"]);
    for expected in [
        "main.readings",
        "bytes of",
        "first partition",
        "partition sensor = ",
        "static row: site = 'hive''s yard'",
        "temperature = 124.75",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    let (json, size) = (inspect_json("sstable", &file), std::fs::metadata(&file).unwrap().len());
    assert_eq!(
        (json["rows"].is_array(), json["partitions"].as_u64(), json["checked"].as_bool()),
        (true, Some(2), Some(true))
    );
    assert_covers(&json, size);
    let bytes = std::fs::read(&file).unwrap();
    let alone = dir.0.join("0000000007.sst");
    for place in [3, 40, bytes.len() / 2, bytes.len() - 100, bytes.len() - 3] {
        let mut bad = bytes.clone();
        bad[place] ^= 0x40;
        std::fs::write(&alone, &bad).unwrap();
        let json = inspect_json("sstable", &alone);
        assert!(!json["damage"].as_array().unwrap().is_empty(), "byte {place}: {json}");
        assert_covers(&json, size);
    }
    std::fs::write(&alone, &bytes[..bytes.len() / 2]).unwrap();
    assert!(inspect("sstable", &alone, &["--hex"]).contains("DAMAGED"));
    std::fs::write(&alone, []).unwrap();
    assert!(inspect("sstable", &alone, &[]).contains("DAMAGED"));
    let table = inspect("table", file.parent().unwrap(), &[]);
    assert!(table.contains("2 SSTables") && table.contains("0000000001.sst"), "{table}");
}

#[test]
fn a_manifest_is_shown_edit_by_edit() {
    let dir = Dir::new("inspect-man");
    let store = store(&dir);
    let text = inspect("manifest", Path::new(&store), &["--rows", "--hex"]);
    assert!(text.contains("main.readings") && text.contains("magic") && text.contains("keyspaces"), "{text}");
    let file = find(Path::new(&store), "MANIFEST-000001");
    let json = inspect_json("manifest", &file);
    assert_eq!(json["tables"][0]["files"].as_u64(), Some(2), "{json}");
    assert_covers(&json, std::fs::metadata(&file).unwrap().len());
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[30] ^= 1;
    let alone = dir.0.join("MANIFEST-000001");
    std::fs::write(&alone, &bytes).unwrap();
    let damaged = inspect_json("manifest", &alone);
    assert!(!damaged["damage"].as_array().unwrap().is_empty(), "{damaged}");
    assert_covers(&damaged, bytes.len() as u64);
}

#[test]
fn verify_names_the_damaged_file() {
    let dir = Dir::new("verify");
    let store = store(&dir);
    let file = find(Path::new(&store), ".sst");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[60] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let output = run(&["verify", &store]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("DAMAGED main.readings: ")
            && said.contains(file.file_name().unwrap().to_str().unwrap()),
        "{said}"
    );
    assert!(String::from_utf8(output.stderr).unwrap().ends_with("1 problem was found\n"));
}

#[test]
fn what_is_no_store_is_said_and_left_alone() {
    let dir = Dir::new("foreign");
    let other = dir.path("other");
    std::fs::create_dir_all(format!("{other}/system-1234")).unwrap();
    std::fs::write(format!("{other}/notes.txt"), "dear diary").unwrap();
    let file = dir.file("plain.txt", "text");
    let csv = dir.file("s.csv", "timestamp,value\n2024-01-01,1\n");
    let before = contents(&dir.0);
    let missing = dir.path("missing");
    for path in [&other, &file, &missing] {
        for args in [
            vec!["scan", path, "t"],
            vec!["stats", path],
            vec!["verify", path],
            vec!["compact", path],
            vec!["flush", path],
            vec!["snapshot", path, "create", "a"],
            vec!["import", path, "t", &csv],
            vec!["inspect", "table", path],
            vec!["scan", path, "t", "--snapshot", "a"],
        ] {
            if args[1] == "table" && *path == other {
                continue; // a directory without SSTables is a table without files
            }
            let error = fails(&args);
            assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
            assert!(error.starts_with("skep: "), "{error}");
        }
    }
    for path in [&other, &file] {
        let error = fails(&["import", path, "t", &csv, "--create"]);
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(fails(&["scan", &other, "t"]).contains("notes.txt"), "it says what it found there");
    assert!(before == contents(&dir.0), "something was changed");
}

#[test]
fn errors_are_one_line_and_exit_codes_tell_them_from_wrong_usage() {
    let dir = Dir::new("errors");
    let store = store(&dir);
    let cases = [
        (vec!["scan", &store, "nothing"], "table main.nothing does not exist"),
        (vec!["get", &store, "readings", "attic"], "the primary key is (sensor, day, ts): 1 value was given"),
        (vec!["get", &store, "readings", "attic", "today", "2024-01-01"], "column day: "),
        (vec!["get", &store, "readings", "attic", "2024-06-12", "2030-01-01"], "has no row with this key"),
        (vec!["slice", &store, "readings", "attic"], "the partition key is (sensor, day)"),
        (
            vec!["slice", &store, "readings", "attic", "2024-06-13..2024-06-12"],
            "the first day is later than the last",
        ),
        (vec!["scan", &store, "readings", "--snapshot", "before"], "there is no snapshot before"),
        (vec!["inspect", "table", &store], "this is a store"),
        (vec!["scan", &store, "readings", "--columns", "wind\nspeed"], "wind\\nspeed"),
    ];
    for (args, expected) in cases {
        let error = fails(&args);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(expected), "{expected:?} is missing in {error}");
    }
    for args in [vec!["scan"], vec!["fly"], vec!["scan", &store, "readings", "--limit", "x"]] {
        assert_eq!(run(&args).status.code(), Some(2), "{args:?}");
    }
    let held = Db::open(&store).unwrap();
    let error = fails(&["scan", &store, "readings"]);
    assert!(error.contains(&std::process::id().to_string()), "it says who holds the store: {error}");
    drop(held);
    ok(&["scan", &store, "readings"]);
}

#[test]
fn a_table_for_people_has_a_header_and_a_count() {
    let dir = Dir::new("table");
    let store = store(&dir);
    let text = ok(&[
        "slice",
        &store,
        "readings",
        "attic",
        "2024-06-12",
        "--limit",
        "1",
        "--columns",
        "site,temperature",
    ]);
    let expected = "+-------+-------------+\n\
                    | site  | temperature |\n\
                    +=====================+\n\
                    | moved |         2.0 |\n\
                    +-------+-------------+\n\
                    (1 row)\n";
    assert_eq!(text, expected);
}

#[test]
#[cfg(unix)]
fn a_device_that_never_ends_is_not_read() {
    for kind in ["sstable", "commitlog", "manifest"] {
        assert_eq!(fails(&["inspect", kind, "/dev/zero"]), "skep: /dev/zero: this is no regular file\n");
    }
}
