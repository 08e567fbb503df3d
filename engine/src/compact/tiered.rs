//! SizeTieredCompactionStrategy: files of about one size become one larger file.
//!
//! Every byte is rewritten about log4(size of the table / size of a flush) times. The price is space: a merge of the
//! largest files needs as much again while it runs, and old versions live until their tier is merged.
//!
//! # Not here
//! Cassandra prefers the bucket that is read most ("hotness"). That needs read counters per file; here the bucket with
//! most files comes first, among equals that of the smaller files, which frees most files for least work.

use crate::compact::input::StrategyInput;
use crate::compact::settings::TieredOptions;
use crate::compact::task::{Reason, Task, TaskKind, task};
use crate::sstable::meta::{FileId, FileMeta};
use std::sync::Arc;

/// Tasks over the files `free`; single files by their tombstones where no bucket is full.
pub(crate) fn pick(input: &StrategyInput<'_>, options: &TieredOptions, free: &[Arc<FileMeta>]) -> Vec<Task> {
    let tasks = pick_buckets(input, options, free, None);
    match tasks.is_empty() {
        true => pick_tombstones(input, free).into_iter().collect(),
        false => tasks,
    }
}

/// One task for each bucket that is full, those of most files first.
pub(crate) fn pick_buckets(
    input: &StrategyInput<'_>,
    options: &TieredOptions,
    free: &[Arc<FileMeta>],
    window_start: Option<i64>,
) -> Vec<Task> {
    let min_threshold = input.options.min_threshold;
    let mut full = buckets(options, free);
    full.retain(|bucket| bucket.len() >= min_threshold);
    full.sort_by_key(|bucket| (std::cmp::Reverse(bucket.len()), average(bucket)));
    let merge = |mut bucket: Vec<Arc<FileMeta>>| {
        bucket.truncate(input.options.max_threshold);
        let reason = Reason::SameSize {
            files: bucket.len(),
            average_bytes: average(&bucket),
            min_threshold,
            window_start,
        };
        task(TaskKind::Merge, bucket.iter().map(|f| f.id).collect(), reason)
    };
    full.into_iter().map(merge).collect()
}

/// Groups files by size, smallest first: a file joins a bucket whose average it is close to, or in which all is small.
pub(crate) fn buckets(options: &TieredOptions, files: &[Arc<FileMeta>]) -> Vec<Vec<Arc<FileMeta>>> {
    let mut sorted = files.to_vec();
    sorted.sort_by_key(|f| (f.size_bytes, f.id));
    let mut buckets: Vec<(f64, Vec<Arc<FileMeta>>)> = Vec::new();
    let small = options.min_sstable_bytes as f64;
    for file in sorted {
        let size = file.size_bytes as f64;
        let fits = |average: f64| {
            let near = size > average * options.bucket_low && size < average * options.bucket_high;
            near || (size < small && average < small)
        };
        match buckets.iter_mut().find(|(average, _)| fits(*average)) {
            Some((average, bucket)) => {
                let count = bucket.len() as f64;
                *average = (*average * count + size) / (count + 1.0);
                bucket.push(file);
            }
            None => buckets.push((size, vec![file])),
        }
    }
    buckets.into_iter().map(|(_, bucket)| bucket).collect()
}

fn average(bucket: &[Arc<FileMeta>]) -> u64 {
    let sum: u128 = bucket.iter().map(|f| u128::from(f.size_bytes)).sum();
    u64::try_from(sum / (bucket.len().max(1) as u128)).unwrap_or(u64::MAX)
}

/// The file of which most can go, if that is worth a rewrite.
///
/// A file is tried if it is older than tombstone_compaction_interval, was not tried without gain within that interval
/// ([`History::tried_in_vain`](crate::compact::history::History::tried_in_vain)), and enough of it is droppable: of the whole file with
/// unchecked_tombstone_compaction, else of the part of its token range in which no older data overlaps.
pub(crate) fn pick_tombstones(input: &StrategyInput<'_>, free: &[Arc<FileMeta>]) -> Option<Task> {
    let settings = &input.options.tombstones;
    let gc_before = input.gc_before();
    let old_enough = |second: i64| input.now_seconds.saturating_sub(second) >= settings.interval_seconds;
    let ratio_of = |file: &FileMeta| {
        let ratio = file.droppable_ratio(gc_before);
        let part = if settings.unchecked { 1.0 } else { free_part(file, input) };
        ratio * part
    };
    let mut best: Option<(f64, FileId)> = None;
    for file in free {
        let created = file.created_micros.div_euclid(1_000_000);
        if !old_enough(created) || input.history.tried_in_vain(file.id, input.now_seconds, settings) {
            continue;
        }
        let ratio = ratio_of(file);
        if ratio > settings.threshold && best.is_none_or(|(most, _)| ratio > most) {
            best = Some((ratio, file.id));
        }
    }
    best.map(|(ratio, id)| {
        let reason = Reason::Droppable { ratio, threshold: settings.threshold };
        task(TaskKind::Tombstones, vec![id], reason)
    })
}

/// The share of a file's token range in which no other file is old enough to be hidden by it. (Memtables are not
/// counted: they are small, and the job looks at each partition.)
fn free_part(file: &FileMeta, input: &StrategyInput<'_>) -> f64 {
    let blocks = |other: &&Arc<FileMeta>| {
        other.id != file.id && other.min_timestamp <= file.max_timestamp && other.overlaps(file)
    };
    let (first, last) = (i128::from(file.first.token.0), i128::from(file.last.token.0));
    let mut covered: Vec<(i128, i128)> = (input.files.iter().filter(blocks))
        .map(|o| (first.max(o.first.token.0.into()), last.min(o.last.token.0.into())))
        .collect();
    covered.sort_unstable();
    let (mut sum, mut end) = (0i128, first - 1);
    for (from, to) in covered {
        sum += (to - from.max(end + 1) + 1).max(0);
        end = end.max(to);
    }
    1.0 - sum as f64 / (last - first + 1) as f64
}

#[cfg(test)]
#[path = "tiered_tests.rs"]
mod tests;
