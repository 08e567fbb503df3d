//! Types from CQL text: the inverse of `CqlType`'s `Display`.
//!
//! Used where a type stands alone (imports, tools, system tables); statements have their own parser in the CQL crate.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::types::{CqlType, MAX_DEPTH, SIMPLE, UdtType};

/// How [`CqlType::parse`] finds a user type: by its keyspace, if the text names one, and its name.
pub type ResolveUdt<'a> = &'a dyn Fn(Option<&str>, &str) -> Option<Arc<UdtType>>;

impl CqlType {
    /// The type that `text` names, e.g. `frozen<map<text, list<int>>>`; `resolve` finds user types.
    ///
    /// # Errors
    /// `Invalid` for text that is no type, an unknown user type, or nesting beyond [`MAX_DEPTH`].
    pub fn parse(text: &str, resolve: ResolveUdt<'_>) -> Result<Self> {
        let mut parser = Parser { text, rest: text, resolve };
        let parsed = parser.parse_type(1)?;
        if !parser.rest.trim_start().is_empty() {
            return Err(parser.error("unexpected text after the type"));
        }
        Ok(parsed)
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    resolve: ResolveUdt<'a>,
}

impl<'a> Parser<'a> {
    fn parse_type(&mut self, depth: usize) -> Result<CqlType> {
        if depth > MAX_DEPTH {
            return Err(self.error("the type nests too deeply"));
        }
        let (name, quoted) = self.name()?;
        if !quoted && self.accept('<') {
            let parsed = self.parameters(&name, depth)?;
            self.expect('>')?;
            return Ok(parsed);
        }
        if !quoted {
            let plain = if name == "varchar" { "text" } else { name.as_str() };
            if let Some((_, simple)) = SIMPLE.iter().find(|(known, _)| *known == plain) {
                return Ok(simple.clone());
            }
        }
        let (keyspace, name) = if self.accept('.') { (Some(name), self.name()?.0) } else { (None, name) };
        let found = (self.resolve)(keyspace.as_deref(), &name);
        found.map(CqlType::Udt).ok_or_else(|| self.error(&format!("unknown type {name}")))
    }

    fn parameters(&mut self, name: &str, depth: usize) -> Result<CqlType> {
        let first = Box::new(self.parse_type(depth + 1)?);
        Ok(match name {
            "list" => CqlType::List(first),
            "set" => CqlType::Set(first),
            "frozen" => CqlType::Frozen(first),
            "map" => {
                self.expect(',')?;
                CqlType::Map(first, Box::new(self.parse_type(depth + 1)?))
            }
            "vector" => {
                self.expect(',')?;
                CqlType::Vector(first, self.dimension()?)
            }
            "tuple" => {
                let mut fields = vec![*first];
                while self.accept(',') {
                    fields.push(self.parse_type(depth + 1)?);
                }
                CqlType::Tuple(fields)
            }
            other => return Err(self.error(&format!("{other} takes no parameters"))),
        })
    }

    fn dimension(&mut self) -> Result<u32> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let dimension: i32 =
            digits.parse().map_err(|_| self.error("a vector needs its number of elements"))?;
        if dimension < 1 {
            return Err(self.error(&format!("vectors may only have positive dimensions; given {dimension}")));
        }
        self.rest = rest;
        Ok(dimension.unsigned_abs())
    }

    /// A name, folded to lower case unless it stands in double quotes; and whether it does.
    fn name(&mut self) -> Result<(String, bool)> {
        self.rest = self.rest.trim_start();
        if let Some(inner) = self.rest.strip_prefix('"') {
            let mut name = String::new();
            let mut chars = inner.char_indices().peekable();
            while let Some((at, c)) = chars.next() {
                match c {
                    '"' if chars.next_if(|(_, next)| *next == '"').is_some() => name.push('"'),
                    '"' => {
                        self.rest = &inner[at + 1..];
                        return Ok((name, true));
                    }
                    other => name.push(other),
                }
            }
            return Err(self.error("a quoted name does not end"));
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.error("a type's name is missing"));
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok((name.to_ascii_lowercase(), false))
    }

    fn accept(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(&format!("'{wanted}' is missing"))) }
    }

    fn error(&self, what: &str) -> Error {
        let at = self.text.len() - self.rest.len();
        Error::invalid(format!("'{}' is no CQL type: {what} (at byte {at})", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CqlType> {
        let pt =
            UdtType { keyspace: "k".into(), name: "Pt".into(), fields: vec![("x".into(), CqlType::Int)] };
        CqlType::parse(text, &|_, name| (name == "Pt").then(|| Arc::new(pt.clone())))
    }

    #[test]
    fn text_round_trips() {
        for text in [
            "frozen<list<int>>",
            "map<text, frozen<set<inet>>>",
            "tuple<int, vector<float, 3>>",
            "list<frozen<\"Pt\">>",
            "varint",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse(" VarChar ").unwrap(), CqlType::Text);
        assert_eq!(parse("k.\"Pt\"").unwrap().to_string(), "\"Pt\"");
    }

    #[test]
    fn wrong_text_is_told() {
        for text in [
            "",
            "list",
            "list<int",
            "map<int>",
            "vector<int, 0>",
            "vector<int, -1>",
            "pt",
            "int int",
            "\"Pt",
            "int<int>",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("{}int{}", "list<".repeat(31), ">".repeat(31))).is_ok());
        assert!(parse(&format!("{}int{}", "list<".repeat(99_999), ">".repeat(99_999))).is_err());
    }
}
