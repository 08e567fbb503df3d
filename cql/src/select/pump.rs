//! Rows out of the store, one by one, with what is needed to go on behind any of them.
//!
//! A [`Pump`] drives the engine's reader: it filters, leaves out the rest of partitions that have given enough, and knows the place of the
//! row it gave last. Everything that works on single rows (filters, groups, pages) stands on it; plain reads take the engine's batches as
//! they are.

use crate::error::{Code, CqlError, Result};
use crate::restrict::Filter;
use crate::select::base::BaseRows;
use crate::select::finder::FoundRows;
use skep_engine::encoding::key;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::clustering::ClusteringRange;
use skep_engine::model::key::DecoratedKey;
use skep_engine::read::resolve::TombstoneWarning;
use skep_engine::{Batch, Explain, PageState, Projection, Reader, TableSnapshot, TokenRange};
use std::ops::Range;
use std::sync::Arc;

/// Which rows to read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The table at one moment.
    pub(crate) snapshot: TableSnapshot,
    /// The partitions.
    pub(crate) partitions: Partitions,
    /// The ranges of rows in them.
    pub(crate) ranges: Vec<ClusteringRange>,
    /// The columns.
    pub(crate) columns: Arc<Projection>,
    /// Whether partitions are read backward.
    pub(crate) reverse: bool,
    /// At most so many rows in all, those of earlier pages included.
    pub(crate) limit: Option<u64>,
    /// At most so many rows of a partition.
    pub(crate) per_partition: Option<u64>,
    /// Whether what is looked at is recorded.
    pub(crate) explained: bool,
}

/// The partitions of a source.
#[derive(Clone, Debug)]
pub(crate) enum Partitions {
    /// These.
    Keys(Vec<DecoratedKey>),
    /// Those with these tokens.
    Tokens(TokenRange),
}

impl Source {
    /// The first of the partitions, if they are named.
    pub(crate) fn first_key(&self) -> Option<DecoratedKey> {
        match &self.partitions {
            Partitions::Keys(keys) => keys.first().cloned(),
            Partitions::Tokens(_) => None,
        }
    }

    /// A reader, from the beginning or behind `resume`.
    pub(crate) fn reader(&self, resume: Option<PageState>) -> Result<Reader> {
        let reader = self.select(resume).reader()?;
        Ok(if self.explained { reader.explained() } else { reader })
    }

    /// The engine's read, from the beginning or behind `resume`.
    pub(crate) fn select(&self, resume: Option<PageState>) -> skep_engine::Select {
        let select = match &self.partitions {
            Partitions::Keys(keys) => self.snapshot.partitions(keys.clone()),
            Partitions::Tokens(tokens) => self.snapshot.scan().tokens(*tokens),
        };
        let mut select = select.bounds(self.ranges.clone()).project(&self.columns);
        if self.reverse {
            select = select.reverse();
        }
        if let Some(limit) = self.limit {
            select = select.limit(limit);
        }
        if let Some(limit) = self.per_partition {
            select = select.per_partition_limit(limit);
        }
        match resume {
            Some(state) => select.resume(state),
            None => select,
        }
    }
}

/// What the store's refusal to read on becomes.
pub(crate) fn read_error(error: skep_engine::Error) -> CqlError {
    let too_many = error.message().contains("tombstones");
    match too_many {
        true => CqlError::new(Code::ReadFailure, error.message().to_owned()),
        false => error.into(),
    }
}

/// Drives a reader row by row.
pub(crate) struct Pump {
    source: Source,
    reader: Reader,
    /// Partitions that an index names, after the one being read.
    found: Option<FoundRows>,
    filter: Option<Filter>,
    batch: Option<Arc<Batch>>,
    /// The next row of the batch.
    next: usize,
    /// Places of the clustering columns in the projection, where rows are to be found again.
    places: Vec<usize>,
    warnings: Vec<TombstoneWarning>,
    /// What the readers before this one met, and looked at if that is recorded.
    before: Explain,
    /// The base of the view that is read, if lives of its cells are shown.
    pub(crate) base: Option<Arc<BaseRows>>,
}

impl Pump {
    /// Of a source, from the beginning or behind `resume`.
    ///
    /// # Errors
    /// If the state is not of this read.
    pub(crate) fn new(source: Source, filter: Option<Filter>, resume: Option<PageState>) -> Result<Self> {
        let schema = Arc::clone(source.snapshot.schema());
        let mut filter = filter;
        if let Some(filter) = &mut filter {
            filter.bind(&schema, &source.columns)?;
        }
        let places =
            schema.clustering().iter().filter_map(|column| source.columns.position(&column.name)).collect();
        let reader = source.reader(resume)?;
        let (warnings, before) = (Vec::new(), Explain::default());
        let (found, batch, base) = (None, None, None);
        Ok(Self { source, reader, found, filter, batch, next: 0, places, warnings, before, base })
    }

