//! INSERT JSON: values of the columns out of one JSON object.

use crate::catalog::TableInfo;
use crate::error::{CqlError, Result};
use crate::function::{CallContext, json};
use crate::modify::operation::spec;
use crate::syntax::ast;
use crate::term::{EvalContext, Preparing, Term};
use crate::value::{Bound, ColumnSpec, Wire};
use skep_engine::CqlType;
use std::sync::Arc;

/// The object that is inserted.
#[derive(Clone, Debug)]
pub struct JsonInput {
    text: Text,
    /// What columns are that the object does not name.
    missing: Bound,
    /// All columns, in the order of the schema.
    receivers: Arc<[ColumnSpec]>,
}

#[derive(Clone, Debug)]
enum Text {
    /// In the statement.
    Known(String),
    /// Bound at each run.
    Late(Term),
}

impl JsonInput {
    /// Prepares the text (a literal or a marker) for an INSERT into `table`.
    ///
    /// # Errors
    /// `Invalid` for a literal that is no object with values of the columns.
    pub fn prepare(
        table: &TableInfo,
        json: &ast::Expr,
        default_unset: bool,
        cx: &mut Preparing<'_>,
    ) -> Result<Self> {
        let missing = if default_unset { Bound::Unset } else { Bound::Null };
        let schema = &table.schema;
        let receivers: Arc<[ColumnSpec]> =
            schema.columns().iter().map(|column| spec(schema, &column.name, column.ty.clone())).collect();
        let text = match json {
            ast::Expr::Constant { text, .. } => {
                // A literal that does not fit is told at once.
                json::insert_values(&CallContext { now_micros: 0 }, text, &receivers)?;
                Text::Known(text.clone())
            }
            other => Text::Late(Term::prepare(other, &spec(schema, "[json]", CqlType::Text), cx)?),
        };
        Ok(Self { text, missing, receivers })
    }

    /// The values of all columns, in the order of the schema.
    ///
    /// # Errors
    /// `Invalid` for a bound text that is no object with values of the columns.
    pub fn values(&self, eval: &EvalContext<'_>) -> Result<Vec<Bound>> {
        let term = match &self.text {
            Text::Known(text) => return self.decode(text, eval),
            Text::Late(term) => term,
        };
        match term.eval(eval)? {
            Bound::Value(text) => {
                let text = std::str::from_utf8(&text);
                self.decode(
                    text.map_err(|_| CqlError::invalid("Invalid UTF-8 bytes in INSERT JSON values"))?,
                    eval,
                )
            }
            Bound::Null => Err(CqlError::invalid("Got null for INSERT JSON values")),
            Bound::Unset => Err(CqlError::invalid("Got unset value for INSERT JSON values")),
        }
    }

    fn decode(&self, text: &str, eval: &EvalContext<'_>) -> Result<Vec<Bound>> {
        let values = json::insert_values(&eval.call, text, &self.receivers)?;
        let bound = |value: Option<Wire>| value.map_or_else(|| self.missing.clone(), Bound::from_wire);
        Ok(values.into_iter().map(bound).collect())
    }
}
