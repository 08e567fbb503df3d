//! EXPLAIN VALUE: every version of a row's values (or of one column's) that any memtable or file holds, and which rule decided about it.
//!
//! ```text
//! EXPLAIN VALUE FROM t WHERE k = 1 AND c = 2       the row
//! EXPLAIN VALUE v FROM t WHERE k = 1 AND c = 2     one column, with the deletions that may hide it
//! EXPLAIN VALUE FROM t WHERE k = 1                 the partition's static row
//! ```

use crate::answer::{ResultSet, Run};
use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::explain::columns;
use crate::explain::version::Line;
use crate::function::CallContext;
use crate::restrict::relation::column_place;
use crate::restrict::{Extent, Kind, Partitions, Rules, Where};
use crate::story::ruled_out;
use crate::syntax::ast::{Name, Relation};
use crate::term::{EvalContext, Preparing};
use crate::value::{ColumnSpec, Wire};
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::Clustering;
use skep_engine::model::schema::Column;
use skep_engine::read::explain::SourceName;
use skep_engine::read::why::verdicts;
use skep_engine::{ColumnKind, CqlType, TableSnapshot};
use std::sync::Arc;

/// What is told of a row of which nothing is stored.
pub const NOTHING: &str = "no memtable and no file has anything about this row: it was never written, or a compaction has purged it";

/// Everything about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its versions: parts in order, the strongest version of each first.
    pub lines: Vec<Line>,
    /// The memtables and files that say nothing about it, and why.
    pub silent: Vec<(SourceName, String)>,
}

/// Everything about the row of the partition `key` (serialised) at `clustering` (of all columns), or about the partition's static row; of
/// `column` alone if there is one, with the deletions that may hide it.
///
/// # Errors
/// `Corrupt` or `Io` from files.
pub fn about(
    snapshot: &TableSnapshot,
    key: &[u8],
    clustering: Option<&Clustering>,
    column: Option<&Column>,
) -> Result<About> {
    // Static columns belong to the partition, whatever row was named.
    let is_static = column.is_some_and(|column| column.kind == ColumnKind::Static);
    let candidates = snapshot.candidates(key, clustering.filter(|_| !is_static))?;
    let (schema, now) = (snapshot.schema(), snapshot.now());
    let versions = verdicts(&candidates, schema, now).into_iter();
    let wanted = versions.filter(|version| match (column, version.part.column()) {
        (Some(wanted), Some(of)) => wanted.id == of,
        _ => true,
    });
    let silent = candidates.iter().filter(|candidate| candidate.is_silent()).map(|candidate| {
        let why = match candidate.ruled_out {
            Some(reason) => ruled_out(reason),
            None => "read, says nothing about it".to_owned(),
        };
        (candidate.source, why)
    });
    Ok(About {
        lines: wanted.map(|version| Line::new(&version, schema)).collect::<Result<_>>()?,
        silent: silent.collect(),
    })
}

/// A prepared EXPLAIN VALUE.
#[derive(Debug)]
pub struct ExplainValue {
    table: Arc<TableInfo>,
    restrictions: Where,
    column: Option<Column>,
}

impl ExplainValue {
    /// Holds the statement against its table.
    ///
    /// # Errors
    /// `Invalid` for a column that is not there, and unless WHERE names one row (or, for static columns, one partition).
    pub fn prepare(
        column: Option<&Name>,
        table: &Arc<TableInfo>,
        relations: &[Relation],
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        let place = column.map(|name| column_place(table, name)).transpose()?;
        let column = place.and_then(|place| table.schema.columns().get(place)).cloned();
        let is_key =
            |column: &&Column| matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_));
        if let Some(key) = column.as_ref().filter(is_key) {
            let text = format!("{} is a part of the primary key, which has no versions", key.name);
            return Err(CqlError::invalid(text).hint("leave the column out to see the whole row"));
        }
        let rules = Rules { kind: Kind::Select, statics_only: false, allow_filtering: true };
        let restrictions = Where::prepare(cx, table, relations, rules)?;
        let made = Self { table: Arc::clone(table), restrictions, column };
        if made.restrictions.is_key_range() || made.restrictions.needs_filter() {
            return Err(made.not_one_row());
        }
        match made.restrictions.extent() {
            Extent::Rows => Ok(made),
            Extent::Partitions if made.is_of_partition() => Ok(made),
            Extent::Partitions | Extent::Ranges => Err(made.not_one_row()),
        }
    }

    /// Whether the partition's static row is meant where no clustering is named.
    fn is_of_partition(&self) -> bool {
        match &self.column {
            Some(column) => column.kind == ColumnKind::Static,
            None => !self.table.schema.statics().is_empty(),
        }
    }

    fn not_one_row(&self) -> CqlError {
        let schema = &self.table.schema;
        let keys = schema.partition_key().iter().chain(schema.clustering());
        let conditions: Vec<String> = keys.map(|column| format!("{} = ...", column.name)).collect();
        CqlError::invalid("EXPLAIN VALUE is about one row: WHERE must give its whole primary key")
            .hint(format!("WHERE {}", conditions.join(" AND ")))
    }

    /// The columns of the answer.
    #[must_use]
    pub fn columns(&self) -> Arc<[ColumnSpec]> {
        let named = [
            ("what", CqlType::Text),
            ("value", CqlType::Text),
            ("written", CqlType::Bigint),
            ("ttl", CqlType::Int),
            ("expires_or_made", CqlType::Timestamp),
            ("source", CqlType::Text),
            ("verdict", CqlType::Text),
        ];
        columns(self.table.keyspace(), self.table.name(), &named)
    }

    /// Runs it.
    ///
    /// # Errors
    /// For values that do not fit, for IN with several of them, and what the store fails with.
    pub fn run(&self, run: &mut Run<'_>) -> Result<ResultSet> {
        let cx = EvalContext { binds: run.binds, call: CallContext { now_micros: run.now_micros } };
        let Partitions::Keys(keys) = self.restrictions.partitions(&cx)? else {
            return Err(self.not_one_row());
        };
        let rows = match self.restrictions.extent() {
            Extent::Rows => self.restrictions.clusterings(&cx)?.into_iter().map(Some).collect(),
            _ => vec![None],
        };
        let ([key], [clustering]) = (keys.as_slice(), rows.as_slice()) else {
            return Err(self.not_one_row());
        };
        let snapshot = self.table.table.snapshot();
        let about = about(&snapshot, &key.key, clustering.as_ref(), self.column.as_ref())?;
        let text = |text: &str| -> Wire { Some(Bytes::new(text.as_bytes())) };
        let mut rows: Vec<Vec<Wire>> = Vec::with_capacity(about.lines.len() + about.silent.len() + 1);
        for line in &about.lines {
            rows.push(vec![
                text(&line.what),
                line.value_or_word().and_then(text),
                Some(Bytes::new(&line.written.to_be_bytes())),
                line.ttl.map(|ttl| Bytes::new(&ttl.to_be_bytes())),
                line.local.map(|second| Bytes::new(&second.saturating_mul(1000).to_be_bytes())),
                text(&line.source.to_string()),
                text(&line.verdict),
            ]);
        }
        let remark = |source: Wire, verdict: &str| vec![None, None, None, None, None, source, text(verdict)];
        if about.lines.is_empty() {
            rows.push(remark(None, NOTHING));
        }
        rows.extend(about.silent.iter().map(|(source, why)| remark(text(&source.to_string()), why)));
        Ok(ResultSet { columns: self.columns(), rows, paging_state: None })
    }
}
