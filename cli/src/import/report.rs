//! What an import tells: bad lines, progress, the result.

use crate::output::count;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many bad lines are listed one by one.
const LISTED: u64 = 20;

/// Collects what happens during an import and prints it.
pub(super) struct Report {
    bar: ProgressBar,
    started: Instant,
    /// Records read, bad ones included.
    pub(super) read: u64,
    /// Rows written.
    pub(super) written: u64,
    /// Records that were refused.
    pub(super) bad: u64,
}

impl Report {
    /// A report on files of `total` bytes together. The bar shows only where standard error is a terminal.
    pub(super) fn new(total: u64) -> Self {
        let bar = ProgressBar::new(total);
        let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}, {msg}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now(), read: 0, written: 0, bad: 0 }
    }

    /// A line that was refused.
    pub(super) fn bad_line(&mut self, file: &Path, line: u64, reason: &str) {
        self.bad += 1;
        if self.bad <= LISTED {
            let reason = reason.replace('\n', "\\n");
            self.bar.suspend(|| eprintln!("{}:{line}: {reason}", file.display()));
        }
    }

    /// Moves the bar to `bytes` of all files.
    pub(super) fn progress(&self, bytes: u64) {
        self.bar.set_position(bytes);
        let rate = per_second(self.read, self.started.elapsed());
        self.bar.set_message(format!("{} rows, {} rows/s", count(self.read), count(rate)));
    }

    /// Ends the bar and returns the result in words; `repeated` rows had a key that came before.
    pub(super) fn finish(&self, table: &str, files: usize, repeated: u64, partial: bool) -> String {
        self.bar.finish_and_clear();
        if self.bad > LISTED {
            eprintln!("... and {} more bad lines", count(self.bad - LISTED));
        }
        let elapsed = self.started.elapsed();
        let mut text = format!(
            "imported {} rows of {} {} into {table} in {:.2} s ({} rows/s)\n",
            count(self.written),
            files,
            if files == 1 { "file" } else { "files" },
            elapsed.as_secs_f64(),
            count(per_second(self.written, elapsed)),
        );
        let _ = write!(text, "  rows read {}, written {}", count(self.read), count(self.written));
        if self.bad > 0 {
            let _ = write!(text, ", refused {}", count(self.bad));
        }
        if repeated > 0 {
            let at_most = if partial { "at most " } else { "" };
            let _ = write!(
                text,
                ", distinct keys {at_most}{}\n  repeated keys {}: the later line replaced the earlier one; if these are different \
                 things, the key needs another column",
                count(self.written.saturating_sub(repeated)),
                count(repeated),
            );
        }
        text.push('\n');
        text
    }
}

fn per_second(number: u64, elapsed: Duration) -> u64 {
    (number as f64 / elapsed.as_secs_f64().max(1e-6)) as u64
}
