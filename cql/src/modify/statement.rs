//! INSERT, UPDATE and DELETE, prepared: the table, the operations, which rows, under which conditions.
//!
//! The three are one [`Modification`], for what they do differs less than what they say: an INSERT is an UPDATE that sets the row's marker, a
//! DELETE one that only deletes. Checks come in Cassandra's order: USING, conditions, operations, WHERE.

use crate::catalog::{Catalog, TableInfo, names};
use crate::error::{Code, CqlError, Result};
use crate::modify::attributes::Attributes;
use crate::modify::condition::Condition;
use crate::modify::json::JsonInput;
use crate::modify::operation::{Action, Operation, Source, spec};
use crate::restrict::{Extent, Kind as StatementKind, Rules, Where};
use crate::syntax::ast;
use crate::term::{Markers, Preparing, Scope, Term};
use skep_engine::ColumnKind;
use skep_engine::model::schema::Column;
use std::sync::Arc;

/// What a newcomer is told of an INSERT without all of it.
const WHOLE_KEY: &str = "an INSERT names the whole primary key";

/// What a statement is prepared with.
pub struct Context<'a> {
    /// The schema.
    pub catalog: &'a Catalog,
    /// The session's keyspace.
    pub keyspace: Option<&'a str>,
    /// The statement's markers.
    pub markers: &'a mut Markers,
}

/// Which statement it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

/// What must hold for a conditional statement.
#[derive(Clone, Debug, Default)]
pub enum Conditions {
    /// Nothing: the statement is not conditional.
    #[default]
    None,
    /// IF EXISTS
    Exists,
    /// IF NOT EXISTS
    NotExists,
    /// IF column ...
    Columns(Vec<Condition>),
}

/// Which rows a statement writes to.
#[derive(Clone, Debug)]
pub enum Target {
    /// One row by the values of its key columns; clustering None: the static row.
    Row {
        /// Partition key.
        partition: Vec<Source>,
        /// Clustering.
        clustering: Option<Vec<Source>>,
    },
    /// Those of a WHERE.
    Where(Box<Where>),
}

/// A statement that writes.
#[derive(Clone, Debug)]
pub struct Modification {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Which statement.
    pub kind: Kind,
    /// USING.
    pub attributes: Attributes,
    /// What is done to a row; of a DELETE without columns nothing.
    pub regulars: Vec<Operation>,
    /// What is done to the static row.
    pub statics: Vec<Operation>,
    /// Which rows.
    pub target: Target,
    /// IF.
    pub conditions: Conditions,
    /// The object of an INSERT JSON.
    pub json: Option<JsonInput>,
}

impl Modification {
    /// Prepares an INSERT, UPDATE or DELETE.
    ///
    /// # Errors
    /// `Invalid` in Cassandra's words for what the statement cannot mean.
    pub fn prepare(statement: &ast::Statement, cx: &mut Context<'_>) -> Result<Self> {
        match statement {
            ast::Statement::Insert(insert) => prepare_insert(insert, cx),
            ast::Statement::Update(update) => prepare_update(update, cx),
            ast::Statement::Delete(delete) => prepare_delete(delete, cx),
            _ => Err(CqlError::new(
                Code::ServerError,
                "a statement that writes nothing was to be prepared as one",
            )),
        }
    }

    /// Refuses what no execution could do, whatever it is given.
    ///
    /// # Errors
    /// `Invalid` in Cassandra's words.
    pub fn validate(&self) -> Result<()> {
        let fail = |text: &str| Err(CqlError::invalid(text));
        if self.is_conditional() && self.attributes.has_timestamp() {
            return fail("Cannot provide custom timestamp for conditional updates");
        }
        if self.table.is_counter() {
            if self.attributes.has_timestamp() {
                return fail("Cannot provide custom timestamp for counter updates");
            }
            if self.attributes.has_ttl() {
                return fail("Cannot provide custom TTL for counter updates");
            }
            if self.is_conditional() {
                return fail("Conditional updates are not supported on counter tables");
            }
        }
        if self.table.is_view() {
            return fail("Cannot directly modify a materialized view");
        }
        Ok(())
    }

