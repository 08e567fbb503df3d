//! Why a reader sees a value, or does not: every version of everything in a row, and the rule that decided about it.
//!
//! Works on what every memtable and file says ([`Candidate`]s), unmerged, and applies the rules of
//! [`reconcile`](crate::model::reconcile) one version at a time, so that each can be named. What is [`Verdict::Seen`] here is what a read
//! gives (tested against it).

use crate::model::bytes::Bytes;
use crate::model::cell::{Cell, ColumnId};
use crate::model::clustering::Clustering;
use crate::model::life::{Deletion, Liveness, NEVER};
use crate::model::reconcile::{compare_cells, compare_liveness};
use crate::model::schema::TableSchema;
use crate::read::explain::SourceName;
use crate::read::versions::Candidate;
use std::cmp::Ordering;
use std::fmt;

/// What a version is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A deletion of the partition.
    Partition,
    /// A deletion of a range of rows.
    Range,
    /// A deletion of the row.
    Row,
    /// The marker of an INSERT.
    Marker,
    /// A deletion of a whole collection or user type.
    Collection(ColumnId),
    /// A column's value, or its tombstone.
    Cell(ColumnId),
    /// An element or field, or its tombstone.
    Element(ColumnId, Clustering),
}

impl Part {
    /// The column, of a part of one.
    #[must_use]
    pub fn column(&self) -> Option<ColumnId> {
        match self {
            Self::Collection(column) | Self::Cell(column) | Self::Element(column, _) => Some(*column),
            _ => None,
        }
    }
}

/// One version, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Which memtable or file has it.
    pub source: SourceName,
    /// What it is a version of.
    pub part: Part,
    /// Write time, micros.
    pub timestamp: i64,
    /// Seconds to live; 0 is none.
    pub ttl: i32,
    /// Second of expiry, or in which a deletion was made; [`NEVER`] otherwise.
    pub local: i64,
    /// The value in wire form; none of deletions and markers.
    pub value: Option<Bytes>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A reader sees it.
    Seen,
    /// The newest word on its column is that there is no value.
    Tombstone,
    /// It won, and has expired since this second.
    Expired(i64),
    /// A deletion that hides what is as old as it or older.
    InForce,
    /// A deletion hides it: which, of which source, and its write time.
    Deleted(Part, SourceName, i64),
    /// Another version won: by which rule, of which source, and its write time.
    Lost(Rule, SourceName, i64),
    /// The same version as another source's.
    Same(SourceName),
    /// Its column was dropped at this write time (micros), which hides what is not newer.
    Dropped(i64),
}

/// Why one of two versions won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Written later.
    Timestamp,
    /// Of one time: a tombstone beats a value.
    Tombstone,
    /// Of one time: a value with a TTL beats one without.
    Expiring,
    /// Of one time: the later expiry or deletion.
    Later,
    /// Of one time and expiry: the smaller TTL.
    Ttl,
    /// Of one time, without difference in life: the greater bytes.
    Value,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "which was written later",
            Self::Tombstone => "of the same time: a tombstone beats a value",
            Self::Expiring => "of the same time: a value with TTL beats one without",
            Self::Later => "of the same time: the later expiry or deletion wins",
            Self::Ttl => "of the same time and expiry: the smaller TTL wins",
            Self::Value => "of the same time: the greater value (by bytes) wins",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Partition => "deletion of the partition",
            Self::Range => "deletion of a range",
            Self::Row => "deletion of the row",
            Self::Marker => "row marker",
            Self::Collection(_) => "deletion of the collection",
            Self::Cell(_) => "value",
            Self::Element(..) => "element",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seen => f.write_str("seen"),
            Self::Tombstone => f.write_str("wins: there is no value"),
            Self::Expired(second) => write!(f, "expired at second {second}"),
            Self::InForce => f.write_str("hides what is not newer"),
            Self::Deleted(part, source, timestamp) => {
                write!(f, "hidden by the {part} in {source}, written at {timestamp}")
            }
            Self::Lost(rule, source, timestamp) => {
                write!(f, "loses to {source}, written at {timestamp}, {rule}")
            }
            Self::Same(source) => write!(f, "the same as in {source}"),
            Self::Dropped(timestamp) => write!(f, "its column was dropped at {timestamp}"),
        }
    }
}

