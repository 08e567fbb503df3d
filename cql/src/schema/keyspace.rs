//! CREATE, ALTER, DROP KEYSPACE and USE.

use crate::answer::{Change, Outcome, Run, SchemaChange, Target};
use crate::catalog::store::{DURABLE_WRITES, REPLICATION};
use crate::catalog::{Catalog, names};
use crate::error::{Code, CqlError, Result};
use crate::schema::properties::Properties;
use crate::schema::replication;
use crate::syntax::ast::{AlterKeyspace, CreateKeyspace, Name};
use skep_engine::SchemaChange as EngineChange;
use std::collections::BTreeMap;

const OPTIONS: [&str; 2] = ["durable_writes", "replication"];

/// CREATE KEYSPACE.
pub fn create(catalog: &Catalog, statement: &CreateKeyspace, run: &mut Run<'_>) -> Result<Outcome> {
    let name = &statement.name.text;
    if names::is_system(name) {
        return Err(CqlError::invalid(format!("System keyspace '{name}' is not user-modifiable")));
    }
    names::check_keyspace(name)?;
    let properties = Properties::new(&statement.options, &OPTIONS)?;
    let given = properties.map("replication")?;
    let durable = properties.flag("durable_writes")?.unwrap_or(true);
    let given = given.ok_or_else(|| {
        CqlError::invalid("Missing mandatory option 'replication'")
            .hint("WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    })?;
    catalog.change(|picture| {
        if picture.keyspace(name).is_some() || names::is_reserved(name) {
            return match statement.if_not_exists {
                true => Ok(Outcome::Void),
                false => Err(CqlError::new(
                    Code::AlreadyExists,
                    format!("Cannot add existing keyspace \"{name}\""),
                )),
            };
        }
        let (map, warning) = replication::check(name, given)?;
        let change = EngineChange::new().create_keyspace(name, stored(map, durable));
        catalog.db().change_schema(change)?;
        warning.into_iter().for_each(|warning| run.warn(warning));
        Ok(changed(Change::Created, name))
    })
}

/// ALTER KEYSPACE.
pub fn alter(catalog: &Catalog, statement: &AlterKeyspace, run: &mut Run<'_>) -> Result<Outcome> {
    let name = &statement.name.text;
    names::check_modifiable(name)?;
    let properties = Properties::new(&statement.options, &OPTIONS)?;
    catalog.change(|picture| {
        let Some(keyspace) = picture.keyspace(name) else {
            return match statement.if_exists {
                true => Ok(Outcome::Void),
                false => Err(missing(name)),
            };
        };
        let durable = properties.flag("durable_writes")?.unwrap_or(keyspace.durable_writes);
        // What it has is held against the one node again.
        let known: Vec<_> = keyspace.replication.clone().into_iter().collect();
        let given = properties.map("replication")?;
        let (map, warning) = replication::check(name, given.unwrap_or(&known))?;
        let grown = replication::copies(&map) > replication::copies(&keyspace.replication);
        catalog.db().change_schema(EngineChange::new().put_keyspace(name, stored(map, durable)))?;
        warning.into_iter().for_each(|warning| run.warn(warning));
        if grown {
            run.warn("When increasing replication factor you need to run a full (-full) repair to distribute the data.");
        }
        Ok(changed(Change::Updated, name))
    })
}

/// DROP KEYSPACE, with all that is in it.
pub fn drop(catalog: &Catalog, name: &Name, if_exists: bool) -> Result<Outcome> {
    let name = &name.text;
    names::check_modifiable(name)?;
    catalog.change(|picture| {
        if picture.keyspace(name).is_none() {
            return if if_exists { Ok(Outcome::Void) } else { Err(missing(name)) };
        }
        catalog.db().change_schema(EngineChange::new().drop_keyspace(name))?;
        Ok(changed(Change::Dropped, name))
    })
}

/// USE.
pub fn use_keyspace(catalog: &Catalog, name: &Name) -> Result<Outcome> {
    let known = names::is_reserved(&name.text) || catalog.picture()?.keyspace(&name.text).is_some();
    match known {
        true => Ok(Outcome::Keyspace(name.text.clone())),
        false => Err(CqlError::invalid(format!("Keyspace '{}' does not exist", name.text)).at(name.place)),
    }
}

/// The error of schema statements about a keyspace that is not there.
#[must_use]
pub fn missing(name: &str) -> CqlError {
    CqlError::invalid(format!("Keyspace '{name}' doesn't exist"))
}

fn stored(replication: BTreeMap<String, String>, durable: bool) -> BTreeMap<String, String> {
    let mut options: BTreeMap<_, _> =
        replication.into_iter().map(|(name, value)| (format!("{REPLICATION}{name}"), value)).collect();
    options.insert(DURABLE_WRITES.to_owned(), durable.to_string());
    options
}

fn changed(change: Change, name: &str) -> Outcome {
    Outcome::Schema(SchemaChange { change, target: Target::Keyspace, keyspace: name.to_owned() })
}
