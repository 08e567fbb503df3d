//! The `compaction` option of a table: from Cassandra's map of texts to checked numbers.
//!
//! Called when a table is created, altered or opened; the strategies get the result. Names, defaults and the wording
//! of errors are Apache Cassandra's, so that a schema moves in both directions unchanged.
//!
//! # Not here
//! LeveledCompactionStrategy and UnifiedCompactionStrategy have no code of their own: their options are checked
//! (`nearest`), and their tables are compacted by size, the nearest that there is.

use crate::compact::nearest;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// The package in which Cassandra looks up a class without dots.
const PACKAGE: &str = "org.apache.cassandra.db.compaction.";

/// Checked settings of the compaction of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionOptions {
    /// The strategy with what only it understands.
    pub strategy: Strategy,
    /// Background compactions run. Expired files are dropped and major compactions run in any case.
    pub enabled: bool,
    /// Files of about one size that start a compaction; at least 2. Default 4.
    pub min_threshold: usize,
    /// Most files in one compaction. Default 32.
    pub max_threshold: usize,
    /// When a file is compacted alone to be rid of its tombstones.
    pub tombstones: TombstoneOptions,
    /// Accepted and shown; without repair every tombstone counts as repaired.
    pub only_purge_repaired: bool,
    /// Accepted and shown; finished compactions are always recorded, see [`crate::compact::history`].
    pub log_all: bool,
}

/// Which strategy, and its own options.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// SizeTieredCompactionStrategy.
    SizeTiered(TieredOptions),
    /// TimeWindowCompactionStrategy.
    TimeWindow(WindowOptions),
}

/// When a file is compacted alone because much of it can go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TombstoneOptions {
    /// Share of droppable tombstones and expired cells over which a file is worth it. Default 0.2.
    pub threshold: f64,
    /// Least age of a file, and least time between two attempts, in seconds. Default 86400.
    pub interval_seconds: i64,
    /// Tries although overlapping older files may keep the tombstones. Default false.
    pub unchecked: bool,
    /// Whether any of the three was given: TimeWindowCompactionStrategy compacts single files only then.
    pub asked_for: bool,
}

/// Options of size-tiered bucketing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TieredOptions {
    /// Files smaller than this share one bucket, bytes. Default 50 MiB.
    pub min_sstable_bytes: u64,
    /// A file joins a bucket if larger than this times the bucket's average. Default 0.5.
    pub bucket_low: f64,
    /// A file joins a bucket if smaller than this times the bucket's average. Default 1.5.
    pub bucket_high: f64,
}

/// Options of time windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowOptions {
    /// How write timestamps map to windows.
    pub windows: Windows,
    /// How often Cassandra looks for expired files, seconds. Default 600. Accepted and shown; the store's
    /// `expiry_check` decides here.
    pub expired_check_seconds: i64,
    /// Expired files go although they may hide older data in overlapping files. Default false.
    pub ignore_overlaps: bool,
    /// Size-tiered bucketing inside the active window.
    pub tiered: TieredOptions,
}

/// Maps write timestamps to windows of equal length, counted from the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Length of a window in units of the timestamps; at least 1.
    length: i64,
    /// Units of the timestamps in a second.
    per_second: i64,
}

impl Windows {
    /// Windows of `seconds` over timestamps of which `per_second` make a second (1_000_000 for microseconds).
    /// Values below 1 count as 1.
    pub fn new(seconds: i64, per_second: i64) -> Self {
        let per_second = per_second.max(1);
        Self { length: seconds.max(1).saturating_mul(per_second), per_second }
    }

    /// The number of the window that `timestamp` falls in.
    #[inline]
    pub fn of(&self, timestamp: i64) -> i64 {
        timestamp.div_euclid(self.length)
    }

    /// The number of the window of second `now`.
    pub fn of_second(&self, now: i64) -> i64 {
        self.of(now.saturating_mul(self.per_second))
    }

    /// First and last timestamp of window `number`.
    pub fn range(&self, number: i64) -> (i64, i64) {
        let first = number.saturating_mul(self.length);
        (first, first.saturating_add(self.length - 1))
    }

    /// The second in which window `number` begins.
    pub fn start_second(&self, number: i64) -> i64 {
        self.range(number).0.div_euclid(self.per_second)
    }
}

impl Default for TieredOptions {
    fn default() -> Self {
        Self { min_sstable_bytes: 50 << 20, bucket_low: 0.5, bucket_high: 1.5 }
    }
}

