//! skep beside what a user would embed instead, on the same time-series workloads, in one interleaved run.
//!
//! The parent process runs, for every round, the machine's limits and then every engine, each in a child process,
//! so that CPU, memory and I/O are its own; it prints medians, ratios and verdicts. See README.md.

mod args;
mod data;
mod engine;
mod engines;
mod limits;
mod report;
mod rows;
mod sys;
mod work;

use args::Args;
use report::Samples;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use work::Metrics;

/// Runs one child to its end and returns what it measured, plus how much of the machine others used meanwhile.
fn measure(args: &Args, role: &str, peer: &str) -> Metrics {
    let _lock = (!args.lock.is_empty()).then(|| sys::lock(&args.lock));
    let dir = args.dir.join(if peer.is_empty() { role } else { peer });
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    let (start, before) = (Instant::now(), sys::cpu_seconds());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(args.child(role, peer, &dir))
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{role} {peer} failed");
    let (wall, after) = (start.elapsed().as_secs_f64(), sys::cpu_seconds());
    fs::remove_dir_all(&dir).unwrap();
    let mut metrics: Metrics = serde_json::from_slice(&output.stdout).unwrap();
    let used = |i: usize| after[i] - before[i];
    metrics.insert("run_wall_s".into(), wall);
    metrics.insert("run_others_cpu".into(), (used(0) - used(2)).max(0.0) / wall);
    metrics.insert("run_stolen_cpu".into(), used(1) / wall);
    metrics
}

/// Writes every sample, so that other tables can be made of them later.
fn save(samples: &Samples, limits: &[Metrics], args: &Args) {
    let versions = engine::versions();
    let all: Value = json!({
        "machine": sys::machine(),
        "versions": versions.iter().map(|(n, v)| json!({"peer": n, "version": v})).collect::<Vec<_>>(),
        "parameters": args.child("", "", Path::new("")),
        "limits": limits,
        "peers": samples.iter().map(|(n, r)| json!({"peer": n, "rounds": r})).collect::<Vec<_>>(),
    });
    fs::write(&args.json, serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
}

fn main() {
    let args = Args::parse();
    let child_result = match args.role.as_str() {
        "crash" => work::fill_and_wait(&args, &args.dir),
        "bench" => Some(work::run(&args, &args.dir)),
        "limits" => Some(limits::run(&args, &args.dir)),
        _ => None,
    };
    if let Some(metrics) = child_result {
        println!("{}", serde_json::to_string(&metrics).unwrap());
        return;
    }
    let mut samples: Samples = args.peers.split(',').map(|p| (engine::peer(p).name.into(), vec![])).collect();
    let mut limits = Vec::new();
    for round in 0..args.rounds {
        eprintln!("round {} of {}", round + 1, args.rounds);
        limits.push(measure(&args, "limits", ""));
        for (name, rounds) in &mut samples {
            eprintln!("  {name}");
            rounds.push(measure(&args, "bench", name));
        }
    }
    let _ = fs::remove_dir(&args.dir);
    save(&samples, &limits, &args);
    let report = report::report(&samples, &limits, &args);
    println!("{report}");
    if !args.report.as_os_str().is_empty() {
        fs::write(&args.report, report).unwrap();
    }
}
