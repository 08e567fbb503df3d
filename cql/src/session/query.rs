//! The rows of a query, read as they are taken.
//!
//! A SELECT of plain columns hands out the engine's batches: no value is touched before it is asked for. Every other statement is run page by
//! page.

use crate::answer::{Outcome, Parameters, Run};
use crate::error::Result;
use crate::select::Batches;
use crate::session::Session;
use crate::session::plan::{Planned, Prepared};
use crate::session::rows::{Row, Shared};
use crate::session::values::{Values, wrong_number};
use crate::value::{Bound, ColumnSpec, Wire};
#[cfg(feature = "arrow")]
use skep_engine::Batch;
use std::sync::Arc;

/// Rows of a page.
const PAGE_ROWS: usize = 5_000;

/// The rows of a query; made by [`Session::query`].
#[derive(Debug)]
pub struct Rows<'s> {
    session: &'s Session,
    prepared: Prepared,
    /// The plan for which the values were bound.
    planned: Arc<Planned>,
    binds: Vec<Bound>,
    columns: Arc<[ColumnSpec]>,
    warnings: Vec<String>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The engine's batches; `next` is the row to come of the one in hand.
    Batches { batches: Box<Batches>, places: Arc<[usize]>, batch: Option<Arc<Shared>>, next: usize },
    /// Pages: the rest of the one in hand, and where the next begins.
    Pages { page: std::vec::IntoIter<Vec<Wire>>, state: Option<Vec<u8>> },
    /// Nothing more.
    End,
}

/// A part of the rows, as it was read.
#[cfg(feature = "arrow")]
pub(crate) enum Part {
    /// A batch; which of its columns are the result's.
    Batch(Arc<Batch>, Arc<[usize]>),
    /// A page.
    Page(Vec<Vec<Wire>>),
}

impl<'s> Rows<'s> {
    pub(crate) fn start(session: &'s Session, prepared: Prepared, values: &impl Values) -> Result<Self> {
        session.check_open()?;
        let planned = prepared.planned(session.catalog())?;
        let binds = values.bind(&planned.binds)?;
        if binds.len() != planned.binds.len() {
            return Err(wrong_number(planned.binds.len(), binds.len()));
        }
        let parameters = Parameters::default();
        let mut run = Run::new(&binds, session.db().now_micros(), &parameters);
        let batches = planned.batches(&mut run)?;
        let warnings = std::mem::take(&mut run.warnings);
        let columns = planned.columns();
        let source = match batches {
            Some(batches) => {
                let places = Arc::from(batches.places());
                Source::Batches { batches: Box::new(batches), places, batch: None, next: 0 }
            }
            None => Source::Pages { page: Vec::new().into_iter(), state: None },
        };
        let mut rows = Self { session, prepared, planned, binds, columns, warnings, source };
        // So that what is wrong with the statement is said here, and a write is done.
        if matches!(rows.source, Source::Pages { .. }) {
            rows.read_page(None)?;
        }
        Ok(rows)
    }

    /// The columns; empty for a statement without rows.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// The warnings so far.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn read_page(&mut self, paging_state: Option<Vec<u8>>) -> Result<()> {
        self.source = Source::End;
        let parameters = Parameters { page_size: Some(PAGE_ROWS), paging_state, ..Parameters::default() };
        let answer = self.session.attempt(&self.prepared, &parameters, |planned| {
            planned.check_same_types(&self.planned)?;
            Ok(&self.binds)
        })?;
        self.warnings.extend(answer.warnings);
        if let Outcome::Rows(set) = answer.outcome {
            self.columns = set.columns;
            self.source = Source::Pages { page: set.rows.into_iter(), state: set.paging_state };
        }
        Ok(())
    }

    /// Puts the next batch into the hand; at the end takes the source away.
    fn read_batch(&mut self) -> Result<()> {
        let Source::Batches { batches, places, batch, next } = &mut self.source else { return Ok(()) };
        match batches.next_batch() {
            Ok(Some(found)) => {
                let (columns, places) = (Arc::clone(&self.columns), Arc::clone(places));
                (*batch, *next) = (Some(Arc::new(Shared { columns, batch: found, places })), 0);
            }
            ended => {
                let parameters = Parameters::default();
                let mut run = Run::new(&self.binds, 0, &parameters);
                batches.warn(&mut run);
                self.warnings.append(&mut run.warnings);
                self.source = Source::End;
                ended?;
            }
        }
        Ok(())
    }

    /// What was read of the rows and not taken yet, or the next of it; None at the end.
    #[cfg(feature = "arrow")]
    pub(crate) fn next_part(&mut self) -> Result<Option<Part>> {
        loop {
            match &mut self.source {
                Source::End => return Ok(None),
                Source::Batches { batch, places, .. } => match batch.take() {
                    Some(shared) => {
                        return Ok(Some(Part::Batch(Arc::clone(&shared.batch), Arc::clone(places))));
                    }
                    None => self.read_batch()?,
                },
                Source::Pages { page, state } => {
                    let rows: Vec<_> = page.collect();
                    let state = state.take();
                    match (rows.is_empty(), state) {
                        (false, None) => {
                            self.source = Source::End;
                            return Ok(Some(Part::Page(rows)));
                        }
                        (false, state) => {
                            self.source = Source::Pages { page: Vec::new().into_iter(), state };
                            return Ok(Some(Part::Page(rows)));
                        }
                        (true, Some(state)) => self.read_page(Some(state))?,
                        (true, None) => self.source = Source::End,
                    }
                }
            }
        }
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            match &mut self.source {
                Source::End => return Ok(None),
                Source::Batches { batch, next, .. } => {
                    if let Some(shared) = batch.as_ref().filter(|shared| *next < shared.batch.len()) {
                        *next += 1;
                        return Ok(Some(Row::of_batch(shared, *next - 1)));
                    }
                    self.read_batch()?;
                }
                Source::Pages { page, state } => match (page.next(), state.take()) {
                    (Some(values), kept) => {
                        *state = kept;
                        return Ok(Some(Row::new(Arc::clone(&self.columns), values)));
                    }
                    (None, Some(state)) => self.read_page(Some(state))?,
                    (None, None) => self.source = Source::End,
                },
            }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row>;

    #[inline]
    fn next(&mut self) -> Option<Result<Row>> {
        let row = self.next_row();
        if row.is_err() {
            self.source = Source::End;
        }
        row.transpose()
    }
}
