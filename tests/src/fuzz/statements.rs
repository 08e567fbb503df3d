//! Target `statements`: the parser of CQL takes any text without a panic, and what is printed is parsed to the same tree.

use super::{Choices, trees};
use skep_cql::Code;
use skep_cql::syntax::ast::Statement;
use skep_cql::syntax::{parse, print, split};

/// Words of which texts are made that come far in the grammar.
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "AND",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "SET",
    "DELETE",
    "IF",
    "NOT",
    "EXISTS",
    "USING",
    "TTL",
    "1h",
    "TIMESTAMP",
    "IN",
    "CONTAINS",
    "KEY",
    "IS",
    "NULL",
    "token",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "?",
    ".",
    "..",
    "+",
    "-",
    "*",
    "=",
    "!=",
    "<",
    ">",
    "+=",
    "1",
    "-1",
    "1.5",
    "'x'",
    "\"Q\"",
    "x",
    "t",
    "AS",
    "JSON",
    "DISTINCT",
    "count",
    "CAST",
    "int",
    "list",
    "map",
    "frozen",
    "tuple",
    "PRIMARY",
    "WITH",
    "ORDER",
    "BY",
    "LIMIT",
    "BEGIN",
    "BATCH",
    "APPLY",
    "CREATE",
    "ALTER",
    "DROP",
    "TABLE",
    "TYPE",
    "INDEX",
    "ON",
    "MATERIALIZED",
    "VIEW",
    "DESCRIBE",
    "EXPLAIN",
    "VALUE",
    "$$",
    "'",
    "--",
    "/*",
    "\n",
    "\u{2018}",
    "0x",
    "1a",
    "-i",
    "P1",
];

/// See the module.
pub(super) fn statements(data: &[u8]) {
    text(&String::from_utf8_lossy(data));
    let mut choices = Choices::new(data);
    let mut words = String::new();
    while !choices.is_empty() {
        words.push_str(WORDS[choices.below(WORDS.len())]);
        if choices.u8() % 8 != 7 {
            words.push(' ');
        }
    }
    text(&words);
    comes_back(&trees::statement(&mut Choices::new(data)));
}

/// Any text: an error has a place within it, a statement can be printed, a script comes apart.
fn text(text: &str) {
    match parse(text) {
        Ok(parsed) => {
            assert!(parsed.markers.iter().enumerate().all(|(at, marker)| marker.index == at), "{text}");
            if !matches!(parsed.statement, Statement::Unsupported(_)) {
                comes_back(&parsed.statement);
            }
        }
        Err(error) => {
            assert!(matches!(error.code(), Code::Syntax | Code::Invalid), "{error}");
            let lines = text.split('\n').count();
            let place = error.place().expect("every error of the parser has a place");
            assert!((1..=lines).contains(&(place.line as usize)), "{error} in {text:?}");
            let line = text.split('\n').nth(place.line as usize - 1).expect("a line");
            assert!(place.column as usize <= line.chars().count(), "{error} in {text:?}");
            assert!(error.render(text).starts_with(error.message()));
        }
    }
    let mut end = 0;
    for piece in split(text) {
        assert!(piece.offset >= end && text[piece.offset..].starts_with(piece.text), "{text:?}");
        end = piece.offset + piece.text.len();
    }
}

fn comes_back(statement: &Statement) {
    let printed = print::statement(statement);
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}: {printed}\n{statement:?}"));
    assert_eq!(shape(statement), shape(&again.statement), "{printed}");
}

/// Debug text of a tree without what printing may change: places, quotes, and the numbers of markers.
fn shape(statement: &Statement) -> String {
    let text = format!("{statement:?}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Place {") {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once('}').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    let mut shape = String::with_capacity(out.len());
    for part in out.split("index: ") {
        shape.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    shape.replace("quoted: true", "").replace("quoted: false", "")
}
