//! Types: from what a statement says to what the store keeps, and to the text that Cassandra shows.
//!
//! [`Resolver`] turns a [`TypeName`] into a [`CqlType`] in its canonical form, so that equal types are equal values: below the top, lists,
//! sets, maps and user types are always wrapped in `frozen` (elements of vectors only where they are so written, as in Cassandra), tuples and
//! vectors never are (they are one cell in any case), and the fields of a user type that is used somewhere are frozen as deeply. Only the definition of a user type itself keeps its fields as they were written.
//! Called by DDL, casts and type hints.

use crate::error::{Code, CqlError, Result};
use crate::syntax::ast::TypeName;
use crate::syntax::print;
use skep_engine::model::types::SIMPLE;
use skep_engine::{CqlType, UdtType};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// How deeply types may nest, as in the engine.
const MAX_DEPTH: usize = skep_engine::model::types::MAX_DEPTH;

/// How many types may be in one, counting each as often as it is there: a user type twice in another, that one twice in a third, and so on,
/// doubles at every level.
const MAX_PARTS: usize = 10_000;

/// The built-in type that a name means, if it is one: not in double quotes, without a keyspace. `varchar` is another name of `text`.
#[must_use]
pub fn native(name: &TypeName) -> Option<CqlType> {
    match name {
        TypeName::Simple(name) if name.keyspace.is_none() && !name.name.quoted => {
            let known = if name.name.text == "varchar" { "text" } else { name.name.text.as_str() };
            SIMPLE.iter().find(|(simple, _)| *simple == known).map(|(_, ty)| ty.clone())
        }
        _ => None,
    }
}

/// Whether a name means a user type, existing or not.
#[must_use]
pub fn is_user(name: &TypeName) -> bool {
    matches!(name, TypeName::Simple(_)) && native(name).is_none()
}

/// Resolves types in one keyspace.
#[derive(Clone, Copy, Debug)]
pub struct Resolver<'a> {
    /// The keyspace that the statement works on.
    pub keyspace: &'a str,
    /// Its user types by name.
    pub types: &'a BTreeMap<String, Arc<UdtType>>,
}

