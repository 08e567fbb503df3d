//! `skep get`, `skep slice`, `skep scan`: rows by key, of one partition (or of several days of a series), or of the whole table.

use crate::failure::{Failure, Outcome};
use crate::output::{Format, Printer};
use crate::store::Source;
use crate::values::{argument, key_arguments};
use skep::model::schema::Column;
use skep::read::query::Projection;
use skep::{Arg, CqlType, Date, KeyRange, Select, Table, TableSchema, TokenRange};
use std::io::stdout;

/// The most days that one `A..B` of a key may span.
const MAX_DAYS: i32 = 100_000;

/// What all reading commands take.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    source: Source,
    /// The table: `table`, or `keyspace.table`
    table: String,
    /// Only these columns, in this order
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// How rows are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `skep get`.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    common: Common,
    /// The primary key: partition-key columns, then clustering columns
    #[arg(required = true, allow_negative_numbers = true)]
    key: Vec<String>,
}

/// Arguments of `skep slice`.
#[derive(Debug, clap::Args)]
pub(crate) struct SliceArgs {
    #[command(flatten)]
    common: Common,
    /// The partition key, then (if wanted) values of the first clustering columns; a date may be a range of days, `2014-02-14..2014-02-16`
    #[arg(required = true, allow_negative_numbers = true)]
    key: Vec<String>,
    /// Rows whose next clustering column is at least this
    #[arg(long, value_name = "VALUE", conflicts_with = "after", allow_hyphen_values = true)]
    from: Option<String>,
    /// ... at most this
    #[arg(long, value_name = "VALUE", conflicts_with = "before", allow_hyphen_values = true)]
    to: Option<String>,
    /// ... greater than this
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    after: Option<String>,
    /// ... less than this
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    before: Option<String>,
    /// The other way round than the table's clustering order
    #[arg(long)]
    reverse: bool,
    /// At most so many rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// Arguments of `skep scan`.
#[derive(Debug, clap::Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    common: Common,
    /// At most so many rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// At most so many rows of each partition
    #[arg(long, value_name = "N")]
    per_partition_limit: Option<u64>,
    /// Only partitions whose token lies between the two, both included
    #[arg(long, value_name = "FIRST:LAST", allow_hyphen_values = true, value_parser = token_range)]
    token_range: Option<TokenRange>,
}

fn token_range(text: &str) -> Result<TokenRange, String> {
    let (first, last) = text.split_once(':').ok_or("two tokens with a colon between them are needed")?;
    let token = |text: &str| {
        text.parse().map(skep::Token).map_err(|_| format!("{text} is no token (a 64-bit integer)"))
    };
    Ok(TokenRange { first: token(first)?, last: token(last)? })
}

/// Prints one row.
pub(crate) fn get(args: &GetArgs) -> Outcome {
    let db = args.common.source.open()?;
    let table = db.table(&args.common.table)?;
    let schema = table.schema();
    let columns: Vec<&Column> = schema.partition_key().iter().chain(schema.clustering()).collect();
    if args.key.len() != columns.len() {
        return Err(wrong_key(&schema, "the primary key is", &columns, args.key.len()));
    }
    let key = key_arguments(&args.key, &columns)?;
    let names = names(&args.common, &schema);
    let projection = Projection::of(&schema, &names)?;
    let row = table.snapshot().get_columns(&key, &projection)?;
    let row = row.ok_or_else(|| Failure::new(format!("{} has no row with this key", schema.full_name())))?;
    let mut printer = printer(&args.common, &schema, &names)?;
    printer.row(&row)?;
    printer.finish().map(drop)
}

/// Prints rows of one partition, or of a range of days.
pub(crate) fn slice(args: &SliceArgs) -> Outcome {
    let db = args.common.source.open()?;
    let table = db.table(&args.common.table)?;
    let schema = table.schema();
    let columns: Vec<&Column> = schema.partition_key().iter().chain(schema.clustering()).collect();
    let parts = schema.partition_key().len();
    if !(parts..=columns.len()).contains(&args.key.len()) {
        return Err(wrong_key(&schema, "the partition key is", &columns[..parts], args.key.len()));
    }
    let range = range(args, &schema, key_arguments(&args.key[parts..], &columns[parts..])?)?;
    let mut select = partitions(&table, &args.key[..parts], &columns, range, args.reverse)?;
    if let Some(limit) = args.limit {
        select = select.limit(limit);
    }
    print(select, &args.common, &schema)
}

