//! The rules of Cassandra's data modelling, held against one table: its definition, and what was measured if there is data.
//!
//! The limits are those that Cassandra's users go by: partitions of 10 to 100 MB and up to 100 000 rows, a partition key that spreads writes, time
//! series in time windows with a TTL, indexes on columns of few (but not two) values.

use crate::advise::measure::Measured;
use crate::output::{bytes, count, things};
use skep::{ColumnKind, CqlType, Order, TableSchema};

/// Rows and bytes at which a partition is too large, and bytes from which it should be watched.
const MOST_ROWS: f64 = 100_000.0;
const MOST_BYTES: f64 = 100.0 * 1024.0 * 1024.0;
const WATCHED_BYTES: f64 = 10.0 * 1024.0 * 1024.0;

/// Cells in the files of a table from which on the share of tombstones says something.
const FEW_CELLS: u64 = 1_000;

/// How serious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// To be changed.
    Change,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// A short name, for programs.
    pub(super) rule: &'static str,
    pub(super) text: String,
    pub(super) advice: String,
}

/// A bucket that the proposed table has in its partition key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    pub(super) name: &'static str,
    pub(super) ty: &'static str,
    pub(super) days: f64,
    pub(super) how: &'static str,
}

/// From the longest to the shortest.
const BUCKETS: [Bucket; 5] = [
    Bucket { name: "year", ty: "int", days: 365.0, how: "the year of the time" },
    Bucket { name: "month", ty: "date", days: 30.0, how: "the first day of the month" },
    Bucket { name: "week", ty: "date", days: 7.0, how: "the Monday of the week" },
    Bucket { name: "day", ty: "date", days: 1.0, how: "the day of the time" },
    Bucket { name: "hour", ty: "timestamp", days: 1.0 / 24.0, how: "floor(time, 1h)" },
];

/// What is to be said, and the changes that the proposed definition makes.
#[derive(Clone, Debug, Default)]
pub(super) struct Advice {
    pub(super) findings: Vec<Finding>,
    pub(super) bucket: Option<Bucket>,
    /// The partition key needs a column that tells series apart.
    pub(super) spread: bool,
    /// Time windows: their length in days, and the TTL to go with them if there is none.
    pub(super) window_days: Option<f64>,
    pub(super) ttl: Option<i32>,
}

impl Advice {
    fn say(&mut self, level: Level, rule: &'static str, text: String, advice: impl Into<String>) {
        self.findings.push(Finding { level, rule, text, advice: advice.into() });
    }

    /// Whether another definition is proposed.
    pub(super) fn proposes(&self) -> bool {
        self.bucket.is_some() || self.spread || self.window_days.is_some() || self.ttl.is_some()
    }
}

/// Whether a type tells a time of the world.
pub(super) fn is_time(ty: &CqlType) -> bool {
    matches!(ty.unfrozen(), CqlType::Timestamp | CqlType::Date | CqlType::Timeuuid)
}

/// Advice for a table.
pub(super) fn advise(schema: &TableSchema, measured: Option<&Measured>) -> Advice {
    let mut advice = Advice::default();
    let measured = measured.filter(|measured| measured.rows > 0);
    partition_key(schema, &mut advice);
    if let Some(measured) = measured {
        partitions(schema, measured, &mut advice);
        tombstones(measured, &mut advice);
        indexes(measured, &mut advice);
    }
    growth(schema, measured, &mut advice);
    windows(schema, measured, &mut advice);
    order(schema, &mut advice);
    advice
}

fn partition_key(schema: &TableSchema, advice: &mut Advice) {
    let key = schema.partition_key();
    // A timeuuid is no moment that many rows share: it tells things apart.
    if key.iter().all(|column| matches!(column.ty, CqlType::Timestamp | CqlType::Date)) {
        let names: Vec<_> = key.iter().map(|column| column.name.as_str()).collect();
        advice.spread = true;
        // Moments become the order of rows, and without them nothing ends a partition.
        if key.iter().all(|column| column.ty == CqlType::Timestamp) {
            advice.bucket = BUCKETS.into_iter().find(|bucket| bucket.name == "day");
        }
        advice.say(
            Level::Change,
            "time-partition-key",
            format!("the partition key is nothing but time ({})", names.join(", ")),
            "all writes of one moment go to one partition, on a cluster to one node; put what the data is about (a sensor, a user) in front",
        );
    }
}

