//! Which function a call means: the choice among overloads, for terms and selectors alike.
//!
//! One overload is taken if its arguments fit; of several the one that fits exactly, else the only one that fits at all. Operators,
//! negation and casts are functions with many overloads. The errors say in Cassandra's words why there is no choice, or no single one.

use crate::error::{CqlError, Result};
use crate::function::literal::Fit;
use crate::function::{Argument, Function, arithmetic, candidates, cast, token};
use crate::syntax::ast::Operator;
use crate::term::assign::{of_type, same};
use crate::value::type_name;
use skep_engine::{CqlType, TableSchema};
use std::sync::Arc;

/// What is called.
#[derive(Clone, Copy, Debug)]
pub enum Callee<'a> {
    /// A function by keyspace and name, both in their final case.
    Named(Option<&'a str>, &'a str),
    /// An operator between two.
    Operator(Operator),
    /// The minus sign.
    Negation,
    /// CAST to a type.
    Cast(&'a CqlType),
}

/// What stands in the place of an argument.
pub trait Operand {
    /// Its text, for messages.
    fn text(&self) -> String;
    /// How well it fits a type.
    fn fit(&self, to: &CqlType) -> Fit;
    /// The type that it has by itself.
    fn ty(&self) -> Option<CqlType>;
    /// How many elements it has, if it is a list literal.
    fn elements(&self) -> Option<usize>;
    /// Whether it is a bind marker.
    fn is_marker(&self) -> bool;
}

/// The function that a call means; `None` if there is none of the name. `receiver` is the type of what takes its result, if that is known.
///
/// # Errors
/// `Invalid` if no overload takes the arguments, or several do.
pub fn resolve(
    callee: Callee<'_>,
    operands: &[&dyn Operand],
    receiver: Option<&CqlType>,
    table: Option<&TableSchema>,
) -> Result<Option<Arc<Function>>> {
    match callee {
        Callee::Named(keyspace, name) => {
            if keyspace.is_some_and(|keyspace| keyspace != "system") {
                return Ok(None);
            }
            let found = named(name, operands, receiver, table)?;
            match found.as_slice() {
                [] => Ok(None),
                [one] => check(one, operands).map(|()| Some(Arc::clone(one))),
                several => choose(callee, several, operands, receiver).map(Some),
            }
        }
        Callee::Operator(operator) => {
            choose(callee, arithmetic::candidates(operator), operands, receiver).map(Some)
        }
        Callee::Negation => choose(callee, arithmetic::negations(), operands, receiver).map(Some),
        Callee::Cast(to) => {
            let found = cast::candidates(to.unfrozen());
            if found.is_empty() {
                return Ok(None);
            }
            choose(callee, &found, operands, receiver).map(Some)
        }
    }
}

fn named(
    name: &str,
    operands: &[&dyn Operand],
    receiver: Option<&CqlType>,
    table: Option<&TableSchema>,
) -> Result<Vec<Arc<Function>>> {
    if name == "token" {
        let of_table = |table: &TableSchema| {
            token(&table.partition_key().iter().map(|column| column.ty.clone()).collect::<Vec<_>>())
        };
        return Ok(table.map(of_table).into_iter().collect());
    }
    let argument = |operand: &&dyn Operand| Argument {
        text: operand.text(),
        ty: operand.ty(),
        elements: operand.elements(),
    };
    candidates(name, &operands.iter().map(argument).collect::<Vec<_>>(), receiver)
}

/// Whether the only overload takes the arguments.
fn check(function: &Function, operands: &[&dyn Operand]) -> Result<()> {
    if operands.len() != function.args.len() {
        return Err(CqlError::invalid(format!(
            "Invalid number of arguments in call to function system.{}: {} required but {} provided",
            function.name,
            function.args.len(),
            operands.len()
        )));
    }
    for (index, (operand, ty)) in operands.iter().zip(&function.args).enumerate() {
        if operand.fit(ty) == Fit::No {
            return Err(CqlError::invalid(format!(
                "Type error: {} cannot be passed as argument {index} of function system.{} of type {}",
                operand.text(),
                function.name,
                type_name(ty)
            )));
        }
    }
    Ok(())
}

fn choose(
    callee: Callee<'_>,
    overloads: &[Arc<Function>],
    operands: &[&dyn Operand],
    receiver: Option<&CqlType>,
) -> Result<Arc<Function>> {
    let mut fitting: Vec<&Arc<Function>> = Vec::new();
    for overload in overloads {
        if receiver.is_some_and(|receiver| of_type(&overload.returns, receiver) == Fit::No)
            || overload.args.len() != operands.len()
        {
            continue;
        }
        let mut fit = Fit::Exact;
        for (operand, ty) in operands.iter().zip(&overload.args) {
            fit = fit.min(operand.fit(ty));
            if fit == Fit::No {
                break;
            }
        }
        match fit {
            Fit::Exact => return Ok(Arc::clone(overload)),
            Fit::Weak => fitting.push(overload),
            Fit::No => {}
        }
    }
    match fitting.as_slice() {
        [one] => return Ok(Arc::clone(one)),
        [] => return Err(CqlError::invalid(nothing_fits(callee, overloads, operands))),
        _ => {}
    }
    // Of operators, the overload whose operands are both of the receiver's type.
    if let (Callee::Operator(_), Some(receiver)) = (callee, receiver)
        && !operands.iter().any(|operand| operand.is_marker())
        && let Some(one) = fitting.iter().find(|one| one.args.iter().all(|ty| same(ty, receiver)))
    {
        return Ok(Arc::clone(one));
    }
    Err(ambiguous(callee, &fitting, operands))
}

fn nothing_fits(callee: Callee<'_>, overloads: &[Arc<Function>], operands: &[&dyn Operand]) -> String {
    let text = |index: usize| operands.get(index).map(|operand| operand.text()).unwrap_or_default();
    match callee {
        Callee::Operator(operator) => format!(
            "the '{}' operation is not supported between {} and {}",
            arithmetic::sign(operator),
            text(0),
            text(1)
        ),
        _ => format!(
            "Invalid call to function {}, none of its type signatures match (known type signatures: {})",
            name_of(callee),
            signatures(overloads)
        ),
    }
}

fn ambiguous(callee: Callee<'_>, fitting: &[&Arc<Function>], operands: &[&dyn Operand]) -> CqlError {
    let text = |index: usize| operands.get(index).map(|operand| operand.text()).unwrap_or_default();
    let message = match callee {
        Callee::Operator(operator) => format!(
            "Ambiguous '{}' operation with args {} and {}: use type hint to disambiguate, example '(int) ?'",
            arithmetic::sign(operator),
            text(0),
            text(1)
        ),
        Callee::Negation => "Ambiguous negation: use type casts to disambiguate".to_owned(),
        _ => format!(
            "Ambiguous call to function {} (can be matched by following signatures: {}): use type casts to disambiguate",
            name_of(callee),
            signatures(fitting)
        ),
    };
    CqlError::invalid(message)
}

fn name_of(callee: Callee<'_>) -> String {
    match callee {
        Callee::Named(Some(keyspace), name) => format!("{keyspace}.{name}"),
        Callee::Named(None, name) => name.to_owned(),
        Callee::Operator(operator) => format!("system.{}", arithmetic::name(operator)),
        Callee::Negation => "system._negate".to_owned(),
        Callee::Cast(to) => format!("system.cast_as_{}", type_name(to)),
    }
}

fn signatures<F: ToString>(functions: &[F]) -> String {
    functions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
