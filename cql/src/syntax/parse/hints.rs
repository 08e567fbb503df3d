//! Hints for mistakes that newcomers make: from other databases' dialects, from word processors, from haste.

use crate::syntax::lexer::{Fault, FaultKind};
use crate::syntax::parse::cursor::Parser;
use crate::syntax::token::{Class, Keyword, Kind, Sign, Token};

/// Statements, for words that look like one.
const STATEMENTS: &[&str] = &[
    "SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "CREATE", "ALTER", "DROP", "TRUNCATE", "USE",
    "DESCRIBE", "EXPLAIN",
];

/// A hint for a place where no token can be read.
pub(super) fn for_fault(fault: &Fault) -> Option<String> {
    let hint = match fault.what {
        FaultKind::Character(character) => match character {
            '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}'
            | '\u{bb}' => {
                format!(
                    "{character} is a typographic quote, as word processors make them; CQL takes '...' for texts and \"...\" for names"
                )
            }
            '\u{2010}'..='\u{2015}' | '\u{2212}' => {
                format!("{character} is a typographic dash; CQL takes the plain minus -")
            }
            '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{feff}' | '\u{200b}' | '\u{3000}' => {
                "this blank is not a plain one (it may come from a web page); put a plain blank there"
                    .to_owned()
            }
            '`' => "names that need quotes stand in double ones: \"name\"".to_owned(),
            '&' => "CQL joins conditions by AND".to_owned(),
            '|' => "CQL joins texts by +, and has no OR".to_owned(),
            '!' => {
                "not equal is written !=, and has a place only in the IF of a conditional write".to_owned()
            }
            '#' => "comments begin with -- or //, or stand in /* */".to_owned(),
            '_' => "names begin with a letter; others stand in double quotes".to_owned(),
            '^' => "CQL's arithmetic is + - * / %".to_owned(),
            '\\' => "CQL has no escapes: a single quote within a text is written twice, ''".to_owned(),
            other if other.is_alphabetic() => {
                "bare names hold letters a to z, digits and _; others stand in double quotes".to_owned()
            }
            _ => return None,
        },
        FaultKind::Open("'") => {
            "a text ends with a single quote; one within it is written twice, ''".to_owned()
        }
        FaultKind::Open("*/") => format!("a comment was opened by /* in line {}", fault.begin.1),
        FaultKind::Open("\n") => "end the line behind the comment, or put it in /* */".to_owned(),
        FaultKind::Minus(_) => "put a blank behind the minus".to_owned(),
        FaultKind::Second('=') => {
            "not equal is written !=, and has a place only in the IF of a conditional write".to_owned()
        }
        FaultKind::Second(_) => "a text between dollars begins and ends with two: $$...$$".to_owned(),
        FaultKind::Uuid => {
            "digits and letters stand together only in UUIDs, durations and 0x...; put blanks around a minus"
                .to_owned()
        }
        FaultKind::Duration => {
            "durations are 1h30m or P1DT2H; the units are y mo w d h m s ms us ns".to_owned()
        }
        _ => return None,
    };
    Some(hint)
}

/// A hint for token `at`, which has no place where it stands.
pub(super) fn for_token(parser: &Parser<'_>, at: usize) -> Option<String> {
    let token = parser.tokens.get(at).copied()?;
    let before = at.checked_sub(1).and_then(|earlier| parser.tokens.get(earlier)).copied();
    if at == 0 {
        return first_word(parser, token);
    }
    if let Kind::Keyword(first) = parser.tokens.first()?.kind
        && let Some(hint) = within(parser, first, token, before)
    {
        return Some(hint);
    }
    value(parser, at, before).or_else(|| reserved(parser, token))
}

fn first_word(parser: &Parser<'_>, token: Token) -> Option<String> {
    let word = parser.source(token).to_ascii_uppercase();
    if word == "SHOW" {
        return Some("write DESCRIBE TABLES, DESCRIBE KEYSPACES, DESCRIBE TABLE name".to_owned());
    }
    if matches!(token.kind, Kind::String | Kind::QuotedName | Kind::Sign(Sign::Open)) {
        return Some("a statement stands without quotes or brackets".to_owned());
    }
    if word == "EXPLAIN" {
        return Some(
            "EXPLAIN stands before a SELECT, or is EXPLAIN VALUE [column] FROM t WHERE ...".to_owned(),
        );
    }
    let near = STATEMENTS.iter().find(|statement| distance(statement, &word) <= 2 && word.len() > 2);
    near.map(|statement| format!("did you mean {statement}?"))
}

