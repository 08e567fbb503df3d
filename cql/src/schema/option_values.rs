//! Values of table options that have a form of their own: compression, caching, policies of reads and writes.
//!
//! Each function checks one value in Cassandra's words and gives it in the form in which it is kept.

use crate::error::{CqlError, Result};
use crate::schema::properties::map_literal;
use std::collections::BTreeMap;

/// Package of the compressors.
const PACKAGE: &str = "org.apache.cassandra.io.compress.";

/// Compressors with the options that only they understand.
const COMPRESSORS: [(&str, &[&str]); 6] = [
    ("LZ4Compressor", &["lz4_compressor_type", "lz4_high_compressor_level"]),
    ("SnappyCompressor", &[]),
    ("DeflateCompressor", &[]),
    ("ZstdCompressor", &["compression_level"]),
    ("ZstdDictionaryCompressor", &["compression_level"]),
    ("NoopCompressor", &[]),
];

/// Chunks that are used if no size is given, KiB.
const CHUNK: &str = "16";

/// The compression option.
///
/// # Errors
/// `ConfigError` in Cassandra's words.
pub fn compression(given: &[(String, String)]) -> Result<BTreeMap<String, String>> {
    let mut map: BTreeMap<String, String> = given.iter().cloned().collect();
    let fail = |text: String| Err(CqlError::config(text));
    let off = || BTreeMap::from([("enabled".to_owned(), "false".to_owned())]);
    if map.is_empty() {
        return Ok(off());
    }
    let enabled = map.remove("enabled");
    if enabled.as_deref().is_some_and(|value| !value.eq_ignore_ascii_case("true")) {
        return match map.is_empty() {
            true => Ok(off()),
            false => {
                fail("If the 'enabled' option is set to false no other options must be specified".to_owned())
            }
        };
    }
    let Some(class) = map.get("class").cloned() else {
        return fail("Missing sub-option 'class' for the 'compression' option.".to_owned());
    };
    if class.is_empty() {
        return fail(
            "The 'class' option must not be empty. To disable compression use 'enabled' : false".to_owned(),
        );
    }
    let full = if class.contains('.') { class } else { format!("{PACKAGE}{class}") };
    let short = full.strip_prefix(PACKAGE).unwrap_or(&full);
    let Some((_, own)) = COMPRESSORS.iter().find(|(name, _)| *name == short) else {
        return fail(format!("Could not create Compression for type {full}"));
    };
    check_chunk(&mut map)?;
    let common = ["class", "chunk_length_in_kb", "min_compress_ratio"];
    let unknown = |name: &&String| !common.contains(&name.as_str()) && !own.contains(&name.as_str());
    let unknown: Vec<_> = map.keys().filter(unknown).map(String::as_str).collect();
    if !unknown.is_empty() {
        return fail(format!("Unknown compression options {}", unknown.join(", ")));
    }
    check_levels(&map, short)?;
    map.insert("class".to_owned(), full);
    Ok(map)
}

fn check_chunk(map: &mut BTreeMap<String, String>) -> Result<()> {
    if let Some(chunk) = map.get("chunk_length_in_kb") {
        let Ok(size) = chunk.parse::<i32>() else {
            return Err(CqlError::config("Invalid value for chunk_length_in_kb"));
        };
        if size <= 0 {
            return Err(CqlError::config("Invalid negative or null chunk_length_in_kb"));
        }
        if !size.unsigned_abs().is_power_of_two() {
            return Err(CqlError::config("chunk_length_in_kb must be a power of 2"));
        }
    }
    let Some(text) = map.get("min_compress_ratio") else { return Ok(()) };
    let Ok(ratio) = text.parse::<f64>() else {
        return Err(CqlError::config("Invalid value for min_compress_ratio"));
    };
    if ratio < 0.0 || ratio.is_nan() {
        return Err(CqlError::config("Invalid negative min_compress_ratio"));
    }
    if ratio > 0.0 && ratio < 1.0 {
        return Err(CqlError::config("min_compress_ratio can either be 0 or greater than or equal to 1"));
    }
    match ratio == 0.0 {
        true => map.remove("min_compress_ratio"),
        false => map.insert("min_compress_ratio".to_owned(), double_text(ratio)),
    };
    Ok(())
}

