//! WHERE: which partitions, which rows in them, and what is left to filter.
//!
//! `select` and `modify` prepare a [`Where`] once ([`Where::prepare`]) and ask it at each run, with the values of the bind markers, for the
//! partitions ([`Where::partitions`], [`Where::partition_keys`]), for the rows as clusterings ([`Where::clusterings`]) or as ranges in the order
//! of storage ([`Where::ranges`]), and for a filter of what the key does not say ([`Where::filter`]).
//!
//! ```text
//! relation      one relation held against the schema; its terms get their types
//! restriction   what several relations say of one column
//! check         what they mean together
//! advice        what helps where ALLOW FILTERING is missing
//! operand       values at run time, null and unset
//! keys          partitions        clusterings  rows        filter  the rest
//! index         which index could serve
//! told          WHERE as text, with values
//! ```
//!
//! What may be restricted how, and what needs ALLOW FILTERING, is decided here in Cassandra's order, so that of several mistakes the same one is
//! told, in its words.

pub(crate) mod restriction;
pub(crate) mod operand;
pub mod relation;
mod check;
mod advice;
pub mod keys;
pub mod clusterings;
pub mod filter;
pub mod index;
mod told;

pub use clusterings::Extent;
pub use filter::Filter;
pub use index::IndexUse;
pub use keys::Partitions;

use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::restrict::relation::Maker;
use crate::restrict::restriction::{LeftKind, Operand, Restriction, Test};
use crate::syntax::ast::Relation;
use crate::term::{Preparing, Term};
use skep_engine::ColumnKind;
use std::fmt;
use std::sync::Arc;

/// The most keys or rows that the IN lists of one statement may multiply to.
const MAX_PRODUCT: usize = 1 << 20;

fn too_many() -> CqlError {
    CqlError::invalid(format!("The IN restrictions name more than {MAX_PRODUCT} keys or rows"))
        .hint("ask in several statements")
}

/// The kind of statement that a WHERE belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SELECT.
    Select,
    /// INSERT: its columns restrict by `=`.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        })
    }
}

/// What decides which restrictions are allowed.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The statement.
    pub kind: Kind,
    /// It selects, sets or deletes static columns only (and at least one).
    pub statics_only: bool,
    /// ALLOW FILTERING.
    pub allow_filtering: bool,
}

/// A prepared WHERE.
#[derive(Clone, Debug)]
pub struct Where {
    table: Arc<TableInfo>,
    /// Of partition-key columns, in key order.
    keys: Vec<Restriction>,
    /// token(...).
    token: Option<Restriction>,
    /// Of clustering columns, in key order.
    clustering: Vec<Restriction>,
    /// How many of these, from the first on, become ranges of rows.
    ranged: usize,
    /// Of static and regular columns, in the schema's order.
    others: Vec<Restriction>,
    /// Partitions are read by token rather than by key.
    key_range: bool,
    /// The partition key is restricted, but not so that keys can be named.
    filters_keys: bool,
    /// The index that serves.
    index: Option<IndexUse>,
    /// ALLOW FILTERING is missing.
    needs_filtering: bool,
}

impl Where {
    /// Prepares WHERE.
    ///
    /// # Errors
    /// What is wrong with it, in Cassandra's words.
    pub fn prepare(
        cx: &mut Preparing<'_>,
        table: &Arc<TableInfo>,
        relations: &[Relation],
        rules: Rules,
    ) -> Result<Self> {
        let mut made = Self::empty(table);
        for relation in relations {
            let restriction = Maker { table, schema: &table.schema, cx }.restriction(relation)?;
            made.add(restriction, rules).map_err(|error| error.at(relation.place))?;
        }
        made.check(rules)?;
        Ok(made)
    }

    /// WHERE of an INSERT: the key columns (by place in the schema's columns) with their values.
    ///
    /// # Errors
    /// For key columns that are missing.
    pub fn of_insert(table: &Arc<TableInfo>, values: Vec<(usize, Term)>, statics_only: bool) -> Result<Self> {
        let rules = Rules { kind: Kind::Insert, statics_only, allow_filtering: false };
        let mut made = Self::empty(table);
        for (column, term) in values {
            let test = Test::Eq(Operand::Each(vec![term]));
            made.add(Restriction { columns: vec![column], left: LeftKind::Single, test }, rules)?;
        }
        made.check(rules)?;
        Ok(made)
    }

    fn empty(table: &Arc<TableInfo>) -> Self {
        Self {
            table: Arc::clone(table),
            keys: Vec::new(),
            token: None,
            clustering: Vec::new(),
            ranged: 0,
            others: Vec::new(),
            key_range: false,
            filters_keys: false,
            index: None,
            needs_filtering: false,
        }
    }

    /// Refuses a SELECT that reads rows only to leave them out, unless it says ALLOW FILTERING. What concerns a single column [`Where::prepare`]
    /// has told already; this stands apart because other mistakes of the statement are told before it.
    ///
    /// # Errors
    /// If it does.
    pub fn check_filtering(&self) -> Result<()> {
        if self.needs_filtering { Err(self.filtering_needed()) } else { Ok(()) }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Arc<TableInfo> {
        &self.table
    }

    /// Whether partitions are read in the order of tokens, all of them or a range, rather than by their keys.
    #[must_use]
    pub fn is_key_range(&self) -> bool {
        self.key_range
    }

    /// Whether the partition key is restricted at all, by token() too.
    #[must_use]
    pub fn restricts_partition_key(&self) -> bool {
        !self.keys.is_empty() || self.token.is_some()
    }

    /// Whether IN is used on the partition key.
    #[must_use]
    pub fn has_key_in(&self) -> bool {
        self.keys.iter().any(Restriction::is_in)
    }

    /// Whether clustering columns are restricted.
    #[must_use]
    pub fn restricts_clustering(&self) -> bool {
        !self.clustering.is_empty()
    }

    /// Whether IN is used on the clustering columns.
    #[must_use]
    pub fn has_clustering_in(&self) -> bool {
        self.clustering.iter().any(Restriction::is_in)
    }

    /// Whether a slice is used on the clustering columns.
    #[must_use]
    pub fn has_slice(&self) -> bool {
        self.clustering.iter().any(Restriction::is_slice)
    }

    /// Whether rows have to be filtered.
    #[must_use]
    pub fn needs_filter(&self) -> bool {
        self.filtered_columns().next().is_some()
    }

    /// Whether a column, by its place in the schema's columns, is fixed by `=`.
    #[must_use]
    pub fn is_fixed(&self, column: usize) -> bool {
        let all = self.keys.iter().chain(&self.clustering).chain(&self.others);
        all.into_iter().any(|restriction| restriction.is_eq() && restriction.columns.contains(&column))
    }

    /// Whether only columns of the partition key and static ones are restricted.
    #[must_use]
    pub fn is_of_partitions(&self) -> bool {
        let columns = self.table.schema.columns();
        let is_static =
            |place: &usize| columns.get(*place).is_some_and(|column| column.kind == ColumnKind::Static);
        self.clustering.is_empty() && self.others.iter().all(|other| other.columns.iter().all(is_static))
    }

    /// The index that serves, if one does.
    #[must_use]
    pub fn index(&self) -> Option<&IndexUse> {
        self.index.as_ref()
    }
}

#[cfg(test)]
mod tests;
