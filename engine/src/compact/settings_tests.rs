//! Options and errors as a node of Apache Cassandra 5.0 answers them.

use super::*;
use crate::error::ErrorKind;

fn parse(options: &[(&str, &str)]) -> Result<CompactionOptions> {
    CompactionOptions::parse(&options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
}

const TIERED_CLASS: (&str, &str) = ("class", "SizeTieredCompactionStrategy");
const WINDOW_CLASS: (&str, &str) = ("class", "TimeWindowCompactionStrategy");

#[test]
fn a_bare_class_gives_the_defaults() {
    assert_eq!(parse(&[TIERED_CLASS]).unwrap(), CompactionOptions::default());
    let long = ("class", "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy");
    assert_eq!(parse(&[long]).unwrap(), CompactionOptions::default());
    let Strategy::TimeWindow(window) = parse(&[WINDOW_CLASS]).unwrap().strategy else { panic!() };
    assert_eq!(window.windows, Windows::new(86_400, 1_000_000));
    assert_eq!((window.expired_check_seconds, window.ignore_overlaps), (600, false));
}

#[test]
fn every_option_arrives() {
    let options = parse(&[
        WINDOW_CLASS,
        ("compaction_window_unit", "MINUTES"),
        ("compaction_window_size", "30"),
        ("timestamp_resolution", "MILLISECONDS"),
        ("unsafe_aggressive_sstable_expiration", "TRUE"),
        ("expired_sstable_check_frequency_seconds", "60"),
        ("min_threshold", "3"),
        ("max_threshold", "10"),
        ("min_sstable_size", "1048576"),
        ("bucket_low", "0.4"),
        ("bucket_high", "1.6"),
        ("tombstone_threshold", "0.3"),
        ("tombstone_compaction_interval", "100"),
        ("unchecked_tombstone_compaction", "true"),
        ("enabled", "false"),
        ("log_all", "true"),
        ("only_purge_repaired_tombstones", "true"),
    ]);
    let tiered = TieredOptions { min_sstable_bytes: 1 << 20, bucket_low: 0.4, bucket_high: 1.6 };
    let windows = Windows::new(1_800, 1_000);
    let expected = CompactionOptions {
        strategy: Strategy::TimeWindow(WindowOptions {
            windows,
            expired_check_seconds: 60,
            ignore_overlaps: true,
            tiered,
        }),
        enabled: false,
        min_threshold: 3,
        max_threshold: 10,
        tombstones: TombstoneOptions {
            threshold: 0.3,
            interval_seconds: 100,
            unchecked: true,
            asked_for: true,
        },
        only_purge_repaired: true,
        log_all: true,
    };
    assert_eq!(options.unwrap(), expected);
}

#[test]
fn errors_have_cassandras_words() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "Missing sub-option 'class' for the 'compaction' option"),
        (
            &[("class", "NoSuchStrategy")],
            "Unable to find compaction strategy class 'org.apache.cassandra.db.compaction.NoSuchStrategy'",
        ),
        (&[("class", "a.B")], "Unable to find compaction strategy class 'a.B'"),
        (&[TIERED_CLASS, ("min_threshold", "1")], "Min compaction threshold cannot be less than 2 (got 1)"),
        (
            &[TIERED_CLASS, ("min_threshold", "10"), ("max_threshold", "5")],
            "Min compaction threshold (got 10) cannot be greater than max compaction threshold (got 5)",
        ),
        (
            &[TIERED_CLASS, ("min_threshold", "x")],
            "Invalid value x for 'min_threshold' compaction sub-option - must be an integer",
        ),
        (
            &[TIERED_CLASS, ("max_threshold", "0")],
            "Disabling compaction by setting compaction thresholds to 0 has been removed, set the compaction option \
             'enabled' to false instead.",
        ),
        (
            &[TIERED_CLASS, ("bucket_low", "2"), ("bucket_high", "1")],
            "bucket_high value (1.0) is less than or equal to the bucket_low value (2.0)",
        ),
        (&[TIERED_CLASS, ("bucket_low", "x")], "x is not a parsable float for bucket_low"),
        (&[TIERED_CLASS, ("min_sstable_size", "-1")], "min_sstable_size must be non negative: -1"),
        (
            &[TIERED_CLASS, ("nosuch", "1"), ("compaction_window_size", "1")],
            "Properties specified [compaction_window_size, nosuch] are not understood by \
             SizeTieredCompactionStrategy",
        ),
        (
            &[WINDOW_CLASS, ("compaction_window_unit", "WEEKS")],
            "WEEKS is not valid for compaction_window_unit",
        ),
        (&[WINDOW_CLASS, ("compaction_window_unit", "days")], "days is not valid for compaction_window_unit"),
        (
            &[WINDOW_CLASS, ("compaction_window_size", "0")],
            "0 must be greater than 1 for compaction_window_size",
        ),
        (
            &[WINDOW_CLASS, ("compaction_window_size", "x")],
            "x is not a parsable int (base10) for compaction_window_size",
        ),
        (
            &[WINDOW_CLASS, ("timestamp_resolution", "FORTNIGHTS")],
            "FORTNIGHTS is not valid for timestamp_resolution",
        ),
        (
            &[WINDOW_CLASS, ("expired_sstable_check_frequency_seconds", "-5")],
            "expired_sstable_check_frequency_seconds must not be negative, but was -5",
        ),
        (
            &[WINDOW_CLASS, ("unsafe_aggressive_sstable_expiration", "perhaps")],
            "unsafe_aggressive_sstable_expiration is not 'true' or 'false' (perhaps)",
        ),
        (&[TIERED_CLASS, ("enabled", "x")], "enabled should either be 'true' or 'false', not x"),
        (
            &[TIERED_CLASS, ("tombstone_threshold", "-1")],
            "tombstone_threshold must be greater than 0, but was -1.000000",
        ),
        (
            &[TIERED_CLASS, ("tombstone_threshold", "x")],
            "x is not a parsable int (base10) for tombstone_threshold",
        ),
        (
            &[TIERED_CLASS, ("tombstone_compaction_interval", "-1")],
            "tombstone_compaction_interval must be greater than 0, but was -1",
        ),
        (
            &[TIERED_CLASS, ("unchecked_tombstone_compaction", "x")],
            "'unchecked_tombstone_compaction' should be either 'true' or 'false', not 'x'",
        ),
        (&[TIERED_CLASS, ("log_all", "x")], "'log_all' should either be 'true' or 'false', not x"),
    ];
    for (options, text) in cases {
        let error = parse(options).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, *text));
    }
    assert!(parse(&[TIERED_CLASS, ("only_purge_repaired_tombstones", "x")]).is_ok());
}