    /// Has IF.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        !matches!(self.conditions, Conditions::None)
    }

    /// A row (not only the static one) is written.
    #[must_use]
    pub fn updates_rows(&self) -> bool {
        match &self.target {
            Target::Row { clustering, .. } => clustering.is_some(),
            Target::Where(found) => self.table.schema.clustering().is_empty() || found.restricts_clustering(),
        }
    }

    /// An operation must know what is there.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.operations().any(Operation::reads)
    }

    /// An operation counts.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.operations().any(|op| matches!(op.action, Action::Increment(_) | Action::Decrement(_)))
    }

    /// The operations on rows, then those on the static row.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.regulars.iter().chain(&self.statics)
    }

    /// The columns of its conditions, regular ones first, in their order.
    pub fn condition_columns(&self) -> impl Iterator<Item = &Column> {
        let conditions = match &self.conditions {
            Conditions::Columns(conditions) => &conditions[..],
            _ => &[],
        };
        let of = |is_static: bool| conditions.iter().filter(move |c| c.is_static() == is_static);
        of(false).chain(of(true)).map(|condition| &condition.column)
    }
}

fn table(name: &ast::TableName, cx: &Context<'_>) -> Result<Arc<TableInfo>> {
    let keyspace = match &name.keyspace {
        Some(keyspace) => &keyspace.text,
        None => cx.keyspace.ok_or_else(|| {
            CqlError::invalid(
                "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename",
            )
        })?,
    };
    names::check_modifiable(keyspace).map_err(|error| error.at(name.name.place))?;
    cx.catalog.table(keyspace, &name.name.text).map_err(|error| error.at(name.name.place))
}

fn column<'a>(table: &'a TableInfo, name: &ast::Name) -> Result<&'a Column> {
    table.column(&name.text).map_err(|error| error.at(name.place))
}

fn is_key(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering(_))
}

/// Runs `prepare` with what terms of a statement on `table` need.
fn preparing<T>(
    table: &TableInfo,
    cx: &mut Context<'_>,
    prepare: impl FnOnce(&mut Preparing<'_>) -> Result<T>,
) -> Result<T> {
    let scope = Scope { types: cx.catalog, keyspace: table.keyspace(), table: Some(&table.schema) };
    prepare(&mut Preparing { scope, markers: cx.markers })
}

fn prepare_conditions(
    table: &TableInfo,
    conditions: &ast::Condition,
    attributes: &Attributes,
    cx: &mut Preparing<'_>,
) -> Result<Conditions> {
    let conditions = match conditions {
        ast::Condition::None => return Ok(Conditions::None),
        ast::Condition::Exists => return Ok(Conditions::Exists),
        ast::Condition::If(conditions) => conditions,
    };
    if attributes.has_timestamp() {
        return Err(CqlError::invalid("Cannot provide custom timestamp for conditional updates"));
    }
    let mut prepared = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let column = column(table, &condition.column)?;
        let made = Condition::prepare(&table.schema, column, condition, cx);
        prepared.push(made.map_err(|error| error.at(condition.column.place))?);
    }
    Ok(Conditions::Columns(prepared))
}

/// The WHERE of an UPDATE or DELETE.
fn prepare_where(
    table: &Arc<TableInfo>,
    kind: StatementKind,
    relations: &[ast::Relation],
    (regulars, statics): (&[Operation], &[Operation]),
    conditions: &Conditions,
    cx: &mut Preparing<'_>,
) -> Result<Where> {
    let contains = |relation: &ast::Relation| match relation.comparison {
        ast::Comparison::Contains => Some("CONTAINS"),
        ast::Comparison::ContainsKey => Some("CONTAINS KEY"),
        _ => None,
    };
    if let Some((relation, operator)) = relations.iter().find_map(|r| Some((r, contains(r)?))) {
        return Err(CqlError::invalid(format!("Cannot use {kind} with {operator}")).at(relation.place));
    }
    let of_row = |conditions: &Conditions, is_static: bool| match conditions {
        Conditions::Columns(conditions) => conditions.iter().any(|c| c.is_static() == is_static),
        _ => false,
    };
    let rows = !regulars.is_empty() || (kind == StatementKind::Delete && statics.is_empty());
    let only_statics =
        !rows && !of_row(conditions, false) && (!statics.is_empty() || of_row(conditions, true));
    let rules = Rules { kind, statics_only: only_statics, allow_filtering: false };
    Where::prepare(cx, table, relations, rules)
}

