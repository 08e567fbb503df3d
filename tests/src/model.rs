//! The reference: a table as a plain list of everything that was ever written, read by brute force.
//!
//! It shares no code with the engine. Every read goes through all writes and applies the rules of `semantics`, one after
//! the other, so that it can be checked by eye. Slow, and meant to be.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A value of a clustering column or cell: all columns of the test's tables are integers.
pub type Int = i32;

/// When something was written, and until when it lives.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Write time, micros.
    pub timestamp: i64,
    /// TTL in seconds, 0 none.
    pub ttl: i32,
    /// Second of the write, from which the TTL counts.
    pub second: i64,
}

impl Life {
    fn expiry(&self) -> i64 {
        if self.ttl == 0 { i64::MAX } else { self.second + i64::from(self.ttl) }
    }
}

/// A version of a cell; no value is a tombstone.
#[derive(Clone, Copy, Debug)]
struct Version {
    life: Life,
    value: Option<Int>,
}

/// Which rows a deletion covers.
#[derive(Clone, Debug)]
pub enum Covered {
    /// The partition, the static row too.
    All,
    /// Rows with `from <= clustering` and `clustering <= to`, each end by its first columns.
    Range {
        /// Lower end; empty is open.
        from: (Vec<Int>, bool),
        /// Upper end; empty is open.
        to: (Vec<Int>, bool),
    },
}

impl Covered {
    fn covers(&self, clustering: &[Int]) -> bool {
        match self {
            Self::All => true,
            Self::Range { from, to } => {
                let below = |end: &[Int]| clustering[..end.len()].cmp(end);
                let after_start = match below(&from.0) {
                    Ordering::Less => false,
                    Ordering::Equal => from.1,
                    Ordering::Greater => true,
                };
                let before_end = match below(&to.0) {
                    Ordering::Less => true,
                    Ordering::Equal => to.1,
                    Ordering::Greater => false,
                };
                after_start && before_end
            }
        }
    }
}

/// One row: every version of everything in it.
#[derive(Clone, Debug, Default)]
struct ModelRow {
    markers: Vec<Life>,
    deletions: Vec<i64>,
    cells: BTreeMap<usize, Vec<Version>>,
}

#[derive(Clone, Debug, Default)]
struct Partition {
    deletions: Vec<(i64, Covered)>,
    rows: BTreeMap<Vec<Int>, ModelRow>,
    statics: ModelRow,
}

/// A row as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Clustering values; `None` for a partition that shows with its static columns alone.
    pub clustering: Option<Vec<Int>>,
    /// Static columns, then regular ones.
    pub values: Vec<Option<Int>>,
}

/// A table with integer columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// Which clustering columns descend.
    pub descending: Vec<bool>,
    /// Number of static columns: cells 0 up to this.
    pub statics: usize,
    /// Number of all cells' columns, static ones first.
    pub columns: usize,
    partitions: BTreeMap<Int, Partition>,
}

impl Table {
    /// An empty table.
    pub fn new(descending: Vec<bool>, statics: usize, columns: usize) -> Self {
        Self { descending, statics, columns, partitions: BTreeMap::new() }
    }

    /// Forgets everything, deletions too.
    pub fn truncate(&mut self) {
        self.partitions.clear();
    }

    /// Writes cells of a row (`clustering`) or, with `None`, static cells. `marker` is INSERT's.
    pub fn write(
        &mut self,
        key: Int,
        clustering: Option<&[Int]>,
        marker: bool,
        cells: &[(usize, Option<Int>)],
        life: Life,
    ) {
        let partition = self.partitions.entry(key).or_default();
        let row = match clustering {
            Some(clustering) => partition.rows.entry(clustering.to_vec()).or_default(),
            None => &mut partition.statics,
        };
        if marker {
            row.markers.push(life);
        }
        for (column, value) in cells {
            row.cells.entry(*column).or_default().push(Version { life, value: *value });
        }
    }

    /// Deletes one row.
    pub fn delete_row(&mut self, key: Int, clustering: &[Int], timestamp: i64) {
        let partition = self.partitions.entry(key).or_default();
        partition.rows.entry(clustering.to_vec()).or_default().deletions.push(timestamp);
    }