fn partitions(schema: &TableSchema, measured: &Measured, advice: &mut Advice) {
    let largest = measured.largest_bytes();
    let rows = measured.largest.rows as f64;
    let size = format!(
        "the largest partition ({}) has {}, some {}",
        measured.largest.key,
        things(measured.largest.rows, "row"),
        bytes(largest as u64)
    );
    if largest > MOST_BYTES || rows > MOST_ROWS {
        advice.say(
            Level::Change,
            "large-partition",
            size,
            format!(
                "keep partitions below {} rows and 100 MB: add a bucket to the partition key",
                count(MOST_ROWS as u64)
            ),
        );
    } else if largest > WATCHED_BYTES {
        advice.say(Level::Note, "large-partition", size, "between 10 and 100 MB: fine, if it grows no more");
    } else {
        advice.say(Level::Good, "partition-size", size, "");
    }
    if measured.partitions >= 10 && rows > measured.rows as f64 / 2.0 {
        advice.say(
            Level::Change,
            "hot-partition",
            format!("one of {} partitions holds more than half of all rows", count(measured.partitions)),
            "on a cluster its node does most of the work: split it by another key column",
        );
    }
    let single = measured.single as f64 / measured.partitions as f64;
    if schema.clustering().iter().any(|column| is_time(&column.ty))
        && measured.partitions > 1000
        && single > 0.5
    {
        advice.say(
            Level::Change,
            "tiny-partitions",
            format!("{:.0} % of {} partitions have a single row", 100.0 * single, count(measured.partitions)),
            "the partition key is finer than the questions: a longer bucket answers them with fewer reads",
        );
    }
}

fn growth(schema: &TableSchema, measured: Option<&Measured>, advice: &mut Advice) {
    let Some(first) = schema.clustering().iter().find(|column| is_time(&column.ty)) else { return };
    let bounded =
        schema.partition_key().iter().any(|column| is_time(&column.ty) || looks_like_bucket(&column.name));
    let per_day = measured.and_then(Measured::rows_per_day);
    let ttl_days = f64::from(schema.options.default_time_to_live) / 86_400.0;
    if bounded {
        return;
    }
    let row_bytes = measured.map_or(100.0, |measured| measured.row_bytes);
    match per_day {
        Some(per_day) => {
            let most_days = (MOST_ROWS / per_day).min(MOST_BYTES / (per_day * row_bytes));
            let text = format!(
                "a partition grows by {} rows ({}) a day and is full after {}",
                count(per_day as u64),
                bytes((per_day * row_bytes) as u64),
                days(most_days)
            );
            if ttl_days > 0.0 && ttl_days < most_days {
                let text = format!("{text}; its TTL of {} keeps it smaller", days(ttl_days));
                advice.say(Level::Good, "growth", text, "");
                return;
            }
            let bucket = BUCKETS.into_iter().find(|bucket| bucket.days <= most_days / 2.0);
            let bucket = bucket.unwrap_or(BUCKETS[BUCKETS.len() - 1]);
            advice.bucket = Some(bucket);
            advice.say(
                Level::Change,
                "growth",
                text,
                format!("add a {} ({}) to the partition key: {}", bucket.name, bucket.ty, bucket.how),
            );
        }
        None => {
            advice.bucket = BUCKETS.into_iter().find(|bucket| bucket.name == "day");
            advice.say(
                Level::Note,
                "unbounded-partition",
                format!("rows are ordered by time ({}), and nothing in the partition key ends a partition", first.name),
                "a partition that grows for ever is read and compacted ever more slowly: a day (or month) in the partition key bounds it",
            );
        }
    }
}

fn looks_like_bucket(name: &str) -> bool {
    let name = name.to_lowercase();
    ["bucket", "day", "week", "month", "year", "hour", "date", "shard"].iter().any(|word| name.contains(word))
}

fn tombstones(measured: &Measured, advice: &mut Advice) {
    let all = measured.cells + measured.tombstones;
    // Of a handful of cells nothing follows.
    if all < FEW_CELLS {
        return;
    }
    let share = measured.tombstones as f64 / all as f64;
    if share > 0.1 {
        advice.say(
            Level::Change,
            "tombstones",
            format!("{:.0} % of what the files hold are tombstones", 100.0 * share),
            "reads slow down beyond 10 %: let data expire by TTL in time windows rather than delete it, write no nulls",
        );
    } else {
        advice.say(
            Level::Good,
            "tombstones",
            format!("{:.1} % of what the files hold are tombstones", 100.0 * share),
            "",
        );
    }
}

