//! `system_views`: what the store is doing, in the tables that Cassandra has for it, as far as one process has an answer.
//!
//! Columns are Cassandra's; what is not measured here is null rather than made up.

use crate::error::Result;
use crate::rails::Rail;
use crate::system::definition::Kind::{Clustering, Partition, Regular};
use crate::system::definition::{Definition, Source, SystemRow};
use crate::system::schema_tables::text;
use skep_engine::{ReplayMode, SyncMode, Timeuuid, Value};
use std::time::Duration;

/// The tables.
pub(crate) const TABLES: &[Definition] = &[
    Definition {
        keyspace: "system_views",
        name: "settings",
        comment: "current settings",
        columns: &[("name", "text", Partition), ("value", "text", Regular)],
        fill: settings,
    },
    Definition {
        keyspace: "system_views",
        name: "caches",
        comment: "system caches",
        columns: &[
            ("name", "text", Partition),
            ("capacity_bytes", "bigint", Regular),
            ("entry_count", "int", Regular),
            ("hit_count", "bigint", Regular),
            ("hit_ratio", "double", Regular),
            ("recent_hit_rate_per_second", "bigint", Regular),
            ("recent_request_rate_per_second", "bigint", Regular),
            ("request_count", "bigint", Regular),
            ("size_bytes", "bigint", Regular),
        ],
        fill: caches,
    },
    Definition {
        keyspace: "system_views",
        name: "thread_pools",
        comment: "the threads that flush and compact",
        columns: &[
            ("name", "text", Partition),
            ("active_tasks", "int", Regular),
            ("active_tasks_limit", "int", Regular),
            ("blocked_tasks", "bigint", Regular),
            ("blocked_tasks_all_time", "bigint", Regular),
            ("completed_tasks", "bigint", Regular),
            ("pending_tasks", "int", Regular),
        ],
        fill: thread_pools,
    },
    Definition {
        keyspace: "system_views",
        name: "sstable_tasks",
        comment: "compactions that are under way",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("task_id", "timeuuid", Clustering),
            ("completion_ratio", "double", Regular),
            ("kind", "text", Regular),
            ("progress", "bigint", Regular),
            ("sstables", "int", Regular),
            ("target_directory", "text", Regular),
            ("total", "bigint", Regular),
            ("unit", "text", Regular),
        ],
        fill: sstable_tasks,
    },
    Definition {
        keyspace: "system_views",
        name: "disk_usage",
        comment: "size of the SSTables of each table, rounded up to whole mebibytes",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Partition),
            ("mebibytes", "bigint", Regular),
        ],
        fill: disk_usage,
    },
];

/// A count as a bigint.
pub(crate) fn big(number: u64) -> Value {
    Value::Bigint(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A count as an int.
pub(crate) fn int(number: usize) -> Value {
    Value::Int(i32::try_from(number).unwrap_or(i32::MAX))
}

fn settings(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let options = source.db.options();
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    let seconds = |time: Duration| format!("{}s", time.as_secs());
    let bytes = |bytes: u64| match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}KiB", bytes >> 10),
        bytes => format!("{bytes}B"),
    };
    let (sync, period) = match options.sync {
        SyncMode::Periodic(period) => ("periodic", Some(millis(period))),
        SyncMode::Batch => ("batch", None),
        SyncMode::Off => ("off", None),
    };
    let replay = match options.replay {
        ReplayMode::Strict => "strict",
        ReplayMode::Salvage => "salvage",
    };
    let path = source.db.path();
    let place = |part: &str| path.join(part).display().to_string();
    let mut rows: Vec<(String, Option<String>)> = vec![
        // Names of cassandra.yaml, where it has the setting.
        ("cluster_name".into(), Some("skep".into())),
        ("partitioner".into(), Some("org.apache.cassandra.dht.Murmur3Partitioner".into())),
        ("data_file_directories".into(), Some(path.display().to_string())),
        ("commitlog_directory".into(), Some(place("commitlog"))),
        ("commitlog_sync".into(), Some(sync.into())),
        ("commitlog_sync_period".into(), period),
        ("commitlog_segment_size".into(), Some(bytes(options.segment_bytes))),
        ("commitlog_total_space".into(), Some(bytes(options.log_limit_bytes))),
        ("memtable_heap_space".into(), Some(bytes(options.memtable_bytes as u64))),
        ("concurrent_compactors".into(), Some(options.compaction_threads.to_string())),
        ("compaction_throughput".into(), options.compaction_bytes_per_second.map(|rate| bytes(rate) + "/s")),
        // skep's own.
        ("block_cache_size".into(), Some(bytes(options.cache_bytes as u64))),
        ("memtable_age".into(), options.memtable_age.map(seconds)),
        ("expiry_check".into(), Some(millis(options.expiry_check))),
        ("max_clock_jump".into(), Some(seconds(options.max_clock_jump))),
        ("commitlog_replay".into(), Some(replay.into())),
        ("read_only".into(), Some(source.db.is_read_only().to_string())),
    ];
    for rail in Rail::ALL {
        let fail = if rail == Rail::Tombstones { "failure" } else { "fail" };
        rows.push((format!("{}_warn_threshold", rail.name()), Some(rail.warn_at().to_string())));
        let refuse =
            rail.refuse_at().map(|at| (format!("{}_{fail}_threshold", rail.name()), Some(at.to_string())));
        rows.extend(refuse);
    }
    let row = |(name, value): (String, Option<String>)| {
        let mut row = vec![("name", text(&name))];
        row.extend(value.map(|value| ("value", text(&value))));
        row
    };
    Ok(rows.into_iter().map(row).collect())
}

