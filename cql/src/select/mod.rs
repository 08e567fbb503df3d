//! SELECT: the plan of one, made once, and its runs.
//!
//! [`SelectPlan::prepare`] holds the statement against the schema: columns and functions (`selector`), WHERE (`restrict`), the order of
//! rows, groups, limits. [`SelectPlan::run`] gives a page of rows; [`SelectPlan::batches`] gives the engine's batches as they are, for
//! statements that select plain columns.
//!
//! ```text
//! selection   what is shown of a row or group; which columns that needs
//! order       ORDER BY      group  GROUP BY
//! finder      rows that an index names
//! pump        rows out of the store one by one, filtered, with a place to go on behind each
//! base        lives of cells of a view: those of its base
//! count       limits and pages      loops  rows, groups, sorted partitions
//! run         one run of it
//! totals      aggregates that the engine's index answers
//! restate     the read as CQL, for warnings
//! told        the plan in words
//! ```

pub mod finder;
pub(crate) mod base;
pub(crate) mod pump;
pub(crate) mod restate;
pub(crate) mod order;
pub(crate) mod group;
pub(crate) mod selection;
mod totals;
pub(crate) mod count;
mod loops;
mod told;
pub mod run;
mod batches;

pub use batches::Batches;
pub use finder::{Finder, Found, FoundRows, NoIndexes};

use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::restrict::{Kind, Rules, Where};
use crate::select::group::{GroupColumns, group_columns, names_in};
use crate::select::order::RowOrder;
use crate::select::selection::{Output, Selection};
use crate::syntax::ast::{Expr, Name, Select};
use crate::term::{Preparing, Term};
use crate::value::ColumnSpec;
use skep_engine::{ColumnKind, CqlType, Projection};
use std::sync::Arc;

/// How rows become groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// Not at all.
    None,
    /// All of them are one group: aggregates without GROUP BY.
    All,
    /// GROUP BY.
    Columns(GroupColumns),
}

/// A prepared SELECT.
#[derive(Debug)]
pub struct SelectPlan {
    table: Arc<TableInfo>,
    restrictions: Where,
    selection: Selection,
    /// The columns that are read.
    projection: Arc<Projection>,
    distinct: bool,
    /// SELECT JSON: the names and types that go into the object.
    json: Option<Vec<ColumnSpec>>,
    order: RowOrder,
    grouping: Grouping,
    /// The function in GROUP BY.
    group_function: Option<Output>,
    limit: Option<Term>,
    per_partition_limit: Option<Term>,
    /// The columns of the result.
    columns: Arc<[ColumnSpec]>,
    /// Places in the projection of the clustering columns, in key order, as far as they are read.
    clustering_places: Vec<usize>,
    /// Places in the projection of the columns to sort by.
    sort_places: Vec<usize>,
}

impl SelectPlan {
    /// Holds a SELECT against its table.
    ///
    /// # Errors
    /// What is wrong with it, in Cassandra's words.
    pub fn prepare(select: &Select, table: &Arc<TableInfo>, cx: &mut Preparing<'_>) -> Result<Self> {
        let mut named: Vec<&Name> = Vec::new();
        select.selectors.iter().for_each(|(expr, _)| names_in(expr, &mut named));
        let named = places_of(table, &named)?;
        let rules = Rules {
            kind: Kind::Select,
            statics_only: selects_statics_only(table, select, &named),
            allow_filtering: select.allow_filtering,
        };
        let order_columns = order::columns(table, &select.order_by)?;
        let restrictions = Where::prepare(cx, table, &select.relations, rules)?;
        let selection = Selection::prepare(select, table, cx)?;
        if select.distinct {
            check_distinct(select, &restrictions, &selection)?;
        }
        let grouping = match select.group_by.as_slice() {
            [] if selection.is_aggregate() => Grouping::All,
            [] => Grouping::None,
            columns => Grouping::Columns(group_columns(&restrictions, columns, select.distinct)?),
        };
        if grouping == Grouping::All && select.per_partition_limit.is_some() {
            return Err(CqlError::invalid("PER PARTITION LIMIT is not allowed with aggregate queries."));
        }
        let group_function = match (grouping, select.group_by.last()) {
            (Grouping::Columns(GroupColumns { in_function: true, .. }), Some(function)) => {
                let made = Output::prepare(function, table, cx)?;
                if let Some(function) = made.aggregate() {
                    return Err(CqlError::invalid(format!(
                        "Aggregate functions are not supported within the GROUP BY clause, got: system.{function}"
                    )));
                }
                Some(made)
            }
            _ => None,
        };
        let order = RowOrder::prepare(&restrictions, &order_columns)?;
        restrictions.check_filtering()?;
        let limit = limit_term(select.limit.as_ref(), "[limit]", table, cx)?;
        let per_partition_limit =
            limit_term(select.per_partition_limit.as_ref(), "[per_partition_limit]", table, cx)?;
        let shown = selection.specs().to_vec();
        let (columns, json): (Arc<[ColumnSpec]>, _) = match select.json {
            true => (Arc::new([spec(table, "[json]", CqlType::Text)]), Some(shown)),
            false => (shown.into(), None),
        };
        let mut plan = Self {
            table: Arc::clone(table),
            restrictions,
            selection,
            projection: Projection::all(&table.schema),
            distinct: select.distinct,
            json,
            order,
            grouping,
            group_function,
            limit,
            per_partition_limit,
            columns,
            clustering_places: Vec::new(),
            sort_places: Vec::new(),
        };
        plan.project()?;
        Ok(plan)
    }

