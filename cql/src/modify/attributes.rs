//! USING TTL and USING TIMESTAMP.

use crate::error::{CqlError, Result};
use crate::modify::operation::spec;
use crate::syntax::ast;
use crate::term::{EvalContext, Preparing, Term};
use crate::value::Bound;
use skep_engine::model::life::{MAX_EXPIRY, MAX_TTL};
use skep_engine::{CqlType, TableSchema};

/// The terms of USING.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    ttl: Option<Term>,
    timestamp: Option<Term>,
}

impl Attributes {
    /// Prepares USING for a statement on `schema` (of a batch: on none).
    ///
    /// # Errors
    /// `Invalid` for terms that are no numbers.
    pub fn prepare(using: &ast::Using, schema: Option<&TableSchema>, cx: &mut Preparing<'_>) -> Result<Self> {
        let mut term = |expr: &Option<ast::Expr>, name: &str, ty: CqlType| -> Result<Option<Term>> {
            let Some(expr) = expr else { return Ok(None) };
            let receiver = match schema {
                Some(schema) => spec(schema, name, ty),
                None => crate::value::ColumnSpec {
                    keyspace: String::new(),
                    table: String::new(),
                    name: name.to_owned(),
                    ty,
                },
            };
            Term::prepare(expr, &receiver, cx).map(Some)
        };
        let timestamp = term(&using.timestamp, "[timestamp]", CqlType::Bigint)?;
        Ok(Self { ttl: term(&using.ttl, "[ttl]", CqlType::Int)?, timestamp })
    }

    /// USING TTL was given.
    #[must_use]
    pub fn has_ttl(&self) -> bool {
        self.ttl.is_some()
    }

    /// USING TIMESTAMP was given.
    #[must_use]
    pub fn has_timestamp(&self) -> bool {
        self.timestamp.is_some()
    }

    /// The timestamp (micros) that the statement names; None for now.
    ///
    /// # Errors
    /// `Invalid` for null, and for the smallest number, which is no timestamp.
    pub fn timestamp(&self, eval: &EvalContext<'_>) -> Result<Option<i64>> {
        let Some(term) = &self.timestamp else { return Ok(None) };
        let value = match term.eval(eval)? {
            Bound::Unset => return Ok(None),
            Bound::Null => return Err(CqlError::invalid("Invalid null value of timestamp")),
            Bound::Value(value) => value,
        };
        let Ok(value) = <[u8; 8]>::try_from(&value[..]) else {
            return Err(CqlError::invalid("Invalid timestamp value: empty"));
        };
        checked_timestamp(i64::from_be_bytes(value)).map(Some)
    }

    /// The TTL (seconds, 0 none) to use in a table whose default is `default`; `now` is the second of writing.
    ///
    /// # Errors
    /// `Invalid` for a negative one, one over 20 years, and one that ends after 2106.
    pub fn ttl(&self, default: i32, now: i64, eval: &EvalContext<'_>) -> Result<i32> {
        let ttl = match &self.ttl {
            None => default,
            Some(term) => match term.eval(eval)? {
                Bound::Unset => default,
                Bound::Null => 0,
                // An empty value is none.
                Bound::Value(value) => <[u8; 4]>::try_from(&value[..]).map_or(0, i32::from_be_bytes),
            },
        };
        if ttl < 0 {
            return Err(CqlError::invalid(format!("A TTL must be greater or equal to 0, but was {ttl}")));
        }
        if ttl > MAX_TTL {
            return Err(CqlError::invalid(format!(
                "ttl is too large. requested ({ttl}) maximum ({MAX_TTL})"
            )));
        }
        if ttl > 0 && now.saturating_add(i64::from(ttl)) > MAX_EXPIRY {
            return Err(CqlError::invalid(format!(
                "ttl of {ttl} seconds exceeds maximum supported expiration date of 2106-02-07T06:28:15+00:00"
            ))
            .hint("use a lower TTL"));
        }
        Ok(ttl)
    }
}

/// Refuses the smallest number, which is no timestamp.
///
/// # Errors
/// `Invalid` for it.
pub fn checked_timestamp(micros: i64) -> Result<i64> {
    if micros == i64::MIN {
        let (low, high) = (i64::MIN + 1, i64::MAX);
        return Err(CqlError::invalid(format!("Out of bound timestamp, must be in [{low}, {high}]")));
    }
    Ok(micros)
}
