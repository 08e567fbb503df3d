//! Values of restrictions when a statement runs: markers are replaced, null and unset refused in Cassandra's words.
//!
//! A key's parts, the ends of slices and the values of filters have texts of their own for null and unset; [`Words`] tells them apart.

use crate::error::{CqlError, Result};
use crate::restrict::restriction::{Operand, Operands, Restriction};
use crate::term::parts::split;
use crate::term::{EvalContext, Term};
use crate::value::Bound;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::codec;
use skep_engine::{CqlType, TableSchema};

/// Where a value stands, which decides how its lack is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Part of a key.
    Key,
    /// Compared by a filter.
    Filter,
}

impl Words {
    pub(crate) fn null(self, column: &str) -> CqlError {
        match self {
            Self::Key => CqlError::invalid(format!("Invalid null value in condition for column {column}"))
                .hint("a part of the primary key is never null"),
            Self::Filter => CqlError::invalid(format!("Unsupported null value for column {column}"))
                .hint("null equals nothing; there is no IS NULL"),
        }
    }

    fn unset(self, column: &str) -> CqlError {
        match self {
            Self::Key => CqlError::invalid(format!("Invalid unset value for column {column}")),
            Self::Filter => CqlError::invalid(format!("Unsupported unset value for column {column}")),
        }
    }
}

/// The value of a term that must have one.
pub(crate) fn value(term: &Term, column: &str, words: Words, cx: &EvalContext<'_>) -> Result<Bytes> {
    match term.eval(cx)? {
        Bound::Value(value) => Ok(value),
        Bound::Null => Err(words.null(column)),
        Bound::Unset => Err(words.unset(column)),
    }
}

/// The value of a term, None for null.
pub(crate) fn nullable(
    term: &Term,
    column: &str,
    words: Words,
    cx: &EvalContext<'_>,
) -> Result<Option<Bytes>> {
    match term.eval(cx)? {
        Bound::Value(value) => Ok(Some(value)),
        Bound::Null => Ok(None),
        Bound::Unset => Err(words.unset(column)),
    }
}

/// The values of an operand, one for each of its columns; None for null.
pub(crate) fn parts(
    operand: &Operand,
    restriction: &Restriction,
    schema: &TableSchema,
    words: Words,
    cx: &EvalContext<'_>,
) -> Result<Vec<Option<Bytes>>> {
    let name = |i: usize| column_name(restriction, i, schema);
    match operand {
        Operand::Each(terms) => {
            if let Some(field) = terms.iter().position(|term| term.is_unset(cx))
                && terms.len() > 1
            {
                let text = format!("Invalid unset value for tuple field number {field}");
                return Err(CqlError::invalid(text));
            }
            terms.iter().enumerate().map(|(i, term)| nullable(term, name(i), words, cx)).collect()
        }
        Operand::Tuple(term, width) => {
            let all = restriction.names(schema);
            match term.eval(cx)? {
                Bound::Value(tuple) => fields(&tuple, *width),
                Bound::Null => Err(CqlError::invalid(format!("Invalid null value for columns: {all}"))),
                Bound::Unset => {
                    let all = all.replace(", ", ",");
                    Err(CqlError::invalid(format!("Invalid unset value for tuple ({all})")))
                }
            }
        }
    }
}

/// The values of an operand that is part of a key: none may be null.
pub(crate) fn key_parts(
    operand: &Operand,
    restriction: &Restriction,
    schema: &TableSchema,
    cx: &EvalContext<'_>,
) -> Result<Vec<Bytes>> {
    let parts = parts(operand, restriction, schema, Words::Key, cx)?;
    let single = restriction.columns.len() == 1;
    let checked = parts.into_iter().enumerate().map(|(i, part)| {
        part.ok_or_else(|| match column_name(restriction, i, schema) {
            name if single => Words::Key.null(name),
            name => CqlError::invalid(format!("Invalid null value for column {name}")),
        })
    });
    checked.collect()
}

