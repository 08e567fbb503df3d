//! Durations on the calendar: adding months, days and nanoseconds to a time.
//!
//! `arithmetic` adds and subtracts with it, `floor` looks for the multiples of a duration.

use skep_engine::model::calendar::{civil, days_from_civil, days_in_month};
use skep_engine::{CqlDuration, Date, Timestamp};

pub(crate) const MILLIS_PER_DAY: i64 = 86_400_000;
pub(crate) const NANOS_PER_MILLI: i64 = 1_000_000;

/// Whether the duration has nothing below a day.
pub(crate) fn is_of_days(duration: &CqlDuration) -> bool {
    duration.nanos == 0
}

/// Whether the duration has nothing below a millisecond.
pub(crate) fn is_of_millis(duration: &CqlDuration) -> bool {
    duration.nanos % NANOS_PER_MILLI == 0
}

/// The part of the duration that no calendar is needed for, in milliseconds.
pub(crate) fn millis(duration: &CqlDuration) -> i64 {
    i64::from(duration.days) * MILLIS_PER_DAY + duration.nanos / NANOS_PER_MILLI
}

/// The duration `times` times after `time` (milliseconds since 1970; before it, if negative): first the months, then the rest. Wraps
/// around at the ends of time.
pub(crate) fn add(time: i64, duration: &CqlDuration, times: i64) -> i64 {
    let rest = millis(duration).wrapping_mul(times);
    match i64::from(duration.months).wrapping_mul(times) {
        0 => time.wrapping_add(rest),
        months => add_months(time, months).wrapping_add(rest),
    }
}

/// The same day and time so many months later; a day past that month's end is its last.
pub(crate) fn add_months(time: i64, months: i64) -> i64 {
    let (year, month, day) = civil(time.div_euclid(MILLIS_PER_DAY));
    let index = (year * 12 + month - 1).saturating_add(months);
    let (year, month) = (index.div_euclid(12), index.rem_euclid(12) + 1);
    let day = day.min(days_in_month(year, month));
    days_from_civil(year, month, day)
        .wrapping_mul(MILLIS_PER_DAY)
        .wrapping_add(time.rem_euclid(MILLIS_PER_DAY))
}

/// Months from year 0 to the month of `time`.
pub(crate) fn month_index(time: i64) -> i64 {
    let (year, month, _) = civil(time.div_euclid(MILLIS_PER_DAY));
    year * 12 + month - 1
}

/// The day that a timestamp is on, rounded towards 1970 as Cassandra does: -1 ms is on 1970-01-01.
pub(crate) fn date_of(time: Timestamp) -> Date {
    Date::from_days_since_epoch((time.0 / MILLIS_PER_DAY) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(time: &str, duration: &str, times: i64) -> String {
        let time = Timestamp::parse(time).unwrap().0;
        Timestamp(add(time, &CqlDuration::parse(duration).unwrap(), times)).to_string()
    }

    #[test]
    fn months_end_at_their_last_day() {
        for (time, duration, times, expected) in [
            ("2024-01-31 12:00Z", "1mo", 1, "2024-02-29 12:00:00.000Z"),
            ("2024-01-31 12:00Z", "1mo", -1, "2023-12-31 12:00:00.000Z"),
            ("2024-02-29 00:00Z", "1y", 1, "2025-02-28 00:00:00.000Z"),
            ("2024-01-30 23:00Z", "1mo2d2h", 1, "2024-03-03 01:00:00.000Z"),
            ("2024-03-01 01:00Z", "1mo2d2h", -1, "2024-01-29 23:00:00.000Z"),
            ("1970-01-01 00:00Z", "1y2mo3d", -1, "1968-10-29 00:00:00.000Z"),
            ("1970-01-01 00:00Z", "25h", 1, "1970-01-02 01:00:00.000Z"),
        ] {
            assert_eq!(after(time, duration, times), expected, "{time} {duration} * {times}");
        }
    }

    #[test]
    fn the_ends_of_time_do_not_panic() {
        for time in [i64::MIN, -1, i64::MAX] {
            for months in [i32::MIN, -1, 1, i32::MAX] {
                add(time, &CqlDuration { months, days: months, nanos: i64::from(months) }, i64::MAX);
            }
        }
        assert_eq!(date_of(Timestamp(-1)).to_string(), "1970-01-01");
        assert_eq!(date_of(Timestamp(-MILLIS_PER_DAY)).to_string(), "1969-12-31");
    }
}
