//! A prepared statement: its text and tree, and a plan made for the schema as it is.
//!
//! The tree stays; the plan is made anew when the schema has changed since. What a plan does is the business of the statement kinds: this file
//! only knows which of them to ask.

use crate::answer::{Outcome, Run};
use crate::catalog::Catalog;
use crate::derive::Indexes;
use crate::error::{Code, CqlError, Result};
use crate::explain;
use crate::explain::ExplainValue;
use crate::modify;
use crate::modify::{Modification, ModifyPlan};
use crate::schema;
use crate::select::{Batches, NoIndexes, SelectPlan};
use crate::session::overtaken::Failed;
use crate::syntax;
use crate::syntax::ast::{Select, Statement, TableName};
use crate::system;
use crate::term::{Markers, Preparing, Scope};
use crate::value::ColumnSpec;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// A statement that was read and planned. Cheap to clone.
#[derive(Clone)]
pub struct Prepared(Arc<Inner>);

struct Inner {
    text: String,
    /// The keyspace of names that have none.
    keyspace: String,
    parsed: syntax::Parsed,
    catalog: Arc<Catalog>,
    /// The plan that it was prepared with: what [`Prepared::binds`] and its like show.
    first: Arc<Planned>,
    /// The plan in use.
    current: Mutex<Arc<Planned>>,
}

/// A plan, with what is known of its values and rows.
pub(crate) struct Planned {
    /// The schema's epoch when it was made.
    epoch: u64,
    plan: Plan,
    pub(crate) binds: Vec<ColumnSpec>,
    key: Vec<usize>,
    columns: Arc<[ColumnSpec]>,
}

/// What is done.
enum Plan {
    /// SELECT.
    Select(Arc<SelectPlan>),
    /// SELECT from a system table: its store is made, and the statement planned, anew in every run.
    System,
    /// INSERT, UPDATE, DELETE, BATCH.
    Modify(ModifyPlan),
    /// EXPLAIN SELECT.
    Explain(Arc<SelectPlan>),
    /// EXPLAIN VALUE.
    ExplainValue(Box<ExplainValue>),
    /// USE, CREATE, ALTER, DROP, TRUNCATE, DESCRIBE: nothing is planned ahead.
    Schema,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("text", &self.0.text).field("keyspace", &self.0.keyspace).finish()
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned")
            .field("epoch", &self.epoch)
            .field("binds", &self.binds)
            .finish_non_exhaustive()
    }
}

impl Prepared {
    pub(crate) fn new(catalog: &Arc<Catalog>, text: &str, keyspace: &str) -> Result<Self> {
        let parsed = syntax::parse(text)?;
        let first = Arc::new(Planned::make(catalog, &parsed, keyspace)?);
        Ok(Self(Arc::new(Inner {
            text: text.to_owned(),
            keyspace: keyspace.to_owned(),
            parsed,
            catalog: Arc::clone(catalog),
            current: Mutex::new(Arc::clone(&first)),
            first,
        })))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The bind markers: names and types, in the order of the text, when it was prepared. [`Session::run`](crate::Session::run) takes values of
    /// these types; Rust values are bound by the types of the moment.
    #[must_use]
    pub fn binds(&self) -> &[ColumnSpec] {
        &self.0.first.binds
    }

    /// Which bind markers are the partition key's columns, in the order of the key; empty if not all of them are.
    #[must_use]
    pub fn key_indexes(&self) -> &[usize] {
        &self.0.first.key
    }

    /// The columns of its rows; empty if it gives none.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.0.first.columns
    }

    /// The plan for the schema as it is.
    pub(crate) fn planned(&self, catalog: &Arc<Catalog>) -> Result<Arc<Planned>> {
        let inner = &*self.0;
        if !Arc::ptr_eq(catalog, &inner.catalog) {
            return Err(CqlError::new(Code::Unprepared, "the statement was prepared for another store"));
        }
        let mut current = inner.current.lock();
        if current.epoch != catalog.epoch() {
            *current = Arc::new(Planned::make(catalog, &inner.parsed, &inner.keyspace)?);
        }
        Ok(Arc::clone(&current))
    }

