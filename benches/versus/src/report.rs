//! Medians, ratios and verdicts out of the samples of all rounds, as Markdown.

use crate::args::Args;
use crate::engine;
use crate::rows::{APPENDER, Better, Measurement, ROWS, Target};
use crate::sys;
use crate::work::Metrics;

/// Per engine one [`Metrics`] a round.
pub type Samples = Vec<(String, Vec<Metrics>)>;

fn sorted(rounds: &[Metrics], name: &str) -> Vec<f64> {
    let mut values: Vec<f64> = rounds.iter().filter_map(|m| m.get(name)).copied().collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(rounds: &[Metrics], name: &str) -> Option<f64> {
    let values = sorted(rounds, name);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// Three significant digits, large numbers with k or M.
fn show(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.1 => 2,
        _ => 6,
    };
    format!("{scaled:.digits$}{unit}")
}

/// How many times `own` is better than `other`.
fn times(better: Better, own: f64, other: f64) -> Option<f64> {
    match better {
        Better::Up if other != 0.0 => Some(own / other),
        Better::Down if own != 0.0 => Some(other / own),
        _ => None,
    }
}

/// The best median of the engines that are not ours.
fn best(samples: &Samples, name: &str, better: Better) -> Option<f64> {
    let others = samples.iter().filter(|(peer, _)| !engine::peer(peer).own);
    let figures = others.filter_map(|(_, rounds)| median(rounds, name));
    match better {
        Better::Up => figures.max_by(f64::total_cmp),
        _ => figures.min_by(f64::total_cmp),
    }
}

/// The target in words, and whether `own` meets it, where that can be told from this run.
fn judge(samples: &Samples, rounds: &[Metrics], row: &Measurement, own: f64) -> (String, Option<bool>) {
    let reached = |other: Option<f64>, factor: f64| {
        other.and_then(|other| times(row.better, own, other)).map(|ratio| ratio >= factor)
    };
    match row.target {
        Target::None => (String::new(), None),
        Target::Times(factor) => {
            (format!(">= {factor}x best"), reached(best(samples, row.name, row.better), factor))
        }
        Target::TimesOf(name, factor) => {
            (format!(">= {factor}x best of `{name}`"), reached(best(samples, name, row.better), factor))
        }
        Target::TimesPeer(peer, factor) => {
            let peer_rounds = samples.iter().find(|(name, _)| name == peer).map(|(_, rounds)| rounds);
            let other = peer_rounds.and_then(|rounds| median(rounds, row.name));
            (format!(">= {factor}x {peer}"), reached(other, factor))
        }
        Target::TimesOwn(name, factor) => {
            (format!(">= {factor}x own `{name}`"), reached(median(rounds, name), factor))
        }
        Target::AtMost(limit) => (format!("<= {limit}"), Some(own <= limit)),
        Target::AtLeast(limit) => (format!(">= {limit}"), Some(own >= limit)),
    }
}

/// One table of `cell(rounds, measurement)` per engine.
fn table(samples: &Samples, cell: impl Fn(&[Metrics], &Measurement) -> String) -> String {
    let names: Vec<&str> = samples.iter().map(|(name, _)| name.as_str()).collect();
    let rule = "---:|".repeat(names.len());
    let mut text = format!("| measurement | {} |\n|---|{rule}\n", names.join(" | "));
    for row in ROWS {
        let cells: Vec<String> = samples.iter().map(|(_, rounds)| cell(rounds, row)).collect();
        if cells.iter().any(|c| !c.is_empty()) {
            text += &format!("| {} | {} |\n", row.label, cells.join(" | "));
        }
    }
    text
}

/// skep's figures beside the best of the others, with the target and the verdict.
fn verdicts(samples: &Samples) -> String {
    let mut text = "| measurement | skep | best other | times better | target | |\n".to_string();
    text += "|---|---:|---:|---:|---|---|\n";
    for (peer, rows) in [("skep", ROWS), ("skep-appender", APPENDER)] {
        let Some((_, rounds)) = samples.iter().find(|(name, _)| name == peer) else { continue };
        for row in rows.iter().filter(|row| row.better != Better::Neither) {
            let Some(own) = median(rounds, row.name) else { continue };
            let base = match row.target {
                Target::TimesOf(name, _) => name,
                _ => row.name,
            };
            let other = best(samples, base, row.better);
            let ratio = other.and_then(|other| times(row.better, own, other));
            let (target, met) = judge(samples, rounds, row, own);
            let verdict = match met {
                Some(true) => "met",
                Some(false) => "**missed**",
                None if target.is_empty() => "",
                None => "not in this run",
            };
            let [other, ratio] =
                [other.map(show), ratio.map(|r| format!("{r:.2}"))].map(Option::unwrap_or_default);
            text +=
                &format!("| {} | {} | {other} | {ratio} | {target} | {verdict} |\n", row.label, show(own));
        }
    }
    text
}

/// The whole report.
pub fn report(samples: &Samples, limits: &[Metrics], args: &Args) -> String {
    let versions: Vec<String> = engine::versions().iter().map(|(name, v)| format!("{name} {v}")).collect();
    let mut text = format!(
        "# skep beside other embedded engines\n\n\
         {} rows, {} sensors, batches of {}, {} MiB cache, {} MiB write buffer; medians of {} interleaved rounds.\n\n\
         Machine: {}\n\nVersions: {}\n\nCommand:\n\n    cargo run --release --features rocksdb -- --peers {}{}\n\n",
        args.rows,
        args.sensors,
        args.batch,
        args.cache_mib,
        args.write_buffer_mib,
        args.rounds,
        sys::machine(),
        versions.join(", "),
        args.peers,
        args.changed(),
    );
    text += "## skep, its targets and the best of the others\n\n";
    text += &verdicts(samples);
    text += "\n## Medians\n\n";
    text += &table(samples, |rounds, row| median(rounds, row.name).map(show).unwrap_or_default());
    text += "\n## Spread over the rounds, (max - min) / median in %\n\n";
    text += &table(samples, |rounds, row| {
        let values = sorted(rounds, row.name);
        match (values.first(), values.last(), median(rounds, row.name)) {
            (Some(min), Some(max), Some(m)) if m != 0.0 && row.better != Better::Neither => {
                format!("{:.0}", (max - min) / m * 100.0)
            }
            _ => String::new(),
        }
    });
    text += "\n## Limits of the machine\n\n| limit | median | min | max |\n|---|---:|---:|---:|\n";
    for name in limits.first().into_iter().flat_map(|m| m.keys()) {
        let values = sorted(limits, name);
        let [min, max] = [values[0], values[values.len() - 1]].map(show);
        let middle = median(limits, name).map(show).unwrap_or_default();
        text += &format!("| {name} | {middle} | {min} | {max} |\n");
    }
    text
}
