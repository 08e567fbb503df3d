//! One script against one fresh store: statements in, lines of a golden file out.

use super::Way;
use super::literal::{literal, type_name};
use super::script;
use skep_cql::answer::{Outcome, Parameters};
use skep_cql::session::{Answer, Session};
use skep_cql::{Bound, Code, CqlError};
use skep_engine::env::sim::SimDisk;
use skep_engine::{Clock, Db, ManualClock, Options};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The moment when every script begins: 2026-06-12 12:00:00 UTC, micros.
const START: i64 = 1_781_265_600_000_000;

/// A value of `@bind`: `unset`, `null` or bytes as `0x...`.
fn bound(text: &str) -> Option<Bound> {
    match text {
        "unset" => return Some(Bound::Unset),
        "null" => return Some(Bound::Null),
        _ => {}
    }
    let digits = text.strip_prefix("0x")?;
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    bytes.map(|bytes| Bound::Value(bytes.into()))
}

/// How much time a statement takes.
const STEP: Duration = Duration::from_micros(10);

/// A store with the empty keyspace `golden`, a session in it, and what the directives said about the next statement.
#[derive(Debug)]
pub struct Runner {
    db: Db,
    clock: ManualClock,
    session: Session,
    page: Option<usize>,
    binds: Vec<Bound>,
    prepare: bool,
    code: bool,
}

impl Runner {
    /// A fresh store.
    ///
    /// # Errors
    /// A store that cannot be made.
    pub fn new() -> Result<Self, String> {
        let disk = SimDisk::new(1);
        let clock = disk.clock();
        clock.set_micros(START);
        let options = Options { memtable_bytes: 64 << 20, ..Options::default() };
        let db = Db::builder("/db").options(options).env(disk.env()).background(false).open();
        let db = db.map_err(|error| error.to_string())?;
        db.create_keyspace("golden").map_err(|error| error.to_string())?;
        Self::on(db, clock)
    }

    /// On a store with the keyspace `golden` and the clock that it goes by.
    ///
    /// # Errors
    /// A store that cannot be used.
    pub fn on(db: Db, clock: ManualClock) -> Result<Self, String> {
        let session = Session::new(&db).map_err(|error| error.to_string())?;
        let mut runner =
            Self { db, clock, session, page: None, binds: Vec::new(), prepare: false, code: false };
        match runner.answer("USE golden").as_slice() {
            [ok] if ok == "ok" => Ok(runner),
            other => Err(format!("USE golden: {}", other.join(" "))),
        }
    }

    /// Does what a directive says.
    ///
    /// # Errors
    /// An unknown one, or a flush or compaction that fails.
    pub fn directive(&mut self, line: &str) -> Result<(), String> {
        let mut words = line[1..].split_whitespace();
        if let Some(values) = line.strip_prefix("@bind ") {
            self.binds = values.split_whitespace().map(bound).collect::<Option<_>>().ok_or(line)?;
            return Ok(());
        }
        match (words.next(), words.next()) {
            (Some("page"), Some(number)) => self.page = Some(number.parse().map_err(|_| line.to_owned())?),
            (Some("prepare"), None) => self.prepare = true,
            (Some("code"), None) => self.code = true,
            (Some("serial"), None) => {}
            (Some("flush"), None) => self.before_select(Way::Flush)?,
            (Some("compact"), None) => self.compact()?,
            (Some("sleep"), Some(seconds)) => {
                let seconds: f64 = seconds.parse().map_err(|_| line.to_owned())?;
                self.clock.advance(Duration::from_secs_f64(seconds));
            }
            _ => return Err(format!("unknown directive {line}")),
        }
        Ok(())
    }

    /// Flushes, and compacts, as the way says.
    ///
    /// # Errors
    /// Those of the store.
    pub fn before_select(&self, way: Way) -> Result<(), String> {
        if way != Way::Plain {
            self.db.flush().map_err(|error| format!("flush: {error}"))?;
        }
        if way == Way::Compact { self.compact() } else { Ok(()) }
    }

    fn compact(&self) -> Result<(), String> {
        let compact =
            |table: skep_engine::Table| table.compact().map_err(|error| format!("compact: {error}"));
        self.db.tables().into_iter().try_for_each(compact)
    }

