//! The CQL types: what a column can hold.
//!
//! The schema holds a [`CqlType`] per column; `codec` reads and writes values by it, `compare` and `encoding::order`
//! sort by it. `type_text` parses the text that [`CqlType`]'s `Display` writes, `type_codec` is the form in files.
//!
//! # Invariants
//! 1. A type that came from text or from a file nests at most [`MAX_DEPTH`] levels, so that every recursion over a
//!    type ends early.
//! 2. A tuple and a vector are always one cell, `frozen` or not; a list, set, map or user type is one cell only when frozen.

use std::fmt;
use std::sync::Arc;

/// How deeply types may nest. Cassandra has no limit of its own; nobody comes near this one.
pub const MAX_DEPTH: usize = 32;

/// The type of a column, of an element or of a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CqlType {
    /// Text of bytes below 0x80.
    Ascii,
    /// 64-bit signed integer.
    Bigint,
    /// Any bytes.
    Blob,
    /// True or false.
    Boolean,
    /// A 64-bit sum that is only incremented.
    Counter,
    /// A day; unsigned 32 bits, 1970-01-01 being 2^31.
    Date,
    /// A decimal fraction of any size: unscaled integer and 32-bit scale.
    Decimal,
    /// 64-bit IEEE float.
    Double,
    /// Months, days and nanoseconds, not comparable.
    Duration,
    /// 32-bit IEEE float.
    Float,
    /// An IPv4 or IPv6 address.
    Inet,
    /// 32-bit signed integer.
    Int,
    /// 16-bit signed integer.
    Smallint,
    /// UTF-8 text; `varchar` is another name of it.
    Text,
    /// Nanoseconds since midnight.
    Time,
    /// Milliseconds since the epoch.
    Timestamp,
    /// A version 1 UUID, ordered by its time.
    Timeuuid,
    /// 8-bit signed integer.
    Tinyint,
    /// Any UUID.
    Uuid,
    /// Integer of any size.
    Varint,
    /// Elements in the order they were given.
    List(Box<CqlType>),
    /// Distinct elements, sorted.
    Set(Box<CqlType>),
    /// Values by distinct, sorted keys.
    Map(Box<CqlType>, Box<CqlType>),
    /// A fixed number of fields without names, each of which may be null.
    Tuple(Vec<CqlType>),
    /// Named fields, each of which may be null.
    Udt(Arc<UdtType>),
    /// A fixed number of elements, none null.
    Vector(Box<CqlType>, u32),
    /// A collection or user type stored as one value.
    Frozen(Box<CqlType>),
}

/// A user-defined type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UdtType {
    /// The keyspace that owns it.
    pub keyspace: String,
    /// Its name, case kept.
    pub name: String,
    /// Name and type of each field, in the order of declaration, which is the order of storage.
    pub fields: Vec<(String, CqlType)>,
}

impl UdtType {
    /// The type with the user type `new` replaced in its fields, at any depth; `None` if none has it.
    #[must_use]
    pub fn with_udt(&self, new: &Arc<Self>) -> Option<Self> {
        let has = |ty: &CqlType| ty.uses_type(&new.keyspace, &new.name);
        if !self.fields.iter().any(|(_, ty)| has(ty)) {
            return None;
        }
        let replaced =
            |(name, ty): &(String, CqlType)| (name.clone(), ty.with_udt(new).unwrap_or_else(|| ty.clone()));
        let fields = self.fields.iter().map(replaced).collect();
        Some(Self { fields, ..self.clone() })
    }
}

/// The types that have neither parameters nor fields: name and type.
pub const SIMPLE: [(&str, CqlType); 20] = [
    ("ascii", CqlType::Ascii),
    ("bigint", CqlType::Bigint),
    ("blob", CqlType::Blob),
    ("boolean", CqlType::Boolean),
    ("counter", CqlType::Counter),
    ("date", CqlType::Date),
    ("decimal", CqlType::Decimal),
    ("double", CqlType::Double),
    ("duration", CqlType::Duration),
    ("float", CqlType::Float),
    ("inet", CqlType::Inet),
    ("int", CqlType::Int),
    ("smallint", CqlType::Smallint),
    ("text", CqlType::Text),
    ("time", CqlType::Time),
    ("timestamp", CqlType::Timestamp),
    ("timeuuid", CqlType::Timeuuid),
    ("tinyint", CqlType::Tinyint),
    ("uuid", CqlType::Uuid),
    ("varint", CqlType::Varint),
];

impl CqlType {
    /// `frozen<self>`; a type that is frozen already stays as it is.
    #[must_use]
    pub fn freeze(self) -> Self {
        match self {
            Self::Frozen(_) => self,
            other => Self::Frozen(Box::new(other)),
        }
    }

    /// The type without its outer `frozen<>`.
    #[must_use]
    pub fn unfrozen(&self) -> &Self {
        match self {
            Self::Frozen(inner) => inner.unfrozen(),
            other => other,
        }
    }

