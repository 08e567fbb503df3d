//! Operations on the row that a statement writes.

use crate::error::{CqlError, Result};
use crate::modify::builder::RowBuilder;
use crate::modify::operation::{Action, Operation, Source};
use crate::term::parts::split;
use crate::term::{EvalContext, Term};
use crate::value::Bound;
use skep_engine::CqlType;
use skep_engine::encoding::path;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::cell::{Cell, ColumnId};
use skep_engine::model::clustering::Clustering;
use skep_engine::write::collection;

/// What the terms of one statement are evaluated with.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// Bind markers and the time.
    pub eval: &'a EvalContext<'a>,
    /// The values of the table's columns (in the schema's order) of an INSERT JSON; empty otherwise.
    pub json: Vec<Bound>,
}

impl Inputs<'_> {
    /// The value of a source.
    ///
    /// # Errors
    /// As [`Term::eval`].
    pub fn value(&self, source: &Source) -> Result<Bound> {
        match source {
            Source::Term(term) => term.eval(self.eval),
            Source::Json(place) => Ok(self.json.get(*place).cloned().unwrap_or(Bound::Unset)),
        }
    }

    fn term(&self, term: &Term) -> Result<Bound> {
        term.eval(self.eval)
    }
}

/// Does `operation` to `row`. Counters are not changed here but by `counter`.
///
/// # Errors
/// `Invalid` for values that cannot be written, and for positions of lists that are not there.
pub fn apply(operation: &Operation, inputs: &Inputs<'_>, row: &mut RowBuilder<'_>) -> Result<()> {
    let (column, ty) = (operation.column.id, &operation.column.ty);
    match &operation.action {
        Action::Set(source) => match inputs.value(source)? {
            Bound::Unset => Ok(()),
            value if ty.is_multicell() => {
                row.overwrite_elements(column);
                add_value(row, column, ty, &value, Place::End)
            }
            Bound::Null => {
                row.unset(column);
                Ok(())
            }
            Bound::Value(value) => {
                row.set(column, value);
                Ok(())
            }
        },
        Action::SetKey(key, value) => {
            let path = key_path(&inputs.term(key)?, ty)?;
            set_element(row, column, path, inputs.term(value)?);
            Ok(())
        }
        Action::SetField(place, value) => {
            set_element(row, column, path::field(*place)?, inputs.term(value)?);
            Ok(())
        }
        Action::SetIndex(index, value) => {
            let index = list_index(&inputs.term(index)?)?;
            let value = inputs.term(value)?;
            let path = element_at(&row.live_elements(column), index, "set an element on")?;
            set_element(row, column, path, value);
            Ok(())
        }
        Action::Append(value) | Action::Add(value) => {
            add_value(row, column, ty, &inputs.term(value)?, Place::End)
        }
        Action::Prepend(value) => add_value(row, column, ty, &inputs.term(value)?, Place::Front),
        Action::RemoveValues(value) => {
            if let Bound::Value(value) = inputs.term(value)? {
                let gone = split(&value, ty)?;
                let live = row.live_elements(column);
                let equal = |cell: &Cell| cell.value.is_some() && gone.contains(&cell.value);
                live.into_iter()
                    .filter(|(_, cell)| equal(cell))
                    .for_each(|(path, _)| row.unset_element(column, path));
            }
            Ok(())
        }
        Action::RemoveKeys(value) => {
            if let Bound::Value(value) = inputs.term(value)? {
                let key_type = key_type(ty);
                let keys = split(&value, &CqlType::Set(Box::new(key_type.clone())))?;
                for key in keys.iter().flatten() {
                    row.unset_element(column, path::of(key, key_type)?);
                }
            }
            Ok(())
        }
        Action::Delete if ty.is_multicell() => {
            row.delete_elements(column);
            Ok(())
        }
        Action::Delete => {
            row.unset(column);
            Ok(())
        }
        Action::DeleteKey(key) => {
            let key = inputs.term(key)?;
            // An unset element of a set, or index of a list, deletes nothing; an unset key of a map is refused.
            if key != Bound::Unset || matches!(ty, CqlType::Map(..)) {
                row.unset_element(column, key_path(&key, ty)?);
            }
            Ok(())
        }
        Action::DeleteIndex(index) => {
            let index = inputs.term(index)?;
            if index == Bound::Unset {
                return Ok(());
            }
            let index = list_index(&index)?;
            let path = element_at(&row.live_elements(column), index, "delete an element from")?;
            row.unset_element(column, path);
            Ok(())
        }
        Action::DeleteField(place) => {
            row.unset_element(column, path::field(*place)?);
            Ok(())
        }
        Action::Increment(_) | Action::Decrement(_) => Ok(()),
    }
}

