//! Rows of an answer on a terminal or into a file: tables, expanded rows, CSV, JSON, the texts of DESCRIBE.
//!
//! The forms of single values are those of `skep scan` and `skep export` (`output`, `values`).

use crate::failure::Outcome;
use crate::output::{Format, Printer};
use crate::shell::settings::Settings;
use skep::cql::{ColumnSpec, Wire};
use skep::model::codec;
use skep::{CqlType, Value};
use std::io::Write;

/// The columns of what DESCRIBE answers.
const DESCRIBE: [&str; 4] = ["keyspace_name", "type", "name", "create_statement"];

/// A row's values, decoded.
///
/// # Errors
/// Bytes that are no value of the column's type.
pub(crate) fn decode(row: &[Wire], columns: &[ColumnSpec]) -> Outcome<Vec<Option<Value>>> {
    let value = |(wire, column): (&Wire, &ColumnSpec)| {
        Ok(match wire {
            None => None,
            Some(bytes) => Some(codec::decode(bytes, &column.ty)?),
        })
    };
    row.iter().zip(columns).map(value).collect()
}

/// Writes a page of rows; the number of rows is said by the caller.
pub(crate) fn rows(
    settings: &Settings,
    columns: &[ColumnSpec],
    rows: &[Vec<Wire>],
    first_page: bool,
    before: usize,
    out: &mut dyn Write,
) -> Outcome {
    if is_text(columns) && settings.format == Format::Table {
        return describe(columns, rows, out);
    }
    if settings.expand && settings.format == Format::Table {
        return expanded(columns, rows, before, out);
    }
    let specs = columns.iter().map(|column| (column.name.as_str(), &column.ty));
    let mut printer = Printer::of_page(settings.format, specs, out);
    if first_page && settings.format == Format::Csv {
        printer.put_header()?;
    }
    for row in rows {
        printer.values(&decode(row, columns)?)?;
    }
    printer.finish().map(|_| ())
}

/// Definitions are shown as they are, so that they can be run again.
fn describe(columns: &[ColumnSpec], rows: &[Vec<Wire>], out: &mut dyn Write) -> Outcome {
    for row in rows {
        if let Some(Some(Value::Text(text))) = decode(row, columns)?.pop() {
            writeln!(out, "\n{text}")?;
        }
    }
    Ok(writeln!(out)?)
}

fn expanded(columns: &[ColumnSpec], rows: &[Vec<Wire>], before: usize, out: &mut dyn Write) -> Outcome {
    let width = columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    for (i, row) in rows.iter().enumerate() {
        writeln!(out, "\n@ Row {}", before + i + 1)?;
        for (value, column) in decode(row, columns)?.iter().zip(columns) {
            let space = width - column.name.chars().count();
            let text = crate::output::cell(value.as_ref());
            writeln!(out, " {}{:space$} | {text}", column.name, "")?;
        }
    }
    Ok(())
}

/// Whether an answer is that of a conditional write, whose table has no use for a count of rows.
pub(crate) fn is_conditional(columns: &[ColumnSpec]) -> bool {
    columns.first().is_some_and(|column| column.name == "[applied]" && column.ty == CqlType::Boolean)
}

/// Whether an answer is DESCRIBE's, which is shown as text.
pub(crate) fn is_text(columns: &[ColumnSpec]) -> bool {
    columns.len() == DESCRIBE.len() && columns.iter().zip(DESCRIBE).all(|(column, name)| column.name == name)
}
