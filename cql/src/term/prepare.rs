//! A written term becomes one with types.

use crate::error::{CqlError, Result};
use crate::function::CallContext;
use crate::function::arithmetic::sign;
use crate::function::literal::{self, Fit};
use crate::syntax::ast::{Expr, Literal};
use crate::term::assign::of_type;
use crate::term::eval::Node;
use crate::term::fit::Fits;
use crate::term::{Markers, literal as collection, text};
use crate::value::{Bound, ColumnSpec, type_name};
use skep_engine::CqlType;
use std::sync::Arc;

/// Holds `expr` against its receiver.
pub(crate) fn term(
    expr: &Expr,
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    match expr {
        Expr::Null if receiver.ty.is_counter() => {
            Err(CqlError::invalid("Invalid null value for counter increment/decrement"))
        }
        Expr::Null => Ok(Node::Constant(Bound::Null)),
        Expr::Constant { kind, text, place } => {
            constant(*kind, text, receiver).map_err(|error| error.at(*place))
        }
        Expr::Marker(marker) => {
            markers.set(marker, receiver);
            Ok(Node::Marker(marker.index, receiver.ty.clone()))
        }
        Expr::List(items) => collection::list(items, receiver, fits, markers),
        Expr::Set(items) => collection::set(items, receiver, fits, markers),
        // The grammar has one form for the empty set and the empty map; messages call it a set.
        Expr::Map(entries) if entries.is_empty() && !matches!(receiver.ty.unfrozen(), CqlType::Map(..)) => {
            collection::set(&[], receiver, fits, markers)
        }
        Expr::Map(entries) => collection::map(entries, receiver, fits, markers),
        Expr::Udt(fields) => collection::udt(fields, receiver, fits, markers),
        Expr::Tuple(items) => collection::tuple(items, receiver, fits, markers),
        Expr::TypeHint(ty, inner) => {
            let keyspace = fits.scope.keyspace;
            let hinted = fits.scope.types.resolve(ty, keyspace)?;
            if fits.fit(inner, &hinted) == Fit::No {
                let (value, ty) = (text::of(inner, keyspace), text::type_name(ty, keyspace));
                return Err(CqlError::invalid(format!("Cannot cast value {value} to type {ty}")));
            }
            if of_type(&hinted, &receiver.ty) == Fit::No {
                return Err(CqlError::invalid(format!(
                    "Cannot assign value {} to {} of type {}",
                    text::of(expr, keyspace),
                    receiver.name,
                    type_name(&receiver.ty)
                )));
            }
            // A hint only chooses: the value is the receiver's.
            term(inner, receiver, fits, markers)
        }
        Expr::Cast(inner, ty) => {
            let to = fits.scope.types.resolve(ty, fits.scope.keyspace)?;
            if of_type(&to, &receiver.ty) != Fit::No && fits.ty(inner).as_ref() == Some(&to) {
                return term(inner, &ColumnSpec { ty: to, ..receiver.clone() }, fits, markers);
            }
            call(expr, &[inner], receiver, fits, markers)
        }
        Expr::Call { args, .. } => call(expr, &args.iter().collect::<Vec<_>>(), receiver, fits, markers),
        Expr::Binary(_, left, right) => call(expr, &[left, right], receiver, fits, markers),
        Expr::Negate(inner) => call(expr, &[inner], receiver, fits, markers),
        Expr::Column(_)
        | Expr::Star
        | Expr::Life(..)
        | Expr::Element(..)
        | Expr::Slice(..)
        | Expr::Field(..) => Err(CqlError::invalid(format!(
            "Invalid term {}: no column can stand here",
            text::of(expr, fits.scope.keyspace)
        ))),
    }
}

fn constant(kind: Literal, text: &str, receiver: &ColumnSpec) -> Result<Node> {
    if kind == Literal::String
        && *receiver.ty.unfrozen() == CqlType::Timestamp
        && text.eq_ignore_ascii_case("now")
    {
        return Ok(Node::Late(kind, text.to_owned(), Arc::new(receiver.clone())));
    }
    let cx = CallContext { now_micros: 0 };
    literal::parse(&cx, kind, text, receiver).map(|bytes| Node::Constant(Bound::Value(bytes)))
}

fn call(
    expr: &Expr,
    args: &[&Expr],
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    let unknown = || match expr {
        Expr::Cast(_, ty) => {
            format!("Unknown function system.cast_as_{} called", text::type_name(ty, fits.scope.keyspace))
        }
        Expr::Call { keyspace: Some(keyspace), name, .. } => {
            format!("Unknown function {}.{} called", keyspace.text, name.text)
        }
        Expr::Call { name, .. } => format!("Unknown function {} called", name.text),
        _ => String::new(),
    };
    let function = fits.function(expr, Some(&receiver.ty))?.ok_or_else(|| CqlError::invalid(unknown()))?;
    if function.is_aggregate() {
        return Err(CqlError::invalid("Aggregation function are not supported in the where clause"));
    }
    if of_type(&function.returns, &receiver.ty) == Fit::No {
        let what = match expr {
            Expr::Binary(operator, ..) => format!("operation {}", sign(*operator)),
            Expr::Negate(_) => "operation -".to_owned(),
            _ => format!("function system.{}", function.name),
        };
        return Err(CqlError::invalid(format!(
            "Type error: cannot assign result of {what} (type {}) to {} (type {})",
            type_name(&function.returns),
            receiver.name,
            type_name(&receiver.ty)
        )));
    }
    let mut nodes = Vec::with_capacity(args.len());
    for (index, (arg, ty)) in args.iter().zip(&function.args).enumerate() {
        let spec = ColumnSpec {
            name: format!("arg{index}(system.{})", function.name),
            ty: ty.clone(),
            ..receiver.clone()
        };
        nodes.push(term(arg, &spec, fits, markers)?);
    }
    Ok(Node::Call(function, nodes))
}
