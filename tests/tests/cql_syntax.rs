//! The grammar against Apache Cassandra's recorded answers: what it parsed is parsed, what it refused is refused at the same place; and
//! what is parsed can be printed and parsed again.

use skep_cql::Code;
use skep_cql::syntax::{parse, print, split};
use skep_tests::golden::script::{Item, items};
use skep_tests::source::{files, read};

/// Refusals that need the schema or the meaning of options: their statements parse.
const NOT_OF_THE_GRAMMAR: &[&str] = &[
    "Unknown property",
    "Invalid value for property",
    "Invalid integer value",
    "Invalid double value",
    "Invalid boolean value",
    "Error setting type",
];

/// What Cassandra refuses and skep takes.
const OURS: &[&str] = &["EXPLAIN SELECT v FROM t"];

/// What is wrong with the answer to a statement, if anything.
fn fault(statement: &str, want: &str, only_code: bool) -> Option<String> {
    let refusal = want.strip_prefix("error 0x2000 SyntaxError");
    match (parse(statement), refusal) {
        (Ok(parsed), None) => {
            let printed = print::statement(&parsed.statement);
            match parse(&printed).map(|again| print::statement(&again.statement)) {
                Ok(again) if again == printed => None,
                Ok(again) => Some(format!("printed {printed}, then {again}")),
                Err(error) => Some(format!("printed {printed}, then {error}")),
            }
        }
        (Ok(_), Some(refusal)) => {
            let later =
                NOT_OF_THE_GRAMMAR.iter().any(|start| refusal.trim_start_matches(": ").starts_with(start));
            (!later && !OURS.contains(&statement)).then(|| format!("parsed, but Cassandra: {want}"))
        }
        (Err(error), None) => Some(format!("{error}, but Cassandra: {want}")),
        (Err(error), Some(_)) if error.code() != Code::Syntax => Some(format!("{error} is no syntax error")),
        (Err(_), Some(_)) if only_code => None,
        (Err(error), Some(refusal)) => {
            let refusal = refusal.trim_start_matches(": ");
            let same = match place(refusal) {
                Some(wanted) => place(error.message()) == Some(wanted),
                None => error.message() == refusal,
            };
            (!same).then(|| format!("{error}, but Cassandra: {want}"))
        }
    }
}

/// `1:7` of `line 1:7 ...`
fn place(message: &str) -> Option<&str> {
    message.strip_prefix("line ")?.split(' ').next()
}

#[test]
fn statements_are_parsed_or_refused_as_cassandra_does() {
    let (mut statements, mut faults) = (0, Vec::new());
    for file in files("tests/golden", ".golden") {
        let mut only_code = false;
        for item in items(&read(&file)) {
            match item {
                Item::Directive(line) => only_code |= line == "@code",
                Item::Comment => {}
                Item::Statement { text, want } => {
                    statements += 1;
                    let answer = want.first().map_or("", String::as_str);
                    faults.extend(
                        fault(&text, answer, only_code).map(|reason| format!("{file}\n> {text}\n  {reason}")),
                    );
                    only_code = false;
                }
            }
        }
    }
    assert!(statements > 10_000, "the golden files are gone: {statements} statements found");
    assert!(faults.is_empty(), "{} of {statements}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_wrong_place_would_be_found() {
    let want = "error 0x2000 SyntaxError: line 1:7 no viable alternative";
    assert_eq!(fault("SELECT FROM t", want, false), None);
    assert!(fault("SELECT FROM t", "error 0x2000 SyntaxError: line 1:8 x", false).is_some());
    assert!(fault("SELECT FROM t", "ok", false).is_some());
    assert!(fault("SELECT a FROM t", want, false).is_some());
}

#[test]
fn a_script_of_all_statements_comes_apart_again() {
    for file in files("tests/golden", ".golden") {
        let wanted: Vec<String> = items(&read(&file))
            .into_iter()
            .filter_map(|item| match item {
                Item::Statement { text, .. } if parse(&text).is_ok() => Some(text),
                _ => None,
            })
            .collect();
        let script = wanted.join(";\n");
        let got: Vec<String> = split(&script).map(|piece| printed(piece.text)).collect();
        assert_eq!(got, wanted.iter().map(|text| printed(text)).collect::<Vec<_>>(), "{file}");
    }
}

fn printed(text: &str) -> String {
    parse(text).map_or_else(|error| format!("{text}: {error}"), |parsed| print::statement(&parsed.statement))
}
