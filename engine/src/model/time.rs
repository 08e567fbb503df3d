//! Points in time: [`Timestamp`], [`Date`] and [`Time`], with their text forms.
//!
//! Each is a number with a unit; the calendar (proleptic Gregorian, UTC) comes in only with text. What text is taken
//! follows Cassandra: timestamps leniently, dates strictly.
//!
//! # Not here
//! The current time: this module reads no clock. The time zone of the machine: text without a zone is UTC, so that the
//! same import gives the same rows everywhere. The calendar itself is in [`calendar`](crate::model::calendar).

use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::model::calendar::{civil, days_from_civil, days_in_month};

const MILLIS_PER_DAY: i64 = 86_400_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;

/// Milliseconds since 1970-01-01T00:00:00Z, CQL's `timestamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

/// A day, CQL's `date`: days since 1970-01-01 plus 2^31, so that unsigned order is that of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub u32);

/// Nanoseconds since midnight, CQL's `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Timestamp {
    /// `millis` since the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The day it falls on, in UTC; beyond the first or last [`Date`] that one.
    #[must_use]
    pub fn date(self) -> Date {
        let days = self.0.div_euclid(MILLIS_PER_DAY).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        Date::from_days_since_epoch(i32::try_from(days).unwrap_or(i32::MAX))
    }

    /// Parses milliseconds, or a date with an optional time and zone: `2024-06-12`, `2024-06-12 14:03`,
    /// `2024-06-12T14:03:00.123+02:00`, `... UTC`. As Cassandra: digits may be missing (`2011-2-3`), a day past the month's end
    /// (up to 31) is its last, 24:00 the next midnight, and digits after the milliseconds are dropped.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        if is_integer(text) {
            let millis = text.parse();
            return millis
                .map(Self)
                .map_err(|_| Error::invalid(format!("Unable to make long (for date) from: '{text}'")));
        }
        let parsed = parse_timestamp(text).and_then(|millis| i64::try_from(millis).ok());
        parsed.map(Self).ok_or_else(|| Error::invalid(format!("Unable to parse a date/time from '{text}'")))
    }
}

impl From<SystemTime> for Timestamp {
    /// Rounds down to a millisecond; times beyond 64 bits become the nearest that fits.
    fn from(time: SystemTime) -> Self {
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos().div_ceil(1_000_000))
                .map_or(i64::MIN, |millis| -millis),
        })
    }
}

impl fmt::Display for Timestamp {
    /// `2024-06-12 14:03:00.000Z`; years beyond 9999 or before 0 with a sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_civil(f, self.0.div_euclid(MILLIS_PER_DAY))?;
        let millis = self.0.rem_euclid(MILLIS_PER_DAY);
        let (minutes, millis) = (millis / 60_000, millis % 60_000);
        write!(f, " {:02}:{:02}:{:02}.{:03}Z", minutes / 60, minutes % 60, millis / 1000, millis % 1000)
    }
}

impl Date {
    /// The day `days` after (or before) 1970-01-01.
    #[must_use]
    pub const fn from_days_since_epoch(days: i32) -> Self {
        Self(days.cast_unsigned() ^ (1 << 31))
    }

    /// Days since 1970-01-01.
    #[must_use]
    pub const fn days_since_epoch(self) -> i32 {
        (self.0 ^ (1 << 31)).cast_signed()
    }

    /// The day of this year, month (1 to 12) and day of the month.
    ///
    /// # Errors
    /// `Invalid` where there is no such day, or none that fits.
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Result<Self> {
        let (month, day) = (i64::from(month), i64::from(day));
        civil_date(year.into(), month, day)
            .ok_or_else(|| Error::invalid(format!("there is no day {year}-{month}-{day}")))
    }

