//! Literals with parts: lists, sets, maps, vectors, tuples and user types.

use crate::error::{CqlError, Result};
use crate::function::java::map_order;
use crate::function::literal::Fit;
use crate::syntax::ast::{Expr, Name};
use crate::term::eval::Node;
use crate::term::fit::Fits;
use crate::term::prepare::term;
use crate::term::{Markers, text};
use crate::value::{Bound, ColumnSpec, type_name};
use skep_engine::CqlType;

/// What receives a part of a value that `receiver` receives: `key(m)`, `value(l)`, `u.field`, `t[0]`.
#[must_use]
pub fn part(receiver: &ColumnSpec, name: String, ty: &CqlType) -> ColumnSpec {
    ColumnSpec { keyspace: receiver.keyspace.clone(), table: receiver.table.clone(), name, ty: ty.clone() }
}

/// What receives the elements of a list, set or vector, or the values of a map.
#[must_use]
pub fn value_of(receiver: &ColumnSpec, ty: &CqlType) -> ColumnSpec {
    part(receiver, format!("value({})", receiver.name), ty)
}

/// What receives the keys of a map.
#[must_use]
pub fn key_of(receiver: &ColumnSpec, ty: &CqlType) -> ColumnSpec {
    part(receiver, format!("key({})", receiver.name), ty)
}

fn invalid<T>(text: String) -> Result<T> {
    Err(CqlError::invalid(text))
}

/// An element of a collection: it must fit, and no marker may be in it.
struct Element<'a> {
    /// `list`, for messages.
    kind: &'a str,
    /// `value`, or `key` of a map.
    what: &'a str,
    /// The collection's receiver.
    whole: &'a ColumnSpec,
    /// The element's.
    spec: &'a ColumnSpec,
    markers_allowed: bool,
}

impl Element<'_> {
    fn check(&self, item: &Expr, fits: &Fits<'_>) -> Result<()> {
        if fits.fit(item, &self.spec.ty) != Fit::No {
            return Ok(());
        }
        check_list(item, &self.spec.ty)?;
        invalid(format!(
            "Invalid {} literal for {}: {} {} is not of type {}",
            self.kind,
            self.whole.name,
            self.what,
            text::of(item, fits.scope.keyspace),
            type_name(&self.spec.ty)
        ))
    }

    fn prepare(&self, item: &Expr, fits: &Fits<'_>, markers: &mut Markers) -> Result<Node> {
        let node = term(item, self.spec, fits, markers)?;
        if node.has_marker() && !self.markers_allowed {
            return invalid(format!(
                "Invalid {} literal for {}: bind variables are not supported inside collection literals",
                self.kind, self.whole.name
            ));
        }
        if matches!(node, Node::Constant(Bound::Null)) {
            let inside = if self.kind == "vector" { "vectors" } else { "collections" };
            return invalid(format!("null is not supported inside {inside}"));
        }
        Ok(node)
    }

    fn all(&self, items: &[Expr], fits: &Fits<'_>, markers: &mut Markers) -> Result<Vec<Node>> {
        items.iter().try_for_each(|item| self.check(item, fits))?;
        items.iter().map(|item| self.prepare(item, fits, markers)).collect()
    }
}

/// `[a, b]`: a list or vector.
pub(super) fn list(
    items: &[Expr],
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    let element = |kind, spec| Element {
        kind,
        what: "value",
        whole: receiver,
        spec,
        markers_allowed: kind == "vector",
    };
    match receiver.ty.unfrozen() {
        CqlType::List(ty) => {
            let spec = value_of(receiver, ty);
            Ok(Node::List(element("list", &spec).all(items, fits, markers)?).folded())
        }
        CqlType::Vector(ty, dimension) => {
            if items.len() != *dimension as usize {
                return invalid(format!(
                    "Invalid vector literal for {} of type {}; expected {dimension} elements, but given {}",
                    receiver.name,
                    type_name(&receiver.ty),
                    items.len()
                ));
            }
            let spec = value_of(receiver, ty);
            let nodes = element("vector", &spec).all(items, fits, markers)?;
            Ok(Node::Vector(nodes, (**ty).clone()).folded())
        }
        _ => Err(no_list(&receiver.ty)),
    }
}

/// `[...]` stands only where a list or vector is wanted.
fn check_list(item: &Expr, wanted: &CqlType) -> Result<()> {
    match (item, wanted.unfrozen()) {
        (Expr::List(_), CqlType::List(_) | CqlType::Vector(..)) => Ok(()),
        (Expr::List(_), _) => Err(no_list(wanted)),
        _ => Ok(()),
    }
}

fn no_list(wanted: &CqlType) -> CqlError {
    let ty = type_name(wanted);
    CqlError::invalid(format!("Unexpected receiver type '{ty}'; only list and vector are expected"))
}

