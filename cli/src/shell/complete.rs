//! Completion at the prompt: keywords, and the names of keyspaces, tables, columns, types, indexes that the store has now.

use crate::shell::command::WORDS;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use skep::Db;
use skep::cql::syntax::print;
use skep::cql::system;
use std::collections::BTreeSet;

/// Words of CQL that are worth completing.
const KEYWORDS: [&str; 92] = [
    "ADD",
    "AGGREGATE",
    "ALLOW FILTERING",
    "ALTER",
    "AND",
    "APPLY BATCH",
    "AS",
    "ASC",
    "ASCII",
    "BEGIN BATCH",
    "BIGINT",
    "BLOB",
    "BOOLEAN",
    "BY",
    "CAST",
    "CLUSTERING ORDER BY",
    "COMPACTION",
    "CONTAINS",
    "CONTAINS KEY",
    "COUNTER",
    "CREATE",
    "CUSTOM",
    "DATE",
    "DECIMAL",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "DURATION",
    "ENTRIES",
    "EXISTS",
    "EXPLAIN",
    "EXPLAIN VALUE",
    "FALSE",
    "FLOAT",
    "FROM",
    "FROZEN",
    "FULL",
    "GROUP BY",
    "IF EXISTS",
    "IF NOT EXISTS",
    "IN",
    "INDEX",
    "INET",
    "INSERT INTO",
    "INT",
    "IS NOT NULL",
    "JSON",
    "KEYS",
    "KEYSPACE",
    "LIMIT",
    "LIST",
    "LOGGED",
    "MAP",
    "MATERIALIZED VIEW",
    "NULL",
    "ON",
    "ORDER BY",
    "PER PARTITION LIMIT",
    "PRIMARY KEY",
    "RENAME",
    "REPLICATION",
    "SELECT",
    "SET",
    "SMALLINT",
    "STATIC",
    "TABLE",
    "TEXT",
    "TIME",
    "TIMESTAMP",
    "TIMEUUID",
    "TINYINT",
    "TO",
    "TOKEN",
    "TRUE",
    "TRUNCATE",
    "TTL",
    "TUPLE",
    "TYPE",
    "UNLOGGED",
    "UPDATE",
    "USE",
    "USING",
    "UUID",
    "VALUES",
    "VARINT",
    "VECTOR",
    "WHERE",
    "WITH",
];

/// Completes words.
pub(super) struct Names {
    db: Db,
}

impl Names {
    /// Of a store.
    pub(super) fn new(db: &Db) -> Self {
        Self { db: db.clone() }
    }

    /// What the word that ends at `position` may become; where the word begins.
    pub(super) fn candidates(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = line.get(..position).unwrap_or(line);
        let start = before
            .char_indices()
            .rev()
            .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '.' | '"'))
            .last()
            .map_or(before.len(), |(i, _)| i);
        let word = &before[start..];
        let mut found = BTreeSet::new();
        if let Some((keyspace, part)) = word.split_once('.') {
            let tables = self.db.tables();
            let names = tables
                .iter()
                .map(|table| table.schema())
                .filter(|schema| schema.keyspace == keyspace.trim_matches('"'));
            for schema in names.filter(|schema| starts(&schema.name, part) && is_visible(&schema.name)) {
                found.insert(format!("{keyspace}.{}", print::name(&schema.name)));
            }
            let system = system::tables().into_iter().filter(|table| table.keyspace == keyspace);
            found.extend(
                system
                    .filter(|table| starts(table.name, part))
                    .map(|table| format!("{keyspace}.{}", table.name)),
            );
            return (start, found.into_iter().collect());
        }
        let words = if before[..start].trim().is_empty() { &WORDS[..] } else { &[] };
        found.extend(
            KEYWORDS.iter().chain(words).filter(|keyword| starts(keyword, word)).map(|k| (*k).to_owned()),
        );
        if !word.is_empty() || !before.trim().is_empty() {
            let mut add = |name: &str| {
                if starts(name, word) {
                    found.insert(print::name(name));
                }
            };
            self.db.keyspaces().iter().for_each(|name| add(name));
            system::KEYSPACES.iter().for_each(|name| add(name));
            for table in self.db.tables() {
                let schema = table.schema();
                if !is_visible(&schema.name) {
                    continue;
                }
                add(&schema.name);
                schema.columns().iter().for_each(|column| add(&column.name));
            }
            for keyspace in self.db.keyspaces() {
                self.db.types(&keyspace).iter().for_each(|ty| add(&ty.name));
            }
        }
        (start, found.into_iter().collect())
    }
}

/// Whether a table is one that statements can name: those behind indexes are not.
fn is_visible(name: &str) -> bool {
    !name.contains('#')
}

fn starts(name: &str, word: &str) -> bool {
    let word = word.trim_start_matches('"');
    name.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = self.candidates(line, position);
        Ok((start, words.into_iter().map(|word| Pair { display: word.clone(), replacement: word }).collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;
    use skep::{CqlType, Schema};

    #[test]
    fn keywords_commands_and_names_are_offered_where_they_fit() {
        let dir = std::env::temp_dir().join(format!("skep-complete-{}", std::process::id()));
        let db = Db::open(&dir).unwrap();
        db.create_table(
            Schema::table("readings").partition_key("sensor", CqlType::Text).column("Odd", CqlType::Int),
        )
        .unwrap();
        let names = Names::new(&db);
        let of = |line: &str| names.candidates(line, line.len());
        assert_eq!(of("sel"), (0, vec!["SELECT".to_owned()]));
        assert!(of("exp").1.contains(&"EXPAND".to_owned()));
        assert!(!of("SELECT exp").1.contains(&"EXPAND".to_owned()), "commands stand at the beginning");
        assert_eq!(of("SELECT * FROM main.re"), (14, vec!["main.readings".to_owned()]));
        assert_eq!(of("SELECT * FROM system_views.sstabl").1.len(), 2, "sstables, sstable_tasks");
        assert!(of("SELECT sen").1.contains(&"sensor".to_owned()));
        assert!(of("SELECT od").1.contains(&"\"Odd\"".to_owned()), "quoted where CQL needs it");
        drop(names);
        db.close().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
