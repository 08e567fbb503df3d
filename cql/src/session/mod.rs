//! Sessions: where a program, a shell or a driver's connection hands in text and values, and gets answers.
//!
//! ```text
//! plan       what a prepared statement is: its tree, and a plan for the schema as it is now
//! cache      the plans of texts that were seen before
//! overtaken  statements whose plan the schema has overtaken, run again
//! query      rows as they are taken
//! batch      several statements as one write
//! values     Rust values into bind markers
//! rows       rows into Rust values
//! arrow      rows as Arrow record batches (feature `arrow`)
//! ```
//! [`Session::run`] is the one entry: [`Session::execute`] and [`Session::query`] come to it with Rust values, drivers and scripts with [`Bound`]s.
//!
//! # Threads
//! A session may be used from several threads at once; they share its keyspace.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod batch;
mod cache;
mod overtaken;
mod plan;
mod query;
pub mod rows;
pub mod values;

pub use batch::Batch;
pub use plan::Prepared;
pub use query::Rows;
pub use rows::{FromCql, FromRow, Row};
pub use values::{Named, ToCql, Values};

use crate::answer::{Outcome, Parameters, ResultSet, Run};
use crate::catalog::Catalog;
use crate::derive;
use crate::error::Result;
use crate::session::cache::Cache;
use crate::session::plan::Planned;
use crate::session::values::wrong_number;
use crate::value::Bound;
use parking_lot::Mutex;
use skep_engine::{DEFAULT_KEYSPACE, Db, Error};
use std::sync::Arc;

/// What a statement came to, and what was noticed on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What it came to.
    pub outcome: Outcome,
    /// Warnings, as Cassandra gives them.
    pub warnings: Vec<String>,
    /// What was done, if a trace was asked for.
    pub trace: Option<Vec<String>>,
}

