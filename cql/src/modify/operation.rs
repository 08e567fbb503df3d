//! What a statement does to one column: made from SET, VALUES or the list of a DELETE.
//!
//! [`Operation::assign`] and [`Operation::delete`] check an assignment against the column's type, in Cassandra's order and words; `apply` runs
//! the result on a row.

use crate::error::{CqlError, Result};
use crate::syntax::ast;
use crate::syntax::print;
use crate::term::{Preparing, Term};
use crate::value::ColumnSpec;
use skep_engine::model::schema::Column;
use skep_engine::{ColumnKind, CqlType, TableSchema};

/// Where an assigned value comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A term of the statement.
    Term(Term),
    /// The column of this place in the schema, of the JSON object that is inserted.
    Json(usize),
}

/// How a column is changed.
#[derive(Clone, Debug)]
pub enum Action {
    /// Overwritten as a whole.
    Set(Source),
    /// `m[key] = value`
    SetKey(Term, Term),
    /// `l[index] = value`
    SetIndex(Term, Term),
    /// `u.field = value`, the field by its place.
    SetField(usize, Term),
    /// Elements at the end of a list.
    Append(Term),
    /// Elements in front of a list.
    Prepend(Term),
    /// All elements of a list that equal one of these.
    RemoveValues(Term),
    /// Elements of a set, entries of a map.
    Add(Term),
    /// Elements of a set, keys of a map: by a set of them.
    RemoveKeys(Term),
    /// Counters: what is added.
    Increment(Term),
    /// Counters: what is subtracted.
    Decrement(Term),
    /// Deleted as a whole.
    Delete,
    /// `DELETE m[key]`, `DELETE s[element]`
    DeleteKey(Term),
    /// `DELETE l[index]`
    DeleteIndex(Term),
    /// `DELETE u.field`
    DeleteField(usize),
}

/// One operation on one column.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The column.
    pub column: Column,
    /// What happens to it.
    pub action: Action,
}

impl Operation {
    /// The operation of one assignment of SET.
    ///
    /// # Errors
    /// `Invalid` where the column's type does not allow it or the value does not fit.
    pub fn assign(
        schema: &TableSchema,
        column: &Column,
        assignment: &ast::Assignment,
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        let action = match (&assignment.target, &assignment.operation) {
            (ast::Target::Whole, ast::Operation::Set(value)) => {
                return Self::set(schema, column, value, cx);
            }
            (ast::Target::Element(key), ast::Operation::Set(value)) => {
                set_element(schema, column, key, value, cx)?
            }
            (ast::Target::Field(field), ast::Operation::Set(value)) => {
                set_field(schema, column, &field.text, value, cx)?
            }
            (ast::Target::Whole, ast::Operation::Add(value)) => add(schema, column, value, cx)?,
            (ast::Target::Whole, ast::Operation::Subtract(value)) => subtract(schema, column, value, cx)?,
            (ast::Target::Whole, ast::Operation::Prepend(value)) => prepend(schema, column, value, cx)?,
            _ => {
                let text = "Only expressions of the form X = X +<value> are supported.";
                return Err(CqlError::new(crate::error::Code::Syntax, text));
            }
        };
        Ok(Self { column: column.clone(), action })
    }

    /// The operation that sets a whole column to `value`.
    ///
    /// # Errors
    /// `Invalid` for a counter, or a value that does not fit.
    pub fn set(
        schema: &TableSchema,
        column: &Column,
        value: &ast::Expr,
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        let value = Term::prepare(value, &spec(schema, &column.name, column.ty.clone()), cx)?;
        if column.ty.is_counter() {
            return Err(CqlError::invalid(format!(
                "Cannot set the value of counter column {} (counters can only be incremented/decremented, not set)",
                column.name
            )));
        }
        Ok(Self { column: column.clone(), action: Action::Set(Source::Term(value)) })
    }

