//! `skep why`: why a value is seen, or is not.
//!
//! `why value` lists every version of everything in one row that any memtable or file holds, with the rule that decided about it
//! (`cql::explain::value`, as EXPLAIN VALUE in the shell).

use crate::failure::{Failure, Outcome};
use crate::output::{Format, say, second, text_table};
use crate::store::Source;
use crate::values::{key_arguments, put_csv_text};
use serde_json::json;
use skep::Table;
use skep::cql::explain::value::NOTHING;
use skep::cql::explain::{About, Line, about};
use skep::encoding::bind;
use skep::model::schema::Column;
use skep::read::explain::SourceName;

/// Arguments of `skep why`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Every version of a row's values, and which rule decides between them
    Value(ValueArgs),
}

/// Arguments of `skep why value`.
#[derive(Debug, clap::Args)]
struct ValueArgs {
    #[command(flatten)]
    source: Source,
    /// The table: `table`, or `keyspace.table`
    table: String,
    /// The primary key (of the partition alone: its static columns), then a column if only that is of interest
    #[arg(required = true, allow_negative_numbers = true)]
    key: Vec<String>,
    /// Only this column; the way to name a static one where it could be taken for a part of the key
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The columns of the answer.
const HEADER: [&str; 7] =
    ["what", "value", "written (micros)", "ttl", "expires or made", "source", "verdict"];

/// Runs it.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Value(args) => value(args),
    }
}

fn value(args: &ValueArgs) -> Outcome {
    let db = args.source.open()?;
    let table = db.table(&args.table)?;
    let schema = table.schema();
    let keys: Vec<&Column> = schema.partition_key().iter().chain(schema.clustering()).collect();
    let parts = schema.partition_key().len();
    let statics = !schema.statics().is_empty();
    let (key, column) = match (args.key.len(), args.key.split_last(), &args.column) {
        (given, _, column) if given == keys.len() || (given == parts && statics) => {
            (&args.key[..], column.as_ref())
        }
        (given, Some((column, key)), None) if given == keys.len() + 1 || (given == parts + 1 && statics) => {
            (key, Some(column))
        }
        (given, ..) => {
            let names: Vec<_> = keys.iter().map(|column| column.name.as_str()).collect();
            let names = names.join(", ");
            let text =
                format!("the primary key of {} is ({names}), {given} values were given", schema.full_name());
            return Err(Failure::new(text));
        }
    };
    let column = match column {
        None => None,
        Some(name) => Some(schema.column(name).ok_or_else(|| {
            let names: Vec<_> = schema.columns().iter().map(|column| column.name.as_str()).collect();
            Failure::new(format!("{} has no column {name}; it has {}", schema.full_name(), names.join(", ")))
        })?),
    };
    let arguments = key_arguments(key, &keys)?;
    let mut partition = Vec::new();
    bind::partition_key(&schema, &arguments[..parts], &mut partition)?;
    let clustering = match key.len() == keys.len() {
        true => Some(bind::clustering(&schema, &arguments[parts..], &mut Vec::new())?),
        false => None,
    };
    let About { lines, silent } = about(&table.snapshot(), &partition, clustering.as_ref(), column)?;
    match args.format {
        Format::Json => return lines.iter().try_for_each(|line| say(as_json(line))),
        Format::Csv => {
            say(as_csv(&HEADER.map(str::to_owned)))?;
            return lines.iter().try_for_each(|line| say(as_csv(&as_row(line))));
        }
        Format::Table => {}
    }
    match lines.is_empty() {
        true => say(NOTHING)?,
        false => {
            say(text_table(&HEADER, &[2, 3], lines.iter().map(as_row).collect()))?;
        }
    }
    for (source, why) in silent {
        say(format_args!("{source}: {why}"))?;
    }
    files(&table, &lines)
}

/// Which files are meant by their numbers.
fn files(table: &Table, lines: &[Line]) -> Outcome {
    for (path, meta) in table.live_files() {
        if lines.iter().any(|line| line.source == SourceName::File(meta.id)) {
            say(format_args!("file {} is {}", meta.id, path.display()))?;
        }
    }
    Ok(())
}

fn as_row(line: &Line) -> Vec<String> {
    vec![
        line.what.clone(),
        line.value_or_word().unwrap_or_default().to_owned(),
        line.written.to_string(),
        line.ttl.map_or_else(String::new, |ttl| ttl.to_string()),
        line.local.map_or_else(String::new, second),
        line.source.to_string(),
        line.verdict.clone(),
    ]
}

fn as_csv(fields: &[String]) -> String {
    let mut line = String::new();
    for (i, field) in fields.iter().enumerate() {
        line.push_str(if i == 0 { "" } else { "," });
        // An empty field says that there is nothing.
        if !field.is_empty() {
            put_csv_text(field, &mut line);
        }
    }
    line
}

fn as_json(line: &Line) -> String {
    json!({
        "what": line.what,
        "value": line.value,
        "writetime": line.written,
        "ttl": line.ttl,
        "local_second": line.local,
        "source": line.source.to_string(),
        "seen": line.seen,
        "verdict": line.verdict,
    })
    .to_string()
}
