//! `skep why value`: every version is listed, and what is said to be seen is what a read gives.

mod common;

use common::{Dir, fails, ok};
use serde_json::Value as Json;
use skep::{CqlType, Db, ManualClock, Null, Schema, With, row};
use std::sync::Arc;
use std::time::Duration;

const NOW: i64 = 1_718_150_400_000_000;

fn at(micros: i64) -> With {
    With::DEFAULT.timestamp(micros)
}

fn store(dir: &Dir) -> String {
    let path = dir.path("store");
    let clock = ManualClock::new(NOW);
    let db = Db::builder(&path).clock(Arc::new(clock)).background(false).open().unwrap();
    let schema = Schema::table("t")
        .partition_key("p", CqlType::Text)
        .clustering("c", CqlType::Int)
        .static_column("site", CqlType::Text)
        .column("v", CqlType::Int)
        .column("m", CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Int)));
    let table = db.create_table(schema).unwrap();
    let map = skep::Value::Map(vec![("a".into(), 1.into())]);
    table.insert_with(&row!["k", 1, "yard", 10, map], at(100)).unwrap();
    db.flush().unwrap();
    table.insert_with(&row!["k", 1, None::<&str>, 7], at(200)).unwrap();
    db.flush().unwrap();
    table.update(&[("p", "k".into()), ("c", 1.into()), ("v", 9.into())], at(200)).unwrap();
    table.insert_with(&row!["k", 2, None::<&str>, 5], at(300).ttl(Duration::from_secs(1))).unwrap();
    table.insert_with(&row!["k", 3, None::<&str>, Null], at(400)).unwrap();
    table.insert_with(&row!["k", 4, None::<&str>, 1], at(500)).unwrap();
    db.flush().unwrap(); // within one memtable what a deletion hides goes with the flush
    table.delete(&row!["k", 4]).unwrap();
    db.close().unwrap();
    path
}

fn lines(path: &str, key: &[&str]) -> Vec<Json> {
    let all = [&["why", "value", path, "t", "--format", "json"], key].concat();
    ok(&all).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_version_is_listed_with_the_rule_that_decided() {
    let dir = Dir::new("why");
    let path = store(&dir);
    let found = lines(&path, &["k", "1", "v"]);
    let told: Vec<_> = found
        .iter()
        .filter(|line| line["what"] == "v")
        .map(|line| {
            (
                line["value"].as_str().unwrap(),
                line["seen"].as_bool().unwrap(),
                line["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told.len(), 3);
    assert_eq!((told[0].0, told[0].1), ("9", true));
    assert!(told[1].0 == "7" && told[1].2.contains("greater value"), "{told:?}");
    assert!(told[2].0 == "10" && told[2].2.contains("written later"), "{told:?}");

    let row: Vec<_> =
        lines(&path, &["k", "1"]).iter().map(|line| line["what"].as_str().unwrap().to_owned()).collect();
    assert!(row.contains(&"m['a']".to_owned()) && row.contains(&"row marker".to_owned()), "{row:?}");
    let gone = lines(&path, &["k", "2", "v"]);
    assert!(gone.iter().all(|line| line["verdict"].as_str().unwrap().starts_with("expired")), "{gone:?}");
    let null = lines(&path, &["k", "3", "v"]);
    assert!(null.iter().any(|line| line["verdict"] == "wins: there is no value"), "{null:?}");
    let deleted = lines(&path, &["k", "4", "v"]);
    assert!(
        deleted.iter().any(|line| line["verdict"].as_str().unwrap().contains("deletion of the row")),
        "{deleted:?}"
    );
    let statics = lines(&path, &["k", "--column", "site"]);
    assert_eq!(statics[0]["value"], "'yard'");

    let table = ok(&["why", "value", &path, "t", "k", "1"]);
    assert!(table.contains("seen") && table.contains(".sst"), "{table}");
    assert!(ok(&["why", "value", &path, "t", "nobody", "1"]).contains("never written"));
}

#[test]
fn a_wrong_key_or_column_is_told_with_what_there_is() {
    let dir = Dir::new("why-wrong");
    let path = store(&dir);
    assert!(fails(&["why", "value", &path, "t", "k", "1", "w"]).contains("it has p, c, site, m, v"));
    assert!(
        fails(&["why", "value", &path, "t", "k", "1", "v", "x"]).contains("primary key of main.t is (p, c)")
    );
}

#[test]
fn csv_has_a_header_and_half_a_key_is_told_of() {
    let dir = Dir::new("why-csv");
    let path = store(&dir);
    let csv = ok(&["why", "value", &path, "t", "k", "1", "v", "--format", "csv"]);
    assert!(csv.starts_with("what,value,written (micros),ttl,expires or made,source,verdict\n"), "{csv}");
    assert!(csv.contains("\nv,10,100,,,file "), "{csv}");
    ok(&["shell", &path, "-e", "CREATE TABLE plain (p int, c int, PRIMARY KEY (p, c))"]);
    assert!(
        fails(&["why", "value", &path, "plain", "1"]).contains("the primary key of main.plain is (p, c)")
    );
}
