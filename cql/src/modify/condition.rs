//! Conditions of conditional writes: IF column operator value.
//!
//! A condition is prepared against its column's type and then held against the row as it is before the write, or against nothing where there
//! is no row: null then. Rules of null are Cassandra's: `= null` holds where there is no value, `!=` something holds there too, and an order
//! never does; a collection of many cells that is empty is null, and an empty
//! one on the right side means null.

use crate::error::{CqlError, Result};
use crate::modify::operation::{index_spec, key_spec, spec};
use crate::syntax::ast::{ColumnCondition, Comparison, Right, Target};
use crate::term::parts::split;
use crate::term::{EvalContext, Preparing, Term};
use crate::value::{Bound, Wire};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;
use skep_engine::model::row::Row;
use skep_engine::model::schema::Column;
use skep_engine::read::get::collection_wire;
use skep_engine::{ColumnKind, CqlType, TableSchema};
use std::cmp::Ordering;

/// What of the column is compared.
#[derive(Clone, Debug)]
enum Part {
    Whole,
    /// The key of a map, or the index of a list, with its value's type.
    Element(Term, CqlType),
    /// A field by its place, with its type.
    Field(usize, CqlType),
}

/// The right side.
#[derive(Clone, Debug)]
enum Values {
    One(Term),
    Each(Vec<Term>),
    /// IN ?: one list, with the type of its elements.
    List(Term, CqlType),
}

/// One condition, prepared.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The column.
    pub column: Column,
    part: Part,
    comparison: Comparison,
    values: Values,
}