fn prepare_update(update: &ast::Update, cx: &mut Context<'_>) -> Result<Modification> {
    let table = table(&update.table, cx)?;
    let (attributes, conditions, regulars, statics, found) = preparing(&table, cx, |cx| {
        let schema = &table.schema;
        let attributes = Attributes::prepare(&update.using, Some(schema), cx)?;
        let conditions = prepare_conditions(&table, &update.condition, &attributes, cx)?;
        let (mut regulars, mut statics) = (Vec::new(), Vec::new());
        for assignment in &update.assignments {
            let column = column(&table, &assignment.column)?;
            if is_key(column) {
                let text = format!("PRIMARY KEY part {} found in SET part", column.name);
                return Err(CqlError::invalid(text).at(assignment.column.place));
            }
            let operation = Operation::assign(schema, column, assignment, cx);
            let operation = operation.map_err(|error| error.at(assignment.column.place))?;
            if operation.is_static() { statics.push(operation) } else { regulars.push(operation) }
        }
        let operations = (&regulars[..], &statics[..]);
        let found =
            prepare_where(&table, StatementKind::Update, &update.relations, operations, &conditions, cx)?;
        Ok((attributes, conditions, regulars, statics, found))
    })?;
    let target = Target::Where(Box::new(found));
    let kind = Kind::Update;
    let made = Modification { table, kind, attributes, regulars, statics, target, conditions, json: None };
    made.validate()?;
    Ok(made)
}

fn prepare_delete(delete: &ast::Delete, cx: &mut Context<'_>) -> Result<Modification> {
    let table = table(&delete.table, cx)?;
    let (attributes, conditions, regulars, statics, found) = preparing(&table, cx, |cx| {
        let schema = &table.schema;
        let attributes = Attributes::prepare(&delete.using, Some(schema), cx)?;
        let conditions = prepare_conditions(&table, &delete.condition, &attributes, cx)?;
        let (mut regulars, mut statics) = (Vec::new(), Vec::new());
        for (name, what) in &delete.columns {
            let column = column(&table, name)?;
            if is_key(column) {
                let text = format!(
                    "Invalid identifier {} for deletion (should not be a PRIMARY KEY part)",
                    column.name
                );
                return Err(CqlError::invalid(text).at(name.place));
            }
            let operation =
                Operation::delete(schema, column, what, cx).map_err(|error| error.at(name.place))?;
            if operation.is_static() { statics.push(operation) } else { regulars.push(operation) }
        }
        let operations = (&regulars[..], &statics[..]);
        let found =
            prepare_where(&table, StatementKind::Delete, &delete.relations, operations, &conditions, cx)?;
        Ok((attributes, conditions, regulars, statics, found))
    })?;
    let whole_key = found.extent() == Extent::Rows;
    let target = Target::Where(Box::new(found));
    let kind = Kind::Delete;
    let made = Modification { table, kind, attributes, regulars, statics, target, conditions, json: None };
    if made.is_conditional() && !whole_key {
        let text =
            "DELETE statements must restrict all PRIMARY KEY columns with equality relations in order to";
        if !made.regulars.is_empty() || made.statics.is_empty() {
            return Err(CqlError::invalid(format!("{text} delete non static columns")));
        }
        if made.condition_columns().any(|column| column.kind != ColumnKind::Static) {
            return Err(CqlError::invalid(format!("{text} use IF condition on non static columns")));
        }
    }
    made.validate()?;
    Ok(made)
}

fn prepare_insert(insert: &ast::Insert, cx: &mut Context<'_>) -> Result<Modification> {
    let table = table(&insert.table, cx)?;
    let made = preparing(&table, cx, |cx| {
        let attributes = Attributes::prepare(&insert.using, Some(&table.schema), cx)?;
        let conditions = if insert.if_not_exists { Conditions::NotExists } else { Conditions::None };
        if table.is_counter() {
            let text = "INSERT statements are not allowed on counter tables, use UPDATE instead";
            return Err(CqlError::invalid(text));
        }
        match &insert.values {
            ast::InsertValues::Columns(names, values) => {
                insert_columns(&table, names, values, attributes, conditions, cx)
            }
            ast::InsertValues::Json { json, default_unset } => {
                let json = JsonInput::prepare(&table, json, *default_unset, cx)?;
                Ok(insert_json(&table, json, attributes, conditions))
            }
        }
    })?;
    made.validate()?;
    Ok(made)
}