    /// A list, set or map, frozen or not.
    #[must_use]
    pub fn is_collection(&self) -> bool {
        matches!(self.unfrozen(), Self::List(_) | Self::Set(_) | Self::Map(..))
    }

    /// Whether a column of it is many cells: a list, set, map or user type that is not frozen (invariant 2).
    #[must_use]
    pub fn is_multicell(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(..) | Self::Udt(_))
    }

    /// Whether it is a counter.
    #[must_use]
    pub fn is_counter(&self) -> bool {
        matches!(self.unfrozen(), Self::Counter)
    }

    /// Bytes of every non-empty value, where they are always the same number.
    #[must_use]
    pub fn fixed_width(&self) -> Option<usize> {
        match self {
            Self::Tinyint => Some(1),
            Self::Smallint => Some(2),
            Self::Date => Some(4),
            Self::Time | Self::Counter => Some(8),
            other => other.width_in_vector(),
        }
    }

    /// The width of an element of this type in a vector that stores its elements without lengths. Cassandra writes
    /// lengths for `tinyint`, `smallint`, `date` and `time` too, although their width is fixed.
    #[must_use]
    pub fn width_in_vector(&self) -> Option<usize> {
        match self {
            Self::Boolean => Some(1),
            Self::Int | Self::Float => Some(4),
            Self::Bigint | Self::Double | Self::Timestamp => Some(8),
            Self::Uuid | Self::Timeuuid => Some(16),
            Self::Vector(element, dimension) => {
                element.width_in_vector()?.checked_mul(usize::try_from(*dimension).ok()?)
            }
            Self::Frozen(inner) => inner.width_in_vector(),
            _ => None,
        }
    }

    /// Whether a zero-length value is legal. For tuples and user types it is one without any field.
    #[must_use]
    pub fn allows_empty(&self) -> bool {
        !matches!(
            self.unfrozen(),
            Self::Smallint
                | Self::Tinyint
                | Self::Date
                | Self::Time
                | Self::Duration
                | Self::List(_)
                | Self::Set(_)
                | Self::Map(..)
                | Self::Vector(..)
        )
    }

    /// Whether a zero-length value is an ordinary one of the type (`''`, `0x`) and no special case.
    #[must_use]
    pub fn is_stringlike(&self) -> bool {
        matches!(self.unfrozen(), Self::Ascii | Self::Text | Self::Blob)
    }

    /// Whether a column of a primary key may have it: no counter, no duration at any depth, nothing of many cells.
    #[must_use]
    pub fn may_be_key(&self) -> bool {
        !self.is_multicell() && !self.any(&|inner| matches!(inner, Self::Duration | Self::Counter))
    }

    /// Whether `test` holds for it or for any type inside it.
    pub fn any(&self, test: &dyn Fn(&Self) -> bool) -> bool {
        test(self)
            || match self {
                Self::List(inner) | Self::Set(inner) | Self::Vector(inner, _) | Self::Frozen(inner) => {
                    inner.any(test)
                }
                Self::Map(key, value) => key.any(test) || value.any(test),
                Self::Tuple(fields) => fields.iter().any(|field| field.any(test)),
                Self::Udt(udt) => udt.fields.iter().any(|(_, field)| field.any(test)),
                _ => false,
            }
    }

    /// Whether the bytes of every value of `old` are valid for, and read by, this type: what a dropped column that is
    /// added again needs. The same type, apart from `frozen` inside it; blob reads everything, text reads ascii, varint reads
    /// int and bigint, uuid reads timeuuid, and bigint and timestamp read each other.
    #[must_use]
    pub fn reads_values_of(&self, old: &Self) -> bool {
        if self.is_multicell() != old.is_multicell() || self.is_counter() != old.is_counter() {
            return false;
        }
        match (self.unfrozen(), old.unfrozen()) {
            (new, old) if new == old => true,
            (Self::Blob, _)
            | (Self::Text, Self::Ascii)
            | (Self::Varint, Self::Int | Self::Bigint)
            | (Self::Uuid, Self::Timeuuid)
            | (Self::Bigint, Self::Timestamp)
            | (Self::Timestamp, Self::Bigint) => !old.is_multicell(),
            (Self::List(new), Self::List(old)) => new.reads_values_of(old),
            _ => false,
        }
    }

    /// Whether it is the user type of this keyspace and name, or contains it.
    #[must_use]
    pub fn uses_type(&self, keyspace: &str, name: &str) -> bool {
        self.any(&|inner| matches!(inner, Self::Udt(udt) if udt.keyspace == keyspace && udt.name == name))
    }

    /// The type with every occurrence of a user type (the one of the same keyspace and name, at any depth) replaced by
    /// `new`; `None` if there is none.
    #[must_use]
    pub fn with_udt(&self, new: &Arc<UdtType>) -> Option<Self> {
        if !self.uses_type(&new.keyspace, &new.name) {
            return None;
        }
        let replaced = |inner: &Self| inner.with_udt(new).unwrap_or_else(|| inner.clone());
        let boxed = |inner: &Self| Box::new(replaced(inner));
        Some(match self {
            Self::List(inner) => Self::List(boxed(inner)),
            Self::Set(inner) => Self::Set(boxed(inner)),
            Self::Vector(inner, dimension) => Self::Vector(boxed(inner), *dimension),
            Self::Frozen(inner) => Self::Frozen(boxed(inner)),
            Self::Map(key, value) => Self::Map(boxed(key), boxed(value)),
            Self::Tuple(fields) => Self::Tuple(fields.iter().map(replaced).collect()),
            Self::Udt(udt) if udt.keyspace == new.keyspace && udt.name == new.name => {
                Self::Udt(Arc::clone(new))
            }
            Self::Udt(udt) => Self::Udt(Arc::new(udt.with_udt(new).unwrap_or_else(|| UdtType::clone(udt)))),
            simple => simple.clone(),
        })
    }

    /// Levels of nesting: 1 for a simple type.
    #[must_use]
    pub fn depth(&self) -> usize {
        1 + match self {
            Self::List(inner) | Self::Set(inner) | Self::Vector(inner, _) | Self::Frozen(inner) => {
                inner.depth()
            }
            Self::Map(key, value) => key.depth().max(value.depth()),
            Self::Tuple(fields) => fields.iter().map(Self::depth).max().unwrap_or(0),
            Self::Udt(udt) => udt.fields.iter().map(|(_, field)| field.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }
}

impl fmt::Display for CqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(inner) => write!(f, "list<{inner}>"),
            Self::Set(inner) => write!(f, "set<{inner}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Vector(inner, dimension) => write!(f, "vector<{inner}, {dimension}>"),
            Self::Frozen(inner) => write!(f, "frozen<{inner}>"),
            Self::Udt(udt) => write_identifier(f, &udt.name),
            Self::Tuple(fields) => {
                f.write_str("tuple<")?;
                for (i, field) in fields.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    field.fmt(f)?;
                }
                f.write_str(">")
            }
            simple => {
                let name = SIMPLE.iter().find(|(_, known)| known == simple).map_or("", |(name, _)| name);
                f.write_str(name)
            }
        }
    }
}