fn caches(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let stats = source.db.stats();
    let requests = stats.cache_hits + stats.cache_misses;
    let mut row = vec![
        // Cassandra's name for its cache of pieces of files.
        ("name", text("chunks")),
        ("capacity_bytes", big(source.db.options().cache_bytes as u64)),
        ("entry_count", int(stats.cache_entries)),
        ("hit_count", big(stats.cache_hits)),
        ("request_count", big(requests)),
        ("size_bytes", big(stats.cache_bytes)),
    ];
    if requests > 0 {
        row.push(("hit_ratio", Value::Double(stats.cache_hits as f64 / requests as f64)));
    }
    Ok(vec![row])
}

fn thread_pools(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let stats = source.db.stats();
    let tables = source.db.tables();
    let running = tables.iter().map(|table| table.running_compactions().len()).sum();
    let due = tables.iter().map(skep_engine::Table::pending_compactions).sum();
    let pool = |name: &str, active: Option<usize>, limit: usize, done: u64, pending: usize| {
        let mut row = vec![
            ("name", text(name)),
            ("active_tasks_limit", int(limit)),
            ("completed_tasks", big(done)),
            ("pending_tasks", int(pending)),
        ];
        row.extend(active.map(|active| ("active_tasks", int(active))));
        row
    };
    Ok(vec![
        pool(
            "CompactionExecutor",
            Some(running),
            source.db.options().compaction_threads,
            stats.compactions,
            due,
        ),
        // A memtable that is being flushed still counts among those that wait.
        pool("MemtableFlushWriter", None, 1, stats.flushes, stats.memtables_waiting),
    ])
}

fn sstable_tasks(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let mut rows = Vec::new();
    for table in source.db.tables() {
        let schema = table.schema();
        for running in table.running_compactions() {
            let (read, total) = (running.progress.read_bytes(), running.progress.total_bytes());
            let first = running.task.inputs.first().map_or(0, |file| file.0);
            let mut row = vec![
                ("keyspace_name", text(&schema.keyspace)),
                ("table_name", text(&schema.name)),
                ("task_id", Value::Timeuuid(timeuuid(running.started_micros, first)?)),
                ("kind", text("compaction")),
                ("progress", big(read)),
                ("sstables", int(running.task.inputs.len())),
                ("total", big(total)),
                ("unit", text("bytes")),
            ];
            if total > 0 {
                row.push(("completion_ratio", Value::Double(read as f64 / total as f64)));
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// A timeuuid of a moment, told apart from others by a number.
fn timeuuid(micros: i64, number: u64) -> Result<Timeuuid> {
    // Tenths of micros since 15 October 1582, as version 1 counts.
    const EPOCH: i64 = 122_192_928_000_000_000;
    let ticks = micros.saturating_mul(10).saturating_add(EPOCH) as u64;
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((ticks >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes());
    bytes[8..].copy_from_slice(&(number & 0x3fff_ffff_ffff_ffff | 1 << 63).to_be_bytes());
    Ok(Timeuuid::from_bytes(bytes)?)
}

fn disk_usage(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let row = |table: skep_engine::Table| {
        let (schema, bytes) = (table.schema(), table.stats().file_bytes);
        vec![
            ("keyspace_name", text(&schema.keyspace)),
            ("table_name", text(&schema.name)),
            ("mebibytes", big(bytes.div_ceil(1 << 20))),
        ]
    };
    Ok(source.db.tables().into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_the_moment_it_began_and_its_first_file() {
        let micros = 1_700_000_000_123_456;
        let one = timeuuid(micros, 7).unwrap();
        assert_eq!(one.unix_micros(), micros);
        assert_ne!(one, timeuuid(micros, 8).unwrap());
    }
}
