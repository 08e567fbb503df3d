//! The proleptic Gregorian calendar: days since 1970-01-01 to year, month and day, and back.
//!
//! No library: dates reach 5.8 million years, which none covers. Years are counted from March, so that a leap day is the last of its year.

/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const MARCH_OFFSET: i64 = 719_468;

/// Days of a month (1 to 12) of a year.
#[must_use]
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a day. Wraps around for years whose days 64 bits do not hold.
#[must_use]
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(ERA_DAYS).wrapping_add(day_of_era - MARCH_OFFSET)
}

/// Year, month and day of a number of days since 1970-01-01, at most some 2^62 of them.
#[must_use]
pub fn civil(days: i64) -> (i64, i64, i64) {
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

    #[test]
    fn days_come_back_and_leap_days_are_where_they_should_be() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(days_from_civil(2000, 2, 28) + 1), (2000, 2, 29));
        assert_eq!(civil(days_from_civil(1900, 2, 28) + 1), (1900, 3, 1));
        assert_eq!((days_in_month(2024, 2), days_in_month(2100, 2), days_in_month(2023, 11)), (29, 28, 30));
        for days in (-800_000..800_000).step_by(97).chain([i64::from(i32::MIN), i64::from(i32::MAX)]) {
            let (year, month, day) = civil(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!((1..=days_in_month(year, month)).contains(&day));
        }
    }
}
