//! Selectors from types down: constants and markers get the type that a function, a hint or a collection around them wants.

use crate::error::{CqlError, Result};
use crate::function::literal::Fit;
use crate::selector::eval::{Collection, Life, Node};
use crate::selector::typed::{Source, Typed, find, function};
use crate::selector::{Aggregate, Selector, Uses};
use crate::syntax::ast::{Expr, Name};
use crate::term::fit::Fits;
use crate::term::literal::{key_of, value_of};
use crate::term::resolve::Callee;
use crate::term::{Preparing, prepare};
use crate::value::{ColumnSpec, type_name};
use skep_engine::{CqlType, TableSchema};

/// The selector that `expr` is.
pub(super) fn selector(
    expr: &Expr,
    table: &TableSchema,
    uses: &mut Uses,
    cx: &mut Preparing<'_>,
) -> Result<Selector> {
    let mut scope = cx.scope;
    scope.table = Some(table);
    let source = Source { scope, table };
    let typed = Typed::of(expr, &source)?;
    let mut builder = Builder { source, fits: Fits::new(scope), uses, cx };
    let (node, ty) = builder.build(&typed, None)?;
    Ok(Selector { name: typed.text(scope.keyspace), ty, node })
}

struct Builder<'a, 'b> {
    source: Source<'a>,
    fits: Fits<'a>,
    uses: &'a mut Uses,
    cx: &'a mut Preparing<'b>,
}

fn invalid<T>(text: String) -> Result<T> {
    Err(CqlError::invalid(text))
}

impl Builder<'_, '_> {
    /// What is evaluated, and its type; `wanted` is what the surroundings want.
    fn build(&mut self, part: &Typed<'_>, wanted: Option<&CqlType>) -> Result<(Node, CqlType)> {
        match part {
            Typed::Column(place, _, ty) => {
                self.uses.column(*place);
                Ok((Node::Column(*place), ty.clone()))
            }
            Typed::Term(expr) => {
                let ty = self.settled(part, wanted)?;
                Ok((Node::Term(self.term(expr, "[selection]".to_owned(), &ty)?), ty))
            }
            Typed::Call(function, _, args) => {
                let before = self.uses.aggregates.len();
                let args = args.iter().zip(&function.args).map(|(arg, ty)| Ok(self.build(arg, Some(ty))?.0));
                let args = args.collect::<Result<Vec<_>>>()?;
                let ty = function.returns.clone();
                if !function.is_aggregate() {
                    return Ok((Node::Call(function.clone(), args), ty));
                }
                if self.uses.aggregates.len() > before {
                    let text = "aggregate functions cannot be used as arguments of aggregate functions";
                    return invalid(text.to_owned());
                }
                self.uses.aggregates.push(Aggregate { function: function.clone(), args });
                Ok((Node::Aggregate(before), ty))
            }
            Typed::Hint(ty, _, inner) => {
                if inner.fit(ty) == Fit::No {
                    let text = part.text(self.source.scope.keyspace);
                    let ty = type_name(&ty.clone().freeze());
                    return invalid(format!("Cannot assign value {text} to {text} of type {ty}"));
                }
                Ok((self.build(inner, Some(ty))?.0, ty.clone()))
            }
            Typed::Cast(inner, to, shown) => {
                let (node, ty) = self.build(inner, None)?;
                if ty.unfrozen() == to {
                    return Ok((node, to.clone()));
                }
                match function(Callee::Cast(to), std::slice::from_ref(&**inner), &self.source) {
                    // No cast has the other name of text.
                    Ok(Some(function)) if shown != "varchar" => {
                        Ok((Node::Call(function, vec![node]), to.clone()))
                    }
                    _ => {
                        let text = inner.text(self.source.scope.keyspace);
                        invalid(format!("{text} cannot be cast to {shown}"))
                    }
                }
            }
            Typed::Element(of, key, ty) => {
                let of = self.collection(of)?;
                let key = self.key(key, &of)?;
                Ok((Node::Element(Box::new(of), key), ty.clone()))
            }
            Typed::Slice(of, from, to) => {
                let of = self.collection(of)?;
                let from = from.map(|from| self.key(from, &of)).transpose()?;
                let to = to.map(|to| self.key(to, &of)).transpose()?;
                let ty = of.ty.clone();
                Ok((Node::Slice(Box::new(of), from, to), ty))
            }
            Typed::Field(of, index, _, ty) => {
                let of = self.collection(of)?;
                Ok((Node::Field(Box::new(of), *index), ty.clone()))
            }
            Typed::Life(function, of, column, many) => {
                let before = self.uses.columns.len();
                let of = self.build(of, None)?.0;
                // An element of one cell needs the value to see whether it is there; all else needs the lives only.
                let column_type = self.source.table.columns()[*column].ty.clone();
                if column_type.is_multicell() || matches!(of, Node::Column(_)) {
                    self.uses.columns.truncate(before);
                }
                self.uses.life(*column);
                let ty = part.exact().unwrap_or(CqlType::Bigint);
                let life = Life { function: *function, of, many: *many, column: column_type };
                Ok((Node::Life(Box::new(life)), ty))
            }
            Typed::List(_) | Typed::Set(_) | Typed::Map(_) | Typed::Udt(_) | Typed::Tuple(_) => {
                self.literal(part, wanted)
            }
        }
    }

