//! The tour as a user starts it, small: it ends well, and what it reports agrees with itself.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of its own, gone when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skep-demo-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn demo(dir: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skep")).arg("demo").arg(dir).args(options).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_report_holds_what_it_claims() {
    let dir = Dir::new("json");
    let output = demo(&dir.0, &["--rows", "20000", "--json"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {report:#}"))
    };

    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() >= 10 && checks.iter().all(|check| check["held"] == true), "{checks:#?}");
    assert_eq!(number("/rows"), 3.0 * 7200.0, "whole hives");
    assert!(number("/late_rows") > 0.0);
    assert!(number("/ingest/rows_per_second") > 0.0);
    assert!(number("/ingest/write_amplification") >= 1.0);
    assert!(number("/disk/bytes_per_row") > 0.0);

    let rows_of = |part: &str| {
        let queries = report["queries"].as_array().unwrap();
        let query = queries.iter().find(|query| query["question"].as_str().unwrap().contains(part)).unwrap();
        assert!(query["p50_us"].as_f64() <= query["p99_us"].as_f64());
        query["rows"].as_u64().unwrap()
    };
    assert_eq!(rows_of("at 14:03"), 1);
    assert_eq!(rows_of("one day of a hive"), 1440);
    assert_eq!(rows_of("last 30 minutes"), 30);
    assert_eq!(rows_of("latest 100"), 100);
    assert_eq!(rows_of("48 hours"), 2880);
    assert_eq!(rows_of("10 hives"), 3, "there are three");
    assert_eq!(rows_of("average"), 1440);
    assert_eq!(rows_of("whole table"), 3 * 7200);

    assert_eq!(number("/crash/lost"), 0.0);
    assert!(number("/crash/acknowledged") >= 2000.0);
    assert!(number("/crash/found") >= number("/crash/acknowledged"));
    if cfg!(unix) {
        assert!(report["crash"]["ended"].as_str().unwrap().contains("signal: 9"), "{}", report["crash"]);
    }

    let gone = number("/expiry/rows_before") - number("/expiry/rows_after");
    assert!((2.0 * 3.0 * 1440.0 - gone).abs() < 300.0, "two days of three hives but for late rows: {gone}");
    assert!(number("/expiry/files_after") < number("/expiry/files_before"));
    assert!(number("/expiry/disk_bytes_after") < number("/expiry/disk_bytes_before"));
    assert_eq!(number("/verify/rows") as u64, {
        let db = skep::Db::open_read_only(dir.0.join("hives")).unwrap();
        db.tables().iter().map(|table| table.stats().rows).sum::<u64>()
    });
}

#[test]
fn the_story_is_told_and_a_second_one_replaces_the_first() {
    let dir = Dir::new("story");
    for _ in 0..2 {
        let output = demo(&dir.0, &["--rows", "7200"]);
        let told = text(&output.stdout);
        assert!(output.status.success(), "{told}{}", text(&output.stderr));
        for part in
            ["1. Two tables", "2. ", "3. ", "4. kill -9", "5. Ninety", "Report", "Where to look next", "[ok]"]
        {
            assert!(told.contains(part), "{part} is missing in {told}");
        }
        assert!(!told.contains("BROKEN") && !told.contains('\x1b'), "{told}");
        assert!(text(&output.stderr).contains("100 %"), "progress as lines: {}", text(&output.stderr));
    }
}

#[test]
fn a_directory_with_something_else_is_left_alone() {
    let dir = Dir::new("foreign");
    std::fs::create_dir_all(dir.0.join("hives")).unwrap();
    std::fs::write(dir.0.join("hives/letter.txt"), "dear bees").unwrap();
    let output = demo(&dir.0, &["--rows", "7200", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("no demo's (hives)"), "{output:?}");
    assert_eq!(std::fs::read_to_string(dir.0.join("hives/letter.txt")).unwrap(), "dear bees");
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
}
