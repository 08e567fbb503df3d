//! What a table looks like: its columns, their kinds and types, its options.
//!
//! A [`TableSchema`] is an immutable value; a schema change makes a new one with a higher `version`. Built by the
//! public schema builder (and by CQL), kept in the manifest.

use crate::error::{Error, Result};
use crate::model::cell::ColumnId;
use crate::model::types::{CqlType, UdtType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest name of a column, bytes: Cassandra's limit, and every file of the table repeats the name.
const MAX_NAME: usize = 65_535;

/// Number of a table within its store, never used again after a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

/// Direction of a clustering column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Smallest first.
    #[default]
    Asc,
    /// Greatest first.
    Desc,
}

/// What part a column plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Part of the partition key.
    PartitionKey,
    /// Orders the rows in a partition.
    Clustering(Order),
    /// One value for the whole partition.
    Static,
    /// One value a row.
    Regular,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its number, for good.
    pub id: ColumnId,
    /// Its name, as written (case kept).
    pub name: String,
    /// Its type.
    pub ty: CqlType,
    /// The part it plays.
    pub kind: ColumnKind,
}

/// A column that was dropped: its cells up to `timestamp` stay hidden, also after it is added again.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedColumn {
    /// The column as it was.
    pub column: Column,
    /// Cells written at or before this (micros) are ignored.
    pub timestamp: i64,
}

/// Options of a table, under Cassandra's names.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// Wanted rate of false positives of the bloom filters, over 0 and up to 1 (1: no filter).
    pub bloom_filter_fp_chance: f64,
    /// How long tombstones are kept, seconds.
    pub gc_grace_seconds: u32,
    /// TTL of writes that name none, seconds; 0 is none.
    pub default_time_to_live: i32,
    /// `class` and the strategy's options, as text.
    pub compaction: BTreeMap<String, String>,
    /// `class` (`LZ4Compressor`; `enabled = false`: none) and its options, as text.
    pub compression: BTreeMap<String, String>,
    /// A comment.
    pub comment: String,
    /// Options that are kept and shown and mean nothing here, name to CQL literal.
    pub other: BTreeMap<String, String>,
}

impl Default for TableOptions {
    fn default() -> Self {
        let class = |name: &str| BTreeMap::from([("class".to_owned(), name.to_owned())]);
        Self {
            bloom_filter_fp_chance: 0.01,
            gc_grace_seconds: 864_000,
            default_time_to_live: 0,
            compaction: class("SizeTieredCompactionStrategy"),
            compression: class("LZ4Compressor"),
            comment: String::new(),
            other: BTreeMap::new(),
        }
    }
}

/// A table's definition. Columns stand in the order partition key, clustering, static, regular.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSchema {
    /// Number of the table.
    pub id: TableId,
    /// Keyspace it lives in.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Counts schema changes of this table.
    pub version: u32,
    /// Options.
    pub options: TableOptions,
    columns: Vec<Column>,
    dropped: Vec<DroppedColumn>,
    next_column: u32,
    parts: [usize; 4],
    declared: Vec<usize>,
    positions: Vec<usize>,
    drops: u64,
    counter: bool,
}

impl TableSchema {
    /// A new table. `columns` are (name, type, kind); partition-key and clustering columns in the order of the
    /// primary key, the others in any (they are sorted by name, as in Cassandra).
    ///
    /// # Errors
    /// `Invalid` if there is no partition key, a name comes twice, is empty or longer than 65535 bytes, a static column
    /// has no clustering column to go with, a type nests too deeply, or a key column's type cannot be a key.
    pub fn new(
        id: TableId,
        keyspace: &str,
        name: &str,
        columns: Vec<(String, CqlType, ColumnKind)>,
        options: TableOptions,
    ) -> Result<Self> {
        let columns = columns.into_iter().zip(0..).map(|((name, ty, kind), n)| Column {
            id: ColumnId(n),
            name,
            ty,
            kind,
        });
        let columns: Vec<_> = columns.collect();
        let next_column = columns.len() as u32;
        Self::from_parts(id, keyspace, name, 0, options, columns, Vec::new(), next_column)
    }

