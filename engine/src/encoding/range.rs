//! A range of rows as a program states it, and as bounds.

use crate::encoding::bind;
use crate::error::{Error, Result};
use crate::model::arg::Arg;
use crate::model::clustering::{Bound, ClusteringRange};
use crate::model::schema::{ColumnKind, Order, TableSchema};
use std::ops;

/// Rows whose first clustering columns equal `prefix` and whose next one lies between two ends.
///
/// Ends are values, smaller to greater, whatever the column's direction on disk: `t0..t1` means the same for an ASC and
/// a DESC column. Made from Rust ranges (`t0..t1`, `t0..=t1`, `t0..`, `..t1`, `..`) and extended by [`KeyRange::within`].
#[derive(Clone, Debug, Default)]
pub struct KeyRange<'a> {
    prefix: Vec<Arg<'a>>,
    from: End<'a>,
    to: End<'a>,
}

/// One end of a range.
#[derive(Clone, Debug, Default)]
enum End<'a> {
    #[default]
    Open,
    Included(Arg<'a>),
    Excluded(Arg<'a>),
}

impl<'a> KeyRange<'a> {
    /// All rows of a partition.
    pub fn all() -> Self {
        Self::default()
    }

    /// The rows whose first clustering columns equal `prefix` (`row![...]`).
    pub fn prefix(prefix: impl Into<Vec<Arg<'a>>>) -> Self {
        Self { prefix: prefix.into(), ..Self::default() }
    }

    /// The same ends, for the column after those of `prefix`.
    #[must_use]
    pub fn within(self, prefix: impl Into<Vec<Arg<'a>>>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// From `value` on.
    #[must_use]
    pub fn at_least(self, value: impl Into<Arg<'a>>) -> Self {
        Self { from: End::Included(value.into()), ..self }
    }

    /// Above `value`.
    #[must_use]
    pub fn above(self, value: impl Into<Arg<'a>>) -> Self {
        Self { from: End::Excluded(value.into()), ..self }
    }

    /// Up to and with `value`.
    #[must_use]
    pub fn at_most(self, value: impl Into<Arg<'a>>) -> Self {
        Self { to: End::Included(value.into()), ..self }
    }

    /// Below `value`.
    #[must_use]
    pub fn below(self, value: impl Into<Arg<'a>>) -> Self {
        Self { to: End::Excluded(value.into()), ..self }
    }

    /// The bounds for a table.
    ///
    /// # Errors
    /// `Invalid` for more values than clustering columns, or null, unset or ill-typed ones.
    pub fn bounds(&self, schema: &TableSchema) -> Result<ClusteringRange> {
        let ends = usize::from(!matches!((&self.from, &self.to), (End::Open, End::Open)));
        if self.prefix.len() + ends > schema.clustering().len() {
            let text = format!(
                "the range is over clustering column {}, the table has {}",
                self.prefix.len() + ends,
                schema.clustering().len()
            );
            return Err(Error::invalid(text).in_table(schema.full_name()));
        }
        let mut scratch = Vec::new();
        let prefix = bind::clustering(schema, &self.prefix, &mut scratch)?;
        let place = |end: &End<'a>, before_included: bool, scratch: &mut Vec<u8>| -> Result<Option<Bound>> {
            let (arg, included) = match end {
                End::Open => return Ok(None),
                End::Included(arg) => (arg, true),
                End::Excluded(arg) => (arg, false),
            };
            let mut args = self.prefix.clone();
            args.push(arg.clone());
            let place = bind::clustering(schema, &args, scratch)?;
            Ok(Some(match included == before_included {
                true => Bound::before(place.order()),
                false => Bound::after(place.order()),
            }))
        };
        let descending = schema.clustering().get(self.prefix.len());
        let descending = descending.is_some_and(|c| c.kind == ColumnKind::Clustering(Order::Desc));
        let (first, last) = if descending { (&self.to, &self.from) } else { (&self.from, &self.to) };
        let start = place(first, true, &mut scratch)?.unwrap_or_else(|| Bound::before(prefix.order()));
        let end = place(last, false, &mut scratch)?.unwrap_or_else(|| Bound::after(prefix.order()));
        Ok(ClusteringRange { start, end })
    }
}

impl From<ops::RangeFull> for KeyRange<'_> {
    fn from(_: ops::RangeFull) -> Self {
        Self::all()
    }
}