    /// Of the partitions and rows that an index names, as far as the source would read them.
    ///
    /// # Errors
    /// As [`Pump::new`].
    pub(crate) fn of_found(
        source: Source,
        filter: Option<Filter>,
        resume: Option<PageState>,
        found: FoundRows,
    ) -> Result<Self> {
        let nothing = Source { partitions: Partitions::Keys(Vec::new()), ..source.clone() };
        let mut pump = Self::new(nothing, filter, None)?;
        pump.source = source;
        pump.found = Some(found);
        pump.open_found(resume)?;
        Ok(pump)
    }

    /// Opens the next partition that the index names; false after the last.
    fn open_found(&mut self, mut resume: Option<PageState>) -> Result<bool> {
        let Some(found) = &mut self.found else { return Ok(false) };
        while let Some(found) = found.next().transpose()? {
            let within = match &self.source.partitions {
                Partitions::Keys(keys) => keys.contains(&found.key),
                Partitions::Tokens(tokens) => tokens.contains(found.key.token),
            };
            let ranges = found.among(&self.source.ranges);
            if within && !ranges.is_empty() {
                let resume = resume.take().filter(|state| *state.partition() == *found.key.key);
                let one =
                    Source { partitions: Partitions::Keys(vec![found.key]), ranges, ..self.source.clone() };
                self.change(one.reader(resume)?);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next rows that pass: their batch, and which of it, one after the other. Whoever takes only the first of them must not ask on but
    /// for another partition.
    ///
    /// # Errors
    /// The store's; too many tombstones.
    pub(crate) fn next(&mut self) -> Result<Option<(Arc<Batch>, Range<usize>)>> {
        loop {
            if let Some(batch) = &self.batch {
                let passes = |row: usize| match &self.filter {
                    Some(filter) => filter.passes(batch, row),
                    None => Ok(true),
                };
                while self.next < batch.len() && !passes(self.next)? {
                    self.next += 1;
                }
                if self.next < batch.len() {
                    let first = self.next;
                    self.next = if self.filter.is_none() { batch.len() } else { first + 1 };
                    while self.next < batch.len() && passes(self.next)? {
                        self.next += 1;
                    }
                    return Ok(Some((Arc::clone(batch), first..self.next)));
                }
            }
            self.batch = self.reader.next_batch().map_err(read_error)?;
            self.next = 0;
            if self.batch.is_none() && !self.open_found(None)? {
                return Ok(None);
            }
        }
    }

    /// Leaves out what is left of the partition that the last row came from.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn skip_partition(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        if self.found.is_some() {
            if !self.open_found(None)? {
                let nothing = Source { partitions: Partitions::Keys(Vec::new()), ..self.source.clone() };
                self.change(nothing.reader(None)?);
            }
            return Ok(());
        }
        let schema = self.source.snapshot.schema();
        let state = PageState::behind(schema, self.source.reverse, &batch.key().key, None, (0, 0));
        self.change(self.source.reader(Some(state))?);
        Ok(())
    }

    /// Goes on with another reader; what the one before met is kept.
    fn change(&mut self, reader: Reader) {
        self.warnings.extend(self.reader.warning());
        let story = self.story();
        self.before = story;
        self.reader = reader;
    }

    /// The state behind row `row` of `batch`, with what has been counted so far: in all and of its partition.
    ///
    /// # Errors
    /// If the row's place cannot be told, which needs the clustering columns in the projection.
    pub(crate) fn state(&self, batch: &Batch, row: usize, counts: (u64, u64)) -> Result<PageState> {
        let schema = self.source.snapshot.schema();
        let mut wires: Vec<Bytes> = Vec::with_capacity(self.places.len());
        for place in &self.places {
            match batch.wire(*place, row)? {
                Some(wire) => wires.push(wire),
                // The row of a partition that has static columns alone.
                None => break,
            }
        }
        let place = match wires.len() == schema.clustering().len() && !wires.is_empty() {
            true => Some(key::clustering(schema, &wires)?),
            false => None,
        };
        Ok(PageState::behind(schema, self.source.reverse, &batch.key().key, place.as_ref(), counts))
    }

    /// What is read.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// What was met so far, and looked at if that is recorded.
    pub(crate) fn story(&self) -> Explain {
        let mut story = self.before.clone();
        match self.reader.explain() {
            Some(explain) => story.add(&explain),
            None => story.add(&Explain { counts: self.reader.counts(), ..Explain::default() }),
        }
        story
    }

    /// Warnings that the read came to.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = TombstoneWarning> {
        self.warnings.iter().copied().chain(self.reader.warning())
    }
}