impl Condition {
    /// Prepares a condition on a column of `schema`.
    ///
    /// # Errors
    /// `Invalid` where type, operator and value do not fit together; for a column of the key.
    pub fn prepare(
        schema: &TableSchema,
        column: &Column,
        condition: &ColumnCondition,
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        let name = &column.name;
        let fail = |text: String| Err(CqlError::invalid(text));
        if column.ty.is_counter() {
            return fail("Conditions on counters are not supported".to_owned());
        }
        let unfrozen = column.ty.unfrozen();
        let (part, receiver) = match &condition.target {
            Target::Whole => (Part::Whole, spec(schema, name, column.ty.clone())),
            Target::Element(key) => {
                let (key_receiver, value) = match unfrozen {
                    CqlType::List(element) => (index_spec(schema, name), element),
                    CqlType::Map(_, value) => (key_spec(schema, column), value),
                    CqlType::Set(_) => {
                        return fail(format!("Invalid element access syntax for set column {name}"));
                    }
                    _ => {
                        return fail(format!(
                            "Invalid element access syntax for non-collection column {name}"
                        ));
                    }
                };
                let receiver = spec(schema, &format!("value({name})"), (**value).clone());
                let key = Term::prepare(key, &key_receiver, cx)?;
                (Part::Element(key, (**value).clone()), receiver)
            }
            Target::Field(field) => {
                let CqlType::Udt(udt) = unfrozen else {
                    return fail(format!("Invalid field condition on non-UDT column {name}"));
                };
                let Some(place) = udt.fields.iter().position(|(known, _)| *known == field.text) else {
                    return fail(format!("Unknown field {} for column {name}", field.text));
                };
                let ty = udt.fields[place].1.clone();
                (Part::Field(place, ty.clone()), spec(schema, &format!("{name}.{}", field.text), ty))
            }
        };
        if is_order(condition.comparison) && mentions_duration(&receiver.ty) {
            return fail(match receiver.ty.unfrozen() {
                CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) => {
                    "Slice conditions are not supported on collections containing durations".to_owned()
                }
                CqlType::Tuple(_) => {
                    "Slice conditions are not supported on tuples containing durations".to_owned()
                }
                CqlType::Udt(_) => {
                    "Slice conditions are not supported on UDTs containing durations".to_owned()
                }
                _ => format!(
                    "Slice conditions ( {} ) are not supported on durations",
                    operator(condition.comparison)
                ),
            });
        }
        let receiver = match (condition.comparison, receiver.ty.unfrozen()) {
            (Comparison::ContainsKey, CqlType::Map(key, _)) => {
                spec(schema, &format!("key({})", receiver.name), (**key).clone())
            }
            (Comparison::ContainsKey, _) => {
                return fail(format!("Cannot use CONTAINS KEY on non-map column {}", receiver.name));
            }
            (Comparison::Contains, CqlType::List(value) | CqlType::Set(value) | CqlType::Map(_, value)) => {
                spec(schema, &format!("value({})", receiver.name), (**value).clone())
            }
            (Comparison::Contains, _) => {
                return fail(format!("Cannot use CONTAINS on non-collection column {}", receiver.name));
            }
            _ => receiver,
        };
        let values = match &condition.right {
            Right::Term(term) => Values::One(Term::prepare(term, &receiver, cx)?),
            Right::List(terms) => {
                let terms = terms.iter().map(|term| Term::prepare(term, &receiver, cx));
                Values::Each(terms.collect::<Result<_>>()?)
            }
            Right::Marker(marker) => {
                let list = CqlType::List(Box::new(receiver.ty.clone()));
                let list = spec(schema, &format!("in({})", receiver.name), list);
                let term = Term::prepare(&crate::syntax::ast::Expr::Marker(marker.clone()), &list, cx)?;
                Values::List(term, receiver.ty)
            }
        };
        if !matches!(column.kind, ColumnKind::Static | ColumnKind::Regular) {
            return fail(format!("PRIMARY KEY column '{name}' cannot have IF conditions"));
        }
        Ok(Self { column: column.clone(), part, comparison: condition.comparison, values })
    }

    /// On a column of the static row.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.column.kind == ColumnKind::Static
    }

    /// Whether it holds for a row as a reader sees it; None for no row.
    ///
    /// # Errors
    /// `Invalid` for values that a condition cannot have: unset ones, null with an order or CONTAINS.
    pub fn holds(&self, row: Option<&Row>, eval: &EvalContext<'_>) -> Result<bool> {
        let current = match row {
            Some(row) => column_wire(&self.column, row)?,
            None => None,
        };
        let (current, ty, many) = match &self.part {
            Part::Whole => {
                (current, &self.column.ty, self.column.ty.is_multicell() && self.column.ty.is_collection())
            }
            Part::Element(key, value_type) => {
                let element = self.element(current, key, eval)?;
                (element, value_type, false)
            }
            Part::Field(place, ty) => {
                let fields = current.map(|value| split(&value, self.column.ty.unfrozen())).transpose()?;
                (fields.and_then(|fields| fields.get(*place).cloned().flatten()), ty, false)
            }
        };
        let test = |value: &Bound| -> Result<bool> {
            if matches!(self.comparison, Comparison::Contains | Comparison::ContainsKey) {
                return contains(self.comparison, ty, current.as_ref(), value);
            }
            let comparison = if self.comparison == Comparison::In { Comparison::Eq } else { self.comparison };
            compare_values(comparison, ty, many, current.as_ref(), value)
        };
        match &self.values {
            Values::One(term) => test(&term.eval(eval)?),
            Values::Each(terms) => {
                let mut holds = false;
                // All of them are evaluated, so that a bad one is told whatever the others are.
                for term in terms {
                    match term.eval(eval)? {
                        Bound::Unset => {}
                        value => holds |= test(&value)?,
                    }
                }
                Ok(holds)
            }
            Values::List(term, inner) => match term.eval(eval)? {
                Bound::Unset => Err(CqlError::invalid("Invalid 'unset' value in condition")),
                Bound::Null => Err(CqlError::invalid("Invalid null list in IN condition")),
                Bound::Value(list) => {
                    let mut holds = false;
                    for value in split(&list, &CqlType::List(Box::new(inner.clone())))? {
                        holds |= test(&Bound::from_wire(value))?;
                    }
                    Ok(holds)
                }
            },
        }
    }

    fn element(&self, current: Wire, key: &Term, eval: &EvalContext<'_>) -> Result<Wire> {
        let ty = self.column.ty.unfrozen();
        let what = if matches!(ty, CqlType::Map(..)) { "map" } else { "list" };
        let key = match key.eval(eval)? {
            Bound::Value(key) => key,
            Bound::Null => {
                return Err(CqlError::invalid(format!("Invalid null value for {what} element access")));
            }
            Bound::Unset => {
                return Err(CqlError::invalid(format!("Invalid unset value for {what} element access")));
            }
        };
        if !matches!(ty, CqlType::Map(..)) {
            list_index(&key)?;
        }
        let Some(current) = current else { return Ok(None) };
        let parts = split(&current, ty)?;
        Ok(match ty {
            CqlType::Map(key_type, _) => parts
                .chunks_exact(2)
                .find(|pair| pair[0].as_ref().is_some_and(|known| compare(known, &key, key_type).is_eq()))
                .and_then(|pair| pair[1].clone()),
            _ => {
                let index = list_index(&key)?;
                parts.get(index).cloned().flatten()
            }
        })
    }
}

