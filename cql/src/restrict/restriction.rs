//! One restriction: what WHERE says of a column, or of several clustering columns at once.
//!
//! Made from relations by `relation`; several relations on one column become one restriction here ([`Restriction::merge`]): two ends of a
//! slice, several CONTAINS. What cannot stand together is refused in Cassandra's words.

use crate::error::{CqlError, Result};
use crate::term::Term;
use skep_engine::TableSchema;

/// What WHERE says of some columns.
#[derive(Clone, Debug)]
pub(crate) struct Restriction {
    /// Places in the schema's columns; of a multi-column relation, consecutive clustering columns.
    pub(crate) columns: Vec<usize>,
    /// How the columns were written.
    pub(crate) left: LeftKind,
    /// What they must be.
    pub(crate) test: Test,
}

/// The left sides that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftKind {
    /// One column.
    Single,
    /// `(a, b)`, `(a)` too.
    Multi,
    /// `token(a, b)`.
    Token,
}

/// What the columns must be.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// Equal.
    Eq(Operand),
    /// One of these.
    In(Operands),
    /// Between two ends.
    Slice(Slice),
    /// A collection with certain elements.
    Contains(Contains),
}

/// A value for each of the columns.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// One by one.
    Each(Vec<Term>),
    /// A marker that takes a tuple, of so many.
    Tuple(Term, usize),
}

/// The values of IN.
#[derive(Clone, Debug)]
pub(crate) enum Operands {
    /// As written.
    List(Vec<Operand>),
    /// A marker that takes a list: of values, or of tuples.
    Marker(Term),
}

/// Two ends, at least one of which is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slice {
    /// The lower one (by value, whatever the column's order).
    pub(crate) start: Option<End>,
    /// The upper one.
    pub(crate) end: Option<End>,
}

/// One end of a slice. Of a multi-column relation it may be of fewer columns than the other.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The value.
    pub(crate) operand: Operand,
    /// Whether the value itself is within.
    pub(crate) inclusive: bool,
}

/// What a collection must contain, all of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contains {
    /// CONTAINS
    pub(crate) values: Vec<Term>,
    /// CONTAINS KEY
    pub(crate) keys: Vec<Term>,
    /// m[key] = value
    pub(crate) entries: Vec<(Term, Term)>,
}

impl Contains {
    /// How many things are asked of the collection.
    pub(crate) fn len(&self) -> usize {
        self.values.len() + self.keys.len() + self.entries.len()
    }
}

impl Restriction {
    /// Its first column.
    pub(crate) fn first(&self) -> usize {
        self.columns.first().copied().unwrap_or(0)
    }

    /// Its last column.
    pub(crate) fn last(&self) -> usize {
        self.columns.last().copied().unwrap_or(0)
    }

    pub(crate) fn is_eq(&self) -> bool {
        matches!(self.test, Test::Eq(_))
    }

    pub(crate) fn is_in(&self) -> bool {
        matches!(self.test, Test::In(_))
    }

    pub(crate) fn is_slice(&self) -> bool {
        matches!(self.test, Test::Slice(_))
    }

    pub(crate) fn is_contains(&self) -> bool {
        matches!(self.test, Test::Contains(_))
    }

    /// Names of the columns, as messages have them.
    pub(crate) fn names(&self, schema: &TableSchema) -> String {
        names(schema, &self.columns)
    }

    /// This restriction and another one on (some of) its columns.
    ///
    /// # Errors
    /// If they cannot stand together.
    pub(crate) fn merge(self, other: Self, schema: &TableSchema) -> Result<Self> {
        let common: Vec<usize> = self.columns.iter().copied().filter(|c| other.columns.contains(c)).collect();
        let common = names(schema, &common);
        let fail = |text: String| Err(CqlError::invalid(text));
        match (self.test, other.test) {
            (Test::Eq(_), _) => fail(format!(
                "{common} cannot be restricted by more than one relation if it includes an Equal"
            )),
            (Test::In(_), _) => {
                fail(format!("{common} cannot be restricted by more than one relation if it includes a IN"))
            }
            (Test::Contains(mut all), Test::Contains(more)) => {
                all.values.extend(more.values);
                all.keys.extend(more.keys);
                all.entries.extend(more.entries);
                Ok(Self { test: Test::Contains(all), ..other_fields(self.columns, self.left) })
            }
            (Test::Contains(_), _) => fail(format!(
                "Collection column {common} can only be restricted by CONTAINS, CONTAINS KEY, or map-entry equality"
            )),
            (Test::Slice(mine), Test::Slice(theirs)) => {
                let (first, other_first) = (self.columns.first(), other.columns.first());
                if first != other_first {
                    let later = names(schema, &[*first.max(other_first).unwrap_or(&0)]);
                    return fail(format!(
                        "Column \"{later}\" cannot be restricted by two inequalities not starting with the same column"
                    ));
                }
                let twice = |which: &str| {
                    fail(format!("More than one restriction was found for the {which} bound on {common}"))
                };
                if mine.start.is_some() && theirs.start.is_some() {
                    return twice("start");
                }
                if mine.end.is_some() && theirs.end.is_some() {
                    return twice("end");
                }
                let columns =
                    if self.columns.len() >= other.columns.len() { self.columns } else { other.columns };
                let left = if self.left == LeftKind::Single { other.left } else { self.left };
                let slice = Slice { start: mine.start.or(theirs.start), end: mine.end.or(theirs.end) };
                Ok(Self { columns, left, test: Test::Slice(slice) })
            }
            (Test::Slice(_), _) => {
                let word = if self.left == LeftKind::Token { "Columns" } else { "Column" };
                fail(format!(
                    "{word} \"{common}\" cannot be restricted by both an equality and an inequality relation"
                ))
            }
        }
    }
}

/// The parts of a restriction beside its test.
fn other_fields(columns: Vec<usize>, left: LeftKind) -> Restriction {
    Restriction { columns, left, test: Test::Contains(Contains::default()) }
}

/// Names of columns with commas between.
pub(crate) fn names(schema: &TableSchema, columns: &[usize]) -> String {
    let names: Vec<&str> =
        columns.iter().filter_map(|i| schema.columns().get(*i)).map(|column| column.name.as_str()).collect();
    names.join(", ")
}
