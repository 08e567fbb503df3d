//! What was found in a file, and its two forms: text for people, one JSON object for programs.
//!
//! Every kind of file fills in the same [`Findings`]; damage is part of them and never an error.

use crate::output::text_table;
use serde_json::{Map, Value as Json, json};
use skep::annotate::{Annotation, render};

/// A table of figures: what `--blocks` shows.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// Names of the columns.
    pub(super) header: Vec<&'static str>,
    /// As many values a row.
    pub(super) rows: Vec<Vec<Json>>,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Which file, and what it is.
    pub(super) title: String,
    /// Name, value, and the value for people where it is to read differently.
    facts: Vec<(&'static str, Json, Option<String>)>,
    /// What is wrong with the file.
    pub(super) damage: Vec<String>,
    /// For `--blocks`.
    pub(super) blocks: Option<Grid>,
    /// For `--rows`: a line each.
    pub(super) rows: Option<Vec<String>>,
    /// Whether there are more rows than were asked for.
    pub(super) more_rows: bool,
    /// For `--hex`: the meaning of each byte.
    pub(super) annotations: Option<Vec<Annotation>>,
    /// The file's bytes, for `--hex`.
    pub(super) bytes: Vec<u8>,
}

impl Findings {
    /// Findings on a file, empty so far.
    pub(super) fn new(title: String) -> Self {
        Self { title, ..Self::default() }
    }

    /// Adds a fact.
    pub(super) fn fact(&mut self, name: &'static str, value: impl Into<Json>) {
        self.facts.push((name, value.into(), None));
    }

    /// Adds a fact that people read as `text`.
    pub(super) fn fact_as(&mut self, name: &'static str, value: impl Into<Json>, text: String) {
        self.facts.push((name, value.into(), Some(text)));
    }

    /// The text for people.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", self.title);
        let width = self.facts.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        for (name, value, text) in &self.facts {
            let text = text.clone().unwrap_or_else(|| plain(value));
            out.push_str(&format!("  {name:width$}  {text}\n"));
        }
        for damage in &self.damage {
            out.push_str(&format!("  DAMAGED: {damage}\n"));
        }
        if let Some(grid) = &self.blocks {
            let numbers = |i: &usize| grid.rows.iter().all(|row| row.get(*i).is_none_or(Json::is_number));
            let right: Vec<usize> = (0..grid.header.len()).filter(numbers).collect();
            let rows = grid.rows.iter().map(|row| row.iter().map(plain).collect()).collect();
            out.push_str(&text_table(&grid.header, &right, rows));
            out.push('\n');
        }
        for row in self.rows.iter().flatten() {
            out.push_str(row);
            out.push('\n');
        }
        if self.more_rows {
            out.push_str("... (more with --limit)\n");
        }
        if let Some(annotations) = &self.annotations {
            out.push_str(&render(annotations, &self.bytes, 0));
        }
        out
    }

    /// The same as JSON.
    pub(super) fn json(&self) -> Json {
        let mut object = Map::new();
        object.insert("what".into(), self.title.clone().into());
        for (name, value, _) in &self.facts {
            object.insert(name.replace(' ', "_"), value.clone());
        }
        object.insert("damage".into(), self.damage.clone().into());
        if let Some(grid) = &self.blocks {
            let row = |row: &Vec<Json>| {
                grid.header
                    .iter()
                    .map(|name| name.replace(' ', "_"))
                    .zip(row.iter().cloned())
                    .collect::<Map<_, _>>()
            };
            object.insert("blocks".into(), grid.rows.iter().map(row).collect());
        }
        if let Some(rows) = &self.rows {
            object.insert("rows".into(), rows.clone().into());
        }
        if let Some(annotations) = &self.annotations {
            let bytes =
                annotations.iter().map(|a| json!({"offset": a.offset, "length": a.len, "what": a.what}));
            object.insert("bytes".into(), bytes.collect());
        }
        Json::Object(object)
    }
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => "-".to_owned(),
        other => other.to_string(),
    }
}