fn list_index(key: &[u8]) -> Result<usize> {
    let index = <[u8; 4]>::try_from(key).map(i32::from_be_bytes).unwrap_or(-1);
    usize::try_from(index).map_err(|_| CqlError::invalid(format!("Invalid negative list index {index}")))
}

/// The value of a column in a row as a reader sees it, as protocol bytes.
///
/// # Errors
/// `Corrupt` if stored bytes are no value of the type.
pub fn column_wire(column: &Column, row: &Row) -> Result<Wire> {
    if column.ty.is_multicell() {
        let elements = row.complex(column.id).map(|complex| &complex.cells[..]).unwrap_or_default();
        return match elements {
            [] => Ok(None),
            elements => Ok(Some(collection_wire(elements, &column.ty)?)),
        };
    }
    Ok(row.cell(column.id).and_then(|cell| cell.value.clone()))
}

/// `many`: the value is a collection of many cells, where an empty one is none.
fn compare_values(
    comparison: Comparison,
    ty: &CqlType,
    many: bool,
    current: Option<&Bytes>,
    value: &Bound,
) -> Result<bool> {
    const EMPTY: &[u8] = &[0; 4];
    let value = match value {
        Bound::Unset => return Err(CqlError::invalid("Invalid 'unset' value in condition")),
        Bound::Value(value) if !many || value[..] != *EMPTY => value,
        none => {
            return match comparison {
                Comparison::Eq => Ok(current.is_none()),
                Comparison::Ne => Ok(current.is_some()),
                other if *none == Bound::Null => Err(null_comparison(other)),
                other => {
                    let kind = match ty.unfrozen() {
                        CqlType::List(_) => "list",
                        CqlType::Set(_) => "set",
                        _ => "map",
                    };
                    let operator = operator(other);
                    let text = format!("Invalid comparison with an empty {kind} for operator \"{operator}\"");
                    Err(CqlError::invalid(text))
                }
            };
        }
    };
    let Some(current) = current else { return Ok(comparison == Comparison::Ne) };
    let order = if many { compare_collections(current, value, ty)? } else { compare(current, value, ty) };
    Ok(match comparison {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
        _ => false,
    })
}

/// Element by element, a shorter one first.
fn compare_collections(left: &[u8], right: &[u8], ty: &CqlType) -> Result<Ordering> {
    let (left, right) = (split(left, ty)?, split(right, ty)?);
    let (first, second) = match ty.unfrozen() {
        CqlType::Map(key, value) => (&**key, &**value),
        CqlType::List(inner) | CqlType::Set(inner) => (&**inner, &**inner),
        other => (other, other),
    };
    for (i, (a, b)) in left.iter().zip(&right).enumerate() {
        let ty = if i % 2 == 0 { first } else { second };
        let order = match (a, b) {
            (Some(a), Some(b)) => compare(a, b, ty),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(left.len().cmp(&right.len()))
}

fn contains(comparison: Comparison, ty: &CqlType, current: Option<&Bytes>, value: &Bound) -> Result<bool> {
    let value = match value {
        Bound::Unset => return Err(CqlError::invalid("Invalid 'unset' value in condition")),
        Bound::Null => return Err(null_comparison(comparison)),
        Bound::Value(value) => value,
    };
    let Some(current) = current else { return Ok(false) };
    let parts = split(current, ty.unfrozen())?;
    let (step, first, inner) = match (ty.unfrozen(), comparison) {
        (CqlType::Map(key, _), Comparison::ContainsKey) => (2, 0, &**key),
        (CqlType::Map(_, value), _) => (2, 1, &**value),
        (CqlType::List(inner) | CqlType::Set(inner), _) => (1, 0, &**inner),
        (other, _) => (1, 0, other),
    };
    Ok(parts.iter().skip(first).step_by(step).flatten().any(|part| compare(part, value, inner).is_eq()))
}

fn null_comparison(comparison: Comparison) -> CqlError {
    let operator = operator(comparison);
    CqlError::invalid(format!("Invalid comparison with null for operator \"{operator}\""))
}

fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
        Comparison::ContainsKey => "CONTAINS KEY",
        Comparison::Contains => "CONTAINS",
        _ => "LIKE",
    }
}

fn is_order(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge)
}

fn mentions_duration(ty: &CqlType) -> bool {
    ty.any(&|ty| matches!(ty, CqlType::Duration))
}
