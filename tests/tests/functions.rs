//! The examples of the functions' reference give what they say.

use std::path::PathBuf;

use skep_cql::{OpenSession, Session};
use skep_engine::Db;
use skep_tests::source::read;

/// A directory of its own, gone when dropped.
struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The table of the reference.
fn fill(session: &Session) {
    for statement in [
        "CREATE TABLE examples (k int, c int, t tinyint, i int, b bigint, f float, d double, m decimal, v varint, x text, u uuid, \
         tu timeuuid, ip inet, bl blob, ts timestamp, day date, at time, l list<int>, s set<text>, mp map<text, int>, \
         tp tuple<int, text>, ve vector<float, 3>, note text, PRIMARY KEY (k, c))",
        "INSERT INTO examples (k, c, t, i, b, f, d, m, v, x, u, tu, ip, bl, ts, day, at, l, s, mp, tp, ve) VALUES (1, 1, 7, 7, 5000000000, \
         0.5, 2.5, 7.50, 12, 'attic', 550e8400-e29b-41d4-a716-446655440000, 6ba7b810-9dad-11d1-80b4-00c04fd430c8, '2001:db8::1', \
         0xcafe, '2026-06-12 14:03:20.123Z', '2026-06-12', '14:03:20.5', [3, 1, 2], {'a', 'b'}, {'a': 1, 'b': 2}, (1, 'one'), [1, 2, 3])",
        "INSERT INTO examples (k, c, i, d, m, v, x) VALUES (1, 2, 4, -1.0, 2.25, 4, 'roof')",
        "INSERT INTO examples (k, c) VALUES (1, 3)",
    ] {
        session.execute(statement, ()).unwrap();
    }
}

/// Type and text of what an expression gives.
fn evaluate(session: &Session, expression: &str, all_rows: bool) -> Result<(String, String), String> {
    let rows = if all_rows { "" } else { " AND c = 1" };
    let text = format!("SELECT {expression} FROM examples WHERE k = 1{rows}");
    let answer = session.execute(text.as_str(), ()).map_err(|error| error.message().to_owned())?;
    let row = answer.into_rows().pop().ok_or("no row")?;
    let ty = row.columns()[0].ty.to_string();
    let value = row.value(0).map_err(|error| error.message().to_owned())?;
    Ok((ty, value.map_or("null".into(), |value| value.to_string())))
}

#[test]
fn every_example_of_the_reference_holds() {
    let dir = Dir(std::env::temp_dir().join(format!("skep-functions-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    let db = Db::open(&dir.0).unwrap();
    let session = db.session().unwrap();
    fill(&session);
    let reference = read("docs/src/cql-functions.md");
    let (mut section, mut examples) = ("", false);
    let (mut faults, mut count) = (Vec::new(), 0);
    for line in reference.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading;
        } else if line.starts_with("```") {
            examples = line == "```sql";
        } else if let (true, Some((expression, expected))) = (examples, line.split_once(" -- ")) {
            count += 1;
            let result = evaluate(&session, expression.trim(), section == "Aggregates");
            // What differs from call to call is told by its type.
            let shown = result.map(|(ty, value)| if section == "The present" { ty } else { value });
            if shown.as_deref() != Ok(expected.trim()) {
                faults.push(format!("{} is {shown:?}, not {expected}", expression.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(count > 100, "only {count} examples");
}

#[test]
fn every_function_is_in_the_reference() {
    let reference = read("docs/src/cql-functions.md").to_lowercase();
    let described = |name: &str| reference.contains(name);
    let missing: Vec<&str> = skep_cql::function::names()
        .into_iter()
        // Those of bytes have one name for each type, described once.
        .filter(|name| !name.contains("asblob") && !name.contains("_as_blob"))
        .filter(|name| !name.contains("blobas") && !name.contains("blob_as"))
        .filter(|name| !described(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?} are missing");
}