fn check_levels(map: &BTreeMap<String, String>, class: &str) -> Result<()> {
    if let Some(kind) = map.get("lz4_compressor_type")
        && !["high", "fast"].contains(&kind.as_str())
    {
        return Err(CqlError::config(format!(
            "Invalid compressor type '{kind}' specified for LZ4 parameter 'lz4_compressor_type'. Valid options are \
             [high, fast]."
        )));
    }
    let level = |name: &str, least: i32, greatest: i32| {
        let text = map.get(name)?;
        let fits = text.parse::<i32>().is_ok_and(|level| (least..=greatest).contains(&level));
        (!fits).then_some(text)
    };
    if let Some(text) = level("lz4_high_compressor_level", 1, 17) {
        return Err(CqlError::config(format!(
            "Invalid value [{text}] for parameter 'lz4_high_compressor_level'. Value must be between 1 and 17."
        )));
    }
    match level("compression_level", -131_072, 22) {
        Some(text) => Err(CqlError::config(format!("{class}: compression_level={text} is invalid"))),
        None => Ok(()),
    }
}

/// The compression option with all that DESCRIBE shows.
#[must_use]
pub fn full_compression(kept: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut map = kept.clone();
    if map.get("enabled").is_some_and(|value| value == "false") || map.is_empty() {
        return BTreeMap::from([("enabled".to_owned(), "false".to_owned())]);
    }
    if let Some(class) = map.get_mut("class")
        && !class.contains('.')
    {
        class.insert_str(0, PACKAGE);
    }
    map.entry("chunk_length_in_kb".to_owned()).or_insert_with(|| CHUNK.to_owned());
    map
}

/// The caching option as a literal.
///
/// # Errors
/// `ConfigError` in Cassandra's words.
pub fn caching(given: &[(String, String)]) -> Result<String> {
    // What a map leaves out is off, also where a table without the option has it on.
    let (mut keys, mut rows) = ("NONE".to_owned(), "NONE".to_owned());
    let unknown: Vec<_> = given.iter().map(|(name, _)| name.as_str()).collect();
    let unknown: Vec<_> =
        unknown.into_iter().filter(|name| !["keys", "rows_per_partition"].contains(name)).collect();
    if !unknown.is_empty() {
        return Err(CqlError::config(format!(
            "Invalid caching sub-options [{}]: only 'keys' and 'rows_per_partition' are allowed",
            unknown.join(", ")
        )));
    }
    for (name, value) in given {
        let upper = value.to_ascii_uppercase();
        let word = ["ALL", "NONE"].contains(&upper.as_str());
        if name == "keys" {
            if !word {
                return Err(CqlError::config(format!(
                    "Invalid value '{value}' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed"
                )));
            }
            keys = upper;
        } else {
            let number = !value.is_empty()
                && value.bytes().all(|b| b.is_ascii_digit())
                && value.parse::<i32>().is_ok();
            if !word && !number {
                return Err(CqlError::config(format!(
                    "Invalid value '{value}' for caching sub-option 'rows_per_partition': only 'ALL', 'NONE', and \
                     integer values are allowed"
                )));
            }
            rows = upper;
        }
    }
    Ok(map_literal([(&"keys".to_owned(), &keys), (&"rows_per_partition".to_owned(), &rows)]))
}

/// `speculative_retry` and `additional_write_policy`: ALWAYS, NEVER, a percentile, milliseconds, MIN or MAX of two.
///
/// # Errors
/// `ConfigError` in Cassandra's words.
pub fn speculative(given: &str) -> Result<String> {
    let wrong = || CqlError::config(format!("Invalid value {given} for option 'speculative_retry'"));
    let text = given.trim();
    let upper = text.to_ascii_uppercase();
    match upper.as_str() {
        "ALWAYS" => return Ok(upper),
        "NEVER" | "NONE" => return Ok("NEVER".to_owned()),
        _ => (),
    }
    let hybrid = ["MIN(", "MAX("].iter().find(|prefix| upper.starts_with(**prefix));
    if let Some(prefix) = hybrid {
        let inner = upper.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?;
        let (one, other) = inner.split_once(',').ok_or_else(wrong)?;
        let inner = |text: &str| part(text, given).ok().flatten().ok_or_else(wrong);
        let (one, other) = (inner(one)?, inner(other)?);
        return match (one.ends_with('p'), other.ends_with('p')) {
            (true, false) | (false, true) => Ok(format!("{prefix}{one},{other})")),
            (percentile, _) => Err(CqlError::config(format!(
                "Invalid value {given} for option 'speculative_retry': MIN()/MAX() arguments should be of different \
                 types, but both are of type {}",
                if percentile { "PERCENTILE" } else { "FIXED" }
            ))),
        };
    }
    part(&upper, given)?.ok_or_else(wrong)
}