    /// Decides which columns are read, and tells everybody where in them theirs stand.
    fn project(&mut self) -> Result<()> {
        let schema = &self.table.schema;
        let mut needed: Vec<usize> = Vec::new();
        let mut need = |place: usize| {
            if !needed.contains(&place) {
                needed.push(place);
            }
        };
        self.selection.columns().for_each(&mut need);
        self.restrictions.filtered_columns().for_each(&mut need);
        self.order.sort.iter().map(|column| column.column).for_each(&mut need);
        self.group_function.iter().flat_map(Output::columns).for_each(&mut need);
        // Pages go on behind a row's place; groups are told apart by it.
        if !self.distinct && self.grouping != Grouping::All {
            let first = schema.partition_key().len();
            (first..first + schema.clustering().len()).for_each(&mut need);
        }
        let names: Vec<&str> = needed
            .iter()
            .filter_map(|place| schema.columns().get(*place))
            .map(|column| column.name.as_str())
            .collect();
        let columns = Projection::of(schema, &names)?;
        self.projection = if self.selection.reads_lives() { columns.with_lives() } else { columns };
        self.selection.bind(schema, &self.projection);
        if let Some(function) = &mut self.group_function {
            function.bind(schema, &self.projection);
        }
        let position = |name: &str| self.projection.position(name);
        self.clustering_places =
            schema.clustering().iter().filter_map(|column| position(&column.name)).collect();
        let sorted = self.order.sort.iter().filter_map(|column| schema.columns().get(column.column));
        self.sort_places = sorted.filter_map(|column| position(&column.name)).collect();
        Ok(())
    }

    /// The columns of the result.
    #[must_use]
    pub fn columns(&self) -> &Arc<[ColumnSpec]> {
        &self.columns
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Arc<TableInfo> {
        &self.table
    }

    /// WHERE.
    #[must_use]
    pub fn restrictions(&self) -> &Where {
        &self.restrictions
    }
}

fn spec(table: &TableInfo, name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: table.keyspace().to_owned(),
        table: table.name().to_owned(),
        name: name.to_owned(),
        ty,
    }
}

fn limit_term(
    limit: Option<&Expr>,
    name: &str,
    table: &TableInfo,
    cx: &mut Preparing<'_>,
) -> Result<Option<Term>> {
    limit.map(|limit| Term::prepare(limit, &spec(table, name, CqlType::Int), cx)).transpose()
}

/// The places of named columns in the schema's columns.
fn places_of(table: &TableInfo, names: &[&Name]) -> Result<Vec<usize>> {
    names.iter().map(|name| crate::restrict::relation::column_place(table, name)).collect()
}

/// Whether static columns are selected, and besides them only the partition key. DISTINCT says so itself.
fn selects_statics_only(table: &TableInfo, select: &Select, named: &[usize]) -> bool {
    if select.selectors.is_empty() || table.schema.statics().is_empty() {
        return false;
    }
    let kind = |place: &usize| table.schema.columns().get(*place).map(|column| column.kind);
    let is_static = |place: &usize| kind(place) == Some(ColumnKind::Static);
    named.iter().any(is_static)
        && named.iter().all(|place| is_static(place) || kind(place) == Some(ColumnKind::PartitionKey))
}

/// What DISTINCT allows.
fn check_distinct(select: &Select, restrictions: &Where, selection: &Selection) -> Result<()> {
    if select.per_partition_limit.is_some() {
        return Err(CqlError::invalid("PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"));
    }
    if !restrictions.is_of_partitions() {
        return Err(CqlError::invalid(
            "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns.",
        ));
    }
    let schema = &restrictions.table().schema;
    let selected: Vec<usize> = selection.columns().collect();
    for place in &selected {
        if let Some(column) = schema.columns().get(*place)
            && !matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Static)
        {
            return Err(CqlError::invalid(format!(
                "SELECT DISTINCT queries must only request partition key columns and/or static columns (not {})",
                column.name
            )));
        }
    }
    if restrictions.is_key_range()
        && let Some((_, missing)) =
            schema.partition_key().iter().enumerate().find(|(place, _)| !selected.contains(place))
    {
        return Err(CqlError::invalid(format!(
            "SELECT DISTINCT queries must request all the partition key columns (missing {})",
            missing.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
