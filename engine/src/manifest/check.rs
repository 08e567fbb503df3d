//! What must hold in every version, each rule by name.
//!
//! [`Version::apply`] keeps these rules edit by edit; this module states them once more over the whole, for `verify`, for
//! the tests, and for a manifest that was just loaded.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::manifest::version::Version;

/// A rule that a version breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule, one of [`RULES`].
    pub rule: &'static str,
    /// Where and how it is broken.
    pub detail: String,
}

type Rule = fn(&Version) -> Option<String>;

/// The rules: name, what it says, and the test that returns how it is broken.
pub const RULES: [(&str, &str, Rule); 6] = [
    ("known-keyspaces", "tables and types live in keyspaces that exist", known_keyspaces),
    ("unique-names", "no two tables of a keyspace share a name", unique_names),
    ("unique-files", "a file number is live once in the whole store", unique_files),
    ("files-of-known-tables", "a file stands under its own number in its own table", files_at_home),
    ("ordered-ranges", "a file's first partition is not after its last", ordered_ranges),
    ("next-ids-above", "the next numbers are above all used ones", next_ids_above),
];

/// Every rule that `version` breaks, in the order of [`RULES`].
pub fn violations(version: &Version) -> Vec<Violation> {
    let broken = |&(rule, _, test): &(&'static str, &str, Rule)| {
        test(version).map(|detail| Violation { rule, detail })
    };
    RULES.iter().filter_map(broken).collect()
}

/// All rules as one result.
///
/// # Errors
/// `Corrupt` with the name of the first broken rule and the detail.
pub fn check(version: &Version) -> Result<()> {
    match violations(version).into_iter().next() {
        None => Ok(()),
        Some(Violation { rule, detail }) => Err(Error::malformed(format!("rule {rule} is broken: {detail}"))),
    }
}

fn known_keyspaces(version: &Version) -> Option<String> {
    let tables = version.tables.values().map(|table| (&table.schema.keyspace, &table.schema.name));
    let types = version.types.values().map(|udt| (&udt.keyspace, &udt.name));
    let mut all = tables.chain(types);
    let (keyspace, name) = all.find(|(keyspace, _)| !version.keyspaces.contains_key(*keyspace))?;
    Some(format!("{keyspace}.{name} is in no known keyspace"))
}

fn unique_names(version: &Version) -> Option<String> {
    let mut seen = BTreeMap::new();
    version.tables.iter().find_map(|(id, table)| {
        let other = seen.insert((&table.schema.keyspace, &table.schema.name), id)?;
        Some(format!("tables {} and {} are both {}", other.0, id.0, table.schema.full_name()))
    })
}

fn unique_files(version: &Version) -> Option<String> {
    let mut seen = BTreeMap::new();
    version.tables.iter().flat_map(|(id, table)| table.files.keys().map(move |file| (id, file))).find_map(
        |(id, file)| {
            let other = seen.insert(file, id)?;
            Some(format!("file {file} is in tables {} and {}", other.0, id.0))
        },
    )
}

fn files_at_home(version: &Version) -> Option<String> {
    version.tables.iter().find_map(|(id, table)| {
        if table.schema.id != *id {
            return Some(format!("table {} stands under number {}", table.schema.id.0, id.0));
        }
        let (file, meta) = table.files.iter().find(|(file, meta)| meta.table != *id || meta.id != **file)?;
        Some(format!("file {} of table {} stands under file {file} of table {}", meta.id, meta.table.0, id.0))
    })
}

fn ordered_ranges(version: &Version) -> Option<String> {
    let mut files = version.tables.values().flat_map(|table| table.files.values());
    files.find(|meta| meta.first > meta.last).map(|meta| format!("file {}", meta.id))
}

fn next_ids_above(version: &Version) -> Option<String> {
    let next = version.next;
    version.tables.iter().find_map(|(id, table)| {
        if id.0 >= next.table {
            return Some(format!("table {} is used, the next is {}", id.0, next.table));
        }
        if let Some(file) = table.files.keys().next_back().filter(|file| file.0 >= next.file) {
            return Some(format!("file {file} is used, the next is {}", next.file));
        }
        let segment = table.flushed.segment;
        (segment >= next.segment)
            .then(|| format!("log segment {segment} is used, the next is {}", next.segment))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::edit::NextIds;
    use crate::manifest::edit::tests::{add, file, table};
    use crate::model::position::LogPosition;
    use crate::model::schema::TableId;
    use crate::sstable::meta::FileId;
    use std::sync::Arc;

    fn sound() -> Version {
        let mut version = Version::default();
        for edit in [table(1, "ks", "a"), table(2, "ks", "b")].concat() {
            version.apply(&edit).unwrap();
        }
        version.apply(&add(1, 5)).unwrap();
        version
    }

    fn broken(change: impl FnOnce(&mut Version)) -> Vec<&'static str> {
        let mut version = sound();
        change(&mut version);
        assert_eq!(check(&version).is_err(), !violations(&version).is_empty());
        violations(&version).into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn every_rule_is_found_broken_by_its_name() {
        let at = |v: &mut Version, id: u32, meta| {
            Arc::make_mut(v.tables.get_mut(&TableId(id)).unwrap()).files.insert(FileId(5), meta);
        };
        assert!(broken(|_| ()).is_empty());
        assert_eq!(broken(|v| v.keyspaces.clear()), ["known-keyspaces"]);
        assert_eq!(broken(|v| at(v, 2, Arc::new(file(2, 5)))), ["unique-files"]);
        assert_eq!(broken(|v| at(v, 1, Arc::new(file(1, 4)))), ["files-of-known-tables"]);
        assert_eq!(broken(|v| v.next = NextIds { file: 5, ..v.next }), ["next-ids-above"]);
        assert_eq!(broken(|v| v.next = NextIds { table: 2, ..v.next }), ["next-ids-above"]);
        assert_eq!(
            broken(|v| {
                let entry = v.tables.get_mut(&TableId(1)).unwrap();
                Arc::make_mut(entry).flushed = LogPosition { segment: 9, offset: 0 };
            }),
            ["next-ids-above"]
        );
        assert_eq!(
            broken(|v| {
                let mut meta = file(1, 5);
                std::mem::swap(&mut meta.first, &mut meta.last);
                at(v, 1, Arc::new(meta));
            }),
            ["ordered-ranges"]
        );
        assert_eq!(
            broken(|v| {
                let schema = Arc::clone(&v.tables[&TableId(1)].schema);
                let mut twin = (*schema).clone();
                twin.id = TableId(2);
                Arc::make_mut(v.tables.get_mut(&TableId(2)).unwrap()).schema = Arc::new(twin);
            }),
            ["unique-names"]
        );
    }
}
