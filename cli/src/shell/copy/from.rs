//! COPY FROM: CSV into a table, through prepared statements.
//!
//! A field that is null leaves its column unset: no tombstone is written for what the file does not hold. Bad lines are counted, kept in
//! ERRFILE if one is named, and end the command when there are too many.

use crate::failure::{Failure, Outcome};
use crate::import::reader::{CsvReader, Record};
use crate::output::{count, things};
use crate::shell::copy::Copy;
use crate::shell::copy::form::Form;
use skep::cql::{Bound, Parameters, Session};
use skep::model::codec;
use skep::model::text_parse::parse_text;
use skep::{ColumnKind, CqlType};
use std::fs::File;
use std::io::{Read, Write, stdin};
use std::path::Path;

/// How the empty value of a type without an ordinary one is written.
const EMPTY: &str = "''";
/// Bad lines that are told one by one.
const TOLD: u64 = 5;

/// Reads the rows; what was done.
pub(super) fn run(session: &Session, copy: &Copy) -> Outcome<String> {
    let path = Path::new(copy.file.as_deref().unwrap_or("standard input"));
    let input: Box<dyn Read> = match &copy.file {
        None => Box::new(stdin()),
        Some(_) => Box::new(File::open(path).map_err(|error| Failure::io("open it", path, &error))?),
    };
    let mut reader =
        CsvReader::with_quotes(input, copy.options.delimiter, copy.options.quote, copy.options.escape);
    let mut record = Record::default();
    let mut load = Load::new(session, copy)?;
    let mut left = copy.options.skip_rows;
    let mut first = copy.options.header;
    while reader.read(&mut record).map_err(|error| Failure::io("read it", path, &error))? {
        if first {
            first = false;
            load.header(&record)?;
            continue;
        }
        if left > 0 {
            left -= 1;
            continue;
        }
        if copy.options.max_rows.is_some_and(|most| load.rows >= most) {
            break;
        }
        load.record(&record)?;
    }
    load.finish()
}

struct Load<'a> {
    session: &'a Session,
    copy: &'a Copy,
    /// What each field is: its column, None to leave it out.
    fields: Vec<Option<(String, CqlType)>>,
    form: Form,
    /// For partitions without rows.
    partitions: Option<Form>,
    /// The fields that only rows have.
    of_rows: Vec<usize>,
    rows: u64,
    parse_errors: u64,
    insert_errors: u64,
    error_file: Option<File>,
    parameters: Parameters,
}

impl<'a> Load<'a> {
    fn new(session: &'a Session, copy: &'a Copy) -> Outcome<Self> {
        let schema = copy.table.schema();
        let kept = |name: &String| !copy.options.skip_columns.contains(name);
        for name in &copy.options.skip_columns {
            if !copy.columns.contains(name) {
                return Err(Failure::new(format!("SKIPCOLS names {name}, which is none of the columns")));
            }
        }
        let field = |name: &String| {
            let column = schema.column(name).filter(|_| kept(name))?;
            Some((name.clone(), column.ty.clone()))
        };
        let fields: Vec<_> = copy.columns.iter().map(field).collect();
        let used: Vec<&(String, CqlType)> = fields.iter().flatten().collect();
        for column in schema.partition_key() {
            if !used.iter().any(|(name, _)| *name == column.name) {
                return Err(Failure::new(format!(
                    "the file has no field for {}, which is part of the key",
                    column.name
                )));
            }
        }
        let numbered = |test: &dyn Fn(ColumnKind) -> bool| -> Vec<(usize, &str)> {
            let names =
                fields.iter().enumerate().filter_map(|(i, field)| Some((i, field.as_ref()?.0.as_str())));
            names.filter(|(_, name)| schema.column(name).is_some_and(|column| test(column.kind))).collect()
        };
        let rows = Form::new(session, &schema, &numbered(&|_| true), copy.options.ttl)?;
        let of_rows = numbered(&|kind| matches!(kind, ColumnKind::Clustering(_) | ColumnKind::Regular));
        let of_partitions = numbered(&|kind| matches!(kind, ColumnKind::PartitionKey | ColumnKind::Static));
        let has_statics = of_partitions.len() > schema.partition_key().len();
        let partitions = match has_statics && !of_rows.is_empty() {
            true => Some(Form::new(session, &schema, &of_partitions, copy.options.ttl)?),
            false => None,
        };
        let of_rows = of_rows.into_iter().map(|(i, _)| i).collect();
        let error_file = match &copy.options.error_file {
            None => None,
            Some(name) => {
                let path = Path::new(name);
                Some(File::create(path).map_err(|error| Failure::io("create it", path, &error))?)
            }
        };
        Ok(Self {
            session,
            copy,
            fields,
            form: rows,
            partitions,
            of_rows,
            rows: 0,
            parse_errors: 0,
            insert_errors: 0,
            error_file,
            parameters: Parameters::default(),
        })
    }

    /// A header must name the columns as they were given, or it is a file for something else.
    fn header(&self, record: &Record) -> Outcome {
        let names: Vec<_> =
            (0..record.len()).map(|i| String::from_utf8_lossy(record.field(i)).into_owned()).collect();
        match names == self.copy.columns {
            true => Ok(()),
            false => Err(Failure::new(format!(
                "the file's header is {}, the columns are {}; name the columns in the file's order: COPY t ({}) FROM ...",
                names.join(", "),
                self.copy.columns.join(", "),
                names.join(", ")
            ))),
        }
    }

