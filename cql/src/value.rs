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

/// The type in the words of Cassandra's errors: a tuple is always `frozen<tuple<...>>`.
#[must_use]
pub fn type_name(ty: &CqlType) -> String {
    match ty {
        CqlType::List(inner) => format!("list<{}>", type_name(inner)),
        CqlType::Set(inner) => format!("set<{}>", type_name(inner)),
        CqlType::Map(key, value) => format!("map<{}, {}>", type_name(key), type_name(value)),
        CqlType::Vector(inner, dimension) => format!("vector<{}, {dimension}>", type_name(inner)),
        CqlType::Tuple(fields) => {
            let fields: Vec<String> = fields.iter().map(type_name).collect();
            format!("frozen<tuple<{}>>", fields.join(", "))
        }
        CqlType::Frozen(inner) if inner.is_multicell() => format!("frozen<{}>", type_name(inner)),
        CqlType::Frozen(inner) => type_name(inner),
        simple => simple.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_frozen_and_nothing_is_twice() {
        let tuple = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
        assert_eq!(type_name(&tuple), "frozen<tuple<int, text>>");
        assert_eq!(type_name(&CqlType::Frozen(Box::new(tuple.clone()))), "frozen<tuple<int, text>>");
        assert_eq!(type_name(&CqlType::List(Box::new(tuple))), "list<frozen<tuple<int, text>>>");
        assert_eq!(type_name(&CqlType::List(Box::new(CqlType::Int)).freeze()), "frozen<list<int>>");
        assert_eq!(type_name(&CqlType::Vector(Box::new(CqlType::Float), 3)), "vector<float, 3>");
    }
}