    /// The operation of one item between DELETE and FROM.
    ///
    /// # Errors
    /// As [`Operation::assign`].
    pub fn delete(
        schema: &TableSchema,
        column: &Column,
        target: &ast::Target,
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        let name = &column.name;
        let fail = |text: String| Err(CqlError::invalid(text));
        let action = match target {
            ast::Target::Whole => Action::Delete,
            ast::Target::Element(_) if !column.ty.is_collection() => {
                return fail(format!("Invalid deletion operation for non collection column {name}"));
            }
            ast::Target::Element(_) if !column.ty.is_multicell() => {
                return fail(format!("Invalid deletion operation for frozen collection column {name}"));
            }
            ast::Target::Element(key) => match &column.ty {
                CqlType::List(_) => Action::DeleteIndex(Term::prepare(key, &index_spec(schema, name), cx)?),
                CqlType::Set(element) => {
                    let receiver = spec(schema, &format!("value({name})"), (**element).clone());
                    Action::DeleteKey(Term::prepare(key, &receiver, cx)?)
                }
                _ => Action::DeleteKey(Term::prepare(key, &key_spec(schema, column), cx)?),
            },
            ast::Target::Field(_) if !matches!(column.ty.unfrozen(), CqlType::Udt(_)) => {
                return fail(format!("Invalid field deletion operation for non-UDT column {name}"));
            }
            ast::Target::Field(_) if !column.ty.is_multicell() => {
                return fail(format!("Frozen UDT column {name} does not support field deletions"));
            }
            ast::Target::Field(field) => Action::DeleteField(field_place(column, &field.text)?.0),
        };
        Ok(Self { column: column.clone(), action })
    }

    /// A column of the static row.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.column.kind == ColumnKind::Static
    }

    /// Whether it must know what the column holds.
    #[must_use]
    pub fn reads(&self) -> bool {
        matches!(self.action, Action::SetIndex(..) | Action::DeleteIndex(_) | Action::RemoveValues(_))
    }
}

fn set_element(
    schema: &TableSchema,
    column: &Column,
    key: &ast::Expr,
    value: &ast::Expr,
    cx: &mut Preparing<'_>,
) -> Result<Action> {
    let name = &column.name;
    let written = || format!("{name}[{}] = {}", print::expr(key), print::expr(value));
    if !column.ty.is_collection() {
        let text = format!("Invalid operation ({}) for non collection column {name}", written());
        return Err(CqlError::invalid(text));
    }
    if !column.ty.is_multicell() {
        let text = format!("Invalid operation ({}) for frozen collection column {name}", written());
        return Err(CqlError::invalid(text));
    }
    match &column.ty {
        CqlType::List(element) => {
            let index = Term::prepare(key, &index_spec(schema, name), cx)?;
            let receiver = spec(schema, &format!("value({name})"), (**element).clone());
            Ok(Action::SetIndex(index, Term::prepare(value, &receiver, cx)?))
        }
        CqlType::Map(_, element) => {
            let key = Term::prepare(key, &key_spec(schema, column), cx)?;
            let receiver = spec(schema, &format!("value({name})"), (**element).clone());
            Ok(Action::SetKey(key, Term::prepare(value, &receiver, cx)?))
        }
        _ => Err(CqlError::invalid(format!("Invalid operation ({}) for set column {name}", written()))),
    }
}

fn set_field(
    schema: &TableSchema,
    column: &Column,
    field: &str,
    value: &ast::Expr,
    cx: &mut Preparing<'_>,
) -> Result<Action> {
    let name = &column.name;
    let written = || format!("{name}.{field} = {}", print::expr(value));
    if !matches!(column.ty.unfrozen(), CqlType::Udt(_)) {
        return Err(CqlError::invalid(format!(
            "Invalid operation ({}) for non-UDT column {name}",
            written()
        )));
    }
    if !column.ty.is_multicell() {
        return Err(CqlError::invalid(format!(
            "Invalid operation ({}) for frozen UDT column {name}",
            written()
        )));
    }
    let (place, ty) = field_place(column, field)?;
    let receiver = spec(schema, &format!("{name}.{field}"), ty);
    Ok(Action::SetField(place, Term::prepare(value, &receiver, cx)?))
}

fn add(schema: &TableSchema, column: &Column, value: &ast::Expr, cx: &mut Preparing<'_>) -> Result<Action> {
    let written = || format!("{0} = {0} + {1}", column.name, print::expr(value));
    let receiver = spec(schema, &column.name, column.ty.clone());
    match checked_collection(column, written)? {
        None => Ok(Action::Increment(Term::prepare(value, &receiver, cx)?)),
        Some(CqlType::List(_)) => Ok(Action::Append(Term::prepare(value, &receiver, cx)?)),
        Some(CqlType::Map(..)) => {
            let term = Term::prepare(value, &receiver, cx);
            Ok(Action::Add(term.map_err(|error| map_operand("addition", "map", value, error))?))
        }
        Some(_) => Ok(Action::Add(Term::prepare(value, &receiver, cx)?)),
    }
}

