//! Reading from Rust: slices, scans, buckets, single rows.
//!
//! A [`Select`] says what to read and how; it is made by [`Table::slice`], [`Table::scan`] and [`Table::buckets`], or by the same methods of a
//! [`TableSnapshot`]. What it sees is fixed when it is made. The work is `read`'s.

use crate::db::page::{Batches, Page};
use crate::db::table::Table;
use crate::encoding::bind;
use crate::encoding::range::KeyRange;
use crate::error::{Error, Result};
use crate::memtable::pins::Pin;
use crate::model::arg::Arg;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::row::Row as StoredRow;
use crate::model::schema::{ColumnKind, Order, TableSchema};
use crate::model::types::CqlType;
use crate::read;
use crate::read::aggregate::{ColumnTotals, Totals, totals};
use crate::read::batch::Row;
use crate::read::explain::Explain;
use crate::read::page::PageState;
use crate::read::query::{Projection, Query, TombstoneLimits};
use crate::read::reader::{Reader, Rows};
use crate::read::snapshot::Snapshot;
use crate::read::versions::{self, Candidate, Fragments};
use crate::view::TableView;
use std::cell::Cell;
use std::sync::Arc;

/// A table at one moment: what a [`Table`] was when a read began, or a table of a [`Snapshot`](crate::Snapshot).
#[derive(Clone, Debug)]
pub struct TableSnapshot {
    snapshot: Snapshot,
    columns: Arc<Projection>,
    now: i64,
}

impl TableSnapshot {
    pub(crate) fn new(snapshot: Snapshot, columns: Arc<Projection>, now: i64) -> Self {
        Self { snapshot, columns, now }
    }

    pub(crate) fn of_parts(view: Arc<TableView>, pin: Arc<Pin>, now: i64) -> Self {
        let columns = declared_columns(&view.schema);
        Self { snapshot: Snapshot::of_parts(view, pin), columns, now }
    }

    /// The table's definition.
    pub fn schema(&self) -> &Arc<TableSchema> {
        self.columns.schema()
    }

    /// The row with this primary key (`&row![...]`, partition key then clustering), if a reader sees one.
    ///
    /// # Errors
    /// `Invalid` for a key that is not whole or ill-typed; `Corrupt` or `Io` from files.
    pub fn get(&self, key: &[Arg<'_>]) -> Result<Option<Row>> {
        self.get_columns(key, &self.columns)
    }

    /// [`TableSnapshot::get`] of some columns: [`Projection::of`] makes the list of them, once for many reads.
    ///
    /// # Errors
    /// As [`TableSnapshot::get`].
    pub fn get_columns(&self, key: &[Arg<'_>], columns: &Arc<Projection>) -> Result<Option<Row>> {
        get_row(self.snapshot.view(), self.snapshot.seq(), key, columns, self.now)
    }

    /// Rows of one partition: `partition` is its key (`&row![...]`), `range` is `..`, `t0..t1`, `t0..=t1`, `t0..`, or a
    /// [`KeyRange`].
    pub fn slice<'a>(&self, partition: &[Arg<'_>], range: impl Into<KeyRange<'a>>) -> Select {
        let keys = self.key(partition).map(|key| Keys::List(vec![key]));
        self.select(keys, range.into().bounds(self.schema()))
    }

