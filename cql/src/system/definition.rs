//! What a system table is.

use crate::catalog::Picture;
use crate::error::Result;
use skep_engine::{ColumnKind, CqlType, Db, Order, Schema, TableId, TableOptions, TableSchema, Value};

/// A row: values by column; a column that is not there is null.
pub type SystemRow = Vec<(&'static str, Value)>;

/// Makes the rows of a table as things are.
pub type Fill = fn(&Source<'_>) -> Result<Vec<SystemRow>>;

/// The part that a column plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of the partition key.
    Partition,
    /// Of the clustering.
    Clustering,
    /// None.
    Regular,
}

/// A table of a system keyspace.
#[derive(Debug)]
pub struct Definition {
    /// Its keyspace.
    pub keyspace: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it tells.
    pub comment: &'static str,
    /// Name, type and part of each column.
    pub columns: &'static [(&'static str, &'static str, Kind)],
    /// Its rows.
    pub fill: Fill,
}

/// What rows are made from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The schema.
    pub picture: &'a Picture,
    /// The store.
    pub db: &'a Db,
}

impl Definition {
    /// The types of the columns.
    ///
    /// # Errors
    /// A type that is none.
    pub fn types(&self) -> Result<Vec<CqlType>> {
        let parse = |(_, ty, _): &(&str, &str, Kind)| CqlType::parse(ty, &|_, _| None);
        Ok(self.columns.iter().map(parse).collect::<skep_engine::Result<_>>()?)
    }

    /// The columns as of a table that is there.
    ///
    /// # Errors
    /// As [`Definition::types`].
    pub fn table_schema(&self) -> Result<TableSchema> {
        let kind = |kind| match kind {
            Kind::Partition => ColumnKind::PartitionKey,
            Kind::Clustering => ColumnKind::Clustering(Order::Asc),
            Kind::Regular => ColumnKind::Regular,
        };
        let columns = self.columns.iter().zip(self.types()?);
        let columns = columns.map(|((name, _, part), ty)| ((*name).to_owned(), ty, kind(*part))).collect();
        Ok(TableSchema::new(TableId(0), self.keyspace, self.name, columns, TableOptions::default())?)
    }

    /// The definition for the engine.
    ///
    /// # Errors
    /// As [`Definition::types`].
    pub fn schema(&self) -> Result<Schema> {
        let mut schema = Schema::table(self.name).keyspace(self.keyspace).comment(self.comment);
        for ((name, _, kind), ty) in self.columns.iter().zip(self.types()?) {
            schema = match kind {
                Kind::Partition => schema.partition_key(name, ty),
                Kind::Clustering => schema.clustering(name, ty),
                Kind::Regular => schema.column(name, ty),
            };
        }
        Ok(schema)
    }
}
