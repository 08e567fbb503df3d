//! `system_views` of skep's own: SSTables, what compaction did and what it cannot do, tombstones, guard rails. Cassandra has no such tables.
//!
//! All of it comes from what the store keeps in memory about its files: no file is read.

use crate::error::Result;
use crate::rails::{Rail, Rails};
use crate::restrict::operand::literal;
use crate::system::definition::Kind::{Clustering, Partition, Regular};
use crate::system::definition::{Definition, Source, SystemRow};
use crate::system::schema_tables::text;
use crate::system::views::{big, int};
use skep_engine::compact::expired::Blocker;
use skep_engine::compact::settings::CompactionOptions;
use skep_engine::compact::task::TaskKind;
use skep_engine::encoding::key;
use skep_engine::model::key::DecoratedKey;
use skep_engine::model::life::NEVER;
use skep_engine::sstable::meta::FileId;
use skep_engine::{Table, TableSchema, Timestamp, Value};

/// The tables.
pub(crate) const TABLES: &[Definition] = &[
    Definition {
        keyspace: "system_views",
        name: "sstables",
        comment: "the live SSTables (skep's own table)",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("file", "bigint", Clustering),
            ("ancestors", "frozen<list<bigint>>", Regular),
            ("cells", "bigint", Regular),
            ("created", "timestamp", Regular),
            ("droppable_ratio", "double", Regular),
            ("expires", "timestamp", Regular),
            ("first_partition", "text", Regular),
            ("first_token", "bigint", Regular),
            ("last_partition", "text", Regular),
            ("last_token", "bigint", Regular),
            ("level", "int", Regular),
            ("max_timestamp", "bigint", Regular),
            ("min_timestamp", "bigint", Regular),
            ("partitions", "bigint", Regular),
            ("path", "text", Regular),
            ("rows", "bigint", Regular),
            ("size_bytes", "bigint", Regular),
            ("tombstones", "bigint", Regular),
            ("window_start", "timestamp", Regular),
        ],
        fill: sstables,
    },
    Definition {
        keyspace: "system_views",
        name: "compaction_history",
        comment: "the latest compactions of each table since the store was opened (skep's own table)",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("number", "int", Clustering),
            ("blocks_copied", "bigint", Regular),
            ("bytes_in", "bigint", Regular),
            ("bytes_out", "bigint", Regular),
            ("duration_ms", "bigint", Regular),
            ("ended", "timestamp", Regular),
            ("error", "text", Regular),
            ("files_in", "frozen<list<bigint>>", Regular),
            ("files_out", "frozen<list<bigint>>", Regular),
            ("kind", "text", Regular),
            ("purged_expired", "bigint", Regular),
            ("purged_rows", "bigint", Regular),
            ("purged_tombstones", "bigint", Regular),
            ("reason", "text", Regular),
            ("rows_in", "bigint", Regular),
            ("rows_out", "bigint", Regular),
            ("tombstones_kept", "bigint", Regular),
        ],
        fill: compaction_history,
    },
    Definition {
        keyspace: "system_views",
        name: "blockers",
        comment: "expired SSTables that may not go yet, and what keeps them (skep's own table)",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("file", "bigint", Clustering),
            ("blocked_by", "text", Regular),
            ("blocking_file", "bigint", Regular),
            ("blocker_min_timestamp", "bigint", Regular),
            ("frees_at", "timestamp", Regular),
            ("max_timestamp", "bigint", Regular),
            ("why", "text", Regular),
        ],
        fill: blockers,
    },
    Definition {
        keyspace: "system_views",
        name: "tombstones",
        comment: "tombstones in SSTables by table (skep's own table)",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("cells", "bigint", Regular),
            ("droppable", "double", Regular),
            ("files", "int", Regular),
            ("rows", "bigint", Regular),
            ("tombstone_ratio", "double", Regular),
            ("tombstones", "bigint", Regular),
        ],
        fill: tombstones,
    },
    Definition {
        keyspace: "system_views",
        name: "guard_rails",
        comment: "guard rails, and how often each was met since the store was opened (skep's own table)",
        columns: &[
            ("name", "text", Partition),
            ("counts", "text", Regular),
            ("refuse_above", "bigint", Regular),
            ("refused", "bigint", Regular),
            ("warn_above", "bigint", Regular),
            ("warned", "bigint", Regular),
        ],
        fill: guard_rails,
    },
];

/// The first columns of a row about a table.
fn of_table(schema: &TableSchema) -> SystemRow {
    vec![("keyspace_name", text(&schema.keyspace)), ("table_name", text(&schema.name))]
}

/// A second as a timestamp; None for never.
fn second(second: i64) -> Option<Value> {
    let millis = Some(second).filter(|second| *second != NEVER)?.saturating_mul(1000);
    Some(Value::Timestamp(Timestamp::from_millis(millis)))
}

fn file(id: FileId) -> Value {
    big(id.0)
}

fn files(ids: &[FileId]) -> Value {
    Value::List(ids.iter().map(|id| file(*id)).collect())
}

/// A partition key as CQL writes its values.
fn partition(schema: &TableSchema, of: &DecoratedKey) -> Option<Value> {
    let wires = key::partition_wires(schema, &of.key).ok()?;
    let columns = schema.partition_key().iter();
    let values: Vec<String> = columns.zip(&wires).map(|(column, wire)| literal(wire, &column.ty)).collect();
    Some(text(&values.join(", ")))
}

/// What of a file is old enough to go now, 0 to 1.
fn gc_before(table: &Table) -> i64 {
    let now = table.db().now_micros().div_euclid(1_000_000);
    now.saturating_sub(i64::from(table.schema().options.gc_grace_seconds))
}

