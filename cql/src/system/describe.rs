//! DESCRIBE of the system keyspaces: what can be asked of a running store.
//!
//! The tables are shown as Cassandra shows virtual ones: as a comment, since no statement makes them.

use crate::answer::Outcome;
use crate::error::{CqlError, Result};
use crate::schema::describe::{Described, listing, statements};
use crate::schema::properties::quote;
use crate::syntax::ast::{Describe, DescribeWhat, TableName};
use crate::system::definition::{Definition, Kind};
use crate::system::{is_system, tables};

/// DESCRIBE in a session's keyspace, if it is about a system keyspace.
///
/// # Errors
/// A table that is not there.
pub fn describe(session: &str, statement: &Describe) -> Result<Option<Outcome>> {
    Ok(match &statement.what {
        DescribeWhat::Tables if is_system(session) => {
            let row = |table: &Definition| (session.to_owned(), "table", table.name.to_owned());
            Some(listing(of(session).map(row).collect()))
        }
        DescribeWhat::Keyspace { name, only } => {
            let name = name.as_ref().map_or(session, |name| &name.text);
            is_system(name).then(|| statements(keyspace(name, *only)))
        }
        DescribeWhat::Any(thing) if thing.keyspace.is_none() && is_system(&thing.name.text) => {
            Some(statements(keyspace(&thing.name.text, false)))
        }
        DescribeWhat::Any(thing) | DescribeWhat::Table(thing) => table(session, thing)?,
        _ => None,
    })
}

/// The tables of a keyspace, by name.
fn of(keyspace: &str) -> impl Iterator<Item = &'static Definition> {
    tables().into_iter().filter(move |table| table.keyspace == keyspace)
}

fn table(session: &str, thing: &TableName) -> Result<Option<Outcome>> {
    let keyspace = thing.keyspace.as_ref().map_or(session, |name| &name.text);
    if !is_system(keyspace) {
        return Ok(None);
    }
    let label = &thing.name.text;
    let found = of(keyspace).find(|table| table.name == label).ok_or_else(|| {
        let names: Vec<_> = of(keyspace).map(|table| table.name).collect();
        CqlError::invalid(format!("Table '{label}' not found in keyspace '{keyspace}'"))
            .at(thing.name.place)
            .hint(format!("there is {}", names.join(", ")))
    })?;
    Ok(Some(statements(vec![Described::new(keyspace, "table", label, create(found))])))
}

fn keyspace(name: &str, only: bool) -> Vec<Described> {
    let text = format!(
        "/*\nWarning: Keyspace {name} is a virtual keyspace and cannot be recreated with CQL.\nStructure, for reference:\n\
         VIRTUAL KEYSPACE {name};\n*/"
    );
    let mut all = vec![Described::new(name, "keyspace", name, text)];
    if !only {
        all.extend(of(name).map(|table| Described::new(name, "table", table.name, create(table))));
    }
    all
}

fn create(table: &Definition) -> String {
    let key = |kind: Kind| -> Vec<&str> {
        table.columns.iter().filter(|(_, _, of)| *of == kind).map(|(name, ..)| *name).collect()
    };
    let (partition, clustering) = (key(Kind::Partition), key(Kind::Clustering));
    let mut lines: Vec<String> =
        table.columns.iter().map(|(name, ty, _)| format!("    {name} {ty}")).collect();
    let partition = match partition.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("({})", several.join(", ")),
    };
    let columns: Vec<&str> = std::iter::once(partition.as_str()).chain(clustering).collect();
    lines.push(format!("    PRIMARY KEY ({})", columns.join(", ")));
    format!(
        "/*\nWarning: Table {0}.{1} is a virtual table and cannot be recreated with CQL.\nStructure, for reference:\n\
         VIRTUAL TABLE {0}.{1} (\n{2}\n) WITH comment = {3};\n*/",
        table.keyspace,
        table.name,
        lines.join(",\n"),
        quote(table.comment)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{ast::Statement, parse};
    use skep_engine::model::bytes::Bytes;

    fn last_column(session: &str, text: &str) -> Result<Option<Vec<String>>> {
        let Statement::Describe(statement) = parse(text)?.statement else { panic!("{text}") };
        let last = |row: Vec<Option<Bytes>>| {
            String::from_utf8(row.last().unwrap().as_ref().unwrap().to_vec()).unwrap()
        };
        Ok(describe(session, &statement)?.map(|outcome| match outcome {
            Outcome::Rows(set) => set.rows.into_iter().map(last).collect(),
            other => panic!("{other:?}"),
        }))
    }

    #[test]
    fn system_keyspaces_are_described_and_others_are_left_alone() {
        let names: Vec<_> = of("system_views").map(|table| table.name.to_owned()).collect();
        assert_eq!(last_column("system_views", "DESCRIBE TABLES").unwrap(), Some(names.clone()));
        assert_eq!(last_column("main", "DESCRIBE TABLES").unwrap(), None);
        assert_eq!(last_column("main", "DESCRIBE TABLE t").unwrap(), None);
        let all = last_column("main", "DESCRIBE KEYSPACE system_views").unwrap().unwrap();
        assert_eq!(all.len(), 1 + names.len());
        assert_eq!(last_column("main", "DESCRIBE system_views").unwrap().unwrap(), all);
        let settings = last_column("system_views", "DESCRIBE settings").unwrap().unwrap();
        assert!(
            settings[0].contains("VIRTUAL TABLE system_views.settings (\n    name text,"),
            "{settings:?}"
        );
        let error = last_column("main", "DESCRIBE TABLE system.nosuch").unwrap_err();
        assert!(error.hint_text().unwrap().contains("local"));
    }
}
