//! Values from text: what CSV files, command lines and tests hold.
//!
//! A scalar is its plain text, without quotes. A collection, tuple, user type or vector is a CQL literal: inside it, text
//! and times may stand in single quotes, and other quoted scalars are taken too.
//!
//! # Not here
//! CQL statements: the query language has its own grammar, with bind markers, functions and casts. `now` as a
//! timestamp: this module reads no clock.

use std::net::IpAddr;

use crate::error::{Error, Result};
use crate::model::codec::decode;
use crate::model::codec::to_bytes;
use crate::model::duration::Duration;
use crate::model::numeric::{Decimal, Varint};
use crate::model::time::{Date, Time, Timestamp};
use crate::model::types::{CqlType, MAX_DEPTH, UdtType};
use crate::model::uuid::{Timeuuid, Uuid};
use crate::model::value::Value;

/// The value of type `ty` that `text` spells. Sets and maps come sorted and without duplicates.
///
/// # Errors
/// `Invalid`, in Cassandra's words where it has some.
pub fn parse_text(text: &str, ty: &CqlType) -> Result<Value> {
    match ty.unfrozen() {
        CqlType::List(_)
        | CqlType::Set(_)
        | CqlType::Map(..)
        | CqlType::Tuple(_)
        | CqlType::Udt(_)
        | CqlType::Vector(..) => {
            let mut parser = Parser { text, rest: text };
            let value = parser.value(ty, 1, "")?.ok_or_else(|| parser.error(ty))?;
            if !parser.rest.trim_start().is_empty() {
                return Err(parser.error(ty));
            }
            // Through bytes: they check every rule (a vector's dimension, a text's ascii) and sort the sets.
            decode(&to_bytes(&value, ty)?, ty)
        }
        simple => parse_scalar(text, simple),
    }
}

fn parse_scalar(text: &str, ty: &CqlType) -> Result<Value> {
    if text.is_empty() && ty.allows_empty() && !ty.is_stringlike() {
        return Ok(Value::Empty);
    }
    let wrong = |what: &str| Error::invalid(format!("Unable to make {what} from '{text}'"));
    Ok(match ty {
        CqlType::Ascii if text.is_ascii() => Value::Ascii(text.to_owned()),
        CqlType::Ascii => return Err(wrong("ascii")),
        CqlType::Text => Value::Text(text.to_owned()),
        CqlType::Bigint => Value::Bigint(integer(text).ok_or_else(|| wrong("long"))?),
        CqlType::Counter => Value::Counter(integer(text).ok_or_else(|| wrong("long"))?),
        CqlType::Int => Value::Int(integer(text).ok_or_else(|| wrong("int"))?),
        CqlType::Smallint => Value::Smallint(integer(text).ok_or_else(|| wrong("short"))?),
        CqlType::Tinyint => Value::Tinyint(integer(text).ok_or_else(|| wrong("byte"))?),
        CqlType::Varint => Value::Varint(Varint::parse(text)?),
        CqlType::Decimal => Value::Decimal(Decimal::parse(text)?),
        CqlType::Double => Value::Double(float(text).ok_or_else(|| wrong("double"))?),
        CqlType::Float => Value::Float(float(text).ok_or_else(|| wrong("float"))?),
        CqlType::Boolean if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
        CqlType::Boolean if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
        CqlType::Boolean => return Err(wrong("boolean")),
        CqlType::Blob => Value::Blob(hex(text).ok_or_else(|| wrong("blob"))?),
        CqlType::Inet => Value::Inet(inet(text).ok_or_else(|| wrong("inet address"))?),
        CqlType::Date => Value::Date(Date::parse(text)?),
        CqlType::Time => Value::Time(Time::parse(text)?),
        CqlType::Timestamp => Value::Timestamp(Timestamp::parse(text)?),
        CqlType::Duration => Value::Duration(Duration::parse(text)?),
        CqlType::Uuid => Value::Uuid(Uuid::parse(text)?),
        CqlType::Timeuuid => Value::Timeuuid(Timeuuid::parse(text)?),
        other => return Err(wrong(&other.to_string())),
    })
}

/// Digits with an optional sign; the standard library takes the same.
fn integer<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn float<T: std::str::FromStr>(text: &str) -> Option<T> {
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    let named = number.eq_ignore_ascii_case("NaN") || number.eq_ignore_ascii_case("Infinity");
    // The standard library would also take "inf".
    if named || number.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        text.parse().ok()
    } else {
        None
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text).as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|nibble| u8::try_from(nibble).ok());
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)).collect())?
}

/// An address of version 4 or 6; a version 4 address in version 6 clothes is the former, as in Java.
fn inet(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        v4 => v4,
    })
}

