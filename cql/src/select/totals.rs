//! Aggregates that the engine adds up itself: counts, least and greatest numbers, sums and means of integers.
//!
//! Where nothing filters or groups, the engine's totals answer such a statement, from its index alone where whole blocks count. Only what is
//! equal to the last bit is taken from there: sums of floats are added in another order, and NaN, signed zeros and empty values stand
//! where Cassandra's order has them; for those the rows are read.

use crate::error::Result;
use crate::select::SelectPlan;
use crate::select::pump::{Source, read_error};
use crate::term::EvalContext;
use crate::value::Wire;
use skep_engine::model::bytes::Bytes;
use skep_engine::read::aggregate::add_up;
use skep_engine::{ColumnTotals, CqlType, Projection, Totals};

/// An aggregate that totals may answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Total {
    /// count(*)
    Rows,
    /// count(column)
    Values(usize),
    /// min(column) or max(column)
    Extreme(usize, bool),
    /// sum(column)
    Sum(usize),
    /// avg(column)
    Mean(usize),
}

impl Total {
    /// The column, by its place in the schema's columns.
    fn column(&self) -> Option<usize> {
        match self {
            Self::Rows => None,
            Self::Values(column) | Self::Extreme(column, _) | Self::Sum(column) | Self::Mean(column) => {
                Some(*column)
            }
        }
    }

    /// Whether totals of a column of this type are what CQL has.
    pub(crate) fn is_exact(&self, ty: &CqlType) -> bool {
        match self {
            Self::Rows | Self::Values(_) => true,
            Self::Extreme(..) => is_integer(ty) || matches!(ty, CqlType::Double | CqlType::Float),
            Self::Sum(_) | Self::Mean(_) => {
                is_integer(ty) && !matches!(ty, CqlType::Timestamp | CqlType::Time | CqlType::Date)
            }
        }
    }
}

fn is_integer(ty: &CqlType) -> bool {
    use CqlType::{Bigint, Counter, Date, Int, Smallint, Time, Timestamp, Tinyint};
    matches!(ty, Bigint | Counter | Date | Int | Smallint | Time | Timestamp | Tinyint)
}

impl SelectPlan {
    /// The one row of a statement of such aggregates; None if rows have to be read.
    pub(crate) fn totals(
        &self,
        source: &Source,
        run: &mut crate::answer::Run<'_>,
        cx: &EvalContext<'_>,
    ) -> Result<Option<Vec<Wire>>> {
        let Some(wanted) =
            self.selection.totals().filter(|_| !self.distinct && !self.restrictions.needs_filter())
        else {
            return Ok(None);
        };
        let schema = &self.table.schema;
        let mut columns: Vec<usize> = wanted.iter().filter_map(Total::column).collect();
        columns.sort_unstable();
        columns.dedup();
        let names: Vec<&str> = columns
            .iter()
            .filter_map(|place| schema.columns().get(*place))
            .map(|column| column.name.as_str())
            .collect();
        let source = Source { columns: Projection::of(schema, &names)?, ..source.clone() };
        let mut reader = source.reader(None)?;
        let totals = add_up(&mut reader).map_err(read_error)?;
        let value = |total: &Total| {
            let place = total.column().and_then(|column| columns.binary_search(&column).ok());
            let ty = total.column().and_then(|column| schema.columns().get(column)).map(|column| &column.ty);
            one(total, &totals, place.and_then(|place| totals.columns.get(place)), ty)
        };
        let row: Option<Vec<Wire>> = wanted.iter().map(value).collect();
        if row.is_some() {
            run.tell(reader.explain().as_ref());
            self.warn_of(reader.warning(), &source, run, cx);
        }
        Ok(row)
    }
}

