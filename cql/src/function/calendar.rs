//! Durations on the calendar: adding months, days and nanoseconds to a time.
//!
//! `arithmetic` adds and subtracts with it, `floor` looks for the multiples of a duration.

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

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01. Counted from a March, a leap day is the last of its year.
const MARCH_OFFSET: i64 = 719_468;

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(ERA_DAYS).wrapping_add(day_of_era - MARCH_OFFSET)
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + MARCH_OFFSET;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / (ERA_DAYS - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = (march_month + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_year - (153 * march_month + 2) / 5 + 1)
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
