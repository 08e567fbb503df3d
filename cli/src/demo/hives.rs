//! The bees: seeded readings of any number of hives, minute by minute, in the order in which they arrive.
//!
//! Temperature and humidity walk at random around the value that a colony holds. Now and then a hive's radio fails for a while; then
//! its readings arrive late and together. The source keeps account of what it handed out ([`Truth`]), so that the answers of the
//! store can be checked against something that never saw the store.

use std::collections::BTreeMap;

/// Days that the readings cover.
pub(super) const DAYS: i64 = 5;
/// Readings of a hive in a day, one a minute.
pub(super) const MINUTES_A_DAY: i64 = 1440;
/// 2024-06-10, in days since the epoch.
pub(super) const FIRST_DAY: i32 = 19_884;
/// Humidity, in hundredths of a percent, above which a reading is an alert.
pub(super) const ALERT: i64 = 8000;

const MINUTE_MS: i64 = 60_000;

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// Number of the hive, from zero.
    pub(super) hive: usize,
    /// When it was measured, milliseconds since the epoch.
    pub(super) at_ms: i64,
    /// Hundredths of a degree Celsius.
    pub(super) temperature: i64,
    /// Hundredths of a percent.
    pub(super) humidity: i64,
    /// `ok`, or `low_battery`.
    pub(super) status: &'static str,
}

impl Reading {
    /// The day on which it was measured, from zero.
    pub(super) fn day(&self) -> usize {
        let day = self.at_ms.div_euclid(MINUTES_A_DAY * MINUTE_MS) - i64::from(FIRST_DAY);
        usize::try_from(day).unwrap_or_default()
    }
}

/// What was handed out.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    /// Readings.
    pub(super) rows: u64,
    /// Those of them that came at least a minute late.
    pub(super) late: u64,
    /// Those of them that are alerts.
    pub(super) alerts: u64,
    /// Sum of all temperatures, hundredths of a degree.
    pub(super) temperature: i64,
    /// Readings by the day on which they arrived.
    pub(super) arrived: [u64; DAYS as usize],
    /// Sum of temperatures by hive and by the day on which they were measured.
    by_hive_and_day: Vec<[i64; DAYS as usize]>,
}

impl Truth {
    /// Sum of the temperatures that a hive measured on a day, hundredths of a degree.
    pub(super) fn day_of_hive(&self, hive: usize, day: usize) -> i64 {
        self.by_hive_and_day[hive][day]
    }
}

/// A colony: what it holds, and where its walks are, in ten-thousandths.
#[derive(Clone, Debug)]
struct Colony {
    humidity_held: i64,
    temperature: i64,
    humidity: i64,
    /// The minute in which its radio works again.
    silent_until: i64,
}

/// The source.
#[derive(Clone, Debug)]
pub(super) struct Hives {
    random: Random,
    colonies: Vec<Colony>,
    /// Late readings by the minute of their arrival.
    late: BTreeMap<i64, Vec<Reading>>,
    truth: Truth,
}

impl Hives {
    /// `count` hives.
    pub(super) fn new(count: usize) -> Self {
        let mut random = Random(0x5eed);
        let held = |n: i64| 600_000 + (2 * n) % 5 * 30_000;
        let colonies = (0..count as i64).map(|n| Colony {
            humidity_held: held(n),
            temperature: 350_000 + random.step(10_000),
            humidity: held(n) + random.step(50_000),
            silent_until: 0,
        });
        let colonies = colonies.collect();
        let truth = Truth {
            rows: 0,
            late: 0,
            alerts: 0,
            temperature: 0,
            arrived: [0; DAYS as usize],
            by_hive_and_day: vec![[0; DAYS as usize]; count],
        };
        Self { random, colonies, late: BTreeMap::new(), truth }
    }

    /// Appends to `out` what arrives in `minute` (from zero): the readings of this minute, and late ones.
    /// Everything has arrived with the last minute of the last day.
    pub(super) fn minute(&mut self, minute: i64, out: &mut Vec<Reading>) {
        let end = out.len();
        if let Some(due) = self.late.remove(&minute) {
            self.truth.late += due.len() as u64;
            out.extend(due);
        }
        let last = DAYS * MINUTES_A_DAY - 1;
        let start_ms = (i64::from(FIRST_DAY) * MINUTES_A_DAY + minute) * MINUTE_MS;
        for (hive, colony) in self.colonies.iter_mut().enumerate() {
            let random = &mut self.random;
            colony.temperature += random.step(800) + (350_000 - colony.temperature) / 300;
            colony.humidity += random.step(6000) + (colony.humidity_held - colony.humidity) / 1000;
            colony.humidity = colony.humidity.clamp(0, 1_000_000);
            let reading = Reading {
                hive,
                at_ms: start_ms + random.below(1000),
                temperature: colony.temperature / 100,
                humidity: colony.humidity / 100,
                status: if random.below(100) == 0 { "low_battery" } else { "ok" },
            };
            if minute >= colony.silent_until && random.below(3000) == 0 {
                colony.silent_until = (minute + 10 + random.below(80)).min(last);
            }
            match minute < colony.silent_until {
                true => self.late.entry(colony.silent_until).or_default().push(reading),
                false => out.push(reading),
            }
        }
        for reading in &out[end..] {
            self.truth.rows += 1;
            self.truth.alerts += u64::from(reading.humidity > ALERT);
            self.truth.temperature += reading.temperature;
            self.truth.arrived[(minute / MINUTES_A_DAY) as usize] += 1;
            self.truth.by_hive_and_day[reading.hive][reading.day()] += reading.temperature;
        }
    }

    /// What was handed out so far.
    pub(super) fn truth(&self) -> &Truth {
        &self.truth
    }
}

/// SplitMix64: small, fast, and the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end` - 1.
    pub(super) fn below(&mut self, end: i64) -> i64 {
        // The upper half of a product: no division, and a bias that no demo can show.
        ((u128::from(self.next()) * end.max(1) as u128) >> 64) as i64
    }

    /// From -`reach` to `reach`.
    fn step(&mut self, reach: i64) -> i64 {
        self.below(2 * reach + 1) - reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_hive_reads_every_minute_once_and_some_readings_are_late() {
        let mut hives = Hives::new(20);
        let (mut seen, mut arrived) = (HashSet::new(), Vec::new());
        for minute in 0..DAYS * MINUTES_A_DAY {
            arrived.clear();
            hives.minute(minute, &mut arrived);
            let now = (i64::from(FIRST_DAY) * MINUTES_A_DAY + minute + 1) * MINUTE_MS;
            for reading in &arrived {
                assert!(reading.at_ms < now, "nothing arrives before it was measured");
                assert!(seen.insert((reading.hive, reading.at_ms / MINUTE_MS)), "{reading:?} came twice");
            }
        }
        let truth = hives.truth();
        assert_eq!(seen.len() as i64, 20 * DAYS * MINUTES_A_DAY);
        assert_eq!(truth.rows, seen.len() as u64);
        assert_eq!(truth.arrived.iter().sum::<u64>(), truth.rows);
        let late = truth.late as f64 / truth.rows as f64;
        assert!((0.005..0.05).contains(&late), "{late}");
        assert!(truth.alerts > 0 && truth.alerts < truth.rows / 4, "{}", truth.alerts);
        let days =
            (0..DAYS as usize).map(|day| (0..20).map(|hive| truth.day_of_hive(hive, day)).sum::<i64>());
        assert_eq!(days.sum::<i64>(), truth.temperature);
    }
}