impl<'a, T: Into<Arg<'a>>> From<ops::Range<T>> for KeyRange<'a> {
    fn from(range: ops::Range<T>) -> Self {
        Self::all().at_least(range.start).below(range.end)
    }
}

impl<'a, T: Into<Arg<'a>>> From<ops::RangeInclusive<T>> for KeyRange<'a> {
    fn from(range: ops::RangeInclusive<T>) -> Self {
        let (start, end) = range.into_inner();
        Self::all().at_least(start).at_most(end)
    }
}

impl<'a, T: Into<Arg<'a>>> From<ops::RangeFrom<T>> for KeyRange<'a> {
    fn from(range: ops::RangeFrom<T>) -> Self {
        Self::all().at_least(range.start)
    }
}

impl<'a, T: Into<Arg<'a>>> From<ops::RangeTo<T>> for KeyRange<'a> {
    fn from(range: ops::RangeTo<T>) -> Self {
        Self::all().below(range.end)
    }
}

impl<'a, T: Into<Arg<'a>>> From<ops::RangeToInclusive<T>> for KeyRange<'a> {
    fn from(range: ops::RangeToInclusive<T>) -> Self {
        Self::all().at_most(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::{TableId, TableOptions};
    use crate::model::types::CqlType;
    use crate::row;

    fn schema(order: Order) -> TableSchema {
        let columns = vec![
            ("p".to_owned(), CqlType::Int, ColumnKind::PartitionKey),
            ("a".to_owned(), CqlType::Int, ColumnKind::Clustering(Order::Asc)),
            ("b".to_owned(), CqlType::Int, ColumnKind::Clustering(order)),
        ];
        TableSchema::new(TableId(1), "ks", "t", columns, TableOptions::default()).unwrap()
    }

    /// Which values of b from 0 to 4 are in the range, at a = 7.
    fn contained(range: &KeyRange<'_>, order: Order) -> Vec<i32> {
        let schema = schema(order);
        let bounds = range.bounds(&schema).unwrap();
        let holds = |b: &i32| {
            let place = bind::clustering(&schema, &row![7, *b], &mut Vec::new()).unwrap();
            bounds.contains(place.order())
        };
        (0..5).filter(holds).collect()
    }

    #[test]
    fn ends_mean_the_same_in_both_directions() {
        for order in [Order::Asc, Order::Desc] {
            let within = |range: KeyRange<'static>| contained(&range.within(row![7]), order);
            assert_eq!(within((1..3).into()), [1, 2]);
            assert_eq!(within((1..=3).into()), [1, 2, 3]);
            assert_eq!(within((3..).into()), [3, 4]);
            assert_eq!(within((..3).into()), [0, 1, 2]);
            assert_eq!(within(KeyRange::all().above(1).below(3)), [2]);
            assert_eq!(within((..).into()), [0, 1, 2, 3, 4]);
            assert_eq!(contained(&(8..).into(), order), []);
            assert_eq!(contained(&(7..).into(), order), [0, 1, 2, 3, 4]);
            assert!(
                KeyRange::all()
                    .at_least(3)
                    .below(1)
                    .within(row![7])
                    .bounds(&schema(order))
                    .unwrap()
                    .is_empty()
            );
        }
    }

    #[test]
    fn too_many_columns_are_refused() {
        let range: KeyRange<'_> = (1..2).into();
        assert!(range.within(row![1, 2]).bounds(&schema(Order::Asc)).is_err());
    }
}
