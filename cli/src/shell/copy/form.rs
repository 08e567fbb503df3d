//! The statements of COPY FROM: one that writes rows, and one for partitions that have static columns alone, which COPY TO writes with nulls in
//! the place of the clustering.

use crate::failure::{Failure, Outcome};
use skep::cql::syntax::print;
use skep::cql::{Bound, Prepared, Session};
use skep::{ColumnKind, TableSchema};

/// A statement, and the fields whose values are its bind markers'.
pub(super) struct Form {
    pub(super) statement: Prepared,
    /// For each marker, its field.
    pub(super) fields: Vec<usize>,
    /// The markers of the partition key.
    keys: Vec<usize>,
    /// The markers of static counters.
    static_counters: Vec<usize>,
    /// The partition that was written last.
    last: Vec<Bound>,
}

impl Form {
    /// Of the fields of a file, by number and column.
    ///
    /// # Errors
    /// If the statement cannot be prepared: a column of the key is missing.
    pub(super) fn new(
        session: &Session,
        schema: &TableSchema,
        fields: &[(usize, &str)],
        ttl: Option<i32>,
    ) -> Outcome<Self> {
        let kind = |name: &str| schema.column(name).map(|column| column.kind);
        let is_key =
            |name: &str| matches!(kind(name), Some(ColumnKind::PartitionKey | ColumnKind::Clustering(_)));
        let counts = schema.columns().iter().any(|column| column.ty.is_counter());
        // Counters stand before the key in their UPDATE.
        let mut fields = fields.to_vec();
        fields.sort_by_key(|(_, name)| counts && is_key(name));
        let table = format!("{}.{}", print::name(&schema.keyspace), print::name(&schema.name));
        let joined = |with: &str, text: &dyn Fn(String) -> String, test: &dyn Fn(&str) -> bool| {
            let names = fields.iter().map(|(_, name)| *name).filter(|name| test(name));
            names.map(|name| text(print::name(name))).collect::<Vec<_>>().join(with)
        };
        let text = match counts {
            true => format!(
                "UPDATE {table} SET {} WHERE {}",
                joined(", ", &|name| format!("{name} = {name} + ?"), &|name| !is_key(name)),
                joined(" AND ", &|name| format!("{name} = ?"), &is_key)
            ),
            false => format!(
                "INSERT INTO {table} ({}) VALUES ({}){}",
                joined(", ", &|name| name, &|_| true),
                joined(", ", &|_| "?".to_owned(), &|_| true),
                ttl.map_or_else(String::new, |ttl| format!(" USING TTL {ttl}"))
            ),
        };
        let statement = session.prepare(&text).map_err(|error| Failure::Script(error.render(&text)))?;
        let markers = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
            fields.iter().enumerate().filter(|(_, (_, name))| test(name)).map(|(marker, _)| marker).collect()
        };
        let keys = markers(&|name| kind(name) == Some(ColumnKind::PartitionKey));
        let static_counters = markers(&|name| counts && kind(name) == Some(ColumnKind::Static));
        let fields = fields.into_iter().map(|(field, _)| field).collect();
        Ok(Self { statement, fields, keys, static_counters, last: Vec::new() })
    }

    /// Leaves out the static counters of a partition that has had them: every row shows them, and they must be added once.
    pub(super) fn once(&mut self, binds: &mut [Bound]) {
        if self.static_counters.is_empty() {
            return;
        }
        let key: Vec<Bound> = self.keys.iter().filter_map(|marker| binds.get(*marker)).cloned().collect();
        if key == self.last {
            let statics = self.static_counters.iter();
            statics
                .for_each(|marker| binds.get_mut(*marker).into_iter().for_each(|bind| *bind = Bound::Unset));
        }
        self.last = key;
    }
}