    fn record(&mut self, record: &Record) -> Outcome {
        self.rows += 1;
        let has_row = self.of_rows.iter().any(|field| !self.is_null(record, *field));
        let partition = self.partitions.is_some() && !has_row && record.len() == self.fields.len();
        let form = match &self.partitions {
            Some(form) if partition => form,
            _ => &self.form,
        };
        let mut binds = match self.binds(record, &form.fields) {
            Ok(binds) => binds,
            Err(text) => {
                self.parse_errors += 1;
                self.bad(record, &text, self.parse_errors)?;
                return too_many(
                    self.parse_errors,
                    self.copy.options.max_parse_errors,
                    "lines that cannot be read",
                );
            }
        };
        let form = match &mut self.partitions {
            Some(form) if partition => form,
            _ => &mut self.form,
        };
        form.once(&mut binds);
        if let Err(error) = self.session.run(&form.statement, &binds, &self.parameters) {
            self.insert_errors += 1;
            self.bad(record, error.message(), self.insert_errors)?;
            return too_many(
                self.insert_errors,
                self.copy.options.max_insert_errors,
                "rows that were refused",
            );
        }
        Ok(())
    }

    fn binds(&self, record: &Record, fields: &[usize]) -> Result<Vec<Bound>, String> {
        if record.len() != self.fields.len() {
            return Err(format!("{}, {} expected", things(record.len() as u64, "field"), self.fields.len()));
        }
        let mut binds = Vec::with_capacity(fields.len());
        for i in fields {
            let Some(Some((name, ty))) = self.fields.get(*i) else { continue };
            binds.push(self.bind(record, *i, ty).map_err(|text| format!("column {name}: {text}"))?);
        }
        Ok(binds)
    }

    fn is_null(&self, record: &Record, i: usize) -> bool {
        i < record.len() && record.field(i) == self.copy.options.null.as_bytes() && !record.is_quoted(i)
    }

    fn bind(&self, record: &Record, i: usize, ty: &CqlType) -> Result<Bound, String> {
        let options = &self.copy.options;
        let text = std::str::from_utf8(record.field(i)).map_err(|_| "the field is not UTF-8".to_owned())?;
        if self.is_null(record, i) {
            return Ok(Bound::Unset);
        }
        if text == EMPTY && !ty.is_stringlike() && ty.allows_empty() {
            return Ok(Bound::Value(skep::model::bytes::Bytes::EMPTY));
        }
        let (yes, no) = &options.booleans;
        let text = match ty {
            CqlType::Boolean if text.eq_ignore_ascii_case(yes) => "true".to_owned(),
            CqlType::Boolean if text.eq_ignore_ascii_case(no) => "false".to_owned(),
            _ if options.is_plain() || !is_number(ty) => text.to_owned(),
            _ => options.plain_number(text),
        };
        let value = parse_text(&text, ty).map_err(|error| error.message().to_owned())?;
        let bytes = codec::to_bytes(&value, ty).map_err(|error| error.message().to_owned())?;
        Ok(Bound::Value(bytes.into()))
    }

    fn bad(&mut self, record: &Record, text: &str, number: u64) -> Outcome {
        if number <= TOLD {
            writeln!(std::io::stderr(), "line {}: {text}", record.line)?;
        }
        let Some(file) = &mut self.error_file else { return Ok(()) };
        for i in 0..record.len() {
            if i > 0 {
                file.write_all(&[self.copy.options.delimiter])?;
            }
            // As it was in the file, so that the lines can be read again when they are mended.
            let (quote, escape) = (self.copy.options.quote, self.copy.options.escape);
            if !record.is_quoted(i) {
                file.write_all(record.field(i))?;
                continue;
            }
            let mut field = vec![quote];
            for byte in record.field(i) {
                if [quote, escape].contains(byte) {
                    field.push(escape);
                }
                field.push(*byte);
            }
            field.push(quote);
            file.write_all(&field)?;
        }
        Ok(file.write_all(b"\n")?)
    }

    fn finish(self) -> Outcome<String> {
        let bad = self.parse_errors + self.insert_errors;
        let text = format!("{} read into {}", things(self.rows - bad, "row"), self.copy.table.name());
        match bad {
            0 if self.rows == 0 => Ok(format!("{text}: the file has no rows")),
            0 => Ok(text),
            bad => Err(Failure::new(format!("{text}, {} refused", things(bad, "line")))),
        }
    }
}

fn too_many(errors: u64, limit: Option<u64>, what: &str) -> Outcome {
    match limit {
        Some(limit) if errors > limit => Err(Failure::new(format!(
            "more than {} {what}; what was read before is in the table",
            count(limit)
        ))),
        _ => Ok(()),
    }
}

fn is_number(ty: &CqlType) -> bool {
    use CqlType::{Bigint, Counter, Decimal, Double, Float, Int, Smallint, Tinyint, Varint};
    matches!(ty, Bigint | Counter | Decimal | Double | Float | Int | Smallint | Tinyint | Varint)
}
