//! A batch of writes: rows, updates and deletions, committed as one.
//!
//! A [`WriteBatch`] is filled without touching the store, then committed by `Db::write`: it becomes one commit-log
//! record and readers see all of it or nothing, across partitions and tables. Operations without a timestamp of their
//! own share the commit's. A statement that is refused leaves the batch as it was.

use crate::encoding::bind;
use crate::encoding::mutation_encoder::BatchEncoder;
use crate::encoding::range::KeyRange;
use crate::encoding::row::{Place, RowEncoder, RowHead};
use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::bytes::Bytes;
use crate::model::cell::Cell;
use crate::model::clustering::{Clustering, ClusteringRange};
use crate::model::life::Deletion;
use crate::model::row::Row;
use crate::model::schema::{Column, ColumnKind, TableId, TableSchema};
use crate::model::types::CqlType;
use crate::write::collection;
use crate::write::statement::{by_name, check_order, in_column, tombstones, unknown};
use crate::write::times::With;
use std::ops::Deref;
use std::sync::Arc;

/// Writes that are committed together.
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    encoder: BatchEncoder,
    timestamp: Option<i64>,
    key: Vec<u8>,
    scratch: Vec<u8>,
    wire: Vec<u8>,
    /// For each table: the drops of columns that its operations were made after.
    drops: Vec<(TableId, u64)>,
}

/// What names a table to a batch: a handle of the table, or its definition (which saves looking it up for every row).
pub trait SchemaOf {
    /// The definition, borrowed or shared.
    type Schema<'a>: Deref<Target = TableSchema>
    where
        Self: 'a;

    /// The table's current definition.
    fn schema_of(&self) -> Self::Schema<'_>;
}

impl SchemaOf for TableSchema {
    type Schema<'a> = &'a TableSchema;

    #[inline]
    fn schema_of(&self) -> &TableSchema {
        self
    }
}

impl SchemaOf for Arc<TableSchema> {
    type Schema<'a> = &'a TableSchema;