    /// Rows of several partitions, one after the other: the buckets of a series, oldest first. Limits count over all of them.
    pub fn buckets<'a, K: AsRef<[Arg<'a>]>>(
        &self,
        partitions: impl IntoIterator<Item = K>,
        range: impl Into<KeyRange<'a>>,
    ) -> Select {
        let keys: Result<Vec<_>> = partitions.into_iter().map(|key| self.key(key.as_ref())).collect();
        self.select(keys.map(Keys::List), range.into().bounds(self.schema()))
    }

    /// All partitions, in token order.
    pub fn scan(&self) -> Select {
        self.select(Ok(Keys::Tokens(TokenRange::ALL)), Ok(ClusteringRange::all()))
    }

    /// Rows of several partitions by their serialised keys ([`encoding::key`](crate::encoding::key) makes such), one after the other in
    /// this order. All rows of them, unless [`Select::bounds`] says which.
    pub fn partitions(&self, keys: Vec<DecoratedKey>) -> Select {
        self.select(Ok(Keys::List(keys)), Ok(ClusteringRange::all()))
    }

    /// The second at which TTLs are looked at.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// The rows of a partition (by its serialised key) as they are stored, merged over all sources, dead or alive; see [`Fragments`].
    ///
    /// # Errors
    /// `Corrupt` or `Io` from files.
    pub fn fragments(&self, key: &[u8], range: &ClusteringRange) -> Result<Fragments> {
        versions::fragments(&self.snapshot, &DecoratedKey::new(key), range).map_err(|e| self.name(e))
    }

    /// One row as it is stored: merged, with tombstones, write times and what has expired; `None` if nothing is left of it.
    /// [`resolve`](crate::model::reconcile::resolve) tells what a reader sees of it. `clustering` has all columns.
    ///
    /// # Errors
    /// `Corrupt` or `Io` from files.
    pub fn stored_row(&self, key: &[u8], clustering: &Clustering) -> Result<Option<StoredRow>> {
        versions::stored_row(&self.snapshot, &DecoratedKey::new(key), clustering).map_err(|e| self.name(e))
    }

    /// The static row of a partition as it is stored; see [`TableSnapshot::stored_row`].
    ///
    /// # Errors
    /// `Corrupt` or `Io` from files.
    pub fn stored_static(&self, key: &[u8]) -> Result<Option<StoredRow>> {
        let none = ClusteringRange { start: Bound::bottom(), end: Bound::bottom() };
        Ok(self.fragments(key, &none)?.statics)
    }

    /// What every memtable and file says about one row, unmerged: by its partition's serialised key and its clustering (of all columns),
    /// or about the partition's static row.
    ///
    /// # Errors
    /// `Corrupt` or `Io` from files.
    pub fn candidates(&self, key: &[u8], clustering: Option<&Clustering>) -> Result<Vec<Candidate>> {
        versions::candidates(&self.snapshot, &DecoratedKey::new(key), clustering).map_err(|e| self.name(e))
    }

    fn name(&self, error: Error) -> Error {
        error.in_table(self.schema().full_name())
    }

    fn key(&self, args: &[Arg<'_>]) -> Result<DecoratedKey> {
        let mut key = Vec::with_capacity(64);
        bind::partition_key(self.schema(), args, &mut key)?;
        Ok(DecoratedKey::new(&key))
    }

    fn select(&self, keys: Result<Keys>, range: Result<ClusteringRange>) -> Select {
        let mut query = Query::new(Arc::clone(&self.columns));
        let (keys, error) = match (keys, range) {
            (Ok(keys), Ok(range)) => {
                query.ranges = vec![range];
                (keys, None)
            }
            (Err(error), _) | (_, Err(error)) => (Keys::List(Vec::new()), Some(error)),
        };
        Select { snapshot: self.snapshot.clone(), keys, query, backward: false, now: self.now, error }
    }
}

/// All columns in declared order: that in which `row![...]` gives their values.
pub(crate) fn declared_columns(schema: &Arc<TableSchema>) -> Arc<Projection> {
    let names: Vec<&str> = schema.declared().map(|column| column.name.as_str()).collect();
    Projection::of(schema, &names).unwrap_or_else(|_| Projection::all(schema))
}

