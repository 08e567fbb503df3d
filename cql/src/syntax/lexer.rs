//! From text to tokens, with the quirks of Cassandra's lexer.
//!
//! Comments (`--` and `//` up to the end of the line, which must come; `/* */`, not nested) and blanks are left out. A minus right before a
//! digit belongs to the number, so that `k -1` is two values side by side; right before `i` or `n` it begins `-Infinity` or `-NaN`, and
//! anything else there is an error. Where no token can be read the lexer gives [`Kind::Fault`] and keeps why in [`Lexer::fault`]; a caller
//! that goes on (`split`) gets the tokens behind it.
//!
//! Not here: the meaning of escapes; the parser takes a token's text and unescapes it.

use crate::syntax::token::{Keyword, Kind, Sign, Token};

/// Why a token could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The byte at which it went wrong.
    pub at: u32,
    /// The line of that byte, from 1.
    pub line: u32,
    /// Byte and line at which what is wrong begins: of a comment that is not closed, where it was opened.
    pub begin: (u32, u32),
    /// What is wrong.
    pub what: FaultKind,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No token begins with this character.
    Character(char),
    /// A quote, a comment or `$$` that is not closed: what would close it.
    Open(&'static str),
    /// Digits must follow the `e` of a number.
    Exponent,
    /// A minus before a letter i or n: the word that it has to be.
    Minus(&'static str),
    /// What begins as a UUID must go on as one.
    Uuid,
    /// What begins as a duration must go on as one.
    Duration,
    /// Behind `$` or `!`: the sign that must follow.
    Second(char),
}

/// The lexer; an iterator would end, this gives [`Kind::End`] for ever.
pub struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    /// Column of the character at byte `counted`, so that no line is counted twice.
    column: u32,
    counted: usize,
    fault: Option<Fault>,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Offsets are 32 bits: the parser refuses texts that are longer, so that nothing is cut off.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl<'a> Lexer<'a> {
    /// At the start of a text of less than 4 GiB.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, line: 1, column: 0, counted: 0, fault: None }
    }

    /// The first fault met.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// The first fault met, forgotten with this: for callers that go on.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Goes on by `n` bytes that may hold line breaks.
    fn skip(&mut self, n: usize) {
        for _ in 0..n {
            if self.byte(0) == Some(b'\n') {
                self.line += 1;
                self.column = 0;
                self.counted = self.at + 1;
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
    }

    /// Skips to behind the next `end`; false at the end of the text.
    fn skip_past(&mut self, end: &[u8]) -> bool {
        while self.at < self.bytes.len() {
            if self.bytes[self.at..].starts_with(end) {
                self.skip(end.len());
                return true;
            }
            self.skip(1);
        }
        false
    }

    fn fail(&mut self, what: FaultKind) -> Kind {
        self.fail_from((offset(self.at), self.line), what)
    }

    fn fail_from(&mut self, begin: (u32, u32), what: FaultKind) -> Kind {
        let fault = Fault { at: offset(self.at), line: self.line, begin, what };
        self.fault.get_or_insert(fault);
        Kind::Fault
    }

    /// The column of the character at hand.
    fn column(&mut self) -> u32 {
        let passed = self.bytes.get(self.counted..self.at).unwrap_or_default();
        // Every byte but the continuations of UTF-8 begins a character.
        self.column += offset(passed.iter().filter(|byte| **byte & 0xc0 != 0x80).count());
        self.counted = self.at;
        self.column
    }

    /// Blanks and comments; a fault if a comment has no end.
    fn blanks(&mut self) -> Option<Kind> {
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b' ' | b'\t' | b'\n' | b'\r'), _) => self.skip(1),
                (Some(b'-'), Some(b'-')) | (Some(b'/'), Some(b'/')) => {
                    while !matches!(self.byte(0), None | Some(b'\n' | b'\r')) {
                        self.at += 1;
                    }
                    if self.byte(0).is_none() {
                        return Some(self.fail(FaultKind::Open("\n")));
                    }
                }
                (Some(b'/'), Some(b'*')) => {
                    let begin = (offset(self.at), self.line);
                    self.skip(2);
                    if !self.skip_past(b"*/") {
                        return Some(self.fail_from(begin, FaultKind::Open("*/")));
                    }
                }
                _ => return None,
            }
        }
    }

    /// The next token.
    pub fn next_token(&mut self) -> Token {
        let fault = self.blanks();
        let (start, line, column) = (self.at, self.line, self.column());
        let kind = fault.unwrap_or_else(|| self.read());
        if kind == Kind::Fault && self.at == start && self.at < self.bytes.len() {
            // One character is dropped, so that a caller that goes on comes to an end.
            let width = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
            self.skip(width);
        }
        Token { kind, start: offset(start), end: offset(self.at), line, column }
    }

    fn read(&mut self) -> Kind {
        let Some(first) = self.byte(0) else {
            return Kind::End;
        };
        match first {
            b'\'' => self.quoted(b'\'', "'", Kind::String),
            b'"' => {
                let start = self.at;
                match self.quoted(b'"', "\"", Kind::QuotedName) {
                    Kind::QuotedName if self.at == start + 2 => Kind::EmptyQuotedName,
                    kind => kind,
                }
            }
            b'$' if self.byte(1) == Some(b'$') => {
                self.skip(2);
                if self.skip_past(b"$$") { Kind::DollarString } else { self.fail(FaultKind::Open("$$")) }
            }
            b'$' | b'!' if self.byte(1) != Some(b'=') => {
                self.at += 1;
                self.fail(FaultKind::Second(if first == b'!' { '=' } else { '$' }))
            }
            b'0'..=b'9' => self.number(0),
            b'-' => self.minus(),
            byte if byte.is_ascii_alphabetic() => self.word(),
            _ => self.sign(first),
        }
    }

    fn quoted(&mut self, quote: u8, name: &'static str, kind: Kind) -> Kind {
        self.skip(1);
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) => return self.fail(FaultKind::Open(name)),
                (Some(byte), Some(next)) if byte == quote && next == quote => self.skip(2),
                (Some(byte), _) if byte == quote => {
                    self.skip(1);
                    return kind;
                }
                _ => self.skip(1),
            }
        }
    }

    fn minus(&mut self) -> Kind {
        match self.byte(1) {
            Some(b'0'..=b'9') => self.number(1),
            Some(b'=') => self.take(2, Sign::MinusEq),
            Some(b'P') => {
                self.at += 1;
                self.iso_duration()
            }
            Some(b'i' | b'I') => self.negative_word("Infinity", Kind::NegativeInfinity),
            Some(b'n' | b'N') => self.negative_word("NaN", Kind::NegativeNan),
            _ => self.take(1, Sign::Minus),
        }
    }

    fn negative_word(&mut self, word: &'static str, kind: Kind) -> Kind {
        let rest = &self.bytes[self.at + 1..];
        let same = rest.iter().zip(word.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        self.at += 1 + same;
        if same == word.len() { kind } else { self.fail(FaultKind::Minus(word)) }
    }

    /// What begins with a digit; `sign` is 1 behind a minus. The letter behind the first digits decides what it is, and then it must be
    /// that: `1a` is the beginning of a UUID, `1u` that of a duration.
    fn number(&mut self, sign: usize) -> Kind {
        let rest = &self.bytes[self.at + sign..];
        if sign == 0 && begins_uuid(rest) {
            return self.uuid();
        }
        if sign == 0 && rest[0] == b'0' && matches!(rest.get(1), Some(b'x' | b'X')) {
            self.at += 2 + rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            return Kind::Hex;
        }
        let count = digits(rest);
        let may_be_uuid = sign == 0 && count < 8;
        match rest.get(count).map(u8::to_ascii_lowercase) {
            Some(b'a' | b'b' | b'c' | b'f') if may_be_uuid => self.uuid(),
            Some(b'd') if may_be_uuid && days_are_uuid(rest, count) => self.uuid(),
            Some(b'e') if may_be_uuid && exponent_is_uuid(rest, count) => self.uuid(),
            Some(b'y' | b'm' | b'w' | b'd' | b'h' | b's' | b'u' | b'n') => self.duration(sign),
            Some(0xc2) if rest.get(count + 1) == Some(&0xb5) => self.duration(sign),
            _ => self.decimal(sign),
        }
    }

    /// Goes on as long as the text is like the pattern, in which 0 stands for a digit, x for a hexadecimal one.
    fn like(&mut self, pattern: &[u8]) -> bool {
        let same = self.bytes[self.at..].iter().zip(pattern).take_while(|(byte, like)| match **like {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            _ => byte == like,
        });
        let count = same.count();
        self.at += count;
        count == pattern.len()
    }

    fn uuid(&mut self) -> Kind {
        if self.like(b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
            Kind::Uuid
        } else {
            self.fail(FaultKind::Uuid)
        }
    }

    /// Digits and unit, once or more.
    fn duration(&mut self, sign: usize) -> Kind {
        self.at += sign;
        loop {
            self.at += digits(&self.bytes[self.at..]);
            let lower = |byte: Option<u8>| byte.map(|byte| byte.to_ascii_lowercase());
            let (first, second) = (lower(self.byte(0)), lower(self.byte(1)));
            match (first, second) {
                (Some(b'm'), Some(b'o' | b's')) | (Some(b'u' | b'n'), Some(b's')) => self.at += 2,
                (Some(b'y' | b'm' | b'w' | b'd' | b'h' | b's'), _) => self.at += 1,
                (Some(0xc2), Some(0xb5)) if lower(self.byte(2)) == Some(b's') => self.at += 3,
                _ => {
                    self.at += match (first, second) {
                        (Some(b'u' | b'n'), _) => 1,
                        (Some(0xc2), Some(0xb5)) => 2,
                        _ => 0,
                    };
                    return self.fail(FaultKind::Duration);
                }
            }
            if !self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
                return Kind::Duration;
            }
        }
    }

    /// `P...` behind a minus, which can only be a duration.
    fn iso_duration(&mut self) -> Kind {
        let rest = &self.bytes[self.at..];
        if begins_iso_date(rest) {
            return if self.like(ISO_DATE) { Kind::Duration } else { self.fail(FaultKind::Duration) };
        }
        let whole = iso_duration(rest);
        let parts = whole.unwrap_or(1);
        // What stands behind the parts read so far, a T or digits, must go on as one more.
        let mut end = parts + usize::from(rest.get(parts) == Some(&b'T'));
        let count = digits(&rest[end..]);
        end += count;
        let complete = whole.is_some() && end == parts;
        self.at += end;
        if complete { Kind::Duration } else { self.fail(FaultKind::Duration) }
    }

    fn decimal(&mut self, sign: usize) -> Kind {
        self.at += sign;
        self.at += digits(&self.bytes[self.at..]);
        let mut kind = Kind::Integer;
        // `1..2` is a slice of two integers.
        let range = self.byte(0) == Some(b'.') && self.byte(1) == Some(b'.') && self.byte(2) != Some(b'.');
        if self.byte(0) == Some(b'.') && !range {
            self.at += 1;
            self.at += digits(&self.bytes[self.at..]);
            kind = Kind::Float;
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(0), Some(b'+' | b'-')) {
                self.at += 1;
            }
            let count = digits(&self.bytes[self.at..]);
            if count == 0 {
                return self.fail(FaultKind::Exponent);
            }
            self.at += count;
            kind = Kind::Float;
        }
        kind
    }

    fn word(&mut self) -> Kind {
        let rest = &self.bytes[self.at..];
        if begins_uuid(rest) {
            return self.uuid();
        }
        if begins_iso_date(rest) {
            return if self.like(ISO_DATE) { Kind::Duration } else { self.fail(FaultKind::Duration) };
        }
        if let Some(length) = iso_duration(rest)
            && !rest.get(length).is_some_and(|byte| is_word(*byte))
        {
            self.at += length;
            return Kind::Duration;
        }
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        if word == "expr" && self.byte(0) == Some(b'(') {
            self.at += 1;
            return Kind::ExprOpen;
        }
        if word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false") {
            return Kind::Boolean;
        }
        Keyword::of(word).map_or(Kind::Ident, Kind::Keyword)
    }

    fn take(&mut self, length: usize, sign: Sign) -> Kind {
        self.at += length;
        Kind::Sign(sign)
    }

    fn sign(&mut self, first: u8) -> Kind {
        let next = self.byte(1);
        match first {
            b'(' => self.take(1, Sign::Open),
            b')' => self.take(1, Sign::Close),
            b'[' => self.take(1, Sign::OpenSquare),
            b']' => self.take(1, Sign::CloseSquare),
            b'{' => self.take(1, Sign::OpenCurly),
            b'}' => self.take(1, Sign::CloseCurly),
            b',' => self.take(1, Sign::Comma),
            b';' => self.take(1, Sign::Semicolon),
            b':' => self.take(1, Sign::Colon),
            b'?' => self.take(1, Sign::Question),
            b'.' if next == Some(b'.') => self.take(2, Sign::Range),
            b'.' => self.take(1, Sign::Point),
            b'+' if next == Some(b'=') => self.take(2, Sign::PlusEq),
            b'+' => self.take(1, Sign::Plus),
            b'*' => self.take(1, Sign::Star),
            b'/' => self.take(1, Sign::Slash),
            b'%' => self.take(1, Sign::Percent),
            b'=' => self.take(1, Sign::Eq),
            b'!' => self.take(2, Sign::Ne),
            b'<' if next == Some(b'=') => self.take(2, Sign::Le),
            b'<' => self.take(1, Sign::Lt),
            b'>' if next == Some(b'=') => self.take(2, Sign::Ge),
            b'>' => self.take(1, Sign::Gt),
            _ => {
                let character = self.text[self.at..].chars().next().unwrap_or('\u{fffd}');
                self.fail(FaultKind::Character(character))
            }
        }
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether eight hexadecimal digits and a minus stand here, which only a UUID can begin with.
fn begins_uuid(bytes: &[u8]) -> bool {
    bytes.get(8) == Some(&b'-') && bytes[..8].iter().all(u8::is_ascii_hexdigit)
}

/// An ISO 8601 duration in the form of a date.
const ISO_DATE: &[u8] = b"P0000-00-00T00:00:00";

/// Whether `P`, four digits and a minus stand here.
fn begins_iso_date(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'P') && bytes.get(5) == Some(&b'-') && bytes[1..5].iter().all(u8::is_ascii_digit)
}

