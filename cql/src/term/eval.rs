//! A prepared term, and its value.

use crate::error::{CqlError, Result};
use crate::function::literal;
use crate::function::{CallContext, Function};
use crate::syntax::ast::Literal;
use crate::term::bound::checked;
use crate::term::parts;
use crate::value::{Bound, ColumnSpec, Wire};
use skep_engine::model::bytes::Bytes;
use skep_engine::{CqlType, UdtType};
use std::sync::Arc;

/// What an execution gives terms.
#[derive(Clone, Copy, Debug)]
pub struct EvalContext<'a> {
    /// Values of the markers, by number.
    pub binds: &'a [Bound],
    /// The statement's time.
    pub call: CallContext,
}

/// A prepared term.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Known already.
    Constant(Bound),
    /// A constant whose value depends on the time: the timestamp `'now'`.
    Late(Literal, String, Arc<ColumnSpec>),
    /// A bind marker and its type.
    Marker(usize, CqlType),
    /// A list.
    List(Vec<Node>),
    /// A set and its elements' type.
    Set(Vec<Node>, CqlType),
    /// A map and its keys' type.
    Map(Vec<(Node, Node)>, CqlType),
    /// A vector and its elements' type.
    Vector(Vec<Node>, CqlType),
    /// A tuple.
    Tuple(Vec<Node>),
    /// A user type, all of its fields.
    Udt(Vec<Node>, Arc<UdtType>),
    /// A function.
    Call(Arc<Function>, Vec<Node>),
}

impl Node {
    /// Whether a bind marker is in it.
    pub(crate) fn has_marker(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Late(..) => false,
            Self::Marker(..) => true,
            Self::Map(entries, _) => {
                entries.iter().any(|(key, value)| key.has_marker() || value.has_marker())
            }
            Self::List(inner)
            | Self::Set(inner, _)
            | Self::Vector(inner, _)
            | Self::Tuple(inner)
            | Self::Udt(inner, _)
            | Self::Call(_, inner) => inner.iter().any(Self::has_marker),
        }
    }

    /// Evaluated at once where nothing in it depends on the execution. Errors stay for the execution, where Cassandra has them.
    pub(crate) fn folded(self) -> Self {
        let constant = |node: &Self| matches!(node, Self::Constant(_));
        let foldable = match &self {
            Self::List(inner)
            | Self::Set(inner, _)
            | Self::Vector(inner, _)
            | Self::Tuple(inner)
            | Self::Udt(inner, _) => inner.iter().all(constant),
            Self::Map(entries, _) => entries.iter().all(|(key, value)| constant(key) && constant(value)),
            _ => false,
        };
        if foldable {
            let cx = EvalContext { binds: &[], call: CallContext { now_micros: 0 } };
            if let Ok(value) = eval(&self, &cx) {
                return Self::Constant(value);
            }
        }
        self
    }
}

/// The value of `node`.
pub(crate) fn eval(node: &Node, cx: &EvalContext<'_>) -> Result<Bound> {
    Ok(Bound::Value(match node {
        Node::Constant(value) => return Ok(value.clone()),
        Node::Late(kind, text, receiver) => literal::parse(&cx.call, *kind, text, receiver)?,
        Node::Marker(index, ty) => match bind(*index, cx)? {
            Bound::Value(bytes) => checked(bytes, ty)?,
            other => return Ok(other.clone()),
        },
        Node::List(inner) => {
            let parts = inner.iter().map(|node| element(node, "collections", cx).map(Some));
            parts::list(&parts.collect::<Result<Vec<_>>>()?)?
        }
        Node::Set(inner, ty) => {
            let parts = inner.iter().map(|node| element(node, "collections", cx));
            parts::set(parts.collect::<Result<Vec<_>>>()?, ty)?
        }
        Node::Map(entries, ty) => {
            let part = |node| element(node, "collections", cx);
            let parts = entries.iter().map(|(key, value)| Ok((part(key)?, part(value)?)));
            parts::map(parts.collect::<Result<Vec<_>>>()?, ty)?
        }
        Node::Vector(inner, ty) => {
            let parts = inner.iter().map(|node| element(node, "vectors", cx));
            parts::vector(&parts.collect::<Result<Vec<_>>>()?, ty)?
        }
        Node::Tuple(inner) => {
            let unset = |index: usize| format!("Invalid unset value for tuple field number {index}");
            parts::tuple(&fields(inner, &unset, cx)?)?
        }
        Node::Udt(inner, udt) => {
            let unset = |index: usize| {
                let name = udt.fields.get(index).map_or("", |(name, _)| name);
                format!("Invalid unset value for field '{name}' of user defined type {}", udt.name)
            };
            parts::tuple(&fields(inner, &unset, cx)?)?
        }
        Node::Call(function, inner) => {
            let unset =
                |_: usize| format!("Invalid unset value for argument in call to function {}", function.name);
            let args = fields(inner, &unset, cx)?;
            return function.call(&cx.call, &args).map(Bound::from_wire);
        }
    }))
}

fn bind<'a>(index: usize, cx: &EvalContext<'a>) -> Result<&'a Bound> {
    cx.binds.get(index).ok_or_else(|| CqlError::invalid("Invalid amount of bind variables"))
}

fn element(node: &Node, what: &str, cx: &EvalContext<'_>) -> Result<Bytes> {
    match eval(node, cx)? {
        Bound::Value(bytes) => Ok(bytes),
        Bound::Null => Err(CqlError::invalid(format!("null is not supported inside {what}"))),
        // An unset element is no element either.
        Bound::Unset => Err(CqlError::invalid(format!("null is not supported inside {what}"))),
    }
}

fn fields(nodes: &[Node], unset: &dyn Fn(usize) -> String, cx: &EvalContext<'_>) -> Result<Vec<Wire>> {
    let field = |(index, node)| match eval(node, cx)? {
        Bound::Value(bytes) => Ok(Some(bytes)),
        Bound::Null => Ok(None),
        Bound::Unset => Err(CqlError::invalid(unset(index))),
    };
    nodes.iter().enumerate().map(field).collect()
}

/// The elements of a list that may hold nulls: what an `IN ?` is given.
pub(crate) fn eval_list(node: &Node, cx: &EvalContext<'_>) -> Result<Option<Vec<Wire>>> {
    let (bytes, ty) = match node {
        Node::Marker(index, ty) => match bind(*index, cx)? {
            Bound::Value(bytes) => (bytes.clone(), ty.clone()),
            Bound::Null => return Ok(None),
            Bound::Unset => return Err(CqlError::invalid("Invalid unset value for an IN list")),
        },
        other => match eval(other, cx)? {
            Bound::Value(bytes) => (bytes, CqlType::List(Box::new(CqlType::Blob))),
            _ => return Ok(None),
        },
    };
    let element = match ty.unfrozen() {
        CqlType::List(element) => (**element).clone(),
        _ => return Err(CqlError::invalid("An IN marker takes a list")),
    };
    let check = |part: Wire| part.map(|part| checked(&part, &element)).transpose();
    parts::split(&bytes, &ty)?.into_iter().map(check).collect::<Result<Vec<_>>>().map(Some)
}