/// Every version in `candidates`, and what became of it for a reader at second `now`: parts in order, the strongest version of each
/// first.
#[must_use]
pub fn verdicts(candidates: &[Candidate], schema: &TableSchema, now: i64) -> Vec<Version> {
    let mut all = versions(candidates);
    all.sort_by(|a, b| a.part.cmp(&b.part).then_with(|| compare(b, a)));
    let deletions: Vec<Version> = all.iter().filter(|version| is_deletion(&version.part)).cloned().collect();
    for version in &mut all {
        let column = version.part.column();
        if let Some(dropped) =
            column.and_then(|column| schema.dropped_at(column)).filter(|at| version.timestamp <= *at)
        {
            version.verdict = Verdict::Dropped(dropped);
        } else if let Some(by) = hidden_by(version, &deletions) {
            version.verdict = Verdict::Deleted(by.part.clone(), by.source, by.timestamp);
        }
    }
    let mut winner: Option<usize> = None;
    for i in 0..all.len() {
        if all[i].verdict != Verdict::Seen {
            continue;
        }
        let best = winner.filter(|best| all[*best].part == all[i].part).map(|best| all[best].clone());
        all[i].verdict = match best {
            Some(best) => match rule(&best, &all[i]) {
                Some(rule) => Verdict::Lost(rule, best.source, best.timestamp),
                None => Verdict::Same(best.source),
            },
            None => {
                winner = Some(i);
                alone(&all[i], now)
            }
        };
    }
    all
}

/// What becomes of a version that nothing hides and nothing beats.
fn alone(version: &Version, now: i64) -> Verdict {
    match &version.part {
        part if is_deletion(part) => Verdict::InForce,
        // An expired value whose bytes a compaction left out is no tombstone: it has a TTL.
        _ if version.ttl != 0 && version.local <= now => Verdict::Expired(version.local),
        Part::Marker => Verdict::Seen,
        _ if version.value.is_none() => Verdict::Tombstone,
        _ => Verdict::Seen,
    }
}

fn is_deletion(part: &Part) -> bool {
    matches!(part, Part::Partition | Part::Range | Part::Row | Part::Collection(_))
}

/// The strongest deletion that hides a version; of a deletion, one of something larger that is as strong.
fn hidden_by<'a>(version: &Version, deletions: &'a [Version]) -> Option<&'a Version> {
    let reaches = |deletion: &&Version| match &deletion.part {
        Part::Collection(column) => matches!(&version.part, Part::Element(of, _) if of == column),
        part => *part < version.part,
    };
    let covers = |deletion: &&Version| match is_deletion(&version.part) {
        true => (deletion.timestamp, deletion.local) >= (version.timestamp, version.local),
        false => deletion.timestamp >= version.timestamp,
    };
    deletions
        .iter()
        .filter(reaches)
        .filter(covers)
        .max_by_key(|deletion| (deletion.timestamp, deletion.local))
}

fn versions(candidates: &[Candidate]) -> Vec<Version> {
    let mut all = Vec::new();
    for candidate in candidates {
        let source = candidate.source;
        let deletion = |part, deletion: Deletion| Version {
            source,
            part,
            timestamp: deletion.timestamp,
            ttl: 0,
            local: deletion.local,
            value: None,
            verdict: Verdict::Seen,
        };
        let cell = |part, cell: &Cell| Version {
            source,
            part,
            timestamp: cell.timestamp,
            ttl: cell.ttl,
            local: cell.local,
            value: cell.value.clone(),
            verdict: Verdict::Seen,
        };
        all.extend(candidate.partition_deletion.map(|d| deletion(Part::Partition, d)));
        all.extend(candidate.range_deletion.map(|d| deletion(Part::Range, d)));
        let Some(row) = &candidate.row else { continue };
        all.extend(row.deletion.map(|d| deletion(Part::Row, d)));
        all.extend(row.liveness.map(|Liveness { timestamp, ttl, expiry }| Version {
            source,
            part: Part::Marker,
            timestamp,
            ttl,
            local: expiry,
            value: None,
            verdict: Verdict::Seen,
        }));
        all.extend(row.cells.iter().map(|(column, of)| cell(Part::Cell(*column), of)));
        for complex in &row.complex {
            all.extend(complex.deletion.map(|d| deletion(Part::Collection(complex.column), d)));
            let element =
                |(path, of): &(Clustering, Cell)| cell(Part::Element(complex.column, path.clone()), of);
            all.extend(complex.cells.iter().map(element));
        }
    }
    all
}

fn as_cell(version: &Version) -> Cell {
    let Version { timestamp, ttl, local, value, .. } = version;
    Cell { timestamp: *timestamp, ttl: *ttl, local: *local, value: value.clone() }
}

/// Which of two versions of one part wins: `Greater` if `a` does.
fn compare(a: &Version, b: &Version) -> Ordering {
    match &a.part {
        Part::Marker => {
            let life = |v: &Version| Liveness { timestamp: v.timestamp, ttl: v.ttl, expiry: v.local };
            compare_liveness(&life(a), &life(b))
        }
        part if is_deletion(part) => (a.timestamp, a.local).cmp(&(b.timestamp, b.local)),
        _ => compare_cells(&as_cell(a), &as_cell(b)),
    }
}