/// Prints all rows.
pub(crate) fn scan(args: &ScanArgs) -> Outcome {
    let db = args.common.source.open()?;
    let table = db.table(&args.common.table)?;
    let mut select = table.scan();
    if let Some(limit) = args.limit {
        select = select.limit(limit);
    }
    if let Some(limit) = args.per_partition_limit {
        select = select.per_partition_limit(limit);
    }
    if let Some(tokens) = args.token_range {
        select = select.tokens(tokens);
    }
    print(select, &args.common, &table.schema())
}

fn wrong_key(schema: &TableSchema, what: &str, columns: &[&Column], given: usize) -> Failure {
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    let given = match given {
        1 => "1 value was given".to_owned(),
        many => format!("{many} values were given"),
    };
    Failure::new(format!("{}: {what} ({}): {given}", schema.full_name(), names.join(", ")))
}

/// The partitions named by `key`, in which a date may be a range of days.
fn partitions(
    table: &Table,
    key: &[String],
    columns: &[&Column],
    range: KeyRange<'_>,
    reverse: bool,
) -> Outcome<Select> {
    let days = key.iter().zip(columns).position(|(text, c)| c.ty == CqlType::Date && text.contains(".."));
    let Some(place) = days else {
        let select = table.slice(&key_arguments(key, columns)?, range);
        return Ok(if reverse { select.reverse() } else { select });
    };
    let (first, last) = key[place].split_once("..").unwrap_or_default();
    let (first, last) = (Date::parse(first)?.days_since_epoch(), Date::parse(last)?.days_since_epoch());
    if i64::from(last) - i64::from(first) > i64::from(MAX_DAYS) {
        return Err(Failure::new(format!("{}: more than {MAX_DAYS} days", key[place])));
    }
    if last < first {
        return Err(Failure::new(format!("{}: the first day is later than the last", key[place])));
    }
    let argument = |i: usize, day: i32| match i == place {
        true => Ok(Arg::Date(Date::from_days_since_epoch(day))),
        false => argument(&key[i], &columns[i].ty),
    };
    let keys = (first..=last).map(|day| (0..key.len()).map(|i| argument(i, day)).collect());
    let keys = keys.collect::<skep::Result<Vec<Vec<Arg<'_>>>>>()?;
    let select = table.buckets(keys, range);
    // Days run in the direction of their rows: newest first in a descending table.
    let schema = table.schema();
    let descending = schema
        .clustering()
        .first()
        .is_some_and(|column| column.kind == skep::ColumnKind::Clustering(skep::Order::Desc));
    Ok(if descending != reverse { select.newest_first() } else { select.oldest_first() })
}

fn range<'a>(args: &'a SliceArgs, schema: &TableSchema, prefix: Vec<Arg<'a>>) -> Outcome<KeyRange<'a>> {
    let column = schema.clustering().get(prefix.len());
    let value = |text: &'a String| {
        let column =
            column.ok_or_else(|| Failure::new("there is no further clustering column for the range"))?;
        argument(text, &column.ty)
            .map_err(|e| Failure::new(format!("column {}: {}", column.name, e.message())))
    };
    let mut range = KeyRange::all();
    if let Some(from) = &args.from {
        range = range.at_least(value(from)?);
    }
    if let Some(after) = &args.after {
        range = range.above(value(after)?);
    }
    if let Some(to) = &args.to {
        range = range.at_most(value(to)?);
    }
    if let Some(before) = &args.before {
        range = range.below(value(before)?);
    }
    Ok(range.within(prefix))
}

/// The columns to print: those asked for, or all in the order of the primary key, statics, others.
fn names<'a>(common: &'a Common, schema: &'a TableSchema) -> Vec<&'a str> {
    match &common.columns {
        Some(names) => names.iter().map(String::as_str).collect(),
        None => schema.columns().iter().map(|column| column.name.as_str()).collect(),
    }
}

fn printer(common: &Common, schema: &TableSchema, names: &[&str]) -> Outcome<Printer<std::io::Stdout>> {
    let typed = names.iter().filter_map(|name| schema.column(name).map(|column| (*name, &column.ty)));
    Printer::new(common.format, typed, stdout())
}

fn print(select: Select, common: &Common, schema: &TableSchema) -> Outcome {
    let names = names(common, schema);
    let rows = select.columns(&names).rows()?;
    let mut printer = printer(common, schema, &names)?;
    for row in rows {
        printer.row(&row?)?;
    }
    printer.finish().map(drop)
}
