//! [`Duration`]: months, days and nanoseconds, which no calendar-free rule converts into each other.
//!
//! # Invariants
//! 1. The three parts have one sign. Parsing keeps it; values that came as bytes are checked by `validate`.

use std::fmt;

use crate::error::{Error, Result};

/// CQL's `duration`. Two durations are equal only part by part: a day is not 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Duration {
    /// Months; a year is twelve.
    pub months: i32,
    /// Days; a week is seven.
    pub days: i32,
    /// Nanoseconds of hours and smaller units.
    pub nanos: i64,
}

/// A part of a duration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Months,
    Days,
    Nanos,
}

/// Units from large to small: short name, letter in ISO form, name in errors, part, multiple.
const UNITS: [(&str, &str, &str, Part, u64); 10] = [
    ("y", "Y", "years", Part::Months, 12),
    ("mo", "M", "months", Part::Months, 1),
    ("w", "W", "weeks", Part::Days, 7),
    ("d", "D", "days", Part::Days, 1),
    ("h", "H", "hours", Part::Nanos, 3_600_000_000_000),
    ("m", "M", "minutes", Part::Nanos, 60_000_000_000),
    ("s", "S", "seconds", Part::Nanos, 1_000_000_000),
    ("ms", "", "milliseconds", Part::Nanos, 1_000_000),
    ("us", "", "microseconds", Part::Nanos, 1_000),
    ("ns", "", "nanoseconds", Part::Nanos, 1),
];

impl Duration {
    /// Parses `1y2mo3w4d5h6m7s8ms9us10ns` (any units, each once, from large to small), `P1Y2M3DT4H5M6S`, `P3W` or
    /// `P0001-02-03T04:05:06`, each with an optional minus in front.
    ///
    /// # Errors
    /// `Invalid` for anything else, in Cassandra's words.
    pub fn parse(text: &str) -> Result<Self> {
        let (negative, body) = text.strip_prefix('-').map_or((false, text), |body| (true, body));
        let mut builder = Builder { text, parts: [0; 3], last: None };
        match body.strip_prefix('P') {
            None => builder.units(body)?,
            Some(iso) if iso.contains('-') => builder.iso_date_time(iso)?,
            Some(iso) => builder.iso_units(iso)?,
        }
        Ok(builder.finish(negative))
    }

    /// Whether the parts have one sign (invariant 1).
    #[must_use]
    pub fn has_one_sign(&self) -> bool {
        let signs = [i64::from(self.months).signum(), i64::from(self.days).signum(), self.nanos.signum()];
        !(signs.contains(&1) && signs.contains(&-1))
    }
}

struct Builder<'a> {
    text: &'a str,
    /// Months, days and nanoseconds without their sign.
    parts: [u64; 3],
    /// The unit added last, an index into [`UNITS`].
    last: Option<usize>,
}

impl Builder<'_> {
    fn units(&mut self, mut rest: &str) -> Result<()> {
        loop {
            let (number, after) = self.number(rest)?;
            let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (name, next) = after.split_at(end);
            let name = name.to_ascii_lowercase().replace('\u{b5}', "u");
            let unit = UNITS.iter().position(|unit| unit.0 == name).ok_or_else(|| self.wrong())?;
            self.add(number, unit)?;
            if next.is_empty() {
                return Ok(());
            }
            rest = next;
        }
    }

    /// What follows the `P` of `P1Y2M3DT4H5M6S` or `P3W`. Letters are case-sensitive, weeks stand alone.
    fn iso_units(&mut self, iso: &str) -> Result<()> {
        let (date, time) = iso.split_once('T').map_or((iso, None), |(date, time)| (date, Some(time)));
        let weeks = date.ends_with('W') && time.is_none();
        for (section, mut units) in [(date, if weeks { 2..3 } else { 0..4 }), (time.unwrap_or(""), 4..7)] {
            let mut rest = section;
            while !rest.is_empty() {
                let (number, after) = self.number(rest)?;
                let fits = |unit: &usize| (weeks || *unit != 2) && after.starts_with(UNITS[*unit].1);
                let unit = units.find(fits).ok_or_else(|| self.wrong())?;
                self.add(number, unit)?;
                rest = &after[1..];
            }
        }
        if self.last.is_none() || time == Some("") { Err(self.wrong()) } else { Ok(()) }
    }

    /// What follows the `P` of `P0001-02-03T04:05:06`.
    fn iso_date_time(&mut self, iso: &str) -> Result<()> {
        const SHAPE: &[u8; 19] = b"0000-00-00T00:00:00";
        let same =
            |(byte, shape): (u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape };
        if iso.len() != SHAPE.len() || !iso.bytes().zip(SHAPE).all(same) {
            return Err(self.wrong());
        }
        for (range, unit) in [(0..4, 0), (5..7, 1), (8..10, 3), (11..13, 4), (14..16, 5), (17..19, 6)] {
            let number = iso[range].parse().map_err(|_| self.wrong())?;
            self.add(number, unit)?;
        }
        Ok(())
    }

    fn number<'t>(&self, text: &'t str) -> Result<(u64, &'t str)> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        Ok((digits.parse().map_err(|_| self.wrong())?, rest))
    }

    fn add(&mut self, number: u64, unit: usize) -> Result<()> {
        let (_, _, name, part, multiple) = UNITS[unit];
        match self.last {
            Some(last) if last == unit => {
                return Err(Error::invalid(format!(
                    "Invalid duration. The {name} are specified multiple times"
                )));
            }
            Some(last) if last > unit => {
                let last = UNITS[last].2;
                return Err(Error::invalid(format!("Invalid duration. The {last} should be after {name}")));
            }
            _ => self.last = Some(unit),
        }
        let (index, limit, what) = match part {
            Part::Months => (0, i32::MAX as u64, "months"),
            Part::Days => (1, i32::MAX as u64, "days"),
            Part::Nanos => (2, i64::MAX as u64, "nanoseconds"),
        };
        let sum = number.checked_mul(multiple).and_then(|more| more.checked_add(self.parts[index]));
        // The text names the limit of 32 bits for nanoseconds too, as Cassandra's does.
        self.parts[index] = sum.filter(|sum| *sum <= limit).ok_or_else(|| {
            Error::invalid(format!(
                "Invalid duration. The total number of {what} must be less or equal to 2147483647"
            ))
        })?;
        Ok(())
    }

    fn finish(&self, negative: bool) -> Duration {
        let sign = if negative { -1 } else { 1 };
        let part = |index: usize| i64::try_from(self.parts[index]).unwrap_or(i64::MAX);
        let small = |index: usize| i32::try_from(part(index)).unwrap_or(i32::MAX);
        Duration { months: sign * small(0), days: sign * small(1), nanos: i64::from(sign) * part(2) }
    }

    fn wrong(&self) -> Error {
        Error::invalid(format!("Unable to convert '{}' to a duration", self.text))
    }
}

