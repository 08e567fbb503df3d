//! A shell at work: runs pieces of scripts, keeps the settings, writes answers.

use crate::advise;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, things};
use crate::shell;
use crate::shell::command::{self, Command, HELP, Paging};
use crate::shell::copy;
use crate::shell::pieces::{Piece, pieces};
use crate::shell::render;
use crate::shell::settings::{PAGE_ROWS, Settings};
use skep::cql::answer::{Change, Target};
use skep::cql::{
    Answer, ColumnSpec, CqlError, Outcome as Result, Parameters, Prepared, SchemaChange, Session,
};
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write, stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// How deeply files may run files.
const MAX_SOURCES: usize = 16;
/// Rows that are fetched at once where nobody looks at pages.
const FETCH_ROWS: usize = 2_000;

/// What becomes of the shell after a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It goes on.
    Go,
    /// EXIT.
    Exit,
}

/// A shell.
pub(crate) struct Shell {
    pub(crate) session: Session,
    pub(crate) settings: Settings,
    /// Somebody sits at it: pages stop, errors do not end it.
    interactive: bool,
    keep_going: bool,
    capture: Option<BufWriter<File>>,
    /// Files being run, the innermost last.
    sources: Vec<PathBuf>,
    /// Pieces that failed.
    failures: u64,
}

impl Shell {
    /// A shell in a session.
    pub(crate) fn new(session: Session, format: Format, interactive: bool, keep_going: bool) -> Self {
        let settings = Settings::new(format);
        Self { session, settings, interactive, keep_going, capture: None, sources: Vec::new(), failures: 0 }
    }

    /// How many pieces failed so far.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// Runs a script: `name` says where it comes from. Stops at the first error, unless told to go on.
    ///
    /// # Errors
    /// The first error, with name and line of its piece.
    pub(crate) fn script(&mut self, text: &str, name: &str) -> Outcome<Next> {
        for piece in pieces(text) {
            match self.piece(&piece) {
                Ok(Next::Go) => {}
                Ok(Next::Exit) => return Ok(Next::Exit),
                Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
                Err(failure) => {
                    let told =
                        Failure::Script(format!("{name}:{}: {failure}", line_of(piece.line, &failure)));
                    if !self.keep_going {
                        return Err(told);
                    }
                    self.failures += 1;
                    eprintln!("{told}");
                }
            }
        }
        Ok(Next::Go)
    }

    /// Runs one piece.
    ///
    /// # Errors
    /// What the statement or command fails with, told for a person.
    pub(crate) fn piece(&mut self, piece: &Piece<'_>) -> Outcome<Next> {
        if !piece.is_command {
            self.statement(piece.text)?;
            return Ok(Next::Go);
        }
        let command = command::parse(piece.text).map_err(Failure::new)?;
        self.command(command)
    }

    fn statement(&mut self, text: &str) -> Outcome {
        let start = Instant::now();
        self.run(text).map_err(|failure| match failure {
            Failed::Cql(error) => Failure::Statement {
                line: error.place().map_or(1, |place| place.line),
                text: error.render(text),
            },
            Failed::Other(failure) => failure,
        })?;
        if self.settings.timing {
            self.say(&format!("Time: {:.3} ms", start.elapsed().as_secs_f64() * 1000.0))?;
        }
        Ok(())
    }

    fn run(&mut self, text: &str) -> std::result::Result<(), Failed> {
        let prepared = self.session.prepare(text)?;
        if !prepared.binds().is_empty() {
            let text =
                "bind markers need a program that gives their values; write the values into the statement";
            return Err(CqlError::invalid("Invalid amount of bind variables").hint(text).into());
        }
        let pages = self.interactive && self.settings.format == Format::Table && stdout().is_terminal();
        let rows = self.settings.page.filter(|_| pages);
        let mut parameters = Parameters {
            page_size: Some(rows.unwrap_or(FETCH_ROWS)),
            tracing: self.settings.tracing,
            ..Parameters::default()
        };
        let mut shown = 0;
        loop {
            let answer = self.ask(&prepared, &parameters)?;
            let (warnings, trace) = (answer.warnings, answer.trace);
            let Result::Rows(set) = &answer.outcome else {
                self.notes(&warnings, trace.as_deref())?;
                if self.interactive {
                    self.advise(&answer.outcome)?;
                }
                return Ok(());
            };
            let first = shown == 0;
            self.show(&set.columns, &set.rows, first, shown, set.paging_state.is_none())?;
            shown += set.rows.len();
            self.notes(&warnings, trace.as_deref())?;
            match &set.paging_state {
                None => return Ok(()),
                Some(state) => parameters.paging_state = Some(state.clone()),
            }
            if rows.is_some() && !more()? {
                return Ok(());
            }
        }
    }