    /// Deletes many rows.
    pub fn delete(&mut self, key: Int, covered: Covered, timestamp: i64) {
        self.partitions.entry(key).or_default().deletions.push((timestamp, covered));
    }

    /// The keys that were ever written.
    pub fn keys(&self) -> Vec<Int> {
        self.partitions.keys().copied().collect()
    }

    /// What a reader sees of a partition at second `now`, in clustering order; `covered` narrows the rows.
    pub fn read(&self, key: Int, covered: Option<&Covered>, now: i64) -> Vec<Seen> {
        let Some(partition) = self.partitions.get(&key) else { return Vec::new() };
        let all = partition.deletions.iter().filter(|(_, covered)| matches!(covered, Covered::All));
        let dead = all.map(|(timestamp, _)| *timestamp).max();
        let statics: Vec<Option<Int>> =
            (0..self.statics).map(|column| value(partition.statics.cells.get(&column), dead, now)).collect();
        let mut seen: Vec<Seen> = Vec::new();
        for (clustering, row) in &partition.rows {
            if covered.is_some_and(|covered| !covered.covers(clustering)) {
                continue;
            }
            let ranges = partition.deletions.iter().filter(|(_, covered)| covered.covers(clustering));
            let dead = ranges.map(|(timestamp, _)| *timestamp).chain(row.deletions.iter().copied()).max();
            let regulars: Vec<Option<Int>> =
                (self.statics..self.columns).map(|column| value(row.cells.get(&column), dead, now)).collect();
            if is_marked(&row.markers, dead, now) || regulars.iter().any(Option::is_some) {
                let values = statics.iter().chain(&regulars).copied().collect();
                seen.push(Seen { clustering: Some(clustering.clone()), values });
            }
        }
        seen.sort_by(|a, b| self.order(a, b));
        let restricted = covered.is_some_and(|covered| !matches!(covered, Covered::All));
        if seen.is_empty() && !restricted && statics.iter().any(Option::is_some) {
            let nothing = std::iter::repeat_n(None, self.columns - self.statics);
            seen.push(Seen { clustering: None, values: statics.into_iter().chain(nothing).collect() });
        }
        seen
    }

    fn order(&self, a: &Seen, b: &Seen) -> Ordering {
        let (a, b) = (a.clustering.as_deref().unwrap_or(&[]), b.clustering.as_deref().unwrap_or(&[]));
        let columns = a.iter().zip(b).zip(&self.descending);
        let mut orders = columns.map(|((x, y), descending)| if *descending { y.cmp(x) } else { x.cmp(y) });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn is_marked(markers: &[Life], dead: Option<i64>, now: i64) -> bool {
    let alive = markers.iter().filter(|life| dead.is_none_or(|dead| life.timestamp > dead));
    // The last written; of one microsecond the expiring one, then the one that lives longest.
    let best = alive.max_by_key(|life| (life.timestamp, life.ttl > 0, life.expiry()));
    best.is_some_and(|life| now < life.expiry())
}

fn value(versions: Option<&Vec<Version>>, dead: Option<i64>, now: i64) -> Option<Int> {
    let alive = versions?.iter().filter(|version| dead.is_none_or(|dead| version.life.timestamp > dead));
    let best = alive.max_by(|a, b| compare(a, b))?;
    if now < best.life.expiry() { best.value } else { None }
}

/// The greater one wins.
fn compare(a: &Version, b: &Version) -> Ordering {
    let rank = |v: &Version| if v.value.is_none() { 2 } else { i32::from(v.life.ttl > 0) };
    let bytes = |v: &Version| v.value.map(|value| value.to_be_bytes());
    // Tombstones of one microsecond differ in nothing that a reader could see.
    let expiry = |v: &Version| if v.value.is_none() { 0 } else { v.life.expiry() };
    a.life
        .timestamp
        .cmp(&b.life.timestamp)
        .then_with(|| rank(a).cmp(&rank(b)))
        .then_with(|| expiry(a).cmp(&expiry(b)))
        .then_with(|| bytes(a).cmp(&bytes(b)))
}
