//! `skep export`: a table as CSV or JSON lines. The CSV goes back through `skep import` without loss.

use crate::failure::{Failure, Outcome};
use crate::output::{Format, Printer, count, say};
use crate::store::Source;
use clap::ValueEnum;
use std::fs::File;
use std::io::{Write, stdout};
use std::path::PathBuf;

/// Arguments of `skep export`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// The table: `table`, or `keyspace.table`
    table: String,
    /// The file to write, replaced if it exists; standard output if not given
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How rows are written
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,
}

/// Formats of an export.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ExportFormat {
    /// CSV with a header line; null is the empty field, empty text is ""
    #[default]
    Csv,
    /// One JSON object a line
    Json,
}

/// Writes all rows of a table.
pub(crate) fn run(args: &Args) -> Outcome {
    let db = args.source.open()?;
    let table = db.table(&args.table)?;
    let schema = table.schema();
    let names: Vec<&str> = schema.declared().map(|column| column.name.as_str()).collect();
    let rows = table.scan().columns(&names).rows()?;
    let out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create(path).map_err(|error| Failure::io("create it", path, &error))?),
        None => Box::new(stdout()),
    };
    let format = match args.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Json => Format::Json,
    };
    let columns = schema.declared().map(|column| (column.name.as_str(), &column.ty));
    let mut printer = Printer::new(format, columns, out)?;
    for row in rows {
        printer.row(&row?)?;
    }
    let written = printer.finish()?;
    if let Some(path) = &args.output {
        say(format_args!(
            "exported {} rows of {} to {}",
            count(written),
            schema.full_name(),
            path.display()
        ))?;
    }
    Ok(())
}