impl Resolver<'_> {
    /// The type that `name` means.
    ///
    /// # Errors
    /// In Cassandra's words: an unknown user type or one of another keyspace, collections of what may not be in them, `frozen` of what cannot be
    /// frozen, a vector without elements; beyond that nesting deeper than the engine takes.
    pub fn resolve(&self, name: &TypeName) -> Result<CqlType> {
        let found = self.prepare(name, false, 1)?;
        check_size(&found)?;
        if let CqlType::Udt(udt) = &found
            && udt.fields.iter().any(|(_, field)| field.is_multicell())
        {
            let text = "Non-frozen UDTs with nested non-frozen collections are not supported";
            return Err(CqlError::invalid(text));
        }
        Ok(canonical(&found))
    }

    /// The type of a field in the definition of a user type: collections stay as they are written.
    ///
    /// # Errors
    /// As [`Resolver::resolve`].
    pub fn field(&self, name: &TypeName) -> Result<CqlType> {
        let found = self.prepare(name, false, 1)?;
        check_size(&found)?;
        Ok(canonical(&found))
    }

    fn prepare(&self, name: &TypeName, frozen: bool, depth: usize) -> Result<CqlType> {
        if depth > MAX_DEPTH {
            return Err(CqlError::invalid(format!("Types nest at most {MAX_DEPTH} levels")));
        }
        if let Some(ty) = native(name) {
            return Ok(ty);
        }
        match name {
            TypeName::Simple(user) => {
                let keyspace = user.keyspace.as_ref().map_or(self.keyspace, |name| &name.text);
                if keyspace != self.keyspace {
                    return Err(CqlError::invalid(format!(
                        "Statement on keyspace {} cannot refer to a user type in keyspace {keyspace}; user types can \
                         only be used in the keyspace they are defined in",
                        self.keyspace
                    )));
                }
                let name = &user.name.text;
                let unknown =
                    || CqlError::invalid(format!("Unknown type {keyspace}.{name}")).at(user.name.place);
                let udt = self.types.get(name).ok_or_else(unknown)?;
                let ty = CqlType::Udt(Arc::clone(udt));
                Ok(if frozen { ty.freeze() } else { ty })
            }
            TypeName::Custom(class) => native_class(class),
            TypeName::Generic(kind, parameters, dimension, place) => {
                let made = self.generic(name, kind, parameters, *dimension, frozen, depth);
                made.map_err(|error| error.at(*place))
            }
        }
    }

    fn generic(
        &self,
        whole: &TypeName,
        kind: &str,
        parameters: &[TypeName],
        dimension: Option<i32>,
        frozen: bool,
        depth: usize,
    ) -> Result<CqlType> {
        let inner = |i: usize, frozen: bool| match parameters.get(i) {
            Some(parameter) => self.prepare(parameter, frozen, depth + 1).map(Box::new),
            None => Err(CqlError::invalid(format!("Missing type parameter of {kind}"))),
        };
        let made = match kind {
            "frozen" => {
                if let Some(parameter) = parameters.first()
                    && native(parameter).is_some()
                {
                    let text = format!(
                        "frozen<> is only allowed on collections, tuples, and user-defined types (got {})",
                        text_of(parameter)
                    );
                    return Err(CqlError::new(Code::Syntax, text));
                }
                return Ok(inner(0, true)?.freeze());
            }
            "tuple" => {
                let fields = (0..parameters.len()).map(|i| inner(i, true).map(|field| *field));
                let fields = fields.collect::<Result<Vec<_>>>()?;
                if fields.iter().any(CqlType::is_counter) {
                    return Err(CqlError::invalid("Counters are not allowed inside tuples"));
                }
                return Ok(CqlType::Tuple(fields));
            }
            "vector" => {
                let dimension = dimension.unwrap_or(0);
                if dimension <= 0 {
                    let text = format!("vectors may only have positive dimensions; given {dimension}");
                    return Err(CqlError::invalid(text));
                }
                let element = inner(0, false)?;
                if element.is_counter() {
                    return Err(CqlError::invalid("Counters are not allowed inside vectors"));
                }
                let dimension = u32::try_from(dimension).unwrap_or(0);
                return Ok(CqlType::Vector(element, dimension));
            }
            "list" | "set" | "map" => {
                check_collection(&shown(whole, frozen), kind, parameters, frozen)?;
                match kind {
                    "list" => CqlType::List(inner(0, true)?),
                    "set" => CqlType::Set(inner(0, true)?),
                    _ => CqlType::Map(inner(0, true)?, inner(1, true)?),
                }
            }
            other => return Err(CqlError::invalid(format!("Unknown type {}.{other}", self.keyspace))),
        };
        check_durations(&shown(whole, frozen), &made)?;
        Ok(if frozen { made.freeze() } else { made })
    }
}

/// A type's text in messages.
fn shown(whole: &TypeName, frozen: bool) -> String {
    if frozen { format!("frozen<{}>", text_of(whole)) } else { text_of(whole) }
}

/// What may not be inside a collection, by the names alone: Cassandra tells these before it looks for user types.
fn check_collection(whole: &str, kind: &str, parameters: &[TypeName], frozen: bool) -> Result<()> {
    let fail = |what: &str| Err(CqlError::invalid(format!("{what}: {whole}")));
    // The value first, then the key of a map.
    for parameter in parameters.iter().rev() {
        if !frozen {
            match parameter {
                TypeName::Generic(inner, ..) if matches!(inner.as_str(), "list" | "set" | "map") => {
                    return fail("Non-frozen collections are not allowed inside collections");
                }
                name if is_user(name) => return fail("Non-frozen UDTs are not allowed inside collections"),
                _ => (),
            }
        }
        if native(parameter) == Some(CqlType::Counter) {
            return fail("Counters are not allowed inside collections");
        }
    }
    if parameters.len() < if kind == "map" { 2 } else { 1 } {
        return Err(CqlError::invalid(format!("Missing type parameter of {kind}")));
    }
    Ok(())
}