/// Whether the `d` behind `count` digits is a UUID's and not the unit of days: a letter that only a UUID has comes within eight characters.
fn days_are_uuid(bytes: &[u8], count: usize) -> bool {
    let mut at = count + 1;
    loop {
        let count = digits(&bytes[at..]);
        match bytes.get(at + count).map(u8::to_ascii_lowercase) {
            Some(b'd') if count > 0 => at += count + 1,
            letter => return at + count < 8 && matches!(letter, Some(b'a'..=b'f')),
        }
    }
}

/// Whether the `e` behind `count` digits is a UUID's and not that of an exponent.
fn exponent_is_uuid(bytes: &[u8], count: usize) -> bool {
    let at = count + 1 + digits(&bytes[count + 1..]);
    at < 8 && matches!(bytes.get(at).map(u8::to_ascii_lowercase), Some(b'a'..=b'f'))
}

/// Length of an ISO 8601 duration by units: `P1Y2M3DT4H5M6S`, `P3W`.
fn iso_duration(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'P') {
        return None;
    }
    let part = |at: usize, letter: u8| -> Option<usize> {
        let count = digits(&bytes[at..]);
        (count > 0 && bytes.get(at + count) == Some(&letter)).then_some(at + count + 1)
    };
    if let Some(end) = part(1, b'W') {
        return Some(end);
    }
    let mut at = 1;
    for letter in *b"YMD" {
        at = part(at, letter).unwrap_or(at);
    }
    if bytes.get(at) == Some(&b'T') {
        let mut time = at + 1;
        for letter in *b"HMS" {
            time = part(time, letter).unwrap_or(time);
        }
        if time > at + 1 {
            at = time;
        }
    }
    (at > 1).then_some(at)
}
