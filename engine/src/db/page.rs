//! Results of a read in portions: pages of rows, batches of columns.

use crate::error::Result;
use crate::read::batch::{Batch, Row};
use crate::read::page::PageState;
use crate::read::reader::Reader;
use std::sync::Arc;

/// A page of rows.
#[derive(Debug)]
pub struct Page {
    /// The rows.
    pub rows: Vec<Row>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<PageState>,
}

/// Batches of a read. After an error it ends.
pub struct Batches(Option<Reader>);

impl Batches {
    pub(crate) fn new(reader: Reader) -> Self {
        Self(Some(reader))
    }
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("ended", &self.0.is_none()).finish_non_exhaustive()
    }
}

impl Iterator for Batches {
    type Item = Result<Arc<Batch>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.0.as_mut()?.next_batch();
        if batch.is_err() {
            self.0 = None;
        }
        batch.transpose()
    }
}
