//! Building a table's definition from Rust: `Schema::table("readings").partition_key(...)...`.

use crate::error::{Error, Result};
use crate::model::life::{MAX_TTL, whole_seconds};
use crate::model::schema::{ColumnKind, Order, TableId, TableOptions, TableSchema};
use crate::model::types::CqlType;
use std::collections::BTreeMap;
use std::time::Duration;

/// A table to create. Columns are declared in the order in which `row![...]` gives their values.
///
/// ```
/// use skep_engine::{CqlType, Schema};
/// use std::time::Duration;
///
/// let readings = Schema::table("readings")
///     .partition_key("sensor", CqlType::Text)
///     .partition_key("day", CqlType::Date)
///     .clustering_desc("ts", CqlType::Timestamp)
///     .column("temperature", CqlType::Double)
///     .column("status", CqlType::Int)
///     .ttl(Duration::from_secs(90 * 86_400))
///     .time_windows(Duration::from_secs(86_400));
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    keyspace: Option<String>,
    name: String,
    columns: Vec<(String, CqlType, ColumnKind)>,
    options: TableOptions,
    if_not_exists: bool,
    error: Option<String>,
}

impl Schema {
    /// A table of this name, in keyspace `main` unless the name is `keyspace.table`.
    pub fn table(name: &str) -> Self {
        let (keyspace, name) = match name.split_once('.') {
            Some((keyspace, name)) => (Some(keyspace.to_owned()), name),
            None => (None, name),
        };
        Self {
            keyspace,
            name: name.to_owned(),
            columns: Vec::new(),
            options: TableOptions::default(),
            if_not_exists: false,
            error: None,
        }
    }

    /// Puts the table into a keyspace, which must exist.
    #[must_use]
    pub fn keyspace(self, keyspace: &str) -> Self {
        Self { keyspace: Some(keyspace.to_owned()), ..self }
    }

    /// The next column of any kind. Columns of the key come in the order of the primary key.
    #[must_use]
    pub fn declare(mut self, name: &str, ty: CqlType, kind: ColumnKind) -> Self {
        self.columns.push((name.to_owned(), ty, kind));
        self
    }

    /// The next column of the partition key: what is stored, read and expired together.
    #[must_use]
    pub fn partition_key(self, name: &str, ty: CqlType) -> Self {
        self.declare(name, ty, ColumnKind::PartitionKey)
    }

    /// The next clustering column, smallest first.
    #[must_use]
    pub fn clustering(self, name: &str, ty: CqlType) -> Self {
        self.declare(name, ty, ColumnKind::Clustering(Order::Asc))
    }

    /// The next clustering column, greatest first: newest first for a time.
    #[must_use]
    pub fn clustering_desc(self, name: &str, ty: CqlType) -> Self {
        self.declare(name, ty, ColumnKind::Clustering(Order::Desc))
    }

    /// A column with one value for the whole partition.
    #[must_use]
    pub fn static_column(self, name: &str, ty: CqlType) -> Self {
        self.declare(name, ty, ColumnKind::Static)
    }

    /// A regular column.
    #[must_use]
    pub fn column(self, name: &str, ty: CqlType) -> Self {
        self.declare(name, ty, ColumnKind::Regular)
    }