fn sstables(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let mut rows = Vec::new();
    for table in source.db.tables() {
        let schema = table.schema();
        let windows =
            CompactionOptions::parse(&schema.options.compaction).ok().and_then(|options| options.windows());
        let before = gc_before(&table);
        for (path, meta) in table.live_files() {
            let mut row = of_table(&schema);
            let created = Timestamp::from_millis(meta.created_micros.div_euclid(1000));
            row.extend([
                ("file", file(meta.id)),
                ("ancestors", files(&meta.ancestors)),
                ("cells", big(meta.cells)),
                ("created", Value::Timestamp(created)),
                ("droppable_ratio", Value::Double(meta.droppable_ratio(before))),
                ("first_token", Value::Bigint(meta.first.token.0)),
                ("last_token", Value::Bigint(meta.last.token.0)),
                ("level", int(meta.level as usize)),
                ("max_timestamp", Value::Bigint(meta.max_timestamp)),
                ("min_timestamp", Value::Bigint(meta.min_timestamp)),
                ("partitions", big(meta.partitions)),
                ("path", text(&path.display().to_string())),
                ("rows", big(meta.rows)),
                ("size_bytes", big(meta.size_bytes)),
                ("tombstones", big(meta.tombstones)),
            ]);
            row.extend(partition(&schema, &meta.first).map(|first| ("first_partition", first)));
            row.extend(partition(&schema, &meta.last).map(|last| ("last_partition", last)));
            row.extend(second(meta.max_local).map(|expires| ("expires", expires)));
            let start =
                windows.and_then(|windows| second(windows.start_second(windows.of(meta.max_timestamp))));
            row.extend(start.map(|start| ("window_start", start)));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn compaction_history(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let mut rows = Vec::new();
    for table in source.db.tables() {
        let schema = table.schema();
        for (number, record) in table.compactions().into_iter().enumerate() {
            let kind = match record.task.kind {
                TaskKind::Merge => "merge",
                TaskKind::DropExpired => "drop expired",
                TaskKind::Tombstones => "tombstones",
                TaskKind::Split(_) => "split into windows",
            };
            let mut row = of_table(&schema);
            row.extend([
                ("number", int(number + 1)),
                ("blocks_copied", big(record.blocks_copied)),
                ("bytes_in", big(record.bytes_read)),
                ("bytes_out", big(record.bytes_written)),
                ("duration_ms", big(u64::try_from(record.duration.as_millis()).unwrap_or(u64::MAX))),
                ("files_in", files(&record.task.inputs)),
                ("files_out", files(&record.outputs)),
                ("kind", text(kind)),
                ("purged_expired", big(record.purged.expired)),
                ("purged_rows", big(record.purged.rows)),
                ("purged_tombstones", big(record.purged.tombstones)),
                ("reason", text(&record.task.reason.to_string())),
                ("rows_in", big(record.rows_read)),
                ("rows_out", big(record.rows_written)),
                ("tombstones_kept", big(record.purged.kept)),
            ]);
            row.extend(second(record.ended).map(|ended| ("ended", ended)));
            row.extend(record.error.map(|error| ("error", text(&error))));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn blockers(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let mut rows = Vec::new();
    for table in source.db.tables() {
        let schema = table.schema();
        for blocked in table.blockers() {
            let mut row = of_table(&schema);
            let (by, since) = match blocked.by {
                Blocker::File { id, min_timestamp } => {
                    row.push(("blocking_file", file(id)));
                    ("file", Some(min_timestamp))
                }
                Blocker::Memtable { min_timestamp } => ("memtable", Some(min_timestamp)),
                Blocker::Busy => ("compaction", None),
            };
            row.extend([
                ("file", file(blocked.file)),
                ("blocked_by", text(by)),
                ("max_timestamp", Value::Bigint(blocked.max_timestamp)),
                ("why", text(&blocked.to_string())),
            ]);
            row.extend(since.map(|since| ("blocker_min_timestamp", Value::Bigint(since))));
            row.extend(blocked.frees_at.and_then(second).map(|at| ("frees_at", at)));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn tombstones(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let row = |table: Table| {
        let (stats, before) = (table.stats(), gc_before(&table));
        let all = stats.cells + stats.tombstones;
        let weighed: f64 = table
            .live_files()
            .iter()
            .map(|(_, meta)| meta.droppable_ratio(before) * (meta.cells + meta.tombstones) as f64)
            .sum();
        let share = |part: f64| Value::Double(if all == 0 { 0.0 } else { part / all as f64 });
        let mut row = of_table(&table.schema());
        row.extend([
            ("cells", big(stats.cells)),
            ("droppable", share(weighed)),
            ("files", int(stats.files)),
            ("rows", big(stats.rows)),
            ("tombstone_ratio", share(stats.tombstones as f64)),
            ("tombstones", big(stats.tombstones)),
        ]);
        row
    };
    Ok(source.db.tables().into_iter().map(row).collect())
}

fn guard_rails(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let rails = Rails::of(source.db);
    let row = |rail: Rail| {
        let (warned, refused) = rails.counts(rail);
        let mut row = vec![
            ("name", text(rail.name())),
            ("counts", text(rail.unit())),
            ("refused", big(refused)),
            ("warn_above", big(rail.warn_at())),
            ("warned", big(warned)),
        ];
        row.extend(rail.refuse_at().map(|at| ("refuse_above", big(at))));
        row
    };
    Ok(Rail::ALL.map(row).into())
}