impl CompactionOptions {
    /// Checks the option map of a table.
    ///
    /// # Errors
    /// `Invalid` with Cassandra's text for a missing or unknown class, an unknown option or a value out of range.
    pub fn parse(map: &BTreeMap<String, String>) -> Result<Self> {
        let Some(class) = map.get("class") else {
            return invalid("Missing sub-option 'class' for the 'compaction' option");
        };
        let name = class.strip_prefix(PACKAGE).unwrap_or(class);
        let reader = Reader { map };
        let tombstones = reader.tombstones()?;
        let strategy = match name {
            "SizeTieredCompactionStrategy" => Strategy::SizeTiered(reader.tiered()?),
            "TimeWindowCompactionStrategy" => Strategy::TimeWindow(reader.window()?),
            "LeveledCompactionStrategy" => {
                nearest::check_leveled(map)?;
                Strategy::SizeTiered(reader.tiered()?)
            }
            "UnifiedCompactionStrategy" => {
                nearest::check_unified(map)?;
                Strategy::SizeTiered(TieredOptions::default())
            }
            _ if class.contains('.') => {
                return invalid(format!("Unable to find compaction strategy class '{class}'"));
            }
            _ => return invalid(format!("Unable to find compaction strategy class '{PACKAGE}{class}'")),
        };
        reader.refuse_unknown(name)?;
        let (min_threshold, max_threshold) = reader.thresholds()?;
        Ok(Self {
            strategy,
            enabled: reader.strict_flag("enabled", true, |name, value| {
                format!("{name} should either be 'true' or 'false', not {value}")
            })?,
            min_threshold,
            max_threshold,
            tombstones,
            only_purge_repaired: reader.lax_flag("only_purge_repaired_tombstones"),
            log_all: reader.strict_flag("log_all", false, |name, value| {
                format!("'{name}' should either be 'true' or 'false', not {value}")
            })?,
        })
    }

    /// The windows into which flushes and compactions of the table split their output, if it has any.
    pub fn windows(&self) -> Option<Windows> {
        match &self.strategy {
            Strategy::TimeWindow(options) => Some(options.windows),
            Strategy::SizeTiered(_) => None,
        }
    }
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::SizeTiered(TieredOptions::default()),
            enabled: true,
            min_threshold: 4,
            max_threshold: 32,
            tombstones: TombstoneOptions {
                threshold: 0.2,
                interval_seconds: 86_400,
                unchecked: false,
                asked_for: false,
            },
            only_purge_repaired: false,
            log_all: false,
        }
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::invalid(text))
}

/// Options that every strategy understands.
const COMMON: [&str; 10] = [
    "class",
    "enabled",
    "min_threshold",
    "max_threshold",
    "tombstone_threshold",
    "tombstone_compaction_interval",
    "unchecked_tombstone_compaction",
    "only_purge_repaired_tombstones",
    "log_all",
    "provide_overlapping_tombstones",
];
const THRESHOLDS: [&str; 2] = ["min_threshold", "max_threshold"];
const TIERED: [&str; 3] = ["min_sstable_size", "bucket_low", "bucket_high"];
const WINDOW: [&str; 5] = [
    "compaction_window_unit",
    "compaction_window_size",
    "timestamp_resolution",
    "expired_sstable_check_frequency_seconds",
    "unsafe_aggressive_sstable_expiration",
];

