//! What a read looked at, in words: for EXPLAIN, which lists every memtable and file, and for traces, which have few lines.
//!
//! The engine tells ([`Explain`]) when a run asks for it ([`Run::is_explained`](crate::answer::Run::is_explained)); this only words it.

use skep_engine::Explain;
use skep_engine::read::explain::{Fate, RuledOut, SourceName};
use std::collections::BTreeMap;

/// Sources that a list names one by one.
const MAX_SOURCES: usize = 1000;
/// Sources that a line of a trace names.
const MAX_NAMES: usize = 8;

/// What is told about, and what.
pub type Line = (String, String);

/// A line.
pub fn line(step: impl Into<String>, detail: impl Into<String>) -> Line {
    (step.into(), detail.into())
}

/// `1 row`, `3 rows`.
#[must_use]
pub fn things(number: u64, one: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {one}{s}")
}

/// A line for each memtable and file: whether it was read, and what ruled it out.
#[must_use]
pub fn sources(explain: &Explain) -> Vec<Line> {
    let one = explain.partitions == 1;
    let named = explain.sources.iter().take(MAX_SOURCES);
    let mut lines: Vec<Line> =
        named.map(|(source, fate)| line(source.to_string(), fate_text(fate, one))).collect();
    if let Some(more) = explain.sources.len().checked_sub(MAX_SOURCES).filter(|more| *more > 0) {
        lines.push(line("sources", format!("and {more} more")));
    }
    if explain.sources.is_empty() {
        lines.push(line("sources", "none: no partition was opened"));
    }
    lines
}

/// Why a source was not read.
#[must_use]
pub fn ruled_out(reason: RuledOut) -> String {
    match reason {
        RuledOut::KeyRange | RuledOut::Filter | RuledOut::Clustering => format!("ruled out by {reason}"),
        RuledOut::NotThere => "does not have the partition".to_owned(),
        RuledOut::Deleted => "ruled out: the partition was deleted since".to_owned(),
        RuledOut::Expired => "ruled out: all in it has expired and hides nothing".to_owned(),
        RuledOut::Older => "ruled out: older than the row found".to_owned(),
    }
}

fn fate_text(fate: &Fate, one: bool) -> String {
    if one {
        return match fate.ruled_out.keys().next() {
            Some(reason) if fate.read == 0 => ruled_out(*reason),
            _ => "read".to_owned(),
        };
    }
    let mut parts = Vec::new();
    if fate.read > 0 {
        parts.push(format!("read for {}", things(fate.read, "partition")));
    }
    parts.extend(fate.ruled_out.iter().map(|(reason, times)| match reason {
        RuledOut::NotThere => format!("does not have {}", things(*times, "partition")),
        _ => format!("{} for {}", ruled_out(*reason), things(*times, "partition")),
    }));
    parts.join(", ")
}

/// The same in few lines: the sources that were read, and the others by what ruled them out.
#[must_use]
pub fn sources_in_short(explain: &Explain) -> Vec<Line> {
    let mut read = Vec::new();
    let mut out: BTreeMap<RuledOut, Vec<SourceName>> = BTreeMap::new();
    for (source, fate) in &explain.sources {
        if fate.read > 0 {
            read.push(*source);
        } else {
            fate.ruled_out.keys().for_each(|reason| out.entry(*reason).or_default().push(*source));
        }
    }
    let mut lines = vec![line("read", if read.is_empty() { "nothing".to_owned() } else { names(&read) })];
    lines.extend(out.iter().map(|(reason, sources)| line(ruled_out(*reason), names(sources))));
    lines
}

fn names(sources: &[SourceName]) -> String {
    let named: Vec<String> = sources.iter().take(MAX_NAMES).map(ToString::to_string).collect();
    let text = named.join(", ");
    match sources.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        Some(more) => format!("{text} and {more} more"),
        None => text,
    }
}

/// What was asked for and met: blocks, batches, rows, cells, tombstones.
#[must_use]
pub fn amounts(explain: &Explain) -> Vec<Line> {
    let (looks, counts) = (explain.looks, explain.counts);
    let of = |read: u64, cached: u64, one: &str| {
        format!("{}: {read} read from files, {cached} in the cache", things(read + cached, one))
    };
    let mut blocks = of(looks.blocks_read, looks.blocks_cached, "block");
    if explain.blocks_from_index > 0 {
        blocks.push_str(&format!("; {} more answered by the index alone", explain.blocks_from_index));
    }
    let batches = explain.column_batches + explain.row_batches;
    vec![
        line("partitions", format!("{} opened", explain.partitions)),
        line("index pages", of(looks.pages_read, looks.pages_cached, "page")),
        line("blocks", blocks),
        line(
            "batches",
            format!(
                "{batches} in all: {} as columns straight from a block, {} built row by row",
                explain.column_batches, explain.row_batches
            ),
        ),
        line(
            "met",
            format!(
                "{}, {}, {}",
                things(counts.live_rows, "live row"),
                things(counts.live_cells, "live cell"),
                things(counts.tombstones, "tombstone")
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_engine::sstable::meta::FileId;

    fn story(partitions: u64) -> Explain {
        let mut explain = Explain { partitions, ..Explain::default() };
        let read = Fate { read: partitions, ..Fate::default() };
        explain.sources.insert(SourceName::Memtable(0), read);
        for file in 1..=10 {
            let fate = Fate { read: 0, ruled_out: [(RuledOut::Filter, partitions)].into() };
            explain.sources.insert(SourceName::File(FileId(file)), fate);
        }
        explain
    }

    #[test]
    fn sources_are_listed_with_what_ruled_them_out() {
        let lines = sources(&story(1));
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[0], line("memtable 0", "read"));
        assert_eq!(lines[10], line("file 10", "ruled out by filter"));
        assert_eq!(sources(&story(2))[10].1, "ruled out by filter for 2 partitions");
        assert_eq!(sources(&Explain::default())[0].1, "none: no partition was opened");
    }

    #[test]
    fn in_short_reasons_come_once() {
        let lines = sources_in_short(&story(1));
        assert_eq!(lines[0], line("read", "memtable 0"));
        assert_eq!(lines[1].0, "ruled out by filter");
        assert!(lines[1].1.ends_with("file 8 and 2 more"), "{}", lines[1].1);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn blocks_that_the_index_answered_for_are_told() {
        let explain = Explain { blocks_from_index: 3, ..story(1) };
        assert!(amounts(&explain)[2].1.ends_with("3 more answered by the index alone"));
    }
}
