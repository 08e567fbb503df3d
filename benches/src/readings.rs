//! The stream of readings: one row a sensor a second, a few milliseconds of jitter, a part of them late.

use crate::rng::Rng;
use std::collections::VecDeque;

/// Milliseconds of a day, the bucket of a partition.
pub const DAY_MS: i64 = 86_400_000;
/// 2026-03-01T00:00:00Z, where every stream starts.
pub const START_MS: i64 = 20_513 * DAY_MS;
/// The latest that a late row comes, seconds.
const LATE_SECONDS: u64 = 60;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Number of the sensor, counted from zero.
    pub sensor: u32,
    /// Time of the sample, milliseconds since the epoch.
    pub ts: i64,
    /// Degrees, two decimals.
    pub temperature: f64,
    /// Percent, two decimals.
    pub humidity: f64,
    /// Pascals, two decimals.
    pub pressure: f64,
    /// Zero in 98 of 100 rows.
    pub status: i32,
}

impl Reading {
    /// Days since the epoch: with the sensor, the partition.
    pub fn day(&self) -> i64 {
        self.ts.div_euclid(DAY_MS)
    }
}

/// `sensor-000042`.
pub fn sensor_name(sensor: u32) -> String {
    format!("sensor-{sensor:06}")
}

/// An endless stream in the order of arrival.
#[derive(Clone, Debug)]
pub struct Readings {
    rng: Rng,
    walks: Vec<[i64; 3]>,
    late_percent: u64,
    tick: i64,
    /// Rows of this second that were not handed out yet, in order.
    ready: VecDeque<Reading>,
    /// Rows that come late, by the second (modulo) in which they come.
    late: Vec<Vec<Reading>>,
}

impl Readings {
    /// `sensors` sensors, `late_percent` of whose rows come up to a minute late.
    pub fn new(sensors: u32, late_percent: u64) -> Self {
        let mut rng = Rng(42);
        let walks = (0..sensors)
            .map(|_| [2000 + rng.step(1000), 5000 + rng.step(2000), 101_325 + rng.step(500)])
            .collect();
        let late = (0..=LATE_SECONDS).map(|_| Vec::new()).collect();
        Self { rng, walks, late_percent, tick: 0, ready: VecDeque::new(), late }
    }

    fn place(&self, tick: i64) -> usize {
        let places = i64::try_from(self.late.len()).unwrap_or(1);
        usize::try_from(tick.rem_euclid(places)).unwrap_or_default()
    }

    /// One second's rows of all sensors.
    fn fill(&mut self) {
        let due = self.place(self.tick);
        self.ready.extend(std::mem::take(&mut self.late[due]));
        let sensors = i64::try_from(self.walks.len()).unwrap_or(1);
        for (index, number) in (0..self.walks.len()).zip(0u32..) {
            let [a, b, c] = self.walks[index];
            let walk = [
                (a + self.rng.step(5)).clamp(-4000, 6000),
                (b + self.rng.step(10)).clamp(0, 10_000),
                (c + self.rng.step(3)).clamp(95_000, 105_000),
            ];
            self.walks[index] = walk;
            let phase = i64::from(number) * 1000 / sensors;
            let [temperature, humidity, pressure] = walk.map(|cents| cents as f64 / 100.0);
            let odd = self.rng.below(100) >= 98;
            let row = Reading {
                sensor: number,
                ts: START_MS + self.tick * 1000 + phase + self.rng.step(3),
                temperature,
                humidity,
                pressure,
                status: i32::from(odd) * (1 + i32::try_from(self.rng.below(4)).unwrap_or_default()),
            };
            if self.rng.below(100) < self.late_percent {
                let delay = 1 + self.rng.below(LATE_SECONDS);
                let place = self.place(self.tick + i64::try_from(delay).unwrap_or_default());
                self.late[place].push(row);
            } else {
                self.ready.push_back(row);
            }
        }
        self.tick += 1;
    }
}

impl Iterator for Readings {
    type Item = Reading;

    fn next(&mut self) -> Option<Reading> {
        if self.walks.is_empty() {
            return None;
        }
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Some(row);
            }
            self.fill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_a_sensor_a_second_and_some_late() {
        let rows: Vec<Reading> = Readings::new(10, 5).take(20_000).collect();
        let mut newest = [i64::MIN; 10];
        let mut late = 0;
        for row in &rows {
            let newest = &mut newest[row.sensor as usize];
            if row.ts < *newest {
                late += 1;
                assert!(*newest - row.ts <= 61_000, "{row:?} is too late");
            }
            *newest = row.ts.max(*newest);
        }
        assert!((600..1400).contains(&late), "{late} late rows of 20000");
        let times: std::collections::HashSet<(u32, i64)> = rows.iter().map(|r| (r.sensor, r.ts)).collect();
        assert_eq!(times.len(), rows.len(), "no row twice");
        assert_eq!(rows, Readings::new(10, 5).take(20_000).collect::<Vec<_>>());
    }

    #[test]
    fn without_late_rows_time_goes_forward() {
        let rows: Vec<Reading> = Readings::new(3, 0).take(300).collect();
        for sensor in 0..3 {
            let times: Vec<i64> = rows.iter().filter(|r| r.sensor == sensor).map(|r| r.ts).collect();
            assert!(times.windows(2).all(|w| w[0] < w[1]), "{times:?}");
        }
        assert!(Readings::new(0, 0).next().is_none());
    }
}