/// What a counter's operation adds, None if it is unset.
///
/// # Errors
/// `Invalid` for null, and for a subtraction of the smallest number.
pub fn increment(action: &Action, inputs: &Inputs<'_>) -> Result<Option<i64>> {
    let (term, negative) = match action {
        Action::Increment(term) => (term, false),
        Action::Decrement(term) => (term, true),
        _ => return Ok(None),
    };
    let value = match inputs.term(term)? {
        Bound::Unset => return Ok(None),
        Bound::Null => {
            return Err(CqlError::invalid("Invalid null value for counter increment"));
        }
        Bound::Value(value) => value,
    };
    let Ok(value) = <[u8; 8]>::try_from(&value[..]) else {
        return Err(CqlError::invalid("Invalid empty value for counter increment"));
    };
    let value = i64::from_be_bytes(value);
    if !negative {
        return Ok(Some(value));
    }
    let negated = value.checked_neg();
    negated.map(Some).ok_or_else(|| {
        let text = "overflows supported counter precision (signed 8 bytes integer)";
        CqlError::invalid(format!("The negation of {value} {text}"))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Front,
    End,
}

/// Writes the elements of a whole value.
fn add_value(
    row: &mut RowBuilder<'_>,
    column: ColumnId,
    ty: &CqlType,
    value: &Bound,
    place: Place,
) -> Result<()> {
    let Bound::Value(value) = value else { return Ok(()) };
    let parts = split(value, ty)?;
    match ty {
        CqlType::List(_) if place == Place::Front => {
            // Each path is below all made before, so that the last element gets the first one.
            for element in parts.into_iter().flatten().rev() {
                row.set_element(column, collection::prepend_path()?, element);
            }
        }
        CqlType::List(_) => {
            for element in parts.into_iter().flatten() {
                row.set_element(column, collection::append_path()?, element);
            }
        }
        CqlType::Set(inner) => {
            for element in parts.iter().flatten() {
                row.set_element(column, path::of(element, inner)?, Bytes::EMPTY);
            }
        }
        CqlType::Map(key_type, _) => {
            for pair in parts.chunks_exact(2) {
                if let [Some(key), Some(value)] = pair {
                    row.set_element(column, path::of(key, key_type)?, value.clone());
                }
            }
        }
        CqlType::Udt(udt) => {
            for (place, field) in parts.into_iter().enumerate().take(udt.fields.len()) {
                if let Some(field) = field {
                    row.set_element(column, path::field(place)?, field);
                }
            }
        }
        _ => row.set(column, value.clone()),
    }
    Ok(())
}

fn set_element(row: &mut RowBuilder<'_>, column: ColumnId, path: Clustering, value: Bound) {
    match value {
        Bound::Unset => {}
        Bound::Null => row.unset_element(column, path),
        Bound::Value(value) => row.set_element(column, path, value),
    }
}

fn key_type(ty: &CqlType) -> &CqlType {
    match ty.unfrozen() {
        CqlType::Map(key, _) | CqlType::Set(key) => key,
        other => other,
    }
}

fn key_path(key: &Bound, ty: &CqlType) -> Result<Clustering> {
    let what = if matches!(ty.unfrozen(), CqlType::Set(_)) { "set element" } else { "map key" };
    match key {
        Bound::Null => Err(CqlError::invalid(format!("Invalid null {what}"))),
        Bound::Unset => Err(CqlError::invalid(format!("Invalid unset {what}"))),
        Bound::Value(key) => Ok(path::of(key, key_type(ty))?),
    }
}

fn list_index(index: &Bound) -> Result<i32> {
    match index {
        Bound::Null => Err(CqlError::invalid("Invalid null value for list index")),
        Bound::Unset => Err(CqlError::invalid("Invalid unset value for list index")),
        Bound::Value(index) => match <[u8; 4]>::try_from(&index[..]) {
            Ok(index) => Ok(i32::from_be_bytes(index)),
            Err(_) => Err(CqlError::invalid("Invalid empty value for list index")),
        },
    }
}

fn element_at(elements: &[(Clustering, Cell)], index: i32, what: &str) -> Result<Clustering> {
    if elements.is_empty() {
        return Err(CqlError::invalid(format!("Attempted to {what} a list which is null")));
    }
    let found = usize::try_from(index).ok().and_then(|index| elements.get(index));
    found.map(|(path, _)| path.clone()).ok_or_else(|| {
        CqlError::invalid(format!("List index {index} out of bound, list has size {}", elements.len()))
    })
}
