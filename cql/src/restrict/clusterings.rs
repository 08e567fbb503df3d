//! Which rows of the partitions: full clusterings, or ranges of them.
//!
//! The first restrictions of the clustering columns, `=` and IN up to one slice, become ranges of rows in the order of storage
//! ([`Where::ranges`]); what stands behind a gap or a slice is left to the filter.

use crate::error::{CqlError, Result};
use crate::restrict::Where;
use crate::restrict::operand::{Words, column_name, key_lists, key_parts, parts};
use crate::restrict::restriction::{End, LeftKind, Restriction, Slice, Test};
use crate::term::EvalContext;
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::{Clustering, ClusteringRange};
use std::ops::Bound;

/// How much of the clustering a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing of it: whole partitions.
    Partitions,
    /// All of it by `=` and IN: single rows.
    Rows,
    /// Some of it, or a slice: ranges of rows.
    Ranges,
}

impl Where {
    /// How much of the clustering is named. A table without clustering columns has one row per partition: [`Extent::Rows`].
    #[must_use]
    pub fn extent(&self) -> Extent {
        let columns = self.table.schema.clustering().len();
        let restricted: usize = self.clustering.iter().map(|restriction| restriction.columns.len()).sum();
        let equal = self.clustering.iter().all(|restriction| restriction.is_eq() || restriction.is_in());
        match restricted {
            _ if restricted == columns && equal => Extent::Rows,
            0 => Extent::Partitions,
            _ => Extent::Ranges,
        }
    }

    /// The clusterings that the statement names in full ([`Extent::Rows`]), in clustering order, each once; of an [`Extent::Partitions`] the
    /// empty one.
    ///
    /// # Errors
    /// For null and unset parts, and clusterings that are too long.
    pub fn clusterings(&self, cx: &EvalContext<'_>) -> Result<Vec<Clustering>> {
        let schema = &self.table.schema;
        let prefixes = self.prefixes(self.clustering.iter(), cx)?;
        let mut rows = Vec::with_capacity(prefixes.len());
        for prefix in &prefixes {
            rows.push(key::clustering(schema, prefix)?);
        }
        rows.sort();
        rows.dedup();
        Ok(rows)
    }

    /// The ranges of rows, in any order; they do not overlap unless IN names a value twice. No range: no rows.
    ///
    /// # Errors
    /// For null and unset parts. A slice against null holds no rows.
    pub fn ranges(&self, cx: &EvalContext<'_>) -> Result<Vec<ClusteringRange>> {
        let schema = &self.table.schema;
        let (slice, equal) = match self.clustering[..self.ranged].split_last() {
            None => return Ok(vec![ClusteringRange::all()]),
            Some((last, before)) => match &last.test {
                Test::Slice(slice) => (Some((last, slice)), before),
                _ => (None, &self.clustering[..self.ranged]),
            },
        };
        let prefixes = self.prefixes(equal.iter(), cx)?;
        let mut ranges = Vec::with_capacity(prefixes.len());
        let Some((restriction, slice)) = slice else {
            for prefix in &prefixes {
                ranges.push(key::prefix_range(schema, prefix)?);
            }
            return Ok(ranges);
        };
        let Some((from, to)) = self.ends(restriction, slice, cx)? else { return Ok(Vec::new()) };
        for prefix in &prefixes {
            ranges.extend(key::slice(schema, prefix, as_bound(&from), as_bound(&to))?);
        }
        Ok(ranges)
    }

    /// Values of the first clustering columns: the product of all that `=` and IN name.
    fn prefixes<'a>(
        &self,
        restrictions: impl Iterator<Item = &'a Restriction>,
        cx: &EvalContext<'_>,
    ) -> Result<Vec<Vec<Bytes>>> {
        let schema = &self.table.schema;
        let mut prefixes: Vec<Vec<Bytes>> = vec![Vec::new()];
        for restriction in restrictions {
            match &restriction.test {
                Test::Eq(operand) => {
                    let values = key_parts(operand, restriction, schema, cx)?;
                    prefixes.iter_mut().for_each(|prefix| prefix.extend(values.iter().cloned()));
                }
                Test::In(operands) => {
                    let mut lists = key_lists(operands, restriction, schema, cx)?;
                    lists.sort();
                    lists.dedup();
                    let count = prefixes.len().checked_mul(lists.len());
                    let count =
                        count.filter(|count| *count <= super::MAX_PRODUCT).ok_or_else(super::too_many)?;
                    let mut product = Vec::with_capacity(count);
                    for prefix in &prefixes {
                        for list in &lists {
                            product.push(prefix.iter().chain(list).cloned().collect());
                        }
                    }
                    prefixes = product;
                }
                Test::Slice(_) | Test::Contains(_) => {
                    return Err(CqlError::invalid("The rows are not named by = or IN"));
                }
            }
        }
        Ok(prefixes)
    }

    /// The ends of a slice; None if one is null.
    #[expect(clippy::type_complexity, reason = "the two ends of a slice, as the engine takes them")]
    fn ends(
        &self,
        restriction: &Restriction,
        slice: &Slice,
        cx: &EvalContext<'_>,
    ) -> Result<Option<(Bound<Vec<Bytes>>, Bound<Vec<Bytes>>)>> {
        let schema = &self.table.schema;
        let place = |end: &Option<End>| -> Result<Option<Bound<Vec<Bytes>>>> {
            let Some(end) = end else { return Ok(Some(Bound::Unbounded)) };
            let values = match restriction.left {
                LeftKind::Single => {
                    let parts = parts(&end.operand, restriction, schema, Words::Key, cx)?;
                    let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
                    parts
                }
                _ => {
                    let parts = parts(&end.operand, restriction, schema, Words::Key, cx)?;
                    let null = |i: usize| Words::Key.null(column_name(restriction, i, schema));
                    let parts = parts.into_iter().enumerate().map(|(i, part)| part.ok_or_else(|| null(i)));
                    parts.collect::<Result<_>>()?
                }
            };
            Ok(Some(if end.inclusive { Bound::Included(values) } else { Bound::Excluded(values) }))
        };
        let (from, to) = (place(&slice.start)?, place(&slice.end)?);
        Ok(from.zip(to))
    }
}

fn as_bound(bound: &Bound<Vec<Bytes>>) -> Bound<&[Bytes]> {
    match bound {
        Bound::Included(values) => Bound::Included(values),
        Bound::Excluded(values) => Bound::Excluded(values),
        Bound::Unbounded => Bound::Unbounded,
    }
}
