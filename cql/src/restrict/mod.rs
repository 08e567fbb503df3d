//! WHERE: which partitions, which rows in them, and what is left to filter.
//!
//! `select` and `modify` prepare a [`Where`] once ([`Where::prepare`]) and ask it at each run, with the values of the bind markers, for the
//! partitions ([`Where::partitions`], [`Where::partition_keys`]), for the rows as clusterings ([`Where::clusterings`]) or as ranges in the order
//! of storage ([`Where::ranges`]), and for a filter of what the key does not say ([`Where::filter`]).
//!
//! ```text
//! relation      one relation held against the schema; its terms get their types
//! restriction   what several relations say of one column
//! operand       values at run time, null and unset
//! keys          partitions        clusterings  rows        filter  the rest
//! index         which index could serve
//! ```
//!
//! What may be restricted how, and what needs ALLOW FILTERING, is decided here in Cassandra's order, so that of several mistakes the same one is
//! told, in its words.

pub(crate) mod restriction;
pub(crate) mod operand;
pub mod relation;
pub mod keys;
pub mod clusterings;
pub mod filter;
pub mod index;

pub use clusterings::Extent;
pub use filter::Filter;
pub use index::IndexUse;
pub use keys::Partitions;

use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::restrict::relation::Maker;
use crate::restrict::restriction::{LeftKind, Operand, Restriction, Test, names};
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

    /// Adds one restriction to those before it.
    fn add(&mut self, restriction: Restriction, rules: Rules) -> Result<()> {
        let table = Arc::clone(&self.table);
        let schema = &table.schema;
        if restriction.left == LeftKind::Token {
            let merged = match self.token.take() {
                Some(before) => before.merge(restriction, schema)?,
                None => restriction,
            };
            self.token = Some(merged);
            return Ok(());
        }
        let clusterings =
            schema.partition_key().len()..schema.partition_key().len() + schema.clustering().len();
        if restriction.first() < clusterings.start {
            return add_to(&mut self.keys, restriction, schema);
        }
        if restriction.first() >= clusterings.end {
            return add_to(&mut self.others, restriction, schema);
        }
        let (first, is_slice) = (restriction.first(), restriction.is_slice());
        let indexed = index::supporting(&table, &restriction).is_some();
        let last = self.clustering.last().map(|last| (last.first(), last.is_slice()));
        add_to(&mut self.clustering, restriction, schema)?;
        let Some((last, last_is_slice)) = last.filter(|_| !rules.allow_filtering && !indexed) else {
            return Ok(());
        };
        let name = |place: usize| names(schema, &[place]);
        if last_is_slice && first > last {
            let (column, before) = (name(first), name(last));
            return Err(CqlError::invalid(format!(
                "Clustering column \"{column}\" cannot be restricted (preceding column \"{before}\" is restricted by a \
                 non-EQ relation)"
            )));
        }
        if first < last && is_slice {
            let next = self.clustering.iter().map(Restriction::first).find(|place| *place > first);
            let (column, before) = (name(next.unwrap_or(last)), name(first));
            return Err(CqlError::invalid(format!(
                "PRIMARY KEY column \"{column}\" cannot be restricted (preceding column \"{before}\" is restricted by a \
                 non-EQ relation)"
            )));
        }
        Ok(())
    }

    /// What all restrictions together must fulfil.
    fn check(&mut self, rules: Rules) -> Result<()> {
        let table = Arc::clone(&self.table);
        let can_index = rules.kind == Kind::Select;
        let index =
            if can_index { index::choose(&table, &self.clustering, &self.others, &self.keys) } else { None };
        let indexed = index.is_some();
        let mut uses_index = false;
        self.check_partition_key(rules, indexed, &mut uses_index)?;
        // What the filter would hold, counted as it comes up: an index found later does not change it.
        let mut filtered = if uses_index || self.filters_keys { self.keys.len() } else { 0 };
        if rules.statics_only && !self.clustering.is_empty() {
            match rules.kind {
                Kind::Select => {
                    let text = "Cannot restrict clustering columns when selecting only static columns";
                    return Err(CqlError::invalid(text));
                }
                Kind::Update | Kind::Delete => {
                    return Err(CqlError::invalid(format!(
                        "Invalid restrictions on clustering columns since the {} statement modifies only static columns",
                        rules.kind
                    )));
                }
                Kind::Insert => {}
            }
        }
        self.check_clustering(rules, indexed, &mut uses_index)?;
        if uses_index || self.ranged < self.clustering.len() {
            filtered += self.clustering.len();
        }
        if self.key_range
            && self.clustering.iter().any(|restriction| index::supporting(&table, restriction).is_some())
        {
            uses_index |= can_index;
        }
        if !self.others.is_empty() {
            if rules.kind != Kind::Select {
                let columns: Vec<usize> =
                    self.others.iter().flat_map(|other| other.columns.clone()).collect();
                let columns = names(&table.schema, &columns);
                return Err(CqlError::invalid(format!(
                    "Non PRIMARY KEY columns found in where clause: {columns} "
                )));
            }
            if indexed {
                uses_index = true;
            } else if !rules.allow_filtering {
                return Err(needs_filtering());
            }
        }
        self.index = index.filter(|_| uses_index);
        if rules.kind == Kind::Select && !rules.allow_filtering && (self.key_range || uses_index) {
            // A read over all partitions, or of an index, that would have to leave out rows it has read.
            let many = |other: &Restriction| matches!(&other.test, Test::Contains(all) if all.len() > 1);
            let needed = match filtered + self.others.len() {
                0 => !self.clustering.is_empty(),
                1 => self.others.iter().any(many),
                _ => true,
            };
            self.needs_filtering = needed;
        }
        Ok(())
    }

    fn check_partition_key(&mut self, rules: Rules, indexed: bool, uses_index: &mut bool) -> Result<()> {
        let schema = &self.table.schema;
        let columns = schema.partition_key().len();
        let missing: Vec<usize> =
            (0..columns).filter(|place| !self.keys.iter().any(|key| key.columns.contains(place))).collect();
        let has_slice = self.keys.iter().any(Restriction::is_slice);
        if rules.kind != Kind::Select {
            if self.token.is_some() {
                return Err(CqlError::invalid(format!(
                    "The token function cannot be used in WHERE clauses for {} statements",
                    rules.kind
                )));
            }
            if !missing.is_empty() {
                let names = names(schema, &missing);
                return Err(CqlError::invalid(format!("Some partition key parts are missing: {names}")));
            }
            if has_slice {
                return Err(CqlError::invalid(format!(
                    "Only EQ and IN relation are supported on the partition key (unless you use the token() function) \
                     for {} statements",
                    rules.kind
                )));
            }
            return Ok(());
        }
        if self.keys.is_empty() {
            self.key_range = true;
            *uses_index = indexed && self.token.is_none();
            return Ok(());
        }
        let unnamed = !missing.is_empty() || has_slice || self.keys.iter().any(Restriction::is_contains);
        if unnamed {
            if !rules.allow_filtering && !indexed {
                return Err(needs_filtering());
            }
            self.key_range = true;
            self.filters_keys = true;
            *uses_index = indexed;
        }
        Ok(())
    }

    fn check_clustering(&mut self, rules: Rules, indexed: bool, uses_index: &mut bool) -> Result<()> {
        let schema = &self.table.schema;
        let first = schema.partition_key().len();
        self.ranged = ranged(&self.clustering, first);
        let takes_slices = matches!(rules.kind, Kind::Select | Kind::Delete);
        if !takes_slices {
            if self.clustering.iter().any(Restriction::is_slice) {
                return Err(CqlError::invalid(format!(
                    "Slice restrictions are not supported on the clustering columns in {} statements",
                    rules.kind
                )));
            }
            let missing: Vec<usize> = (first..first + schema.clustering().len())
                .filter(|place| !self.clustering.iter().any(|other| other.columns.contains(place)))
                .collect();
            if !rules.statics_only && !missing.is_empty() {
                let names = names(schema, &missing);
                return Err(CqlError::invalid(format!("Some clustering keys are missing: {names}")));
            }
            return Ok(());
        }
        if self.clustering.iter().any(Restriction::is_contains) && !indexed && !rules.allow_filtering {
            return Err(CqlError::invalid(
                "Clustering columns can only be restricted with CONTAINS with a secondary index or filtering",
            ));
        }
        if self.ranged < self.clustering.len() {
            if indexed {
                *uses_index = true;
            } else if !rules.allow_filtering {
                let restricted =
                    self.clustering.iter().flat_map(|restriction| restriction.columns.iter().copied());
                if let Some((wanted, found)) =
                    (first..).zip(restricted).find(|(wanted, found)| wanted != found)
                {
                    // Over all partitions, data filtering is what is told.
                    if self.key_range {
                        return Err(needs_filtering());
                    }
                    let (column, before) = (names(schema, &[found]), names(schema, &[wanted]));
                    return Err(CqlError::invalid(format!(
                        "PRIMARY KEY column \"{column}\" cannot be restricted as preceding column \"{before}\" is not \
                         restricted"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Refuses a SELECT that reads rows only to leave them out, unless it says ALLOW FILTERING. What concerns a single column [`Where::prepare`]
    /// has told already; this stands apart because other mistakes of the statement are told before it.
    ///
    /// # Errors
    /// If it does.
    pub fn check_filtering(&self) -> Result<()> {
        if self.needs_filtering { Err(needs_filtering()) } else { Ok(()) }
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

/// Adds a restriction to those on the same kind of columns, which stand in the columns' order.
fn add_to(
    all: &mut Vec<Restriction>,
    restriction: Restriction,
    schema: &skep_engine::TableSchema,
) -> Result<()> {
    let shares =
        |other: &Restriction| other.columns.iter().any(|column| restriction.columns.contains(column));
    match all.iter().position(shares) {
        Some(at) => {
            let merged = all.remove(at).merge(restriction, schema)?;
            all.insert(at, merged);
        }
        None => {
            let at = all.iter().position(|other| other.first() > restriction.first()).unwrap_or(all.len());
            all.insert(at, restriction);
        }
    }
    Ok(())
}

/// How many of the restrictions, from the first on, name ranges of rows: up to a gap or CONTAINS, and a slice is the last.
fn ranged(clustering: &[Restriction], first: usize) -> usize {
    let mut next = first;
    for (i, restriction) in clustering.iter().enumerate() {
        if restriction.is_contains() || restriction.first() != next {
            return i;
        }
        if restriction.is_slice() {
            return i + 1;
        }
        next = restriction.last() + 1;
    }
    clustering.len()
}

/// What ALLOW FILTERING is demanded with.
fn needs_filtering() -> CqlError {
    CqlError::invalid(
        "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. If you \
         want to execute this query despite the performance unpredictability, use ALLOW FILTERING",
    )
}

#[cfg(test)]
mod tests;
