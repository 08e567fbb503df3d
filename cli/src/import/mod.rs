//! `skep import`: CSV files into a table.
//!
//! ```text
//! reader       records with line numbers
//! columns      which field is which column; what the file lacks comes from its name, its times, the command line
//! create       a table's definition from what the files hold
//! duplicates   rows that replace earlier rows
//! report       bad lines, progress, the result
//! ```
//! Good lines are written through the engine's appender, bad ones are listed; with a bad line the command fails in the end, but
//! what was good is in the store.

mod columns;
mod create;
mod duplicates;
pub(crate) mod reader;
mod report;

use crate::failure::{Failure, Outcome};
use crate::import::columns::{Plan, Unit};
use crate::import::duplicates::{Duplicates, Seen};
use crate::import::reader::{CsvReader, Record};
use crate::import::report::Report;
use crate::output::say;
use crate::schema::definition;
use crate::span::parse_span;
use crate::store;
use skep::{Appender, Arg, CqlType, Db, ErrorKind, Table, TableSchema, With};
use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Records between two moves of the progress bar.
const STEP: u64 = 4096;

/// Arguments of `skep import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The store's directory
    dir: PathBuf,
    /// The table: `table`, or `keyspace.table`
    table: String,
    /// CSV files; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Make the table (and the store) if there is none: ((series, day), timestamp), newest first, in time windows
    #[arg(long)]
    create: bool,
    /// With --create: fields that name a series, instead of the file's name
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', requires = "create")]
    series: Vec<String>,
    /// With --create: the field to sort by
    #[arg(long, value_name = "HEADER", requires = "create")]
    time: Option<String>,
    /// With --create: the type of a column instead of the one that the values suggest
    #[arg(long, value_name = "COLUMN=TYPE", requires = "create")]
    r#type: Vec<String>,
    /// With --create: length of a time window, such as 1d, 6h, 30m
    #[arg(long, value_name = "SPAN", value_parser = parse_span, requires = "create")]
    window: Option<Duration>,
    /// How long the rows live, such as 90d; with --create also the table's default
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    ttl: Option<Duration>,
    /// The column that a field goes to; an empty COLUMN leaves the field out
    #[arg(long, value_name = "HEADER=COLUMN")]
    map: Vec<String>,
    /// A value for a column, the same for all rows
    #[arg(long, value_name = "COLUMN=VALUE")]
    key: Vec<String>,
    /// The column that gets the file's name, without its ending
    #[arg(long, value_name = "COLUMN")]
    key_from_file: Option<String>,
    /// The field with the rows' write times (microseconds, or dates with times)
    #[arg(long, value_name = "HEADER")]
    timestamp_from: Option<String>,
    /// What a number means in a timestamp column
    #[arg(long, value_enum, default_value_t)]
    time_unit: Unit,
    /// What separates fields; `\t` is a tab
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, default_value = ",")]
    delimiter: u8,
    /// The files have no header line: fields are the table's columns in order, or those of --columns
    #[arg(long)]
    no_header: bool,
    /// With --create: the first line is a header although it looks like data
    #[arg(long, requires = "create", conflicts_with = "no_header")]
    header: bool,
    /// Names of the fields of files without a header line
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', requires = "no_header")]
    columns: Vec<String>,
    /// A text that means null, besides the empty field
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    null: String,
    /// Records to leave out at the beginning of each file
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip: u64,
    /// At most so many records of each file
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte @ (0x09 | 0x20..0x7f)] if *byte != b'"' => Ok(*byte),
            _ => Err("one ASCII character is needed".to_owned()),
        },
    }
}

