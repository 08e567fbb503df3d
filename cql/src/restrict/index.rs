//! Which secondary index could serve a restriction.
//!
//! An index of the first kind serves `=` on its column, CONTAINS on the values of a collection, CONTAINS KEY on its keys, `m[k] = v` on its entries;
//! a storage-attached one serves slices too. What is chosen here is read by whoever maintains the indexes; every row that it leads to is
//! held against the whole filter.

use crate::catalog::{IndexDef, IndexKind, TableInfo};
use crate::error::Result;
use crate::restrict::Where;
use crate::restrict::operand::{Words, value};
use crate::restrict::restriction::{Operand, Restriction, Test};
use crate::syntax::ast::IndexPart;
use crate::term::{EvalContext, Term};
use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use std::sync::Arc;

/// An index with the restriction that it serves.
#[derive(Clone, Debug)]
pub struct IndexUse {
    /// The index.
    pub index: Arc<IndexDef>,
    /// What it is asked for.
    asked: Asked,
    column: String,
}

#[derive(Clone, Debug)]
enum Asked {
    Value(Term),
    Entry(Term, Term),
    Range { from: Option<(Term, bool)>, to: Option<(Term, bool)> },
}

/// What an index is asked for, with values.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// Rows whose column has, or contains, this value (or key).
    Value(Bytes),
    /// Rows whose map has this value under this key.
    Entry(Bytes, Bytes),
    /// Rows whose column is between these ends (value, whether it is within); only of [`IndexKind::Sai`].
    Range(Option<(Bytes, bool)>, Option<(Bytes, bool)>),
}

impl IndexUse {
    /// What to look up in this run.
    ///
    /// # Errors
    /// For null and unset values.
    pub fn lookup(&self, cx: &EvalContext<'_>) -> Result<Lookup> {
        let value = |term: &Term| value(term, &self.column, Words::Filter, cx);
        let end = |end: &Option<(Term, bool)>| -> Result<Option<(Bytes, bool)>> {
            end.as_ref().map(|(term, inclusive)| Ok((value(term)?, *inclusive))).transpose()
        };
        Ok(match &self.asked {
            Asked::Value(term) => Lookup::Value(self.index.folded(&value(term)?)),
            Asked::Entry(key, entry) => Lookup::Entry(value(key)?, value(entry)?),
            Asked::Range { from, to } => Lookup::Range(end(from)?, end(to)?),
        })
    }
}

/// The index that serves a restriction.
pub(crate) fn supporting(table: &TableInfo, restriction: &Restriction) -> Option<IndexUse> {
    let column =
        table.schema.columns().get(restriction.first()).filter(|_| restriction.columns.len() == 1)?;
    table.indexes_on(&column.name).find_map(|index| {
        let asked = asked(index, restriction, &column.ty)?;
        Some(IndexUse { index: Arc::clone(index), asked, column: column.name.clone() })
    })
}

/// Whether a storage-attached index serves a restriction.
pub(crate) fn is_attached(table: &TableInfo, restriction: &Restriction) -> bool {
    let column = table.schema.columns().get(restriction.first());
    let Some(column) = column.filter(|_| restriction.columns.len() == 1) else { return false };
    let mut attached = table.indexes_on(&column.name).filter(|index| index.kind == IndexKind::Sai);
    attached.any(|index| asked(index, restriction, &column.ty).is_some())
}

/// Whether an index on values of this type knows no ranges.
fn only_equal(ty: &CqlType) -> bool {
    matches!(
        ty,
        CqlType::Text
            | CqlType::Ascii
            | CqlType::Boolean
            | CqlType::Uuid
            | CqlType::Frozen(_)
            | CqlType::Tuple(_)
            | CqlType::Udt(_)
    )
}

fn asked(index: &IndexDef, restriction: &Restriction, ty: &CqlType) -> Option<Asked> {
    let single = |operand: &Operand| match operand {
        Operand::Each(terms) => terms.first().cloned(),
        Operand::Tuple(..) => None,
    };
    match (&restriction.test, index.part) {
        (Test::Eq(operand), IndexPart::Simple | IndexPart::Full) => single(operand).map(Asked::Value),
        (Test::Slice(slice), IndexPart::Simple) if index.kind == IndexKind::Sai && !only_equal(ty) => {
            let end = |end: &Option<crate::restrict::restriction::End>| {
                end.as_ref().and_then(|end| Some((single(&end.operand)?, end.inclusive)))
            };
            Some(Asked::Range { from: end(&slice.start), to: end(&slice.end) })
        }
        (Test::Contains(all), IndexPart::Values) => all.values.first().cloned().map(Asked::Value),
        (Test::Contains(all), IndexPart::Keys) => all.keys.first().cloned().map(Asked::Value),
        (Test::Contains(all), IndexPart::Entries) => {
            all.entries.first().cloned().map(|(key, value)| Asked::Entry(key, value))
        }
        _ => None,
    }
}

/// The best index for these restrictions: the first that serves one of a regular or static column, else of a clustering column, else of
/// the partition key.
pub(crate) fn choose(
    table: &TableInfo,
    clustering: &[Restriction],
    others: &[Restriction],
    keys: &[Restriction],
) -> Option<IndexUse> {
    if table.indexes.is_empty() {
        return None;
    }
    let all = others.iter().chain(clustering).chain(keys);
    let mut found: Vec<IndexUse> = all.filter_map(|restriction| supporting(table, restriction)).collect();
    // Equality narrows more than a range.
    found.sort_by_key(|found| matches!(found.asked, Asked::Range { .. }));
    found.into_iter().next()
}

impl Where {
    /// Whether the statement finds its rows by an index rather than by their keys.
    #[must_use]
    pub fn is_by_index(&self) -> bool {
        self.index().is_some()
    }
}
