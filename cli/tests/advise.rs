//! `skep advise` on data and on a file of definitions; what it proposes is CQL.

mod common;

use common::{Dir, fails, ok};
use serde_json::Value as Json;
use skep::{CqlType, Db, Schema, Timestamp, row};

fn rules(text: &str, table: &str) -> Vec<String> {
    let all = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    all.filter(|finding| {
        finding["table"] == table && finding["level"] != "good" && finding["rule"] != "proposal"
    })
    .map(|finding| finding["rule"].as_str().unwrap().to_owned())
    .collect()
}

#[test]
fn a_growing_partition_is_measured_and_the_proposal_can_be_created() {
    let dir = Dir::new("advise");
    let path = dir.path("store");
    let db = Db::open(&path).unwrap();
    let schema = Schema::table("readings")
        .partition_key("sensor", CqlType::Text)
        .clustering_desc("ts", CqlType::Timestamp)
        .column("v", CqlType::Double);
    let table = db.create_table(schema).unwrap();
    for n in 0..4_000 {
        table.insert(&row!["a", Timestamp::from_millis(1_718_150_400_000 + n * 43_200), 0.5]).unwrap();
    }
    db.close().unwrap();
    assert_eq!(rules(&ok(&["advise", &path, "--json"]), "main.readings"), ["growth"]);
    let text = ok(&["advise", &path, "readings"]);
    assert!(text.contains("grows by 2 000 rows"), "{text}");
    let statement = &text[text.find("CREATE TABLE").unwrap()..=text.find(';').unwrap()];
    ok(&["shell", &path, "-e", statement]);
    assert!(ok(&["tables", &path]).contains("readings_2"));
    assert!(fails(&["advise", &path, "nothing"]).contains("nothing"));
    ok(&[
        "shell",
        &path,
        "-e",
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; CREATE TABLE k.other (a int PRIMARY KEY)",
    ]);
    assert!(fails(&["advise", &path, "other"]).contains("(there is k.other)"));
}

#[test]
fn a_file_of_definitions_needs_no_store_and_errors_name_their_line() {
    let dir = Dir::new("advise-file");
    let file = dir.path("schema.cql");
    let good = "CREATE TABLE bees.moments (ts timestamp PRIMARY KEY, v int);\nSELECT * FROM bees.moments;\n";
    std::fs::write(&file, good).unwrap();
    assert_eq!(rules(&ok(&["advise", &file, "--json"]), "bees.moments"), ["time-partition-key"]);
    let proposal = ok(&["advise", &file, "--json"])
        .lines()
        .last()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    assert!(proposal.unwrap()["create_table"].as_str().unwrap().contains("PRIMARY KEY ((series, day), ts)"));
    std::fs::write(&file, format!("{good}CREATE TABLE x (a int, PRIMARY KEY (b));")).unwrap();
    let output = common::run(&["advise", &file]);
    let (told, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("schema.cql:3: ") && errors.contains("1 statement could not"), "{errors}");
    assert!(told.contains("bees.moments"), "the others are judged: {told}");
}
