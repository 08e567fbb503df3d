//! `--create`: the definition of a table from what its files hold.
//!
//! ```text
//! PRIMARY KEY ((series text, day date), timestamp)   newest first, TimeWindowCompactionStrategy
//! ```
//! `series` is the name of the file, unless `--series` names fields of the file; the day is that of the time. The other fields become
//! columns, each of the narrowest type that the sampled values have in common.

use crate::failure::{Failure, Outcome};
use crate::import::Args;
use crate::import::columns::{column_name, mapped, pair};
use crate::import::reader::{CsvReader, Record};
use crate::import::source;
use crate::values::argument;
use skep::{CqlType, Schema};
use std::path::Path;
use std::time::Duration;

/// Records of each file that are looked at.
const SAMPLE: usize = 10_000;

/// Types in the order of preference; text takes everything.
const TYPES: [CqlType; 5] =
    [CqlType::Int, CqlType::Bigint, CqlType::Double, CqlType::Boolean, CqlType::Timestamp];

/// Names of a time, where the values alone do not tell.
const TIMES: [&str; 5] = ["timestamp", "time", "ts", "datetime", "date"];

/// One field of the files.
struct Field {
    name: String,
    /// Which of [`TYPES`] all values have.
    fits: [bool; TYPES.len()],
    seen: bool,
}

impl Field {
    fn ty(&self) -> CqlType {
        let fit = TYPES.iter().zip(self.fits).find(|(_, fits)| *fits && self.seen);
        fit.map_or(CqlType::Text, |(ty, _)| ty.clone())
    }

    fn look(&mut self, text: &str) {
        self.seen = true;
        for (fits, ty) in self.fits.iter_mut().zip(&TYPES) {
            *fits = *fits && argument(text, ty).is_ok();
        }
    }
}

/// The definition of `args.table`.
pub(super) fn schema(args: &Args) -> Outcome<Schema> {
    let mut fields = Vec::new();
    for file in &args.files {
        sample(args, file, &mut fields)?;
    }
    let mut types: Vec<(String, CqlType)> =
        fields.iter().map(|field| (field.name.clone(), field.ty())).collect();
    for given in &args.r#type {
        let (name, ty) = pair("type", given)?;
        let ty = CqlType::parse(ty, &|_, _| None)?;
        let field = types.iter_mut().find(|(known, _)| *known == column_name(name));
        field.ok_or_else(|| Failure::new(format!("--type {given}: no field is called {name}")))?.1 = ty;
    }
    let time = time(args, &mut types)?;
    // A field that only gives the write time is no column.
    let write_time = args.timestamp_from.as_deref().map(column_name);
    types.retain(|(name, _)| Some(name) != write_time.as_ref());
    let mut schema = Schema::table(&args.table);
    let series = match args.series.is_empty() {
        true => vec![("series".to_owned(), CqlType::Text)],
        false => args.series.iter().map(|name| take(&mut types, name)).collect::<Outcome<_>>()?,
    };
    for (name, ty) in &series {
        schema = schema.partition_key(name, ty.clone());
    }
    schema = schema.partition_key(&free_name(&types, "day"), CqlType::Date);
    schema = schema.clustering_desc(&time, CqlType::Timestamp);
    for (name, ty) in &types {
        schema = schema.column(name, ty.clone());
    }
    schema = schema.time_windows(args.window.unwrap_or(Duration::from_secs(86_400)));
    Ok(match args.ttl {
        Some(ttl) => schema.ttl(ttl),
        None => schema,
    })
}

/// Takes the column of the time out of `types`.
fn time(args: &Args, types: &mut Vec<(String, CqlType)>) -> Outcome<String> {
    let named = |name: &str| TIMES.contains(&name);
    let name = match &args.time {
        Some(name) => column_name(name),
        None => {
            let is_time = |(name, ty): &&(String, CqlType)| {
                *ty == CqlType::Timestamp || (matches!(ty, CqlType::Bigint | CqlType::Int) && named(name))
            };
            let mut times: Vec<_> = types.iter().filter(is_time).collect();
            if times.len() > 1 {
                times.retain(|(name, _)| {
                    args.timestamp_from.as_deref().map(column_name).as_ref() != Some(name)
                });
            }
            if times.len() > 1 {
                times.retain(|(name, _)| named(name));
            }
            match times[..] {
                [(name, _)] => name.clone(),
                [] => {
                    return Err(Failure::new(
                        "no field of the files is a time (name one with --time HEADER)",
                    ));
                }
                _ => {
                    return Err(Failure::new(
                        "several fields are times (name the one to sort by with --time HEADER)",
                    ));
                }
            }
        }
    };
    take(types, &name).map(|(name, _)| name)
}

fn take(types: &mut Vec<(String, CqlType)>, name: &str) -> Outcome<(String, CqlType)> {
    let place = types.iter().position(|(known, _)| *known == column_name(name));
    let place = place.ok_or_else(|| Failure::new(format!("no field of the files is called {name}")))?;
    Ok(types.remove(place))
}

fn free_name(types: &[(String, CqlType)], name: &str) -> String {
    let taken = types.iter().any(|(known, _)| known == name);
    if taken { format!("{name}_bucket") } else { name.to_owned() }
}

/// Refuses a first line of data: its values would become the columns' names, and its row would be lost.
fn check_header(args: &Args, file: &Path, headers: &[String]) -> Outcome {
    if args.no_header || args.header {
        return Ok(());
    }
    let is_value = |text: &&String| {
        let has_type = |ty: &CqlType| *ty != CqlType::Boolean && argument(text, ty).is_ok();
        !text.is_empty() && TYPES.iter().any(has_type)
    };
    for text in headers.iter().filter(is_value) {
        // Who maps a field knows its name.
        if mapped(args, text)?.is_none() {
            return Err(Failure::new(format!(
                "{}: '{text}' in the first line looks like a value and not like the name of a field (name the fields of \
                 files without a header with --no-header --columns A,B,...; if it is a header, say so with --header)",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Looks at the first records of a file.
fn sample(args: &Args, file: &Path, fields: &mut Vec<Field>) -> Outcome {
    let mut reader = CsvReader::new(source(file)?, args.delimiter);
    let headers = super::headers(args, None, file, &mut reader)?;
    check_header(args, file, &headers)?;
    let mut places = Vec::with_capacity(headers.len());
    for header in &headers {
        let name = match mapped(args, header)? {
            Some("") => None,
            Some(name) => Some(name.to_owned()),
            None => Some(column_name(header)),
        };
        places.push(name.map(|name| match fields.iter().position(|field| field.name == name) {
            Some(place) => place,
            None => {
                fields.push(Field { name, fits: [true; TYPES.len()], seen: false });
                fields.len() - 1
            }
        }));
    }
    let mut record = Record::default();
    for _ in 0..SAMPLE {
        let more = reader.read(&mut record).map_err(|error| Failure::io("read it", file, &error))?;
        if !more {
            break;
        }
        for (i, place) in places.iter().enumerate() {
            let Some(field) = place.and_then(|place| fields.get_mut(place)) else { continue };
            let text = String::from_utf8_lossy(record.field(i));
            // Two decimal points decide nothing; a bad line is reported by the import, which reads it again.
            if record.len() == headers.len()
                && !text.is_empty()
                && (args.null.is_empty() || text != args.null)
            {
                field.look(&text);
            }
        }
    }
    Ok(())
}
