//! Tokens and clustering order against answers recorded from Cassandra (`golden/language`).
//!
//! Nothing of the query language is used: the statements in the recordings are taken apart just enough to rebuild each key from
//! its literals, through text, bytes, composite and token, or byte-comparable components.

use std::collections::HashMap;
use std::sync::Arc;

use skep_engine::encoding::order::encode_component;
use skep_engine::model::codec::to_bytes;
use skep_engine::model::composite;
use skep_engine::model::text_parse::parse_text;
use skep_engine::model::token::Token;
use skep_engine::model::types::{CqlType, UdtType};
use skep_engine::model::value::Value;

#[test]
fn tokens_are_cassandras() {
    let golden = Golden::read(include_str!("../golden/language/token-function.golden"));
    let mut checked = 0;
    for (table, columns, answers) in &golden.selects {
        if columns.first().map(String::as_str) != Some("n")
            || !columns.iter().any(|column| column.starts_with("token("))
        {
            continue;
        }
        let table = &golden.tables[table];
        for answer in answers {
            let row = &table.rows[answer.first().unwrap()];
            let parts: Vec<_> = table.partition.iter().map(|column| row[column].clone()).collect();
            let mut key = Vec::new();
            match &parts[..] {
                [only] => key.clone_from(only),
                several => composite::encode(several.iter().map(Vec::as_slice), &mut key).unwrap(),
            }
            assert_eq!(
                Token::of(&key).to_string(),
                *answer.last().unwrap(),
                "{key:02x?} of {:?}",
                table.types
            );
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} tokens were found");
}

#[test]
fn clustering_order_is_cassandras() {
    let golden = Golden::read(include_str!("../golden/language/ordering-of-types.golden"));
    let mut checked = 0;
    for (table, columns, answers) in &golden.selects {
        let Some(table) =
            golden.tables.get(table).filter(|table| table.complete && columns[..] == ["n", "c"])
        else {
            continue;
        };
        let ordered: Vec<_> = answers.iter().map(|answer| table.component(answer.first().unwrap())).collect();
        assert_eq!(ordered.len(), table.rows.len());
        assert!(ordered.is_sorted_by(|left, right| left < right), "{:?}", table.types);
        checked += ordered.len();
    }
    assert!(checked > 150, "only {checked} values were found");
}

/// A recording, taken apart.
#[derive(Default)]
struct Golden {
    types: HashMap<String, Arc<UdtType>>,
    tables: HashMap<String, Table>,
    /// Plain `SELECT ... FROM table [WHERE k = 1]`: table, selected columns, fields of each row as text.
    selects: Vec<(String, Vec<String>, Vec<Vec<String>>)>,
}

#[derive(Default)]
struct Table {
    types: Vec<(String, CqlType)>,
    partition: Vec<String>,
    clustering: Vec<String>,
    descending: Vec<String>,
    /// By the text of column `n`: the bytes of each column.
    rows: HashMap<String, HashMap<String, Vec<u8>>>,
    /// Whether every row that was inserted could be read.
    complete: bool,
}

impl Table {
    fn component(&self, row: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for column in &self.clustering {
            let (_, ty) = self.types.iter().find(|(name, _)| name == column).unwrap();
            encode_component(&self.rows[row][column], ty, self.descending.contains(column), &mut out)
                .unwrap();
        }
        out
    }
}

impl Golden {
    fn read(text: &str) -> Self {
        let mut golden = Self::default();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let statement = line.trim_start_matches(['>', ' ']);
            if let Some(create) = statement.strip_prefix("CREATE TYPE ") {
                golden.create_type(create);
            } else if let Some(create) = statement.strip_prefix("CREATE TABLE ") {
                golden.create_table(create);
            } else if let Some(insert) = statement.strip_prefix("INSERT INTO ") {
                golden.insert(insert);
            } else if let Some((columns, from)) =
                statement.strip_prefix("SELECT ").and_then(|s| s.split_once(" FROM "))
            {
                let table = from.strip_suffix(" WHERE k = 1").unwrap_or(from).to_owned();
                lines.next();
                let mut answers = Vec::new();
                while let Some(row) = lines.next_if(|line| !line.is_empty() && !line.starts_with('(')) {
                    answers.push(row.split(" | ").map(str::to_owned).collect());
                }
                golden.selects.push((table, split(columns), answers));
            }
        }
        golden
    }

    fn parse(&self, ty: &str) -> CqlType {
        CqlType::parse(ty, &|_, name| self.types.get(name).cloned()).unwrap()
    }

    fn create_type(&mut self, create: &str) {
        let (name, fields) = create.split_once(" (").unwrap();
        let fields = split(fields.strip_suffix(')').unwrap());
        let fields = fields.iter().map(|field| field.split_once(' ').unwrap());
        let fields = fields.map(|(name, ty)| (name.to_owned(), self.parse(ty))).collect();
        let udt = UdtType { keyspace: "golden".into(), name: name.into(), fields };
        self.types.insert(name.to_owned(), Arc::new(udt));
    }

    fn create_table(&mut self, create: &str) {
        let (create, order) = create.split_once(" WITH CLUSTERING ORDER BY ").unwrap_or((create, "()"));
        let (name, columns) = create.split_once(" (").unwrap();
        let mut table = Table { complete: true, ..Table::default() };
        for column in split(columns.strip_suffix(')').unwrap()) {
            if let Some(key) = column.strip_prefix("PRIMARY KEY (") {
                let mut key = split(key.strip_suffix(')').unwrap());
                table.partition = split(key.remove(0).trim_matches(['(', ')']));
                table.clustering = key;
                continue;
            }
            let (name, ty) = column.split_once(' ').unwrap();
            if let Some(ty) = ty.strip_suffix(" PRIMARY KEY") {
                table.partition.push(name.to_owned());
                table.types.push((name.to_owned(), self.parse(ty)));
            } else {
                table.types.push((name.to_owned(), self.parse(ty)));
            }
        }
        let order = split(order.trim_matches(['(', ')']));
        table.descending =
            order.iter().filter_map(|column| column.strip_suffix(" DESC")).map(str::to_owned).collect();
        self.tables.insert(name.to_owned(), table);
    }

    fn insert(&mut self, insert: &str) {
        let (target, values) = insert.split_once(" VALUES ").unwrap();
        let (name, columns) = target.split_once(" (").unwrap();
        let table = self.tables.get_mut(name).unwrap();
        let columns = split(columns.strip_suffix(')').unwrap());
        let types: Vec<_> = columns
            .iter()
            .map(|column| table.types.iter().find(|(name, _)| name == column).unwrap().1.clone())
            .collect();
        // An empty value's only literal outside of text is a function of an empty blob.
        let values = values.replace("blobAsInt(0x)", "''").replace("blobAsTimestamp(0x)", "''");
        let Ok(Value::Tuple(values)) = parse_text(&values, &CqlType::Tuple(types.clone())) else {
            table.complete = false;
            return;
        };
        let bytes =
            values.iter().zip(&types).map(|(value, ty)| to_bytes(value.as_ref().unwrap(), ty).unwrap());
        let row: HashMap<_, _> = columns.iter().cloned().zip(bytes).collect();
        let n = columns.iter().position(|column| column == "n").unwrap();
        table.rows.insert(values[n].as_ref().unwrap().to_string(), row);
    }
}

/// Splits at commas outside of brackets.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in list.chars() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}
