//! How indexes, views and masks are stored: as the CQL that makes them, among the options of the engine's tables.
//!
//! Names that begin with `#` are no table options: `#index:NAME` of a base table is the CREATE INDEX, `#view` of a view's table the CREATE
//! MATERIALIZED VIEW, `#mask:COLUMN` the masking call, `#id` the table's UUID where one was given, `#hidden` of an index's own table the name
//! of the index. So a change of the schema is one record of the engine's manifest, whatever it touches, and a person who looks into a store
//! reads statements. DESCRIBE writes the definitions as statements of their own and leaves these options out.

use crate::catalog::table::{IndexDef, IndexKind, TableInfo, ViewDef};
use crate::error::{Code, CqlError, Result};
use crate::syntax::ast::{CreateIndex, CreateView, Expr, IndexPart, OptionValue, Statement};
use crate::syntax::{parse, print};
use skep_engine::{ColumnKind, CqlType, Schema, TableOptions, TableSchema, Uuid};
use std::collections::BTreeMap;

/// Prefix of an index's option.
pub const INDEX: &str = "#index:";
/// Prefix of a mask's option.
pub const MASK: &str = "#mask:";
/// Option of a view.
pub const VIEW: &str = "#view";
/// Option of a table's UUID.
pub const ID: &str = "#id";
/// Option of a table that holds an index.
pub const HIDDEN: &str = "#hidden";

/// Prefix of the mark of an index (`#filling:NAME` of its table) or view (`#filling:` of its own) that is not filled yet.
const FILLING: &str = "#filling:";

/// Names by which storage-attached indexes are made.
const SAI: [&str; 3] = ["sai", "storageattachedindex", "org.apache.cassandra.index.sai.storageattachedindex"];

/// Names by which the first kind of indexes is made.
const LEGACY: [&str; 2] = ["legacy_local_table", "org.apache.cassandra.index.internal.cassandraindex"];

/// The kind of index that a class means; none gives the first kind.
#[must_use]
pub fn kind_of(class: Option<&str>) -> Option<IndexKind> {
    let Some(class) = class else { return Some(IndexKind::Legacy) };
    let lower = class.to_lowercase();
    match lower.as_str() {
        name if SAI.contains(&name) => Some(IndexKind::Sai),
        name if LEGACY.contains(&name) => Some(IndexKind::Legacy),
        _ => None,
    }
}

/// The definition in a CREATE INDEX that was checked and has its name and one target.
#[must_use]
pub fn index_of(statement: &CreateIndex) -> Option<IndexDef> {
    let (column, part) = statement.targets.first()?;
    let options = statement.options.iter().find_map(|(name, value)| match value {
        OptionValue::Map(map) if name.text.eq_ignore_ascii_case("options") => {
            Some(map.iter().cloned().collect())
        }
        _ => None,
    });
    Some(IndexDef {
        name: statement.name.as_ref()?.name.text.clone(),
        kind: kind_of(statement.using.as_deref())?,
        column: column.text.clone(),
        part: *part,
        custom: statement.custom,
        class: statement.using.clone(),
        options: options.unwrap_or_default(),
    })
}

/// Puts an index among a table's options.
pub fn put_index(options: &mut TableOptions, statement: &CreateIndex) {
    if let Some(name) = &statement.name {
        let text = print::statement(&Statement::CreateIndex(statement.clone()));
        options.other.insert(format!("{INDEX}{}", name.name.text), text);
    }
}

/// Puts what makes a table a view among its options.
pub fn put_view(options: &mut TableOptions, statement: &CreateView) {
    options.other.insert(VIEW.to_owned(), print::statement(&Statement::CreateView(statement.clone())));
}

/// Puts a column's mask among a table's options, or takes it out.
pub fn put_mask(options: &mut TableOptions, column: &str, mask: Option<&Expr>) {
    let name = format!("{MASK}{column}");
    match mask {
        Some(mask) => options.other.insert(name, print::expr(mask)),
        None => options.other.remove(&name),
    };
}

/// The CREATE INDEX statements of a table by the indexes' names.
///
/// # Errors
/// `ServerError` if a stored statement cannot be read, naming table and index.
pub fn index_statements(schema: &TableSchema) -> Result<BTreeMap<String, CreateIndex>> {
    let stored =
        schema.options.other.iter().filter_map(|(name, text)| Some((name.strip_prefix(INDEX)?, text)));
    let read = stored.map(|(name, text)| match parse(text).map(|parsed| parsed.statement) {
        Ok(Statement::CreateIndex(statement)) => Ok((name.to_owned(), statement)),
        other => Err(unreadable(schema, &format!("index {name}"), text, other.err())),
    });
    read.collect()
}

/// What makes the table a view, if it is one.
///
/// # Errors
/// As [`index_statements`].
pub fn view_of(schema: &TableSchema) -> Result<Option<ViewDef>> {
    let Some(text) = schema.options.other.get(VIEW) else { return Ok(None) };
    match parse(text).map(|parsed| parsed.statement) {
        Ok(Statement::CreateView(statement)) => Ok(Some(ViewDef {
            base: statement.base.name.text.clone(),
            all_columns: statement.selectors.is_empty(),
            relations: statement.relations.clone(),
            statement,
        })),
        other => Err(unreadable(schema, "view", text, other.err())),
    }
}

/// The masks of a table's columns.
///
/// # Errors
/// As [`index_statements`].
pub fn masks_of(schema: &TableSchema) -> Result<BTreeMap<String, Expr>> {
    let stored =
        schema.options.other.iter().filter_map(|(name, text)| Some((name.strip_prefix(MASK)?, text)));
    let read = stored.map(|(column, text)| {
        match parse(&format!("SELECT {text} FROM t")).map(|parsed| parsed.statement) {
            Ok(Statement::Select(mut select)) if select.selectors.len() == 1 => {
                let call = select.selectors.pop().map(|(call, _)| call);
                call.map(|call| (column.to_owned(), call))
                    .ok_or_else(|| unreadable(schema, "mask", text, None))
            }
            other => Err(unreadable(schema, &format!("mask of {column}"), text, other.err())),
        }
    });
    read.collect()
}

