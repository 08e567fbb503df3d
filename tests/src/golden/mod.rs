//! Golden files: scripts of CQL with the answers that Apache Cassandra gave, and the runner that asks skep the same.
//!
//! `script` reads a file, `run` sends its statements through a session over a store on a simulated disk whose clock is
//! moved by hand, `literal` writes the answers' values as the files have them, `differences` knows where skep means to differ.
//! The program `golden` and the test of that name call [`check`].
//!
//! # Format
//! `> ` and a statement (its further lines indented by two blanks), then its answer: `ok`; or a line of columns, a line for
//! each row and `(N rows)`, with `--- page` between pages; or `error 0xCODE Name: message`; and `warning: ` lines. Lines that
//! begin with `--` are comments. Directives stand on lines of their own: `@page N` (page size of the next statement), `@prepare` (prepare it only: shows
//! its bind markers and columns), `@bind VALUES` (its markers' values: `0x...`, `null` or `unset`), `@code` (of its error only the code counts), `@serial`, `@flush`, `@compact`, `@sleep SECONDS`.

pub mod differences;
pub mod literal;
pub mod run;
pub mod script;

use self::differences::Differences;
use self::run::Runner;
use self::script::Item;

/// What happens before every SELECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing: the script as it is.
    Plain,
    /// All memtables are flushed.
    Flush,
    /// They are flushed, and all files of each table are compacted into one.
    Compact,
}

impl Way {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Flush, Self::Compact];

    /// As the runner's messages name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Flush => " (flush first)",
            Self::Compact => " (compact first)",
        }
    }
}

/// A statement that was not answered as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The statement.
    pub statement: String,
    /// The lines of the golden file.
    pub want: Vec<String>,
    /// The lines that skep gave.
    pub got: Vec<String>,
}

/// What came of a script.
#[derive(Debug, Default)]
pub struct Report {
    /// Statements that were answered as they should be, or as a listed difference says.
    pub passed: usize,
    /// The others.
    pub failures: Vec<Failure>,
    /// The listed differences that were met, by their place in the list.
    pub met: Vec<usize>,
}

/// Runs the script `text` of a file one way.
///
/// # Errors
/// A text for a script that is not of the format, or a store that does not work at all.
pub fn check(file: &str, text: &str, way: Way, differences: &Differences) -> Result<Report, String> {
    let mut runner = Runner::new()?;
    let mut report = Report::default();
    let loose = script::is_about_syntax(file);
    for item in script::items(text) {
        match item {
            Item::Comment => {}
            Item::Directive(line) => runner.directive(&line)?,
            Item::Statement { text, want } => {
                if text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("SELECT")) {
                    runner.before_select(way)?;
                }
                let got = runner.answer(&text);
                let want = script::tidy(want);
                if script::same(&want, &got, loose) {
                    report.passed += 1;
                } else if let Some(number) = differences.find(file, &text, &got) {
                    report.passed += 1;
                    report.met.push(number);
                } else {
                    report.failures.push(Failure { statement: text, want, got });
                }
            }
        }
    }
    Ok(report)
}