    /// Fails if `planned` takes values of other types than [`Prepared::binds`] says: bytes that were made for those would be read as others.
    ///
    /// # Errors
    /// `Unprepared`.
    pub(crate) fn check_types(&self, planned: &Planned) -> Result<()> {
        planned.check_same_types(&self.0.first)
    }

    /// Whether what was told of its markers and columns still is so.
    pub(crate) fn is_as_prepared(&self, catalog: &Arc<Catalog>) -> bool {
        let first = &self.0.first;
        self.planned(catalog).is_ok_and(|now| {
            Arc::ptr_eq(&now, first) || (now.binds == first.binds && now.columns == first.columns)
        })
    }

    /// Whether it writes rows.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.0.first.plan, Plan::Modify(_))
    }

    pub(crate) fn run(&self, planned: &Planned, run: &mut Run<'_>) -> Result<Outcome> {
        let inner = &*self.0;
        match (&planned.plan, &inner.parsed.statement) {
            (Plan::Select(plan), _) => plan.run(run, &Indexes).map(Outcome::Rows),
            (Plan::System, statement @ (Statement::Select(select) | Statement::Explain(select))) => {
                let (keyspace, name) = table_of(&select.table, &inner.keyspace);
                let db = system::open(&inner.catalog, keyspace, name, true)?;
                let mut markers = Markers::new(&inner.parsed.markers);
                let plan = select_plan(&Catalog::of(&db), select, keyspace, &mut markers)?;
                let rows = match statement {
                    Statement::Explain(_) => explain::query::explain(&plan, run, &NoIndexes),
                    _ => plan.run(run, &NoIndexes),
                };
                rows.map(Outcome::Rows)
            }
            (Plan::Explain(plan), _) => explain::query::explain(plan, run, &Indexes).map(Outcome::Rows),
            (Plan::ExplainValue(plan), _) => plan.run(run).map(Outcome::Rows),
            (Plan::Modify(plan), _) => plan.run(inner.catalog.db(), run),
            (Plan::Schema, Statement::Describe(statement)) => {
                if let Some(outcome) = system::describe::describe(&inner.keyspace, statement)? {
                    return Ok(outcome);
                }
                schema::run(&inner.catalog, Some(&inner.keyspace), &inner.parsed.statement, run)
            }
            (Plan::Schema | Plan::System, statement) => {
                schema::run(&inner.catalog, Some(&inner.keyspace), statement, run)
            }
        }
    }
}

impl Planned {
    /// Fails if its markers are of other types than those of `before`, for which values were made.
    ///
    /// # Errors
    /// `Unprepared`.
    pub(crate) fn check_same_types(&self, before: &Self) -> Result<()> {
        let types = |planned: &Self| planned.binds.iter().map(|spec| spec.ty.clone()).collect::<Vec<_>>();
        if std::ptr::eq(self, before) || self.binds == before.binds || types(self) == types(before) {
            return Ok(());
        }
        let text = "The types of the statement's bind markers have changed since it was prepared";
        Err(CqlError::new(Code::Unprepared, text).hint("prepare it again"))
    }

    /// What a failure of a run by this plan is: statements about rows may be run again.
    pub(crate) fn failed(&self, error: CqlError) -> Failed {
        match self.plan {
            Plan::System | Plan::Schema => error.into(),
            _ => Failed::by_plan(error, self.epoch),
        }
    }

    /// The columns of its rows.
    pub(crate) fn columns(&self) -> Arc<[ColumnSpec]> {
        Arc::clone(&self.columns)
    }

    /// The one statement that writes, if it is that.
    pub(crate) fn modification(&self) -> Option<&Modification> {
        match &self.plan {
            Plan::Modify(plan) => plan.statement(),
            _ => None,
        }
    }

