//! Table options: what may stand behind WITH of tables and views, checked, kept and shown as Cassandra 5.0 does.
//!
//! Those with a meaning here are fields of the engine's [`TableOptions`]; the others are kept as the literals that DESCRIBE shows, where they
//! differ from the defaults. [`apply`] changes options by a statement, [`describe`] lists all of them in Cassandra's order. Values with a form of
//! their own are checked in `option_values`.

use crate::catalog::definition;
use crate::error::{CqlError, Result};
use crate::schema::option_values::{caching, compression, double_text, memtable, read_repair, speculative};
use crate::schema::properties::{Properties, map_literal, quote};
use crate::syntax::ast::Options;
use skep_engine::compact::settings::CompactionOptions;
use skep_engine::{TableOptions, Uuid};
use std::collections::BTreeMap;

/// The options that may stand in a statement.
const KNOWN: [&str; 20] = [
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "default_time_to_live",
    "extensions",
    "gc_grace_seconds",
    "id",
    "incremental_backups",
    "max_index_interval",
    "memtable",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "speculative_retry",
];

/// Package of the compaction strategies.
const COMPACTION_PACKAGE: &str = "org.apache.cassandra.db.compaction.";

/// Longest TTL, seconds: 20 years.
const MAX_TTL: i32 = 630_720_000;

/// Bloom filters cannot be better than this.
const LEAST_FP_CHANCE: f64 = 6.71e-5;

/// What the statement is about; some options are refused for views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// CREATE TABLE.
    CreateTable,
    /// ALTER TABLE.
    AlterTable,
    /// CREATE MATERIALIZED VIEW.
    CreateView,
    /// ALTER MATERIALIZED VIEW.
    AlterView,
}

/// Changes `options` by what a statement says.
///
/// # Errors
/// `SyntaxError` for unknown options and values of the wrong kind, `ConfigError` for values out of range, in Cassandra's words.
pub fn apply(options: &mut TableOptions, given: &Options, purpose: Purpose) -> Result<()> {
    let properties = Properties::new(given, &KNOWN)?;
    if let Some(id) = properties.text("id")? {
        if !matches!(purpose, Purpose::CreateTable | Purpose::CreateView) {
            return Err(CqlError::config("Cannot alter table id."));
        }
        let id = Uuid::parse(id).map_err(|_| CqlError::config("Invalid table id"))?;
        options.other.insert(definition::ID.to_owned(), id.to_string());
    }
    acting(options, &properties, purpose)?;
    kept(options, &properties)?;
    check_ranges(options)
}

/// The options that do something here.
fn acting(options: &mut TableOptions, properties: &Properties<'_>, purpose: Purpose) -> Result<()> {
    if let Some(comment) = properties.text("comment")? {
        comment.clone_into(&mut options.comment);
    }
    if let Some(chance) = properties.double("bloom_filter_fp_chance")? {
        options.bloom_filter_fp_chance = chance;
    }
    if let Some(seconds) = properties.integer("default_time_to_live")? {
        options.default_time_to_live = seconds;
    }
    if let Some(seconds) = properties.integer("gc_grace_seconds")? {
        options.gc_grace_seconds =
            u32::try_from(seconds).map_err(|_| below("gc_grace_seconds", 0, seconds))?;
    }
    if let Some(map) = properties.map("compression")? {
        options.compression = compression(map)?;
    }
    if let Some(map) = properties.map("compaction")? {
        let map: BTreeMap<_, _> = map.iter().cloned().collect();
        let parsed = CompactionOptions::parse(&map);
        parsed.map_err(|error| CqlError::config(error.message()))?;
        // Leveled compaction reads fewer files, so that Cassandra gives new tables smaller filters with it.
        let leveled = map.get("class").is_some_and(|class| class.ends_with("LeveledCompactionStrategy"));
        let made = matches!(purpose, Purpose::CreateTable | Purpose::CreateView);
        if made && leveled && !properties.has("bloom_filter_fp_chance") {
            options.bloom_filter_fp_chance = 0.1;
        }
        options.compaction = map;
    }
    Ok(())
}

