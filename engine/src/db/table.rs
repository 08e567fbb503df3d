//! A table: what a program writes to and reads from.

use crate::db::moment::declared_columns;
use crate::db::{Db, Inner};
use crate::encoding::range::KeyRange;
use crate::error::{ErrorKind, Result};
use crate::model::arg::Arg;
use crate::model::schema::{TableId, TableSchema};
use crate::read::query::Projection;
use crate::write::batch::{SchemaOf, WriteBatch};
use crate::write::tables::TableState;
use crate::write::times::With;
use arc_swap::{ArcSwapOption, Guard};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

/// A handle of one table. Clones are cheap; it may be used from any number of threads, and keeps the store open.
#[derive(Clone, Debug)]
pub struct Table {
    db: Db,
    state: Arc<TableState>,
    /// The projection on all columns of the last schema seen, so that a point read builds none.
    columns: Arc<ArcSwapOption<Projection>>,
}

thread_local! {
    /// Single writes of a thread build their batch here, so that none of them allocates.
    static BATCH: RefCell<WriteBatch> = RefCell::new(WriteBatch::new());
}

impl Table {
    pub(crate) fn new(db: Db, state: Arc<TableState>) -> Self {
        Self { db, state, columns: Arc::default() }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.db.inner
    }

    /// All columns of `schema`.
    pub(crate) fn all_columns(&self, schema: &Arc<TableSchema>) -> Arc<Projection> {
        match self.columns.load_full() {
            Some(columns) if Arc::ptr_eq(columns.schema(), schema) => columns,
            _ => {
                let columns = declared_columns(schema);
                self.columns.store(Some(Arc::clone(&columns)));
                columns
            }
        }
    }

    /// What [`Table::all_columns`] gave last, for a short look.
    #[inline]
    pub(crate) fn known_columns(&self) -> Guard<Option<Arc<Projection>>> {
        self.columns.load()
    }

    /// The store it belongs to.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Its number: never that of another table of the store, also after a drop.
    pub fn id(&self) -> TableId {
        self.state.id()
    }

    /// Whether it was dropped, by whichever handle.
    pub fn is_dropped(&self) -> bool {
        self.state.is_dropped()
    }

    pub(crate) fn state(&self) -> &Arc<TableState> {
        &self.state
    }

    /// `keyspace.table`.
    pub fn name(&self) -> String {
        self.schema().full_name()
    }

    /// The current definition.
    pub fn schema(&self) -> Arc<TableSchema> {
        Arc::clone(&self.state.view().schema)
    }

    /// Writes one row and returns its write time (micros since the epoch); `args` are the columns' values in declared order (`&row![...]`), `None` leaves one alone,
    /// [`Null`](crate::Null) deletes it.
    ///
    /// # Errors
    /// As [`WriteBatch::insert`] and [`Db::write`].
    #[inline]
    pub fn insert(&self, args: &[Arg<'_>]) -> Result<i64> {
        self.single(|batch, schema| batch.insert(schema, args))
    }

    /// Writes one row with a TTL or timestamp. Returns as [`Table::insert`].
    ///
    /// # Errors
    /// As [`WriteBatch::insert_with`] and [`Db::write`].
    pub fn insert_with(&self, args: &[Arg<'_>], with: With) -> Result<i64> {
        self.single(|batch, schema| batch.insert_with(schema, args, with))
    }

    /// Writes one row by column names. Returns as [`Table::insert`].
    ///
    /// # Errors
    /// As [`WriteBatch::insert_named`] and [`Db::write`].
    pub fn insert_named(&self, columns: &[(&str, Arg<'_>)], with: With) -> Result<i64> {
        self.single(|batch, schema| batch.insert_named(schema, columns, with))
    }

    /// Sets columns of a row that lives only as long as one of its columns (UPDATE). Returns as [`Table::insert`].
    ///
    /// # Errors
    /// As [`WriteBatch::update`] and [`Db::write`].
    pub fn update(&self, columns: &[(&str, Arg<'_>)], with: With) -> Result<i64> {
        self.single(|batch, schema| batch.update(schema, columns, with))
    }

    /// Deletes a row, the rows that begin with a clustering prefix, or a partition. Returns as [`Table::insert`].
    ///
    /// # Errors
    /// As [`WriteBatch::delete`] and [`Db::write`].
    pub fn delete(&self, key: &[Arg<'_>]) -> Result<i64> {
        self.single(|batch, schema| batch.delete(schema, key, With::DEFAULT))
    }

    /// Deletes a range of rows of one partition. Returns as [`Table::insert`].
    ///
    /// # Errors
    /// As [`WriteBatch::delete_range`] and [`Db::write`].
    pub fn delete_range<'a>(&self, partition: &[Arg<'_>], range: impl Into<KeyRange<'a>>) -> Result<i64> {
        let range = range.into();
        self.single(|batch, schema| batch.delete_range(schema, partition, &range, With::DEFAULT))
    }

    /// Deletes single columns of a row. Returns as [`Table::insert`].
    ///
    /// # Errors
    /// As [`WriteBatch::delete_columns`] and [`Db::write`].
    pub fn delete_columns(&self, key: &[Arg<'_>], columns: &[&str]) -> Result<i64> {
        self.single(|batch, schema| batch.delete_columns(schema, key, columns, With::DEFAULT))
    }

    /// The live files, oldest first, by path.
    pub fn files(&self) -> Vec<PathBuf> {
        self.state.view().files.iter().map(|file| file.path().to_path_buf()).collect()
    }

    /// Writes this table's memtable to files and waits for it.
    ///
    /// # Errors
    /// The flush's.
    pub fn flush(&self) -> Result<()> {
        self.db.inner.flush(Some(&self.state))
    }

    /// Flushes and compacts the table into as few files as its strategy allows (major compaction), and waits.
    ///
    /// # Errors
    /// `NoSpace` with the bytes needed if the disk is too full; the compaction's.
    pub fn compact(&self) -> Result<()> {
        self.flush()?;
        self.db.inner.compact_major(&self.state)
    }

    fn single(&self, fill: impl Fn(&mut WriteBatch, &TableSchema) -> Result<()>) -> Result<i64> {
        BATCH.with(|batch| match batch.try_borrow_mut() {
            Ok(mut batch) => self.write_single(&mut batch, fill),
            // A write inside an argument's conversion: it gets a batch of its own.
            Err(_) => self.write_single(&mut WriteBatch::new(), fill),
        })
    }

    #[inline]
    fn write_single(
        &self,
        batch: &mut WriteBatch,
        fill: impl Fn(&mut WriteBatch, &TableSchema) -> Result<()>,
    ) -> Result<i64> {
        loop {
            batch.clear();
            let view = self.state.view();
            fill(batch, &view.schema)?;
            match self.db.inner.write(batch) {
                // A column was dropped in between: once more, by the new definition.
                Err(error)
                    if error.kind() == ErrorKind::Busy
                        && self.state.view().schema.drops() != view.schema.drops() => {}
                written => return written,
            }
        }
    }
}

impl SchemaOf for Table {
    type Schema<'a> = Arc<TableSchema>;

    fn schema_of(&self) -> Arc<TableSchema> {
        self.schema()
    }
}

impl Db {
    /// A batch to fill and to commit with [`Db::write`].
    pub fn batch(&self) -> WriteBatch {
        WriteBatch::new()
    }
}
