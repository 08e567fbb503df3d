//! The statements that texts on data modelling show (`tests/documents`), in their order: each runs, and those that are wrong fail with an error
//! that says what is wrong.

use skep_cql::syntax::split::split;
use skep_cql::{Code, CqlError, OpenSession, Row, Session};
use skep_engine::{Arg, CqlType, Timestamp, Uuid};
use skep_tests::source::read;
use skep_tests::store::Store;

/// What a comment before a statement says that the statement does.
#[derive(Default)]
struct Expected {
    fails: Option<String>,
    hint: Option<String>,
    rows: Option<String>,
}

impl Expected {
    fn of(comments: &str) -> Self {
        let said = |what: &str| {
            let lines = comments.lines().filter_map(|line| line.trim().strip_prefix("-- "));
            lines.filter_map(|line| line.strip_prefix(what)).next_back().map(str::to_owned)
        };
        Self { fails: said("fails: "), hint: said("hint: "), rows: said("rows: ") }
    }
}

/// Runs a statement; its markers take some value of their type.
fn run(session: &Session, text: &str) -> Result<Vec<Row>, CqlError> {
    let prepared = session.prepare(text)?;
    let sample = |ty: &CqlType| match ty {
        CqlType::Uuid => Arg::from(Uuid::parse("550e8400-e29b-41d4-a716-446655440000").unwrap()),
        CqlType::Timestamp => Arg::from(Timestamp::from_millis(1_718_179_200_000)),
        other => panic!("{text}: no value for a marker of type {other}"),
    };
    let binds: Vec<Arg<'_>> = prepared.binds().iter().map(|bind| sample(&bind.ty)).collect();
    Ok(session.execute(&prepared, &binds[..])?.into_rows())
}

fn shown(row: &Row) -> String {
    let value =
        |i| row.value(i).unwrap().map_or_else(|| "null".to_owned(), |value| value.literal().to_string());
    (0..row.columns().len()).map(value).collect::<Vec<_>>().join(", ").replace('\'', "")
}

/// Runs a file; the number of statements that failed as they should.
fn play(file: &str) -> usize {
    let script = read(&format!("tests/documents/{file}.cql"));
    let store = Store::default();
    store.disk.clock().set_micros(1_764_547_200_000_000);
    let session = store.db.session().unwrap();
    let (mut end, mut failed, mut count) = (0, 0, 0);
    for piece in split(&script) {
        let expected = Expected::of(&script[end..piece.offset]);
        end = piece.offset + piece.text.len();
        count += 1;
        let place = format!("{file}.cql:{}", piece.line);
        match (run(&session, piece.text), expected.fails) {
            (Ok(rows), None) => {
                if let Some(wanted) = expected.rows {
                    let mut got = rows.len().to_string();
                    if wanted.contains('|') {
                        got += &rows.iter().map(|row| format!(" | {}", shown(row))).collect::<String>();
                    }
                    assert_eq!(got, wanted.replace('\'', ""), "{place}");
                }
            }
            (Err(error), Some(text)) => {
                failed += 1;
                assert!(error.message().contains(&text), "{place}: {error}, not {text}");
                if let Some(hint) = expected.hint {
                    assert!(
                        error.hint_text().is_some_and(|given| given.contains(&hint)),
                        "{place}: {:?}",
                        error.hint_text()
                    );
                }
            }
            (Err(error), None) => panic!("{place}: {}", error.render(piece.text)),
            (Ok(_), Some(text)) => panic!("{place} should fail with {text}"),
        }
    }
    assert!(count > 5, "{file}: {count} statements");
    failed
}

#[test]
fn the_principles_run() {
    assert_eq!(play("principles"), 5);
}

#[test]
fn column_families_run() {
    assert_eq!(play("column_families"), 0);
}

#[test]
fn tombstones_run() {
    assert_eq!(play("tombstones"), 2);
}

#[test]
fn queries_first_runs() {
    assert_eq!(play("queries_first"), 2);
}

#[test]
fn doubled_parentheses_are_stored_as_the_ordinary_ones() {
    let store = Store::default();
    let session = store.db.session().unwrap();
    let create = |name: &str, order: &str| {
        let text = format!(
            "CREATE TABLE {name} (k text, d date, t timestamp, PRIMARY KEY (k, d, t)) WITH CLUSTERING ORDER BY {order}"
        );
        session.execute(&text, ()).unwrap();
        let rows = session.execute(&format!("DESCRIBE TABLE {name}"), ()).unwrap().into_rows();
        rows[0].get::<String>("create_statement").unwrap().replace(name, "t")
    };
    let doubled = create("doubled", "((d ASC, t DESC))");
    assert!(doubled.contains("CLUSTERING ORDER BY (d ASC, t DESC)"), "{doubled}");
    let id = |text: &str| text.lines().filter(|line| !line.contains("ID = ")).collect::<Vec<_>>().join("\n");
    assert_eq!(id(&doubled), id(&create("plain", "(d ASC, t DESC)")));
    // One pair too many in one place only is no CQL.
    assert!(
        session
            .execute(
                "CREATE TABLE x (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY ((c ASC)",
                ()
            )
            .is_err()
    );
}

#[test]
fn what_a_word_processor_does_to_quotes_and_hyphens_is_shown_at_its_place() {
    let store = Store::default();
    let session = store.db.session().unwrap();
    session.execute("CREATE TABLE t (k text PRIMARY KEY, v int)", ()).unwrap();
    for (text, character, place, word) in [
        ("SELECT * FROM t WHERE k = \u{2018}H123\u{2019}", '\u{2018}', (1, 26), "quote"),
        ("SELECT *\nFROM t WHERE k = \u{201c}H123\u{201d}", '\u{201c}', (2, 17), "quote"),
        ("UPDATE t SET v = v \u{2011} 1 WHERE k = 'x'", '\u{2011}', (1, 19), "dash"),
        ("SELECT *\n  FROM t \u{2013}- all", '\u{2013}', (2, 9), "dash"),
        ("SELECT *\u{a0}FROM t", '\u{a0}', (1, 8), "blank"),
    ] {
        let error = session.execute(text, ()).unwrap_err();
        assert_eq!(error.code(), Code::Syntax, "{text}");
        let found = error.place().map(|place| (place.line, place.column));
        assert_eq!(found, Some(place), "{text}: {error}");
        assert!(error.message().contains(&format!("{character:?}")), "{text}: {error}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains(word)), "{text}: {:?}", error.hint_text());
        // The caret stands below the character.
        let shown = error.render(text);
        let caret = shown.lines().find(|line| line.trim() == "^").unwrap();
        assert_eq!(caret.chars().count() - 3, place.1 as usize, "{shown}");
    }
    // Within a text such characters are what they are.
    session.execute("INSERT INTO t (k, v) VALUES ('\u{2018}H\u{2011}1\u{2019}', 1)", ()).unwrap();
    let found = session.execute("SELECT v FROM t WHERE k = '\u{2018}H\u{2011}1\u{2019}'", ()).unwrap();
    assert_eq!(found.into_rows().len(), 1);
}
