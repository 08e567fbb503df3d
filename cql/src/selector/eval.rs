//! A prepared selector's value for a row.

use crate::error::{CqlError, Result};
use crate::function::Function;
use crate::selector::{RowValues, life};
use crate::syntax::ast::LifeFunction;
use crate::term::eval::{Node as TermNode, eval as eval_term};
use crate::term::{EvalContext, parts};
use crate::value::{Bound, Wire};
use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;
use std::sync::Arc;

/// A part of a prepared selector.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A column.
    Column(usize),
    /// A constant or marker.
    Term(TermNode),
    /// A function.
    Call(Arc<Function>, Vec<Node>),
    /// An aggregate's result.
    Aggregate(usize),
    /// A list.
    List(Vec<Node>),
    /// A set and its elements' type.
    Set(Vec<Node>, CqlType),
    /// A map and its keys' type.
    Map(Vec<(Node, Node)>, CqlType),
    /// A vector and its elements' type.
    Vector(Vec<Node>, CqlType),
    /// A tuple, or all fields of a user type.
    Tuple(Vec<Node>),
    /// An element.
    Element(Box<Collection>, TermNode),
    /// A slice.
    Slice(Box<Collection>, Option<TermNode>, Option<TermNode>),
    /// A field of a user type.
    Field(Box<Collection>, usize),
    /// Times of cells.
    Life(Box<Life>),
}

/// Times of a column's cells.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) function: LifeFunction,
    /// The column, or what is selected of it.
    pub(crate) of: Node,
    /// Whether that is many cells.
    pub(crate) many: bool,
    /// The type of the column.
    pub(crate) column: CqlType,
}

/// What an element, slice or field is taken of.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) node: Node,
    pub(crate) ty: CqlType,
    /// For messages.
    pub(crate) text: String,
}

impl Collection {
    /// The type that elements are found by: of a map's keys or a set's elements.
    pub(super) fn key_type(&self) -> &CqlType {
        match self.ty.unfrozen() {
            CqlType::Map(key, _) => key,
            CqlType::Set(element) => element,
            other => other,
        }
    }
}

/// The value of `node` for `row`.
pub(super) fn eval(node: &Node, row: &dyn RowValues, cx: &EvalContext<'_>) -> Result<Wire> {
    let all = |nodes: &[Node]| nodes.iter().map(|node| eval(node, row, cx)).collect::<Result<Vec<_>>>();
    match node {
        Node::Column(column) => row.value(*column),
        Node::Term(term) => match eval_term(term, cx)? {
            Bound::Value(bytes) => Ok(Some(bytes)),
            Bound::Null => Ok(None),
            Bound::Unset => Err(CqlError::invalid("Invalid unset value in the selection clause")),
        },
        Node::Call(function, args) => {
            if args.iter().any(|arg| matches!(arg, Node::Term(term) if is_unset(term, cx))) {
                let name = &function.name;
                let text = format!("Invalid unset value for argument in call to function {name}");
                return Err(CqlError::invalid(text));
            }
            function.call(&cx.call, &all(args)?)
        }
        Node::Aggregate(index) => row.aggregate(*index),
        Node::List(nodes) => parts::list(&all(nodes)?).map(Some),
        Node::Set(nodes, ty) => parts::set(present(all(nodes)?, "collections")?, ty).map(Some),
        Node::Map(entries, ty) => {
            let mut found = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                match (eval(key, row, cx)?, eval(value, row, cx)?) {
                    (Some(key), Some(value)) => found.push((key, value)),
                    _ => return Err(null_inside("collections")),
                }
            }
            parts::map(found, ty).map(Some)
        }
        Node::Vector(nodes, ty) => parts::vector(&present(all(nodes)?, "vectors")?, ty).map(Some),
        Node::Tuple(nodes) => parts::tuple(&all(nodes)?).map(Some),
        Node::Element(of, key) => {
            let key = bound_key(key, of, "element", cx)?;
            let Some(bytes) = eval(&of.node, row, cx)? else { return Ok(None) };
            element(&bytes, &key, of)
        }
        Node::Slice(of, from, to) => {
            let range = slice_bounds(of, from.as_ref(), to.as_ref(), cx)?;
            let Some(bytes) = eval(&of.node, row, cx)? else { return Ok(None) };
            slice(&bytes, &range, of)
        }
        Node::Field(of, index) => {
            let Some(bytes) = eval(&of.node, row, cx)? else { return Ok(None) };
            Ok(parts::split(&bytes, &of.ty)?.into_iter().nth(*index).flatten())
        }
        Node::Life(life) => life::eval(life, row, cx),
    }
}

