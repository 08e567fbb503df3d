//! The programs from outside: one that makes scripts and one that answers them.
//!
//! A command is words between blanks; no shell reads it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints the script of a seed: `{seed}` in its words stands for the number.
#[derive(Clone, Debug)]
pub struct Generator(pub String);

impl Generator {
    /// The script of a seed.
    ///
    /// # Errors
    /// A program that cannot be run, fails, or prints no text.
    pub fn script(&self, seed: u64) -> Result<String, String> {
        let text = self.0.replace("{seed}", &seed.to_string());
        let output = command(&text)?.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("{text}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{text}: {}", output.status));
        }
        String::from_utf8(output.stdout).map_err(|error| format!("{text}: {error}"))
    }
}

/// Writes `X.golden` beside each `X.cql` that follows its own words.
#[derive(Clone, Debug)]
pub struct Oracle(pub String);

impl Oracle {
    /// Asks for the answers to script files.
    ///
    /// # Errors
    /// A program that cannot be run, fails, or leaves a script without its answers.
    pub fn record(&self, scripts: &[PathBuf]) -> Result<(), String> {
        if scripts.is_empty() {
            return Ok(());
        }
        let status = command(&self.0)?.args(scripts).stdout(Stdio::null()).status();
        let status = status.map_err(|error| format!("{}: {error}", self.0))?;
        if !status.success() {
            return Err(format!("{}: {status}", self.0));
        }
        match scripts.iter().find(|script| !golden_of(script).exists()) {
            Some(script) => Err(format!("{} wrote no {}", self.0, golden_of(script).display())),
            None => Ok(()),
        }
    }

    /// The golden text of one script, which is written to `scratch` for it.
    ///
    /// # Errors
    /// As [`Oracle::record`], and those of the files.
    pub fn answer(&self, script: &str, scratch: &Path) -> Result<String, String> {
        write(scratch, script)?;
        self.record(&[scratch.to_path_buf()])?;
        let golden = golden_of(scratch);
        let text = read(&golden)?;
        // An answer must never be taken for that to the next question.
        std::fs::remove_file(&golden).map_err(|error| format!("{}: {error}", golden.display()))?;
        Ok(text)
    }
}

/// Where the answers to a script are.
#[must_use]
pub fn golden_of(script: &Path) -> PathBuf {
    script.with_extension("golden")
}

/// A file's text.
///
/// # Errors
/// Those of the file, with its name.
pub fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Writes a file.
///
/// # Errors
/// Those of the file, with its name.
pub fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn command(text: &str) -> Result<Command, String> {
    let mut words = text.split_whitespace();
    let program = words.next().ok_or("a command without words")?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    Ok(command)
}
