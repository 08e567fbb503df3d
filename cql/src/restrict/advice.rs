//! What helps where a WHERE does not name rows by their key: the hints of the errors that newcomers meet first.
//!
//! The messages are Cassandra's, the hints what the usual guides to data modelling recommend: give the whole partition key, restrict clustering
//! columns from the left, keep a table for a question that is asked often.

use crate::error::CqlError;
use crate::restrict::restriction::{Restriction, names};
use crate::restrict::{Kind, Where};

impl Where {
    /// What ALLOW FILTERING is demanded with.
    pub(crate) fn filtering_needed(&self) -> CqlError {
        let error = CqlError::invalid(
            "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. If you \
             want to execute this query despite the performance unpredictability, use ALLOW FILTERING",
        );
        error.hint(self.filtering_advice())
    }

    fn filtering_advice(&self) -> String {
        let schema = &self.table.schema;
        let key: Vec<usize> = (0..schema.partition_key().len()).collect();
        let named = |place: &usize| self.keys.iter().any(|restriction| restriction.columns.contains(place));
        let missing: Vec<usize> = key.iter().copied().filter(|place| !named(place)).collect();
        let columns = names(schema, &key);
        let rest: Vec<usize> = self
            .clustering
            .iter()
            .chain(&self.others)
            .flat_map(|restriction| restriction.columns.iter().copied())
            .collect();
        let rest = names(schema, &rest);
        if self.keys.is_empty() {
            return format!(
                "without the partition key ({columns}) all partitions are read: for a question that is asked often keep a table with {rest} in \
                 its key, or CREATE INDEX"
            );
        }
        if !missing.is_empty() {
            let missing = names(schema, &missing);
            return format!(
                "the partition key is ({columns}) and {missing} is missing: give all of it, or all partitions are read"
            );
        }
        if self.keys.iter().any(Restriction::is_slice) {
            return format!("partitions are found by = or IN on ({columns}), they have no order");
        }
        format!(
            "{rest} is not in the key: rows of the partition are read and left out again, which ALLOW FILTERING permits; CREATE INDEX helps if \
             they are many"
        )
    }

    /// That a write names its row.
    pub(crate) fn whole_key(&self, kind: Kind) -> String {
        let schema = &self.table.schema;
        let (parts, all) =
            (schema.partition_key().len(), schema.partition_key().len() + schema.clustering().len());
        match kind {
            Kind::Delete => format!(
                "a DELETE names the partition, by all of ({})",
                names(schema, &(0..parts).collect::<Vec<_>>())
            ),
            _ => format!(
                "an {kind} names its row by the whole primary key ({})",
                names(schema, &(0..all).collect::<Vec<_>>())
            ),
        }
    }

    /// The order in which clustering columns can be restricted.
    pub(crate) fn order_of_rows(&self) -> String {
        let schema = &self.table.schema;
        let parts = schema.partition_key().len();
        let all: Vec<usize> = (parts..parts + schema.clustering().len()).collect();
        format!(
            "rows are sorted by ({}): restrict these from the left, or keep a table in the order that is asked for",
            names(schema, &all)
        )
    }
}