thread_local! {
    /// Keys of point reads are put together here, so that none of them allocates.
    static KEY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The row with primary key `key` in a view, for a reader that has pinned `seq`.
fn get_row(
    view: &TableView,
    seq: u64,
    key: &[Arg<'_>],
    columns: &Arc<Projection>,
    now: i64,
) -> Result<Option<Row>> {
    let schema = columns.schema();
    let parts = schema.partition_key().len();
    if key.len() != parts + schema.clustering().len() {
        return Err(wrong_key(schema, key.len()));
    }
    let mut buffer = KEY.take();
    buffer.clear();
    let bound = bind::partition_key(schema, &key[..parts], &mut buffer).and_then(|()| {
        let partition = DecoratedKey::new(&buffer);
        Ok((partition, bind::clustering(schema, &key[parts..], &mut buffer)?))
    });
    KEY.set(buffer);
    let (partition, clustering) = bound?;
    read::point::read_row_at(view, seq, &partition, clustering.order(), columns, now)
        .map_err(|error| error.in_table(schema.full_name()))
}

#[cold]
fn wrong_key(schema: &TableSchema, given: usize) -> Error {
    let names: Vec<_> =
        schema.partition_key().iter().chain(schema.clustering()).map(|c| c.name.as_str()).collect();
    let text =
        format!("the primary key is ({}): {} values expected, {given} given", names.join(", "), names.len());
    Error::invalid(text).in_table(schema.full_name())
}

/// Which partitions.
#[derive(Clone, Debug)]
enum Keys {
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

impl Table {
    /// The table as it is now; what is written later is not seen.
    pub fn snapshot(&self) -> TableSnapshot {
        let inner = self.inner();
        let snapshot = Snapshot::take(&inner.commit.pins, || self.state().view());
        let columns = self.all_columns(&snapshot.view().schema);
        TableSnapshot::new(snapshot, columns, inner.now_seconds())
    }

    /// The row with this primary key; see [`TableSnapshot::get`].
    ///
    /// # Errors
    /// As [`TableSnapshot::get`].
    pub fn get(&self, key: &[Arg<'_>]) -> Result<Option<Row>> {
        let inner = self.inner();
        loop {
            // As `Snapshot::take` does, without what a longer read needs.
            let pin = inner.commit.pins.pin();
            let view = self.state().view();
            if view.flushed_seq <= pin.seq() {
                let columns = self.all_columns(&view.schema);
                return get_row(&view, pin.seq(), key, &columns, inner.now_seconds());
            }
        }
    }

    /// Rows of one partition; see [`TableSnapshot::slice`].
    ///
    /// ```
    /// use skep_engine::{CqlType, Db, Schema, row};
    /// # let dir = std::env::temp_dir().join(format!("skep-doc-slice-{}", std::process::id()));
    /// # let db = Db::open(&dir)?;
    /// let steps = db.create_table(
    ///     Schema::table("steps").partition_key("who", CqlType::Text).clustering("n", CqlType::Int).column("at", CqlType::Double),
    /// )?;
    /// for n in 0..10 {
    ///     steps.insert(&row!["ada", n, f64::from(n) / 2.0])?;
    /// }
    /// let last: Vec<f64> = steps
    ///     .slice(&row!["ada"], 3..)
    ///     .reverse()
    ///     .limit(2)
    ///     .rows()?
    ///     .map(|row| row?.get("at"))
    ///     .collect::<Result<_, _>>()?;
    /// assert_eq!(last, [4.5, 4.0]);
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice<'a>(&self, partition: &[Arg<'_>], range: impl Into<KeyRange<'a>>) -> Select {
        self.snapshot().slice(partition, range)
    }

    /// Rows of several partitions, given oldest first; see [`TableSnapshot::buckets`] and [`Select::newest_first`].
    /// [`Date::through`](crate::Date::through) lists the days of a span:
    ///
    /// ```
    /// # use skep_engine::{Result, Row, Table, row};
    /// # use std::time::Duration;
    /// # fn last_two_days(readings: &Table) -> Result<Vec<Row>> {
    /// let now = readings.db().now();
    /// let since = now - Duration::from_secs(48 * 3600);
    /// let days = since.date().through(now.date()).map(|day| row!["hive-7", day]);
    /// readings.buckets(days, since..).newest_first().rows()?.collect()
    /// # }
    /// ```
    pub fn buckets<'a, K: AsRef<[Arg<'a>]>>(
        &self,
        partitions: impl IntoIterator<Item = K>,
        range: impl Into<KeyRange<'a>>,
    ) -> Select {
        self.snapshot().buckets(partitions, range)
    }

    /// All rows, partition by partition in token order.
    pub fn scan(&self) -> Select {
        self.snapshot().scan()
    }
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