/// Reads single options out of the map.
struct Reader<'a> {
    map: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.map.get(name).map(String::as_str)
    }

    /// A whole number. (Cassandra calls every number a "parsable int", fractions too.)
    fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => {
                text.parse().or_else(|_| invalid(format!("{text} is not a parsable int (base10) for {name}")))
            }
        }
    }

    fn fraction(&self, name: &str, default: f64) -> Result<f64> {
        match self.text(name).map(str::parse::<f64>) {
            None => Ok(default),
            Some(Ok(value)) if value.is_finite() => Ok(value),
            Some(_) => {
                invalid(format!("{} is not a parsable float for {name}", self.text(name).unwrap_or("")))
            }
        }
    }

    /// A flag whose value must be a boolean; `wording` makes the error, which differs between options.
    fn strict_flag(&self, name: &str, default: bool, wording: impl Fn(&str, &str) -> String) -> Result<bool> {
        match self.text(name) {
            None => Ok(default),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => invalid(wording(name, text)),
        }
    }

    /// A flag that is true for `true` and false for everything else, as Cassandra reads some.
    fn lax_flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    fn tombstones(&self) -> Result<TombstoneOptions> {
        const NAMES: [&str; 3] =
            ["tombstone_threshold", "tombstone_compaction_interval", "unchecked_tombstone_compaction"];
        let threshold: f64 = self.number(NAMES[0], 0.2)?;
        if threshold < 0.0 || threshold.is_nan() {
            return invalid(format!("{} must be greater than 0, but was {threshold:.6}", NAMES[0]));
        }
        let interval_seconds: i64 = self.number(NAMES[1], 86_400)?;
        if interval_seconds < 0 {
            return invalid(format!("{} must be greater than 0, but was {interval_seconds}", NAMES[1]));
        }
        let unchecked = self.strict_flag(NAMES[2], false, |name, value| {
            format!("'{name}' should be either 'true' or 'false', not '{value}'")
        })?;
        let asked_for = NAMES.iter().any(|name| self.map.contains_key(*name));
        Ok(TombstoneOptions { threshold, interval_seconds, unchecked, asked_for })
    }

    fn tiered(&self) -> Result<TieredOptions> {
        let default = TieredOptions::default();
        let bytes: i64 = self.number("min_sstable_size", default.min_sstable_bytes.cast_signed())?;
        let Ok(min_sstable_bytes) = u64::try_from(bytes) else {
            return invalid(format!("min_sstable_size must be non negative: {bytes}"));
        };
        let bucket_low = self.fraction("bucket_low", default.bucket_low)?;
        let bucket_high = self.fraction("bucket_high", default.bucket_high)?;
        if bucket_high <= bucket_low {
            return invalid(format!(
                "bucket_high value ({bucket_high:?}) is less than or equal to the bucket_low value ({bucket_low:?})"
            ));
        }
        Ok(TieredOptions { min_sstable_bytes, bucket_low, bucket_high })
    }

    fn window(&self) -> Result<WindowOptions> {
        let per_second = match self.text("timestamp_resolution") {
            Some("SECONDS") => 1,
            Some("MILLISECONDS") => 1_000,
            None | Some("MICROSECONDS") => 1_000_000,
            Some("NANOSECONDS") => 1_000_000_000,
            Some(other) => return invalid(format!("{other} is not valid for timestamp_resolution")),
        };
        let unit_seconds = match self.text("compaction_window_unit") {
            Some("MINUTES") => 60,
            Some("HOURS") => 3_600,
            None | Some("DAYS") => 86_400,
            Some(other) => return invalid(format!("{other} is not valid for compaction_window_unit")),
        };
        let size: i32 = self.number("compaction_window_size", 1)?;
        if size < 1 {
            return invalid(format!("{size} must be greater than 1 for compaction_window_size"));
        }
        let name = "expired_sstable_check_frequency_seconds";
        let expired_check_seconds: i64 = self.number(name, 600)?;
        if expired_check_seconds < 0 {
            return invalid(format!("{name} must not be negative, but was {expired_check_seconds}"));
        }
        let ignore_overlaps =
            self.strict_flag("unsafe_aggressive_sstable_expiration", false, |name, value| {
                format!("{name} is not 'true' or 'false' ({value})")
            })?;
        let windows = Windows::new(i64::from(size) * unit_seconds, per_second);
        Ok(WindowOptions { windows, expired_check_seconds, ignore_overlaps, tiered: self.tiered()? })
    }

    fn refuse_unknown(&self, class: &str) -> Result<()> {
        let own: &[&[&str]] = match class {
            "TimeWindowCompactionStrategy" => &[&TIERED, &WINDOW],
            "LeveledCompactionStrategy" => &[&TIERED, &nearest::LEVELED],
            "UnifiedCompactionStrategy" => &[&nearest::UNIFIED],
            _ => &[&TIERED],
        };
        let unified = class == "UnifiedCompactionStrategy";
        let common = |name: &str| COMMON.contains(&name) && !(unified && THRESHOLDS.contains(&name));
        let known = |name: &str| common(name) || own.iter().any(|names| names.contains(&name));
        let unknown: Vec<_> = self.map.keys().map(String::as_str).filter(|name| !known(name)).collect();
        match unknown.is_empty() {
            true => Ok(()),
            false => invalid(format!(
                "Properties specified [{}] are not understood by {class}",
                unknown.join(", ")
            )),
        }
    }

    fn thresholds(&self) -> Result<(usize, usize)> {
        let threshold = |name: &str, default: usize| match self.text(name) {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(value) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(value),
                _ => invalid(format!(
                    "Invalid value {text} for '{name}' compaction sub-option - must be an integer"
                )),
            },
        };
        let (min, max) = (threshold("min_threshold", 4)?, threshold("max_threshold", 32)?);
        if min == 0 || max == 0 {
            return invalid(
                "Disabling compaction by setting compaction thresholds to 0 has been removed, set the compaction \
                 option 'enabled' to false instead.",
            );
        }
        if min < 2 {
            return invalid(format!("Min compaction threshold cannot be less than 2 (got {min})"));
        }
        if min > max {
            return invalid(format!(
                "Min compaction threshold (got {min}) cannot be greater than max compaction threshold (got {max})"
            ));
        }
        Ok((min, max))
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
