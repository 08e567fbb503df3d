//! Columns of CREATE TABLE: their types, the primary key, the clustering order, static and counter rules.
//!
//! Called by `table`; gives the columns in the form in which the engine takes them. The order of the checks is Cassandra's, for a statement
//! with several faults tells the same one.

use crate::catalog::store::Keyspace;
use crate::error::{CqlError, Result};
use crate::syntax::ast::{CreateTable, Expr, Name};
use skep_engine::{ColumnKind, CqlType, Order};
use std::collections::BTreeSet;

/// A column as the engine takes it.
pub type Declared = (String, CqlType, ColumnKind);

/// The one PRIMARY KEY of a statement: partition key and clustering columns.
pub struct PrimaryKey<'a> {
    /// Columns of the partition key.
    pub partition: Vec<&'a Name>,
    /// Clustering columns.
    pub clustering: Vec<&'a Name>,
}

/// Finds the one PRIMARY KEY, behind a column or in a clause of its own.
///
/// # Errors
/// If there is none or more than one.
pub fn primary_key(statement: &CreateTable) -> Result<PrimaryKey<'_>> {
    let table = &statement.table.name.text;
    let mut all: Vec<PrimaryKey<'_>> = Vec::new();
    for column in statement.columns.iter().filter(|column| column.primary_key) {
        all.push(PrimaryKey { partition: vec![&column.name], clustering: Vec::new() });
    }
    for (partition, clustering) in &statement.primary_keys {
        all.push(PrimaryKey {
            partition: partition.iter().collect(),
            clustering: clustering.iter().collect(),
        });
    }
    let many = all.len() > 1;
    match all.pop() {
        Some(only) if !many => Ok(only),
        Some(_) => Err(CqlError::invalid(format!(
            "Multiple PRIMARY KEY specified for table '{table}' (exactly one required)"
        ))),
        None => Err(CqlError::invalid(format!(
            "No PRIMARY KEY specifed for table '{table}' (exactly one required)"
        ))),
    }
}

/// Refuses a column that is declared twice, in the statement's own list or in its CLUSTERING ORDER.
///
/// # Errors
/// In Cassandra's words.
pub fn check_duplicates(statement: &CreateTable) -> Result<()> {
    let table = &statement.table.name.text;
    let mut seen = BTreeSet::new();
    for column in &statement.columns {
        if !seen.insert(&column.name.text) {
            let text = format!("Duplicate column '{}' declaration for table '{table}'", column.name.text);
            return Err(CqlError::invalid(text).at(column.name.place));
        }
    }
    check_order_duplicates(&statement.clustering_order, "table", table)
}

/// Refuses a column that CLUSTERING ORDER BY names twice; `what` is `table` or `view`.
///
/// # Errors
/// In Cassandra's words.
pub fn check_order_duplicates(order: &[(Name, bool)], what: &str, table: &str) -> Result<()> {
    let mut seen = BTreeSet::new();
    match order.iter().find(|(name, _)| !seen.insert(&name.text)) {
        Some((name, _)) => {
            let text = format!(
                "Duplicate column '{}' in CLUSTERING ORDER BY clause for {what} '{table}'",
                name.text
            );
            Err(CqlError::invalid(text).at(name.place))
        }
        None => Ok(()),
    }
}

/// All columns: key columns in the order of the key, then the others as declared.
///
/// # Errors
/// In Cassandra's words, for whatever cannot be.
pub fn columns(keyspace: &Keyspace, statement: &CreateTable) -> Result<Vec<Declared>> {
    let table = &statement.table.name.text;
    let key = primary_key(statement)?;
    let mut typed: Vec<(&Name, CqlType, bool)> = Vec::new();
    for column in &statement.columns {
        let ty = keyspace.resolver().resolve(&column.ty).map_err(|error| error.at(column.name.place))?;
        typed.push((&column.name, ty, column.is_static));
    }
    let mut in_key = BTreeSet::new();
    for name in key.partition.iter().chain(&key.clustering) {
        let Some((_, ty, is_static)) = typed.iter().find(|(known, ..)| known.text == name.text) else {
            let text =
                format!("Unknown column '{}' referenced in PRIMARY KEY for table '{table}'", name.text);
            let known: Vec<&str> = typed.iter().map(|(known, ..)| known.text.as_str()).collect();
            let hint = format!("the columns are {}", known.join(", "));
            return Err(CqlError::invalid(text).at(name.place).hint(hint));
        };
        if !in_key.insert(&name.text) {
            let text = format!("Duplicate column '{}' in PRIMARY KEY clause for table '{table}'", name.text);
            return Err(CqlError::invalid(text).at(name.place));
        }
        check_key_type(ty, &name.text).map_err(|error| error.at(name.place))?;
        if *is_static {
            let text = format!("Static column '{}' cannot be part of the PRIMARY KEY", name.text);
            return Err(CqlError::invalid(text).at(name.place));
        }
    }
    let clustering: Vec<&str> = key.clustering.iter().map(|name| name.text.as_str()).collect();
    let descending = clustering_order(&statement.clustering_order, &clustering)?;
    let mut declared: Vec<Declared> = Vec::new();
    let ty_of = |name: &str| typed.iter().find(|(known, ..)| known.text == name).map(|(_, ty, _)| ty.clone());
    for name in &key.partition {
        declared.extend(ty_of(&name.text).map(|ty| (name.text.clone(), ty, ColumnKind::PartitionKey)));
    }
    for (name, descending) in clustering.iter().zip(descending) {
        let order = if descending { Order::Desc } else { Order::Asc };
        declared.extend(ty_of(name).map(|ty| ((*name).to_owned(), ty, ColumnKind::Clustering(order))));
    }
    let rest: Vec<_> = typed.into_iter().filter(|(name, ..)| !in_key.contains(&name.text)).collect();
    if clustering.is_empty() && rest.iter().any(|(.., is_static)| *is_static) {
        return Err(static_without_clustering());
    }
    if rest.iter().any(|(_, ty, _)| ty.is_counter()) && !rest.iter().all(|(_, ty, _)| ty.is_counter()) {
        return Err(CqlError::invalid("Cannot mix counter and non counter columns in the same table"));
    }
    declared.extend(rest.into_iter().map(|(name, ty, is_static)| {
        (name.text.clone(), ty, if is_static { ColumnKind::Static } else { ColumnKind::Regular })
    }));
    Ok(declared)
}

