//! What a read asks for: ranges of rows, direction, columns, limits, page.
//!
//! A [`Query`] says nothing of keys: the partition, the list of partitions or the range of tokens is named where the read
//! begins. Built by the public API and by CQL, used by all of this directory.

use crate::error::{Error, Result};
use crate::model::cell::ColumnId;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::schema::{Column, ColumnKind, TableSchema};
use crate::read::page::PageState;
use std::sync::Arc;

/// Which rows of the partitions, in which order and how many.
#[derive(Clone, Debug)]
pub struct Query {
    /// Ranges of clusterings, in any order; they may overlap. No range: no rows.
    pub ranges: Vec<ClusteringRange>,
    /// Rows come in the reverse of clustering order.
    pub reverse: bool,
    /// At most so many rows in all.
    pub limit: Option<u64>,
    /// At most so many rows of each partition.
    pub per_partition_limit: Option<u64>,
    /// The columns to read.
    pub columns: Arc<Projection>,
    /// Rows of a page; `None` is all in one.
    pub page_rows: Option<u64>,
    /// Where the page before ended.
    pub page: Option<PageState>,
    /// When tombstones become too many.
    pub tombstones: TombstoneLimits,
}

impl Query {
    /// All rows in clustering order, without limits.
    pub fn new(columns: Arc<Projection>) -> Self {
        Self {
            ranges: vec![ClusteringRange::all()],
            reverse: false,
            limit: None,
            per_partition_limit: None,
            columns,
            page_rows: None,
            page: None,
            tombstones: TombstoneLimits::default(),
        }
    }

    /// Whether the query leaves the clustering open. Only then a partition without rows shows its static row.
    pub fn is_unrestricted(&self) -> bool {
        self.ranges.iter().any(|range| range.start == Bound::bottom() && range.end == Bound::top())
    }

    /// The ranges in clustering order, disjoint, none empty.
    pub fn normal_ranges(&self) -> Vec<ClusteringRange> {
        let mut ranges: Vec<_> = self.ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        let mut disjoint: Vec<ClusteringRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match disjoint.last_mut() {
                Some(last) if range.start <= last.end => last.end = range.end.max(last.end.clone()),
                _ => disjoint.push(range),
            }
        }
        disjoint
    }
}

/// How many tombstones a read may meet. Apache Cassandra's `tombstone_warn_threshold` and `tombstone_failure_threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TombstoneLimits {
    /// More than so many: a warning.
    pub warn: u64,
    /// More than so many: the read is refused.
    pub refuse: u64,
}

impl Default for TombstoneLimits {
    fn default() -> Self {
        Self { warn: 1_000, refuse: 100_000 }
    }
}

/// The columns of a read, in the order in which a result shows them.
#[derive(Clone, Debug)]
pub struct Projection {
    schema: Arc<TableSchema>,
    /// Index of each column in the schema's columns.
    columns: Vec<usize>,
    /// Regular columns among them, by ascending id: id and position in `columns`.
    regulars: Vec<(ColumnId, usize)>,
    statics: Vec<(ColumnId, usize)>,
    lives: bool,
}

impl Projection {
    /// All columns of the table, in the schema's order.
    pub fn all(schema: &Arc<TableSchema>) -> Arc<Self> {
        Arc::new(Self::of_indices(schema, (0..schema.columns().len()).collect()))
    }

    /// The named columns, in this order.
    ///
    /// # Errors
    /// `NotFound` for a name that the table has not, `Invalid` for one that comes twice.
    pub fn of<N: AsRef<str>>(schema: &Arc<TableSchema>, names: &[N]) -> Result<Arc<Self>> {
        let index = |name: &N| {
            let name = name.as_ref();
            let place = schema.columns().iter().position(|column| column.name == name);
            place.ok_or_else(|| {
                Error::not_found(format!("Undefined column name {name}"))
                    .in_table(schema.full_name())
                    .hint(schema.column_list())
            })
        };
        let columns: Vec<usize> = names.iter().map(index).collect::<Result<_>>()?;
        if let Some((_, name)) = columns
            .iter()
            .zip(names)
            .enumerate()
            .find_map(|(i, (column, name))| columns[..i].contains(column).then_some((i, name.as_ref())))
        {
            let text = format!("column {name} is asked for twice");
            return Err(Error::invalid(text).in_table(schema.full_name()));
        }
        Ok(Arc::new(Self::of_indices(schema, columns)))
    }

    fn of_indices(schema: &Arc<TableSchema>, columns: Vec<usize>) -> Self {
        let all = schema.columns();
        let ids = |kind: ColumnKind| {
            let of_kind = columns.iter().enumerate().filter(|&(_, &i)| all[i].kind == kind);
            let mut ids: Vec<_> = of_kind.map(|(at, &i)| (all[i].id, at)).collect();
            ids.sort();
            ids
        };
        let (regulars, statics) = (ids(ColumnKind::Regular), ids(ColumnKind::Static));
        Self { schema: schema.clone(), columns, regulars, statics, lives: false }
    }

    /// The same columns, and for each cell its write time and expiry.
    #[must_use]
    pub fn with_lives(&self) -> Arc<Self> {
        Arc::new(Self { lives: true, ..self.clone() })
    }

    /// The table.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether no column is asked for; rows are then only counted.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Column `i` of the result.
    pub fn column(&self, i: usize) -> Option<&Column> {
        self.schema.columns().get(*self.columns.get(i)?)
    }

    /// The columns of the result.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.columns.iter().map(|&i| &self.schema.columns()[i])
    }

    /// Position of a column in the result.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns().position(|column| column.name == name)
    }

    /// Index in the schema's columns of column `i` of the result.
    pub(crate) fn schema_index(&self, i: usize) -> usize {
        self.columns[i]
    }

    /// Regular columns asked for: id and position, by ascending id.
    pub(crate) fn regulars(&self) -> &[(ColumnId, usize)] {
        &self.regulars
    }

    /// Static columns asked for: id and position, by ascending id.
    pub(crate) fn statics(&self) -> &[(ColumnId, usize)] {
        &self.statics
    }

    /// Whether write times and expiries are asked for.
    pub fn lives(&self) -> bool {
        self.lives
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::{Order, TableId, TableOptions};
    use crate::model::types::CqlType;

    fn schema() -> Arc<TableSchema> {
        let column = |name: &str, kind| (name.to_owned(), CqlType::Int, kind);
        let columns = vec![
            column("pk", ColumnKind::PartitionKey),
            column("ck", ColumnKind::Clustering(Order::Asc)),
            column("s", ColumnKind::Static),
            column("v", ColumnKind::Regular),
        ];
        Arc::new(TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap())
    }

    #[test]
    fn ranges_become_sorted_and_disjoint() {
        let range = |a: u8, b: u8| ClusteringRange { start: Bound::before(&[a]), end: Bound::after(&[b]) };
        let mut query = Query::new(Projection::all(&schema()));
        query.ranges = vec![range(7, 9), range(1, 3), range(5, 4), range(3, 5)];
        assert_eq!(query.normal_ranges(), [range(1, 5), range(7, 9)]);
        assert!(!query.is_unrestricted());
    }

    #[test]
    fn a_projection_keeps_the_order_asked_for_and_names_unknown_columns() {
        let columns = Projection::of(&schema(), &["v", "pk"]).unwrap();
        assert_eq!(columns.columns().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["v", "pk"]);
        assert_eq!(columns.regulars(), [(ColumnId(3), 0)]);
        let error = Projection::of(&schema(), &["x"]).unwrap_err();
        assert_eq!(error.to_string(), "ks.t: Undefined column name x (the columns are pk, ck, s, v)");
    }
}
