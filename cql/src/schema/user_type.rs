//! CREATE, ALTER, DROP TYPE. Tables and types that hold a type carry its fields, so that a change of it changes them in the same step.

use crate::answer::{Change, Outcome, SchemaChange, Target};
use crate::catalog::Catalog;
use crate::catalog::names;
use crate::catalog::store::Keyspace;
use crate::catalog::types::{self, canonical, check_size, full_cql_text, native};
use crate::error::{CqlError, Result};
use crate::schema::keyspace;
use crate::schema::named::Named;
use crate::syntax::ast::{AlterType, CreateType, Name, TypeChange, TypeName};
use skep_engine::{CqlType, SchemaChange as EngineChange, TableSchema, UdtType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// CREATE TYPE.
pub fn create(catalog: &Catalog, named: Named<'_>, statement: &CreateType) -> Result<Outcome> {
    let mut seen = BTreeSet::new();
    if let Some((name, _)) = statement.fields.iter().find(|(name, _)| !seen.insert(&name.text)) {
        let text = format!("Duplicate field name '{}' in type '{}'", name.text, named.name);
        return Err(CqlError::invalid(text).at(name.place));
    }
    catalog.change(|picture| {
        let keyspace = picture.keyspace(named.keyspace).ok_or_else(|| keyspace::missing(named.keyspace))?;
        if keyspace.types.contains_key(named.name) {
            return match statement.if_not_exists {
                true => Ok(Outcome::Void),
                false => {
                    Err(CqlError::invalid(format!("A user type with name '{}' already exists", named.name)))
                }
            };
        }
        for (name, ty) in &statement.fields {
            check_field(ty).map_err(|error| error.at(name.place))?;
        }
        let fields =
            statement.fields.iter().map(|(name, ty)| Ok((name.text.clone(), keyspace.resolver().field(ty)?)));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let udt = UdtType { keyspace: named.keyspace.to_owned(), name: named.name.to_owned(), fields };
        check_size(&CqlType::Udt(Arc::new(udt.clone())))?;
        catalog.db().change_schema(EngineChange::new().put_type(udt))?;
        Ok(changed(Change::Created, named))
    })
}

/// What a field cannot be, by its name alone.
fn check_field(ty: &TypeName) -> Result<()> {
    if native(ty) == Some(CqlType::Counter) {
        return Err(CqlError::invalid("A user type cannot contain counters"));
    }
    if types::is_user(ty) {
        return Err(CqlError::invalid("A user type cannot contain non-frozen UDTs"));
    }
    Ok(())
}

/// ALTER TYPE.
pub fn alter(catalog: &Catalog, named: Named<'_>, statement: &AlterType) -> Result<Outcome> {
    catalog.change(|picture| {
        let found = picture.keyspace(named.keyspace).and_then(|k| Some((k, k.types.get(named.name)?)));
        let Some((keyspace, udt)) = found else {
            return match statement.if_exists {
                true => Ok(Outcome::Void),
                false => Err(CqlError::invalid(format!("Type {} doesn't exist", named.full()))),
            };
        };
        let made = match &statement.change {
            TypeChange::Alter(..) => {
                return Err(CqlError::invalid("Altering field types is no longer supported"));
            }
            TypeChange::Add(if_not_exists, field, ty) => {
                add(keyspace, udt, named, *if_not_exists, field, ty)?
            }
            TypeChange::Rename(if_exists, pairs) => Some(rename(udt, named, *if_exists, pairs)?),
        };
        let Some(made) = made else { return Ok(Outcome::Void) };
        catalog.db().change_schema(spread(keyspace, made)?)?;
        Ok(changed(Change::Updated, named))
    })
}

fn add(
    keyspace: &Keyspace,
    udt: &Arc<UdtType>,
    named: Named<'_>,
    if_not_exists: bool,
    field: &Name,
    ty: &TypeName,
) -> Result<Option<UdtType>> {
    let (full, label) = (names::full(named.keyspace, named.name), &field.text);
    if udt.fields.iter().any(|(known, _)| known == label) {
        return match if_not_exists {
            true => Ok(None),
            false => Err(CqlError::invalid(format!(
                "Cannot add field {label} to type {full}: a field with name {label} already exists"
            ))),
        };
    }
    check_field(ty)?;
    let made = keyspace.resolver().field(ty)?;
    if made.uses_type(named.keyspace, named.name) {
        return Err(CqlError::invalid(format!(
            "Cannot add new field {label} of type {} to user type {full} as it would create a circular reference",
            full_cql_text(&made)
        )));
    }
    let keyed = |schema: &TableSchema| {
        schema.partition_key().iter().any(|column| column.ty.uses_type(named.keyspace, named.name))
    };
    let tables: Vec<_> =
        keyspace.tables.values().filter(|t| keyed(&t.schema)).map(|t| t.schema.full_name()).collect();
    if !tables.is_empty() {
        return Err(CqlError::invalid(format!(
            "Cannot add new field {label} of type {} to user type {full} as the type is being used in partition key by \
             the following tables: {}",
            full_cql_text(&made),
            tables.join(", ")
        )));
    }
    let mut udt = UdtType::clone(udt);
    udt.fields.push((label.clone(), made));
    Ok(Some(udt))
}

fn rename(udt: &UdtType, named: Named<'_>, if_exists: bool, pairs: &[(Name, Name)]) -> Result<UdtType> {
    let mut udt = udt.clone();
    for (from, to) in pairs {
        match udt.fields.iter_mut().find(|(known, _)| *known == from.text) {
            Some((known, _)) => known.clone_from(&to.text),
            None if if_exists => (),
            None => {
                let udt = names::full(named.keyspace, named.name);
                let text = format!("Unkown field {} in user type {udt}", from.text);
                return Err(CqlError::invalid(text).at(from.place));
            }
        }
    }
    let mut seen = BTreeSet::new();
    if let Some((twice, _)) = udt.fields.iter().find(|(name, _)| !seen.insert(name)) {
        // Cassandra names the keyspace here where it means the type; clients match on the text.
        return Err(CqlError::invalid(format!("Duplicate field name {twice} in type {}", named.keyspace)));
    }
    Ok(udt)
}

/// The new type, and all types and tables that hold it.
fn spread(keyspace: &Keyspace, udt: UdtType) -> Result<EngineChange> {
    let definition = Arc::new(udt);
    // Inside another type its fields are frozen.
    check_size(&CqlType::Udt(Arc::clone(&definition)))?;
    let CqlType::Udt(inside) = canonical(&CqlType::Udt(Arc::clone(&definition))) else {
        return Err(CqlError::invalid("not a user type"));
    };
    let mut change = EngineChange::new().put_type(UdtType::clone(&definition));
    for other in keyspace.types.values().filter(|other| other.name != definition.name) {
        let mut other = UdtType::clone(other);
        let mut touched = false;
        for (_, ty) in &mut other.fields {
            if let Some(made) = ty.with_udt(&inside) {
                check_size(&made)?;
                *ty = made;
                touched = true;
            }
        }
        if touched {
            change = change.put_type(other);
        }
    }
    let hidden = keyspace.index_tables.values().map(skep_engine::Table::schema);
    for schema in keyspace.tables.values().map(|table| Arc::clone(&table.schema)).chain(hidden) {
        if let Some(made) = schema.with_type(&inside)? {
            made.columns().iter().try_for_each(|column| check_size(&column.ty))?;
            change = change.put_table(made);
        }
    }
    Ok(change)
}

/// DROP TYPE.
pub fn drop(catalog: &Catalog, named: Named<'_>, if_exists: bool) -> Result<Outcome> {
    catalog.change(|picture| {
        let found =
            picture.keyspace(named.keyspace).filter(|keyspace| keyspace.types.contains_key(named.name));
        let Some(keyspace) = found else {
            return match if_exists {
                true => Ok(Outcome::Void),
                false => Err(CqlError::invalid(format!("Type '{}' doesn't exist", named.full()))),
            };
        };
        let uses = |ty: &CqlType| ty.uses_type(named.keyspace, named.name);
        let types = keyspace.types.values().filter(|udt| udt.name != named.name);
        let types: Vec<_> = types
            .filter(|udt| udt.fields.iter().any(|(_, ty)| uses(ty)))
            .map(|udt| udt.name.as_str())
            .collect();
        let in_use = |by: &str, names: &[&str]| {
            let names = names.join(", ");
            Err(CqlError::invalid(format!(
                "Cannot drop user type '{}' as it is still used by {by} {names}",
                named.full()
            )))
        };
        if !types.is_empty() {
            return in_use("user types", &types);
        }
        let tables = keyspace.tables.values();
        let tables: Vec<_> = tables
            .filter(|table| table.schema.columns().iter().any(|column| uses(&column.ty)))
            .map(|table| table.name())
            .collect();
        if !tables.is_empty() {
            return in_use("tables", &tables);
        }
        catalog.db().change_schema(EngineChange::new().drop_type(named.keyspace, named.name))?;
        Ok(changed(Change::Dropped, named))
    })
}

fn changed(change: Change, named: Named<'_>) -> Outcome {
    let target = Target::Type(named.name.to_owned());
    Outcome::Schema(SchemaChange { change, target, keyspace: named.keyspace.to_owned() })
}