    /// Rebuilds a schema from what was stored; same checks and errors as [`TableSchema::new`].
    #[expect(clippy::too_many_arguments, reason = "the fields of a stored schema, read once")]
    pub fn from_parts(
        id: TableId,
        keyspace: &str,
        name: &str,
        version: u32,
        options: TableOptions,
        mut columns: Vec<Column>,
        dropped: Vec<DroppedColumn>,
        next_column: u32,
    ) -> Result<Self> {
        columns.sort_by(|a, b| {
            let rank = |c: &Column| match c.kind {
                ColumnKind::PartitionKey => 0,
                ColumnKind::Clustering(_) => 1,
                ColumnKind::Static => 2,
                ColumnKind::Regular => 3,
            };
            let by_name = || if rank(a) >= 2 { a.name.cmp(&b.name) } else { std::cmp::Ordering::Equal };
            rank(a).cmp(&rank(b)).then_with(by_name)
        });
        let count = |test: fn(ColumnKind) -> bool| columns.iter().filter(|c| test(c.kind)).count();
        let keys = count(|k| k == ColumnKind::PartitionKey);
        let clusterings = count(|k| matches!(k, ColumnKind::Clustering(_)));
        let statics = count(|k| k == ColumnKind::Static);
        let mut declared: Vec<usize> = (0..columns.len()).collect();
        declared.sort_by_key(|i| columns[*i].id);
        let mut positions = vec![0; columns.len()];
        declared.iter().enumerate().for_each(|(position, i)| positions[*i] = position);
        let parts = [keys, keys + clusterings, keys + clusterings + statics, columns.len()];
        let fold = |drops: u64, d: &DroppedColumn| {
            drops.wrapping_mul(31).wrapping_add(d.timestamp as u64 ^ u64::from(d.column.id.0) << 48) | 1
        };
        let drops = dropped.iter().fold(0, fold);
        let counter = columns.iter().any(|column| column.ty.is_counter());
        let schema = Self {
            id,
            keyspace: keyspace.to_owned(),
            name: name.to_owned(),
            version,
            options,
            columns,
            dropped,
            next_column,
            parts,
            declared,
            positions,
            drops,
            counter,
        };
        schema.check().map_err(|e| e.in_table(schema.full_name()))?;
        Ok(schema)
    }

    fn check(&self) -> Result<()> {
        if self.partition_key().is_empty() {
            return Err(Error::invalid("a table needs at least one partition-key column"));
        }
        if !self.statics().is_empty() && self.clustering().is_empty() {
            return Err(Error::invalid("static columns need at least one clustering column"));
        }
        for (i, column) in self.columns.iter().enumerate() {
            if column.name.is_empty() {
                return Err(Error::invalid("a column needs a name"));
            }
            if self.columns[..i].iter().any(|c| c.name == column.name) {
                return Err(Error::invalid(format!("column {} is named twice", column.name)));
            }
            if column.name.len() > MAX_NAME {
                let text =
                    format!("a column's name of {} bytes is over the limit of {MAX_NAME}", column.name.len());
                return Err(Error::invalid(text));
            }
            column.ty.check_storable().map_err(|error| {
                Error::new(error.kind(), format!("column {}: {}", column.name, error.message()))
            })?;
            if i < self.parts[1] && !column.ty.may_be_key() {
                let text =
                    format!("column {} of type {} cannot be part of the primary key", column.name, column.ty);
                return Err(Error::invalid(text));
            }
        }
        Ok(())
    }

