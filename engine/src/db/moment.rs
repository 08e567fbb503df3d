//! A table at one moment, and the ways to read it: single rows, slices, buckets, scans, and rows as they are stored.

use crate::db::query::{Keys, Select};
use crate::db::table::Table;
use crate::encoding::bind;
use crate::encoding::range::KeyRange;
use crate::error::{Error, Result};
use crate::memtable::pins::Pin;
use crate::model::arg::Arg;
use crate::model::clustering::{Bound, Clustering, ClusteringRange};
use crate::model::key::{DecoratedKey, TokenRange};
use crate::model::row::Row as StoredRow;
use crate::model::schema::TableSchema;
use crate::read::batch::Row;
use crate::read::point::{RowKey, read_in_files, read_row_at};
use crate::read::query::{Projection, Query};
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
        let (view, seq) = (self.snapshot.view(), self.snapshot.seq());
        with_row_key(columns.schema(), key, |key| read_row_at(view, seq, key, columns, || self.now))
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
        Select::new(self.snapshot.clone(), keys, query, self.now, error)
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

/// Has `read` look for the row with primary key `key`, of a table of `schema`.
#[inline]
fn with_row_key<T>(
    schema: &TableSchema,
    key: &[Arg<'_>],
    read: impl FnOnce(&RowKey<'_>) -> Result<T>,
) -> Result<T> {
    let parts = schema.partition_key().len();
    if key.len() != parts + schema.clustering().len() {
        return Err(wrong_key(schema, key.len()));
    }
    let mut buffer = KEY.take();
    buffer.clear();
    let bound = bind::partition_key(schema, &key[..parts], &mut buffer).and_then(|()| {
        let partition = DecoratedKey::hashed(&buffer);
        Ok((partition, bind::clustering(schema, &key[parts..], &mut buffer)?))
    });
    KEY.set(buffer);
    let ((partition, hash), clustering) = bound?;
    read(&RowKey { partition: &partition, hash, clustering: clustering.order() })
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
        let now = || inner.now_seconds();
        if let Some(row) = self.get_in_files(key, now)? {
            return Ok(row);
        }
        loop {
            // As `Snapshot::take` does, without what a longer read needs.
            let pin = inner.commit.pins.pin();
            let view = self.state().view();
            if view.flushed_seq <= pin.seq() {
                let columns = self.all_columns(&view.schema);
                return with_row_key(&view.schema, key, |key| {
                    read_row_at(&view, pin.seq(), key, &columns, now)
                });
            }
        }
    }

    /// [`Table::get`] while nothing is in memory and the files alone can tell: they do not change, so that nothing has to be pinned. `None`
    /// if it takes more.
    #[inline]
    fn get_in_files(&self, key: &[Arg<'_>], now: impl Fn() -> i64) -> Result<Option<Option<Row>>> {
        let view = self.state().glance();
        // What is in files written since opening has to be published: see `Snapshot`.
        if view.flushed_seq > self.inner().commit.pins.visible()
            || view.memtables().any(|memtable| !memtable.is_empty())
        {
            return Ok(None);
        }
        let known = self.known_columns();
        match &*known {
            Some(columns) if Arc::ptr_eq(columns.schema(), &view.schema) => {
                with_row_key(&view.schema, key, |key| read_in_files(&view, key, columns, now))
            }
            _ => Ok(None),
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