    /// How long rows live that are written without a TTL of their own (default_time_to_live, rounded
    /// up to whole seconds); zero means for ever. A read sees no row past its time; compaction frees its bytes.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        match i32::try_from(whole_seconds(ttl)) {
            Ok(seconds) if seconds <= MAX_TTL => self.options.default_time_to_live = seconds,
            _ => {
                self.error =
                    Some(format!("the default TTL of {} s is over the limit of 20 years", ttl.as_secs()))
            }
        }
        self
    }

    /// How long tombstones and expired cells are kept (gc_grace_seconds). One machine has no replicas to wait for, so
    /// that zero is safe; the default is Cassandra's 10 days.
    #[must_use]
    pub fn gc_grace(mut self, grace: Duration) -> Self {
        self.options.gc_grace_seconds = u32::try_from(grace.as_secs()).unwrap_or(u32::MAX);
        self
    }

    /// Groups files by time windows of this length (TimeWindowCompactionStrategy): whole minutes, hours or days.
    #[must_use]
    pub fn time_windows(mut self, window: Duration) -> Self {
        let seconds = window.as_secs();
        let (unit, size) = match seconds {
            0 => ("", 0),
            s if s % 86_400 == 0 => ("DAYS", s / 86_400),
            s if s % 3600 == 0 => ("HOURS", s / 3600),
            s if s % 60 == 0 => ("MINUTES", s / 60),
            _ => ("", 0),
        };
        if size == 0 {
            self.error = Some(format!("a time window of {seconds} s is no whole number of minutes"));
        }
        self.compaction([
            ("class", "TimeWindowCompactionStrategy"),
            ("compaction_window_unit", unit),
            ("compaction_window_size", &size.to_string()),
        ])
    }

    /// The compaction strategy and its options under Cassandra's names.
    #[must_use]
    pub fn compaction<'a>(mut self, options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.options.compaction = options.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        self
    }

    /// Stores blocks without general-purpose compression (columns are still packed).
    #[must_use]
    pub fn compression_none(mut self) -> Self {
        self.options.compression = BTreeMap::from([("enabled".to_owned(), "false".to_owned())]);
        self
    }

    /// Wanted rate of false positives of the bloom filters (1: no filter).
    #[must_use]
    pub fn bloom_filter_fp_chance(mut self, chance: f64) -> Self {
        self.options.bloom_filter_fp_chance = chance;
        self
    }

    /// A comment, kept with the table.
    #[must_use]
    pub fn comment(mut self, comment: &str) -> Self {
        comment.clone_into(&mut self.options.comment);
        self
    }

    /// All options at once.
    #[must_use]
    pub fn options(self, options: TableOptions) -> Self {
        Self { options, ..self }
    }

    /// Opens the table when it exists already, whatever its definition: a program whose schema changed has to compare with
    /// [`Table::schema`](crate::Table::schema) and use [`Db::alter_table`](crate::Db::alter_table).
    #[must_use]
    pub fn if_not_exists(self) -> Self {
        Self { if_not_exists: true, ..self }
    }

    /// Whether an existing table is opened.
    pub(crate) fn opens_existing(&self) -> bool {
        self.if_not_exists
    }

    /// Keyspace and name.
    pub(crate) fn full_name(&self) -> (&str, &str) {
        (self.keyspace.as_deref().unwrap_or(crate::db::DEFAULT_KEYSPACE), &self.name)
    }

    /// The definition under number `id`.
    pub(crate) fn build(&self, id: TableId) -> Result<TableSchema> {
        let (keyspace, name) = self.full_name();
        if let Some(error) = &self.error {
            return Err(Error::invalid(error.as_str()).in_table(format!("{keyspace}.{name}")));
        }
        TableSchema::new(id, keyspace, name, self.columns.clone(), self.options.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_options_and_windows_arrive_in_the_definition() {
        let schema = Schema::table("ks.t")
            .partition_key("p", CqlType::Int)
            .column("v", CqlType::Int)
            .ttl(Duration::from_secs(60))
            .time_windows(Duration::from_secs(7200))
            .build(TableId(1))
            .unwrap();
        assert_eq!((schema.keyspace.as_str(), schema.options.default_time_to_live), ("ks", 60));
        assert_eq!(schema.options.compaction["compaction_window_unit"], "HOURS");
        assert_eq!(schema.options.compaction["compaction_window_size"], "2");
    }

    #[test]
    fn odd_windows_and_endless_ttls_are_refused() {
        let table = || Schema::table("t").partition_key("p", CqlType::Int);
        assert!(table().time_windows(Duration::from_secs(61)).build(TableId(1)).is_err());
        assert!(table().ttl(Duration::from_secs(1 << 40)).build(TableId(1)).is_err());
        assert!(Schema::table("t").column("v", CqlType::Int).build(TableId(1)).is_err());
    }
}