/// The value of one aggregate; None if the totals do not tell it.
fn one(total: &Total, totals: &Totals, column: Option<&ColumnTotals>, ty: Option<&CqlType>) -> Option<Wire> {
    let count = |count: u64| Some(Some(Bytes::new(&(count as i64).to_be_bytes())));
    let (column, ty) = match (total, column, ty) {
        (Total::Rows, ..) => return count(totals.rows),
        (Total::Values(_), Some(column), _) => return count(column.count),
        (_, Some(column), Some(ty)) => (column, ty),
        _ => return None,
    };
    // Empty values have places of their own in the order.
    if column.others > 0 {
        return None;
    }
    match total {
        Total::Extreme(_, greatest) => match (column.ints, column.floats) {
            (Some((min, max, _)), None) => Some(Some(integer(if *greatest { max } else { min }.into(), ty)?)),
            (None, Some((min, max, sum))) => {
                let value = if *greatest { max } else { min };
                let told = !sum.is_nan() && value != 0.0;
                told.then(|| {
                    Some(match ty {
                        CqlType::Float => Bytes::new(&(value as f32).to_be_bytes()),
                        _ => Bytes::new(&value.to_be_bytes()),
                    })
                })
            }
            (None, None) => Some(None),
            _ => None,
        },
        Total::Sum(_) => Some(Some(integer(column.ints.map_or(0, |(_, _, sum)| sum), ty)?)),
        Total::Mean(_) => {
            let (sum, count) = (column.ints.map_or(0, |(_, _, sum)| sum), i128::from(column.count));
            Some(Some(integer(if count == 0 { 0 } else { sum / count }, ty)?))
        }
        Total::Rows | Total::Values(_) => None,
    }
}

/// The low bytes of an integer, as many as the type has: sums wrap around.
fn integer(number: i128, ty: &CqlType) -> Option<Bytes> {
    let width = match ty {
        CqlType::Tinyint => 1,
        CqlType::Smallint => 2,
        CqlType::Int | CqlType::Date => 4,
        CqlType::Bigint | CqlType::Counter | CqlType::Timestamp | CqlType::Time => 8,
        _ => return None,
    };
    let bytes = number.to_be_bytes();
    bytes.get(bytes.len() - width..).map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(column: ColumnTotals) -> Totals {
        Totals { rows: 9, columns: vec![column], ..Totals::default() }
    }

    #[test]
    fn sums_wrap_and_means_are_cut() {
        let column = ColumnTotals { count: 2, ints: Some((127, 127, 254)), ..ColumnTotals::default() };
        let of = |total: &Total| one(total, &totals(column), Some(&column), Some(&CqlType::Tinyint)).unwrap();
        assert_eq!(of(&Total::Sum(0)), Some(Bytes::new(&[0xfe])));
        assert_eq!(of(&Total::Mean(0)), Some(Bytes::new(&[127])));
        assert_eq!(of(&Total::Values(0)), Some(Bytes::new(&2i64.to_be_bytes())));
        assert_eq!(of(&Total::Rows), Some(Bytes::new(&9i64.to_be_bytes())));
    }

    #[test]
    fn what_totals_do_not_tell_is_left_to_the_rows() {
        let double = |column: ColumnTotals| {
            one(&Total::Extreme(0, true), &totals(column), Some(&column), Some(&CqlType::Double))
        };
        let floats = |min, max, sum| ColumnTotals {
            count: 2,
            floats: Some((min, max, sum)),
            ..ColumnTotals::default()
        };
        assert_eq!(double(floats(1.0, 2.0, f64::NAN)), None, "NaN is the greatest");
        assert_eq!(double(floats(-1.0, -0.0, -1.0)), None, "which zero?");
        assert_eq!(double(floats(1.0, 2.0, 3.0)), Some(Some(Bytes::new(&2f64.to_be_bytes()))));
        assert_eq!(
            double(ColumnTotals { others: 1, ..floats(1.0, 2.0, 3.0) }),
            None,
            "an empty value is the least"
        );
        assert_eq!(double(ColumnTotals::default()), Some(None));
    }
}
