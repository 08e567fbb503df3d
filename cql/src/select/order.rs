//! ORDER BY: the direction in which partitions are read, and whether their rows have to be sorted afterwards.
//!
//! Rows stand in clustering order, so that ORDER BY can only ask for that order or its exact reverse; columns fixed by `=` may be left out. Where
//! IN names several partitions, their rows are sorted by the columns of ORDER BY; equal ones stay in the order of the keys' values.

use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::restrict::Where;
use crate::restrict::relation::column_place;
use crate::syntax::ast::Ordering as OrderBy;
use crate::value::Wire;
use skep_engine::model::compare::compare;
use skep_engine::{ColumnKind, CqlType, Order};
use std::cmp::Ordering;

/// How the rows of a SELECT are ordered.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowOrder {
    /// Each partition is read backward.
    pub(crate) reverse: bool,
    /// The rows of several partitions are sorted by these columns.
    pub(crate) sort: Vec<SortColumn>,
}

/// A column to sort by.
#[derive(Clone, Debug)]
pub(crate) struct SortColumn {
    /// Place in the schema's columns.
    pub(crate) column: usize,
    ty: CqlType,
    descending: bool,
}

/// The columns of ORDER BY, each once: place in the schema's columns, and DESC.
///
/// # Errors
/// For a name that the table has not.
pub(crate) fn columns(table: &TableInfo, order_by: &[OrderBy]) -> Result<Vec<(usize, bool)>> {
    let mut columns: Vec<(usize, bool)> = Vec::with_capacity(order_by.len());
    for ordering in order_by {
        let place = column_place(table, &ordering.column)?;
        if ordering.ann_of.is_some() {
            let text = "ANN ordering by vector requires the column to be indexed using SAI";
            return Err(CqlError::invalid(text).at(ordering.column.place));
        }
        // Named twice, the later direction stands in the earlier place.
        match columns.iter_mut().find(|(column, _)| *column == place) {
            Some(column) => column.1 = ordering.descending,
            None => columns.push((place, ordering.descending)),
        }
    }
    Ok(columns)
}

impl RowOrder {
    /// What ORDER BY asks for.
    ///
    /// # Errors
    /// If the rows do not come in that order, in Cassandra's words.
    pub(crate) fn prepare(restrictions: &Where, columns: &[(usize, bool)]) -> Result<Self> {
        if columns.is_empty() {
            return Ok(Self::default());
        }
        let fail = |text: &str| Err(CqlError::invalid(text));
        if restrictions.is_by_index() {
            return fail("ORDER BY with 2ndary indexes is not supported, except for ANN queries.");
        }
        if restrictions.is_key_range() {
            return fail(
                "ORDER BY is only supported when the partition key is restricted by an EQ or an IN.",
            );
        }
        let schema = &restrictions.table().schema;
        let first = schema.partition_key().len();
        let mut reverse: Option<bool> = None;
        let mut agree = true;
        let mut next = first;
        for &(place, descending) in columns {
            let Some(column) = schema.columns().get(place) else { continue };
            let ColumnKind::Clustering(declared) = column.kind else {
                return Err(CqlError::invalid(format!(
                    "Order by is currently only supported on the clustered columns of the PRIMARY KEY, got {}",
                    column.name
                )));
            };
            while next != place {
                if next > place || !restrictions.is_fixed(next) {
                    return fail(
                        "Order by currently only supports the ordering of columns following their declared order in the \
                         PRIMARY KEY",
                    );
                }
                next += 1;
            }
            next += 1;
            let turned = descending != (declared == Order::Desc);
            agree &= reverse.is_none_or(|reverse| reverse == turned);
            reverse.get_or_insert(turned);
        }
        if !agree {
            return fail("Unsupported order by relation");
        }
        let mut sort = Vec::new();
        if restrictions.has_key_in() {
            for &(place, descending) in columns {
                if let Some(column) = schema.columns().get(place) {
                    sort.push(SortColumn { column: place, ty: column.ty.clone(), descending });
                }
            }
        }
        Ok(Self { reverse: reverse.unwrap_or(false), sort })
    }

    /// How two rows stand to each other, by the values of the columns to sort by.
    pub(crate) fn compare(&self, left: &[Wire], right: &[Wire]) -> Ordering {
        for ((column, left), right) in self.sort.iter().zip(left).zip(right) {
            let (order, turned) = match (left, right) {
                (Some(left), Some(right)) => (compare(left, right, &column.ty), column.descending),
                // A row of statics alone comes before the others in the table's own order.
                (left, right) => (left.is_some().cmp(&right.is_some()), self.reverse),
            };
            if order.is_ne() {
                return if turned { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    }
}
