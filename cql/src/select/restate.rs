//! The read restated as CQL, for the warning about tombstones: Cassandra's words, which people search their logs for.
//!
//! ```text
//! SELECT v FROM golden.t WHERE k = 100 AND c <= 1000 ALLOW FILTERING; token 2008715943680221220
//! ```

use crate::catalog::types;
use crate::restrict::Where;
use crate::restrict::operand::literal;
use crate::term::EvalContext;
use skep_engine::encoding::key;
use skep_engine::model::key::DecoratedKey;
use skep_engine::{ColumnKind, Projection};

/// The text for a read of one partition (`key`), or of many.
pub(crate) fn restate(
    restrictions: &Where,
    columns: &Projection,
    partition: Option<&DecoratedKey>,
    cx: &EvalContext<'_>,
) -> String {
    let schema = &restrictions.table().schema;
    let fetched: Vec<String> = columns
        .columns()
        .filter(|column| matches!(column.kind, ColumnKind::Regular | ColumnKind::Static))
        .map(|column| types::name(&column.name))
        .collect();
    let all = schema.regulars().len() + schema.statics().len();
    let fetched = if fetched.is_empty() || fetched.len() == all && all > 1 {
        "*".to_owned()
    } else {
        fetched.join(", ")
    };
    let mut conditions: Vec<String> = Vec::new();
    if let Some(partition) = partition {
        let wires = key::partition_wires(schema, &partition.key).unwrap_or_default();
        for (column, wire) in schema.partition_key().iter().zip(&wires) {
            conditions.push(format!("{} = {}", types::name(&column.name), literal(wire, &column.ty)));
        }
    }
    conditions.extend(restrictions.restated(cx));
    let mut text = format!("SELECT {fetched} FROM {}", restrictions.table().full_name());
    if !conditions.is_empty() {
        text.push_str(" WHERE ");
        text.push_str(&conditions.join(" AND "));
    }
    text.push_str(" ALLOW FILTERING");
    if let Some(partition) = partition {
        text.push_str(&format!("; token {}", partition.token.0));
    }
    text
}