    /// Runs a statement; without pages where it cannot be paged (ORDER BY over several partitions).
    fn ask(&self, prepared: &Prepared, parameters: &Parameters) -> skep::cql::Result<Answer> {
        match self.session.run(prepared, &[], parameters) {
            Err(error) if error.message().starts_with("Cannot page queries") => {
                let whole = Parameters { page_size: None, ..parameters.clone() };
                self.session.run(prepared, &[], &whole)
            }
            answer => answer,
        }
    }

    fn show(
        &mut self,
        columns: &Arc<[ColumnSpec]>,
        rows: &[Vec<skep::cql::Wire>],
        first: bool,
        before: usize,
        last: bool,
    ) -> Outcome {
        self.settings.width = terminal_width();
        let mut out = stdout().lock();
        if first || !rows.is_empty() {
            render::rows(&self.settings, columns, rows, first, before, &mut out)?;
        }
        if last
            && self.settings.format == Format::Table
            && !render::is_conditional(columns)
            && !render::is_text(columns)
        {
            writeln!(out, "({})", things((before + rows.len()) as u64, "row"))?;
        }
        if let Some(capture) = &mut self.capture {
            let settings = Settings { format: Format::Csv, width: None, ..self.settings.clone() };
            render::rows(&settings, columns, rows, first, before, capture)?;
        }
        Ok(())
    }

    /// What the rules of data modelling say of a table that was just made by hand.
    fn advise(&self, outcome: &Result) -> Outcome {
        let Result::Schema(SchemaChange { change: Change::Created, target: Target::Table(name), keyspace }) =
            outcome
        else {
            return Ok(());
        };
        let Some(table) = self.session.db().find_table(keyspace, name) else { return Ok(()) };
        advise::of_new(&table.schema()).iter().try_for_each(|hint| self.say(&format!("hint: {hint}")))
    }

    fn notes(&self, warnings: &[String], trace: Option<&[String]>) -> Outcome {
        for warning in warnings {
            writeln!(stderr(), "warning: {warning}")?;
        }
        for line in trace.unwrap_or(&[]) {
            self.say(&format!("  trace: {line}"))?;
        }
        Ok(())
    }

    /// Remarks go to standard error unless a person reads a table anyway, so that output stays what it is said to be.
    fn say(&self, text: &str) -> Outcome {
        match self.settings.format {
            Format::Table => Ok(writeln!(stdout(), "{text}")?),
            _ => Ok(writeln!(stderr(), "{text}")?),
        }
    }

    fn command(&mut self, command: Command) -> Outcome<Next> {
        match command {
            Command::Exit => return Ok(Next::Exit),
            Command::Help(_) => self.say(HELP)?,
            Command::Clear => write!(stdout(), "\x1b[2J\x1b[H")?,
            Command::Expand(on) => {
                self.settings.expand = on.unwrap_or(self.settings.expand);
                self.say_switch("Expanded output", self.settings.expand)?;
            }
            Command::Timing(on) => {
                self.settings.timing = on.unwrap_or(self.settings.timing);
                self.say_switch("Timing", self.settings.timing)?;
            }
            Command::Tracing(on) => {
                self.settings.tracing = on.unwrap_or(self.settings.tracing);
                self.say_switch("Tracing", self.settings.tracing)?;
            }
            Command::Paging(to) => {
                match to {
                    None => {}
                    Some(Paging::On) => self.settings.page = Some(PAGE_ROWS),
                    Some(Paging::Off) => self.settings.page = None,
                    Some(Paging::Rows(rows)) => self.settings.page = Some(rows),
                }
                match self.settings.page {
                    Some(rows) => {
                        self.say(&format!("Paging is on: {} a page", things(rows as u64, "row")))?
                    }
                    None => self.say("Paging is off")?,
                }
            }
            Command::Output(format) => {
                self.settings.format = format.unwrap_or(self.settings.format);
                self.say(&format!("Output is {:?}", self.settings.format).to_lowercase())?;
            }
            Command::Consistency(level) => {
                self.settings.consistency = level.unwrap_or_else(|| self.settings.consistency.clone());
                self.say(&format!(
                    "Consistency level is {} (one machine answers whatever it is)",
                    self.settings.consistency
                ))?;
            }
            Command::SerialConsistency(level) => {
                self.settings.serial_consistency =
                    level.unwrap_or_else(|| self.settings.serial_consistency.clone());
                self.say(&format!("Serial consistency level is {}", self.settings.serial_consistency))?;
            }
            Command::Show(what) => self.show_what(&what)?,
            Command::Source(file) => return self.source(&file),
            Command::Capture(to) => self.set_capture(to)?,
            Command::Copy(text) => {
                let done = copy::run(&self.session, &text)?;
                self.say(&done)?;
            }
            Command::Maintain { compact, table } => self.maintain(compact, table.as_deref())?,
        }
        Ok(Next::Go)
    }