/// Writes an identifier as CQL needs it: bare when it is `[a-z][a-z0-9_]*`, else in double quotes.
pub(crate) fn write_identifier(f: &mut impl fmt::Write, name: &str) -> fmt::Result {
    let bare = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if bare { f.write_str(name) } else { write!(f, "\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(of: CqlType) -> CqlType {
        CqlType::List(Box::new(of))
    }

    #[test]
    fn only_unfrozen_collections_are_many_cells() {
        assert!(list(CqlType::Int).is_multicell());
        assert!(!list(CqlType::Int).freeze().is_multicell());
        assert!(!CqlType::Tuple(vec![CqlType::Int]).is_multicell());
        assert!(list(CqlType::Int).freeze().may_be_key());
        assert!(!list(CqlType::Int).may_be_key());
        assert!(!list(CqlType::Duration).freeze().may_be_key());
    }

    #[test]
    fn a_user_type_is_replaced_wherever_it_stands() {
        let udt = |name: &str, ty: CqlType| {
            Arc::new(UdtType { keyspace: "ks".into(), name: name.into(), fields: vec![("x".into(), ty)] })
        };
        let (old, new) = (udt("t", CqlType::Int), udt("t", CqlType::Text));
        let around = |t: &Arc<UdtType>| {
            let outer = udt("outer", CqlType::Udt(t.clone()).freeze());
            let map = CqlType::Map(Box::new(CqlType::Int), Box::new(CqlType::Udt(outer)));
            CqlType::Tuple(vec![CqlType::Blob, list(map.freeze())])
        };
        assert_eq!(around(&old).with_udt(&new), Some(around(&new)));
        assert!(around(&old).uses_type("ks", "t") && !around(&old).uses_type("other", "t"));
        assert_eq!(around(&old).with_udt(&udt("other", CqlType::Text)), None);
    }

    #[test]
    fn a_vector_of_small_integers_has_no_fixed_width() {
        assert_eq!(CqlType::Vector(Box::new(CqlType::Float), 3).fixed_width(), Some(12));
        assert_eq!(CqlType::Vector(Box::new(CqlType::Smallint), 3).fixed_width(), None);
        assert_eq!(CqlType::Smallint.fixed_width(), Some(2));
    }

    #[test]
    fn a_dropped_column_comes_back_only_with_a_type_that_reads_it() {
        assert!(CqlType::Text.reads_values_of(&CqlType::Ascii));
        assert!(!CqlType::Ascii.reads_values_of(&CqlType::Text));
        assert!(!CqlType::Text.reads_values_of(&CqlType::Int));
        assert!(!list(CqlType::Int).reads_values_of(&list(CqlType::Int).freeze()));
        assert!(!CqlType::Bigint.reads_values_of(&CqlType::Counter));
    }
}