/// The options that are kept and shown.
fn kept(options: &mut TableOptions, properties: &Properties<'_>) -> Result<()> {
    let mut keep = |name: &str, literal: Option<String>| {
        if let Some(literal) = literal {
            options.other.insert(name.to_owned(), literal);
        }
    };
    for name in ["additional_write_policy", "speculative_retry"] {
        let value = properties.text(name)?.map(speculative).transpose()?;
        keep(name, value.map(|value| quote(&value)));
    }
    for name in ["allow_auto_snapshot", "cdc", "incremental_backups"] {
        keep(name, properties.flag(name)?.map(|value| value.to_string()));
    }
    keep("caching", properties.map("caching")?.map(caching).transpose()?);
    if let Some(chance) = properties.double("crc_check_chance")? {
        if !(0.0..=1.0).contains(&chance) {
            return Err(CqlError::config(format!(
                "crc_check_chance must be larger than or equal to 0 and smaller than or equal to 1.0 (got {})",
                double_text(chance)
            )));
        }
        keep("crc_check_chance", Some(double_text(chance)));
    }
    // Cassandra takes extensions in statements and keeps only those that programs inside the node set.
    properties.map("extensions")?;
    for (name, least) in [("min_index_interval", 1), ("memtable_flush_period_in_ms", 0)] {
        let value = properties.integer(name)?;
        if let Some(value) = value.filter(|value| *value < least) {
            return Err(below(name, least, value));
        }
        keep(name, value.map(|value| value.to_string()));
    }
    keep("max_index_interval", properties.integer("max_index_interval")?.map(|value| value.to_string()));
    keep("memtable", properties.text("memtable")?.map(memtable).transpose()?.map(|value| quote(&value)));
    keep(
        "read_repair",
        properties.text("read_repair")?.map(read_repair).transpose()?.map(|value| quote(&value)),
    );
    Ok(())
}

fn check_ranges(options: &TableOptions) -> Result<()> {
    let chance = options.bloom_filter_fp_chance;
    if !(chance > LEAST_FP_CHANCE && chance <= 1.0) {
        return Err(CqlError::config(format!(
            "bloom_filter_fp_chance must be larger than 6.71E-5 and less than or equal to 1.0 (got {})",
            double_text(chance)
        )));
    }
    let ttl = options.default_time_to_live;
    if ttl < 0 {
        return Err(below("default_time_to_live", 0, ttl));
    }
    if ttl > MAX_TTL {
        return Err(CqlError::config(format!(
            "default_time_to_live must be less than or equal to {MAX_TTL} (got {ttl})"
        )));
    }
    let interval = |name: &str, default: i32| {
        options.other.get(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (least, greatest) = (interval("min_index_interval", 128), interval("max_index_interval", 2048));
    if greatest < least {
        return Err(CqlError::config(format!(
            "max_index_interval must be greater than or equal to min_index_interval ({least}) (got {greatest})"
        )));
    }
    Ok(())
}

fn below(name: &str, least: i32, value: i32) -> CqlError {
    CqlError::config(format!("{name} must be greater than or equal to {least} (got {value})"))
}

/// The options as DESCRIBE lists them: name and literal, in Cassandra's order. A view has no TTL of its own.
#[must_use]
pub fn describe(options: &TableOptions, view: bool) -> Vec<(&'static str, String)> {
    let other = |name: &'static str, default: &str| {
        (name, options.other.get(name).map_or_else(|| default.to_owned(), Clone::clone))
    };
    let mut all = vec![
        other("additional_write_policy", "'99p'"),
        other("allow_auto_snapshot", "true"),
        ("bloom_filter_fp_chance", double_text(options.bloom_filter_fp_chance)),
        other("caching", "{'keys': 'ALL', 'rows_per_partition': 'NONE'}"),
        other("cdc", "false"),
        ("comment", quote(&options.comment)),
        ("compaction", map_literal(&full_compaction(&options.compaction))),
        ("compression", map_literal(&crate::schema::option_values::full_compression(&options.compression))),
        other("memtable", "'default'"),
        other("crc_check_chance", "1.0"),
        ("default_time_to_live", options.default_time_to_live.to_string()),
        ("extensions", "{}".to_owned()),
        ("gc_grace_seconds", options.gc_grace_seconds.to_string()),
        other("incremental_backups", "true"),
        other("max_index_interval", "2048"),
        other("memtable_flush_period_in_ms", "0"),
        other("min_index_interval", "128"),
        other("read_repair", "'BLOCKING'"),
        other("speculative_retry", "'99p'"),
    ];
    if view {
        all.retain(|(name, _)| *name != "default_time_to_live");
    }
    all
}

/// The compaction option with the class's full name and the thresholds that it has if none are given.
#[must_use]
pub fn full_compaction(given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut map = given.clone();
    let class = map.get("class").cloned().unwrap_or_default();
    if !class.contains('.') {
        map.insert("class".to_owned(), format!("{COMPACTION_PACKAGE}{class}"));
    }
    if !class.ends_with("UnifiedCompactionStrategy") {
        for (name, default) in [("max_threshold", "32"), ("min_threshold", "4")] {
            map.entry(name.to_owned()).or_insert_with(|| default.to_owned());
        }
    }
    map
}
