//! Why: EXPLAIN SELECT, which shows what a read does and what it looked at, and EXPLAIN VALUE, which lists every version of a row's values with
//! the rule that decided.
//!
//! ```text
//! query      EXPLAIN SELECT: the plan, a run of it, what was looked at
//! version    one version of a value, in words
//! value      EXPLAIN VALUE, and the same for programs and the command line ([`value::about`])
//! ```
//! The engine does the explaining (`read::explain`, `read::why`), `select` words its plans; here are the statements. Their rows are made for
//! people: columns and words are no interface.

pub mod query;
pub mod version;
pub mod value;

pub use value::{About, ExplainValue, about};
pub use version::Line;

use crate::value::ColumnSpec;
use skep_engine::CqlType;
use std::sync::Arc;

/// Columns of an answer.
fn columns(keyspace: &str, table: &str, columns: &[(&str, CqlType)]) -> Arc<[ColumnSpec]> {
    let spec = |(name, ty): &(&str, CqlType)| ColumnSpec {
        keyspace: keyspace.to_owned(),
        table: table.to_owned(),
        name: (*name).to_owned(),
        ty: ty.clone(),
    };
    columns.iter().map(spec).collect()
}
