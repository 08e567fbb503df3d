//! One version of a value in words: what it is of, its value, its times, where it is, and what became of it.
//!
//! Used by EXPLAIN VALUE and by the command line.

use crate::catalog::types::name;
use crate::error::Result;
use crate::restrict::operand::literal;
use skep_engine::encoding::path;
use skep_engine::model::clustering::Clustering;
use skep_engine::model::codec;
use skep_engine::model::life::NEVER;
use skep_engine::model::schema::Column;
use skep_engine::read::explain::SourceName;
use skep_engine::read::why::{Part, Verdict, Version};
use skep_engine::{CqlType, TableSchema, Timestamp};

/// A version in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The column, with the element in brackets; or which deletion.
    pub what: String,
    /// The value as CQL writes it; None of deletions, markers, tombstones and elements of sets.
    pub value: Option<String>,
    /// Whether it says that there is no value.
    pub is_tombstone: bool,
    /// Write time, micros.
    pub written: i64,
    /// Seconds to live.
    pub ttl: Option<i32>,
    /// Second of expiry, or in which a deletion was made.
    pub local: Option<i64>,
    /// Which memtable or file has it.
    pub source: SourceName,
    /// Whether a reader sees it.
    pub seen: bool,
    /// What became of it, and by which rule.
    pub verdict: String,
}

impl Line {
    /// Words a version.
    ///
    /// # Errors
    /// A path that is none of its column's type.
    pub fn new(version: &Version, schema: &TableSchema) -> Result<Self> {
        let value = shown(version, schema)?;
        let is_cell = matches!(version.part, Part::Cell(_) | Part::Element(..));
        let verdict = match &version.verdict {
            Verdict::Expired(at) => format!("expired at {}", second(*at)),
            other => other.to_string(),
        };
        Ok(Self {
            what: what(&version.part, schema)?,
            is_tombstone: is_cell && version.value.is_none(),
            value,
            written: version.timestamp,
            ttl: (version.ttl != 0).then_some(version.ttl),
            local: (version.local != NEVER).then_some(version.local),
            source: version.source,
            seen: version.verdict == Verdict::Seen,
            verdict,
        })
    }

    /// The value, or the word for its lack.
    #[must_use]
    pub fn value_or_word(&self) -> Option<&str> {
        match self.is_tombstone {
            true => Some("tombstone"),
            false => self.value.as_deref(),
        }
    }
}

/// A second as a point in time.
fn second(second: i64) -> String {
    Timestamp::from_millis(second.saturating_mul(1000)).to_string()
}

/// The column of a part, dropped ones too.
fn column<'s>(part: &Part, schema: &'s TableSchema) -> Option<&'s Column> {
    let id = part.column()?;
    let dropped = || schema.dropped().iter().map(|dropped| &dropped.column).find(|column| column.id == id);
    schema.column_by_id(id).or_else(dropped)
}

/// The column, with the element in brackets.
fn what(part: &Part, schema: &TableSchema) -> Result<String> {
    let Some(column) = column(part, schema) else { return Ok(part.to_string()) };
    let shown = name(&column.name);
    Ok(match part {
        Part::Collection(_) => format!("{shown}: {part}"),
        Part::Element(_, at) => format!("{shown}{}", element(&column.ty, at)?),
        _ => shown,
    })
}

fn element(ty: &CqlType, at: &Clustering) -> Result<String> {
    let shown = |of: &CqlType| -> Result<String> { Ok(literal(&path::wire(at, of)?, of)) };
    Ok(match ty.unfrozen() {
        CqlType::Set(of) | CqlType::Map(of, _) => format!("[{}]", shown(of)?),
        CqlType::Udt(_) => format!(".{}", field(ty, at)?.map_or("?".to_owned(), |(field, _)| name(field))),
        _ => format!("[{}]", shown(&CqlType::Timeuuid)?),
    })
}

/// The field of a user type that a path means.
fn field<'t>(ty: &'t CqlType, at: &Clustering) -> Result<Option<(&'t str, &'t CqlType)>> {
    let CqlType::Udt(udt) = ty.unfrozen() else { return Ok(None) };
    let number = codec::decode(&path::wire(at, &CqlType::Smallint)?, &CqlType::Smallint)?.as_i64();
    let field = number.and_then(|number| udt.fields.get(usize::try_from(number).ok()?));
    Ok(field.map(|(field, ty)| (field.as_str(), ty)))
}

/// The value as text; a set's elements are their own paths and have none.
fn shown(version: &Version, schema: &TableSchema) -> Result<Option<String>> {
    let (Some(bytes), Some(column)) = (&version.value, column(&version.part, schema)) else {
        return Ok(None);
    };
    let ty = match (&version.part, column.ty.unfrozen()) {
        (Part::Element(..), CqlType::Set(_)) => return Ok(None),
        (Part::Element(..), CqlType::List(of) | CqlType::Map(_, of)) => &**of,
        (Part::Element(_, at), ty @ CqlType::Udt(_)) => match field(ty, at)? {
            Some((_, of)) => of,
            None => &CqlType::Blob,
        },
        _ => &column.ty,
    };
    // What a column of another type left behind is no value of this one: `literal` gives its bytes then.
    Ok(Some(literal(bytes, ty)))
}
