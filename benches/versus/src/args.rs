//! The command line: `--name value` pairs, shared by the parent and the child processes it starts.

use std::path::{Path, PathBuf};

/// What was asked for. Numbers are listed with their defaults in [`NUMBERS`].
#[derive(Clone, Debug)]
pub struct Args {
    pub rows: usize,
    pub sensors: usize,
    pub batch: usize,
    /// Rows of W2 without fsync.
    pub single: usize,
    /// Rows of W2 with fsync.
    pub synced: usize,
    /// Rows logged before W8's kill.
    pub crash: usize,
    pub cache_mib: usize,
    pub write_buffer_mib: usize,
    /// Upper limit of one time-bounded measurement.
    pub cap_ms: usize,
    pub rounds: usize,
    /// Comma-separated engines of [`crate::engine::PEERS`].
    pub peers: String,
    /// Working directory, on the disk that is to be measured.
    pub dir: PathBuf,
    /// Every sample, for later.
    pub json: PathBuf,
    /// The report; not written when empty.
    pub report: PathBuf,
    /// File to `flock` around every child, for machines that others use too.
    pub lock: String,
    /// Comma-separated workloads out of `W1` to `W9`; all when empty. W1 is part of those that need its rows.
    pub only: String,
    /// Set for children only: what to do.
    pub role: String,
    /// Set for children only: on which engine.
    pub peer: String,
}

type Number = (&'static str, usize, fn(&mut Args) -> &mut usize);

/// The numeric options, their defaults and their fields.
const NUMBERS: &[Number] = &[
    ("--rows", 2_000_000, |a| &mut a.rows),
    ("--sensors", 200, |a| &mut a.sensors),
    ("--batch", 100, |a| &mut a.batch),
    ("--single", 200_000, |a| &mut a.single),
    ("--synced", 2_000, |a| &mut a.synced),
    ("--crash", 550_000, |a| &mut a.crash),
    ("--cache-mib", 128, |a| &mut a.cache_mib),
    ("--write-buffer-mib", 64, |a| &mut a.write_buffer_mib),
    ("--cap-ms", 1_000, |a| &mut a.cap_ms),
    ("--rounds", 1, |a| &mut a.rounds),
];

impl Args {
    pub fn parse() -> Args {
        let every: Vec<&str> = crate::engine::PEERS.iter().map(|p| p.name).collect();
        let mut args = Args {
            rows: 0,
            sensors: 0,
            batch: 0,
            single: 0,
            synced: 0,
            crash: 0,
            cache_mib: 0,
            write_buffer_mib: 0,
            cap_ms: 0,
            rounds: 0,
            peers: every.join(","),
            dir: "bench-data".into(),
            json: "results.json".into(),
            report: PathBuf::new(),
            lock: String::new(),
            only: String::new(),
            role: String::new(),
            peer: String::new(),
        };
        for (_, default, field) in NUMBERS {
            *field(&mut args) = *default;
        }
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            let value = words.next().unwrap_or_else(|| panic!("{name} needs a value"));
            if let Some((_, _, field)) = NUMBERS.iter().find(|n| n.0 == name) {
                *field(&mut args) = value.replace('_', "").parse().expect("a whole number");
                continue;
            }
            match name.as_str() {
                "--peers" => args.peers = value,
                "--dir" => args.dir = value.into(),
                "--json" => args.json = value.into(),
                "--report" => args.report = value.into(),
                "--lock" => args.lock = value,
                "--only" => args.only = value,
                "--role" => args.role = value,
                "--peer" => args.peer = value,
                _ => panic!("unknown option {name}"),
            }
        }
        args
    }

    /// The numeric options as they would be typed, only those that differ from the defaults.
    pub fn changed(&self) -> String {
        let mut args = self.clone();
        let changed = NUMBERS.iter().filter_map(|(name, default, field)| {
            let value = *field(&mut args);
            (value != *default).then(|| format!(" {name} {value}"))
        });
        changed.collect()
    }

    /// Whether `workload` is to run.
    pub fn wants(&self, workload: &str) -> bool {
        self.only.is_empty() || self.only.split(',').any(|name| name == workload)
    }

    /// The command line of a child that plays `role` for `peer` in `dir`.
    pub fn child(&self, role: &str, peer: &str, dir: &Path) -> Vec<String> {
        let mut args = self.clone();
        let numbers = NUMBERS.iter().map(|(name, _, field)| (*name, field(&mut args).to_string()));
        let words =
            [("--role", role), ("--peer", peer), ("--only", &self.only), ("--dir", dir.to_str().unwrap())];
        numbers
            .chain(words.map(|(name, value)| (name, value.to_string())))
            .flat_map(|(name, value)| [name.to_string(), value])
            .collect()
    }
}
