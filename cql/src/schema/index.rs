//! CREATE and DROP INDEX: what may be indexed and how, the index's definition, and the table that holds it.
//!
//! The definition stands among the options of the indexed table; a hidden table of the same keyspace, made and dropped in the same step as
//! the definition, holds the entries. What is in it, and that it is filled, is `derive`'s.

use crate::answer::{Change, Outcome};
use crate::catalog::store::Keyspace;
use crate::catalog::table::{IndexDef, IndexKind, TableInfo};
use crate::catalog::types::{cql_text, name};
use crate::catalog::{Catalog, definition, names};
use crate::derive::fill;
use crate::error::{CqlError, Result};
use crate::schema::keyspace;
use crate::schema::named::Named;
use crate::schema::properties::Properties;
use crate::schema::table::changed;
use crate::syntax::ast::{CreateIndex, IndexPart, Name, OptionValue, Options, TableName};
use skep_engine::model::schema::Column;
use skep_engine::{CqlType, SchemaChange as EngineChange, TableSchema};

/// CREATE INDEX.
pub fn create(catalog: &Catalog, named: Named<'_>, statement: &CreateIndex) -> Result<Outcome> {
    let mut made = None;
    let outcome = catalog.change(|picture| {
        let keyspace = picture.keyspace(named.keyspace).ok_or_else(|| keyspace::missing(named.keyspace))?;
        let table = keyspace.tables.get(named.name);
        let table =
            table.ok_or_else(|| CqlError::invalid(format!("Table '{}' doesn't exist", named.name)))?;
        let given = statement.name.as_ref().map(|name| name.name.text.as_str());
        if let Some(given) = given
            && keyspace.index(given).is_some()
        {
            return match statement.if_not_exists {
                true => Ok(Outcome::Void),
                false => Err(CqlError::invalid(format!("Index '{given}' already exists"))),
            };
        }
        if table.is_counter() {
            return Err(CqlError::invalid("Secondary indexes on counter tables aren't supported"));
        }
        if table.is_view() {
            return Err(CqlError::invalid("Secondary indexes on materialized views aren't supported"));
        }
        let options = index_options(statement)?;
        let (column, part) = target(table, statement)?;
        let kind = kind(statement)?;
        if kind == IndexKind::Sai && !names::is_word(&column.name) {
            return Err(CqlError::invalid(format!(
                "Column '{}' contains non-alphanumeric-underscore characters",
                column.name
            )));
        }
        let label = given.map_or_else(|| free_name(keyspace, table, column), str::to_owned);
        let def = IndexDef {
            name: label.clone(),
            kind,
            column: column.name.clone(),
            part,
            custom: statement.custom || kind == IndexKind::Sai,
            class: statement.using.clone(),
            options: options.iter().cloned().collect(),
        };
        if let Some(other) = table.indexes.iter().find(|other| same(other, &def)) {
            return match statement.if_not_exists {
                true => Ok(Outcome::Void),
                false => Err(CqlError::invalid(format!(
                    "Index {label} is a duplicate of existing index {}",
                    other.name
                ))),
            };
        }
        check_kind(table, column, &def)?;
        if !names::is_word(&label) {
            return Err(CqlError::config(format!("Illegal index name {label}")));
        }
        let stored = stored(statement, &def, named, column);
        let mut options = table.schema.options.clone();
        definition::put_index(&mut options, &stored);
        definition::put_mark(&mut options, &label);
        let base: TableSchema = table.schema.with_options(options);
        let change = EngineChange::new().put_table(base).create_table(definition::index_schema(table, &def)?);
        catalog.db().change_schema(change)?;
        made = Some(label);
        Ok(changed(Change::Updated, named))
    })?;
    if let Some(label) = made
        && let Err(error) = fill::index(catalog, named.keyspace, named.name, &label)
            .and_then(|()| fill::done(catalog, named.keyspace, named.name))
    {
        drop(catalog, Named { keyspace: named.keyspace, name: &label }, true)?;
        return Err(error);
    }
    Ok(outcome)
}