/// Imports the files.
pub(crate) fn run(args: &Args) -> Outcome {
    let total = args.files.iter().map(|file| length(file)).sum::<Outcome<u64>>()?;
    check_maps(args)?;
    let (db, table) = open(args)?;
    let schema = table.schema();
    let mut import = Import {
        args,
        counters: schema.columns().iter().any(|column| column.ty == CqlType::Counter),
        appender: table.appender(),
        with: args.ttl.map_or(With::DEFAULT, |ttl| With::DEFAULT.ttl(ttl)),
        duplicates: Duplicates::default(),
        report: Report::new(total),
        done: 0,
        table,
        schema,
    };
    let outcome = args.files.iter().try_for_each(|file| import.file(file));
    let Import { mut appender, report, duplicates, schema, table, .. } = import;
    let outcome = outcome.and(appender.commit().map_err(Failure::from));
    drop((appender, table));
    let text = report.finish(&schema.full_name(), args.files.len(), duplicates.repeated, duplicates.partial);
    say(text.trim_end())?;
    outcome.and(store::close(&db))?;
    match report.bad {
        0 => Ok(()),
        bad => Err(Failure::new(format!(
            "{bad} of {} records were refused, the others are imported",
            report.read
        ))),
    }
}

/// Opens the store and the table, making what is missing when asked to.
fn open(args: &Args) -> Outcome<(Db, Table)> {
    if !args.create {
        let db = Db::builder(&args.dir).must_exist().open()?;
        let table = db.table(&args.table).map_err(|error| error.hint("make it with --create"))?;
        return Ok((db, table));
    }
    // Looked at first: nothing is made for files that cannot be read.
    let wanted = create::schema(args)?;
    let db = Db::open(&args.dir)?;
    if let Ok(table) = db.table(&args.table) {
        say(format_args!("table {} exists and is used as it is", table.name()))?;
        return Ok((db, table));
    }
    if let Some((keyspace, _)) = args.table.split_once('.')
        && !db.keyspaces().iter().any(|known| known == keyspace)
    {
        db.create_keyspace(keyspace)?;
    }
    let table = db.create_table(wanted)?;
    say(format_args!("{}", definition(&table.schema())))?;
    Ok((db, table))
}

fn length(file: &Path) -> Outcome<u64> {
    if is_stdin(file) {
        return Ok(0);
    }
    let meta = std::fs::metadata(file).map_err(|error| Failure::io("read it", file, &error))?;
    if meta.is_dir() {
        return Err(Failure::new(format!("{}: this is a directory, name its files", file.display())));
    }
    Ok(meta.len())
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The bytes of a file.
fn source(file: &Path) -> Outcome<Box<dyn Read>> {
    if is_stdin(file) {
        return Ok(Box::new(stdin().lock()));
    }
    let open = File::open(file).map_err(|error| Failure::io("read it", file, &error))?;
    Ok(Box::new(open))
}

/// The names of a file's fields: its first record, or what stands for it.
fn headers<R: Read>(
    args: &Args,
    schema: Option<&TableSchema>,
    file: &Path,
    reader: &mut CsvReader<R>,
) -> Outcome<Vec<String>> {
    if args.no_header {
        return match (args.columns.is_empty(), schema) {
            (false, _) => Ok(args.columns.clone()),
            (true, Some(schema)) => Ok(schema.declared().map(|column| column.name.clone()).collect()),
            (true, None) => Err(Failure::new(
                "--create with --no-header needs the names of the fields (--columns A,B,...)",
            )),
        };
    }
    let mut record = Record::default();
    match reader.read(&mut record) {
        Ok(true) => {}
        Ok(false) => {
            return Err(Failure::new(format!("{}: the file is empty, not even a header", file.display())));
        }
        Err(error) => return Err(Failure::io("read it", file, &error)),
    }
    let names = (0..record.len()).map(|i| String::from_utf8_lossy(record.field(i)).trim().to_owned());
    Ok(names.map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect())
}

/// Refuses a `--map` of a field that no file has: a slip of the pen would otherwise import the field under its own name.
fn check_maps(args: &Args) -> Outcome {
    if args.map.is_empty() || args.no_header || args.files.iter().any(|file| is_stdin(file)) {
        return Ok(());
    }
    let mut known = Vec::new();
    for file in &args.files {
        known.extend(headers(args, None, file, &mut CsvReader::new(source(file)?, args.delimiter))?);
    }
    for map in &args.map {
        let (from, _) = columns::pair("map", map)?;
        if !known.iter().any(|header| from.eq_ignore_ascii_case(header.trim())) {
            return Err(Failure::new(format!("--map {map}: no field is called {from}")));
        }
    }
    Ok(())
}

/// An import under way.
struct Import<'a> {
    args: &'a Args,
    table: Table,
    schema: Arc<TableSchema>,
    appender: Appender,
    with: With,
    counters: bool,
    duplicates: Duplicates,
    report: Report,
    /// Bytes of the files that are done.
    done: u64,
}