/// Why `winner` beats `other`; none if they are the same.
fn rule(winner: &Version, other: &Version) -> Option<Rule> {
    let has_value = winner.value.is_some() || other.value.is_some();
    let expiring = |version: &Version| version.ttl != 0;
    let is_tombstone =
        |version: &Version| version.value.is_none() && version.ttl == 0 && version.local != NEVER;
    Some(match () {
        () if winner.timestamp != other.timestamp => Rule::Timestamp,
        () if has_value && is_tombstone(winner) != is_tombstone(other) => Rule::Tombstone,
        () if expiring(winner) != expiring(other) => Rule::Expiring,
        () if winner.local != other.local => Rule::Later,
        () if winner.ttl != other.ttl => Rule::Ttl,
        () if winner.value != other.value => Rule::Value,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::row::Row;
    use crate::model::schema::{ColumnKind, Order, TableId, TableOptions};
    use crate::model::types::CqlType;

    fn schema() -> TableSchema {
        let column = |name: &str, kind| (name.to_owned(), CqlType::Int, kind);
        let columns = vec![
            column("p", ColumnKind::PartitionKey),
            column("c", ColumnKind::Clustering(Order::Asc)),
            column("v", ColumnKind::Regular),
        ];
        TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap()
    }

    fn candidate(number: usize, cells: Vec<Cell>) -> Candidate {
        let mut row = Row::new(Clustering::EMPTY);
        row.cells = cells.into_iter().map(|cell| (ColumnId(2), cell)).collect();
        Candidate {
            source: SourceName::Memtable(number),
            ruled_out: None,
            partition_deletion: None,
            range_deletion: None,
            row: Some(row),
        }
    }

    fn live(timestamp: i64, value: u8) -> Cell {
        Cell::live(Liveness::new(timestamp), Bytes::new(&[0, 0, 0, value]))
    }

    fn of(candidates: &[Candidate]) -> Vec<(SourceName, Verdict)> {
        verdicts(candidates, &schema(), 100).into_iter().map(|v| (v.source, v.verdict)).collect()
    }

    const ONE: SourceName = SourceName::Memtable(0);
    const TWO: SourceName = SourceName::Memtable(1);

    #[test]
    fn every_rule_between_two_values_is_named() {
        let life = |timestamp, ttl, expiry| {
            Cell::live(Liveness::expiring(timestamp, ttl, expiry), Bytes::new(&[0; 4]))
        };
        for (winner, loser, rule) in [
            (live(6, 1), live(5, 9), Rule::Timestamp),
            (Cell::tombstone(5, 50), live(5, 1), Rule::Tombstone),
            (Cell::tombstone(5, 50), life(5, 10, 200), Rule::Tombstone),
            (life(5, 10, 200), live(5, 9), Rule::Expiring),
            (life(5, 10, 201), life(5, 11, 200), Rule::Later),
            (life(5, 10, 200), life(5, 11, 200), Rule::Ttl),
            (live(5, 9), live(5, 1), Rule::Value),
        ] {
            let time = winner.timestamp;
            let found = of(&[candidate(0, vec![loser]), candidate(1, vec![winner])]);
            assert_eq!(found[1], (ONE, Verdict::Lost(rule, TWO, time)));
        }
        let same = of(&[candidate(0, vec![live(5, 1)]), candidate(1, vec![live(5, 1)])]);
        assert_eq!(same, [(ONE, Verdict::Seen), (TWO, Verdict::Same(ONE))]);
    }

    #[test]
    fn deletions_hide_what_is_not_newer_and_expiry_comes_last() {
        let mut deleted = candidate(0, vec![live(5, 1)]);
        deleted.partition_deletion = Some(Deletion::new(5, 1));
        deleted.range_deletion = Some(Deletion::new(4, 1));
        let found = of(&[deleted, candidate(1, vec![live(6, 2)])]);
        assert_eq!(
            found,
            [
                (ONE, Verdict::InForce),
                (ONE, Verdict::Deleted(Part::Partition, ONE, 5)),
                (TWO, Verdict::Seen),
                (ONE, Verdict::Deleted(Part::Partition, ONE, 5)),
            ]
        );
        let expired = Cell::live(Liveness::expiring(7, 10, 100), Bytes::new(&[0; 4]));
        let found = of(&[candidate(0, vec![expired]), candidate(1, vec![live(6, 2)])]);
        assert_eq!(found[0], (ONE, Verdict::Expired(100)), "the older value does not come back");
        assert_eq!(of(&[candidate(0, vec![Cell::tombstone(3, 3)])]), [(ONE, Verdict::Tombstone)]);
    }

    #[test]
    fn a_dropped_column_hides_what_it_had() {
        let schema = schema().drop_column("v", 5).unwrap();
        let found = verdicts(&[candidate(0, vec![live(5, 1)]), candidate(1, vec![live(6, 1)])], &schema, 0);
        assert_eq!(found[0].verdict, Verdict::Seen);
        assert_eq!(found[1].verdict, Verdict::Dropped(5));
    }
}
