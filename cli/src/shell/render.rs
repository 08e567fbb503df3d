//! Rows of an answer on a terminal or into a file: tables, expanded rows, CSV, JSON, the texts of DESCRIBE.
//!
//! The forms of single values are those of `skep scan` and `skep export` (`output`, `values`).

use crate::failure::Outcome;
use crate::output::{Format, Printer, cell, is_breakable};
use crate::shell::settings::Settings;
use skep::cql::{ColumnSpec, Wire};
use skep::model::codec;
use skep::{CqlType, Value};
use std::io::Write;

/// Characters that a column of texts needs to be read; where a terminal has fewer, rows are shown expanded.
const LEAST_WIDTH: usize = 12;

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
    let decoded = rows.iter().map(|row| decode(row, columns)).collect::<Outcome<Vec<_>>>()?;
    let (whole, least) = widths(columns, &decoded);
    let width = settings.width.filter(|width| whole > usize::from(*width));
    let crowded = width.is_some_and(|width| least > usize::from(width));
    if settings.format == Format::Table && (settings.expand || crowded) {
        return expanded(columns, &decoded, before, out);
    }
    let specs = columns.iter().map(|column| (column.name.as_str(), &column.ty));
    let mut printer = Printer::of_page(settings.format, specs, out).fit(width);
    if first_page && settings.format == Format::Csv {
        printer.put_header()?;
    }
    for row in &decoded {
        printer.values(row)?;
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

/// The characters that a table of these rows takes, and the least with which it can be read: some values stand on several lines then.
fn widths(columns: &[ColumnSpec], rows: &[Vec<Option<Value>>]) -> (usize, usize) {
    let (mut whole, mut least) = (1, 1);
    for (i, column) in columns.iter().enumerate() {
        let cells =
            rows.iter().filter_map(|row| row.get(i)).map(|value| cell(value.as_ref()).chars().count());
        let widest = cells.max().unwrap_or(0).max(column.name.chars().count());
        whole += widest + 3;
        least += 3 + if is_breakable(&column.ty) { widest.min(LEAST_WIDTH) } else { widest };
    }
    (whole, least)
}

fn expanded(
    columns: &[ColumnSpec],
    rows: &[Vec<Option<Value>>],
    before: usize,
    out: &mut dyn Write,
) -> Outcome {
    let width = columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    for (i, row) in rows.iter().enumerate() {
        writeln!(out, "\n@ Row {}", before + i + 1)?;
        for (value, column) in row.iter().zip(columns) {
            let space = width - column.name.chars().count();
            let text = cell(value.as_ref());
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

#[cfg(test)]
mod tests {
    use super::*;
    use skep::model::bytes::Bytes;

    fn shown(width: Option<u16>, columns: &[(&str, CqlType)], row: &[Wire]) -> String {
        let spec = |(name, ty): &(&str, CqlType)| ColumnSpec {
            keyspace: "k".into(),
            table: "t".into(),
            name: (*name).to_owned(),
            ty: ty.clone(),
        };
        let columns: Vec<_> = columns.iter().map(spec).collect();
        let settings = Settings { width, ..Settings::new(Format::Table) };
        let mut out = Vec::new();
        rows(&settings, &columns, &[row.to_vec()], true, 0, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tables_fit_the_terminal_and_numbers_are_not_broken() {
        let number = Some(Bytes::new(&1_796_085_747_286_548_i64.to_be_bytes()));
        let text = Some(Bytes::new("a few words that take more room than there is".as_bytes()));
        let columns = [("written", CqlType::Bigint), ("why", CqlType::Text)];
        let of = |width| shown(width, &columns, &[number.clone(), text.clone()]);
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest(&of(None)) > 60, "as wide as its values");
        assert_eq!(of(Some(200)), of(None));
        let narrow = of(Some(50));
        assert!(longest(&narrow) <= 50 && narrow.contains("1796085747286548"), "{narrow}");
        assert!(of(Some(30)).starts_with("\n@ Row 1\n"), "no room for a table: {}", of(Some(30)));
    }
}