/// Hints that depend on the token and the statement it stands in.
fn within(parser: &Parser<'_>, first: Keyword, token: Token, before: Option<Token>) -> Option<String> {
    let word = parser.source(token).to_ascii_uppercase();
    let before_kind = before.map(|token| token.kind);
    let hint = match (token.kind, before_kind) {
        (Kind::Sign(Sign::Eq), Some(Kind::Sign(Sign::Eq))) => "equality is a single =",
        (Kind::Sign(Sign::Gt), Some(Kind::Sign(Sign::Lt))) => {
            "CQL has no <>; in the IF of a conditional write it is !="
        }
        (Kind::Sign(Sign::Lt), Some(Kind::Sign(Sign::Eq))) => "write <=",
        (Kind::Sign(Sign::Gt), Some(Kind::Sign(Sign::Eq))) => "write >=",
        (Kind::Keyword(Keyword::Or), _) => "CQL has no OR: use IN (...), or one statement for each",
        (Kind::Keyword(Keyword::Not), _) if first == Keyword::Select => {
            "WHERE knows =, <, <=, >, >=, IN, CONTAINS and CONTAINS KEY, and no NOT"
        }
        (Kind::Keyword(Keyword::Null), Some(Kind::Keyword(Keyword::Is))) => {
            "nothing can be searched by being null"
        }
        (Kind::Keyword(Keyword::Schema), _) if first != Keyword::Describe => "write KEYSPACE",
        (Kind::Keyword(Keyword::View), _) => "write MATERIALIZED VIEW",
        (Kind::Keyword(Keyword::Using), _) if first == Keyword::Update => {
            "USING stands before SET: UPDATE t USING TTL 5 SET ..."
        }
        (Kind::Keyword(Keyword::Using), _) if first == Keyword::Delete => {
            "USING stands before WHERE: DELETE FROM t USING TIMESTAMP 5 WHERE ..."
        }
        (Kind::Keyword(Keyword::Using), _) if first == Keyword::Insert => {
            "USING stands at the end, behind VALUES (...) and IF NOT EXISTS"
        }
        (Kind::Keyword(Keyword::If), _) if first == Keyword::Insert => "IF NOT EXISTS stands before USING",
        (Kind::Sign(Sign::Comma), _) if parser.expected.contains(&"AND") => "AND joins these, not a comma",
        (Kind::Keyword(Keyword::Values), _) if first == Keyword::Insert => {
            "the columns must be named: INSERT INTO t (a, b) VALUES (1, 2)"
        }
        (
            Kind::Keyword(
                Keyword::Where
                | Keyword::Group
                | Keyword::Order
                | Keyword::Per
                | Keyword::Limit
                | Keyword::Allow,
            ),
            _,
        ) if first == Keyword::Select => {
            "the clauses' order is SELECT, FROM, WHERE, GROUP BY, ORDER BY, PER PARTITION LIMIT, LIMIT, ALLOW FILTERING"
        }
        (Kind::Keyword(Keyword::Limit | Keyword::Allow), _) => "only SELECT has this clause",
        (Kind::End, _) if first == Keyword::Delete && parser.expected.contains(&"WHERE") => {
            "WHERE says which rows; TRUNCATE t empties a table"
        }
        (Kind::End, _) if first == Keyword::Select && parser.expected.contains(&"FROM") => {
            "a SELECT reads a table: SELECT ... FROM t; system.local has one row"
        }
        (Kind::Sign(Sign::Star), Some(Kind::Keyword(Keyword::Delete))) => "write DELETE FROM to delete rows",
        _ => match word.as_str() {
            "BETWEEN" => "write c >= a AND c <= b",
            "OFFSET" => "CQL has no OFFSET: read on with pages, or with WHERE on the clustering columns",
            "JOIN" | "INNER" | "LEFT" | "OUTER" | "UNION" => "a SELECT reads one table",
            "HAVING" => "CQL has no HAVING",
            "RETURNING" => "CQL has no RETURNING",
            _ => return None,
        },
    };
    Some(hint.to_owned())
}

/// A name stands where a value is wanted: quotes are missing, or are the wrong ones.
fn value(parser: &Parser<'_>, at: usize, before: Option<Token>) -> Option<String> {
    let token = before?;
    let lead = at.checked_sub(2).and_then(|earlier| parser.tokens.get(earlier))?.kind;
    let wants_value = matches!(
        lead,
        Kind::Sign(
            Sign::Eq | Sign::Lt | Sign::Le | Sign::Gt | Sign::Ge | Sign::Ne | Sign::Comma | Sign::Open
        ) | Kind::Sign(Sign::OpenSquare | Sign::OpenCurly | Sign::Colon)
            | Kind::Keyword(Keyword::Contains | Keyword::Like)
    );
    // After a name a value can only go on as a call.
    if !wants_value || !parser.expected.contains(&"(") || parser.expected_at != at {
        return None;
    }
    let source = parser.source(token);
    match token.kind {
        Kind::QuotedName => {
            let text = source.trim_matches('"').replace('\'', "''");
            Some(format!("texts stand in single quotes: '{text}'; double quotes are for names"))
        }
        Kind::Ident => Some(format!("if {source} is meant as text, it needs single quotes: '{source}'")),
        _ => None,
    }
}

fn reserved(parser: &Parser<'_>, token: Token) -> Option<String> {
    let Kind::Keyword(keyword) = token.kind else {
        return None;
    };
    if keyword.class() != Class::Reserved || !parser.expected.contains(&"a name") {
        return None;
    }
    let word = parser.source(token).to_ascii_lowercase();
    Some(format!("{word} is a reserved word; as a name it needs double quotes: \"{word}\""))
}

/// Number of letters to change, add or leave out to come from one word to the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(20).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}
