//! What the tour puts on the screen: headings, lines, a progress bar, numbers that read well.

use crate::failure::Outcome;
use comfy_table::{LineStyle, Table, TableStyle};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The whole tour.
    Story,
    /// The report at the end.
    Report,
    /// The report at the end, as JSON.
    Json,
}

/// Where the tour is told: standard output, with progress on standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Show {
    mode: Mode,
    bold: bool,
}

impl Show {
    /// Bold headings if standard output is a terminal and `NO_COLOR` is not set.
    pub(super) fn new(mode: Mode) -> Self {
        let bold = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { mode, bold }
    }

    /// A heading of the story.
    pub(super) fn heading(&self, text: &str) -> Outcome {
        match self.mode == Mode::Story {
            true => self.title(text),
            false => Ok(()),
        }
    }

    /// Lines of the story.
    pub(super) fn lines(&self, lines: &[&str]) -> Outcome {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// A line of the story.
    pub(super) fn line(&self, line: impl AsRef<str>) -> Outcome {
        if self.mode == Mode::Story {
            writeln!(io::stdout(), "  {}", line.as_ref())?;
        }
        Ok(())
    }

    /// A table of the story.
    pub(super) fn table(&self, table: &Table) -> Outcome {
        table.lines().try_for_each(|line| self.line(line))
    }

    /// A heading, whatever the mode.
    pub(super) fn title(&self, text: &str) -> Outcome {
        match self.bold {
            true => writeln!(io::stdout(), "\n\x1b[1m{text}\x1b[0m")?,
            false => writeln!(io::stdout(), "\n{text}")?,
        }
        Ok(())
    }

    /// A line, whatever the mode.
    pub(super) fn print(&self, line: impl AsRef<str>) -> Outcome {
        writeln!(io::stdout(), "{}", line.as_ref())?;
        Ok(())
    }

    /// Progress towards `total` rows.
    pub(super) fn progress(&self, total: u64) -> Progress {
        let told = self.mode == Mode::Story;
        let bar = (told && io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("  [{bar:40}] {percent:>3} %  {msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
            ProgressBar::new(total).with_style(style)
        });
        let lines = told && bar.is_none();
        Progress { bar, lines, total, told: 0, started: Instant::now() }
    }
}

/// A bar on a terminal, a line for each tenth elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    total: u64,
    /// Tenths told so far.
    told: u64,
    started: Instant,
}

impl Progress {
    /// `rows` are done; `place` says where that is.
    pub(super) fn at(&mut self, rows: u64, place: impl FnOnce() -> String) {
        let rate = || grouped(per_second(rows, self.started.elapsed()));
        if let Some(bar) = &self.bar {
            bar.set_position(rows);
            bar.set_message(format!("{} rows  {} rows/s  {}", grouped(rows), rate(), place()));
        } else if self.lines && rows * 10 / self.total.max(1) > self.told {
            self.told = rows * 10 / self.total.max(1);
            eprintln!("  {:>3} %  {} rows  {} rows/s  {}", self.told * 10, grouped(rows), rate(), place());
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A line below the header and no other: what is to be read are the numbers.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// An empty table in the tour's style.
pub(super) fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().copied());
    table
}

/// Puts the numbers of a column under each other.
pub(super) fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
}

/// `3,600,000`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `31.4 MB`, in powers of a thousand.
pub(super) fn bytes(number: u64) -> String {
    let n = number as f64;
    match number {
        0..1_000 => format!("{number} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", n / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n / 1e6),
        _ => format!("{:.2} GB", n / 1e9),
    }
}

/// `12.3 us`, `4.56 ms`, `7.89 s`.
pub(super) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_micros() {
        0..1_000 => format!("{:.1} us", seconds * 1e6),
        1_000..1_000_000 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Whole rows a second.
pub(super) fn per_second(rows: u64, time: Duration) -> u64 {
    (rows as f64 / time.as_secs_f64().max(1e-9)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(3_600_000)],
            ["0", "999", "1,000", "3,600,000"]
        );
        assert_eq!([bytes(999), bytes(1500), bytes(31_449_000)], ["999 bytes", "1.5 kB", "31.4 MB"]);
        let micros = Duration::from_micros;
        assert_eq!(
            [time(micros(12)), time(micros(4560)), time(micros(7_890_000))],
            ["12.0 us", "4.56 ms", "7.89 s"]
        );
        assert_eq!(per_second(500, Duration::from_millis(250)), 2000);
    }
}
