//! The schema statements: CREATE, ALTER, DROP of keyspaces, tables, user types, indexes and views, TRUNCATE, USE, DESCRIBE.
//!
//! [`run`] takes a statement and the session's keyspace, checks everything in Cassandra's order and words against the catalog's picture, and
//! makes the change as one step of the engine, whatever it touches. One module per kind of thing; `properties`, `options`,
//! `option_values` and `replication` read what stands behind WITH, `describe` writes the statements that make the schema.
//!
//! # Not here
//! Users, roles, functions, triggers: an embedded store has none; the parser knows their statements and [`run`] refuses them.

pub mod named;
pub mod properties;
pub mod replication;
pub mod option_values;
pub mod options;
pub mod keyspace;
pub mod columns;
pub mod table;
pub mod user_type;
pub mod index;
pub mod view;
pub mod alter;
pub mod describe_text;
pub mod describe;

use crate::answer::{Outcome, Run};
use crate::catalog::Catalog;
use crate::error::{CqlError, Result};
use crate::schema::named::Named;
use crate::syntax::ast::{DropKind, Statement};

/// Runs a schema statement. `keyspace` is the session's, if it has one.
///
/// # Errors
/// Cassandra's, in its words; the engine's for a disk that fails. `Invalid` for a statement that is none of the schema's.
pub fn run(
    catalog: &Catalog,
    keyspace: Option<&str>,
    statement: &Statement,
    run: &mut Run<'_>,
) -> Result<Outcome> {
    match statement {
        Statement::CreateKeyspace(create) => keyspace::create(catalog, create, run),
        Statement::AlterKeyspace(alter) => keyspace::alter(catalog, alter, run),
        Statement::Use(name) => keyspace::use_keyspace(catalog, name),
        Statement::CreateTable(create) => table::create(catalog, Named::of(&create.table, keyspace)?, create),
        Statement::AlterTable(alter) => alter::alter(catalog, Named::of(&alter.table, keyspace)?, alter),
        Statement::Truncate(table) => table::truncate(catalog, Named::of(table, keyspace)?),
        Statement::CreateType(create) => {
            user_type::create(catalog, Named::of(&create.name, keyspace)?, create)
        }
        Statement::AlterType(alter) => user_type::alter(catalog, Named::of(&alter.name, keyspace)?, alter),
        Statement::CreateIndex(create) => index::create(catalog, Named::of(&create.table, keyspace)?, create),
        Statement::CreateView(create) => view::create(catalog, Named::of(&create.name, keyspace)?, create),
        Statement::AlterView(alter) => view::alter(catalog, Named::of(&alter.name, keyspace)?, alter),
        Statement::Drop(drop) if drop.kind == DropKind::Keyspace => {
            keyspace::drop(catalog, &drop.name.name, drop.if_exists)
        }
        Statement::Drop(drop) => {
            if drop.kind == DropKind::Index {
                index::check_keyspace(&drop.name)?;
            }
            let named = Named::of(&drop.name, keyspace)?;
            match drop.kind {
                DropKind::Type => user_type::drop(catalog, named, drop.if_exists),
                DropKind::Index => index::drop(catalog, named, drop.if_exists),
                DropKind::View => view::drop(catalog, named, drop.if_exists),
                DropKind::Table | DropKind::Keyspace => table::drop(catalog, named, drop.if_exists),
            }
        }
        Statement::Describe(describe) => describe::describe(catalog, keyspace, describe),
        Statement::Unsupported(words) => Err(CqlError::invalid(format!("{words} is not supported by skep"))
            .hint("an embedded store has no users, roles, user functions or triggers")),
        _ => Err(CqlError::invalid("no schema statement")),
    }
}

#[cfg(test)]
mod tests;
