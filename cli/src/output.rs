//! Rows on standard output: as a table for people, CSV or JSON lines for programs.
//!
//! A [`Printer`] takes rows one by one. CSV and JSON are written as they come; a table is set in chunks, so that a scan of any length
//! needs little memory.

use crate::failure::Outcome;
use crate::values;
use clap::ValueEnum;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::Map;
use skep::{CqlType, Row, Value};
use std::io::{BufWriter, Write};

/// Rows of a table that are set together; the next chunk may get other widths.
const CHUNK: usize = 1000;

/// How rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people, with the number of rows
    #[default]
    Table,
    /// CSV with a header line
    Csv,
    /// One JSON object a line
    #[value(alias = "jsonl")]
    Json,
}

/// Prints rows.
pub(crate) struct Printer<W: Write> {
    format: Format,
    /// Name, and whether it is a number (set to the right).
    columns: Vec<(String, bool)>,
    /// Which columns may be broken into lines.
    breakable: Vec<bool>,
    out: BufWriter<W>,
    chunk: Vec<Vec<String>>,
    rows: u64,
    line: String,
    /// Say the number of rows below a table.
    totals: bool,
    /// Characters that a table may be wide; None: as wide as its values.
    width: Option<u16>,
}

impl<W: Write> Printer<W> {
    /// A printer of rows with these columns.
    pub(crate) fn new<'a>(
        format: Format,
        columns: impl Iterator<Item = (&'a str, &'a CqlType)>,
        out: W,
    ) -> Outcome<Self> {
        let mut printer = Self::of_page(format, columns, out);
        printer.totals = true;
        if format == Format::Csv {
            printer.put_header()?;
        }
        Ok(printer)
    }

    /// A printer of a further page: without the header of CSV, and without a count below a table.
    pub(crate) fn of_page<'a>(
        format: Format,
        columns: impl Iterator<Item = (&'a str, &'a CqlType)>,
        out: W,
    ) -> Self {
        let (columns, breakable): (Vec<_>, Vec<_>) =
            columns.map(|(name, ty)| ((name.to_owned(), is_number(ty)), is_breakable(ty))).unzip();
        let (out, line) = (BufWriter::with_capacity(1 << 16, out), String::new());
        Self { format, columns, breakable, out, chunk: Vec::new(), rows: 0, line, totals: false, width: None }
    }

    /// Breaks values over several lines where a table would be wider than this.
    pub(crate) fn fit(mut self, width: Option<u16>) -> Self {
        self.width = width;
        self
    }

    /// Writes the line of names that CSV begins with.
    pub(crate) fn put_header(&mut self) -> Outcome {
        self.put_line(|columns, line| {
            for (i, (name, _)) in columns.iter().enumerate() {
                line.push_str(if i == 0 { "" } else { "," });
                values::put_csv_text(name, line);
            }
        })
    }

    /// Prints a row with a value for each column.
    pub(crate) fn row(&mut self, row: &Row) -> Outcome {
        let values = (0..self.columns.len()).map(|i| row.value(i)).collect::<skep::Result<Vec<_>>>()?;
        self.values(&values)
    }

    /// Prints the values of a row, as many as there are columns.
    pub(crate) fn values(&mut self, values: &[Option<Value>]) -> Outcome {
        self.rows += 1;
        match self.format {
            Format::Table => {
                self.chunk.push(values.iter().map(|value| cell(value.as_ref())).collect());
                if self.chunk.len() == CHUNK { self.print_chunk() } else { Ok(()) }
            }
            Format::Csv => self.put_line(|_, line| {
                for (i, value) in values.iter().enumerate() {
                    line.push_str(if i == 0 { "" } else { "," });
                    values::put_csv(value.as_ref(), line);
                }
            }),
            Format::Json => self.put_line(|columns, line| {
                let fields = columns.iter().zip(values);
                let object: Map<_, _> =
                    fields.map(|((name, _), value)| (name.clone(), values::json(value.as_ref()))).collect();
                line.push_str(&serde_json::Value::Object(object).to_string());
            }),
        }
    }

    /// Prints what is left and returns the number of rows.
    pub(crate) fn finish(mut self) -> Outcome<u64> {
        if self.format == Format::Table {
            if self.rows == 0 || !self.chunk.is_empty() {
                self.print_chunk()?;
            }
            if self.totals {
                let plural = if self.rows == 1 { "" } else { "s" };
                writeln!(self.out, "({} row{plural})", self.rows)?;
            }
        }
        self.out.flush()?;
        Ok(self.rows)
    }

    fn put_line(&mut self, fill: impl FnOnce(&[(String, bool)], &mut String)) -> Outcome {
        self.line.clear();
        fill(&self.columns, &mut self.line);
        self.line.push('\n');
        Ok(self.out.write_all(self.line.as_bytes())?)
    }

    fn print_chunk(&mut self) -> Outcome {
        let mut table = Table::new();
        table.load_style(presets::ASCII_FULL_CONDENSED);
        if let Some(width) = self.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        table.set_header(self.columns.iter().map(|(name, _)| name.as_str()));
        for row in self.chunk.drain(..) {
            table.add_row(row);
        }
        for (column, breakable) in table.column_iter_mut().zip(&self.breakable) {
            if self.width.is_some() && !breakable {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for (column, (_, number)) in table.column_iter_mut().zip(&self.columns) {
            if *number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Ok(writeln!(self.out, "{table}")?)
    }
}

/// A value in a table: one line, whatever it holds.
pub(crate) fn cell(value: Option<&Value>) -> String {
    match value {
        None => "null".to_owned(),
        Some(value) => value.to_string().chars().fold(String::new(), |mut text, c| {
            if c.is_control() {
                text.extend(c.escape_default())
            } else {
                text.push(c)
            }
            text
        }),
    }
}

/// Whether a value can be read when it stands on several lines: texts and collections, not numbers and times.
pub(crate) fn is_breakable(ty: &CqlType) -> bool {
    matches!(
        ty.unfrozen(),
        CqlType::Text
            | CqlType::Ascii
            | CqlType::Blob
            | CqlType::List(_)
            | CqlType::Set(_)
            | CqlType::Map(..)
            | CqlType::Tuple(_)
            | CqlType::Udt(_)
            | CqlType::Vector(..)
    )
}

fn is_number(ty: &CqlType) -> bool {
    matches!(
        ty,
        CqlType::Tinyint
            | CqlType::Smallint
            | CqlType::Int
            | CqlType::Bigint
            | CqlType::Counter
            | CqlType::Varint
            | CqlType::Decimal
            | CqlType::Double
            | CqlType::Float
    )
}

/// Prints a line. (`println!` would panic when the reader goes away.)
pub(crate) fn say(text: impl std::fmt::Display) -> Outcome {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// A table of texts for people; columns in `right` are set to the right.
pub(crate) fn text_table(header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_FULL_CONDENSED);
    table.set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for i in right {
        if let Some(column) = table.column_mut(*i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Bytes for people: `812 B`, `3.4 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    if count < 1024 {
        return format!("{count} B");
    }
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", units[unit])
}

/// A number with its thousands apart: `12 345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 file`, `12 files`.
pub(crate) fn things(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A point in time given in microseconds, for people.
pub(crate) fn micros(micros: i64) -> String {
    skep::Timestamp::from_millis(micros.div_euclid(1000)).to_string()
}

/// A point in time given in seconds; the last one there is means never.
pub(crate) fn second(second: i64) -> String {
    match second {
        skep::model::life::NEVER => "never".to_owned(),
        second => skep::Timestamp::from_millis(second.saturating_mul(1000)).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_read_well() {
        assert_eq!(
            (bytes(1023), bytes(1536), bytes(5 << 30)),
            ("1023 B".into(), "1.5 KiB".into(), "5.0 GiB".into())
        );
        assert_eq!(
            (count(7), count(1234), count(162_568_000)),
            ("7".into(), "1 234".into(), "162 568 000".into())
        );
    }

    #[test]
    fn a_cell_of_a_table_is_one_line() {
        assert_eq!(cell(Some(&Value::Text("a\nb\u{1b}".into()))), "a\\nb\\u{1b}");
        assert_eq!(cell(None), "null");
    }
}