fn windows(schema: &TableSchema, measured: Option<&Measured>, advice: &mut Advice) {
    let is_series = schema.clustering().iter().any(|column| is_time(&column.ty));
    let compaction = &schema.options.compaction;
    let windowed = compaction.get("class").is_some_and(|class| class.contains("TimeWindow"));
    let ttl = schema.options.default_time_to_live;
    if ttl > 0 && !windowed && is_series {
        advice.window_days = Some(window_for(ttl));
        advice.say(
            Level::Change,
            "ttl-without-windows",
            format!(
                "rows expire after {}, and the files are not time windows",
                days(f64::from(ttl) / 86_400.0)
            ),
            format!(
                "TimeWindowCompactionStrategy with windows of {} drops expired data as whole files",
                days(window_for(ttl))
            ),
        );
    }
    if windowed && ttl == 0 {
        let text = "the files are time windows, and nothing expires by default".to_owned();
        let expires = measured.is_none();
        advice.ttl = Some(90 * 86_400);
        advice.say(
            if expires { Level::Note } else { Level::Change },
            "windows-without-ttl",
            text,
            "windows are there to be dropped: set default_time_to_live, or give every write a TTL",
        );
    }
    if windowed && ttl > 0 {
        let unit = compaction.get("compaction_window_unit").map_or("DAYS", String::as_str);
        let size: f64 =
            compaction.get("compaction_window_size").and_then(|size| size.parse().ok()).unwrap_or(1.0);
        let window = size
            * match unit {
                "MINUTES" => 1.0 / 1440.0,
                "HOURS" => 1.0 / 24.0,
                _ => 1.0,
            };
        let number = f64::from(ttl) / 86_400.0 / window;
        if number > 50.0 {
            advice.window_days = Some(window_for(ttl));
            advice.say(
                Level::Note,
                "many-windows",
                format!("{number:.0} windows are alive at a time"),
                format!("20 to 30 are enough: windows of {}", days(window_for(ttl))),
            );
        }
    }
}

/// A length in days that makes some 25 windows of a TTL.
fn window_for(ttl: i32) -> f64 {
    let days = f64::from(ttl) / 86_400.0 / 25.0;
    match days {
        days if days >= 1.0 => days.ceil(),
        days if days * 24.0 >= 0.75 => (days * 24.0).ceil() / 24.0,
        days => ((days * 1440.0).ceil().max(1.0)) / 1440.0,
    }
}

fn indexes(measured: &Measured, advice: &mut Advice) {
    for (column, values, distinct) in &measured.indexed {
        if *values < 1000 {
            continue;
        }
        let text = format!(
            "the index on {column} has {} distinct values in {} rows",
            count(*distinct as u64),
            count(*values)
        );
        if *distinct as f64 > *values as f64 / 10.0 {
            advice.say(
                Level::Change,
                "index-high-cardinality",
                text,
                "an index for nearly every row costs a write each and finds one row: make a table (or a view) with this column as its key",
            );
        } else if *distinct <= 2 {
            advice.say(
                Level::Note,
                "index-low-cardinality",
                text,
                "one lookup gives a large part of the table: worth it only for the rare value",
            );
        } else {
            advice.say(Level::Good, "index", text, "");
        }
    }
}

fn order(schema: &TableSchema, advice: &mut Advice) {
    let mut times = schema.clustering().iter().filter(|column| is_time(&column.ty));
    if let Some(column) = times.next_back()
        && column.kind == ColumnKind::Clustering(Order::Asc)
    {
        advice.say(
            Level::Note,
            "ascending-time",
            format!("{} is stored oldest first", column.name),
            format!("CLUSTERING ORDER BY ({} DESC) makes the newest rows the first ones read", column.name),
        );
    }
}

