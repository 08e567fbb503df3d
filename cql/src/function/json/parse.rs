//! JSON text to a tree.
//!
//! Strict, as Cassandra's parser (Jackson) is: no comments, single quotes, bare names, control characters or leading zeros; but what
//! follows the value is not looked at, and of equal names the last counts. A whole number has 32 bits where it fits, else 64, else any
//! number of them; one with a point or exponent is a double, so that `1.50` is 1.5.
//!
//! # Invariants
//! 1. Nesting ends at [`MAX_DEPTH`] with an error.

use num_bigint::BigInt;

use crate::function::java;

/// How deeply arrays and objects may nest.
const MAX_DEPTH: usize = 200;

/// A JSON value, with numbers as Java holds them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Boolean(bool),
    Integer(i32),
    Long(i64),
    Big(BigInt),
    Double(f64),
    String(String),
    List(Vec<Json>),
    /// In the order of the text.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// The simple name of the Java class that holds it, for errors.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "Boolean",
            Self::Integer(_) => "Integer",
            Self::Long(_) => "Long",
            Self::Big(_) => "BigInteger",
            Self::Double(_) => "Double",
            Self::String(_) => "String",
            Self::List(_) => "ArrayList",
            Self::Map(_) => "LinkedHashMap",
        }
    }

    /// As Java's `toString`, for errors and for numbers that are read again.
    pub(crate) fn java(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Boolean(truth) => truth.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Long(number) => number.to_string(),
            Self::Big(number) => number.to_string(),
            Self::Double(number) => java::double(*number),
            Self::String(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::java).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(name, value)| format!("{name}={}", value.java())).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

/// The first value in `text`.
///
/// # Errors
/// Says what is wrong and at which byte.
pub(crate) fn parse(text: &str) -> Result<Json, String> {
    Parser { text, at: 0 }.value(0)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, expected: &str) -> String {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("unexpected character '{c}' at byte {}: expected {expected}", self.at),
            None => format!("unexpected end at byte {}: expected {expected}", self.at),
        }
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), String> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.wrong(what))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep at byte {}", self.at));
        }
        self.skip_blanks();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, String> {
        for (word, value) in
            [("null", Json::Null), ("true", Json::Boolean(true)), ("false", Json::Boolean(false))]
        {
            let Some(after) = self.text.get(self.at..).and_then(|rest| rest.strip_prefix(word)) else {
                continue;
            };
            if !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("a value"))
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Json::List(items));
            }
            self.expect(b',', "a comma or ]")?;
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut entries: Vec<(String, Json)> = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Map(entries));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a name in double quotes"));
            }
            let name = self.string()?;
            self.skip_blanks();
            self.expect(b':', "a colon")?;
            let value = self.value(depth + 1)?;
            put(&mut entries, name, value);
            self.skip_blanks();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Json::Map(entries));
            }
            self.expect(b',', "a comma or }")?;
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.digits();
        if whole == 0 {
            return Err(self.wrong("a digit"));
        }
        if whole > 1 && self.text.as_bytes()[self.at - whole] == b'0' {
            return Err(format!("a number with leading zeros at byte {start}"));
        }
        let mut fraction = false;
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = true;
            if self.digits() == 0 {
                return Err(self.wrong("a digit"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            fraction = true;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.wrong("a digit"));
            }
        }
        let text = &self.text[start..self.at];
        let wrong = || format!("a number that is none at byte {start}");
        Ok(if fraction {
            Json::Double(text.parse().map_err(|_| wrong())?)
        } else if let Ok(number) = text.parse() {
            Json::Integer(number)
        } else if let Ok(number) = text.parse() {
            Json::Long(number)
        } else {
            Json::Big(text.parse().map_err(|_| wrong())?)
        })
    }

    /// Skips digits and counts them.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let stop = rest.find(|c: char| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            out.push_str(&rest[..stop]);
            self.at += stop;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.wrong("the end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.wrong("an escape")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Four hexadecimal digits, and the second half of a surrogate pair; half a pair becomes the replacement character.
    fn unicode(&mut self) -> Result<char, String> {
        let first = self.code_unit()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.code_unit()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or('\u{fffd}'))
    }

    fn code_unit(&mut self) -> Result<u32, String> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.wrong("four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }
}

/// Sets the value of a name, which keeps its place if it is there already.
pub(crate) fn put(entries: &mut Vec<(String, Json)>, name: String, value: Json) {
    match entries.iter_mut().find(|(known, _)| *known == name) {
        Some(entry) => entry.1 = value,
        None => entries.push((name, value)),
    }
}
