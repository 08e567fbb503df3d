//! What a generic function wants of its arguments, and the errors where it does not get it.
//!
//! `native` declares each generic function by a list of [`Parameter`]s; [`infer`] settles the concrete types.

use skep_engine::CqlType;

use crate::error::{CqlError, Result};
use crate::function::number::is_numeric;
use crate::value::type_name;

/// An argument, as far as it is known before a function is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// As in the statement, for errors.
    pub text: String,
    /// Its type: of a column or function that one, of a constant the one that it has by itself, of a marker or null none.
    pub ty: Option<CqlType>,
    /// How many elements it has, if it is a list literal, which may as well be a vector.
    pub elements: Option<usize>,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// Any type.
    Any,
    /// Any type; without one of its own, the receiver's.
    AnyOrReceiver,
    /// The type of the parameter of this number, or any.
    SameAs(usize),
    /// `text` or `ascii`.
    Text,
    /// `text`; `ascii` is one.
    PlainText,
    /// `text`, which may be left out.
    OptionalText,
    /// `int`.
    Int,
    /// A map.
    Map,
    /// A list, set or map.
    Collection,
    /// A list or set.
    Elements,
    /// A list or set of numbers.
    Numbers,
    /// A vector of floats.
    FloatVector,
}

impl Parameter {
    fn is_optional(self) -> bool {
        self == Self::OptionalText
    }

    /// As in a signature: `any`, `[text]`.
    fn name(self) -> &'static str {
        match self {
            Self::Any | Self::AnyOrReceiver | Self::SameAs(_) => "any",
            Self::Text => "[text|varchar|ascii]",
            Self::PlainText => "text",
            Self::OptionalText => "[text]",
            Self::Int => "int",
            Self::Map => "map",
            Self::Collection => "collection",
            Self::Elements => "numeric_set_or_list",
            Self::Numbers => "numeric_set_or_list",
            Self::FloatVector => "vector<float, n>",
        }
    }

    fn infer(
        self,
        argument: &Argument,
        receiver: Option<&CqlType>,
        others: &[Option<CqlType>],
    ) -> Option<CqlType> {
        let own = argument.ty.clone();
        match self {
            Self::Any | Self::Map | Self::Collection | Self::Elements | Self::Numbers => own,
            Self::AnyOrReceiver => own.or_else(|| receiver.cloned()),
            Self::SameAs(index) => match others.get(index) {
                Some(Some(same)) => Some(same.clone()),
                _ => own,
            },
            Self::Text | Self::PlainText | Self::OptionalText => own.or(Some(CqlType::Text)),
            Self::Int => own.or(Some(CqlType::Int)),
            Self::FloatVector => match argument.elements.map(u32::try_from) {
                Some(Ok(dimension)) => Some(CqlType::Vector(Box::new(CqlType::Float), dimension)),
                _ => own.or_else(|| others.iter().flatten().next().cloned()),
            },
        }
    }

    fn check(self, function: &str, argument: &Argument, ty: &CqlType) -> Result<()> {
        let bare = ty.unfrozen();
        let (fits, wanted) = match self {
            Self::Any | Self::AnyOrReceiver | Self::SameAs(_) => (true, ""),
            Self::Text => {
                (matches!(bare, CqlType::Text | CqlType::Ascii), "an argument of type [text|varchar|ascii]")
            }
            Self::PlainText | Self::OptionalText => {
                (matches!(bare, CqlType::Text | CqlType::Ascii), "an argument of type text")
            }
            Self::Int => (matches!(bare, CqlType::Int), "an argument of type int"),
            Self::Map => (matches!(bare, CqlType::Map(..)), "a map argument"),
            Self::Collection => (bare.is_collection(), "a collection argument"),
            Self::Elements => (matches!(bare, CqlType::List(_) | CqlType::Set(_)), "a set or list argument"),
            Self::Numbers => (
                matches!(bare, CqlType::List(inner) | CqlType::Set(inner) if is_numeric(inner)),
                "a numeric set/list argument",
            ),
            Self::FloatVector => (
                matches!(bare, CqlType::Vector(inner, _) if **inner == CqlType::Float),
                "a float vector argument",
            ),
        };
        if fits {
            return Ok(());
        }
        Err(CqlError::invalid(format!(
            "Function system.{function} requires {wanted}, but found argument {} of type {}",
            argument.text,
            type_name(ty)
        )))
    }
}

/// The types of the arguments of `function`; of those that are left out none.
///
/// # Errors
/// `Invalid`: too many or few arguments, one without a type, one of the wrong type.
pub(crate) fn infer(
    function: &str,
    parameters: &[Parameter],
    args: &[Argument],
    receiver: Option<&CqlType>,
) -> Result<Vec<CqlType>> {
    let signature = || {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name()).collect();
        format!("system.{function}({})", names.join(", "))
    };
    let needed = parameters.iter().filter(|parameter| !parameter.is_optional()).count();
    if args.len() < needed || args.len() > parameters.len() {
        return Err(CqlError::invalid(format!("Invalid number of arguments for function {}", signature())));
    }
    let pairs = || parameters.iter().zip(args);
    let first: Vec<Option<CqlType>> =
        pairs().map(|(parameter, argument)| parameter.infer(argument, receiver, &[])).collect();
    let mut types = Vec::with_capacity(args.len());
    for (parameter, argument) in pairs() {
        let ty = parameter.infer(argument, receiver, &first).ok_or_else(|| {
            CqlError::invalid(format!(
                "Cannot infer type of argument {} in call to function {}: use type casts to disambiguate",
                argument.text,
                signature()
            ))
        })?;
        parameter.check(function, argument, &ty)?;
        types.push(ty);
    }
    Ok(types)
}