impl Answer {
    /// The rows, none if the statement gives none.
    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        match self.outcome {
            Outcome::Rows(ResultSet { columns, rows, .. }) => {
                rows.into_iter().map(|values| Row::new(Arc::clone(&columns), values)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Where the next page begins ([`Parameters::paging_state`]), None after the last one and for statements without rows.
    #[must_use]
    pub fn paging_state(&self) -> Option<&[u8]> {
        match &self.outcome {
            Outcome::Rows(set) => set.paging_state.as_deref(),
            _ => None,
        }
    }

    /// Whether a conditional write was applied; true for every other statement.
    #[must_use]
    pub fn applied(&self) -> bool {
        match &self.outcome {
            Outcome::Rows(set) if set.columns.first().is_some_and(|column| column.name == "[applied]") => set
                .rows
                .iter()
                .any(|row| matches!(row.first(), Some(Some(applied)) if applied.as_slice() == [1])),
            _ => true,
        }
    }
}

/// Opens sessions; implemented for [`Db`].
pub trait OpenSession {
    /// A session in keyspace `main`.
    ///
    /// # Errors
    /// A store whose definitions cannot be read.
    fn session(&self) -> Result<Session>;
}

impl OpenSession for Db {
    fn session(&self) -> Result<Session> {
        Session::new(self)
    }
}

/// What can be run: a text, or a statement that was prepared.
pub trait Query {
    /// The statement, prepared.
    ///
    /// # Errors
    /// As [`Session::prepare`].
    fn prepared(self, session: &Session) -> Result<Prepared>;
}

impl Query for &str {
    fn prepared(self, session: &Session) -> Result<Prepared> {
        session.prepare(self)
    }
}

impl Query for &String {
    fn prepared(self, session: &Session) -> Result<Prepared> {
        session.prepare(self)
    }
}

impl Query for &Prepared {
    fn prepared(self, _: &Session) -> Result<Prepared> {
        Ok(self.clone())
    }
}

/// A keyspace to be in, and the statements that were prepared there.
#[derive(Debug)]
pub struct Session {
    /// Keeps the store open: the catalog's own handle does not.
    db: Db,
    catalog: Arc<Catalog>,
    keyspace: Mutex<String>,
    cache: Mutex<Cache>,
}

impl Session {
    /// A session in keyspace `main`.
    ///
    /// # Errors
    /// A store whose definitions cannot be read.
    pub fn new(db: &Db) -> Result<Self> {
        let catalog = Catalog::of(db);
        catalog.make_ready(|| derive::fill::finish(&catalog))?;
        Ok(Self {
            db: db.clone(),
            catalog,
            keyspace: Mutex::new(DEFAULT_KEYSPACE.to_owned()),
            cache: Mutex::default(),
        })
    }

    /// The store.
    pub fn db(&self) -> &Db {
        &self.db
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The keyspace of names that have none.
    pub fn keyspace(&self) -> String {
        self.keyspace.lock().clone()
    }

    /// Fails once the store was closed: what a statement reads then might be changed by another process meanwhile. Rows that are being read go on.
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.db.is_closed() {
            true => Err(Error::closed("the store takes no more statements: it was closed").into()),
            false => Ok(()),
        }
    }

    /// Prepares a statement, or finds it prepared. It may be run by every session of the store and stays good when the schema changes.
    ///
    /// # Errors
    /// `Syntax` for what is no CQL, `Invalid` for names that are not there, types that do not fit, and so on.
    pub fn prepare(&self, text: &str) -> Result<Prepared> {
        let keyspace = self.keyspace();
        let known = self.cache.lock().get(&keyspace, text);
        if let Some(known) = known.filter(|known| known.is_as_prepared(&self.catalog)) {
            return Ok(known);
        }
        let prepared = Prepared::new(&self.catalog, text, &keyspace)?;
        self.cache.lock().put(keyspace, text, prepared.clone());
        Ok(prepared)
    }

    /// Runs a statement: `s.execute("INSERT INTO t (a, b) VALUES (?, ?)", (1, "x"))?`.
    ///
    /// # Errors
    /// Those of [`Session::prepare`], of values that do not fit, and of the statement.
    pub fn execute(&self, query: impl Query, values: impl Values) -> Result<Answer> {
        let prepared = query.prepared(self)?;
        self.attempt(&prepared, &Parameters::default(), |planned| values.bind(&planned.binds))
    }

    /// Runs a statement and goes through its rows. Plain columns come straight from the engine, all of one snapshot; others are read a page at a
    /// time, and each page is one snapshot.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn query(&self, query: impl Query, values: impl Values) -> Result<Rows<'_>> {
        Rows::start(self, query.prepared(self)?, &values)
    }

    /// Runs a prepared statement with values in wire form, of the types that [`Prepared::binds`] says.
    ///
    /// # Errors
    /// Those of the statement; `Invalid` for a wrong number of values; `Unprepared` if the types have changed since it was prepared.
    pub fn run(&self, prepared: &Prepared, binds: &[Bound], parameters: &Parameters) -> Result<Answer> {
        self.attempt(prepared, parameters, |planned| {
            prepared.check_types(planned)?;
            Ok(binds)
        })
    }

    /// Runs a statement with the values that `bind` makes for its plan: again by a new plan if the schema has changed under it.
    pub(crate) fn attempt<B: AsRef<[Bound]>>(
        &self,
        prepared: &Prepared,
        parameters: &Parameters,
        bind: impl Fn(&Planned) -> Result<B>,
    ) -> Result<Answer> {
        self.check_open()?;
        overtaken::repeat(&self.catalog, || {
            // A write that was planned without an index must be through before the index is filled.
            let _writing = prepared.writes().then(|| self.catalog.writing());
            let planned = prepared.planned(&self.catalog)?;
            let binds = bind(&planned)?;
            let binds = binds.as_ref();
            if binds.len() != planned.binds.len() {
                return Err(wrong_number(planned.binds.len(), binds.len()).into());
            }
            let mut run = Run::new(binds, self.db.now_micros(), parameters);
            let outcome = prepared.run(&planned, &mut run).map_err(|error| planned.failed(error))?;
            if let Outcome::Keyspace(name) = &outcome {
                name.clone_into(&mut self.keyspace.lock());
            }
            Ok(Answer { outcome, warnings: run.warnings, trace: run.trace })
        })
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod why_tests;
