//! A read in the making: which rows, columns and limits, then how to get them.
//!
//! A [`Select`] is made by [`Table::slice`](crate::Table::slice), `scan` and `buckets`, or by the same methods of a
//! [`TableSnapshot`](crate::TableSnapshot). What it sees is fixed when it is made. The work is `read`'s.

use crate::db::page::{Batches, Page};
use crate::encoding::range::KeyRange;
use crate::error::{Error, Result};
use crate::model::clustering::ClusteringRange;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::schema::{ColumnKind, Order};
use crate::model::types::CqlType;
use crate::read;
use crate::read::aggregate::{ColumnTotals, Totals, totals};
use crate::read::explain::Explain;
use crate::read::page::PageState;
use crate::read::query::{Projection, Query, TombstoneLimits};
use crate::read::reader::{Reader, Rows};
use crate::read::snapshot::Snapshot;
use std::sync::Arc;

/// Which partitions.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    List(Vec<DecoratedKey>),
    Tokens(TokenRange),
}

/// A read in the making. A mistake in it is reported when it is run.
#[derive(Debug)]
#[must_use = "a Select reads nothing until one of rows, batches, page or an aggregate is called"]
pub struct Select {
    snapshot: Snapshot,
    keys: Keys,
    query: Query,
    /// Whether the partitions of a list are read from the last to the first.
    backward: bool,
    now: i64,
    error: Option<Error>,
}

impl Select {
    pub(crate) fn new(snapshot: Snapshot, keys: Keys, query: Query, now: i64, error: Option<Error>) -> Self {
        Self { snapshot, keys, query, backward: false, now, error }
    }

    /// Rows of each partition in the reverse of clustering order; the order of buckets stays ([`Select::newest_first`] and
    /// [`Select::oldest_first`] turn both).
    pub fn reverse(mut self) -> Self {
        self.query.reverse = !self.query.reverse;
        self
    }

    /// Greatest first clustering value first, whatever the table's order, and the buckets from the last to the first: the newest rows of
    /// a series whose buckets are given oldest first.
    pub fn newest_first(mut self) -> Self {
        self.query.reverse = !self.is_descending();
        self.backward = true;
        self
    }

    /// Least first clustering value first, whatever the table's order, and the buckets as they were given.
    pub fn oldest_first(mut self) -> Self {
        self.query.reverse = self.is_descending();
        self.backward = false;
        self
    }

    fn is_descending(&self) -> bool {
        let first = self.query.columns.schema().clustering().first();
        first.is_some_and(|column| column.kind == ColumnKind::Clustering(Order::Desc))
    }

    /// At most so many rows in all.
    pub fn limit(mut self, rows: u64) -> Self {
        self.query.limit = Some(rows);
        self
    }

    /// At most so many rows of each partition.
    pub fn per_partition_limit(mut self, rows: u64) -> Self {
        self.query.per_partition_limit = Some(rows);
        self
    }

    /// Only these columns, in this order.
    pub fn columns(mut self, names: &[&str]) -> Self {
        match Projection::of(self.query.columns.schema(), names) {
            Ok(columns) => self.query.columns = columns,
            Err(error) => self.error = self.error.or(Some(error)),
        }
        self
    }

    /// The columns of a projection that was made before, once for many reads.
    pub fn project(mut self, columns: &Arc<Projection>) -> Self {
        self.query.columns = Arc::clone(columns);
        self
    }

    /// With write times and TTLs (`row.writetime`, `row.ttl`), which otherwise are not read.
    pub fn with_lives(mut self) -> Self {
        self.query.columns = self.query.columns.with_lives();
        self
    }

