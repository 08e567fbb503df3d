//! Runs golden files: `golden [--ways] FILE...` prints what differs, closes with `N passed, N failed`, and exits with 1 when any failed.
//!
//! `--ways` runs each file three times: as it is, with a flush before every SELECT, with flush and compaction before it. `--counts` prints a line
//! for each file that has failures instead of the statements. A directory stands for all golden files below it.

use skep_tests::golden::differences::Differences;
use skep_tests::golden::{Report, Way, check};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

fn main() -> ExitCode {
    let (mut ways, mut counts, mut files) = (&Way::ALL[..1], false, Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--ways" => ways = &Way::ALL,
            "--counts" => counts = true,
            "--help" | "-h" => {
                println!("golden [--ways] [--counts] FILE...");
                return ExitCode::SUCCESS;
            }
            _ if argument.starts_with("--") => return refuse(&format!("unknown option {argument}")),
            _ => collect(Path::new(&argument), &mut files),
        }
    }
    if files.is_empty() {
        return refuse("golden [--ways] [--counts] FILE...");
    }
    let differences = match Differences::load() {
        Ok(differences) => differences,
        Err(error) => return refuse(&error),
    };
    // A statement that panics is reported as its answer; the default message would only be in the way.
    std::panic::set_hook(Box::new(|_| {}));
    let jobs: Vec<(&PathBuf, Way)> =
        files.iter().flat_map(|file| ways.iter().map(move |way| (file, *way))).collect();
    let (next, (sender, receiver)) = (AtomicUsize::new(0), mpsc::channel());
    let (mut passed, mut failed) = (0, 0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (next, jobs, differences, sender) = (&next, &jobs, &differences, sender.clone());
            scope.spawn(move || {
                while let Some((number, (file, way))) = take(next, jobs) {
                    let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
                    let report =
                        text.and_then(|text| check(&file.to_string_lossy(), &text, way, differences));
                    // Nobody listens only when the program is ending.
                    let _ = sender.send((number, report));
                }
            });
        }
        drop(sender);
        let mut waiting = std::collections::BTreeMap::new();
        let mut turn = 0;
        for (number, report) in receiver {
            waiting.insert(number, report);
            // Printed in the order of the command line, whoever is ready first.
            while let Some(report) = waiting.remove(&turn) {
                let (file, way) = jobs[turn];
                let (good, bad) = show(file, way, report, counts);
                (passed, failed, turn) = (passed + good, failed + bad, turn + 1);
            }
        }
    });
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

fn take<'a>(next: &AtomicUsize, jobs: &[(&'a PathBuf, Way)]) -> Option<(usize, (&'a PathBuf, Way))> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, *jobs.get(number)?))
}

fn show(file: &Path, way: Way, report: Result<Report, String>, counts: bool) -> (usize, usize) {
    let (file, way) = (file.display(), way.name());
    match report {
        Err(error) => {
            println!("{file}{way}\n  {error}\n");
            (0, 1)
        }
        Ok(report) if counts => {
            if !report.failures.is_empty() {
                println!(
                    "{:5} of {:5} failed  {file}{way}",
                    report.failures.len(),
                    report.passed + report.failures.len()
                );
            }
            (report.passed, report.failures.len())
        }
        Ok(report) => {
            for failure in &report.failures {
                println!("{file}{way}\n> {}", failure.statement);
                failure.want.iter().for_each(|line| println!("  want {line}"));
                failure.got.iter().for_each(|line| println!("  got  {line}"));
                println!();
            }
            (report.passed, report.failures.len())
        }
    }
}

fn refuse(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::from(2)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else {
        files.push(path.to_path_buf());
        return;
    };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            collect(&entry, files);
        } else if entry.extension().is_some_and(|ending| ending == "golden") {
            files.push(entry);
        }
    }
}
