//! Every golden file, three ways: Apache Cassandra's answers are skep's.

use skep_tests::golden::differences::Differences;
use skep_tests::golden::{Way, check};
use skep_tests::source::{files, read};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many failures a message shows.
const SHOWN: usize = 20;

#[test]
fn cassandras_answers_are_ours() {
    let differences = Differences::load().unwrap();
    let files = files("tests/golden", ".golden");
    assert!(files.len() > 150, "the golden files are gone: {} found", files.len());
    let jobs: Vec<_> = files.iter().flat_map(|file| Way::ALL.map(|way| (file, way))).collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new((0, Vec::new(), BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((file, way)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = check(file, &read(file), *way, &differences);
                    let mut found = found.lock().unwrap();
                    match report {
                        Err(error) => found.1.push(format!("{file}{}: {error}", way.name())),
                        Ok(report) => {
                            found.0 += report.passed;
                            found.2.extend(report.met);
                            found.1.extend(report.failures.into_iter().map(|failure| {
                                let (want, got) =
                                    (failure.want.join("\n       "), failure.got.join("\n       "));
                                format!(
                                    "{file}{}\n> {}\n  want {want}\n  got  {got}",
                                    way.name(),
                                    failure.statement
                                )
                            }));
                        }
                    }
                }
            });
        }
    });
    let (passed, failures, met) = found.into_inner().unwrap();
    let shown = failures.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{passed} passed, {} failed; the first of them:\n{shown}", failures.len());
    for (number, entry) in differences.entries().iter().enumerate() {
        assert!(
            met.contains(&number),
            "a listed difference is none any more: {} > {}",
            entry.file,
            entry.statement
        );
    }
}