/// `99P`, `99PERCENTILE` or `50MS`.
fn part(upper: &str, given: &str) -> Result<Option<String>> {
    let upper = upper.trim();
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        digits.parse::<f64>().ok().filter(|_| plain)
    };
    if let Some(time) = upper.strip_suffix("MS") {
        return Ok(number(time).map(|ms| format!("{}ms", ms.trunc())));
    }
    let Some(digits) = upper.strip_suffix("PERCENTILE").or_else(|| upper.strip_suffix('P')) else {
        return Ok(None);
    };
    match number(digits) {
        Some(percentile) if percentile <= 0.0 || percentile >= 100.0 => Err(CqlError::config(format!(
            "Invalid value {given} for PERCENTILE option 'speculative_retry': must be between (0.0 and 100.0)"
        ))),
        Some(percentile) => Ok(Some(format!("{}p", (percentile * 10_000.0).round() / 10_000.0))),
        None => Ok(None),
    }
}

/// `read_repair`.
///
/// # Errors
/// `ConfigError` for anything but NONE and BLOCKING.
pub fn read_repair(given: &str) -> Result<String> {
    let upper = given.to_ascii_uppercase();
    match upper.as_str() {
        "NONE" | "BLOCKING" => Ok(upper),
        _ => Err(CqlError::config(format!("Invalid value {given} for option 'read_repair'"))),
    }
}

/// `memtable`: one of the configurations that Cassandra has by itself.
///
/// # Errors
/// `ConfigError` in Cassandra's words.
pub fn memtable(given: &str) -> Result<String> {
    match ["default", "skiplist", "trie"].contains(&given) {
        true => Ok(given.to_owned()),
        false => Err(CqlError::config(format!("Memtable configuration \"{given}\" not found."))),
    }
}

/// A number as Java writes a double: `0.01`, `1.0`, `1.0E-5`.
#[must_use]
pub fn double_text(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) || !value.is_finite() {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn policies_have_one_form() {
        assert_eq!(speculative("99PERCENTILE").unwrap(), "99p");
        assert_eq!(speculative("always").unwrap(), "ALWAYS");
        assert_eq!(speculative("min(99p, 50ms)").unwrap(), "MIN(99p,50ms)");
        assert_eq!(speculative("99.5p").unwrap(), "99.5p");
        for wrong in ["", "sometimes", "101p", "0p", "5", "MIN(99p)", "MIN(1ms,2ms)", "ms"] {
            assert!(speculative(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn doubles_read_as_in_java() {
        let cases =
            [(0.01, "0.01"), (1.0, "1.0"), (0.0, "0.0"), (-1.0, "-1.0"), (1e-5, "1.0E-5"), (1.5e8, "1.5E8")];
        for (value, text) in cases {
            assert_eq!(double_text(value), text);
        }
    }

    #[test]
    fn compression_gets_its_package_and_chunk() {
        let map = compression(&pairs(&[("class", "ZstdCompressor"), ("compression_level", "5")])).unwrap();
        let shown = map_literal(&full_compression(&map));
        let class = "'class': 'org.apache.cassandra.io.compress.ZstdCompressor'";
        assert_eq!(shown, format!("{{'chunk_length_in_kb': '16', {class}, 'compression_level': '5'}}"));
        let off = compression(&pairs(&[("enabled", "false")])).unwrap();
        assert_eq!(map_literal(&full_compression(&off)), "{'enabled': 'false'}");
        assert!(compression(&pairs(&[("class", "LZ4Compressor"), ("compression_level", "5")])).is_err());
    }
}