    /// The answer to a statement, as lines of a golden file. A panic is an answer, too: a wrong one.
    pub fn answer(&mut self, text: &str) -> Vec<String> {
        let (page, prepare, code) = (self.page.take(), self.prepare, self.code);
        let binds = std::mem::take(&mut self.binds);
        (self.prepare, self.code) = (false, false);
        self.clock.advance(STEP);
        let run =
            || if prepare { self.prepared(text) } else { self.query(text, &binds, page).map(script::tidy) };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(lines)) => lines,
            Ok(Err(error)) if code => {
                vec![format!("error {:#06x} {}", error.code().number(), name(error.code()))]
            }
            Ok(Err(error)) => {
                let (code, message) = (error.code(), flat(error.message()));
                vec![format!("error {:#06x} {}: {message}", code.number(), name(code))]
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                vec![format!("panic: {}", flat(&text.unwrap_or_default()))]
            }
        }
    }

    fn query(&self, text: &str, binds: &[Bound], page: Option<usize>) -> Result<Vec<String>, CqlError> {
        let prepared = self.session.prepare(text)?;
        let mut parameters = Parameters { page_size: page, ..Parameters::default() };
        let (mut lines, mut warnings, mut count) = (Vec::new(), Vec::new(), 0);
        loop {
            let answer = self.session.run(&prepared, binds, &parameters)?;
            warnings.extend(answer.warnings.iter().map(|warning| format!("warning: {}", flat(warning))));
            let Answer { outcome: Outcome::Rows(rows), .. } = answer else {
                lines.push("ok".to_owned());
                break;
            };
            if lines.is_empty() {
                let columns: Vec<_> = rows
                    .columns
                    .iter()
                    .map(|column| format!("{} {}", column.name, type_name(&column.ty)))
                    .collect();
                lines.push(columns.join(" | "));
            } else {
                lines.push("--- page".to_owned());
            }
            for row in &rows.rows {
                let values: Vec<_> = rows
                    .columns
                    .iter()
                    .zip(row)
                    .map(|(column, value)| literal(&column.ty, value.as_deref()))
                    .collect();
                lines.push(values.join(" | "));
            }
            count += rows.rows.len();
            if rows.paging_state.is_none() {
                lines.push(format!("({count} row{})", if count == 1 { "" } else { "s" }));
                break;
            }
            parameters.paging_state = rows.paging_state;
        }
        lines.extend(warnings);
        Ok(lines)
    }

    fn prepared(&self, text: &str) -> Result<Vec<String>, CqlError> {
        let prepared = self.session.prepare(text)?;
        let spec = |spec: &skep_cql::value::ColumnSpec| format!("{} {}", spec.name, type_name(&spec.ty));
        let binds: Vec<_> = prepared.binds().iter().map(spec).collect();
        let columns: Vec<_> = prepared.columns().iter().map(spec).collect();
        let key: Vec<_> = prepared.key_indexes().iter().map(ToString::to_string).collect();
        Ok(vec![
            format!("binds: {}", binds.join(", ")),
            format!("key: {}", key.join(", ")),
            format!("columns: {}", columns.join(", ")),
        ])
    }

    /// The clock's time, micros.
    #[must_use]
    pub fn now_micros(&self) -> i64 {
        self.clock.now_micros()
    }
}

/// A message on one line.
fn flat(message: &str) -> String {
    message.replace('\\', "\\\\").replace('\n', "\\n")
}

/// An error's class as golden files name it.
fn name(code: Code) -> &'static str {
    match code {
        Code::ServerError => "ServerError",
        Code::Protocol => "ProtocolError",
        Code::Overloaded => "Overloaded",
        Code::ReadFailure => "ReadFailure",
        Code::FunctionFailure => "FunctionFailure",
        Code::WriteFailure => "WriteFailure",
        Code::Syntax => "SyntaxError",
        Code::Unauthorized => "Unauthorized",
        Code::Invalid => "Invalid",
        Code::Config => "ConfigError",
        Code::AlreadyExists => "AlreadyExists",
        Code::Unprepared => "Unprepared",
        _ => "?",
    }
}