/// Refuses DROP INDEX in Cassandra's own keyspaces, in other words than those for tables.
pub fn check_keyspace(index: &TableName) -> Result<()> {
    match &index.keyspace {
        Some(keyspace) if names::is_system(&keyspace.text) => {
            Err(CqlError::invalid(format!("System keyspace '{}' is not user-modifiable", keyspace.text)))
        }
        _ => Ok(()),
    }
}

/// DROP INDEX.
pub fn drop(catalog: &Catalog, named: Named<'_>, if_exists: bool) -> Result<Outcome> {
    catalog.change(|picture| {
        let keyspace = picture.keyspace(named.keyspace);
        let found = keyspace.and_then(|keyspace| Some((keyspace, keyspace.index(named.name)?)));
        let Some((keyspace, (table, _))) = found else {
            return match if_exists {
                true => Ok(Outcome::Void),
                false => Err(CqlError::invalid(format!("Index '{}' doesn't exist'", named.full()))),
            };
        };
        let mut options = table.schema.options.clone();
        options.other.remove(&format!("{}{}", definition::INDEX, named.name));
        let mut change = EngineChange::new().put_table(table.schema.with_options(options));
        if keyspace.index_tables.contains_key(named.name) {
            change = change.drop_table(named.keyspace, &definition::index_table(named.name));
        }
        catalog.db().change_schema(change)?;
        Ok(changed(Change::Updated, Named { keyspace: named.keyspace, name: table.name() }))
    })
}

/// The column that is indexed, and what of it.
fn target<'a>(table: &'a TableInfo, statement: &CreateIndex) -> Result<(&'a Column, IndexPart)> {
    let (target, part) = match statement.targets.as_slice() {
        [] if statement.custom => {
            return Err(CqlError::invalid("Failed to retrieve target column for: "));
        }
        [] => {
            let text = "Only CUSTOM indexes can be created without specifying a target column";
            return Err(CqlError::invalid(text));
        }
        [one] => one,
        several if statement.custom => {
            let names: Vec<_> = several.iter().map(|(name, _)| name.text.as_str()).collect();
            return Err(CqlError::invalid(format!(
                "A storage-attached index cannot be created over multiple columns: {}",
                names.join(", ")
            )));
        }
        _ => return Err(CqlError::invalid("Only CUSTOM indexes support multiple columns")),
    };
    let column = table.column(&target.text).map_err(|error| error.at(target.place))?;
    let part = definition::actual_part(*part, column.ty.is_collection());
    check_target(table, column, part).map_err(|error| error.at(target.place))?;
    Ok((column, part))
}

fn check_target(table: &TableInfo, column: &Column, part: IndexPart) -> Result<()> {
    let fail = |text: String| Err(CqlError::invalid(text));
    let (label, ty) = (&column.name, &column.ty);
    if ty.any(&|inner| matches!(inner, CqlType::Duration)) {
        return fail(match ty.unfrozen() {
            CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) => {
                "Secondary indexes are not supported on collections containing durations".to_owned()
            }
            CqlType::Tuple(_) => {
                "Secondary indexes are not supported on tuples containing durations".to_owned()
            }
            CqlType::Udt(_) => "Secondary indexes are not supported on UDTs containing durations".to_owned(),
            _ => "Secondary indexes are not supported on duration columns".to_owned(),
        });
    }
    let key = table.schema.partition_key();
    if key.len() == 1 && key[0].id == column.id {
        return fail(format!("Cannot create secondary index on the only partition key column {label}"));
    }
    let frozen_collection = ty.is_collection() && !ty.is_multicell();
    if frozen_collection && part != IndexPart::Full {
        return fail(format!(
            "Cannot create {}() index on frozen column {label}. Frozen collections are immutable and must be fully \
             indexed by using the 'full({})' modifier",
            part_name(part),
            name(label)
        ));
    }
    if !frozen_collection && part == IndexPart::Full {
        return fail("full() indexes can only be created on frozen collections".to_owned());
    }
    if !ty.is_collection() && part != IndexPart::Simple {
        return fail(format!(
            "Cannot create {}() index on {label}. Non-collection columns only support simple indexes",
            part_name(part)
        ));
    }
    if matches!(part, IndexPart::Keys | IndexPart::Entries) && !matches!(ty, CqlType::Map(..)) {
        let part = part_name(part);
        return fail(format!("Cannot create index on {part} of column {label} with non-map type"));
    }
    if matches!(ty, CqlType::Udt(_)) {
        return fail(format!("Cannot create index on non-frozen UDT column {label}"));
    }
    Ok(())
}

