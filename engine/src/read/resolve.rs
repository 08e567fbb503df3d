//! From merged versions to what a reader sees at one second, and how much dead weight was on the way.
//!
//! Readers put every merged row through `Resolver::row`: cells of dropped columns are ignored, what is deleted or has expired
//! goes, and the row exists while its marker or any cell lives ([`reconcile::resolve`](crate::model::reconcile::resolve)).
//! Tombstones are counted as Apache Cassandra counts them, and too many refuse the read.

use crate::encoding::plain::PlainRow;
use crate::error::{Error, ErrorKind, Result};
use crate::memtable::plain_rows::PlainRows;
use crate::model::cell::ColumnId;
use crate::model::reconcile::{drop_column, resolve};
use crate::model::row::Row;
use crate::model::schema::TableSchema;
use crate::read::builder::BatchBuilder;
use crate::read::query::TombstoneLimits;
use std::sync::Arc;

/// What a read met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that a reader sees.
    pub live_rows: u64,
    /// Their live cells, elements of collections included; of rows that were handed out as columns, their values.
    pub live_cells: u64,
    /// Deleted and expired cells, deleted rows without cells, bounds of range deletions.
    pub tombstones: u64,
}

/// A warning that a result carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TombstoneWarning {
    /// What was met.
    pub counts: Counts,
}

impl TombstoneWarning {
    /// The text, in Cassandra's words; `query` is what the caller asked.
    pub fn text(&self, query: &str) -> String {
        let Counts { live_rows, tombstones, .. } = self.counts;
        format!(
            "Read {live_rows} live rows and {tombstones} tombstone cells for query {query} \
             (see tombstone_warn_threshold)"
        )
    }
}

/// Resolves rows for one read.
#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    now: i64,
    dropped: Vec<(ColumnId, i64)>,
    limits: TombstoneLimits,
    schema: Arc<TableSchema>,
    pub(crate) counts: Counts,
}

impl Resolver {
    /// For a reader at second `now`.
    pub(crate) fn new(schema: &Arc<TableSchema>, limits: TombstoneLimits, now: i64) -> Self {
        let dropped = schema.dropped().iter().map(|d| (d.column.id, d.timestamp)).collect();
        Self { now, dropped, limits, schema: Arc::clone(schema), counts: Counts::default() }
    }

    /// The reader's second.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// What is seen of a merged row, `None` if there is no row.
    pub(crate) fn row(&mut self, mut row: Row) -> Option<Row> {
        for &(column, timestamp) in &self.dropped {
            drop_column(&mut row, column, timestamp);
        }
        let dead_cells = row.all_cells().filter(|cell| !cell.is_live(self.now)).count() as u64;
        let dead_collections = row.complex.iter().filter(|complex| complex.deletion.is_some()).count() as u64;
        let dead_marker = row.deletion.is_some() || row.liveness.is_some_and(|life| !life.is_live(self.now));
        let tombstones = dead_cells + dead_collections;
        let seen = resolve(row, self.now);
        self.counts.tombstones += tombstones;
        match &seen {
            Some(row) => {
                self.counts.live_rows += 1;
                self.counts.live_cells += row.all_cells().count() as u64;
            }
            None => self.counts.tombstones += u64::from(tombstones == 0 && dead_marker),
        }
        seen
    }

    /// Appends what is seen of `rows` to `builder` until that has `want` rows, without building them where they live.
    ///
    /// # Errors
    /// `Corrupt` if a row cannot be decoded; those of [`Resolver::check`].
    pub(crate) fn plain_rows(
        &mut self,
        rows: &mut PlainRows,
        want: usize,
        builder: &mut BatchBuilder,
    ) -> Result<()> {
        while builder.len() < want && !rows.is_empty() {
            let rows = rows.next_rows(want - builder.len())?;
            builder.reserve(rows.len());
            let mut rest = rows.as_slice();
            while let [first, others @ ..] = rest {
                let is_seen = |row: &&PlainRow<'_>| self.dropped.is_empty() && row.life.is_live(self.now);
                let seen = rest.iter().take_while(is_seen).count();
                if seen == 0 {
                    if let Some(row) = self.row(first.decode()?) {
                        builder.push(row)?;
                    }
                    rest = others;
                } else {
                    let (live, dead) = builder.push_plain(&rest[..seen], self.now)?;
                    self.counts.live_rows += seen as u64;
                    self.counts.live_cells += live;
                    self.counts.tombstones += dead;
                    rest = &rest[seen..];
                }
                self.check()?;
            }
        }
        Ok(())
    }

