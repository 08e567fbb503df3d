//! Properties behind WITH: `name = value` pairs of keyspaces, tables, views and indexes, read by kind in Cassandra's words.
//!
//! Called by `keyspace` and `options`; knows no option by name.

use crate::error::{Code, CqlError, Result};
use crate::syntax::ast::{OptionValue, Options};

/// The properties of one statement.
#[derive(Clone, Copy, Debug)]
pub struct Properties<'a> {
    options: &'a Options,
}

impl<'a> Properties<'a> {
    /// Takes the properties of a statement if all have names out of `known`, each once.
    ///
    /// # Errors
    /// `Multiple definitions for property 'x'`, `Unknown property 'x'`, both of class SyntaxError.
    pub fn new(options: &'a Options, known: &[&str]) -> Result<Self> {
        for (i, (name, _)) in options.iter().enumerate() {
            if options[..i].iter().any(|(other, _)| other.text == name.text) {
                return fail(format!("Multiple definitions for property '{}'", name.text), name.place);
            }
        }
        match options.iter().find(|(name, _)| !known.contains(&name.text.as_str())) {
            Some((name, _)) => {
                let error =
                    CqlError::new(Code::Syntax, format!("Unknown property '{}'", name.text)).at(name.place);
                Err(error.hint(format!("known are {}", known.join(", "))))
            }
            None => Ok(Self { options }),
        }
    }

    /// Whether a property is given.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn get(&self, name: &str) -> Option<&'a (crate::syntax::ast::Name, OptionValue)> {
        self.options.iter().find(|(known, _)| known.text == name)
    }

    /// A property's text.
    ///
    /// # Errors
    /// If it is a map.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some((_, OptionValue::Text(text))) => Ok(Some(text)),
            Some((at, OptionValue::Map(_))) => {
                fail(format!("Invalid value for property '{name}'. It should be a string"), at.place)
            }
        }
    }

    /// A property's map, in the order written.
    ///
    /// # Errors
    /// If it is no map.
    pub fn map(&self, name: &str) -> Result<Option<&'a [(String, String)]>> {
        match self.get(name) {
            None => Ok(None),
            Some((_, OptionValue::Map(map))) => Ok(Some(map)),
            Some((at, OptionValue::Text(_))) => {
                fail(format!("Invalid value for property '{name}'. It should be a map."), at.place)
            }
        }
    }

    /// A whole number of 32 bits.
    ///
    /// # Errors
    /// `Invalid integer value x for 'name'`.
    pub fn integer(&self, name: &str) -> Result<Option<i32>> {
        self.parsed(name, |text| text.parse().ok(), "Invalid integer value")
    }

    /// A number.
    ///
    /// # Errors
    /// `Invalid double value x for 'name'`.
    pub fn double(&self, name: &str) -> Result<Option<f64>> {
        self.parsed(name, |text| text.parse().ok(), "Invalid double value")
    }

    /// A flag: 1, true, yes or 0, false, no.
    ///
    /// # Errors
    /// `Invalid boolean value x for 'name'. ...`
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" => Ok(Some(true)),
            "0" | "false" | "no" => Ok(Some(false)),
            _ => Err(CqlError::new(
                Code::Syntax,
                format!(
                    "Invalid boolean value {text} for '{name}'. Positive values can be '1', 'true' or 'yes'. Negative \
                     values can be '0', 'false' or 'no'."
                ),
            )),
        }
    }

    fn parsed<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>, wrong: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let value =
            parse(text).ok_or_else(|| CqlError::new(Code::Syntax, format!("{wrong} {text} for '{name}'")));
        value.map(Some)
    }
}

fn fail<T>(text: String, place: crate::error::Place) -> Result<T> {
    Err(CqlError::new(Code::Syntax, text).at(place))
}

/// A map as CQL writes it, its keys sorted: `{'a': 'b'}`.
pub fn map_literal<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort();
    let entries: Vec<_> = entries.into_iter().map(|(k, v)| format!("{}: {}", quote(k), quote(v))).collect();
    format!("{{{}}}", entries.join(", "))
}

/// A string literal.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
