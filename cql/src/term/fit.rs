//! How well a term fits a type, and the type that it has by itself, before it is prepared.
//!
//! Choosing a function asks its arguments, which may be calls that have to choose in turn; what was found is kept, so that deep
//! arithmetic takes no more than terms times types.

use crate::error::Result;
use crate::function::Function;
use crate::function::literal::{self, Fit};
use crate::syntax::ast::Expr;
use crate::term::assign::of_type;
use crate::term::resolve::{Callee, Operand, resolve};
use crate::term::{Scope, text};
use skep_engine::CqlType;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Answers for the terms of one tree, which has to stay where it is meanwhile.
pub(crate) struct Fits<'a> {
    /// What terms are held against.
    pub(crate) scope: Scope<'a>,
    fits: RefCell<HashMap<(*const Expr, CqlType), Fit>>,
    types: RefCell<HashMap<*const Expr, Option<CqlType>>>,
}

/// A term as an argument.
struct Arg<'a> {
    expr: &'a Expr,
    fits: &'a Fits<'a>,
}

impl Operand for Arg<'_> {
    fn text(&self) -> String {
        text::of(self.expr, self.fits.scope.keyspace)
    }

    fn fit(&self, to: &CqlType) -> Fit {
        self.fits.fit(self.expr, to)
    }

    fn ty(&self) -> Option<CqlType> {
        self.fits.ty(self.expr)
    }

    fn elements(&self) -> Option<usize> {
        match self.expr {
            Expr::List(items) => Some(items.len()),
            _ => None,
        }
    }

    fn is_marker(&self) -> bool {
        matches!(self.expr, Expr::Marker(_))
    }
}

impl<'a> Fits<'a> {
    /// Nothing known yet.
    pub(crate) fn new(scope: Scope<'a>) -> Self {
        Self { scope, fits: RefCell::default(), types: RefCell::default() }
    }

