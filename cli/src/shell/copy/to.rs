//! COPY TO: the rows of a table as CSV, in token order, in one snapshot.

use crate::failure::{Failure, Outcome};
use crate::output::things;
use crate::shell::copy::Copy;
use crate::shell::copy::options::Options;
use skep::model::key::TokenRange;
use skep::{Row, Token, Value};
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

/// How the empty value of a type without an ordinary one is written, as in `skep export`.
const EMPTY: &str = "''";

/// Writes the rows; what was done.
pub(super) fn run(copy: &Copy) -> Outcome<String> {
    let names: Vec<&str> = copy.columns.iter().map(String::as_str).collect();
    let tokens = TokenRange {
        first: copy.options.tokens.0.map_or(TokenRange::ALL.first, Token),
        last: copy.options.tokens.1.map_or(TokenRange::ALL.last, Token),
    };
    let rows = copy.table.scan().tokens(tokens).columns(&names).rows()?;
    let mut out = Out { copy, file: 0, rows: 0, writer: open(copy.file.as_deref())? };
    out.header()?;
    let mut written = 0;
    for row in rows {
        if copy.options.max_rows.is_some_and(|most| written >= most) {
            break;
        }
        out.row(&row?)?;
        written += 1;
    }
    out.flush()?;
    let to = copy.file.as_deref().unwrap_or("standard output");
    let files =
        if out.file == 0 { String::new() } else { format!(" and {}", things(out.file, "further file")) };
    Ok(format!("{} of {} written to {to}{files}", things(written, "row"), copy.table.name()))
}

fn open(file: Option<&str>) -> Outcome<BufWriter<Box<dyn Write>>> {
    Ok(BufWriter::new(match file {
        None => Box::new(stdout()),
        Some(name) => {
            let path = Path::new(name);
            Box::new(File::create(path).map_err(|error| Failure::io("create it", path, &error))?)
        }
    }))
}

struct Out<'a> {
    copy: &'a Copy,
    /// Number of the current file, behind the first.
    file: u64,
    /// Rows in it.
    rows: u64,
    writer: BufWriter<Box<dyn Write>>,
}

impl Out<'_> {
    fn header(&mut self) -> Outcome {
        let options = &self.copy.options;
        if !options.header {
            return Ok(());
        }
        let mut line = Vec::new();
        for (i, name) in self.copy.columns.iter().enumerate() {
            if i > 0 {
                line.push(options.delimiter);
            }
            put_text(name, options, &mut line);
        }
        line.push(b'\n');
        let written = self.writer.write_all(&line);
        self.told(written)
    }

    fn flush(&mut self) -> Outcome {
        let flushed = self.writer.flush();
        self.told(flushed)
    }

    /// What the operating system said, with the file that it is about.
    fn told(&self, written: std::io::Result<()>) -> Outcome {
        let Some(name) = &self.copy.file else { return Ok(written?) };
        let name = if self.file == 0 { name.clone() } else { format!("{name}.{}", self.file) };
        written.map_err(|error| Failure::io("write it", Path::new(&name), &error))
    }

    fn row(&mut self, row: &Row) -> Outcome {
        let options = &self.copy.options;
        if options.max_output == Some(self.rows)
            && let Some(name) = &self.copy.file
        {
            self.flush()?;
            self.file += 1;
            self.writer = open(Some(&format!("{name}.{}", self.file)))?;
            self.rows = 0;
            self.header()?;
        }
        let mut line = Vec::new();
        for i in 0..self.copy.columns.len() {
            if i > 0 {
                line.push(options.delimiter);
            }
            put(row.value(i)?.as_ref(), options, &mut line);
        }
        line.push(b'\n');
        self.rows += 1;
        let written = self.writer.write_all(&line);
        self.told(written)
    }
}

/// Appends a value as a field.
fn put(value: Option<&Value>, options: &Options, line: &mut Vec<u8>) {
    match value {
        None => line.extend_from_slice(options.null.as_bytes()),
        Some(Value::Empty) => line.extend_from_slice(EMPTY.as_bytes()),
        Some(Value::Boolean(truth)) => {
            let (yes, no) = &options.booleans;
            put_text(if *truth { yes } else { no }, options, line);
        }
        Some(Value::Float(number)) if options.precision.0.is_some() && number.is_finite() => {
            put_number(&significant((*number).into(), options.precision.0.unwrap_or(9)), options, line);
        }
        Some(Value::Double(number)) if options.precision.1.is_some() && number.is_finite() => {
            put_number(&significant(*number, options.precision.1.unwrap_or(17)), options, line);
        }
        Some(
            number @ (Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Tinyint(_)
            | Value::Smallint(_)
            | Value::Int(_)
            | Value::Bigint(_)
            | Value::Varint(_)),
        ) => put_number(&number.to_string(), options, line),
        Some(other) => put_text(&other.to_string(), options, line),
    }
}

/// A number with so many significant digits.
fn significant(number: f64, digits: usize) -> String {
    let rounded: f64 = format!("{number:.*e}", digits.clamp(1, 17) - 1).parse().unwrap_or(number);
    format!("{rounded:?}")
}

fn put_number(text: &str, options: &Options, line: &mut Vec<u8>) {
    if options.is_plain() {
        return put_text(text, options, line);
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let mut shown = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if let Some(separator) = options.thousands
            && i > 0
            && (whole.len() - i) % 3 == 0
        {
            shown.push(separator);
        }
        shown.push(digit);
    }
    shown.push_str(&rest.replacen('.', &options.decimal.to_string(), 1));
    put_text(&shown, options, line);
}

/// Appends text as a field, in quotes where it would be taken for something else without.
fn put_text(text: &str, options: &Options, line: &mut Vec<u8>) {
    let special = |byte: &u8| {
        matches!(byte, b'\n' | b'\r') || [options.delimiter, options.quote, options.escape].contains(byte)
    };
    if !text.is_empty() && text != options.null && !text.bytes().any(|byte| special(&byte)) {
        return line.extend_from_slice(text.as_bytes());
    }
    line.push(options.quote);
    for byte in text.bytes() {
        if byte == options.quote || byte == options.escape {
            line.push(options.escape);
        }
        line.push(byte);
    }
    line.push(options.quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(value: Option<Value>, options: &Options) -> String {
        let mut line = Vec::new();
        put(value.as_ref(), options, &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn what_could_be_taken_for_null_is_quoted() {
        let options = Options { null: "n".into(), ..Options::default() };
        assert_eq!(field(None, &options), "n");
        assert_eq!(field(Some(Value::Text("n".into())), &options), "\"n\"");
        assert_eq!(field(Some(Value::Text(String::new())), &options), "\"\"");
        assert_eq!(field(Some(Value::Empty), &options), "''");
        let escaped = Options { escape: b'\\', ..options };
        assert_eq!(field(Some(Value::Text("a\"b\\".into())), &escaped), "\"a\\\"b\\\\\"");
    }

    #[test]
    fn numbers_follow_the_separators_and_precisions() {
        let options = Options { decimal: ',', thousands: Some('.'), delimiter: b';', ..Options::default() };
        assert_eq!(field(Some(Value::Double(-1_234_567.5)), &options), "-1.234.567,5");
        assert_eq!(field(Some(Value::Int(123)), &options), "123");
        let precise = Options { precision: (None, Some(3)), ..Options::default() };
        assert_eq!(field(Some(Value::Double(2.0 / 3.0)), &precise), "0.667");
        assert_eq!(field(Some(Value::Double(0.1)), &Options::default()), "0.1");
    }
}
