//! Options of Cassandra's strategies that the engine has no code of its own for: LeveledCompactionStrategy and UnifiedCompactionStrategy.
//!
//! A table that asks for one of them keeps the option as it was given, checked as Cassandra checks it, and shows it; its files are compacted by
//! the strategy that comes nearest, size-tiered. So a schema moves in both directions unchanged. What differs is amplification only: more
//! files per read than leveled compaction leaves, fewer bytes written. Called by `settings`.

use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Options of LeveledCompactionStrategy beside those of size-tiered compaction, which it uses for its level 0.
pub(super) const LEVELED: [&str; 3] = ["sstable_size_in_mb", "fanout_size", "single_sstable_uplevel"];

/// Options of UnifiedCompactionStrategy.
pub(super) const UNIFIED: [&str; 9] = [
    "scaling_parameters",
    "target_sstable_size",
    "min_sstable_size",
    "base_shard_count",
    "sstable_growth",
    "flush_size_override",
    "overlap_inclusion_method",
    "expired_sstable_check_frequency_seconds",
    "unsafe_aggressive_sstable_expiration",
];

/// Target of UnifiedCompactionStrategy if none is given, bytes.
const DEFAULT_TARGET: f64 = 1_073_741_824.0;

/// Smallest target of UnifiedCompactionStrategy, bytes.
const LEAST_TARGET: f64 = 1_048_576.0;

/// Checks what LeveledCompactionStrategy alone understands.
pub(super) fn check_leveled(map: &BTreeMap<String, String>) -> Result<()> {
    for name in ["sstable_size_in_mb", "fanout_size"] {
        let Some(text) = map.get(name) else { continue };
        let Ok(value) = text.parse::<i32>() else {
            return invalid(format!("{text} is not a parsable int (base10) for {name}"));
        };
        if value < 1 {
            return invalid(format!("{name} must be larger than 0, but was {value}"));
        }
    }
    Ok(())
}

/// Checks what UnifiedCompactionStrategy alone understands.
pub(super) fn check_unified(map: &BTreeMap<String, String>) -> Result<()> {
    if let Some(list) = map.get("scaling_parameters") {
        list.trim_end_matches(',').split(',').map(str::trim).try_for_each(check_scaling)?;
    }
    check_sizes(map)?;
    if let Some(text) = map.get("unsafe_aggressive_sstable_expiration")
        && !["true", "false"].contains(&text.to_ascii_lowercase().as_str())
    {
        return invalid(format!(
            "unsafe_aggressive_sstable_expiration should either be 'true' or 'false', not {text}"
        ));
    }
    if let Some(text) = map.get("base_shard_count") {
        match text.parse::<i32>() {
            Ok(count) if count > 0 => (),
            Ok(count) => {
                return invalid(format!(
                    "Invalid configuration, base_shard_count should be positive: {count}"
                ));
            }
            Err(_) => return invalid(format!("{text} is not a parsable int (base10) for base_shard_count")),
        }
    }
    if let Some(text) = map.get("sstable_growth")
        && !text.parse::<f64>().is_ok_and(|growth| (0.0..=1.0).contains(&growth))
    {
        return match text.parse::<f64>() {
            Ok(_) => invalid(format!("sstable_growth {text} must be between 0 and 1")),
            Err(_) => invalid(format!(
                "sstable_growth is not a valid number between 0 and 1: For input string: \"{text}\""
            )),
        };
    }
    if let Some(text) = map.get("overlap_inclusion_method")
        && !["none", "single", "transitive"].contains(&text.to_ascii_lowercase().as_str())
    {
        return invalid(format!(
            "Invalid overlap inclusion method {text}. The valid options are [NONE, SINGLE, TRANSITIVE]."
        ));
    }
    Ok(())
}

fn check_sizes(map: &BTreeMap<String, String>) -> Result<()> {
    let mut target = DEFAULT_TARGET;
    for name in ["target_sstable_size", "flush_size_override"] {
        let Some(text) = map.get(name) else { continue };
        let bytes = size(text)
            .or_else(|why| invalid(format!("{name} {text} is not a valid size in bytes: {why}")))?;
        if bytes < LEAST_TARGET {
            return invalid(format!("{name} {text} is not acceptable, size must be at least 1.000MiB"));
        }
        if name == "target_sstable_size" {
            target = bytes;
        }
    }
    let name = "min_sstable_size";
    let Some(text) = map.get(name) else { return Ok(()) };
    let bytes = size(text).or_else(|_| invalid(format!("{text} is not a valid size in bytes for {name}")))?;
    if bytes >= target * std::f64::consts::FRAC_1_SQRT_2 {
        return invalid(format!(
            "Invalid configuration, {name} ({}) should be less than 70% of the targetSSTableSize ({})",
            memory(bytes),
            memory(target)
        ));
    }
    Ok(())
}

/// `10.000MiB`
fn memory(bytes: f64) -> String {
    let units =
        [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1_024.0, "KiB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.3}{unit}", bytes / size),
        None => format!("{bytes}B"),
    }
}

/// `N`, `T4`, `L10` or a whole number.
fn check_scaling(text: &str) -> Result<()> {
    let digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if text == "N" || digits(unsigned) {
        return Ok(());
    }
    let Some(fan) = text.strip_prefix(['T', 'L']).filter(|fan| digits(fan)) else {
        return invalid(format!("Scaling parameter {text} must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+"));
    };
    match fan.parse::<i32>() {
        Ok(fan) if fan >= 2 => Ok(()),
        _ => invalid(format!("Fan factor cannot be lower than 2 in {text}")),
    }
}

/// Bytes of `512MiB`, `1.5 GiB`, `100MB`, `7B`; or what is wrong.
fn size(text: &str) -> std::result::Result<f64, String> {
    let Some(rest) = text.strip_suffix('B') else { return Err(format!("{text} does not end in unit B")) };
    let (rest, base) = match rest.strip_suffix('i') {
        Some(rest) => (rest, 1024.0_f64),
        None => (rest, 1000.0),
    };
    let powers = ["", "K", "M", "G", "T", "P", "E"];
    let end = rest.trim_end_matches(|c: char| c.is_ascii_uppercase());
    let power = powers.iter().position(|unit| *unit == &rest[end.len()..]);
    let number = end.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match (number, power.and_then(|power| i32::try_from(power).ok())) {
        (Some(number), Some(power)) => Ok(number * base.powi(power)),
        _ => {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            Err(format!("Unexpected characters between pos {digits} and {} in {text}", rest.len()))
        }
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::invalid(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024_and_of_1000() {
        assert_eq!(size("512MiB"), Ok(536_870_912.0));
        assert_eq!(size("1.5 KB"), Ok(1_500.0));
        assert_eq!(size("7B"), Ok(7.0));
        for wrong in ["x", "512", "MiB", "1XiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("5XB").unwrap_err(), "Unexpected characters between pos 1 and 2 in 5XB");
        assert_eq!((memory(10_485_760.0), memory(7.0)), ("10.000MiB".to_owned(), "7B".to_owned()));
    }

    #[test]
    fn scaling_parameters_are_those_of_the_grammar() {
        for right in ["N", "T2", "L10", "0", "-8", "+3"] {
            assert!(check_scaling(right).is_ok(), "{right}");
        }
        for wrong in ["", "X4", "T", "T1", "n", "T2.5", "--1"] {
            assert!(check_scaling(wrong).is_err(), "{wrong}");
        }
    }
}