/// The UUID of a table: the one that it was made with, else one that its keyspace, name and number give.
#[must_use]
pub fn uuid_of(schema: &TableSchema) -> Uuid {
    let stored = schema.options.other.get(ID).and_then(|text| Uuid::parse(text).ok());
    stored.unwrap_or_else(|| {
        // Version 4 in form; the same at every opening, and another for a table that was dropped and made again.
        let text = format!("{}\0{}\0{}", schema.keyspace, schema.name, schema.id.0);
        let (mut high, mut low) = (0xcbf2_9ce4_8422_2325_u64, 0x8422_2325_cbf2_9ce4_u64);
        for byte in text.bytes() {
            high = (high ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            low = (low.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let number = (u128::from(high) << 64) | u128::from(low);
        let number = number & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
        Uuid(number.to_be_bytes())
    })
}

/// Marks an index of a table as not filled yet; with an empty name, a view.
pub fn put_mark(options: &mut TableOptions, index: &str) {
    options.other.insert(format!("{FILLING}{index}"), String::new());
}

/// Takes all such marks away.
pub fn take_marks(options: &mut TableOptions) {
    options.other.retain(|name, _| !name.starts_with(FILLING));
}

/// Whether a view or an index of a table is not filled.
#[must_use]
pub fn is_unfinished(schema: &TableSchema) -> bool {
    schema.options.other.keys().any(|name| name.starts_with(FILLING))
}

/// Whether this index of a table is not filled.
#[must_use]
pub fn is_index_unfinished(schema: &TableSchema, index: &str) -> bool {
    schema.options.other.contains_key(&format!("{FILLING}{index}"))
}

/// Whether a table is an index's own, which CQL does not show.
#[must_use]
pub fn is_hidden(schema: &TableSchema) -> bool {
    schema.options.other.contains_key(HIDDEN)
}

/// The name of the table that holds an index. No statement can name it.
#[must_use]
pub fn index_table(index: &str) -> String {
    format!("{index}#index")
}

/// The part that is indexed where none was named: the values of a collection.
#[must_use]
pub fn actual_part(part: IndexPart, collection: bool) -> IndexPart {
    if part == IndexPart::Simple && collection { IndexPart::Values } else { part }
}

fn unreadable(schema: &TableSchema, what: &str, text: &str, error: Option<CqlError>) -> CqlError {
    let cause =
        error.map_or_else(|| "it is another statement".to_owned(), |error| error.message().to_owned());
    CqlError::new(
        Code::ServerError,
        format!("the stored definition of {what} of {} cannot be read: {cause}: {text}", schema.full_name()),
    )
}

/// The type of what an index is on: the column's, its elements', its keys' or, for entries, key and value together.
#[must_use]
pub fn indexed_type(column: &CqlType, part: IndexPart) -> CqlType {
    match (column, part) {
        (CqlType::List(element) | CqlType::Set(element), IndexPart::Values) => CqlType::clone(element),
        (CqlType::Map(_, value), IndexPart::Values) => CqlType::clone(value),
        (CqlType::Map(key, _), IndexPart::Keys) => CqlType::clone(key),
        (CqlType::Map(key, value), IndexPart::Entries) => {
            CqlType::Tuple(vec![CqlType::clone(key), CqlType::clone(value)])
        }
        (whole, _) => whole.clone(),
    }
}

/// The table that holds an index on `table`: an entry says that a row of a partition had a value.
///
/// ```text
/// legacy  partition key: value (its bytes; of zero bytes alone, with one more)   clustering: token, key, clustering columns of the indexed table, expiry
/// sai     partition key: shard (0)           clustering: value (by its order), token, key, clustering columns, expiry
/// ```
/// `expiry` is the second at which the value was to expire, 0 for never: values written with different lives have entries of their own, none of
/// which can cut another's short.
///
/// `token` and `key` are those of the row's partition, so that entries of one value come in the order of a scan. The clustering columns are
/// named `c0`, `c1`, ... and keep type and direction; an index on a static column or on part of the partition key has none.
///
/// # Errors
/// `Invalid` if values of the type cannot be ordered.
pub fn index_schema(table: &TableInfo, index: &IndexDef) -> Result<Schema> {
    let column = table.column(&index.column)?;
    let value = indexed_type(&column.ty, index.part);
    let mut options = TableOptions { gc_grace_seconds: 0, ..TableOptions::default() };
    options.other.insert(HIDDEN.to_owned(), index.name.clone());
    let schema = Schema::table(&index_table(&index.name)).keyspace(table.keyspace()).options(options);
    let schema = match index.kind {
        IndexKind::Legacy => schema.partition_key("value", CqlType::Blob),
        IndexKind::Sai if !value.may_be_key() => {
            return Err(CqlError::invalid(format!("Unsupported type: {value}")));
        }
        IndexKind::Sai => schema.partition_key("shard", CqlType::Int).clustering("value", value),
    };
    let mut schema = schema.clustering("token", CqlType::Bigint).clustering("key", CqlType::Blob);
    if !matches!(column.kind, ColumnKind::Static | ColumnKind::PartitionKey) {
        for (i, clustering) in table.schema.clustering().iter().enumerate() {
            schema = schema.declare(&format!("c{i}"), clustering.ty.clone(), clustering.kind);
        }
    }
    Ok(schema.clustering("expiry", CqlType::Bigint))
}