    /// Midnight (UTC) at its start.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp(i64::from(self.days_since_epoch()) * MILLIS_PER_DAY)
    }

    /// The days from this one to `last`, both included: the buckets of a span of time, oldest first. None if `last` is earlier.
    pub fn through(self, last: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0..=last.0).map(Self)
    }

    /// Parses `yyyy-MM-dd`, strictly, or the raw number (1970-01-01 being 2147483648).
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        if is_integer(text) {
            let raw = text.parse();
            let wrong = |_| Error::invalid(format!("Unable to make unsigned int (for date) from: '{text}'"));
            return raw.map(Self).map_err(wrong);
        }
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) => (text.as_bytes()[0], digits),
            None => (b' ', text),
        };
        let mut parts = digits.split('-');
        let number = |part: Option<&str>, width: std::ops::RangeInclusive<usize>| {
            part.filter(|part| width.contains(&part.len())).and_then(unsigned)
        };
        let year = number(
            parts.next(),
            if sign == b'+' {
                5..=9
            } else if sign == b'-' {
                4..=9
            } else {
                4..=4
            },
        );
        let (month, day) = (number(parts.next(), 2..=2), number(parts.next(), 2..=2));
        let date = match (year, month, day, parts.next()) {
            (Some(year), Some(month), Some(day), None) => {
                civil_date(if sign == b'-' { -year } else { year }, month, day)
            }
            _ => None,
        };
        date.ok_or_else(|| Error::invalid(format!("Unable to coerce '{text}' to a formatted date (long)")))
    }
}

impl fmt::Display for Date {
    /// `2024-06-12`; years beyond 9999 or before 0 with a sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_civil(f, self.days_since_epoch().into())
    }
}

impl Time {
    /// Parses `hh:mm:ss` with up to nine digits of a fraction, or nanoseconds.
    ///
    /// # Errors
    /// `Invalid` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        if is_integer(text) {
            let nanos = text.parse().ok().filter(|nanos| (0..NANOS_PER_DAY).contains(nanos));
            return nanos
                .map(Self)
                .ok_or_else(|| Error::invalid(format!("Unable to make long (for time) from: '{text}'")));
        }
        let wrong =
            || Error::invalid(format!("(TimeType) Unable to coerce '{text}' to a formatted time (long)"));
        let mut rest = text;
        let clock = Clock::take(&mut rest)
            .filter(|clock| rest.is_empty() && clock.hour < 24 && clock.fraction_digits <= 9);
        let clock = clock.filter(|clock| clock.has_seconds).ok_or_else(wrong)?;
        Ok(Self(clock.seconds() * NANOS_PER_SECOND + clock.nanos))
    }
}