impl Import<'_> {
    fn file(&mut self, file: &Path) -> Outcome {
        if self.args.create && is_stdin(file) {
            return Err(Failure::new(
                "--create looks at the input before it reads it: name a file instead of -",
            ));
        }
        let mut reader = CsvReader::new(source(file)?, self.args.delimiter);
        let schema = Arc::clone(&self.schema);
        let headers = headers(self.args, Some(&schema), file, &mut reader)?;
        let plan = Plan::new(self.args, &schema, file, &headers)?;
        let mut record = Record::default();
        let mut number = 0;
        let last = self.args.limit.map_or(u64::MAX, |limit| self.args.skip.saturating_add(limit));
        while number < last
            && reader.read(&mut record).map_err(|error| Failure::io("read it", file, &error))?
        {
            number += 1;
            if number <= self.args.skip {
                continue;
            }
            self.report.read += 1;
            match self.record(&plan, &record)? {
                Ok(()) => self.report.written += 1,
                Err(reason) => self.report.bad_line(file, record.line, &reason),
            }
            if self.report.read.is_multiple_of(STEP) {
                self.report.progress(self.done + reader.bytes());
            }
        }
        self.done += reader.bytes();
        Ok(())
    }

    /// Writes one record. The outer error ends the import, the inner one concerns the record alone.
    fn record(&mut self, plan: &Plan<'_>, record: &Record) -> Outcome<Result<(), String>> {
        let (args, write_time) = match plan.row(record) {
            Ok(row) => row,
            Err(reason) => return Ok(Err(reason)),
        };
        if let Some(reason) = self.missing_key(&args) {
            return Ok(Err(reason));
        }
        if self.counters {
            return self.add(&args);
        }
        match self.duplicates.see(&self.schema, &args) {
            Ok(Seen::Again) if write_time.is_none() => self.appender.commit()?,
            Ok(_) => {}
            Err(error) => return Ok(Err(error.message().to_owned())),
        }
        let with = write_time.map_or(self.with, |micros| self.with.timestamp(micros));
        let before = self.appender.rows();
        match self.appender.append_with(&args, with) {
            Ok(()) => Ok(Ok(())),
            // The row itself was refused; an error of the commit behind it would concern more than this row.
            Err(error) if error.kind() == ErrorKind::Invalid && self.appender.rows() == before => {
                Ok(Err(error.message().to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A column of the key that has no value. A row of static columns alone needs no clustering.
    fn missing_key(&self, args: &[Arg<'_>]) -> Option<String> {
        let unset = |place: usize| args.get(place).is_none_or(Arg::is_unset);
        let placed = || self.schema.declared().enumerate();
        let given = |kind: ColumnTest| placed().any(|(place, column)| kind(column.kind) && !unset(place));
        let only_statics = given(|kind| kind == skep::ColumnKind::Static)
            && !given(|kind| matches!(kind, skep::ColumnKind::Regular | skep::ColumnKind::Clustering(_)));
        let mut key = self.schema.placed_partition_key().collect::<Vec<_>>();
        if !only_statics {
            key.extend(self.schema.placed_clustering());
        }
        let (column, _) = key.into_iter().find(|(_, place)| unset(*place))?;
        Some(format!("column {} is part of the key and has no value", column.name))
    }

    /// Adds the counters of a record to those of its row.
    fn add(&mut self, args: &[Arg<'_>]) -> Outcome<Result<(), String>> {
        let places = self.schema.placed_partition_key().chain(self.schema.placed_clustering());
        let key: Vec<Arg<'_>> = places.filter_map(|(_, place)| args.get(place).cloned()).collect();
        for (column, arg) in self.schema.declared().zip(args) {
            if let (CqlType::Counter, Arg::Value(skep::Value::Counter(delta))) = (&column.ty, arg) {
                self.table.add(&key, &column.name, *delta)?;
            }
        }
        Ok(Ok(()))
    }
}

type ColumnTest = fn(skep::ColumnKind) -> bool;