#[test]
fn strategies_without_code_of_their_own_are_checked_and_compacted_by_size() {
    const LEVELED: (&str, &str) = ("class", "LeveledCompactionStrategy");
    const UNIFIED: (&str, &str) = ("class", "UnifiedCompactionStrategy");
    let tiered = Strategy::SizeTiered(TieredOptions::default());
    assert_eq!(
        parse(&[LEVELED, ("sstable_size_in_mb", "100"), ("fanout_size", "5")]).unwrap().strategy,
        tiered
    );
    let unified = [UNIFIED, ("scaling_parameters", "T4, L10, N"), ("target_sstable_size", "512MiB")];
    assert_eq!(parse(&unified).unwrap().strategy, tiered);
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[LEVELED, ("sstable_size_in_mb", "0")], "sstable_size_in_mb must be larger than 0, but was 0"),
        (&[LEVELED, ("sstable_size_in_mb", "x")], "x is not a parsable int (base10) for sstable_size_in_mb"),
        (
            &[LEVELED, ("nosuch", "1")],
            "Properties specified [nosuch] are not understood by LeveledCompactionStrategy",
        ),
        (
            &[UNIFIED, ("scaling_parameters", "X4")],
            "Scaling parameter X4 must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+",
        ),
        (&[UNIFIED, ("scaling_parameters", "T1")], "Fan factor cannot be lower than 2 in T1"),
        (
            &[UNIFIED, ("target_sstable_size", "x")],
            "target_sstable_size x is not a valid size in bytes: x does not end in unit B",
        ),
        (
            &[UNIFIED, ("target_sstable_size", "1KiB")],
            "target_sstable_size 1KiB is not acceptable, size must be at least 1.000MiB",
        ),
        (
            &[UNIFIED, ("base_shard_count", "0")],
            "Invalid configuration, base_shard_count should be positive: 0",
        ),
        (
            &[UNIFIED, ("min_threshold", "5")],
            "Properties specified [min_threshold] are not understood by UnifiedCompactionStrategy",
        ),
        (
            &[UNIFIED, ("target_sstable_size", "5MiB"), ("min_sstable_size", "10MiB")],
            "Invalid configuration, min_sstable_size (10.000MiB) should be less than 70% of the targetSSTableSize \
             (5.000MiB)",
        ),
        (&[UNIFIED, ("sstable_growth", "2")], "sstable_growth 2 must be between 0 and 1"),
        (
            &[UNIFIED, ("bucket_low", "1")],
            "Properties specified [bucket_low] are not understood by UnifiedCompactionStrategy",
        ),
    ];
    for (options, text) in cases {
        assert_eq!(parse(options).unwrap_err().message(), *text);
    }
}

#[test]
fn windows_count_from_the_epoch_in_both_directions() {
    let windows = Windows::new(60, 1_000_000);
    assert_eq!((windows.of(0), windows.of(59_999_999), windows.of(60_000_000)), (0, 0, 1));
    assert_eq!((windows.of(-1), windows.of(-60_000_000), windows.of(-60_000_001)), (-1, -1, -2));
    assert_eq!((windows.range(1), windows.start_second(1)), ((60_000_000, 119_999_999), 60));
    assert_eq!(windows.of_second(119), 1);
    // The longest windows and the outermost timestamps do not overflow.
    let longest = Windows::new(i64::from(i32::MAX) * 86_400, 1_000_000_000);
    assert_eq!((longest.of(i64::MAX), longest.of(i64::MIN)), (1, -2));
    assert_eq!(windows.range(windows.of(i64::MIN)).0, i64::MIN);
}
