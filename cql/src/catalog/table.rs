//! What is known of a table: its definition in the engine, and what CQL adds to that.

use crate::catalog::names;
use crate::catalog::types;
use crate::error::{CqlError, Result};
use crate::syntax::ast::{CreateView, Expr, IndexPart, Relation};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::schema::Column;
use skep_engine::{Table, TableSchema, Uuid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table, view included, at one moment of the schema. A change makes a new one.
#[derive(Clone, Debug)]
pub struct TableInfo {
    /// The engine's table, to write to and to read from.
    pub table: Table,
    /// Its definition at that moment.
    pub schema: Arc<TableSchema>,
    /// Its indexes by name.
    pub indexes: Vec<Arc<IndexDef>>,
    /// The names of the views over it, sorted; they are in its keyspace.
    pub views: Vec<String>,
    /// What makes it a view, if it is one.
    pub view: Option<Arc<ViewDef>>,
    /// Of a view: which of its partition-key columns are clustering columns of the base, whose values stand there in their one form.
    pub in_one_form: Vec<bool>,
    /// The masks of its columns: the call as written, `mask_inner(1, 2)`.
    pub masks: BTreeMap<String, Expr>,
    /// Its number in Cassandra's system tables and protocol.
    pub uuid: Uuid,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// Its name, unique in the keyspace.
    pub name: String,
    /// What it can answer.
    pub kind: IndexKind,
    /// The column, by its present name.
    pub column: String,
    /// What of the column: `Values` for a collection unless another part was named, `Simple` for other types.
    pub part: IndexPart,
    /// Whether it was made as CUSTOM INDEX.
    pub custom: bool,
    /// The class behind USING, as written.
    pub class: Option<String>,
    /// OPTIONS, as written.
    pub options: BTreeMap<String, String>,
}

impl IndexDef {
    /// Whether it takes texts for equal that differ in case: a storage-attached one with the option `case_sensitive` false.
    #[must_use]
    pub fn folds(&self) -> bool {
        let given = self.options.get("case_sensitive");
        self.kind == IndexKind::Sai && given.is_some_and(|given| given.eq_ignore_ascii_case("false"))
    }

    /// A value, or an element, as the index compares it.
    #[must_use]
    pub fn folded(&self, value: &Bytes) -> Bytes {
        match std::str::from_utf8(value) {
            // Character by character, as Java does it.
            Ok(text) if self.folds() => {
                let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
                Bytes::new(text.chars().map(lower).collect::<String>().as_bytes())
            }
            _ => value.clone(),
        }
    }
}

/// What an index can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Cassandra's first kind (`legacy_local_table`): equality.
    Legacy,
    /// Storage-attached (`sai`): equality, ranges, several indexes in one query, nearest vectors.
    Sai,
}

/// A materialized view.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDef {
    /// The table that it is over, in the same keyspace.
    pub base: String,
    /// Whether it has all columns of the base, later added ones too (`SELECT *`).
    pub all_columns: bool,
    /// WHERE.
    pub relations: Vec<Relation>,
    /// The statement that makes it, by the present names of the columns.
    pub statement: CreateView,
}

impl TableInfo {
    /// Keyspace.
    #[must_use]
    pub fn keyspace(&self) -> &str {
        &self.schema.keyspace
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// `keyspace.table`, quoted where needed.
    #[must_use]
    pub fn full_name(&self) -> String {
        names::full(self.keyspace(), self.name())
    }

    /// Whether its columns beside the key are counters.
    #[must_use]
    pub fn is_counter(&self) -> bool {
        let columns = self.schema.statics().iter().chain(self.schema.regulars());
        columns.into_iter().any(|column| column.ty.is_counter())
    }

    /// Whether it is a materialized view.
    #[must_use]
    pub fn is_view(&self) -> bool {
        self.view.is_some()
    }

    /// A column by its name.
    ///
    /// # Errors
    /// `Undefined column name x in table ks.t`.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.schema.column(name).ok_or_else(|| {
            let all: Vec<_> = self.schema.declared().map(|column| types::name(&column.name)).collect();
            CqlError::invalid(format!(
                "Undefined column name {} in table {}",
                types::name(name),
                self.full_name()
            ))
            .hint(format!("the columns are {}", all.join(", ")))
        })
    }

    /// The indexes on a column.
    pub fn indexes_on<'a>(&'a self, column: &'a str) -> impl Iterator<Item = &'a Arc<IndexDef>> {
        self.indexes.iter().filter(move |index| index.column == column)
    }
}