    #[inline]
    fn schema_of(&self) -> &TableSchema {
        self
    }
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.encoder.len()
    }

    /// Nothing in it.
    pub fn is_empty(&self) -> bool {
        self.encoder.is_empty()
    }

    /// Size of its commit-log record, bytes.
    pub fn size_bytes(&self) -> usize {
        self.encoder.size_bytes()
    }

    /// Empties it and keeps its buffers.
    pub fn clear(&mut self) {
        self.encoder.clear();
        self.timestamp = None;
        self.drops.clear();
    }

    /// Gives the whole batch a write time (micros) instead of that of its commit. Statements keep timestamps of their own.
    ///
    /// # Errors
    /// `Invalid` for the smallest `i64`, which is no timestamp.
    pub fn set_timestamp(&mut self, micros: i64) -> Result<()> {
        self.timestamp = With::DEFAULT.timestamp(micros).checked_timestamp()?;
        Ok(())
    }

    /// Writes a row: `args` are the values of the columns in declared order (`row![...]`), fewer than all leave the
    /// rest alone. An INSERT: the row exists from then on, even when all its other columns are empty.
    ///
    /// # Errors
    /// `Invalid` for a missing key column or an ill-typed value, naming the column; for a table of counters.
    #[inline]
    pub fn insert(&mut self, table: &impl SchemaOf, args: &[Arg<'_>]) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        self.write(table, args, With::DEFAULT, true)
    }

    /// [`WriteBatch::insert`] with a TTL or timestamp.
    ///
    /// # Errors
    /// As [`WriteBatch::insert`]; also for a TTL over 20 years.
    pub fn insert_with(&mut self, table: &impl SchemaOf, args: &[Arg<'_>], with: With) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        self.write(table, args, with, true)
    }

    /// Writes a row by column names.
    ///
    /// # Errors
    /// As [`WriteBatch::insert`]; `NotFound` for an unknown column.
    pub fn insert_named(
        &mut self,
        table: &impl SchemaOf,
        columns: &[(&str, Arg<'_>)],
        with: With,
    ) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        let args = by_name(table, columns)?;
        self.write(table, &args, with, true)
    }

    /// Sets columns of a row, by name, key columns among them. An UPDATE: the row lives only as long as one of its
    /// columns.
    ///
    /// # Errors
    /// As [`WriteBatch::insert_named`].
    pub fn update(&mut self, table: &impl SchemaOf, columns: &[(&str, Arg<'_>)], with: With) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        let args = by_name(table, columns)?;
        self.write(table, &args, with, false)
    }

    /// Deletes what `key` names: all key columns a row, fewer clustering columns all rows that begin with them, the
    /// partition key alone the partition.
    ///
    /// # Errors
    /// `Invalid` for a missing partition-key column or an ill-typed value.
    pub fn delete(&mut self, table: &impl SchemaOf, key: &[Arg<'_>], with: With) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        let parts = table.partition_key().len();
        let clusterings = key.len().saturating_sub(parts);
        if clusterings == 0 || clusterings < table.clustering().len() {
            let (partition, prefix) = key.split_at(parts.min(key.len()));
            if clusterings == 0 {
                self.bind_key(table, partition)?;
                let deletion = self.deletion(with)?;
                self.encoder.delete_partition(table.id, &self.key, deletion);
                return Ok(());
            }
            return self.delete_range(table, partition, &KeyRange::prefix(prefix), with);
        }
        self.bind_key(table, &key[..parts])?;
        let mut row = Row::new(bind::clustering(table, &key[parts..], &mut self.scratch)?);
        row.deletion = Some(self.deletion(with)?.unwrap_or(self.encoder.stamp().deletion()));
        self.encoder.row(table.id, &self.key, false, &row);
        Ok(())
    }

    /// Deletes a range of rows of one partition. A range that holds nothing writes nothing.
    ///
    /// # Errors
    /// As [`WriteBatch::delete`].
    pub fn delete_range(
        &mut self,
        table: &impl SchemaOf,
        partition: &[Arg<'_>],
        range: &KeyRange<'_>,
        with: With,
    ) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        let bounds = range.bounds(table)?;
        self.bind_key(table, partition)?;
        let deletion = self.deletion(with)?;
        self.encoder.delete_range(table.id, &self.key, &bounds.start, &bounds.end, deletion);
        Ok(())
    }

    /// Deletes single columns of the row (or, for static columns, of the partition) that `key` names.
    ///
    /// # Errors
    /// `Invalid` for key columns among `columns`, `NotFound` for unknown ones; else as [`WriteBatch::delete`].
    pub fn delete_columns(
        &mut self,
        table: &impl SchemaOf,
        key: &[Arg<'_>],
        columns: &[&str],
        with: With,
    ) -> Result<()> {
        let schema = table.schema_of();
        let table = &*schema;
        let parts = table.partition_key().len().min(key.len());
        let mut places = Vec::with_capacity(columns.len());
        for name in columns {
            let column = table.column(name).ok_or_else(|| unknown(table, name))?;
            if !matches!(column.kind, ColumnKind::Static | ColumnKind::Regular) {
                let text = format!("column {name} is part of the primary key and cannot be deleted alone");
                return Err(Error::invalid(text).in_table(table.full_name()));
            }
            places.push(column);
        }
        places.sort_by_key(|column| column.id);
        places.dedup_by_key(|column| column.id);
        self.bind_key(table, &key[..parts])?;
        let deletion = self.deletion(with)?.unwrap_or(self.encoder.stamp().deletion());
        let of_kind = |kind: ColumnKind| places.iter().copied().filter(move |c| c.kind == kind);
        if of_kind(ColumnKind::Regular).next().is_some() {
            let clustering = self.whole_clustering(table, &key[parts..])?;
            let row = tombstones(clustering, of_kind(ColumnKind::Regular), deletion);
            self.encoder.row(table.id, &self.key, false, &row);
        } else {
            bind::clustering(table, &key[parts..], &mut self.scratch)?;
        }
        if of_kind(ColumnKind::Static).next().is_some() {
            let row = tombstones(Clustering::EMPTY, of_kind(ColumnKind::Static), deletion);
            self.encoder.row(table.id, &self.key, true, &row);
        }
        Ok(())
    }

    /// Adds a row of the storage model as it is, with its own times: what layers above build that need every freedom
    /// (single elements of collections, mixed lives). `key` is the serialised partition key. Times equal to
    /// [`Stamp::UNSET`](crate::encoding::row::Stamp::UNSET)'s become the commit's: [`Times`](crate::write::times::Times) makes such.
    ///
    /// # Errors
    /// `Invalid` if columns or elements of a collection are out of order or come twice.
    pub fn put_row(&mut self, table: &TableSchema, key: &[u8], is_static: bool, row: &Row) -> Result<()> {
        check_order(row).map_err(|error| error.in_table(table.full_name()))?;
        self.note(table);
        self.encoder.row(table.id, key, is_static, row);
        Ok(())
    }

    /// Adds a row without collections, which `cells` writes cell by cell in ascending order of columns: for writers that have protocol bytes at
    /// hand and build no [`Row`]. If `cells` fails, nothing is added.
    ///
    /// # Errors
    /// Those of `cells`.
    #[inline]
    pub fn put_row_with(
        &mut self,
        table: &TableSchema,
        key: &[u8],
        clustering: &Clustering,
        head: &RowHead,
        cells: impl FnOnce(&mut RowEncoder<'_>) -> Result<()>,
    ) -> Result<()> {
        self.note(table);
        self.encoder.row_with(table.id, key, false, Place::of(clustering), head, cells)
    }

    /// Deletes a partition by its serialised key; `None` takes the commit's times.
    pub fn put_partition_deletion(&mut self, table: &TableSchema, key: &[u8], deletion: Option<Deletion>) {
        self.note(table);
        self.encoder.delete_partition(table.id, key, deletion);
    }

    /// Deletes a range of rows of the partition with this serialised key; `None` takes the commit's times. An empty range writes nothing.
    pub fn put_range_deletion(
        &mut self,
        table: &TableSchema,
        key: &[u8],
        range: &ClusteringRange,
        deletion: Option<Deletion>,
    ) {
        self.note(table);
        self.encoder.delete_range(table.id, key, &range.start, &range.end, deletion);
    }

    /// The encoded batch, stamped as far as the client said, for the commit.
    pub(crate) fn encoder(&mut self) -> (&mut BatchEncoder, Option<i64>, &[(TableId, u64)]) {
        (&mut self.encoder, self.timestamp, &self.drops)
    }

    /// Remembers which definition of the table an operation is made by.
    #[inline]
    fn note(&mut self, table: &TableSchema) {
        let known = self.drops.last().is_some_and(|(id, _)| *id == table.id)
            || self.drops.iter().any(|(id, _)| *id == table.id);
        if !known {
            self.drops.push((table.id, table.drops()));
        }
    }

    fn bind_key(&mut self, table: &TableSchema, partition: &[Arg<'_>]) -> Result<()> {
        self.note(table);
        self.key.clear();
        bind::partition_key(table, partition, &mut self.key)
    }

    fn whole_clustering(&mut self, table: &TableSchema, args: &[Arg<'_>]) -> Result<Clustering> {
        match table.clustering().get(args.len()) {
            Some(missing) => {
                Err(Error::invalid(format!("Some clustering keys are missing: {}", missing.name))
                    .in_table(table.full_name()))
            }
            None => bind::clustering(table, args, &mut self.scratch),
        }
    }

    /// The deletion that a statement with a timestamp of its own makes; `None` for the commit's.
    fn deletion(&self, with: With) -> Result<Option<Deletion>> {
        Ok(with.checked_timestamp()?.map(|timestamp| Deletion::new(timestamp, self.encoder.stamp().now)))
    }

    fn write(&mut self, table: &TableSchema, args: &[Arg<'_>], with: With, marker: bool) -> Result<()> {
        let checkpoint = self.encoder.checkpoint();
        let written = self.write_parts(table, args, with, marker);
        if written.is_err() {
            self.encoder.rollback(&checkpoint);
        }
        written
    }

    fn write_parts(&mut self, table: &TableSchema, args: &[Arg<'_>], with: With, marker: bool) -> Result<()> {
        if args.len() > table.columns().len() {
            let text = format!("{} values for {} columns", args.len(), table.columns().len());
            return Err(Error::invalid(text).in_table(table.full_name()));
        }
        if table.is_counter() {
            let text = "the table holds counters, which are only added to and deleted";
            return Err(Error::invalid(text).in_table(table.full_name()).hint("Table::add adds to one"));
        }
        const UNSET: &Arg<'static> = &Arg::Unset;
        let arg = |place: usize| args.get(place).unwrap_or(UNSET);
        self.note(table);
        self.key.clear();
        let key = table.placed_partition_key().map(|(column, place)| (column, arg(place)));
        bind::partition_key_parts(table, key, &mut self.key)?;
        let mut head = RowHead {
            marker,
            timestamp: with.checked_timestamp()?,
            ttl: with.seconds(table)?,
            ..RowHead::default()
        };
        let statics_given = !table.statics().is_empty()
            && table.declared().enumerate().any(|(i, c)| c.kind == ColumnKind::Static && !arg(i).is_unset());
        // As in CQL: a write of static columns alone needs no clustering, and makes no row.
        let only_statics = statics_given
            && table.placed_clustering().all(|(_, place)| arg(place).is_unset())
            && !table
                .declared()
                .enumerate()
                .any(|(i, c)| c.kind == ColumnKind::Regular && !arg(i).is_unset());
        if !only_statics {
            let parts = table.placed_clustering().map(|(column, place)| (column, arg(place)));
            let raw = bind::clustering_bytes(table, parts, &mut self.scratch)?;
            let columns = table.declared().zip(args).filter(|(c, _)| c.kind == ColumnKind::Regular);
            self.put_columns(table, columns, raw, false, &head)?;
        }
        if statics_given {
            head.marker = false;
            let columns = table.declared().zip(args).filter(|(c, _)| c.kind == ColumnKind::Static);
            self.scratch.clear();
            self.put_columns(table, columns, None, true, &head)?;
        }
        Ok(())
    }

    /// Writes columns of the row whose clustering is in `self.scratch`, and as given in `raw` where need be.
    #[inline]
    fn put_columns<'t, 'a: 't>(
        &mut self,
        table: &TableSchema,
        columns: impl Iterator<Item = (&'t Column, &'t Arg<'a>)> + Clone,
        raw: Option<Vec<u8>>,
        is_static: bool,
        head: &RowHead,
    ) -> Result<()> {
        if columns.clone().any(|(column, arg)| {
            !matches!(arg, Arg::Double(_) | Arg::Int(_) | Arg::Unset) && column.ty.is_multicell()
        }) {
            let order = Bytes::new(&self.scratch);
            let clustering = match raw {
                Some(raw) => Clustering::with_raw(order, raw.into()),
                None => Clustering::new(order),
            };
            let row = self.row_with_collections(table, columns, &clustering, head)?;
            self.encoder.row(table.id, &self.key, is_static, &row);
            return Ok(());
        }
        let wire = &mut self.wire;
        let cells = |row: &mut RowEncoder<'_>| {
            for (column, arg) in columns {
                match (arg, &column.ty) {
                    (Arg::Unset, _) => {}
                    (Arg::Null, _) => row.tombstone(column.id),
                    // The usual values go without the detour over a buffer.
                    (Arg::Double(v), CqlType::Double) => row.eight(column.id, v.to_be_bytes()),
                    (Arg::Int(v), CqlType::Bigint) => row.eight(column.id, v.to_be_bytes()),
                    (Arg::Int(v), CqlType::Int) if i32::try_from(*v).is_ok() => {
                        row.four(column.id, (*v as i32).to_be_bytes());
                    }
                    (Arg::Float(v), CqlType::Float) => row.four(column.id, v.to_be_bytes()),
                    (Arg::Text(v), CqlType::Text) => row.value(column.id, v.as_bytes()),
                    _ => {
                        wire.clear();
                        arg.put_wire(&column.ty, wire).map_err(|e| in_column(table, column, &e))?;
                        row.value(column.id, wire);
                    }
                }
            }
            Ok(())
        };
        let place = Place { order: &self.scratch, raw: raw.as_deref() };
        self.encoder.row_with(table.id, &self.key, is_static, place, head, cells)
    }

    fn row_with_collections<'t, 'a: 't>(
        &mut self,
        table: &TableSchema,
        columns: impl Iterator<Item = (&'t Column, &'t Arg<'a>)>,
        clustering: &Clustering,
        head: &RowHead,
    ) -> Result<Row> {
        let stamp = self.encoder.stamp();
        let life = collection::life(head, stamp);
        let mut row = Row::new(clustering.clone());
        row.liveness = head.marker.then_some(life);
        for (column, arg) in columns {
            let fail = |e: Error| in_column(table, column, &e);
            match arg {
                Arg::Unset => {}
                _ if column.ty.is_multicell() => {
                    row.complex
                        .push(collection::overwrite(column, arg, life, head.timestamp, stamp).map_err(fail)?);
                }
                Arg::Null => {
                    let cell = Cell::tombstone(life.timestamp, stamp.now);
                    row.cells.push((column.id, cell));
                }
                _ => {
                    let mut wire = Vec::new();
                    arg.put_wire(&column.ty, &mut wire).map_err(fail)?;
                    row.cells.push((column.id, Cell::live(life, wire.into())));
                }
            }
        }
        Ok(row)
    }
}
