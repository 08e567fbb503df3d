//! Text of points in time, against answers of Cassandra.

use super::*;
use proptest::prelude::{any, prop_assert_eq, proptest};

#[test]
fn timestamps_are_read_leniently() {
    for (text, printed) in [
        ("2011-02-03 04:05:06+0000", "2011-02-03 04:05:06.000Z"),
        ("2011-02-03 04:05+0000", "2011-02-03 04:05:00.000Z"),
        ("2011-02-03T04:05:06.7891Z", "2011-02-03 04:05:06.789Z"),
        ("2011-02-03T04:05:06.7Z", "2011-02-03 04:05:06.700Z"),
        ("2011-02-03 04:05:06.789+02:00", "2011-02-03 02:05:06.789Z"),
        ("2011-02-03 04:05:06-0330", "2011-02-03 07:35:06.000Z"),
        ("2011-02-03 04:05:06+02", "2011-02-03 02:05:06.000Z"),
        ("2011-02-03 04:05:06 UTC", "2011-02-03 04:05:06.000Z"),
        ("2014-02-14 14:30:00", "2014-02-14 14:30:00.000Z"),
        ("2011-02-03 +0000", "2011-02-03 00:00:00.000Z"),
        ("2011-02-03Z", "2011-02-03 00:00:00.000Z"),
        ("2011-2-3 4:5:6+0000", "2011-02-03 04:05:06.000Z"),
        ("1969-12-31 23:59:59.999+0000", "1969-12-31 23:59:59.999Z"),
        ("0001-01-01 00:00:00+0000", "0001-01-01 00:00:00.000Z"),
        ("2011-02-30 00:00:00+0000", "2011-02-28 00:00:00.000Z"),
        ("2012-02-31", "2012-02-29 00:00:00.000Z"),
        ("2011-02-03 24:00:00+0000", "2011-02-04 00:00:00.000Z"),
        ("1296705906789", "2011-02-03 04:05:06.789Z"),
        ("-1", "1969-12-31 23:59:59.999Z"),
    ] {
        assert_eq!(Timestamp::parse(text).unwrap().to_string(), printed, "{text}");
    }
    for text in [
        "2011-13-03 00:00:00+0000",
        "2011-02-32",
        "2011-02-03 04:60:06+0000",
        "2011-02-03 24:00:01",
        "2011-02-03 25:00",
        "2011/02/03",
        "03-02-2011",
        " 2011-02-03+0000",
        "2011-02-03 ",
        "2011-02-03T",
        "2011-02-03 04:05:06.",
        "2011-02-03 04:05:06+1",
        "2011-02-03 04:05:06+\u{e9}1",
        "9223372036854775808",
        "now",
        "",
    ] {
        assert!(Timestamp::parse(text).is_err(), "{text}");
    }
}

#[test]
fn dates_are_read_strictly() {
    for (text, raw) in [
        ("1970-01-01", 1 << 31),
        ("1969-12-31", (1 << 31) - 1),
        ("-5877641-06-23", 0),
        ("+10000-01-01", 2_150_416_545),
        ("+5881580-07-11", u32::MAX),
        ("4294967295", u32::MAX),
        ("2147483649", (1 << 31) + 1),
    ] {
        assert_eq!(Date::parse(text).unwrap(), Date(raw), "{text}");
    }
    for text in [
        "4294967296",
        "-1",
        "2011-02-30",
        "2011-2-3",
        "2011-02-03 00:00:00",
        "2011-02",
        "today",
        "",
        "10000-01-01",
        "+5881580-07-12",
        "20\u{e9}-01-01",
    ] {
        assert!(Date::parse(text).is_err(), "{text}");
    }
    assert_eq!(Date(0).to_string(), "-5877641-06-23");
    assert_eq!(Date::from_ymd(2024, 2, 29).unwrap().to_string(), "2024-02-29");
    assert!(Date::from_ymd(2023, 2, 29).is_err());
    assert_eq!(Date::parse("-1").unwrap_err().message(), "Unable to make unsigned int (for date) from: '-1'");
}

#[test]
fn times_are_within_a_day() {
    for (text, printed) in [
        ("08:12:54", "08:12:54.000000000"),
        ("08:12:54.1", "08:12:54.100000000"),
        ("8:2:4", "08:02:04.000000000"),
        ("23:59:59.999999999", "23:59:59.999999999"),
        ("29574000000000", "08:12:54.000000000"),
    ] {
        assert_eq!(Time::parse(text).unwrap().to_string(), printed);
    }
    for text in [
        "08:12:54.1234567891",
        "86400000000000",
        "-1",
        "24:00:00",
        "08:60:00",
        "08:12",
        "08:12:54.",
        "08:12:54Z",
        "",
        "noon",
    ] {
        assert!(Time::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_day_of_a_timestamp_is_rounded_down() {
    assert_eq!(Timestamp(-1).date().to_string(), "1969-12-31");
    assert_eq!(Timestamp(86_399_999).date(), Date::from_days_since_epoch(0));
    assert_eq!(Timestamp(i64::MAX).date(), Date(u32::MAX));
    assert_eq!(Date::from_ymd(2024, 6, 12).unwrap().start().to_string(), "2024-06-12 00:00:00.000Z");
    let early = UNIX_EPOCH - Duration::from_nanos(1);
    assert_eq!(Timestamp::from(early), Timestamp(-1));
}

proptest! {
    #[test]
    fn every_day_and_moment_reads_back(raw in any::<u32>(), millis in -300_000_000_000_000_000i64..300_000_000_000_000_000) {
        prop_assert_eq!(Date::parse(&Date(raw).to_string()).unwrap(), Date(raw));
        prop_assert_eq!(Timestamp::parse(&Timestamp(millis).to_string()).unwrap(), Timestamp(millis));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+0-9:TZ. \u{e9}]{0,30}", millis in any::<i64>()) {
        let _ = (Timestamp::parse(&text), Date::parse(&text), Time::parse(&text), Timestamp(millis).to_string());
    }
}

#[test]
fn times_and_days_are_moved_and_stop_at_the_ends() {
    let day = Date::from_ymd(2024, 2, 28).unwrap();
    assert_eq!(
        (day + 2, day - 59),
        (Date::from_ymd(2024, 3, 1).unwrap(), Date::from_ymd(2023, 12, 31).unwrap())
    );
    let noon = day.start() + Duration::from_secs(12 * 3600);
    assert_eq!((noon.date(), (noon - Duration::from_millis(1)).as_millis()), (day, noon.as_millis() - 1));
    assert_eq!(Date(u32::MAX) + 1, Date(u32::MAX));
}

#[test]
fn days_through_a_month_s_end_are_listed_in_order() {
    let day = |text| Date::parse(text).unwrap();
    let days: Vec<String> = day("2024-02-28").through(day("2024-03-01")).map(|day| day.to_string()).collect();
    assert_eq!(days, ["2024-02-28", "2024-02-29", "2024-03-01"]);
    assert_eq!(day("2024-03-01").through(day("2024-03-01")).count(), 1);
    assert_eq!(day("2024-03-01").through(day("2024-02-28")).count(), 0);
}