/// The word of a part, as in the statement.
#[must_use]
pub fn part_name(part: IndexPart) -> &'static str {
    match part {
        IndexPart::Simple => "simple",
        IndexPart::Values => "values",
        IndexPart::Keys => "keys",
        IndexPart::Entries => "entries",
        IndexPart::Full => "full",
    }
}

fn index_options(statement: &CreateIndex) -> Result<&[(String, String)]> {
    let properties = Properties::new(&statement.options, &["options"])?;
    let sai = definition::kind_of(statement.using.as_deref()) == Some(IndexKind::Sai);
    let empty = matches!(properties.map("options"), Ok(None | Some([])));
    if !empty && !statement.custom && !sai {
        return Err(CqlError::invalid("Cannot specify options for a non-CUSTOM index"));
    }
    let options = properties.map("options")?.unwrap_or_default();
    match options.iter().find(|(option, _)| ["target", "class_name"].contains(&option.as_str())) {
        Some((option, _)) => Err(CqlError::invalid(format!("Cannot specify {option} as a CUSTOM option"))),
        None => Ok(options),
    }
}

fn kind(statement: &CreateIndex) -> Result<IndexKind> {
    let class = statement.using.as_deref();
    let unknown = |class: &str| {
        CqlError::config(format!("Unable to find custom indexer class '{class}'"))
            .hint("there are 'sai' and 'legacy_local_table'")
    };
    match definition::kind_of(class) {
        Some(IndexKind::Legacy) if statement.custom => Err(unknown(class.unwrap_or("legacy_local_table"))),
        Some(kind) => Ok(kind),
        None => Err(unknown(class.unwrap_or_default())),
    }
}

/// `t_v_idx`, or with the first number behind it that is free.
fn free_name(keyspace: &Keyspace, table: &TableInfo, column: &Column) -> String {
    let base: String = format!("{}_{}_idx", table.name(), column.name)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    let mut label = base.clone();
    let mut number = 0;
    while keyspace.index(&label).is_some() {
        number += 1;
        label = format!("{base}_{number}");
    }
    label
}

/// Whether two indexes are the same but for their names.
fn same(one: &IndexDef, other: &IndexDef) -> bool {
    one.kind == other.kind
        && one.column == other.column
        && one.part == other.part
        && one.options == other.options
}

