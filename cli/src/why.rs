//! `skep why`: why a value is seen, or is not.
//!
//! `why value` lists every version of everything in one row that any memtable or file holds, with the rule that decided about it
//! (`skep::read::why`).

use crate::failure::{Failure, Outcome};
use crate::output::{Format, say, second, text_table};
use crate::store::Source;
use crate::values::key_arguments;
use serde_json::json;
use skep::encoding::{bind, path};
use skep::model::life::NEVER;
use skep::model::schema::Column;
use skep::model::{codec, types::CqlType};
use skep::read::explain::SourceName;
use skep::read::why::{Part, Verdict, Version, verdicts};
use skep::{Table, TableSchema};

/// Arguments of `skep why`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    about: About,
}

#[derive(Debug, clap::Subcommand)]
enum About {
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

/// Runs it.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.about {
        About::Value(args) => value(args),
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
        (given, _, column) if given == parts || given == keys.len() => (&args.key[..], column.as_ref()),
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
    let snapshot = table.snapshot();
    let candidates = snapshot.candidates(&partition, clustering.as_ref())?;
    let of_column = |version: &Version| match (column, version.part.column()) {
        (Some(wanted), Some(of)) => wanted.id == of,
        _ => true,
    };
    let versions: Vec<_> =
        verdicts(&candidates, &schema, snapshot.now()).into_iter().filter(of_column).collect();
    let silent: Vec<_> = candidates.iter().filter(|candidate| candidate.is_silent()).collect();
    if args.format != Format::Table {
        for version in &versions {
            say(as_json(version, &schema)?)?;
        }
        return Ok(());
    }
    let rows: Vec<Vec<String>> =
        versions.iter().map(|version| as_row(version, &schema)).collect::<Outcome<_>>()?;
    match rows.is_empty() {
        true => say(
            "no memtable and no file has anything about this row: it was never written, or a compaction has purged it",
        )?,
        false => {
            say(text_table(
                &["what", "value", "written (micros)", "ttl", "expires or made", "source", "verdict"],
                &[2, 3],
                rows,
            ))?;
        }
    }
    for candidate in silent {
        match candidate.ruled_out {
            Some(reason) => say(format_args!("{}: ruled out by {reason}", candidate.source))?,
            None => say(format_args!("{}: read, says nothing about it", candidate.source))?,
        }
    }
    files(&table, &versions)
}

/// Which files are meant by their numbers.
fn files(table: &Table, versions: &[Version]) -> Outcome {
    for path in table.files() {
        let number =
            path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        let named = versions
            .iter()
            .any(|version| matches!(version.source, SourceName::File(id) if Some(id.0) == number));
        if named {
            say(format_args!("file {} is {}", number.unwrap_or_default(), path.display()))?;
        }
    }
    Ok(())
}

/// The column, with the element in brackets.
fn what(part: &Part, schema: &TableSchema) -> Outcome<String> {
    let column = part.column().and_then(|id| {
        schema
            .column_by_id(id)
            .or_else(|| schema.dropped().iter().map(|d| &d.column).find(|column| column.id == id))
    });
    let Some(column) = column else { return Ok(part.to_string()) };
    Ok(match part {
        Part::Collection(_) => format!("{}: {part}", column.name),
        Part::Element(_, at) => format!("{}{}", column.name, element(&column.ty, at)?),
        _ => column.name.clone(),
    })
}

fn element(ty: &CqlType, at: &skep::model::clustering::Clustering) -> Outcome<String> {
    let shown = |of: &CqlType| -> Outcome<String> {
        Ok(codec::decode(&path::wire(at, of)?, of)?.literal().to_string())
    };
    Ok(match ty.unfrozen() {
        CqlType::Set(of) => format!("[{}]", shown(of)?),
        CqlType::Map(of, _) => format!("[{}]", shown(of)?),
        CqlType::Udt(udt) => {
            let number = codec::decode(&path::wire(at, &CqlType::Smallint)?, &CqlType::Smallint)?.as_i64();
            let name =
                number.and_then(|n| udt.fields.get(usize::try_from(n).ok()?)).map_or("?", |(name, _)| name);
            format!(".{name}")
        }
        _ => format!("[{}]", shown(&CqlType::Timeuuid)?),
    })
}

/// The value as text; a set's elements are their own paths and have none.
fn shown(version: &Version, schema: &TableSchema) -> Outcome<Option<String>> {
    let (Some(bytes), Some(column)) = (&version.value, version.part.column()) else { return Ok(None) };
    let Some(column) = schema.column_by_id(column) else { return Ok(Some(hex(bytes))) };
    let ty = match (&version.part, column.ty.unfrozen()) {
        (Part::Element(..), CqlType::Set(_)) => return Ok(None),
        (Part::Element(..), CqlType::List(of) | CqlType::Map(_, of)) => of.as_ref().clone(),
        (Part::Element(_, at), CqlType::Udt(udt)) => {
            let number = codec::decode(&path::wire(at, &CqlType::Smallint)?, &CqlType::Smallint)?.as_i64();
            match number.and_then(|n| udt.fields.get(usize::try_from(n).ok()?)) {
                Some((_, of)) => of.clone(),
                None => return Ok(Some(hex(bytes))),
            }
        }
        (_, ty) => ty.clone(),
    };
    // What a column of another type left behind is no value of this one.
    Ok(Some(codec::decode(bytes, &ty).map_or_else(|_| hex(bytes), |value| value.literal().to_string())))
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

fn as_row(version: &Version, schema: &TableSchema) -> Outcome<Vec<String>> {
    let value = match shown(version, schema)? {
        Some(value) => value,
        None if matches!(version.part, Part::Cell(_))
            || (matches!(version.part, Part::Element(..)) && version.value.is_none()) =>
        {
            "tombstone".to_owned()
        }
        None => String::new(),
    };
    let ttl = if version.ttl == 0 { String::new() } else { version.ttl.to_string() };
    let local = if version.local == NEVER { String::new() } else { second(version.local) };
    let verdict = match &version.verdict {
        Verdict::Expired(at) => format!("expired at {}", second(*at)),
        other => other.to_string(),
    };
    Ok(vec![
        what(&version.part, schema)?,
        value,
        version.timestamp.to_string(),
        ttl,
        local,
        version.source.to_string(),
        verdict,
    ])
}

fn as_json(version: &Version, schema: &TableSchema) -> Outcome<String> {
    let local = (version.local != NEVER).then_some(version.local);
    Ok(json!({
        "what": what(&version.part, schema)?,
        "value": shown(version, schema)?,
        "writetime": version.timestamp,
        "ttl": (version.ttl != 0).then_some(version.ttl),
        "local_second": local,
        "source": version.source.to_string(),
        "seen": version.verdict == Verdict::Seen,
        "verdict": version.verdict.to_string(),
    })
    .to_string())
}