    /// Several ranges instead of one; they may overlap, each row comes once.
    pub fn ranges<'a>(mut self, ranges: impl IntoIterator<Item = KeyRange<'a>>) -> Self {
        let bounds: Result<Vec<_>> =
            ranges.into_iter().map(|range| range.bounds(self.query.columns.schema())).collect();
        match bounds {
            Ok(bounds) => self.query.ranges = bounds,
            Err(error) => self.error = self.error.or(Some(error)),
        }
        self
    }

    /// Ranges as bounds of the storage model, for layers above.
    pub fn bounds(mut self, ranges: Vec<ClusteringRange>) -> Self {
        self.query.ranges = ranges;
        self
    }

    /// Of a scan, only the partitions with these tokens.
    pub fn tokens(mut self, tokens: TokenRange) -> Self {
        self.keys = Keys::Tokens(tokens);
        self
    }

    /// How many tombstones the read may meet before it warns and before it is refused.
    pub fn tombstone_limits(mut self, limits: TombstoneLimits) -> Self {
        self.query.tombstones = limits;
        self
    }

    /// Goes on where a page ended.
    pub fn resume(mut self, state: PageState) -> Self {
        self.query.page = Some(state);
        self
    }

    /// The reader: batches, page state, counts.
    ///
    /// # Errors
    /// What is wrong with the query.
    pub fn reader(self) -> Result<Reader> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match self.keys {
            Keys::List(mut keys) => {
                if self.backward {
                    keys.reverse();
                }
                read::read_partitions(self.snapshot, keys, self.query, self.now)
            }
            Keys::Tokens(tokens) => read::read_tokens(self.snapshot, tokens, self.query, self.now),
        }
    }

    /// The rows, one by one; after an error the iterator ends.
    ///
    /// # Errors
    /// What is wrong with the query.
    pub fn rows(self) -> Result<Rows> {
        Ok(self.reader()?.rows())
    }

    /// The rows in batches of columns: up to 1024 rows of one partition each.
    ///
    /// # Errors
    /// What is wrong with the query.
    pub fn batches(self) -> Result<Batches> {
        Ok(Batches::new(self.reader()?))
    }

    /// At most `rows` rows, and where to go on ([`Select::resume`]): the union of all pages is the whole result, also when there are
    /// writes in between (which the later pages see).
    ///
    /// # Errors
    /// What is wrong with the query, or the read's.
    pub fn page(mut self, rows: u64) -> Result<Page> {
        self.query.page_rows = Some(rows.max(1));
        let mut reader = self.reader()?;
        let mut page = Page { rows: Vec::new(), next: None };
        while let Some(batch) = reader.next_batch()? {
            page.rows.extend(batch.rows());
        }
        page.next = reader.page_state();
        Ok(page)
    }

    /// Counts, least and greatest values and sums of some columns, over all rows of the read; from the index alone where whole blocks
    /// count and nothing overlaps, expired or was deleted.
    ///
    /// # Errors
    /// What is wrong with the query, or the read's.
    pub fn totals(self, columns: &[&str]) -> Result<Totals> {
        totals(self.columns(columns).reader()?)
    }

    /// The number of rows, of at most as many as the limits allow.
    ///
    /// # Errors
    /// As [`Select::totals`].
    pub fn count(self) -> Result<u64> {
        Ok(self.totals(&[])?.rows)
    }

    /// The sum of a column of numbers as a double; 0 without values, NaN if a value is.
    ///
    /// # Errors
    /// As [`Select::totals`]; `Invalid` for a column that holds no numbers.
    pub fn sum(self, column: &str) -> Result<f64> {
        let totals = self.number(column)?;
        let ints = totals.ints.map(|(_, _, sum)| sum as f64);
        Ok(ints.or(totals.floats.map(|(_, _, sum)| sum)).unwrap_or(0.0))
    }

    /// The mean of a column of numbers; `None` without values.
    ///
    /// # Errors
    /// As [`Select::sum`].
    pub fn average(self, column: &str) -> Result<Option<f64>> {
        let totals = self.number(column)?;
        let ints = totals.ints.map(|(_, _, sum)| sum as f64);
        let sum = ints.or(totals.floats.map(|(_, _, sum)| sum));
        Ok(sum.filter(|_| totals.count > 0).map(|sum| sum / totals.count as f64))
    }

    /// The least and the greatest value of a column of numbers; `None` without values.
    ///
    /// # Errors
    /// As [`Select::sum`].
    pub fn range(self, column: &str) -> Result<Option<(f64, f64)>> {
        let totals = self.number(column)?;
        let ints = totals.ints.map(|(min, max, _)| (min as f64, max as f64));
        Ok(ints.or(totals.floats.map(|(min, max, _)| (min, max))))
    }

    fn number(self, column: &str) -> Result<ColumnTotals> {
        let schema = Arc::clone(self.query.columns.schema());
        if let Some(known) = schema.column(column)
            && !is_number(&known.ty)
        {
            let text = format!("column {column} of type {} holds no numbers", known.ty);
            return Err(Error::invalid(text).in_table(schema.full_name()));
        }
        Ok(self.totals(&[column])?.columns.first().copied().unwrap_or_default())
    }

    /// Reads everything and tells what was looked at, what was ruled out and why.
    ///
    /// # Errors
    /// What is wrong with the query, or the read's.
    pub fn explain(self) -> Result<Explain> {
        let mut reader = self.reader()?.explained();
        while reader.next_batch()?.is_some() {}
        Ok(reader.explain().unwrap_or_default())
    }
}

/// Whether totals of a type are numbers.
fn is_number(ty: &CqlType) -> bool {
    use CqlType::{Bigint, Counter, Double, Float, Int, Smallint, Time, Timestamp, Tinyint};
    matches!(ty, Bigint | Counter | Double | Float | Int | Smallint | Tinyint | Time | Timestamp)
}
