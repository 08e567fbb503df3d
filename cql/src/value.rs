//! Values on their way through CQL: bytes in the protocol's serialisation, with their type known from elsewhere.
//!
//! Cassandra's functions, comparisons and conversions are defined on these bytes, and the engine stores them; so they are decoded only where
//! an operation needs the number or text in them.

use skep_engine::CqlType;
use skep_engine::model::bytes::Bytes;

/// A value, or null.
pub type Wire = Option<Bytes>;

/// What a bind marker was given, or a term came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Not set: an assignment does nothing.
    Unset,
    /// Null.
    Null,
    /// A value.
    Value(Bytes),
}

impl Bound {
    /// The value of one that is set.
    #[must_use]
    pub fn from_wire(wire: Wire) -> Self {
        wire.map_or(Self::Null, Self::Value)
    }
}

/// Name and type of a result column, of a bind marker, or of whatever takes a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSpec {
    /// Keyspace of the table (or function).
    pub keyspace: String,
    /// The table.
    pub table: String,
    /// The name.
    pub name: String,
    /// The type.
    pub ty: CqlType,
}