/// The values of IN for keys, each with a value for each column.
pub(crate) fn key_lists(
    operands: &Operands,
    restriction: &Restriction,
    schema: &TableSchema,
    cx: &EvalContext<'_>,
) -> Result<Vec<Vec<Bytes>>> {
    match operands {
        Operands::List(items) => items
            .iter()
            .map(|item| {
                let parts = parts(item, restriction, schema, Words::Key, cx)?;
                parts.into_iter().map(|part| part.ok_or_else(|| null_in(restriction, schema))).collect()
            })
            .collect(),
        Operands::Marker(term) => {
            let items = marker_items(term, restriction, schema, cx)?;
            let width = restriction.columns.len();
            let lists = items.into_iter().map(|item| {
                let item = item.ok_or_else(|| null_in(restriction, schema))?;
                if restriction.left == crate::restrict::restriction::LeftKind::Single {
                    return Ok(vec![item]);
                }
                let parts = fields(&item, width)?;
                parts.into_iter().map(|part| part.ok_or_else(|| null_in(restriction, schema))).collect()
            });
            lists.collect()
        }
    }
}

/// The values of an IN that filters one column: null ones match nothing and are left out.
pub(crate) fn filter_list(
    operands: &Operands,
    restriction: &Restriction,
    schema: &TableSchema,
    cx: &EvalContext<'_>,
) -> Result<Vec<Bytes>> {
    match operands {
        Operands::List(items) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                values.extend(parts(item, restriction, schema, Words::Filter, cx)?.into_iter().flatten());
            }
            Ok(values)
        }
        Operands::Marker(term) => {
            Ok(marker_items(term, restriction, schema, cx)?.into_iter().flatten().collect())
        }
    }
}

fn marker_items(
    term: &Term,
    restriction: &Restriction,
    schema: &TableSchema,
    cx: &EvalContext<'_>,
) -> Result<Vec<Option<Bytes>>> {
    let names = restriction.names(schema);
    let word = if restriction.columns.len() == 1 { "column" } else { "columns:" };
    if term.is_unset(cx) {
        let what = match restriction.columns.len() {
            1 => format!("column {names}"),
            _ => format!("in({})", names.replace(", ", ",")),
        };
        return Err(CqlError::invalid(format!("Invalid unset value for {what}")));
    }
    let list = term.eval_list(cx)?;
    list.ok_or_else(|| CqlError::invalid(format!("Invalid null value for {word} {names}")))
}

fn null_in(restriction: &Restriction, schema: &TableSchema) -> CqlError {
    let names = restriction.names(schema);
    match restriction.columns.len() {
        1 => Words::Key.null(&names),
        _ => CqlError::invalid(format!("Invalid null value in condition for columns: [{names}]")),
    }
}

pub(crate) fn column_name<'a>(restriction: &Restriction, i: usize, schema: &'a TableSchema) -> &'a str {
    let place = restriction.columns.get(i).copied().unwrap_or_default();
    schema.columns().get(place).map_or("?", |column| column.name.as_str())
}

/// A value as CQL writes it, for messages.
pub(crate) fn literal(wire: &[u8], ty: &CqlType) -> String {
    match codec::decode(wire, ty) {
        Ok(value) => value.literal().to_string(),
        Err(_) => format!("0x{}", wire.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

/// The fields of a serialised tuple; missing ones are null.
pub(crate) fn fields(tuple: &[u8], width: usize) -> Result<Vec<Option<Bytes>>> {
    let mut all = split(tuple, &CqlType::Tuple(Vec::new()))?;
    if all.len() > width {
        return Err(CqlError::invalid(format!(
            "Tuple value contained too many fields (expected {width}, got {})",
            all.len()
        )));
    }
    all.resize(width, None);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_short_by_fields_has_nulls_and_one_of_too_many_is_refused() {
        let tuple = [0, 0, 0, 1, 9, 0, 0, 0, 0];
        assert_eq!(fields(&tuple, 3).unwrap(), [Some(Bytes::new(&[9])), Some(Bytes::EMPTY), None]);
        assert!(fields(&tuple, 1).is_err());
    }
}