fn present(values: Vec<Wire>, inside: &str) -> Result<Vec<Bytes>> {
    values.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| null_inside(inside))
}

fn null_inside(what: &str) -> CqlError {
    CqlError::invalid(format!("null is not supported inside {what}"))
}

/// The key of an element, or a slice's bound.
pub(super) fn bound_key(key: &TermNode, of: &Collection, what: &str, cx: &EvalContext<'_>) -> Result<Bytes> {
    match eval_term(key, cx)? {
        Bound::Value(bytes) => Ok(bytes),
        Bound::Null => {
            Err(CqlError::invalid(format!("Invalid null value for {what} selection on {}", of.text)))
        }
        Bound::Unset => {
            Err(CqlError::invalid(format!("Invalid unset value for {what} selection on {}", of.text)))
        }
    }
}

fn is_unset(term: &TermNode, cx: &EvalContext<'_>) -> bool {
    matches!(term, TermNode::Marker(index, _) if cx.binds.get(*index) == Some(&Bound::Unset))
}

/// First and last key of a slice, both included.
pub(super) struct Range(Option<Bytes>, Option<Bytes>);

impl Range {
    /// Whether a key of type `ty` is in it.
    pub(super) fn contains(&self, key: &[u8], ty: &CqlType) -> bool {
        self.0.as_ref().is_none_or(|from| compare(key, from, ty).is_ge())
            && self.1.as_ref().is_none_or(|to| compare(key, to, ty).is_le())
    }
}

pub(super) fn slice_bounds(
    of: &Collection,
    from: Option<&TermNode>,
    to: Option<&TermNode>,
    cx: &EvalContext<'_>,
) -> Result<Range> {
    // A bound that is not set is none.
    let bound = |key: Option<&TermNode>| {
        key.filter(|key| !is_unset(key, cx)).map(|key| bound_key(key, of, "slice", cx)).transpose()
    };
    Ok(Range(bound(from)?, bound(to)?))
}

fn element(bytes: &[u8], key: &[u8], of: &Collection) -> Result<Wire> {
    let ty = of.key_type();
    let found = parts::split(bytes, &of.ty)?;
    let is_key = |part: &Wire| part.as_ref().is_some_and(|part| compare(part, key, ty).is_eq());
    if matches!(of.ty.unfrozen(), CqlType::Map(..)) {
        let entry = found.chunks_exact(2).find(|entry| is_key(&entry[0]));
        return Ok(entry.and_then(|entry| entry[1].clone()));
    }
    Ok(found.into_iter().find(is_key).flatten())
}

fn slice(bytes: &[u8], range: &Range, of: &Collection) -> Result<Wire> {
    let ty = of.key_type();
    let found = parts::split(bytes, &of.ty)?;
    let inside = |part: &Wire| part.as_ref().is_some_and(|part| range.contains(part, ty));
    let (value, empty) = match of.ty.unfrozen() {
        CqlType::Map(..) => {
            let entries = found.chunks_exact(2).filter(|entry| inside(&entry[0]));
            let entries: Vec<_> =
                entries.filter_map(|entry| Some((entry[0].clone()?, entry[1].clone()?))).collect();
            let empty = entries.is_empty();
            (parts::map(entries, ty)?, empty)
        }
        _ => {
            let elements: Vec<_> = found.into_iter().filter(inside).flatten().collect();
            let empty = elements.is_empty();
            (parts::set(elements, ty)?, empty)
        }
    };
    // An empty collection of many cells is none; an empty frozen one is a value.
    Ok(if empty && of.ty.is_multicell() { None } else { Some(value) })
}
