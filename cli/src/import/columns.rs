//! Where each column of a row comes from: a field of the file, a value given on the command line, the file's name, the day of a time.

use crate::failure::{Failure, Outcome};
use crate::import::Args;
use crate::import::reader::Record;
use crate::values::argument;
use skep::model::schema::Column;
use skep::{Arg, ColumnKind, CqlType, TableSchema, Timestamp};
use std::path::Path;

/// The source of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// A field of the record.
    Field(usize),
    /// The same text for all rows.
    Text(String),
    /// The day of the timestamp column at this place.
    DayOf(usize),
    /// Nothing: the column is left alone.
    Absent,
}

/// How records of one file become rows.
#[derive(Debug)]
pub(super) struct Plan<'s> {
    /// In declared order.
    columns: Vec<(&'s Column, Origin)>,
    /// The field with the write time.
    write_time: Option<usize>,
    fields: usize,
    null: &'s str,
    unit: Unit,
}

/// What a number stands for in a timestamp column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Unit {
    /// Seconds
    S,
    /// Milliseconds
    #[default]
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

impl Unit {
    /// The timestamp that `text` spells: a number of this unit, or a date with a time.
    pub(super) fn timestamp(self, text: &str) -> skep::Result<Timestamp> {
        match (self, text.parse::<i64>()) {
            (Self::Ms, _) | (_, Err(_)) => Timestamp::parse(text),
            (Self::S, Ok(number)) => number
                .checked_mul(1000)
                .map(Timestamp::from_millis)
                .ok_or_else(|| skep::Error::invalid(format!("{number} seconds are out of range"))),
            (Self::Us, Ok(number)) => Ok(Timestamp::from_millis(number.div_euclid(1000))),
            (Self::Ns, Ok(number)) => Ok(Timestamp::from_millis(number.div_euclid(1_000_000))),
        }
    }
}

/// `a=b` of an option.
pub(super) fn pair<'a>(option: &str, text: &'a str) -> Outcome<(&'a str, &'a str)> {
    text.split_once('=').ok_or_else(|| Failure::new(format!("--{option} {text}: a '=' is missing")))
}

/// A header as the name of a column: lower case, everything but letters and digits a `_`.
pub(super) fn column_name(header: &str) -> String {
    header.trim().chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// What a header is mapped to by `--map`.
pub(super) fn mapped<'a>(args: &'a Args, header: &str) -> Outcome<Option<&'a str>> {
    for map in &args.map {
        let (from, to) = pair("map", map)?;
        if from.eq_ignore_ascii_case(header.trim()) {
            return Ok(Some(to));
        }
    }
    Ok(None)
}

