//! `skep advise`: tables held against the rules of Cassandra's data modelling, with the definition that would follow them.
//!
//! ```text
//! measure    what the data looks like
//! rules      what to say about it
//! proposal   the CREATE TABLE that would be better
//! ```
//! With a store real tables are measured; with a file of statements (`skep advise schema.cql`) the definitions alone.

mod measure;
mod proposal;
mod rules;

use crate::advise::rules::{Advice, Finding, Level};
use crate::failure::{Failure, Outcome};
use crate::output::{say, things};
use crate::store::reading;
use serde_json::json;
use skep::cql::catalog::{Catalog, TableInfo};
use skep::cql::syntax::ast::Statement;
use skep::cql::syntax::{self, split};
use skep::{Db, Session, TableSchema};
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `skep advise`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A store's directory, or a file of CREATE statements
    store: PathBuf,
    /// The table, `table` or `keyspace.table`; all if not given
    table: Option<String>,
    /// One JSON object a finding
    #[arg(long)]
    json: bool,
}

/// Gives advice.
pub(crate) fn run(args: &Args) -> Outcome {
    match args.store.is_file() {
        true => of_file(args),
        false => of_store(args, &reading(&args.store)?, true),
    }
}

/// What to tell whoever has just made a table, of its definition alone: only what is hard to change once there is data.
pub(crate) fn of_new(schema: &TableSchema) -> Vec<String> {
    let asked = |finding: &Finding| matches!(finding.rule, "time-partition-key" | "unbounded-partition");
    let findings = rules::advise(schema, None).findings.into_iter().filter(asked);
    findings.map(|finding| format!("{}: {}", finding.text, finding.advice)).collect()
}

/// The definitions of a file, made in a store that goes again.
fn of_file(args: &Args) -> Outcome {
    let path = &args.store;
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read it", path, &error))?;
    let scratch = Scratch::new()?;
    let db = Db::open(&scratch.0)?;
    let session = Session::new(&db)?;
    let mut failures = 0u64;
    for piece in split(&text) {
        if let Err(error) = define(&db, &session, piece.text) {
            // The other definitions can be judged all the same.
            let line = piece.line + error.place().map_or(0, |place| place.line.saturating_sub(1));
            eprintln!("{}:{line}: {}", path.display(), error.render(piece.text));
            failures += 1;
        }
    }
    let told = of_store(args, &db, false);
    drop(session);
    db.close()?;
    told?;
    match failures {
        0 => Ok(()),
        many => Err(Failure::new(format!("{} could not be taken into account", things(many, "statement")))),
    }
}

/// Runs a statement if it defines something.
fn define(db: &Db, session: &Session, text: &str) -> skep::cql::Result<()> {
    let statement = syntax::parse(text)?.statement;
    let keyspace = match &statement {
        Statement::CreateTable(table) => table.table.keyspace.as_ref().map(|name| name.text.clone()),
        Statement::CreateType(ty) => ty.name.keyspace.as_ref().map(|name| name.text.clone()),
        Statement::Use(name) => Some(name.text.clone()),
        Statement::CreateKeyspace(_)
        | Statement::CreateIndex(_)
        | Statement::CreateView(_)
        | Statement::AlterTable(_) => None,
        // Queries and data say nothing about the definitions.
        _ => return Ok(()),
    };
    // A schema is often given without its keyspaces.
    if let Some(keyspace) = keyspace.filter(|name| !db.keyspaces().contains(name)) {
        db.create_keyspace(&keyspace)?;
    }
    session.execute(text, ()).map(|_| ())
}

/// A directory that goes when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Outcome<Self> {
        let path = std::env::temp_dir().join(format!("skep-advise-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Failure::io("create it", &path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that stays behind in the place for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn of_store(args: &Args, db: &Db, with_data: bool) -> Outcome {
    let catalog = Catalog::of(db);
    let infos: Vec<Arc<TableInfo>> = match &args.table {
        Some(name) => {
            let (keyspace, table) = name.split_once('.').unwrap_or((skep::DEFAULT_KEYSPACE, name));
            let found = catalog.table(keyspace, table);
            vec![found.map_err(|error| missing(db, &error, table))?]
        }
        None => {
            let mut all = Vec::new();
            for table in db.tables() {
                let schema = table.schema();
                // Tables behind indexes are not the user's.
                if let Ok(info) = catalog.table(&schema.keyspace, &schema.name) {
                    all.push(info);
                }
            }
            all
        }
    };
    if infos.is_empty() {
        return say("there are no tables to look at");
    }
    for info in infos {
        table(args, &info, with_data)?;
    }
    Ok(())
}

/// A table that is not there, with those of its name in other keyspaces.
fn missing(db: &Db, error: &skep::CqlError, name: &str) -> Failure {
    let suffix = format!(".{name}");
    let names: Vec<_> =
        db.tables().iter().map(|table| table.name()).filter(|full| full.ends_with(&suffix)).collect();
    match names.is_empty() {
        true => Failure::new(error.message()),
        false => Failure::new(format!("{} (there is {})", error.message(), names.join(", "))),
    }
}

fn table(args: &Args, info: &TableInfo, with_data: bool) -> Outcome {
    let indexed: Vec<String> = info.indexes.iter().map(|index| index.column.clone()).collect();
    let measured = if with_data { Some(measure::measure(&info.table, &indexed)?) } else { None };
    let advice = rules::advise(&info.schema, measured.as_ref());
    if args.json {
        for finding in &advice.findings {
            say(json!({
                "table": info.full_name(),
                "level": format!("{:?}", finding.level).to_lowercase(),
                "rule": finding.rule,
                "found": finding.text,
                "advice": finding.advice,
            }))?;
        }
        if advice.proposes() {
            let proposal = proposal::create_table(&info.schema, &advice);
            say(json!({ "table": info.full_name(), "rule": "proposal", "create_table": proposal }))?;
        }
        return Ok(());
    }
    say(format_args!("{}", info.full_name()))?;
    if let Some(measured) = &measured {
        say(format_args!(
            "  {} in {}, some {:.0} bytes a row before compression, {:.1} on disk",
            things(measured.rows, "row"),
            things(measured.partitions, "partition"),
            measured.row_bytes,
            if measured.rows == 0 { 0.0 } else { measured.disk_bytes as f64 / measured.rows as f64 }
        ))?;
    }
    findings(&advice)?;
    if advice.proposes() {
        say(format_args!(
            "  A definition that follows this:\n\n{}\n",
            proposal::create_table(&info.schema, &advice)
        ))?;
    }
    Ok(())
}

fn findings(advice: &Advice) -> Outcome {
    let mut sorted: Vec<_> = advice.findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    for finding in &sorted {
        let mark = match finding.level {
            Level::Change => "change",
            Level::Note => "note  ",
            Level::Good => "good  ",
        };
        say(format_args!("  {mark}  {}", finding.text))?;
        if !finding.advice.is_empty() {
            say(format_args!("          {}", finding.advice))?;
        }
    }
    let changes = sorted.iter().filter(|finding| finding.level == Level::Change).count();
    if changes == 0 && !advice.proposes() {
        say("  Nothing to change.")?;
    }
    Ok(())
}
