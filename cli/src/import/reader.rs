//! Reads CSV records with their line numbers, telling `""` from nothing.
//!
//! The parsing is csv-core's. What it does not tell, and what an exact round trip needs, is whether an empty field stood in quotes:
//! [`Record::is_null`] holds only for one that did not. A record may go over several lines; its number is that of its first.

use csv_core::{ReadFieldResult, ReaderBuilder};
use std::io::{self, Read};

/// The most bytes of one record. More means a quote that is never closed.
const MAX_RECORD: usize = 64 << 20;

/// One record.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The fields, back to back; longer than they are, so that the room is made once for all records.
    bytes: Vec<u8>,
    /// Where each field ends in `bytes`, and whether it stood in quotes.
    fields: Vec<(usize, bool)>,
    /// Number of its first line, from 1.
    pub(crate) line: u64,
}

impl Record {
    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Field `i`; empty if there are fewer.
    pub(crate) fn field(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).and_then(|before| self.fields.get(before)).map_or(0, |field| field.0);
        let end = self.fields.get(i).map_or(start, |field| field.0);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Whether field `i` stood in quotes.
    pub(crate) fn is_quoted(&self, i: usize) -> bool {
        self.fields.get(i).is_some_and(|field| field.1)
    }

    /// Whether field `i` is empty without quotes.
    pub(crate) fn is_null(&self, i: usize) -> bool {
        self.field(i).is_empty() && !self.is_quoted(i)
    }
}

/// Reads records.
pub(crate) struct CsvReader<R> {
    input: R,
    core: csv_core::Reader,
    quote: u8,
    buffer: Vec<u8>,
    /// What of `buffer` is not yet parsed.
    start: usize,
    end: usize,
    /// Bytes read from the input.
    bytes: u64,
    lines: u64,
}

impl<R: Read> CsvReader<R> {
    /// A reader of `input`, whose fields are separated by `delimiter`.
    pub(crate) fn new(input: R, delimiter: u8) -> Self {
        Self::with_quotes(input, delimiter, b'"', b'"')
    }

    /// A reader with another quote, and another character before quotes in quoted fields (the quote itself: they are doubled).
    pub(crate) fn with_quotes(input: R, delimiter: u8, quote: u8, escape: u8) -> Self {
        let escape = (escape != quote).then_some(escape);
        let core = ReaderBuilder::new()
            .delimiter(delimiter)
            .quote(quote)
            .escape(escape)
            .double_quote(escape.is_none())
            .build();
        Self { input, core, quote, buffer: vec![0; 1 << 16], start: 0, end: 0, bytes: 0, lines: 1 }
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the next record; `false` at the end. Blank lines are skipped.
    pub(crate) fn read(&mut self, record: &mut Record) -> io::Result<bool> {
        record.fields.clear();
        let (mut used, mut begun, mut quoted) = (0, false, None);
        loop {
            if self.start == self.end {
                self.end = self.input.read(&mut self.buffer)?;
                self.start = 0;
                self.bytes += self.end as u64;
            }
            if record.bytes.len() < used + 4096 {
                record.bytes.resize(used + (64 << 10), 0);
            }
            let input = &self.buffer[self.start..self.end];
            let (result, read, written) = self.core.read_field(input, &mut record.bytes[used..]);
            for byte in &input[..read] {
                // The first byte of a field tells whether it is quoted; line ends before a record belong to none.
                if !begun && !matches!(byte, b'\r' | b'\n') {
                    (begun, record.line) = (true, self.lines);
                }
                if begun && quoted.is_none() {
                    quoted = Some(*byte == self.quote);
                }
                self.lines += u64::from(*byte == b'\n');
            }
            self.start += read;
            used += written;
            if used > MAX_RECORD {
                let text =
                    format!("the record in line {} is over 64 MiB: is a quote not closed?", record.line);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => {
                    record.fields.push((used, quoted.take().unwrap_or(false)));
                    if record_end {
                        return Ok(true);
                    }
                }
                ReadFieldResult::End => return Ok(false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes out in pieces of `1`, so that every field is cut somewhere.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn records(text: &str, piece: usize) -> Vec<(u64, Vec<Option<String>>)> {
        let mut reader = CsvReader::new(Drip(text.as_bytes(), piece), b',');
        let (mut record, mut all) = (Record::default(), Vec::new());
        while reader.read(&mut record).unwrap() {
            let field =
                |i| (!record.is_null(i)).then(|| String::from_utf8(record.field(i).to_vec()).unwrap());
            all.push((record.line, (0..record.len()).map(field).collect()));
        }
        all
    }

    #[test]
    fn quotes_line_numbers_and_nulls_survive_any_cut() {
        let text = "a,b,c\r\n1,,\"\"\r\n\r\n\"x\n\"\"y\"\"\",2,\n,\"\",z";
        let some = |text: &str| Some(text.to_owned());
        let expected = vec![
            (1, vec![some("a"), some("b"), some("c")]),
            (2, vec![some("1"), None, some("")]),
            (4, vec![some("x\n\"y\""), some("2"), None]),
            (6, vec![None, some(""), some("z")]),
        ];
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(records(text, piece), expected, "in pieces of {piece}");
        }
    }
}