fn insert_columns(
    table: &Arc<TableInfo>,
    names: &[ast::Name],
    values: &[ast::Expr],
    attributes: Attributes,
    conditions: Conditions,
    cx: &mut Preparing<'_>,
) -> Result<Modification> {
    let schema = &table.schema;
    if names.len() != values.len() {
        return Err(CqlError::invalid("Unmatched column names/values"));
    }
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            return Err(CqlError::invalid("The column names contains duplicates").at(name.place));
        }
    }
    let mut keys: Vec<Option<Source>> = vec![None; schema.partition_key().len() + schema.clustering().len()];
    let (mut regulars, mut statics) = (Vec::new(), Vec::new());
    for (name, value) in names.iter().zip(values) {
        let column = column(table, name)?;
        if is_key(column) {
            let term = Term::prepare(value, &spec(schema, &column.name, column.ty.clone()), cx);
            let term = term.map_err(|error| error.at(name.place))?;
            let place = schema.columns().iter().position(|known| known.id == column.id);
            if let Some(slot) = place.and_then(|place| keys.get_mut(place)) {
                *slot = Some(Source::Term(term));
            }
            continue;
        }
        let operation = Operation::set(schema, column, value, cx).map_err(|error| error.at(name.place))?;
        if operation.is_static() { statics.push(operation) } else { regulars.push(operation) }
    }
    let clustering = keys.split_off(schema.partition_key().len());
    let partition = whole(keys, schema.partition_key()).map_err(|missing| {
        CqlError::invalid(format!("Some partition key parts are missing: {missing}")).hint(WHOLE_KEY)
    })?;
    // A write of static columns alone needs no clustering.
    let only_statics = clustering.iter().all(Option::is_none) && regulars.is_empty() && !statics.is_empty();
    let clustering = match only_statics && !schema.clustering().is_empty() {
        true => None,
        false => Some(whole(clustering, schema.clustering()).map_err(|missing| {
            CqlError::invalid(format!("Some clustering keys are missing: {missing}")).hint(WHOLE_KEY)
        })?),
    };
    let (table, kind) = (Arc::clone(table), Kind::Insert);
    let target = Target::Row { partition, clustering };
    // The engine takes cells in the order of their columns' numbers.
    regulars.sort_by_key(|operation| operation.column.id);
    statics.sort_by_key(|operation| operation.column.id);
    Ok(Modification { table, kind, attributes, regulars, statics, target, conditions, json: None })
}

fn whole(sources: Vec<Option<Source>>, columns: &[Column]) -> std::result::Result<Vec<Source>, String> {
    let missing = sources.iter().zip(columns).filter(|(source, _)| source.is_none());
    let missing: Vec<&str> = missing.map(|(_, column)| column.name.as_str()).collect();
    match missing.is_empty() {
        true => Ok(sources.into_iter().flatten().collect()),
        false => Err(missing.join(", ")),
    }
}

fn insert_json(
    table: &Arc<TableInfo>,
    json: JsonInput,
    attributes: Attributes,
    conditions: Conditions,
) -> Modification {
    let schema = &table.schema;
    let (keys, clusterings) = (schema.partition_key().len(), schema.clustering().len());
    let set = |(place, column): (usize, &Column)| Operation {
        column: column.clone(),
        action: Action::Set(Source::Json(place)),
    };
    let of_kind =
        |kind: ColumnKind| schema.columns().iter().enumerate().filter(move |(_, c)| c.kind == kind).map(set);
    let mut statics: Vec<Operation> = of_kind(ColumnKind::Static).collect();
    let mut regulars: Vec<Operation> = of_kind(ColumnKind::Regular).collect();
    regulars.sort_by_key(|operation| operation.column.id);
    statics.sort_by_key(|operation| operation.column.id);
    let target = Target::Row {
        partition: (0..keys).map(Source::Json).collect(),
        clustering: Some((keys..keys + clusterings).map(Source::Json).collect()),
    };
    let (table, kind) = (Arc::clone(table), Kind::Insert);
    Modification { table, kind, attributes, regulars, statics, target, conditions, json: Some(json) }
}
