//! The message of a syntax error: its place as Cassandra gives it, what stands there, what could have stood there, a hint.

use crate::error::{Code, CqlError, Place};
use crate::syntax::lexer::{Fault, FaultKind};
use crate::syntax::parse::cursor::Parser;
use crate::syntax::parse::hints;
use crate::syntax::token::Kind;

/// What could have stood at a place is listed up to this number.
const MOST_LISTED: usize = 8;

/// Token `at` has no place where it stands.
pub(super) fn unexpected(parser: &Parser<'_>, at: usize) -> CqlError {
    let Some(token) = parser.tokens.get(at).copied() else {
        return CqlError::new(Code::Syntax, "line 0:-1 the statement ends too early");
    };
    if (token.kind == Kind::Fault || parser.fault_met)
        && let Some(fault) = &parser.fault
    {
        return faulty(parser, fault);
    }
    let place = Place { line: token.line, column: token.column };
    let mut message = if token.kind == Kind::End {
        // The parser generator of Cassandra has no place for the end.
        "line 0:-1 the statement ends here".to_owned()
    } else {
        let column = utf16_column(parser.text, token.start as usize);
        format!("line {}:{column} unexpected {}", place.line, shown(parser.source(token)))
    };
    if parser.expected_at == at && !parser.expected.is_empty() {
        message.push_str(": expected ");
        message.push_str(&alternatives(&parser.expected));
    }
    let error = CqlError::new(Code::Syntax, message).at(place);
    match hints::for_token(parser, at) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn faulty(parser: &Parser<'_>, fault: &Fault) -> CqlError {
    let text = parser.text;
    // Cassandra finds out at the last character that $$ is missing, and behind the last one for other things.
    let early = fault.what == FaultKind::Open("$$") && !text.ends_with('$');
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    let at = if early { last } else { fault.at as usize };
    let line_start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1);
    let characters = text.get(line_start..at).map_or(0, |line| line.chars().count());
    let place = Place { line: fault.line, column: u32::try_from(characters).unwrap_or(u32::MAX) };
    let message = match fault.what {
        FaultKind::Character(character) => {
            format!("no word or sign of CQL begins with '{}'", character.escape_debug())
        }
        FaultKind::Open("\n") => "a comment begun with -- or // needs its line's end".to_owned(),
        FaultKind::Open(end) => format!("the statement ends before {end} closes what was begun"),
        FaultKind::Uuid => "what begins like a UUID must go on as one".to_owned(),
        FaultKind::Duration => "what begins like a duration must go on as one".to_owned(),
        FaultKind::Second(sign) => format!("{sign} must follow"),
        FaultKind::Exponent => "digits must follow the exponent of a number".to_owned(),
        FaultKind::Minus(word) => {
            format!("a minus right before this letter begins -{word}, which this is not")
        }
    };
    let column = utf16_column(text, at);
    let error = CqlError::new(Code::Syntax, format!("line {}:{column} {message}", fault.line)).at(place);
    match hints::for_fault(fault) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Columns of messages count UTF-16 units, as Java does; those of [`Place`] characters.
fn utf16_column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.chars().map(char::len_utf16).sum()
}

/// A token in quotes, shortened if it is long.
fn shown(source: &str) -> String {
    let quote = if source.starts_with('\'') { '"' } else { '\'' };
    let mut text: String = source.chars().take(40).collect();
    if text.len() < source.len() {
        text.push_str("...");
    }
    format!("{quote}{text}{quote}")
}

/// `a, b or c`, signs in quotes
fn alternatives(expected: &[&str]) -> String {
    let listed = &expected[..expected.len().min(MOST_LISTED)];
    let is_sign = |what: &str| !what.contains(|c: char| c.is_alphanumeric());
    let quoted = |what: &&str| if is_sign(what) { format!("'{what}'") } else { (*what).to_owned() };
    let listed: Vec<String> = listed.iter().map(quoted).collect();
    match listed.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => listed.concat(),
    }
}