/// Reads literals of containers.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// A value, or `None` for `null`; an unquoted scalar ends before any character of `stop`, a comma or a bracket.
    fn value(&mut self, ty: &CqlType, depth: usize, stop: &str) -> Result<Option<Value>> {
        if depth > MAX_DEPTH {
            return Err(self.error(ty));
        }
        let ty = ty.unfrozen();
        if self.accept_null() {
            return Ok(None);
        }
        let value = match ty {
            CqlType::List(inner) => Value::List(self.elements("[]", inner, depth)?),
            CqlType::Vector(inner, _) => Value::Vector(self.elements("[]", inner, depth)?),
            CqlType::Set(inner) => Value::Set(self.elements("{}", inner, depth)?),
            CqlType::Map(key, value) => Value::Map(self.items("{}", ty, |parser, _| {
                let key = parser.required(key, depth, ":")?;
                parser.expect(':', ty)?;
                Ok((key, parser.required(value, depth, "")?))
            })?),
            CqlType::Tuple(types) => Value::Tuple(self.items("()", ty, |parser, index| {
                let field = types.get(index).ok_or_else(|| {
                    Error::invalid(format!(
                        "Invalid tuple literal: too many elements. Type {ty} expects {}",
                        types.len()
                    ))
                })?;
                parser.value(field, depth + 1, "")
            })?),
            CqlType::Udt(udt) => Value::Udt(self.items("{}", ty, |parser, _| parser.field(udt, ty, depth))?),
            scalar => self.scalar(scalar, stop)?,
        };
        Ok(Some(value))
    }

    fn required(&mut self, ty: &CqlType, depth: usize, stop: &str) -> Result<Value> {
        let value = self.value(ty, depth + 1, stop)?;
        value.ok_or_else(|| Error::invalid("null is not supported inside collections"))
    }

    fn elements(&mut self, brackets: &str, inner: &CqlType, depth: usize) -> Result<Vec<Value>> {
        self.items(brackets, inner, |parser, _| parser.required(inner, depth, ""))
    }

    fn field(&mut self, udt: &UdtType, ty: &CqlType, depth: usize) -> Result<(String, Option<Value>)> {
        self.rest = self.rest.trim_start();
        let name = match self.quoted('"') {
            Some(name) => name,
            None => self.bare(":").to_ascii_lowercase(),
        };
        self.expect(':', ty)?;
        let field = udt.fields.iter().find(|(known, _)| *known == name);
        let (_, field) = field.ok_or_else(|| {
            Error::invalid(format!("Unknown field '{name}' in value of user defined type {}", udt.name))
        })?;
        Ok((name, self.value(field, depth + 1, "")?))
    }

    /// Items between brackets, separated by commas.
    fn items<T>(
        &mut self,
        brackets: &str,
        ty: &CqlType,
        mut item: impl FnMut(&mut Self, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut marks = brackets.chars();
        let (open, close) = (marks.next().unwrap_or('['), marks.next().unwrap_or(']'));
        self.expect(open, ty)?;
        let mut items = Vec::new();
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self, items.len())?);
            if self.accept(close) {
                return Ok(items);
            }
            self.expect(',', ty)?;
        }
    }

    fn scalar(&mut self, ty: &CqlType, stop: &str) -> Result<Value> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('\'') {
            let text = self.quoted('\'').ok_or_else(|| self.error(ty))?;
            return parse_scalar(&text, ty);
        }
        match self.bare(stop) {
            "" => Err(self.error(ty)),
            text => parse_scalar(text, ty),
        }
    }

    /// Takes the word `null` where it stands alone.
    fn accept_null(&mut self) -> bool {
        let before = self.rest;
        self.rest = before.trim_start();
        let found = self.bare(":").eq_ignore_ascii_case("null");
        if !found {
            self.rest = before;
        }
        found
    }

    /// Text up to a comma, a closing bracket or a character of `stop`, without spaces at its end.
    fn bare(&mut self, stop: &str) -> &'a str {
        let end = self.rest.find(|c: char| ",]})".contains(c) || stop.contains(c)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.trim_end()
    }

    /// Text in quotes, where a doubled quote stands for one; `None` if there is none, or if it does not end.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let inner = self.rest.strip_prefix(quote)?;
        let mut text = String::new();
        let mut chars = inner.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c != quote || chars.next_if(|(_, next)| *next == quote).is_some() {
                text.push(c);
            } else {
                self.rest = &inner[at + c.len_utf8()..];
                return Some(text);
            }
        }
        None
    }

    fn accept(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char, ty: &CqlType) -> Result<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(ty)) }
    }

    fn error(&self, ty: &CqlType) -> Error {
        let at = self.text.len() - self.rest.len();
        Error::invalid(format!("Unable to make {ty} from '{}': stopped at byte {at}", self.text))
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
