//! Selectors with the type of every part, from the leaves up.
//!
//! Columns and functions have types of their own; constants, null and markers have none until `build` hands one down.

use crate::error::{CqlError, Result};
use crate::function::arithmetic::sign;
use crate::function::literal::{self, Fit};
use crate::function::{Function, count_rows};
use crate::syntax::ast::{Expr, LifeFunction, Name, Operator};
use crate::term::assign::of_type;
use crate::term::fit::common;
use crate::term::resolve::{Callee, Operand, resolve};
use crate::term::{Scope, text};
use crate::value::type_name;
use skep_engine::{ColumnKind, CqlType, TableSchema};
use std::sync::Arc;

/// A part of a selector, its own type known where it has one.
pub(super) enum Typed<'e> {
    /// A column: place, name and type.
    Column(usize, &'e str, CqlType),
    /// A constant, null or marker.
    Term(&'e Expr),
    /// A function, its name as results have it.
    Call(Arc<Function>, Shown, Vec<Typed<'e>>),
    List(Vec<Typed<'e>>),
    Set(Vec<Typed<'e>>),
    /// `{a: b}`; without entries a set or a map.
    Map(Vec<(Typed<'e>, Typed<'e>)>),
    /// `{name: b}`: a user type, or a map with columns as keys.
    Udt(Vec<(&'e Name, Typed<'e>)>),
    Tuple(Vec<Typed<'e>>),
    /// A type hint and its text.
    Hint(CqlType, String, Box<Typed<'e>>),
    Cast(Box<Typed<'e>>, CqlType, String),
    /// An element: of what, the key, the type of what is selected.
    Element(Box<Typed<'e>>, &'e Expr, CqlType),
    Slice(Box<Typed<'e>>, Option<&'e Expr>, Option<&'e Expr>),
    /// A field: of what, which one, its type.
    Field(Box<Typed<'e>>, usize, &'e str, CqlType),
    /// A life: of what, its column, whether that is many cells.
    Life(LifeFunction, Box<Typed<'e>>, usize, bool),
}

/// How a call is written in names.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    /// `system.name(a, b)`
    Function,
    /// `a + b`
    Operator(Operator),
    /// `-a`
    Negation,
    /// `count`
    CountRows,
}

/// What selectors are held against.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) table: &'a TableSchema,
}

/// A part as an argument.
struct Arg<'a, 'e> {
    part: &'a Typed<'e>,
    keyspace: &'a str,
}

impl Operand for Arg<'_, '_> {
    fn text(&self) -> String {
        self.part.text(self.keyspace)
    }

    fn fit(&self, to: &CqlType) -> Fit {
        self.part.fit(to)
    }

    fn ty(&self) -> Option<CqlType> {
        self.part.compatible()
    }

    fn elements(&self) -> Option<usize> {
        match self.part {
            Typed::List(items) => Some(items.len()),
            _ => None,
        }
    }

    fn is_marker(&self) -> bool {
        matches!(self.part, Typed::Term(Expr::Marker(_)))
    }
}

/// The function that is meant for these arguments.
pub(super) fn function(
    callee: Callee<'_>,
    args: &[Typed<'_>],
    source: &Source<'_>,
) -> Result<Option<Arc<Function>>> {
    let args: Vec<_> = args.iter().map(|part| Arg { part, keyspace: source.scope.keyspace }).collect();
    let operands: Vec<_> = args.iter().map(|arg| arg as &dyn Operand).collect();
    resolve(callee, &operands, None, Some(source.table))
}

fn invalid<T>(text: String) -> Result<T> {
    Err(CqlError::invalid(text))
}

impl<'e> Typed<'e> {
    /// Finds the columns and functions that `expr` names.
    pub(super) fn of(expr: &'e Expr, source: &Source<'_>) -> Result<Self> {
        let one = |expr: &'e Expr| Self::of(expr, source);
        let boxed = |expr: &'e Expr| Self::of(expr, source).map(Box::new);
        let all = |items: &'e [Expr]| items.iter().map(one).collect::<Result<Vec<_>>>();
        let keyspace = source.scope.keyspace;
        Ok(match expr {
            Expr::Null | Expr::Constant { .. } | Expr::Marker(_) => Self::Term(expr),
            Expr::Column(name) => {
                let (place, column) = find(name, source.table)?;
                Self::Column(place, &name.text, column)
            }
            Expr::Star => return invalid("Invalid use of *".to_owned()),
            Expr::List(items) => Self::List(all(items)?),
            Expr::Set(items) => Self::Set(all(items)?),
            Expr::Tuple(items) => Self::Tuple(all(items)?),
            Expr::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| Ok((one(key)?, one(value)?)));
                Self::Map(entries.collect::<Result<_>>()?)
            }
            Expr::Udt(fields) => {
                let fields = fields.iter().map(|(name, value)| Ok((name, one(value)?)));
                Self::Udt(fields.collect::<Result<_>>()?)
            }
            Expr::Call { keyspace: space, name, args } => {
                let of_system = space.as_ref().is_none_or(|space| space.text == "system");
                let counts = matches!(args.as_slice(), [Expr::Star | Expr::Constant { .. }]);
                if of_system && name.text == "count" && counts {
                    return Ok(Self::Call(count_rows(), Shown::CountRows, Vec::new()));
                }
                let args = all(args)?;
                let space = space.as_ref().map(|space| space.text.as_str());
                match function(Callee::Named(space, &name.text), &args, source)
                    .map_err(|e| e.at(name.place))?
                {
                    Some(function) => Self::Call(function, Shown::Function, args),
                    None => {
                        let shown = space.map_or(name.text.clone(), |space| format!("{space}.{}", name.text));
                        return Err(CqlError::invalid(format!("Unknown function '{shown}'")).at(name.place));
                    }
                }
            }
            Expr::Binary(operator, left, right) => {
                let args = vec![one(left)?, one(right)?];
                match function(Callee::Operator(*operator), &args, source)? {
                    Some(function) => Self::Call(function, Shown::Operator(*operator), args),
                    None => return invalid(format!("Unknown operation '{}'", sign(*operator))),
                }
            }
            Expr::Negate(inner) => {
                let args = vec![one(inner)?];
                match function(Callee::Negation, &args, source)? {
                    Some(function) => Self::Call(function, Shown::Negation, args),
                    None => return invalid("Unknown operation '-'".to_owned()),
                }
            }
            Expr::TypeHint(ty, inner) => {
                let hinted = source.scope.types.resolve(ty, keyspace)?;
                Self::Hint(hinted, text::type_name(ty, keyspace), boxed(inner)?)
            }
            Expr::Cast(inner, ty) => {
                let to = source.scope.types.resolve(ty, keyspace)?;
                Self::Cast(boxed(inner)?, to, text::type_name(ty, keyspace))
            }
            Expr::Element(inner, key) => {
                let of = boxed(inner)?;
                let ty = of.part_type("element", keyspace)?;
                Self::Element(of, key, ty)
            }
            Expr::Slice(inner, from, to) => {
                let of = boxed(inner)?;
                of.part_type("slice", keyspace)?;
                Self::Slice(of, from.as_deref(), to.as_deref())
            }
            Expr::Field(inner, name) => {
                let of = boxed(inner)?;
                let ty = of.exact().unwrap_or(CqlType::Blob);
                let CqlType::Udt(udt) = ty.unfrozen() else {
                    let (of, ty) = (of.text(keyspace), type_name(&ty));
                    return invalid(format!("Invalid field selection: {of} of type {ty} is not a user type"));
                };
                let Some(index) = udt.fields.iter().position(|(field, _)| *field == name.text) else {
                    let (of, ty) = (of.text(keyspace), type_name(&ty));
                    return invalid(format!("{of} of type {ty} has no field {}", name.text));
                };
                let field = udt.fields[index].1.clone();
                Self::Field(of, index, &name.text, field)
            }
            Expr::Life(function, inner) => {
                let of = boxed(inner)?;
                let Some(place) = of.root() else {
                    return invalid(format!("{} needs a column", text::life(*function)));
                };
                let column = &source.table.columns()[place];
                if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_)) {
                    let (function, name) = (text::life(*function), &column.name);
                    return invalid(format!(
                        "Cannot use selection function {function} on PRIMARY KEY part {name}"
                    ));
                }
                let many = of.is_many_cells();
                Self::Life(*function, of, place, many)
            }
        })
    }

    /// The type of an element of a set or map; of anything else none are selected.
    fn part_type(&self, what: &str, keyspace: &str) -> Result<CqlType> {
        let ty = self.exact().unwrap_or(CqlType::Blob);
        match ty.unfrozen() {
            CqlType::Map(_, value) => Ok((**value).clone()),
            CqlType::Set(element) => Ok((**element).clone()),
            CqlType::List(_) => {
                let upper = if what == "element" { "Element" } else { "Slice" };
                let of = self.text(keyspace);
                invalid(format!("{upper} selection is only allowed on sets and maps, but {of} is a list"))
            }
            _ => {
                let (of, ty) = (self.text(keyspace), type_name(&ty));
                let verb = if what == "element" { "is of type" } else { "of type" };
                invalid(format!("Invalid {what} selection: {of} {verb} {ty} is not a collection"))
            }
        }
    }

    /// The column below elements, slices and fields.
    fn root(&self) -> Option<usize> {
        match self {
            Self::Column(place, ..) => Some(*place),
            Self::Element(of, ..) | Self::Slice(of, ..) | Self::Field(of, ..) => of.root(),
            _ => None,
        }
    }

    /// Whether it is many cells of a column: all of them, or a slice.
    fn is_many_cells(&self) -> bool {
        match self {
            Self::Column(_, _, ty) => ty.is_multicell(),
            Self::Slice(of, ..) => of.is_many_cells(),
            _ => false,
        }
    }

    /// The type that it certainly has.
    pub(super) fn exact(&self) -> Option<CqlType> {
        let boxed = |ty| Some(Box::new(ty));
        match self {
            Self::Column(_, _, ty) | Self::Hint(ty, ..) | Self::Cast(_, ty, _) => Some(ty.clone()),
            Self::Element(_, _, ty) | Self::Field(_, _, _, ty) => Some(ty.clone()),
            Self::Call(function, ..) => Some(function.returns.clone()),
            Self::Slice(of, ..) => of.exact(),
            Self::List(items) => {
                common(items.iter().filter_map(Self::exact)).and_then(boxed).map(CqlType::List)
            }
            Self::Set(items) => {
                common(items.iter().filter_map(Self::exact)).and_then(boxed).map(CqlType::Set)
            }
            Self::Map(entries) => {
                let key = common(entries.iter().filter_map(|(key, _)| key.exact()))?;
                let value = common(entries.iter().filter_map(|(_, value)| value.exact()))?;
                Some(CqlType::Map(Box::new(key), Box::new(value)))
            }
            // Brackets around one: a tuple or not, as what takes it wants.
            Self::Tuple(items) if items.len() == 1 => None,
            Self::Tuple(items) => items.iter().map(Self::exact).collect::<Option<_>>().map(CqlType::Tuple),
            Self::Life(function, _, _, many) => Some(match (function, many) {
                (LifeFunction::MaxWritetime, _) | (LifeFunction::Writetime, false) => CqlType::Bigint,
                (LifeFunction::Writetime, true) => CqlType::List(Box::new(CqlType::Bigint)),
                (LifeFunction::Ttl, false) => CqlType::Int,
                (LifeFunction::Ttl, true) => CqlType::List(Box::new(CqlType::Int)),
            }),
            Self::Term(_) | Self::Udt(_) => None,
        }
    }

    /// The type that it has, or that a constant in it would have by itself.
    fn compatible(&self) -> Option<CqlType> {
        match self {
            Self::Term(Expr::Constant { kind, text, .. }) => Some(literal::preferred_type(*kind, text)),
            Self::List(items) => {
                let ty = common(items.iter().filter_map(Self::compatible))?;
                Some(CqlType::List(Box::new(ty)))
            }
            Self::Set(items) => {
                let ty = common(items.iter().filter_map(Self::compatible))?;
                Some(CqlType::Set(Box::new(ty)))
            }
            Self::Tuple(items) if items.len() > 1 => {
                items.iter().map(Self::compatible).collect::<Option<_>>().map(CqlType::Tuple)
            }
            other => other.exact(),
        }
    }

    /// How well it fits a type.
    pub(super) fn fit(&self, to: &CqlType) -> Fit {
        let all =
            |items: &[Self], ty: &CqlType| items.iter().map(|item| item.fit(ty)).min().unwrap_or(Fit::Weak);
        match (self, to.unfrozen()) {
            (Self::Term(Expr::Null), to) if to.is_counter() => Fit::No,
            (Self::Term(Expr::Constant { kind, text, .. }), to) => literal::fit(*kind, text, to),
            (Self::Term(_), _) => Fit::Weak,
            (Self::List(items), CqlType::List(ty) | CqlType::Vector(ty, _)) => all(items, ty),
            (Self::Set(items), CqlType::Set(ty)) => all(items, ty),
            (Self::Map(entries), CqlType::Set(_)) if entries.is_empty() => Fit::Weak,
            (Self::Map(entries), CqlType::Map(key, value)) => {
                let fits = entries.iter().map(|(k, v)| k.fit(key).min(v.fit(value)));
                fits.min().unwrap_or(Fit::Weak)
            }
            (Self::Udt(fields), CqlType::Udt(udt)) => {
                let fits = |(name, value): &(&Name, Self)| {
                    let field = udt.fields.iter().find(|(known, _)| *known == name.text);
                    field.is_none_or(|(_, ty)| value.fit(ty) != Fit::No)
                };
                if fields.iter().all(fits) { Fit::Weak } else { Fit::No }
            }
            (Self::Udt(fields), CqlType::Map(_, value)) => {
                fields.iter().map(|(_, v)| v.fit(value)).min().unwrap_or(Fit::Weak).min(Fit::Weak)
            }
            (Self::Tuple(items), CqlType::Tuple(types)) => fit_fields(items, types.iter(), types.len()),
            (Self::Tuple(items), CqlType::Udt(udt)) => {
                fit_fields(items, udt.fields.iter().map(|(_, ty)| ty), udt.fields.len())
            }
            (Self::Tuple(items), _) if items.len() == 1 => items[0].fit(to),
            (Self::List(_) | Self::Set(_) | Self::Map(_) | Self::Udt(_) | Self::Tuple(_), _) => Fit::No,
            _ => self.exact().map_or(Fit::No, |ty| of_type(&ty, to)),
        }
    }

    /// Its text: the name of its column in a result, if the statement gives no other.
    pub(super) fn text(&self, keyspace: &str) -> String {
        let one = |part: &Self| part.text(keyspace);
        let several = |parts: &[Self]| parts.iter().map(one).collect::<Vec<_>>().join(", ");
        let term = |expr: &Expr| text::of(expr, keyspace);
        match self {
            Self::Column(_, name, _) => (*name).to_owned(),
            Self::Term(expr) => term(expr),
            Self::Call(function, shown, args) => match (shown, args.as_slice()) {
                (Shown::CountRows, _) => "count".to_owned(),
                (Shown::Operator(operator), [left, right]) => {
                    format!("{} {} {}", one(left), sign(*operator), one(right))
                }
                (Shown::Negation, [inner]) => format!("-{}", one(inner)),
                _ => format!("system.{}({})", function.name, several(args)),
            },
            Self::List(items) => format!("[{}]", several(items)),
            Self::Set(items) => format!("{{{}}}", several(items)),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{}: {}", one(key), one(value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Self::Udt(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{}: {}", name.text, one(value)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            Self::Tuple(items) => format!("({})", several(items)),
            Self::Hint(_, ty, inner) => format!("({ty}){}", one(inner)),
            Self::Cast(inner, to, _) if inner.exact().as_ref() == Some(to) => one(inner),
            Self::Cast(inner, _, to) => format!("cast({} as {to})", one(inner)),
            Self::Element(of, key, _) => format!("{}[{}]", one(of), term(key)),
            Self::Slice(of, from, to) => {
                let bound = |bound: &Option<&Expr>| bound.map(term).unwrap_or_default();
                format!("{}[{}..{}]", one(of), bound(from), bound(to))
            }
            Self::Field(of, _, name, _) => format!("{}.{name}", one(of)),
            Self::Life(function, of, ..) => format!("{}({})", text::life(*function), one(of)),
        }
    }
}

fn fit_fields<'a>(items: &[Typed<'_>], types: impl Iterator<Item = &'a CqlType>, count: usize) -> Fit {
    let fits = items.len() <= count && items.iter().zip(types).all(|(item, ty)| item.fit(ty) != Fit::No);
    if fits { Fit::Weak } else { Fit::No }
}

/// A column's place and type.
pub(super) fn find(name: &Name, table: &TableSchema) -> Result<(usize, CqlType)> {
    match table.columns().iter().position(|column| column.name == name.text) {
        Some(place) => Ok((place, table.columns()[place].ty.clone())),
        None => {
            let text = format!("Undefined column name {} in table {}", name.text, table.full_name());
            Err(CqlError::invalid(text).at(name.place))
        }
    }
}