fn subtract(
    schema: &TableSchema,
    column: &Column,
    value: &ast::Expr,
    cx: &mut Preparing<'_>,
) -> Result<Action> {
    let written = || format!("{0} = {0} - {1}", column.name, print::expr(value));
    let receiver = spec(schema, &column.name, column.ty.clone());
    match checked_collection(column, written)? {
        None => Ok(Action::Decrement(Term::prepare(value, &receiver, cx)?)),
        Some(CqlType::List(_)) => Ok(Action::RemoveValues(Term::prepare(value, &receiver, cx)?)),
        Some(CqlType::Map(key, _)) => {
            // What is taken from a map is a set of keys.
            let receiver = spec(schema, &column.name, CqlType::Set(key.clone()));
            let term = Term::prepare(value, &receiver, cx);
            Ok(Action::RemoveKeys(term.map_err(|error| map_operand("substraction", "set", value, error))?))
        }
        Some(_) => Ok(Action::RemoveKeys(Term::prepare(value, &receiver, cx)?)),
    }
}

fn prepend(
    schema: &TableSchema,
    column: &Column,
    value: &ast::Expr,
    cx: &mut Preparing<'_>,
) -> Result<Action> {
    let name = &column.name;
    let term = Term::prepare(value, &spec(schema, name, column.ty.clone()), cx)?;
    // The minus is Cassandra's.
    let written = || format!("{name} = {} - {name}", print::expr(value));
    if !matches!(column.ty.unfrozen(), CqlType::List(_)) {
        return Err(CqlError::invalid(format!(
            "Invalid operation ({}) for non list column {name}",
            written()
        )));
    }
    if !column.ty.is_multicell() {
        return Err(CqlError::invalid(format!(
            "Invalid operation ({}) for frozen list column {name}",
            written()
        )));
    }
    Ok(Action::Prepend(term))
}

/// The type of a collection that `+` and `-` may change, None for a counter.
fn checked_collection(column: &Column, written: impl Fn() -> String) -> Result<Option<&CqlType>> {
    let name = &column.name;
    if column.ty.is_counter() {
        return Ok(None);
    }
    if column.ty.is_multicell() && column.ty.is_collection() {
        return Ok(Some(&column.ty));
    }
    let written = written();
    if !column.ty.is_collection() {
        // Cassandra counts user types as tuples, and tells them apart for + alone.
        let what = match column.ty.unfrozen() {
            CqlType::Udt(_) | CqlType::Tuple(_) if written.contains(" + ") => "tuple",
            _ => "non counter",
        };
        let text = format!("Invalid operation ({written}) for {what} column {name}");
        return Err(CqlError::invalid(text));
    }
    Err(CqlError::invalid(format!("Invalid operation ({written}) for frozen collection column {name}")))
}

fn map_operand(what: &str, wanted: &str, value: &ast::Expr, error: CqlError) -> CqlError {
    if error.code() != crate::error::Code::Invalid {
        return error;
    }
    let value = print::expr(value);
    CqlError::invalid(format!("Value for a map {what} has to be a {wanted}, but was: '{value}'"))
}

fn field_place(column: &Column, field: &str) -> Result<(usize, CqlType)> {
    let place = match column.ty.unfrozen() {
        CqlType::Udt(udt) => udt.fields.iter().enumerate().find(|(_, (name, _))| name == field),
        _ => None,
    };
    place.map(|(place, (_, ty))| (place, ty.clone())).ok_or_else(|| {
        CqlError::invalid(format!("UDT column {} does not have a field named {field}", column.name))
    })
}

/// What takes the value of a column, element or field of a table.
pub fn spec(schema: &TableSchema, name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec { keyspace: schema.keyspace.clone(), table: schema.name.clone(), name: name.to_owned(), ty }
}

/// What takes the index of a list's element.
pub fn index_spec(schema: &TableSchema, column: &str) -> ColumnSpec {
    spec(schema, &format!("idx({column})"), CqlType::Int)
}

/// What takes a key of a map.
pub fn key_spec(schema: &TableSchema, column: &Column) -> ColumnSpec {
    let ty = match column.ty.unfrozen() {
        CqlType::Map(key, _) => (**key).clone(),
        other => other.clone(),
    };
    spec(schema, &format!("key({})", column.name), ty)
}