/// Durations have no order, so that they cannot be elements of a set or keys of a map, at any depth.
fn check_durations(whole: &str, made: &CqlType) -> Result<()> {
    let has = |ty: &CqlType| ty.any(&|inner| matches!(inner, CqlType::Duration));
    match made {
        CqlType::Set(element) if has(element) => {
            Err(CqlError::invalid(format!("Durations are not allowed inside sets: {whole}")))
        }
        CqlType::Map(key, _) if has(key) => {
            Err(CqlError::invalid(format!("Durations are not allowed as map keys: {whole}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a type that nests too deeply or is too large, as a whole or by the user types in it.
///
/// # Errors
/// `Invalid`.
pub fn check_size(ty: &CqlType) -> Result<()> {
    fn count(ty: &CqlType, depth: usize, left: usize) -> Option<usize> {
        let left = left.checked_sub(1).filter(|_| depth <= MAX_DEPTH)?;
        match ty {
            CqlType::List(inner)
            | CqlType::Set(inner)
            | CqlType::Vector(inner, _)
            | CqlType::Frozen(inner) => count(inner, depth + 1, left),
            CqlType::Map(key, value) => {
                let left = count(key, depth + 1, left)?;
                count(value, depth + 1, left)
            }
            CqlType::Tuple(fields) => {
                fields.iter().try_fold(left, |left, field| count(field, depth + 1, left))
            }
            CqlType::Udt(udt) => {
                udt.fields.iter().try_fold(left, |left, (_, field)| count(field, depth + 1, left))
            }
            _ => Some(left),
        }
    }
    match count(ty, 1, MAX_PARTS) {
        Some(_) => Ok(()),
        None => Err(CqlError::invalid(format!(
            "A type nests at most {MAX_DEPTH} levels and has at most {MAX_PARTS} parts"
        ))),
    }
}

/// Package of Cassandra's types.
const MARSHAL: &str = "org.apache.cassandra.db.marshal.";

/// A type named by its class in Cassandra: those that CQL has a name for.
fn native_class(class: &str) -> Result<CqlType> {
    const CLASSES: [(&str, CqlType); 20] = [
        ("AsciiType", CqlType::Ascii),
        ("LongType", CqlType::Bigint),
        ("BytesType", CqlType::Blob),
        ("BooleanType", CqlType::Boolean),
        ("CounterColumnType", CqlType::Counter),
        ("SimpleDateType", CqlType::Date),
        ("DecimalType", CqlType::Decimal),
        ("DoubleType", CqlType::Double),
        ("DurationType", CqlType::Duration),
        ("FloatType", CqlType::Float),
        ("InetAddressType", CqlType::Inet),
        ("Int32Type", CqlType::Int),
        ("ShortType", CqlType::Smallint),
        ("UTF8Type", CqlType::Text),
        ("TimeType", CqlType::Time),
        ("TimestampType", CqlType::Timestamp),
        ("TimeUUIDType", CqlType::Timeuuid),
        ("ByteType", CqlType::Tinyint),
        ("UUIDType", CqlType::Uuid),
        ("IntegerType", CqlType::Varint),
    ];
    let short = class.strip_prefix(MARSHAL).unwrap_or(class);
    let found = CLASSES.iter().find(|(name, _)| *name == short).map(|(_, ty)| ty.clone());
    found.ok_or_else(|| {
        let full = if class.contains('.') { class.to_owned() } else { format!("{MARSHAL}{class}") };
        let text = format!("Error setting type {class}: Unable to find abstract-type class '{full}'");
        CqlError::new(Code::Syntax, text).hint("skep has no custom types; use a CQL type")
    })
}

/// The type in its canonical form (see the top).
#[must_use]
pub fn canonical(ty: &CqlType) -> CqlType {
    let inside = |inner: &CqlType| Box::new(frozen(inner));
    match ty {
        CqlType::List(inner) => CqlType::List(inside(inner)),
        CqlType::Set(inner) => CqlType::Set(inside(inner)),
        CqlType::Map(key, value) => CqlType::Map(inside(key), inside(value)),
        CqlType::Vector(inner, dimension) => CqlType::Vector(Box::new(canonical(inner)), *dimension),
        CqlType::Tuple(fields) => CqlType::Tuple(fields.iter().map(frozen).collect()),
        CqlType::Udt(udt) => CqlType::Udt(frozen_fields(udt)),
        CqlType::Frozen(inner) => frozen(inner),
        simple => simple.clone(),
    }
}

/// `ty` as it is inside another type or inside `frozen`.
fn frozen(ty: &CqlType) -> CqlType {
    match canonical(ty.unfrozen()) {
        made @ (CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) | CqlType::Udt(_)) => made.freeze(),
        other => other,
    }
}

fn frozen_fields(udt: &Arc<UdtType>) -> Arc<UdtType> {
    let fields: Vec<_> = udt.fields.iter().map(|(name, ty)| (name.clone(), frozen(ty))).collect();
    if fields == udt.fields {
        return Arc::clone(udt);
    }
    Arc::new(UdtType { keyspace: udt.keyspace.clone(), name: udt.name.clone(), fields })
}

/// The text that Cassandra shows for a type, tuples in `frozen<>` and user types by their bare name.
#[must_use]
pub fn cql_text(ty: &CqlType) -> String {
    let mut text = String::new();
    write_type(&mut text, ty, false);
    text
}

/// As [`cql_text`], user types with their keyspace and without quotes: so do messages of ALTER TYPE.
#[must_use]
pub fn full_cql_text(ty: &CqlType) -> String {
    let mut text = String::new();
    write_type(&mut text, ty, true);
    text
}

fn write_type(out: &mut String, ty: &CqlType, qualify: bool) {
    let list = |out: &mut String, name: &str, inner: &[&CqlType]| {
        out.push_str(name);
        out.push('<');
        for (i, ty) in inner.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { ", " });
            write_type(out, ty, qualify);
        }
        out.push('>');
    };
    match ty {
        CqlType::List(inner) => list(out, "list", &[inner]),
        CqlType::Set(inner) => list(out, "set", &[inner]),
        CqlType::Map(key, value) => list(out, "map", &[key, value]),
        CqlType::Tuple(fields) => {
            out.push_str("frozen<");
            list(out, "tuple", &fields.iter().collect::<Vec<_>>());
            out.push('>');
        }
        CqlType::Frozen(inner) if matches!(**inner, CqlType::Tuple(_) | CqlType::Vector(..)) => {
            write_type(out, inner, qualify);
        }
        CqlType::Frozen(inner) => list(out, "frozen", &[inner]),
        CqlType::Vector(inner, dimension) => {
            out.push_str("vector<");
            write_type(out, inner, qualify);
            let _ = write!(out, ", {dimension}>");
        }
        CqlType::Udt(udt) => match qualify {
            true => out.push_str(&format!("{}.{}", udt.keyspace, udt.name)),
            false => out.push_str(&name(&udt.name)),
        },
        simple => {
            let _ = write!(out, "{simple}");
        }
    }
}

/// A type as the statement has it.
#[must_use]
pub fn text_of(ty: &TypeName) -> String {
    match ty {
        TypeName::Simple(simple) => match &simple.keyspace {
            Some(keyspace) => format!("{}.{}", keyspace.text, simple.name.text),
            None => simple.name.text.clone(),
        },
        TypeName::Custom(class) => format!("'{class}'"),
        TypeName::Generic(kind, parameters, dimension, _) => {
            let mut parts: Vec<_> = parameters.iter().map(text_of).collect();
            parts.extend(dimension.map(|dimension| dimension.to_string()));
            format!("{kind}<{}>", parts.join(", "))
        }
    }
}

/// An identifier as CQL needs it: in double quotes unless it is `[a-z][a-z0-9_]*` and no reserved word.
#[must_use]
pub fn name(text: &str) -> String {
    print::name(text)
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
