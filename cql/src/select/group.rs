//! GROUP BY: which rows belong together.
//!
//! Groups are made of the first columns of the primary key, all of the partition key among them, so that the rows of a group follow each
//! other and nothing has to be kept. The last clustering column may stand in a function: `GROUP BY device, floor(time, 1h)`.

use crate::error::{CqlError, Result};
use crate::restrict::Where;
use crate::restrict::relation::column_place;
use crate::syntax::ast::{Expr, Name};
use skep_engine::ColumnKind;

/// What makes a group: the partition, and so many of the clustering columns; the last one of them in a function or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupColumns {
    /// Clustering columns, from the first on.
    pub(crate) prefix: usize,
    /// Whether the last element of GROUP BY is a function (of the last of these columns).
    pub(crate) in_function: bool,
}

/// What GROUP BY asks for.
///
/// # Errors
/// If it is not the first columns of the primary key, in Cassandra's words.
pub(crate) fn group_columns(restrictions: &Where, group_by: &[Expr], distinct: bool) -> Result<GroupColumns> {
    let table = restrictions.table();
    let schema = &table.schema;
    let keys = schema.partition_key().len();
    let all = keys + schema.clustering().len();
    let fail = |text: String| Err(CqlError::invalid(text));
    let mut made = GroupColumns { prefix: 0, in_function: false };
    let mut next = 0;
    for element in group_by {
        let place = match element {
            Expr::Column(name) => {
                let place = column_place(table, name)?;
                let column = &schema.columns()[place];
                if !matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_)) {
                    return fail(format!(
                        "Group by is currently only supported on the columns of the PRIMARY KEY, got {}",
                        column.name
                    ));
                }
                if made.in_function {
                    return fail(
                        "Functions are only supported on the last element of the GROUP BY clause".to_owned(),
                    );
                }
                place
            }
            function => {
                let mut names: Vec<&Name> = Vec::new();
                names_in(function, &mut names);
                let places =
                    names.iter().map(|name| column_place(table, name)).collect::<Result<Vec<_>>>()?;
                let Some(&place) = places.first() else {
                    return fail(
                        "GROUP BY functions must have one clustering column name as parameter".to_owned(),
                    );
                };
                if names.len() > 1 {
                    let names: Vec<String> =
                        names.iter().map(|name| crate::catalog::types::name(&name.text)).collect();
                    return fail(format!(
                        "GROUP BY functions accept only one clustering column as parameter, got: {}",
                        names.join(",")
                    ));
                }
                let column = &schema.columns()[place];
                if !matches!(column.kind, ColumnKind::Clustering(_)) {
                    return fail(format!(
                        "Group by functions are only supported on clustering columns, got {}",
                        column.name
                    ));
                }
                made.in_function = true;
                place
            }
        };
        loop {
            if next >= all {
                return Err(declared_order());
            }
            let column = next;
            next += 1;
            if column >= keys {
                made.prefix += 1;
            }
            if column == place {
                break;
            }
            if !restrictions.is_fixed(column) {
                return Err(declared_order());
            }
        }
    }
    if next < keys {
        return fail("Group by is not supported on only a part of the partition key".to_owned());
    }
    if distinct && made.prefix > 0 {
        return fail("Grouping on clustering columns is not allowed for SELECT DISTINCT queries".to_owned());
    }
    Ok(made)
}

fn declared_order() -> CqlError {
    CqlError::invalid(
        "Group by currently only support groups of columns following their declared order in the PRIMARY KEY",
    )
}

/// The columns that an expression names, each once.
pub(crate) fn names_in<'a>(expr: &'a Expr, names: &mut Vec<&'a Name>) {
    match expr {
        Expr::Column(name) => {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Expr::List(inner) | Expr::Set(inner) | Expr::Tuple(inner) | Expr::Call { args: inner, .. } => {
            inner.iter().for_each(|inner| names_in(inner, names));
        }
        Expr::Map(entries) => entries.iter().for_each(|(key, value)| {
            names_in(key, names);
            names_in(value, names);
        }),
        Expr::Udt(fields) => fields.iter().for_each(|(_, value)| names_in(value, names)),
        Expr::TypeHint(_, inner)
        | Expr::Cast(inner, _)
        | Expr::Negate(inner)
        | Expr::Life(_, inner)
        | Expr::Field(inner, _) => names_in(inner, names),
        Expr::Binary(_, left, right) => {
            names_in(left, names);
            names_in(right, names);
        }
        Expr::Element(inner, key) => {
            names_in(inner, names);
            names_in(key, names);
        }
        Expr::Slice(inner, from, to) => {
            names_in(inner, names);
            from.iter().chain(to).for_each(|end| names_in(end, names));
        }
        Expr::Null | Expr::Constant { .. } | Expr::Marker(_) | Expr::Star => {}
    }
}
