//! The model's operations as statements of CQL, and SELECTs held against the model: what `tests/cql_model.rs` runs.
//!
//! ```text
//! write     operations as statements
//! select    random SELECTs with what the model says to them
//! ```
//! A statement has several ways to be written (literals or bind markers, INSERT or JSON, UPDATE or DELETE of columns, timestamps in the text or beside
//! it); `form`, a number with each step, picks one.

pub mod select;
pub mod write;

use crate::op::{Op, Run, Shape};
use skep_cql::{Answer, Bound, OpenSession, Outcome, Parameters, Session};
use skep_engine::{Db, ManualClock};
use std::time::Duration;

/// A row of an answer; all columns are integers.
pub type Row = Vec<Option<i64>>;

/// Statement text with the values of its markers.
#[derive(Debug)]
pub struct Statement {
    /// The text.
    pub text: String,
    /// The values.
    pub binds: Vec<Bound>,
    markers: bool,
}

impl Statement {
    /// An empty one; numbers in it become markers, or literals.
    pub fn new(markers: bool) -> Self {
        Self { text: String::new(), binds: Vec::new(), markers }
    }

    fn put(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// An int, or null.
    fn int(&mut self, value: Option<i32>) -> &mut Self {
        match (self.markers, value) {
            (true, value) => {
                let bound = value.map_or(Bound::Null, |value| Bound::Value(value.to_be_bytes()[..].into()));
                self.binds.push(bound);
                self.put("?")
            }
            (false, None) => self.put("null"),
            (false, Some(value)) => self.put(&value.to_string()),
        }
    }

    /// A bigint.
    fn long(&mut self, value: i64) -> &mut Self {
        if !self.markers {
            return self.put(&value.to_string());
        }
        self.binds.push(Bound::Value(value.to_be_bytes()[..].into()));
        self.put("?")
    }
}

/// A store that is written and read in CQL, and its model.
#[derive(Debug)]
pub struct CqlRun {
    /// The store and its model.
    pub run: Run,
    session: Session,
    /// Timestamp in the model of the last write that left its time to the store.
    last: i64,
}

impl CqlRun {
    /// Begins with an empty table in a fresh store.
    pub fn new(shape: Shape, db: Db, clock: ManualClock) -> Self {
        let session = db.session().expect("a session");
        session.execute(&write::create(&shape), ()).expect("the shape is valid");
        let run = Run::opened(shape, db, clock);
        let last = run.db.now_micros() + 1_000;
        // Timestamps of statements' own lie in the few micros behind the start; the store's come later.
        run.clock.advance(Duration::from_secs(1));
        Self { run, session, last }
    }

    /// Goes on with the same store, opened again.
    pub fn replace(&mut self, db: Db) {
        self.session = db.session().expect("a session");
        self.run.replace(db);
    }

    fn execute(&self, statement: &Statement, parameters: &Parameters) -> Answer {
        let prepared = self.session.prepare(&statement.text);
        let answer = prepared.and_then(|prepared| self.session.run(&prepared, &statement.binds, parameters));
        answer.unwrap_or_else(|error| panic!("{}: {error}", statement.text))
    }

    /// The rows of a SELECT, all at once or in pages.
    fn fetch(&self, statement: &Statement, page: Option<usize>) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut parameters = Parameters { page_size: page, ..Parameters::default() };
        loop {
            let Outcome::Rows(set) = self.execute(statement, &parameters).outcome else {
                panic!("{} gives no rows", statement.text)
            };
            let of_page = set.rows.len();
            assert!(page.is_none_or(|page| of_page <= page), "{}: {of_page} rows in a page", statement.text);
            let number = |wire: &Option<skep_engine::model::bytes::Bytes>| {
                wire.as_ref().map(|bytes| match *bytes.as_slice() {
                    [a, b, c, d] => i64::from(i32::from_be_bytes([a, b, c, d])),
                    [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
                    ref other => panic!("{}: {other:?} is no number", statement.text),
                })
            };
            rows.extend(set.rows.iter().map(|row| row.iter().map(number).collect::<Row>()));
            match set.paging_state {
                Some(state) => parameters.paging_state = Some(state),
                None => return rows,
            }
        }
    }

    /// Applies what is no statement.
    ///
    /// # Panics
    /// If it fails.
    pub fn maintain(&mut self, op: &Op) {
        self.run.apply(op).expect("maintenance works");
    }
}