impl<'s> Plan<'s> {
    /// The plan for a file with these headers.
    pub(super) fn new(
        args: &'s Args,
        schema: &'s TableSchema,
        file: &Path,
        headers: &[String],
    ) -> Outcome<Self> {
        let fail = |text: String| Failure::new(format!("{}: {text}", file.display()));
        let mut columns: Vec<_> = schema.declared().map(|column| (column, Origin::Absent)).collect();
        let mut write_time = None;
        for (i, header) in headers.iter().enumerate() {
            if args.timestamp_from.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(header.trim())) {
                write_time = Some(i);
                if find(schema, header).is_none() {
                    continue;
                }
            }
            let name = mapped(args, header)?;
            if name == Some("") {
                continue;
            }
            let column = find(schema, name.unwrap_or(header)).ok_or_else(|| {
                let hint = "map it with --map HEADER=COLUMN, or leave it out with --map HEADER=";
                fail(format!(
                    "field '{}' is no column of {} ({hint})",
                    name.unwrap_or(header),
                    schema.full_name()
                ))
            })?;
            let place = &mut columns[column];
            if place.1 != Origin::Absent {
                return Err(fail(format!("two fields are for column {}", place.0.name)));
            }
            place.1 = Origin::Field(i);
        }
        if let Some(name) = args.timestamp_from.as_ref().filter(|_| write_time.is_none()) {
            return Err(fail(format!("there is no field '{name}' (--timestamp-from)")));
        }
        let mut plan =
            Self { columns, write_time, fields: headers.len(), null: &args.null, unit: args.time_unit };
        plan.fill_key(args, file).map_err(|error| fail(error.to_string()))?;
        Ok(plan)
    }

    /// Finds sources for key columns that the file does not have.
    fn fill_key(&mut self, args: &Args, file: &Path) -> Outcome {
        let stem = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        for given in &args.key {
            let (name, value) = pair("key", given)?;
            *self.named(name)? = Origin::Text(value.to_owned());
        }
        if let Some(name) = &args.key_from_file {
            *self.named(name)? = Origin::Text(stem());
        }
        let times = |(column, origin): &(&Column, Origin)| {
            column.ty == CqlType::Timestamp
                && matches!(column.kind, ColumnKind::Clustering(_))
                && *origin != Origin::Absent
        };
        let time = self.columns.iter().position(times);
        let missing = |(column, origin): &&mut (&Column, Origin)| {
            *origin == Origin::Absent
                && matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_))
        };
        let mut named_by_file = None;
        // A file with static columns only has no clustering.
        let statics = self.columns.iter().any(|(c, o)| c.kind == ColumnKind::Static && *o != Origin::Absent);
        for (column, origin) in self.columns.iter_mut().filter(missing) {
            match (column.kind, &column.ty, time) {
                (_, CqlType::Date, Some(time)) => *origin = Origin::DayOf(time),
                (ColumnKind::PartitionKey, CqlType::Text | CqlType::Ascii, _) => {
                    if let Some(other) = named_by_file.replace(&column.name) {
                        let text = format!(
                            "{other} and {} are part of the key and no field is for them",
                            column.name
                        );
                        return Err(Failure::new(format!("{text} (give them with --key COLUMN=VALUE)")));
                    }
                    *origin = Origin::Text(stem());
                }
                (ColumnKind::Clustering(_), ..) if statics => {}
                _ => {
                    let text = format!("{} is part of the key and no field is for it", column.name);
                    return Err(Failure::new(format!("{text} (give it with --key COLUMN=VALUE)")));
                }
            }
        }
        Ok(())
    }

    fn named(&mut self, name: &str) -> Outcome<&mut Origin> {
        let found = self.columns.iter_mut().find(|(column, _)| column.name.eq_ignore_ascii_case(name));
        found.map(|(_, origin)| origin).ok_or_else(|| Failure::new(format!("the table has no column {name}")))
    }

    /// The values of a row in declared order, and its write time (micros) if the file has one.
    ///
    /// # Errors
    /// What is wrong with the record, in words.
    pub(super) fn row<'a>(&'a self, record: &'a Record) -> Result<(Vec<Arg<'a>>, Option<i64>), String> {
        if record.len() != self.fields {
            let s = if record.len() == 1 { "" } else { "s" };
            return Err(format!("{} field{s} where {} are expected", record.len(), self.fields));
        }
        let mut args = Vec::with_capacity(self.columns.len());
        for (column, origin) in &self.columns {
            let arg = match origin {
                Origin::Field(i) => self.field(record, *i, column)?,
                Origin::Text(text) => argument(text, &column.ty).map_err(|e| in_column(column, &e))?,
                Origin::DayOf(_) | Origin::Absent => Arg::Unset,
            };
            args.push(arg);
        }
        for i in 0..args.len() {
            if let Origin::DayOf(time) = self.columns[i].1
                && let Arg::Timestamp(time) = args[time]
            {
                args[i] = Arg::Date(time.date());
            }
        }
        let write_time = self.write_time.map(|i| self.write_time(record, i)).transpose()?;
        Ok((args, write_time))
    }

    fn field<'a>(&self, record: &'a Record, i: usize, column: &Column) -> Result<Arg<'a>, String> {
        if record.is_null(i) {
            return Ok(Arg::Unset);
        }
        let text = self.text(record, i).map_err(|error| format!("column {}: {error}", column.name))?;
        // A number in quotes that is empty is a missing number: some programs put everything in quotes.
        if (text.is_empty() && !column.ty.is_stringlike()) || (!self.null.is_empty() && text == self.null) {
            return Ok(Arg::Unset);
        }
        match column.ty {
            CqlType::Timestamp if text != "''" => self.unit.timestamp(text).map(Arg::Timestamp),
            _ => argument(text, &column.ty),
        }
        .map_err(|error| in_column(column, &error))
    }

    fn text<'a>(&self, record: &'a Record, i: usize) -> Result<&'a str, String> {
        std::str::from_utf8(record.field(i)).map_err(|_| "the text is not UTF-8".to_owned())
    }

    /// A write time: microseconds, or a date with a time.
    fn write_time(&self, record: &Record, i: usize) -> Result<i64, String> {
        let text = self.text(record, i)?;
        if let Ok(micros) = text.parse() {
            return Ok(micros);
        }
        let time = Timestamp::parse(text).map_err(|error| format!("write time: {}", error.message()))?;
        time.as_millis().checked_mul(1000).ok_or_else(|| format!("write time: {text} is out of range"))
    }
}

fn in_column(column: &Column, error: &skep::Error) -> String {
    format!("column {}: {}", column.name, error.message())
}

/// The declared place of the column that a header names: exactly, without regard to case, or as [`column_name`].
fn find(schema: &TableSchema, header: &str) -> Option<usize> {
    let place = |test: &dyn Fn(&str) -> bool| schema.declared().position(|column| test(&column.name));
    let header = header.trim();
    place(&|name| name == header)
        .or_else(|| place(&|name| name.eq_ignore_ascii_case(header)))
        .or_else(|| place(&|name| name == column_name(header)))
}
