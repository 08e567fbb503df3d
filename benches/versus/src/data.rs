//! The data every peer stores: `readings(sensor_id, day, ts, temperature,
//! humidity, pressure, status)`, its synthetic source, and the key/value
//! encoding that the key-value peers share.

/// Milliseconds in the partition bucket `day`.
pub const DAY_MS: i64 = 86_400_000;
/// A midnight (2026-03-01 UTC). The stream is centred on it, so that exactly
/// the older half of the rows lies in the partitions of the day before.
pub const MIDNIGHT: i64 = 20_513 * DAY_MS;

pub const KEY_LEN: usize = 24;
pub const VALUE_LEN: usize = 28;
pub type Key = [u8; KEY_LEN];
pub type Value = [u8; VALUE_LEN];

/// One row. `sensor` is the number inside the text id; see [`sensor_id`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    pub sensor: u32,
    pub status: i32,
    pub ts: i64,
    pub temperature: f64,
    pub humidity: f64,
    pub pressure: f64,
}

impl Row {
    pub fn day(&self) -> u32 {
        day_of(self.ts)
    }
}

pub fn day_of(ts: i64) -> u32 {
    ts.div_euclid(DAY_MS) as u32
}

/// The partition key's text, `sensor-0042`, without allocating.
pub fn sensor_id(sensor: u32) -> [u8; 11] {
    let mut id = *b"sensor-0000";
    let mut rest = sensor;
    for digit in id[7..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    id
}

pub fn parse_sensor(id: &[u8]) -> u32 {
    id[7..11].iter().fold(0, |n, d| n * 10 + u32::from(d - b'0'))
}

/// Order-preserving `sensor | 0 | day | !ts`: newest first inside a partition.
pub fn key(sensor: u32, day: u32, ts: i64) -> Key {
    let mut key = [0; KEY_LEN];
    key[..11].copy_from_slice(&sensor_id(sensor));
    key[12..16].copy_from_slice(&day.to_be_bytes());
    key[16..].copy_from_slice(&(!(ts as u64)).to_be_bytes());
    key
}

/// First key of the partition, and the first key after it.
pub fn partition_bounds(sensor: u32, day: u32) -> (Key, Key) {
    (key(sensor, day, -1), key(sensor, day + 1, -1))
}

/// Keys `lo..hi` of the rows of one partition with `from <= ts < to`.
pub fn range_bounds(sensor: u32, from: i64, to: i64) -> (Key, Key) {
    let day = day_of(from);
    (key(sensor, day, to - 1), key(sensor, day, from - 1))
}

/// Keys `lo..hi` of everything that `sensor` stored before midnight `cutoff`.
pub fn expired_bounds(sensor: u32, cutoff: i64) -> (Key, Key) {
    (key(sensor, 0, -1), key(sensor, day_of(cutoff), -1))
}

pub fn value(row: &Row) -> Value {
    let mut value = [0; VALUE_LEN];
    value[..8].copy_from_slice(&row.temperature.to_le_bytes());
    value[8..16].copy_from_slice(&row.humidity.to_le_bytes());
    value[16..24].copy_from_slice(&row.pressure.to_le_bytes());
    value[24..].copy_from_slice(&row.status.to_le_bytes());
    value
}

pub fn temperature(value: &[u8]) -> f64 {
    f64::from_le_bytes(value[..8].try_into().unwrap())
}

pub fn decode(key: &[u8], value: &[u8]) -> Row {
    let f64_at = |at: usize| f64::from_le_bytes(value[at..at + 8].try_into().unwrap());
    Row {
        sensor: parse_sensor(key),
        ts: !u64::from_be_bytes(key[16..24].try_into().unwrap()) as i64,
        temperature: f64_at(0),
        humidity: f64_at(8),
        pressure: f64_at(16),
        status: i32::from_le_bytes(value[24..28].try_into().unwrap()),
    }
}

/// SplitMix64: small, seedable, good enough for a benchmark.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
    /// Uniform in `-n..=n`.
    pub fn step(&mut self, n: i64) -> i64 {
        self.below(2 * n as u64 + 1) as i64 - n
    }
}

/// Existing sensors have even numbers, so that odd ones are absent keys that
/// still fall inside the stored key range (a bounds check cannot reject them).
pub fn sensor_number(index: usize) -> u32 {
    2 * index as u32
}

/// `total` rows in arrival order: one row per sensor per second, a few ms of
/// jitter, random walks with two decimals, 5 % of rows up to 60 s late.
/// `centre` rows are laid so that half of them come before [`MIDNIGHT`].
pub fn generate(total: usize, sensors: usize, centre: usize) -> Vec<Row> {
    const LATE_TICKS: usize = 60;
    assert!(sensors <= 5000, "the text id has four digits");
    let mut rng = Rng(42);
    let mut walks: Vec<[i64; 3]> = (0..sensors)
        .map(|_| [2000 + rng.step(1000), 5000 + rng.step(2000), 101_325 + rng.step(500)])
        .collect();
    let start = MIDNIGHT - (centre / sensors / 2) as i64 * 1000;
    let mut late: Vec<Vec<Row>> = vec![Vec::new(); LATE_TICKS + 1];
    let mut rows = Vec::with_capacity(total + sensors);
    let mut tick = 0;
    while rows.len() < total {
        rows.append(&mut late[tick % (LATE_TICKS + 1)]);
        for (index, walk) in walks.iter_mut().enumerate() {
            walk[0] = (walk[0] + rng.step(5)).clamp(-4000, 6000);
            walk[1] = (walk[1] + rng.step(10)).clamp(0, 10_000);
            walk[2] = (walk[2] + rng.step(3)).clamp(95_000, 105_000);
            let phase = (index * 1000 / sensors) as i64;
            let row = Row {
                sensor: sensor_number(index),
                status: if rng.below(100) < 98 { 0 } else { 1 + rng.below(4) as i32 },
                ts: start + tick as i64 * 1000 + phase + rng.step(3),
                temperature: walk[0] as f64 / 100.0,
                humidity: walk[1] as f64 / 100.0,
                pressure: walk[2] as f64 / 100.0,
            };
            if rng.below(100) < 5 {
                let delay = 1 + rng.below(LATE_TICKS as u64) as usize;
                late[(tick + delay) % (LATE_TICKS + 1)].push(row);
            } else {
                rows.push(row);
            }
        }
        tick += 1;
    }
    rows.truncate(total);
    rows
}