/// `{a, b}`.
pub(super) fn set(
    items: &[Expr],
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    let CqlType::Set(ty) = receiver.ty.unfrozen() else {
        let ty = type_name(&receiver.ty);
        return invalid(format!("Invalid set literal for {} of type {ty}", receiver.name));
    };
    let spec = value_of(receiver, ty);
    let element =
        Element { kind: "set", what: "value", whole: receiver, spec: &spec, markers_allowed: false };
    Ok(Node::Set(element.all(items, fits, markers)?, (**ty).clone()).folded())
}

/// `{a: b}`.
pub(super) fn map(
    entries: &[(Expr, Expr)],
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    let CqlType::Map(key, value) = receiver.ty.unfrozen() else {
        let ty = type_name(&receiver.ty);
        return invalid(format!("Invalid map literal for {} of type {ty}", receiver.name));
    };
    let (key_spec, value_spec) = (key_of(receiver, key), value_of(receiver, value));
    let element = |what, spec| Element { kind: "map", what, whole: receiver, spec, markers_allowed: false };
    let (keys, values) = (element("key", &key_spec), element("value", &value_spec));
    for (key, value) in entries {
        keys.check(key, fits)?;
        values.check(value, fits)?;
    }
    let mut nodes = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        nodes.push((keys.prepare(key, fits, markers)?, values.prepare(value, fits, markers)?));
    }
    Ok(Node::Map(nodes, (**key).clone()).folded())
}

/// `(a, b)`: a tuple, a user type, or brackets around one term.
pub(super) fn tuple(
    items: &[Expr],
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    let types: Vec<&CqlType> = match (receiver.ty.unfrozen(), items) {
        (CqlType::Tuple(types), _) => types.iter().collect(),
        (CqlType::Udt(udt), _) => udt.fields.iter().map(|(_, ty)| ty).collect(),
        (_, [one]) => return term(one, receiver, fits, markers),
        (other, _) => {
            let ty = type_name(other);
            return invalid(format!("Invalid tuple type literal for {} of type {ty}", receiver.name));
        }
    };
    for (index, item) in items.iter().enumerate() {
        let Some(ty) = types.get(index) else {
            return invalid(format!(
                "Invalid tuple literal for {}: too many elements. Type {} expects {} but got {}",
                receiver.name,
                type_name(&receiver.ty),
                types.len(),
                items.len()
            ));
        };
        if fits.fit(item, ty) == Fit::No {
            check_list(item, ty)?;
            let (name, ty) = (&receiver.name, type_name(ty));
            return invalid(format!(
                "Invalid tuple literal for {name}: component {index} is not of type {ty}"
            ));
        }
    }
    let mut nodes = Vec::with_capacity(items.len());
    for (index, (item, ty)) in items.iter().zip(&types).enumerate() {
        nodes.push(term(item, &part(receiver, format!("{}[{index}]", receiver.name), ty), fits, markers)?);
    }
    Ok(Node::Tuple(nodes).folded())
}

/// `{field: value}`.
pub(super) fn udt(
    fields: &[(Name, Expr)],
    receiver: &ColumnSpec,
    fits: &Fits<'_>,
    markers: &mut Markers,
) -> Result<Node> {
    let CqlType::Udt(udt) = receiver.ty.unfrozen() else {
        let ty = type_name(&receiver.ty);
        return invalid(format!("Invalid user type literal for {} of type {ty}", receiver.name));
    };
    // Of a field that comes twice the last one counts.
    let given =
        |name: &str| fields.iter().rev().find(|(field, _)| field.text == name).map(|(_, value)| value);
    for (name, ty) in &udt.fields {
        if let Some(value) = given(name)
            && fits.fit(value, ty) == Fit::No
        {
            check_list(value, ty)?;
            let (whole, ty) = (&receiver.name, type_name(ty));
            return invalid(format!(
                "Invalid user type literal for {whole}: field {name} is not of type {ty}"
            ));
        }
    }
    let mut nodes = Vec::with_capacity(udt.fields.len());
    for (name, ty) in &udt.fields {
        let spec = part(receiver, format!("{}.{name}", receiver.name), ty);
        nodes.push(match given(name) {
            Some(value) => term(value, &spec, fits, markers)?,
            None => Node::Constant(Bound::Null),
        });
    }
    let names: Vec<_> = fields.iter().map(|(name, _)| name.text.as_str()).collect();
    let mut hashed = map_order(&names).into_iter().filter_map(|place| fields.get(place));
    if let Some((name, _)) = hashed.find(|(name, _)| udt.fields.iter().all(|(known, _)| *known != name.text))
    {
        let text = format!("Unknown field '{}' in value of user defined type {}", name.text, udt.name);
        return Err(CqlError::invalid(text).at(name.place));
    }
    Ok(Node::Udt(nodes, udt.clone()).folded())
}