    /// What is seen of a static row. It counts as a row only when nothing else of its partition does.
    pub(crate) fn static_row(&mut self, row: Row) -> Option<Row> {
        let rows = self.counts.live_rows;
        let seen = self.row(row);
        self.counts.live_rows = rows;
        seen
    }

    /// Counts a bound of a range deletion.
    pub(crate) fn bound(&mut self) {
        self.counts.tombstones += 1;
    }

    /// Refuses the read if too many tombstones were met.
    ///
    /// # Errors
    /// `Invalid`, in Cassandra's words.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.counts.tombstones > self.limits.refuse { Err(self.refusal()) } else { Ok(()) }
    }

    #[cold]
    fn refusal(&self) -> Error {
        let text = format!(
            "Scanned over {} tombstones during a query; query aborted (see tombstone_failure_threshold)",
            self.counts.tombstones
        );
        Error::new(ErrorKind::Invalid, text)
            .in_table(self.schema.full_name())
            .hint("read a narrower range, or compact once gc_grace_seconds have passed")
    }

    /// The warning that the result should carry.
    pub(crate) fn warning(&self) -> Option<TombstoneWarning> {
        (self.counts.tombstones > self.limits.warn).then_some(TombstoneWarning { counts: self.counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bytes::Bytes;
    use crate::model::cell::Cell;
    use crate::model::clustering::Clustering;
    use crate::model::life::{Deletion, Liveness};
    use crate::model::schema::{ColumnKind, Order, TableId, TableOptions};
    use crate::model::types::CqlType;

    fn schema() -> Arc<TableSchema> {
        let column = |name: &str, kind| (name.to_owned(), CqlType::Int, kind);
        let columns = vec![
            column("pk", ColumnKind::PartitionKey),
            column("ck", ColumnKind::Clustering(Order::Asc)),
            column("v", ColumnKind::Regular),
            column("w", ColumnKind::Regular),
        ];
        Arc::new(TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap())
    }

    fn live(timestamp: i64) -> Cell {
        Cell::live(Liveness::new(timestamp), Bytes::new(&[0, 0, 0, 1]))
    }

    fn row(cells: Vec<(u32, Cell)>) -> Row {
        let cells = cells.into_iter().map(|(id, cell)| (ColumnId(id), cell)).collect();
        Row { cells, ..Row::new(Clustering::EMPTY) }
    }

    #[test]
    fn a_row_and_its_value_go_in_the_same_second() {
        let mut resolver = Resolver::new(&schema(), TombstoneLimits::default(), 10);
        let life = Liveness::expiring(9_000_000, 1, 10);
        let mut expired = row(vec![(2, Cell::live(life, Bytes::new(&[0; 4])))]);
        expired.liveness = Some(life);
        assert_eq!(resolver.row(expired.clone()), None);
        assert_eq!(resolver.counts.tombstones, 1, "the cell; the marker goes with it");
        let mut before = Resolver::new(&schema(), TombstoneLimits::default(), 9);
        assert!(before.row(expired).is_some());
        assert_eq!(before.counts, Counts { live_rows: 1, live_cells: 1, tombstones: 0 });
    }

    #[test]
    fn cells_of_a_dropped_column_do_not_make_a_row_nor_count() {
        let schema = Arc::new(schema().drop_column("w", 5).unwrap());
        let mut resolver = Resolver::new(&schema, TombstoneLimits::default(), 0);
        assert_eq!(resolver.row(row(vec![(3, live(5))])), None);
        assert_eq!(resolver.counts, Counts::default());
        assert!(resolver.row(row(vec![(3, live(6))])).is_some());
    }

    #[test]
    fn deleted_rows_and_bounds_count_and_too_many_refuse() {
        let limits = TombstoneLimits { warn: 1, refuse: 2 };
        let mut resolver = Resolver::new(&schema(), limits, 0);
        let mut deleted = row(vec![]);
        deleted.deletion = Some(Deletion::new(1, 1));
        assert_eq!(resolver.row(deleted), None);
        assert_eq!(resolver.warning(), None);
        resolver.bound();
        resolver.check().unwrap();
        let text = resolver.warning().unwrap().text("SELECT * FROM ks.t");
        let expected = "Read 0 live rows and 2 tombstone cells for query SELECT * FROM ks.t (see tombstone_warn_threshold)";
        assert_eq!(text, expected);
        assert_eq!(
            resolver.row(row(vec![(2, Cell::tombstone(1, 1)), (3, live(1))])).map(|r| r.cells.len()),
            Some(1)
        );
        assert!(resolver.check().unwrap_err().to_string().contains("Scanned over 3 tombstones"));
    }
}