/// A number of days for people.
pub(super) fn days(days: f64) -> String {
    match days {
        days if days < 1.0 / 24.0 => format!("{:.0} minutes", (days * 1440.0).max(1.0)),
        days if days < 1.0 => format!("{:.0} hours", days * 24.0),
        days if days < 1.5 => "1 day".to_owned(),
        days if days < 730.0 => format!("{days:.0} days"),
        days => format!("{:.0} years", days / 365.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::measure::Partition;
    use skep::model::schema::{TableId, TableOptions};

    fn schema(key: &[(&str, CqlType)], clustering: &[(&str, CqlType)], options: TableOptions) -> TableSchema {
        let key = key.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone(), ColumnKind::PartitionKey));
        let order = ColumnKind::Clustering(Order::Desc);
        let clustering = clustering.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone(), order));
        let mut columns: Vec<_> = key.chain(clustering).collect();
        columns.push(("v".to_owned(), CqlType::Double, ColumnKind::Regular));
        TableSchema::new(TableId(1), "ks", "t", columns, options).unwrap()
    }

    fn rules(schema: &TableSchema, measured: Option<&Measured>) -> Vec<&'static str> {
        advise(schema, measured)
            .findings
            .into_iter()
            .filter(|f| f.level != Level::Good)
            .map(|f| f.rule)
            .collect()
    }

    fn series() -> TableSchema {
        schema(&[("sensor", CqlType::Text)], &[("ts", CqlType::Timestamp)], TableOptions::default())
    }

    fn measured(rows: u64, days: i64) -> Measured {
        let largest = Partition { key: "a".into(), rows, times: Some((0, days * 86_400_000)) };
        Measured { rows, partitions: 1, largest, row_bytes: 40.0, cells: rows, ..Measured::default() }
    }

    #[test]
    fn a_series_without_a_bucket_gets_the_one_that_its_growth_asks_for() {
        for (per_day, bucket) in
            [(100, "year"), (1_000, "month"), (6_000, "week"), (40_000, "day"), (2_000_000, "hour")]
        {
            let advice = advise(&series(), Some(&measured(per_day * 2, 2)));
            assert_eq!(advice.bucket.map(|bucket| bucket.name), Some(bucket), "{per_day} rows a day");
        }
        let bounded = schema(
            &[("sensor", CqlType::Text), ("day", CqlType::Date)],
            &[("ts", CqlType::Timestamp)],
            TableOptions::default(),
        );
        assert_eq!(advise(&bounded, Some(&measured(80_000, 1))).bucket, None);
        assert_eq!(rules(&series(), None), ["unbounded-partition"]);
        let expiring = TableOptions { default_time_to_live: 86_400, ..TableOptions::default() };
        let expiring = schema(&[("s", CqlType::Text)], &[("ts", CqlType::Timestamp)], expiring);
        assert_eq!(rules(&expiring, Some(&measured(2_000, 2))), ["ttl-without-windows"], "the TTL bounds it");
    }

    #[test]
    fn keys_of_time_alone_and_large_partitions_are_to_be_changed() {
        let hot = schema(&[("ts", CqlType::Timestamp)], &[], TableOptions::default());
        assert!(rules(&hot, None).contains(&"time-partition-key"));
        assert_eq!(
            advise(&hot, None).bucket.map(|bucket| bucket.name),
            Some("day"),
            "else it grows for ever"
        );
        let ids = schema(&[("id", CqlType::Timeuuid)], &[], TableOptions::default());
        assert!(rules(&ids, None).is_empty(), "a timeuuid is an id");
        assert!(rules(&series(), Some(&measured(100_001, 30))).contains(&"large-partition"));
        let watched = Measured { row_bytes: 200.0, ..measured(99_000, 300) };
        assert!(rules(&series(), Some(&watched)).contains(&"large-partition"), "18 MB is worth a note");
        assert!(!rules(&series(), Some(&measured(1_000, 30))).contains(&"large-partition"));
    }

    #[test]
    fn windows_and_ttls_belong_together() {
        let class = |name: &str| std::collections::BTreeMap::from([("class".to_owned(), name.to_owned())]);
        let twcs = class("TimeWindowCompactionStrategy");
        let table = |compaction, default_time_to_live| {
            let options = TableOptions { compaction, default_time_to_live, ..TableOptions::default() };
            schema(&[("s", CqlType::Text), ("day", CqlType::Date)], &[("ts", CqlType::Timestamp)], options)
        };
        assert_eq!(rules(&table(twcs.clone(), 0), None), ["windows-without-ttl"]);
        assert_eq!(rules(&table(TableOptions::default().compaction, 86_400), None), ["ttl-without-windows"]);
        assert!(rules(&table(twcs.clone(), 25 * 86_400), None).is_empty());
        assert_eq!(rules(&table(twcs, 400 * 86_400), None), ["many-windows"]);
        assert_eq!((window_for(90 * 86_400), window_for(86_400)), (4.0, 1.0 / 24.0));
    }

    #[test]
    fn tombstones_and_indexes_are_measured() {
        let mut found = Measured { tombstones: 200, cells: 1_000, ..measured(1_000, 300) };
        found.indexed = vec![("a".into(), 5_000, 4_000), ("b".into(), 5_000, 2), ("c".into(), 5_000, 20)];
        let said = rules(&series(), Some(&found));
        assert!(said.contains(&"tombstones") && said.contains(&"index-high-cardinality"));
        let few = Measured { tombstones: 2, cells: 10, ..measured(10, 300) };
        assert!(!rules(&series(), Some(&few)).contains(&"tombstones"), "too few to say");
        assert!(said.contains(&"index-low-cardinality") && !said.contains(&"index"));
    }
}