    /// The engine's batches, of a SELECT that gives columns as they are.
    pub(crate) fn batches(&self, run: &mut Run<'_>) -> Result<Option<Batches>> {
        match &self.plan {
            Plan::Select(plan) => plan.batches(run),
            _ => Ok(None),
        }
    }

    fn make(catalog: &Arc<Catalog>, parsed: &syntax::Parsed, keyspace: &str) -> Result<Self> {
        // Read first: a change that comes meanwhile makes this plan an old one.
        let epoch = catalog.epoch();
        let mut markers = Markers::new(&parsed.markers);
        let (mut key, mut columns): (Vec<usize>, Arc<[ColumnSpec]>) = (Vec::new(), Arc::from([]));
        let plan = match &parsed.statement {
            statement @ (Statement::Select(select) | Statement::Explain(select)) => {
                let (of, name) = table_of(&select.table, keyspace);
                let db = match system::is_system(of) {
                    true => Some(system::open(catalog, of, name, false)?),
                    false => None,
                };
                let plan = match &db {
                    Some(db) => select_plan(&Catalog::of(db), select, of, &mut markers)?,
                    None => select_plan(catalog, select, keyspace, &mut markers)?,
                };
                key = markers.key_indexes(&plan.table().schema);
                let explains = matches!(statement, Statement::Explain(_));
                columns = match explains {
                    true => explain::query::answer_columns(&plan),
                    false => Arc::clone(plan.columns()),
                };
                match explains {
                    _ if db.is_some() => Plan::System,
                    true => Plan::Explain(Arc::new(plan)),
                    false => Plan::Select(Arc::new(plan)),
                }
            }
            Statement::ExplainValue { column, table, relations } => {
                let (of, name) = table_of(table, keyspace);
                if system::is_system(of) {
                    let text = format!("{of}.{name} is made when it is read: its values have no versions");
                    return Err(CqlError::invalid(text).at(table.name.place));
                }
                let table = catalog.table(of, name).map_err(|error| error.at(table.name.place))?;
                let scope = Scope { types: &**catalog, keyspace: of, table: Some(&table.schema) };
                let mut cx = Preparing { scope, markers: &mut markers };
                let plan = ExplainValue::prepare(column.as_ref(), &table, relations, &mut cx)?;
                key = markers.key_indexes(&table.schema);
                columns = plan.columns();
                Plan::ExplainValue(Box::new(plan))
            }
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Batch(_) => {
                let mut cx = modify::Context { catalog, keyspace: Some(keyspace), markers: &mut markers };
                let plan = modify::prepare(&parsed.statement, &mut cx)?;
                let first = match &plan {
                    ModifyPlan::One(statement, _) => Some(&**statement),
                    ModifyPlan::Batch(batch) => batch.statements().first(),
                };
                if let Some(statement) = first {
                    key = markers.key_indexes(&statement.table.schema);
                }
                Plan::Modify(plan)
            }
            _ => Plan::Schema,
        };
        Ok(Self { epoch, plan, binds: markers.specs(), key, columns })
    }
}

/// Keyspace and name of a table.
fn table_of<'a>(table: &'a TableName, keyspace: &'a str) -> (&'a str, &'a str) {
    (table.keyspace.as_ref().map_or(keyspace, |name| &name.text), &table.name.text)
}

fn select_plan(
    catalog: &Catalog,
    select: &Select,
    keyspace: &str,
    markers: &mut Markers,
) -> Result<SelectPlan> {
    let (keyspace, name) = table_of(&select.table, keyspace);
    let table = catalog.table(keyspace, name).map_err(|error| error.at(select.table.name.place))?;
    let scope = Scope { types: catalog, keyspace, table: Some(&table.schema) };
    SelectPlan::prepare(select, &table, &mut Preparing { scope, markers })
}