impl fmt::Display for Duration {
    /// `1y2mo3d4h5m6s7ms8us9ns` without the units that are zero; `0s` for none at all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest =
            [self.months.unsigned_abs().into(), self.days.unsigned_abs().into(), self.nanos.unsigned_abs()];
        if rest == [0, 0, 0] {
            return f.write_str("0s");
        }
        if self.months < 0 || self.days < 0 || self.nanos < 0 {
            f.write_str("-")?;
        }
        for (name, _, _, part, multiple) in UNITS.iter().filter(|unit| unit.0 != "w") {
            let left: &mut u64 = match part {
                Part::Months => &mut rest[0],
                Part::Days => &mut rest[1],
                Part::Nanos => &mut rest[2],
            };
            if *left >= *multiple {
                write!(f, "{}{name}", *left / multiple)?;
                *left %= multiple;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn every_form_is_read() {
        for (text, months, days, nanos) in [
            ("1y2mo3w4d5h6m7s8ms9us10ns", 14, 25, 18_367_008_009_010),
            ("1Y2MO3W4D5H6M7S8MS9US10NS", 14, 25, 18_367_008_009_010),
            ("9\u{b5}s", 0, 0, 9000),
            ("-1mo2d3h", -1, -2, -10_800_000_000_000),
            ("P1Y2M3DT4H5M6S", 14, 3, 14_706_000_000_000),
            ("P3W", 0, 21, 0),
            ("-P1DT2H", 0, -1, -7_200_000_000_000),
            ("P1000-10-10T10:10:10", 12_010, 10, 36_610_000_000_000),
            ("2562047h47m16s854ms775us807ns", 0, 0, i64::MAX),
            ("178956970y7mo", i32::MAX, 0, 0),
        ] {
            assert_eq!(Duration::parse(text).unwrap(), Duration { months, days, nanos }, "{text}");
        }
        for text in [
            "",
            "1",
            "1x",
            "h",
            "1.5h",
            "1h-30m",
            "+1h",
            "1h 30m",
            "P",
            "PT",
            "p1d",
            "P1H",
            "P1D1Y",
            "P1W2D",
            "PT1.5S",
            "P1DT",
            "99999999999999999999h",
        ] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn errors_have_cassandras_words() {
        for (text, message) in [
            ("1h1h", "Invalid duration. The hours are specified multiple times"),
            ("1d1y", "Invalid duration. The days should be after years"),
            ("2147483648d", "Invalid duration. The total number of days must be less or equal to 2147483647"),
            (
                "9223372036854775808ns",
                "Invalid duration. The total number of nanoseconds must be less or equal to 2147483647",
            ),
            ("5", "Unable to convert '5' to a duration"),
        ] {
            assert_eq!(Duration::parse(text).unwrap_err().message(), message);
        }
    }

    #[test]
    fn printing_leaves_out_what_is_zero() {
        assert_eq!(Duration { months: 1, days: 2, nanos: 10_800_000_000_000 }.to_string(), "1mo2d3h");
        assert_eq!(Duration { months: -14, days: 0, nanos: -1 }.to_string(), "-1y2mo1ns");
        assert_eq!(Duration::default().to_string(), "0s");
        assert!(!Duration { months: 1, days: -1, nanos: 0 }.has_one_sign());
    }

    proptest! {
        #[test]
        fn text_reads_back(months in 0..i32::MAX, days in 0..i32::MAX, nanos in 0..i64::MAX, negative in any::<bool>()) {
            let sign = if negative { -1 } else { 1 };
            let duration = Duration { months: sign * months, days: sign * days, nanos: i64::from(sign) * nanos };
            prop_assert_eq!(Duration::parse(&duration.to_string()).unwrap(), duration);
        }
    }
}