    /// `keyspace.table`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.keyspace, self.name)
    }

    /// What to say to somebody who named a column that is not there: the columns in declared order.
    pub(crate) fn column_list(&self) -> String {
        let names: Vec<_> = self.declared().map(|column| column.name.as_str()).collect();
        format!("the columns are {}", names.join(", "))
    }

    /// All columns: partition key, clustering, static, regular.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// All columns in the order in which they were declared, later added ones last: the order of a positional row.
    pub fn declared(&self) -> impl ExactSizeIterator<Item = &Column> + Clone {
        self.declared.iter().map(|i| &self.columns[*i])
    }

    /// Partition-key columns in key order, each with its place among the declared columns.
    pub fn placed_partition_key(&self) -> impl Iterator<Item = (&Column, usize)> {
        self.partition_key().iter().zip(self.positions.iter().copied())
    }

    /// Clustering columns in key order, each with its place among the declared columns.
    pub fn placed_clustering(&self) -> impl Iterator<Item = (&Column, usize)> {
        self.clustering().iter().zip(self.positions[self.parts[0]..].iter().copied())
    }

    /// Partition-key columns in key order.
    pub fn partition_key(&self) -> &[Column] {
        &self.columns[..self.parts[0]]
    }

    /// Clustering columns in key order.
    pub fn clustering(&self) -> &[Column] {
        &self.columns[self.parts[0]..self.parts[1]]
    }

    /// Static columns by name.
    pub fn statics(&self) -> &[Column] {
        &self.columns[self.parts[1]..self.parts[2]]
    }

    /// Regular columns by name.
    pub fn regulars(&self) -> &[Column] {
        &self.columns[self.parts[2]..]
    }

    /// Dropped columns, a re-added one included.
    pub fn dropped(&self) -> &[DroppedColumn] {
        &self.dropped
    }

    /// The number that the next new column gets.
    pub fn next_column(&self) -> u32 {
        self.next_column
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// A column by id.
    pub fn column_by_id(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|c| c.id == id)
    }

    /// Up to which write time (micros) cells of a column are ignored, if it was ever dropped.
    pub fn dropped_at(&self, id: ColumnId) -> Option<i64> {
        self.dropped.iter().find(|d| d.column.id == id).map(|d| d.timestamp)
    }

    /// The schema with a static or regular column added.
    ///
    /// # Errors
    /// `Invalid` if the name is taken, the kind is a key's, or a dropped column of that name had another kind or a
    /// type whose values the new one cannot read (wording as Cassandra's).
    pub fn add_column(&self, name: &str, ty: CqlType, kind: ColumnKind) -> Result<Self> {
        let fail = |text: String| Err(Error::invalid(text).in_table(self.full_name()));
        if !matches!(kind, ColumnKind::Static | ColumnKind::Regular) {
            return fail(format!("cannot add key column {name} to an existing table"));
        }
        let mut next_column = self.next_column;
        let id = match self.dropped.iter().find(|d| d.column.name == name) {
            Some(old) if old.column.kind != kind => {
                let word = |k: ColumnKind| if k == ColumnKind::Static { "STATIC" } else { "REGULAR" };
                return fail(format!(
                    "Cannot re-add previously dropped column '{name}' of kind {}, incompatible with previous kind {}",
                    word(kind),
                    word(old.column.kind)
                ));
            }
            Some(old) if !ty.reads_values_of(&old.column.ty) => {
                return fail(format!(
                    "Cannot add a column '{name}' of type {ty}, incompatible with previously dropped column \
                     '{name}' of type {}",
                    old.column.ty
                ));
            }
            Some(old) => old.column.id,
            None => {
                next_column += 1;
                ColumnId(self.next_column)
            }
        };
        let mut columns = self.columns.clone();
        columns.push(Column { id, name: name.to_owned(), ty, kind });
        self.changed(columns, self.dropped.clone(), next_column)
    }

    /// The schema without a static or regular column; its cells up to `timestamp` (micros) stay hidden for good.
    ///
    /// # Errors
    /// `NotFound` if there is no such column, `Invalid` if it is part of the primary key.
    pub fn drop_column(&self, name: &str, timestamp: i64) -> Result<Self> {
        let Some(column) = self.column(name) else {
            return Err(Error::not_found(format!("no column {name}")).in_table(self.full_name()));
        };
        if !matches!(column.kind, ColumnKind::Static | ColumnKind::Regular) {
            let text = format!("cannot drop {name}: it is part of the primary key");
            return Err(Error::invalid(text).in_table(self.full_name()));
        }
        let mut dropped = self.dropped.clone();
        // A second drop never uncovers what the first one hid.
        let earlier = self.dropped_at(column.id).unwrap_or(i64::MIN);
        dropped.retain(|d| d.column.id != column.id);
        dropped.push(DroppedColumn { column: column.clone(), timestamp: timestamp.max(earlier) });
        let columns = self.columns.iter().filter(|c| c.name != name).cloned().collect();
        self.changed(columns, dropped, self.next_column)
    }

    /// The schema with a column of the primary key under another name. Data has columns by number, so that nothing stored changes.
    ///
    /// # Errors
    /// `NotFound` if there is no column `from`; `Invalid` if it is no key column or `to` is taken or no name.
    pub fn rename_column(&self, from: &str, to: &str) -> Result<Self> {
        let place = self.columns.iter().position(|column| column.name == from);
        let Some(place) = place else {
            return Err(Error::not_found(format!("no column {from}")).in_table(self.full_name()));
        };
        if place >= self.parts[1] {
            let text = format!("cannot rename {from}: it is not part of the primary key");
            return Err(Error::invalid(text).in_table(self.full_name()));
        }
        let mut columns = self.columns.clone();
        to.clone_into(&mut columns[place].name);
        self.changed(columns, self.dropped.clone(), self.next_column)
    }

    /// The schema with every occurrence of a user type (that of the same keyspace and name, at any depth) replaced by `new`, in
    /// dropped columns too; `None` if there is none. Stored values are read with the new fields: they may only be added at the end or renamed.
    ///
    /// # Errors
    /// `Invalid` if a key column cannot have its new type.
    pub fn with_type(&self, new: &Arc<UdtType>) -> Result<Option<Self>> {
        if !self.uses_type(&new.keyspace, &new.name) {
            return Ok(None);
        }
        let (mut columns, mut dropped) = (self.columns.clone(), self.dropped.clone());
        for column in columns.iter_mut().chain(dropped.iter_mut().map(|dropped| &mut dropped.column)) {
            if let Some(ty) = column.ty.with_udt(new) {
                column.ty = ty;
            }
        }
        self.changed(columns, dropped, self.next_column).map(Some)
    }

    /// Whether a column, live or dropped, has a user type at any depth.
    pub fn uses_type(&self, keyspace: &str, name: &str) -> bool {
        let dropped = self.dropped.iter().map(|dropped| &dropped.column);
        self.columns.iter().chain(dropped).any(|column| column.ty.uses_type(keyspace, name))
    }

    /// Whether it has counters, and so nothing else beside its key.
    pub fn is_counter(&self) -> bool {
        self.counter
    }

    /// A number that is another one after each drop of a column, 0 if there was none. What was made for a schema with another number may hold
    /// values that were to be hidden.
    pub(crate) fn drops(&self) -> u64 {
        self.drops
    }

    /// The schema with other options.
    pub fn with_options(&self, options: TableOptions) -> Self {
        Self { options, version: self.version + 1, ..self.clone() }
    }

    fn changed(&self, columns: Vec<Column>, dropped: Vec<DroppedColumn>, next_column: u32) -> Result<Self> {
        let options = self.options.clone();
        let version = self.version + 1;
        Self::from_parts(self.id, &self.keyspace, &self.name, version, options, columns, dropped, next_column)
    }
}
