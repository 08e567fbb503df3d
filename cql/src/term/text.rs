//! The text of a term as messages and the names of result columns have it.
//!
//! Not CQL that could be parsed again (`syntax::print` writes that): every marker is a question mark, a quote in a string stays single, and
//! operators are the functions that they mean.

use crate::catalog::types::native;
use crate::function::arithmetic;
use crate::function::java::map_order;
use crate::syntax::ast::{Expr, LifeFunction, Literal, TypeName};

/// The name of a function of cells' lives.
#[must_use]
pub fn life(function: LifeFunction) -> &'static str {
    match function {
        LifeFunction::Writetime => "writetime",
        LifeFunction::MaxWritetime => "maxwritetime",
        LifeFunction::Ttl => "ttl",
    }
}

/// A type as a statement has it, user types with their keyspace.
#[must_use]
pub fn type_name(ty: &TypeName, keyspace: &str) -> String {
    match ty {
        TypeName::Simple(_) if native(ty).is_some() => simple(ty).to_owned(),
        TypeName::Simple(name) => {
            format!("{}.{}", name.keyspace.as_ref().map_or(keyspace, |name| &name.text), name.name.text)
        }
        TypeName::Custom(class) => format!("'{class}'"),
        TypeName::Generic(kind, parameters, dimension, _) => {
            let mut parts: Vec<_> = parameters.iter().map(|inner| type_name(inner, keyspace)).collect();
            parts.extend(dimension.map(|dimension| dimension.to_string()));
            format!("{kind}<{}>", parts.join(", "))
        }
    }
}

fn simple(ty: &TypeName) -> &str {
    match ty {
        TypeName::Simple(name) => &name.name.text,
        _ => "",
    }
}

/// Whether a type is written `varchar`: nothing can be cast to that name of text.
#[must_use]
pub fn is_varchar(ty: &TypeName) -> bool {
    native(ty).is_some() && simple(ty) == "varchar"
}

/// The text of a term in a statement on `keyspace`.
#[must_use]
pub fn of(expr: &Expr, keyspace: &str) -> String {
    let one = |inner: &Expr| of(inner, keyspace);
    let several = |inner: &[Expr]| inner.iter().map(one).collect::<Vec<_>>().join(", ");
    match expr {
        Expr::Null => "NULL".to_owned(),
        Expr::Constant { kind: Literal::String, text, .. } => format!("'{text}'"),
        Expr::Constant { text, .. } => text.clone(),
        Expr::Marker(_) => "?".to_owned(),
        Expr::List(items) => format!("[{}]", several(items)),
        Expr::Set(items) => format!("{{{}}}", several(items)),
        Expr::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", one(key), one(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Expr::Udt(fields) => {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.text.as_str()).collect();
            let fields = map_order(&names).into_iter().filter_map(|place| fields.get(place));
            let fields = fields.map(|(name, value)| format!("{}: {}", name.text, one(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Expr::Tuple(items) => format!("({})", several(items)),
        Expr::Call { keyspace: space, name, args } => match space {
            Some(space) => format!("{}.{}({})", space.text, name.text, several(args)),
            None => format!("{}({})", name.text, several(args)),
        },
        Expr::TypeHint(ty, inner) => format!("({}){}", type_name(ty, keyspace), one(inner)),
        Expr::Cast(inner, ty) => format!("system.cast_as_{}({})", type_name(ty, keyspace), one(inner)),
        Expr::Binary(operator, left, right) => {
            format!("system.\"{}\"({}, {})", arithmetic::name(*operator), one(left), one(right))
        }
        Expr::Negate(inner) => format!("system.\"_negate\"({})", one(inner)),
        Expr::Column(name) => name.text.clone(),
        Expr::Star => "*".to_owned(),
        Expr::Life(function, inner) => format!("{}({})", life(*function), one(inner)),
        Expr::Element(inner, key) => format!("{}[{}]", one(inner), one(key)),
        Expr::Slice(inner, from, to) => {
            let bound =
                |bound: &Option<Box<Expr>>| bound.as_ref().map(|bound| one(bound)).unwrap_or_default();
            format!("{}[{}..{}]", one(inner), bound(from), bound(to))
        }
        Expr::Field(inner, name) => format!("{}.{}", one(inner), name.text),
    }
}