    /// The function that a call, operation or cast means for this receiver.
    pub(crate) fn function(&self, expr: &Expr, receiver: Option<&CqlType>) -> Result<Option<Arc<Function>>> {
        let call = |callee: Callee<'_>, args: &[&Expr]| {
            let args: Vec<_> = args.iter().map(|expr| Arg { expr, fits: self }).collect();
            let operands: Vec<_> = args.iter().map(|arg| arg as &dyn Operand).collect();
            resolve(callee, &operands, receiver, self.scope.table)
        };
        match expr {
            Expr::Call { keyspace, name, args } => {
                let keyspace = keyspace.as_ref().map(|keyspace| keyspace.text.as_str());
                call(Callee::Named(keyspace, &name.text), &args.iter().collect::<Vec<_>>())
            }
            Expr::Binary(operator, left, right) => call(Callee::Operator(*operator), &[left, right]),
            Expr::Negate(inner) => call(Callee::Negation, &[inner]),
            Expr::Cast(_, ty) if text::is_varchar(ty) => Ok(None),
            Expr::Cast(inner, ty) => {
                let to = self.scope.types.resolve(ty, self.scope.keyspace)?;
                call(Callee::Cast(&to), &[inner])
            }
            _ => Ok(None),
        }
    }

    /// How well `expr` fits `to`.
    pub(crate) fn fit(&self, expr: &Expr, to: &CqlType) -> Fit {
        match expr {
            Expr::Null if to.is_counter() => return Fit::No,
            Expr::Null | Expr::Marker(_) => return Fit::Weak,
            Expr::Constant { kind, text, .. } => return literal::fit(*kind, text, to),
            _ => {}
        }
        let key = (std::ptr::from_ref(expr), to.clone());
        if let Some(known) = self.fits.borrow().get(&key) {
            return *known;
        }
        let found = self.find_fit(expr, to);
        self.fits.borrow_mut().insert(key, found);
        found
    }

    fn find_fit(&self, expr: &Expr, to: &CqlType) -> Fit {
        let all = |items: &[Expr], ty: &CqlType| items.iter().map(|item| self.fit(item, ty)).min();
        match (expr, to.unfrozen()) {
            // Nothing in it says of what type an empty collection is.
            (Expr::List(items), CqlType::List(inner)) | (Expr::Set(items), CqlType::Set(inner)) => {
                all(items, inner).unwrap_or(Fit::Weak)
            }
            (Expr::List(items), CqlType::Vector(inner, dimension)) if items.len() == *dimension as usize => {
                all(items, inner).unwrap_or(Fit::Weak)
            }
            (Expr::Map(entries), CqlType::Set(_)) if entries.is_empty() => Fit::Weak,
            (Expr::Map(entries), CqlType::Map(key, value)) => {
                let fits = entries.iter().map(|(k, v)| self.fit(k, key).min(self.fit(v, value)));
                fits.min().unwrap_or(Fit::Weak)
            }
            (Expr::Tuple(items), CqlType::Tuple(types)) => {
                self.fit_fields(items.iter(), types.iter(), types.len())
            }
            (Expr::Tuple(items), CqlType::Udt(udt)) => {
                self.fit_fields(items.iter(), udt.fields.iter().map(|(_, ty)| ty), udt.fields.len())
            }
            (Expr::Tuple(items), _) if items.len() == 1 => self.fit(&items[0], to),
            (Expr::Udt(fields), CqlType::Udt(udt)) => {
                let fits = |(name, value): &(_, Expr)| {
                    let name: &crate::syntax::ast::Name = name;
                    udt.fields
                        .iter()
                        .find(|(known, _)| *known == name.text)
                        .is_none_or(|(_, ty)| self.fit(value, ty) != Fit::No)
                };
                if fields.iter().all(fits) { Fit::Weak } else { Fit::No }
            }
            (Expr::TypeHint(ty, _), to) => match self.scope.types.resolve(ty, self.scope.keyspace) {
                Ok(ty) => of_type(&ty, to),
                // Told when it is prepared.
                Err(_) => Fit::Weak,
            },
            (Expr::Cast(inner, ty), to) => match self.scope.types.resolve(ty, self.scope.keyspace) {
                Ok(ty) => of_type(&ty, to).min(if self.ty(inner).is_some() { Fit::Exact } else { Fit::Weak }),
                Err(_) => Fit::Weak,
            },
            (Expr::Call { .. } | Expr::Binary(..) | Expr::Negate(_), to) => {
                match self.function(expr, Some(to)) {
                    Ok(Some(function)) => of_type(&function.returns, to),
                    // An error inside is told better where the inner call is prepared.
                    Ok(None) | Err(_) => Fit::Weak,
                }
            }
            _ => Fit::No,
        }
    }

    fn fit_fields<'b>(
        &self,
        items: impl ExactSizeIterator<Item = &'b Expr>,
        types: impl Iterator<Item = &'b CqlType>,
        count: usize,
    ) -> Fit {
        let fits = items.len() <= count && items.zip(types).all(|(item, ty)| self.fit(item, ty) != Fit::No);
        if fits { Fit::Weak } else { Fit::No }
    }

    /// The type that `expr` has by itself, if it has one.
    pub(crate) fn ty(&self, expr: &Expr) -> Option<CqlType> {
        let key = std::ptr::from_ref(expr);
        if let Some(known) = self.types.borrow().get(&key) {
            return known.clone();
        }
        let found = self.find_type(expr);
        self.types.borrow_mut().insert(key, found.clone());
        found
    }

    fn find_type(&self, expr: &Expr) -> Option<CqlType> {
        match expr {
            Expr::Constant { kind, text, .. } => Some(literal::preferred_type(*kind, text)),
            Expr::List(items) => {
                common(items.iter().filter_map(|item| self.ty(item))).map(|ty| CqlType::List(Box::new(ty)))
            }
            Expr::Set(items) => {
                common(items.iter().filter_map(|item| self.ty(item))).map(|ty| CqlType::Set(Box::new(ty)))
            }
            Expr::Map(entries) => {
                let key = common(entries.iter().filter_map(|(key, _)| self.ty(key)))?;
                let value = common(entries.iter().filter_map(|(_, value)| self.ty(value)))?;
                Some(CqlType::Map(Box::new(key), Box::new(value)))
            }
            Expr::TypeHint(ty, _) | Expr::Cast(_, ty) => {
                self.scope.types.resolve(ty, self.scope.keyspace).ok()
            }
            Expr::Call { .. } | Expr::Binary(..) | Expr::Negate(_) => {
                self.function(expr, None).ok().flatten().map(|function| function.returns.clone())
            }
            _ => None,
        }
    }
}

/// The first of the types that takes all of them.
pub(crate) fn common(types: impl Iterator<Item = CqlType>) -> Option<CqlType> {
    let types: Vec<_> = types.collect();
    types.iter().find(|to| types.iter().all(|ty| of_type(ty, to) != Fit::No)).cloned()
}