impl fmt::Display for Time {
    /// `14:03:00.000000000`; a number outside of a day as it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !(0..NANOS_PER_DAY).contains(&self.0) {
            return self.0.fmt(f);
        }
        let (seconds, nanos) = (self.0 / NANOS_PER_SECOND, self.0 % NANOS_PER_SECOND);
        write!(f, "{:02}:{:02}:{:02}.{nanos:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// Hours, minutes, seconds and a fraction, each in range for a clock but the hour, which may be 24.
struct Clock {
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    has_seconds: bool,
    fraction_digits: usize,
}

impl Clock {
    /// Takes `h:m`, `h:m:s` or `h:m:s.f` from the front of `rest`.
    fn take(rest: &mut &str) -> Option<Self> {
        let hour = take_number(rest, 2)?;
        *rest = rest.strip_prefix(':')?;
        let minute = take_number(rest, 2)?;
        let mut clock = Self { hour, minute, second: 0, nanos: 0, has_seconds: false, fraction_digits: 0 };
        if let Some(after) = rest.strip_prefix(':') {
            *rest = after;
            clock.second = take_number(rest, 2)?;
            clock.has_seconds = true;
            if let Some(after) = rest.strip_prefix('.') {
                let digits = after.bytes().take_while(u8::is_ascii_digit).count();
                let (fraction, after) = after.split_at_checked(digits).filter(|_| digits > 0)?;
                *rest = after;
                clock.fraction_digits = digits;
                clock.nanos = fraction
                    .bytes()
                    .chain([b'0'; 9])
                    .take(9)
                    .fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
            }
        }
        (clock.hour <= 24 && clock.minute < 60 && clock.second < 60).then_some(clock)
    }

    fn seconds(&self) -> i64 {
        (self.hour * 60 + self.minute) * 60 + self.second
    }
}

/// Milliseconds since the epoch of a date, optional clock and optional zone.
fn parse_timestamp(text: &str) -> Option<i128> {
    let (before_christ, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let year = take_number(&mut rest, 9)?;
    rest = rest.strip_prefix('-')?;
    let month = take_number(&mut rest, 2)?;
    rest = rest.strip_prefix('-')?;
    let day = take_number(&mut rest, 2)?;
    let year = if before_christ { -year } else { year };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut millis = i128::from(days_from_civil(year, month, day.min(days_in_month(year, month))))
        * i128::from(MILLIS_PER_DAY);
    if let Some(mut clock_text) =
        rest.strip_prefix(['T', ' ']).filter(|after| after.starts_with(|c: char| c.is_ascii_digit()))
    {
        let clock = Clock::take(&mut clock_text)?;
        rest = clock_text;
        let millis_of_day = clock.seconds() * 1000 + clock.nanos / 1_000_000;
        if millis_of_day > MILLIS_PER_DAY || clock.hour == 24 && millis_of_day != MILLIS_PER_DAY {
            return None;
        }
        millis += i128::from(millis_of_day);
    }
    let zone = match rest.strip_prefix(' ') {
        Some("") => return None,
        Some(zone) => zone,
        None => rest,
    };
    Some(millis - i128::from(zone_minutes(zone)?) * 60_000)
}

/// Minutes east of UTC.
fn zone_minutes(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let digits = zone.strip_prefix(['+', '-'])?;
    let (hours, minutes) = match (digits.len(), digits.split_once(':')) {
        (2, None) => (digits, "0"),
        (4, None) => digits.split_at_checked(2)?,
        (5, Some((hours, minutes))) if hours.len() == 2 => (hours, minutes),
        _ => return None,
    };
    let (hours, minutes) = (unsigned(hours)?, unsigned(minutes)?);
    let minutes = (hours <= 18 && minutes < 60).then_some(hours * 60 + minutes)?;
    Some(if zone.starts_with('-') { -minutes } else { minutes })
}

/// An optional sign and digits only.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn unsigned(digits: &str) -> Option<i64> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Takes 1 to `most` digits from the front of `rest`.
fn take_number(rest: &mut &str, most: usize) -> Option<i64> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at_checked(digits)?;
    *rest = after;
    if digits > most { None } else { number.parse().ok() }
}

fn civil_date(year: i64, month: i64, day: i64) -> Option<Date> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    i32::try_from(days_from_civil(year, month, day)).ok().map(Date::from_days_since_epoch)
}

fn write_civil(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = civil(days);
    let sign = if year < 0 {
        "-"
    } else if year > 9999 {
        "+"
    } else {
        ""
    };
    write!(f, "{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// Milliseconds of a duration, at most `i64::MAX`.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// Later by `by` (whole milliseconds); stops at the end of time.
    fn add(self, by: Duration) -> Self {
        Self::from_millis(self.as_millis().saturating_add(millis(by)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    /// Earlier by `by` (whole milliseconds); stops at the beginning of time.
    fn sub(self, by: Duration) -> Self {
        Self::from_millis(self.as_millis().saturating_sub(millis(by)))
    }
}

impl Add<i32> for Date {
    type Output = Self;

    /// So many days later (or earlier); stops at the ends of time.
    fn add(self, days: i32) -> Self {
        Self::from_days_since_epoch(self.days_since_epoch().saturating_add(days))
    }
}

impl Sub<i32> for Date {
    type Output = Self;

    /// So many days earlier; stops at the ends of time.
    fn sub(self, days: i32) -> Self {
        Self::from_days_since_epoch(self.days_since_epoch().saturating_sub(days))
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