    fn say_switch(&self, what: &str, on: bool) -> Outcome {
        self.say(&format!("{what} is {}", if on { "on" } else { "off" }))
    }

    fn show_what(&self, what: &str) -> Outcome {
        let path = self.session.db().path();
        match what {
            "VERSION" => {
                self.say(&format!("[skep {} | CQL of Apache Cassandra 5.0]", env!("CARGO_PKG_VERSION")))
            }
            "HOST" => self.say(&format!("The store in {}, opened by this process", path.display())),
            _ => self.say(&format!("Keyspace {}, store in {}", self.session.keyspace(), path.display())),
        }
    }

    /// Runs a file.
    ///
    /// # Errors
    /// A file that cannot be read, files that run each other without end, and what [`Shell::script`] fails with.
    pub(crate) fn source(&mut self, file: &str) -> Outcome<Next> {
        let path = Path::new(file);
        let known = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if self.sources.contains(&known) {
            return Err(Failure::new(format!("{file} runs itself, and so without end")));
        }
        if self.sources.len() >= MAX_SOURCES {
            return Err(Failure::new(format!("{file}: more than {MAX_SOURCES} files run each other")));
        }
        let bytes = std::fs::read(path).map_err(|error| Failure::io("read it", path, &error))?;
        let text = shell::text(bytes, file)?;
        self.sources.push(known);
        let ran = self.script(&text, file);
        self.sources.pop();
        ran
    }

    fn set_capture(&mut self, to: Option<Option<String>>) -> Outcome {
        match to {
            None => self.say(if self.capture.is_some() { "Capturing" } else { "Not capturing" })?,
            Some(None) => {
                if let Some(mut capture) = self.capture.take() {
                    capture.flush()?;
                }
            }
            Some(Some(file)) => {
                let path = Path::new(&file);
                let created = File::create(path).map_err(|error| Failure::io("create it", path, &error))?;
                self.capture = Some(BufWriter::new(created));
                self.say(&format!("Rows go to {file} as CSV too"))?;
            }
        }
        Ok(())
    }

    fn maintain(&self, compact: bool, table: Option<&str>) -> Outcome {
        let db = self.session.db();
        let tables = match table {
            Some(name) if name.contains('.') => vec![db.table(name)?],
            Some(name) => vec![db.table(&format!("{}.{name}", self.session.keyspace()))?],
            None => db.tables(),
        };
        for table in &tables {
            table.flush()?;
            if compact {
                table.compact()?;
            }
        }
        // Those behind indexes are not counted: nobody made them.
        let counted = tables.iter().filter(|table| !table.name().contains('#')).count();
        let verb = if compact { "Compacted" } else { "Flushed" };
        self.say(&format!("{verb} {}", things(counted as u64, "table")))
    }
}

/// The line of a file in which a failure lies, if the piece that failed begins in line `first`.
fn line_of(first: usize, failure: &Failure) -> usize {
    match failure {
        Failure::Statement { line, .. } => first + (*line as usize).saturating_sub(1),
        _ => first,
    }
}

/// Characters in a line of the terminal that answers go to.
fn terminal_width() -> Option<u16> {
    let (width, _) = stdout().is_terminal().then(terminal_size::terminal_size).flatten()?;
    Some(width.0)
}

/// Waits for a key at the end of a page; false for enough.
fn more() -> Outcome<bool> {
    if !stdin().is_terminal() {
        return Ok(true);
    }
    write!(stdout(), "--- more: Enter, or q and Enter for enough ---")?;
    stdout().flush()?;
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    Ok(!line.trim().eq_ignore_ascii_case("q"))
}

/// Why a statement failed.
enum Failed {
    Cql(CqlError),
    Other(Failure),
}

impl From<CqlError> for Failed {
    fn from(error: CqlError) -> Self {
        Self::Cql(error)
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}