/// Refuses a type that no key column can have.
///
/// # Errors
/// In Cassandra's words.
pub fn check_key_type(ty: &CqlType, column: &str) -> Result<()> {
    if ty.is_multicell() {
        return Err(CqlError::invalid(match ty {
            CqlType::Udt(udt) => format!(
                "Invalid non-frozen user-defined type \"{}.{}\" for PRIMARY KEY column '{column}'",
                udt.keyspace, udt.name
            ),
            other => format!("Invalid non-frozen collection type {other} for PRIMARY KEY column '{column}'"),
        }));
    }
    if ty.is_counter() {
        return Err(CqlError::invalid(format!(
            "counter type is not supported for PRIMARY KEY column '{column}'"
        )));
    }
    if ty.any(&|inner| matches!(inner, CqlType::Duration)) {
        return Err(CqlError::invalid(format!(
            "duration type is not supported for PRIMARY KEY column '{column}'"
        )));
    }
    Ok(())
}

/// Whether each clustering column is DESC.
///
/// # Errors
/// In Cassandra's words, if the order names other columns than the first clustering ones in their order.
pub fn clustering_order(order: &[(Name, bool)], clustering: &[&str]) -> Result<Vec<bool>> {
    let foreign: Vec<&str> =
        order.iter().map(|(name, _)| name.text.as_str()).filter(|name| !clustering.contains(name)).collect();
    if !foreign.is_empty() {
        return Err(CqlError::invalid(format!(
            "Only clustering key columns can be defined in CLUSTERING ORDER directive: [{}] are not clustering columns",
            foreign.join(", ")
        )));
    }
    for ((name, _), expected) in order.iter().zip(clustering) {
        if name.text == *expected {
            continue;
        }
        return Err(CqlError::invalid(match order.iter().any(|(other, _)| other.text == *expected) {
            false => format!("Missing CLUSTERING ORDER for column {expected}"),
            true => format!(
                "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns \
                 ({expected} must appear before {})",
                name.text
            ),
        }));
    }
    let descending = |i: usize| order.get(i).is_some_and(|(_, descending)| *descending);
    Ok((0..clustering.len()).map(descending).collect())
}

/// The functions that a column can be masked with.
const MASKS: [&str; 6] =
    ["mask_default", "mask_hash", "mask_inner", "mask_null", "mask_outer", "mask_replace"];

/// Refuses a mask that is no call of a masking function with constants. Masks are kept and shown: whoever opens an embedded store may see
/// everything, as a user with Cassandra's UNMASK permission.
///
/// # Errors
/// In Cassandra's words.
pub fn check_mask(column: &Name, mask: Option<&Expr>) -> Result<()> {
    let fail = |text: String| Err(CqlError::invalid(text).at(column.place));
    let Some(mask) = mask else { return Ok(()) };
    let Expr::Call { name, args, .. } = mask else {
        return fail(format!("A mask of column {} has to be a function", column.text));
    };
    if !MASKS.contains(&name.text.as_str()) {
        return fail(format!(
            "Unable to find masking function for {}, no declared function matches the signature {}",
            column.text, name.text
        ));
    }
    match args.iter().all(|arg| matches!(arg, Expr::Null | Expr::Constant { .. } | Expr::TypeHint(..))) {
        true => Ok(()),
        false => fail("Masking functions take constants".to_owned()),
    }
}

/// The error of a static column in a table of single-row partitions.
#[must_use]
pub fn static_without_clustering() -> CqlError {
    CqlError::invalid(
        "Static columns are only useful (and thus allowed) if the table has at least one clustering column",
    )
}
