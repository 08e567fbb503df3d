//! writetime, maxwritetime and ttl: of a whole column, of an element, a slice or a field.
//!
//! A column of one cell has one life, which its elements and fields share; a column of many cells has one for each element or field.

use crate::error::Result;
use crate::selector::RowValues;
use crate::selector::eval::{Life, Node, bound_key, eval as value, slice_bounds};
use crate::syntax::ast::LifeFunction;
use crate::term::{EvalContext, parts};
use crate::value::Wire;
use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::compare::compare;

/// When a cell was written, and how long it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellLife {
    /// Which cell of a column of many: the key of a map, the element of a set, the number of a field as two bytes (big-endian); anything of a
    /// list; empty for a column of one cell.
    pub key: Bytes,
    /// Its timestamp, micros.
    pub timestamp: i64,
    /// Seconds that it still lives; None if it never expires.
    pub ttl: Option<i32>,
}

/// The lives of what is selected.
enum Lives {
    /// Of one cell, if it is there.
    One(Option<CellLife>),
    /// Of many, with None for a field that has no value.
    Many(Vec<Option<CellLife>>),
}

/// The function's value: a number, or a list of them for many cells.
pub(super) fn eval(life: &Life, row: &dyn RowValues, cx: &EvalContext<'_>) -> Result<Wire> {
    let function = life.function;
    let number = |life: &CellLife| match function {
        LifeFunction::Ttl => life.ttl.map(|ttl| Bytes::new(&ttl.to_be_bytes())),
        _ => Some(Bytes::new(&life.timestamp.to_be_bytes())),
    };
    let found = match lives(&life.of, &life.column, row, cx)? {
        Lives::One(life) => vec![life],
        Lives::Many(found) => found,
    };
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    if function == LifeFunction::MaxWritetime {
        let newest = found.iter().flatten().map(|life| life.timestamp).max();
        return Ok(newest.map(|timestamp| Bytes::new(&timestamp.to_be_bytes())));
    }
    if life.many {
        let numbers: Vec<Wire> = found.iter().map(|life| life.as_ref().and_then(number)).collect();
        return parts::list(&numbers).map(Some);
    }
    Ok(found.first().and_then(Option::as_ref).and_then(number))
}

fn lives(node: &Node, column: &CqlType, row: &dyn RowValues, cx: &EvalContext<'_>) -> Result<Lives> {
    Ok(match node {
        Node::Element(of, key) => {
            let ty = of.key_type();
            match lives(&of.node, column, row, cx)? {
                Lives::Many(found) => {
                    let key = bound_key(key, of, "element", cx)?;
                    let is_it = |life: &CellLife| compare(&life.key, &key, ty).is_eq();
                    Lives::One(found.into_iter().flatten().find(is_it))
                }
                Lives::One(life) => Lives::One(value(node, row, cx)?.and(life)),
            }
        }
        Node::Slice(of, from, to) => match lives(&of.node, column, row, cx)? {
            Lives::Many(mut found) => {
                let range = slice_bounds(of, from.as_ref(), to.as_ref(), cx)?;
                let ty = of.key_type();
                found.retain(|life| life.as_ref().is_some_and(|life| range.contains(&life.key, ty)));
                Lives::Many(found)
            }
            Lives::One(life) => {
                let empty = |slice: Wire| slice.is_none_or(|bytes| bytes.as_slice() == [0; 4]);
                if empty(value(node, row, cx)?) { Lives::One(None) } else { Lives::One(life) }
            }
        },
        Node::Field(of, index) => match lives(&of.node, column, row, cx)? {
            Lives::Many(found) => Lives::One(found.into_iter().nth(*index).flatten()),
            Lives::One(life) => Lives::One(value(node, row, cx)?.and(life)),
        },
        Node::Column(place) => {
            let found = row.lives(*place)?;
            match column {
                CqlType::Udt(udt) => {
                    let field = |index: usize| {
                        let key = u16::try_from(index).unwrap_or(u16::MAX).to_be_bytes();
                        found.iter().find(|life| life.key.as_slice() == key).cloned()
                    };
                    Lives::Many((0..udt.fields.len()).map(field).collect())
                }
                ty if ty.is_multicell() => Lives::Many(found.into_iter().map(Some).collect()),
                _ => Lives::One(found.into_iter().next()),
            }
        }
        _ => Lives::One(None),
    })
}
