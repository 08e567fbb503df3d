//! What limits and pages count: rows, or groups, of all pages, of a partition and of the page.

use crate::error::{Code, CqlError, Result};
use crate::term::{EvalContext, Term};
use crate::value::Bound;
use skep_engine::PageState;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::key::DecoratedKey;

/// What limits say for one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// LIMIT.
    pub(crate) rows: Option<u64>,
    /// PER PARTITION LIMIT.
    pub(crate) per_partition: Option<u64>,
    /// Rows (or groups) of a page.
    pub(crate) page: Option<u64>,
}

/// What has been counted, of all pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// In all.
    pub(crate) rows: u64,
    /// Of the partition.
    pub(crate) of_partition: u64,
    partition: Option<Bytes>,
    /// Of this page.
    pub(crate) of_page: u64,
}

impl Counted {
    /// What the pages before have counted.
    pub(crate) fn resumed(state: Option<&PageState>) -> Self {
        let Some(state) = state else { return Self::default() };
        let (rows, of_partition) = state.counts();
        Self { rows, of_partition, partition: Some(Bytes::new(state.partition())), of_page: 0 }
    }

    /// Notes the partition of a row.
    pub(crate) fn enter(&mut self, key: &DecoratedKey) {
        if self.partition.as_ref() != Some(&key.key) {
            self.partition = Some(key.key.clone());
            self.of_partition = 0;
        }
    }

    /// Counts rows of the partition.
    pub(crate) fn add(&mut self, rows: u64) {
        self.rows += rows;
        self.of_partition += rows;
        self.of_page += rows;
    }

    /// In all and of the partition, as a page's state has them.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.rows, self.of_partition)
    }
}

/// The value of a LIMIT; None without one, or if it is unset.
pub(crate) fn limit(term: Option<&Term>, cx: &EvalContext<'_>) -> Result<Option<u64>> {
    let Some(term) = term else { return Ok(None) };
    match term.eval(cx)? {
        Bound::Unset => Ok(None),
        Bound::Null => Err(CqlError::invalid("Invalid null value of limit")),
        Bound::Value(wire) => {
            let number = <[u8; 4]>::try_from(&wire[..]).map(i32::from_be_bytes);
            let number = number.map_err(|_| CqlError::invalid("Invalid limit value"))?;
            match u64::try_from(number) {
                Ok(number) if number > 0 => Ok(Some(number)),
                _ => Err(CqlError::invalid("LIMIT must be strictly positive")),
            }
        }
    }
}

/// A paging state as a client sent it.
pub(crate) fn paging_state(bytes: &[u8]) -> Result<PageState> {
    PageState::from_bytes(bytes).map_err(|error| CqlError::new(Code::Protocol, error.message().to_owned()))
}