/// Rules of storage-attached indexes.
fn check_kind(table: &TableInfo, column: &Column, def: &IndexDef) -> Result<()> {
    if def.kind == IndexKind::Legacy {
        return Ok(());
    }
    let fail = |text: String| Err(CqlError::invalid(text));
    let others = table.indexes.iter().filter(|other| other.kind == IndexKind::Sai);
    if others.into_iter().any(|other| other.column == def.column && other.part == def.part) {
        return fail(format!(
            "Cannot create more than one storage-attached index on the same column: {}",
            column.name
        ));
    }
    let ty = definition::indexed_type(&column.ty, def.part);
    let given = |names: &[&str]| def.options.keys().any(|option| names.contains(&option.as_str()));
    if given(&TEXT_OPTIONS) {
        if !matches!(ty.unfrozen(), CqlType::Text | CqlType::Ascii) {
            return fail(format!("CQL type {} cannot be analyzed.", cql_text(&column.ty)));
        }
        let wrong = def.options.iter().filter(|(option, _)| TEXT_OPTIONS.contains(&option.as_str()));
        let wrong = wrong
            .into_iter()
            .find(|(_, value)| !["true", "false"].contains(&value.to_ascii_lowercase().as_str()));
        if let Some((option, value)) = wrong {
            return fail(format!("Illegal value for boolean option '{option}': {value}"));
        }
    }
    if given(&VECTOR_OPTIONS) {
        check_vector_options(column, &ty, def)?;
    }
    match ty.unfrozen() {
        CqlType::Vector(element, _) if **element != CqlType::Float => {
            fail("SAI ANN indexes are only allowed on vector columns with float elements".to_owned())
        }
        CqlType::Blob | CqlType::Counter | CqlType::Duration => {
            fail(format!("Unsupported type: {}", cql_text(&ty)))
        }
        _ => Ok(()),
    }?;
    let known = |option: &str| TEXT_OPTIONS.contains(&option) || VECTOR_OPTIONS.contains(&option);
    let unknown: Vec<_> = def.options.keys().map(String::as_str).filter(|option| !known(option)).collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(CqlError::config(format!(
            "Properties specified [{}] are not understood by StorageAttachedIndex",
            unknown.join(", ")
        ))),
    }
}

/// Options of indexes on text.
const TEXT_OPTIONS: [&str; 3] = ["case_sensitive", "normalize", "ascii"];
/// Options of indexes on vectors.
const VECTOR_OPTIONS: [&str; 4] =
    ["similarity_function", "optimize_for", "construction_beam_width", "maximum_node_connections"];

fn check_vector_options(column: &Column, ty: &CqlType, def: &IndexDef) -> Result<()> {
    let fail = |text: String| Err(CqlError::invalid(text));
    if !matches!(ty.unfrozen(), CqlType::Vector(..)) {
        return fail(format!("CQL type {} cannot have vector options", cql_text(&column.ty)));
    }
    let tuned = [
        ("maximum_node_connections", "Maximum node connections"),
        ("construction_beam_width", "Construction beam width"),
    ];
    if let Some((_, words)) = tuned.iter().find(|(option, _)| def.options.contains_key(*option)) {
        return fail(format!("{words} cannot be set without enabling SAI_VECTOR_ALLOW_CUSTOM_PARAMETERS"));
    }
    let choices: [(&str, &str, &[&str]); 2] = [
        ("similarity_function", "Similarity function", &["EUCLIDEAN", "DOT_PRODUCT", "COSINE"]),
        ("optimize_for", "optimize_for", &["LATENCY", "RECALL"]),
    ];
    for (option, words, allowed) in choices {
        let Some(value) = def.options.get(option).map(|value| value.to_uppercase()) else { continue };
        if !allowed.contains(&value.as_str()) {
            return fail(format!(
                "{words} {value} was not recognized for index null. Valid values are: {}",
                allowed.join(", ")
            ));
        }
    }
    Ok(())
}

/// The statement that makes the index, complete: what is stored and shown.
fn stored(statement: &CreateIndex, def: &IndexDef, named: Named<'_>, column: &Column) -> CreateIndex {
    let label = |text: &str| Name { text: text.to_owned(), ..placed(statement) };
    let options: Vec<_> = def.options.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let options: Options = match options.is_empty() {
        true => Vec::new(),
        false => vec![(label("options"), OptionValue::Map(options))],
    };
    CreateIndex {
        custom: def.custom,
        if_not_exists: false,
        name: Some(TableName { keyspace: None, name: label(&def.name) }),
        table: TableName { keyspace: Some(label(named.keyspace)), name: label(named.name) },
        targets: vec![(label(&column.name), def.part)],
        using: if def.custom { def.class.clone() } else { None },
        options,
    }
}

/// A name at the statement's table, to be given another text.
fn placed(statement: &CreateIndex) -> Name {
    Name { quoted: true, ..statement.table.name.clone() }
}