    /// The type of a part that may have none of its own.
    fn settled(&self, part: &Typed<'_>, wanted: Option<&CqlType>) -> Result<CqlType> {
        match part.exact().or_else(|| wanted.cloned()) {
            Some(ty) => Ok(ty),
            None => invalid(format!(
                "Cannot infer type for term {} in selection clause (try using a cast to force a type)",
                part.text(self.source.scope.keyspace)
            )),
        }
    }

    fn spec(&self, name: String, ty: &CqlType) -> ColumnSpec {
        let table = self.source.table;
        ColumnSpec { keyspace: table.keyspace.clone(), table: table.name.clone(), name, ty: ty.clone() }
    }

    fn term(&mut self, expr: &Expr, name: String, ty: &CqlType) -> Result<crate::term::eval::Node> {
        prepare::term(expr, &self.spec(name, ty), &self.fits, self.cx.markers)
    }

    /// What an element or field is taken of.
    fn collection(&mut self, of: &Typed<'_>) -> Result<Collection> {
        let (node, ty) = self.build(of, None)?;
        Ok(Collection { node, ty, text: of.text(self.source.scope.keyspace) })
    }

    fn key(&mut self, key: &Expr, of: &Collection) -> Result<crate::term::eval::Node> {
        let whole = self.spec(of.text.clone(), &of.ty);
        let spec = match of.ty.unfrozen() {
            CqlType::Map(key, _) => key_of(&whole, key),
            CqlType::Set(element) => value_of(&whole, element),
            _ => whole,
        };
        prepare::term(key, &spec, &self.fits, self.cx.markers)
    }

    fn all(&mut self, parts: &[Typed<'_>], ty: &CqlType) -> Result<Vec<Node>> {
        parts.iter().map(|part| Ok(self.build(part, Some(ty))?.0)).collect()
    }

    fn literal(&mut self, part: &Typed<'_>, wanted: Option<&CqlType>) -> Result<(Node, CqlType)> {
        // What is wanted goes before what the parts have: the floats of a vector would make a list.
        let fitting = wanted.filter(|wanted| part.fit(wanted) != Fit::No);
        let ty = match fitting {
            Some(wanted) => wanted.clone(),
            None => self.settled(part, wanted)?,
        };
        let node = match (part, ty.unfrozen()) {
            (Typed::List(items), CqlType::List(element)) => Node::List(self.all(items, element)?),
            (Typed::List(items), CqlType::Vector(element, dimension)) => {
                if items.len() != *dimension as usize {
                    return invalid(format!(
                        "Unable to create a vector selector of type {} from {} elements",
                        type_name(&ty),
                        items.len()
                    ));
                }
                Node::Vector(self.all(items, element)?, (**element).clone())
            }
            (Typed::Set(items), CqlType::Set(element)) => {
                Node::Set(self.all(items, element)?, (**element).clone())
            }
            (Typed::Map(entries), CqlType::Set(element)) if entries.is_empty() => {
                Node::Set(Vec::new(), (**element).clone())
            }
            (Typed::Map(entries), CqlType::Map(key, value)) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for (k, v) in entries {
                    nodes.push((self.build(k, Some(key))?.0, self.build(v, Some(value))?.0));
                }
                Node::Map(nodes, (**key).clone())
            }
            (Typed::Udt(fields), CqlType::Map(key, value)) => {
                let mut nodes = Vec::with_capacity(fields.len());
                for (name, v) in fields {
                    let place = find(name, self.source.table)?.0;
                    self.uses.column(place);
                    nodes.push((Node::Column(place), self.build(v, Some(value))?.0));
                }
                Node::Map(nodes, (**key).clone())
            }
            (Typed::Udt(fields), CqlType::Udt(udt)) => Node::Tuple(self.fields(fields, udt)?),
            (Typed::Tuple(items), CqlType::Tuple(types)) => {
                let nodes = items.iter().zip(types).map(|(item, ty)| Ok(self.build(item, Some(ty))?.0));
                Node::Tuple(nodes.collect::<Result<_>>()?)
            }
            (Typed::Tuple(items), CqlType::Udt(udt)) => {
                let types = udt.fields.iter().map(|(_, ty)| ty);
                let nodes = items.iter().zip(types).map(|(item, ty)| Ok(self.build(item, Some(ty))?.0));
                Node::Tuple(nodes.collect::<Result<_>>()?)
            }
            (Typed::Tuple(items), _) if items.len() == 1 => return self.build(&items[0], Some(&ty)),
            _ => {
                let text = part.text(self.source.scope.keyspace);
                return invalid(format!(
                    "Cannot assign value {text} to [selection] of type {}",
                    type_name(&ty)
                ));
            }
        };
        Ok((node, ty))
    }

    fn fields(&mut self, fields: &[(&Name, Typed<'_>)], udt: &skep_engine::UdtType) -> Result<Vec<Node>> {
        let known = |name: &Name| udt.fields.iter().any(|(known, _)| *known == name.text);
        if let Some((name, _)) = fields.iter().find(|(name, _)| !known(name)) {
            let text = format!("Unknown field '{}' in value of user defined type {}", name.text, udt.name);
            return Err(CqlError::invalid(text).at(name.place));
        }
        let mut nodes = Vec::with_capacity(udt.fields.len());
        for (name, ty) in &udt.fields {
            nodes.push(match fields.iter().rev().find(|(given, _)| given.text == *name) {
                Some((_, value)) => self.build(value, Some(ty))?.0,
                None => Node::Term(crate::term::Term::null().0),
            });
        }
        Ok(nodes)
    }
}
